"""Community reports by a model: lowest level first, what it was shown decides when it is asked.

The evidence of each report is small, stable and numbered (:mod:`graphkb.report.evidence`), its
references are checked (:mod:`graphkb.report.checked`), and where the model fails an offline
report stands in, so that no community is without one.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from graphkb.errors import ModelFailure
from graphkb.llm.model import Model, Prompt, Said
from graphkb.report.checked import check_report
from graphkb.report.corpus import Corpus
from graphkb.report.draft import Draft, parse_report
from graphkb.report.evidence import Told
from graphkb.report.offline import CONTENT, PLACES, OfflineReports, report_row
from graphkb.report.order import WritingOrder
from graphkb.report.prompts import Asked, ReportPrompts
from graphkb.settings import Report
from graphkb.tables import TABLES
from graphkb.types import Progress, no_progress

# Offline reports written at once, in the time that the model takes for its own.
_STEP = 50

# The method of a quoted report where the model's own rests on nothing that it was shown: asking
# again would bring the same.
REJECTED = "rejected"


@dataclass(frozen=True)
class ModelReports:
    """``reports`` is the whole community_reports table. ``asked_for`` communities were to be
    written by the model, ``failures`` says why some were not: an offline report stands in.

    ``n_rejected`` rested on nothing that they were shown, and are quoted too.
    ``n_unknown`` references to nothing that was shown were removed, ``n_dropped`` findings
    without any reference left out. ``asked_by_inputs`` is for the next run.
    """

    reports: pl.DataFrame
    asked_for: int
    failures: dict[int, str]
    n_rejected: int
    n_unknown: int
    n_dropped: int
    asked_by_inputs: dict[str, str]


def choose_communities(communities: pl.DataFrame, n_units: int, options: Report) -> list[int]:
    """Numbers of the communities that the model writes about, largest first; ties by id.

    At most ``model_share`` of the number of text units, at least one unless that is 0.
    """
    limit = max(1, int(options.model_share * n_units)) if options.model_share else 0
    large = communities.filter(pl.col("size") >= options.min_size)
    ranked = large.sort(["size", "id"], descending=[True, False]).head(limit)
    numbers: list[int] = ranked["community"].to_list()
    return numbers


def write_reports(
    corpus: Corpus,
    offline: OfflineReports,
    options: Report,
    model: Model,
    root: Path,
    *,
    given: pl.DataFrame | None = None,
    kept: pl.DataFrame | None = None,
    asked_by_inputs: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
    meanwhile: Iterable[object] = (),
) -> ModelReports:
    """Reports of all communities, those of the largest by the model, others ``offline``.

    ``given`` rows are there already and stay as they are. A community whose prompt is that of
    an ``llm`` row in ``kept`` costs nothing and keeps that row's words. ``asked_by_inputs`` of
    earlier runs says from what inputs which prompt comes, and spares gathering it. ``meanwhile``
    is other work, in steps, for the time in which replies are awaited. Raises ModelUnusableError
    when no call can succeed.
    """
    none = TABLES["community_reports"].empty()
    given, kept = none if given is None else given, none if kept is None else kept
    known = asked_by_inputs or {}
    writer = _Writer(corpus, offline, options, model, root, given, kept, known, progress)
    writer.run(meanwhile)
    return ModelReports(
        writer.table(),
        len(writer.chosen),
        writer.failures,
        writer.n_rejected,
        writer.n_unknown,
        writer.n_dropped,
        writer.asked_by_inputs,
    )


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
        asked_by_inputs: Mapping[str, str],
        progress: Progress,
    ) -> None:
        self._offline, self._options = offline, options
        self._model, self._progress = model, progress
        chosen = choose_communities(corpus.communities, corpus.units.height, options)
        self._there = set(given["community"])
        self.chosen = [number for number in chosen if number not in self._there]
        self.failures: dict[int, str] = {}
        self.n_rejected = self.n_unknown = self.n_dropped = 0
        self._prompts = ReportPrompts(
            corpus, self.chosen, lambda: offline.evidence_hashes, options, model, root
        )
        self._asked_before = asked_by_inputs
        self.asked_by_inputs: dict[str, str] = {}
        self._places = {
            row["community"]: row for row in corpus.communities.select(PLACES).to_dicts()
        }
        self._remembered = _written_before(kept, self._prompts.numbers.keys())
        self._rejected = set(kept.filter(pl.col("method") == REJECTED)["evidence_hash"])
        children = {number: self._prompts.children(number) for number in self.chosen}
        self._parts = {part for parts in children.values() for part in parts}
        others = self._parts.intersection(offline.communities) - self._there.union(self.chosen)
        self._quoted_parts = offline.in_steps(others, _STEP)
        self._order = WritingOrder(
            self.chosen, {n: children[n] for n in self.chosen if self._prompts.shows_parts(n)}
        )
        self._unread: list[int] = []
        self._asked: dict[int, Asked] = {}
        self._again: list[Asked] = []
        # To be quoted, and the hash of what the model was shown where that is remembered.
        self._unwritten: dict[int, str] = {}
        self._told: dict[int, Told] = {}
        self._rows: list[dict[str, object]] = []
        self._frames: list[pl.DataFrame] = []
        self._add(given)

    def run(self, other_work: Iterable[object]) -> None:
        """Write all reports; a community waits only for children whose reports it is shown."""
        quoted = self._quoted()
        self._progress("reports", 0, len(self.chosen))
        self._model.ask_many(
            self._due(), parse_report, self._arrived, meanwhile=chain(quoted, other_work)
        )
        for _ in quoted:
            pass
        self._quote_unwritten()
        # Replies come in any order.
        self.failures = {n: self.failures[n] for n in self.chosen if n in self.failures}

    def table(self) -> pl.DataFrame:
        """All reports so far, by community."""
        table = TABLES["community_reports"]
        written = table.conform(pl.DataFrame(self._rows, schema=table.schema))
        return pl.concat([*self._frames, written]).sort("community")

    def _due(self) -> Iterator[Prompt | None]:
        """What the model is asked, as soon as it can be; None while all that is left waits for
        the reports of its parts."""
        new: deque[int] = deque()
        place = 0
        while self._order.n_open:
            new.extendleft(reversed(self._new(self._order.ready())))
            one = self._again.pop() if self._again else self._next(new)
            if one is not None:
                self._asked[place] = one
                place += 1
                yield one.prompt
            elif not self._order.has_ready:
                yield None

    def _new(self, ready: Sequence[int]) -> list[int]:
        """Those whose inputs are new; those that are shown reports of their parts come after the
        others, which can be asked about before these are written."""
        ready = sorted(ready, key=self._prompts.shows_parts)
        new = [n for n in ready if self._prompts.shows_parts(n) or not self._recall_inputs(n)]
        self._unread += [n for n in new if not self._prompts.shows_parts(n)]
        return new

    def _read(self, number: int) -> None:
        """Read what several prompts take at once: first of as many as can be sent."""
        if number in self._unread:
            most = len(self._unread) if self._asked else self._model.options.concurrency
            self._prompts.read({number, *self._unread[:most]})
            self._unread = self._unread[most:]

    def _next(self, new: deque[int]) -> Asked | None:
        """The next prompt that no report is remembered for."""
        while new:
            number = new.popleft()
            if self._prompts.shows_parts(number):
                self._tell_parts()
                if self._recall_inputs(number):
                    continue
            self._read(number)
            one = self._prompts.prompt(number, self._told)
            if not self._recall(number, one.hash):
                return one
            self._note_inputs(one)
        return None

    def _recall_inputs(self, community: int) -> bool:
        """Whether the report is there that the same inputs led to before."""
        if not self._asked_before:
            return False
        inputs = self._prompts.inputs(community, self._told)
        asked = self._asked_before.get(inputs)
        if asked is None or not self._recall(community, asked):
            return False
        self.asked_by_inputs[inputs] = asked
        return True

    def _note_inputs(self, one: Asked) -> None:
        """For the next run. The reports of parts that it was shown are there and stay."""
        inputs = self._prompts.inputs(one.community, self._told)
        self.asked_by_inputs[inputs] = one.hash

    def _recall(self, community: int, hash: str) -> bool:
        """Whether there is a report for what was asked, or was rejected, before."""
        if hash in self._remembered:
            self._keep(community, hash, self._remembered[hash])
        elif hash in self._rejected:
            self._unwritten[community] = hash
        else:
            return False
        self._done(community)
        return True

    def _arrived(self, place: int, outcome: Said[Draft] | ModelFailure) -> None:
        one = self._asked.pop(place)
        if _too_long(outcome) and not one.is_half:
            self._again.append(self._prompts.halved(one, self._told))
            return
        self._note_inputs(one)
        self._take(one, outcome)
        self._done(one.community)

    def _done(self, community: int) -> None:
        """A community's report is there, or will be quoted."""
        self._order.done(community)
        self._progress("reports", len(self.chosen) - self._order.n_open, len(self.chosen))

    def _take(self, one: Asked, outcome: Said[Draft] | ModelFailure) -> None:
        """Keep the report, or say why there is none."""
        draft = _saved(outcome) if isinstance(outcome, ModelFailure) else outcome.value
        if draft is None:
            self.failures[one.community] = str(outcome)
            self._unwritten[one.community] = ""
            return
        rank = self._offline.rank(one.community)
        limit = self._options.max_findings
        checked = check_report(draft, one.evidence.rows, self._prompts.numbers, rank, limit)
        if checked is None:
            self.n_rejected += 1
            self._unwritten[one.community] = one.hash
            return
        self.n_unknown += checked.n_unknown
        self.n_dropped += checked.n_dropped
        self._keep(one.community, one.hash, checked.content)

    def _quoted(self) -> Iterator[None]:
        """Quote for communities that the model is not asked about, some at a time, those first
        that it may be shown."""
        for frame in self._quoted_parts:
            self._add(frame)
            yield
        known = self._there.union(self.chosen, self._parts)
        rest = [number for number in self._offline.communities if number not in known]
        for frame in self._offline.in_steps(rest, _STEP):
            self._frames.append(frame)
            yield

    def _tell_parts(self) -> None:
        """Quote for those that the model is shown and did not write about."""
        for frame in self._quoted_parts:
            self._add(frame)
        self._quote_unwritten()

    def _quote_unwritten(self) -> None:
        """Quote instead of what the model did not write, and remember what it was shown where
        asking again would bring the same."""
        if not self._unwritten:
            return
        shown = pl.DataFrame(
            list(self._unwritten.items()), {"community": pl.Int64, "shown": pl.String}, orient="row"
        )
        quoted = self._offline.write(self._unwritten).join(shown, on="community", how="left")
        self._unwritten = {}
        rejected = pl.col("shown") != ""
        self._add(
            quoted.with_columns(
                method=pl.when(rejected).then(pl.lit(REJECTED)).otherwise("method"),
                evidence_hash=pl.when(rejected).then("shown").otherwise("evidence_hash"),
            ).drop("shown")
        )

    def _keep(self, community: int, hash: str, content: Mapping[str, object]) -> None:
        row = report_row(self._places[community], content, "llm", hash)
        self._rows.append(row)
        self._told[community] = _told(row)

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
