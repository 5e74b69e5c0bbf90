"""What was not read stays a short list, in which nothing hides behind a large archive."""

from __future__ import annotations

import pytest

from graphkb.ingest.containers import is_container_name
from graphkb.ingest.readers import READERS
from graphkb.types import Refused
from graphkb.view.refusals import refused_lines, unread_lines


def members(archive: str, count: int, reason: str) -> list[Refused]:
    return [Refused(f"{archive}/bin/{n:04}.dat", reason) for n in range(count)]


@pytest.mark.parametrize(
    ("archive", "file"), [("mail/backup.zip", "permit.jpg"), ("资料/备份.zip", "许可证.jpg")]
)
def test_a_large_archive_hides_neither_files_nor_other_archives(archive, file):
    refused = [
        *members(archive, 3000, "binary data"),
        *members(archive, 1, "encrypted"),
        *members("z.eml", 2, "binary data"),
        Refused(f"{archive}.d/scan.pdf", "damaged"),
        Refused(file, "needs more memory"),
    ]
    assert refused_lines(refused) == [
        "not read (3,005):",
        f"  {archive}.d/scan.pdf: damaged",
        f"  {file}: needs more memory",
        f"  {archive}/bin/0000.dat, {archive}/bin/0001.dat, {archive}/bin/0002.dat "
        "and 2,997 more: binary data",
        "  z.eml/bin/0000.dat, z.eml/bin/0001.dat: binary data",
        f"  {archive}/bin/0000.dat: encrypted",
    ]


def test_a_few_are_listed_one_by_one_files_first():
    refused = [*members("a.zip", 2, "binary data"), Refused("b.txt", "empty")]
    assert unread_lines(refused) == [
        "b.txt: empty", "a.zip/bin/0000.dat: binary data", "a.zip/bin/0001.dat: binary data",
    ]  # fmt: skip
    assert refused_lines([]) == []


def test_files_keep_their_lines_where_those_of_archives_together_leave_room():
    files = [Refused(f"坏{n}.pdf", "damaged") for n in range(19)]
    lines = unread_lines([*members("a.zip", 9, "binary data"), *files])
    assert lines[:19] == [f"坏{n}.pdf: damaged" for n in range(19)]
    assert lines[19:] == [
        "a.zip/bin/0000.dat, a.zip/bin/0001.dat, a.zip/bin/0002.dat and 6 more: binary data"
    ]


def test_many_files_with_one_reason_are_one_line():
    refused = [Refused(f"图{n}.dat", "a .dat file") for n in range(30)]
    assert unread_lines(refused) == ["图0.dat, 图1.dat, 图2.dat and 27 more: a .dat file"]


def test_the_last_line_counts_files_not_reasons():
    refused = [Refused(f"{n}.txt", f"reason {n // 2}") for n in range(100)]
    lines = unread_lines(refused)
    assert len(lines) == 21
    assert lines[-1] == "… and 60 more (--json lists all)"


def test_every_suffix_of_archives_and_mails_is_a_container():
    packing = {READERS[suffix] for suffix in (".zip", ".tar", ".eml", ".mbox", ".mhtml")}
    for suffix, reader in READERS.items():
        assert is_container_name(f"a{suffix}") == (reader in packing), suffix


def test_what_the_run_before_told_of_is_one_line():
    before = [Refused("a.pdf", "encrypted"), Refused("文件.doc", "an old binary Word document")]
    new = Refused("b.xyz", "a .xyz file")
    assert refused_lines([*before, new], before) == [
        "not read (1):",
        "  b.xyz: a .xyz file",
        "left out as before: 2 (graphkb status lists them)",
    ]
    assert refused_lines(before, before) == ["left out as before: 2 (graphkb status lists them)"]
