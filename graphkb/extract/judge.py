"""A model's word on pairs of names: do they mean the same? Asked once for the same evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from graphkb.extract.batches import ask_batches, cut_batches
from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import LANGUAGES, data_block, load_prompt
from graphkb.llm.verdicts import read_numbered_verdicts, verdict_schema
from graphkb.tables import TABLES, content_hash
from graphkb.text.language import has_han

VERDICTS = ("same", "different", "unsure")

SCHEMA = verdict_schema("pair", VERDICTS)
_WORDS = {"相同": "same", "不同": "different", "不确定": "unsure"}
# A number and the verdict right behind it, in JSON or any other writing. "1: not the same" is none.
_VERDICT = re.compile(
    r"(?<![\w.])(\d+)\W{0,20}(?:(?:verdict|result|answer|判断|结论)\W{0,10})?"
    rf"({'|'.join([*VERDICTS, *_WORDS])})(?!\w)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Side:
    """One of two names: its type and a sentence about it, empty when there is none."""

    name: str
    type: str
    says: str

    def __str__(self) -> str:
        return f"{self.name} ({self.type})" + (f": {self.says}" if self.says else "")


@dataclass(frozen=True)
class Comparison:
    """A pair of names to judge, in the order of their keys."""

    one: Side
    other: Side

    @property
    def language(self) -> str:
        """The prompt's language: ``zh`` when either side is Chinese."""
        return "zh" if has_han(f"{self.one}{self.other}") else "en"


def asked_with(root: Path) -> dict[str, str]:
    """Language to the hash of the prompt that pairs are asked with."""
    return {
        language: content_hash(*load_prompt(root, language, "judge", pairs=""))
        for language in LANGUAGES
    }


class Judge:
    """Asks a model about comparisons it has not judged on the same evidence before.

    ``known`` is the judgements table so far. After a call ``judgements`` is the table as it is
    now: one row a comparison, an empty verdict for those that could not be judged, which count
    as unsure; ``failure`` says why, or is empty. ``meanwhile`` is other work, in steps, for the
    time in which replies are awaited.
    """

    def __init__(
        self,
        model: Model,
        root: Path,
        batch_size: int,
        known: pl.DataFrame,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
        meanwhile: Iterable[object] = (),
    ) -> None:
        self._model, self._root, self._size = model, root, batch_size
        self._known = {
            evidence: verdict
            for evidence, verdict in known.select("evidence_hash", "verdict").iter_rows()
            if verdict
        }
        self._on_progress, self._meanwhile = on_progress, meanwhile
        self._asked_with = asked_with(root)
        self.judgements = TABLES["judgements"].empty()
        self.failure = ""

    @property
    def n_open(self) -> int:
        """Comparisons without a verdict."""
        return self.judgements.filter(pl.col("verdict") == "").height

    def __call__(self, comparisons: Sequence[Comparison]) -> list[str]:
        """The verdict on each comparison, empty where there is none. Raises ModelUnusableError."""
        hashes = [self._hash(comparison) for comparison in comparisons]
        new = [place for place in range(len(hashes)) if hashes[place] not in self._known]
        verdicts = dict(self._known)
        batches: list[list[int]] = []
        for language in LANGUAGES:
            asked = [place for place in new if comparisons[place].language == language]
            cut = cut_batches([hashes[place] for place in asked], [1] * len(asked), self._size)
            batches += [[asked[place] for place in batch] for batch in cut]
        answers = ask_batches(
            self._model,
            batches,
            lambda batch: self._prompt([comparisons[place] for place in batch]),
            read_verdicts,
            self._on_progress,
            self._meanwhile,
        )
        verdicts.update({hashes[place]: verdict for place, verdict in answers.found.items()})
        if answers.failures and not self.failure:
            self.failure = str(answers.failures[0])
        found = [verdicts.get(evidence, "") for evidence in hashes]
        self.judgements = TABLES["judgements"].conform(
            pl.DataFrame(
                {
                    "name": [comparison.one.name for comparison in comparisons],
                    "other": [comparison.other.name for comparison in comparisons],
                    "evidence_hash": hashes,
                    "verdict": found,
                },
                schema=TABLES["judgements"].schema,
            )
        )
        return found

    def _hash(self, comparison: Comparison) -> str:
        prompt = self._asked_with[comparison.language]
        sides = str(comparison.one), str(comparison.other)
        return content_hash(self._model.name("report"), prompt, *sides)

    def _prompt(self, comparisons: Sequence[Comparison]) -> Prompt:
        lines = [
            f"{number}. {comparison.one}\n   {comparison.other}"
            for number, comparison in enumerate(comparisons, 1)
        ]
        language = comparisons[0].language
        pairs = data_block("pairs", "\n".join(lines))
        system, user = load_prompt(self._root, language, "judge", pairs=pairs)
        return Prompt("resolve", system, user, role="report", schema=SCHEMA)


def read_verdicts(text: str) -> dict[int, str]:
    """Verdicts by the number of their pair. Raises ValueError for a reply without any.

    >>> read_verdicts('{"verdicts": [{"pair": 1, "verdict": "same"}]}'), read_verdicts("2：不同")
    ({1: 'same'}, {2: 'different'})
    """
    return read_numbered_verdicts(text, _VERDICT, _WORDS, {"pair": 1, "verdict": "same"})
