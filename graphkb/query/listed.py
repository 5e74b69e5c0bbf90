"""Quotes with the items of the list that they open."""

from __future__ import annotations

from dataclasses import replace

from graphkb.query.candidates import Quote
from graphkb.search.snapshot import Snapshot
from graphkb.text.lists import items_end, opens_list

# Characters of the mark of an item: （十二）
_LONGEST_MARK = 4


def with_items(snapshot: Snapshot, quote: Quote) -> Quote:
    """The quote with the list that it opens; where that goes on behind its passage, by the text
    of the document, unless a filter says what of that may be told."""
    passage = quote.passage
    if quote.header:
        return quote
    start, last = quote.start - passage.char_start, quote.end - passage.char_start
    opens = opens_list(quote.text)
    end = items_end(passage.text, start, last) if opens else last
    # A text unit may end behind the number of an item.
    at_end = len(passage.text[end:].strip()) <= _LONGEST_MARK
    if opens and at_end and snapshot.selection is None:
        return _beyond_passage(snapshot, quote)
    return replace(quote, end=passage.char_start + end, text=passage.text[start:end])


def _beyond_passage(snapshot: Snapshot, quote: Quote) -> Quote:
    passage = quote.passage
    texts = snapshot.store.where("documents", "id", [passage.document_id], ("text",))["text"]
    if texts.is_empty():
        return quote
    end = items_end(texts[0], quote.start, quote.end)
    starts = snapshot.page_starts([passage.document_id]).get(passage.document_id, [])
    breaks = tuple(start for start in starts if passage.char_start < start < end)
    wider = replace(passage, page_breaks=breaks) if passage.page is not None else passage
    return replace(quote, passage=wider, end=end, text=texts[0][quote.start : end])


def is_within(quote: Quote, other: Quote) -> bool:
    """Whether a quote stands within another one, such as an item within its list."""
    same = quote.passage.document_id == other.passage.document_id
    return same and other.start <= quote.start and quote.end <= other.end
