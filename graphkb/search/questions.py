"""Question leg: the text units whose generated questions are most like the question asked.

Doc2Query (Nogueira, Yang, Lin, Cho 2019), with the questions in an index of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphkb.store.lance import Store
from graphkb.text.segment import query_tokens

TABLE = "questions"


def search_questions(
    store: Store, question: str, dictionary: Sequence[str], limit: int
) -> list[tuple[str, float]]:
    """Text unit ids with the BM25 score of their best question, best first, ties by id."""
    return store.search_text(query_tokens(question, dictionary), limit, TABLE)


def question_problem(store: Store) -> str:
    """Why there is no question leg in this version; empty when there is one."""
    if store.count(TABLE):
        return ""
    return "no questions are made yet: set questions.method and run graphkb index"
