"""What a model is asked about a community, and what its report is remembered by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import LANGUAGES, data_block, load_prompt
from graphkb.report.corpus import Corpus
from graphkb.report.draft import SCHEMA
from graphkb.report.evidence import Evidence, EvidenceReader, Told
from graphkb.report.inputs import inputs_hashes
from graphkb.report.wording import main_language
from graphkb.settings import Report
from graphkb.tables import content_hash

# Part of the evidence hash: raise it when the same reply gives another report.
_VERSION = "llm-1"

# Of the reply's tokens, so many are words of the report; Chinese characters are shorter tokens.
_WORDS_A_TOKEN = {"en": 0.5, "zh": 0.7}
# A reply may be this much longer than asked for before it is cut.
_SLACK = 1.5

# Stands in the filled prompt where the evidence comes.
_DATA = "\x01data\x01"

# What the instructions take of a small window, in tokens; and the smallest evidence.
_INSTRUCTIONS = 500
_LEAST_EVIDENCE = 200


def asked_with(root: Path) -> dict[str, str]:
    """Language to the hash of the prompt that reports are asked with."""
    return {
        language: content_hash(
            *load_prompt(root, language, "report", data="", findings="", length="")
        )
        for language in LANGUAGES
    }


@dataclass(frozen=True)
class Asked:
    """One community's prompt, and the hash that its report is remembered by.

    ``is_half``: with half of the evidence, because all of it was too much.
    """

    community: int
    evidence: Evidence
    prompt: Prompt
    hash: str
    is_half: bool = False


class ReportPrompts:
    """Makes the prompts of the communities ``chosen``. ``told`` is what reports of parts tell;
    ``evidence_hashes`` gives the hash of each one's evidence when it is first needed."""

    def __init__(
        self,
        corpus: Corpus,
        chosen: Collection[int],
        evidence_hashes: Callable[[], Mapping[int, str]],
        options: Report,
        model: Model,
        root: Path,
    ) -> None:
        self._corpus, self._options = corpus, options
        self._model, self._root = model, root
        self._reader = EvidenceReader(corpus, chosen)
        self._budget = self._evidence_tokens()
        self._chosen, self._evidence_hashes = chosen, evidence_hashes
        self._templates: dict[str, tuple[str, str]] = {}
        self._instruction_hashes: dict[str, str] = {}
        self._languages: list[str] = corpus.units["language"].to_list()
        self._titles: list[str] = corpus.entities["title"].fill_null("").to_list()
        numbers = corpus.units.select("id", pl.col("human_readable_id").fill_null(0))
        self.numbers: dict[str, int] = dict(numbers.iter_rows())
        self._ids: dict[int, str] = dict(corpus.communities.select("community", "id").iter_rows())

    def children(self, community: int) -> list[int]:
        """The communities that a community consists of one level down, largest first."""
        return self._reader.children(community)

    def shows_parts(self, community: int) -> bool:
        """Whether reports of its parts stand in for what is too much to be shown."""
        return not self._reader.fits(community, self._budget)

    def read(self, communities: Collection[int]) -> None:
        """Read at once what the prompts of several communities take."""
        self._reader.read(communities)

    @cached_property
    def _inputs(self) -> Mapping[int, str]:
        return inputs_hashes(self._corpus, self._chosen, self._evidence_hashes())

    def inputs(self, community: int, told: Mapping[int, Told]) -> str:
        """Hash of all that the community's prompt is made from."""
        parts = [self._inputs[community], str(self._budget), self._model.name("report")]
        if self.shows_parts(community):
            for child in self.children(community):
                said = told.get(child)
                words = (said.title, said.summary, *said.text_unit_ids) if said else ()
                parts.append(content_hash(self._ids[child], *words))
        return content_hash(*parts, self._instructed(self._language(community)))

    def prompt(self, community: int, told: Mapping[int, Told]) -> Asked:
        """With all of the evidence that has room."""
        return self._made(community, self._budget, told)

    def halved(self, one: Asked, told: Mapping[int, Told]) -> Asked:
        """With half of its evidence; it is remembered by the whole all the same."""
        shown = told if one.evidence.keys("Reports") else {}
        half = self._made(one.community, self._budget // 2, shown)
        return replace(half, hash=one.hash, is_half=True)

    def _made(self, community: int, budget: int, shown: Mapping[int, Told]) -> Asked:
        evidence = self._reader.gather(community, budget, shown)
        system, user = self._instructions(self._language(community), evidence.text)
        prompt = Prompt("report", system, user, "report", SCHEMA, self._reply_tokens())
        # What the rows stand for belongs to it: the report names these text units.
        units = dict.fromkeys(unit for row in evidence.rows for unit in row.text_unit_ids)
        remembered_by = content_hash(
            _VERSION, self._model.name("report"), system, user,
            *(f"{self.numbers[unit]} {unit}" for unit in units),
        )  # fmt: skip
        return Asked(community, evidence, prompt, remembered_by)

    def _evidence_tokens(self) -> int:
        """Tokens of evidence: as set, or what a window that is set leaves."""
        window = self._model.options.context_tokens
        room = window - self._reply_tokens() - _INSTRUCTIONS
        limit = self._options.max_input_tokens
        return min(limit, max(room, _LEAST_EVIDENCE)) if window else limit

    def _reply_tokens(self) -> int:
        return int(_SLACK * self._options.max_report_tokens)

    def _language(self, community: int) -> str:
        language = main_language(
            (self._languages[unit] for unit in self._corpus.sources[community]),
            (self._titles[node] for node in self._corpus.members[community][:20]),
        )
        return language if language in LANGUAGES else "en"

    def _instructions(self, language: str, data: str) -> tuple[str, str]:
        """System and user message."""
        if language not in self._templates:
            length = int(_WORDS_A_TOKEN[language] * self._options.max_report_tokens)
            self._templates[language] = load_prompt(
                self._root, language, "report", data=_DATA,
                findings=str(self._options.max_findings), length=str(length),
            )  # fmt: skip
        system, user = self._templates[language]
        return system, user.replace(_DATA, data_block("data", data))

    def _instructed(self, language: str) -> str:
        """Hash of the instructions, whatever the data."""
        if language not in self._instruction_hashes:
            self._instruction_hashes[language] = content_hash(*self._instructions(language, ""))
        return self._instruction_hashes[language]
