"""Index runs in which a model reads, judges names and merges descriptions."""

from __future__ import annotations

import json
import random
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from law import committed, differences
from model_server import Answer, ModelServer, model_server, prompt_of, said

import graphkb
from graphkb.extract.facts import facts_of, missing_facts
from graphkb.graph import communities
from graphkb.project import Project
from graphkb.text.sentences import sentence_spans
from graphkb.text.tokens import count_tokens
from tests.extract.asked import described_things, judging, writing

NAMES = re.compile(r"Ada Lin|A\. Lin|Bo Chen|Osprey|陈明|青石公司")
SENTENCES = (
    "Ada Lin signed contract CT-{n} for {n}00 euros in May 20{n}.",
    "Bo Chen moved to Osprey on {n} March 20{n}.",
    "A. Lin met Bo Chen {n} times.",
    "陈明在20{n}年签署合同HT-{n}，金额{n}00元。",
    "青石公司于20{n}年{m}月雇用陈明。",
)


def text(number: int) -> str:
    """A document about the same few names, with facts of its own."""
    return " ".join(line.format(n=number, m=number % 12 + 1) for line in SENTENCES)


def read(body: dict[str, Any]) -> Answer:
    """Every name is an entity, described by the sentences it stands in."""
    passage = re.findall(r"<document>\n(.*)\n</document>", prompt_of(body), re.DOTALL)[0]
    sentences = [passage[a:b] for a, b in sentence_spans(passage)]
    entities = [
        [name, "PERSON", " ".join(s for s in sentences if name in s)]
        for name in dict.fromkeys(NAMES.findall(passage))
    ]
    return said(json.dumps({"entities": entities, "relationships": [], "claims": []}))


def verdict(one: str, other: str) -> str:
    return "same" if {one, other} == {"A. Lin", "Ada Lin"} else "different"


def every_fact(name: str, statements: list[str]) -> str:
    """Statements without their names: shorter, and nothing lost but names."""
    return " ".join(NAMES.sub("", statement) for statement in statements)


def play(body: dict[str, Any]) -> Answer:
    prompt = prompt_of(body)
    if "<pairs>" in prompt:
        return judging(verdict)(body)
    answer: Answer = writing(every_fact)(body) if "<things>" in prompt else read(body)
    return answer


def project(root: Path, server: ModelServer, *more: str) -> Project:
    return graphkb.open(root, [
        "llm.model=m", f"llm.base_url={server.url}", "llm.max_retries=0", "resolve.method=llm",
        "describe.max_tokens=60", "report.method=offline", "embed.when=off", "parquet=off", *more,
    ])  # fmt: skip


def index(root: Path, server: ModelServer, numbers: set[int], *more: str) -> Project:
    folder = root / "input"
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for number in numbers:
        (folder / f"{number}.txt").write_text(text(number), "utf8")
    kb = project(root, server, *more)
    assert kb.index().incomplete == ()
    return kb


def described(kb: Project) -> dict[str, str]:
    return dict(kb.table("entities").select("title", "description").iter_rows())


def asked_things(server: ModelServer) -> list[str]:
    return described_things([body for body in server.requests if "<things>" in prompt_of(body)])


def test_long_descriptions_are_merged_and_keep_every_fact(tmp_path: Path) -> None:
    with model_server(play) as server:
        kb = index(tmp_path, server, {11, 12, 13, 14, 15})
        assert set(asked_things(server)) == {"Ada Lin", "Bo Chen", "Osprey", "陈明", "青石公司"}
        usage = {used.step: used.calls for used in kb.index().usage}
    found = described(kb)
    assert "A. Lin" not in found
    for name, pattern in (("Ada Lin", "CT-{n} for {n}00 in May 20{n}"),
                          ("陈明", "20{n}年 HT-{n} {n}00"), ("陈明", "20{n}年{m}月")):  # fmt: skip
        for number in range(11, 16):
            wanted = facts_of(pattern.format(n=number, m=number % 12 + 1))
            assert missing_facts(wanted, facts_of(found[name])) == set(), (name, wanted)
    assert "Bo Chen" in found["Osprey"]  # another thing's name is a fact too
    assert usage == {}


def test_only_what_a_new_document_speaks_of_is_merged_again(tmp_path: Path) -> None:
    with model_server(play) as server:
        index(tmp_path, server, {11, 12, 13, 14})
        server.requests.clear()
        (tmp_path / "input" / "x.txt").write_text("陈明在2030年离开青石公司。", "utf8")
        kb = project(tmp_path, server)
        kb.index()
        assert asked_things(server) == ["陈明", "青石公司"]
        server.requests.clear()
        kb.index()
        kb.index(rebuild=True)
        assert asked_things(server) == []
    assert "2030年" in described(kb)["陈明"]


@pytest.mark.parametrize("seed", [1, 2])
def test_edits_lead_to_the_tables_of_an_index_from_scratch(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    with model_server(play) as server:
        for _ in range(3):
            numbers = {*chosen.sample(range(11, 18), chosen.randint(2, 6))}
            index(tmp_path / "changed", server, numbers)
        index(tmp_path / "fresh", server, numbers)
    found, expected = committed(tmp_path / "changed"), committed(tmp_path / "fresh")
    assert differences(found, expected) == []
    assert expected["descriptions"].height


def test_what_was_not_merged_is_said_and_merged_in_the_next_run(tmp_path: Path) -> None:
    def failing(body: dict[str, Any]) -> Answer:
        return said("no") if "<things>" in prompt_of(body) else play(body)

    with model_server(failing) as server:
        (tmp_path / "input").mkdir()
        for number in range(11, 16):
            (tmp_path / "input" / f"{number}.txt").write_text(text(number), "utf8")
        kb = project(tmp_path, server)
        (line,) = kb.index().incomplete
        assert line.startswith("long descriptions not merged: ")
        assert count_tokens(described(kb)["Ada Lin"]) <= 70
        server.play = play
        server.requests.clear()
        assert project(tmp_path, server).index().incomplete == ()
        assert set(asked_things(server)) == {"Ada Lin", "Bo Chen", "Osprey", "陈明", "青石公司"}
        assert all("<document>" not in prompt_of(body) for body in server.requests)
    assert "CT-15" in described(kb)["Ada Lin"]


def test_without_the_method_sentences_are_chosen_and_no_model_is_asked(tmp_path: Path) -> None:
    with model_server(play) as server:
        kb = index(tmp_path, server, {11, 12, 13, 14, 15}, "describe.method=offline")
        assert asked_things(server) == []
    assert kb.table("descriptions").height == 0
    assert 20 < count_tokens(described(kb)["Ada Lin"]) <= 70


def test_communities_are_found_while_descriptions_are_awaited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and the same ones as without descriptions."""
    found = threading.Event()
    find, waited = communities.find_communities, list[bool]()

    def noting(*given: Any) -> communities.Communities:
        found.set()
        return find(*given)

    def awaiting(body: dict[str, Any]) -> Answer:
        if "<things>" in prompt_of(body):
            waited.append(found.wait(10))
        return play(body)

    monkeypatch.setattr(communities, "find_communities", noting)
    with model_server(awaiting) as server:
        one = index(tmp_path / "one", server, {11, 12, 13}, "describe.method=llm")
        assert True in waited
        other = index(tmp_path / "other", server, {11, 12, 13}, "describe.method=offline")
    assert one.table("communities").equals(other.table("communities"))
