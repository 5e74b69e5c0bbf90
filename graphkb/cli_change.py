"""Commands that say or decide what is in the knowledge base: index --dry-run and remove."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from graphkb import terminal
from graphkb.progress import shown_progress


def preview(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    prompts: bool,
    rebuild: bool,
    allow_empty: bool,
    as_json: bool,
) -> int:
    """``graphkb index --dry-run``."""
    from graphkb.view.summary import preview_lines, prompt_lines

    with terminal.opened(root, overrides, verbose) as project, shown_progress() as progress:
        found = project.preview(progress, rebuild=rebuild, allow_empty=allow_empty)
    if as_json:
        terminal.print_json(found.to_dict())
        return 0
    lines = preview_lines(found, verbose)
    if prompts or verbose:
        lines += prompt_lines(found)
    click.echo("\n".join(lines))
    return 0


@click.command()
@terminal.in_project
@click.option("--undo", is_flag=True, help="Let removed documents in again.")
@terminal.json_option
@click.argument("documents", nargs=-1)
def remove(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    undo: bool,
    as_json: bool,
    documents: tuple[str, ...],
) -> int:
    """Take documents out, with all that only they said.

    DOCUMENTS are paths below the input folder, document ids or titles. The files are not
    touched, and what is removed stays out in later index runs. Without DOCUMENTS the removed
    ones are listed.

    \b
      graphkb remove old/policy-2023.md 退款规则
      graphkb remove --undo old/policy-2023.md
    """
    from graphkb.view.summary import index_lines

    with terminal.opened(root, overrides, verbose) as project, shown_progress() as progress:
        if not documents:
            removed = project.removed().to_dicts()
            if as_json:
                terminal.print_json(removed)
            else:
                for row in removed:
                    click.echo(f"{row['path']} {row['record']} {row['title']}".strip())
            return 0
        result = project.remove(documents, progress, undo=undo)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        click.echo("\n".join(index_lines(result, verbose)))
    return 1 if result.incomplete else 0


@click.command()
@terminal.in_project
@click.argument("action", type=terminal.Choice(("stats", "clear", "export")), default="stats")
@click.option("--yes", is_flag=True, help="Clear without being asked.")
@terminal.json_option
def cache(
    root: Path, overrides: tuple[str, ...], verbose: bool, action: str, yes: bool, as_json: bool
) -> int:
    """Show, export or clear kept model replies and vectors.

    stats: replies by endpoint and model with their tokens, vectors, bytes on disk.
    export: every reply with its request, one JSON object a line.
    clear: forget all replies and vectors; they are asked for again (and paid again) when
    needed. At a terminal you are asked first.

    \b
      graphkb cache stats
      graphkb cache export > replies.jsonl
    """
    with terminal.opened(root, overrides, verbose) as project:
        if action == "export":
            for line in project.cache_export():
                click.echo(line)
            return 0
        stats = project.cache_stats()
        if action == "clear":
            if not (yes or _agreed(stats)):
                click.echo("nothing was cleared", err=True)
                return 1
            stats = project.cache_clear()
    if as_json:
        terminal.print_json(stats)
        return 0
    for row in stats["replies"]:
        click.echo(
            f"{row['replies']} replies of {row['model']} at {row['base_url']}: "
            f"{row['prompt_tokens']:,} prompt and {row['completion_tokens']:,} completion tokens"
        )
    what = "forgotten" if action == "clear" else "kept"
    click.echo(f"{stats['total_replies']} replies, {stats['vectors']} vectors {what}")
    click.echo(f"{stats['bytes']:,} bytes on disk")
    return 0


def _agreed(stats: dict[str, Any]) -> bool:
    """Whether the user wants the cache cleared; without a terminal nobody can be asked."""
    if not _at_terminal():
        return True
    what = f"{stats['total_replies']} replies and {stats['vectors']} vectors"
    return click.confirm(f"forget {what}? Replies are paid for again when needed", err=True)


def _at_terminal() -> bool:
    return sys.stdin.isatty()
