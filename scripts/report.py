"""Compare tokenizers on a page: ``python scripts/report.py gpt2.json --text English=owt.txt --output report.html``."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process(["report"])
