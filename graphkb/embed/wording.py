"""What endpoints mean by their error messages: too many texts, too long ones, no money."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

Kind = Literal["batch", "length", "value", "other", "server"]
"""Why texts were refused: too many in one request, too long, their vector is not a number,
anything else about them, or a server that goes on failing."""

_LONGEST = 300

# llama.cpp calls the longest text it takes its physical batch size.
_LENGTH_FIRST = re.compile(r"physical batch|too large to process", re.IGNORECASE)
_BATCH = re.compile(
    r"batch|too many (?:inputs|texts|items|embeddings)|array too long|array with maximum length"
    r"|number of (?:texts|inputs|items|embeddings)|(?:inputs|texts|items) must be at most"
    r"|tokens? per request|数组|批|条数|\d+\s*条",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"token|context|too (?:long|large|big)|length|exceed|maximum|过长|超长|超过|超出|长度|字数",
    re.IGNORECASE,
)
_NOT_A_NUMBER = re.compile(r"\bnan\b|\binf(?:inity)?\b|unsupported value", re.IGNORECASE)
_LIMIT = re.compile(
    r"(?:larger than|more than|at most|max(?:imum)?|limit|up to|<=|≤"
    r"|不得超过|不能超过|不超过|最大|最多|上限)[^\d]{0,40}(\d{1,6})",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"insufficient_quota|insufficient (?:balance|funds|credit)|exceeded your current quota"
    r"|arrear|余额|欠费|充值",
    re.IGNORECASE,
)


def decoded(body: str) -> str:
    """The body of a reply with its characters as they are, not as JSON escapes them."""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False)
    except ValueError:
        return body


def message_of(text: str) -> str:
    """The message in the body of an error, on one line of at most 300 characters.

    >>> message_of('{"error": {"message": "batch\\\\nsize", "code": "x"}}')
    'batch size'
    """
    if text.lstrip()[:1] == "<":
        return "a web page came back"
    try:
        said = _inner(json.loads(text))
    except ValueError:
        said = text
    return " ".join((said or text).split())[:_LONGEST] or "no message"


def _inner(body: Any) -> str:
    if isinstance(body, dict):
        for key in ("error", "message", "msg", "detail"):
            if body.get(key):
                return _inner(body[key])
        return ""
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def refusal_kind(status: int, text: str) -> Kind | None:
    """Why texts were refused; None when the message blames something else than the texts.

    >>> refusal_kind(400, "batch size is invalid, it should not be larger than 10")
    'batch'
    >>> refusal_kind(500, "input (593 tokens) is too large to process. increase the physical batch")
    'length'
    """
    if status >= 500:
        if _NOT_A_NUMBER.search(text):
            return "value"
        return "length" if _LENGTH_FIRST.search(text) else None
    if status not in (400, 413, 422):
        return None
    if _LENGTH_FIRST.search(text):
        return "length"
    if _BATCH.search(text):
        return "batch"
    return "length" if status == 413 or _LENGTH.search(text) else "other"


def stated_limit(text: str, sent: int) -> int:
    """The number of texts a request may have according to a message; 0 when it says none that is
    smaller than what was sent.

    >>> stated_limit("batch size 64 > maximum allowed batch size 32", 64)
    32
    >>> stated_limit("input数组最大不得超过64条", 100)
    64
    """
    limits = [int(number) for number in _LIMIT.findall(text)]
    return min((limit for limit in limits if 0 < limit < sent), default=0)


def out_of_money(status: int, text: str) -> bool:
    """Whether the account has nothing left: waiting does not help."""
    return status == 402 or (status in (400, 403, 429) and _MONEY.search(text) is not None)
