"""Turn text into token ids: ``python scripts/encode.py --tokenizer gpt2.json --input owt.txt --output owt.bin``."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process(["encode"])
