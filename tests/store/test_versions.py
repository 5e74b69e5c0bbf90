"""Kept versions and snapshots: what was readable stays readable, and can be gone back to."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from small import contents, indexed, same

import graphkb
from graphkb.errors import LockedError, StoreError, UsageError
from graphkb.project import Project
from graphkb.store import versions
from graphkb.store.lock import write_lock
from graphkb.store.manifest import read_manifest
from graphkb.store.snapshots import checked_name

Edit = Callable[[str, str, str], Project]


def says(project: Project, question: str) -> str:
    return project.query(question, method="hybrid").text


# --- kept versions ---------------------------------------------------------------------------


def test_a_version_answers_after_its_facts_were_edited_away(kb: Path, edit: Edit) -> None:
    edit("osprey.md", "Ada Lin", "Bo Berg")
    project = edit("公司.md", "杭州", "苏州")
    assert project.status()["version"] == 3
    old = project.at(1)
    assert "Ada Lin" in says(old, "Who leads the Osprey project?")
    assert "Bo Berg" in says(project, "Who leads the Osprey project?")
    assert "杭州" in says(old, "青石公司在哪里？")
    assert "苏州" in says(project, "青石公司在哪里？")
    assert graphkb.open(kb, at="2").status()["version"] == 2
    assert "杭州" not in project.table("entities")["title"].to_list()
    assert "杭州" in old.table("entities")["title"].to_list()


def test_an_old_version_cannot_be_written(kb: Path) -> None:
    old = Project(kb).at(1)
    for act in (old.index, old.compact, lambda: old.restore(1)):
        with pytest.raises(UsageError, match="version 1 is for reading"):
            act()


def test_an_opened_version_that_is_let_go_of_says_so(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project(kb).create_snapshot("基线")
    opened = {"version 1": Project(kb).at(1), "snapshot '基线'": Project(kb).at("基线")}
    assert all(reader.search("Ada Lin") for reader in opened.values())
    edit("osprey.md", "Ada Lin", "Bo Berg")
    assert all("Ada Lin" in says(reader, "Who leads Osprey?") for reader in opened.values())
    monkeypatch.setattr(versions, "KEEP_SECONDS", -1)
    project = edit("公司.md", "杭州", "苏州")
    project.delete_snapshot("基线")
    for what, reader in opened.items():
        for act in (
            lambda reader=reader: reader.search("Ada Lin"),
            lambda reader=reader: reader.query("Who leads Osprey?"),
            lambda reader=reader: reader.table("entities"),
            reader.status,
        ):
            with pytest.raises(UsageError, match=f"^{what} is no longer kept; versions: 3; snap"):
                act()
    # Another snapshot of that name is not the one that was opened.
    project.create_snapshot("基线")
    with pytest.raises(UsageError, match="no longer kept; versions: 3; snapshots: 基线"):
        opened["snapshot '基线'"].search("Ada Lin")


def test_a_stream_of_a_version_that_is_let_go_of_says_so(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project(kb).create_snapshot("基线")
    readers = {
        "version 1": Project(kb).at(1), "snapshot '基线'": Project(kb).at("基线"),
        "version 1 ": Project(kb),
    }  # fmt: skip
    questions = "Who leads Osprey?", "青石公司在哪里？"
    streams = {what: [r.stream(asked) for asked in questions] for what, r in readers.items()}
    edit("osprey.md", "Ada Lin", "Bo Berg")
    monkeypatch.setattr(versions, "KEEP_SECONDS", -1)
    project = edit("公司.md", "杭州", "苏州")
    project.delete_snapshot("基线")
    for what, opened in streams.items():
        for stream in opened:
            with pytest.raises(UsageError, match=f"^{what.strip()} is no longer kept; versions: 3"):
                list(stream)
    assert "Bo Berg" in project.stream("Who leads Osprey?").answer.text


@pytest.mark.parametrize("wanted", ["7", "v9", "没有", "", "1.5", "../kb"])
def test_an_unknown_version_is_answered_with_what_is_there(kb: Path, wanted: str) -> None:
    Project(kb).create_snapshot("基线")
    with pytest.raises(UsageError, match="versions: 1; snapshots: 基线"):
        Project(kb).at(wanted)


def test_superseded_versions_go_after_an_hour_and_their_data_too(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    arrays = read_manifest(kb / "output").graph  # type: ignore[union-attr]
    assert len(list((kb / "output" / "graph").iterdir())) == 2
    monkeypatch.setattr(versions, "KEEP_SECONDS", -1)
    project = edit("osprey.md", "Bo Berg", "Cy Dahl")
    with pytest.raises(UsageError, match="versions: 3;"):
        project.at(2)
    left = [f"graph/{folder.name}" for folder in (kb / "output" / "graph").iterdir()]
    assert left == [read_manifest(kb / "output").graph] != [arrays]  # type: ignore[union-attr]
    folder = kb / "output" / "lancedb" / "documents.lance" / "_versions"
    assert len(list(folder.glob("*.manifest"))) < 6
    assert "Cy Dahl" in says(project, "Who leads the Osprey project?")


def test_a_version_older_than_an_hour_is_kept_for_an_hour_after_the_next(
    kb: Path, edit: Edit
) -> None:
    """A reader that opened it a moment before the commit goes on reading, whatever its age."""
    path = kb / "output" / "manifest.json"
    for file in (path, kb / "output" / "manifests" / "1.json"):
        data = json.loads(file.read_text("utf8")) | {"committed_at": "2020-01-01T00:00:00Z"}
        file.write_text(json.dumps(data), "utf8")
    reader = Project(kb)
    reader._current()
    edit("osprey.md", "Ada Lin", "Bo Berg")
    assert "Ada Lin" in says(Project(kb).at(1), "Who leads the Osprey project?")
    assert "Bo Berg" in says(reader, "Who leads the Osprey project?")


def test_at_most_twenty_versions_are_kept(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "KEEP_MOST", 3)
    for number in range(4):
        (kb / "input" / "n.txt").write_text(f"Note {number} about Bluestone.", "utf8")
        project = indexed(kb)
    assert [v for v, _ in versions.manifest_files(kb / "output")] == [5, 4, 3]
    assert "Note 1" in str(project.at(3).table("documents")["text"].to_list())


def test_a_killed_commit_is_not_listed_and_its_number_is_taken_again(kb: Path, edit: Edit) -> None:
    kept = kb / "output" / "manifests"
    (kept / "2.json").write_text((kept / "1.json").read_text("utf8"), "utf8")
    with pytest.raises(UsageError, match="versions: 1;"):
        Project(kb).at(2)
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    assert "Bo Berg" in says(project.at(2), "Who leads the Osprey project?")


def test_a_rebuild_leaves_the_version_before_readable(kb: Path) -> None:
    project = Project(kb)
    before = contents(project)
    assert project.index(embed="off", rebuild=True).version == 2
    assert same(contents(project), before) == []
    assert same(contents(project.at(1)), before) == []
    assert read_manifest(kb / "output").folder == "lancedb.2"  # type: ignore[union-attr]


# --- snapshots -------------------------------------------------------------------------------


def test_a_snapshot_survives_index_runs_compaction_and_a_rebuild(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(Project(kb))
    made = Project(kb).create_snapshot("v1.0", "before the edits")
    assert (made.name, made.version, made.note, made.automatic) == (
        "v1.0", 1, "before the edits", False
    )  # fmt: skip
    monkeypatch.setattr(versions, "KEEP_SECONDS", -1)
    edit("osprey.md", "Ada Lin", "Bo Berg")
    edit("公司.md", "杭州", "苏州")
    (kb / "input" / "valve.md").unlink()
    project = indexed(kb)
    project.compact()
    project.index(embed="off", rebuild=True)
    project.compact()
    old = project.at("v1.0")
    assert same(contents(old), before) == []
    assert "Ada Lin" in says(old, "Who leads the Osprey project?")
    assert "杭州" in says(old, "青石公司在杭州吗？")
    assert old.search("valve", method="lexical")[0].path == "valve.md"
    assert [snapshot.name for snapshot in project.snapshots()] == ["v1.0"]


def test_a_snapshot_is_made_of_links_and_takes_only_its_own_version(kb: Path, edit: Edit) -> None:
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    project.create_snapshot("two")
    tables = kb / "output" / "snapshots" / "two" / "lancedb"
    data = [path for path in tables.rglob("*.lance") if path.is_file()]
    assert data
    assert all(path.stat().st_nlink > 1 for path in data)
    for table in tables.iterdir():
        assert len(list((table / "_versions").iterdir())) == 1
    taken = {path.name for path in (tables / "documents.lance" / "data").iterdir()}
    there = {p.name for p in (kb / "output" / "lancedb" / "documents.lance" / "data").iterdir()}
    assert taken < there


def test_where_links_cannot_be_made_files_are_copied(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    before = contents(Project(kb))
    monkeypatch.setattr(os, "link", refused)
    project = Project(kb)
    project.create_snapshot("copied")
    files = (kb / "output" / "snapshots" / "copied").rglob("*.lance")
    assert all(path.stat().st_nlink == 1 for path in files if path.is_file())
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    project.restore("copied")
    assert same(contents(project), before) == []


def test_a_table_whose_manifest_names_no_files_is_taken_whole(
    kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should Lance write its manifests another way, a snapshot is larger but never broken."""
    from graphkb.store import links

    def nothing(table: Path, version: int) -> Callable[[Path], bool]:
        name = f"{2**64 - 1 - version}.manifest"
        return lambda path: path.name == name

    monkeypatch.setattr(links, "_named_in", nothing)
    project = Project(kb)
    project.create_snapshot("whole")
    assert same(contents(project.at("whole")), contents(project)) == []


