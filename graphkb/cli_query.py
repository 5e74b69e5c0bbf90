"""``graphkb query`` and ``graphkb chat``: questions answered with sources."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkb import terminal
from graphkb.errors import GraphkbError
from graphkb.progress import shown_wait

if TYPE_CHECKING:
    from graphkb.project import Project
    from graphkb.types import Answer

# Named again here because importing the query modules costs more than --help may take;
# a test holds them equal to Project.methods.
QUERY_METHODS = ("auto", "local", "global", "drift", "lazy", "hybrid")

CHAT_HINT = "Ask a question; /help lists the commands. 请输入问题；/help 列出命令。"
CHAT_HELP = """\
/sources  what the last answer rests on  上一个回答的来源
/help     these commands  本列表
/quit     ends the conversation, as do /exit, exit, quit and Ctrl-D  结束对话（或输入“退出”）"""
_COMMANDS = ("/sources", "/help", "/quit", "/exit")
_ENDS = ("exit", "quit", "退出")
_KNOWN = f"known: {', '.join(_COMMANDS)}"
_SLASH = re.compile(r"/\w*")

method_option = click.option(
    "--method", type=terminal.Choice(QUERY_METHODS), default="auto", show_default=True,
    help="local: entities and what stands around them; global: themes of the whole collection; "
    "drift: from themes to details, step by step; lazy: reads for the question, needs no "
    "reports; hybrid: the best passages; auto: chosen from the question.",
)  # fmt: skip
no_model_option = click.option(
    "--no-model", is_flag=True, help="Quote the documents instead of asking the model."
)


@click.command()
@terminal.in_project
@method_option
@click.option("--stream", is_flag=True, help="Print the answer as it comes.")
@click.option(
    "--history", type=click.Path(path_type=Path), metavar="FILE",
    help="The conversation so far, as JSON: [{\"question\": …, \"answer\": …}] or chat messages.",
)  # fmt: skip
@click.option(
    "--response-type", metavar="TEXT",
    help="Form of the answer, such as \"a single paragraph\". Default: answer.response_type.",
)  # fmt: skip
@click.option(
    "--community-level", type=click.IntRange(0), metavar="N",
    help="Level of the reports read. Default: global_search.community_level.",
)  # fmt: skip
@no_model_option
@click.option(
    "--dry-run", is_flag=True,
    help="Show the prompts, their tokens and the price; send nothing.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Also show the steps, model calls and passages.")
@terminal.rerank_option
@terminal.where_option
@terminal.at_option
@terminal.json_option
@click.argument("question", nargs=-1, required=True)
def query(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    method: str,
    stream: bool,
    history: Path | None,
    response_type: str | None,
    community_level: int | None,
    no_model: bool,
    dry_run: bool,
    explain: bool,
    rerank: str | None,
    where: str | None,
    at: str | None,
    as_json: bool,
    question: tuple[str, ...],
) -> None:
    """Answer QUESTION with sources.

    Each [n] in the answer names a document and a character span you can check. When the
    documents do not answer the question, that is the answer, with exit code 0 ("refused" in
    --json). When the model fails, the answer is quoted from the documents, with a warning.

    \b
      graphkb query --root my-kb "Who approved contract CT-2023-118?"
      graphkb query --root my-kb --method local --stream "曹操和刘备是什么关系?"
      graphkb query --root my-kb --method global "What are the main themes?"
    """
    options: dict[str, Any] = {}
    if history is not None:
        from graphkb.query.history import read_history

        options["history"] = read_history(history)
    if response_type:
        options["response_type"] = response_type
    if community_level is not None:
        options["community_level"] = community_level
    text = " ".join(question)
    overrides = terminal.with_rerank(_overridden(overrides, no_model), rerank)
    with terminal.opened(root, overrides, verbose, at, where) as project:
        if dry_run:
            _show_plan(project, text, method, options, as_json)
            return
        if stream and not as_json:
            answer = _print_stream(project, text, method, options)
        else:
            with shown_wait("query"):
                answer = project.query(text, method=method, **options)
    if as_json or not stream:
        _warn(answer)
    if as_json:
        terminal.print_json(answer.to_dict())
        return
    from graphkb.view.summary import usage_lines
    from graphkb.view.terminal import answer_lines, evidence_lines, trace_lines

    shown = evidence_lines if stream else answer_lines
    lines = shown(answer, terminal.bold, terminal.dim)
    if explain:
        lines += trace_lines(answer, terminal.bold, terminal.dim)
        if answer.usage.steps:
            lines += ["", terminal.bold("Model calls:")]
            lines += [f"  {line}" for line in usage_lines(answer.usage.steps)]
    click.echo("\n".join(lines))


def _overridden(overrides: tuple[str, ...], no_model: bool) -> tuple[str, ...]:
    return (*overrides, "answer.method=extractive") if no_model else overrides


def _show_plan(
    project: Project, question: str, method: str, options: dict[str, Any], as_json: bool
) -> None:
    from graphkb.view.terminal import plan_lines

    plan = project.plan_query(question, method=method, **options)
    if as_json:
        terminal.print_json(plan.to_dict())
    else:
        click.echo("\n".join(plan_lines(plan, terminal.bold)))


def _print_stream(project: Project, question: str, method: str, options: dict[str, Any]) -> Answer:
    """The answer after its text was printed as it came, then its warnings, then the checked
    text where that is another."""
    from graphkb.view.terminal import corrected_lines, printable

    stream = project.stream(question, method=method, **options)
    shown = ""
    with shown_wait("query") as end_wait:
        for piece in stream:
            end_wait()
            shown += piece
            click.echo(printable(piece.replace("\r", "")), nl=False)
    click.echo()
    _warn(stream.answer)
    for line in corrected_lines(stream.answer, shown, terminal.bold):
        click.echo(line)
    return stream.answer


def _warn(answer: Answer) -> None:
    for warning in answer.warnings:
        terminal.warn(warning)


@click.command()
@terminal.in_project
@method_option
@no_model_option
@terminal.where_option
@terminal.at_option
def chat(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    method: str,
    no_model: bool,
    where: str | None,
    at: str | None,
) -> None:
    """Ask question after question in a conversation.

    Each is understood from those before it. /sources shows what the last answer rests on,
    /help lists the commands; /quit, exit, 退出 or Ctrl-D ends the conversation.

    \b
      graphkb chat --root my-kb
      graphkb chat --root my-kb --method local
    """
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (line editing and recall for input())

    with terminal.opened(root, _overridden(overrides, no_model), verbose, at, where) as project:
        turns: list[tuple[str, str]] = []
        last: Answer | None = None
        if _at_terminal():
            click.echo(CHAT_HINT, err=True)
        while (line := _read_line()) is not None:
            command = _command(line)
            if command == "/quit":
                break
            if command:
                _obey(command, last)
            elif line:
                try:
                    last = _print_stream(project, line, method, {"history": turns})
                except GraphkbError as error:
                    terminal.report(str(error))
                    continue
                turns.append((last.question, last.text))
                _print_closing(last)


def _at_terminal() -> bool:
    return sys.stdin.isatty()


def _read_line() -> str | None:
    """A line without outer space; None at the end of the input."""
    try:
        return input("> " if _at_terminal() else "").strip()
    except EOFError:
        return None


def _command(line: str) -> str:
    """The command that a line is, with its other names made ``/quit``; empty for a question.

    A line that begins with a slash and goes on is a question, such as one about the path /health.

    >>> _command("退出"), _command("/Help"), _command("/nosuch"), _command("/health 返回什么？")
    ('/quit', '/help', '/nosuch', '')
    """
    words = line.lower().replace("／", "/", 1).split()
    if line.lower() in _ENDS or words[:1] == ["/exit"]:
        return "/quit"
    if not words or not _SLASH.fullmatch(words[0]):
        return ""
    return words[0] if len(words) == 1 or words[0] in _COMMANDS else ""


def _obey(command: str, last: Answer | None) -> None:
    if command == "/sources":
        _print_sources(last)
    elif command == "/help":
        click.echo(CHAT_HELP)
    else:
        click.echo(f"{command} is no command; {_KNOWN}", err=True)


def _print_closing(answer: Answer) -> None:
    from graphkb.view.answer import closing_line
    from graphkb.view.terminal import one_line

    click.echo(terminal.dim(one_line(closing_line(answer))) + "\n")


def _print_sources(answer: Answer | None) -> None:
    from graphkb.view.terminal import support_lines
    from graphkb.view.wording import wording

    if answer is None:
        click.echo("nothing was asked yet", err=True)
    else:
        lines = support_lines(answer, terminal.bold) or [wording(answer.question).no_sources]
        click.echo("\n".join(lines).lstrip("\n"))
