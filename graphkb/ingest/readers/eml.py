"""E-mail: letters with their attachments, mailboxes, and web pages saved as MHTML."""

from __future__ import annotations

import re
from email.errors import MessageError
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from functools import partial
from html import unescape
from typing import Any

from graphkb.errors import InputError
from graphkb.ingest.decode import decode_bytes
from graphkb.ingest.members import Member, read_members
from graphkb.ingest.readers.eml_headers import address_line, header, iso_date, mail_filename
from graphkb.ingest.readers.html import page_record, parse_page
from graphkb.ingest.records import FileReading, Record, SourceFile, is_blank
from graphkb.settings_input import Input
from graphkb.text.language import detect_language

MEDIA_TYPE = "message/rfc822"
_LABELS = {
    "en": ("From", "To", "Cc", "Date", "Attachments", "Images"),
    "zh": ("发件人", "收件人", "抄送", "日期", "附件", "图片"),
}
# Signatures and wrappings of mail programs: nobody reads them.
_LEFT_OUT = frozenset(
    ["application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature",
     "application/pgp-keys", "text/calendar", "message/delivery-status"]
)  # fmt: skip
_TNEF = "application/ms-tnef"
_ENCRYPTED = frozenset(
    ["multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"]
)
_BOUNDARY = re.compile(rb"(?m)^From \S.*\d{4}[ \t\r]*$")
_MOST_LOST = 0.6


def read_mail(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The letter as one document titled by its subject, each attachment as one of its own.

    Sender, recipients, date and the names of attachments stand above and below the body, which
    is the plain text, or the HTML where that holds a table or much more text. Quoted letters
    stay. Pictures inside the body are named, not read.

    Raises InputError for encrypted letters and where there is nothing that could be a letter.
    """
    mail = _parse(data)
    if mail.get_content_type() in _ENCRYPTED:
        raise InputError("encrypted, skipped; save it decrypted from your mail program")
    parts = _Parts(options.encoding)
    parts.walk(mail)
    attached = read_members(source, parts.attachments, options) if parts.attachments else None
    record = _letter(mail, parts, source)
    notes = [f"{source.path}: {note}" for note in dict.fromkeys(parts.notes)]
    found = attached or FileReading()
    return FileReading((record, *found.records), found.refused, (*notes, *found.notes))


def read_mailbox(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """Every letter of an mbox file (RFC 4155) as a member of its own, numbered in order."""
    starts = [
        match.span()
        for match in _BOUNDARY.finditer(data)
        if match.start() == 0 or data.endswith((b"\n\n", b"\r\n\r\n"), 0, match.start())
    ]
    if not starts:
        raise InputError("not a mailbox: no line begins a letter ('From name date')")
    ends = [start for start, _ in starts[1:]] + [len(data)]
    letters = [
        re.sub(rb"(?m)^>(>*From )", rb"\1", data[begin:end].lstrip(b"\r\n"))
        for (_, begin), end in zip(starts, ends, strict=True)
    ]
    members = [
        Member(f"{number:05}.eml", len(letter), partial(bytes, letter))
        for number, letter in enumerate(letters, 1)
    ]
    return read_members(source, members, options)


def read_saved_page(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The page of an MHTML file (RFC 2557); what it was saved with (images, styles) is left out."""
    for part in _parse(data).walk():
        if part.get_content_type() in {"text/html", "application/xhtml+xml"}:
            page = parse_page(_payload(part), options.encoding, _charset(part))
            return FileReading((page_record(page, source),), (), page.notes(source.path))
    raise InputError("no HTML page in this web archive; save the page again")


def _parse(data: bytes) -> Message:
    try:
        mail = BytesParser(policy=compat32).parsebytes(data.removeprefix(b"\xef\xbb\xbf"))
        if not mail.keys():
            raise InputError("not an e-mail: it does not begin with header lines such as 'From:'")
        for count, _ in enumerate(mail.walk()):
            if count > 10_000:
                raise InputError("more than 10,000 parts in one letter; left out")
    except (MessageError, LookupError, ValueError, AttributeError, TypeError) as error:
        raise InputError(f"damaged: not a readable e-mail ({error})") from None
    except RecursionError:
        raise InputError("its parts are nested too deeply") from None
    return mail


def _payload(part: Message) -> bytes:
    """The part's bytes with base64 and quoted-printable undone, as far as they are whole."""
    try:
        found = part.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError, TypeError):
        found = str(part.get_payload()).encode("utf-8", "surrogateescape")
    return found if isinstance(found, bytes) else b""


def _charset(part: Message) -> str | None:
    """The character set that the part states, whether Python knows it or not."""
    stated = part.get_param("charset")
    return stated[2] if isinstance(stated, tuple) else stated


