"""Train a vocabulary: ``python scripts/train.py --input owt.txt --vocab 32000``."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process(["train"])
