"""Settings: every wrong input is one clear line, later sources win, the file round-trips."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from graphkb.embed import make_embedder
from graphkb.errors import EmbeddingError, SettingsError
from graphkb.llm.model import make_model
from graphkb.settings import Settings
from graphkb.settings_base import key_problem
from graphkb.settings_file import load_settings, settings_yaml


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
        ("llm: {api_base: x}", "unknown key 'llm.api_base', did you mean 'base_url'?"),
        ("llm: {base_uri: x}", "did you mean 'base_url'?"),
        ("llm: {url: x}", "did you mean 'base_url'?"),
        ("embed: {url: x}", "unknown key 'embed.url', did you mean 'base_url'?"),
        ("models: {m: {api_key: '${NO_KEY}'}}", "unknown key 'models', did you mean 'llm'?"),
        ("LLM: {base_url: '${NO_URL}'}", "unknown key 'LLM', did you mean 'llm'?"),
        ("model: 通义千问", "unknown key 'model', did you mean 'llm.model'?"),
        ("模型: {}", "unknown key '模型'; known: input, text"),
        ("llm: {provider: deepseek}", "found 'deepseek'; for any OpenAI-compatible endpoint"),
        ("llm: {provider: ollama}", "use openai with llm.base_url"),
        ("embed: {provider: 硅基流动}", "found '硅基流动'; for any OpenAI-compatible endpoint use"),
        ("llm: {provider: llama.cpp}", "found 'llama.cpp', did you mean 'llama_cpp'?"),
        ("llm: {api_key: $MY_KEY}", "llm.api_key: write ${MY_KEY} to read an environment"),
        (
            "llm: {model: 模型/Qwen.GGUF}",
            "'模型/Qwen.GGUF' is a GGUF file; set llm.provider: llama",
        ),
        ("llm: {base_url: '${NO_URL}'}", "llm.base_url: environment variable NO_URL is not set"),
        ("chunk:\n  size: 3\n", "unknown key 'chunk', did you mean 'chunks'?"),
        ("chunks:\n  sise: 3\n", "unknown key 'chunks.sise', did you mean 'size'?"),
        ("search:\n  legs: [bm25]\n", "bm25"),
        ("search:\n  legs: []\n", "search.legs: no leg, found []; name at least one of lexical"),
        ("search:\n  legs: [dense, dense]\n", "search.legs: each leg once, found ['dense', 'de"),
        ("search: {weights: {lexical: .nan}}", "search.weights.lexical: Input should be a finite"),
        ("search: {weights: {lexical: -5}}", "greater than or equal to 0, found -5"),
        (
            "search: {legs: [lexical], weights: {lexical: 0}}",
            "weights {'lexical': 0.0} leave no leg of ['lexical'] that counts",
        ),
        ("llm: {timeout: .inf}", "llm.timeout: Input should be a finite number, found inf"),
        ("llm: {prices: {通义千问: [.nan, 1]}}", "llm.prices.通义千问.0: Input should be a finite"),
        ("llm: {extra_body: {top_p: .nan}}", "llm.extra_body: cannot be sent as JSON"),
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


@pytest.mark.parametrize("section", ["llm", "embed"])
def test_a_key_that_is_not_set_is_an_error_only_where_it_is_used(
    tmp_path: Path, section: str
) -> None:
    write(tmp_path, f"{section}: {{api_key: '${{NO_KEY}}', model: m, base_url: 'http://h'}}")
    key = getattr(load_settings(tmp_path), section).api_key
    assert key == ""
    file, env = tmp_path / "settings.yaml", tmp_path / ".env"
    assert key_problem(key) == (
        f"{file}: {section}.api_key: environment variable NO_KEY is not set; "
        f"set it or write NO_KEY=… into {env}"
    )
    env.write_text("NO_KEY=abc", "utf-8")
    key = getattr(load_settings(tmp_path), section).api_key
    assert (key, key_problem(key)) == ("abc", "")


def test_a_model_without_its_key_is_not_made_unless_nothing_is_sent(tmp_path: Path) -> None:
    write(tmp_path, "llm: {api_key: '${NO_KEY}', model: m, base_url: 'http://127.0.0.1:9/v1'}")
    options = load_settings(tmp_path).llm
    with pytest.raises(SettingsError, match=r"llm\.api_key: environment variable NO_KEY"):
        make_model(tmp_path, options)
    model = make_model(tmp_path, options, sends=False)
    assert model is not None
    model.close()


def test_an_embedding_endpoint_without_its_key_is_not_asked(tmp_path: Path) -> None:
    write(tmp_path, "embed: {api_key: '${NO_KEY}', provider: openai, base_url: 'http://[::1]:9'}")
    embedder = make_embedder(load_settings(tmp_path).embed)
    with pytest.raises(EmbeddingError, match=r"embed\.api_key: environment variable NO_KEY"):
        embedder.embed_query("谁?")


def test_cleared_texts_and_sections_are_at_their_defaults(tmp_path: Path) -> None:
    write(tmp_path, "llm: {model: , base_url: , api_key: }\nembed: {model: }\nchunks:\n")
    assert load_settings(tmp_path) == Settings()
    write(tmp_path, "llm: {model: 通义, api_key: abc, temperature: null}")
    settings = load_settings(tmp_path, ["llm.api_key=", "llm.model="])
    assert (settings.llm.api_key, settings.llm.model) == ("", "")
    assert settings.llm.temperature is None


def test_a_key_is_never_shown_in_an_error(tmp_path: Path) -> None:
    write(tmp_path, "llm: {api_key: 1234567}")
    with pytest.raises(SettingsError, match=r"llm\.api_key: .*quotes") as caught:
        load_settings(tmp_path)
    assert "1234567" not in str(caught.value)


def test_a_gguf_name_at_a_server_of_one_s_own_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "llm: {model: qwen.gguf, base_url: 'http://127.0.0.1:8080/v1'}")
    assert load_settings(tmp_path).llm.model == "qwen.gguf"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("K='密钥'  # 注释", "密钥"),
        ('K="a # b" # c', "a # b"),
        ("K=a#b # c", "a#b"),
        ("export K = v  # c", "v"),
        ("K= # c", ""),
        ("K='it\\'s'", "it's"),
        ('K="C:\\new"', "C:\\new"),
        ("K='a=b'#c", "a=b"),
    ],
)
def test_comments_and_quotes_in_the_env_file(tmp_path: Path, line: str, value: str) -> None:
    write(tmp_path, "answer: {response_type: '[${K}]'}")
    (tmp_path / ".env").write_text(line + "\n", "utf-8")
    assert load_settings(tmp_path).answer.response_type == f"[{value}]"


def test_a_leg_may_weigh_nothing_where_another_counts(tmp_path: Path) -> None:
    write(tmp_path, "search: {weights: {lexical: 0, dense: 2}}")
    assert load_settings(tmp_path).search.weights == {"lexical": 0.0, "dense": 2.0}


def load_by(
    way: str, root: Path, key: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """The settings with one key set in the file, by --set, as part of a section, or by a
    variable of the environment."""
    section, name = key.split(".")
    if way == "file":
        write(root, f"{section}: {{{name}: '{value}'}}")
        return load_settings(root)
    if way == "variable":
        monkeypatch.setenv(f"GRAPHKB_{section}_{name}".upper(), value)
        return load_settings(root)
    given = f"{key}={value}" if way == "override" else f"{section}={{{name}: '{value}'}}"
    return load_settings(root, [given])


WAYS = ["file", "override", "section", "variable"]


@pytest.mark.parametrize("way", WAYS)
def test_variables_are_read_wherever_a_value_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    (tmp_path / ".env").write_text("通知=x\nMY_KEY='abc'\nMY_HOST=例子.net\n", "utf-8")
    assert load_by(way, tmp_path, "llm.api_key", "${MY_KEY}", monkeypatch).llm.api_key == "abc"
    made = load_by(way, tmp_path, "llm.base_url", "http://${MY_HOST}/v1", monkeypatch)
    assert made.llm.base_url == "http://例子.net/v1"


@pytest.mark.parametrize("way", WAYS)
def test_a_variable_that_is_not_set_is_named_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    said = (
        "llm.model: environment variable NO_NAME is not set; "
        f"set it or write NO_NAME=… into {tmp_path / '.env'}"
    )
    with pytest.raises(SettingsError) as caught:
        load_by(way, tmp_path, "llm.model", "${NO_NAME}", monkeypatch)
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize("way", WAYS)
def test_a_key_that_is_not_set_waits_until_it_is_used_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    key = load_by(way, tmp_path, "llm.api_key", "${NO_KEY}", monkeypatch).llm.api_key
    assert key == ""
    assert "environment variable NO_KEY is not set" in key_problem(key)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", ["chunks.size", "input.encoding", "embed.provider"])
def test_what_a_variable_holds_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, key: str
) -> None:
    monkeypatch.setenv("MY_SECRET", "sk-秘密'1\n")
    with pytest.raises(SettingsError) as caught:
        load_by(way, tmp_path, key, "${MY_SECRET}", monkeypatch)
    assert "秘密" not in str(caught.value)
    assert "${MY_SECRET}" in str(caught.value)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("input.include=*.zzz", """--set 'input.include=["*.zzz"]'"""),
        ("input.exclude=草稿*, 旧/*", """--set 'input.exclude=["草稿*", "旧/*"]'"""),
        ("extract.entity_types=person", """--set 'extract.entity_types=["person"]'"""),
        ("search.legs=lexical", """--set 'search.legs=["lexical"]'"""),
    ],
)
def test_one_value_for_a_list_says_how_to_write_a_list(
    tmp_path: Path, override: str, told: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path, [override])
    assert told in str(caught.value)
    written = told.removeprefix("--set '").removesuffix("'")
    assert load_settings(tmp_path, [written]) != Settings()
