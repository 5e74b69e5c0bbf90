from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from graphkb.types import Answer, Citation, Context, Hit, Hits, StepUsage, Usage, Via
from graphkb.view.answer import (
    answer_html,
    answer_text,
    closing_line,
    hits_html,
    score_line,
)

EVIL = '<script>alert("1")</script>&'
CONTEXT = Context("hybrid", (), 0.8, 120)


def citation(number: int, quote: str, title: str = "公司简介", page: int | None = None) -> Citation:
    return Citation(number, "u1", "d1", title, "zh/公司.md", "历史", page, 10, 14, quote)


def answer(
    text: str, *citations: Citation, refused: bool = False, calls: int = 0,
    question: str = "Where is Chen Ming?",
) -> Answer:  # fmt: skip
    usage = Usage(0.123, calls, 100 * calls, 20 * calls)
    return Answer(question, text, citations, refused, "hybrid", CONTEXT, usage)


def test_answer_text_shows_sources_and_method():
    text = answer("陈明在青石公司。[1]\nHe joined in 2011. [2]", citation(1, "陈明\n在青石"),
                  citation(2, "joined", "Charter", page=3))  # fmt: skip
    assert (
        str(text)
        == answer_text(text)
        == (
            "陈明在青石公司。[1]\nHe joined in 2011. [2]\n"
            "\n"
            "Sources:\n"
            "[1] 公司简介 › 历史 (zh/公司.md, chars 10–14): “陈明 在青石”\n"
            "[2] Charter › 历史 (zh/公司.md, p. 3, chars 10–14): “joined”\n"
            "\n"
            "hybrid · 0.12 s"
        )
    )


def test_a_refusal_says_that_it_is_one():
    text = answer_text(answer(" ", citation(1, "x"), refused=True))
    assert text.startswith(
        "The knowledge base does not answer this question.\n\nClosest passages:\n[1] "
    )
    assert text.endswith("refused · hybrid · 0.12 s")


def test_model_cost_is_shown():
    assert answer_text(answer("a", calls=2)).endswith("hybrid · 0.12 s · 2 model calls, 240 tokens")


def test_model_price_and_cache_are_shown():
    steps = (StepUsage("answer", "m", calls=1), StepUsage("rewrite", "m", cached=1))
    usage = Usage(0.5, 1, 100, 20, 0.00042, steps)
    shown = replace(answer("a"), usage=usage, model="deepseek-chat")
    assert closing_line(shown) == (
        "hybrid · by deepseek-chat · 0.50 s · 1 model call, 120 tokens, 0.00042 USD · "
        "1 from the cache"
    )


def test_what_no_source_bears_out_is_said_in_text_and_notebook():
    doubtful = replace(citation(2, "b"), supported=False)
    shown = replace(
        answer("甲 [1] 乙 [2] <丙>", citation(1, "a"), doubtful),
        unsupported=("乙",), uncited=("<丙>",),
    )  # fmt: skip
    text = answer_text(shown)
    assert "[1] 公司简介" in text
    assert "[2] (unverified) 公司简介" in text
    assert (
        "Not borne out by the sources they cite:\n  乙\nWithout a source:\n  <丙>\n\nhybrid" in text
    )
    page = answer_html(shown)
    assert "(unverified)" in page
    assert "&lt;丙&gt;" in page
    assert "<丙>" not in page
    Balanced(page)


