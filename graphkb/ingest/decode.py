"""Bytes to text: which encoding, and what had to be repaired."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from graphkb.errors import InputError
from graphkb.ingest.plausible import plausibility


@dataclass(frozen=True)
class Decoded:
    """Clean text, the encoding it was read with, and a note for the log (None: nothing to say)."""

    text: str
    encoding: str
    note: str | None


_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Python's codec of a wider character set that the named one is part of: files called GBK or
# Big5 hold characters that the narrow codecs refuse.
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}

# In order: on equal plausibility the first wins.
_CANDIDATES = (
    "gb18030", "cp950", "big5hkscs", "cp932", "euc_jp", "cp949", "utf-16-le", "utf-16-be",
)  # fmt: skip
_SAMPLE = 200_000
_PLAUSIBLE = 0.28
_CLEAR_LEAD = 0.12


def decode_bytes(data: bytes, encoding: str = "auto", hint: str | None = None) -> Decoded:
    """The text of ``data`` with line ends as ``\\n``, no byte order mark, no control characters.

    Tried in order: byte order marks, UTF-16 that shows by its zero bytes, UTF-8 (strict),
    ``encoding`` where it is not ``auto``, ``hint`` (what the file says of itself), then the
    candidate whose characters are the most plausible. What is not plain UTF-8 has a note.

    Raises InputError where no encoding fits; U+FFFD is never put in.

    >>> decode_bytes("陈明负责水表。".encode("gbk")).text
    '陈明负责水表。'
    """
    text, used, notes = _decode(data, encoding, hint)
    text, replaced = clean_text(text.removeprefix("\ufeff"))
    if replaced:
        notes.append(f"{replaced} control characters replaced by spaces")
    return Decoded(text, used, "; ".join(notes) or None)


def _decode(data: bytes, encoding: str, hint: str | None) -> tuple[str, str, list[str]]:
    text: str | None
    for mark, codec in _BOMS:
        if data.startswith(mark):
            text = _strict(data[len(mark) :], codec)
            if text is not None:
                return text, codec, [] if codec == "utf-8" else [f"read as {codec}"]
    utf16 = _obvious_utf16(data)
    text = _strict(data, utf16) if utf16 else None
    if utf16 and text is not None:
        return text, utf16, [f"read as {utf16}"]
    text = _strict(data, "utf-8")
    if text is not None and b"\x1b$" in data:
        japanese = _strict(data, "iso2022_jp")
        if japanese is not None:
            return japanese, "iso2022_jp", ["read as iso2022_jp"]
    if text is not None:
        return text, "utf-8", []
    if encoding != "auto":
        return _by_setting(data, encoding)
    repaired = _damaged_utf8(data)
    if repaired is not None:
        return repaired
    name = _codec(hint) if hint else None
    text = _strict(data, name) if name else None
    if name and text is not None and plausibility(text[:_SAMPLE], name) > 0:
        return text, name, [f"read as {name}, as the file says"]
    return _most_plausible(data)


def _by_setting(data: bytes, encoding: str) -> tuple[str, str, list[str]]:
    name = _codec(encoding)
    if name is None:
        raise InputError(
            f"the encoding {encoding!r} is not known; correct the setting input.encoding"
        )
    try:
        return data.decode(name), name, [f"read as {name} (input.encoding)"]
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise InputError(
            f"byte {at} is not valid {name} (input.encoding {encoding!r}) and the file is not "
            "UTF-8; set input.encoding to auto or save the file as UTF-8"
        ) from None


def _codec(name: str) -> str | None:
    """The text codec of that name, widened; None where Python has none."""
    try:
        info = codecs.lookup(name.strip())
    except (LookupError, ValueError):
        return None
    if not info._is_text_encoding or info.name in {"idna", "punycode", "undefined", "utf-7"}:
        return None
    return _WIDER.get(info.name, info.name)


def _strict(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeError, ValueError):
        return None


def _obvious_utf16(data: bytes) -> str | None:
    """UTF-16 of mostly Latin text: zero bytes at every second place and hardly elsewhere."""
    sample = data[:8192]
    half = len(sample) // 2
    if half < 2 or len(data) % 2:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None


def _damaged_utf8(data: bytes) -> tuple[str, str, list[str]] | None:
    """UTF-8 with a few wrong bytes (cut at the end, a stray byte): those become spaces.

    None where the wrong bytes are more than one in fifty of the characters beyond ASCII.
    """
    text = data.decode("utf-8", "surrogateescape")
    bad = list(_escaped_bytes(text))
    beyond_ascii = len(re.findall(r"[^\x00-\x7f]", text)) - len(bad)
    cut_at_end = bad[-1] - bad[0] < 4 and bad[-1] == len(text) - 1 and beyond_ascii >= 2
    if len(bad) * 50 > beyond_ascii and not cut_at_end:
        return None
    line = text.count("\n", 0, bad[0]) + 1
    clean = re.sub(r"[\udc80-\udcff]+", " ", text)
    note = f"{len(bad)} bytes are not UTF-8 (first in line {line}) and were replaced by spaces"
    return clean, "utf-8", [note]


def _escaped_bytes(text: str) -> Iterator[int]:
    return (match.start() for match in re.finditer(r"[\udc80-\udcff]", text))


def _most_plausible(data: bytes) -> tuple[str, str, list[str]]:
    scores: list[tuple[float, str, str]] = []
    for name in _CANDIDATES:
        text = _strict(data, name)
        if text is not None:
            scores.append((plausibility(text[:_SAMPLE], name), name, text))
    scores.sort(key=lambda item: -item[0])
    if scores and scores[0][0] >= _PLAUSIBLE:
        score, name, text = scores[0]
        rivals = [other for value, other, read in scores[1:] if value + _CLEAR_LEAD > score
                  and read != text]  # fmt: skip
        doubt = f" ({', '.join(rivals)} would fit nearly as well)" if rivals else ""
        return text, name, [f"not UTF-8; read as {name}, judged by its characters{doubt}; "
                            "set input.encoding if the text looks wrong"]  # fmt: skip
    name_and_text = _single_byte(data)
    if name_and_text is None:
        raise InputError(
            "the encoding cannot be told (not UTF-8, nor any other that gives plausible text); "
            "save the file as UTF-8 or set input.encoding"
        )
    name, text = name_and_text
    return text, name, [f"not UTF-8; read as {name}, a guess; "
                        "set input.encoding if the text looks wrong"]  # fmt: skip


def _single_byte(data: bytes) -> tuple[str, str] | None:
    """Western and other alphabets: Windows-1252 where it reads like it, else the best guess."""
    western = _strict(data, "cp1252")
    if western is not None and plausibility(western[:_SAMPLE], "cp1252") >= 0.9:
        return "cp1252", western
    import charset_normalizer

    best = charset_normalizer.from_bytes(data[:_SAMPLE]).best()
    name = _codec(best.encoding) if best is not None else None
    if name is None or name in {"utf-8", "utf_8"}:
        return None
    text = _strict(data, name)
    if text is None or plausibility(text[:_SAMPLE], name) < 0.5:
        return None
    return name, text


@lru_cache(maxsize=1)
def _unwanted() -> re.Pattern[str]:
    # Controls but tab and line feed, lone surrogates, and the code points XML cannot hold.
    return re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def clean_text(text: str) -> tuple[str, int]:
    """``text`` with line ends as ``\\n``; controls become spaces, lone surrogates go; how many.

    >>> clean_text("a\\r\\nb\\x00c")
    ('a\\nb c', 1)
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    replaced = 0

    def replacement(match: re.Match[str]) -> str:
        nonlocal replaced
        replaced += 1
        return "" if "\ud800" <= match.group() <= "\udfff" else " "

    return _unwanted().sub(replacement, text), replaced
