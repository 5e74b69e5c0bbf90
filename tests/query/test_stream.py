"""Answers as they come, in Python and at the terminal."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result
from model_server import ModelServer, said
from query.gathering import make_asker, question, user_of

from graphkb import progress
from graphkb.cli import main
from graphkb.errors import UsageError
from graphkb.progress import _so_far
from graphkb.project import Project
from graphkb.query.answer import stream_answer
from graphkb.query.compose import NOT_FOUND
from graphkb.query.stream import AnswerStream, AsyncAnswerStream
from graphkb.search.snapshot import Snapshot

ASKED = "Who leads the Osprey project?"


def pieces(collection: Snapshot, server: ModelServer, folder: Path, reply: str) -> list[str]:
    server.play = lambda body: said(reply)
    model = make_asker(server.url, folder)
    stream = stream_answer(collection, question(ASKED, model), "local")
    found = list(stream)
    assert stream.answer.model == "m"
    model.close()
    return found


def test_pieces_come_before_the_checked_answer(
    collection: Snapshot, server: ModelServer, tmp_path: Path
) -> None:
    server.play = lambda body: said("Ada Lin leads the Osprey project [1-9].")
    model = make_asker(server.url, tmp_path)
    stream = stream_answer(collection, question(ASKED, model), "local")
    assert server.requests == []
    found = list(stream)
    assert len(found) > 3
    assert "".join(found) == "Ada Lin leads the Osprey project [1-9]."
    answer = stream.answer
    assert re.fullmatch(r"Ada Lin leads the Osprey project (\[\d\])+\.", answer.text)
    assert any("no source has the number" in line for line in answer.warnings)
    assert answer is stream.answer
    assert list(stream) == []
    assert len(server.requests) == 1
    model.close()


def test_the_answer_can_be_had_without_the_pieces(
    collection: Snapshot, server: ModelServer, tmp_path: Path
) -> None:
    server.play = lambda body: said("Ada Lin leads it [1].")
    model = make_asker(server.url, tmp_path)
    assert stream_answer(collection, question(ASKED, model)).answer.text == "Ada Lin leads it [1]."
    model.close()


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (f"{NOT_FOUND}\nNobody is named.", "Nobody is named."),
        (f"**{NOT_FOUND}**\n\n没有提到。", "没有提到。"),
        (f"  {NOT_FOUND}", "The knowledge base does not hold enough evidence"),
        ("NOT in any source [1] is this, says the second one.", "NOT in any source [1]"),
        ("<think>hm</think>Ada Lin leads it [1].", "Ada Lin leads it [1]."),
    ],
)
def test_the_refusal_line_and_thoughts_are_not_shown(
    collection: Snapshot, server: ModelServer, tmp_path: Path, reply: str, shown: str
) -> None:
    text = "".join(pieces(collection, server, tmp_path, reply))
    assert text.startswith(shown)
    assert NOT_FOUND not in text


def test_without_a_model_the_quotes_come_in_one_piece(collection: Snapshot) -> None:
    stream = stream_answer(collection, question(ASKED), "local")
    (piece,) = stream
    assert piece == stream.answer.text
    assert "Ada Lin leads the Osprey project at Bluestone." in piece


class _Breaking(BaseHTTPRequestHandler):
    """Streams a beginning and then hangs up."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for text in ("Ada Lin leads the ", "Osprey project [1]. She"):
            chunk = {"choices": [{"index": 0, "delta": {"content": text}}]}
            data = f"data: {json.dumps(chunk)}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def breaking() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Breaking)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_what_came_before_a_failure_is_kept_and_marked(
    collection: Snapshot, breaking: str, tmp_path: Path
) -> None:
    model = make_asker(breaking, tmp_path)
    stream = stream_answer(collection, question(ASKED, model), "local")
    assert "".join(stream) == "Ada Lin leads the Osprey project [1]. She …"
    answer = stream.answer
    assert answer.text == "Ada Lin leads the Osprey project [1]. She …"
    assert not answer.complete
    assert answer.citations[0].quote == "Ada Lin leads the Osprey project at Bluestone."
    (warning,) = [line for line in answer.warnings if "stopped before the end" in line]
    assert breaking.split("/")[2] in warning
    model.close()


