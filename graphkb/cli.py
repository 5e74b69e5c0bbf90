"""The ``graphkb`` command. Heavy modules are imported inside commands: ``--help`` must be quick."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphkb import __version__, terminal
from graphkb.cli_change import cache, preview, remove
from graphkb.cli_chunks import chunks
from graphkb.cli_entities import entities
from graphkb.cli_eval import evaluate
from graphkb.cli_explain import explain
from graphkb.cli_inspect import settings, status, tables
from graphkb.cli_map import code_map
from graphkb.cli_model import import_graphrag, prompt_tune
from graphkb.cli_query import chat, query
from graphkb.cli_questions import make_questions
from graphkb.cli_terms import terms
from graphkb.cli_versions import compact, doctor, snapshot
from graphkb.progress import shown_progress

if TYPE_CHECKING:
    from graphkb.types import IndexResult

# Named again here because importing the query modules costs more than --help may take;
# a test holds them equal to those of graphkb.search.hybrid.
SEARCH_METHODS = ("hybrid", "lexical", "dense", "graph", "question")


@click.group(
    "graphkb",
    cls=terminal.Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Results go to stdout; progress, notes and errors to stderr. "
    "Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 130 interrupted.",
)
@click.version_option(__version__, message="graphkb %(version)s")
def main() -> None:
    """Turn a folder of documents into a knowledge graph you can question, with sources you
    can check. Works without a model, in English and Chinese.

    \b
      graphkb init my-kb --sample
      graphkb index --root my-kb
      graphkb query --root my-kb "Who leads the Osprey project?"
      graphkb query --root my-kb --method global "这些文档的主题是什么?"
    """


@main.command()
@click.argument("root", type=click.Path(path_type=Path), default=".")
@click.option("--sample", is_flag=True, help="Add a small English and Chinese collection.")
@click.option(
    "--force", is_flag=True, help="Write settings.yaml anew; the old one is kept as .bak."
)
def init(root: Path, sample: bool, force: bool) -> None:
    """Make a project in ROOT (default: here).

    Writes settings.yaml, prompts and an input folder for your documents. Prompts, documents and
    keys that are there stay as they are, also with --force.

    \b
      graphkb init my-kb            an empty project
      graphkb init my-kb --sample   one you can index and ask at once
    """
    from graphkb.project import init_project

    made = init_project(root, sample=sample, force=force)
    prompts = [path for path in made if path.is_relative_to(root / "prompts")]
    for path in made:
        if path.suffix == ".bak":
            click.echo(f"{path} (the settings until now)")
        elif path not in prompts:
            click.echo(path)
    if prompts:
        click.echo(f"{root / 'prompts'} ({len(prompts)} files)")
    if not made:
        click.echo("nothing to write: everything is there", err=True)
    if not sample:
        click.echo(f"next: put documents into {root / 'input'}", err=True)
    click.echo(f"next: graphkb index --root {root}", err=True)


@main.command()
@terminal.in_project
@click.option(
    "--embed", type=terminal.Choice(("later", "now", "off")),
    help="Vectors after the first commit (later), within it (now), or none (off). "
    "Default: the setting embed.when.",
)  # fmt: skip
@click.option("--rebuild", is_flag=True, help="Start from nothing instead of what changed.")
@click.option(
    "--allow-empty", is_flag=True,
    help="Empty the knowledge base where the input folder has no readable document any more.",
)  # fmt: skip
@click.option(
    "--budget-usd", type=click.FloatRange(0), metavar="USD",
    help="Most this run may cost; then it stops and goes on in the next one. "
    "Default: llm.budget_usd.",
)  # fmt: skip
@click.option(
    "--budget-tokens", type=click.IntRange(0), metavar="N",
    help="Most tokens this run may use. Default: llm.budget_tokens.",
)  # fmt: skip
@click.option(
    "--dry-run", is_flag=True, help="Say what would be done and what it costs; do nothing."
)
@click.option("--prompts", is_flag=True, help="With --dry-run: also show the first prompts.")
@terminal.json_option
def index(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    embed: str | None,
    rebuild: bool,
    allow_empty: bool,
    budget_usd: float | None,
    budget_tokens: int | None,
    dry_run: bool,
    prompts: bool,
    as_json: bool,
) -> int:
    """Bring the knowledge base up to date.

    Reads the input folder. Only what changed is done again; an interrupted run goes on where
    it stopped. The knowledge base can be searched after the first commit, while the vectors are
    still being made.

    A file that cannot be read is listed by name and reason and the rest go on, with exit code
    0; when nothing at all can be read the exit code is 1. Where documents are indexed and the
    input folder has none any more (a share is not mounted, a wrong pattern), nothing is changed
    and the exit code is 2.

    \b
      graphkb index --root my-kb
      graphkb index --root my-kb --dry-run --prompts
      graphkb index --root my-kb --embed off --set chunks.size=800
    """
    if embed:
        overrides = (*overrides, f"embed.when={embed}")
    for key, value in (("budget_usd", budget_usd), ("budget_tokens", budget_tokens)):
        if value is not None:
            overrides = (*overrides, f"llm.{key}={value}")
    if prompts and not dry_run:
        raise click.UsageError("--prompts goes with --dry-run")
    if dry_run:
        return preview(root, overrides, verbose, prompts, rebuild, allow_empty, as_json)
    with terminal.opened(root, overrides, verbose) as project, shown_progress() as progress:
        commits: list[int] = []

        def on_commit(result: IndexResult) -> None:
            from graphkb.view.counts import counts_line

            what = "vectors complete" if commits else "searchable"
            commits.append(result.version)
            progress.note(f"{what}: version {result.version}, {counts_line(result.counts)}")

        result = project.index(
            progress,
            rebuild=rebuild,
            allow_empty=allow_empty,
            on_plan=progress.note,
            on_commit=on_commit,
        )
    # Not before: a model's first call waits for what is imported.
    if result.warnings:
        from graphkb.view.notices import notice_lines

        for warning in notice_lines(result.warnings, verbose):
            terminal.warn(warning)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        from graphkb.view.summary import index_lines

        click.echo("\n".join(index_lines(result, verbose)))
    empty = result.refused and not result.counts.get("documents")
    return 1 if empty or result.incomplete else 0


@main.command()
@terminal.in_project
@click.option("-k", "--top-k", type=click.IntRange(1, 1000), help="Hits. Default: search.top_k.")
@click.option(
    "--method", type=terminal.Choice(SEARCH_METHODS), default="hybrid", show_default=True,
    help="One leg alone (lexical, dense, graph, question), or those of search.legs joined.",
)  # fmt: skip
@terminal.rerank_option
@terminal.where_option
@terminal.at_option
@terminal.json_option
@click.argument("question", nargs=-1, required=True)
def search(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    top_k: int | None,
    method: str,
    rerank: str | None,
    where: str | None,
    at: str | None,
    as_json: bool,
    question: tuple[str, ...],
) -> None:
    """Find the passages that answer QUESTION, best first.

    \b
      graphkb search --root my-kb "error E1043" -k 3
      graphkb search --root my-kb --method lexical "清华大学 陈明" --json
      graphkb search --root my-kb "refund" --where "path like 'faq/%' and language = 'en'"
    """
    text = " ".join(question)
    overrides = terminal.with_rerank(overrides, rerank)
    with terminal.opened(root, overrides, verbose, at, where) as project:
        hits = project.search(text, top_k=top_k, method=method)
    for warning in hits.warnings:
        terminal.warn(warning)
    if as_json:
        terminal.print_json([hit.to_dict() for hit in hits])
        return
    from graphkb.view.terminal import hit_lines

    if not hits:
        click.echo("no hits", err=True)
    for hit in hits:
        click.echo("\n".join(hit_lines(hit, text, terminal.bold, terminal.dim)))


for command in (
    query, chat, chunks, code_map, remove, cache, evaluate, make_questions, status, tables,
    settings, snapshot, compact, doctor, import_graphrag, prompt_tune, entities, terms, explain,
):  # fmt: skip
    main.add_command(command)
