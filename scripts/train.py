"""Train a vocabulary: ``python scripts/train.py --input owt.txt --vocab 32000``."""

import sys

from numbpe.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
