"""Names of a question of which a filter leaves nothing: then nothing found is about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphkb.graph.lookup import token_range
from graphkb.query.about import AboutName, names_asked_about
from graphkb.query.asked_names import asked_names
from graphkb.query.candidates import stems_of
from graphkb.query.presence import Presence
from graphkb.search.link import forms
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import has_han
from graphkb.text.segment import query_tokens, stem
from graphkb.types import Context

_SAID = {
    "en": "The filter {filter} leaves nothing about {names}.",
    "zh": "按筛选条件 {filter}，没有关于{names}的内容。",
}
_MOST_WORDS = 60
_JOINED = {"en": " or ", "zh": "、"}


def left_out(
    snapshot: Snapshot, question: str, context: Context, language: str
) -> tuple[str, bool]:
    """A sentence that says of which names of the question no text unit speaks that the filter lets
    through, and whether these are all that it names; empty where there are none."""
    selection = snapshot.selection
    if selection is None or not selection.unit_ids or context.foreign:
        return "", False
    sure = [name.text for name in asked_names(question) if name.sure]
    names = [name for name in names_asked_about(snapshot, question) if _tells(snapshot, name, sure)]
    missing = [name for name in names if not _is_left(snapshot, question, name, context)]
    if not missing:
        return "", False
    told = _JOINED[language].join(dict.fromkeys(name.text for name in missing))
    text = _SAID[language].format(filter=selection.expression, names=told)
    return text, len(missing) == len(names)


def _tells(snapshot: Snapshot, name: AboutName, sure: Sequence[str]) -> bool:
    """Whether it is a name for sure: 公司 in 公司的总部 is none, and everyday words with capitals
    (Annual Report) may be none."""
    if has_han(name.text):
        return any(one in name.text for one in sure)
    presence = Presence(snapshot)
    return not all(map(presence.is_everyday, name.text.split()))


def _is_left(snapshot: Snapshot, question: str, name: AboutName, context: Context) -> bool:
    """Whether a text unit that the filter lets through has the name, or an entity of that name
    under another one; or the file or headings of what was found."""
    selection = snapshot.selection
    assert selection is not None
    arrays = snapshot.graph.arrays
    # Which of the name's words a text unit has, a bit each: few sets of them differ.
    words = [w for w in query_tokens(name.text, snapshot.dictionary) if stem(w) in name.weights]
    words += [name.short] * bool(name.short)
    bits = np.zeros(len(arrays["unit_ids"]), np.int64)
    for place, word in enumerate(words[:_MOST_WORDS]):
        for form in [word] if has_han(word) else [form for form, _ in forms(word)]:
            bits[arrays["token_units"][token_range(arrays, form)]] |= 1 << place
    for code in np.unique(bits[selection.mask(arrays["unit_ids"])]).tolist():
        if name.stands_in({stem(word) for place, word in enumerate(words) if code >> place & 1}):
            return True
    seeds = [
        seed.entity_id
        for seed in snapshot.graph.link(question)
        if seed.how != "fuzzy" and (seed.surface in name.text or name.text in seed.surface)
    ]
    mentions = snapshot.store.where("mentions", "entity_id", seeds, ("text_unit_id",))
    if not selection.unit_ids.isdisjoint(mentions["text_unit_id"]):
        return True
    ids = [passage.text_unit_id for passage in context.passages]
    places = snapshot.places(ids).values()
    return any(name.stands_in(stems_of(place, snapshot.dictionary)) for place in places)
