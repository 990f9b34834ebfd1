"""Turn token ids into text: ``python scripts/decode.py --tokenizer gpt2.json --input owt.bin --output owt.txt``."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process(["decode"])