def test_a_failure_before_anything_came_gives_quotes(
    collection: Snapshot, server: ModelServer, tmp_path: Path
) -> None:
    server.play = lambda body: (401, {"error": {"message": "bad key"}})
    model = make_asker(server.url, tmp_path)
    stream = stream_answer(collection, question(ASKED, model), "local")
    (piece,) = stream
    assert "Ada Lin leads the Osprey project at Bluestone." in piece
    assert any("401" in line for line in stream.answer.warnings)
    model.close()


# Python and command line, on a project


@pytest.fixture
def root(collection: Snapshot) -> Path:
    """The collection's project, with nothing in its reply cache."""
    shutil.rmtree(collection.root / "cache", ignore_errors=True)
    return collection.root


def told(server: ModelServer) -> list[str]:
    return [f"llm.base_url={server.url}", "llm.model=m", "llm.max_retries=0", "embed.when=off"]


def test_the_asynchronous_stream_does_not_block_the_loop(root: Path, server: ModelServer) -> None:
    server.play = lambda body: said("Ada Lin leads the Osprey project [1].")

    async def listen(project: Project) -> tuple[list[str], str, int]:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0)

        heart = asyncio.create_task(beat())
        stream = project.astream(ASKED, "local", history=[("Hi", "Hello")])
        found = [piece async for piece in stream]
        heart.cancel()
        return found, stream.answer.text, beats

    with Project(root, [*told(server), "search.rewrite=false"]) as project:
        found, text, beats = asyncio.run(listen(project))
    assert len(found) > 3
    assert text == "Ada Lin leads the Osprey project [1]."
    assert beats > 10
    assert "Q: Hi\nA: Hello" in user_of(server.requests[0])


def run(root: Path, server: ModelServer, *arguments: str, say: str = "") -> Result:
    overrides = [part for value in told(server) for part in ("--set", value)]
    command = [arguments[0], "-r", str(root), *overrides, *arguments[1:]]
    return CliRunner().invoke(main, command, input=say)


def test_query_stream_prints_the_text_then_sources(root: Path, server: ModelServer) -> None:
    server.play = lambda body: said("Ada Lin leads the \x1bOsprey project [1][88].")
    done = run(root, server, "query", "--stream", "--method", "local", ASKED)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "Ada Lin leads the �Osprey project [1][88]."
    assert lines[1:6] == [
        "", "Corrected after the check against the sources:",
        "Ada Lin leads the �Osprey project [1].", "", "Sources:",
    ]  # fmt: skip
    assert lines[6].startswith("[1] Osprey (osprey.md, chars ")
    assert re.fullmatch(r"local · by m · \d+\.\d\d s · 1 model call, 10 tokens", lines[-1])
    assert done.stderr == "warning: citation [88] points to no source: removed\n"
    # On a terminal both streams meet: a warning stands neither in the answer nor in its sources.
    assert done.output.index("warning:") < done.output.index("Corrected")


def test_query_stream_prints_a_text_that_holds_once(root: Path, server: ModelServer) -> None:
    server.play = lambda body: said("Ada Lin leads the Osprey project [1].")
    lines = run(root, server, "query", "--stream", ASKED).stdout.splitlines()
    assert lines[:3] == ["Ada Lin leads the Osprey project [1].", "", "Sources:"]


def test_query_stream_in_chinese_is_corrected_in_chinese(root: Path, server: ModelServer) -> None:
    server.play = lambda body: said("Ada Lin 负责 Osprey [1][88]。")
    lines = run(root, server, "query", "--stream", "Osprey 是谁负责的？").stdout.splitlines()
    assert lines[2:6] == ["对照来源核对后更正为：", "Ada Lin 负责 Osprey [1]。", "", "来源："]
    assert re.search(r"1 次模型调用，10 个词元$", lines[-1])


def test_query_shows_what_is_not_borne_out(root: Path, server: ModelServer) -> None:
    server.play = lambda body: said("Ada Lin left in 1999 [1]. Forty people live on the moon.")
    lines = run(root, server, "query", "--method", "local", ASKED).stdout.splitlines()
    assert lines[0] == "Ada Lin left in 1999 [1]. Forty people live on the moon."
    assert lines[3].startswith("[1] (unverified) Osprey")
    assert lines[5:9] == [
        "Not borne out by the sources they cite:", "  Ada Lin left in 1999.",
        "Without a source:", "  Forty people live on the moon.",
    ]  # fmt: skip


