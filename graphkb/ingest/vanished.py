"""Documents that are gone from the input folder all at once: a share that is not mounted, a
pattern that leaves out more than was meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from graphkb.errors import EmptiedInputError
from graphkb.ingest.assemble import document_path
from graphkb.settings_input import Input
from graphkb.types import Refused

# So many documents or more that are gone are worth a word where they are more than half of all.
_MANY = 5
_REASONS = 3


@dataclass(frozen=True)
class Vanished:
    """``gone`` of the ``before`` documents of version ``version`` are in ``folder`` no more,
    ``left`` are; what the user removed is not counted."""

    folder: Path
    options: Input
    version: int
    before: int
    gone: int
    left: int

    def check_left(self, n_files: int, refused: Sequence[Refused], ignored: Sequence[str]) -> None:
        """Raises EmptiedInputError where documents are gone and none is left; ``n_files`` were
        found there and ``refused``, others ``ignored``."""
        if self.left or not self.gone:
            return
        reasons = "; ".join(f"{item.where}: {item.reason}" for item in refused[:_REASONS])
        more = f" (+{len(refused) - _REASONS} more)" if len(refused) > _REASONS else ""
        found = (
            f"no text in {n_files} file(s): {reasons}{more}" if n_files else "no documents found"
        )
        raise EmptiedInputError(
            f"{self.folder}: {found} ({'; '.join([self._patterns(), *ignored])}): "
            f"{_documents(self.gone)} would be removed and the knowledge base left empty; nothing "
            "was changed; bring the files back (is a share not mounted?) or correct "
            "input.include, or, to empty it: graphkb index --allow-empty"
        )

    def warnings(self) -> list[str]:
        """A line where more than half of the documents are gone, and not only a few, or all."""
        if not self.gone or (self.left and (self.gone < _MANY or 2 * self.gone <= self.before)):
            return []
        back = f"graphkb snapshot restore {self.version} goes back (for an hour)"
        return [
            f"{self.gone:,} of {_documents(self.before)} are no longer read from {self.folder} "
            f"({self._patterns()}) and are removed{'; ' + back if self.version else ''}"
        ]

    def _patterns(self) -> str:
        """The patterns as settings.yaml says them."""
        exclude = f", input.exclude {self.options.exclude}" if self.options.exclude else ""
        return f"input.include {self.options.include}{exclude}"


def without_taken(
    documents: pl.DataFrame, sources: pl.DataFrame, admitted: pl.DataFrame
) -> pl.DataFrame:
    """The documents without those of ``sources`` that are not among the ``admitted``."""
    taken = sources.join(admitted, on=["path", "row", "member"], how="anti")
    places = taken.select(document_path(), pl.coalesce("own_id", "content_hash").alias("id"))
    return documents.join(places, on=["path", "id"], how="anti")


def _documents(n: int) -> str:
    return f"{n:,} document{'s' * (n != 1)}"
