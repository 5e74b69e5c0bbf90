"""A dry run says what the model would be asked, word for word, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from graphrag_output import make_output
from model_server import ModelServer, model_server, said

import graphkb
from graphkb.cli import main
from graphkb.importing.project import import_graphrag
from graphkb.preview import Preview
from graphkb.text.tokens import count_tokens

FILES = {
    "osprey.md": "# Osprey\n\nAda Lin leads the Osprey project at Bluestone. It is in Bergen.\n",
    "公司.md": "# 公司简介\n\n陈明是青石公司的工程师。青石公司在杭州。\n",
    "valve.md": "# Valve\n\nThe valve of turbine T-07 failed. Northern Seals replaced the valve.\n",
}
KEY = "sk-never-shown-in-any-place"


def read(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Finds two names that stand in the text."""
    text = body["messages"][-1]["content"]
    pairs = (("Ada Lin", "Bluestone"), ("陈明", "青石公司"), ("T-07", "Northern Seals"))
    a, b = next((pair for pair in pairs if pair[0] in text), ("", ""))
    found = {
        "entities": [[a, "PERSON", "x"], [b, "ORGANIZATION", "y"]] if a else [],
        "relationships": [[a, "is of", b, "5"]] if a else [], "claims": [],
    }  # fmt: skip
    return said(json.dumps(found, ensure_ascii=False))


@pytest.fixture
def root(project: Path) -> Path:
    for name, text in FILES.items():
        (project / "input" / name).write_text(text, "utf-8")
    return project


def options(server: ModelServer, *more: str) -> list[str]:
    return [
        f"llm.base_url={server.url}", "llm.model=m", f"llm.api_key={KEY}", "embed.when=off",
        "report.method=offline", "describe.method=offline", *more,
    ]  # fmt: skip


def forecast(root: Path, server: ModelServer, *more: str, rebuild: bool = False) -> Preview:
    return graphkb.open(root, options(server, *more)).preview(rebuild=rebuild)


def asked(server: ModelServer) -> list[tuple[tuple[str, str], ...]]:
    return [
        tuple((message["role"], message["content"]) for message in body["messages"])
        for body in server.requests
    ]


def run(root: Path, server: ModelServer, *arguments: str) -> Result:
    given = [word for option in options(server) for word in ("--set", option)]
    return CliRunner().invoke(main, ["index", "--root", str(root), *given, *arguments])


def test_the_prompts_shown_are_those_that_are_sent(root: Path) -> None:
    with model_server(read) as server:
        found = forecast(root, server, "llm.structured=text")
        assert server.requests == []
        assert not (root / "cache").exists()
        graphkb.open(root, options(server, "llm.structured=text")).index()
        sent = asked(server)
    (step,) = found.calls
    assert (step.step, step.model, step.calls, step.cached) == ("extract", "m", 3, 0)
    assert len(found.prompts) == 3
    assert set(found.prompts) == set(sent)
    assert step.prompt_tokens == sum(count_tokens(text) for one in sent for _, text in one)
    assert step.completion_tokens > 0


def test_only_units_without_a_reply_are_counted(root: Path) -> None:
    with model_server(read) as server:
        graphkb.open(root, options(server)).index()
        assert forecast(root, server).calls == ()
        (root / "input" / "new.md").write_text("Ada Lin met Bluestone.", "utf-8")
        found = forecast(root, server)
        assert (found.model_calls, found.calls[0].cached) == (1, 0)
        assert "Ada Lin met Bluestone." in found.prompts[0][-1][1]
        again = forecast(root, server, rebuild=True)
        assert (again.calls[0].calls, again.calls[0].cached) == (1, 3)
        other = forecast(root, server, "llm.model=other")
        assert (other.calls[0].calls, other.calls[0].cached) == (4, 0)


def test_replies_that_are_there_say_how_long_the_others_will_be(root: Path) -> None:
    with model_server(read) as server:
        graphkb.open(root, options(server)).index()
        (root / "input" / "new.md").write_text("Ada Lin met Bluestone. " * 30, "utf-8")
        found = forecast(root, server, rebuild=True)
    tokens = sum(count_tokens(text.strip()) for text in FILES.values())
    new = count_tokens(("Ada Lin met Bluestone. " * 30).strip())
    assert found.calls[0].completion_tokens == int(new * 9 / tokens)


def test_what_was_imported_is_not_asked_for(tmp_path: Path) -> None:
    import_graphrag(make_output(2).write(tmp_path / "rag"), tmp_path / "kb")
    with model_server(read) as server:
        assert forecast(tmp_path / "kb", server).calls == ()
        (tmp_path / "kb" / "input" / "新.md").write_text("陈明访问青石公司。", "utf-8")
        assert forecast(tmp_path / "kb", server).model_calls == 1


def test_without_a_model_there_are_no_calls(root: Path) -> None:
    found = graphkb.open(root, ["embed.when=off"]).preview()
    assert (found.calls, found.prompts, found.model_calls, found.price) == ((), (), 0, 0)


