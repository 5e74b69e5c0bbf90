"""The LanceDB store: what is written comes back, only what changed is touched, search works."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from graphkb.errors import StoreError
from graphkb.store.changes import changed_groups
from graphkb.store.lance import SCALAR_INDEX_ROWS, Store
from graphkb.tables import TABLES, rows


def documents(*pairs: tuple[str, str]) -> pl.DataFrame:
    return rows("documents", [{"id": i, "title": t, "path": f"{i}.txt"} for i, t in pairs])


def test_a_table_reads_back_equal_with_chinese_nulls_and_lists(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    frame = rows(
        "text_units",
        [
            {"id": "b", "text": "陈明是工程师。", "heading_path": ["一", "二"], "index": 0},
            {"id": "a", "text": "Ada Lin", "heading_path": [], "index": 1, "page_start": None},
        ],
    )
    assert store.write("text_units", frame)
    assert store.read("text_units").equals(frame.sort("id"))


def test_writing_the_same_rows_in_another_order_changes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    frame = documents(("a", "A"), ("b", "B"))
    store.write("documents", frame)
    version = store.tables["documents"]
    assert not store.write("documents", frame.reverse())
    assert store.tables["documents"] == version


def test_changed_groups_names_only_what_differs() -> None:
    old = documents(("a", "A"), ("b", "B"), ("c", "C"))
    new = documents(("a", "A"), ("b", "B2"), ("d", "D"))
    assert changed_groups(TABLES["documents"], old, new) == (["b", "c"], ["b", "d"])


def test_a_group_of_which_one_row_differs_is_written_whole() -> None:
    def mentions(*rows: tuple[str, str]) -> pl.DataFrame:
        spans = [(entity, unit, 0, 2, "陈明") for entity, unit in rows]
        table = TABLES["mentions"]
        return table.conform(pl.DataFrame(spans, schema=table.schema, orient="row"))

    old = mentions(("a", "u"), ("b", "u"), ("b", "v"), ("c", "u"))
    new = mentions(("a", "u"), ("b", "u"), ("b", "v"), ("b", "w"), ("d", "u"))
    assert changed_groups(TABLES["mentions"], old, new) == (["b", "c"], ["b", "d"])
    assert changed_groups(TABLES["mentions"], old, mentions()) == (["a", "b", "c"], [])


def test_a_small_change_deletes_and_adds_rows_and_a_pinned_reader_does_not_see_it(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path, {})
    many = [(f"d{i:03}", f"title {i}") for i in range(100)]
    store.write("documents", documents(*many))
    reader = Store(tmp_path, dict(store.tables))
    before = reader.read("documents")
    store.write("documents", documents(*many[1:], ("x' OR '1'='1", "O'BRIEN")))
    after = store.read("documents")
    assert after.height == 100
    assert "x' OR '1'='1" in after["id"].to_list()
    assert "d000" not in after["id"].to_list()
    assert reader.read("documents").equals(before)


def test_rows_beside_an_index_of_ids_are_looked_up_with_it(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    many = [(f"{number:05}", "A") for number in range(SCALAR_INDEX_ROWS)]
    store.write("documents", documents(*many))
    store.index("documents")
    assert store.check_indexes("documents") == ["id"]
    changed = {**dict(many[1:]), "00007": "B", "x": "新"}
    store.write("documents", documents(*changed.items()))
    found = store.where("documents", "id", ["00000", "00007", "00008", "x"], ["id", "title"])
    assert sorted(found.iter_rows()) == [("00007", "B"), ("00008", "A"), ("x", "新")]


def test_quotes_in_ids_select_and_delete_only_their_own_rows(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    evil = "x' OR 1=1 --"
    ids = [evil, "has'quote & #hash%20", *(f"d{i}" for i in range(50))]
    store.write("documents", documents(*((i, i) for i in ids)))
    assert store.where("documents", "id", [evil])["title"].to_list() == [evil]
    store.write("documents", documents(*((i, i) for i in ids if i != evil)))
    assert store.count("documents") == 51


def test_an_unfinished_run_is_rolled_back_before_the_next_write(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    store.write("documents", documents(*((f"d{i}", "t") for i in range(20))))
    committed = dict(store.tables)
    store.write("documents", documents(*((f"d{i}", "t") for i in range(19)), ("half", "done")))
    again = Store(tmp_path, committed)
    again.write("documents", documents(*((f"d{i}", "t") for i in range(20)), ("new", "row")))
    assert sorted(again.read("documents")["id"]) == sorted([*(f"d{i}" for i in range(20)), "new"])


def test_integer_keys_are_updated_in_place(tmp_path: Path) -> None:
    store = Store(tmp_path, {})

    def communities(titles: list[str]) -> pl.DataFrame:
        return rows(
            "communities", [{"id": t, "community": i, "title": t} for i, t in enumerate(titles)]
        )

    store.write("communities", communities([f"c{i}" for i in range(30)]))
    store.write("communities", communities([f"c{i}" for i in range(29)] + ["新"]))
    assert store.read("communities")["title"].to_list()[-1] == "新"
    found = store.where_numbers("communities", "community", [3, 29], ["title"])
    assert sorted(found["title"]) == ["c3", "新"]


@pytest.mark.parametrize("n", [1, 5, 100, 300])
def test_vectors_of_any_number_are_searched_without_an_index(tmp_path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(n, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    frame = pl.DataFrame(
        {
            "id": [f"u{i:03}" for i in range(n)],
            "text_hash": ["h"] * n,
            "language": ["en"] * n,
            "vector": vectors.tolist(),
        },
        schema=TABLES["vectors"].schema,
    )
    store = Store(tmp_path, {})
    store.write("vectors", frame, 8)
    store.index("vectors")
    found = store.search_vector(vectors[0], 3)
    assert found[0][0] == "u000"
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)
    exact = np.sort(vectors @ vectors[0])[::-1][:3]
    assert [score for _, score in found] == pytest.approx(list(exact[: len(found)]), abs=1e-4)


def test_text_search_finds_rows_added_after_the_index_was_built(tmp_path: Path) -> None:
    def texts(pairs: dict[str, str]) -> pl.DataFrame:
        return pl.DataFrame(
            {"id": list(pairs), "tokens": list(pairs.values())},
            schema=TABLES["search_texts"].schema,
        )

    start = {f"u{i}": "filler words here" for i in range(20)} | {"zh": "陈明 工程师 e1043"}
    store = Store(tmp_path, {})
    store.write("search_texts", texts(start))
    store.index("search_texts")
    assert [i for i, _ in store.search_text(["工程师"], 5)] == ["zh"]
    store.write("search_texts", texts(start | {"new": "工程师 c++ 5g no_proxy"}))
    store.index("search_texts")
    assert {i for i, _ in store.search_text(["工程师"], 5)} == {"zh", "new"}
    for token in ("c++", "5g", "no_proxy"):
        assert [i for i, _ in store.search_text([token], 5)] == ["new"]


def test_an_empty_table_answers_with_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    assert store.search_text(["a"], 5) == []
    store.write("search_texts", TABLES["search_texts"].empty())
    store.index("search_texts")
    assert store.search_text(["a"], 5) == []
    assert store.search_vector(np.ones(4, np.float32), 5) == []


def test_a_missing_table_folder_is_one_clear_line(tmp_path: Path) -> None:
    store = Store(tmp_path, {"documents": 1})
    with pytest.raises(StoreError, match=r"documents.*--rebuild"):
        store.read("documents")


def test_a_table_that_is_written_later_is_there_for_whoever_looks(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    frame = TABLES["documents"].empty()
    assert store.write("documents", frame, later=True)
    assert store.has("documents")
    assert not (tmp_path / "lancedb").exists()
    assert store.count("documents") == 0
    assert (tmp_path / "lancedb").exists()
    store.write("text_units", TABLES["text_units"].empty(), later=True)
    assert store.write_next()
    assert not store.write_next()
    assert sorted(store.tables) == ["documents", "text_units"]


def test_tables_are_written_behind_and_are_there_for_whoever_looks(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    frame = documents(("a", "A"), ("b", "乙"))
    store.write("documents", frame, later=True)
    store.write_behind()
    assert store.write_next(), "the database was not open"
    names = ["text_units", "entities", "relationships"]
    for name in names:
        store.write(name, TABLES[name].empty(), later=True)
        store.write_behind()
        assert store.has(name)
        assert store.count(name) == 0
    assert store.tables.keys() == {"documents", *names}
    assert Store(tmp_path, store.tables).read("documents").equals(frame)


def test_nothing_is_written_behind_after_it_was_settled(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    store.write("documents", documents(("a", "甲")))
    names = ["text_units", "entities", "relationships", "mentions"]
    for name in names:
        store.write(name, TABLES[name].empty(), later=True)
    store.write_behind()
    store.settle()
    there = {path.stem for path in store.path.glob("*.lance")}
    assert store.tables.keys() == there
    time.sleep(0.05)
    assert {path.stem for path in store.path.glob("*.lance")} == there


def test_what_goes_wrong_behind_is_said_to_whoever_looks(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    store.write("documents", documents(("a", "A")))
    (store.path / "entities.lance").write_text("in the way", "utf-8")
    store.write("entities", TABLES["entities"].empty(), later=True)
    store.write_behind()
    with pytest.raises(StoreError, match="entities"):
        _ = store.tables


def test_the_client_of_a_rest_catalogue_is_not_loaded_and_is_there_for_others(
    tmp_path: Path,
) -> None:
    code = """
