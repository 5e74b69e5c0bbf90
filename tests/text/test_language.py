"""Language by script."""

from __future__ import annotations

import pytest

from graphkb.text.language import detect_language, has_han


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("青石云账是一款记账软件", "zh"),
        ("使用 rate_limit_check 和 NO_PROXY 环境变量进行限流配置", "zh"),
        ("Ada Lin leads the valve team", "en"),
        ("The word 道 means way in the Chinese tradition of thought", "en"),
        ("これは日本語の文章です", "ja"),
        ("한국어 문장입니다", "ko"),
        ("12345 !!", "und"),
        ("", "und"),
    ],
)
def test_language(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_has_han() -> None:
    assert has_han("E1043：余额")
    assert not has_han("E1043: balance")