@pytest.mark.parametrize(
    "name", ["v1.0", "三月 基线", "naïve", "a" * 120, "é", "-x"[1:], "2024-05"]
)
def test_names_in_any_script(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", " ", ".", "..", ".x", "a/b", "a\\b", "a\x00", "a\nb", "a" * 121, "基" * 41, "12", "x.",
     " x", "x ", "con", "NUL.txt", "a:b", "-x", "\u202ex"],
)  # fmt: skip
def test_names_that_no_folder_should_have(kb: Path, name: str) -> None:
    with pytest.raises(UsageError, match="snapshot name"):
        Project(kb).create_snapshot(name)
    assert not (kb / "output" / "snapshots").exists()


def test_a_name_is_taken_once_and_free_again_after_deletion(kb: Path) -> None:
    project = Project(kb)
    project.create_snapshot("Base")
    for name in ("Base", "base"):
        with pytest.raises(UsageError, match="exists already"):
            project.create_snapshot(name)
    project.delete_snapshot("Base")
    assert list((kb / "output" / "snapshots").iterdir()) == []
    with pytest.raises(UsageError, match="no snapshot 'Base'; there are: none"):
        project.delete_snapshot("Base")
    project.create_snapshot("base")


def test_a_snapshot_of_an_older_version_and_of_a_snapshot(kb: Path, edit: Edit) -> None:
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    project.at(1).create_snapshot("one")
    project.at("one").create_snapshot("one again")
    project.delete_snapshot("one")
    assert "Ada Lin" in says(project.at("one again"), "Who leads the Osprey project?")


