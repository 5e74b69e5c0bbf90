"""Community reports for a question: which stand in the leaf cover, and which speak of it.

Reports are ranked without a model, by the words they share with the question and by the text
units that answer it, so that a model is shown the most relevant ones first.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import polars as pl

from graphkb.errors import NotIndexedError
from graphkb.graph.communities import leaf_cover
from graphkb.query.ask import Ask
from graphkb.query.candidates import stems_of
from graphkb.query.evidence import Evidence, measure_evidence
from graphkb.query.narrowed import reports_of
from graphkb.query.sources import Entry, Source
from graphkb.search.hybrid import Retrieval, retrieve
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.text.segment import query_tokens, search_tokens, stem
from graphkb.text.sentences import sentence_spans

Report = Mapping[str, Any]

# Words by which a question asks about the whole; they select no report.
THEME_WORDS = frozenset(
    "main major key overall common general top theme themes topic topics idea ideas overview "
    "summary summarize summarise documents document collection corpus knowledge base describe "
    "across files file throughout mentioned discussed covered "
    "主要 主题 总体 整体 概述 概括 总结 综述 归纳 内容 文档 文件 资料 知识库 之间 联系 方面 情况 "
    "涉及 提到".split()
)

# What text units of the question count beside its words, what a report's place in the
# collection counts, and how many units are looked up for reports that say the same in other
# words.
UNIT_SHARE = 0.5
RANK_SHARE = 0.2
_UNITS = 20

_REFERENCES = re.compile(r"\s*\[Data:[^\]]*\]")
_ENDS = ".。;；:：… "
_WORD = re.compile(r"\w+")
_CITED_UNITS = re.compile(r"\bSources \(([\d,\s]+)")


@dataclass(frozen=True)
class Lookup:
    """A question looked up in the text units: what reports are ranked by.

    ``wanted`` are stems of its content words, empty when it asks about the whole; ``near`` are
    text units that answer it with 1 / rank.
    """

    question: str
    found: Retrieval
    wanted: tuple[str, ...]
    near: Mapping[str, float]


def look_up(snapshot: Snapshot, question: str) -> Lookup:
    """The question's content words and its best text units."""
    found = retrieve(snapshot, question, _UNITS)
    wanted = _wanted_words(snapshot, question)
    near = {unit.text_unit_id: 1 / unit.rank for unit in found.units} if wanted else {}
    return Lookup(question, found, tuple(wanted), near)


def _wanted_words(snapshot: Snapshot, question: str) -> list[str]:
    """Stems of the question's content words. A name counts as one word, its rarest: otherwise
    three common words of a company's name outweigh what is asked about it."""
    words = query_tokens(question, snapshot.dictionary)
    idf = snapshot.vocabulary.idf(words)
    dropped: set[str] = set()
    for seed in snapshot.graph.link(question):
        name = [token for token in search_tokens(seed.surface, snapshot.dictionary) if token in idf]
        dropped.update(sorted(name, key=lambda token: (-idf[token], token))[1:])
    kept = [word for word in words if word not in THEME_WORDS and word not in dropped]
    return list(dict.fromkeys(stem(word) for word in kept))


def community_level(snapshot: Snapshot, ask: Ask) -> int:
    """The level of the leaf cover: the question's own, else the setting."""
    level = ask.community_level
    return snapshot.settings.global_search.community_level if level is None else level


def cover_evidence(snapshot: Snapshot, lookup: Lookup, generic: bool) -> Evidence:
    """How well the collection covers the question; fully when it is about the whole."""
    if generic:
        return Evidence(1.0, "the question is about the whole collection")
    rows = snapshot.units(unit.text_unit_id for unit in lookup.found.units[:5])
    passages = [passage_of(row, 0.0) for row in rows]
    return measure_evidence(snapshot, lookup.question, passages, lookup.found)


def report_row(row: Report) -> Report:
    """What a context says of a report it was made from."""
    return {key: row[key] for key in ("community", "level", "title", "summary", "rank")}


def cover_reports(snapshot: Snapshot, level: int, limit: int) -> dict[int, dict[str, Any]]:
    """Reports of the leaf cover at ``level`` by community, the highest-ranked ``limit``.

    Raises NotIndexedError when there are none.
    """
    cover = leaf_cover(snapshot.store.read("communities"), level)
    found = reports_of(snapshot, cover)
    ranked = found.sort(["rank", "community"], descending=[True, False]).head(limit)
    if ranked.is_empty() and snapshot.selection is not None:
        raise NotIndexedError(
            f"no community report rests on documents that match {snapshot.selection.expression}; "
            "use --method hybrid"
        )
    if ranked.is_empty():
        raise NotIndexedError(
            f"{snapshot.root}: there are no community reports (the graph has no communities); "
            "use --method hybrid"
        )
    return {row["community"]: row for row in ranked.to_dicts()}


def relevant_reports(
    snapshot: Snapshot, lookup: Lookup, level: int, limit: int
) -> list[dict[str, Any]]:
    """Reports of the leaf cover at ``level``, the most relevant ``limit``, best first.

    Looked at are the ``limit`` highest-ranked ones and those of communities that the
    question's text units speak of, so that the cost does not grow with the collection.
    Raises NotIndexedError when there are no reports.
    """
    reports = cover_reports(snapshot, level, limit)
    near = _near_communities(snapshot, lookup.near, level)
    missing = [number for number in near if number not in reports]
    more = reports_of(snapshot, missing)
    reports |= {row["community"]: row for row in more.sort("community").to_dicts()}
    return ranked_reports(snapshot, lookup, reports)[:limit]


