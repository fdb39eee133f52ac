"""``python -m exactnoise`` is the command ``exactnoise``."""

import sys

from exactnoise.cli import main

if __name__ == "__main__":
    sys.exit(main())