def test_query_with_a_failing_model_exits_0_with_a_warning(root: Path, server: ModelServer) -> None:
    server.play = lambda body: (401, {"error": {"message": "bad key"}})
    done = run(root, server, "query", "--method", "local", ASKED)
    assert done.exit_code == 0
    assert "Ada Lin leads the Osprey project at Bluestone." in done.stdout
    assert done.stderr.startswith("warning: the model could not answer (")


def test_query_json_has_everything(root: Path, server: ModelServer) -> None:
    server.play = lambda body: said("Ada Lin leads the Osprey project [1].")
    answer = json.loads(run(root, server, "query", "--stream", "--json", ASKED).stdout)
    assert answer["model"] == "m"
    assert answer["citations"][0]["supported"] is True
    assert answer["usage"]["steps"][0]["step"] == "answer"
    assert {"unsupported", "uncited", "complete", "trace", "warnings"} <= answer.keys()


def test_query_explain_shows_model_calls_and_numbered_sources(
    root: Path, server: ModelServer
) -> None:
    server.play = lambda body: said("Ada Lin leads the Osprey project [1].")
    shown = run(root, server, "query", "--explain", ASKED).stdout
    assert "Model calls:\n  answer by m: 1 call, " in shown
    assert re.search(r"^  \[1\] \d\.\d+ text_unit Osprey \(osprey\.md:", shown, re.MULTILINE)


def test_query_without_the_model_on_request(root: Path, server: ModelServer) -> None:
    done = run(root, server, "query", "--no-model", ASKED)
    assert "the model was not asked" in done.stdout
    assert server.requests == []


def test_query_options_reach_the_prompt(root: Path, server: ModelServer, tmp_path: Path) -> None:
    server.play = lambda body: said("Who leads Osprey?")
    history = tmp_path / "h.json"
    history.write_text(json.dumps([{"question": "What is Osprey?", "answer": "Turbines [3]."}]))
    run(root, server, "query", "--history", str(history), "--response-type", "one word", "Who?")
    rewriting, answering = server.requests
    assert "Q: What is Osprey?\nA: Turbines" in user_of(rewriting)
    assert "Question: Who?" in user_of(answering)
    assert "Form of the answer: one word." in answering["messages"][0]["content"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "no such file"),
        ("[{", "no JSON"),
        ("3", "expected a list of turns"),
        ('[{"question": 3}]', "history: item 1 is"),
    ],
)
def test_a_wrong_history_file_is_one_line(
    root: Path, server: ModelServer, tmp_path: Path, content: str | None, problem: str
) -> None:
    path = tmp_path / "h.json"
    if content is not None:
        path.write_text(content)
    done = run(root, server, "query", "--history", str(path), ASKED)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {path}")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_dry_run_shows_the_exact_prompts_and_sends_nothing(root: Path, server: ModelServer) -> None:
    arguments = ["query", "--set", "llm.prices={m: [1, 2]}", "--method", "local", ASKED]
    shown = run(root, server, arguments[0], "--dry-run", *arguments[1:]).stdout
    assert server.requests == []
    server.play = lambda body: said("Ada Lin leads it [1].")
    run(root, server, *arguments)
    for message in server.requests[0]["messages"]:
        assert f"[{message['role']}]\n{message['content']}\n" in shown
    assert re.search(r"Prompt 1 of 1: answer, \d+ tokens, reply at most 1500\n", shown)
    assert re.search(r"\d+ tokens in 1 prompt, at most 0\.\d+ USD\nnothing was sent\n$", shown)


@pytest.mark.parametrize("method", ["global", "drift", "lazy"])
def test_dry_run_of_the_other_methods_shows_their_first_prompts(
    root: Path, server: ModelServer, method: str
) -> None:
    done = run(root, server, "query", "--dry-run", "--json", "--method", method, ASKED)
    plan = json.loads(done.stdout)
    assert (plan["method"], plan["complete"], plan["price"]) == (method, False, None)
    assert plan["prompts"][0]["n_tokens"] > 50
    assert plan["n_tokens"] == sum(prompt["n_tokens"] for prompt in plan["prompts"])
    assert server.requests == []