def test_while_an_index_run_is_active_nothing_is_made_or_removed(kb: Path) -> None:
    project = Project(kb)
    project.create_snapshot("a")
    with write_lock(kb / "output"):
        for act in (
            lambda: project.create_snapshot("b"),
            lambda: project.delete_snapshot("a"),
            lambda: project.restore("a"),
            project.compact,
        ):
            with pytest.raises(LockedError):
                act()
    assert [snapshot.name for snapshot in project.snapshots()] == ["a"]


# --- restore ---------------------------------------------------------------------------------


def test_a_restore_is_whole_and_can_be_undone(kb: Path, edit: Edit) -> None:
    first = contents(Project(kb))
    Project(kb).create_snapshot("基线")
    (kb / "input" / "valve.md").unlink()
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    second = contents(project)

    done = project.restore("基线")
    assert (done.version, done.source) == (3, "基线")
    assert done.before is not None
    assert (done.before.name, done.before.automatic) == ("before-restore-2", True)
    assert same(contents(project), first) == []
    assert "Ada Lin" in says(project, "Who leads the Osprey project?")
    written = pl.read_parquet(kb / "output" / "documents.parquet")
    assert "valve.md" in written["path"].to_list()
    assert written.equals(project.table("documents"))
    assert project.status()["stale"] is True

    project.restore(done.before.name)
    assert same(contents(project), second) == []
    assert project.status()["stale"] is False
    assert project.index(embed="off").version == 4


