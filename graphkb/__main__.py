"""``python -m graphkb``, and the command ``graphkb``."""

import sys


def main() -> None:
    """Run the command line; where it is interrupted while it is still being loaded, say so."""
    try:
        from graphkb.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
