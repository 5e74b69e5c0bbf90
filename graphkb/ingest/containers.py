"""Zip containers opened within limits: Office documents, books and archives are such files."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from dataclasses import dataclass

from graphkb.errors import InputError

_BROKEN_ARCHIVE = (
    zipfile.BadZipFile, EOFError, IndexError, NotImplementedError, OSError, ValueError,
    struct.error,
)  # fmt: skip
# What reading a damaged or encrypted member can raise.
BROKEN_MEMBER = (*_BROKEN_ARCHIVE, RuntimeError, lzma.LZMAError, zlib.error)
_ENCRYPTED = 0x1
_SUFFIXES = (
    ".zip", ".tar", ".tgz", ".tbz2", ".txz", ".gz", ".bz2", ".xz", ".eml", ".mbox", ".mhtml",
    ".mht",
)  # fmt: skip
# What is smaller unpacked harms nobody, however well it is packed.
_HARMLESS_MB = 50


@dataclass(frozen=True)
class ZipLimits:
    """What an archive may hold: ``members``, megabytes unpacked, times its packed size."""

    members: int = 20_000
    total_mb: float = 1_000
    ratio: float = 200


def is_container_name(name: str) -> bool:
    """True for names of archives and mails, whose members are documents of their own.

    >>> is_container_name("Letters.ZIP"), is_container_name("letters.docx")
    (True, False)
    """
    return name.lower().endswith(_SUFFIXES)


def open_zip(data: bytes, limits: ZipLimits | None = None) -> zipfile.ZipFile:
    """The archive, its table of contents read and checked, nothing unpacked yet.

    Raises InputError for what is no readable zip file and for what would unpack to more than
    ``limits``. Sizes are those the table of contents gives; :func:`read_member` never unpacks
    more of a member than that.
    """
    limits = limits or ZipLimits()
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN_ARCHIVE as error:
        raise InputError(
            f"damaged or cut off: not a readable zip container ({error}); save or download it again"
        ) from None
    members = archive.infolist()
    if len(members) > limits.members:
        raise InputError(f"holds {len(members):,} members, more than {limits.members:,}; split it")
    total_mb = sum(member.file_size for member in members) / 1e6
    packed_mb = max(len(data), 1) / 1e6
    too_dense = total_mb > _HARMLESS_MB and total_mb > limits.ratio * packed_mb
    if total_mb > limits.total_mb or too_dense:
        raise InputError(
            f"would unpack from {packed_mb:,.1f} to {total_mb:,.0f} MB (at most "
            f"{limits.total_mb:,.0f} MB and {limits.ratio:g} times the packed size are unpacked); "
            "left out as a possible zip bomb; split it"
        )
    return archive


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """A member's bytes. Raises InputError where it is damaged, encrypted or packed unknowably."""
    if member.flag_bits & _ENCRYPTED:
        raise InputError(f"{member.filename} in it is encrypted, skipped; remove the password")
    try:
        return archive.read(member)
    except BROKEN_MEMBER as error:
        raise InputError(
            f"damaged: {member.filename} in it cannot be unpacked ({error}); "
            "save or download it again"
        ) from None
