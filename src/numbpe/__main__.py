"""``python -m numbpe``: the console command."""

import sys

from numbpe.cli import main

if __name__ == "__main__":
    sys.exit(main())