import sys
from pathlib import Path
from graphkb.store.database import connect
connect(Path(sys.argv[1]))
client = "lance_namespace_urllib3_client"
assert "lancedb" in sys.modules and not [name for name in sys.modules if client in name]
from lancedb.db import ListTablesResponse
assert ListTablesResponse(tables=["a"]).tables == ["a"]
from lance_namespace import CreateEmptyTableRequest, ListTablesResponse as same
assert isinstance(same(tables=[]), ListTablesResponse) and same.__module__.startswith(client)
assert __import__(client).TableApi
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_two_threads_may_ask_first(tmp_path: Path) -> None:
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from graphkb.store.database import connect
with ThreadPoolExecutor(4) as pool:
    for made in [pool.submit(connect, Path(sys.argv[1])) for _ in range(4)]:
        made.result()
from pydantic import BaseModel
assert not BaseModel.model_config
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_a_lancedb_that_cannot_be_slimmed_is_imported_as_it_is(tmp_path: Path) -> None:
    code = """
import sys
from contextlib import contextmanager
from pathlib import Path
import graphkb.store.database as database

@contextmanager
def unsuited():
    import lancedb
    raise TypeError("metaclass conflict")
    yield

database.without_rest_client = unsuited
connected = database.connect(Path(sys.argv[1]))
connected.create_table("t", [{"a": 1}])
assert connected.open_table("t").count_rows() == 1
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
