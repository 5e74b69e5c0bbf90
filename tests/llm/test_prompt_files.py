"""Prompt files of a project: their two parts, and where text from documents may stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkb.errors import SettingsError
from graphkb.llm.prompts import data_block, load_prompt


def own(root: Path, language: str, name: str, text: str) -> Path:
    path = root / "prompts" / language / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def judged(root: Path, language: str) -> tuple[str, str]:
    pairs = {"en": "1. Ada\n---\nBo $pairs", "zh": "1. 陈明\n---\n王芳 $pairs"}[language]
    return load_prompt(root, language, "judge", pairs=data_block("pairs", pairs))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("line", ["---", "--- ", "---\t"])
def test_a_projects_prompt_is_parted_by_its_own_line(
    tmp_path: Path, language: str, line: str
) -> None:
    own(tmp_path, language, "judge", f"Judge 判断.\n{line}\n$pairs\n---\nend\n")
    system, user = judged(tmp_path, language)
    assert system == "Judge 判断."
    assert user.startswith("<pairs>")
    assert user.endswith("\n---\nend")
    assert "$pairs" in user, "what a document writes is filled in as it is"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Judge 判断 $pairs", "a line --- must part"),
        ("Judge 判断 $pairs\n---\nx", r"\$pairs stands above the line ---"),
        ("Judge 判断 $pairs\n---\n$pairs", r"\$pairs stands above the line ---"),
        ("Judge 判断\n---\nx", r"\$pairs is missing below the line ---"),
        ("Judge 判断 $who\n---\n$pairs", r"unknown variable \$who"),
        ("Judge 判断\n---\n$pairs costs $5", r"write \$\$ for a dollar sign"),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_prompt_that_cannot_be_used_is_named(
    tmp_path: Path, language: str, text: str, said: str
) -> None:
    path = own(tmp_path, language, "judge", text)
    with pytest.raises(SettingsError, match=said) as caught:
        judged(tmp_path, language)
    assert str(path) in str(caught.value)


def test_case_a11_an_example_in_json_is_text(tmp_path: Path) -> None:
    own(tmp_path, "en", "judge", 'Return JSON like {"name": "x"} or {0}.\n---\n{text} $pairs')
    system, user = judged(tmp_path, "en")
    assert system == 'Return JSON like {"name": "x"} or {0}.'
    assert user.startswith("{text} <pairs>")


def test_a_null_character_in_a_prompt_is_text(tmp_path: Path) -> None:
    own(tmp_path, "en", "judge", "Judge \x00a\x00.\n---\n$pairs")
    system, _ = judged(tmp_path, "en")
    assert system == "Judge \x00a\x00."
