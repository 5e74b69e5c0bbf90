"""Where lists end that sentences open, and how they read on one line."""

from __future__ import annotations

import pytest

from graphkb.text.lists import items_end, shown_items


def listed(text: str) -> str:
    """The list that the first line or sentence of a text opens, on one line."""
    end = min(text.index(sign) + 1 for sign in ("：\n", ":\n", "；") if sign in text)
    return shown_items(text[: items_end(text, 0, end)])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Needed are:\n- a form\n- a stamp\nLeave is paid.", "Needed are: a form; a stamp"),
        ("You need:\n\n* one\n\n* two\n  - inner\n\nIt ends.", "You need: one; two; inner"),
        ("Steps:\n1. Open it.\n2. Close it.\n\n## Next", "Steps: 1. Open it. 2. Close it."),
        ("Bring:\n(a) a card;\n(b) 30.5 euros.\nOpen daily.", "Bring: (a) a card; (b) 30.5 euros."),
        ("条件如下：\n\n- 满两年；\n- 无欠款。\n\n期限五年。", "条件如下：满两年；无欠款。"),
        ("条件：\n\n满两年；\n\n无欠款；\n\n有担保。\n\n期限。", "条件：满两年；无欠款；有担保。"),
        ("流程为：\n（一）填表\n（二）盖章\n二、其他规定", "流程为：（一）填表 （二）盖章"),
        ("流程为：\n第一步，填表。\n第二步，盖章。\n完", "流程为：第一步，填表。第二步，盖章。"),
        ("应具备：（一）满两年；（二）无欠款。期限五年。", "应具备：（一）满两年；（二）无欠款。"),
    ],
)  # fmt: skip
def test_the_items_belong_to_the_sentence_that_opens_them(text: str, shown: str) -> None:
    assert listed(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Note:\nThe company moved.",
        "Prices are:\n| Plan | Fee |\n|---|---|\n| Pro | 4 |",
        "注意：\n公司已搬迁。",
        "下面说明：\n## 其他\n- 无",
    ],
)
def test_what_is_no_list_is_not_taken_for_one(text: str) -> None:
    end = text.index("\n")
    assert items_end(text, 0, end) == end


def test_a_long_list_is_cut_between_items() -> None:
    text = "Items:\n" + "\n".join(f"- item {n}" for n in range(100))
    shown = text[: items_end(text, 0, 6)]
    assert shown.endswith("- item 19")


def test_a_quote_without_any_line_shows_nothing() -> None:
    assert shown_items("\n") == shown_items("") == ""
