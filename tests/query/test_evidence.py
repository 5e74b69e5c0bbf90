"""Names that the knowledge base does not hold are found, said, and decide refusals."""

from __future__ import annotations

import pytest
from model_server import ModelServer, said
from query.gathering import make_snapshot, question, user_of

from graphkb.llm.model import Model
from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask
from graphkb.query.asked_names import AskedName, asked_names
from graphkb.query.presence import Presence
from graphkb.search.snapshot import Snapshot
from graphkb.types import Answer

SUPPLIERS = "".join(f"| Supplier {n} | {n % 5 + 1} |\n" for n in range(1, 41))
MORE = {
    "suppliers.md": f"# Suppliers\n\n| Name | Rating |\n|---|---|\n{SUPPLIERS}",
    "融资.md": "# 融资\n\n青石谷A轮由栖岩资本领投，B轮由云杉创投领投。岚川地铁2号线开通了。\n",
    "lantern.md": "# Lantern\n\nHank Summers painted lanterns. Ludwig Bonner kept Pelléas.\n",
}


@pytest.fixture(scope="module")
def wider(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return make_snapshot(tmp_path_factory.mktemp("wider"), more=MORE)


def ask(snapshot: Snapshot, text: str, method: str = "hybrid") -> Answer:
    return answer_question(snapshot, Ask.plain(text), method)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Who was Tadeusz Kosciuszko?", ["Tadeusz Kosciuszko"]),
        ("What is the rating of Supplier 77?", ["Supplier 77"]),
        ('Did Ada Lin read "The Sea Wolf" in 1912?', ["Ada Lin", "The Sea Wolf", "1912"]),
        ("What does E-4110 mean for rate_limit_check?", ["E-4110", "rate_limit_check"]),
        ("How many of the last 10 days were dry?", []),
        ("How do I bake bread?", []),
        ("青石谷E轮是谁领投的？", ["E轮"]),
        ("蓝鲸科技的总部在哪里", ["蓝鲸科技"]),
        ("屠呦呦的老师是谁？", ["屠呦呦"]),
        ("撞沉“浦渔0388”的是谁？", ["浦渔0388"]),
        ("《三体》的作者是谁？", ["三体"]),
        ("那座桥是哪一年建成的？", []),
        ("一笔退款要多久到账？", []),
    ],
)
def test_names_of_questions(text: str, names: list[str]) -> None:
    assert [name.text for name in asked_names(text)] == names


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Who is Ada Lin?", [True]),
        ("Who is ADA LIN'S boss?", [True]),
        ("Who owns Pelleas?", [True]),
        ("Who is Ludwig Summers?", [False]),
        ("Who is Hank Bonner?", [False]),
        ("What is the rating of Supplier 17?", [True]),
        ("What is the rating of Supplier 77?", [False]),
        ("What failed in turbine T-07?", [True]),
        ("What failed in turbine T-31?", [False]),
        ("谁领投了青石谷B轮？", [True]),
        ("谁领投了青石谷E轮？", [False]),
        ("岚川地铁二号线何时开通？", [True, True]),
        ("岚川地铁9号线何时开通？", [True, False]),
        ("蓝鲸科技的总部在哪里", [False]),
    ],
)
def test_names_are_looked_up_in_the_whole_knowledge_base(
    wider: Snapshot, text: str, held: list[bool]
) -> None:
    presence = Presence(wider)
    assert [presence.holds(name) for name in asked_names(text)] == held


def test_a_number_without_a_series_is_no_name(wider: Snapshot) -> None:
    assert Presence(wider).holds(AskedName("swan 12", "numbered", True, "swan", "12")) is None


@pytest.mark.parametrize("method", ["hybrid", "local"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Who was Tadeusz Kosciuszko?", "says nothing about Tadeusz Kosciuszko."),
        ("What is the rating of Supplier 77?", "says nothing about Supplier 77."),
        ("Who leads the Gannet Nebula project?", "says nothing about Gannet Nebula."),
        ("青石谷E轮是谁领投的？", "没有关于E轮的内容"),
        ("蓝鲸科技的总部在哪里", "没有关于蓝鲸科技的内容"),
    ],
)
def test_a_refusal_says_which_name_is_missing(
    wider: Snapshot, method: str, text: str, said: str
) -> None:
    answer = ask(wider, text, method)
    assert answer.refused
    assert said in answer.text
    assert answer.citations == ()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("What is the rating of Supplier 17?", "Supplier 17"),
        ("Who leads the Osprey project?", "Ada Lin leads"),
        ("青石谷B轮是谁领投的？", "云杉创投"),
        ("青石公司的总部在哪里？", "杭州"),
    ],
)
def test_names_that_are_there_are_answered(wider: Snapshot, text: str, holds: str) -> None:
    answer = ask(wider, text)
    assert not answer.refused
    assert holds in answer.text
    assert answer.context.missing == ()


@pytest.mark.parametrize(
    ("text", "holds", "missing"),
    [
        ("青石公司的总部在杭州还是马尔代夫？", "杭州", "马尔代夫"),
        ("Did Tadeusz Kosciuszko or Marta Voss found Bluestone?", "Voss", "Tadeusz Kosciuszko"),
    ],
)
def test_one_of_two_that_are_offered_is_enough(
    wider: Snapshot, text: str, holds: str, missing: str
) -> None:
    answer = ask(wider, text)
    assert not answer.refused
    assert holds in answer.text
    assert answer.context.missing == (missing,)


def test_what_is_known_is_answered_and_the_missing_name_said(wider: Snapshot) -> None:
    answer = ask(wider, "What did Marta Voss, Otto Brandt and Gudrun Ek do at Bluestone?")
    assert not answer.refused
    assert "says nothing about Gudrun Ek." in answer.text
    assert "Marta Voss founded Bluestone" in answer.text
    assert answer.context.missing == ("Gudrun Ek",)


def test_the_model_is_told_which_name_is_missing(
    wider: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = lambda body: said("Marta Voss founded it [1].")
    answer_question(wider, question("Did Marta Voss or Gudrun Ek found Bluestone?", model), "local")
    assert "says nothing about Gudrun Ek." in user_of(server.requests[-1])


def test_a_misspelt_name_is_not_missing(wider: Snapshot) -> None:
    answer = ask(wider, "When did Bluestome open in Bergen?")
    assert answer.context.missing == ()
