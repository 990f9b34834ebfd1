"""Step through the encoding of a text on a page: ``python scripts/step.py gpt2.json``."""

from numbpe.cli import run_process

if __name__ == "__main__":
    run_process(["step"])
