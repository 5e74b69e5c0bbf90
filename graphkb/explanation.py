"""Why a document was, or was not, returned for a question: the values that say it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Word:
    """A search token of the question: its idf, how many text units hold it, and whether the
    document and its text unit in question do."""

    token: str
    idf: float
    text_units: int
    in_document: bool
    in_unit: bool


@dataclass(frozen=True)
class LegView:
    """How one leg saw the document: its best text unit there, with rank and score.

    ``rank`` is None where the unit is not among the ``candidates`` that the leg put forward;
    ``score`` is then computed for it alone, and None where nothing connects it to the question.
    ``lowest`` is the score of the last candidate, ``weight`` what the leg counts in fusion of
    scaled scores, None where it does not vote. ``problem`` says why a leg did not run.
    """

    leg: str
    text_unit_id: str
    rank: int | None
    score: float | None
    candidates: int
    lowest: float | None
    weight: float | None
    problem: str = ""


@dataclass(frozen=True)
class Named:
    """An entity that the question names: the words, how they were matched (exact, alias, fuzzy,
    …), its weight, in how many text units it stands, and whether the document is one of them."""

    surface: str
    entity: str
    how: str
    weight: float
    text_units: int
    in_document: bool


@dataclass(frozen=True)
class Link:
    """One step of a path: from ``source`` by ``phrase`` to ``target``; ``kind`` of the target is
    ``entity`` or ``text unit``."""

    source: str
    phrase: str
    target: str
    kind: str


@dataclass(frozen=True)
class Explanation:
    """Why a document was, or was not, among the ``top_k`` hits of a question.

    ``text_unit_id`` is the document's text unit that came nearest, or the one that was asked
    for; ``text`` its words, ``page`` and ``page_end`` its pages, ``sheets``, ``row`` and
    ``row_end`` its place in a workbook. ``rank`` is its place among the hits, None when it is not
    among them; ``cut`` says where it was lost: ``filter``, ``candidates``, ``rerank``,
    ``max_per_doc``, ``diversity`` or ``top_k``, and is empty for a hit. ``fused_rank`` of
    ``n_fused`` and ``fused_score`` are None where no leg put it forward; ``rerank_rank`` and
    ``rerank_score`` where it was not reranked. ``links`` lead from what the question names to the
    text unit, empty where nothing does. ``advice`` is one line.
    """

    question: str
    document_id: str
    title: str
    path: str
    text_unit_id: str
    text: str
    top_k: int
    rank: int | None
    cut: str
    reason: str
    words: tuple[Word, ...]
    legs: tuple[LegView, ...]
    named: tuple[Named, ...]
    links: tuple[Link, ...]
    n_fused: int
    fused_rank: int | None
    fused_score: float | None
    last_score: float | None
    rerank_rank: int | None
    rerank_score: float | None
    advice: str
    warnings: tuple[str, ...] = ()
    page: int | None = None
    page_end: int | None = None
    sheets: tuple[str, ...] = ()
    row: int | None = None
    row_end: int | None = None

    @property
    def returned(self) -> bool:
        """Whether the text unit is among the hits."""
        return self.rank is not None

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values, with ``returned``."""
        return {**asdict(self), "returned": self.returned}

    def __str__(self) -> str:
        from graphkb.view.explain import explanation_lines

        return "\n".join(explanation_lines(self))

    def _repr_html_(self) -> str:
        from graphkb.view.explain import explanation_html

        return explanation_html(self)
