"""``python -m graphkb``."""

from graphkb.cli import main

if __name__ == "__main__":
    main()
