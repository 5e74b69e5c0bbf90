"""What can be wrong with a knowledge base: it is found, said in one line, and mended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from small import contents, indexed, same

from graphkb.embed.cache import VectorCache
from graphkb.errors import GraphkbError, LockedError, NotIndexedError, StoreError
from graphkb.pipeline import plan
from graphkb.project import Project
from graphkb.settings import Settings
from graphkb.store import versions
from graphkb.store.lance import Store
from graphkb.store.lock import write_lock
from graphkb.store.manifest import Manifest, read_manifest, write_manifest
from graphkb.upkeep.case import Finding

Edit = Callable[[str, str, str], Project]
STORED = sorted(name for stage in plan(Settings()) for name in stage.writes)


def problems(project: Project, repair: bool = False) -> list[Finding]:
    return [finding for finding in project.doctor(repair) if not finding.ok]


def the_problem(project: Project) -> Finding:
    """The one problem there is; everything a user needs is said in it."""
    found = problems(project)
    assert len(found) == 1, found
    assert found[0].problem
    assert found[0].where
    assert found[0].what
    assert found[0].advice
    return found[0]


def manifest_of(root: Path) -> Manifest:
    manifest = read_manifest(root / "output")
    assert manifest is not None
    return manifest


def mended(project: Project) -> None:
    """Repairs everything, indexes, and is healthy then."""
    found = problems(project, repair=True)
    assert found
    assert not [finding for finding in found if finding.problem]
    project.index(embed="off")
    assert problems(project) == []


def test_a_sound_project_has_no_problems_before_and_after_indexing(
    kb: Path, tmp_path: Path
) -> None:
    (tmp_path / "new" / "input").mkdir(parents=True)
    for repair in (False, True):
        assert problems(Project(tmp_path / "new"), repair) == []
        assert problems(Project(kb), repair) == []
    assert manifest_of(kb).version == 1
    checked = {finding.check for finding in Project(kb).doctor()}
    assert checked == {
        "lock", "folders", "disk", "manifest", "stages", "tables", "references", "graph",
        "indexes", "parquet", "versions", "leftovers",
    }  # fmt: skip


# --- the manifest ----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["", '{"version": 1', "[]", "\x00" * 40, "missing"])
def test_a_damaged_manifest_is_taken_from_its_copy(kb: Path, edit: Edit, damage: str) -> None:
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    before = contents(project)
    path = kb / "output" / "manifest.json"
    path.unlink() if damage == "missing" else path.write_text(damage)
    project = Project(kb)
    with pytest.raises((StoreError, NotIndexedError), match=r"graphkb doctor"):
        project.query("Osprey?")
    assert the_problem(project).check == "manifest"
    mended(project)
    assert same(contents(project), before) == []
    assert project.index(embed="off").version == 2


def test_without_a_copy_the_newest_snapshot_is_restored(kb: Path, edit: Edit) -> None:
    before = contents(Project(kb))
    Project(kb).create_snapshot("基线")
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    (kb / "output" / "manifest.json").write_text("{")
    shutil.rmtree(kb / "output" / "manifests")
    assert "restores snapshot 基线" in the_problem(project).advice
    found = problems(project, repair=True)
    assert [finding.repaired for finding in found if finding.check == "manifest"] == [
        "基线 restored"
    ]
    assert same(contents(project), before) == []
    project.index(embed="off")
    assert "Bo Berg" in project.query("Who leads Osprey?", method="hybrid").text


def test_without_copy_or_snapshot_the_way_out_is_a_rebuild(kb: Path) -> None:
    project = Project(kb)
    before = contents(project)
    (kb / "output" / "manifest.json").write_text("{")
    shutil.rmtree(kb / "output" / "manifests")
    assert "--rebuild" in the_problem(project).advice
    assert problems(project, repair=True)[0].problem
    with pytest.raises(StoreError, match="--rebuild"):
        project.index(embed="off")
    project.index(embed="off", rebuild=True)
    assert same(contents(project), before) == []
    assert problems(project) == []


# --- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STORED)
def test_a_lost_table_is_made_again_and_equals_an_undamaged_one(kb: Path, name: str) -> None:
    project = Project(kb)
    before = contents(project)
    folder = kb / "output" / "lancedb" / f"{name}.lance"
    shutil.rmtree(folder)
    project = Project(kb)
    found = [finding for finding in problems(project) if finding.check == "tables"]
    assert [(f.where, f.what) for f in found] == [(str(folder), "the table's folder is missing")]
    with pytest.raises(StoreError, match=rf"{name}\.lance.*graphkb doctor"):
        project.table(name)
    found = problems(project, repair=True)
    assert not [finding for finding in found if finding.problem]
    with pytest.raises(NotIndexedError, match=rf"{name} must be made again.*graphkb index"):
        project.query("Osprey?")
    assert {finding.check for finding in problems(project)} >= {"stages"}
    project.index(embed="off")
    assert same(contents(project), before) == []
    assert problems(project) == []


def test_all_tables_lost_at_once(kb: Path) -> None:
    project = Project(kb)
    before = contents(project)
    shutil.rmtree(kb / "output" / "lancedb")
    project = Project(kb)
    mended(project)
    assert same(contents(project), before) == []


@pytest.mark.parametrize("part", ["data", "_versions"])
@pytest.mark.parametrize("act", ["empty", "remove"])
def test_a_damaged_table_is_moved_aside_and_made_again(kb: Path, part: str, act: str) -> None:
    project = Project(kb)
    before = contents(project)
    folder = kb / "output" / "lancedb" / "entities.lance" / part
    for path in folder.iterdir():
        path.write_bytes(b"") if act == "empty" else path.unlink()
    project = Project(kb)
    assert {f.where for f in problems(project) if f.check == "tables"} == {str(folder.parent)}
    mended(project)
    assert same(contents(project), before) == []
    project.compact()
    assert not list((kb / "output").rglob("*.corrupt*"))


def test_lost_vectors_are_made_again_from_the_cache(kb: Path) -> None:
    project = Project(kb)
    project.index(embed="now")
    before = contents(project)
    assert before["vectors"].height
    shutil.rmtree(kb / "output" / "lancedb" / "vectors.lance")
    project = Project(kb)
    assert the_problem(project).where.endswith("vectors.lance")
    problems(project, repair=True)
    assert "Ada Lin" in project.query("Who leads Osprey?", method="hybrid").text
    project.index(embed="now")
    assert same(contents(project), before) == []
    assert problems(project) == []


def test_a_lost_list_of_removed_documents_is_taken_from_a_snapshot(kb: Path) -> None:
    project = Project(kb, ["embed.when=off"])
    project.remove(["valve.md"])
    before = contents(project)
    project.create_snapshot("without the valve")
    folder = kb / "output" / "lancedb" / "removals.lance"
    shutil.rmtree(folder)
    project = Project(kb)
    repaired = [f.repaired for f in problems(project, repair=True) if f.where == str(folder)]
    assert repaired == ["taken from another version, 1 rows; run graphkb index"]
    project.index(embed="off")
    assert same(contents(project), before) == []
    assert problems(project) == []

    project.delete_snapshot("without the valve")
    shutil.rmtree(kb / "output" / "lancedb" / "removals.lance")
    repaired = [f.repaired for f in problems(project, repair=True) if f.where == str(folder)]
    assert repaired[0].startswith("no other version has it")
    project.index(embed="off")
    assert "valve.md" in project.table("documents")["path"].to_list()
    assert problems(project) == []


def rewritten(root: Path, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Commits another content of one table, with the counts left as they were."""
    manifest = manifest_of(root)
    store = Store(root / "output", manifest.tables, manifest.folder)
    store.write(name, change(store.read(name)))
    store.index(name)
    write_manifest(root / "output", Manifest(**{**manifest.__dict__, "tables": dict(store.tables)}))


