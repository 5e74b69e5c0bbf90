"""GraphRAG's Parquet files of every version are read alike; what cannot be read says why."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from graphrag_output import make_output

from graphkb.errors import InputError, UsageError
from graphkb.importing.graphrag import read_graphrag

FRAMES = ("documents", "text_units", "entities", "relationships", "covariates", "communities")


@pytest.mark.parametrize("version", [0, 1, 3])
def test_every_version_reads_as_version_2(tmp_path: Path, version: int) -> None:
    found = read_graphrag(make_output(version).write(tmp_path / "found"))
    expected = read_graphrag(make_output(2).write(tmp_path / "expected"))
    for name in FRAMES:
        drop = ("metadata", "raw_data", "creation_date")
        one, two = (getattr(graph, name).drop(drop, strict=False) for graph in (found, expected))
        assert one.height
        if name == "communities":  # version 0 names the relationships inside, not the entities
            one, two = (f.with_columns(pl.col("entity_ids").list.sort()) for f in (one, two))
        assert one.equals(two), name
    assert found.community_reports.drop("findings").equals(
        expected.community_reports.drop("findings")
    )


def test_what_a_version_keeps_of_a_row_is_json_without_nulls(tmp_path: Path) -> None:
    output = make_output(2)
    output.tables["documents"][0]["metadata"] = {"tag": None, "page": 3}
    read = read_graphrag(output.write(tmp_path)).documents
    assert read["metadata"].to_list()[:2] == ['{"page": 3}', '{"tag": "sample"}']
    assert read["raw_data"].null_count() == read.height


def test_the_output_is_found_from_its_project_and_from_old_run_folders(tmp_path: Path) -> None:
    root = make_output(2).write_project(tmp_path / "rag")
    assert read_graphrag(root).folder == root / "output"
    assert read_graphrag(root / "output").root == root.resolve()
    old = tmp_path / "old"
    for run in ("20240101-000000", "20240202-000000"):
        make_output(0).write(old / "output" / run / "artifacts")
    graph = read_graphrag(old)
    assert graph.folder == old / "output" / "20240202-000000" / "artifacts"
    assert graph.root == old.resolve()


def test_no_reports_no_communities_and_no_claims_are_no_error(tmp_path: Path) -> None:
    folder = make_output(2).write(tmp_path)
    for name in ("covariates", "communities", "community_reports"):
        (folder / f"{name}.parquet").unlink()
    graph = read_graphrag(folder)
    assert graph.entities.height
    assert not graph.covariates.height
    assert not graph.communities.height
    assert not graph.community_reports.height


def test_columns_of_other_types_are_read_where_they_can_be(tmp_path: Path) -> None:
    output = make_output(2)
    for row in output.tables["relationships"]:
        row["text_unit_ids"] = ",".join(row["text_unit_ids"])
        row["weight"] = str(row["weight"])
    read = read_graphrag(output.write(tmp_path)).relationships
    assert read.equals(read_graphrag(make_output(2).write(tmp_path / "as_usual")).relationships)


def test_descriptions_that_are_lists_are_joined(tmp_path: Path) -> None:
    output = make_output(2)
    for row in output.tables["entities"]:
        row["description"] = [row["description"], "另一句。"]
    read = read_graphrag(output.write(tmp_path)).entities
    assert read["description"][0].endswith("Bluestone.\n另一句。")


def test_rows_without_a_name_are_left_out(tmp_path: Path) -> None:
    output = make_output(2)
    output.tables["entities"][0]["title"] = None
    read = read_graphrag(output.write(tmp_path)).entities
    assert read.height == len(output.tables["entities"]) - 1


def raises(path: Path, kind: type[Exception], *said: str) -> None:
    with pytest.raises(kind) as raised:
        read_graphrag(path)
    message = str(raised.value)
    assert "\n" not in message
    for words in said:
        assert words in message


def test_a_path_that_is_no_folder_is_wrong_usage(tmp_path: Path) -> None:
    raises(tmp_path / "none", UsageError, str(tmp_path / "none"), "no such folder")
    file = tmp_path / "file"
    file.write_text("x")
    raises(file, UsageError, str(file), "is a file")


def test_a_folder_without_parquet_files_says_what_is_expected(tmp_path: Path) -> None:
    raises(tmp_path, InputError, "holds no GraphRAG output", "text_units.parquet")


def test_missing_tables_are_named(tmp_path: Path) -> None:
    folder = make_output(2).write(tmp_path)
    (folder / "relationships.parquet").unlink()
    (folder / "entities.parquet").unlink()
    raises(folder, InputError, "no entities.parquet, relationships.parquet")


@pytest.mark.parametrize("damage", [b"PAR1 and no more", b"", b"{}"])
def test_an_unreadable_file_is_named(tmp_path: Path, damage: bytes) -> None:
    folder = make_output(2).write(tmp_path)
    (folder / "entities.parquet").write_bytes(damage)
    raises(folder, InputError, "entities.parquet: cannot be read as Parquet")


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    output = make_output(2)
    for row in output.tables["entities"]:
        row["label"] = row.pop("title")
    folder = output.write(tmp_path)
    raises(folder, InputError, "entities.parquet: no column 'title' or 'name'", "label")


def test_a_column_of_the_wrong_kind_is_named(tmp_path: Path) -> None:
    output = make_output(2)
    for row in output.tables["text_units"]:
        row["text"] = [row["text"]]
    folder = output.write(tmp_path)
    raises(folder, InputError, "text_units.parquet: column 'text' is List(String), not String")


@pytest.mark.parametrize("name", ["documents", "text_units", "entities"])
def test_an_empty_table_is_named(tmp_path: Path, name: str) -> None:
    folder = make_output(2).write(tmp_path)
    pl.read_parquet(folder / f"{name}.parquet").clear().write_parquet(folder / f"{name}.parquet")
    raises(folder, InputError, f"{name}.parquet: has no rows")


def test_weights_count_as_strengths_from_1_to_10(tmp_path: Path) -> None:
    weights = read_graphrag(make_output(2).write(tmp_path)).relationships["weight"]
    assert weights.max() == pytest.approx(0.9)
    assert re.fullmatch(r"0\.\d+", str(weights.min()))
