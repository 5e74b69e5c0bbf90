"""A store whose searches give only some text units, the best of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphkb.store.lance import Store
from graphkb.store.tables import quoted

Run = list[tuple[str, float]]

# Up to so many ids are named to the store, which then looks at nothing else; its time grows with
# them. Above, more hits are fetched until enough of them are meant.
_MOST_NAMED = 1_000
# Hits fetched beyond what the share of the units that are meant makes likely.
_MARGIN = 1.5


class NarrowedStore(Store):
    """``store`` as it is, but searches give only text units in ``unit_ids``, or, where that is
    given, all but the few in ``others``.

    ``total`` is the number of all text units. Order and scores are those of the whole ranking,
    and there are as many hits as were asked for where so many are meant.
    """

    def __init__(
        self, store: Store, unit_ids: frozenset[str], others: frozenset[str], total: int
    ) -> None:
        super().__init__(store.output, store.tables, store.folder)
        self._opened, self._readers = store._opened, store._readers
        self._kept, self._exact, self._counts = store._kept, store._exact, store._counts
        self._unit_ids, self._total = unit_ids, total
        self._named = ""
        if len(unit_ids) <= _MOST_NAMED:
            self._named = f"IN {quoted(sorted(unit_ids))}" if unit_ids else ""
        elif 0 < len(others) <= _MOST_NAMED:
            self._named = f"NOT IN {quoted(sorted(others))}"

    def search_text(self, tokens: Sequence[str], limit: int, name: str = "search_texts") -> Run:
        """As :meth:`Store.search_text`, within the text units."""
        whole = super().search_text
        return self._enough(lambda n: whole(tokens, n, name), limit)

    def search_vector(self, vector: np.ndarray, limit: int, language: str | None = None) -> Run:
        """As :meth:`Store.search_vector`, within the text units."""
        whole = super().search_vector
        if self.has("vectors") and self._exact_vectors() is not None:
            return whole(vector, limit, language)
        return self._enough(lambda n: whole(vector, n, language), limit)

    @property
    def _among(self) -> frozenset[str]:
        return self._unit_ids

    def _narrowing(self, column: str) -> str:
        return f"{column} {self._named}" if self._named else ""

    def _enough(self, search: Callable[[int], Run], limit: int) -> Run:
        """The first ``limit`` hits that are meant, of as many as it takes."""
        if not self._unit_ids:
            return []
        if self._named or len(self._unit_ids) >= self._total:
            return search(limit)
        wanted = int(limit * _MARGIN * self._total / len(self._unit_ids)) + limit
        seen = -1
        while True:
            run = search(wanted)
            meant = [hit for hit in run if hit[0] in self._unit_ids]
            if len(meant) >= limit or len(run) == seen:
                return meant[:limit]
            seen, wanted = len(run), wanted * 4
