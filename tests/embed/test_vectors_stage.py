"""Vectors through an index run: what an endpoint refuses, forgets or changes harms nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from embed.embeddings_server import (
    Answer,
    EmbeddingsServer,
    embedded,
    embeddings_server,
    recorded,
    refused,
)
from law import broken, committed
from small import manifest_of

import graphkb
import graphkb.embed.connection as connection
from graphkb.cli import main
from graphkb.embed.cache import VectorCache
from graphkb.errors import EmbeddingError
from graphkb.stages.vectors import _by_turns
from graphkb.types import IndexResult

DOCUMENTS = {
    "osprey.md": "Ada Lin leads the Osprey project at Bluestone.",
    "公司.md": "陈明是青石公司的工程师。青石公司在杭州。",
    "valve.md": "The valve of turbine T-07 failed. Northern Seals replaced it.",
    "poison.md": "Zinnwald carries the word that no model can take: poison.",
    "旅行.md": "李雷去了上海，韩梅梅留在北京。",
}


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with embeddings_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_WAIT", 0.01)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "input").mkdir()
    for name, text in DOCUMENTS.items():
        (tmp_path / "input" / name).write_text(text, "utf-8")
    return tmp_path


def settings(server: EmbeddingsServer, *more: str) -> list[str]:
    return ["embed.provider=openai", f"embed.base_url={server.url}", "embed.model=m", *more]


def project(root: Path, server: EmbeddingsServer, *more: str) -> graphkb.Project:
    return graphkb.open(root, settings(server, *more))


def run(root: Path, server: EmbeddingsServer, *more: str) -> IndexResult:
    return project(root, server, *more).index()


def vectors(root: Path) -> dict[str, list[float]]:
    """Path of the document to its vector (every document here is one text unit)."""
    tables = committed(root)
    paths = dict(tables["documents"].select("id", "path").iter_rows())
    units = dict(tables["text_units"].select("id", "document_id").iter_rows())
    return {paths[units[i]]: v for i, v in tables["vectors"].select("id", "vector").iter_rows()}


def poisoned(body: dict[str, Any]) -> Answer:
    bad = any("poison" in text for text in body["input"])
    return recorded("emb_nan_500") if bad else embedded(body)


def test_i09_a_text_without_a_vector_is_named_and_found_by_its_words_and_tried_again(
    root: Path, server: EmbeddingsServer
) -> None:
    server.play = poisoned
    result = run(root, server)
    assert vectors(root).keys() == DOCUMENTS.keys() - {"poison.md"}
    assert result.counts["vectors"] == 4
    [warning] = [w for w in result.warnings if "vector" in w]
    assert warning.startswith("1 text unit of poison.md: without a vector (500: failed to encode")
    assert "NaN" in warning
    kb = project(root, server)
    assert kb.search("Zinnwald")[0].path == "poison.md"
    assert kb.search("青石公司", method="dense")
    assert not any("vector" in said for said in kb.query("青石公司在哪里？").warnings)
    assert kb.status()["vectors"] == 4
    assert [finding for finding in kb.doctor() if finding.problem] == []
    server.forget()
    again = run(root, server)
    tried, proof = server.texts
    assert "poison" in tried
    assert proof == "graphkb", "is it the text, or the endpoint?"
    assert again.version == result.version, "nothing was made, so nothing is committed"
    assert any("poison.md" in warning for warning in again.warnings)
    server.play = embedded
    healed = run(root, server)
    assert healed.counts["vectors"] == 5
    assert not any("vector" in warning for warning in healed.warnings)
    server.forget()
    run(root, server)
    assert server.asked == []


def test_short_and_long_texts_take_turns_in_whole_batches(
    root: Path, server: EmbeddingsServer
) -> None:
    for n in range(1, 17):
        (root / "input" / f"{n}.md").write_text("青石" * n + f" file {n}.", "utf-8")
    steps: list[tuple[str, int, int]] = []
    kb = project(root, server, "embed.batch_size=4", "embed.when=now", "embed.concurrency=1")
    kb.index(lambda *step: steps.append(step))
    counts = [(done, total) for stage, done, total in steps if stage == "embed"]
    assert counts[0] == (0, 21)
    assert counts[-1] == (21, 21)
    assert len(counts) > 5
    keys = [f"{n:02}" for n in range(18)]
    ordered = _by_turns(keys, 4)
    runs = [ordered[at : at + 4] for at in range(0, 18, 4)]
    assert sorted(ordered) == keys
    assert all(run == keys[keys.index(run[0]) :][:4] for run in runs)
    assert [run[0] for run in runs] == ["00", "08", "04", "12", "16"]
    assert _by_turns([], 4) == []


def test_answers_say_that_vectors_are_still_being_made(
    root: Path, server: EmbeddingsServer
) -> None:
    kb = project(root, server)
    questions = "Who leads the Osprey project?", "青石公司在哪里？"

    def warnings() -> set[str]:
        answers = [kb.query(asked, method) for asked in questions for method in ("local", "global")]
        assert all(list(a.to_dict()["warnings"]) == list(a.warnings) for a in answers)
        said = {tuple(w for w in a.warnings if "vector" in w) for a in answers}
        assert said == {tuple(w for w in kb.search(questions[0]).warnings if "vector" in w)}
        return set(said.pop())

    seen: list[set[str]] = []
    kb.index(on_commit=lambda result: seen.append(warnings()))
    (root / "input" / "新.md").write_text("欧阳娜负责鱼鹰项目的新阀门。", "utf-8")
    (root / "input" / "new.md").write_text("Nova Quist sells pumps.", "utf-8")
    kb.index(on_commit=lambda result: seen.append(warnings()))
    assert seen == [
        {"the vectors are not made yet: no dense leg"},
        set(),
        {
            "2 of 7 text units have no vector yet and are found by words and graph alone; "
            "graphkb index makes them"
        },
        set(),
    ]


def test_i03_a_batch_limit_loses_no_file(root: Path, server: EmbeddingsServer) -> None:
    for number in range(20):
        (root / "input" / f"{number}.txt").write_text(f"Visitor {number} met Ada Lin.", "utf-8")
    server.play = lambda body: (
        recorded("emb_batch_400") if len(body["input"]) > 10 else embedded(body)
    )
    assert run(root, server).counts["vectors"] == 25
    assert max(len(texts) for texts in server.asked[-2:]) <= 10


def test_i05_long_texts_are_shortened_or_cut_in_parts_and_counted(
    root: Path, server: EmbeddingsServer
) -> None:
    (root / "input" / "long.md").write_text("Ada Lin spoke at length. " * 40, "utf-8")
    (root / "input" / "长.md").write_text("陈明在杭州说了很久的话。" * 60, "utf-8")
    server.play = lambda body: (
        recorded("emb_too_long_413")
        if any(len(text) > 400 for text in body["input"])
        else embedded(body)
    )
    result = run(root, server, "chunks.size=2000")
    assert result.counts["vectors"] == 7
    assert any(
        w.startswith("2 text units of long.md, 长.md: too long for the embedding model")
        for w in result.warnings
    )
    server.forget()
    result = run(root, server, "chunks.size=2000", "embed.max_text_tokens=60")
    assert any(
        w.startswith("2 text units of long.md, 长.md: shortened to 60 tokens")
        for w in result.warnings
    )
    assert len(server.texts) == 2, "only what was cut is embedded anew"
    assert all(len(text) < 400 for text in server.texts)
    assert result.counts["vectors"] == 7


def test_i07_old_vectors_serve_until_those_of_another_model_are_complete(
    root: Path, server: EmbeddingsServer
) -> None:
    server.play = lambda body: embedded(body, 8 if body["model"] == "m" else 6)
    run(root, server)
    before = vectors(root)
    assert {len(vector) for vector in before.values()} == {8}
    (root / "input" / "valve.md").unlink()
    other = settings(server, "embed.model=other")
    server.play = lambda body: (
        embedded(body, 8) if body["model"] == "m" else refused(401, "no such key")
    )
    with pytest.raises(EmbeddingError, match=r"embed\.api_key.*the vectors of openai/m stay in"):
        graphkb.open(root, other).index()
    assert vectors(root) == {path: v for path, v in before.items() if path != "valve.md"}
    assert manifest_of(root).embedding["model"] == "m"
    hits = graphkb.open(root, other).search("Ada Lin", method="dense")
    assert len(hits) == 4
    assert any("still those of openai/m" in warning for warning in hits.warnings)
    server.play = lambda body: embedded(body, 8 if body["model"] == "m" else 6)
    result = graphkb.open(root, other).index()
    assert any("all vectors were made again" in warning for warning in result.warnings)
    assert {len(vector) for vector in vectors(root).values()} == {6}
    assert len(vectors(root)) == 4
    hits = graphkb.open(root, other).search("Ada Lin", method="dense")
    assert len(hits) == 4
    assert hits.warnings == ()
    assert graphkb.open(root, other).status()["embedding_model"] == "openai/other"
    server.forget()
    run(root, server)
    assert len(server.texts) == 1, "back to the first model: cached, but for one that proves it"
    assert broken(committed(root)) == []


def test_i07_embed_off_drops_the_vectors_as_told(root: Path, server: EmbeddingsServer) -> None:
    run(root, server)
    graphkb.open(root, ["embed.when=off"]).index()
    assert vectors(root) == {}
    assert manifest_of(root).embedding == {}


def test_i07_a_model_that_changed_behind_the_same_name_is_noticed(
    root: Path, server: EmbeddingsServer
) -> None:
    server.play = lambda body: embedded(body, 8)
    run(root, server)
    server.play = lambda body: embedded(body, 6)
    hits = project(root, server).search("Ada Lin")
    assert hits
    assert any("6 numbers" in w and "index --rebuild" in w for w in hits.warnings)
    (root / "input" / "new.md").write_text("A new text about Ada Lin.", "utf-8")
    result = run(root, server)
    assert any("6 numbers, those stored have 8" in warning for warning in result.warnings)
    assert {len(vector) for vector in vectors(root).values()} == {6}
    assert result.counts["vectors"] == 6
    assert project(root, server).search("Ada Lin").warnings == ()
    server.play = lambda body: embedded(body, 8)
    server.forget()
    project(root, server).index(rebuild=True)
    assert {len(vector) for vector in vectors(root).values()} == {8}


def test_a_new_key_address_or_batch_size_makes_no_vector_again(
    root: Path, server: EmbeddingsServer
) -> None:
    first = run(root, server)
    with embeddings_server() as other:
        result = run(root, other, "embed.api_key=sk-new", "embed.batch_size=2", "embed.timeout=9")
        assert other.asked == []
        assert result.warnings == ()
        assert result.counts == first.counts
        assert project(root, other).search("Ada Lin", method="dense")
    assert server.asked


def test_only_a_key_that_stands_beside_an_address_is_sent_there(
    root: Path, server: EmbeddingsServer
) -> None:
    run(root, server, "embed.api_key=sk-first")
    server.forget()
    with embeddings_server() as other:
        changed = project(root, other, "embed.model=other", "embed.api_key=sk-second")
        assert changed.search("Ada Lin", method="dense")
        assert other.asked == []
    assert server.keys == ["Bearer none"]


@pytest.mark.parametrize(
    "answer",
    [
        recorded("auth_401"), recorded("emb_nan"), recorded("html_200"),
        refused(429, "slow down", Retry_After="60"), recorded("emb_zero"),
    ],
)  # fmt: skip
def test_a_question_is_answered_without_the_endpoint_and_says_so(
    root: Path, server: EmbeddingsServer, answer: Answer
) -> None:
    run(root, server)
    server.play = lambda body: answer
    began = time.monotonic()
    kb = project(root, server)
    hits = kb.search("Who replaced the valve of turbine T-07?")
    assert hits[0].path == "valve.md"
    [warning] = hits.warnings
    assert warning.startswith("no dense leg: ")
    assert server.url in warning
    answered = kb.query("青石公司在哪里？")
    assert "青石公司" in answered.text
    assert any(w.startswith("no dense leg: ") for w in answered.warnings)
    assert time.monotonic() - began < 5
    with pytest.raises(EmbeddingError):
        kb.search("valve", method="dense")


def test_an_endpoint_that_fails_only_for_sentences_still_gives_an_answer(
    root: Path, server: EmbeddingsServer
) -> None:
    run(root, server, "answer.refusal_threshold=0")
    server.play = lambda body: (
        embedded(body) if body["input"] == ["Where is 青石公司?"] else refused(500, "oops")
    )
    answered = project(root, server, "answer.refusal_threshold=0").query("Where is 青石公司?")
    assert answered.text


def test_a_run_that_was_killed_embeds_nothing_twice(root: Path, server: EmbeddingsServer) -> None:
    for number in range(40):
        (root / "input" / f"{number}.txt").write_text(f"Visitor {number} met Ada Lin.", "utf-8")
    server.delay = 0.05
    options = settings(server, "embed.batch_size=1", "embed.concurrency=2")
    sets = [part for option in options for part in ("--set", option)]
    process = subprocess.Popen(
        [sys.executable, "-m", "graphkb", "index", "--root", str(root), *sets],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(graphkb.__file__).parents[1])},
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(server.asked) < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(2 * server.delay)
    cache = VectorCache(root / "cache")
    arrived = cache.count()
    cache.close()
    assert arrived >= 16
    server.delay = 0
    graphkb.open(root, options).index()
    assert len(vectors(root)) == 45
    twice = sum(count - 1 for count in Counter(server.texts).values())
    assert twice <= 2, "at most what was in flight"
    assert len(server.texts) == 45 + twice


def test_a_wrong_key_is_one_line_and_exit_code_1_and_the_rest_is_searchable(
    root: Path, server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    (root / "settings.yaml").write_text("embed:\n  api_key: ${MY_KEY}\n", "utf-8")
    server.play = lambda body: recorded("auth_401")
    sets = [part for option in settings(server) for part in ("--set", option)]
    done = CliRunner().invoke(main, ["index", "--root", str(root), *sets])
    assert done.exit_code == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: {server.url}: embed.api_key (from MY_KEY) is refused (401")
    assert "sk-very" not in done.stderr
    assert len(server.asked) == 1
    assert graphkb.open(root, ["embed.when=off"]).search("Osprey")[0].path == "osprey.md"


def test_a_preview_counts_what_would_be_sent(root: Path, server: EmbeddingsServer) -> None:
    assert project(root, server).preview().embed_texts == 5
    assert project(root, server, "embed.max_text_tokens=2").preview().embed_tokens <= 10
    server.play = poisoned
    run(root, server)
    assert project(root, server).preview().embed_texts == 1
    assert project(root, server, "embed.model=other").preview().embed_texts == 5
