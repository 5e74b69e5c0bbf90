"""``graphkb questions``: questions with known answers, made from the documents."""

from __future__ import annotations

from pathlib import Path

import click

from graphkb import terminal
from graphkb.progress import shown_progress


@click.command("questions")
@terminal.in_project
@click.option(
    "-n", "--n", "--limit", "n", type=click.IntRange(1, 10_000), default=50, show_default=True,
    help="Most questions made.",
)  # fmt: skip
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Write JSON lines to FILE instead of stdout.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace FILE.")
@click.option(
    "--no-model", is_flag=True, help="By patterns only, also where a model is configured."
)
@click.option(
    "--seed", type=click.IntRange(0), default=42, show_default=True,
    help="Another seed, other questions.",
)  # fmt: skip
@terminal.at_option
def make_questions(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    n: int,
    output: Path | None,
    force: bool,
    no_model: bool,
    seed: int,
    at: str | None,
) -> int:
    """Make questions with answers from your documents.

    To measure with: from sentences that say who, what, when, where, which, why, how many or how
    much, what something is or how two names are connected; from lines with labels, table cells and
    headings; from two facts asked together or chained (two hops). With a model configured also by
    the model, each answer held against the text. Documents have their turn evenly, whatever --n
    is. What needs its document to be understood is asked with the document's title; what could be
    answered otherwise elsewhere in the collection is left out: there may be fewer than --n.

    \b
      graphkb questions --root my-kb --n 100 --output questions.jsonl
      graphkb eval --root my-kb questions.jsonl
      graphkb eval --root my-kb --tune questions.jsonl

    One JSON object a line: id, query, relevant (paths of documents, which outlast an edit; ids of
    those that share a file), answer, language, type, hops, text_units. Such questions share words
    with the text they come from and are easier than those people ask: read them through, and add
    your own. Exit code 1 when there are none.
    """
    if output and output.exists() and not force:
        raise click.UsageError(f"{output} is there already; --force replaces it")
    with terminal.opened(root, overrides, verbose, at) as project, shown_progress() as progress:
        made = project.make_questions(n, seed, not no_model, progress)
    for reason in made.failures:
        terminal.warn(f"the model gave no question: {reason}")
    if output and made.rows:
        output.write_text(made.to_jsonl(), "utf-8", newline="\n")
        click.echo(f"written: {output}", err=True)
    else:
        click.echo(made.to_jsonl(), nl=False)
    click.echo(
        f"{len(made.rows)} questions of {made.candidates} candidates; {made.ambiguous} of those "
        "looked at were ambiguous",
        err=True,
    )
    return 0 if made.rows else 1
