"""Settings: every wrong input is one clear line, later sources win, the file round-trips."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from graphkb.errors import SettingsError
from graphkb.settings import Settings, load_settings, settings_yaml


def write(root: Path, text: str) -> None:
    (root / "settings.yaml").write_text(text, "utf-8")


def test_generated_yaml_is_the_defaults_and_says_every_key() -> None:
    data = yaml.safe_load(settings_yaml())
    assert Settings.model_validate(data) == Settings()
    assert data.keys() == Settings.model_fields.keys()


def test_missing_file_means_defaults_and_a_bom_is_tolerated(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings()
    (tmp_path / "settings.yaml").write_bytes(b"\xef\xbb\xbfchunks:\r\n  size: 500\r\n")
    assert load_settings(tmp_path).chunks.size == 500


@pytest.mark.parametrize(("size", "overlap"), [(100, 100), (100, 150), (0, 0), (-5, 0), (100, -1)])
def test_impossible_chunk_sizes_are_rejected_with_the_values(
    tmp_path: Path, size: int, overlap: int
) -> None:
    write(tmp_path, f"chunks: {{size: {size}, overlap: {overlap}}}")
    with pytest.raises(SettingsError, match=r"settings\.yaml: .*chunks") as caught:
        load_settings(tmp_path)
    seen = str(overlap) if size > 0 else str(size)
    assert seen in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chunk:\n  size: 3\n", "unknown key 'chunk', did you mean 'chunks'?"),
        ("chunks:\n  sise: 3\n", "unknown key 'chunks.sise', did you mean 'size'?"),
        ("search:\n  legs: [bm25]\n", "bm25"),
        ("chunks:\n  size: many\n", "found 'many'"),
        ("- a\n- b\n", "expected sections"),
        ("chunks: {size: 1\n", "settings.yaml:2:1"),
    ],
)
def test_wrong_files_are_one_line_with_key_and_value(
    tmp_path: Path, text: str, message: str
) -> None:
    write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_environment_beats_file_and_overrides_beat_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "chunks:\n  size: 500\n")
    monkeypatch.setenv("GRAPHKB_CHUNKS_SIZE", "600")
    monkeypatch.setenv("GRAPHKB_LOCAL_SEARCH_TOP_K_ENTITIES", "7")
    monkeypatch.setenv("GRAPHKB_PARQUET", "off")
    settings = load_settings(tmp_path)
    assert (settings.chunks.size, settings.local_search.top_k_entities) == (600, 7)
    assert load_settings(tmp_path, ["chunks.size=700"]).chunks.size == 700
    with pytest.raises(SettingsError, match=r"section\.key=value"):
        load_settings(tmp_path, ["chunks.size"])


def test_variables_come_from_the_environment_or_the_env_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "embed:\n  api_key: ${MY_KEY}\n")
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(SettingsError, match="MY_KEY is not set"):
        load_settings(tmp_path)
    (tmp_path / ".env").write_bytes(b"\xef\xbb\xbf# keys\r\nexport MY_KEY='abc'\r\n")
    assert load_settings(tmp_path).embed.api_key == "abc"
    monkeypatch.setenv("MY_KEY", "xyz\n")
    assert load_settings(tmp_path).embed.api_key == "xyz"


def test_a_misspelled_environment_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHKB_CHUNKS_SIZES", "5")
    with pytest.raises(SettingsError, match=r"GRAPHKB_CHUNKS_SIZES: unknown key 'sizes'.*'size'"):
        load_settings(tmp_path)
    monkeypatch.delenv("GRAPHKB_CHUNKS_SIZES")
    monkeypatch.setenv("GRAPHKB_SOMETHING_ELSE", "5")
    assert load_settings(tmp_path) == Settings()


def test_a_wrong_override_does_not_blame_the_file_alone(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--set: chunks\.size"):
        load_settings(tmp_path, ["chunks.size=abc"])
