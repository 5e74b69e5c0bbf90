"""What a question leaves to the conversation before it, by rules for English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphkb.extract.kinds import ORGANIZATION, PERSON
from graphkb.search.snapshot import Snapshot
from graphkb.text.segment import query_tokens
from graphkb.text.tokens import truncate_tokens

Turns = Sequence[tuple[str, str]]
"""Questions and answers of a conversation, oldest first."""

TURN_TOKENS = 200
_LONGEST, _ADDED = 300, 4

# Words that stand for something named before; 应该, 其中, 尤其, 因此, 此外, 这么 do not.
_REFERS = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|these|those|former|latter)\b"
    r"|\bthe (?:company|firm|organi[sz]ation)\b(?! (?-i:[A-Z]))"
    r"|[他她它]们?|(?<![尤极])其(?![他余实中])|(?<!应)该(?![怎如不])|(?<![因如从就彼])此(?!外)"
    r"|[这那](?!么)|上述|前者|后者",
    re.IGNORECASE,
)
# Questions that only go on with the one before.
_FOLLOWS = re.compile(
    r"^(?:and|but|so|also|what about|how about|what else|why|when|where|who|how)\b.{0,24}$"
    r"|^(?:那么?|还有|另外|为什么|怎么|何时|谁|多少).{0,8}$|呢[?？]?$",
    re.IGNORECASE,
)
# What a pronoun can stand for; the first that fits counts.
_THING = "THING"
_KINDS = (
    (
        re.compile(
            r"\b(?:this|that|the) (?:company|firm|group|organi[sz]ation|institution|bank|agency)\b"
            r"|[该这那此](?:家|个|一)?(?:公司|集团|企业|机构|组织|单位|银行)",
            re.IGNORECASE,
        ),
        ORGANIZATION,
    ),
    (re.compile(r"\b(?:he|she|him|her|his|hers)\b|[他她]|[该此]人", re.IGNORECASE), PERSON),
    (re.compile(r"\b(?:it|its)\b|它", re.IGNORECASE), _THING),
)
# Questions that put something else into the one before: “And in Bergen?”, “那第二季度呢？”.
_INSTEAD = re.compile(r"^(?:and|what about|how about)\b.{0,40}$|呢[?？]?$", re.IGNORECASE)


def refers_back(snapshot: Snapshot, question: str) -> bool:
    """Whether a question leans on the conversation before it: it holds a pronoun, only goes on,
    or is short and names nothing.

    Decided by rules for English and Chinese.
    """
    if _REFERS.search(question) or _FOLLOWS.search(question.strip()):
        return True
    short = len(query_tokens(question, snapshot.dictionary)) <= 2
    return short and not snapshot.graph.link(question)


def words_before(snapshot: Snapshot, question: str, turns: Turns) -> list[str]:
    """What the conversation adds to a question that leans on it; nothing to another.

    Names of the last turn that has any, question before answer; else its question. A word that
    stands for a person or an organisation takes those names alone, where there are such; it and
    它 take what is no person. A question that puts something else into the one before (“And in
    Bergen?”, “那第二季度呢？”) gets that question, too.
    """
    if not refers_back(snapshot, question):
        return []
    before = " ".join(turns[-1][0].split())[:_LONGEST]
    for asked, answered in reversed(turns):
        found: dict[str, str] = {}
        for text in (asked, truncate_tokens(answered, TURN_TOKENS)):
            for seed in snapshot.graph.link(text):
                found.setdefault(seed.surface, seed.entity_id)
        names = {name: entity for name, entity in found.items() if name not in question}
        if names:
            added = _of_the_kind(snapshot, question, names)[:_ADDED]
            if asked == turns[-1][0] and _INSTEAD.search(question.strip()):
                return [before.rstrip("?？ "), *(name for name in added if name not in before)]
            return added
    return [before]


def _of_the_kind(snapshot: Snapshot, question: str, names: dict[str, str]) -> list[str]:
    """The names (of entity ids) that the question's pronoun can mean; all when it tells none."""
    wanted = next((kind for pattern, kind in _KINDS if pattern.search(question)), "")
    if not wanted:
        return list(names)
    rows = snapshot.store.where("entities", "id", names.values(), ("id", "type"))
    kinds = {row["id"]: (row["type"] or "").upper() for row in rows.to_dicts()}
    if wanted == _THING:
        fitting = [name for name, entity in names.items() if kinds.get(entity) != PERSON]
    else:
        fitting = [name for name, entity in names.items() if kinds.get(entity) == wanted]
    return fitting or list(names)
