"""A server that fails a share of its calls in every way costs little and loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_server import FAULTS, FaultServer, fault_server
from model_server import prompt_of

from graphkb.errors import ModelFailure, ModelUnusableError
from graphkb.llm.model import Model, Prompt, Said, make_model
from graphkb.llm.structured import json_parser
from graphkb.settings import LanguageModel

SCHEMA = {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}
WAITS: dict[str, Any] = {"max_wait": 0.02, "timeout": 0.3, "connect_timeout": 1.0}


def answered(body: dict[str, Any]) -> str:
    """The number that a prompt holds, as JSON."""
    number = prompt_of(body).split("文本 ")[1].split("\n")[0]
    return json.dumps({"n": number})


def prompts(count: int) -> list[Prompt]:
    return [Prompt("extract", "Reply in JSON.", f"文本 {n}", schema=SCHEMA) for n in range(count)]


def opened(folder: Path, server: FaultServer, **more: Any) -> Model:
    model = make_model(folder, LanguageModel(model="m", base_url=server.url, **{**WAITS, **more}))
    assert model is not None
    return model


@pytest.fixture
def faulty() -> Iterator[FaultServer]:
    with fault_server(answered, share=0.3, seed=3) as server:
        yield server


def test_thirty_percent_of_failures_lose_nothing_and_cost_little(
    faulty: FaultServer, tmp_path: Path
) -> None:
    model = opened(tmp_path, faulty)
    outcomes = model.ask_many(prompts(200), json_parser(SCHEMA))
    use = model.usage()[0]
    model.close()
    assert [o.value["n"] for o in outcomes if isinstance(o, Said)] == [str(n) for n in range(200)]
    assert len(faulty.requests) <= 1.6 * 200
    assert set(faulty.faults) == set(FAULTS)
    assert use.failed == 0
    assert use.repaired == faulty.faults["no JSON"]


@pytest.mark.parametrize("kind", FAULTS)
def test_a_server_with_one_kind_of_failure_is_got_through(kind: str, tmp_path: Path) -> None:
    with fault_server(answered, share=0.3, seed=1, kinds=(kind,)) as server:
        model = opened(tmp_path, server)
        outcomes = model.ask_many(prompts(24), json_parser(SCHEMA))
        model.close()
        lost = [outcome for outcome in outcomes if isinstance(outcome, ModelFailure)]
    assert server.faults[kind] > 0
    assert len(lost) <= (2 if kind in ("no JSON", "no choices", "null content") else 0)


@pytest.mark.parametrize("kind", ["500", "half closed", "cut body", "429"])
def test_a_server_that_always_fails_ends_the_run_by_itself(kind: str, tmp_path: Path) -> None:
    with fault_server(answered, share=1.0, kinds=(kind,)) as server:
        model = opened(tmp_path, server, max_retries=2)
        started = time.monotonic()
        with pytest.raises(
            ModelUnusableError, match=r"the server (is down|lets nothing through): 8 calls"
        ):
            model.ask_many(prompts(500), json_parser(SCHEMA))
        assert time.monotonic() - started < 8
        assert len(server.requests) < 120
        model.close()


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from graphkb.llm.model import Prompt, make_model, plain
from graphkb.settings import LanguageModel
model = make_model(Path(sys.argv[2]), LanguageModel(model="m", base_url=sys.argv[1]))
try:
    model.ask_many([Prompt("extract", "", f"文本 {n}") for n in range(40)], plain,
                   lambda place, outcome: print(place, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
model.close()
"""


def test_an_interrupt_from_the_keyboard_ends_a_run_that_hangs(tmp_path: Path) -> None:
    with fault_server(answered, share=1.0, kinds=("hung",)) as server:
        command = [sys.executable, "-W", "error", "-c", INTERRUPTED, server.url, str(tmp_path)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not server.requests:
            assert child.poll() is None
            time.sleep(0.02)
        started = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=20)
    assert (out, err, child.returncode) == ("interrupted\n", "", 0)
    assert time.monotonic() - started < 5
