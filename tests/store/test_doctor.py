"""What can be wrong with a knowledge base: it is found, said in one line, and mended."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from small import contents, manifest_of, mended, problems, same, the_problem

from graphkb.errors import NotIndexedError, StoreError
from graphkb.pipeline import plan
from graphkb.project import Project
from graphkb.settings import Settings
from graphkb.store.lance import Store
from graphkb.store.manifest import Manifest, write_manifest

Edit = Callable[[str, str, str], Project]
STORED = sorted(name for stage in plan(Settings()) for name in stage.writes)


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
        "lock", "folders", "disk", "manifest", "stages", "tables", "references", "spans", "graph",
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


def test_a_lost_manifest_and_a_lost_table_at_once(kb: Path, edit: Edit) -> None:
    Project(kb).create_snapshot("old")
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    before = contents(project)
    (kb / "output" / "manifest.json").write_text("{")
    shutil.rmtree(kb / "output" / "lancedb" / "entities.lance")
    project = Project(kb)
    mended(project)
    assert same(contents(project), before) == []
    assert "Ada Lin" in str(contents(project.at("old"))["entities"]["title"].to_list())


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


@pytest.mark.parametrize("share", [0.0, 0.5, 0.75])
@pytest.mark.parametrize("name", ["mentions", "search_texts"])
def test_cut_version_files_are_noticed_and_the_table_made_again(
    kb: Path, name: str, share: float
) -> None:
    project = Project(kb)
    before = contents(project)
    for file in (kb / "output" / "lancedb" / f"{name}.lance" / "_versions").glob("*.manifest"):
        file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    found = [f.where for f in problems(Project(kb)) if not f.ok]
    assert str(kb / "output" / "lancedb" / f"{name}.lance") in found
    mended(Project(kb))
    assert same(contents(Project(kb)), before) == []


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


@pytest.mark.parametrize("column", ["text", "char_start"])
def test_a_text_unit_that_is_no_piece_of_its_document_is_found_and_mended(
    kb: Path, column: str
) -> None:
    project = Project(kb)
    before = contents(project)
    changed = pl.lit("她在 1999 年离开。") if column == "text" else pl.col("char_start") + 1
    rewritten(kb, "text_units", lambda frame: frame.with_columns(changed.alias(column)))
    (found,) = [finding for finding in problems(project) if finding.check == "spans"]
    assert found.what.startswith(f"{before['text_units'].height} rows are no piece of their")
    mended(project)
    assert same(contents(project), before) == []


@pytest.mark.parametrize("least", [1, 2, 5])
def test_communities_below_the_smallest_for_a_report_have_none(kb: Path, least: int) -> None:
    project = Project(kb, [f"report.min_size={least}"])
    project.index(embed="off")
    # What counts is what the version was made with.
    for overrides in ([f"report.min_size={least}"], [], ["report.min_size=3"]):
        assert problems(Project(kb, overrides)) == []
    sizes = project.table("communities")["size"]
    assert project.table("community_reports").height == (sizes >= least).sum()


def test_a_community_without_its_report_is_found_and_mended(kb: Path) -> None:
    project = Project(kb)
    before = contents(project)
    manifest = manifest_of(kb)
    rewritten(kb, "community_reports", lambda frame: frame.slice(1))
    counts = {**manifest.counts, "community_reports": manifest.counts["community_reports"] - 1}
    changed = {**manifest_of(kb).__dict__, "counts": counts}
    write_manifest(kb / "output", Manifest(**changed))
    found = [finding for finding in problems(project) if finding.check == "references"]
    assert [finding.what for finding in found] == ["1 rows of communities have none here"]
    mended(project)
    assert same(contents(project), before) == []
