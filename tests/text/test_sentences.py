"""Sentence spans in Chinese, English and mixed text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.text.sentences import cover_spans, sentence_spans


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "陈明来了。他走了！真的吗？是的；好",
            ["陈明来了。", "他走了！", "真的吗？", "是的；", "好"],
        ),
        ("他说：“走吧。”然后走了。", ["他说：“走吧。”", "然后走了。"]),
        ("Ada came. Bo left.", ["Ada came.", "Bo left."]),
        ("Version 2.0 costs 3.5 euros. Good.", ["Version 2.0 costs 3.5 euros.", "Good."]),
        ("Mr. Lin met J. R. Smith. Then he left.", ["Mr. Lin met J. R. Smith.", "Then he left."]),
        ("See e.g. the list. Done?", ["See e.g. the list.", "Done?"]),
        ("一行\n二行\n\n三行", ["一行", "二行", "三行"]),
        ("no end", ["no end"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert [text[a:b] for a, b in sentence_spans(text)] == sentences


@given(st.text(alphabet='ab。.！!？ \n"”A1；'))
def test_cover_spans_join_to_the_text(text: str) -> None:
    spans = cover_spans(text)
    assert "".join(text[a:b] for a, b in spans) == text
    assert all(a < b for a, b in spans)


def test_spans_that_are_kept_are_the_callers_own() -> None:
    text = "Ada Lin leads Osprey in Lisbon. 陈明在杭州领导鱼鹰项目。" * 9
    spans = sentence_spans(text)
    spans.clear()
    assert len(sentence_spans(text)) == 18
