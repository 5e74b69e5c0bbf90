"""Small values that travel between stages, queries and their callers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Via:
    """How one retrieval leg saw a hit: its rank there (1 is best) and that leg's own score."""

    rank: int
    score: float


@dataclass(frozen=True)
class Part:
    """A text unit within a wider text, with its span in the document's text and its first and
    last page."""

    text_unit_id: str
    char_start: int
    char_end: int
    heading: str
    page: int | None
    page_end: int | None = None


@dataclass(frozen=True)
class Wider:
    """The text around a hit, with its span in the document's text and the text units it is made
    of, in their order; pages as in :class:`Passage`."""

    text: str
    char_start: int
    char_end: int
    parts: tuple[Part, ...]
    page: int | None = None
    page_end: int | None = None
    page_breaks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Hit:
    """One retrieved text unit, best first by ``rank`` (from 1).

    ``char_start`` and ``char_end`` are offsets into the document's text; ``page`` and
    ``page_end`` are its first and last page, 1-based, and None where the format has no pages;
    ``via`` maps leg name to its rank and score. In a workbook each sheet is a page: ``sheets``
    are their names, ``row`` and ``row_end`` the first and last row, None where there is no
    single sheet or no row.
    ``wider`` is the text around the hit where ``search.expand`` asks for it; ``text`` and its
    span stay what was found.
    """

    rank: int
    score: float
    text_unit_id: str
    document_id: str
    title: str
    path: str
    heading: str
    page: int | None
    char_start: int
    char_end: int
    text: str
    via: Mapping[str, Via] = field(default_factory=dict)
    wider: Wider | None = None
    page_end: int | None = None
    sheets: tuple[str, ...] = ()
    row: int | None = None
    row_end: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return {**asdict(self), "sheets": list(self.sheets)}

    def _repr_html_(self) -> str:
        from graphkb.view.answer import hits_html

        return hits_html([self])


class Hits(tuple[Hit, ...]):
    """Hits, best first; a tuple that also renders in a notebook and carries its trace."""

    trace: tuple[Step, ...]
    warnings: tuple[str, ...]

    def __new__(
        cls,
        hits: Iterator[Hit] | list[Hit] | tuple[Hit, ...] = (),
        trace: tuple[Step, ...] = (),
        warnings: tuple[str, ...] = (),
    ) -> Hits:
        self = super().__new__(cls, hits)
        self.trace = trace
        self.warnings = warnings
        return self

    def _repr_html_(self) -> str:
        from graphkb.view.answer import hits_html

        return hits_html(list(self))


@dataclass(frozen=True)
class Citation:
    """What ``[number]`` in an answer points to; the span is in the document's text. ``page`` and
    ``page_end`` are the pages that the quote itself begins and ends on; in a workbook each sheet
    is a page, ``sheets`` are their names, ``row`` and ``row_end`` the first and last row, None
    where there is no single sheet or no row.

    ``support`` in [0, 1] is the share of the statement's words that the source holds, 1 for a
    quote; ``supported`` is False where the source does not bear out what cites it, and None
    where that was not checked: between languages only numbers are compared, and ``support``
    says nothing.
    """

    number: int
    text_unit_id: str
    document_id: str
    title: str
    path: str
    heading: str
    page: int | None
    char_start: int
    char_end: int
    quote: str
    support: float = 1.0
    supported: bool | None = True
    page_end: int | None = None
    sheets: tuple[str, ...] = ()
    row: int | None = None
    row_end: int | None = None


@dataclass(frozen=True)
class Step:
    """One line of a trace: what was done, what came out, how long it took."""

    name: str
    detail: str
    seconds: float


@dataclass(frozen=True)
class StepUsage:
    """What the model calls of one step cost: ``extract``, ``report``, ``answer`` and so on.

    ``calls`` are requests answered and paid for, ``cached`` those answered from the cache,
    ``retries`` requests that failed and were sent again, ``repaired`` replies that had to be
    asked for again with the error shown, ``failed`` calls given up. ``price`` in USD is None
    when the model's price is not known; ``seconds`` is time in calls, summed over all of them.
    """

    step: str
    model: str
    calls: int = 0
    cached: int = 0
    retries: int = 0
    repaired: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    price: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Usage:
    """What an answer cost. Without a model ``calls`` and tokens are zero.

    ``price`` in USD is None without a known price; ``steps`` has the model calls by step.
    """

    seconds: float
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    price: float | None = None
    steps: tuple[StepUsage, ...] = ()