@pytest.mark.parametrize("name", ["text_units", "entities", "relationships", "communities"])
def test_missing_rows_are_noticed_and_made_again(kb: Path, name: str) -> None:
    project = Project(kb)
    before = contents(project)
    rewritten(kb, name, lambda frame: frame.slice(1))
    found = [f.what for f in problems(project) if f.check == "tables"]
    rows = before[name].height
    assert found == [f"has {rows - 1} rows, the manifest says {rows}"]
    mended(project)
    assert same(contents(project), before) == []


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("mentions", "entity_id", "nobody"),
        ("mentions", "text_unit_id", "nothing"),
        ("nodes", "entity_id", "nobody"),
        ("nodes", "community", 77),
        ("relationships", "source_id", "nobody"),
        ("relationships", "text_unit_ids", ["nothing"]),
        ("communities", "children", [77]),
        ("community_reports", "community", 77),
        ("search_texts", "id", "nothing"),
        ("relationship_evidence", "text_unit_id", "nothing"),
    ],
)
def test_ids_that_point_nowhere_are_named_and_mended(
    kb: Path, name: str, column: str, value: object
) -> None:
    project = Project(kb)
    before = contents(project)

    def broken(frame: pl.DataFrame) -> pl.DataFrame:
        values = [value, *frame[column].to_list()[1:]]
        return frame.with_columns(pl.Series(column, values, dtype=frame.schema[column]))

    rewritten(kb, name, broken)
    found = [f for f in problems(project) if f.check == "references"]
    assert f"{name}.{column}" in [f.where for f in found]
    shown = str(value[0] if isinstance(value, list) else value)
    assert any(shown in f.what for f in found)
    mended(project)
    assert same(contents(project), before) == []


