"""``graphkb terms``: what the documents call things, and your own words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkb import terminal

if TYPE_CHECKING:
    from graphkb.terms import TermsChange

_LISTED = 50
limit_option = click.option(
    "-n", "--limit", type=click.IntRange(0), default=_LISTED, show_default=True,
    help="Most terms shown; 0 for all.",
)  # fmt: skip


@click.group()
def terms() -> None:
    """Find business terms of your documents; keep your own.

    A term is never cut apart in search, and is a name where a text holds it. Your own terms stand
    in text.dictionary of settings.yaml, or in the file that it names; changes count from the next
    index run.

    \b
      graphkb terms mine -r my-kb
      graphkb terms add 元景大模型 "bearing seat" -r my-kb
      graphkb index -r my-kb
    """


@terms.command()
@terminal.in_project
@click.option(
    "--min-frequency", type=click.IntRange(2), default=5, show_default=True,
    help="Occurrences a term needs.",
)  # fmt: skip
@limit_option
@terminal.at_option
@terminal.json_option
def mine(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    min_frequency: int,
    limit: int,
    at: str | None,
    as_json: bool,
) -> None:
    """Propose terms: Chinese words and English phrases that the documents use as one word.

    The best stand first; nothing is changed. Those that are right are taken with: terms add.
    """
    with terminal.opened(root, overrides, verbose, at) as project:
        found = project.mine_terms(min_frequency, limit)
    _print(found.to_dicts(), as_json, "no terms found; try a lower --min-frequency")


@terms.command("list")
@terminal.in_project
@click.option("--like", default="", metavar="TEXT", help="Only those with TEXT in them.")
@click.option(
    "--origin", type=terminal.Choice(("user", "mined", "title")), help="Only those from there."
)
@limit_option
@terminal.at_option
@terminal.json_option
def list_(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    like: str,
    origin: str | None,
    limit: int,
    at: str | None,
    as_json: bool,
) -> None:
    """List the terms that the knowledge base was indexed with, the most frequent first.

    Their origin is user (your dictionary), mined (found by their use) or title (of a document
    or heading).
    """
    with terminal.opened(root, overrides, verbose, at) as project:
        found = project.terms(like)
    rows = [row for row in found.to_dicts() if origin in (None, row["origin"])]
    _print(rows[:limit] if limit else rows, as_json, "no such terms")
    if limit and len(rows) > limit:
        click.echo(f"… and {len(rows) - limit} more (--limit 0 lists all)", err=True)


@terms.command()
@terminal.in_project
@terminal.json_option
@click.argument("words", nargs=-1, required=True)
def add(
    root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool, words: tuple[str, ...]
) -> None:
    """Put WORDS into your dictionary.

    Where there is none yet, terms.txt is made beside settings.yaml.
    """
    with terminal.opened(root, overrides, verbose) as project:
        change = project.add_terms(*words)
    _print_change(change, root, as_json, "added", "was there already")


@terms.command()
@terminal.in_project
@terminal.json_option
@click.argument("words", nargs=-1, required=True)
def remove(
    root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool, words: tuple[str, ...]
) -> int:
    """Take WORDS out of your dictionary."""
    with terminal.opened(root, overrides, verbose) as project:
        change = project.remove_terms(*words)
    _print_change(change, root, as_json, "removed", "is not in the dictionary")
    return 0 if change.changed else 1


def _print(rows: list[dict[str, Any]], as_json: bool, nothing: str) -> None:
    if as_json:
        terminal.print_json(rows)
        return
    for row in rows:
        example = f"  {terminal.dim(row['example'])}" if row["example"] else ""
        click.echo(f"{row['frequency']:>6}  {row['term']}  ({row['origin']}){example}")
    if not rows:
        click.echo(nothing, err=True)


def _print_change(change: TermsChange, root: Path, as_json: bool, done: str, not_done: str) -> None:
    if as_json:
        terminal.print_json(
            {
                done: list(change.changed),
                "unchanged": list(change.unchanged),
                "file": str(change.file),
                "words": list(change.words),
            }
        )
    else:
        for word in change.changed:
            click.echo(f"{done} {word}")
        click.echo(f"{change.file}: {len(change.words)} words")
    for word in change.unchanged:
        terminal.warn(f"{word!r} {not_done}")
    if change.changed:
        click.echo(f"next: graphkb index --root {root}", err=True)
