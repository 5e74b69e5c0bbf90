"""The passages that a reranker reads, cut to the part that fits the question."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphkb.search.snapshot import Snapshot
from graphkb.text.segment import query_tokens, search_tokens, stem
from graphkb.text.sentences import cover_spans
from graphkb.text.tokens import count_tokens, token_starts, truncate_tokens

# A window begins and ends at a sentence, or within one that is longer than so many tokens.
_LONGEST_PIECE = 16
# Share of the tokens that the title and headings of a passage may take.
_HEADINGS_SHARE = 4


@dataclass(frozen=True)
class Passages:
    """A question and its candidates in fused order.

    ``heads`` are title and headings, ``bodies`` the text below them. ``weights`` are the
    question's words, as stems, with what each counts.
    """

    question: str
    heads: tuple[str, ...]
    bodies: tuple[str, ...]
    weights: Mapping[str, float]
    dictionary: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.bodies)

    def text(self, place: int, limit: int) -> str:
        """Headings and text of the passage at ``place`` in at most ``limit`` tokens (or one or
        two more, where the parts join): of a longer text the part that fits the question best."""
        head = truncate_tokens(self.heads[place], limit // _HEADINGS_SHARE)
        room = limit - count_tokens(head)
        body = matching_part(self.bodies[place], self.weights, room, self.dictionary)
        return f"{head}\n{body}" if head else body


def passages_of(
    snapshot: Snapshot, question: str, unit_ids: Sequence[str]
) -> tuple[Passages, list[int]]:
    """The candidates, and the place of each among ``unit_ids``: a text unit without text in the
    store is none."""
    rows: dict[str, dict[str, Any]] = {row["id"]: row for row in snapshot.units(unit_ids)}
    places = [place for place, unit_id in enumerate(unit_ids) if unit_id in rows]
    found = [rows[unit_ids[place]] for place in places]
    idf = snapshot.vocabulary.idf(query_tokens(question, snapshot.dictionary))
    weights: dict[str, float] = {}
    for token, weight in idf.items():
        weights[stem(token)] = max(weight, weights.get(stem(token), 0.0))
    heads = tuple((row["context"] or row["title"] or "").strip() for row in found)
    bodies = tuple(row["text"] for row in found)
    return Passages(question, heads, bodies, weights, snapshot.dictionary), places


def matching_part(
    text: str, weights: Mapping[str, float], limit: int, dictionary: Sequence[str] = ()
) -> str:
    """At most ``limit`` tokens of ``text`` in one piece: the window that holds most of the
    words in ``weights`` (stems), by their weight, then by how often they stand there, then the
    first.

    >>> text = "Rain fell. " * 20 + "The valve of T-07 failed. " + "Wind blew. " * 20
    >>> matching_part(text, {"valv": 2.0, "t-07": 3.0}, 12)
    '. The valve of T-07 failed. Wind blew.'
    """
    if limit <= 0:
        return ""
    starts = token_starts(text)
    if len(starts) <= limit:
        return text
    pieces = _pieces(text, starts, min(_LONGEST_PIECE, limit))
    first, last = _best_window(text, starts, pieces, weights, limit, dictionary)
    begin = max(0, first - (limit - (last - first)) // 2)
    end = min(len(starts), begin + limit)
    begin = max(0, end - limit)
    return text[starts[begin] : _offset(text, starts, end)].strip()


def _offset(text: str, starts: Sequence[int], token: int) -> int:
    return starts[token] if token < len(starts) else len(text)


def _pieces(text: str, starts: Sequence[int], longest: int) -> list[tuple[int, int]]:
    """Sentences as token spans that cover the text; long ones in parts."""
    ends = [bisect_left(starts, end) for _, end in cover_spans(text)]
    pieces: list[tuple[int, int]] = []
    begin = 0
    for end in [*ends, len(starts)]:
        while begin < end:
            stop = min(end, begin + longest)
            pieces.append((begin, stop))
            begin = stop
    return pieces


def _best_window(
    text: str,
    starts: Sequence[int],
    pieces: Sequence[tuple[int, int]],
    weights: Mapping[str, float],
    limit: int,
    dictionary: Sequence[str],
) -> tuple[int, int]:
    """The token span of the best run of pieces that fits."""
    held: list[list[str]] = []
    for begin, end in pieces:
        words = search_tokens(text[starts[begin] : _offset(text, starts, end)], dictionary)
        held.append([form for word in words if (form := stem(word)) in weights])
    counts: dict[str, int] = {}
    best, best_value = (0, 0), (-1.0, -1)
    left = 0
    for right, (_, end) in enumerate(pieces):
        for word in held[right]:
            counts[word] = counts.get(word, 0) + 1
        while end - pieces[left][0] > limit:
            for word in held[left]:
                counts[word] -= 1
            left += 1
        value = sum(weights[word] for word, count in counts.items() if count)
        often = sum(counts.values())
        if (round(value, 9), often) > best_value:
            best, best_value = (left, right), (round(value, 9), often)
    first, last = best
    # The words stand in the middle of what is kept, so that it says more of what is about them.
    while first < last and not held[first]:
        first += 1
    return pieces[first][0], pieces[last][1]