def test_hybrid_counts_the_units_that_it_would_ask_about(root: Path) -> None:
    with model_server(read) as server:
        hybrid = ("extract.method=hybrid", "extract.hybrid_share=0.5")
        found = forecast(root, server, *hybrid)
        graphkb.open(root, options(server, *hybrid)).index()
        assert sum(step.calls for step in found.calls) == len(server.requests)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_changed_prompts_are_named_and_all_units_are_to_do(root: Path, language: str) -> None:
    with model_server(read) as server:
        graphkb.open(root, options(server)).index()
        prompts = root / "prompts" / language
        prompts.mkdir(parents=True)
        (prompts / "extract_types.md").write_text("PERSON, SHIP", "utf-8")
        found = forecast(root, server)
        assert "about " in run(root, server, "--dry-run").stdout.partition("communities")[0]
    assert found.settings_change.startswith("prompts or model changed; runs again: extract_evi")
    assert found.text_units == found.text_units_total == 3


def test_a_price_is_said_where_it_is_known(root: Path) -> None:
    with model_server(read) as server:
        assert forecast(root, server).price is None
        found = forecast(root, server, "llm.prices={m: [1.0, 2.0]}")
        (step,) = found.calls
    expected = (step.prompt_tokens + 2 * step.completion_tokens) / 1e6
    assert found.price == pytest.approx(expected)


def test_reports_are_estimated_by_share_and_by_what_is_touched(root: Path) -> None:
    with model_server(read) as server:
        first = forecast(root, server, "report.method=llm", "report.model_share=2")
        by_step = {step.step: step for step in first.calls}
        assert by_step["report"].calls == 6
        assert by_step["report"].prompt_tokens >= 6 * 2500


def test_a_plan_above_the_budget_is_warned_of(root: Path) -> None:
    with model_server(read) as server:
        tokens = forecast(root, server, "llm.budget_tokens=100").warnings
        assert "llm.budget_tokens (100)" in tokens[0]
        price = ("llm.prices={m: [100.0, 100.0]}", "llm.budget_usd=0.01")
        assert "llm.budget_usd (0.01)" in forecast(root, server, *price).warnings[0]


def test_the_command_shows_prompts_and_costs_and_no_key(root: Path) -> None:
    with model_server(read) as server:
        plain = run(root, server, "--dry-run")
        full = run(root, server, "--dry-run", "--prompts")
        facts = json.loads(run(root, server, "--dry-run", "--json").stdout)
        assert server.requests == []
    assert plain.exit_code == full.exit_code == 0, plain.output
    assert "model     extract by m: 3 calls, 0 cached" in plain.stdout
    assert "price not known" in plain.stdout
    assert "communities" not in plain.stdout  # there are none to compare with
    assert "陈明是青石公司的工程师" not in plain.stdout
    assert "--- prompt 1, system" in full.stdout
    assert "陈明是青石公司的工程师" in full.stdout
    assert KEY not in full.output
    assert KEY not in json.dumps(facts)
    assert facts["calls"][0]["calls"] == 3


def test_a_budget_stops_the_run_and_the_next_one_goes_on(root: Path) -> None:
    def dear(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, data = read(body)
        return status, data | {"usage": {"prompt_tokens": 3000, "completion_tokens": 10}}

    with model_server(dear) as server:
        budget = ("--budget-tokens", "3100", "--set", "llm.concurrency=1")
        first = run(root, server, *budget, "--embed", "off")
        assert first.exit_code == 1
        assert "incomplete (" in first.stdout, first.output
        assert "extract by m: " in first.stdout
        stopped = len(server.requests)
        assert 0 < stopped < 3
        assert " failed" not in first.stdout
        left = forecast(root, server)
        assert left.text_units == left.model_calls == 3 - stopped
        assert left.tokens > 0
        second = run(root, server, "--embed", "off")
        assert second.exit_code == 0, second.output
        assert len(server.requests) == 3
    facts = graphkb.open(root).status()
    expected = {"llm": 3, "imported": 0, "code": 0, "offline": 0, "unfinished": 0, "cut": 0}
    assert facts["extracted"] == expected


def test_the_end_of_a_run_says_what_each_step_cost(root: Path) -> None:
    with model_server(read) as server:
        result = run(root, server, "--embed", "off", "--set", "llm.prices={m: [1.0, 2.0]}")
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("extract by m: ")]
    assert "3 calls, 0 cached, 21 tokens in, 9 out, 3.9e-05 USD" in line
    assert line.endswith("s in calls")


def test_status_says_which_model_and_how_units_were_read(root: Path) -> None:
    with model_server(read) as server:
        graphkb.open(root, options(server)).index()
        given = [word for option in options(server) for word in ("--set", option)]
        result = CliRunner().invoke(main, ["status", "--root", str(root), *given])
        plain = CliRunner().invoke(main, ["status", "--root", str(root)])
    assert "model      m" in result.stdout
    assert "read by    the model 3 text units" in result.stdout
    assert "model      none" in plain.stdout


def test_a_model_on_this_machine_is_asked_at_least_so_often(root: Path, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    local = ["llm.provider=llama_cpp", f"llm.model={tmp_path / 'm.gguf'}", "embed.when=off"]
    found = graphkb.open(root, local).preview()
    assert [(step.step, step.at_least) for step in found.calls] == [
        ("extract", True), ("report", True),
    ]  # fmt: skip
    with model_server(read) as server:
        assert not forecast(root, server).calls[0].at_least
