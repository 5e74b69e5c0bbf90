"""What calls cost, and budgets and deadlines that end a run."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from model_cases import ask, error
from model_server import Answer, ModelServer, said

from graphkb.errors import ModelFailure, SettingsError
from graphkb.llm.model import Model, Prompt, Said, plain
from graphkb.llm.prices import PRICES, WRITTEN, price_of
from graphkb.llm.usage import Budget, Ledger

Make = Callable[..., Model]


def step(name: str, text: str, **fields: Any) -> Prompt:
    return Prompt(name, "be short", text, **fields)


def test_usage_is_counted_by_step_and_model_in_the_order_of_first_calls(
    server: ModelServer, make: Make
) -> None:
    model = make(extraction_model="small", prices={"small": [1.0, 10.0]})
    model.ask(step("report", "一"), plain)
    model.ask_many([step("extract", str(n), role="extraction") for n in range(3)], plain)
    model.ask(step("extract", "0", role="extraction"), plain)
    report, extract = model.usage()
    assert (report.step, report.model, report.calls, report.price) == ("report", "m", 1, None)
    assert (extract.model, extract.calls, extract.cached) == ("small", 3, 1)
    assert (extract.prompt_tokens, extract.completion_tokens) == (21, 9)
    assert extract.price == pytest.approx((21 * 1 + 9 * 10) / 1e6)
    assert extract.seconds > 0
    assert [body["model"] for body in server.requests] == ["m", "small", "small", "small"]


def test_tokens_are_estimated_where_the_server_does_not_count(
    server: ModelServer, model: Model
) -> None:
    choice = {"message": {"content": "陈明是工程师"}, "finish_reason": "stop"}
    server.play = lambda body: (200, {"choices": [choice]})
    model.ask(ask("谁是工程师？"), plain)
    use = model.usage()[0]
    assert 10 <= use.prompt_tokens <= 30
    assert use.completion_tokens == 5


def test_a_budget_of_tokens_ends_the_run_and_what_is_kept_costs_nothing_more(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: (200, {
        "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 80},
    })  # fmt: skip
    prompts = [ask(str(place)) for place in range(50)]
    model = make(budget_tokens=1000, concurrency=4)
    outcomes = model.ask_many(prompts, plain)
    failures = [outcome for outcome in outcomes if isinstance(outcome, ModelFailure)]
    assert {failure.kind for failure in failures} == {"budget"}
    assert re.search(r"llm\.budget_tokens: 1,000 would be exceeded", str(failures[0]))
    spent = model.usage()[0]
    total = spent.prompt_tokens + spent.completion_tokens
    assert 500 < total <= 1000 + 3 * 100
    paid = len(server.requests)
    assert paid + len(failures) == 50
    assert spent.failed == 0  # nothing was sent for those
    with pytest.raises(ModelFailure, match="budget_tokens"):
        model.ask(ask("later"), plain)
    assert model.ask(prompts[0], plain).reply.cached
    assert len(server.requests) == paid
    again = make(budget_tokens=100_000)
    assert all(isinstance(outcome, Said) for outcome in again.ask_many(prompts, plain))
    assert len(server.requests) == 50


def test_a_budget_in_usd_counts_prices(server: ModelServer, make: Make) -> None:
    server.play = lambda body: (200, {
        "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 1000},
    })  # fmt: skip
    model = make(budget_usd=0.05, prices={"m": [1.0, 4.0]}, concurrency=1)
    outcomes = model.ask_many([ask(str(place)) for place in range(50)], plain)
    assert 8 <= sum(isinstance(outcome, Said) for outcome in outcomes) <= 11
    assert "llm.budget_usd: 0.05 would be exceeded" in str(outcomes[-1])


def test_a_call_waits_where_calls_in_flight_will_leave_room_in_the_budget(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        time.sleep(0.02)
        status, data = said("ok")
        data["usage"]["completion_tokens"] = 400 if "first" in str(body) else 10
        return status, data

    server.play = play
    model = make(budget_tokens=1200, concurrency=8)
    outcomes = model.ask_many([ask("first"), *[ask(f"第 {n} 个") for n in range(12)]], plain)
    assert all(isinstance(outcome, Said) for outcome in outcomes)
    assert len(server.requests) == 13


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((0.0, 1000), r"budget_tokens: 1,000 would be exceeded by a call of about 990 tokens: "
                      r"100 used, 300 reserved for calls in flight; raise it"),
        ((0.01, 0), r"budget_usd: 0\.01 would be exceeded by a call of about 0\.0099 USD: "
                    r"0\.0010 used, 0\.0030 reserved for calls in flight; raise it"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_used_and_what_is_reserved(
    limits: tuple[float, int], message: str
) -> None:
    async def spend() -> None:
        budget = Budget(*limits, Ledger({"m": [10.0, 10.0]}))
        budget.settle(await budget.reserve("m", 100, 100), "m", 50, 50)
        await budget.reserve("m", 100, 200)
        await budget.reserve("m", 490, 500)

    with pytest.raises(ModelFailure, match=message):
        asyncio.run(spend())


def test_calls_that_wait_for_room_are_refused_once_there_is_none() -> None:
    async def spend() -> list[Any]:
        budget = Budget(0.0, 1000, Ledger({}))
        flying = await budget.reserve("m", 100, 500)
        waiting = [asyncio.create_task(budget.reserve("m", 100, 500)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in waiting)
        budget.settle(flying, "m", 100, 700)
        return await asyncio.gather(*waiting, return_exceptions=True)

    outcomes = asyncio.run(spend())
    assert [getattr(outcome, "kind", "") for outcome in outcomes] == ["budget"] * 3
    assert "800 used, 0 reserved" in str(outcomes[0])


def test_a_budget_in_usd_needs_prices(make: Make) -> None:
    with pytest.raises(SettingsError, match=r"llm\.budget_usd: the price of 'm'.*llm\.prices"):
        make(budget_usd=1.0)
    with pytest.raises(SettingsError, match="'unheard-of'"):
        make(budget_usd=1.0, model="gpt-4o-mini", report_model="unheard-of")


def test_a_deadline_ends_calls_in_flight_and_those_that_wait(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        time.sleep(0.0 if "quick" in str(body) else 1.0)
        return said("ok")

    server.play = play
    model = make(concurrency=2)
    model.ask(ask("quick"), plain)
    started = time.monotonic()
    prompts = [ask("quick too"), *[ask(str(place)) for place in range(6)]]
    outcomes = model.ask_many(prompts, plain, deadline=started + 0.3)
    assert time.monotonic() - started < 0.9
    assert isinstance(outcomes[0], Said)
    assert {getattr(outcome, "kind", "") for outcome in outcomes[1:]} == {"deadline"}


def test_a_wait_that_ends_after_the_deadline_is_not_begun(server: ModelServer, make: Make) -> None:
    server.play = lambda body: error(429, "slow down", Retry_After="30")
    started = time.monotonic()
    with pytest.raises(ModelFailure, match="the pause that the server asked for") as caught:
        make(max_wait=60.0).ask(ask(), plain, deadline=started + 5)
    assert caught.value.kind == "deadline"
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    ("model", "known_as"),
    [
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        ("Qwen/Qwen3-32B", "qwen3-32b"),
        ("qwen-plus-latest", "qwen-plus"),
        ("qwen-plus-2025-07-28", "qwen-plus"),
    ],
)
def test_a_price_is_found_whatever_the_vendors_spelling(model: str, known_as: str) -> None:
    assert price_of(model, {}) == PRICES[known_as]


def test_the_users_price_wins_and_unknown_ones_are_unknown() -> None:
    assert price_of("gpt-4o-mini", {"gpt-4o-mini": [9, 99]}) == (9.0, 99.0)
    assert price_of("Mine", {"mine": [1]}) == (1.0, 1.0)
    assert price_of("unheard-of", {}) is None


def test_prices_are_dated_and_plausible() -> None:
    assert date.fromisoformat(WRITTEN) <= date(2026, 12, 31)
    for name, (prompt, reply) in PRICES.items():
        assert name == name.lower(), name
        assert 0 <= prompt <= reply <= 200, name
