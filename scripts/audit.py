"""Show what a vocabulary wastes: ``python scripts/audit.py gpt2.json --text owt.txt``."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process(["audit"])
