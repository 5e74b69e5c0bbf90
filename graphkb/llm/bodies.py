"""Bodies of replies: read up to a size, decoded as their header says."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any

LARGEST_REPLY = 32_000_000
"""Bytes of a reply, decompressed, that are read at most."""
LARGEST_ERROR = 1_000_000
"""Bytes of an error that are read; what follows says nothing more."""
LARGEST_STREAM = 128_000_000
"""Bytes of a stream, which is not kept: each token comes in an event of some hundred bytes."""

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
# Encodings of text, by the names of Python, which also calls hex and rot13 codecs.
_WIDE = re.compile(r"utf-(16|32)(-[bl]e)?|gb(2312|k|18030)|big5|big5hkscs|euc_\w+|shift_jis|hz")
_NARROW = re.compile(r"iso8859-\d+|cp\d+|koi8-[ru]|mac-\w+")
_UTF8 = "utf-8-sig"


async def pieces_within(content: Any, most: int) -> AsyncGenerator[bytes, None]:
    """The pieces of a response's content as they come, up to the one that goes beyond ``most``
    bytes. Others, and limits of time, get their turn between two pieces."""
    size = 0
    async for piece in content.iter_any():
        yield piece
        size += len(piece)
        if size > most:
            return
        await asyncio.sleep(0)


def larger_than(most: int) -> str:
    """What is said of a reply beyond its limit.

    >>> larger_than(LARGEST_REPLY)
    'the reply is larger than 32 MB'
    """
    return f"the reply is larger than {most // 1_000_000} MB"


def decoded(headers: Mapping[str, str], content: bytes) -> str:
    """A body as text. Raises UnicodeDecodeError for what is neither in the charset that the header
    names nor in UTF-8.

    A named charset that takes any bytes (Latin-1, cp1252) is believed after UTF-8, as JSON is.

    >>> decoded({"Content-Type": "application/json; charset=gbk"}, "好".encode("gbk"))
    '好'
    >>> decoded({"Content-Type": "text/plain; charset=latin-1"}, "好".encode())
    '好'
    """
    named = _charset(headers)
    order = [_UTF8]
    if _WIDE.fullmatch(named):
        order = [named, _UTF8]
    elif _NARROW.fullmatch(named):
        order = [_UTF8, named]
    for charset in order[:-1]:
        try:
            return content.decode(charset)
        except UnicodeDecodeError:
            continue
    return content.decode(order[-1])


def leniently_decoded(headers: Mapping[str, str], content: bytes) -> str:
    """As :func:`decoded`, with U+FFFD for what is no UTF-8 where nothing fits."""
    try:
        return decoded(headers, content)
    except UnicodeDecodeError:
        return content.decode(_UTF8, "replace")


def _charset(headers: Mapping[str, str]) -> str:
    """Python's name of the charset that the header names; empty for none that is known."""
    kind = headers.get("Content-Type") or headers.get("content-type") or ""
    found = _CHARSET.search(kind)
    try:
        return codecs.lookup(found.group(1)).name if found else ""
    except LookupError:
        return ""
