"""Show what a tokenizer is made of: ``python scripts/inspect_tokenizer.py gpt2.json --text Hello``."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process(["inspect"])
