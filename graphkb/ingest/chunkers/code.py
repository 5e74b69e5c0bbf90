"""Source code cut by its syntax: one unit a function or class, methods where a class is large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from graphkb.code.languages import BY_MEDIA_TYPE, PLAIN_SUFFIXES
from graphkb.ingest.chunkers.long import cut_long
from graphkb.ingest.chunkers.piece import Budget, Chunker, Piece, trim
from graphkb.text.tokens import count_tokens

if TYPE_CHECKING:
    from graphkb.code.symbols import Definition

_TINY = 20
# A function of less than this share of a unit goes with its neighbours.
_SMALL_SHARE = 8


@dataclass(frozen=True)
class Atom:
    """A span that is not cut further, unless it is larger than a unit: then by lines. One that is
    ``between`` definitions is none itself."""

    start: int
    end: int
    n_tokens: int
    path: tuple[str, ...]
    header: str
    between: bool = False


@dataclass(frozen=True)
class _Part:
    """A definition with those inside it."""

    made: Definition
    inside: tuple[_Part, ...]


def cut_code(text: str, budget: Budget, language: str = "") -> list[Piece]:
    """Units of whole functions and classes; what stands between them is a unit of its own.

    Of a class that is larger than a unit the methods are cut out, each with the class's
    signature in its header; a function that is larger is cut between lines, its later parts with
    its own. Below an eighth of the size neighbours go together. Without a grammar, and where
    nothing is defined, only lines count. Units never overlap.
    """
    from graphkb.code.parse import parse_code

    parsed = parse_code(text, language) if language else None
    tree = _tree(parsed.definitions) if parsed else ()
    atoms = _atoms(text, 0, len(text), tree, (), "", budget)
    return [piece for atom in atoms for piece in _pieces(text, atom, budget)]


def _tree(definitions: Sequence[Definition]) -> tuple[_Part, ...]:
    """Definitions in one another by place; what overlaps one before it without lying inside, as
    broken code may, is left out."""
    from graphkb.code.symbols import MODULE

    inside: dict[int, list[int]] = {}
    for number, made in enumerate(definitions):
        inside.setdefault(made.parent, []).append(number)

    def parts(parent: int, start: int, end: int) -> tuple[_Part, ...]:
        found = []
        for number in sorted(inside.get(parent, ()), key=lambda n: definitions[n].start):
            made = definitions[number]
            if start <= made.start < made.end <= end:
                found.append(_Part(made, parts(number, made.start, made.end)))
                start = made.end
        return tuple(found)

    whole = max((made.end for made in definitions), default=0)
    return parts(MODULE, 0, whole)


def _atoms(
    text: str, start: int, end: int, parts: Sequence[_Part], path: tuple[str, ...], header: str,
    budget: Budget,
) -> list[Atom]:  # fmt: skip
    """A span at its parts; small neighbours together."""
    found: list[Atom] = []
    at = start
    for part in parts:
        made = part.made
        found += _atom(text, at, made.start, path, header if at > start else "", between=True)
        below = (*path, made.name)
        whole = _atom(text, made.start, made.end, below, header)
        if whole and whole[0].n_tokens > budget.size and part.inside:
            signature = f"{header}\n{made.signature}".strip()
            if made.kind == "function":
                signature = made.signature
            found += _atoms(text, made.start, made.end, part.inside, below, signature, budget)
        elif whole and whole[0].n_tokens > budget.size:
            found.append(replace(whole[0], header=made.signature))
        else:
            found += whole
        at = made.end
    found += _atom(text, at, end, path, header if at > start else "", between=True)
    return _merged(text, found, path, header, budget)


def _atom(
    text: str, start: int, end: int, path: tuple[str, ...], header: str, *, between: bool = False
) -> list[Atom]:
    """The span without white space around it, or nothing."""
    start, end = trim(text, start, end)
    if start == end:
        return []
    return [Atom(start, end, count_tokens(text[start:end]), path, header, between)]


def _merged(
    text: str, atoms: list[Atom], path: tuple[str, ...], header: str, budget: Budget
) -> list[Atom]:
    """Small neighbours together, and next to nothing between two with one of them."""
    merged: list[Atom] = []
    for atom in atoms:
        above = merged[-1] if merged else None
        if above is not None:
            room = budget.size // _SMALL_SHARE
            small = above.n_tokens < room and atom.n_tokens < room
            most = min(_TINY, room)
            tiny = any(one.between and one.n_tokens <= most for one in (above, atom))
            if small or tiny:
                both = Atom(
                    above.start, atom.end, count_tokens(text[above.start : atom.end]),
                    _path_of_both(above, atom, path, tiny=not small),
                    above.header if above.start == atoms[0].start else header,
                )  # fmt: skip
                if both.n_tokens <= budget.size:
                    merged[-1] = both
                    continue
        merged.append(atom)
    return merged


def _path_of_both(above: Atom, atom: Atom, path: tuple[str, ...], *, tiny: bool) -> tuple[str, ...]:
    """The path of the larger one where the other is next to nothing, else that of both."""
    if tiny:
        return above.path if above.n_tokens >= atom.n_tokens else atom.path
    return path


def _pieces(text: str, atom: Atom, budget: Budget) -> list[Piece]:
    if atom.n_tokens <= budget.size:
        return [Piece(atom.start, atom.end, atom.n_tokens, "code", atom.path, atom.header)]
    return cut_lines(text, atom, budget)


def cut_lines(text: str, atom: Atom, budget: Budget) -> list[Piece]:
    """Units of whole lines, ended where they may best: at blank lines, then at the least indent.

    Lines that are too long are cut by tokens. Later units have the atom's header.
    """
    spans: list[tuple[int, int]] = []
    lines = _lines(text, atom.start, atom.end)
    counts = [count_tokens(text[start:end]) for start, end in lines]
    first = 0
    while first < len(lines):
        if counts[first] > budget.size:
            cut = cut_long(text, *lines[first], "code", Budget(budget.size, 0))
            spans += [(piece.start, piece.end) for piece in cut]
            first += 1
            continue
        last = _fitting(text, lines, counts, first, budget.size)
        if last < len(lines):
            last = _best_end(text, lines, first, last)
        spans.append(trim(text, lines[first][0], lines[last - 1][1]))
        first = last
    return [
        Piece(start, end, count_tokens(text[start:end]), "code", atom.path,
              atom.header if start > atom.start else "")
        for start, end in spans
        if start < end
    ]  # fmt: skip


def _lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    lines = []
    while start < end:
        stop = text.find("\n", start, end) + 1 or end
        lines.append((start, stop))
        start = stop
    return lines


def _fitting(
    text: str, lines: list[tuple[int, int]], counts: list[int], first: int, size: int
) -> int:
    """The line after the last that fits into a unit from ``first`` on; at least one does."""
    total, last = counts[first], first + 1
    while last < len(lines) and total + counts[last] <= size:
        total += counts[last]
        last += 1
    while last > first + 1 and count_tokens(text[lines[first][0] : lines[last - 1][1]]) > size:
        last -= 1
    return last


def _best_end(text: str, lines: list[tuple[int, int]], first: int, last: int) -> int:
    """In the second half of what fits, the line to begin the next unit with."""
    ends = range(first + max((last - first) // 2, 1), last + 1)

    def worth(end: int) -> tuple[bool, int, int]:
        before, line = text[slice(*lines[end - 1])], text[slice(*lines[end])]
        indent = len(line) - len(line.lstrip()) if line.strip() else 1_000
        return not before.strip(), -indent, end

    return max(ends, key=worth)


CODE_CHUNKERS: dict[str, Chunker] = {
    **{kind: partial(cut_code, language=known.name) for kind, known in BY_MEDIA_TYPE.items()},
    **dict.fromkeys(PLAIN_SUFFIXES.values(), cut_code),
}
"""How each media type of source code is cut."""
