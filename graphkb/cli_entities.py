"""``graphkb entities``: see which names are one entity, and decide it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkb import terminal
from graphkb.progress import shown_progress

if TYPE_CHECKING:
    from graphkb.project import Project
    from graphkb.types import IndexResult

_LISTED = 50


@click.group()
def entities() -> None:
    """List entities, and decide which names are one entity.

    A decision holds through index runs and rebuilds until it is undone; of two that contradict
    each other the newer one holds. Only what depends on it is made again.

    \b
      graphkb entities list --like 移动 -r my-kb
      graphkb entities merge 中移动 中国移动 -r my-kb
      graphkb entities split "A. Lin" "Ada Lin" -r my-kb
      graphkb entities undo -r my-kb
    """


@entities.command("list")
@terminal.in_project
@click.option("--like", default="", metavar="TEXT", help="Only those with TEXT in a name.")
@click.option(
    "-n", "--limit", type=click.IntRange(0), default=_LISTED, show_default=True,
    help="Most entities shown; 0 for all.",
)  # fmt: skip
@terminal.at_option
@terminal.json_option
def list_(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    like: str,
    limit: int,
    at: str | None,
    as_json: bool,
) -> None:
    """List entities, the most frequent first: title, type, text units, aliases."""
    with terminal.opened(root, overrides, verbose, at) as project:
        found = project.find_entities(like)
    shown = found.head(limit) if limit else found
    if as_json:
        terminal.print_json(shown.to_dicts())
        return
    for row in shown.to_dicts():
        aliases = f"  = {', '.join(row['aliases'])}" if row["aliases"] else ""
        line = f"{row['frequency']:>6}  {row['title']}  ({row['type']}){aliases}"
        click.echo(" ".join(line.splitlines()))
    if found.height > shown.height:
        click.echo(f"… and {found.height - shown.height} more (--limit 0 lists all)", err=True)
    elif not found.height:
        click.echo("no such entities", err=True)


@entities.command()
@terminal.in_project
@terminal.at_option
@terminal.json_option
def merges(
    root: Path, overrides: tuple[str, ...], verbose: bool, at: str | None, as_json: bool
) -> None:
    """List the names that were joined to an entity of another name, and why.

    The rule is alias (a text gives the second name), honorific, legal form, model or user.
    """
    _print_table(
        root, overrides, verbose, at, as_json, "merges",
        lambda row: f"{row['name']} → {row['into']}  ({row['rule']}, {row['evidence']})",
    )  # fmt: skip


@entities.command()
@terminal.in_project
@terminal.at_option
@terminal.json_option
def decisions(
    root: Path, overrides: tuple[str, ...], verbose: bool, at: str | None, as_json: bool
) -> None:
    """List your own decisions, oldest first."""
    words = {"merge": "is", "rename": "is called"}

    def line(row: dict[str, Any]) -> str:
        if row["action"] == "split":
            other = repr(row["other"]) if row["other"] else "every other name"
            return f"{row['number']}  {row['name']!r} is apart from {other}"
        return f"{row['number']}  {row['name']!r} {words[row['action']]} {row['other']!r}"

    _print_table(root, overrides, verbose, at, as_json, "decisions", line)


@entities.command()
@terminal.in_project
@click.option("--into", default="", help="The one of the two names that is kept. Default: B.")
@terminal.json_option
@click.argument("a")
@click.argument("b")
def merge(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    into: str,
    as_json: bool,
    a: str,
    b: str,
) -> int:
    """Make the names A and B one entity.

    \b
      graphkb entities merge IBM "International Business Machines"
      graphkb entities merge 中移动 中国移动 --into 中国移动
    """
    return _decide(
        root, overrides, verbose, as_json,
        lambda project, progress: project.merge_entities(a, b, into, progress),
    )  # fmt: skip


@entities.command()
@terminal.in_project
@terminal.json_option
@click.argument("names", nargs=-1, required=True)
def split(
    root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool, names: tuple[str, ...]
) -> int:
    """Keep NAMES apart from each other; one name alone: from every other name.

    Undoes what joined them and forbids it from now on. Names that differ only in case, width,
    script or marks are always one entity.

    \b
      graphkb entities split 世卫组织
      graphkb entities split "Ada Lin" "Ida Lin"
    """
    return _decide(
        root, overrides, verbose, as_json,
        lambda project, progress: project.split_entities(*names, progress=progress),
    )  # fmt: skip


@entities.command()
@terminal.in_project
@terminal.json_option
@click.argument("old")
@click.argument("new")
def rename(
    root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool, old: str, new: str
) -> int:
    """Call the entity OLD by the name NEW; OLD becomes an alias.

    NEW need not stand in any document; where it does, it means this entity.
    """
    return _decide(
        root, overrides, verbose, as_json,
        lambda project, progress: project.rename_entity(old, new, progress),
    )  # fmt: skip


@entities.command()
@terminal.in_project
@terminal.json_option
@click.argument("names", nargs=-1)
def undo(
    root: Path, overrides: tuple[str, ...], verbose: bool, as_json: bool, names: tuple[str, ...]
) -> int:
    """Take back your decisions that name one of NAMES; without NAMES the newest one."""
    return _decide(
        root, overrides, verbose, as_json,
        lambda project, progress: project.undo_decisions(*names, progress=progress),
    )  # fmt: skip


def _print_table(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    at: str | None,
    as_json: bool,
    name: str,
    line: Callable[[dict[str, Any]], str],
) -> None:
    with terminal.opened(root, overrides, verbose, at) as project:
        rows = project.table(name).to_dicts()
    if as_json:
        terminal.print_json(rows)
        return
    for row in rows:
        click.echo(" ".join(line(row).splitlines()))
    if not rows:
        click.echo(f"no {name}", err=True)


def _decide(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    as_json: bool,
    decide: Callable[[Project, Any], IndexResult],
) -> int:
    from graphkb.view.summary import index_lines

    with terminal.opened(root, overrides, verbose) as project, shown_progress() as progress:
        result = decide(project, progress)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        click.echo("\n".join(index_lines(result, verbose)))
    return 1 if result.incomplete else 0
