"""What a model is shown of a community, as numbered rows within a token budget.

All of it is chosen by what stands inside the community (:mod:`graphkb.report.local`) and written
in an order that content gives, so that a community that did not change is shown as before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import polars as pl

from graphkb.report.corpus import Corpus, Grouped
from graphkb.report.local import LocalOrder, local_order
from graphkb.report.rows import (
    ROW_TOKENS,
    Row,
    all_forms,
    cost,
    cut_text,
    make_row,
    one_line,
    take_rows,
    write_rows,
)
from graphkb.report.sentences import Sentences, read_sentences
from graphkb.text.encoding import prepare_for
from graphkb.text.sentences import sentence_spans
from graphkb.text.tokens import count_tokens

# The share of the budget that reports of children may take, and sentences behind them.
_REPORT_SHARE = 0.5
_SENTENCE_SHARE = 0.4

# Of the budget's tokens, one sentence for so many, and one row of the graph: the strongest that
# many are shown. All that fits would be more to read, and each weak newcomer would change it.
_TOKENS_A_SENTENCE = 200
_TOKENS_A_ROW = 160

# A report of a part takes at least so many, or hardly less.
_TOKENS_A_REPORT = 80

# Most text units that a row stands for.
_ROW_UNITS = 3

# The strongest rows speak for a community whose descriptions take up to so many budgets; of a
# larger one the reports of its children tell more.
_BUDGETS = 2


@dataclass(frozen=True)
class Told:
    """What a report tells those who read about the community it is a part of."""

    title: str
    summary: str
    text_unit_ids: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """One row as it is shown, and the text units that its number stands for.

    ``key`` is a position in the corpus, or in the sentences, or a child's community number.
    """

    number: int
    section: str
    key: int
    text: str
    text_unit_ids: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """A community's strongest rows as prompt text of at most the asked tokens."""

    community: int
    text: str
    n_tokens: int
    rows: tuple[Shown, ...]

    def keys(self, section: str) -> tuple[int, ...]:
        """Keys of the rows of one section, in the order in which they are shown."""
        return tuple(row.key for row in self.rows if row.section == section)


