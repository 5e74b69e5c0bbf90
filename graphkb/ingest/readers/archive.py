"""Zip and tar archives and single packed files: every member is a document of its own."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import IO, Protocol

from graphkb.errors import InputError
from graphkb.ingest.containers import open_zip, read_member
from graphkb.ingest.decode import decode_bytes
from graphkb.ingest.members import Member, read_members
from graphkb.ingest.records import Allowance, FileReading, SourceFile
from graphkb.settings_input import Input


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


_UTF8_NAME = 0x800
_ENCRYPTED = 0x1
_UNICODE_PATH = 0x7075
_LINK = "a link to another file; left out"
_OPENERS: dict[bytes, Callable[[IO[bytes]], _Readable]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZ": bz2.BZ2File,
    b"\xfd7": lzma.LZMAFile,
}
_BROKEN = (
    tarfile.TarError, EOFError, OSError, ValueError, IndexError, zlib.error, lzma.LZMAError,
    struct.error,
)  # fmt: skip
_DAMAGED = "damaged or cut off: not a readable archive"


def read_zip(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The members of a zip archive, each by the reader for what it is.

    Names without the UTF-8 mark are decoded like text, so that those of Chinese Windows are
    right. Links and encrypted members are refused by name, see also :func:`read_members`.
    Raises InputError for what is no zip file and for zip bombs.
    """
    archive = open_zip(data)
    infos = [info for info in archive.infolist() if not _is_folder(info)]
    if not infos:
        raise InputError("an empty archive; add files or remove it")
    names = _names([_raw_name(info) for info in infos], options.encoding)
    members = (
        Member(
            name=names[at].replace("\\", "/"),
            size=info.file_size,
            read=partial(read_member, archive, info),
            problem=_zip_problem(info),
        )
        for at, info in enumerate(infos)
    )
    return read_members(source, members, options)


def _is_folder(info: zipfile.ZipInfo) -> bool:
    return info.is_dir() or (info.filename.endswith("\\") and info.file_size == 0)


def _raw_name(info: zipfile.ZipInfo) -> bytes | str:
    """The name where it is known to be Unicode, else its bytes (APPNOTE.TXT 4.4.4, 4.6.9)."""
    if info.flag_bits & _UTF8_NAME:
        return info.filename
    raw = info.orig_filename.partition("\0")[0].encode("cp437", "replace")
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        is_path = kind == _UNICODE_PATH and len(field) > 5 and field[0] == 1
        if is_path and struct.unpack("<L", field[1:5])[0] == zlib.crc32(raw):
            return field[5:].decode("utf-8", "replace")
    return raw


def _names(raw: list[bytes | str], encoding: str) -> list[str]:
    """All names as text. Those in bytes are decoded together: the more, the surer."""
    unknown = [name for name in raw if isinstance(name, bytes)]
    try:
        decoded = decode_bytes(b"\n".join(unknown), encoding).text.split("\n")
    except InputError:
        decoded = []
    if len(decoded) != len(unknown):
        decoded = [name.decode("cp437") for name in unknown]
    rest = iter(decoded)
    return [name if isinstance(name, str) else next(rest) for name in raw]


def _zip_problem(info: zipfile.ZipInfo) -> str:
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        return _LINK
    if info.flag_bits & _ENCRYPTED:
        return "encrypted, skipped; remove the password"
    return ""


def read_tar(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The members of a tar archive, packed by gzip, bzip2 or xz or not at all.

    A packed file that is no archive is its one member. Nothing beyond the allowance is ever
    unpacked. Raises InputError where the archive cannot be read from its first member on.
    """
    opener = _OPENERS.get(data[:2])
    file = io.BytesIO(data)
    allowance = source.allowance or Allowance()
    limited = _Limited(opener(file) if opener else file, allowance.bytes)
    try:
        start = limited.read(512)
    except _BROKEN as error:
        raise InputError(f"{_DAMAGED} ({error}); save or download it again") from None
    whole = _Limited(opener(io.BytesIO(data)) if opener else io.BytesIO(data), allowance.bytes)
    if start[257:262] == b"ustar" or source.suffix in {".tar", ".tgz", ".tbz2", ".txz"}:
        return read_members(source, _tar_members(whole, options.encoding), options)
    name = re.sub(r"(?i)\.(?:gz|bz2|xz)$", "", PurePosixPath(source.path).name)
    most = int(options.max_file_mb * 1_000_000)
    try:
        unpacked = whole.read(most + 1)
    except _BROKEN as error:
        raise InputError(f"{_DAMAGED} ({error}); save or download it again") from None
    member = Member(name or "file", len(unpacked), lambda: unpacked)
    return read_members(source, [member], options)


class _Limited(io.RawIOBase):
    """A file that gives at most so many bytes, then says that there are too many."""

    def __init__(self, file: _Readable, most: int) -> None:
        self._file, self._left, self._most = file, most, most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise InputError(
                f"would unpack to more than {self._most / 1e6:,.0f} MB; left out as a possible "
                "bomb; split it"
            )
        return data


def _tar_members(file: _Limited, encoding: str) -> Iterator[Member]:
    try:
        archive = tarfile.TarFile.open(
            fileobj=file, mode="r|", encoding="utf-8", errors="surrogateescape"
        )
    except _BROKEN as error:
        raise InputError(f"{_DAMAGED} ({error}); save or download it again") from None
    with archive:
        while True:
            try:
                info = archive.next()
            except _BROKEN as error:
                yield Member("", 0, bytes, f"{_DAMAGED} from here on ({error}); download it again")
                return
            if info is None:
                return
            if not info.isdir():
                yield _tar_member(archive, info, encoding)


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo, encoding: str) -> Member:
    def read() -> bytes:
        try:
            file = archive.extractfile(info)
            return file.read() if file is not None else b""
        except _BROKEN as error:
            raise InputError(f"damaged: it cannot be unpacked ({error})") from None

    problem = ""
    if info.issym() or info.islnk():
        problem = _LINK
    elif not info.isfile():
        problem = "neither a file nor a folder; left out"
    (name,) = _names([info.name.encode("utf-8", "surrogateescape")], encoding)
    return Member(name, info.size, read, problem)