# --- beside the tables -----------------------------------------------------------------------


def only_folder(base: Path) -> Path:
    (folder,) = base.iterdir()
    return folder


def test_deleted_graph_arrays_are_made_again(kb: Path) -> None:
    project = Project(kb)
    before = contents(project)
    expected = [hit.path for hit in project.search("Ada Lin", method="graph")]
    shutil.rmtree(kb / "output" / "graph")
    project = Project(kb)
    with pytest.raises(StoreError, match="graphkb doctor"):
        project.query("Osprey?")
    assert the_problem(project).check == "graph"
    problems(project, repair=True)
    with pytest.raises(StoreError, match="graph arrays are not made; run graphkb index"):
        project.query("Osprey?")
    project.index(embed="off")
    assert problems(project) == []
    assert same(contents(project), before) == []
    assert [hit.path for hit in Project(kb).search("Ada Lin", method="graph")] == expected


@pytest.mark.parametrize(
    ("file", "damage", "said"),
    [
        ("weights.npy", lambda path: path.unlink(), "missing: weights.npy"),
        ("indptr.npy", lambda path: path.write_bytes(b"x"), "cannot be read"),
        ("indptr.npy", lambda path: np.save(path, np.zeros(3, np.int64)), "indptr.npy"),
        ("unit_ids.npy", lambda path: np.save(path, np.array([b"a", b"b", b"c"])), "unit_ids.npy"),
        ("strength.npy", lambda path: np.save(path, np.zeros(1)), "strength.npy"),
    ],
)
def test_each_kind_of_array_damage_is_seen(
    kb: Path, file: str, damage: Callable[[Path], None], said: str
) -> None:
    damage(only_folder(kb / "output" / "graph") / file)
    project = Project(kb)
    found = the_problem(project)
    assert (found.check, said in found.what) == ("graph", True), found
    mended(project)


def test_a_missing_full_text_index_is_built(kb: Path) -> None:
    manifest = manifest_of(kb)
    store = Store(kb / "output", manifest.tables, manifest.folder)
    live = store._writable("search_texts")
    live.drop_index("tokens_idx")
    store._pin("search_texts", live)
    write_manifest(kb / "output", Manifest(**{**manifest.__dict__, "tables": dict(store.tables)}))
    project = Project(kb)
    assert the_problem(project).what == "no full-text index"
    assert [f.repaired for f in problems(project, repair=True)] == ["built"]
    assert problems(project) == []
    assert [hit.path for hit in project.search("青石公司", method="lexical")] == ["公司.md"]


@pytest.mark.parametrize("damage", ["missing", "truncated", "old"])
def test_parquet_out_of_step_is_written_again(kb: Path, edit: Edit, damage: str) -> None:
    path = kb / "output" / "documents.parquet"
    before = path.read_bytes()
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(before if damage == "old" else before[:100])
    assert the_problem(project).what == "missing, damaged or out of step: documents"
    problems(project, repair=True)
    assert problems(project) == []
    assert pl.read_parquet(path).equals(project.table("documents"))
    project = Project(kb, ["parquet=off"])
    path.unlink()
    assert problems(project) == []


@pytest.mark.parametrize("size", [0, 5000])
def test_a_corrupt_cache_is_moved_aside(kb: Path, size: int) -> None:
    cache = VectorCache(kb / "cache")
    cache.put([f"key{n}" for n in range(200)], np.ones((200, 8), np.float32))
    cache.close()
    path = kb / "cache" / "vectors.sqlite"
    data = bytearray(path.read_bytes())
    data[size : size + 4000] = b"\x07" * 4000
    path.write_bytes(bytes(data))
    project = Project(kb)
    found = the_problem(project)
    assert (found.check, found.where) == ("caches", str(path))
    with pytest.raises(StoreError, match=r"vectors\.sqlite.*graphkb doctor"):
        project.index(embed="now")
    problems(project, repair=True)
    assert (kb / "cache" / "vectors.sqlite.corrupt").stat().st_size == len(data)
    assert project.index(embed="now").counts["vectors"] == 3
    assert problems(project) == []


