"""Questions about text units that are sent while other documents are still being cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from graphkb.settings import uses_model
from graphkb.stages.extraction import (
    NOT_A_ROW,
    as_units,
    extraction_method,
    extraction_questions,
)
from graphkb.stages.imported import depends_on_imported
from graphkb.work import Work

if TYPE_CHECKING:
    from graphkb.extract.questions import Questions

# Seconds in which a model that is near replies.
_MOMENT = 0.3


class AskedAhead:
    """Sends what the model will be asked about new text units while others are still being cut.

    Nothing is sent where that depends on more than a unit: on what rules find in it (``hybrid``),
    on a sentence that the model is to write on its place, or on what was imported.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        settings = work.settings
        self._asks = (
            work.model is not None
            and extraction_method(settings) == "llm"
            and not uses_model(settings, "chunks")
            and not depends_on_imported(work)
        )
        self._questions: Questions | None = None

    def ask(self, documents: pl.DataFrame, units: pl.DataFrame) -> None:
        """Units of some documents, as far as the last run did not read the same ones."""
        if not self._asks:
            return
        from graphkb.code.languages import BY_MEDIA_TYPE

        known = self._work.table("text_units")["id"].implode()
        code = documents.filter(pl.col("media_type").is_in(list(BY_MEDIA_TYPE)))["id"].implode()
        new = ~pl.col("id").is_in(known) & ~pl.col("document_id").is_in(code)
        asked = as_units(units.filter(new & NOT_A_ROW))
        if asked and self._questions is None:
            self._questions = extraction_questions(self._work)
        questions = self._questions
        if questions is not None:
            prompts = (questions.first(unit, 0, len(unit.text)) for unit in asked)
            self._work.asked_model().start(prompts)

    def let_first_go(self) -> None:
        """Let the first question go on its way: the others wait for its reply."""
        if self._questions is not None:
            self._work.asked_model().let_first_go(_MOMENT)

    def let_go(self) -> None:
        """Let what was asked go on its way before something that would hold it up."""
        if self._questions is not None:
            self._work.asked_model().let_go(_MOMENT)
