"""What a report on a community is made from, most important first, within a token budget."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

import polars as pl

from graphkb.report.corpus import Corpus
from graphkb.report.sentences import Sentences
from graphkb.tables import content_hash
from graphkb.text.tokens import count_tokens

# Where not all fits: the share of the budget that reports, or quoted sources, may take.
_REPORT_SHARE = 0.6
_SOURCE_SHARE = 0.3

# ASCII's unit and record separators.
_CELL, _END = "\x1f", "\x1e"


@dataclass(frozen=True)
class Evidence:
    """A community's evidence as prompt text of at most the asked tokens, and what stands in it.

    ``text_unit_ids`` are all sources of the community in document order, whether quoted or
    not; ``reports`` are the children whose report stands in for their rows; ``left_out``
    counts the entity, relationship and sentence rows that neither stand in the text nor are
    covered by a report in it.
    """

    community: int
    text: str
    n_tokens: int
    entity_ids: tuple[str, ...]
    relationship_ids: tuple[str, ...]
    reports: tuple[int, ...]
    text_unit_ids: tuple[str, ...]
    left_out: int


@dataclass(frozen=True)
class _Row:
    section: str
    key: int
    line: str
    n_tokens: int
    nodes: tuple[int, ...] = ()

    def is_covered(self, children: dict[int, int]) -> bool:
        """Whether one replaced child's report speaks for the row; quotes may need several."""
        reports = {children.get(node, -1) for node in self.nodes}
        return -1 not in reports and (len(reports) == 1 or self.section == "Sources")


def gather_evidence(
    corpus: Corpus,
    sentences: Sentences,
    community: int,
    max_tokens: int,
    reports: pl.DataFrame | None = None,
) -> Evidence:
    """The evidence of one community: relationships strongest first with their entities, quotes.

    When all rows do not fit, the reports of its children (``reports``, a community_reports
    table) stand in for the children's own rows, largest child first, as in GraphRAG's
    ``build_mixed_context``, within a share of the budget; what does not fit even then is left
    out from the weak end.
    """
    rows = list(_rows(corpus, sentences, community))
    instead: list[_Row] = []
    covered: dict[int, int] = {}
    for child, report in _children_reports(corpus, community, reports).items():
        if _cost(instead + rows) <= max_tokens:
            break
        row = _row("Reports", child, report)
        if _cost([*instead, row]) > max_tokens * _REPORT_SHARE:
            continue
        instead.append(row)
        covered.update(dict.fromkeys(corpus.members[child], child))
        rows = [row for row in rows if not row.is_covered(covered)]
    return _fitted(corpus, community, rows, instead, max_tokens)


def evidence_hashes(corpus: Corpus, communities: Collection[int], *settings: str) -> dict[int, str]:
    """A hash of all that a community's report is made from, and of ``settings``.

    Entities with their mentions, inner relationships with their descriptions, and the text
    units, whose ids are hashes of their text. PageRank and weights are not in it: they move
    for everyone when one document comes, and a report is to stay when its community does.
    """
    entities = _joined(
        corpus.entities.select("id", "title", "type", "description", _mentions(corpus))
    )
    relationships = _joined(
        corpus.relationships.select(
            "id",
            "source",
            "target",
            "description",
            pl.col("text_unit_ids").list.sort().list.join(" "),
        )
    )
    return {
        community: content_hash(
            *settings,
            _END.join([entities[node] for node in sorted(corpus.members[community])]),
            _END.join([relationships[place] for place in sorted(corpus.inner[community])]),
        )
        for community in communities
    }


def _mentions(corpus: Corpus) -> pl.Series:
    """Where each entity stands: unit id, unit number and offset of every mention, in order."""
    units = corpus.units.select(
        pl.concat_str("id", "human_readable_id", separator=":", ignore_nulls=True)
    ).to_series()
    placed = (
        pl.DataFrame({"at": corpus.mention_entity, "start": corpus.mention_start})
        .with_columns(unit=units.gather(corpus.mention_unit))
        .sort("at", "unit", "start")
        .group_by("at", maintain_order=True)
        .agg(pl.concat_str("unit", "start", separator=":").str.join(" ").alias("mentions"))
    )
    every = pl.DataFrame({"at": range(corpus.entities.height)}, schema={"at": pl.Int64})
    return every.join(placed, on="at", how="left", maintain_order="left")["mentions"]


def _joined(frame: pl.DataFrame) -> list[str]:
    cells = pl.concat_str(pl.all().fill_null(""), separator=_CELL)
    joined: list[str] = frame.select(cells).to_series().to_list()
    return joined


