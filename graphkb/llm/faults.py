"""What a server's error means: try again, try otherwise, give this call up, or stop asking.

The wordings are those of OpenAI, Azure, DeepSeek, DashScope, SiliconFlow, Moonshot, Zhipu,
Volcengine, OpenRouter, Gemini, vLLM, SGLang, TGI, Ollama, LM Studio and llama.cpp.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from graphkb.llm.keys import without_secrets

Kind = Literal[
    "throttled", "server", "silent", "unreachable", "money", "key", "address", "model", "context",
    "filtered", "blocked", "empty", "refused", "reasoned",
]  # fmt: skip
UNUSABLE: frozenset[Kind] = frozenset({"money", "key", "address", "model"})
PASSING: frozenset[Kind] = frozenset({"throttled", "server", "silent", "unreachable", "empty"})


# What moves a terminal's cursor or turns the direction of its text.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Fault(Exception):
    """One request failed. ``status`` is 0 when no HTTP status was seen, ``said`` the server's own
    message (or the connection's) without control characters, ``wait`` the seconds it asked to
    wait."""

    def __init__(self, kind: Kind, said: str, status: int = 0, wait: float | None = None) -> None:
        self.said = _UNSEEN.sub("", " ".join(said.split()))
        super().__init__(self.said)
        self.kind = kind
        self.status = status
        self.wait = wait

    @property
    def what(self) -> str:
        """Status and message, as errors quote them."""
        return f"{self.status:03}: {self.said}" if self.status else self.said


def _pattern(*wordings: str) -> re.Pattern[str]:
    return re.compile("|".join(wordings), re.IGNORECASE | re.DOTALL)


_MONEY = _pattern(
    r"insufficient[ _]?(quota|balance|funds|credit)", r"balance is (not enough|insufficient)",
    r"exceeded_current_quota", r"exceeded your current quota", r"billing[ _]hard[ _]limit",
    r"credit balance is too low", r"(not enough|requires more|out of|no) credits",
    r"account is not active", r"arrearage", r"account is in good standing",
    r"(suspended|deactivated).{0,40}(account|billing|balance)", r"payment required",
    r"free (tier|quota).{0,40}(exhausted|used up)", r"freetieronly",
    r"quota.{0,20}(exhausted|used up)",
    "余额不足", "余额不够", "欠费", "额度不足", "额度已用[完尽]", "账户(余额|已停用)",
)  # fmt: skip
_KEY = _pattern(
    r"\b(invalid|incorrect|wrong|missing|no|expired)\b.{0,20}\b(api[ _-]?key|token|credentials?)\b",
    r"api[ _-]?key.{0,30}(invalid|incorrect|missing|not valid|required|expired)",
    r"unauthori[sz]ed", r"authentication", "(密钥|令牌).{0,10}(无效|错误|不正确|过期)", "身份验证",
    "(无效|错误).{0,4}(密钥|令牌|api ?key)",
)  # fmt: skip
_MODEL = _pattern(
    r"model[_ ]not[_ ](found|exist)", r"model.{0,120}(does not exist|not found|not exist)",
    r"no such model", r"unknown model", r"invalid model( id| name|:|$)", r"not a valid model",
    r"try pulling it first", r"no models? (is |are )?loaded", "模型.{0,20}(不存在|未找到|未开通)",
)  # fmt: skip
_CONTEXT = _pattern(
    r"context[_ ]length", r"maximum context", r"context (window|size)", r"max_seq_len",
    r"range of input length", r"exceeded model token limit", r"prompt (is )?too long",
    r"prompt exceeds max", r"maximum (prompt|model|input) length", r"exceed_context_size",
    r"longer than the (maximum )?(model|context)", r"input (is )?too (long|large)",
    r"input (token count|length).{0,60}exceed", r"too large for model",
    r"request too large", r"exceed max message tokens",
    r"reduce the length of the (messages|input|prompt)",
    r"max_new_tokens.{0,10}must be <=", r"maximum number of (input )?tokens allowed",
    r"token count exceeds", r"too many (input |prompt )?tokens", r"string too long",
    "(输入|上下文|提示词|prompt).{0,12}(过长|太长|超出|超过|超长)",
    "超(出|过).{0,12}(最大|上下文).{0,6}(长度|限制)",
)  # fmt: skip
_FILTERED = _pattern(
    r"content[_ ](filter|policy|management)", r"responsible ?ai", r"data_inspection_failed",
    r"inappropriate content", r"content exists risk", r"(require|failed|flagged).{0,30}moderation",
    r"input was flagged", r"sensitive content", r"safety (system|filter)", "敏感内容", "不安全",
    "违规", "内容.{0,6}(风险|审核)",
)  # fmt: skip
_HTML = re.compile(r"\s*(<!doctype html|<html|<head|<body|<\?xml)", re.IGNORECASE)
_HINT = re.compile(
    r"(?:try again|retry|wait)(?:ing)?(?: again)?(?: in| after| for)? "
    r"(?:(\d+)\s*m(?:in(?:ute)?s?)?(?!s)\s*)?(?:(\d+(?:\.\d+)?)\s*(ms|s)?)?",
    re.IGNORECASE,
)
_MILLISECONDS = 1000.0


def is_html(text: str) -> bool:
    """Whether a body is a web page instead of JSON."""
    return _HTML.match(text) is not None


def message_of(data: Any) -> str:
    """The message inside an error body of any vendor's shape; empty when there is none.

    >>> message_of({"error": {"message": "bad key", "code": "invalid_api_key"}})
    'bad key (invalid_api_key)'
    >>> message_of({"detail": "Not Found"}), message_of({"code": 30001, "message": "余额不足"})
    ('Not Found', '余额不足 (30001)')
    """
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return data if isinstance(data, str) else ""
    error = data.get("error")
    if isinstance(error, dict):
        data = error
    elif isinstance(error, str) and error:
        return error
    names = ("message", "msg", "detail", "errorMessage", "error_msg")
    text = _text(next((data[name] for name in names if data.get(name)), ""))
    codes = [data.get("code"), data.get("param"), data.get("type")]
    extra = next((str(c) for c in codes if c and str(c) not in text and c != "error"), "")
    return f"{text} ({extra})" if text and extra else text or extra


def _text(value: Any) -> str:
    """A message; of a list of validation errors what is wrong where, without the echoed input."""
    if isinstance(value, list):
        parts = [item for item in value if isinstance(item, dict)]
        lines = [
            (item.get("loc", []), item.get("msg") or item.get("message", "")) for item in parts
        ]
        return "; ".join(
            f"{'.'.join(map(str, where))}: {said}".lstrip(": ") for where, said in lines
        )
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_REDIRECTS = (300, 301, 302, 303, 307, 308)


def judge(status: int, headers: Mapping[str, str], body: str) -> Fault:
    """What an HTTP error (or an error inside a 200) means."""
    try:
        said = message_of(json.loads(body))
    except (ValueError, RecursionError):
        said = "a web page instead of JSON" if is_html(body) else body
    none = "no message" if 400 <= status < 600 else "the server sent this status and no reply"
    said = " ".join(said.split())[:400] or none
    if status in _REDIRECTS and headers.get("location"):
        target = without_secrets(headers["location"])[:200]
        said = (
            f"it redirects to {target}, which is not followed; if that is right, use that address"
        )
    wait = retry_after(headers, said)
    return Fault(_kind(status, said, wait, is_html(body)), said, status, wait)


def judge_inside(data: Any) -> Fault:
    """What an error means that came with status 200; its code may be the status that was meant."""
    error = data["error"] if isinstance(data.get("error"), dict) else data
    code = str(error.get("code", ""))
    status = int(code) if code.isdigit() and 400 <= int(code) < 600 else 0
    return judge(status, {}, json.dumps(data, ensure_ascii=False))


def _kind(status: int, said: str, wait: float | None, html: bool) -> Kind:
    if status == 402 or (_MONEY.search(said) and not (status == 429 and wait is not None)):
        return "money"
    if status in (400, 403, 422, 451) and _FILTERED.search(said):
        return "filtered"
    if status in (401, 403, 407):
        if html:
            return "address"
        return "model" if status == 403 and _MODEL.search(said) else "key"
    if status == 413 or (status in (0, 400, 422, 429, 500) and _CONTEXT.search(said)):
        return "context"
    if status == 429:
        return "throttled"
    if status in (404, 410):
        return "model" if _MODEL.search(said) and not html else "address"
    if status in (*_REDIRECTS, 405, 406, 411, 415, 426, 501):
        return "address" if status != 405 else "server"
    if status in (408, 409, 421, 425) or status >= 500:
        return "server"
    if status == 400 and html:
        return "address"
    if _MODEL.search(said):
        return "model"
    if status == 400 and _KEY.search(said):
        return "key"
    return "refused" if status else "server"


def retry_after(headers: Mapping[str, str], said: str, now: float | None = None) -> float | None:
    """Seconds that the server asks to wait: ``retry-after-ms``, ``retry-after`` (seconds or an
    HTTP date), or its message. ``now`` is the time since the epoch. None when it does not say.

    >>> retry_after({"retry-after": "2"}, ""), retry_after({"retry-after-ms": "250"}, "")
    (2.0, 0.25)
    >>> retry_after({}, "Rate limit reached, try again in 1.5s"), retry_after({}, "in 1m30s")
    (1.5, None)
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / _MILLISECONDS
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None:
        return seconds
    if value:
        try:
            moment = parsedate_to_datetime(value).timestamp()
        except (ValueError, TypeError, OverflowError):
            return None
        return max(0.0, moment - (time.time() if now is None else now))
    return _hinted(said)


def _hinted(said: str) -> float | None:
    for found in _HINT.finditer(said):
        minutes, amount, unit = found.groups()
        if minutes or amount:
            seconds = float(amount or 0)
            if unit and unit.lower() == "ms":
                seconds /= _MILLISECONDS
            return seconds + 60 * float(minutes or 0)
    return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