def test_after_a_restore_index_goes_on_from_there(kb: Path, edit: Edit) -> None:
    Project(kb).create_snapshot("one")
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    expected = contents(project)
    project.restore("one")
    result = project.index(embed="off")
    assert (result.version, result.changed, result.added, result.removed) == (4, 1, 0, 0)
    assert same(contents(project), expected) == []
    assert same(contents(project.at("one")), contents(project.at(3))) == []


def test_a_kept_version_is_restored_by_number(kb: Path, edit: Edit) -> None:
    first = contents(Project(kb))
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    assert project.restore(1).version == 3
    assert same(contents(project), first) == []


def test_a_reader_goes_on_while_another_version_is_restored(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project(kb).create_snapshot("one")
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    reader = project._current()
    texts = reader.store.read("text_units", ["text"])
    Project(kb).restore("one")
    assert reader.store.read("text_units", ["text"]).equals(texts)
    assert reader.store.search_text(["berg"], 5)
    assert len(reader.graph.search("Bo Berg").hits) > 0
    assert "Ada Lin" in says(project, "Who leads the Osprey project?")
    monkeypatch.setattr(versions, "KEEP_SECONDS", -1)
    edit("公司.md", "杭州", "苏州")
    folders = [path.name for path in (kb / "output").glob("lancedb*")]
    assert folders == ["lancedb.3"]


def test_a_damaged_current_version_does_not_stop_a_restore(kb: Path) -> None:
    project = Project(kb)
    first = contents(project)
    project.create_snapshot("one")
    shutil.rmtree(kb / "output" / "lancedb" / "entities.lance")
    with pytest.raises(StoreError, match="graphkb doctor"):
        contents(Project(kb))
    project = Project(kb)
    assert project.restore("one").before is None
    assert same(contents(project), first) == []


@pytest.mark.parametrize("links", [0, 3, 40])
def test_an_interrupted_snapshot_or_restore_changes_nothing(
    kb: Path, monkeypatch: pytest.MonkeyPatch, links: int
) -> None:
    project = Project(kb)
    before = contents(project)
    project.create_snapshot("one")
    link, made = os.link, []

    def interrupted(*arguments: Path) -> None:
        made.append(arguments)
        if len(made) > links:
            raise KeyboardInterrupt
        link(*arguments)

    for act in (lambda: project.create_snapshot("two"), lambda: project.restore("one")):
        made.clear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "link", interrupted)
            with pytest.raises(KeyboardInterrupt):
                act()
        assert same(contents(Project(kb)), before) == []
        assert "two" not in [snapshot.name for snapshot in project.snapshots()]
        found = [finding for finding in project.doctor() if not finding.ok]
        assert {finding.check for finding in found} <= {"leftovers"}
    project.doctor(repair=True)
    assert [finding for finding in project.doctor() if not finding.ok] == []
    assert project.restore("one").version == 2
    assert same(contents(project), before) == []
