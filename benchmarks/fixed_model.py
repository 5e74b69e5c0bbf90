"""A model that always says the same to the same prompt: names by their spelling, nothing clever.

For measuring and testing everything round a model. It reads only the block of data at the end of
a prompt, as a well-behaved model would, and answers in the form that the prompt asks for.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

_LATIN = re.compile(r"\b[A-Z][\w'-]+(?: (?:of |the )?[A-Z][\w'-]+)*")
_HAN = re.compile(
    r"[\u4e00-\u9fff]{2,8}(?:公司|大学|项目|银行|系统|基金|平台)|青石|陈明|王芳|北风|岚桥|熵流引擎|杭州|里斯本"
)
_SENTENCE = re.compile(r"[^.。！？；\n]+[.。！？；]?")
# Words that begin sentences and are no names, which hardly a model lists.
_NO_NAMES = frozenset(
    "A After Although An And As At Before But By During For From He Her His I If In It Its On Or "
    "Other She Since So That The Their There These They This Those To Under Until We Were What "
    "When Where Which While Who With You".split()
)
_MOST = 8


def play(body: dict[str, Any]) -> str:
    """The reply to a chat request."""
    prompt = str(body["messages"][-1]["content"])
    for mark, answer in _ANSWERS.items():
        found = re.search(rf"<{mark}>\n(.*)\n</{mark}>", prompt, re.DOTALL)
        if found:
            return answer(found.group(1))
    return "The sources say so [1]."


def names(text: str) -> list[str]:
    """Distinct names in order, at most eight.

    >>> names("In Bergen Ada Lin met 陈明. She left.")
    ['Bergen Ada Lin', '陈明']
    """
    found = [match.group() for pattern in (_LATIN, _HAN) for match in pattern.finditer(text)]
    bare = [
        " ".join(itertools.dropwhile(_NO_NAMES.__contains__, name.split(" "))) for name in found
    ]
    return list(dict.fromkeys(filter(None, bare)))[:_MOST]


def _extraction(text: str) -> str:
    entities: dict[str, list[str]] = {}
    relationships = []
    for sentence in _SENTENCE.findall(text):
        inside = names(sentence)
        for name in inside:
            entities.setdefault(name, [name, "TERM", " ".join(sentence.split())[:80]])
        for one, other in itertools.pairwise(inside):
            relationships.append([one, "stands with", other, "5"])
    reply = {"entities": list(entities.values()), "relationships": relationships, "claims": []}
    return json.dumps(reply, ensure_ascii=False)


def _report(data: str) -> str:
    lines = re.findall(r"^(\d+) \| (.+)$", data, re.MULTILINE)
    told = [text.split(" | ")[0] for _, text in lines]
    finding = {
        "summary": told[0] if told else "nothing",
        "explanation": lines[-1][1] if lines else "nothing",
        "sources": [int(number) for number, _ in lines[-2:]],
    }
    report = {
        "title": ", ".join(told[:3]),
        "summary": f"{len(lines)} lines, from {lines[0][1] if lines else 'nothing'}",
        "rating": len(lines) % 11,
        "rating_explanation": f"it has {len(lines)} lines",
        "findings": [finding],
    }
    return json.dumps(report, ensure_ascii=False)


def _numbered(text: str) -> list[tuple[int, str]]:
    """Blocks that begin with a number and a full stop."""
    parts = re.split(r"^(\d+)\. ", text, flags=re.MULTILINE)[1:]
    return [(int(number), said) for number, said in zip(parts[::2], parts[1::2], strict=True)]


def _verdicts(pairs: str) -> str:
    """Names that share their last letter are the same: as good a rule as any, and it merges."""
    verdicts = []
    for number, said in _numbered(pairs):
        ends = {name.strip()[-1:] for name in re.findall(r"(\S[^\n]*?) \([A-Z_]+\)", said)}
        verdicts.append({"pair": number, "verdict": "same" if len(ends) == 1 else "different"})
    return json.dumps({"verdicts": verdicts})


def _descriptions(things: str) -> str:
    texts = [
        {"id": number, "text": " ".join(said.split("\n- ")[1:3])}
        for number, said in _numbered(things)
    ]
    return json.dumps({"descriptions": texts}, ensure_ascii=False)


def _situation(part: str) -> str:
    named = " and ".join(names(part)) or "no one"
    return f"This part has {len(part)} characters and names {named}."


_ANSWERS = {
    "part": _situation,
    "document": _extraction,
    "data": _report,
    "pairs": _verdicts,
    "things": _descriptions,
}
