"""The language model chooses among the passages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_cases import case
from model_server import ModelServer, model_server, said
from query.gathering import make_asker, make_snapshot, question, system_of, user_of, with_settings
from rerank_cases import CHINESE, ENGLISH, MORE, found, fused, ids, titles

from graphkb.llm.model import Model
from graphkb.project import Project
from graphkb.query.answer import answer_question
from graphkb.query.dry_run import plan_query
from graphkb.search.rerank.listwise import read_numbers
from graphkb.search.snapshot import Snapshot

# Enough that a small window does not hold them all.
MANY = {
    **{
        f"log{n}.md": f"# Log {n}\n\nOn day {n} turbine T-07 and its valve were seen by crew {n}.\n"
        for n in range(8)
    },
    **{
        f"日志{n}.md": f"# 日志{n}\n\n第{n}天青石公司收到退款申请{n}份，均已登记。\n"
        for n in range(8)
    },
}
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    snapshot = make_snapshot(tmp_path_factory.mktemp("listwise"), more={**MORE, **MANY})
    return with_settings(snapshot, "rerank", method="llm")


@pytest.fixture(scope="module")
def plain(collection: Snapshot) -> Snapshot:
    return with_settings(collection, "rerank", method="none")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def model(server: ModelServer, tmp_path: Path) -> Iterator[Model]:
    model = make_asker(server.url, tmp_path)
    yield model
    model.close()


def shown(body: dict[str, Any]) -> dict[int, str]:
    """The numbered passages of a request."""
    return {int(number): text for number, text in _NUMBERED.findall(user_of(body))}


def choosing(server: ModelServer, *words: str, form: str = "json") -> None:
    """A model that chooses passages with these words, in the order of the words."""

    def play(body: dict[str, Any]) -> Any:
        passages = shown(body)
        numbers = [n for word in words for n, text in passages.items() if word in text]
        if form == "json":
            return said(json.dumps({"passages": numbers}))
        return said(" > ".join(f"[{number}]" for number in numbers))

    server.play = play


@pytest.mark.parametrize("form", ["json", "marks"])
@pytest.mark.parametrize(
    ("text", "words", "first"),
    [
        (ENGLISH, ("lease of Pier 4", "HX-7"), ["Harbour", "Hydraulic oil"]),
        (CHINESE, ("四号码头", "沈若衡"), ["码头", "青石公司"]),
    ],
    ids=["en", "zh"],
)
def test_what_is_chosen_comes_first_and_the_rest_keeps_its_order(
    collection: Snapshot, plain: Snapshot, server: ModelServer, model: Model,
    text: str, words: tuple[str, ...], first: list[str], form: str,
) -> None:  # fmt: skip
    choosing(server, *words, form=form)
    result = found(collection, text, 30, model)
    assert titles(collection, result)[:2] == first
    before = fused(plain, text, 30)
    assert ids(result)[2:] == [i for i in before if i not in ids(result)[:2]]
    assert [u.via["rerank"].rank for u in result.units if "rerank" in u.via] == [1, 2]
    assert result.warnings == ()
    (body,) = server.requests
    assert text in user_of(body)
    assert ("段落" if text == CHINESE else "passages that are needed") in system_of(body)
    (step,) = [step for step in result.trace if step.name == "rerank"]
    assert step.detail == f"2 of {len(before)} text units chosen by m in 1 call"


def test_nothing_chosen_keeps_the_fused_order(
    collection: Snapshot, plain: Snapshot, server: ModelServer, model: Model
) -> None:
    choosing(server)
    result = found(collection, CHINESE, model=model)
    assert ids(result) == fused(plain, CHINESE)
    assert result.warnings == ()


def test_no_threshold_is_put_on_a_choice(
    collection: Snapshot, plain: Snapshot, server: ModelServer, model: Model
) -> None:
    choosing(server, "沈若衡", "四号码头")
    strict = with_settings(collection, "rerank", threshold=0.9)
    assert sorted(ids(found(strict, CHINESE, 30, model))) == sorted(fused(plain, CHINESE, 30))


@pytest.mark.parametrize(
    ("text", "words", "title"),
    [
        (ENGLISH, ("Pier 4", "valve of turbine T-07 failed"), "Harbour"),
        (CHINESE, ("四号码头", "退款由"), "码头"),
    ],
    ids=["en", "zh"],
)
def test_passages_beyond_one_call_are_shown_beside_those_chosen_before(
    collection: Snapshot, server: ModelServer, tmp_path: Path,
    text: str, words: tuple[str, ...], title: str,
) -> None:  # fmt: skip
    small = make_asker(server.url, tmp_path, context_tokens=1100)
    longer = with_settings(collection, "rerank", max_passage_tokens=64)
    choosing(server, *words)
    try:
        result = found(longer, text, 30, small)
    finally:
        small.close()
    assert titles(longer, result)[0] == title
    first, *later = [list(shown(body).values()) for body in server.requests]
    assert later, "the window is too small for one call"
    chosen = [text for word in words for text in first if word in text]
    assert later[0][: len(chosen)] == chosen
    assert max(map(len, (first, *later))) < len(result.units)
    everything = [text for texts in (first, *later) for text in texts]
    assert len(set(everything)) == len(result.units)


def test_a_prompt_that_is_too_long_is_halved(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    def play(body: dict[str, Any]) -> Any:
        if len(shown(body)) > 9:
            return 400, {"error": {"message": "maximum context length is 900 tokens"}}
        numbers = [n for n, text in shown(body).items() if "四号码头" in text]
        return said(json.dumps({"passages": numbers}))

    server.play = play
    result = found(collection, CHINESE, model=model)
    assert titles(collection, result)[0] == "码头"
    assert result.warnings == ()


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (lambda body: case("server_503"), "503"),
        (lambda body: case("auth_401"), "key"),
        (lambda body: said("I would read all of them."), "no usable reply"),
        (lambda body: said('{"passages": [98, 99]}'), "numbers from 1 to"),
        (lambda body: said('{"passages": "none"}'), "must be a list of numbers"),
        (lambda body: said(""), "no text"),
    ],
    ids=["503", "401", "prose", "beyond", "no list", "empty"],
)
def test_a_model_that_fails_leaves_the_fused_order_and_one_warning(
    collection: Snapshot, plain: Snapshot, server: ModelServer, model: Model,
    answer: Any, cause: str, text: str,
) -> None:  # fmt: skip
    server.play = answer
    result = found(collection, text, model=model)
    assert ids(result) == fused(plain, text)
    (warning,) = result.warnings
    assert "could not choose" in warning
    assert cause in warning
    assert warning.endswith("the fused order is kept")


def test_what_was_chosen_before_a_later_call_fails_stands(
    collection: Snapshot, server: ModelServer, tmp_path: Path
) -> None:
    def play(body: dict[str, Any]) -> Any:
        return said('{"passages": [2]}') if len(server.requests) == 1 else case("server_503")

    server.play = play
    small = make_asker(server.url, tmp_path, context_tokens=1100)
    longer = with_settings(collection, "rerank", max_passage_tokens=64)
    try:
        result = found(longer, CHINESE, model=small)
    finally:
        small.close()
    assert [u.via["rerank"].rank for u in result.units if "rerank" in u.via] == [1]
    (warning,) = result.warnings
    assert "text units were not looked at" in warning


def test_without_a_model_the_fused_order_is_kept(collection: Snapshot, plain: Snapshot) -> None:
    result = found(collection, CHINESE, model=None)
    assert ids(result) == fused(plain, CHINESE)
    (warning,) = result.warnings
    assert "check llm.model" in warning


def test_an_answer_is_written_from_what_was_chosen(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    def play(body: dict[str, Any]) -> Any:
        if '"passages": [' in system_of(body):
            return said(json.dumps({"passages": [
                n for n, text in shown(body).items() if "四号码头" in text
            ]}))  # fmt: skip
        return said("青石公司租用四号码头 [1]。")

    server.play = play
    answer = answer_question(collection, question(CHINESE, model), "hybrid")
    assert answer.context.passages[0].title == "码头"
    assert [step.step for step in answer.usage.steps] == ["rerank", "answer"]


def test_a_dry_run_counts_the_choice_and_sends_nothing(
    collection: Snapshot, plain: Snapshot, server: ModelServer
) -> None:
    planned = plan_query(collection, question(CHINESE), "hybrid")
    assert [prompt.step for prompt in planned.prompts] == ["rerank", "answer"]
    assert not planned.complete
    assert "四号码头" in planned.prompts[0].messages[-1][1]
    assert planned.n_tokens > plan_query(plain, question(CHINESE), "hybrid").n_tokens
    assert not server.requests


def test_search_asks_the_projects_model(collection: Snapshot, server: ModelServer) -> None:
    choosing(server, "四号码头")
    told = ["embed.when=off", "rerank.method=llm", "llm.model=m", f"llm.base_url={server.url}"]
    with Project(collection.root, told) as project:
        assert project.search(CHINESE)[0].title == "码头"
        server.requests.clear()
        assert project.search(CHINESE, method="lexical")
    assert not server.requests


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"passages": [3, 1]}', [3, 1]),
        ('```json\n{"passages": ["3", "[1]"]}\n```', [3, 1]),
        ("[3, 1]", [3, 1]),
        ("[3] > [1] > [3] > [9]", [3, 1]),
        ("需要【3】和【1】。", [3, 1]),
        ("<think>maybe [2]</think>[3] [1]", [3, 1]),
        ('<think>[2]?</think>{"编号": [3, 1]}', [3, 1]),
        ('{"passages": [{"id": 3}, {"id": 1}]}', [3, 1]),
        ('{"answer": [3.0, true, null, 1]}', [3, 1]),
        ('{"passages": []}', []),
        ("[]", []),
        ("3, 1", [3, 1]),
        ("[[3, [1]]]", [3, 1]),
    ],
)
def test_lists_of_numbers_in_every_form(text: str, expected: list[int]) -> None:
    assert read_numbers(4)(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "none of them",
        "",
        '{"passages": [7]}',
        '{"a": 1}',
        "都不需要",
        '{"passages": "none"}',
        '{"passages": "都不需要"}',
        '{"passages": null}',
        '{"passages": {}}',
        '{"passages": [[3, [1]]]}',
        '{"passages": [1e999]}',
        "[1e999]",
        '{"passages": [null]}',
    ],
)
def test_replies_without_usable_numbers_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_numbers(4)(text)
