"""GraphRAG's graph becomes evidence: each name, relationship and claim at its place in a text."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from graphrag_output import CHINESE, ENGLISH, Output, make_output

from graphkb.extract.imported import text_hash
from graphkb.importing.evidence import Evidence, make_evidence
from graphkb.importing.graphrag import read_graphrag
from graphkb.importing.reports import make_reports

TEXTS = {f"doc-{n}": text for n, text in enumerate([*ENGLISH.values(), *CHINESE.values()])}
BY_HASH = {text_hash(text): text for text in TEXTS.values()}


def made(folder: Path, output: Output | None = None) -> Evidence:
    graph = read_graphrag((output or make_output(2)).write(folder))
    return make_evidence(graph, TEXTS)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return made(tmp_path_factory.mktemp("rag"))


def about(frame: pl.DataFrame, source: str, target: str) -> pl.DataFrame:
    return frame.filter((pl.col("source") == source) & (pl.col("target") == target))


def test_every_mention_is_at_its_place(evidence: Evidence) -> None:
    mentions = evidence.frames["mentions"]
    assert mentions.height > 30
    for row in mentions.iter_rows(named=True):
        assert BY_HASH[row["document"]][row["char_start"] : row["char_end"]] == row["surface"]


def test_names_are_spelled_as_the_text_spells_them(evidence: Evidence) -> None:
    assert evidence.names["ADA LIN"] == "Ada Lin"
    assert evidence.names["WORLD HEALTH ORGANIZATION"] == "World Health Organization"
    assert evidence.names["熵流引擎"] == "熵流引擎"


def test_a_person_is_found_by_the_last_name_alone(evidence: Evidence) -> None:
    petrel = evidence.frames["mentions"].filter(pl.col("name") == "Jonas Petrel")
    assert {"Jonas Petrel", "Petrel"} == set(petrel["surface"])


def test_a_name_cut_in_two_by_the_end_of_a_unit_is_found_whole(tmp_path: Path) -> None:
    output = make_output(2, size=25, overlap=0)
    for row in output.tables["entities"]:
        if row["title"] == "BLUESTONE":
            row["text_unit_ids"] = [
                u["id"]
                for u in output.tables["text_units"]
                if u["text"].endswith("Blu") or u["id"].startswith("u2-0")
            ]
    surfaces = made(tmp_path, output).frames["mentions"].filter(pl.col("name") == "Bluestone")
    assert set(surfaces["surface"]) == {"Bluestone"}


def test_what_no_text_bears_out_is_left_out_and_named(evidence: Evidence) -> None:
    assert "THE WEATHER OF NORWAY" not in evidence.names
    assert evidence.dropped == {
        "entities whose name stands in none of their text units": ["THE WEATHER OF NORWAY"],
        "relationships whose ends are not in their text units": [
            "JONAS PETREL – THE WEATHER OF NORWAY"
        ],
    }


def test_a_relationship_stands_in_the_sentence_of_both_ends(evidence: Evidence) -> None:
    rows = evidence.frames["relationships"]
    english = about(rows, "Northern Seals", "turbine T-07").sort("char_end")
    columns = ("document", "char_start", "char_end")
    assert [BY_HASH[d][a:b] for d, a, b in english.select(columns).iter_rows()] == [
        "Bluestone lent the turbine T-07 to Northern Seals.",
        "The valve of turbine T-07 failed on 3 May 2023. Northern Seals replaced the valve.",
    ]
    chinese = about(rows, "陈明", "青石公司").row(0, named=True)
    text = BY_HASH[chinese["document"]]
    assert text[chinese["char_start"] : chinese["char_end"]] == "陈明是青石公司的工程师。"
    assert chinese["description"] == "陈明创立了青石公司。"


def test_the_weight_of_a_relationship_is_shared_out(evidence: Evidence) -> None:
    rows = evidence.frames["relationships"]
    assert about(rows, "Ada Lin", "Bluestone").height == 2
    assert about(rows, "Ada Lin", "Bluestone")["weight"].sum() == pytest.approx(0.8)


def test_claims_stand_at_the_words_they_quote(evidence: Evidence) -> None:
    english, chinese = evidence.frames["claims"].sort("subject").iter_rows(named=True)
    assert english["source_text"] == "The report cost Northern Seals 1,280 euros."
    assert (english["object"], english["start_date"], english["end_date"]) == (
        None, "2023-05-03", None,
    )  # fmt: skip
    assert chinese["object"] == "青石公司"
    assert chinese["source_text"] == "北风机器人与青石公司签署了合同。"


def test_a_description_knows_the_documents_it_was_written_from(evidence: Evidence) -> None:
    described = evidence.frames["descriptions"]
    of = dict(described.select("name", "summary_of").iter_rows())
    assert set(of["Ada Lin"]) == {text_hash(TEXTS["doc-0"]), text_hash(TEXTS["doc-2"])}
    assert set(of["陈明"]) == {text_hash(TEXTS["doc-3"])}


def test_one_title_of_two_types_is_one_name_with_both_descriptions(tmp_path: Path) -> None:
    output = make_output(2)
    twin = dict(output.tables["entities"][0], type="ORGANIZATION", description="A firm.", id="x")
    output.tables["entities"].append(twin)
    found = made(tmp_path, output)
    row = found.frames["descriptions"].row(by_predicate=pl.col("name") == "Ada Lin", named=True)
    assert row["description"].split("\n")[1] == "A firm."
    kinds = found.frames["mentions"].filter(pl.col("name") == "Ada Lin")["type"].unique()
    assert kinds.to_list() == ["PERSON"]


def test_names_in_quotes_as_old_versions_write_them_are_found(tmp_path: Path) -> None:
    output = make_output(0)
    for row in output.tables["entities"]:
        row["name"] = f'"{row["name"]}"'
    for row in output.tables["relationships"]:
        row["source"], row["target"] = f'"{row["source"]}"', f'"{row["target"]}"'
    found = made(tmp_path, output)
    assert set(found.names.values()) == set(made(tmp_path / "plain").names.values())
    assert about(found.frames["relationships"], "陈明", "青石公司").height == 1


def test_units_that_stand_in_no_document_are_counted(tmp_path: Path) -> None:
    output = make_output(2)
    output.tables["text_units"][0]["text"] = "Quite other words."
    assert made(tmp_path, output).dropped["text units that stand in no document"] == ["u0-0"]


def test_references_of_reports_become_the_units_they_were_found_in(tmp_path: Path) -> None:
    graph = read_graphrag(make_output(2).write(tmp_path))
    evidence = make_evidence(graph, TEXTS)
    reports = make_reports(graph, evidence)["reports"].to_dicts()
    units = dict(graph.relationships.select("number", "text_unit_ids").iter_rows())
    assert "[Data" not in reports[0]["full_content"] + reports[0]["findings"]
    assert "数据" not in reports[2]["findings"]
    finding = json.loads(reports[0]["findings"])[0]
    assert finding["passages"][: len(units[1])] == units[1]
    chinese = json.loads(reports[2]["findings"])[0]
    assert chinese["passages"] == ["u3-0"]


def test_a_finding_without_a_reference_gets_the_units_of_the_names_it_names(tmp_path: Path) -> None:
    output = make_output(2)
    findings = output.tables["community_reports"][1]["findings"]
    findings[0] = {"summary": "The report", "explanation": "Jonas Petrel of Northern Seals wrote."}
    graph = read_graphrag(output.write(tmp_path))
    reports = make_reports(graph, make_evidence(graph, TEXTS))["reports"]
    passages = json.loads(reports["findings"][1])[0]["passages"]
    assert passages
    assert set(passages) <= {"u1-0", "u1-100", "u2-0"}
