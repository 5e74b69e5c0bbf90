"""What only one document said is gone when it is: from tables, files, graph arrays and answers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from law import committed, differences

import graphkb
from graphkb.search.snapshot import Snapshot
from graphkb.store.arrays import read_arrays
from graphkb.store.lance import Store
from graphkb.store.manifest import read_manifest
from graphkb.tables import PARQUET

OPTIONS = ["embed.when=off", "chunks.size=120", "chunks.overlap=0"]

SHARED = {
    "team.md": "# Harbor Project\n\nAda Lin leads the Harbor Project in Lisbon. "
    "Ada Lin works with Jonas Petrel at Northwind Robotics.\n\n"
    "Jonas Petrel moved from Porto to Lisbon in 2019 with Ada Lin.\n",
    "团队.md": "# 海港项目\n\n陈明在杭州领导海港项目。陈明与王芳在青石公司共事。\n\n"
    "王芳2019年从宁波搬到杭州，与陈明会面。\n",
    "weather.txt": "It rained in Lisbon on 3 May 2019 and the Harbor Project waited for Ada Lin.\n",
}
SECRET = {
    "secret.md": "# Kestrel Vault\n\nAda Lin paid 74,310,992 euros to Quillon Farthingale for the "
    "Kestrel Vault in 2021. Quillon Farthingale, also known as Quill, met Jonas Petrel.\n",
    "机密.md": "# 翠鸟金库\n\n陈明在2021年向欧阳千寻支付74310993元，购买翠鸟金库。"
    "欧阳千寻会见王芳，并访问青石公司。\n",
}
CANARIES = (
    "74,310,992", "74310993", "farthingale", "quill", "kestrel vault", "欧阳千寻", "千寻", "翠鸟",
)  # fmt: skip
QUESTIONS = (
    "Who is Quillon Farthingale?", "What did Ada Lin pay for the Kestrel Vault?",
    "欧阳千寻是谁？", "陈明支付了多少元购买翠鸟金库？",
    "What are the main themes?", "主要主题是什么？",
)  # fmt: skip


def write(root: Path, *groups: dict[str, str]) -> graphkb.Project:
    """Index exactly these documents."""
    folder = root / "input"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for group in groups:
        for name, text in group.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    kb = graphkb.open(root, OPTIONS)
    kb.index()
    return kb


def everything(root: Path) -> dict[str, str]:
    """All that can be read of the committed version, as text in lower case, by where it stands."""
    output = root / "output"
    manifest = read_manifest(output)
    assert manifest is not None
    store = Store(output, manifest.tables, manifest.folder)
    texts = {name: repr(store.read(name).to_dicts()) for name in manifest.tables}
    for name in PARQUET:
        texts[f"{name}.parquet"] = repr(pl.read_parquet(output / f"{name}.parquet").to_dicts())
    for name, array in read_arrays(output, manifest.graph).items():
        texts[f"{name}.npy"] = array.tobytes().decode("utf-8", "replace")
    return {where: text.lower() for where, text in texts.items()}


def found(root: Path) -> set[tuple[str, str]]:
    return {
        (canary, where)
        for where, text in everything(root).items()
        for canary in CANARIES
        if canary in text
    }


def answers(kb: graphkb.Project) -> str:
    """What every method says of the secret, without the questions."""
    said = []
    for question in QUESTIONS:
        said += [repr(list(kb.search(question, method=m))) for m in ("lexical", "graph", "hybrid")]
        for method in ("auto", "local", "global", "hybrid"):
            answer = kb.query(question, method)
            # A refusal names what the question asks about.
            said += [] if answer.refused else [answer.text]
            said += [repr(answer.citations), repr(answer.context.passages)]
            said += [repr(answer.context.entities), repr(answer.context.reports)]
    return "\n".join(said).lower()


def test_n01_a_deleted_document_takes_all_it_said_with_it(tmp_path: Path) -> None:
    with_secret = write(tmp_path / "kb", SHARED, SECRET)
    held = found(tmp_path / "kb")
    assert {canary for canary, _ in held} == set(CANARIES)
    places = {where for _, where in held}
    assert places >= {"entities", "community_reports", "community_reports.parquet", "text.npy"}
    assert "farthingale" in answers(with_secret)
    assert "翠鸟" in answers(with_secret)
    kb = write(tmp_path / "kb", SHARED)
    assert found(tmp_path / "kb") == set()
    assert [canary for canary in CANARIES if canary in answers(kb)] == []
    alone = write(tmp_path / "alone", SHARED)
    assert differences(committed(tmp_path / "kb"), committed(tmp_path / "alone")) == []
    for title in ("Ada Lin", "陈明"):
        kept, expected = (k.table("entities").filter(pl.col("title") == title) for k in (kb, alone))
        columns = ["title", "description", "text_unit_ids", "frequency", "degree", "aliases"]
        assert kept.select(columns).equals(expected.select(columns))
        assert kept.height == 1


def test_n02_an_edited_fact_is_replaced_and_nothing_counts_twice(tmp_path: Path) -> None:
    old = "Ada Lin is chief engineer of Bluestone Ltd."
    kb = write(tmp_path, SHARED, {"post.txt": old})
    assert "Ada Lin" in kb.query("Who is chief engineer of Bluestone Ltd?", "hybrid").text
    kb = write(tmp_path, SHARED, {"post.txt": old.replace("Ada Lin", "Bo Chen")})
    for method in ("hybrid", "local", "auto"):
        text = kb.query("Who is chief engineer of Bluestone Ltd?", method).text
        assert "Bo Chen is chief engineer" in text
        assert "Ada Lin is chief engineer" not in text
    pairs = kb.table("relationships").filter(
        pl.col("source").is_in(["Bo Chen", "Ada Lin"]) & pl.col("target").str.contains("Bluestone")
        | pl.col("target").is_in(["Bo Chen", "Ada Lin"]) & pl.col("source").str.contains("Blue")
    )
    assert pairs.height == 1
    assert pairs["weight"][0] <= 1.0
    assert {pairs["source"][0], pairs["target"][0]} >= {"Bo Chen"}


def test_n03_a_deleted_document_does_not_come_back_with_the_next_one(tmp_path: Path) -> None:
    write(tmp_path, SHARED, SECRET)
    write(tmp_path, SHARED)
    write(tmp_path, SHARED, {"later.md": "# Later\n\nAda Lin visited Porto. 陈明访问宁波。\n"})
    assert found(tmp_path) == set()


def test_n05_a_moved_file_is_cited_under_its_new_path_without_new_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, SHARED, SECRET)
    ids = set(committed(tmp_path)["text_units"]["id"])
    moved = {f"b/renamed {name}": text for name, text in SECRET.items()}
    from graphkb.extract import offline

    extracted: list[int] = []
    original = offline.extract_rows
    monkeypatch.setattr(
        offline, "extract_rows", lambda rows, claims: (extracted.append(len(rows)),
                                                       original(rows, claims))[1]
    )  # fmt: skip
    kb = write(tmp_path, SHARED, moved)
    assert sum(extracted) == 0
    assert set(committed(tmp_path)["text_units"]["id"]) == ids
    for question in ("Who is Quillon Farthingale?", "欧阳千寻是谁？"):
        citation = kb.query(question, "hybrid").citations[0]
        assert citation.path.startswith("b/renamed ")
    assert not re.search(r"'(secret|机密)\.md'", repr(everything(tmp_path)))


@pytest.mark.parametrize(
    "name", ["has'quote & #hash%20.txt", "x' OR 1=1 --.txt", 'two"quotes.txt', "百分%号.txt"]
)
def test_m01_names_with_quotes_remove_their_own_rows_only(tmp_path: Path, name: str) -> None:
    rows = (
        '{"id": "x\' OR \'1\'=\'1", "title": "x\' OR \'1\'=\'1", "text": "O\'BRIEN met Bo Chen."}'
    )
    write(tmp_path / "kb", SHARED, {name: "O'BRIEN wrote to Ada Lin.\n", "r.jsonl": rows})
    before = committed(tmp_path / "kb")
    write(tmp_path / "kb", SHARED)
    after = committed(tmp_path / "kb")
    assert after["documents"].height == before["documents"].height - 2 == len(SHARED)
    assert "BRIEN" not in repr(after)
    write(tmp_path / "alone", SHARED)
    assert differences(after, committed(tmp_path / "alone")) == []


def test_a_reader_of_the_version_before_still_sees_it_whole(tmp_path: Path) -> None:
    kb = write(tmp_path, SHARED, SECRET)
    manifest = read_manifest(tmp_path / "output")
    assert manifest is not None
    old = Snapshot(tmp_path, manifest, kb.settings)
    write(tmp_path, SHARED)
    write(tmp_path, SHARED, {"later.txt": "Ada Lin visited Porto.\n"})
    assert "Farthingale" in repr(old.store.read("entities").to_dicts())
    assert old.graph is not None
