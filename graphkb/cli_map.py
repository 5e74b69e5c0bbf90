"""``graphkb map``: the most important definitions of the indexed code."""

from __future__ import annotations

from pathlib import Path

import click

from graphkb import terminal


@click.command("map")
@terminal.in_project
@click.option(
    "--tokens", type=click.IntRange(1), default=1000, show_default=True,
    help="Most tokens the map may have.",
)  # fmt: skip
@terminal.where_option
@terminal.at_option
@terminal.json_option
@click.argument("paths", nargs=-1, metavar="[PATH]...")
def code_map(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    tokens: int,
    where: str | None,
    at: str | None,
    as_json: bool,
    paths: tuple[str, ...],
) -> None:
    """Show the most important definitions of the code, by file.

    Classes and functions are ranked by PageRank over calls, imports and inheritance; the best
    ones are shown as signatures within a budget of tokens, to give a reader or a model the
    lie of the land. PATH is a file, a folder or a pattern below the input folder.

    \b
      graphkb map --root my-kb
      graphkb map --root my-kb --tokens 3000 src/server "src/*.ts"
      graphkb map --root my-kb --json
    """
    with terminal.opened(root, overrides, verbose, at, where) as project:
        drawn = project.map(paths, tokens)
    if as_json:
        terminal.print_json(drawn.to_dict())
        return
    click.echo(str(drawn))
    shown = sum(len(file.entries) for file in drawn.files)
    click.echo(
        f"{shown} of {drawn.n_definitions} definitions in {len(drawn.files)} of {drawn.n_files} "
        f"files, {drawn.n_tokens} tokens",
        err=True,
    )
