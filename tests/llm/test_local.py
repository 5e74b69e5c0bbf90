"""Language models in GGUF files: checked before use, served by llama.cpp, and stopped again."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_model import model_path, needs_model

from graphkb.errors import MissingExtraError, ModelFailure, ModelUnusableError, SettingsError
from graphkb.llm.cache import Request
from graphkb.llm.calls import Call
from graphkb.llm.local import LocalModel, LocalServer, LocalTransport, context_length
from graphkb.llm.model import Model, Prompt, make_model, plain
from graphkb.settings import LanguageModel

COLOURS = {
    "type": "object",
    "properties": {"colours": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
    "required": ["colours"],
    "additionalProperties": False,
}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def head(*pairs: bytes) -> bytes:
    """The beginning of a GGUF file with these key-value pairs."""
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


NAME = text("general.name") + struct.pack("<I", 8) + text("小模型")
FLAGS = text("general.flags") + struct.pack("<IIQ", 9, 7, 3) + b"\1\0\1"
WORDS = text("tokenizer.words") + struct.pack("<IIQ", 9, 8, 2) + text("青") + text("石")
WINDOW = text("tiny.context_length") + struct.pack("<II", 4, 2048)


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        (head(NAME, FLAGS, WORDS, WINDOW), 2048),
        (head(WINDOW), 2048),
        (head(text("a.context_length") + struct.pack("<IQ", 10, 131_072)), 131_072),
        (head(NAME, FLAGS), 0),
        (head(NAME, WINDOW)[:60], 0),
        (b"GGUF" + b"\xff" * 200, 0),
        (b"GGUF", 0),
    ],
)
def test_the_context_of_a_model_is_read_from_the_file(
    tmp_path: Path, content: bytes, tokens: int
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    assert context_length(path) == tokens


def options(model: str, **more: Any) -> LanguageModel:
    return LanguageModel(provider="llama_cpp", model=model, **more)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.gguf", r"llm\.model: there is no file .*absent\.gguf; .*relative to the project"),
        ("notes.txt", r"llm\.model: .*notes\.txt is not a GGUF file \(it begins with 'hell'\)"),
        ("folder", r"llm\.model: .*folder cannot be read \(Is a directory\)"),
    ],
)
def test_a_file_that_is_no_model_is_said_before_anything_is_asked(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "notes.txt").write_text("hello", "utf-8")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match=message) as caught:
        make_model(tmp_path, options(name))
    assert "\n" not in str(caught.value)


def test_without_the_extra_the_command_that_installs_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(head(WINDOW))
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "xllamacpp" else known(name)
    )
    with pytest.raises(MissingExtraError, match=r'pip install "graphkb\[local-llm\]"'):
        make_model(tmp_path, options("m.gguf"))


def test_one_file_serves_every_role(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(head(WINDOW))
    with pytest.raises(SettingsError, match=r"llm\.answer_model: 'other\.gguf' cannot be used"):
        make_model(tmp_path, options("m.gguf", answer_model="other.gguf"))


@pytest.mark.parametrize(
    ("more", "slots", "context"),
    [
        ({}, 4, 2048),
        ({"concurrency": 2}, 2, 2048),
        ({"context_tokens": 1024}, 4, 1024),
        ({"context_tokens": 4096, "concurrency": 64}, 4, 4096),
    ],
)
def test_slots_and_context_follow_settings_and_model(
    tmp_path: Path, more: dict[str, int], slots: int, context: int
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.gguf").write_bytes(head(WINDOW))
    model = make_model(tmp_path, options("models/m.gguf", **more))
    assert model is not None
    assert model.options.concurrency == slots
    assert model.window("answer") == context
    model.close()


def test_messages_name_the_file_and_not_the_address_of_its_server(tmp_path: Path) -> None:
    (tmp_path / "模型.gguf").write_bytes(head(WINDOW))
    model = make_model(tmp_path, options("模型.gguf"))
    assert model is not None
    transport = model._transport
    transport.address = "http://127.0.0.1:40000/v1"  # as when it runs
    call = Call(Request("", model.name("answer"), (), {}), "ask")
    assert model._client.attempts.where(call) == "llama_cpp: model '模型.gguf'"
    model.close()


@needs_model
def test_a_damaged_file_is_one_line_from_llama_cpp(tmp_path: Path) -> None:
    with open(model_path(), "rb") as whole:
        (tmp_path / "cut.gguf").write_bytes(whole.read(3_000_000))
    model = make_model(tmp_path, options("cut.gguf"))
    assert model is not None
    with pytest.raises(ModelUnusableError, match=r"cut\.gguf cannot be loaded .*corrupted") as bad:
        model.ask(Prompt("t", "Be short.", "Hello"), plain)
    assert "\n" not in str(bad.value)
    model.close()


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Model]:
    made = make_model(tmp_path, options(model_path(), concurrency=2, context_tokens=512))
    assert made is not None
    yield made
    made.close()


def talk(model: Model, user: str) -> str:
    """What the model says; a few tokens are enough to see that it speaks."""
    try:
        return model.ask(Prompt("chat", "Answer in one word.", user, max_tokens=6), plain).value
    except ModelFailure as failure:
        if failure.kind != "truncated":
            raise
        return failure.text


def server_of(model: Model) -> LocalServer | None:
    transport = model._transport
    assert isinstance(transport, LocalTransport)
    return transport._server


def runs(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process_id}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def gone(process_id: int) -> bool:
    """Whether a process ends within some seconds."""
    until = time.monotonic() + 30
    while runs(process_id) and time.monotonic() < until:
        time.sleep(0.02)
    return not runs(process_id)


@needs_model
def test_a_model_is_started_for_the_first_question_and_stopped_at_the_end(
    tmp_path: Path, model: Model
) -> None:
    assert server_of(model) is None, "nothing is started before it is needed"
    assert talk(model, "Name a colour.")
    [spent] = model.usage()
    assert spent.prompt_tokens > 5
    assert 0 < spent.completion_tokens <= 6
    server = server_of(model)
    assert server is not None
    process_id = server.process_id
    assert runs(process_id)
    model.close()
    assert gone(process_id)
    assert server.base_url == ""


@needs_model
def test_json_by_schema_and_streaming_work_and_replies_are_kept_whatever_the_port(
    tmp_path: Path, model: Model
) -> None:
    schema = Prompt("json", "Reply in JSON.", "Name three colours.", schema=COLOURS, max_tokens=60)
    said = model.ask(schema, json.loads)
    assert isinstance(said.value["colours"], list)
    told = Prompt("story", "Answer in one short sentence.", "Name a colour.", max_tokens=80)
    streamed = model.stream(told)
    pieces = list(streamed)
    assert len(pieces) > 1
    assert streamed.reply is not None
    model.close()
    copy = tmp_path / "elsewhere" / Path(model_path()).name
    copy.parent.mkdir()
    copy.symlink_to(model_path())
    again = make_model(tmp_path, options(str(copy), concurrency=2, context_tokens=512))
    assert again is not None
    assert again.ask(schema, json.loads).reply.cached
    assert server_of(again) is None, "what is kept needs no server"
    again.close()


@needs_model
def test_two_models_of_one_process_share_one_server(tmp_path: Path, model: Model) -> None:
    other = make_model(tmp_path / "b", options(model_path(), concurrency=2, context_tokens=512))
    assert other is not None
    assert talk(model, "Name a colour.")
    assert talk(other, "Name a colour.")
    server = server_of(model)
    assert server is not None
    assert server is server_of(other)
    process_id = server.process_id
    model.close()
    assert runs(process_id), "the other one still uses it"
    other.close()
    assert gone(process_id)


@needs_model
def test_a_server_that_died_is_started_again(model: Model) -> None:
    assert talk(model, "Name a colour.")
    server = server_of(model)
    assert server is not None
    first = server.process_id
    os.kill(first, signal.SIGKILL)
    assert gone(first)
    assert talk(model, "说一种水果。")
    assert server.process_id != first


@needs_model
def test_only_who_started_it_may_use_it_and_only_on_this_machine() -> None:
    with LocalServer(LocalModel(Path(model_path()), 512, 1)) as server:
        assert server.base_url.startswith("http://127.0.0.1:")
        models = f"{server.base_url}/completions"
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(urllib.request.Request(models, b'{"prompt": "x"}'), timeout=10)
        refused.value.close()
        process_id = server.process_id
    assert gone(process_id)
    assert server.process_id == 0


@needs_model
def test_a_server_ends_with_the_process_that_started_it() -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from graphkb.llm.local import LocalModel, LocalServer\n"
        f"server = LocalServer(LocalModel(Path({model_path()!r}), 512, 1))\n"
        "server.start(); print(server.process_id, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    served = int(process.stdout.readline())
    assert runs(served)
    process.kill()
    _, said = process.communicate()
    assert gone(served)
    assert said == "", "llama.cpp is quiet"


@needs_model
def test_a_prompt_beyond_the_context_says_so(model: Model) -> None:
    with pytest.raises(ModelFailure) as failure:
        model.ask(Prompt("chat", "Be short.", "word " * 2000, max_tokens=4), plain)
    assert failure.value.kind == "context"


def test_the_file_name_and_size_are_what_replies_are_kept_under(tmp_path: Path) -> None:
    one, two = tmp_path / "m.gguf", tmp_path / "x" / "m.gguf"
    two.parent.mkdir()
    one.write_bytes(head(WINDOW))
    shutil.copy(one, two)
    names = {LocalModel(path, 512, slots).name for path in (one, two) for slots in (1, 2)}
    assert names == {f"llama_cpp:m.gguf:{one.stat().st_size}"}
    two.write_bytes(head(NAME, WINDOW))
    assert LocalModel(two, 512, 1).name not in names