def test_leftovers_of_killed_runs_are_named_and_removed(kb: Path) -> None:
    output = kb / "output"
    (output / "snapshots").mkdir()
    strays = ["lancedb.9", "graph/stray", "snapshots/.half.12.tmp"]
    for stray in strays:
        (output / stray).mkdir()
    for stray in ("manifest.json.12.tmp", ".documents.parquet.tmp", "manifests/9.json"):
        (output / stray).write_text("x")
        strays.append(stray)
    project = Project(kb)
    found = problems(project)
    assert {finding.where for finding in found} == {str(output / stray) for stray in strays}
    assert {finding.check for finding in found} == {"leftovers"}
    problems(project, repair=True)
    assert not [stray for stray in strays if (output / stray).exists()]
    assert problems(project) == []


def test_unreadable_kept_versions_are_forgotten_and_snapshots_named(kb: Path, edit: Edit) -> None:
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    project.create_snapshot("好的")
    project.create_snapshot("坏的")
    shutil.rmtree(kb / "output" / "snapshots" / "坏的" / "lancedb" / "nodes.lance")
    shutil.rmtree(kb / "output" / project.at(1)._current().manifest.graph)
    found = {Path(finding.where).name: finding for finding in problems(project)}
    assert found.keys() == {"1.json", "坏的"}
    assert found["坏的"].advice == "graphkb snapshot delete 坏的"
    repaired = {Path(f.where).name: f.problem for f in problems(project, repair=True)}
    assert repaired == {"1.json": False, "坏的": True}
    project.delete_snapshot("坏的")
    assert problems(project) == []


def test_who_holds_the_lock_and_who_left_it(kb: Path) -> None:
    project = Project(kb)
    with write_lock(kb / "output"):
        lock = project.doctor()[0]
        assert lock.ok
        assert f"held by pid {os.getpid()}" in lock.what
        with pytest.raises(LockedError):
            project.doctor(repair=True)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from graphkb.store.lock import write_lock\n"
        "with write_lock(Path(sys.argv[1])): os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(kb / "output")], check=False)
    assert done.returncode == -signal.SIGKILL
    lock = project.doctor()[0]
    assert lock.ok
    assert "was killed" in lock.what
    assert project.doctor(repair=True)[0].repaired == "removed"
    assert project.doctor()[0].what == "free"


def test_folders_that_cannot_be_written(kb: Path) -> None:
    shutil.rmtree(kb / "cache", ignore_errors=True)
    (kb / "cache").write_text("a file")
    found = the_problem(Project(kb))
    assert (found.check, found.where) == ("folders", str(kb / "cache"))


def test_a_full_disk_is_said(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type(shutil.disk_usage(kb))(100, 99, 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    found = the_problem(Project(kb))
    assert (found.check, found.advice) == ("disk", "make room, or run graphkb compact")


def test_every_error_of_a_damaged_store_names_the_doctor(kb: Path) -> None:
    for path in (kb / "output" / "lancedb").rglob("*"):
        if path.is_file():
            path.write_bytes(b"")
    project = Project(kb)
    for act in (
        lambda: project.query("Osprey?"),
        lambda: project.search("Osprey"),
        lambda: project.table("entities"),
        lambda: project.create_snapshot("x"),
        lambda: project.index(embed="off"),
        project.graph,
        project.compact,
    ):
        with pytest.raises(GraphkbError, match="graphkb doctor"):
            act()
    assert not list((kb / "output").rglob("*.tmp"))


def test_a_copied_output_of_yesterday_still_repairs(kb: Path, edit: Edit) -> None:
    """Kept copies go when versions expire, but never that of the current one."""
    versions_before = versions.manifest_files(kb / "output")
    assert [number for number, _ in versions_before] == [1]
    data = json.loads((kb / "output" / "manifest.json").read_text("utf8"))
    data["committed_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(0))
    for path in (kb / "output" / "manifest.json", kb / "output" / "manifests" / "1.json"):
        path.write_text(json.dumps(data), "utf8")
    indexed(kb)
    Project(kb).compact()
    (kb / "output" / "manifest.json").write_text("")
    mended(Project(kb))


def test_quick_check_leaves_a_database_in_use_alone(kb: Path) -> None:
    (kb / "cache").mkdir(exist_ok=True)
    with sqlite3.connect(kb / "cache" / "vectors.sqlite") as database:
        database.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB)")
        database.execute("BEGIN IMMEDIATE")
        assert problems(Project(kb)) == []
    database.close()
