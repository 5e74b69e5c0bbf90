"""``graphkb explain``: why a document was, or was not, returned."""

from __future__ import annotations

from pathlib import Path

import click

from graphkb import terminal


@click.command()
@terminal.in_project
@click.option(
    "--doc", "document", required=True, metavar="PATH|ID|TITLE", help="The document looked at."
)
@click.option(
    "--unit", default="", metavar="ID",
    help="One of its text units. Default: the one that came nearest.",
)  # fmt: skip
@click.option("-k", "--top-k", type=click.IntRange(1, 1000), help="Hits. Default: search.top_k.")
@terminal.rerank_option
@terminal.where_option
@terminal.at_option
@terminal.json_option
@click.argument("question", nargs=-1, required=True)
def explain(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    document: str,
    unit: str,
    top_k: int | None,
    rerank: str | None,
    where: str | None,
    at: str | None,
    as_json: bool,
    question: tuple[str, ...],
) -> None:
    """Say why a document was, or was not, found for QUESTION.

    Shows which words of the question it holds, how each leg ranks it, which entities the
    question names, the way from them to it through the graph, and where it was cut. It is the
    hybrid search of `graphkb search`, without further wordings by a model.

    \b
      graphkb explain --root my-kb "Who leads Osprey?" --doc project-osprey-charter.md
      graphkb explain --root my-kb "陈明在哪里工作?" --doc zh/公司简介.md --json
    """
    overrides = terminal.with_rerank(overrides, rerank)
    with terminal.opened(root, overrides, verbose, at, where) as project:
        found = project.explain(" ".join(question), document, unit, top_k)
    for warning in found.warnings:
        terminal.warn(warning)
    if as_json:
        terminal.print_json(found.to_dict())
        return
    from graphkb.view.explain import explanation_lines

    click.echo("\n".join(explanation_lines(found, terminal.bold, terminal.dim)))
