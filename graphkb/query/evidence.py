"""How well the documents cover a question: what a refusal is decided by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphkb.search.hybrid import Retrieval
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import detect_language
from graphkb.text.segment import query_tokens, search_tokens, stem
from graphkb.types import Passage

# Passages whose words count as found; evidence for one question is rarely spread wider.
_PASSAGES = 5

# For a question in another language than its best passage words say nothing, so the cosine of
# multilingual-e5 decides. Measured over the sample project and the benchmark sets: unrelated
# pairs reach 0.80, related ones start at 0.81.
_UNRELATED, _CERTAIN = 0.79, 0.85

# Words and the lead of multilingual-e5's best passage over its background, weighed so that
# answerable questions part best from those of other collections (area under the curve 0.987
# over three collections, 0.976 by words alone).
_LEAD_WEIGHT, _FULL = 4.0, 1.5

# A code or identifier that stands in no document cannot be answered about.
_CODE = re.compile(r"(?=.*\d)(?=.*[a-z])[a-z0-9._\-]{3,}|[a-z0-9]+_[a-z0-9_]+")
_UNKNOWN_CODE = 0.1
# One that does stand there outweighs how the question is worded (“怎么处理”, “what to do”).
_KNOWN_CODE = 0.6


@dataclass(frozen=True)
class Evidence:
    """``value`` in [0, 1]; ``reason`` in words for the trace; ``foreign`` when the best passage
    is in another language than the question."""

    value: float
    reason: str
    foreign: bool = False


def measure_evidence(
    snapshot: Snapshot, question: str, passages: Sequence[Passage], found: Retrieval
) -> Evidence:
    """The idf-weighted share of the question's words that stand in the best passages, together
    with how far the best passage leads by embedding; across languages, how close it is by
    embedding alone. 0 when there are no passages."""
    if not passages:
        return Evidence(0.0, "nothing was found")
    tokens = query_tokens(question, snapshot.dictionary)
    codes = [token for token in tokens if _CODE.fullmatch(token)]
    for token in codes:
        if not snapshot.vocabulary.document_frequency(token):
            return Evidence(_UNKNOWN_CODE, f"{token} stands in no document")
    covered = word_coverage(snapshot, tokens, passages[:_PASSAGES])
    if codes and word_coverage(snapshot, codes, passages[:_PASSAGES]) == 1:
        covered = max(covered, _KNOWN_CODE)
    asked, told = detect_language(question), detect_language(passages[0].text)
    if found.nearest is not None and {asked, told} == {"en", "zh"}:
        similarity = found.nearest.similarity
        near = min(max((similarity - _UNRELATED) / (_CERTAIN - _UNRELATED), 0.0), 1.0)
        reason = f"closeness across languages {similarity:.2f}"
        return Evidence(max(near, covered), reason, foreign=True)
    reason = f"{covered:.0%} of the question's words are covered"
    builtin = snapshot.manifest.embedding.get("provider") == "builtin"
    if found.nearest is None or found.nearest.lead is None or not builtin:
        return Evidence(covered, reason)
    value = min((covered + _LEAD_WEIGHT * found.nearest.lead) / _FULL, 1.0)
    return Evidence(value, f"{reason}; the best passage leads by {found.nearest.lead:.3f}")


def widest_evidence(
    snapshot: Snapshot, passages: Sequence[Passage], each: Sequence[tuple[str, Retrieval]]
) -> Evidence:
    """The evidence for the question, the first of ``each``; or for a wording of it in another
    language where that is better covered. Other wordings say less about what was asked."""
    (question, found), *others = each
    evidence = measure_evidence(snapshot, question, passages, found)
    asked = detect_language(question)
    for text, retrieval in others:
        if detect_language(text) != asked:
            other = measure_evidence(snapshot, text, passages, retrieval)
            if other.value > evidence.value:
                reason = f"{other.reason} (in other words: {text})"
                evidence = replace(evidence, value=other.value, reason=reason)
    return evidence


def word_coverage(snapshot: Snapshot, tokens: Sequence[str], passages: Sequence[Passage]) -> float:
    """Share of the tokens, weighted by idf, that stand in any of the passages, in any form."""
    idf = snapshot.vocabulary.idf(tokens)
    total = sum(idf.values())
    if not total:
        return 0.0
    present: set[str] = set()
    for passage in passages:
        text = f"{passage.title}\n{passage.heading}\n{passage.text}"
        present.update(stem(token) for token in search_tokens(text, snapshot.dictionary))
    return sum(weight for token, weight in idf.items() if stem(token) in present) / total
