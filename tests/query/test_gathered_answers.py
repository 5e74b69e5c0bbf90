"""From a question to a cited answer, by each method that gathers points with a model."""

from __future__ import annotations

import re
from typing import Any

import pytest
from model_server import ModelServer, said
from query.gathering import question, reader, system_of, user_of

from graphkb.llm.model import Model
from graphkb.query.answer import FIRST_PROMPTS, answer_question
from graphkb.query.compose import count_prompt
from graphkb.search.snapshot import Snapshot

METHODS = ("global", "drift", "lazy")
VALVE = "What happened to the valve of turbine T-07?"


def answering(*words: str) -> Any:
    """A model that reads as :func:`reader` does, and answers with the points it is shown."""
    read = reader(*words)

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "<points>" in user_of(body):
            shown = user_of(body).partition("<points>\n")[2].partition("\n</points>")[0]
            return said(re.sub(r"^- ", "", shown, flags=re.MULTILINE))
        if "<source>" in user_of(body):
            return said("Northern Seals replaced the valve [1].")
        return read(body)

    return play


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("text", "word", "quote"),
    [
        (VALVE, "replaced the valve", "Northern Seals replaced the valve."),
        ("谁投资了青石公司？", "投资了青石公司", "栖岩资本投资了青石公司。"),
    ],
)
def test_an_answer_cites_sentences_of_the_documents(
    collection: Snapshot,
    server: ModelServer,
    model: Model,
    method: str,
    text: str,
    word: str,
    quote: str,
) -> None:
    server.play = answering(word)
    answer = answer_question(collection, question(text, model), method)
    assert answer.method == method
    assert not answer.refused
    assert quote in {citation.quote for citation in answer.citations}
    assert all(f"[{citation.number}]" in answer.text for citation in answer.citations)
    assert answer.usage.calls == len(server.requests) <= 10
    assert not answer.warnings


@pytest.mark.parametrize("method", METHODS)
def test_a_model_that_finds_nothing_is_a_refusal_without_an_answer_call(
    collection: Snapshot, server: ModelServer, model: Model, method: str
) -> None:
    server.play = answering("nothing at all")
    answer = answer_question(collection, question(VALVE, model), method)
    assert answer.refused
    assert answer.citations == ()
    assert not any("<source>" in user_of(body) for body in server.requests)


@pytest.mark.parametrize("method", METHODS)
def test_prose_from_a_weak_model_still_gives_a_cited_answer(
    collection: Snapshot, server: ModelServer, model: Model, method: str
) -> None:
    server.play = lambda body: (
        said("Northern Seals replaced the valve [1].")
        if "<source>" in user_of(body)
        else said("I believe it is about a valve.")
    )
    answer = answer_question(collection, question(VALVE, model), method)
    assert not answer.refused
    assert answer.citations
    assert answer.warnings


@pytest.mark.parametrize("method", METHODS)
def test_without_a_model_the_answer_quotes_the_documents(collection: Snapshot, method: str) -> None:
    answer = answer_question(collection, question(VALVE), method)
    assert any("valve" in citation.quote for citation in answer.citations)
    assert answer.usage.calls == 0


@pytest.mark.parametrize("method", METHODS)
def test_prompts_hold_text_from_documents_only_in_the_user_message(
    collection: Snapshot, server: ModelServer, model: Model, method: str
) -> None:
    server.play = answering("valve")
    answer_question(collection, question(VALVE, model), method)
    for body in server.requests:
        assert "Northern Seals" not in system_of(body)
        assert "JSON" in system_of(body) or "<source>" in user_of(body)


@pytest.mark.parametrize("method", METHODS)
def test_first_prompts_need_no_model_and_say_what_they_cost(
    collection: Snapshot, method: str
) -> None:
    prompts = FIRST_PROMPTS[method](collection, question(VALVE))
    assert prompts
    assert all(0 < count_prompt(prompt) < 5_000 for prompt in prompts)
    assert all(prompt.schema and prompt.max_tokens for prompt in prompts)
