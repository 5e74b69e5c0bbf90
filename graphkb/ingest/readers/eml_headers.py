"""Header lines of e-mail as text: encoded words, raw bytes, addresses, dates and file names."""

from __future__ import annotations

import email.errors
import re
from email.header import decode_header
from email.message import Message
from email.utils import collapse_rfc2231_value, getaddresses, parsedate_to_datetime

from graphkb.errors import InputError
from graphkb.ingest.decode import clean_text, decode_bytes

_MOST_ADDRESSES = 50
_LONGEST = 100_000


def header(mail: Message, name: str) -> str:
    """The first header of that name in plain words, in one line; empty where there is none."""
    raw = next((str(value) for key, value in mail.raw_items() if key.casefold() == name.casefold()),
               "")  # fmt: skip
    return words(raw)


def words(raw: str) -> str:
    """A header's value with encoded words (RFC 2047) and bytes beyond ASCII decoded.

    >>> words("=?gb2312?B?y66x7Q==?= =?utf-8?Q?_plan?=")
    '水表 plan'
    """
    raw = raw[:_LONGEST]
    parts: list[str] = []
    try:
        pieces = decode_header(_as_text(raw))
    except (email.errors.HeaderParseError, ValueError):
        pieces = [(_as_text(raw), None)]
    for piece, charset in pieces:
        parts.append(piece if isinstance(piece, str) else _decoded(piece, charset))
    return " ".join(clean_text("".join(parts))[0].split())


def _as_text(raw: str) -> str:
    """A value whose bytes beyond ASCII were kept as surrogates, decoded."""
    if not re.search(r"[\udc80-\udcff]", raw):
        return raw
    return _decoded(raw.encode("utf-8", "surrogateescape"), None)


def _decoded(data: bytes, charset: str | None) -> str:
    try:
        return decode_bytes(data, hint=charset).text
    except InputError:
        return data.decode("latin-1")


def address_line(mail: Message, name: str) -> str:
    """The people in an address header as ``Name <address>``, separated by commas."""
    raw = [_as_text(str(v)) for key, v in mail.raw_items() if key.casefold() == name.casefold()]
    people: list[str] = []
    try:
        found = getaddresses([value[:_LONGEST] for value in raw])
    except RecursionError:  # Hundreds of names of groups, one in the other.
        return header(mail, name)
    for display, address in found:
        display = words(display)
        if display and address and display != address:
            people.append(f"{display} <{address}>")
        elif display or address:
            people.append(display or address)
    more = f", … ({len(people) - _MOST_ADDRESSES} more)" if len(people) > _MOST_ADDRESSES else ""
    return ", ".join(people[:_MOST_ADDRESSES]) + more or header(mail, name)


def iso_date(mail: Message) -> str | None:
    """When the letter was sent, as ISO 8601 with its time zone; None where it does not say."""
    try:
        sent = parsedate_to_datetime(header(mail, "Date"))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return sent.isoformat()


def mail_filename(part: Message) -> str:
    """The name a part's file has, empty where none is given (RFC 2231, RFC 2047)."""
    try:
        found = part.get_param("filename", None, "content-disposition") or part.get_param("name")
        value = collapse_rfc2231_value(found) if found else ""
    except (ValueError, LookupError, TypeError):
        return ""
    return words(value).strip()
