"""Reports by a model in a project: edits, deletions, retries and settings."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from law import broken, committed, differences
from model_server import ModelServer, model_server, prompt_of, said
from report.reporting import report, write_report
from test_communities_stay import document

import graphkb

OPTIONS = [
    "embed.when=off", "chunks.size=90", "chunks.overlap=0", "parquet=off",
    "cluster.max_cluster_size=4", "extract.method=offline", "describe.method=offline",
    "report.model_share=100", "llm.model=m", "llm.max_retries=0",
]  # fmt: skip

TEAM = {
    "team.md": "# Harbor Project\n\nAda Lin leads the Harbor Project in Lisbon. "
    "Ada Lin works with Jonas Petrel at Northwind Robotics.\n\n"
    "Jonas Petrel moved from Porto to Lisbon in 2019 with Ada Lin.\n",
    "mill.md": "# Tide Mill\n\nMaria Osprey bought the Tide Mill from Bo Chen in Bergen. "
    "Bo Chen repaired the Tide Mill with Femi Heron.\n\nFemi Heron wrote to Maria Osprey.\n",
    "团队.md": "# 海港项目\n\n陈明在杭州领导海港项目。陈明与王芳在青石公司共事。\n\n"
    "王芳2019年从宁波搬到杭州，与陈明会面。\n",
}
SECRET = {
    "secret.md": "# Kestrel Vault\n\nAda Lin paid 74,310,992 euros to Quillon Farthingale for the "
    "Kestrel Vault in 2021. Quillon Farthingale met Jonas Petrel.\n",
    "机密.md": "# 翠鸟金库\n\n陈明在2021年向欧阳千寻支付74310993元，购买翠鸟金库。"
    "欧阳千寻会见王芳，并访问青石公司。\n",
}
CANARIES = ("74,310,992", "74310993", "Farthingale", "Kestrel", "欧阳千寻", "翠鸟")

Files = Mapping[str, str]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(write_report) as server:
        yield server


def put(root: Path, *groups: Files) -> None:
    """Exactly these documents."""
    shutil.rmtree(root / "input", ignore_errors=True)
    (root / "input").mkdir(parents=True)
    for name, text in {name: text for group in groups for name, text in group.items()}.items():
        (root / "input" / name).write_text(text, "utf-8")


def opened(root: Path, server: ModelServer, *more: str) -> graphkb.Project:
    return graphkb.open(root, [*OPTIONS, f"llm.base_url={server.url}", *more])


def reports_of(root: Path) -> pl.DataFrame:
    return committed(root)["community_reports"]


def shown_titles(root: Path) -> dict[frozenset[str], str]:
    """Titles of the model's reports by the entities of their communities."""
    tables = committed(root)
    joined = tables["community_reports"].join(
        tables["communities"].select("community", "entity_ids"), on="community"
    )
    return {
        frozenset(ids): title for ids, title in joined.select("entity_ids", "title").iter_rows()
    }


def test_an_unchanged_project_asks_nothing(project: Path, server: ModelServer) -> None:
    put(project, TEAM)
    seen: list[tuple[str, int, int]] = []
    first = opened(project, server).index(lambda *step: seen.append(step))
    n_reports = first.counts["community_reports"]
    # Communities of which the same is shown share one call.
    n_calls = reports_of(project)["title"].n_unique()
    assert len(server.requests) == n_calls > 3
    assert ("reports", n_reports, n_reports) in seen
    (usage,) = first.usage
    assert (usage.step, usage.calls) == ("report", n_calls)
    server.requests.clear()
    second = opened(project, server).index()
    assert server.requests == []
    assert "write_reports" not in second.seconds
    assert second.version == first.version


def test_one_failed_report_is_named_and_alone_asked_for_again(
    project: Path, server: ModelServer
) -> None:
    """Case G05."""
    put(project, TEAM)

    def marked(body: dict[str, Any]) -> bool:
        return "Jonas Petrel moved" in prompt_of(body)

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return said('{"title": "Mill') if marked(body) else write_report(body)

    server.play = play
    first = opened(project, server).index()
    n_reports = first.counts["community_reports"]
    (line,) = first.incomplete
    assert line.startswith(
        f"1 of {n_reports} community reports could not be written by the model ("
    )
    assert line.endswith("): quoted reports stand in; run again to retry")
    reports = reports_of(project)
    assert reports["method"].to_list().count("offline") == 1
    assert reports.filter(method="offline")["title"][0]
    server.requests.clear()
    again = opened(project, server).index()
    assert again.incomplete == first.incomplete
    assert all(marked(body) for body in server.requests)
    server.requests.clear()
    server.play = write_report
    third = opened(project, server).index()
    assert third.incomplete == ()
    assert len(server.requests) == 1
    assert set(reports_of(project)["method"]) == {"llm"}


def test_a_document_more_or_less_asks_only_for_what_it_touched(
    project: Path, server: ModelServer
) -> None:
    put(project, TEAM)
    opened(project, server).index()
    whole = reports_of(project)
    server.requests.clear()
    put(project, TEAM, {"more.txt": "Femi Heron sold the Tide Mill to Vera Newcomer.\n"})
    opened(project, server).index()
    assert 1 <= len(server.requests) <= 3
    assert not any("陈明" in prompt_of(body) or "Ada Lin" in prompt_of(body)
                   for body in server.requests)  # fmt: skip
    server.requests.clear()
    put(project, TEAM)
    opened(project, server).index()
    columns = ["full_content", "rank", "method"]
    assert (
        reports_of(project)
        .select(columns)
        .sort(columns)
        .equals(whole.select(columns).sort(columns))
    )
    assert server.requests == []  # replies of before are in the cache


