"""Quotes for a question that asks for all of a file: what is it about, summarise it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest

from graphkb.query.candidates import Quote, is_title
from graphkb.query.sentences import sentences_of
from graphkb.search.files import asks_for_all, named_files
from graphkb.search.snapshot import Snapshot
from graphkb.types import Passage


def is_about_a_file(snapshot: Snapshot, question: str) -> bool:
    """Whether the question asks for all of files that it names."""
    named = named_files(snapshot, question)
    return named is not None and asks_for_all(named.rest)


def of_named_files(snapshot: Snapshot, question: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages of the files that the question names."""
    named = named_files(snapshot, question)
    ids = named.document_ids if named else frozenset()
    return [passage for passage in passages if passage.document_id in ids]


def opening_quotes(
    snapshot: Snapshot, question: str, passages: Sequence[Passage], limit: int
) -> list[Quote]:
    """The first sentences of the passages of the files that the question names, as many of each
    as there is room for, in the order of the text."""
    own = of_named_files(snapshot, question, passages)
    rounds = zip_longest(*map(_quotes, own))
    quotes = islice((quote for quote in chain.from_iterable(rounds) if quote), limit)
    places = {passage.document_id: place for place, passage in reversed([*enumerate(own)])}
    return sorted(quotes, key=lambda quote: (places[quote.passage.document_id], quote.start))


def _quotes(passage: Passage) -> Iterator[Quote]:
    for sentence in sentences_of(passage.text, passage.columns):
        if not is_title(sentence, passage):
            start, end = passage.char_start + sentence.start, passage.char_start + sentence.end
            yield Quote(passage, start, end, sentence.text, passage.score, sentence.header)
