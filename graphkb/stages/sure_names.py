"""Names that rules are sure of, added to what a model lists: it leaves some out."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from graphkb.settings import Extract
from graphkb.tables import TABLES

#: Types that rules give to what they are not sure is a name.
_UNSURE = ("TERM", "DOCUMENT")
_STEP = 50


class SureNames:
    """Mentions in text units that rules are sure of, whatever words were mined: typed names and
    second names."""

    def __init__(self, units: pl.DataFrame, options: Extract) -> None:
        self._units = units
        self._options = options.model_copy(update={"claims": False})
        self._found = [TABLES["mention_evidence"].empty()]
        self._done = 0

    def steps(self) -> Iterator[None]:
        """Find them, a few units at a time."""
        while self._done < self._units.height:
            self._find(_STEP)
            yield

    def of(self, unit_ids: Collection[str]) -> pl.DataFrame:
        """Those of some of the units, also where not all steps were taken."""
        self._find(self._units.height)
        every = pl.concat(self._found)
        return every.filter(pl.col("text_unit_id").is_in(list(unit_ids)))

    def _find(self, n_units: int) -> None:
        from graphkb.extract.offline import extract_units

        units = self._units.slice(self._done, n_units)
        self._done += units.height
        if units.is_empty():
            return
        mentions = extract_units(units, TABLES["terms"].empty(), self._options).mentions
        sure = ~pl.col("type").is_in(_UNSURE) | pl.col("alias_of").is_not_null()
        self._found.append(TABLES["mention_evidence"].conform(mentions.filter(sure)))
