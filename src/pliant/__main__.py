"""``python -m pliant`` is the command ``pliant``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
