"""The global method: map over community reports, reduce to the points that matter.

After GraphRAG's global search (Edge et al., 2024): the reports of the leaf cover at one level
are read, each gives scored points (its findings), and the best points over all reports make
the answer. Without a model a point's score comes from the words it shares with the question
and from its report's rank; a question without content words is answered by rank alone.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from graphkb.errors import NotIndexedError
from graphkb.graph.communities import leaf_cover
from graphkb.query.ask import Ask
from graphkb.query.evidence import Evidence, measure_evidence
from graphkb.query.extractive import choose_quotes
from graphkb.query.pack import fit, passage_cost
from graphkb.search.hybrid import Retrieval, retrieve
from graphkb.search.snapshot import Snapshot, heading_of, passage_of
from graphkb.text.segment import query_tokens, search_tokens, stem
from graphkb.text.sentences import sentence_spans
from graphkb.types import Context, Passage, Step

# Words by which a question asks about the whole; they select no report.
_THEME_WORDS = frozenset(
    "main major key overall common general top theme themes topic topics idea ideas overview "
    "summary summarize summarise documents document collection corpus knowledge base describe "
    "主要 主题 总体 整体 概述 概括 总结 综述 归纳 内容 文档 资料 知识库 之间 联系 方面 情况".split()
)

# What a report's place in the collection counts beside its words, and how many text units of
# the question are looked up for reports that say the same in other words.
_REPORT_SHARE = 0.5
_RANK_SHARE = 0.2
_UNIT_SHARE = 0.5
# For a question with content words a finding must share this much of them, or stand in one of
# the three best text units.
_LEAST_OVERLAP, _NEAR = 0.15, 1 / 3
_UNITS = 20

_POINTS, _QUOTES = 6, 5
# A community gives at most this many points, so that an answer covers the collection.
_POINTS_EACH = 2


@dataclass(frozen=True)
class _Point:
    report: int
    text: str
    text_unit_ids: tuple[str, ...]
    score: float


def global_context(snapshot: Snapshot, ask: Ask) -> Context:
    """The best findings of the community reports, each as sentences of its text units."""
    question = ask.search
    started = time.perf_counter()
    options = snapshot.settings.global_search
    reports = _cover_reports(snapshot, options.community_level, options.max_reports)
    if not reports:
        raise NotIndexedError(
            f"{snapshot.root}: there are no community reports (the graph has no communities); "
            "use --method hybrid"
        )
    found = retrieve(snapshot, question, _UNITS)
    wanted = _wanted_words(snapshot, question)
    near = {unit.text_unit_id: 1 / unit.rank for unit in found.units} if wanted else {}
    relevance = _relevance(snapshot, reports, wanted, near)
    points = _points(snapshot, reports, wanted, relevance, near)
    chosen = _reduce(points)
    generic = not wanted or max(relevance.values()) <= 0
    asked = [] if generic else _asked_for(snapshot, question, found)
    said = {passage.text for passage in asked}
    passages = [*asked, *(p for p in _passages(snapshot, chosen) if p.text not in said)]
    kept, n_tokens = fit(passages, options.max_context_tokens, passage_cost, at_least=1)
    read = [reports[number] for number in dict.fromkeys(point.report for point in chosen)]
    step = Step(
        "map and reduce",
        f"{len(reports)} reports, {len(points)} points, {len(chosen)} kept"
        + ("; by rank, the question has no content words" if generic else ""),
        time.perf_counter() - started,
    )
    evidence = (
        Evidence(1.0, "the question is about the whole collection")
        if generic
        else measure_evidence(snapshot, question, _unit_passages(snapshot, found), found)
    )
    return Context(
        method="global",
        passages=tuple(kept),
        evidence=evidence.value,
        n_tokens=n_tokens,
        reports=tuple(
            {key: row[key] for key in ("community", "level", "title", "summary", "rank")}
            for row in read
        ),
        trace=(*found.trace, step, Step("evidence", evidence.reason, 0.0)),
        warnings=found.warnings,
    )


def _asked_for(snapshot: Snapshot, question: str, found: Retrieval) -> list[Passage]:
    """Sentences of the text units that answer a question with content words: findings are
    written before anyone asks, and may leave out just what is asked for."""
    scores = {unit.text_unit_id: unit.score for unit in found.units}
    units = [passage_of(row, scores[row["id"]]) for row in snapshot.units(scores)]
    quotes = choose_quotes(snapshot, question, units, _QUOTES)
    return [
        replace(
            quote.passage,
            text=quote.text,
            char_start=quote.start,
            char_end=quote.end,
        )
        for quote in quotes
    ]


def _wanted_words(snapshot: Snapshot, question: str) -> list[str]:
    """Stems of the question's content words. A name counts as one word, its rarest: otherwise
    three common words of a company's name outweigh what is asked about it."""
    words = query_tokens(question, snapshot.dictionary)
    idf = snapshot.vocabulary.idf(words)
    dropped: set[str] = set()
    for seed in snapshot.graph.link(question):
        name = [token for token in search_tokens(seed.surface, snapshot.dictionary) if token in idf]
        dropped.update(sorted(name, key=lambda token: (-idf[token], token))[1:])
    kept = [word for word in words if word not in _THEME_WORDS and word not in dropped]
    return list(dict.fromkeys(stem(word) for word in kept))


def _unit_passages(snapshot: Snapshot, found: Retrieval) -> list[Passage]:
    """Text units of the question: whether the collection speaks of it at all."""
    rows = snapshot.units(unit.text_unit_id for unit in found.units[:5])
    return [passage_of(row, 0.0) for row in rows]


