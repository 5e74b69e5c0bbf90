"""Community reports without a model: central sentences, quoted, with references."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
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
        self._hashes = evidence_hashes(
            corpus,
            self.communities,
            _VERSION,
            str(options.max_sentences),
            str(options.max_findings),
        )
        self._kept = _written(previous)
        self._importance = _importances(corpus, self.communities)

    def rank(self, community: int) -> float:
        """Importance from 0 to 10, by the community's place among all."""
        return self._importance[community].rank

    def write(self, communities: Collection[int]) -> pl.DataFrame:
        """The community_reports rows of these communities, in the order of their numbers."""
        wanted = set(communities)
        rows = self._rows.filter(pl.col("community").is_in(list(wanted))).to_dicts()
        kept = {row["community"]: self._kept.get(self._hashes[row["community"]]) for row in rows}
        new = self._write_new([row for row in rows if not kept[row["community"]]])
        records = [
            report_row(row, kept[number] or new[number], "offline", self._hashes[number])
            for row in rows
            for number in [row["community"]]
        ]
        table = TABLES["community_reports"]
        return table.conform(pl.DataFrame(records, schema=table.schema))

    def _write_new(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, object]]:
        """New reports by community."""
        if not rows:
            return {}
        numbers = [row["community"] for row in rows]
        sentences = read_sentences(self._corpus, numbers)
        writer = _ReportWriter(self._corpus, sentences, self._options)
        return {
            number: writer.write(number, row["level"], self._importance[number])
            for number, row in zip(numbers, rows, strict=True)
        }


def report_row(
    community: Mapping[str, Any], content: Mapping[str, object], method: str, evidence: str
) -> dict[str, object]:
    """A row of community_reports: the community's place, and ``content`` from title to
    full_content_json."""
    places = {name: community[name] for name in PLACES}
    return {
        "id": content_hash("report", evidence, str(community["level"])),
        "human_readable_id": community["community"],
        **places,
        **content,
        "period": None,
        "method": method,
        "evidence_hash": evidence,
    }


def _written(previous: pl.DataFrame | None) -> dict[str, dict[str, object]]:
    """What earlier offline reports said, by evidence hash."""
    if previous is None:
        return {}
    offline = previous.filter(pl.col("method") == "offline").sort("community")
    return {
        row["evidence_hash"]: {name: row[name] for name in CONTENT}
        for row in offline.iter_rows(named=True)
    }


def _importances(corpus: Corpus, communities: list[int]) -> dict[int, _Importance]:
    """Rank 0 to 10 by place among all reports: PageRank share times (1 + text units).

    Equal values get the same rank, the middle of their places, so ranks are spread evenly.
    """
    total = float(corpus.mass.sum()) or 1.0
    shares = {
        number: float(np.sum(corpus.mass[sorted(corpus.members[number])])) / total
        for number in communities
    }
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
        self._titles: list[str] = corpus.entities["title"].fill_null("").to_list()
        self._types: list[str] = corpus.entities["type"].fill_null("").to_list()
        self._languages: list[str] = corpus.units["language"].to_list()
        self._documents: list[str] = corpus.units["document_id"].to_list()
        self._numbers: list[int] = corpus.units["human_readable_id"].fill_null(0).to_list()

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
        found = [asdict(finding) for finding in findings]
        report = {
            "title": title,
            "summary": summary,
            "findings": found,
            "rating": importance.rank,
            "rating_explanation": rating,
        }
        return {
            "title": title,
            "summary": summary,
            "full_content": self._markdown(title, summary, units, findings),
            "rank": importance.rank,
            "rating_explanation": rating,
            "findings": _json(found),
            "full_content_json": _json(report),
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
