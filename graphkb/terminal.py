"""The command line's manners: streams, options, errors in one line, JSON.

Imported by every command, so it imports click and nothing heavier.
"""

from __future__ import annotations

import contextlib
import difflib
import gc
import io
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkb.errors import GraphkbError

if TYPE_CHECKING:
    from graphkb.project import Project

# New objects before Python looks for garbage in cycles. The 700 of its default make it walk all
# imported modules again and again; what a command makes is freed without that.
_OBJECTS_BEFORE_COLLECTION = 200_000

# Threads of numpy's OpenBLAS else run for a while after each use, and at the start, doing nothing.
_IDLE_THREADS_SLEEP = ("OPENBLAS_THREAD_TIMEOUT", "4")

INTERRUPTED = "interrupted: what was committed stays, and the next run goes on from there"

Command = Callable[..., Any]

root_option = click.option(
    "-r", "--root", type=click.Path(path_type=Path), default=".", help="The project's folder."
)
set_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE",
    help="Override a setting, such as --set chunks.size=800. Repeatable.",
)  # fmt: skip
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Say more on stderr.")
at_option = click.option(
    "--at", metavar="VERSION|NAME",
    help="Read a kept version (its number) or a snapshot (its name) instead of the newest.",
)  # fmt: skip
where_option = click.option(
    "--where", metavar="FILTER",
    help="Only documents that match, such as \"category = 'refund' and updated_at >= "
    "'2024-01-01'\"; keys are columns of documents and metadata.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def in_project(command: Command) -> Command:
    """The options that every command on a project takes."""
    for option in (verbose_option, set_option, root_option):
        command = option(command)
    return command


@contextlib.contextmanager
def opened(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    at: str | None = None,
    where: str | None = None,
) -> Iterator[Project]:
    """The project at ``root``, at a version where one is given, narrowed by a filter where there
    is one, with its log shown; closed at the end."""
    import graphkb

    show_log(verbose)
    with contextlib.closing(graphkb.open(root, list(overrides))) as project:
        project = project if at is None else project.at(at)
        yield project if where is None else project.where(where)


def prepare_streams() -> None:
    """No character can fail to print, whatever the terminal's encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _heeding_termination() -> Iterator[None]:
    """Told to end (SIGTERM), a command ends its processes and removes what is temporary; a program
    that runs commands inside itself has its own way again afterwards."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    # The exit code is the one that shells give a program ended so.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class Commands(click.Group):
    """A group that reports every expected failure as one line on stderr.

    Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 130 interrupted.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)
        os.environ.setdefault(*_IDLE_THREADS_SLEEP)
        prepare_streams()
        kwargs.setdefault("prog_name", "graphkb")
        kwargs["standalone_mode"] = False
        try:
            with _heeding_termination():
                code = super().main(*args, **kwargs)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "graphkb"
            report(f"{error.format_message()} (see {command} --help)")
            sys.exit(error.exit_code)
        except click.ClickException as error:
            report(error.format_message())
            sys.exit(error.exit_code)
        except GraphkbError as error:
            report(str(error))
            sys.exit(error.exit_code)
        except OSError as error:
            # Permission denied, disk full: the place is what the user needs, not our call stack.
            where = f"{error.filename}: " if error.filename else ""
            report(f"{where}{error.strerror or error}")
            sys.exit(1)
        except click.Abort:
            click.echo(INTERRUPTED, err=True)
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader (head, less) has all it wanted. Python would fail again at its last flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0


class Choice(click.Choice[str]):
    """A choice whose error names the nearest one."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        near = difflib.get_close_matches(str(value).lower(), self.choices, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{value!r} is not one of {', '.join(self.choices)}{hint}"


# Named again here because importing the settings costs more than --help may take;
# a test holds them equal to RERANKERS.
RERANK_METHODS = ("none", "http", "cross_encoder", "llm")
rerank_option = click.option(
    "--rerank", type=Choice(RERANK_METHODS),
    help="How the best passages are looked at again. Default: rerank.method.",
)  # fmt: skip


def with_rerank(overrides: tuple[str, ...], rerank: str | None) -> tuple[str, ...]:
    """The overrides with the method of ``--rerank``, where it is given."""
    return (*overrides, f"rerank.method={rerank}") if rerank else overrides


def report(message: str) -> None:
    """``error: message`` as one line on stderr."""
    click.echo(f"error: {' '.join(message.split())}", err=True)


def warn(message: str) -> None:
    """``warning: message`` as one line on stderr."""
    click.echo(f"warning: {' '.join(message.split())}", err=True)


def print_json(value: Any) -> None:
    """``value`` on stdout; escaped to ASCII where the stream cannot hold every character."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    click.echo(json.dumps(value, ensure_ascii=not utf8, indent=2, default=str))


def bold(text: str) -> str:
    return click.style(text, bold=True)


def dim(text: str) -> str:
    return click.style(text, dim=True)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            warn(record.getMessage())
        else:
            click.echo(" ".join(record.getMessage().split()), err=True)


def show_log(verbose: bool) -> None:
    """graphkb's own log records as lines on stderr: warnings, and with ``verbose`` notes too."""
    logger = logging.getLogger("graphkb")
    logger.handlers = [_Notes()]
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    logger.propagate = False
