"""Lines that are headings, and hashtags that are not."""

from __future__ import annotations

import re

import pytest

from graphkb.ingest.blocks import first_title
from graphkb.text.headings import HEADING_MARKS


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Pumps", True),
        ("## 概述", True),
        ("##概述", True),
        ("#2022年年度报告摘要", False),
        ("#青石谷 2022 年年度报告摘要", True),
        ("#春节快乐 祝大家新年好！", False),
        ("#话题# 今天", False),
        ("#release notes", False),
    ],
)
def test_marks_before_a_heading(line: str, heading: bool) -> None:
    assert (re.match(HEADING_MARKS, line) is not None) == heading


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("公司代码: 600050\n\n#青石谷 2022 年年度报告\n\n正文。", "青石谷 2022 年年度报告"),
        ("#青石谷年报\n", "青石谷年报"),
        ("#春节快乐 祝大家\n第二行", None),
        ("一行\n#青石谷年报\n\n正文", None),
        ("#话题# \n\n正文", None),
        ("#release notes\n\ntext", None),
    ],
)
def test_a_title_without_a_space_stands_alone(text: str, title: str | None) -> None:
    assert first_title(text) == title
