"""Community reports without a model: central sentences, quoted, with references."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from graphkb.report.corpus import Corpus, read_corpus
from graphkb.report.findings import Finding, FindingWriter
from graphkb.report.hashes import evidence_hashes
from graphkb.report.sentences import Sentences, pick_sentences, read_sentences
from graphkb.report.wording import Wording, main_language, presentable, sources, wording_of
from graphkb.settings import Report
from graphkb.tables import TABLES, content_hash

# Part of the evidence hash: raise it when the same evidence gives another report.
_VERSION = "offline-1"

_TITLE_ENTITIES = 3
_NO_SUBJECT = frozenset({"DATE", "QUANTITY"})

# Steps for which sentences are read at once, and most times that they are read.
_READ, _READINGS = 5, 20

# Where a community stands in the hierarchy.
PLACES = ("community", "level", "parent", "children", "size")

# The columns that a report's words stand in.
CONTENT = (
    "title",
    "summary",
    "full_content",
    "rank",
    "rating_explanation",
    "findings",
    "full_content_json",
)


@dataclass(frozen=True)
class _Importance:
    rank: float
    share: float
    n_units: int


def write_reports(
    communities: pl.DataFrame,
    entities: pl.DataFrame,
    nodes: pl.DataFrame,
    relationships: pl.DataFrame,
    mentions: pl.DataFrame,
    text_units: pl.DataFrame,
    options: Report,
    previous: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The community_reports table: one report for each community of at least ``min_size``.

    Reports are extractive: every sentence stands so in a text unit. They are in the language
    most of the community's text units are in. A community whose evidence is that of a row in
    ``previous`` keeps that row's words and rank; its place in the hierarchy is today's.
    """
    corpus = read_corpus(communities, entities, nodes, relationships, mentions, text_units)
    reports = OfflineReports(corpus, options, previous)
    return reports.write(reports.communities)


class OfflineReports:
    """Offline reports of any of a corpus's communities; which others are written changes none.

    ``communities`` are those of at least ``min_size``.
    """

    def __init__(
        self, corpus: Corpus, options: Report, previous: pl.DataFrame | None = None
    ) -> None:
        self._corpus = corpus
        self._options = options
        large = corpus.communities.filter(pl.col("size") >= options.min_size)
        self._rows = large.select(PLACES)
        self.communities: list[int] = self._rows["community"].to_list()
        self._kept = _written(previous)
        self._importance = _importances(corpus, self.communities)

    @cached_property
    def evidence_hashes(self) -> Mapping[int, str]:
        """Community to the hash of what its offline report is made from."""
        limits = str(self._options.max_sentences), str(self._options.max_findings)
        return evidence_hashes(self._corpus, self.communities, _VERSION, *limits)

    def rank(self, community: int) -> float:
        """Importance from 0 to 10, by the community's place among all."""
        return self._importance[community].rank

    def write(self, communities: Collection[int]) -> pl.DataFrame:
        """The community_reports rows of these communities, in the order of their numbers."""
        table = TABLES["community_reports"]
        steps = self.in_steps(communities, max(len(communities), 1))
        return table.conform(pl.concat([table.empty(), *steps]))

    def in_steps(self, communities: Collection[int], at_once: int) -> Iterator[pl.DataFrame]:
        """The rows that stay, then new ones, so many at once."""
        wanted = self._rows.filter(pl.col("community").is_in(list(communities)))
        hashes = [self.evidence_hashes[number] for number in wanted["community"].to_list()]
        wanted = wanted.with_columns(evidence_hash=pl.Series(hashes, dtype=pl.String))
        table = TABLES["community_reports"]
        kept = wanted.join(self._kept, on="evidence_hash")
        if kept.height:
            yield table.conform(_with_ids(kept))
        due = wanted.join(self._kept, on="evidence_hash", how="anti").sort("community").to_dicts()
        # Each reading looks at the whole corpus.
        at_a_reading = max(_READ * at_once, len(due) // _READINGS)
        for start in range(0, len(due), at_a_reading):
            yield from self._made(due[start : start + at_a_reading], at_once)

    def _made(self, due: Sequence[Mapping[str, Any]], at_once: int) -> Iterator[pl.DataFrame]:
        new = [row["community"] for row in due]
        writer = _ReportWriter(self._corpus, read_sentences(self._corpus, new), self._options)
        table = TABLES["community_reports"]
        for start in range(0, len(due), at_once):
            records = []
            for row in due[start : start + at_once]:
                number = row["community"]
                content = writer.write(number, row["level"], self._importance[number])
                record = report_row(row, content, "offline", row["evidence_hash"])
                records.append([record[name] for name in table.schema])
            yield table.of_rows(records)


def report_row(
    community: Mapping[str, Any], content: Mapping[str, object], method: str, evidence: str
) -> dict[str, object]:
    """A row of community_reports: the community's place, and ``content`` from title to
    full_content_json."""
    places = {name: community[name] for name in PLACES}
    return {
        "id": _report_id(evidence, str(community["level"])),
        "human_readable_id": community["community"],
        **places,
        **content,
        "period": None,
        "method": method,
        "evidence_hash": evidence,
    }


def _with_ids(kept: pl.DataFrame) -> pl.DataFrame:
    """Rows of places and words as :func:`report_row` makes them."""
    told = kept.select("evidence_hash", pl.col("level").cast(pl.String)).iter_rows()
    return kept.with_columns(
        id=pl.Series([_report_id(*row) for row in told], dtype=pl.String),
        human_readable_id="community",
        period=pl.lit(None, pl.String),
        method=pl.lit("offline"),
    )


def _report_id(evidence: str, level: str) -> str:
    return content_hash("report", evidence, level)


def _written(previous: pl.DataFrame | None) -> pl.DataFrame:
    """What earlier offline reports said, by evidence hash."""
    table = TABLES["community_reports"].empty() if previous is None else previous
    offline = table.filter(pl.col("method") == "offline").sort("community")
    return offline.select("evidence_hash", *CONTENT).unique("evidence_hash", keep="last")


def _importances(corpus: Corpus, communities: list[int]) -> dict[int, _Importance]:
    """Rank 0 to 10 by place among all reports: PageRank share times (1 + text units).

    Equal values get the same rank, the middle of their places, so ranks are spread evenly.
    """
    total = float(corpus.mass.sum()) or 1.0
    shares: dict[int, float] = {}
    for label in corpus.labels:
        held = label >= 0
        sums = np.bincount(label[held], corpus.mass[held]) / total
        numbers = np.flatnonzero(np.bincount(label[held]))
        shares.update(zip(numbers.tolist(), sums[numbers].tolist(), strict=True))
    units = {number: len(corpus.sources[number]) for number in communities}
    values = np.array([float(f"{shares[n] * (1 + units[n]):.9g}") for n in communities])
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, "left")
    upto = np.searchsorted(ordered, values, "right")
    ranks = np.round(5.0 * (below + upto) / max(len(values), 1), 1).tolist()
    return {
        number: _Importance(rank, shares[number], units[number])
        for number, rank in zip(communities, ranks, strict=True)
    }


