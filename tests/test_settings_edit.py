"""Single settings are replaced; comments and everything else stay."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from graphkb import settings_edit
from graphkb.errors import LockedError, SettingsError
from graphkb.settings import Settings
from graphkb.settings_edit import edit_lock, edit_settings, write_settings
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
    # lexical: 0.5   # old
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
    assert [file.name for file in tmp_path.glob("*.*")] == ["settings.yaml"]


def test_the_old_file_is_kept(tmp_path: Path):
    path = tmp_path / "settings.yaml"
    path.write_text(OWN, "utf8")
    written = write_settings(tmp_path, {"search.fusion": "rrf"})
    assert load_settings(tmp_path).search.fusion == "rrf"
    assert written.backup == tmp_path / "settings.yaml.bak"
    assert written.backup.read_text("utf8") == OWN


def test_an_older_backup_is_not_written_over(tmp_path: Path):
    path = tmp_path / "settings.yaml"
    path.write_text(OWN, "utf8")
    write_settings(tmp_path, {"search.top_k": 3})
    second = path.read_text("utf8")
    written = write_settings(tmp_path, {"search.top_k": 4})
    assert written.backup == tmp_path / "settings.yaml.bak2"
    assert written.backup.read_text("utf8") == second
    assert (tmp_path / "settings.yaml.bak").read_text("utf8") == OWN
    path.write_text(OWN, "utf8")
    assert write_settings(tmp_path, {"search.top_k": 5}).backup == tmp_path / "settings.yaml.bak"
    assert write_settings(tmp_path, {"search.top_k": 6}, keep_old=False).backup is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "search:\n  # above\n  weights:  # 权重\n    # 词法\n    lexical: 0.5  # 'a' # b\n"
            "    dense: 0.5\n  top_k: 8\n",
            "search:\n  # above\n  # 词法\n  # lexical: 0.5  # 'a' # b\n"
            "  weights: {graph: 1}  # 权重\n  top_k: 8\n",
        ),
        (
            "search:\n  weights: {lexical: 0.5,  # 词法 {\n            # between\n"
            "            dense: 0.5}  # end\n  top_k: 8\n",
            "search:\n  # between\n  # dense: 0.5}  # end\n"
            "  weights: {graph: 1}  # 词法 {\n  top_k: 8\n",
        ),
        (
            "search:\r\n  weights:  # how\r\n    {lexical: 1}  # 值\r\n",
            "search:\r\n  # {lexical: 1}  # 值\r\n  weights: {graph: 1}  # how\r\n",
        ),
    ],
    ids=["block", "flow", "next line"],
)
def test_comments_inside_a_value_stay(before: str, after: str):
    assert edit_settings(before, {"search.weights": {"graph": 1}}) == after


def test_a_hash_inside_a_text_is_no_comment():
    text = "text:\n  dictionary:\n    - 'a # b'\n    - \"c # d\"  # 注\n"
    assert edit_settings(text, {"text.dictionary": ["x"]}) == (
        'text:\n  # - "c # d"  # 注\n  dictionary: [x]\n'
    )


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_permissions_and_links_stay(tmp_path: Path):
    real = tmp_path / "kept" / "mine.yaml"
    real.parent.mkdir()
    real.write_text(OWN, "utf8")
    real.chmod(0o600)
    (tmp_path / "settings.yaml").symlink_to(real)
    written = write_settings(tmp_path, {"search.fusion": "rrf"})
    assert written.path.is_symlink()
    assert "fusion: rrf" in real.read_text("utf8")
    assert written.backup is not None
    for file in (real, written.backup):
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_read_only_file_is_one_line_that_says_what_to_set(tmp_path: Path):
    path = tmp_path / "settings.yaml"
    path.write_text(OWN, "utf8")
    path.chmod(0o444)
    with pytest.raises(SettingsError, match=r"it is read-only.*set these yourself: search\.top_k"):
        write_settings(tmp_path, {"search.top_k": 3})
    path.chmod(0o644)
    assert path.read_text("utf8") == OWN
    assert [file.name for file in tmp_path.glob("*.*")] == ["settings.yaml"]


def test_another_that_edits_is_waited_for_and_then_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings_edit, "_PATIENCE", 0.05)
    with edit_lock(tmp_path), edit_lock(tmp_path), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write_settings, tmp_path, {"search.top_k": 3})
        with pytest.raises(LockedError, match="another process is editing the settings"):
            waiting.result()
    write_settings(tmp_path, {"search.top_k": 3})
    assert load_settings(tmp_path).search.top_k == 3
