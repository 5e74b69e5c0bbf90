"""Commands around a model's work: ``import-graphrag`` and ``prompt-tune``."""

from __future__ import annotations

from pathlib import Path

import click

from graphkb import terminal
from graphkb.progress import shown_progress


@click.command("import-graphrag")
@terminal.in_project
@click.option("--force", is_flag=True, help="Import into a project that is there already.")
@click.option("--no-index", is_flag=True, help="Write the project and leave the index to you.")
@click.option(
    "--embed", type=terminal.Choice(("later", "now", "off")),
    help="Vectors after the first commit (later), within it (now), or none (off). "
    "Default: the setting embed.when.",
)  # fmt: skip
@terminal.json_option
@click.argument("path", type=click.Path(path_type=Path))
def import_graphrag(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    force: bool,
    no_index: bool,
    embed: str | None,
    as_json: bool,
    path: Path,
) -> int:
    """Make a project of a Microsoft GraphRAG output.

    PATH is GraphRAG's project or its output folder (Parquet files of versions 0 to 3). Documents,
    entities, relationships, claims and the reports that still fit become a project in --root
    that is indexed at once. No model is asked for what GraphRAG's model has read; what changes
    later is read anew. GraphRAG's own files stay as they are.

    \b
      graphkb import-graphrag ../ragtest --root my-kb
      graphkb query --root my-kb --method local "Who leads Osprey?"
    """
    from graphkb.importing.project import import_graphrag, reports_taken
    from graphkb.view.notices import notice_lines
    from graphkb.view.summary import import_lines, index_lines

    terminal.show_log(verbose)
    imported = import_graphrag(path, root, force)
    if not as_json:
        click.echo("\n".join(import_lines(imported)))
    if no_index:
        if as_json:
            terminal.print_json(imported.to_dict())
        click.echo(f"next: graphkb index --root {root}", err=True)
        return 0
    with terminal.opened(root, overrides, verbose) as project, shown_progress() as progress:
        result = project.index(progress, embed=embed)
        taken = reports_taken(root, project.table("community_reports"))
    for warning in notice_lines(result.warnings, verbose):
        terminal.warn(warning)
    if as_json:
        facts = {**imported.to_dict(), "reports_taken": taken, "index": result.to_dict()}
        terminal.print_json(facts)
    else:
        lines = index_lines(result, verbose)
        known, _ = imported.counts["reports"]
        if known:
            rest = "; the others' communities came out otherwise" if taken < known else ""
            lines.append(f"{taken} of {known} imported reports fit a community{rest}")
        click.echo("\n".join(lines))
    return 1 if result.incomplete else 0


@click.command("prompt-tune")
@terminal.in_project
@click.option(
    "--sample", type=click.IntRange(1, 200), default=15, show_default=True,
    help="Documents that are read, of each language.",
)  # fmt: skip
@click.option(
    "--language", "languages", type=terminal.Choice(("en", "zh")), multiple=True,
    help="Only this language's prompt. Default: those of the documents. Repeatable.",
)  # fmt: skip
@click.option(
    "--dry-run", is_flag=True,
    help="Show the change and write no prompt. The model is asked all the same: its replies are "
    "paid for, and kept for the real run.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace prompts that were edited.")
@terminal.json_option
def prompt_tune(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    sample: int,
    languages: tuple[str, ...],
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Fit the extraction prompt to your documents.

    From a sample of them the model proposes what they are about, types of entities and
    relationships, and worked examples that are checked against the text: two or three calls for
    each language. Without a model the types come from offline extraction. The change is shown
    and written to prompts/<language>/extract.md and extract_types.md; what was there is kept as
    .bak. The next index run reads the documents with the new prompt. extract.entity_types in
    settings.yaml, where set, goes before the proposed types.

    \b
      graphkb prompt-tune --root my-kb --dry-run
      graphkb prompt-tune --root my-kb --sample 30 --language zh
    """
    from graphkb.llm.model import make_model
    from graphkb.tune.prompts import tune_prompts, write_prompts
    from graphkb.view.summary import tuning_lines, usage_lines

    with terminal.opened(root, overrides, verbose) as project, shown_progress() as progress:
        model = make_model(root, project.settings.llm)
        try:
            keep_edited = not (force or dry_run)
            tunings = tune_prompts(
                root, project.settings, model, sample, languages, keep_edited, progress
            )
            usage = model.usage() if model else ()
        finally:
            if model:
                model.close()
    for tuning in tunings:
        for warning in tuning.proposal.warnings:
            terminal.warn(warning)
    if as_json:
        terminal.print_json([tuning.to_dict() for tuning in tunings])
    else:
        lines = [line for tuning in tunings for line in tuning_lines(tuning)]
        click.echo("\n".join([*lines, *usage_lines(usage)]))
    if dry_run:
        return
    written = write_prompts([change for tuning in tunings for change in tuning.changes])
    for path in written:
        click.echo(f"written: {path}", err=True)
