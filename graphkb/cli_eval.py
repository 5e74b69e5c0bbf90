"""``graphkb eval``: quality as numbers, on the user's own questions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphkb import terminal
from graphkb.progress import shown_progress

if TYPE_CHECKING:
    from graphkb.evaluate.questions import QuestionSet
    from graphkb.evaluate.results import Evaluation
    from graphkb.project import Project

_QUESTIONS = "queries.jsonl"
_MODES = ("tune", "calibrate", "answers", "compare")


class _File(click.Path):
    """A file to be written; an empty name (a shell variable that is not set) is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("the name is empty; give the name of a file", param, ctx)
        return super().convert(value, param, ctx)


@click.command("eval")
@terminal.in_project
@click.option(
    "--methods", default="",
    help="Comma-separated search methods; query methods with --answers and --calibrate. "
    "Default: every search method; auto; hybrid,local,global.",
)  # fmt: skip
@click.option("-k", "ks", default="1,5,8", show_default=True, help="Comma-separated cut-offs.")
@click.option(
    "--misses", is_flag=True,
    help="For each question with evidence missing from the last cut-off: what is missing, where it "
    "was lost, and what each leg returned.",
)  # fmt: skip
@click.option("--save", metavar="NAME", help="Keep the run as output/eval/NAME.json.")
@click.option(
    "--compare", nargs=2, metavar="RUN1 RUN2",
    help="Two saved runs (names or files) question by question. Exit code 1 when the second is "
    "worse by more than chance explains.",
)  # fmt: skip
@click.option(
    "--all", "everything", is_flag=True,
    help="With --compare: also the questions, metrics and methods that did not change.",
)  # fmt: skip
@click.option(
    "--html", "page", type=_File(path_type=Path), metavar="FILE",
    help="Write a report with charts and the misses; one file that loads nothing.",
)  # fmt: skip
@click.option(
    "--trec", type=_File(path_type=Path), metavar="PREFIX",
    help="Write PREFIX.qrels and PREFIX.<method>.run for trec_eval and ranx.",
)  # fmt: skip
@click.option(
    "--tune", is_flag=True,
    help="Fit search.fusion, rrf_k and weights, and say whether the gain holds on questions that "
    "were not fitted on.",
)  # fmt: skip
@click.option(
    "--calibrate", is_flag=True,
    help="Find the threshold of refusal, from questions with answers and without "
    "(\"relevant\": []).",
)  # fmt: skip
@click.option(
    "--false-refusals", type=click.FloatRange(0, 1, max_open=True), default=0.05,
    show_default=True, help="With --calibrate: share of answerable questions that may be refused.",
)  # fmt: skip
@click.option(
    "--answers", is_flag=True,
    help="Measure whole answers: citations, support, refusals, and agreement with \"answer\".",
)  # fmt: skip
@click.option(
    "--judge", is_flag=True,
    help="With --answers: the model also judges whether sources bear out what cites them.",
)  # fmt: skip
@click.option(
    "--apply", is_flag=True,
    help="With --tune and --calibrate: write what is recommended into settings.yaml.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=42, show_default=True,
    help="With --tune and --calibrate: how questions are dealt into parts.",
)  # fmt: skip
@terminal.where_option
@terminal.at_option
@terminal.json_option
@click.argument("questions", type=click.Path(path_type=Path), required=False)
def evaluate(
    root: Path,
    overrides: tuple[str, ...],
    verbose: bool,
    methods: str,
    where: str | None,
    at: str | None,
    as_json: bool,
    questions: Path | None,
    **options: Any,
) -> int:
    """Measure quality on your own QUESTIONS.

    For each leg and method: recall@k, all evidence in the first k, nDCG@k, MRR, latency, with
    95 % confidence intervals, and by number of hops, language and type of question.

    QUESTIONS (queries.jsonl in the project's folder where none is given) has one JSON object a
    line; "relevant" names documents by id, path or title. An empty list says that the documents do
    not answer the question. "answer", "hops", "language" and "type" are used where they are there.
    No questions yet? graphkb questions makes some.

    \b
      {"id": "1", "query": "Who leads Osprey?", "relevant": ["project-osprey-charter.md"]}
      {"id": "2", "query": "陈明在哪里工作?", "relevant": ["公司简介"], "answer": "青石公司"}
      {"id": "3", "query": "火星上有几家门店?", "relevant": []}

    Measure, look at what fails, change something, measure again:

    \b
      graphkb eval -r my-kb queries.jsonl --save before
      graphkb eval -r my-kb queries.jsonl --misses --html report.html
      graphkb eval -r my-kb queries.jsonl --save after --set search.fusion=rrf
      graphkb eval -r my-kb --compare before after

    Let it choose settings, and measure what users get to read:

    \b
      graphkb eval -r my-kb --tune queries.jsonl --apply
      graphkb eval -r my-kb --calibrate queries.jsonl
      graphkb eval -r my-kb --answers queries.jsonl --methods local,hybrid

    Documents count, not passages: nulls are left out, a document counts once at its best place, a
    question that finds nothing counts 0, every value is in [0, 1].

    Exit codes: 0 done; 1 failed, or --compare found the second run worse; 2 wrong usage.
    """
    from graphkb.evaluate.questions import read_questions

    names = tuple(name.strip() for name in methods.split(",") if name.strip())
    if questions is None and not options["compare"] and (root / _QUESTIONS).is_file():
        questions = root / _QUESTIONS
    mode = _mode(questions, options)
    cuts = _cuts(options["ks"])
    question_set = read_questions(questions) if questions else None
    with terminal.opened(root, overrides, verbose, at, where) as project:
        if question_set is None:
            return _compare(project, options["compare"], options["everything"], as_json)
        for item in question_set.refused:
            terminal.warn(f"{item.where}: {item.reason}")
        if mode == "tune":
            return _tune(project, question_set, options, as_json)
        if mode == "calibrate":
            return _calibrate(project, question_set, names, options, as_json)
        if mode == "answers":
            return _answers(project, question_set, names, options["judge"], as_json)
        title = questions.name if questions else ""
        _retrieval(project, question_set, names, cuts, title, options, as_json)
    return 0


