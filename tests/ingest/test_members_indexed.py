"""Members of containers in the whole product: indexed, cited, changed, removed, let in again."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

import graphkb
from graphkb.errors import UsageError
from graphkb.types import IndexResult
from tests import law

CASES = Path(__file__).parents[1] / "data" / "cases"
FILES = {
    "osprey.md": "# Osprey\n\nAda Lin leads the Osprey project at Bluestone. It is in Bergen.\n",
    "公司/简介.txt": "陈明是青石公司的工程师。青石公司在杭州。\n",
}


def zipped(files: dict[str, str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return held.getvalue()


def letter() -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "Ben Roe <ben@example.com>", "Valve"
    mail.set_content("Ben Roe replaced the valve of turbine T-07.")
    mail.add_attachment(b"Northern Seals delivers seals.", "text", "plain", filename="s.txt")
    return mail.as_bytes()


def index(root: Path) -> tuple[graphkb.Project, IndexResult]:
    kb = graphkb.open(root, ["embed.when=off"])
    return kb, kb.index()


def paths(kb: graphkb.Project) -> list[str]:
    return sorted(kb.table("documents")["path"])


@pytest.fixture
def root(project: Path) -> Path:
    (project / "input/docs.zip").write_bytes(zipped(FILES))
    (project / "input/m.eml").write_bytes(letter())
    return project


def test_members_are_found_and_cited_by_their_path(root: Path) -> None:
    kb, result = index(root)
    assert not result.refused
    assert paths(kb) == ["docs.zip/osprey.md", "docs.zip/公司/简介.txt", "m.eml", "m.eml/s.txt"]
    assert kb.search("Who leads the Osprey project?")[0].path == "docs.zip/osprey.md"
    assert kb.search("青石公司在哪里?")[0].path == "docs.zip/公司/简介.txt"
    answer = kb.query("What does Northern Seals deliver?", "hybrid")
    assert answer.citations[0].path == "m.eml/s.txt"
    assert index(root)[1].version == result.version


def test_a_removed_member_stays_out_until_it_is_let_in_again(root: Path) -> None:
    kb, _ = index(root)
    before = law.committed(root)
    kb.remove(["docs.zip/osprey.md"])
    assert "docs.zip/osprey.md" not in paths(kb)
    assert "Ada Lin" not in kb.table("entities")["title"].to_list()
    kb, _ = index(root)
    assert paths(kb) == ["docs.zip/公司/简介.txt", "m.eml", "m.eml/s.txt"]
    kb.remove(["docs.zip/osprey.md"], undo=True)
    assert not law.differences(law.committed(root), before)


@pytest.mark.parametrize(
    ("name", "left"),
    [("docs.zip", ["m.eml", "m.eml/s.txt"]),
     ("m.eml", ["docs.zip/osprey.md", "docs.zip/公司/简介.txt"])],
)  # fmt: skip
def test_removing_a_container_removes_all_in_it(root: Path, name: str, left: list[str]) -> None:
    kb, _ = index(root)
    everything = paths(kb)
    kb.remove([name])
    assert paths(kb) == left
    assert paths(index(root)[0]) == left
    kb.remove([name], undo=True)
    assert paths(kb) == everything
    with pytest.raises(UsageError, match="is no document"):
        kb.remove(["other.zip"])


def test_a_changed_archive_costs_what_changed_and_equals_a_rebuild(
    root: Path, tmp_path: Path
) -> None:
    kb, _ = index(root)
    units = dict(kb.table("text_units").select("id", "human_readable_id").iter_rows())
    changed = {**FILES, "new.txt": "Cho Park runs the Dipper project at Greenfield."}
    changed["osprey.md"] = "# Osprey\n\nMia Roe leads the Osprey project at Bluestone.\n"
    (root / "input/docs.zip").write_bytes(zipped(changed))
    kb, result = index(root)
    assert (result.added, result.changed, result.removed) == (1, 1, 0)
    assert "Ada Lin" not in kb.table("entities")["title"].to_list()
    kept = kb.table("text_units").filter(kb.table("text_units")["id"].is_in(list(units)))
    assert dict(kept.select("id", "human_readable_id").iter_rows()).items() <= units.items()
    fresh = tmp_path / "fresh"
    (fresh / "input").mkdir(parents=True)
    for file in (root / "input").iterdir():
        (fresh / "input" / file.name).write_bytes(file.read_bytes())
    index(fresh)
    assert not law.differences(law.committed(root), law.committed(fresh))


def test_a_deleted_archive_takes_its_members_with_it(root: Path) -> None:
    index(root)
    (root / "input/docs.zip").unlink()
    kb, result = index(root)
    assert paths(kb) == ["m.eml", "m.eml/s.txt"]
    assert result.removed == 2
    assert "青石公司" not in kb.table("entities")["title"].to_list()


def test_what_is_refused_in_an_archive_is_said_in_every_run(root: Path) -> None:
    (root / "input/docs.zip").write_bytes(zipped({**FILES, "film.mp4": "x", "../evil.txt": "x"}))
    for _ in range(2):
        _, result = index(root)
        assert sorted(item.where for item in result.refused) == [
            "docs.zip/../evil.txt", "docs.zip/film.mp4",
        ]  # fmt: skip


def test_the_same_text_in_and_beside_an_archive_is_indexed_once(root: Path) -> None:
    (root / "input/a.md").write_text(FILES["osprey.md"], "utf-8")
    kb, result = index(root)
    assert paths(kb) == ["a.md", "docs.zip/公司/简介.txt", "m.eml", "m.eml/s.txt"]
    assert "docs.zip/osprey.md: same content as a.md, indexed once" in result.warnings
    (root / "input/a.md").unlink()
    assert "docs.zip/osprey.md" in paths(index(root)[0])


def test_case_e11_e09_and_e17_through_the_whole_product(project: Path) -> None:
    for name in ("eml/bad_charset.eml", "html/noise.html", "html/deep_nest.html"):
        (project / "input" / Path(name).name).write_bytes((CASES / name).read_bytes())
    kb, result = index(project)
    assert not result.refused
    text = "\n".join(kb.table("text_units")["text"])
    assert "Ada Lin sent the plan." in text
    assert "Ada Lin leads—since 2019." in text
    assert "SCRIPT_WORD" not in text
    assert "NAV_WORD" not in text


def test_case_b07_a_corrupt_file_is_named_and_the_others_indexed(project: Path) -> None:
    for name in ("pdf_corrupt.pdf", "dups/one.txt"):
        (project / "input" / Path(name).name).write_bytes((CASES / name).read_bytes())
    (project / "input/bad.zip").write_bytes(b"PK\x03\x04 not one")
    (project / "input/bad.epub").write_bytes(b"PK\x03\x04 not one")
    for _ in range(2):
        kb, result = index(project)
        assert paths(kb) == ["one.txt"]
        assert {item.where for item in result.refused} == {"bad.epub", "bad.zip", "pdf_corrupt.pdf"}
