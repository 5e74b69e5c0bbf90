"""A small English and Chinese world: documents, names, and the tables an extractor would make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import polars as pl
import pytest

from graphkb.graph.communities import find_communities
from graphkb.report.corpus import Corpus, read_corpus
from graphkb.report.offline import write_reports
from graphkb.settings import Cluster, Report
from graphkb.tables import content_hash, rows
from graphkb.text.language import detect_language
from graphkb.text.sentences import sentence_spans

ENGLISH = {
    "charter": (
        "# Harbor Project\n\n"
        "Northwind Tidal Energy runs the Harbor Project in Port Lammer.\n"
        "Ada Lin leads the Harbor Project for Northwind Tidal Energy since 2024.\n"
        "| Ada Lin | Harbor Project | lead |.\n"
        "Port Lammer has a quay for the barges of Northwind Tidal Energy."
    ),
    "minutes": (
        "Ada Lin told the board that the Harbor Project is on time.\n"
        "- Ben Okafor checks the seals of the Harbor Project.\n"
        "Ben Okafor\n"
        "The weather was fine."
    ),
}
CHINESE = {
    "手册": (
        "# 青石云账\n\n"
        "青石云账是面向小企业的记账软件，由陈明的团队开发。\n"
        "陈明制定了退款规则，青石云账按退款规则处理申请。\n"
        "退款规则要求七天之内答复客户，由林晓负责。"
    ),
    "纪要": "林晓向陈明汇报了退款规则的执行情况。\n青石云账本月新增三百家客户。",
}
ENGLISH_NAMES = ("Northwind Tidal Energy", "Harbor Project", "Ada Lin", "Port Lammer", "Ben Okafor")
CHINESE_NAMES = ("青石云账", "陈明", "退款规则", "林晓")


@dataclass(frozen=True)
class World:
    """The tables reports are made from."""

    communities: pl.DataFrame
    entities: pl.DataFrame
    nodes: pl.DataFrame
    relationships: pl.DataFrame
    mentions: pl.DataFrame
    text_units: pl.DataFrame

    def frames(self) -> tuple[pl.DataFrame, ...]:
        return (
            self.communities,
            self.entities,
            self.nodes,
            self.relationships,
            self.mentions,
            self.text_units,
        )

    def corpus(self) -> Corpus:
        return read_corpus(*self.frames())

    def reports(self, previous: pl.DataFrame | None = None, **options: Any) -> pl.DataFrame:
        return write_reports(*self.frames(), Report(**options), previous)

    def shuffled(self, seed: int) -> World:
        names = ("communities", "entities", "nodes", "relationships", "mentions", "text_units")
        mixed = {
            name: getattr(self, name).sample(fraction=1.0, shuffle=True, seed=seed)
            for name in names
        }
        return replace(self, **mixed)


def build(
    texts: dict[str, str],
    names: Sequence[str],
    kind: str = "prose",
    max_cluster_size: int = 10,
    previous: pl.DataFrame | None = None,
) -> World:
    """Names are found by their spelling; two in one sentence are related."""
    units: list[dict[str, Any]] = []
    for title, text in texts.items():
        units.append(
            {
                "id": content_hash(title, text), "human_readable_id": len(units), "text": text,
                "document_id": content_hash(title), "index": 0, "kind": kind,
                "language": detect_language(text), "heading_path": [], "context": title,
            }
        )  # fmt: skip
    ids = {name: content_hash(name) for name in names}
    mentions: list[dict[str, Any]] = []
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for unit in units:
        text = unit["text"]
        for start, end in sentence_spans(text):
            sentence = text[start:end]
            inside = [name for name in names if name in sentence]
            for name in inside:
                at = start + sentence.index(name)
                mentions.append(
                    {
                        "entity_id": ids[name], "text_unit_id": unit["id"], "surface": name,
                        "char_start": at, "char_end": at + len(name),
                    }
                )  # fmt: skip
            for pair in combinations(inside, 2):
                found.setdefault(pair, []).append((unit["id"], sentence))
    relationships = [
        {
            "id": content_hash(*pair), "human_readable_id": number, "source": pair[0],
            "target": pair[1], "source_id": ids[pair[0]], "target_id": ids[pair[1]],
            "weight": float(len(stated)), "description": stated[0][1], "type": "RELATED",
            "text_unit_ids": sorted({unit for unit, _ in stated}),
        }
        for number, (pair, stated) in enumerate(found.items())
    ]  # fmt: skip
    ends = [name for pair in found for name in pair]
    entities = rows(
        "entities",
        [
            {
                "id": ids[name], "title": name, "type": "TERM", "human_readable_id": number,
                "description": "", "aliases": [], "frequency": 1,
            }
            for number, name in enumerate(names)
        ],
    )  # fmt: skip
    nodes = [
        {
            "entity_id": ids[name], "degree": ends.count(name),
            "rank": ends.count(name) / max(len(ends), 1), "community": -1,
        }
        for name in names
    ]  # fmt: skip
    related = rows("relationships", relationships)
    options = Cluster(max_cluster_size=max_cluster_size)
    communities = find_communities(entities, related, options, previous).communities
    return World(
        communities, entities, rows("nodes", nodes), related, rows("mentions", mentions),
        rows("text_units", units),
    )  # fmt: skip


@pytest.fixture
def english() -> World:
    return build(ENGLISH, ENGLISH_NAMES)


@pytest.fixture
def chinese() -> World:
    return build(CHINESE, CHINESE_NAMES)


@pytest.fixture
def both() -> World:
    return build({**ENGLISH, **CHINESE}, [*ENGLISH_NAMES, *CHINESE_NAMES], max_cluster_size=3)


@pytest.fixture
def make_world() -> Callable[..., World]:
    return build
