"""The map of a repository: its most important definitions within a budget of tokens.

After the repository map of Aider (Gauthier, 2023): definitions are ranked by PageRank over what
refers to them, the best ones are shown by file as signatures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from graphkb.code.edges import CALLS, CONTAINS, IMPORTS, INHERITS, CodeEntity, link_code
from graphkb.code.symbols import MODULE, CodeFile, Definition
from graphkb.errors import UsageError
from graphkb.graph.pagerank import pagerank
from graphkb.search.snapshot import Snapshot
from graphkb.text.tokens import count_tokens

_WEIGHTS = {CALLS: 1.0, INHERITS: 2.0, IMPORTS: 0.5}
_PRIVATE = 0.2
_GIVE_UP_AFTER = 60


@dataclass(frozen=True)
class MapEntry:
    """A definition on the map; ``line`` is 1-based, ``level`` its depth in the file."""

    name: str
    signature: str
    line: int
    rank: float
    level: int


@dataclass(frozen=True)
class MapFile:
    """A file on the map, with its shown definitions in their order; ``rank`` is their sum."""

    path: str
    rank: float
    entries: tuple[MapEntry, ...]


@dataclass(frozen=True)
class RepositoryMap:
    """The map, most important file first. ``n_definitions`` and ``n_files`` count all there are
    below the paths."""

    files: tuple[MapFile, ...]
    n_tokens: int
    n_definitions: int
    n_files: int

    def __str__(self) -> str:
        return "\n".join(line for file in self.files for line in _lines(file))

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self)


def _lines(file: MapFile) -> list[str]:
    return [f"{file.path}:", *(f"{'  ' * (one.level + 1)}{one.signature}" for one in file.entries)]


def map_repository(
    snapshot: Snapshot, paths: Sequence[str] = (), tokens: int = 1000
) -> RepositoryMap:
    """The map of the indexed code within ``tokens``, of all files or of those below ``paths``
    (files, folders or patterns). Ranks are over all files.

    Raises UsageError where no code is indexed or nothing fits the paths.
    """
    files = _files(snapshot)
    if not files:
        raise UsageError(
            "no source code is indexed; put code into the input folder, install "
            'pip install "graphkb[code]", and run graphkb index'
        )
    chosen = {path for path in files if not paths or any(_fits(path, one) for one in paths)}
    if not chosen:
        raise UsageError(
            f"no indexed code file fits {', '.join(map(repr, paths))}; "
            f"there are {len(files)}, such as {sorted(files)[0]!r}"
        )
    graph = link_code({path: code for path, (code, _) in files.items()})
    ranks = _ranks(graph.entities, [(e.source, e.target, e.type) for e in graph.edges])
    wanted = [e for e in graph.entities if e.definition is not None and e.file in chosen]
    return _fitted(files, wanted, ranks, tokens, len(chosen))


def _files(snapshot: Snapshot) -> dict[str, tuple[CodeFile, str]]:
    """Parsed code and its text by path, of the documents that a filter lets through."""
    rows = snapshot.store.read("code_files", ("document_id", "paths", "symbols"))
    if snapshot.selection is not None:
        units = snapshot.store.where(
            "text_units", "id", sorted(snapshot.selection.unit_ids), ("document_id",)
        )
        rows = rows.filter(rows["document_id"].is_in(units["document_id"].implode()))
    texts = snapshot.store.where("documents", "id", rows["document_id"].to_list(), ("id", "text"))
    text_of = dict(zip(texts["id"], texts["text"], strict=True))
    return {
        path: (CodeFile.from_json(symbols), text_of[document])
        for document, paths, symbols in rows.iter_rows()
        for path in paths
    }


def _fits(path: str, wanted: str) -> bool:
    wanted = wanted.replace("\\", "/").removeprefix("./").rstrip("/")
    return path == wanted or path.startswith(wanted + "/") or fnmatchcase(path, wanted)


def _ranks(
    entities: Sequence[CodeEntity], edges: Sequence[tuple[str, str, str]]
) -> dict[str, float]:
    """PageRank by qualified name; what is private by its name counts less."""
    names = sorted({entity.name for entity in entities})
    number = {name: place for place, name in enumerate(names)}
    weights: dict[tuple[int, int], float] = {}
    for source, target, kind in edges:
        if kind != CONTAINS and target in number:
            pair = number[source], number[target]
            weights[pair] = weights.get(pair, 0.0) + _WEIGHTS[kind]
    pairs = sorted(weights)
    counts = np.bincount([source for source, _ in pairs], minlength=len(names))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.array([target for _, target in pairs], dtype=np.int64)
    found = pagerank(indptr, indices, np.array([weights[pair] for pair in pairs]))
    return {
        name: float(found[place]) * (_PRIVATE if _is_private(name) else 1.0)
        for name, place in number.items()
    }


def _is_private(name: str) -> bool:
    last = name.replace(":", ".").rpartition(".")[2]
    return last.startswith("_")


def _fitted(
    files: Mapping[str, tuple[CodeFile, str]], entities: Sequence[CodeEntity],
    ranks: Mapping[str, float], tokens: int, n_files: int,
) -> RepositoryMap:  # fmt: skip
    """The best definitions that fit, each below those it stands in."""
    shown: dict[str, set[int]] = {}
    left, failed = tokens, 0
    place = {(e.file, e.symbol.number): e for e in entities if e.symbol is not None}
    for entity in sorted(entities, key=lambda e: (-ranks[e.name], e.file, e.name)):
        assert entity.symbol is not None
        code = files[entity.file][0]
        wanted = _with_parents(code.definitions, entity.symbol.number)
        wanted = [n for n in wanted if n not in shown.get(entity.file, ())]
        cost = sum(_cost(code.definitions, n) for n in wanted)
        if entity.file not in shown:
            cost += count_tokens(f"{entity.file}:\n")
        if cost > left:
            failed += 1
            if failed > _GIVE_UP_AFTER:
                break
            continue
        failed = 0
        left -= cost
        shown.setdefault(entity.file, set()).update(wanted)
    made = [_map_file(path, files[path], shown[path], place, ranks) for path in shown]
    made.sort(key=lambda file: (-file.rank, file.path))
    drawn = RepositoryMap(tuple(made), 0, len(entities), n_files)
    return RepositoryMap(tuple(made), count_tokens(str(drawn)), len(entities), n_files)


def _with_parents(definitions: Sequence[Definition], number: int) -> list[int]:
    found = []
    while number != MODULE:
        found.append(number)
        number = definitions[number].parent
    return found


def _cost(definitions: Sequence[Definition], number: int) -> int:
    level = len(_with_parents(definitions, number))
    return count_tokens(f"{'  ' * level}{definitions[number].signature}\n")


def _map_file(
    path: str, file: tuple[CodeFile, str], numbers: set[int],
    place: Mapping[tuple[str, int], CodeEntity], ranks: Mapping[str, float],
) -> MapFile:  # fmt: skip
    code, text = file
    entries = []
    for number in sorted(numbers, key=lambda n: code.definitions[n].start):
        made = code.definitions[number]
        name = place[path, number].name
        line = text.count("\n", 0, made.name_start) + 1
        level = len(_with_parents(code.definitions, number)) - 1
        entries.append(MapEntry(name, made.signature, line, ranks[name], level))
    return MapFile(path, sum(entry.rank for entry in entries), tuple(entries))