@dataclass(frozen=True)
class Passage:
    """One piece of evidence in a context: a sentence-bearing text with its source.

    ``kind`` is ``text_unit``, ``report`` or ``claim``; ``score`` is comparable within one
    context only. Where the text was widened, ``parts`` are the text units it is made of. Of rows
    of a table whose header is not in the text ``columns`` names the columns. ``page`` and
    ``page_end`` are its first and last page; ``page_breaks`` are the offsets in the document's
    text at which the pages after the first one begin.
    """

    kind: str
    text: str
    score: float
    text_unit_id: str
    document_id: str
    title: str
    path: str
    heading: str
    page: int | None
    char_start: int
    char_end: int
    parts: tuple[Part, ...] = ()
    columns: tuple[str, ...] = ()
    page_end: int | None = None
    page_breaks: tuple[int, ...] = ()

    def pages(self, start: int, end: int) -> tuple[int | None, int | None]:
        """First and last page of a span of it, offsets in the document's text."""
        if self.page is None:
            return None, None
        last = max(start, end - 1)
        return (
            self.page + bisect_right(self.page_breaks, start),
            self.page + bisect_right(self.page_breaks, last),
        )

    def narrowed(self, start: int, end: int) -> Passage:
        """The same passage with a span of its text alone, offsets in the document's text."""
        page, page_end = self.pages(start, end)
        return replace(
            self,
            text=self.text[start - self.char_start : end - self.char_start],
            char_start=start,
            char_end=end,
            page=page,
            page_end=page_end,
            page_breaks=tuple(at for at in self.page_breaks if start < at < end),
        )


@dataclass(frozen=True)
class Point:
    """Something a model found while reading for a question; ``score`` is 0 to 100.

    ``passages`` are places in ``Context.passages`` that it rests on.
    """

    text: str
    score: float
    passages: tuple[int, ...] = ()


@dataclass(frozen=True)
class Context:
    """What a query method found: evidence passages best first, and graph rows beside them.

    ``evidence`` in [0, 1] says how well the question is covered; below the refusal threshold
    the answer is a refusal; ``foreign`` when the best passage is in another language than the
    question; ``missing`` are names in the question that stand nowhere. ``entities``,
    ``relationships``, ``claims`` and ``reports`` are plain rows for display and for prompts.
    ``points`` are what a model gathered from reports or steps, best first.
    """

    method: str
    passages: tuple[Passage, ...]
    evidence: float
    n_tokens: int
    foreign: bool = False
    missing: tuple[str, ...] = ()
    entities: tuple[Mapping[str, Any], ...] = ()
    relationships: tuple[Mapping[str, Any], ...] = ()
    claims: tuple[Mapping[str, Any], ...] = ()
    reports: tuple[Mapping[str, Any], ...] = ()
    points: tuple[Point, ...] = ()
    trace: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A question's answer with the sources it can be checked against.

    ``model`` wrote it; empty where it is quoted from the documents. ``unsupported`` are its
    statements that the sources they cite do not bear out, ``uncited`` those without a source.
    ``complete`` is False when the model stopped before its end.
    """

    question: str
    text: str
    citations: tuple[Citation, ...]
    refused: bool
    method: str
    context: Context
    usage: Usage
    trace: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()
    model: str = ""
    unsupported: tuple[str, ...] = ()
    uncited: tuple[str, ...] = ()
    complete: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        from graphkb.view.answer import answer_text

        return answer_text(self)

    def _repr_html_(self) -> str:
        from graphkb.view.answer import answer_html

        return answer_html(self)


@dataclass(frozen=True)
class Refused:
    """Something a stage did not take, kept for the report: where it stood and why."""

    where: str
    reason: str


@dataclass(frozen=True)
class IndexResult:
    """What one index run did. ``version`` is the committed knowledge-base version.

    ``reused`` is the share of ``communities`` and ``reports`` whose rows are those of the version
    before, column for column; empty when there was none. ``incomplete`` names work that the
    model could not do and what stands in for it: the next run tries just that again.
    ``refused_before`` are those of ``refused`` that the run before said of the same files.
    ``unit_sizes`` is what :func:`graphkb.ingest.sizes.unit_sizes` says of all text units.
    ``renamed`` are (old path, new path) of files whose documents stay as they were.
    """

    version: int
    counts: Mapping[str, int]
    added: int
    changed: int
    removed: int
    seconds: Mapping[str, float]
    refused: tuple[Refused, ...] = ()
    warnings: tuple[str, ...] = ()
    reused: Mapping[str, float] = field(default_factory=dict)
    incomplete: tuple[str, ...] = ()
    usage: tuple[StepUsage, ...] = ()
    unit_sizes: Mapping[str, Any] = field(default_factory=dict)
    refused_before: tuple[Refused, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class NamedSnapshot:
    """A version kept under a name. ``committed_at`` is when it was indexed, ``created_at`` when
    it was given the name; ``problem`` says why it cannot be read, or is None."""

    name: str
    version: int
    committed_at: str
    created_at: str
    note: str
    automatic: bool
    counts: Mapping[str, int]
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Restored:
    """What a restore did: ``version`` is committed now and equals ``source``; ``before`` is the
    automatic snapshot of what was current, or None when that was damaged."""

    version: int
    source: str
    before: NamedSnapshot | None
    counts: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self)


Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``; ``total`` 0 means not known yet."""


def no_progress(stage: str, done: int, total: int) -> None:
    """A :data:`Progress` that shows nothing."""
