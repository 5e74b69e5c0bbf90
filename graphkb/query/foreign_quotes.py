"""Quotes for a question in another language than the passages: by nearness in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphkb.errors import EmbeddingError
from graphkb.query.candidates import Quote, candidates_of
from graphkb.query.extractive import wanted_stems
from graphkb.query.phrases import WORD
from graphkb.search.snapshot import Snapshot
from graphkb.types import Passage

# Across languages: what shared codes and names add to a cosine, which differs by hundredths.
_NAMED_SHARE = 0.2
_FOREIGN_PASSAGES, _FOREIGN_SENTENCES, _FOREIGN_QUOTES = 3, 24, 3
# Words and Chinese characters, and how many of them say something: a word or two are near to
# anything.
_LEAST_SAID = 6


def choose_foreign_quotes(
    snapshot: Snapshot, question: str, passages: Sequence[Passage]
) -> list[Quote]:
    """The sentences closest to the question by embedding, for passages in another language."""
    embedder = snapshot.embedder
    idf = wanted_stems(snapshot, question)
    found, _ = candidates_of(snapshot, question, passages[:_FOREIGN_PASSAGES])
    # A name in the letters of the documents tells whose sentences they are.
    found = [one for one in found if one.about]
    candidates = [one for one in found if len(WORD.findall(one.quote.text)) >= _LEAST_SAID]
    # Codes and names are the same in every language: sentences under them come first.
    shared = [
        _NAMED_SHARE * sum(idf[t] for t in idf if t in c.own or t in c.context) / sum(idf.values())
        for c in candidates
    ]
    order = sorted(range(len(candidates)), key=lambda i: (-shared[i], i))[:_FOREIGN_SENTENCES]
    quotes = [candidates[i].quote for i in order]
    if embedder is None or not quotes:
        return quotes[:1]
    # Titles make sentences of one document alike, and the shortest of them closest.
    texts = [" ".join((*quote.header, quote.text)) for quote in quotes]
    try:
        close = embedder.embed_passages(texts) @ embedder.embed_query(question)
    except EmbeddingError:
        return quotes[:1]
    scores = close + np.array([shared[i] for i in order])
    order = sorted(range(len(quotes)), key=lambda i: (-float(scores[i]), i))
    return [replace(quotes[i], score=float(scores[i])) for i in order[:_FOREIGN_QUOTES]]
