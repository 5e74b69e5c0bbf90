"""Questions that a text unit answers: by patterns over its sentences, or by a language model.

Indexed beside the text they let a question meet a question (Doc2Query; Nogueira, Yang, Lin, Cho
2019). The patterns turn a sentence into a question by asking for one of its names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from graphkb.extract.kinds import GEO, ORGANIZATION, PERSON
from graphkb.llm.prompt import Prompt
from graphkb.llm.prompts import data_block, load_prompt, prompt_language
from graphkb.text.language import has_han
from graphkb.text.sentences import sentence_spans

#: Under which the cost of questions is counted.
STEP = "questions"
Mention = tuple[int, int, str]
"""Start and end of a name in the unit's text, and its type."""

_SHORTEST, _LONGEST = 6, 160
_REPLY_TOKENS = 40
_ASKED_ZH = {PERSON: "谁", ORGANIZATION: "哪家机构", GEO: "哪里"}
_ASKED_EN = {PERSON: "Who", ORGANIZATION: "Which organization", GEO: "Which place"}
_VERB = re.compile(
    r"(?:is|was|are|were|has|had|leads?|led|owns?|makes?|made|won|wrote|founded|acquired|directed|"
    r"born|[a-z]+(?:ed|es|s))\b"
)
_DEFINES_EN = re.compile(r"(?:is|are|was|were) (?:an?|the)\b")
_DEFINES_ZH = re.compile(r"(?:是指|指的是|是[一由我]|为一)")
_NO_STATEMENT = re.compile(r"\A[#|>]|[?？]\Z")
_ENDS = "。！？!?.;； \t"
_ENUMERATED = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)、:：])\s*")


def questions_of_unit(text: str, mentions: Sequence[Mention], most: int) -> list[str]:
    """At most ``most`` distinct questions that ``text`` answers, in text order.

    ``mentions`` are its names in order. An English sentence asks for the name it begins with, a
    Chinese one for its first and its last name, since there the question word stands where the
    answer would.

    >>> questions_of_unit("Ada Lin leads the Osprey project.", [(0, 7, "PERSON")], 3)
    ['Who leads the Osprey project?']
    >>> questions_of_unit("青石公司在杭州。", [(0, 4, "ORGANIZATION"), (5, 7, "GEO")], 3)
    ['哪家机构在杭州？', '青石公司在哪里？']
    """
    found: dict[str, None] = {}
    for start, end in sentence_spans(text):
        if len(found) >= most:
            break
        sentence = text[start:end]
        if not _SHORTEST <= len(sentence) <= _LONGEST or _NO_STATEMENT.search(sentence):
            continue
        named = [(a - start, b - start, kind) for a, b, kind in mentions if start <= a and b <= end]
        if named:
            make = _chinese if has_han(sentence) else _english
            found.update(dict.fromkeys(make(sentence, named)))
    return list(found)[:most]


def _english(sentence: str, named: Sequence[Mention]) -> list[str]:
    start, end, kind = named[0]
    if sentence[:start].strip().lower() not in ("", "the"):
        return []
    rest = sentence[end:].strip(_ENDS)
    if not _VERB.match(rest):
        return []
    if _DEFINES_EN.match(rest):
        verb = rest.split(" ", 1)[0]
        word = "Who" if kind == PERSON else "What"
        return [f"{word} {verb} {sentence[:end]}?"]
    return [f"{_ASKED_EN.get(kind, 'What')} {rest}?"]


def _chinese(sentence: str, named: Sequence[Mention]) -> list[str]:
    first = named[0]
    if first[0] == 0 and _DEFINES_ZH.match(sentence, first[1]):
        return [f"{sentence[: first[1]]}是{'谁' if first[2] == PERSON else '什么'}？"]
    asked = []
    for start, end, kind in dict.fromkeys((first, named[-1])):
        word = _ASKED_ZH.get(kind, "什么")
        asked.append((sentence[:start] + word + sentence[end:]).strip(_ENDS) + "？")
    return asked


def question_prompt(root: Path, text: str, context: str, language: str, most: int) -> Prompt:
    """What a model is asked: the ``most`` questions that a text unit answers."""
    block = data_block("document", f"{context}\n\n{text}" if context else text)
    system, user = load_prompt(
        root, prompt_language(language), "unit_questions", count=str(most), document=block
    )
    return Prompt(STEP, system, user, "extraction", max_tokens=_REPLY_TOKENS * most)


def read_questions(reply: str, most: int) -> list[str]:
    """The questions of a reply, one a line. Raises ValueError when it holds none."""
    lines = (_ENUMERATED.sub("", line).strip("*_ \t") for line in reply.splitlines())
    asked = dict.fromkeys(line[:_LONGEST] for line in lines if line.endswith(("?", "？")))
    if not asked:
        raise ValueError("the reply must be questions, each on a line of its own, ending with ?")
    return list(asked)[:most]
