"""Dense leg: nearest text units by embedding, through the store's vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphkb.embed import Vectors
from graphkb.store.lance import Store

Run = list[tuple[str, float]]

# Hits whose mean similarity stands for "unrelated" in one language.
_BACKGROUND = slice(10, 50)


def search_dense(store: Store, vector: Vectors, limit: int) -> Run:
    """Text unit ids with their cosine similarity to the vector of a question, float32 [dimension],
    best first, ties by id."""
    return store.search_vector(vector, limit)


def search_beside(
    store: Store,
    vector: Vectors,
    limit: int,
    languages: Sequence[str],
    background: Mapping[str, float],
) -> Run:
    """As :func:`search_across_languages`, above a ``background`` by language that is known."""
    found = [
        (unit_id, score - background.get(language, 0.0))
        for language in languages
        for unit_id, score in store.search_vector(vector, limit, language)
    ]
    return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:limit]


def backgrounds(
    store: Store, vector: Vectors, limit: int, languages: Sequence[str]
) -> dict[str, float]:
    """The background of each language, as :func:`search_across_languages` takes it."""
    runs = _by_language(store, vector, limit, languages)
    return {language: _background(run) for language, run in runs.items()}


def _by_language(
    store: Store, vector: Vectors, limit: int, languages: Sequence[str]
) -> dict[str, Run]:
    """The hits in each language that has any, enough of them for its background."""
    depth = max(limit, _BACKGROUND.stop)
    runs = {language: store.search_vector(vector, depth, language) for language in languages}
    return {language: run for language, run in runs.items() if run}


def _background(run: Run) -> float:
    """Mean similarity of hits 11 to 50, or of all where there are fewer."""
    scores = np.array([score for _, score in run])
    return float((scores[_BACKGROUND] if len(scores) > _BACKGROUND.stop else scores).mean())


def search_across_languages(
    store: Store, vector: Vectors, limit: int, languages: Sequence[str]
) -> Run:
    """Text unit ids with similarity above their language's background, best first, ties by id.

    Multilingual models place any two texts of one language closer together than related texts
    of two, so a question whose words stand nowhere is compared within each language: from every
    similarity the mean of that language's hits 11 to 50 (or of all, where there are fewer) is
    taken.
    """
    merged: Run = []
    for run in _by_language(store, vector, limit, languages).values():
        background = _background(run)
        merged.extend((unit_id, score - background) for unit_id, score in run)
    return sorted(merged, key=lambda hit: (-hit[1], hit[0]))[:limit]
