"""The commands that only report: ``status``, ``tables`` and ``settings``."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Any

import click

from graphkb import terminal
from graphkb.errors import UsageError


@click.command()
@terminal.in_project
@terminal.at_option
@terminal.json_option
def status(
    root: Path, overrides: tuple[str, ...], verbose: bool, at: str | None, as_json: bool
) -> None:
    """What is indexed, its size, and whether it is stale."""
    from graphkb.view.summary import status_lines

    with terminal.opened(root, overrides, verbose, at) as project:
        facts = project.status()
    terminal.print_json(facts) if as_json else click.echo("\n".join(status_lines(facts)))


@click.command()
@terminal.in_project
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Rows.")
@click.option("--columns", is_flag=True, help="What the columns mean, instead of rows.")
@terminal.at_option
@terminal.json_option
@click.argument("name", required=False)
def tables(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    limit: int,
    columns: bool,
    at: str | None,
    as_json: bool,
    name: str | None,
) -> None:
    """Show rows of table NAME, or list all tables.

    Rows are tab-separated when they go to a file or a pipe.

    \b
      graphkb tables --root my-kb
      graphkb tables --root my-kb entities --limit 5
      graphkb tables entities --columns
    """
    from graphkb.view import tables as view

    if name and name not in view.NAMES:
        near = difflib.get_close_matches(name, view.NAMES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(view.NAMES)}"
        raise UsageError(f"no table {name!r}; {hint}")
    if name and columns:
        meanings = view.columns_of(name)
        text = "\n".join(view.column_lines(name))
        terminal.print_json(meanings) if as_json else click.echo(text)
        return
    with terminal.opened(root, overrides, verbose, at) as project:
        if not name:
            known = project.status()
            counts = {
                table: known[table] if table in known else project.table(table).height
                for table in view.NAMES
            }
            listing = {
                table: {"rows": count, "columns": view.columns_of(table)}
                for table, count in counts.items()
            }
            text = "\n".join(view.listing_lines(counts))
            terminal.print_json(listing) if as_json else click.echo(text)
            return
        frame = project.table(name)
    shown = frame.head(limit)
    if as_json:
        terminal.print_json(shown.to_dicts())
    elif sys.stdout.isatty():
        view.draw(shown, frame.height)
    else:
        from graphkb.view.terminal import tsv_lines

        click.echo("\n".join(tsv_lines(shown.columns, shown.iter_rows())))
    if frame.height > limit:
        click.echo(f"{limit} of {frame.height} rows; --limit shows more", err=True)


@click.command()
@terminal.root_option
@terminal.set_option
@click.option("--show", is_flag=True, help="The values in force at ROOT instead; keys hidden.")
@terminal.json_option
def settings(root: Path, overrides: tuple[str, ...], show: bool, as_json: bool) -> None:
    """Print every setting, its default and meaning.

    The form is that of settings.yaml. Each key can also be set by GRAPHKB_<SECTION>_<KEY> in
    the environment.

    \b
      graphkb settings                          the reference
      graphkb settings --root my-kb --show      what is in force in my-kb
    """
    from graphkb.settings_file import load_settings, settings_yaml
    from graphkb.view.settings import masked, settings_rows

    if not show:
        text = settings_yaml()
        terminal.print_json(settings_rows()) if as_json else click.echo(text, nl=False)
        return
    if not root.is_dir():
        raise UsageError(f"{root}: no such folder; make a project with: graphkb init {root}")
    values: dict[str, Any] = masked(load_settings(root, list(overrides)).model_dump())
    if as_json:
        terminal.print_json(values)
    else:
        import yaml

        click.echo(yaml.safe_dump(values, allow_unicode=True, sort_keys=False), nl=False)
