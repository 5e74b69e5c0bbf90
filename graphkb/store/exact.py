"""Exact nearest neighbours among the vectors of one version, all held in memory."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Run = list[tuple[str, float]]


class ExactVectors:
    """Vectors by text unit, each compared with the question.

    ``vectors`` (float32 [n, dimension], unit rows) and ``languages`` belong to ``ids``.
    """

    def __init__(self, ids: list[str], languages: list[str], vectors: NDArray[np.float32]) -> None:
        # Sorted, so that of equal scores the smaller id stands first.
        order = sorted(range(len(ids)), key=ids.__getitem__)
        self.ids = [ids[place] for place in order]
        self._languages = [languages[place] for place in order]
        self._vectors = np.ascontiguousarray(vectors[order])
        self._among: tuple[Set[str], NDArray[np.intp]] | None = None

    @cached_property
    def _by_language(self) -> dict[str, NDArray[np.intp]]:
        codes = np.array(self._languages, dtype=np.str_)
        return {str(code): np.flatnonzero(codes == code) for code in np.unique(codes)}

    def search(
        self,
        vector: NDArray[Any],
        limit: int,
        language: str | None = None,
        among: Set[str] | None = None,
    ) -> Run:
        """The best ``limit`` ids by dot product, best first, ties by id; only those in
        ``language``, and of those in ``among``, where these are given."""
        # Row by row in this thread: the threads of a matrix product cost four times as much
        # processor time as they save.
        scores = np.vecdot(self._vectors, vector.astype(np.float32))
        places = np.arange(len(self.ids))
        if language is not None:
            places = self._by_language.get(language, places[:0])
        if among is not None:
            places = np.intersect1d(places, self._places(among), assume_unique=True)
        chosen = scores[places]
        if places.size > limit:
            cut = np.partition(chosen, places.size - limit)[places.size - limit]
            places, chosen = places[chosen >= cut], chosen[chosen >= cut]
        order = np.lexsort((places, -chosen))[:limit]
        return [(self.ids[places[at]], float(chosen[at])) for at in order]

    def _places(self, among: Set[str]) -> NDArray[np.intp]:
        known = self._among
        if known is None or known[0] is not among:
            places = np.flatnonzero([unit_id in among for unit_id in self.ids])
            self._among = known = among, places
        return known[1]