class _ReportWriter:
    def __init__(self, corpus: Corpus, sentences: Sentences, options: Report) -> None:
        self._corpus = corpus
        self._sentences = sentences
        self._options = options
        self._findings = FindingWriter(corpus, sentences)
        columns = corpus.columns
        self._titles, self._types = columns.titles, columns.types
        self._languages, self._documents = columns.languages, columns.documents
        self._numbers = columns.unit_numbers

    def write(self, community: int, level: int, importance: _Importance) -> dict[str, object]:
        """The columns from title to full_content_json of one community."""
        wording = wording_of(self._language(community))
        labels = self._corpus.labels[level]
        names = self._names(community)
        title = wording.names(names)
        findings = self._findings.write(community, labels, self._options.max_findings, wording)
        picked = pick_sentences(
            self._corpus, self._sentences, community, labels, self._options.max_sentences
        )
        summary, units = self._summary(picked, wording)
        if not summary:
            summary, units = self._without_prose(community, names, wording)
        n_entities = len(self._corpus.members[community])
        rating = wording.rating.format(
            rank=f"{importance.rank:.1f}",
            entities=n_entities,
            units=importance.n_units,
            share=f"{100 * importance.share:.2g}",
        )
        found = _json([dict(vars(finding)) for finding in findings])
        before = _json({"title": title, "summary": summary})
        after = _json({"rating": importance.rank, "rating_explanation": rating})
        return {
            "title": title,
            "summary": summary,
            "full_content": self._markdown(title, summary, units, findings),
            "rank": importance.rank,
            "rating_explanation": rating,
            "findings": found,
            "full_content_json": f'{before[:-1]}, "findings": {found}, {after[1:]}',
        }

    def _language(self, community: int) -> str:
        return main_language(
            (self._languages[unit] for unit in self._corpus.sources[community]),
            (self._titles[node] for node in self._corpus.members[community][:20]),
        )

    def _names(self, community: int) -> list[str]:
        """The most central names; dates, numbers and whole sentences only where all are such."""
        members = self._corpus.members[community]
        subjects = [
            self._titles[node]
            for node in members[: 8 * _TITLE_ENTITIES]
            if self._types[node] not in _NO_SUBJECT and presentable(self._titles[node])
        ]
        names: list[str] = []
        for name in subjects or [self._titles[node] for node in members]:
            nested = any(
                name.lower() in other.lower() or other.lower() in name.lower() for other in names
            )
            if name and not nested:
                names.append(name)
            if len(names) == _TITLE_ENTITIES:
                break
        return names

    def _summary(self, picked: list[int], wording: Wording) -> tuple[str, list[int]]:
        """The sentences joined, documents best first, and inside a document in its order."""
        unit_of = {place: int(self._sentences.unit[place]) for place in picked}
        documents = list(dict.fromkeys(self._documents[unit_of[place]] for place in picked))
        ordered = sorted(
            picked, key=lambda place: (documents.index(self._documents[unit_of[place]]), place)
        )
        text = wording.gap.join(self._sentences.texts[place] for place in ordered)
        return text, [unit_of[place] for place in ordered]

    def _without_prose(
        self, community: int, names: list[str], wording: Wording
    ) -> tuple[str, list[int]]:
        """Relationship descriptions, else entity descriptions, where nothing can be quoted."""
        limit = self._options.max_sentences
        inner = self._corpus.inner[community]
        stated = self._corpus.relationships["description"]
        lines = [_first_line(stated[place]) for place in inner[: 4 * limit]]
        described = self._corpus.entities["description"]
        lines += [_first_line(described[n]) for n in self._corpus.members[community][: 4 * limit]]
        chosen = [line for line in dict.fromkeys(lines) if line][:limit]
        text = "\n".join(chosen) or wording.members.format(names=wording.names(names))
        return text, self._corpus.sources[community]

    def _markdown(self, title: str, summary: str, units: list[int], findings: list[Finding]) -> str:
        parts = [f"# {title}"]
        numbers = [self._numbers[unit] for unit in units]
        parts.append(f"{summary} {sources(numbers)}" if numbers else summary)
        for finding in findings:
            parts += [f"## {finding.summary}", finding.explanation]
        return "\n\n".join(parts) + "\n"


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n", 1)[0].strip()


def _json(value: Mapping[str, object] | list[dict[str, object]]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=False)
