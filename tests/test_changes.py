"""Dry runs, removals and changed settings: said before, done exactly, remembered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import graphkb
from graphkb.errors import UsageError
from graphkb.types import IndexResult
from graphkb.view.summary import index_lines


def kb(root: Path, *overrides: str) -> graphkb.Project:
    return graphkb.open(root, ["embed.when=off", *overrides])


@pytest.fixture
def small(project: Path) -> Path:
    folder = project / "input"
    (folder / "a.txt").write_text("Ada Lin leads Bluestone in Riverton.", "utf-8")
    (folder / "乙.txt").write_text("陈明是青石公司的工程师。青石公司位于杭州。", "utf-8")
    rows = '{"id": "r1", "text": "Bo Chen founded Farsail Instruments."}\n' * 1
    rows += '{"id": "r2", "text": "Farsail Instruments sells valves to Bluestone."}\n'
    (folder / "rows.jsonl").write_text(rows, "utf-8")
    kb(project).index()
    return project


def files(root: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_a_dry_run_lists_every_change_and_writes_nothing(small: Path) -> None:
    folder = small / "input"
    (folder / "new.txt").write_text("Carla Mora joined Bluestone.", "utf-8")
    (folder / "a.txt").write_text("Ada Lin leads Bluestone in Portville.", "utf-8")
    (folder / "乙.txt").rename(folder / "丙.txt")
    (folder / "rows.jsonl").write_text('{"id": "r1", "text": "Bo Chen founded Farsail."}\n')
    before = files(small)
    found = kb(small).preview()
    assert files(small) == before
    assert found.added == ("new.txt",)
    assert found.changed == ("a.txt", "rows.jsonl: r1")
    assert found.removed == ("rows.jsonl: r2",)
    assert found.renamed == (("乙.txt", "丙.txt"),)
    assert found.settings_change == ""
    assert found.communities >= 1
    result = kb(small).index()
    assert (result.added, result.changed, result.removed) == (1, 2, 1)
    assert result.renamed == (("乙.txt", "丙.txt"),)
    again = kb(small).preview()
    assert (again.added, again.changed, again.removed, again.text_units) == ((), (), (), 0)


def test_a_dry_run_counts_texts_that_are_not_embedded_yet(small: Path) -> None:
    found = graphkb.open(small).preview()
    assert found.embed_texts == 4
    assert found.embed_tokens > 20


@pytest.mark.parametrize("name", ["乙.txt", "乙"])
def test_a_removed_document_takes_its_facts_with_it_and_stays_out(small: Path, name: str) -> None:
    kb(small).remove([name])
    assert (small / "input" / "乙.txt").exists()
    assert "陈明" not in "".join(kb(small).table("entities")["title"])
    (small / "input" / "other.txt").write_text("Dora Kim writes.", "utf-8")
    kb(small).index()
    (small / "input" / "乙.txt").write_text("陈明升任总监。", "utf-8")
    kb(small).index()
    kb(small).index(rebuild=True)
    assert "乙.txt" not in kb(small).table("documents")["path"].to_list()
    assert kb(small).removed()["path"].to_list() == ["乙.txt"]
    kb(small).remove([name], undo=True)
    assert "乙.txt" in kb(small).table("documents")["path"].to_list()
    assert kb(small).removed().height == 0


def test_one_row_of_a_file_can_be_removed(small: Path) -> None:
    kb(small).remove(["r2"])
    assert sorted(kb(small).table("documents")["id"]) != []
    assert "r2" not in kb(small).table("documents")["id"].to_list()
    assert "r1" in kb(small).table("documents")["id"].to_list()


def test_a_name_that_fits_nothing_changes_nothing(small: Path) -> None:
    version = kb(small).status()["version"]
    with pytest.raises(UsageError, match=r"'nothing\.txt' is no document"):
        kb(small).remove(["a.txt", "nothing.txt"])
    with pytest.raises(UsageError, match="is no removed document"):
        kb(small).remove(["a.txt"], undo=True)
    assert kb(small).status()["version"] == version


@pytest.mark.parametrize(
    ("override", "line", "stages"),
    [
        ("chunks.size=50", "chunks.size 600 → 50", {"cut_documents"}),
        ("report.max_sentences=2", "report.max_sentences 6 → 2", {"write_reports"}),
        ("cluster.max_cluster_size=3", "cluster.max_cluster_size 10 → 3", {"find_communities"}),
    ],
)
def test_changed_settings_are_said_and_rerun_what_they_affect(
    small: Path, override: str, line: str, stages: set[str]
) -> None:
    said: list[str] = []
    overrides = [override] + (["chunks.overlap=10"] if "chunks" in override else [])
    result = kb(small, *overrides).index(on_plan=said.append)
    assert len(said) == 1
    assert line in said[0]
    assert stages <= result.seconds.keys()
    if "report" in override:
        assert "extract_evidence" not in result.seconds
        assert "find_communities" not in result.seconds
    said.clear()
    kb(small, *overrides).index(on_plan=said.append)
    assert said == []


def test_an_index_run_says_which_files_were_renamed(small: Path) -> None:
    folder = small / "input"
    (folder / "乙.txt").rename(folder / "丙.txt")
    (folder / "rows.jsonl").rename(folder / "all rows.jsonl")
    renamed = (("rows.jsonl", "all rows.jsonl"), ("乙.txt", "丙.txt"))
    assert kb(small).preview().renamed == renamed
    result = kb(small).index()
    assert (result.added, result.changed, result.removed, result.renamed) == (0, 0, 0, renamed)
    assert json.loads(json.dumps(result.to_dict()))["renamed"] == [list(pair) for pair in renamed]
    first, *lines = index_lines(result)
    assert first.startswith("version 2: 0 added, 0 changed, 0 removed, 2 renamed in ")
    assert lines[:2] == ["renamed rows.jsonl → all rows.jsonl", "renamed 乙.txt → 丙.txt"]
    again = kb(small).index()
    assert again.renamed == ()
    assert "renamed" not in "\n".join(index_lines(again))


def test_a_copy_cited_in_place_of_another_was_not_renamed(small: Path) -> None:
    folder = small / "input"
    first = folder / "0.txt"
    first.write_bytes((folder / "a.txt").read_bytes())
    assert kb(small).index().renamed == ()
    assert "0.txt" in kb(small).table("documents")["path"].to_list()
    first.unlink()
    assert kb(small).preview().renamed == ()
    assert kb(small).index().renamed == ()
    assert kb(small).diff("2").counts["documents"]["renamed"] == 0


def test_of_many_renamed_files_the_first_are_shown() -> None:
    pairs = tuple((f"旧/{n}.txt", f"新/{n}.txt") for n in range(25))
    lines = index_lines(IndexResult(2, {}, 0, 0, 0, {}, renamed=pairs))
    assert lines[1] == "renamed 旧/0.txt → 新/0.txt"
    assert lines[21] == "… and 5 more renamed (--json lists all)"