def test_a_chinese_question_has_chinese_words_around_its_answer():
    doubtful = replace(citation(2, "乙", page=3), supported=False)
    shown = replace(
        answer("甲 [1] 乙 [2]", citation(1, "甲"), doubtful, question="陈明在哪里？", calls=2),
        unsupported=("乙",), uncited=("丙",), model="m",
    )  # fmt: skip
    usage = replace(shown.usage, price=0.00042, steps=(StepUsage("rewrite", "m", cached=1),))
    shown = replace(shown, usage=usage)
    assert answer_text(shown).split("\n\n", 1)[1] == (
        "来源：\n"
        "[1] 公司简介 › 历史（zh/公司.md，字符 10–14）：“甲”\n"
        "[2] （未证实）公司简介 › 历史（zh/公司.md，第 3 页，字符 10–14）：“乙”\n"
        "\n"
        "所引来源不能证实：\n  乙\n没有来源：\n  丙\n"
        "\n"
        "hybrid · 由 m 回答 · 0.12 秒 · 2 次模型调用，240 个词元，0.00042 美元 · 1 次取自缓存"
    )
    page = answer_html(shown)
    for words in ("来源 (2)", "（未证实）", "第 3 页，字符 10–14", "没有来源：", "240 个词元"):
        assert words in page
    for words in ("Source", "chars", "unverified", "tokens"):
        assert words not in page


def test_a_chinese_refusal_is_in_chinese():
    text = answer_text(answer("", citation(1, "x"), refused=True, question="谁批准了合同？"))
    assert text.startswith("知识库中没有这个问题的答案。\n\n最接近的段落：\n[1] ")
    assert text.endswith("未作答 · hybrid · 0.12 秒")


@pytest.mark.parametrize(
    ("question", "mark"),
    [
        ("Where is Chen Ming?", "[1] (not checked: other language) 公司"),
        ("陈明在哪里？", "[1] （未核对：语言不同）公司"),
    ],
)
def test_a_source_in_another_language_is_shown_as_not_checked(question: str, mark: str):
    unchecked = replace(citation(1, "x"), supported=None)
    shown = answer("甲 [1]", unchecked, question=question)
    assert mark in answer_text(shown)
    assert mark.split("公司")[0] in answer_html(shown)


class Balanced(HTMLParser):
    """Collects anchors and ids, and checks that every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        values = dict(attrs)
        self.links += [values["href"]] if values.get("href") else []
        self.ids += [values["id"]] if values.get("id") else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_answer_html_links_known_citations_only():
    page = answer_html(answer("甲 [1] 乙 [2] 丙 [9]", citation(1, "a"), citation(2, "b")))
    parsed = Balanced(page)
    assert parsed.links == [f"#{identity}" for identity in parsed.ids]
    assert len(parsed.ids) == len(set(parsed.ids)) == 2
    assert "丙 [9]" in page
    assert "details" in parsed.tags
    assert not re.search(r"https?://|<link|<script", page)


def test_answers_in_one_notebook_have_their_own_anchors():
    first, second = (answer(text, citation(1, "a")) for text in ("甲 [1]", "乙 [1]"))
    assert set(Balanced(answer_html(first)).ids).isdisjoint(Balanced(answer_html(second)).ids)


@pytest.mark.parametrize("field", ["text", "quote", "title"])
def test_answer_html_escapes_document_text(field: str):
    values = {"text": "t [1]", "quote": "q", "title": "t", field: EVIL}
    shown = answer(values["text"], citation(1, values["quote"], values["title"]))
    page = shown._repr_html_()
    assert page == answer_html(shown)
    assert "<script" not in page
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;" in page
    Balanced(page)


def hit(text: str = "正文", **via: Via) -> Hit:
    return Hit(1, 0.812345, "u1", "d1", "标题", "a.md", "标题", 2, 0, 4, text, via)


def test_hits_html_escapes_and_shows_every_hit():
    page = hits_html([hit(EVIL), hit("第二")])
    assert Hits([hit(EVIL), hit("第二")])._repr_html_() == page
    assert "<script" not in page
    assert page.count("<summary>") == 2
    assert "标题 ›" not in page
    assert "a.md, p. 2, chars 0–4 · score 0.8123" in page
    Balanced(page)
    assert "no hits" in Hits()._repr_html_()
    assert hit("单个")._repr_html_() == hits_html([hit("单个")])


def test_score_line_names_the_best_leg_first():
    line = score_line(hit(lexical=Via(4, 2.0), graph=Via(1, 0.1), dense=Via(4, 0.9)))
    assert line == "score 0.8123 · graph #1, dense #4, lexical #4"
