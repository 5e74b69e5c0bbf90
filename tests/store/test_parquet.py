"""Parquet files follow the store: written when their tables changed, caught up after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import graphkb
from graphkb import pipeline
from graphkb.errors import StoreError
from graphkb.store import parquet
from graphkb.tables import PARQUET, TABLES
from graphkb.types import IndexResult

OPTIONS = ["embed.when=off"]
FILES = {"a.txt": "Ada Lin met Bo Chen in Lisbon.", "b.txt": "陈明在杭州会见王芳。"}


def put(root: Path, files: dict[str, str]) -> None:
    (root / "input").mkdir(exist_ok=True)
    for name, text in files.items():
        (root / "input" / name).write_text(text, "utf-8")


def index(root: Path) -> IndexResult:
    return graphkb.open(root, OPTIONS).index()


def written(root: Path) -> dict[str, int]:
    return {name: (root / "output" / f"{name}.parquet").stat().st_mtime_ns for name in PARQUET}


def equal_to_the_tables(root: Path) -> None:
    kb = graphkb.open(root, OPTIONS)
    for name, columns in PARQUET.items():
        frame = pl.read_parquet(root / "output" / f"{name}.parquet")
        assert frame.equals(kb.table(name)), name
        assert frame.columns == columns


def test_files_are_written_when_their_tables_changed(project: Path) -> None:
    put(project, FILES)
    index(project)
    equal_to_the_tables(project)
    first = written(project)
    index(project)
    assert written(project) == first
    put(project, {"c.txt": "nothing of note happened here."})
    index(project)
    equal_to_the_tables(project)
    second = written(project)
    assert second["documents"] != first["documents"]
    assert second["covariates"] == first["covariates"]
    (project / "output" / "entities.parquet").unlink()
    index(project)
    equal_to_the_tables(project)


def test_a_run_killed_between_commit_and_parquet_is_caught_up(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, FILES)
    index(project)
    put(project, {"a.txt": "Bo Chen left Lisbon."})

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "write_parquet", killed)
        with pytest.raises(KeyboardInterrupt):
            index(project)
    assert "Ada Lin" in repr(pl.read_parquet(project / "output" / "entities.parquet"))
    result = index(project)
    assert (result.added, result.changed, result.removed) == (0, 0, 0)
    equal_to_the_tables(project)
    assert "Ada Lin" not in repr(pl.read_parquet(project / "output" / "entities.parquet"))


def test_a_run_killed_while_files_are_replaced_names_only_those_that_hold(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, FILES)
    index(project)
    first = written(project)
    put(project, {"a.txt": "Bo Chen left Lisbon."})
    output = project / "output"
    whole = parquet.os.replace
    replaced: list[str] = []

    def killed(source: Path, target: Path) -> None:
        if target.suffix == ".parquet":
            if not replaced:
                assert written(project) == first, "a file was replaced before all were written"
                replaced.extend(path.name for path in output.glob(".*.parquet.tmp"))
            else:
                raise KeyboardInterrupt
        whole(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(parquet.os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            index(project)
    assert len(replaced) > 1
    named = json.loads((output / parquet.FILE_NAME).read_text("utf-8"))
    assert not {f".{name}.parquet.tmp" for name in named} & set(replaced)
    assert "covariates" in named
    assert not list(output.glob(".*.tmp"))
    index(project)
    equal_to_the_tables(project)


def test_a_full_disk_leaves_the_files_as_they_were(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, FILES)
    index(project)
    first = written(project)
    put(project, {"a.txt": "Bo Chen left Lisbon."})
    whole = pl.DataFrame.write_parquet

    def full(frame: pl.DataFrame, path: Path, **more: object) -> None:
        if path.name == ".entities.parquet.tmp":
            raise OSError(28, "No space left on device")
        whole(frame, path, **more)

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(StoreError, match=r"entities\.parquet: cannot be written .*No space"):
            index(project)
    assert written(project) == first
    assert not list((project / "output").glob(".*.tmp"))
    index(project)
    equal_to_the_tables(project)


def test_files_made_ahead_are_taken_while_their_tables_are_the_same(project: Path) -> None:
    put(project, FILES)
    index(project)
    output = project / "output"
    kb = graphkb.open(project, OPTIONS)
    tables = {name: kb.table(name) for name in TABLES}
    changed = {"documents", "text_units", "mentions"}
    ahead = parquet.ParquetAhead(output)
    ahead.make(changed, {"mentions"}, tables.__getitem__)
    assert ahead.has("documents", tables.__getitem__)
    assert not ahead.has("documents", tables.__getitem__), "a file is taken once"
    assert not ahead.has("mentions", tables.__getitem__), "its table is not whole"
    assert not ahead.has("covariates", tables.__getitem__), "its table did not change"
    ahead.make(changed, {"mentions"}, tables.__getitem__)
    tables["text_units"] = tables["text_units"].clone()
    assert not ahead.has("documents", tables.__getitem__), "it is of another table"
    ahead.make(changed, set(), tables.__getitem__)
    ahead.close()
    assert not list(output.glob(".*.tmp")), "what nobody took is removed"


def test_a_full_disk_is_told_also_of_a_file_made_ahead(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, FILES)
    index(project)
    kb = graphkb.open(project, OPTIONS)
    tables = {name: kb.table(name) for name in TABLES}

    def full(frame: pl.DataFrame, path: Path, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    ahead = parquet.ParquetAhead(project / "output")
    ahead.make({"mentions"}, set(), tables.__getitem__)
    with pytest.raises(StoreError, match=r"mentions\.parquet: cannot be written .*No space"):
        ahead.has("mentions", tables.__getitem__)
    ahead.close()
