"""Community reports by a model: lowest level first, what it was shown decides when it is asked.

The evidence of each report is small, stable and numbered (:mod:`graphkb.report.evidence`), its
references are checked (:mod:`graphkb.report.checked`), and where the model fails an offline
report stands in, so that no community is without one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from graphkb.errors import ModelFailure
from graphkb.llm.model import Model, Prompt, Said
from graphkb.llm.prompts import LANGUAGES, data_block, load_prompt
from graphkb.report.checked import check_report
from graphkb.report.corpus import Corpus
from graphkb.report.draft import SCHEMA, Draft, parse_report
from graphkb.report.evidence import Evidence, EvidenceReader, Told
from graphkb.report.offline import CONTENT, PLACES, OfflineReports, report_row
from graphkb.report.wording import main_language
from graphkb.settings import Report
from graphkb.tables import TABLES, content_hash
from graphkb.types import Progress, no_progress

# Part of the evidence hash: raise it when the same reply gives another report.
_VERSION = "llm-1"

# Of the reply's tokens, so many are words of the report; Chinese characters are shorter tokens.
_WORDS_A_TOKEN = {"en": 0.5, "zh": 0.7}
# A reply may be this much longer than asked for before it is cut.
_SLACK = 1.5

# What the instructions take of a small window, in tokens; and the smallest evidence.
_INSTRUCTIONS = 500
_LEAST_EVIDENCE = 200

# Offline reports written at once, in the time that the model takes for its own.
_STEP = 500

# The method of a quoted report where the model's own rests on nothing that it was shown: asking
# again would bring the same.
REJECTED = "rejected"


@dataclass(frozen=True)
class ModelReports:
    """``reports`` is the whole community_reports table. ``asked_for`` communities were to be
    written by the model, ``failures`` says why some were not: an offline report stands in.

    ``n_rejected`` rested on nothing that they were shown, and are quoted too.
    ``n_unknown`` references to nothing that was shown were removed, ``n_dropped`` findings
    without any reference left out.
    """

    reports: pl.DataFrame
    asked_for: int
    failures: dict[int, str]
    n_rejected: int
    n_unknown: int
    n_dropped: int


def choose_communities(communities: pl.DataFrame, n_units: int, options: Report) -> list[int]:
    """Numbers of the communities that the model writes about, largest first; ties by id.

    At most ``model_share`` of the number of text units, at least one unless that is 0.
    """
    limit = max(1, int(options.model_share * n_units)) if options.model_share else 0
    large = communities.filter(pl.col("size") >= options.min_size)
    ranked = large.sort(["size", "id"], descending=[True, False]).head(limit)
    numbers: list[int] = ranked["community"].to_list()
    return numbers


def asked_with(root: Path) -> dict[str, str]:
    """Language to the hash of the prompt that reports are asked with."""
    return {
        language: content_hash(
            *load_prompt(root, language, "report", data="", findings="", length="")
        )
        for language in LANGUAGES
    }


def write_reports(
    corpus: Corpus,
    offline: OfflineReports,
    options: Report,
    model: Model,
    root: Path,
    *,
    given: pl.DataFrame | None = None,
    kept: pl.DataFrame | None = None,
    progress: Progress = no_progress,
    meanwhile: Iterable[object] = (),
) -> ModelReports:
    """Reports of all communities, those of the largest by the model, others ``offline``.

    ``given`` rows are there already and stay as they are. A community whose prompt is that of
    an ``llm`` row in ``kept`` costs nothing and keeps that row's words. ``meanwhile`` is other
    work, in steps, for the time in which replies are awaited. Raises ModelUnusableError when no
    call can succeed.
    """
    none = TABLES["community_reports"].empty()
    given, kept = none if given is None else given, none if kept is None else kept
    writer = _Writer(corpus, offline, options, model, root, given, kept, progress)
    writer.run(meanwhile)
    return ModelReports(
        writer.table(),
        len(writer.chosen),
        writer.failures,
        writer.n_rejected,
        writer.n_unknown,
        writer.n_dropped,
    )


@dataclass(frozen=True)
class _Asked:
    """One community's prompt, and the hash that its report is remembered by."""

    community: int
    evidence: Evidence
    prompt: Prompt
    hash: str


