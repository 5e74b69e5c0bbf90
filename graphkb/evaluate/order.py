"""Which candidates become questions: documents and kinds evenly, whatever the number wanted."""

from __future__ import annotations

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator

from graphkb.evaluate.candidates import TABLE, Candidate

# Kinds that are put together or come in great numbers wait until the others had so many turns.
_WAITS = {TABLE: 1.5, "definition": 1.5, "two facts": 2.0}
_CHAINED, _CHAIN_WAITS = ", chained", 3.0
# Candidates of one document that are looked at for one question.
_TRIES = 12
# A kind that has more than this share of the questions waits until every document that has others
# had its turn.
_MOST_OF_A_KIND, _LEAST_OF_A_KIND = 0.25, 3

Kind = tuple[str, str]
"""Type and language of a question."""


def chosen_evenly(
    candidates: Iterable[Candidate],
    home: Callable[[Candidate], str],
    plain: Callable[[Candidate], bool],
    accept: Callable[[Candidate], bool],
    n: int,
    seed: int,
) -> Iterator[Candidate]:
    """Up to ``n`` candidates that ``accept`` takes: one of each document (its ``home``) before a
    second of any, each time of the kind that has had the fewest so far; ``plain`` ones first."""
    generator = random.Random(seed)
    queues: dict[str, dict[Kind, deque[Candidate]]] = defaultdict(dict)
    shuffled = sorted(candidates, key=lambda candidate: candidate.query)
    generator.shuffle(shuffled)
    for candidate in sorted(shuffled, key=plain, reverse=True):
        kind = candidate.type, candidate.language
        queues[home(candidate)].setdefault(kind, deque()).append(candidate)
    documents = sorted(queues)
    generator.shuffle(documents)
    taken: Counter[Kind] = Counter()
    while documents and taken.total() < n:
        for document in _in_turn(documents, queues, taken):
            found = _next(queues[document], taken, accept)
            if found is not None:
                taken[found.type, found.language] += 1
                yield found
                if taken.total() == n:
                    return
        # Only what was looked at is gone: others of a document have their turn later.
        documents = [document for document in documents if queues[document]]


def _in_turn(
    documents: list[str], queues: dict[str, dict[Kind, deque[Candidate]]], taken: Counter[Kind]
) -> Iterator[str]:
    """Each document once; last those whose next question would be one more of a kind that there
    are many of."""
    late = []
    for document in documents:
        most = max(_LEAST_OF_A_KIND, _MOST_OF_A_KIND * taken.total())
        if queues[document] and taken[_kind(queues[document], taken)] >= most:
            late.append(document)
        else:
            yield document
    yield from late


def _kind(queue: dict[Kind, deque[Candidate]], taken: Counter[Kind]) -> Kind:
    """The kind that a document is asked next: the one that had the fewest questions so far."""
    return min(queue, key=lambda kind: ((taken[kind] + 1) * _weight(kind), kind))


def _next(
    queue: dict[Kind, deque[Candidate]],
    taken: Counter[Kind],
    accept: Callable[[Candidate], bool],
) -> Candidate | None:
    for _ in range(_TRIES):
        if not queue:
            return None
        kind = _kind(queue, taken)
        candidate = queue[kind].popleft()
        if not queue[kind]:
            del queue[kind]
        if accept(candidate):
            return candidate
    return None


def _weight(kind: Kind) -> float:
    if kind[0].endswith(_CHAINED):
        return _CHAIN_WAITS
    return _WAITS.get(kind[0], 1.0)