class EvidenceReader:
    """Gathers the evidence of the wanted communities of a corpus. What it takes is read when it
    is first needed."""

    def __init__(self, corpus: Corpus, wanted: Collection[int]) -> None:
        self._corpus = corpus
        self._wanted = frozenset(wanted)
        self._sentences: dict[int, Sentences] = {}
        self._described_tokens = _described_tokens(corpus, wanted)
        places = corpus.communities.select("community", "level", "children", "size", "id")
        self._levels = dict(places.select("community", "level").iter_rows())
        ranks = {number: (-size, id_) for number, _, _, size, id_ in places.iter_rows()}
        self._children: dict[int, list[int]] = {
            number: sorted(children or [], key=lambda child: ranks[child])
            for number, children in places.select("community", "children").iter_rows()
        }

    @cached_property
    def _texts(self) -> _Texts:
        return _Texts(self._corpus)

    @cached_property
    def _order(self) -> LocalOrder:
        return local_order(self._corpus)

    def read(self, communities: Collection[int]) -> None:
        """Read the sentences of communities that are to be gathered, so that it is done at once;
        where they are most of the wanted, of all."""
        new = set(communities).difference(self._sentences)
        if 2 * len(new) >= len(self._wanted):
            new = set(self._wanted.union(new).difference(self._sentences))
        if new:
            found = read_sentences(self._corpus, new, self._order.weights)
            self._sentences.update(dict.fromkeys(new, found))
            prepare_for(all_forms(self._words(new)))

    def _words(self, communities: Collection[int]) -> Iterator[str]:
        """All that can be shown of the communities."""
        texts, corpus = self._texts, self._corpus
        for community in communities:
            sentences = self._sentences[community]
            yield from (sentences.texts[place] for place in sentences.by_community[community])
            for node in corpus.members[community]:
                yield from (texts.titles[node], texts.types[node], texts.described[node])
            yield from (texts.stated[place] for place in corpus.inner[community])

    def children(self, community: int) -> list[int]:
        """The communities that a community consists of one level down, largest first."""
        return self._children[community]

    def fits(self, community: int, max_tokens: int) -> bool:
        """Whether the strongest rows are enough; else children's reports stand in for the rest."""
        return self._described_tokens.get(community, 0) <= _BUDGETS * max_tokens

    def gather(
        self, community: int, max_tokens: int, reports: Mapping[int, Told] | None = None
    ) -> Evidence:
        """The evidence of one community, the strongest of it.

        Of a large community (:meth:`fits`), ``reports`` of its children stand in for the
        children's own entities and relationships, largest child first, as in GraphRAG's
        ``build_mixed_context``, within a share of the budget. Then sentences that name many
        members, and relationships by strength after their ends. A description that repeats
        what is already shown is left out, and a row that then says nothing.
        """
        self.read([community])
        instead: list[Row] = []
        covered: dict[int, int] = {}
        if reports and not self.fits(community, max_tokens):
            parts = [child for child in self._children[community] if child in reports]
            first = [reports[child] for child in parts[: max_tokens // _TOKENS_A_REPORT]]
            prepare_for(all_forms(text for told in first for text in (told.title, told.summary)))
            for child in parts:
                row = self._report_row(child, reports[child])
                if cost([*instead, row]) <= max_tokens * _REPORT_SHARE:
                    instead.append(row)
                    covered.update(dict.fromkeys(self._corpus.members[child], child))
        limit = min(max_tokens, cost(instead) + int(max_tokens * _SENTENCE_SHARE))
        chosen = take_rows(instead, self._quotes(community, instead, max_tokens), limit)
        rows = self._told(community, chosen, covered)
        chosen = take_rows(chosen, islice(rows, max(2, max_tokens // _TOKENS_A_ROW)), max_tokens)
        return self._written(community, chosen, max_tokens)

    def _quotes(self, community: int, shown: Sequence[Row], max_tokens: int) -> Iterator[Row]:
        """The best sentences, none twice and none that a child's report holds."""
        said = "\n".join(row.text for row in shown)
        sentences = self._sentences[community]
        places = sentences.by_community[community]
        texts = {sentences.texts[place]: place for place in reversed(places)}
        best = [(text, place) for text, place in reversed(texts.items()) if text not in said]
        for text, place in best[: max(2, max_tokens // _TOKENS_A_SENTENCE)]:
            yield make_row("Sources", place, text)

    def _told(
        self, community: int, shown: Sequence[Row], covered: Mapping[int, int]
    ) -> Iterator[Row]:
        """Rows of entities and relationships that say something not yet shown, best first."""
        said = "\n".join(row.text for row in shown)
        ends = self._texts.ends
        for section, key in self._graph(community):
            nodes = (key,) if section == "Entities" else ends[key]
            reports = {covered.get(node, -1) for node in nodes}
            if len(reports) == 1 and -1 not in reports:
                continue
            row = self._graph_row(section, key, said)
            if row:
                said = f"{said}\n{row.text}"
                yield row

    def _graph(self, community: int) -> Iterator[tuple[str, int]]:
        """Each relationship after its ends, then entities that have none inside."""
        seen: set[int] = set()
        for place in self._order.inner[community]:
            for node in self._texts.ends[place]:
                if node not in seen:
                    seen.add(node)
                    yield "Entities", node
            yield "Relationships", place
        for node in sorted(self._corpus.members[community]):
            if node not in seen:
                yield "Entities", node

    def _graph_row(self, section: str, key: int, said: str) -> Row | None:
        if section == "Entities":
            cells = [self._texts.titles[key], self._texts.types[key]]
            names, description = cells[:1], self._texts.described[key]
        else:
            names = cells = [self._texts.titles[node] for node in self._texts.ends[key]]
            description = self._texts.stated[key]
        lines = [one_line(line) for line in description.split("\n")]
        new = [line for line in dict.fromkeys(lines) if line and line not in said]
        if not new and all(name in said for name in names):
            return None
        return make_row(section, key, *cells, cut_text(" ".join(new)))

    def _report_row(self, child: int, report: Told) -> Row:
        summary = one_line(report.summary)
        end = 0
        for _, stop in sentence_spans(summary):
            if end and count_tokens(summary[:stop]) > ROW_TOKENS:
                break
            end = stop
        ids = report.text_unit_ids
        return make_row("Reports", child, report.title, cut_text(summary[:end]), text_unit_ids=ids)

    def _written(self, community: int, chosen: list[Row], max_tokens: int) -> Evidence:
        text, ordered = write_rows(chosen)
        n_tokens = count_tokens(text)
        while chosen and n_tokens > max_tokens:
            chosen.pop()
            text, ordered = write_rows(chosen)
            n_tokens = count_tokens(text)
        rows = tuple(
            Shown(number, row.section, row.key, row.text, self._text_units(community, row))
            for number, row in enumerate(ordered, 1)
        )
        return Evidence(community, text, n_tokens, rows)

    def _text_units(self, community: int, row: Row) -> tuple[str, ...]:
        """Where a row's words come from: at most three text units."""
        if row.section == "Reports":
            return row.text_unit_ids[:_ROW_UNITS]
        if row.section == "Sources":
            places = [int(self._sentences[community].unit[row.key])]
        elif row.section == "Relationships":
            places = self._corpus.relationship_units[row.key]
        else:
            places = self._texts.titled[row.key][:1] or self._related(community, row.key)
        return tuple(self._texts.units[place] for place in places[:_ROW_UNITS])

    def _related(self, community: int, node: int) -> list[int]:
        """Text units of the entity's strongest relationship inside, else of its first mention."""
        for place in self._order.inner[community]:
            if node in self._texts.ends[place]:
                return self._corpus.relationship_units[place]
        return self._texts.mentioned[node][:1]


class _Texts:
    """Columns of a corpus as lists; ``mentioned`` and ``titled`` are units by entity."""

    def __init__(self, corpus: Corpus) -> None:
        entities, stated = corpus.entities, corpus.relationships
        self.titles: list[str] = entities["title"].fill_null("").to_list()
        self.types: list[str] = entities["type"].fill_null("").to_list()
        self.described: list[str] = entities["description"].fill_null("").to_list()
        self.stated: list[str] = stated["description"].fill_null("").to_list()
        self.units: list[str] = corpus.units["id"].to_list()
        self.ends = list(zip(corpus.source.tolist(), corpus.target.tolist(), strict=True))
        by_entity = np.lexsort((corpus.mention_unit, corpus.mention_entity))
        entity, unit = corpus.mention_entity[by_entity], corpus.mention_unit[by_entity]
        titles = corpus.mention_start[by_entity] < 0
        self.mentioned = Grouped.of(entity, unit)
        self.titled = Grouped.of(entity[titles], unit[titles])


def _described_tokens(corpus: Corpus, wanted: Collection[int]) -> dict[int, int]:
    """About how many tokens the descriptions inside each wanted community take.

    A line by which several are described counts once; four bytes count as a token.
    """
    described = pl.concat([corpus.entities["description"], corpus.relationships["description"]])
    row = np.arange(len(described))
    lines = (
        pl.LazyFrame({"row": row, "line": described.fill_null("").str.split("\n")})
        .explode("line")
        .with_columns(n_tokens=pl.col("line").str.len_bytes() // 4)
        .collect()
    )
    sizes: dict[int, int] = {}
    for label in corpus.labels:
        source, target = label[corpus.source], label[corpus.target]
        inside = np.where(source == target, source, -1)
        held = pl.LazyFrame({"row": row, "community": np.concatenate([label, inside])})
        said = (
            held.filter(pl.col("community").is_in(list(wanted)))
            .join(lines.lazy(), on="row")
            .unique(["community", "line"])
            .group_by("community")
            .agg(pl.col("n_tokens").sum())
            .collect()
        )
        sizes.update(said.iter_rows())
    return sizes
