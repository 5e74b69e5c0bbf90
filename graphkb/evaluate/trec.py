"""Runs and judgements in TREC's formats, for trec_eval, ranx, ir-measures and others.

``PREFIX.qrels`` has ``question 0 document 1`` a line, ``PREFIX.<method>.run`` has ``question Q0
document rank score method``. Ids hold no white space there: it and ``%`` are written as ``%XX``
(percent-encoded UTF-8), the same in both files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from graphkb.errors import UsageError
from graphkb.evaluate.files import check_writable, write_text
from graphkb.evaluate.results import Asked, Evaluation, MethodResult

_NOT_PLAIN = re.compile(r"[\s%\x00-\x1f\x7f]")


def check_prefix(prefix: Path, methods: Sequence[str], what: str = "--trec") -> None:
    """Raises UsageError when a file that :func:`write_trec` makes for these methods cannot be
    written."""
    if prefix.name in ("", ".."):
        raise UsageError(f"{what}: {prefix} is a folder; give how the files begin, such as out/run")
    for path in (_qrels_path(prefix), *(_run_path(prefix, method) for method in methods)):
        check_writable(path, what)


def write_trec(prefix: Path, evaluation: Evaluation) -> list[Path]:
    """Write the judgements and one run a method; the paths written.

    Relevant documents that are not in the knowledge base are judged too, as evidence that cannot
    be found. Questions without relevant documents are in no file. A question that retrieved
    nothing has no line in a run: trec_eval counts it with ``-c``.
    """
    judged = [question for question in evaluation.questions if question.relevant]
    files = {_qrels_path(prefix): _qrels(judged)}
    for result in evaluation.methods:
        files[_run_path(prefix, result.method)] = _run(result, {question.id for question in judged})
    for path, lines in files.items():
        write_text(path, "".join(f"{line}\n" for line in lines))
    return list(files)


def _qrels_path(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.qrels")


def _run_path(prefix: Path, method: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{method}.run")


def _qrels(questions: list[Asked]) -> Iterator[str]:
    for question in questions:
        for document in question.relevant:
            yield f"{token(question.id)} 0 {token(document)} 1"


def _run(result: MethodResult, judged: set[str]) -> Iterator[str]:
    for question in result.questions:
        if question.id in judged:
            for rank, document in enumerate(question.documents, 1):
                score = f"{1 / rank:.8f}"
                yield f"{token(question.id)} Q0 {token(document)} {rank} {score} {result.method}"


def token(text: str) -> str:
    """An id without white space.

    >>> token("Publix (2)"), token("青石 公司"), token("100%")
    ('Publix%20(2)', '青石%20公司', '100%25')
    """
    return _NOT_PLAIN.sub(lambda match: quote(match.group(), safe=""), text) or "%00"
