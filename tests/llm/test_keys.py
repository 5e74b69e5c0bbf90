"""Where the key comes from is said, and the key never is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_cases import ask, error
from model_server import Answer, ModelServer, Raw, said

import graphkb
from graphkb.errors import GraphkbError, LanguageModelError, ModelUnusableError, SettingsError
from graphkb.llm.keys import key_source, masked, without_secrets
from graphkb.llm.model import Model, plain
from graphkb.work import settings_note

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


def test_an_address_in_a_message_shows_neither_password_nor_query(
    server: ModelServer, make: Callable[..., Model]
) -> None:
    url = server.url.replace("://", "://me:p@ss-wörd@") + "?api-key=QUERYSECRET"
    refusal = "Cannot POST /v1/chat/completions?api-key=QUERYSECRET"
    for answer in (error(401, refusal), error(404, refusal), error(503, refusal)):
        server.play = lambda body, answer=answer: answer  # type: ignore[misc]
        with pytest.raises(GraphkbError) as caught:
            make(base_url=url, max_retries=0).ask(ask(), plain)
        told = str(caught.value)
        assert server.url in told
        assert not any(secret in told for secret in ("ss-wörd", "me:", "QUERYSECRET"))


@pytest.mark.parametrize(
    "url", ["ftp://me:秘密@h/v1?key=QUERY", "http://me:秘密/x@h/v1", "me:秘密@h"]
)
def test_an_address_that_is_none_is_shown_without_its_secrets(
    make: Callable[..., Model], url: str
) -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url: '.*h.*' is not a URL") as caught:
        make(base_url=url)
    assert not any(secret in str(caught.value) for secret in ("秘密", "me:", "QUERY"))


def test_addresses_lose_what_is_secret_in_them() -> None:
    assert without_secrets("https://me:p@ss@h:8/v1?api-key=s#f") == "https://h:8/v1"
    assert masked("at http://me:p@ss@h/v1?k=秘密 now", "") == "at http://***@h/v1?*** now"
    assert masked("真的? a=b, why?", "") == "真的? a=b, why?"


def test_a_model_that_says_nothing_usable_is_named_without_the_addresss_secrets(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "a.md").write_text("陈明在杭州工作。Ada Lin leads Bluestone.", "utf-8")
    server.play = lambda body: said("无可奉告")
    url = server.url.replace("://", "://me:PASSWORD@") + "?api-key=QUERY"
    settings = [f"llm.base_url={url}", "llm.model=m", "extract.method=llm", "embed.when=off"]
    with graphkb.open(tmp_path, settings) as project, pytest.raises(LanguageModelError) as caught:
        project.index()
    told = str(caught.value)
    assert f" at {server.url} said nothing" in told
    assert not any(secret in told for secret in ("PASSWORD", "me:", "QUERY"))


def test_a_redirect_is_told_and_not_followed(
    server: ModelServer, make: Callable[..., Model]
) -> None:
    calls: list[str] = []

    def play(body: dict[str, Any]) -> Answer:
        calls.append("here")
        target = f"{server.url.replace('/v1', '/other')}?api-key=QUERYSECRET"
        return Raw((b"",), 307, {"Location": target, "Content-Length": "0"})

    server.play = play
    with pytest.raises(ModelUnusableError, match=r"redirects to http://\S+/other, which is not"):
        make(max_retries=0).ask(ask("谁领导鱼鹰项目？"), plain)
    assert calls == ["here"]


def test_secrets_in_extra_fields_are_told_apart_and_not_shown(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "a.md").write_text("陈明在杭州工作。Ada Lin leads Bluestone.", "utf-8")
    server.play = lambda body: said('{"entities": [{"name": "陈明", "type": "PERSON"}]}')
    notes = []
    for secret in ("SECRET-one", "SECRET-two"):
        body = f"llm.extra_body={{top_k: 5, auth: {{api_token: {secret}}}}}"
        settings = [f"llm.base_url={server.url}", "llm.model=m", body, "embed.when=off"]
        with graphkb.open(tmp_path, settings) as project:
            notes.append(settings_note(project.settings)["llm"]["extra_body"])
            project.index()
    assert notes[0] != notes[1]
    assert notes[0]["top_k"] == 5
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"SECRET-" in path.read_bytes()]
