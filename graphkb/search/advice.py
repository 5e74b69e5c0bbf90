"""What to do about a document that was not returned, in one line."""

from __future__ import annotations

from graphkb.explanation import Explanation

_SIMPLE = {
    "": "nothing to do: it is among the hits",
    "filter": "loosen the filter, or correct the document's metadata",
    "rerank": "lower rerank.threshold, or look at what the reranker is shown",
    "max_per_doc": "raise search.max_per_doc",
    "diversity": "lower search.diversity",
}
# Hits that may be asked for in the place of those that were, as a multiple.
_NEAR = 3


def advice_for(found: Explanation, cut: str) -> str:
    """One line, by where the text unit was ``cut`` (:class:`~graphkb.explanation.Explanation`)."""
    if cut in _SIMPLE:
        return _SIMPLE[cut]
    if cut == "candidates":
        most = max((leg.candidates for leg in found.legs if leg.score is not None), default=0)
        if most:
            return f"raise search.candidates above {most}, or name what the document is about"
        return "the question shares no words and no entity with it: ask in its words"
    place = found.rerank_rank or found.fused_rank or 0
    if place and place <= _NEAR * found.top_k:
        return f"ask for more hits: -k {place}"
    missing = [word for word in found.words if not word.in_document]
    if 2 * sum(word.idf for word in missing) > sum(word.idf for word in found.words):
        named = ", ".join(word.token for word in missing[:4])
        return f"the document lacks {named}: ask in its words"
    if found.named and not any(one.in_document for one in found.named):
        names = ", ".join(one.entity for one in found.named[:3])
        return f"the question names {names}, and the document does not"
    return "other documents fit better: name what sets this one apart"
