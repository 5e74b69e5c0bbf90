"""Archives: what is in them is read by name, what would harm is refused by name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib

import pytest

from graphkb.ingest.members import MOST_NESTED
from graphkb.ingest.records import Allowance
from tests.ingest.reading import CASES, by_member, only, read, refused


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes | str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return held.getvalue()


def tarred(*files: tuple[str, bytes], mode: str = "w", encoding: str = "utf-8") -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode, encoding=encoding) as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


def test_each_member_is_a_document_read_by_what_it_is():
    data = zipped(
        ("b/手册.md", "# 水表\n陈明负责水表。"),
        ("a.csv", "id,text\n1,Valve\n2,Seal\n"),
        ("page.html", "<title>T</title><p>Ada leads."),
        ("empty folder/", ""),
    )
    reading = read("docs.zip", data)
    assert [(r.member, r.title, r.text, r.own_id) for r in reading.records] == [
        ("a.csv", "1", "Valve", "1"),
        ("a.csv", "2", "Seal", "2"),
        ("b/手册.md", "水表", "# 水表\n陈明负责水表。", None),
        ("page.html", "T", "Ada leads.", None),
    ]
    assert not reading.refused
    assert not reading.notes


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_archives_are_read_packed_or_not_under_any_archive_name(mode):
    data = tarred(("报告/一.txt", "陈明".encode()), ("./b.txt", b"Ada"), mode=mode)
    for name in ("a.tar", "a.tgz", "a.zip", "archive"):
        assert by_member(read(name, data)) == {"b.txt": "Ada", "报告/一.txt": "陈明"}


@pytest.mark.parametrize(
    ("name", "pack"), [("a.txt.gz", gzip.compress), ("a.txt.bz2", bz2.compress),
                       ("a.txt.xz", lzma.compress)]
)  # fmt: skip
def test_a_packed_file_is_its_one_member(name, pack):
    assert by_member(read(name, pack("陈明负责水表。".encode()))) == {"a.txt": "陈明负责水表。"}


def test_hidden_files_and_excluded_ones_are_left_out_silently():
    data = zipped(
        ("__MACOSX/._a.txt", "x"), (".git/config", "x"), ("d/.DS_Store", "x"), ("~$a.docx", "x"),
        ("draft/a.txt", "draft"), ("a.txt", "Ada"),
    )  # fmt: skip
    assert by_member(read("x/docs.zip", data)) == {"a.txt": "Ada", "draft/a.txt": "draft"}
    for pattern in ("draft/", "x/docs.zip/draft/*"):
        reading = read("x/docs.zip", data, exclude=[pattern])
        assert by_member(reading) == {"a.txt": "Ada"}
        assert not reading.refused


def unmarked(*names: bytes) -> bytes:
    """A zip file whose names are raw bytes without the UTF-8 mark, as Chinese Windows writes it."""
    placed = [f"name{at:02}.txt".encode().ljust(len(name), b"_") for at, name in enumerate(names)]
    data = zipped(*((one.decode(), b"text") for one in placed))
    for one, name in zip(placed, names, strict=True):
        assert len(one) == len(name)
        data = data.replace(one, name)
    return data


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("gbk", ["合同文件/采购合同二零二四.txt", "说明文档.txt"]),
        ("gbk", ["资料\\年度总结报告.txt"]),
        ("utf-8", ["质量手册.txt", "Übersicht.txt"]),
        ("ascii", ["plain-name.txt"]),
    ],
)
def test_names_without_the_utf8_mark_are_decoded(encoding, names):
    reading = read("a.zip", unmarked(*(name.encode(encoding) for name in names)))
    assert sorted(by_member(reading)) == sorted(name.replace("\\", "/") for name in names)


def test_the_encoding_setting_names_the_names_too():
    reading = read("a.zip", unmarked("說明文件.txt".encode("big5")), encoding="big5")
    assert list(by_member(reading)) == ["說明文件.txt"]


def test_a_unicode_path_field_wins_over_the_bytes():
    info = zipfile.ZipInfo("plan.txt")
    name = "计划.txt".encode()
    field = struct.pack("<BL", 1, zlib.crc32(b"plan.txt")) + name
    info.extra = struct.pack("<HH", 0x7075, len(field)) + field
    assert list(by_member(read("a.zip", zipped((info, "text"))))) == ["计划.txt"]


def test_tar_names_in_gbk_are_decoded():
    data = tarred(("采购合同说明文件.txt", b"text"), encoding="gbk")
    assert list(by_member(read("a.tar", data))) == ["采购合同说明文件.txt"]


@pytest.mark.parametrize(
    "name", ["../evil.txt", "a/../../evil.txt", "/etc/passwd", "C:\\evil.txt", "..\\evil.txt"]
)
def test_names_that_lead_out_are_refused(name):
    reading = read("a.zip", zipped((name, "x"), ("ok.txt", "Ada")))
    assert by_member(reading) == {"ok.txt": "Ada"}
    assert list(refused(reading).values()) == ["its name leads out of the archive; left out"]
    if "\\" not in name:
        reading = read("a.tar", tarred((name, b"x"), ("ok.txt", b"Ada")))
        assert by_member(reading) == {"ok.txt": "Ada"}
        assert "leads out" in str(refused(reading))


def test_links_are_refused_in_zip_and_tar():
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    reading = read("a.zip", zipped((link, "/etc/passwd"), ("ok.txt", "Ada")))
    assert refused(reading) == {"a.zip/link.txt": "a link to another file; left out"}
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, kind in (("s", tarfile.SYMTYPE), ("h", tarfile.LNKTYPE), ("d", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert refused(read("a.tar", held.getvalue())) == {
        "a.tar/d": "neither a file nor a folder; left out",
        "a.tar/h": "a link to another file; left out",
        "a.tar/s": "a link to another file; left out",
    }


def test_encrypted_members_are_refused_and_the_others_read():
    data = bytearray(zipped(("secret.txt", "x"), ("ok.txt", "Ada")))
    data[6] |= 1  # the local header's flags
    data[data.index(b"PK\x01\x02") + 8] |= 1
    reading = read("a.zip", bytes(data))
    assert by_member(reading) == {"ok.txt": "Ada"}
    assert refused(reading) == {"a.zip/secret.txt": "encrypted, skipped; remove the password"}


def test_a_damaged_member_costs_itself():
    data = bytearray(zipped(("a.txt", "Ada leads the project. " * 9), ("ok.txt", "Ada")))
    data[40] ^= 0xFF
    reading = read("a.zip", bytes(data))
    assert by_member(reading) == {"ok.txt": "Ada"}
    assert "damaged" in refused(reading)["a.zip/a.txt"]


def test_a_cut_tar_keeps_what_came_before():
    data = tarred(("a.txt", b"Ada"), ("b.txt", b"x" * 5000))[:3000]
    reading = read("a.tar", data)
    assert by_member(reading) == {"a.txt": "Ada"}
    assert any("damaged" in reason for reason in refused(reading).values())


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.gz", "a.bz2", "a.xz"])
def test_what_is_no_archive_says_so(name):
    starts = {"a.zip": b"PK\x03\x04", "a.gz": b"\x1f\x8b", "a.bz2": b"BZh91AY&SY",
              "a.xz": b"\xfd7zXZ\x00", "a.tar": b"\x1f\x8b"}  # fmt: skip
    (reason,) = refused(read(name, starts[name] + b"garbage" * 100)).values()
    assert reason.startswith("damaged or cut off: not a readable")


def test_zip_bombs_are_refused_by_what_their_contents_say():
    data = zipped(("zeros.txt", bytes(60_000_000)))
    (reason,) = refused(read("bomb.zip", data)).values()
    assert "zip bomb" in reason


def test_packed_bombs_are_never_unpacked_beyond_the_limit():
    data = gzip.compress(bytes(5_000_000), 9)
    (reason,) = refused(read("bomb.txt.gz", data, max_file_mb=1)).values()
    assert "larger than input.max_file_mb (1)" in reason


def test_a_tar_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(Allowance, "__init__", lambda self: vars(self).update(
        members=100, bytes=1_000_000))  # fmt: skip
    data = tarred(("a.txt", b"Ada"), ("b.txt", b"x" * 2_000_000), mode="w:gz")
    assert "would unpack to more than" in str(refused(read("a.tar.gz", data)))


def test_the_allowance_is_shared_by_nested_archives(monkeypatch):
    monkeypatch.setattr(Allowance, "__init__", lambda self: vars(self).update(
        members=6, bytes=10**6))  # fmt: skip
    inner = zipped(*((f"{at}.txt", f"text {at}") for at in range(3)))
    reading = read("a.zip", zipped(("1.zip", inner), ("2.zip", inner)))
    assert len(reading.records) == 4
    assert "holds more than" in refused(reading)["a.zip/2.zip"]


def test_archives_in_archives_are_read_to_a_small_depth():
    data: bytes = b"Ada"
    name = "a.txt"
    for depth in range(MOST_NESTED):
        data, name = zipped((name, data)), f"{depth}.zip"
    assert by_member(read(name, data)) == {"1.zip/0.zip/a.txt": "Ada"}
    deeper = read("3.zip", zipped((name, data)))
    assert refused(deeper) == {
        "3.zip/2.zip/1.zip/0.zip": "packed in 3 other containers; unpack it by hand"
    }


def test_large_members_are_refused_with_the_setting():
    reading = read("a.zip", zipped(("big.txt", "x" * 3000), ("ok.txt", "Ada")), max_file_mb=0.002)
    assert by_member(reading) == {"ok.txt": "Ada"}
    assert "input.max_file_mb (0.002)" in refused(reading)["a.zip/big.txt"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_members_with_one_name_the_last_is_read():
    reading = read("a.zip", zipped(("a.txt", "old"), ("a.txt", "new")))
    assert by_member(reading) == {"a.txt": "new"}
    assert reading.notes == ("a.zip/a.txt: held twice; the last one is read",)


def test_packing_in_another_order_changes_nothing():
    files = [("b.txt", "B"), ("a.txt", "A"), ("c/d.txt", "D")]
    assert read("a.zip", zipped(*files)) == read("a.zip", zipped(*reversed(files)))


def test_members_that_cannot_be_read_are_named_with_their_path():
    reading = read("a.zip", zipped(("d/film.mp4", "x"), ("d/blank.txt", " \n"), ("z.txt", "Ada")))
    assert list(refused(reading)) == ["a.zip/d/blank.txt", "a.zip/d/film.mp4"]
    assert "a .mp4 file" in refused(reading)["a.zip/d/film.mp4"]
    assert "no text" in refused(reading)["a.zip/d/blank.txt"]


@pytest.mark.parametrize("name", ["tool.jar", "app.apk", "data.npz"])
def test_programs_that_are_archives_inside_are_refused_as_what_they_are(name):
    assert f"a .{name[-3:]} file" in str(refused(read(name, zipped(("a.txt", "Ada")))))


def test_an_empty_archive_says_so():
    assert "an empty archive" in str(refused(read("a.zip", zipped())))


def test_pages_of_a_packed_document_are_kept():
    data = (CASES / "pdf/two_column.pdf").read_bytes()
    alone = only(read("a.pdf", data))
    packed = only(read("a.zip", zipped(("d/a.pdf", data))))
    assert packed.page_starts == alone.page_starts
    assert packed.text == alone.text
    assert (packed.member, packed.title) == ("d/a.pdf", alone.title)
