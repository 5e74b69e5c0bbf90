"""Is a question's answer the only one in the collection, and can the question stand alone."""

from __future__ import annotations

from graphkb.evaluate import facts_en, facts_zh
from graphkb.query.candidates import stems_of
from graphkb.query.extractive import share_held, wanted_stems
from graphkb.search.hybrid import fused_units
from graphkb.search.snapshot import Snapshot
from graphkb.text.names import fold
from graphkb.text.sentences import sentence_spans

# Text units that are looked at, and the share of the question's words from which a sentence says
# as much as the one that the question was made from.
_UNITS = 15
_SAYS_AS_MUCH = 0.85


def stands_alone(query: str, answer: str, language: str) -> bool:
    """Whether the question points to nothing outside itself and does not hold its answer.

    >>> stands_alone("Who leads Osprey?", "Ada Lin", "en"), stands_alone("他在哪里？", "杭州", "zh")
    (True, False)
    """
    pointing = facts_zh.POINTING if language == "zh" else facts_en.POINTING
    body = query if language == "zh" else query.split(" ", 1)[-1]
    return not pointing.search(body) and fold(answer) not in fold(query)


def is_unique(
    snapshot: Snapshot, query: str, answer: str, text_unit_id: str, *, rivals: bool = True
) -> bool:
    """Whether lexical search finds the text unit, and, with ``rivals``, no sentence that holds
    nearly all words of the question without its answer."""
    units = fused_units(snapshot, query, _UNITS, ["lexical"]).units[:_UNITS]
    ids = [unit.text_unit_id for unit in units]
    if text_unit_id not in ids:
        return False
    if not rivals:
        return True
    wanted = wanted_stems(snapshot, query)
    said = fold(answer)
    for row in snapshot.units(ids):
        above = stems_of(row["context"] or "", snapshot.dictionary)
        text = row["text"]
        if share_held(wanted, above | stems_of(text, snapshot.dictionary)) < _SAYS_AS_MUCH:
            continue
        for start, end in sentence_spans(text):
            sentence = text[start:end]
            if sentence.startswith("#"):
                continue
            held = share_held(wanted, above | stems_of(sentence, snapshot.dictionary))
            if held >= _SAYS_AS_MUCH and said not in fold(sentence):
                return False
    return True