@pytest.mark.parametrize("option", ["--explain", "--stream", "--json"])
def test_a_slow_model_is_named_on_stderr_until_it_answers(
    root: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    told_of = Event()

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        told_of.wait(20)
        return said("Ada Lin leads the Osprey project [1].")

    def so_far(what: str, seconds: float) -> str:
        line = _so_far(what, seconds)
        if "the model has been on" in line:
            told_of.set()
        return line

    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.05)
    monkeypatch.setattr(progress, "_so_far", so_far)
    server.play = play
    done = run(root, server, "query", option, "--method", "local", ASKED)
    assert told_of.is_set()
    waiting = r"answer: \d s so far; the model has been on “.+” for \d s"
    assert any(re.fullmatch(waiting, line) for line in done.stderr.splitlines())
    assert "so far" not in done.stdout
    assert "Ada Lin leads the Osprey project [1]." in done.stdout
    if option == "--json":
        assert json.loads(done.stdout)["model"] == "m"


def test_chat_keeps_the_conversation_and_shows_sources(root: Path, server: ModelServer) -> None:
    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        rewriting = "<source>" not in user_of(body)
        return said("Who leads the Osprey project?" if rewriting else "Ada Lin leads it [1].")

    server.play = play
    say = "/sources\nWhat is the Osprey project?\n\n/sources\nWho leads it?\n"
    done = run(root, server, "chat", say=say)
    assert done.exit_code == 0
    assert done.stdout.count("Ada Lin leads it [1].") == 2
    assert done.stdout.count("Sources:") == 1
    assert done.stderr.startswith("nothing was asked yet")
    assert done.stdout.count(" model call") == 2
    rewriting = [body for body in server.requests if "<source>" not in user_of(body)]
    assert len(rewriting) == 1
    assert "Q: What is the Osprey project?\nA: Ada Lin leads it" in user_of(rewriting[0])


@pytest.mark.parametrize("end", ["/quit", "/exit", "exit", "Quit", "退出", "／quit"])
def test_chat_ends_without_asking_the_model(root: Path, server: ModelServer, end: str) -> None:
    done = run(root, server, "chat", say=f"{end}\n{ASKED}\n")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert server.requests == []


def test_chat_commands_are_not_sent_to_the_model(
    root: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphkb.cli_query._at_terminal", lambda: True)
    done = run(root, server, "chat", say="/help\n/nosuch\n")
    assert "/sources" in done.stdout
    assert "退出" in done.stdout
    assert done.stderr.splitlines() == [
        "Ask a question; /help lists the commands. 请输入问题；/help 列出命令。",
        "/nosuch is no command; known: /sources, /help, /quit, /exit",
    ]
    assert server.requests == []


def test_chat_takes_a_longer_line_with_a_slash_for_a_question(
    root: Path, server: ModelServer
) -> None:
    server.play = lambda body: said("Ada Lin leads it [1].")
    done = run(root, server, "chat", say="/osprey: who leads the Osprey project?\n")
    assert "Ada Lin leads it [1]." in done.stdout


def test_chat_goes_on_after_a_question_that_cannot_be_asked(
    root: Path, server: ModelServer
) -> None:
    server.play = lambda body: said("Ada Lin leads it [1].")
    done = run(root, server, "chat", say="\u200b\nWho leads the Osprey project?\n")
    assert "error: the question is empty" in done.stderr
    assert "Ada Lin leads it [1]." in done.stdout


def test_an_answer_is_complete_after_a_loop_that_was_left_early(
    collection: Snapshot, server: ModelServer, tmp_path: Path
) -> None:
    server.play = lambda body: said("Ada Lin leads the Osprey project [1].")
    model = make_asker(server.url, tmp_path)
    stream = stream_answer(collection, question(ASKED, model), "local")
    first = next(iter(stream))
    rest = "".join(stream)
    assert first + rest == "Ada Lin leads the Osprey project [1]."
    again = stream_answer(collection, question(ASKED, model), "local")
    for _ in again:
        break
    assert again.answer.text == stream.answer.text
    model.close()


def test_an_answer_that_failed_or_was_not_begun_is_one_clear_line() -> None:
    def broken() -> Any:
        yield "Ada"
        raise ValueError("broken")

    stream = AnswerStream(broken())
    with pytest.raises(ValueError, match="broken"):
        list(stream)
    with pytest.raises(UsageError, match="ended with an error before it was complete"):
        _ = stream.answer
    with pytest.raises(UsageError, match="async for piece in stream"):
        _ = AsyncAnswerStream(lambda: stream).answer
