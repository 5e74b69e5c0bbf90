"""Single settings are replaced; comments and everything else stay."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from graphkb.errors import SettingsError
from graphkb.settings import Settings
from graphkb.settings_edit import edit_settings, write_settings
from graphkb.settings_file import load_settings, settings_yaml

OWN = """# 我的设置

search:   # 检索
    # 注意
    fusion: alpha   # 分数 # 融合
    weights:
      lexical: 0.5   # old

    # about top_k
    top_k: 8
answer: {}
chunks:
  size: 300
"""


def test_values_change_and_comments_stay():
    edited = edit_settings(
        OWN, {"search.fusion": "rrf", "search.weights": {"graph": 0.4}, "search.rrf_k": 30}
    )
    assert (
        edited
        == """# 我的设置

search:   # 检索
    rrf_k: 30
    # 注意
    fusion: rrf   # 分数 # 融合
    weights: {graph: 0.4}

    # about top_k
    top_k: 8
answer: {}
chunks:
  size: 300
"""
    )


def test_the_generated_file_takes_every_change():
    text = settings_yaml()
    values = {"search.weights": {"lexical": 0.2, "graph": 0.8}, "answer.refusal_threshold": 0.25}
    edited = edit_settings(text, values)
    changed = [b for a, b in zip(text.split("\n"), edited.split("\n"), strict=True) if a != b]
    assert len(changed) == 2
    assert all("  # " in line for line in changed)
    loaded = Settings.model_validate(yaml.safe_load(edited))
    assert loaded.answer.refusal_threshold == 0.25
    assert edit_settings("", {"search.top_k": 3}).endswith("search:\n  top_k: 3\n")
    assert edit_settings("a: 1\r\nsearch:\r\n", {"search.top_k": 3}) == (
        "a: 1\r\nsearch:\r\n  top_k: 3\r\n"
    )


def test_what_cannot_be_edited_is_left_alone(tmp_path: Path):
    path = tmp_path / "settings.yaml"
    path.write_text("search: {top_k: 8}\n", "utf8")
    with pytest.raises(SettingsError, match=r"set these yourself: search\.fusion: rrf"):
        write_settings(tmp_path, {"search.fusion": "rrf"})
    assert path.read_text("utf8") == "search: {top_k: 8}\n"
    assert [file.name for file in tmp_path.iterdir()] == ["settings.yaml"]


def test_the_old_file_is_kept(tmp_path: Path):
    path = tmp_path / "settings.yaml"
    path.write_text(OWN, "utf8")
    write_settings(tmp_path, {"search.fusion": "rrf"})
    assert load_settings(tmp_path).search.fusion == "rrf"
    assert (tmp_path / "settings.yaml.bak").read_text("utf8") == OWN