def test_facts_of_a_deleted_document_leave_the_reports(project: Path, server: ModelServer) -> None:
    put(project, TEAM, SECRET)
    opened(project, server).index()
    held = "".join(reports_of(project)["full_content_json"].to_list())
    assert all(canary in held for canary in CANARIES)
    put(project, TEAM)
    opened(project, server).index()
    reports = reports_of(project)
    assert set(reports["method"]) == {"llm"}
    for text in reports.select(pl.concat_str(pl.col(pl.String).fill_null(""))).to_series():
        assert not any(canary.lower() in text.lower() for canary in CANARIES)


def test_the_change_law_holds_and_a_rebuild_gives_the_same_reports(
    tmp_path: Path, server: ModelServer
) -> None:
    changed = {**TEAM, "mill.md": "# Tide Mill\n\nMaria Osprey sold the Tide Mill to Ada Lin.\n"}
    steps: list[tuple[Files, ...]] = [(TEAM,), (changed, SECRET), (SECRET,), (TEAM, SECRET)]
    root, scratch = tmp_path / "edited", tmp_path / "scratch"
    for step in steps:
        put(root, *step)
        opened(root, server).index()
        shutil.rmtree(scratch, ignore_errors=True)
        put(scratch, *step)
        opened(scratch, server).index()
        assert differences(committed(root), committed(scratch)) == []
        assert set(reports_of(root)["method"]) == {"llm"}
        edited, fresh = shown_titles(root), shown_titles(scratch)
        alike = edited.keys() & fresh.keys()
        assert alike
        assert {key: edited[key] for key in alike} == {key: fresh[key] for key in alike}
    server.requests.clear()
    opened(root, server).index(rebuild=True)
    assert broken(committed(root)) == []
    again = shown_titles(root)
    new = {title for key, title in again.items() if key not in edited}
    assert len(server.requests) <= len(new)
    assert {key: again[key] for key in alike} == {key: edited[key] for key in alike}


def test_another_prompt_or_model_writes_all_reports_again(
    project: Path, server: ModelServer
) -> None:
    put(project, TEAM)
    opened(project, server).index()
    n_calls = len(server.requests)
    server.requests.clear()
    said_first: list[str] = []
    opened(project, server, "llm.report_model=better").index(on_plan=said_first.append)
    assert [body["model"] for body in server.requests] == ["better"] * n_calls
    assert "write_reports" in said_first[0]
    server.requests.clear()
    (project / "prompts" / "en").mkdir(parents=True)
    (project / "prompts" / "en" / "report.md").write_text("Be brief.\n---\n$data", "utf-8")
    opened(project, server, "llm.report_model=better").index()
    assert server.requests
    assert {b["messages"][0]["content"] for b in server.requests} == {"Be brief."}
    server.requests.clear()
    opened(project, server, "report.method=offline").index()
    assert server.requests == []
    assert set(reports_of(project)["method"]) == {"offline"}


def test_references_to_nothing_are_reported(project: Path, server: ModelServer) -> None:
    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        findings = report(body)["findings"]
        findings[0]["sources"].append(999)
        return said(json.dumps(report(body, findings=findings), ensure_ascii=False))

    server.play = play
    put(project, TEAM)
    result = opened(project, server).index()
    n_reports = result.counts["community_reports"]
    assert any(
        warning.startswith(f"in reports by the model, {n_reports} references to nothing")
        for warning in result.warnings
    )
    assert broken(committed(project)) == []


def test_one_document_more_asks_for_two_reports_at_most(project: Path, server: ModelServer) -> None:
    put(project, {f"{number}.txt": document(number) for number in range(120)})
    larger = ("report.model_share=0.1", "cluster.max_cluster_size=10", "chunks.size=600")
    first = opened(project, server, *larger).index()
    assert len(server.requests) == first.counts["text_units"] // 10
    server.requests.clear()
    more = "Ada Petrel met Vera Newcomer in Lisbon. Vera Newcomer wrote to Hugo Heron."
    (project / "input" / "more.txt").write_text(more, "utf-8")
    opened(project, server, *larger).index()
    assert len(server.requests) <= 2
    assert broken(committed(project)) == []


def test_the_graph_is_made_while_reports_are_awaited(tmp_path: Path, server: ModelServer) -> None:
    put(tmp_path, TEAM)
    asked: list[bool] = []

    def is_made() -> bool:
        return any((tmp_path / "output" / "graph").glob("*/arrays.json"))

    def play(body: dict[str, Any]) -> Any:
        asked.append(is_made())
        end = time.monotonic() + 5
        while len(asked) > 1 and not is_made() and time.monotonic() < end:
            time.sleep(0.01)
        return write_report(body)

    server.play = play
    result = opened(tmp_path, server, "llm.concurrency=1").index()
    assert len(asked) > 2
    assert (asked[0], asked[-1]) == (False, True)
    assert {"tokenize_units", "build_graph", "write_reports"} <= result.seconds.keys()
    assert all(seconds >= 0 for seconds in result.seconds.values())
    with_graph = committed(tmp_path)
    assert with_graph["search_texts"].height == with_graph["text_units"].height
