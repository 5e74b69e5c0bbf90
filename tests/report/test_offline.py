"""Offline reports: quoted, referenced, in the documents' language, the same for the same input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import graphkb
from graphkb.tables import TABLES, content_hash
from graphkb.text.language import detect_language

EMPTY = {
    name: TABLES[name].empty()
    for name in ("communities", "entities", "nodes", "relationships", "mentions", "text_units")
}


def report_on(reports: pl.DataFrame, name: str) -> dict[str, Any]:
    return reports.filter(pl.col("title").str.contains(name, literal=True)).row(0, named=True)


def test_an_english_report_reads_like_this(english: Any) -> None:
    report = report_on(english.reports(), "Port Lammer")
    assert report["full_content"] == (
        "# Port Lammer and Northwind Tidal Energy\n"
        "\n"
        "Northwind Tidal Energy runs the Harbor Project in Port Lammer. "
        "Ada Lin leads the Harbor Project for Northwind Tidal Energy since 2024. "
        "Port Lammer has a quay for the barges of Northwind Tidal Energy. [Data: Sources (0)]\n"
        "\n"
        "## Northwind Tidal Energy – Port Lammer: "
        "Northwind Tidal Energy runs the Harbor Project in Port Lammer.\n"
        "\n"
        "Northwind Tidal Energy runs the Harbor Project in Port Lammer. [Data: Sources (0)] "
        "Port Lammer has a quay for the barges of Northwind Tidal Energy. [Data: Sources (0)]\n"
    )
    assert report["rating_explanation"] == (
        "Importance 2.5 of 10 (entities: 2; text units: 1; share of PageRank: 42 %)."
    )
    assert report["method"] == "offline"
    assert report["period"] is None


def test_a_chinese_report_reads_like_this(chinese: Any) -> None:
    report = report_on(chinese.reports(), "林晓")
    assert report["full_content"] == (
        "# 林晓与退款规则\n"
        "\n"
        "林晓向陈明汇报了退款规则的执行情况。陈明制定了退款规则，青石云账按退款规则处理申请。"
        "退款规则要求七天之内答复客户，由林晓负责。 [Data: Sources (1, 0)]\n"
        "\n"
        "## 退款规则—林晓：退款规则要求七天之内答复客户，由林晓负责。\n"
        "\n"
        "林晓向陈明汇报了退款规则的执行情况。 [Data: Sources (1)] "
        "退款规则要求七天之内答复客户，由林晓负责。 [Data: Sources (0)]\n"
    )
    assert report["rating_explanation"] == (
        "重要度 5.0/10：2 个实体见于 2 个文本单元，占全图 PageRank 的 50%。"
    )


def test_every_sentence_and_reference_can_be_checked(both: Any) -> None:
    texts = dict(both.text_units.select("id", "text").iter_rows())
    numbers = dict(both.text_units.select("id", "human_readable_id").iter_rows())
    reports = both.reports()
    assert reports.schema == pl.Schema(TABLES["community_reports"].schema)
    for row in reports.iter_rows(named=True):
        findings = json.loads(row["findings"])
        assert findings
        for finding in findings:
            assert set(finding) == {"summary", "explanation", "text_unit_ids"}
            assert "\n" not in finding["summary"]
            quotes = re.findall(r"(.+?) \[Data: Sources \((\d+)\)\] ?", finding["explanation"])
            assert 1 <= len(quotes) <= 3
            for quote, number in quotes:
                (unit,) = [u for u in finding["text_unit_ids"] if numbers[u] == int(number)]
                assert quote in texts[unit]
        whole = json.loads(row["full_content_json"])
        assert whole["title"] == row["title"]
        assert whole["summary"] == row["summary"]
        assert whole["findings"] == findings
        assert whole["rating"] == row["rank"]


def test_reports_speak_the_language_of_their_documents(both: Any) -> None:
    languages = set()
    for row in both.reports().iter_rows(named=True):
        language = detect_language(row["title"])
        languages.add(language)
        assert detect_language(row["summary"]) == language
        assert detect_language(row["full_content"]) == language
        begin = {"en": "Importance ", "zh": "重要度 "}[language]
        assert row["rating_explanation"].startswith(begin)
    assert languages == {"en", "zh"}


def test_headings_table_rows_and_labels_are_not_quoted(english: Any) -> None:
    content = "".join(english.reports()["full_content"].to_list())
    assert "| Ada Lin" not in content
    assert "# Harbor Project\n\nNorthwind" not in content
    assert "- Ben Okafor" not in content
    assert "Ben Okafor checks the seals" in content


def test_isolated_entities_get_no_report(make_world: Callable[..., Any]) -> None:
    names = ["Ada Lin", "Ben Okafor", "陈明", "青石云账", "Elba", "Faro"]
    texts = {
        "a": "Ada Lin knows Ben Okafor very well.",
        "b": "陈明开发了青石云账这一款软件。",
        "c": "Elba is an island that stands alone.\nFaro is another island alone.",
    }
    world = make_world(texts, names)
    reports = world.reports()
    assert reports["size"].to_list() == [2, 2]
    named = {name for title in reports["title"].to_list() for name in names if name in title}
    assert named == set(names[:4])
    assert set(reports["community"]) == set(world.communities["community"])
    assert -1 not in reports["community"].to_list()
    assert "island" not in "".join(reports["full_content"].to_list())


def test_an_empty_graph_has_no_reports(make_world: Callable[..., Any]) -> None:
    world = make_world({"a": "Nothing is named here."}, [])
    assert world.reports().equals(TABLES["community_reports"].empty())
    assert world.reports(previous=world.reports()).is_empty()


def test_small_communities_get_no_report(english: Any) -> None:
    sizes = english.reports(min_size=3)["size"].to_list()
    assert sizes == [3]


def test_every_level_has_reports_with_todays_place(make_world: Callable[..., Any]) -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcd"
    names = [f"Station {a}{b}" for a in letters for b in "WXYZ"]
    texts = {
        a: " ".join(
            f"Station {a}{x} is connected with Station {a}{y} by a cable."
            for x, y in ("WX", "XY", "YZ", "ZW", "WY", "XZ")
        )
        for a in letters
    }
    texts["bridges"] = " ".join(
        f"Station {a}W is connected with Station {b}X by a bridge."
        for a, b in zip(letters, letters[1:] + letters[0], strict=True)
    )
    world = make_world(texts, names, max_cluster_size=4)
    reports = world.reports()
    communities = world.communities.filter(pl.col("size") >= 2)
    assert communities["level"].to_numpy().max() >= 1
    places = ["community", "level", "parent", "children", "size"]
    assert reports.select(places).equals(communities.select(places))
    assert reports["id"].n_unique() == reports.height
    assert reports["human_readable_id"].to_list() == reports["community"].to_list()


def test_ranks_are_spread_between_zero_and_ten(make_world: Callable[..., Any]) -> None:
    names = [f"Town {chr(65 + i)}{chr(97 + j)}" for i in range(10) for j in range(i + 2)]
    texts = {
        str(i): " ".join(
            f"Town {chr(65 + i)}a trades with Town {chr(65 + i)}{chr(97 + j)} by sea."
            for j in range(1, i + 2)
        )
        for i in range(10)
    }
    reports = make_world(texts, names, max_cluster_size=100).reports().sort("size")
    ranks = reports["rank"].to_list()
    assert ranks == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]


def test_a_repeated_or_nested_sentence_stands_once(make_world: Callable[..., Any]) -> None:
    short = "Ada Lin leads the Harbor Project."
    long = "Ada Lin leads the Harbor Project since the spring of 2024."
    other = "The Harbor Project pays Ada Lin a salary every month."
    texts = {"a": short, "b": f"{long} {other}", "c": f"{short} {other}"}
    (row,) = make_world(texts, ["Ada Lin", "Harbor Project"]).reports().iter_rows(named=True)
    assert row["summary"].count("leads the Harbor Project") == 1
    assert row["summary"].count(other) == 1
    said = [finding["explanation"] for finding in json.loads(row["findings"])]
    assert "".join(said).count("leads the Harbor Project") == 1


def test_sentences_of_one_document_keep_its_order(make_world: Callable[..., Any]) -> None:
    first = "Seven divers of the yard wait for Ben Okafor at noon."
    last = "Ada Lin, Ben Okafor and the Harbor Project share one long budget."
    texts = {"a": f"{first} Clouds gather over the old quay and nobody works. {last}"}
    world = make_world(texts, ["Ada Lin", "Ben Okafor", "Harbor Project"])
    assert world.reports()["summary"].to_list() == [f"{first} {last}"]


def test_the_document_of_the_best_sentence_comes_first(make_world: Callable[..., Any]) -> None:
    second, first = sorted(["a", "b"], key=content_hash)
    best = "Ada Lin, Ben Okafor and the Harbor Project share one long budget."
    later = "A doctor from the city visits Ben Okafor in his house on Mondays."
    between = "Painters are looking for Ada Lin, whose office has no door."
    texts = {first: f"{best} {later}", second: between}
    world = make_world(texts, ["Ada Lin", "Ben Okafor", "Harbor Project"])
    assert world.reports()["summary"].to_list() == [f"{best} {later} {between}"]


def test_a_name_and_its_part_are_hardly_a_finding(make_world: Callable[..., Any]) -> None:
    texts = {
        "a": "Isaac Schwartz, or Schwartz for short, was a composer from Romny.",
        "b": "Friends called Isaac Schwartz by the name of Schwartz all his life.",
        "c": "Isaac Schwartz wrote many songs for Ada Lin.",
    }
    world = make_world(texts, ["Isaac Schwartz", "Schwartz", "Ada Lin"])
    (row,) = world.reports(max_findings=1).iter_rows(named=True)
    (finding,) = json.loads(row["findings"])
    assert "Ada Lin" in finding["summary"]


def test_a_description_cut_within_a_word_is_shown_in_whole_words(
    make_world: Callable[..., Any],
) -> None:
    world = make_world({"a": "Ada Lin leads the Harbor Project."}, ["Ada Lin", "Harbor Project"])
    cut = world.relationships.with_columns(description=pl.lit("Ada Lin leads the Harb"))
    (row,) = replace(world, relationships=cut).reports().iter_rows(named=True)
    (finding,) = json.loads(row["findings"])
    assert finding["summary"] == "Ada Lin – Harbor Project: Ada Lin leads the…"


def test_limits_are_kept(english: Any) -> None:
    for row in english.reports(max_sentences=1, max_findings=1).iter_rows(named=True):
        assert row["summary"].count(".") == 1
        assert len(json.loads(row["findings"])) == 1


def test_tables_are_summed_up_by_their_relationships(make_world: Callable[..., Any]) -> None:
    texts = {"prices": "Petrel Core costs 900 euros a year with Kelsound Energy."}
    world = make_world(texts, ["Petrel Core", "Kelsound Energy"], kind="table")
    (row,) = world.reports().iter_rows(named=True)
    assert row["summary"] == texts["prices"]
    (finding,) = json.loads(row["findings"])
    assert finding["explanation"] == f"{texts['prices']} [Data: Sources (0)]"


def test_an_entity_of_the_title_only_is_quoted_from_its_units_opening(
    make_world: Callable[..., Any],
) -> None:
    names = ["Ada Lin", "Harbor Project"]
    world = make_world({"a": "Ada Lin leads the Harbor Project."}, names)
    text = "The founder was born in a small village. Rain fell."
    unit = world.text_units.with_columns(
        id=pl.lit("u"), text=pl.lit(text), human_readable_id=pl.lit(9, pl.Int64)
    )
    mention = world.mentions.head(1).with_columns(
        text_unit_id=pl.lit("u"), char_start=pl.lit(-1, pl.Int64)
    )
    inside = world.mentions.head(1).with_columns(
        text_unit_id=pl.lit("u"), char_start=pl.lit(4, pl.Int64)
    )
    tables = replace(
        world,
        mentions=pl.concat([world.mentions, mention, inside]),
        text_units=pl.concat([world.text_units, unit]),
    )
    summary = tables.reports()["summary"].to_list()[0]
    assert "The founder was born in a small village." in summary
    assert "Rain fell." not in summary


def test_an_unchanged_community_keeps_its_words(both: Any, english: Any) -> None:
    first = english.reports().with_columns(title=pl.col("title") + "!", rank=pl.lit(1.25))
    numbers = english.communities.with_columns(
        community=pl.col("community") + 7, human_readable_id=pl.col("community") + 7
    )
    renumbered = replace(english, communities=numbers)
    again = renumbered.reports(previous=first)
    kept = ["title", "summary", "full_content", "rank", "rating_explanation", "findings"]
    assert again.select(kept).equals(first.select(kept))
    assert again["community"].to_list() == [n + 7 for n in first["community"].to_list()]
    assert again["id"].to_list() == first["id"].to_list()
    written = first.with_columns(method=pl.lit("llm"))
    assert not english.reports(previous=written)["title"].str.ends_with("!").any()


def test_changed_options_or_text_are_written_again(
    make_world: Callable[..., Any], english: Any
) -> None:
    old = english.reports().with_columns(title=pl.lit("old"))
    assert "old" not in english.reports(previous=old, max_findings=2)["title"].to_list()
    names = ["Ada Lin", "Ben Okafor", "陈明", "林晓"]
    before = {"a": "Ada Lin knows Ben Okafor very well.", "b": "陈明认识林晓已经有很多年了。"}
    after = {**before, "b": "陈明认识林晓，他们一起开发软件。"}
    old = make_world(before, names).reports().with_columns(title=pl.lit("old"))
    titles = make_world(after, names).reports(previous=old)["title"].to_list()
    assert titles.count("old") == 1
    assert any("陈明" in title for title in titles)


def test_row_order_does_not_matter(both: Any) -> None:
    first = both.reports()
    assert first.height >= 4
    for seed in range(3):
        assert both.shuffled(seed).reports().equals(first)


_SCRIPT = """
import sys; sys.path.insert(0, {tests!r})
from conftest import CHINESE, CHINESE_NAMES, ENGLISH, ENGLISH_NAMES, build
world = build({{**ENGLISH, **CHINESE}}, [*ENGLISH_NAMES, *CHINESE_NAMES], max_cluster_size=3)
print(world.reports().write_json())
"""


def test_hash_seed_does_not_matter() -> None:
    script = _SCRIPT.format(tests=str(Path(__file__).parent))
    root = str(Path(graphkb.__file__).parents[1])
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 1000


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["Northwind Tidal Energy", "Northwind", "Ada Lin"], "Northwind Tidal Energy and Ada Lin"),
        (["2024-05-01", "Ada Lin"], "Ada Lin"),
    ],
)
def test_titles_leave_out_dates_and_names_within_names(
    make_world: Callable[..., Any], names: list[str], title: str
) -> None:
    text = f"On that day {' met '.join(names)} at the quay."
    (row,) = make_world({"a": text}, names).reports().iter_rows(named=True)
    assert sorted(row["title"].split(" and ")) == sorted(title.split(" and "))


def test_a_graph_without_tables_is_no_error() -> None:
    from graphkb.report.offline import write_reports
    from graphkb.settings import Report

    assert write_reports(*EMPTY.values(), Report()).is_empty()
