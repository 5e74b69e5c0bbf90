"""Parsed code to evidence: what defines, contains, imports, inherits and calls what, and where."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from graphkb.code.edges import (
    CALLS,
    CONTAINS,
    IMPORTS,
    INHERITS,
    METHOD_TYPE,
    MODULE_TYPE,
    CodeEdge,
    CodeEntity,
    CodeGraph,
    link_code,
)
from graphkb.code.symbols import CodeFile
from graphkb.tables import TABLES
from graphkb.text.language import has_han
from graphkb.text.names import name_key

_WEIGHTS = {CALLS: 1.0, IMPORTS: 0.5, INHERITS: 2.0, CONTAINS: 0.5}
_LONGEST = 200
# A name that no prose has by chance: two words in one, or digits.
_TELLING = re.compile(r"[^\W_]_[^\W_]|[a-z0-9][A-Z]|\w\.\w")
_SHORTEST_HAN = 4

Rows = dict[str, list[tuple[object, ...]]]


@dataclass(frozen=True)
class Source:
    """A code file as a document; ``copies`` are paths of files of the same content."""

    document_id: str
    path: str
    text: str
    code: CodeFile
    copies: tuple[str, ...] = ()


def evidence_of_code(
    sources: Sequence[Source], text_units: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """Rows of the evidence tables and of ``extractions`` for every text unit of the sources.

    Depends on all sources together: a name in one file may be defined in another. Qualified
    names are the names of entities; a short one is a second name where it means one thing only.
    """
    files = {path: source.code for source in sources for path in (source.path, *source.copies)}
    graph = link_code(files)
    writer = _Writer(sources, text_units)
    shown = {source.path for source in sources}
    second = _second_names(graph)
    for entity in graph.entities:
        if entity.file in shown:
            writer.define(entity, second.get(entity.name, ()))
    for edge in graph.edges:
        if edge.file in shown:
            writer.relate(edge)
    return writer.frames()


def _second_names(graph: CodeGraph) -> dict[str, tuple[str, ...]]:
    """Short names of entities, by qualified name, that could mean nothing else."""
    wanted: dict[str, set[str]] = {}
    for entity in graph.entities:
        for short in _short_names(entity):
            wanted.setdefault(name_key(short), set()).add(entity.name)
    full = Counter(name_key(name) for name in {entity.name for entity in graph.entities})
    found: dict[str, list[str]] = {}
    for entity in graph.entities:
        for short in _short_names(entity):
            key = name_key(short)
            if wanted[key] == {entity.name} and not full[key]:
                found.setdefault(entity.name, []).append(short)
    return {name: tuple(dict.fromkeys(shorts)) for name, shorts in found.items()}


def _short_names(entity: CodeEntity) -> Iterator[str]:
    if entity.type == MODULE_TYPE:
        if entity.file != entity.name:
            yield entity.file
        return
    last = re.split(r"[.:]", entity.name)[-2:]
    if _is_telling(last[-1]):
        yield last[-1]
    if entity.type == METHOD_TYPE and len(last) == 2:
        yield ".".join(last)


def _is_telling(name: str) -> bool:
    if name.startswith("__"):
        return False
    return len(name) >= _SHORTEST_HAN if has_han(name) else bool(_TELLING.search(name))


class _Writer:
    """Puts what the graph says into the rows of the text units in which it stands."""

    def __init__(self, sources: Sequence[Source], text_units: pl.DataFrame) -> None:
        self.sources = {source.path: source for source in sources}
        self.units: dict[str, list[tuple[int, int, str, list[str]]]] = {}
        ids = [source.document_id for source in sources]
        columns = ("document_id", "char_start", "char_end", "id", "heading_path")
        chosen = text_units.filter(pl.col("document_id").is_in(ids)).select(columns)
        for document, start, end, unit, above in chosen.sort(columns[:4]).iter_rows():
            self.units.setdefault(document, []).append((start, end, unit, above or []))
        self.rows: Rows = {
            "mention_evidence": [], "relationship_evidence": [], "entity_evidence": []
        }  # fmt: skip

    def define(self, entity: CodeEntity, second: Iterable[str]) -> None:
        """The mentions and the description of something defined."""
        if entity.definition is None:
            self._define_file(entity, second)
            return
        made = entity.definition
        source = self.sources[entity.file]
        place = self._place(source, made.name_start, made.name_end)
        if place is None:
            return
        unit, start, end, above = place
        surface = source.text[made.name_start : made.name_end]
        self._mention(unit, start, end, surface, entity.name, entity.type)
        if above and above[-1] == made.name:
            self._mention(unit, -1, -1, made.name, entity.name, entity.type)
        for name in second:
            self._mention(unit, start, end, surface, name, entity.type, entity.name)
        said = f"{made.signature}: {made.doc}" if made.doc else made.signature
        self.rows["entity_evidence"].append((unit, entity.name, entity.type, said))

    def _define_file(self, entity: CodeEntity, second: Iterable[str]) -> None:
        """A file stands above all of its units, as the title of a document does."""
        source = self.sources[entity.file]
        units = self.units.get(source.document_id, [])
        for _, _, unit, _ in units:
            self._mention(unit, -1, -1, entity.file, entity.name, entity.type)
        if not units:
            return
        for name in second:
            self._mention(units[0][2], -1, -1, name, name, entity.type, entity.name)
        said = f"{entity.file}: {source.code.doc}" if source.code.doc else entity.file
        self.rows["entity_evidence"].append((units[0][2], entity.name, entity.type, said))

    def relate(self, edge: CodeEdge) -> None:
        """The relationship that an edge is, and the mention of its target."""
        source = self.sources[edge.file]
        place = self._place(source, edge.start, edge.end)
        if place is None:
            return
        unit, start, end, _ = place
        if edge.type != CONTAINS:
            surface = source.text[edge.start : edge.start + end - start]
            self._mention(unit, start, end, surface, edge.target, edge.target_type)
        line_start, line_end = _line(source.text, edge.start, edge.start + end - start)
        line = source.text[line_start:line_end].strip()[:_LONGEST]
        offset = edge.start - start
        first = max(line_start, offset)
        self.rows["relationship_evidence"].append(
            (unit, edge.source, edge.target, line, edge.type, _WEIGHTS[edge.type], True,
             first - offset, max(line_end - offset, first - offset + 1))
        )  # fmt: skip

    def _mention(
        self, unit: str, start: int, end: int, surface: str, name: str, type: str,
        alias_of: str | None = None,
    ) -> None:  # fmt: skip
        row = (unit, start, end, surface[:_LONGEST], name, type, alias_of)
        self.rows["mention_evidence"].append(row)

    def _place(
        self, source: Source, start: int, end: int
    ) -> tuple[str, int, int, list[str]] | None:
        """The unit that holds a span of the file, and the span in it, on one line."""
        units = self.units.get(source.document_id, [])
        number = bisect_right(units, start, key=lambda row: row[0]) - 1
        if number < 0 or start >= units[number][1]:
            return None
        first, last, unit, above = units[number]
        line_end = source.text.find("\n", start, end)
        end = min(end if line_end < 0 else line_end, last)
        return unit, start - first, max(end, start + 1) - first, above

    def frames(self) -> dict[str, pl.DataFrame]:
        """The rows as tables, sorted, each key once."""
        frames = {}
        for name, rows in self.rows.items():
            table = TABLES[name]
            frame = pl.DataFrame(rows, schema=table.schema, orient="row")
            frames[name] = frame.sort(list(table.schema)).unique(
                list(table.key), keep="first", maintain_order=True
            )
        return frames


def _line(text: str, start: int, end: int) -> tuple[int, int]:
    """The line that holds a span."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return first, len(text) if last < 0 else last
