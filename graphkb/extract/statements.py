"""What several text units say of one thing: distinct statements, joined or chosen from."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from graphkb.extract.facts import facts_of, with_parts
from graphkb.text.language import HAN, has_han
from graphkb.text.names import fold
from graphkb.text.sentences import sentence_spans
from graphkb.text.tokens import are_within, count_tokens, truncate_tokens

_PIECE = re.compile(rf"[{HAN}]|[^\W_]+(?:[.,]\d+)*")
_EMPTY_WORDS = frozenset("a an the is was are were be been of 的 了 是 在 为 也 这 该".split())
# Up to this many, comparing each with each costs less than an index of their pieces.
_FEW = 40
_END = re.compile(r"[.!?。！？…；;][\"'”’」』）)]*\Z")


@dataclass(frozen=True)
class Statement:
    """A text and the names of other things in it."""

    text: str
    names: frozenset[str] = frozenset()

    @property
    def facts(self) -> frozenset[str]:
        """Dates, numbers and codes, and each name as ``name:…``."""
        return facts_of(self.text) | {f"name:{name}" for name in self.names}


def distinct_statements(statements: Sequence[Statement]) -> list[Statement]:
    """The statements in their order, without those that say nothing of their own: equal but for
    marks, case and small words to an earlier one, or part of another one.

    >>> said = ["Ada Lin leads Osprey.", "ada lin leads the Osprey", "Ada Lin leads Osprey now."]
    >>> [statement.text for statement in distinct_statements([Statement(text) for text in said])]
    ['Ada Lin leads Osprey now.']
    """
    if len(statements) < 2:
        return list(statements)
    by_gist: dict[str, Statement] = {}
    for statement in statements:
        gist = _gist(statement.text)
        if gist:
            by_gist.setdefault(gist, statement)
    if len(by_gist) < 2:
        return list(by_gist.values())
    contained = _contained(by_gist)
    return [statement for gist, statement in by_gist.items() if gist not in contained]


class Heard:
    """Statements as they come one by one, read ahead where one thing has several: so the work is
    done while others are awaited, and :func:`distinct_statements` and :func:`select_statements`
    find it done. A thing is long when its statements have more than ``long`` bytes."""

    def __init__(self, long: int) -> None:
        self._long = long
        self._new: dict[str, list[str]] = defaultdict(list)
        self._bytes: Counter[str] = Counter()

    def add(self, thing: str, text: str) -> None:
        """One more statement on a thing."""
        text = " ".join(text.split())
        self._new[thing].append(text)
        before = self._bytes[thing]
        self._bytes[thing] += len(text.encode("utf-8", "surrogatepass"))
        if before:
            for said in self._new[thing]:
                _gist(said)
        if self._bytes[thing] > self._long:
            for said in self._new.pop(thing):
                facts_of(said)
                count_tokens(said)


@lru_cache(maxsize=65_536)
def _gist(text: str) -> str:
    """Words and characters that carry the meaning, each between bars."""
    pieces = [piece for piece in _PIECE.findall(fold(text)) if piece not in _EMPTY_WORDS]
    return f"|{'|'.join(pieces)}|" if pieces else ""


def _contained(gists: Iterable[str]) -> set[str]:
    """Gists that stand inside another one. Of many, looked for only where their rarest piece
    stands."""
    order = sorted(gists, key=len, reverse=True)
    if len(order) <= _FEW:
        return {
            gist
            for place, gist in enumerate(order)
            if any(gist in longer for longer in order[:place])
        }
    pieces = {gist: set(gist.strip("|").split("|")) for gist in order}
    frequency = Counter(piece for found in pieces.values() for piece in found)
    where: dict[str, list[str]] = defaultdict(list)
    found = set()
    for gist in order:
        rarest = min(pieces[gist], key=lambda piece: (frequency[piece], piece))
        if any(gist in longer for longer in where[rarest]):
            found.add(gist)
            continue
        for piece in pieces[gist]:
            where[piece].append(gist)
    return found


def join_statements(texts: Sequence[str]) -> str:
    """One text of several, each ended, Chinese ones without a space between.

    >>> join_statements(["陈明是工程师", "他在杭州。"]), join_statements(["A b", "C d."])
    ('陈明是工程师。他在杭州。', 'A b. C d.')
    """
    if len(texts) < 2:
        return "".join(texts)
    joined = ""
    for text in texts:
        han = has_han(text[-1:]) or has_han(text[:1])
        ended = text if _END.search(text) else text + ("。" if han else ".")
        joined += ended if not joined or joined.endswith(("。", "！", "？", "；")) else f" {ended}"
    return joined


def within(text: str, limit: int) -> bool:
    """Whether a text has at most ``limit`` tokens."""
    return are_within([text], limit)[0]


def sentences_of(statements: Iterable[Statement]) -> list[Statement]:
    """Every sentence as a statement of its own."""
    return [
        Statement(sentence, frozenset(name for name in statement.names if name in sentence))
        for statement in statements
        for start, end in sentence_spans(statement.text)
        if (sentence := statement.text[start:end])
    ]


def select_statements(statements: Sequence[Statement], limit: int) -> list[Statement]:
    """Statements, in their order, that cover the most facts in ``limit`` tokens.

    Greedy: most facts not yet covered a token first (the budgeted maximum coverage heuristic of
    Khuller, Moss and Naor 1999), then statements in order while there is room. Where not one
    fits, the first is cut.
    """
    facts = [statement.facts for statement in statements]
    costs = [max(count_tokens(statement.text), 1) for statement in statements]
    covered: set[str] = set()
    chosen: list[int] = []
    # What a statement adds never grows, so only the first of the heap is looked at again.
    heap = [(-len(facts[place]) / costs[place], place) for place in range(len(statements))]
    heapq.heapify(heap)
    while heap:
        promised, place = heapq.heappop(heap)
        gain = -len(facts[place] - covered) / costs[place]
        if gain != promised:
            heapq.heappush(heap, (gain, place))
        elif costs[place] <= limit:
            chosen.append(place)
            covered |= with_parts(facts[place])
            limit -= costs[place]
    if not chosen and statements:
        return [Statement(truncate_tokens(statements[0].text, limit))]
    return [statements[place] for place in sorted(chosen)]
