"""Names that the knowledge base does not hold are found, said, and decide refusals."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from model_server import ModelServer, said
from query.gathering import make_snapshot, question, user_of

from graphkb.llm.model import Model
from graphkb.query import presence
from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask
from graphkb.query.asked_names import AskedName, asked_names
from graphkb.query.evidence import measure_evidence
from graphkb.query.presence import Presence
from graphkb.search.hybrid import Retrieval
from graphkb.search.snapshot import Snapshot
from graphkb.types import Answer

SUPPLIERS = "".join(f"| Supplier {n} | {n % 5 + 1} |\n" for n in range(1, 41))
MORE = {
    "suppliers.md": f"# Suppliers\n\n| Name | Rating |\n|---|---|\n{SUPPLIERS}",
    "融资.md": "# 融资\n\n青石谷A轮由栖岩资本领投，B轮由云杉创投领投。岚川地铁2号线开通了。\n",
    "parts.md": "# Parts\n\nPetrel 4.2.0 came with contract CT-2023-118 and `bank-gateway`. "
    "Petrel Core has plans. The Quintela yoke belongs to WP3.\n",
    "制度/记录.md": "# 记录\n\n事故QS-2025-1112由青石公司处理。\n",
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
        ("张三是谁？", ["张三"]),
        ("李四和王五是什么关系？", ["李四", "王五"]),
        ("青石谷人字2025年17号文是什么", ["2025"]),
        ("Explain INC 2025-014", ["INC 2025-014"]),
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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Who is the CEO of Marta Voss Ltd?", {"Marta Voss": True}),
        ("Who is the Managing Director of Zorble?", {"Zorble": False}),
        ("Who is the Chief Executive Officer?", {"Chief Executive Officer": None}),
        ("Explain Petrel Core", {"Petrel Core": True}),
        ("Compare Petrel Core and Project Zorble", {"Petrel Core": True, "Project Zorble": False}),
        ("Please Tell Me Who Is Ludwig Bonner", {"Ludwig Bonner": True}),
        ("In Which City Was Hank Summers born?", {"Hank Summers": True}),
        ("Who is Dr. Bonner?", {"Bonner": True}),
        ("Who is Dr. Tarnwick?", {"Tarnwick": False}),
        ("Where is Bluestone's Bergen office?", {"Bluestone": True, "Bergen": True}),
        ("Where is Bluestone's Lisbon office?", {"Bluestone": True, "Lisbon": False}),
        ("Who directed Schindler's List?", {"Schindler's List": False}),
        ("What do Petrel Core Plans cost?", {"Petrel Core Plans": True}),
        ("Which Petrel Core Plan is best?", {"Petrel Core Plan": True}),
        ("Describe Petrel Core Features", {"Petrel Core Features": None}),
        ("What is the Quintela-yoke?", {"Quintela-yoke": True}),
        ("What is new in Petrel 4.2?", {"Petrel 4.2": True}),
        ("What is new in v4.2.0?", {"v4.2.0": True}),
        ("What is new in v4.7.0?", {"v4.7.0": False}),
        ("What is ct2023118?", {"ct2023118": True}),
        ("What is ct2023119?", {"ct2023119": False}),
        ("What is WP 3?", {"WP 3": True}),
        ("What is in parts-2.md?", {"parts-2.md": False}),
        ("事故QS20251112的原因是什么？", {"QS20251112": True}),
        ("bank_gateway是什么？", {"bank_gateway": True}),
        ("“云杉创投集团”在哪里？", {"云杉创投集团": True}),
        ("蓝鲸软件股份有限公司在哪里？", {"蓝鲸软件股份有限公司": False}),
        ("蓝鲸集团的总部在哪里？", {"蓝鲸集团": False}),
    ],
)
def test_a_name_is_judged_without_what_stands_around_it(
    wider: Snapshot, text: str, names: dict[str, bool | None]
) -> None:
    presence = Presence(wider)
    judged = [each for name in asked_names(text) for each in presence.judge(text, name)]
    assert {name.text: held for name, held in judged} == names


def test_names_of_files_and_folders_are_there(wider: Snapshot) -> None:
    presence = Presence(wider)
    assert presence.holds(AskedName("lantern.md", "code")) is True
    assert presence.holds(AskedName("制度", "name")) is None


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
        ("Who are Marta Voss and Gudrun Ek?", "Voss", "Gudrun Ek"),
        ("Compare Marta Voss vs. Gudrun Ek", "Voss", "Gudrun Ek"),
        ("青石公司和马尔代夫有什么关系？", "青石公司", "马尔代夫"),
    ],
)
def test_one_of_two_that_are_asked_for_is_enough(
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


def test_a_latin_name_that_chinese_texts_may_have_is_not_said_to_be_missing(
    wider: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = copy.copy(wider)
    monkeypatch.setattr(type(wide), "dense_problem", lambda self: None)
    wide.manifest = replace(wide.manifest, notes={"languages": {"en": 6, "zh": 4}})
    found = Retrieval((), (), None, (), ())
    assert measure_evidence(wide, "Who was Shen Ruoheng?", (), found).missing == ()
    assert measure_evidence(wide, "What is E-9999?", (), found).missing == ("E-9999",)
    wide.manifest = replace(wide.manifest, notes={"languages": {"en": 10}})
    assert measure_evidence(wide, "Who was Shen Ruoheng?", (), found).missing == ("Shen Ruoheng",)


@pytest.mark.parametrize("text", ["What does E-9999 mean?", "青石谷E轮是谁领投的？"])
def test_in_more_text_than_is_read_through_nothing_is_said_to_be_missing_for_its_spelling(
    wider: Snapshot, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (name,) = asked_names(text)
    assert Presence(wider).holds(name) is False
    monkeypatch.setattr(presence, "_SCANNED", 0)
    assert Presence(wider).holds(name) is (False if name.kind == "code" else None)
