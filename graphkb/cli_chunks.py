"""``graphkb chunks``: how a file is cut into text units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from graphkb import terminal
from graphkb.errors import UsageError


@click.command()
@terminal.root_option
@terminal.set_option
@terminal.json_option
@click.option("--text", is_flag=True, help="Whole texts instead of their beginnings.")
@click.argument("file", type=click.Path(path_type=Path))
def chunks(root: Path, overrides: tuple[str, ...], as_json: bool, text: bool, file: Path) -> None:
    """Show how FILE is cut into text units.

    Each with page, span, tokens, kind, headings and context. FILE may lie anywhere, or is named as
    below the input folder; it is read and cut as the settings of --root say, and not indexed.

    \b
      graphkb chunks manual.pdf
      graphkb chunks prices.xlsx --set chunks.size=300 --json
    """
    from graphkb.ingest.file_units import cut_file
    from graphkb.settings_file import load_settings
    from graphkb.view.chunks import unit_lines
    from graphkb.view.refusals import refused_lines
    from graphkb.view.summary import size_lines

    if not root.is_dir():
        raise UsageError(f"{root}: no such folder")
    if not file.exists() and (root / "input" / file).is_file():
        file = root / "input" / file
    found = cut_file(file, load_settings(root, list(overrides)))
    if as_json:
        result: dict[str, Any] = {"file": str(file), **found.to_dict()}
        terminal.print_json(result)
        return
    for unit in found.units.iter_rows(named=True):
        click.echo("\n".join(unit_lines(unit, text, terminal.bold, terminal.dim)))
    for line in (*size_lines(found.sizes), *refused_lines(found.refused), *found.notes):
        click.echo(line, err=True)
