"""Filters over a collection: what searches, answers and reports see of it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from graphkb.cli import main
from graphkb.errors import NotIndexedError, UsageError
from graphkb.project import Project
from graphkb.query.global_reports import cover_reports
from graphkb.query.narrowed import reports_of
from graphkb.search.selection import narrow
from graphkb.store import narrowed
from graphkb.store.lance import Store
from graphkb.store.narrowed import NarrowedStore
from graphkb.tables import rows
from graphkb.types import Hits


def paths(hits: Hits) -> set[str]:
    return {hit.path for hit in hits}


REFUNDS = {"faq/refund.md", "zh/退款.md"}


@pytest.mark.parametrize("method", ["hybrid", "lexical", "graph"])
def test_only_what_matches_is_found_and_all_of_it(catalogue: Project, method: str) -> None:
    question = "refund Ada Lin 陈明 退款"
    found = catalogue.search(question, method=method, where="category = 'refund'")
    assert paths(found) == REFUNDS
    assert paths(catalogue.search(question, method=method)) > REFUNDS


def test_the_hits_are_the_best_of_those_that_match(catalogue: Project) -> None:
    every = catalogue.search("refund", top_k=50, method="lexical")
    kept = [hit for hit in every if hit.path.startswith("faq/")]
    found = catalogue.search("refund", top_k=2, method="lexical", where="path like 'faq/%'")
    assert [(hit.text_unit_id, hit.score) for hit in found] == [
        (hit.text_unit_id, hit.score) for hit in kept[:2]
    ]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("部门 = '财务'", {"zh/退款.md"}),
        ("更新时间 < '2023' and language = 'zh'", {"zh/退款.md"}),
        ("tags in ('money') or priority > 5", {"faq/refund.md", "faq/shipping.md"}),
        ("Category = 'shipping'", {"faq/shipping.md"}),
        ("metadata.category is null and title = 'Travel'", {"travel.md"}),
        ("heading = 'Part 2' and kind = 'prose'", {"manual.md"}),
        ("title like '退款%'", {"zh/退款.md"}),
    ],
)
def test_columns_and_metadata_can_be_asked_for(
    catalogue: Project, where: str, expected: set[str]
) -> None:
    question = "refund 退款 turbine T-02 mechanic travel"
    assert paths(catalogue.search(question, top_k=100, where=where)) == expected


def test_a_key_of_text_units_selects_text_units(catalogue: Project) -> None:
    found = catalogue.search("turbine mechanic oil", top_k=50, where="heading = 'Part 2'")
    assert found
    assert {hit.heading.split(" › ")[-1] for hit in found} == {"Part 2"}


def test_an_unknown_key_is_named_with_the_nearest_one(catalogue: Project) -> None:
    with pytest.raises(
        UsageError, match=r"unknown key 'categry' at character 1; did you mean 'cat"
    ):
        catalogue.search("refund", where="categry = 'refund'")
    with pytest.raises(UsageError, match="unknown key '部们' at character 18"):
        catalogue.search("refund", where="title = 'x' and (部们 = '财务')")


def test_nothing_that_matches_is_said_with_what_there_is(catalogue: Project) -> None:
    for method in ("hybrid", "lexical", "graph"):
        found = catalogue.search("refund", method=method, where="category = 'refunds'")
        assert list(found) == []
        (warning,) = found.warnings
        assert "no document matches the filter category = 'refunds'" in warning
        assert "category is 'refund', " in warning


@pytest.mark.parametrize("method", ["auto", "local", "global", "hybrid", "lazy", "drift"])
def test_no_method_answers_from_what_does_not_match(catalogue: Project, method: str) -> None:
    question = "Who approves every refund above 500 euros?"
    assert "Ada Lin" in catalogue.query(question, method="hybrid").text
    answer = catalogue.query(question, method="hybrid", where="category = 'shipping'")
    assert "500 euros" not in json.dumps(answer.to_dict()["context"])
    nothing = catalogue.query(question, method=method, where="category = '无'")
    assert nothing.refused
    assert any("no document matches the filter" in warning for warning in nothing.warnings)


@pytest.mark.parametrize("method", ["auto", "local", "hybrid", "lazy"])
def test_context_rows_rest_on_what_matches(catalogue: Project, method: str) -> None:
    question = "Which refunds does Ada Lin approve, and what does she lead at Bluestone?"
    answer = catalogue.query(question, method=method, where="category = 'shipping'")
    assert {passage.path for passage in answer.context.passages} == {"faq/shipping.md"}
    told = json.dumps(answer.to_dict()["context"], ensure_ascii=False)
    for secret in ("approves", "Marta Voss", "Bergen", "14 days"):
        assert secret not in told


def test_reports_are_cut_to_findings_that_rest_on_what_matches(catalogue: Project) -> None:
    snapshot = narrow(catalogue._current(), "category = 'manual'")
    numbers = snapshot.store.read("community_reports", ("community",))["community"]
    found = reports_of(snapshot, numbers)
    assert 0 < found.height < len(numbers)
    for row in found.to_dicts():
        told = json.dumps(row, ensure_ascii=False)
        assert not re.search("Ada Lin|陈明|Marta", told)
        for finding in json.loads(row["findings"]):
            assert snapshot.selection is not None
            assert snapshot.selection.holds(finding["text_unit_ids"])


def test_without_a_report_that_matches_global_says_so(catalogue: Project) -> None:
    snapshot = narrow(catalogue._current(), "heading = 'Part 2' and kind = 'prose'")
    assert snapshot.selection is not None
    assert snapshot.selection.unit_ids
    assert reports_of(snapshot, snapshot.store.read("communities")["community"]).is_empty()
    with pytest.raises(NotIndexedError, match=r"no community report rests .*Part 2"):
        cover_reports(snapshot, 0, 100)


def test_a_narrowed_project_narrows_everything_and_can_be_narrowed_again(
    catalogue: Project, tmp_path: Path
) -> None:
    refunds = catalogue.where("category = 'refund'")
    assert paths(refunds.search("refund 退款")) == REFUNDS
    assert paths(refunds.search("refund 退款", where="language = 'zh'")) == {"zh/退款.md"}
    assert paths(catalogue.search("refund 退款")) > REFUNDS
    questions = tmp_path / "questions.jsonl"
    questions.write_text(
        '{"id": "1", "query": "refund", "relevant": ["faq/shipping.md"]}\n', "utf8"
    )
    (whole,) = catalogue.eval(questions, ["lexical"]).methods
    (cut,) = refunds.eval(questions, ["lexical"]).methods
    assert (whole.mean["recall@8"], cut.mean["recall@8"]) == (1.0, 0.0)


def test_streams_plans_and_coroutines_take_a_filter(catalogue: Project) -> None:
    asked, where = "Who leads shipping at Bluestone?", "category = 'refund'"
    stream = catalogue.stream(asked, "hybrid", where=where)
    "".join(stream)
    for answer in (
        stream.answer,
        asyncio.run(catalogue.aquery(asked, "hybrid", where=where)),
    ):
        assert {passage.path for passage in answer.context.passages} <= REFUNDS
    assert paths(asyncio.run(catalogue.asearch(asked, where=where))) <= REFUNDS
    (prompt,) = catalogue.plan_query(asked, "hybrid", where=where).prompts
    shown = "".join(text for _, text in prompt.messages)
    assert "Refund rules" in shown
    assert "leads shipping at" not in shown.split(asked)[0]


def test_a_filter_is_resolved_once(catalogue: Project) -> None:
    snapshot = catalogue._current()
    assert narrow(snapshot, "category = 'refund'") is narrow(snapshot, "category = 'refund'")


WORDS = ("alpha", "beta", "gamma", "退款", "规则")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """300 text units with words and vectors."""
    generator = np.random.default_rng(7)
    store = Store(tmp_path_factory.mktemp("store"), {})
    texts = [" ".join(generator.choice(WORDS, generator.integers(1, 9))) for _ in range(300)]
    vectors = generator.normal(size=(300, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = [f"u{n:03}" for n in range(300)]
    store.write(
        "search_texts",
        rows("search_texts", [{"id": i, "tokens": t} for i, t in zip(ids, texts, strict=True)]),
    )
    store.index("search_texts")
    store.write(
        "vectors",
        pl.DataFrame(
            {
                "id": ids,
                "text_hash": ids,
                "language": ["en", "zh"] * 150,
                "vector": vectors.tolist(),
            },
            schema_overrides={"vector": pl.List(pl.Float32)},
        ),
        8,
    )
    return store


@pytest.mark.parametrize("kept", [0, 1, 5, 40, 250, 299, 300])
@pytest.mark.parametrize("named", [3, 20, 2_000])
def test_the_store_gives_the_whole_ranking_without_the_rest(
    store: Store, kept: int, named: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrowed, "_MOST_NAMED", named)
    ids = [f"u{n * 7 % 300:03}" for n in range(300)]
    chosen, others = frozenset(ids[:kept]), frozenset(ids[kept:])
    some = NarrowedStore(store, chosen, others, 300)
    words, vector = ["alpha", "退款"], np.ones(8, np.float32) / np.sqrt(8, dtype=np.float32)
    for limit in (1, 10):
        every = [hit for hit in store.search_text(words, 300) if hit[0] in chosen]
        found = some.search_text(words, limit)
        assert len(found) == min(limit, len(every))
        assert [score for _, score in found] == [score for _, score in every[:limit]]
        assert chosen.issuperset(unit_id for unit_id, _ in found)
        for language in (None, "zh"):
            near = [h for h in store.search_vector(vector, 300, language) if h[0] in chosen]
            assert some.search_vector(vector, limit, language) == near[:limit]


def test_the_command_line_takes_a_filter_and_says_what_is_wrong_with_it(
    catalogue: Project,
) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        options = ["--root", str(catalogue.root), "--set", "embed.when=off"]
        result = CliRunner().invoke(main, [arguments[0], *options, *arguments[1:]])
        return result.exit_code, result.stdout, result.stderr

    code, out, _ = run("search", "refund", "--json", "--where", "category = 'shipping'")
    assert code == 0
    assert [hit["path"] for hit in json.loads(out)] == ["faq/shipping.md"]
    code, _, told = run("search", "refund", "--where", "category ~ 'x'")
    assert code == 2
    assert told == "error: filter: '~' at character 10 is not part of the filter language\n"
    code, out, told = run("query", "退款", "--where", "category = '退货'")
    assert code == 0
    assert told.startswith("warning: no document matches the filter category = '退货'; category is")
