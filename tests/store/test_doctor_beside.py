"""What can be wrong beside the tables: arrays, indexes, files, caches, the lock, the disk."""

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
from small import contents, indexed, manifest_of, mended, problems, same, the_problem

from graphkb.embed.cache import VectorCache
from graphkb.errors import GraphkbError, LockedError, StoreError
from graphkb.project import Project
from graphkb.store import versions
from graphkb.store.lance import Store
from graphkb.store.lock import write_lock
from graphkb.store.manifest import Manifest, write_manifest

Edit = Callable[[str, str, str], Project]


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
        ("weights.npy", lambda path: path.unlink(), "weights.npy: is missing"),
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
    (index,) = [index.name for index in live.list_indices() if index.columns == ["tokens"]]
    live.drop_index(index)
    store._pin("search_texts", live)
    write_manifest(kb / "output", Manifest(**{**manifest.__dict__, "tables": dict(store.tables)}))
    project = Project(kb)
    assert the_problem(project).what == "no full-text index"
    assert [f.repaired for f in problems(project, repair=True)] == ["built"]
    assert problems(project) == []
    assert [hit.path for hit in project.search("青石公司", method="lexical")] == ["公司.md"]


def test_lost_index_files_are_noticed_and_made_again(kb: Path) -> None:
    (folder,) = (kb / "output" / "lancedb" / "search_texts.lance" / "_indices").iterdir()
    (folder / "metadata.lance").unlink()
    project = Project(kb)
    with pytest.raises(StoreError, match=r"search_texts\.lance.*graphkb doctor"):
        project.search("青石公司", method="lexical")
    assert the_problem(project).check == "indexes"
    mended(project)
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
    files = ("manifest.json.12.tmp", ".documents.parquet.tmp", "manifests/9.json",
             "lancedb/documents.lance/data/.tmpAbC")  # fmt: skip
    for stray in files:
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
