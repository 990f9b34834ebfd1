"""Write a tokenizer in another format: ``python scripts/convert.py artifacts/owt.json owt.tiktoken``."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process(["convert"])