class _Writer:
    def __init__(
        self,
        corpus: Corpus,
        offline: OfflineReports,
        options: Report,
        model: Model,
        root: Path,
        given: pl.DataFrame,
        kept: pl.DataFrame,
        progress: Progress,
    ) -> None:
        self._corpus, self._offline, self._options = corpus, offline, options
        self._model, self._root, self._progress = model, root, progress
        chosen = choose_communities(corpus.communities, corpus.units.height, options)
        self._there = set(given["community"])
        self.chosen = [number for number in chosen if number not in self._there]
        self.failures: dict[int, str] = {}
        self.n_rejected = self.n_unknown = self.n_dropped = 0
        self._reader = EvidenceReader(corpus, self.chosen)
        self._budget = self._evidence_tokens()
        self._languages: list[str] = corpus.units["language"].to_list()
        self._titles: list[str] = corpus.entities["title"].fill_null("").to_list()
        numbers = corpus.units.select("id", pl.col("human_readable_id").fill_null(0))
        self._numbers: dict[str, int] = dict(numbers.iter_rows())
        self._places = {
            row["community"]: row for row in corpus.communities.select(PLACES).to_dicts()
        }
        self._remembered = _written_before(kept, self._numbers.keys())
        self._rejected = set(kept.filter(pl.col("method") == REJECTED)["evidence_hash"])
        self._parts = {part for number in self.chosen for part in self._reader.children(number)}
        self._told: dict[int, Told] = {}
        self._rows: list[dict[str, object]] = []
        self._frames: list[pl.DataFrame] = []
        self._n_done = 0
        self._add(given)

    def run(self, other_work: Iterable[object]) -> None:
        """Write all reports; a community waits only for children whose reports it is shown."""
        known = self._there.union(self.chosen)
        others = [number for number in self._offline.communities if number not in known]
        self._write_offline([number for number in others if number in self._parts])
        quoted = self._in_steps([number for number in others if number not in self._parts])
        meanwhile = chain(quoted, other_work)
        waiting = self.chosen
        while waiting:
            left = set(waiting)
            ready = [number for number in waiting if not self._awaited(number, left)]
            asked = [self._prepare(number, self._budget, self._told) for number in ready]
            self._write(asked, meanwhile)
            waiting = [number for number in waiting if number not in set(ready)]
        for _ in quoted:
            pass

    def _in_steps(self, communities: Sequence[int]) -> Iterator[None]:
        """Write offline reports that no other is shown, many at a time."""
        for start in range(0, len(communities), _STEP):
            self._write_offline(communities[start : start + _STEP])
            yield

    def table(self) -> pl.DataFrame:
        """All reports so far, by community."""
        table = TABLES["community_reports"]
        written = table.conform(pl.DataFrame(self._rows, schema=table.schema))
        return pl.concat([*self._frames, written]).sort("community")

    def _awaited(self, community: int, waiting: set[int]) -> bool:
        """Whether a report that the community is to be shown is not yet there."""
        if self._reader.fits(community, self._budget):
            return False
        return any(part in waiting for part in self._reader.children(community))

    def _evidence_tokens(self) -> int:
        """Tokens of evidence: as set, or what a window that is set leaves."""
        window = self._model.options.context_tokens
        room = window - self._reply_tokens() - _INSTRUCTIONS
        limit = self._options.max_input_tokens
        return min(limit, max(room, _LEAST_EVIDENCE)) if window else limit

    def _reply_tokens(self) -> int:
        return int(_SLACK * self._options.max_report_tokens)

    def _prepare(self, community: int, budget: int, told: Mapping[int, Told]) -> _Asked:
        evidence = self._reader.gather(community, budget, told)
        language = main_language(
            (self._languages[unit] for unit in self._corpus.sources[community]),
            (self._titles[node] for node in self._corpus.members[community][:20]),
        )
        language = language if language in LANGUAGES else "en"
        length = int(_WORDS_A_TOKEN[language] * self._options.max_report_tokens)
        system, user = load_prompt(
            self._root, language, "report", data=data_block("data", evidence.text),
            findings=str(self._options.max_findings), length=str(length),
        )  # fmt: skip
        prompt = Prompt("report", system, user, "report", SCHEMA, self._reply_tokens())
        # What the rows stand for belongs to it: the report names these text units.
        units = dict.fromkeys(unit for row in evidence.rows for unit in row.text_unit_ids)
        remembered_by = content_hash(
            _VERSION, self._model.name("report"), system, user,
            *(f"{self._numbers[unit]} {unit}" for unit in units),
        )  # fmt: skip
        return _Asked(community, evidence, prompt, remembered_by)

    def _write(self, asked: Sequence[_Asked], meanwhile: Iterable[object]) -> None:
        """Remembered reports stay; the model is asked for the others, all at once."""
        known = self._rejected.union(self._remembered)
        new = [one for one in asked if one.hash not in known]
        for one in asked:
            if one.hash in self._remembered:
                self._keep(one, self._remembered[one.hash])
            elif one.hash in known:
                self._reject(one)
        self._n_done += len(asked) - len(new)
        outcomes = self._ask(new, meanwhile)
        long = [one for one, outcome in outcomes if _too_long(outcome)]
        halves = self._ask([self._halved(one) for one in long], meanwhile)
        outcomes = [pair for pair in outcomes if not _too_long(pair[1])] + halves
        for one, outcome in outcomes:
            self._take(one, outcome)
        self._write_offline([one.community for one in new if one.community in self.failures])

    def _halved(self, one: _Asked) -> _Asked:
        """The prompt with half of its evidence; it is remembered by the whole all the same."""
        told = self._told if one.evidence.keys("Reports") else {}
        half = self._prepare(one.community, self._budget // 2, told)
        return replace(half, hash=one.hash)

    def _ask(
        self, asked: Sequence[_Asked], meanwhile: Iterable[object]
    ) -> list[tuple[_Asked, Said[Draft] | ModelFailure]]:
        def arrived(place: int, outcome: Said[Draft] | ModelFailure) -> None:
            self._n_done += not _too_long(outcome)
            self._progress("reports", self._n_done, len(self.chosen))

        self._progress("reports", self._n_done, len(self.chosen))
        prompts = [one.prompt for one in asked]
        outcomes = (
            self._model.ask_many(prompts, parse_report, arrived, meanwhile=meanwhile)
            if prompts
            else []
        )
        return list(zip(asked, outcomes, strict=True))

    def _take(self, one: _Asked, outcome: Said[Draft] | ModelFailure) -> None:
        """Keep the report, or say why there is none."""
        draft = _saved(outcome) if isinstance(outcome, ModelFailure) else outcome.value
        if draft is None:
            self.failures[one.community] = str(outcome)
            return
        rank = self._offline.rank(one.community)
        limit = self._options.max_findings
        checked = check_report(draft, one.evidence.rows, self._numbers, rank, limit)
        if checked is None:
            self.n_rejected += 1
            self._reject(one)
            return
        self.n_unknown += checked.n_unknown
        self.n_dropped += checked.n_dropped
        self._keep(one, checked.content)

    def _keep(self, one: _Asked, content: Mapping[str, object]) -> None:
        row = report_row(self._places[one.community], content, "llm", one.hash)
        self._rows.append(row)
        self._told[one.community] = _told(row)

    def _reject(self, one: _Asked) -> None:
        """Quote instead, and remember what the model was shown."""
        quoted = self._offline.write([one.community])
        self._add(quoted.with_columns(method=pl.lit(REJECTED), evidence_hash=pl.lit(one.hash)))

    def _write_offline(self, communities: Collection[int]) -> None:
        if communities:
            self._add(self._offline.write(communities))

    def _add(self, frame: pl.DataFrame) -> None:
        """Reports that are not the model's of this run; those of parts are shown to it."""
        self._frames.append(frame)
        parts = frame.filter(pl.col("community").is_in(list(self._parts)))
        self._told.update({row["community"]: _told(row) for row in parts.to_dicts()})


def _written_before(kept: pl.DataFrame, known: Set[str]) -> dict[str, dict[str, object]]:
    """What the model said in earlier reports, by evidence hash, while all text units that they
    rest on are known."""
    written = kept.filter(pl.col("method") == "llm").sort("community")
    return {
        row["evidence_hash"]: {key: row[key] for key in CONTENT}
        for row in written.to_dicts()
        if known >= set(_told(row).text_unit_ids)
    }


def _told(row: Mapping[str, Any]) -> Told:
    findings = json.loads(row["findings"])
    units = dict.fromkeys(unit for finding in findings for unit in finding["text_unit_ids"])
    return Told(row["title"], row["summary"], tuple(units))


def _too_long(outcome: Said[Draft] | ModelFailure) -> bool:
    return isinstance(outcome, ModelFailure) and outcome.kind == "context"


def _saved(failure: ModelFailure) -> Draft | None:
    """What a reply that was cut holds: a report, when at least one finding is complete."""
    if failure.kind != "truncated":
        return None
    try:
        return parse_report(failure.text)
    except ValueError:
        return None
