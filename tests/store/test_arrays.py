"""Graph arrays: what is lost, cut or foreign is told by file, found by doctor and made again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small import contents, indexed, manifest_of, mended, problems, same, the_problem

from graphkb.errors import GraphkbError, StoreError, UsageError
from graphkb.project import Project
from graphkb.store.arrays import FACTS, array_damage, read_arrays, write_arrays

Edit = Callable[[str, str, str], Project]
Damage = Callable[[Path], None]

THE_LINE = r"run graphkb doctor --repair, then graphkb index$"


def folder_of(root: Path) -> Path:
    return root / "output" / manifest_of(root).graph


def files_of(root: Path) -> list[Path]:
    return sorted(folder_of(root).glob("*.npy"))


def put(path: Path, content: bytes) -> None:
    """Another file in its place: hard links of it stay what they are."""
    path.unlink()
    path.write_bytes(content)


def saved(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    array = change(np.load(path))
    path.unlink()
    np.save(path, array)


def packed(path: Path) -> None:
    array = np.load(path)
    path.unlink()
    with open(path, "wb") as file:
        np.savez(file, array)


DAMAGES: dict[str, Damage] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: put(path, b""),
    "cut in its header": lambda path: put(path, path.read_bytes()[:40]),
    "cut in its last byte": lambda path: put(path, path.read_bytes()[:-1]),
    "with a byte more": lambda path: put(path, path.read_bytes() + b"\0"),
    "no array": lambda path: put(path, b"PK\x03\x04 and so on"),
    "a zip of arrays": packed,
    "a pickle": lambda path: saved(path, lambda array: np.array([{}, array], dtype=object)),
    "longer": lambda path: saved(path, lambda array: np.concatenate([array, np.ones_like(array)])
                                 if len(array) else np.ones(2, array.dtype)),
    "shorter": lambda path: saved(path, lambda array: array[:0] if len(array) else array[None]),
    "of another type": lambda path: saved(path, lambda array: np.zeros(array.shape, np.float16)),
    "of another shape": lambda path: saved(path, lambda array: array[None]),
}  # fmt: skip


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    arrays = {
        "none": np.array([], dtype="S"),
        "no_pairs": np.zeros((0, 2), np.int32),
        "in_columns": np.asfortranarray(np.arange(12_000).reshape(3, 4000)),
        "names": np.array(["青石".encode(), b"Bluestone"]),
        "large": np.arange(50_000, dtype=np.uint64)[::2],
        "one": np.array(3.5),
    }
    relative = write_arrays(tmp_path, arrays)
    read = read_arrays(tmp_path, relative)
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert np.array_equal(read[name], array), name
        assert read[name].dtype == array.dtype
    assert array_damage(tmp_path, relative, content=True) == ""
    assert write_arrays(tmp_path, arrays) == f"{relative}.2"
    assert write_arrays(tmp_path, {**arrays, "one": np.array(3.6)}) not in (
        relative,
        f"{relative}.2",
    )


@pytest.mark.skipif(os.name != "posix", reason="folders are synced on POSIX systems")
def test_arrays_are_on_disk_before_anything_can_name_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync = set(), os.fsync

    def noted(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    relative = write_arrays(tmp_path, {"x": np.arange(3), "y": np.arange(9000)})
    folder = tmp_path / relative
    assert sorted(path.name for path in folder.iterdir()) == [FACTS, "x.npy", "y.npy"]
    for path in (*folder.iterdir(), folder, folder.parent, tmp_path):
        assert path.stat().st_ino in synced, path


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_of_any_array_is_one_line_that_names_it(kb: Path, kind: str) -> None:
    output, relative = kb / "output", manifest_of(kb).graph
    for path in files_of(kb):
        whole = path.read_bytes()
        DAMAGES[kind](path)
        with pytest.raises(StoreError, match=THE_LINE) as raised:
            read_arrays(output, relative)
        assert str(raised.value).startswith(f"{path}: ")
        assert array_damage(output, relative).startswith(f"{path}: ")
        path.unlink(missing_ok=True)
        path.write_bytes(whole)
    assert array_damage(output, relative, content=True) == ""


@pytest.mark.parametrize("kind", ["missing", "empty", "longer"])
def test_no_question_is_answered_from_damaged_arrays(kb: Path, kind: str) -> None:
    DAMAGES[kind](folder_of(kb) / "unit_row.npy")
    project = Project(kb)
    for act in (
        lambda: project.query("Who leads the Osprey project?"),
        lambda: project.query("青石公司在哪里？", method="global"),
        lambda: project.search("Ada Lin"),
    ):
        with pytest.raises(StoreError, match=rf"unit_row\.npy: .*{THE_LINE}"):
            act()
    assert the_problem(project).what.startswith("unit_row.npy: ")
    mended(project)
    assert "Ada Lin" in project.query("Who leads the Osprey project?", method="hybrid").text


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"text": 3}', '{"text": {"dtype": "|u1"}}'])
def test_a_damaged_description_is_damage(kb: Path, text: str) -> None:
    (folder_of(kb) / FACTS).write_text(text)
    with pytest.raises(StoreError, match=rf"arrays\.json: .*{THE_LINE}"):
        Project(kb).search("Ada Lin")
    assert the_problem(Project(kb)).what.startswith("arrays.json: ")
    mended(Project(kb))


def test_a_folder_of_an_older_version_is_read_and_what_it_lacks_is_said(kb: Path) -> None:
    (folder_of(kb) / FACTS).unlink()
    before = [hit.text for hit in Project(kb).search("Ada Lin")]
    assert problems(Project(kb)) == []
    said: dict[str, str] = {}
    for path in files_of(kb):
        whole = path.read_bytes()
        path.unlink()
        try:
            found = [hit.text for hit in Project(kb).search("Ada Lin")]
            assert found == before, path.name
            Project(kb).query("青石公司在哪里？", method="local")
        except GraphkbError as error:
            said[path.name] = str(error)
        path.write_bytes(whole)
    assert len(said) > 20
    for name, line in said.items():
        assert line.startswith(f"{folder_of(kb) / name}: is missing; run graphkb doctor")


def test_rows_that_an_older_version_did_not_have_are_made_from_its_tables(kb: Path) -> None:
    before = Project(kb).query("Who leads the Osprey project?", method="local").text
    (folder_of(kb) / FACTS).unlink()
    for path in files_of(kb):
        if "_row" in path.name or path.stem in ("linked", "linked_indptr", "claim_indptr"):
            path.unlink()
    assert Project(kb).query("Who leads the Osprey project?", method="local").text == before


def test_other_bytes_of_the_right_shape_are_seen_by_doctor(kb: Path) -> None:
    before = contents(Project(kb))
    for name in ("weights", "unit_row"):
        saved(folder_of(kb) / f"{name}.npy", lambda array: array[::-1])
    found = the_problem(Project(kb))
    assert found.where == str(folder_of(kb))
    assert found.what == "other bytes than were written: unit_row.npy, weights.npy"
    mended(Project(kb))
    assert same(contents(Project(kb)), before) == []


def test_no_version_with_the_damaged_arrays_is_kept_by_a_repair(kb: Path) -> None:
    first = manifest_of(kb)
    project = Project(kb)
    project.index(embed="now")
    assert (manifest_of(kb).version, manifest_of(kb).graph) == (2, first.graph)
    saved(folder_of(kb) / "weights.npy", lambda array: array[::-1])
    assert all(not finding.problem for finding in problems(project, repair=True))
    project.index(embed="now")
    for version in (1, 2):
        with pytest.raises(UsageError, match="versions: 3, 4; snapshots: none"):
            project.at(version)
    assert problems(project) == []


def test_an_index_run_with_nothing_to_do_builds_damaged_arrays_again(kb: Path) -> None:
    first = Project(kb).index(embed="off")
    assert (first.version, first.warnings) == (1, ())
    path = folder_of(kb) / "text.npy"
    put(path, path.read_bytes()[:-1])
    again = Project(kb).index(embed="off")
    assert again.version == 2
    (said,) = again.warnings
    assert said.startswith(f"{path}: ")
    assert said.endswith(": the graph arrays were built again")
    assert "Ada Lin" in Project(kb).query("Who leads the Osprey project?", method="hybrid").text
    assert Project(kb).index(embed="off").version == 2


def test_an_index_run_describes_the_arrays_of_an_older_version(kb: Path) -> None:
    (folder_of(kb) / FACTS).unlink()
    assert Project(kb).index(embed="off").warnings == ()
    assert (folder_of(kb) / FACTS).is_file()


def test_damaged_arrays_of_kept_versions_and_snapshots_are_found(kb: Path, edit: Edit) -> None:
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    project.create_snapshot("基线")
    put(kb / "output" / "snapshots" / "基线" / manifest_of(kb).graph / "weights.npy", b"")
    put(kb / "output" / project.at(1)._current().manifest.graph / "text.npy", b"")
    found = {Path(finding.where).name: finding for finding in problems(project)}
    assert found.keys() == {"1.json", "基线"}
    assert "text.npy: cannot be read" in found["1.json"].what
    assert "weights.npy: cannot be read" in found["基线"].what
    repaired = problems(project, repair=True)
    assert [Path(finding.where).name for finding in repaired if finding.problem] == ["基线"]
    project.delete_snapshot("基线")
    assert problems(project) == []


@pytest.mark.parametrize("damage", [lambda array: array[:1], lambda array: array[::-1]])
def test_a_snapshot_with_damaged_arrays_is_not_restored(
    kb: Path, edit: Edit, damage: Callable[[np.ndarray], np.ndarray]
) -> None:
    Project(kb).create_snapshot("one")
    inside = kb / "output" / "snapshots" / "one" / manifest_of(kb).graph
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    saved(inside / "indices.npy", damage)
    before = contents(project)
    with pytest.raises(StoreError, match=r"indices\.npy.*one cannot be restored: .*doctor"):
        project.restore("one")
    assert manifest_of(kb).version == 2
    assert [snapshot.name for snapshot in project.snapshots()] == ["one"]
    assert same(contents(Project(kb)), before) == []
    shutil.rmtree(inside)
    with pytest.raises(StoreError, match="one cannot be restored"):
        project.restore("one")
    assert same(contents(indexed(kb)), before) == []
