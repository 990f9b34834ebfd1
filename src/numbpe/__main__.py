"""``python -m numbpe``: the console command."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process()