def _mode(questions: Path | None, options: dict[str, Any]) -> str:
    """What is to be done. Raises click.UsageError for options that do not go together."""
    chosen = [name for name in _MODES if options[name]]
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} do not go together")
    mode = chosen[0] if chosen else ""
    needs = {"apply": ("tune", "calibrate"), "judge": ("answers",), "everything": ("compare",)}
    needs |= dict.fromkeys(("save", "page", "trec", "misses"), ("",))
    for name, modes in needs.items():
        given = options[name] is not None and options[name] is not False
        if given and mode not in modes:
            shown = {"page": "html", "everything": "all"}.get(name, name)
            wanted = " or ".join(f"--{known}" for known in modes if known)
            goes = f"goes with {wanted}" if wanted else f"does not go with --{mode}"
            raise click.UsageError(f"--{shown} {goes}")
    if (questions is None) != (mode == "compare"):
        raise click.UsageError(
            "--compare reads saved runs and takes no QUESTIONS"
            if mode == "compare"
            else "Missing argument 'QUESTIONS': a file of questions, one JSON object a line "
            f"(the project has no {_QUESTIONS})"
        )
    return mode


def _retrieval(
    project: Project,
    question_set: QuestionSet,
    names: tuple[str, ...],
    cuts: tuple[int, ...],
    title: str,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    from graphkb.evaluate.misses import find_misses
    from graphkb.view.evaluation import evaluation_lines, miss_lines

    _check_outputs(project, names, options)
    with shown_progress() as progress:
        evaluation = project.eval(question_set, names, cuts, progress)
        wanted = options["misses"] or options["page"] is not None
        misses = find_misses(project, evaluation, progress) if wanted else []
    _warn_of_gaps(evaluation)
    if as_json:
        terminal.print_json(evaluation.to_dict())
    else:
        shown = (
            miss_lines(misses, cuts[-1] if options["misses"] else 0) if options["misses"] else []
        )
        click.echo("\n".join(evaluation_lines(evaluation) + shown))
    _write(project, evaluation, misses, title, options)


def _check_outputs(project: Project, names: tuple[str, ...], options: dict[str, Any]) -> None:
    """Raises UsageError for a file that cannot be written, before anything is measured."""
    from graphkb.evaluate.files import check_writable
    from graphkb.evaluate.saved import check_name
    from graphkb.evaluate.trec import check_prefix

    if options["save"] is not None:
        check_name(project.output, options["save"])
    if options["page"] is not None:
        check_writable(options["page"], "--html")
    if options["trec"] is not None:
        check_prefix(options["trec"], names or project.search_methods)


def _write(
    project: Project, evaluation: Evaluation, misses: list[Any], title: str, options: dict[str, Any]
) -> None:
    """The files that were asked for, each named on stderr."""
    from graphkb.evaluate.files import write_text
    from graphkb.evaluate.saved import SavedRun, save_run
    from graphkb.evaluate.trec import write_trec
    from graphkb.view.evaluation_html import evaluation_html

    written = []
    if options["save"] is not None:
        settings = project.settings.model_dump(mode="json", include={"search"})
        run = SavedRun(options["save"], evaluation, project.version, settings)
        written.append(save_run(project.output, run))
    if options["page"] is not None:
        write_text(options["page"], evaluation_html(evaluation, misses, title))
        written.append(options["page"])
    if options["trec"] is not None:
        written += write_trec(options["trec"], evaluation)
    for path in written:
        click.echo(f"written: {path}", err=True)


def _compare(project: Project, runs: tuple[str, str], everything: bool, as_json: bool) -> int:
    from graphkb.evaluate.compare import compare_runs
    from graphkb.evaluate.saved import load_run
    from graphkb.view.evaluation import run_comparison_lines

    before, after = (load_run(project.output, name) for name in runs)
    found = compare_runs(before, after)
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        click.echo("\n".join(run_comparison_lines(found, everything=everything)))
    if found.verdict == "too few":
        terminal.warn(f"{found.n} questions are too few to tell whether {found.after} is worse")
    return 1 if found.is_worse else 0


def _tune(
    project: Project, question_set: QuestionSet, options: dict[str, Any], as_json: bool
) -> int:
    from graphkb.view.evaluation_reports import fit_lines

    with shown_progress() as progress:
        found = project.tune_fusion(question_set, options["seed"], progress)
    for leg, reason in found.skipped.items():
        terminal.warn(f"{leg} left out: {reason}")
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        click.echo("\n".join(fit_lines(found)))
    return _apply(project, found.settings, found.verdict == "real") if options["apply"] else 0


def _calibrate(
    project: Project,
    question_set: QuestionSet,
    names: tuple[str, ...],
    options: dict[str, Any],
    as_json: bool,
) -> int:
    from graphkb.view.evaluation_reports import calibration_lines

    with shown_progress() as progress:
        found = project.calibrate(
            question_set, names, options["false_refusals"], options["seed"], progress
        )
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        click.echo("\n".join(calibration_lines(found)))
    return _apply(project, found.settings, found.verdict == "gain") if options["apply"] else 0


def _apply(project: Project, settings: dict[str, Any], recommended: bool) -> int:
    """Write what is recommended; exit code 1 where nothing is."""
    from graphkb.settings_edit import write_settings

    if not recommended:
        terminal.warn("nothing is recommended, so nothing is written")
        return 1
    written = write_settings(project.root, settings)
    before = f" (the settings until now: {written.backup.name})" if written.backup else ""
    click.echo(f"written: {written.path}{before}", err=True)
    return 0


def _answers(
    project: Project,
    question_set: QuestionSet,
    names: tuple[str, ...],
    judge: bool,
    as_json: bool,
) -> int:
    from graphkb.view.evaluation_reports import answer_lines

    with shown_progress() as progress:
        found = project.eval_answers(question_set, names, judge, progress)
    for where, reason in found.failures.items():
        terminal.warn(f"{where}: not judged: {reason}")
    for method in found.methods:
        said = Counter(text for question in method.questions for text in question.warnings)
        for text, count in said.items():
            terminal.warn(f"{method.method}, {count} questions: {text}")
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        click.echo("\n".join(answer_lines(found)))
    return 1 if found.failures else 0


def _cuts(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    cuts = tuple(int(part) for part in parts if part.isascii() and part.isdigit())
    if not parts or len(cuts) < len(parts) or not all(1 <= cut <= 100 for cut in cuts):
        raise click.UsageError(f"-k {text!r}: give numbers from 1 to 100, such as -k 1,5,8")
    return tuple(sorted(set(cuts)))


def _warn_of_gaps(evaluation: Evaluation) -> None:
    from graphkb.view.evaluation import outside_line

    if outside := outside_line(evaluation):
        terminal.warn(outside)
    for item in evaluation.unmatched:
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
