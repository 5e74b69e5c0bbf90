"""The question leg: questions by patterns and by a model, kept by text unit, found by words."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from model_server import ModelServer, model_server, prompt_of, said

from graphkb.errors import NotIndexedError
from graphkb.extract.ask import questions_of_unit, read_questions
from graphkb.llm.prompts import shipped_folder
from graphkb.project import Project
from graphkb.types import IndexResult

DOCUMENTS = {
    "osprey.md": "# Osprey\n\nAda Lin leads the Osprey project at Bluestone.\n",
    "公司.md": "# 公司简介\n\n陈明是青石公司的工程师。青石公司在杭州。\n",
}
OFFLINE = ("embed.when=off", "questions.method=offline")


def put(root: Path, **texts: str) -> None:
    (root / "input").mkdir(parents=True, exist_ok=True)
    for name, text in {**DOCUMENTS, **texts}.items():
        (root / "input" / name).write_text(text, "utf8")


def asked(project: Project) -> set[str]:
    return set(project.table("questions")["question"])


def test_sentences_become_questions_for_their_names() -> None:
    english = "Ada Lin leads Osprey. Osprey is a ferry. In May Bo left. Is Ada there?"
    names = [(0, 7, "PERSON"), (14, 20, "TERM"), (22, 28, "TERM"), (48, 50, "PERSON")]
    assert questions_of_unit(english, names, 5) == ["Who leads Osprey?", "What is Osprey?"]
    chinese = "# 青石公司\n青石公司是一家软件企业。青石公司由沈若衡创办。"
    places = [(2, 6, "ORGANIZATION"), (7, 11, "ORGANIZATION")]
    places += [(19, 23, "ORGANIZATION"), (24, 27, "PERSON")]
    assert questions_of_unit(chinese, places, 5) == [
        "青石公司是什么？", "哪家机构由沈若衡创办？", "青石公司由谁创办？",
    ]  # fmt: skip
    assert questions_of_unit(chinese, places, 1) == ["青石公司是什么？"]
    assert questions_of_unit("Nobody is named here.", [], 5) == []


def test_a_reply_is_read_line_by_line() -> None:
    reply = "Here:\n1. Who leads Osprey?\n2) 谁领导鱼鹰项目？\n- Who leads Osprey?\nThanks"
    assert read_questions(reply, 5) == ["Who leads Osprey?", "谁领导鱼鹰项目？"]
    with pytest.raises(ValueError, match="ending with"):
        read_questions("I cannot.", 5)


def test_a_question_finds_the_text_unit_that_answers_it(tmp_path: Path) -> None:
    put(tmp_path)
    kb = Project(tmp_path, OFFLINE)
    kb.index()
    assert "question" in kb.search_methods
    for question, path in (("Who leads Osprey?", "osprey.md"), ("青石公司在哪里？", "公司.md")):
        hits = kb.search(question, method="question")
        assert [hit.path for hit in hits] == [path]
        assert hits[0].text in (tmp_path / "input" / path).read_text("utf8")
    joined = Project(tmp_path, [*OFFLINE, "search.legs=[lexical, graph, question]"])
    assert "question" in joined.search("Who leads Osprey?")[0].via


def test_without_questions_the_leg_says_what_to_do(tmp_path: Path) -> None:
    put(tmp_path)
    kb = Project(tmp_path, ["embed.when=off", "search.legs=[lexical, graph, question]"])
    kb.index()
    assert "question" not in kb.search_methods
    with pytest.raises(NotIndexedError, match=r"set questions\.method and run graphkb index"):
        kb.search("Who leads Osprey?", method="question")
    hits = kb.search("Who leads Osprey?")
    assert hits[0].path == "osprey.md"
    assert any("no question leg" in warning for warning in hits.warnings)


def test_questions_follow_the_documents(tmp_path: Path) -> None:
    put(tmp_path / "a", **{"gone.md": "# Heron\n\nBo Ek leads the Heron project.\n"})
    kb = Project(tmp_path / "a", OFFLINE)
    kb.index()
    before = kb.table("questions")
    assert "Who leads the Heron project?" in asked(kb)
    (tmp_path / "a/input/gone.md").unlink()
    put(tmp_path / "a", **{"new.md": "# Kestrel\n\nBo Ek leads the Kestrel project.\n"})
    kb.index()
    assert "Who leads the Heron project?" not in asked(kb)
    assert "Who leads the Kestrel project?" in asked(kb)
    kept = kb.table("questions").join(before, on=["text_unit_id", "id"], how="semi")
    assert kept.height
    put(tmp_path / "b", **{"new.md": "# Kestrel\n\nBo Ek leads the Kestrel project.\n"})
    alone = Project(tmp_path / "b", OFFLINE)
    alone.index()
    assert kb.table("questions").equals(alone.table("questions"))
    off = Project(tmp_path / "a", ["embed.when=off"])
    off.index()
    assert off.table("questions").height == 0


def by_model(root: Path, server: ModelServer) -> Project:
    own = [f"llm.base_url={server.url}", "llm.model=m", "llm.max_retries=0", "llm.api_key=k"]
    rest = [f"{part}.method=offline" for part in ("extract", "report", "describe")]
    return Project(root, ["embed.when=off", "questions.method=llm", *own, *rest])


def with_model(root: Path, server: ModelServer) -> tuple[Project, IndexResult]:
    kb = by_model(root, server)
    return kb, kb.index()


def test_a_dry_run_counts_the_questions_calls(tmp_path: Path) -> None:
    put(tmp_path)
    with model_server() as server:
        server.play = lambda body: said("谁在青石公司工作？")
        (step,) = by_model(tmp_path, server).preview().calls
        assert (step.step, step.calls, step.cached) == ("questions", 2, 0)
        assert server.requests == []
        with_model(tmp_path, server)
        assert by_model(tmp_path, server).preview().calls == ()
        put(tmp_path, **{"new.md": "# Kestrel\n\nBo Ek leads the Kestrel project.\n"})
        (step,) = by_model(tmp_path, server).preview().calls
        assert (step.calls, step.cached) == (1, 0)


def test_the_model_writes_questions_once_and_failures_are_asked_again(tmp_path: Path) -> None:
    put(tmp_path)
    with model_server() as server:

        def play(body):  # type: ignore[no-untyped-def]
            chinese = "青石公司" in prompt_of(body)
            return (500, {"error": {"message": "down"}}) if chinese else said("Who runs Osprey?")

        server.play = play
        kb, result = with_model(tmp_path, server)
        assert "Who runs Osprey?" in asked(kb)
        assert any("questions of 1 of 2 text units" in line for line in result.incomplete)
        failed = kb.table("questions").filter(pl.col("method") == "failed")
        assert "青石公司在哪里？" in failed["question"].to_list()
        server.play = lambda body: said("谁在青石公司工作？")
        before = len(server.requests)
        kb, result = with_model(tmp_path, server)
        assert not result.incomplete
        assert len(server.requests) == before + 1
        assert asked(kb) == {"Who runs Osprey?", "谁在青石公司工作？"}
        with_model(tmp_path, server)
        assert len(server.requests) == before + 1
        own = tmp_path / "prompts" / "zh" / "unit_questions.md"
        shipped = (shipped_folder("prompts") / "zh" / "unit_questions.md").read_text("utf8")
        own.parent.mkdir(parents=True)
        own.write_text(shipped.replace("$document", "$document\n\n问短一点。"), "utf8")
        with_model(tmp_path, server)
        assert len(server.requests) == before + 2


def test_stemming_finds_every_form_and_can_be_changed(tmp_path: Path) -> None:
    put(tmp_path, **{"valve.md": "# Valve\n\nNorthern Seals replaced two valves. 错误E1043。\n"})
    whole = Project(tmp_path, ["embed.when=off"])
    whole.index()
    assert not whole.search("replacing", method="lexical")
    stems = Project(tmp_path, ["embed.when=off", "text.stemming=true"])
    assert "tokenize_units" in stems.status()["stale_stages"]
    assert not stems.search("replacing", method="lexical"), "as this version was indexed"
    stems.index()
    for question in ("replacing", "valve E1043", "错误E1043"):
        assert stems.search(question, method="lexical")[0].path == "valve.md"
    assert whole.search("replacing", method="lexical"), "whatever the settings say since"
    assert stems.index().version == stems.status()["version"]
    whole.index()
    assert not whole.search("replacing", method="lexical")
