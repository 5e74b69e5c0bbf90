"""The commands that only report: ``eval``, ``status``, ``tables`` and ``settings``."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkb import terminal
from graphkb.errors import UsageError
from graphkb.progress import shown_progress

if TYPE_CHECKING:
    from graphkb.evaluate.run import Evaluation


@click.command("eval")
@terminal.in_project
@click.option("--methods", default="", help="Comma-separated. Default: every search method.")
@click.option("-k", "ks", default="1,5,8", show_default=True, help="Comma-separated cut-offs.")
@click.option("--misses", is_flag=True, help="List what was not found in the last cut-off.")
@terminal.at_option
@terminal.json_option
@click.argument("questions", type=click.Path(path_type=Path))
def evaluate(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    methods: str,
    ks: str,
    misses: bool,
    at: str | None,
    as_json: bool,
    questions: Path,
) -> None:
    """Measure retrieval on your own QUESTIONS.

    For each leg and method: recall@k, all evidence in the first k, nDCG@k, MRR, latency.

    QUESTIONS has one JSON object a line; "relevant" names documents by id, path or title:

    \b
      {"id": "1", "query": "Who leads Osprey?", "relevant": ["project-osprey-charter.md"]}
      {"id": "2", "query": "陈明在哪里工作?", "relevant": ["公司简介"]}

    \b
      graphkb eval --root my-kb queries.jsonl --misses
      graphkb eval --root my-kb queries.jsonl --methods hybrid,lexical -k 1,10 --json

    --json adds every question's ranks and metrics.
    """
    from graphkb.evaluate.questions import read_questions
    from graphkb.evaluate.run import run_evaluation
    from graphkb.view.evaluation import evaluation_lines, miss_lines

    cuts = _cuts(ks)
    question_set = read_questions(questions)
    names = tuple(name.strip() for name in methods.split(",") if name.strip())
    with terminal.opened(root, overrides, verbose, at) as project, shown_progress() as progress:
        evaluation = run_evaluation(project, question_set, names, cuts, progress)
    _warn_of_gaps(evaluation)
    if as_json:
        terminal.print_json(evaluation.to_dict())
        return
    lines = evaluation_lines(evaluation)
    click.echo("\n".join(lines + (miss_lines(evaluation) if misses else [])))


def _cuts(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    cuts = tuple(int(part) for part in parts if part.isascii() and part.isdigit())
    if not parts or len(cuts) < len(parts) or not all(1 <= cut <= 100 for cut in cuts):
        raise click.UsageError(f"-k {text!r}: give numbers from 1 to 100, such as -k 1,5,8")
    return cuts


def _warn_of_gaps(evaluation: Evaluation) -> None:
    for item in (*evaluation.refused, *evaluation.unmatched):
        terminal.warn(f"{item.where}: {item.reason}")
    for method, reason in evaluation.skipped.items():
        terminal.warn(f"{method} left out: {reason}")
    for result in evaluation.methods:
        said = Counter(text for question in result.questions for text in question.warnings)
        for text, count in said.items():
            terminal.warn(f"{result.method}, {count} questions: {text}")
    if evaluation.excluded:
        terminal.warn(
            f"{len(evaluation.excluded)} questions have no relevant documents and are not in "
            f"the means: {', '.join(evaluation.excluded[:5])}"
        )


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
