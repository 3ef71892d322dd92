"""``python -m reknit``."""

from reknit.cli import main

if __name__ == "__main__":
    main()
