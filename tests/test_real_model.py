"""The whole way with a real language model: SmolLM2-135M in llama.cpp, started by graphkb.

A model this small answers badly. What is tested is the machinery around it: that it is asked and
paid for, that nothing is lost where it fails, that what it says is checked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from real_model import MODEL, model_path, needs_model

import graphkb
from graphkb.llm.cache import ReplyCache
from graphkb.llm.local import LocalTransport
from graphkb.types import Answer, IndexResult

pytestmark = [needs_model, pytest.mark.slow]

DOCUMENTS = {
    "osprey.md": "# Osprey\n\nAda Lin leads Osprey, a wind farm near Bergen. "
    "Bo Chen is its engineer.\n",
    "青石.md": "# 青石公司\n\n陈明是青石公司的工程师。青石公司在杭州。\n",
}
COMMON = [
    "embed.when=off", "llm.provider=llama_cpp", f"llm.model={MODEL}",
    "llm.concurrency=1", "llm.context_tokens=2048", "llm.timeout=600",
    # Without it a small model says the same again and again.
    "llm.extra_body={repeat_penalty: 1.2}",
    "extract.method=llm", "extract.claims=false", "describe.method=offline",
    "report.method=llm", "report.model_share=1", "report.max_input_tokens=200",
    "report.max_findings=1",
    "local_search.max_context_tokens=200", "global_search.max_context_tokens=300",
    "drift_search.max_context_tokens=200", "drift_search.depth=1", "drift_search.follow_ups=1",
    "drift_search.primer_reports=1", "answer.deadline=600", "answer.refusal_threshold=0",
]  # fmt: skip
INDEX, ASK = "llm.max_tokens=300", "llm.max_tokens=60"


@dataclass
class World:
    """An indexed project, and every request that was sent to the model."""

    root: Path
    first: IndexResult
    bodies: list[Mapping[str, Any]] = field(default_factory=list)

    def project(self, more: str) -> graphkb.Project:
        return graphkb.open(self.root, [*COMMON, more])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("real")
    (root / "input").mkdir()
    for name, text in DOCUMENTS.items():
        (root / "input" / name).write_text(text, "utf-8")
    bodies: list[Mapping[str, Any]] = []
    send, stream = LocalTransport.send, LocalTransport.stream

    def sent(self: LocalTransport, body: Mapping[str, Any]) -> Any:
        bodies.append(body)
        return send(self, body)

    def streamed(self: LocalTransport, body: Mapping[str, Any]) -> Any:
        bodies.append(body)
        return stream(self, body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalTransport, "send", sent)
        patch.setattr(LocalTransport, "stream", streamed)
        with graphkb.open(root, [*COMMON, INDEX]) as kb:
            result = kb.index()
        yield World(root, result, bodies)


def calls(result: IndexResult, step: str) -> int:
    return sum(used.calls for used in result.usage if used.step == step)


def test_the_index_is_made_with_the_model_and_loses_nothing(world: World) -> None:
    result = world.first
    assert calls(result, "extract") >= len(DOCUMENTS)
    assert calls(result, "report") > 0
    assert all(used.completion_tokens > 0 for used in result.usage if used.calls)
    with world.project(INDEX) as kb:
        units = kb.table("text_units")
        assert sorted(kb.table("documents")["path"]) == sorted(DOCUMENTS)
        for name, text in DOCUMENTS.items():
            body = text.split("\n\n")[1].strip()
            assert units.filter(pl.col("text").str.contains(body, literal=True)).height == 1, name
        mentioned = set(kb.table("mentions")["text_unit_id"])
        assert mentioned == set(units["id"]), "where the model finds nothing, the words are used"
        reports = kb.table("community_reports")
        assert reports.height > 0
        assert set(reports["method"]) <= {"llm", "offline", "rejected"}
        assert {"llm", "rejected"} & set(reports["method"]) or result.incomplete
        assert [finding for finding in kb.doctor() if finding.problem] == []


def test_json_is_asked_for_by_schema_and_comes(world: World) -> None:
    formats = [
        body["response_format"]["type"] for body in world.bodies if "response_format" in body
    ]
    assert formats
    assert set(formats) == {"json_schema"}
    cache = ReplyCache(world.root / "cache")
    try:
        endpoint = next(row["request"]["base_url"] for row in cache.export())
        name = Path(model_path()).name
        assert endpoint.startswith(f"llama_cpp:{name}:")
        assert "mode" not in cache.server(endpoint, name), "nothing less strict was needed"
        asked = [row for row in cache.export() if "schema" in row["request"]["options"]]
        assert asked
        for row in asked:
            reply = json.loads(row["reply"]["text"])
            assert set(row["request"]["options"]["schema"]["required"]) <= reply.keys()
    finally:
        cache.close()


def test_a_second_run_asks_only_what_the_first_could_not_finish(world: World) -> None:
    before = len(world.bodies)
    with world.project(INDEX) as kb:
        result = kb.index()
    again = len(world.bodies) - before
    failed = sum(used.failed for used in world.first.usage)
    assert again <= 2 * failed, "what was answered is kept, also where it could not be used"
    assert bool(result.incomplete) == bool(world.first.incomplete)
    assert again or result.version == world.first.version


def assert_checked(kb: graphkb.Project, answer: Answer) -> None:
    """There is an answer or it is said why not, and every mark in it points to a source."""
    assert answer.text.strip()
    assert sum(step.calls for step in answer.usage.steps) > 0
    assert answer.usage.completion_tokens > 0
    assert answer.model or answer.refused or answer.warnings
    texts = dict(kb.table("documents").select("id", "text").iter_rows())
    units = set(kb.table("text_units")["id"])
    for citation in answer.citations:
        assert citation.text_unit_id in units
        assert texts[citation.document_id][citation.char_start : citation.char_end].strip()
    marks = {int(mark) for mark in re.findall(r"\[(\d+)\]", answer.text)}
    assert marks <= {citation.number for citation in answer.citations}


def test_a_local_question_is_answered_as_the_model_speaks(world: World) -> None:
    with world.project(ASK) as kb:
        stream = kb.stream("青石公司在哪里？", "local")
        pieces = list(stream)
        assert len(pieces) > 2
        assert "".join(pieces).strip()
        assert_checked(kb, stream.answer)
        server = next(iter(kb._models))._transport._server
        assert server is not None
        process_id = server.process_id
        os.kill(process_id, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)


@pytest.mark.parametrize(
    ("method", "question"),
    [("global", "What are the main themes?"), ("drift", "Who leads Osprey?")],
)
def test_wider_questions_are_answered(world: World, method: str, question: str) -> None:
    with world.project(ASK) as kb:
        answer = kb.query(question, method)
        assert_checked(kb, answer)
        used = {step.step for step in answer.usage.steps}
        assert used & ({"map"} if method == "global" else {"drift"})
