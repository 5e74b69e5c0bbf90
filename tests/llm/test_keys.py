"""Where the key comes from is said, and the key never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkb.llm.keys import key_source, masked

NOT_SET = "is not set in {root}/settings.yaml: write ${NAME} there and NAME=… in {root}/.env"


@pytest.mark.parametrize(
    ("settings", "env", "key", "expected"),
    [
        (
            "llm: {api_key: '${MY_KEY}'}",
            "MY_KEY=sk-1",
            "sk-1",
            "is ${MY_KEY}, taken from {root}/.env",
        ),
        ("llm: {api_key: '${MY_KEY}'}", "", "sk-1", "is ${MY_KEY}, taken from the environment"),
        (
            "llm: {api_key: sk-secret-123}",
            "",
            "sk-secret-123",
            "is written in {root}/settings.yaml",
        ),
        ("llm: {model: m}", "", "", NOT_SET),
        ("", "", "", NOT_SET),
        ("llm: {model: m}", "GRAPHKB_LLM_API_KEY=x", "x", "is GRAPHKB_LLM_API_KEY in {root}/.env"),
        ("llm: {model: m}", "", "sk-1", "was given with --set"),
        ("llm: [odd", "", "", NOT_SET),
    ],
)
def test_the_place_to_correct_the_key(
    tmp_path: Path, settings: str, env: str, key: str, expected: str
) -> None:
    (tmp_path / "settings.yaml").write_text(settings, "utf-8")
    if env:
        (tmp_path / ".env").write_text(f"# 密钥\nexport {env}\n", "utf-8")
    told = key_source(tmp_path, key)
    assert told.endswith(expected.replace("{root}", str(tmp_path)))
    assert "sk-" not in told


def test_the_environment_wins_over_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.yaml").write_text("llm: {api_key: '${MY_KEY}'}", "utf-8")
    (tmp_path / ".env").write_text("MY_KEY=sk-1", "utf-8")
    monkeypatch.setenv("MY_KEY", "sk-2")
    assert key_source(tmp_path, "sk-2").endswith("taken from the environment")
    monkeypatch.setenv("GRAPHKB_LLM_API_KEY", "sk-3")
    assert key_source(tmp_path, "sk-3").endswith("is the environment variable GRAPHKB_LLM_API_KEY")


def test_keys_are_masked_wherever_they_stand() -> None:
    key = "abcd-1234-secret"
    assert masked(f"wrong key {key}, again {key}", key) == "wrong key abcd***, again abcd***"
    assert masked("provided: sk-proj-abc_DEF-123456789", "") == "provided: sk-p***"
    assert masked("provided: sk-abcd****", "") == "provided: sk-abcd****"
    assert masked("at http://me:pass@h:1/v1", "") == "at http://***@h:1/v1"
    assert masked("short", "sho") == "short"
    assert masked("Bearer gsk_0123", "") == "Bearer gsk_0123"