def _children_reports(
    corpus: Corpus, community: int, reports: pl.DataFrame | None
) -> dict[int, str]:
    """Full content of the children that have a report, largest first."""
    if reports is None:
        return {}
    children = set(corpus.communities.filter(pl.col("parent") == community)["community"].to_list())
    written = reports.filter(pl.col("community").is_in(children)).sort(
        ["size", "community"], descending=[True, False]
    )
    return dict(written.select("community", "full_content").iter_rows())


def _rows(corpus: Corpus, sentences: Sentences, community: int) -> Iterator[_Row]:
    """Each relationship after its entities, then entities without any, then quotes."""
    stated = corpus.relationships.select("human_readable_id", "source", "target", "description")
    described = corpus.entities.select("human_readable_id", "title", "type", "description")
    numbers = corpus.units["human_readable_id"]
    members = set(corpus.members[community])
    seen: set[int] = set()
    for place in corpus.inner[community]:
        ends = int(corpus.source[place]), int(corpus.target[place])
        for node in ends:
            if node not in seen:
                seen.add(node)
                yield _row("Entities", node, *described.row(node), nodes=(node,))
        yield _row("Relationships", place, *stated.row(place), nodes=ends)
    for node in corpus.members[community]:
        if node not in seen:
            yield _row("Entities", node, *described.row(node), nodes=(node,))
    for place in sentences.by_community[community]:
        number, text = numbers[int(sentences.unit[place])], sentences.texts[place]
        nodes = members.intersection(sentences.entities[place])
        yield _row("Sources", place, number, text, nodes=tuple(sorted(nodes)))


def _row(section: str, key: int, *cells: object, nodes: tuple[int, ...] = ()) -> _Row:
    if section == "Reports":
        line = str(cells[0]).strip()
    else:
        line = ",".join("" if cell is None else " ".join(str(cell).split()) for cell in cells)
    return _Row(section, key, line, count_tokens(line + "\n"), nodes)


_HEADS = {
    "Reports": "-----Reports-----",
    "Entities": "-----Entities-----\nid,title,type,description",
    "Relationships": "-----Relationships-----\nid,source,target,description",
    "Sources": "-----Sources-----\nid,text",
}


@cache
def _head_cost(section: str) -> int:
    return count_tokens(f"\n{_HEADS[section]}\n")


def _cost(rows: list[_Row]) -> int:
    heads = {row.section for row in rows}
    return sum(row.n_tokens for row in rows) + sum(_head_cost(section) for section in heads)


def _fitted(
    corpus: Corpus, community: int, rows: list[_Row], reports: list[_Row], max_tokens: int
) -> Evidence:
    """As many rows as fit: reports, then relationships with entities, quotes beside them."""
    graph = [row for row in rows if row.section != "Sources"]
    quotes = [row for row in rows if row.section == "Sources"]
    if _cost(reports + rows) <= max_tokens:
        chosen = reports + rows
    else:
        chosen = _taken(reports, graph, int(max_tokens * (1 - _SOURCE_SHARE)))
        chosen = _taken(chosen, quotes, max_tokens)
        held = {(row.section, row.key) for row in chosen}
        rest = [row for row in graph if (row.section, row.key) not in held]
        chosen = _taken(chosen, rest, max_tokens)
    text = _written(chosen)
    while chosen and count_tokens(text) > max_tokens:
        chosen.pop()
        text = _written(chosen)
    units = corpus.units["id"].to_list()
    return Evidence(
        community=community,
        text=text,
        n_tokens=count_tokens(text),
        entity_ids=_ids(corpus.entities, chosen, "Entities"),
        relationship_ids=_ids(corpus.relationships, chosen, "Relationships"),
        reports=tuple(row.key for row in chosen if row.section == "Reports"),
        text_unit_ids=tuple(units[unit] for unit in corpus.sources[community]),
        left_out=len(rows) - sum(row.section != "Reports" for row in chosen),
    )


def _taken(chosen: list[_Row], rows: list[_Row], limit: int) -> list[_Row]:
    """``chosen`` and rows in order until the first that does not fit: no weak one jumps ahead."""
    taken = list(chosen)
    heads = {row.section for row in taken}
    cost = _cost(taken)
    for row in rows:
        cost += row.n_tokens + (0 if row.section in heads else _head_cost(row.section))
        if cost > limit:
            break
        heads.add(row.section)
        taken.append(row)
    return taken


def _ids(frame: pl.DataFrame, rows: list[_Row], section: str) -> tuple[str, ...]:
    ids = frame["id"]
    return tuple(ids[row.key] for row in rows if row.section == section)


def _written(rows: list[_Row]) -> str:
    parts = [
        "\n".join([head, *(row.line for row in rows if row.section == section)])
        for section, head in _HEADS.items()
        if any(row.section == section for row in rows)
    ]
    return "\n\n".join(parts)