class _Parts:
    """What a letter is made of: pieces of its body, pictures in it, attachments."""

    def __init__(self, encoding: str) -> None:
        self.body: list[str] = []
        self.pictures: list[str] = []
        self.attachments: list[Member] = []
        self.notes: list[str] = []
        self._encoding = encoding
        self._names: set[str] = set()

    def walk(self, part: Message) -> None:
        """Takes the part in, with all below it."""
        kind = part.get_content_type()
        if kind == "message/rfc822" and part.is_multipart():
            inner = part.get_payload(0)
            if isinstance(inner, Message):
                self._attach(part, inner.as_bytes(), header(inner, "Subject") or "mail", ".eml")
        elif kind == "multipart/alternative":
            self._alternative(part)
        elif part.is_multipart():
            for one in _below(part):
                self.walk(one)
        elif kind in _ENCRYPTED:
            self.notes.append("an encrypted part of it is left out")
        elif kind == _TNEF:
            self.notes.append(
                "attachments in Outlook's own format (winmail.dat) are left out; have the letter "
                "sent again as plain text or HTML"
            )
        elif kind not in _LEFT_OUT:
            self._leaf(part, kind)

    def _leaf(self, part: Message, kind: str) -> None:
        named = mail_filename(part)
        attached = part.get_content_disposition() == "attachment"
        is_inside = part.get("Content-ID") or part.get_content_disposition() == "inline"
        if kind.startswith("image/") and not attached and is_inside:
            self.pictures.append(named or kind)
            return
        if kind in {"text/plain", "text/html"} and not attached and not named:
            self.body.append(self._text(part, kind)[0])
            return
        data = _payload(part)
        if data or named:
            self._attach(part, data, named or "attachment", _SUFFIXES.get(kind, ""))

    def _alternative(self, part: Message) -> None:
        """One of several forms of the same text; what hangs on them besides is taken too."""
        texts: dict[str, tuple[str, bool]] = {}
        for one in _below(part):
            inner = one
            while inner.is_multipart() and inner.get_content_type() == "multipart/related":
                pieces = _below(inner)
                for piece in pieces[1:]:
                    self.walk(piece)
                if not pieces:
                    break
                inner = pieces[0]
            kind = inner.get_content_type()
            if kind in {"text/plain", "text/html"}:
                texts.setdefault(kind, self._text(inner, kind))
            else:
                self.walk(inner)
        plain, _ = texts.get("text/plain", ("", False))
        rich, has_table = texts.get("text/html", ("", False))
        is_richer = has_table or _visible(plain) < _MOST_LOST * _visible(rich)
        self.body.append(rich if is_richer and not is_blank(rich) else plain)

    def _text(self, part: Message, kind: str) -> tuple[str, bool]:
        """The part's text, and whether it holds a table."""
        hint = _charset(part)
        if kind == "text/html":
            page = parse_page(_payload(part), self._encoding, hint, whole=True)
            self._note(page.note)
            return page.text, "|---|" in page.text
        decoded = decode_bytes(_payload(part), self._encoding, hint)
        self._note(decoded.note)
        text = decoded.text
        if str(part.get_param("format") or "").casefold() == "flowed":
            text = _unfolded(text, str(part.get_param("delsp") or "").casefold() == "yes")
        return unescape(text) if "&nbsp;" in text else text, False

    def _note(self, note: str | None) -> None:
        if note:
            self.notes.append(note)

    def _attach(self, part: Message, data: bytes, name: str, suffix: str) -> None:
        own = re.split(r"[/\\]", mail_filename(part))[-1].strip(". ")
        name = own or re.sub(r"[/\\]+", "_", name).strip(". ") or "attachment"
        if suffix and "." not in name[-6:]:
            name += suffix
        unique, number = name, 2
        while unique in self._names:
            stem, dot, end = name.rpartition(".")
            unique = f"{stem} ({number}).{end}" if dot else f"{name} ({number})"
            number += 1
        self._names.add(unique)
        self.attachments.append(Member(unique, len(data), partial(bytes, data)))


_SUFFIXES = {
    "text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "application/pdf": ".pdf",
    "message/rfc822": ".eml", "application/json": ".json", "text/markdown": ".md",
}  # fmt: skip


def _below(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [one for one in payload if isinstance(one, Message)] if isinstance(payload, list) else []


def _visible(text: str) -> int:
    return len("".join(text.split()))


def _unfolded(text: str, delete_space: bool) -> str:
    """Lines that a mail program broke for width joined again (RFC 3676)."""
    lines: list[str] = []
    open_line = False
    for line in text.split("\n"):
        quoted = line.startswith(">")
        if open_line and not quoted and line != "-- ":
            lines[-1] += line.removeprefix(" ")
        else:
            lines.append(line if quoted else line.removeprefix(" "))
        open_line = line.endswith(" ") and not quoted and line != "-- "
        if open_line and delete_space:
            lines[-1] = lines[-1][:-1]
    return "\n".join(line.rstrip() for line in lines)


def _letter(mail: Message, parts: _Parts, source: SourceFile) -> Record:
    subject = header(mail, "Subject")
    body = "\n\n".join(text.strip("\n") for text in parts.body if not is_blank(text))
    labels = _LABELS["zh" if detect_language(f"{subject}\n{body}") == "zh" else "en"]
    date = iso_date(mail)
    attached = [member.name for member in parts.attachments]
    values = (
        address_line(mail, "From"), address_line(mail, "To"), address_line(mail, "Cc"),
        (date or header(mail, "Date")).replace("T", " "),
        ", ".join(attached), ", ".join(dict.fromkeys(parts.pictures)),
    )  # fmt: skip
    said = [f"{label}: {value}" for label, value in zip(labels, values, strict=True)]
    top = [line for line, value in zip(said[:4], values[:4], strict=True) if value]
    end = [line for line, value in zip(said[4:], values[4:], strict=True) if value]
    blocks = ["\n".join(top), body, "\n".join(end)] if body or end else []
    metadata: dict[str, Any] = {
        "from": values[0], "to": values[1], "cc": values[2], "subject": subject,
        "message_id": header(mail, "Message-ID"), "attachments": attached,
    }  # fmt: skip
    return Record(
        own_id=None,
        title=subject or source.stem,
        text="\n\n".join(block for block in blocks if block),
        media_type=MEDIA_TYPE,
        metadata={key: value for key, value in metadata.items() if value},
        creation_date=date,
    )
