"""A GraphRAG graph as evidence by document: where each name, relationship and claim stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from graphkb.extract.claims import iso_date
from graphkb.extract.imported import IMPORTED, text_hash
from graphkb.extract.kinds import PERSON, guess_type
from graphkb.extract.locate import Located, Span
from graphkb.extract.unit import RELATED
from graphkb.extract.verify import CLAIM
from graphkb.importing.graphrag import GraphRag
from graphkb.importing.names import Passage, spelling
from graphkb.importing.places import Searcher, place_units
from graphkb.text.sentences import sentence_spans

_LONGEST = 1_000
_MARGIN = 80
_WEIGHT = 0.1
_NOTHING = {"", "NONE", "NULL", "N/A", "NAN", "无", "空"}
_STATUSES = ("TRUE", "FALSE", "SUSPECTED")


@dataclass
class Evidence:
    """``frames`` are those of :data:`graphkb.extract.imported.IMPORTED`; ``names`` maps a GraphRAG
    entity title to the name it got; ``dropped`` are (what, why, examples) of what is not there.
    """

    frames: dict[str, pl.DataFrame]
    names: dict[str, str]
    placed_units: int
    dropped: dict[str, list[str]]


def make_evidence(graph: GraphRag, texts: Mapping[str, str]) -> Evidence:
    """The graph's evidence in ``texts``, the documents' texts by GraphRAG's document id.

    Names that no text unit of theirs holds are left out, with what hangs on them.
    """
    return _Maker(graph, texts).make()


@dataclass
class _Read:
    """A text unit that GraphRAG read, in its document, and where names of its entities stand."""

    document: str
    start: int
    end: int
    spans: dict[str, list[Span]] = field(default_factory=dict)


class _Maker:
    def __init__(self, graph: GraphRag, texts: Mapping[str, str]) -> None:
        self._graph = graph
        self._texts = texts
        self._hashes = {name: text_hash(text) for name, text in texts.items()}
        self._sentences: dict[str, list[Span]] = {}
        self._passages: dict[str, list[_Read]] = {}
        self._types = _types_of(graph.entities)
        self._dropped: dict[str, list[str]] = {}
        # The documents that a text unit was cut from, found in them or not.
        self._cut_from = {
            unit: {self._hashes[name] for name in documents if name in self._hashes}
            for unit, documents in graph.text_units.select("id", "document_ids").iter_rows()
        }

    def make(self) -> Evidence:
        units = self._graph.text_units
        places = place_units(units, self._texts)
        for unit, document, start, end in places.iter_rows():
            self._passages.setdefault(unit, []).append(_Read(document, start, end))
        lost = [unit for unit in units["id"] if unit not in self._passages]
        if lost:
            self._dropped["text units that stand in no document"] = lost
        self._find_names()
        names = self._spellings()
        frames = {
            "passages": places.with_columns(
                pl.col("document_id").replace_strict(self._hashes, return_dtype=pl.String)
            ).rename({"unit": "passage", "document_id": "document"}),
            "mentions": self._mentions(names),
            "descriptions": self._descriptions(names),
            "relationships": self._relationships(names),
            "claims": self._claims(names),
        }
        conformed = {name: _unique(name, frame) for name, frame in frames.items()}
        return Evidence(conformed, names, len(self._passages), self._dropped)

    def _find_names(self) -> None:
        """Fill in where each passage spells its entities, or else stands for them."""
        wanted: dict[str, dict[str, list[str]]] = {}
        columns = ("title", "aliases", "text_unit_ids")
        for title, aliases, units in self._graph.entities.select(columns).iter_rows():
            for unit in units:
                wanted.setdefault(unit, {})[title] = aliases
        for unit, titles in wanted.items():
            for passage in self._passages.get(unit, ()):
                # A name may be cut in two where a unit begins or ends.
                before = max(0, passage.start - _MARGIN)
                located = Located(self._texts[passage.document][before : passage.end + _MARGIN])
                piece = Passage(located, passage.start - before, passage.end - before)
                for title, aliases in titles.items():
                    person = self._types[title] == PERSON
                    found = piece.find(title, aliases, person, titles.keys() - {title})
                    if found:
                        passage.spans[title] = [(a + before, b + before) for a, b in found]

    def _spellings(self) -> dict[str, str]:
        """Title to name, for the entities that stand somewhere."""
        surfaces: dict[str, list[str]] = {}
        for passage in self._every_passage():
            text = self._texts[passage.document]
            for title, spans in passage.spans.items():
                surfaces.setdefault(title, []).extend(text[a:b] for a, b in spans)
        aliases = dict(self._graph.entities.select("title", "aliases").iter_rows())
        absent = sorted(aliases.keys() - surfaces.keys())
        if absent:
            self._dropped["entities whose name stands in none of their text units"] = absent
        return {title: spelling(title, aliases[title], found) for title, found in surfaces.items()}

    def _every_passage(self) -> Iterable[_Read]:
        return (passage for passages in self._passages.values() for passage in passages)

    def _mentions(self, names: Mapping[str, str]) -> pl.DataFrame:
        rows = [
            (self._hashes[p.document], start, end, self._texts[p.document][start:end],
             names[title], self._types[title])
            for p in self._every_passage()
            for title, spans in p.spans.items()
            for start, end in spans
        ]  # fmt: skip
        return pl.DataFrame(rows, schema=IMPORTED["mentions"].schema, orient="row")

    def _descriptions(self, names: Mapping[str, str]) -> pl.DataFrame:
        found: dict[str, tuple[str, dict[str, None], set[str]]] = {}
        columns = ("title", "description", "text_unit_ids")
        for title, description, units in self._graph.entities.select(columns).iter_rows():
            words = (description or "").strip()
            if title in names and words:
                _, said, of = found.setdefault(names[title], (self._types[title], {}, set()))
                said[words] = None
                of.update(*(self._cut_from.get(unit, ()) for unit in units))
        rows = [(n, kind, "\n".join(said), sorted(of)) for n, (kind, said, of) in found.items()]
        return pl.DataFrame(rows, schema=IMPORTED["descriptions"].schema, orient="row")

    def _relationships(self, names: Mapping[str, str]) -> pl.DataFrame:
        rows: list[dict[str, Any]] = []
        lost: list[str] = []
        for row in self._graph.relationships.iter_rows(named=True):
            source, target = row["source"], row["target"]
            places = [
                (passage.document, *span)
                for unit in row["text_unit_ids"]
                for passage in self._passages.get(unit, ())
                if (span := self._between(passage, source, target)) is not None
            ]
            if not places or source not in names or target not in names:
                lost.append(f"{source} – {target}")
                continue
            of = set().union(*(self._cut_from.get(unit, ()) for unit in row["text_unit_ids"]))
            weight = row["weight"] if row["weight"] and row["weight"] > 0 else _WEIGHT
            for document, start, end in places:
                plain = " ".join(self._texts[document][start:end].split())
                described = (row["description"] or "").strip() or plain
                rows.append(
                    {
                        **self._at(document, start, end),
                        "source": names[source],
                        "target": names[target],
                        "description": described,
                        "plain": plain,
                        "type": row["type"] or RELATED,
                        "weight": weight / len(places),
                        "directed": bool(row["directed"]),
                        "summary_of": sorted(of),
                    }
                )
        if lost:
            self._dropped["relationships whose ends are not in their text units"] = lost
        frame = pl.DataFrame(rows, schema=IMPORTED["relationships"].schema)
        key = list(IMPORTED["relationships"].key)
        others = pl.exclude(*key, "weight").first()
        return frame.group_by(key, maintain_order=True).agg(pl.col("weight").sum(), others)

    def _between(self, passage: _Read, source: str, target: str) -> Span | None:
        """The sentence that names both ends, else the sentences from one end to the other where
        they are near, else the sentence of one end."""
        ends = [passage.spans.get(name, []) for name in (source, target)]
        pairs = [(min(a, b), max(a, b)) for a in ends[0] for b in ends[1]]
        together = [p for p in pairs if self._sentence(passage.document, p[0])[1] >= p[1][1]]
        pairs = together or pairs
        if pairs:
            first, last = min(pairs, key=lambda pair: (pair[1][1] - pair[0][0], pair))
            near, far = (self._sentence(passage.document, end) for end in (first, last))
            return (near[0], far[1]) if far[1] - near[0] <= _LONGEST else near
        alone = ends[0] or ends[1]
        return self._sentence(passage.document, alone[0]) if alone else None

    def _sentence(self, document: str, span: Span) -> Span:
        """The sentence that ``span`` begins in, reaching at least to its end."""
        if document not in self._sentences:
            self._sentences[document] = sentence_spans(self._texts[document])
        sentences = self._sentences[document]
        place = bisect_right(sentences, (span[0], len(self._texts[document]))) - 1
        start, end = sentences[max(place, 0)]
        return min(start, span[0]), max(end, span[1])

    def _claims(self, names: Mapping[str, str]) -> pl.DataFrame:
        rows: list[dict[str, Any]] = []
        lost: list[str] = []
        for row in self._graph.covariates.iter_rows(named=True):
            place = self._place_of_claim(row)
            if place is None or row["subject"] not in names:
                lost.append(f"{row['subject']}: {(row['description'] or '')[:60]}")
                continue
            document, start, end = place
            status = (row["status"] or "").strip().upper()
            sentence = self._texts[document][start:end]
            rows.append(
                {
                    **self._at(document, start, end),
                    "subject": names[row["subject"]],
                    "object": names.get(row["object"]),
                    "type": _value(row["type"]) or CLAIM,
                    "description": (row["description"] or "").strip() or sentence,
                    "status": status if status in _STATUSES else "SUSPECTED",
                    "start_date": _date(row["start_date"]),
                    "end_date": _date(row["end_date"]),
                    "source_text": sentence,
                }
            )
        if lost:
            self._dropped["claims whose subject is not in their text unit"] = lost
        return pl.DataFrame(rows, schema=IMPORTED["claims"].schema)

    def _at(self, document: str, start: int, end: int) -> dict[str, Any]:
        return {"document": self._hashes[document], "char_start": start, "char_end": end}

    def _place_of_claim(self, row: Mapping[str, Any]) -> tuple[str, int, int] | None:
        """The words that the claim quotes where they stand in its text unit, else the sentence
        of its subject and object."""
        for passage in self._passages.get(row["text_unit_id"], ()):
            text = self._texts[passage.document][passage.start : passage.end]
            quoted = Searcher(text).find(row["source_text"] or "")
            if quoted is not None:
                return passage.document, quoted[0] + passage.start, quoted[1] + passage.start
            span = self._between(passage, row["subject"], row["object"] or "")
            if span is not None:
                return passage.document, *span
        return None


def _types_of(entities: pl.DataFrame) -> dict[str, str]:
    """The type of each title; of one that has several the first."""
    types: dict[str, str] = {}
    for title, kind in entities.select("title", "type").iter_rows():
        given = " ".join((kind or "").split()).strip("\"'").upper()
        types.setdefault(title, given or guess_type(title))
    return types


def _value(text: str | None) -> str | None:
    found = " ".join((text or "").split())
    return None if found.upper() in _NOTHING else found


def _date(text: str | None) -> str | None:
    found = _value(text)
    return iso_date(found) if found else None


def _unique(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame as table ``name``, of rows with one key the first in the order of all columns."""
    table = IMPORTED[name]
    plain = [c for c, dtype in table.schema.items() if not isinstance(dtype, pl.List)]
    rows = frame.select(list(table.schema)).sort(plain)
    return table.conform(rows.unique(list(table.key), keep="first", maintain_order=True))
