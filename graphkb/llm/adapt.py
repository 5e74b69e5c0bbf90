"""Asking otherwise after a server refused a parameter."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from graphkb.llm.servers import Traits

_STRUCTURE = re.compile(
    r"response[_ ]format|json[_ ]?schema|json_object|structured output|grammar|guided"
    r"|(invalid|unsupported) schema",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"max[_ ](completion_|new_|output_)?tokens", re.IGNORECASE)
_RANGE = re.compile(r"[\[(（]\s*1\s*[,，]\s*(\d+)\s*[\])）]|at most (\d+)|(?:<=|≤)\s*(\d+)")
_NO_SYSTEM = re.compile(
    r"system (role|message|prompt)s?.{0,40}(not|un)\s?-?support|only supports? user"
    r"|roles must alternate|does not support.{0,20}system|system role",
    re.IGNORECASE,
)
_STREAM_ONLY = re.compile(r"only support.{0,10}stream|enable the stream parameter", re.IGNORECASE)
_NO_STREAM = re.compile(
    r"(stream(ing)?).{0,40}(not|un)\s?-?(support|available|implement|allowed)"
    r"|(not|un)\s?-?support.{0,20}stream",
    re.IGNORECASE,
)
_WINDOW = (
    re.compile(r"context (?:length|size|window)[^0-9]{0,30}(\d{3,8})", re.I),
    re.compile(r"\[\s*1\s*,\s*(\d{3,8})\s*\]"),
    re.compile(r"(?:max_seq_len|token limit|maximum prompt length|> )[^0-9]{0,12}(\d{3,8})", re.I),
    re.compile(r"\"n_ctx\":\s*(\d{3,8})"),
)  # fmt: skip
_DROPPABLE = ("stream_options", "temperature", "seed", "top_p")


def window_of(said: str) -> int:
    """The context window named in an error, in tokens; 0 when none is.

    >>> window_of("This model's maximum context length is 8192 tokens. However, you requested")
    8192
    >>> window_of("Range of input length should be [1, 30720]"), window_of("too long")
    (30720, 0)
    """
    for pattern in _WINDOW:
        found = pattern.search(said)
        if found:
            return int(found.group(1))
    return 0


def adapted(
    traits: Traits, body: dict[str, Any], status: int, said: str, auto: bool
) -> Traits | None:
    """How to ask instead, after an error that complains of one parameter; None when it does not.

    ``body`` is what was sent; ``auto`` allows a less strict way of asking for JSON. Of a failing
    server (5xx) only complaints of the schema are believed.
    """
    if "response_format" in body and auto and _STRUCTURE.search(said):
        return traits.step_down()
    if status >= 500:
        return None
    if "enable_thinking" in said and not traits.thinking_off:
        return replace(traits, thinking_off=True)
    if _STREAM_ONLY.search(said) and not body.get("stream"):
        return replace(traits, streaming="only")
    for name in _DROPPABLE:
        if name in body and name in said:
            return replace(traits, dropped=(*traits.dropped, name))
    if body.get("stream") and traits.streaming == "yes" and _NO_STREAM.search(said):
        return replace(traits, streaming="no")
    if traits.limit_name in body and _LIMIT.search(said):
        return _other_limit(traits, body, said)
    has_system = any(message["role"] == "system" for message in body["messages"])
    if has_system and _NO_SYSTEM.search(said):
        return replace(traits, system_role=False)
    return None


def _other_limit(traits: Traits, body: dict[str, Any], said: str) -> Traits | None:
    found = _RANGE.search(said)
    most = int(next(group for group in found.groups() if group)) if found else 0
    if 0 < most < body[traits.limit_name]:
        return replace(traits, reply_limit=most)
    other = "max_completion_tokens" if traits.limit_name == "max_tokens" else "max_tokens"
    if other in said and traits.limit_name == "max_tokens":
        return replace(traits, limit_name=other)
    if "max_tokens" not in traits.dropped and re.search(
        r"unsupported|unknown|unrecogni[sz]ed|not (supported|permitted|allowed)|extra", said, re.I
    ):
        return replace(traits, dropped=(*traits.dropped, "max_tokens"))
    return None


_SPLIT = (
    re.compile(
        r"context length is (?P<window>\d+).{0,80}?\(?(?P<prompt>\d+) in the (messages|prompt)",
        re.I,
    ),
    re.compile(r"(?P<prompt>\d+) input tokens.{0,20}?\(\d+ > (?P<window>\d+) - \d+\)", re.I),
    re.compile(r"must be <= (?P<window>\d+)\. Given: (?P<prompt>\d+)", re.I),
)
_LEAST_REPLY = 64
_MARGIN = 16


def fitting_limit(said: str, limit: int) -> int:
    """The reply tokens that still fit beside this prompt, when a server refused prompt and limit
    together; 0 when the prompt itself is too long.

    >>> fitting_limit("maximum context length is 4096 tokens. However, you requested 5000 tokens "
    ...               "(1000 in the messages, 4000 in the completion)", 4000)
    3080
    """
    for pattern in _SPLIT:
        found = pattern.search(said) if limit else None
        if found:
            room = int(found["window"]) - int(found["prompt"]) - _MARGIN
            return room if _LEAST_REPLY <= room < limit else 0
    return 0