def model_reports(snapshot: Snapshot, level: int) -> list[dict[str, Any]]:
    """Reports that a model wrote, down to ``level``: the coarsest first, then by rank."""
    columns = ["community", "level", "method"]
    places = snapshot.store.read("community_reports", columns)
    written = places.filter((pl.col("method") == "llm") & (pl.col("level") <= level))
    found = reports_of(snapshot, written["community"])
    order = found.sort(["level", "rank", "community"], descending=[False, True, False])
    return order.to_dicts()


def ranked_reports(
    snapshot: Snapshot, lookup: Lookup, reports: Mapping[int, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Reports by relevance and rank, best first; ties by community."""
    scores = relevance(snapshot, reports, lookup)

    def order(row: Report) -> tuple[float, int]:
        number = int(row["community"])
        return -(scores[number] + RANK_SHARE * row["rank"] / 10), number

    return sorted(reports.values(), key=order)


def _near_communities(snapshot: Snapshot, near: Iterable[str], level: int) -> list[int]:
    """Communities of the leaf cover that the entities of these text units stand in, sorted."""
    mentions = snapshot.store.where("mentions", "text_unit_id", near, ("entity_id",))
    nodes = snapshot.store.where("nodes", "entity_id", mentions["entity_id"], ("community",))
    table = snapshot.store.read("communities", ("community", "level", "parent"))
    above = {row["community"]: row for row in table.to_dicts()}
    found: set[int] = set()
    for leaf in nodes["community"].unique().to_list():
        number = leaf
        while number in above and above[number]["level"] > level:
            number = above[number]["parent"]
        if number in above:
            found.add(number)
    return sorted(found)


def relevance(
    snapshot: Snapshot, reports: Mapping[int, Report], lookup: Lookup
) -> dict[int, float]:
    """Per report in [0, 1.5]: words shared with the question, and text units that answer it."""
    if not lookup.wanted:
        return dict.fromkeys(reports, 0.0)
    near = lookup.near
    words = overlap(
        {
            number: stems_of(f"{row['title']}\n{row['full_content']}", snapshot.dictionary)
            for number, row in reports.items()
        },
        lookup.wanted,
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
    return {n: words[n] + UNIT_SHARE * close[n] / most for n in reports}


def overlap(sets: Mapping[int, Set[str]], wanted: Sequence[str]) -> dict[int, float]:
    """Share of the wanted words, weighted by their rarity among the sets, that each holds."""
    frequency = Counter(word for words in sets.values() for word in set(wanted) & words)
    idf = {word: math.log(1 + len(sets) / (1 + frequency[word])) for word in wanted}
    total = sum(idf.values()) or 1.0
    return {n: sum(idf[w] for w in idf if w in words) / total for n, words in sets.items()}


def report_entries(snapshot: Snapshot, reports: Sequence[Report]) -> list[Entry]:
    """Reports as a model is shown them, in their order: each finding is a source, and the
    summary. A report that rests on no text unit is left out, because nothing could be cited."""
    cited = {number for row in reports for number in _cited(row)}
    units = snapshot.store.where_numbers(
        "text_units", "human_readable_id", sorted(cited), ("id", "human_readable_id")
    )
    ids = dict(zip(units["human_readable_id"], units["id"], strict=True))
    entries = [_entry(row, [ids[n] for n in _cited(row) if n in ids]) for row in reports]
    return [entry for entry in entries if entry.sources]


def _cited(row: Report) -> list[int]:
    """Numbers of the text units that the report's summary names."""
    found = _CITED_UNITS.search(row["full_content"] or "")
    return [int(number) for number in found.group(1).split(",") if number.strip()] if found else []


def _entry(row: Report, summary_units: Sequence[str]) -> Entry:
    """Findings first, then what the summary says beside them: no sentence stands twice."""
    seen: set[str] = set()
    sources: list[Source] = []
    for finding in json.loads(row["findings"] or "[]"):
        text = _told(finding, seen)
        ids = tuple(dict.fromkeys(finding.get("text_unit_ids") or ()))
        if text and ids:
            sources.append(Source(text, ids))
    every = dict.fromkeys([*summary_units, *(i for s in sources for i in s.text_unit_ids)])
    summary = _unsaid(without_references(row["summary"] or ""), seen)
    if summary and every:
        sources.append(Source(summary, tuple(every)))
    return Entry(without_references(row["title"] or ""), tuple(sources), row["community"])


def _told(finding: Report, seen: set[str]) -> str:
    """What of a finding was not said yet, below the part of its headline that says more."""
    headline = without_references(finding.get("summary") or "").rstrip(_ENDS)
    explanation = without_references(finding.get("explanation") or "")
    names, _, phrase = headline.replace("：", ":").partition(":")
    if phrase.strip() and phrase.strip(_ENDS) in explanation:
        headline = names
    told = explanation.lower()
    if all(word in told for word in _WORD.findall(headline.lower())):
        headline = ""
    new = _unsaid(explanation, seen)
    if explanation and not new:
        return ""
    return ": ".join(part for part in (headline, new) if part)


def _unsaid(text: str, seen: set[str]) -> str:
    """The sentences of a text that are not in ``seen``, which they are added to."""
    sentences = [text[start:end] for start, end in sentence_spans(text)]
    new = [sentence for sentence in sentences if sentence not in seen]
    seen.update(new)
    return text if len(new) == len(sentences) else " ".join(new)


def without_references(text: str) -> str:
    """The text on one line, without [Data: …] marks, which number other things than ours."""
    return " ".join(_REFERENCES.sub("", text).split())
