"""Small tables in memory, for who looks rows up in them again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl


class KeptTable:
    """Some columns of a table of one version, by the values of ``column``; ``frame`` is None until
    they are read. A table that is not ``small`` is never read."""

    def __init__(self, version: int, column: str, small: bool) -> None:
        self.version, self.column, self.small = version, column, small
        self.frame: pl.DataFrame | None = None
        self._places: dict[Any, list[int]] = {}

    def keep(self, frame: pl.DataFrame, columns: Sequence[str]) -> None:
        """Hold ``columns`` of a frame that has ``column``, too."""
        places: dict[Any, list[int]] = {}
        for place, value in enumerate(frame[self.column].to_list()):
            places.setdefault(value, []).append(place)
        # The frame last: other threads look rows up as soon as it is there.
        self._places = places
        self.frame = frame.select(columns)

    def rows(self, wanted: Iterable[Any]) -> pl.DataFrame:
        """Rows that have one of the values, in the order of these."""
        assert self.frame is not None
        return self.frame[[place for value in wanted for place in self._places.get(value, ())]]