def _cover_reports(snapshot: Snapshot, level: int, limit: int) -> dict[int, dict[str, Any]]:
    """Reports of the leaf cover at ``level`` by community, the highest-ranked ``limit``."""
    cover = leaf_cover(snapshot.store.read("communities"), level)
    found = snapshot.store.where_numbers("community_reports", "community", cover)
    ranked = found.sort(["rank", "community"], descending=[True, False]).head(limit)
    return {row["community"]: row for row in ranked.to_dicts()}


def _relevance(
    snapshot: Snapshot,
    reports: Mapping[int, Mapping[str, Any]],
    wanted: Sequence[str],
    near: Mapping[str, float],
) -> dict[int, float]:
    """Per report in [0, 1.5]: words shared with the question, and text units that answer it."""
    words = _overlap(
        {
            number: _stems(snapshot, f"{row['title']}\n{row['full_content']}")
            for number, row in reports.items()
        },
        wanted,
    )
    members = snapshot.store.where(
        "mentions", "text_unit_id", near, ("entity_id", "text_unit_id")
    ).unique()
    communities = snapshot.store.read("communities", ("community", "entity_ids")).filter(
        pl.col("community").is_in(list(reports))
    )
    pairs = communities.explode("entity_ids").join(
        members, left_on="entity_ids", right_on="entity_id"
    )
    close: dict[int, float] = dict.fromkeys(reports, 0.0)
    for row in pairs.select("community", "text_unit_id").unique().sort(pl.all()).to_dicts():
        close[row["community"]] += near[row["text_unit_id"]]
    most = max(close.values(), default=0.0) or 1.0
    return {n: words[n] + _UNIT_SHARE * close[n] / most for n in reports}


def _stems(snapshot: Snapshot, text: str) -> list[str]:
    return [stem(token) for token in search_tokens(text, snapshot.dictionary)]


def _overlap(texts: Mapping[int, Sequence[str]], wanted: Sequence[str]) -> dict[int, float]:
    """Share of the wanted words, weighted by their rarity among the texts, that each holds."""
    sets = {number: set(tokens) for number, tokens in texts.items()}
    frequency = Counter(word for words in sets.values() for word in set(wanted) & words)
    idf = {word: math.log(1 + len(sets) / (1 + frequency[word])) for word in wanted}
    total = sum(idf.values()) or 1.0
    return {n: sum(idf[w] for w in idf if w in words) / total for n, words in sets.items()}


def _points(
    snapshot: Snapshot,
    reports: Mapping[int, Mapping[str, Any]],
    wanted: Sequence[str],
    relevance: Mapping[int, float],
    near: Mapping[str, float],
) -> list[_Point]:
    """Every finding with its score, best first; ties by report and place.

    A finding scores by its own words and text units, its report's relevance and its rank.
    """
    findings = [
        (number, place, finding)
        for number, row in reports.items()
        for place, finding in enumerate(json.loads(row["findings"] or "[]"))
    ]
    tokens = {
        index: _stems(snapshot, f"{f['summary']}\n{f['explanation']}")
        for index, (_, _, f) in enumerate(findings)
    }
    own = _overlap(tokens, wanted)
    points = [
        (
            -(
                _REPORT_SHARE * relevance[number]
                + own[index]
                + _UNIT_SHARE * max((near.get(i, 0.0) for i in finding["text_unit_ids"]), default=0)
                + _RANK_SHARE * reports[number]["rank"] / 10
            ),
            place,
            number,
            finding,
        )
        for index, (number, place, finding) in enumerate(findings)
        if finding["text_unit_ids"]
        and (
            not wanted
            or own[index] >= _LEAST_OVERLAP
            or any(near.get(unit_id, 0.0) >= _NEAR for unit_id in finding["text_unit_ids"])
        )
    ]
    points.sort(key=lambda point: point[:3])
    return [
        _Point(number, finding["explanation"], tuple(finding["text_unit_ids"]), -score)
        for score, _, number, finding in points
    ]


def _reduce(points: Sequence[_Point]) -> list[_Point]:
    """The best points, a few a report, without saying the same thing twice."""
    chosen: list[_Point] = []
    each: Counter[int] = Counter()
    for point in points:
        if len(chosen) == _POINTS:
            break
        if each[point.report] < _POINTS_EACH and all(point.text != c.text for c in chosen):
            chosen.append(point)
            each[point.report] += 1
    return chosen


def _passages(snapshot: Snapshot, points: Sequence[_Point]) -> list[Passage]:
    """The sentences that a point quotes, as passages with their place in the document."""
    ids = [unit_id for point in points for unit_id in point.text_unit_ids]
    rows = {row["id"]: row for row in snapshot.units(ids)}
    passages: list[Passage] = []
    seen: set[str] = set()
    for point in points:
        for unit_id in point.text_unit_ids:
            row = rows.get(unit_id)
            if row is None:
                continue
            for start, end in sentence_spans(row["text"]):
                sentence = row["text"][start:end]
                if len(sentence) < 6 or sentence not in point.text or sentence in seen:
                    continue
                seen.add(sentence)
                passages.append(
                    Passage(
                        kind="report",
                        text=sentence,
                        score=point.score,
                        text_unit_id=unit_id,
                        document_id=row["document_id"],
                        title=row["title"] or "",
                        path=row["path"] or "",
                        heading=heading_of(row),
                        page=row["page_start"],
                        char_start=row["char_start"] + start,
                        char_end=row["char_start"] + end,
                    )
                )
    return passages
