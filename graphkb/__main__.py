"""``python -m graphkb``, and the command ``graphkb``."""

import atexit
import os
import sys


class _End:
    """Ends the process once all else at its end is done, without taking apart what is in memory:
    after a large run that takes longer than a question. Only where the command came to its end."""

    code: int | None = None

    def __call__(self) -> None:
        if self.code is None:
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            return  # Python tries again, and says so.
        os._exit(self.code)


def main() -> None:
    """Run the command line; where it is interrupted while it is still being loaded, say so."""
    end = _End()
    # What is registered first is called last: where something is (a measure of coverage), the
    # process ends as any other.
    if not atexit._ncallbacks():
        atexit.register(end)
    # pydantic would look through all that is installed for plugins, of which this has no use.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from graphkb.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except SystemExit as left:
        end.code = left.code if isinstance(left.code, int) else None
        raise


if __name__ == "__main__":
    main()
