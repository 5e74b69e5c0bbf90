"""Questions made to stand alone, and further texts to search with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, said
from query.gathering import question, system_of, user_of, with_settings

from graphkb.errors import UsageError
from graphkb.llm.model import Model
from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask, Turn
from graphkb.query.history import read_history, read_turns
from graphkb.query.hybrid import hybrid_context
from graphkb.search import join
from graphkb.search.hybrid import Nearest, RankedUnit, Retrieval, retrieve
from graphkb.search.join import retrieve_all, search_widely
from graphkb.search.refer import Turns, refers_back
from graphkb.search.rewrite import Wordings, stand_alone, widen
from graphkb.search.snapshot import Snapshot
from graphkb.types import Via

TURNS = [("What does Ada Lin lead?", "Ada Lin leads the Osprey project at Bluestone.")]
ZH_TURNS = [("青石公司是谁创办的？", "青石公司由沈若衡创办。")]


@pytest.fixture
def model_says(
    collection: Snapshot, server: ModelServer, model: Model
) -> Callable[[str, str, Turns], Wordings]:
    """What comes of a question after a conversation where the model replies so."""

    def reworded(reply: str, text: str, turns: Turns) -> Wordings:
        server.play = lambda body: said(reply)
        return stand_alone(collection, model, text, turns)

    return reworded


def texts_of(snapshot: Snapshot, *texts: str) -> list[str]:
    """Titles of what is found, best first."""
    found = retrieve_all(snapshot, texts[0], texts[1:], 5).joined
    return [row["title"] for row in snapshot.units(unit.text_unit_id for unit in found.units)]


@pytest.mark.parametrize(
    "text",
    [
        "Where was she born?", "Who leads it?", "And the budget?", "What about 2021?", "Why?",
        "他在哪里工作？", "它多少钱？", "那杭州呢？", "为什么？", "该系统怎么退款？",
        "后者什么时候结束？",
    ],
)  # fmt: skip
def test_questions_that_lean_on_the_conversation(collection: Snapshot, text: str) -> None:
    assert refers_back(collection, text)


@pytest.mark.parametrize(
    "text",
    [
        "Who leads the Osprey project at Bluestone?", "When did the valve of turbine T-07 fail?",
        "What is the lease of Pier 4 about?", "青石公司的总部设在哪里？",
        "应该怎么申请云账系统的退款？", "其中哪些规则由陈明批准了云账系统的退款？",
        "因此谁负责云账系统的退款模块？",
    ],
)  # fmt: skip
def test_questions_that_stand_alone(collection: Snapshot, text: str) -> None:
    assert not refers_back(collection, text)


@pytest.mark.parametrize(
    ("text", "turns", "names"),
    [
        ("Where does she work?", TURNS, ["Ada Lin"]),
        ("Who else leads them?", TURNS, ["Ada Lin", "Osprey"]),
        ("他还创办了什么？", ZH_TURNS, ["沈若衡"]),
        ("And in Bergen?", TURNS, ["What does Ada Lin lead", "Osprey"]),
        ("那第二季度呢？", [("青石公司第一季度的退款？", "没说")], ["青石公司第一季度的退款"]),
        ("And who leads it?", [("tell me of windmills", "none")], ["tell me of windmills"]),
        ("And then?", [*TURNS, ("ok", "well")], ["Ada Lin"]),
    ],
)
def test_without_a_model_names_are_added_by_rules(
    collection: Snapshot, text: str, turns: list[tuple[str, str]], names: list[str]
) -> None:
    reworded = stand_alone(collection, None, text, turns)
    assert reworded.texts[0].startswith(text)
    for name in names:
        assert name in reworded.texts[0]
    assert reworded.trace[0].detail.startswith("by rules: added ")


@pytest.mark.parametrize(
    ("text", "turns", "meant"),
    [
        ("Where does she work?", TURNS, "Ada Lin"),
        ("他还创办了什么？", ZH_TURNS, "沈若衡"),
        ("该公司的总部在哪里？", ZH_TURNS, "青石公司"),
        ("它的总部在哪里？", ZH_TURNS, "青石公司"),
    ],
)
def test_a_pronoun_takes_the_names_that_it_can_mean(
    collection: Snapshot, text: str, turns: list[tuple[str, str]], meant: str
) -> None:
    assert stand_alone(collection, None, text, turns).texts == (f"{text} {meant}",)


def test_a_question_that_stands_alone_is_left_as_it_is(collection: Snapshot) -> None:
    text = "When did the valve of turbine T-07 fail?"
    assert stand_alone(collection, None, text, TURNS).texts == (text,)
    assert stand_alone(collection, None, text, []).trace == ()


def test_a_follow_up_finds_what_the_conversation_is_about(collection: Snapshot) -> None:
    history = (Turn("谁批准了云账系统的退款规则？", "陈明 [1]。"),)
    ask = Ask("他还负责什么？", "他还负责什么？", history=history)
    answer = answer_question(collection, ask)
    assert "陈明负责云账系统的退款模块" in answer.text
    assert answer.question == "他还负责什么？"


@pytest.mark.parametrize(
    "reply",
    [
        "Where does Ada Lin work?",
        '"Where does Ada Lin work?"',
        "Question: Where does Ada Lin work?\n\n(I replaced the pronoun.)",
        "Rewritten question:\n**Where does Ada Lin work?**",
    ],
)
def test_the_model_makes_the_question_stand_alone(
    collection: Snapshot, server: ModelServer, model: Model, reply: str
) -> None:
    server.play = lambda body: said(reply)
    reworded = stand_alone(collection, model, "Where does she work?", TURNS)
    assert reworded.texts == ("Where does Ada Lin work?",)
    (body,) = server.requests
    assert "<conversation>\nQ: What does Ada Lin lead?" in user_of(body)
    assert user_of(body).endswith("Question: Where does she work?")
    assert "Ada Lin" not in system_of(body)


def test_the_answer_s_prompt_keeps_the_question_as_it_was_asked(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "<source>" in user_of(body):
            return said("沈若衡在2017年创办了青石公司 [1]。")
        return said("沈若衡什么时候创办了青石公司？")

    server.play = play
    history = read_turns(ZH_TURNS)
    answer = answer_question(collection, question("什么时候？", model, history=history))
    assert user_of(server.requests[1]).endswith("问题：什么时候？")
    assert "Q: 青石公司是谁创办的？" in user_of(server.requests[1])
    assert "2017年" in user_of(server.requests[1])
    assert answer.question == "什么时候？"
    assert [step.step for step in answer.usage.steps] == ["rewrite", "answer"]


STANDS = "When did the valve of turbine T-07 fail?"
ZH_STANDS = "云账系统的退款几天到账？"


@pytest.mark.parametrize(
    ("text", "turns", "reply"),
    [
        (STANDS, TURNS, "The question is already standalone."),
        (STANDS, TURNS, "I'm sorry, I can't help with that."),
        (STANDS, TURNS, "The valve of turbine T-07 failed on 3 May 2021."),
        (STANDS, TURNS, "涡轮机T-07的阀门什么时候失效？"),
        (STANDS, TURNS, TURNS[0][0]),
        (STANDS, TURNS, "Is there anything else?"),
        (ZH_STANDS, ZH_TURNS, "这个问题已经完整。"),
        (ZH_STANDS, ZH_TURNS, "抱歉，我无法提供帮助。"),
        (ZH_STANDS, ZH_TURNS, "云账系统的退款在七天内到账。"),
        (ZH_STANDS, ZH_TURNS, "How soon are refunds of 云账系统 paid?"),
        (ZH_STANDS, ZH_TURNS, ZH_TURNS[0][0]),
        (ZH_STANDS, ZH_TURNS, "还有什么可以帮你？"),
    ],
)
def test_a_rewriting_that_is_no_wording_of_the_question_is_not_used(
    model_says: Callable[[str, str, Turns], Wordings],
    text: str,
    turns: list[tuple[str, str]],
    reply: str,
) -> None:
    reworded = model_says(reply, text, turns)
    assert reworded.texts == (text,)
    (warning,) = reworded.warnings
    assert "was not used" in warning
    assert reply in warning
    assert [step.name for step in reworded.trace] == ["rewrite"]


@pytest.mark.parametrize(
    ("text", "turns", "reply", "name"),
    [
        ("Where does she work?", TURNS, "I'm sorry, I can't help with that.", "Ada Lin"),
        ("他还创办了什么？", ZH_TURNS, "问题已经完整，无需改写。", "沈若衡"),
    ],
)
def test_names_are_added_where_the_rewriting_is_of_no_use(
    model_says: Callable[[str, str, Turns], Wordings],
    text: str,
    turns: list[tuple[str, str]],
    reply: str,
    name: str,
) -> None:
    reworded = model_says(reply, text, turns)
    assert reworded.texts[0].startswith(text)
    assert name in reworded.texts[0]
    assert "was not used" in reworded.warnings[0]
    again = model_says(text, text, [*turns, ("ok", "well")])
    assert name in again.texts[0]
    assert again.warnings == ()


@pytest.mark.parametrize(
    ("text", "turns", "reply"),
    [
        ("How big is it?", TURNS, "What is the size of the Osprey project?"),
        ("它贵吗？", ZH_TURNS, "青石公司的价格是多少？"),
    ],
)
def test_a_rewriting_in_other_words_is_searched_with_the_question(
    model_says: Callable[[str, str, Turns], Wordings],
    text: str,
    turns: list[tuple[str, str]],
    reply: str,
) -> None:
    reworded = model_says(reply, text, turns)
    assert reworded.texts == (f"{text} {reply}",)
    assert reworded.warnings == ()


@pytest.mark.parametrize(
    ("text", "turns", "reply", "taken"),
    [
        (STANDS, TURNS, STANDS, STANDS),
        (STANDS, TURNS, f"Sure, here it is.\n{STANDS}", STANDS),
        ("And the budget?", TURNS, "What is the budget of Osprey?", None),
        ("Why?", TURNS, "Why does Ada Lin lead the Osprey project?", None),
        ("tell me about his work", TURNS, "Tell me about the work of Ada Lin", None),
        ("那杭州呢？", ZH_TURNS, "青石公司在杭州有什么？", None),
        ("为什么？", ZH_TURNS, "为什么青石公司由沈若衡创办？", None),
        (ZH_STANDS, ZH_TURNS, f"改写后的问题：{ZH_STANDS}", ZH_STANDS),
    ],
)
def test_a_rewriting_that_keeps_the_question_is_used(
    model_says: Callable[[str, str, Turns], Wordings],
    text: str,
    turns: list[tuple[str, str]],
    reply: str,
    taken: str | None,
) -> None:
    reworded = model_says(reply, text, turns)
    assert reworded.texts == (taken or reply,)
    assert reworded.warnings == ()


@pytest.mark.parametrize("reply", [said("\n"), (500, {"error": {"message": "boom"}})])
def test_a_failed_rewriting_falls_back_to_rules_and_says_so(
    collection: Snapshot, server: ModelServer, model: Model, reply: Any
) -> None:
    server.play = lambda body: reply
    reworded = stand_alone(collection, model, "Where does she work?", TURNS)
    assert "Ada Lin" in reworded.texts[0]
    assert "could not be rewritten" in reworded.warnings[0]


def test_a_model_that_cannot_be_used_is_asked_once(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = lambda body: (401, {"error": {"message": "bad key"}})
    history = read_turns(TURNS)
    answer = answer_question(collection, question("Where does she work?", model, history=history))
    assert len(server.requests) == 1
    assert "the model could not answer" in answer.text
    assert any("401" in line for line in answer.warnings)


def test_rewriting_can_be_turned_off(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    off = with_settings(collection, "search", rewrite=False)
    assert "Ada Lin" in stand_alone(off, model, "Where does she work?", TURNS).texts[0]
    assert server.requests == []


def helpers(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    system = system_of(body)
    if "other wordings" in system or "别的说法" in system:
        return said("1. Who heads Osprey?\n- Osprey leader\n\n2) Who heads Osprey?\nthird\nfourth")
    if "passage of at most" in system:
        return said("The Osprey project is headed\nby its director.")
    if "Translate" in system or "译成" in system:
        return said("译文：谁负责鱼鹰项目？" if "Chinese" in system else "Who leads Qingshi?")
    return said("Ada Lin leads it [1].")


def test_further_texts_are_made_as_the_settings_say(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = helpers
    text = "Who leads the Osprey project?"
    assert widen(collection, model, text).texts == ()
    assert server.requests == []
    wide = with_settings(collection, "search", multi_query=3, hyde=True, translate=True)
    more = widen(wide, model, text)
    assert more.texts == (
        "Who heads Osprey?", "Osprey leader", "third",
        "The Osprey project is headed by its director.", "谁负责鱼鹰项目？",
    )  # fmt: skip
    assert [step.name for step in more.trace] == ["multi_query", "hyde", "translate"]
    assert more.warnings == ()
    assert text not in more.texts


def test_translation_shows_the_documents_names_as_data(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = helpers
    wide = with_settings(collection, "search", translate=True)
    more = widen(wide, model, "谁负责 Ada Lin 的 Osprey 项目？")
    assert more.texts == ("Who leads Qingshi?",)
    (body,) = server.requests
    assert "译成英文" in system_of(body)
    assert "Ada Lin" not in system_of(body)
    names = user_of(body).split("<names>\n")[1].split("\n</names>")[0]
    assert "Ada Lin" in names.split("\n")


def test_there_is_nothing_to_translate_where_all_speaks_one_language(
    collection: Snapshot, server: ModelServer, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(collection.manifest.notes, "languages", {"en": 9})  # type: ignore[arg-type]
    wide = with_settings(collection, "search", translate=True)
    assert widen(wide, model, "Who leads the Osprey project?").texts == ()
    assert server.requests == []


def test_a_helper_that_fails_leaves_the_others_and_says_so(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "passage of at most" in system_of(body):
            return 500, {"error": {"message": "boom"}}
        return helpers(body)

    server.play = play
    wide = with_settings(collection, "search", multi_query=2, hyde=True)
    answer = answer_question(wide, question("Who leads the Osprey project?", model), "hybrid")
    assert answer.text == "Ada Lin leads it [1]."
    (warning,) = answer.warnings
    assert warning.startswith("hyde: no further text (")
    steps = {step.name: step.detail for step in answer.trace}
    assert steps["hyde"] == "nothing"
    assert steps["multi_query"] == "Who heads Osprey?; Osprey leader"
    assert steps["join"] == "the question and 2 further texts"


def test_helpers_are_asked_for_local_hybrid_and_lazy_only(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = helpers
    wide = with_settings(collection, "search", hyde=True)
    for method, wanted in (("local", 1), ("hybrid", 1), ("global", 0)):
        server.requests = []
        answer_question(wide, question(f"Who leads Osprey, {method}?", model), method)
        asked = [body for body in server.requests if "passage of at most" in system_of(body)]
        assert len(asked) == wanted, method


def test_without_a_model_the_helpers_are_left_out_and_said(collection: Snapshot) -> None:
    wide = with_settings(collection, "search", hyde=True, multi_query=1)
    answer = answer_question(wide, Ask.plain("Who leads the Osprey project?"), "hybrid")
    (warning,) = answer.warnings
    assert warning.startswith("search.multi_query, search.hyde: not without a language model")
    assert not answer.refused


def test_search_uses_the_further_texts_too(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = lambda body: said("Who rents Pier 4?")
    wide = with_settings(collection, "search", multi_query=1)
    hits = search_widely(wide, model, "sourdough", 5)
    assert hits[0].path in ("bakery.md", "market.md")
    assert "harbour.md" in [hit.path for hit in hits]
    assert hits.trace[0].name == "multi_query"


def test_further_texts_find_more_and_the_question_weighs_most(collection: Snapshot) -> None:
    alone = texts_of(collection, "Who bakes sourdough bread?")
    both = texts_of(collection, "Who bakes sourdough bread?", "lease of Pier 4")
    assert "Harbour" not in alone
    assert "Harbour" in both
    assert both[0] == alone[0]


def test_without_further_texts_retrieval_is_unchanged(collection: Snapshot) -> None:
    text = "Who bakes sourdough bread?"
    plain = retrieve(collection, text, 5)
    both = retrieve_all(collection, text, [text], 5)
    assert both.joined.units == plain.units
    assert [found for found, _ in both.each] == [text]


def unit(name: str, rank: int) -> RankedUnit:
    return RankedUnit(rank, name, 1 - 0.6 * (rank - 1), {"lexical": Via(rank, 1.0)})


def test_runs_are_joined_by_scores_and_the_best_further_text_counts_half(
    collection: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {
        "q": Retrieval((unit("a", 1), unit("b", 2)), (("e", 1.0),), Nearest(0.9, 0.1), (), ("w",)),
        "x": Retrieval((unit("b", 1), unit("c", 2)), (("f", 1.0),), None, (), ("w",)),
        "y": Retrieval((unit("c", 1),), (("e", 1.0),), None, (), ()),
        "z": Retrieval((), (), None, (), ()),
    }
    monkeypatch.setattr(join, "fused_units", lambda snapshot, text, k, legs: runs[text])
    both = retrieve_all(collection, "q", ["x", "y", "z"], 3)
    # However many texts find a unit, the best of them counts.
    scores = {"a": 1.0, "b": 0.4 + 0.5, "c": 0.5}
    assert [unit.text_unit_id for unit in both.joined.units] == ["a", "b", "c"]
    for found in both.joined.units:
        assert found.score == pytest.approx(scores[found.text_unit_id])
    assert [found.rank for found in both.joined.units] == [1, 2, 3]
    assert both.joined.seeds == (("e", 1.0), ("f", 0.5))
    assert both.joined.nearest == Nearest(0.9, 0.1)
    assert both.joined.warnings == ("w",)
    assert [unit.text_unit_id for unit in retrieve_all(collection, "q", ["x"], 1).joined.units] == [
        "a"
    ]


def test_evidence_may_come_from_a_wording_in_another_language(collection: Snapshot) -> None:
    text = "谁租下四号码头？"
    alone = hybrid_context(collection, question(text))
    other = hybrid_context(
        collection, Ask(text, text, also=("Who rents Pier 4 of the Kiel Harbour Authority?",))
    )
    assert other.evidence > max(alone.evidence, 0.8)
    assert "in other words" in other.trace[-1].detail
    loose = hybrid_context(collection, Ask(text, text, also=("云账系统的退款在七天内到账",)))
    assert loose.evidence < 0.5


@pytest.mark.parametrize(
    ("given", "turns"),
    [
        ([("q", "a")], [("q", "a")]),
        ([["q", "a"]], [("q", "a")]),
        ([Turn("q", "a")], [("q", "a")]),
        ([{"question": "q", "answer": "a"}, {"question": "r"}], [("q", "a"), ("r", "")]),
        (
            [
                {"role": "system", "content": "obey"},
                {"role": "user", "content": "q1"},
                {"role": "user", "content": [{"type": "text", "text": "q2"}]},
                {"role": "assistant", "content": "a"},
                {"role": "user", "content": "还有呢"},
            ],
            [("q1\nq2", "a"), ("还有呢", "")],
        ),
        ([("", "a")], []),
        ([], []),
    ],
)
def test_conversations_come_in_several_shapes(given: Any, turns: list[tuple[str, str]]) -> None:
    assert [(turn.question, turn.answer) for turn in read_turns(given)] == turns


@pytest.mark.parametrize("item", [3, "text", ("q",), {"question": 1}, {"q": "x"}, None])
def test_what_is_no_turn_is_named(item: Any) -> None:
    with pytest.raises(UsageError, match=r"history: item 2 is .*; give \[\{"):
        read_turns([("q", "a"), item])


@pytest.mark.parametrize("given", [None, 3, "谁？", {"question": "q"}])
def test_what_is_no_conversation_is_named(given: Any) -> None:
    with pytest.raises(UsageError, match=r"history: expected a list of turns, got .*; give \[\{"):
        read_turns(given)


def nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_a_conversation_nested_too_deeply_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text("[" * 20_000 + "]" * 20_000, "utf-8")
    with pytest.raises(UsageError, match=r"talk\.json: nested too deeply; give \[\{"):
        read_history(path)
    with pytest.raises(UsageError, match="item 1 is a list that is no JSON, or nested too deeply"):
        read_turns([nested(20_000)])
