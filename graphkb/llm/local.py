"""A GGUF file as a language model: llama.cpp's server, started and stopped here."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib.util
import json
import os
import re
import secrets
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from graphkb.errors import MissingExtraError, ModelUnusableError, SettingsError
from graphkb.llm.transport import Transport
from graphkb.settings import LanguageModel

PROVIDER = "llama_cpp"
# Each slot has a context of its own, which is what costs memory.
MOST_SLOTS = 4
CONTEXT_TOKENS = 8192

_MAGIC = b"GGUF"
_STOP_SECONDS = 3.0
_PROGRAM = Path(__file__).with_name("local_server.py")
_LOADING = re.compile(r"error loading model: (.+)")

# Bytes of GGUF's values by their type number; 8 are strings, 9 arrays.
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 24


@dataclass(frozen=True)
class LocalModel:
    """A GGUF file and how it is served. ``name`` is what its replies are kept under: the same
    file gives the same replies, whatever port or folder it is served from."""

    path: Path
    context_tokens: int
    slots: int

    @property
    def name(self) -> str:
        """Provider, file name and size."""
        return f"{PROVIDER}:{self.path.name}:{self.path.stat().st_size}"


class LocalServer:
    """llama.cpp's OpenAI-compatible server for one file, on a free port of the loopback.

    Starts at :meth:`start` or ``with``; ``key`` is what it asks for, so that nobody else on this
    machine can use it. Safe to use from several threads.
    """

    def __init__(self, model: LocalModel, threads: int = 0) -> None:
        self.model = model
        self.key = secrets.token_urlsafe(24)
        self.users = 0
        # llama.cpp's threads wait for each other at every layer: measured on two cores that other
        # programs use as well, two threads make 2 tokens a second where one makes 30.
        self._threads = threads or max(1, _processors() // 2)
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None
        self._url = ""
        self._lock = threading.Lock()

    def __enter__(self) -> LocalServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def base_url(self) -> str:
        """Where it answers; empty while it does not run."""
        return self._url

    @property
    def process_id(self) -> int:
        """The server's process; 0 while it does not run."""
        return self._process.pid if self._process is not None else 0

    def start(self) -> str:
        """The base URL, after loading the model where it does not run (any more).

        Raises ModelUnusableError when the model cannot be loaded.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return self._url
            self._end()
            self._begin()
            return self._url

    def stop(self) -> None:
        """End the server; its memory is free after."""
        with self._lock:
            self._end()

    def _begin(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed in _end)
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
        )  # fmt: skip
        options = {
            "path": str(self.model.path),
            "context_tokens": self.model.context_tokens,
            "slots": self.model.slots,
            "threads": self._threads,
            "key": self.key,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        said: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(options) + "\n")
            self._process.stdin.flush()
            said = json.loads(self._process.stdout.readline())
        self._url = said.get("url", "")
        if not self._url:
            reason = self._why() or said.get("error", "it ended without a word")
            self._end()
            raise ModelUnusableError(
                f"llm.model: {self.model.path} cannot be loaded ({reason}); "
                "take another GGUF file, or a smaller one where memory is short"
            )

    def _why(self) -> str:
        """What llama.cpp wrote about the model, on one line."""
        assert self._log is not None
        self._log.seek(0)
        text = self._log.read().decode("utf-8", "replace")
        found = _LOADING.search(text)
        lines = text.strip().splitlines()
        return (found.group(1) if found else lines[-1] if lines else "")[:300]

    def _end(self) -> None:
        process, self._process, self._url = self._process, None, ""
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    # What is still in the pipe to a process that is gone cannot be written.
                    with contextlib.suppress(OSError):
                        pipe.close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._log is not None:
            self._log.close()
            self._log = None


def _processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_running: dict[LocalModel, LocalServer] = {}
_guard = threading.Lock()


def _shared(model: LocalModel) -> LocalServer:
    """The process's server for a model; :func:`_let_go` when done."""
    with _guard:
        server = _running.setdefault(model, LocalServer(model))
        server.users += 1
        return server


def _let_go(server: LocalServer) -> None:
    with _guard:
        server.users -= 1
        if server.users > 0:
            return
        _running.pop(server.model, None)
    server.stop()


@atexit.register
def _stop_all() -> None:
    for server in list(_running.values()):
        server.stop()


class LocalTransport(Transport):
    """Requests to a local server, which is started before the first one."""

    def __init__(self, options: LanguageModel, model: LocalModel) -> None:
        super().__init__(options, "http://127.0.0.1/v1", model.name)
        self._model = model
        self._server: LocalServer | None = None
        self.address = model.name

    @property
    def where(self) -> str:
        """The provider: messages name the model, and its server's address means nothing."""
        return PROVIDER

    async def send(self, body: Mapping[str, Any]) -> Any:
        """See :meth:`Transport.send`; raises ModelUnusableError when the model does not load."""
        await self._ready()
        return await super().send(body)

    async def stream(self, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """See :meth:`Transport.stream`."""
        await self._ready()
        async with contextlib.aclosing(super().stream(body)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _ready(self) -> None:
        if self._server is None:
            self._server = _shared(self._model)
        url = await asyncio.to_thread(self._server.start)
        if url != self.address:
            await super().close()
            self.address, self._key = url, self._server.key

    async def close(self) -> None:
        """Close the connections, and the server where nobody else in this process uses it."""
        await super().close()
        server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(_let_go, server)


def local_transport(root: Path, options: LanguageModel) -> tuple[LanguageModel, LocalTransport]:
    """The settings and the transport for a GGUF file; nothing is started yet.

    ``llm.model`` is a path, relative to the project. The context is ``llm.context_tokens``, or
    8192 or what the model was made for where that is less; as many calls fly as there are slots.

    Raises SettingsError when there is no such file or it is none, MissingExtraError without
    xllamacpp.
    """
    path = (root / options.model).expanduser()
    trained = context_length(path)
    for role in ("extraction_model", "report_model", "answer_model"):
        if getattr(options, role):
            raise SettingsError(
                f"llm.{role}: {getattr(options, role)!r} cannot be used with llm.provider: "
                f"{PROVIDER}, which serves the one file of llm.model; leave it empty"
            )
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtraError(f"llm.provider: {PROVIDER}", "local-llm")
    slots = min(options.concurrency, MOST_SLOTS)
    context = options.context_tokens or min(CONTEXT_TOKENS, trained or CONTEXT_TOKENS)
    update = {"model": path.name, "concurrency": slots, "context_tokens": context}
    served = options.model_copy(update=update)
    return served, LocalTransport(served, LocalModel(path.resolve(), context, slots))


def context_length(path: Path) -> int:
    """The context in tokens that a GGUF file's model was made for; 0 when it does not say.

    Reads only the head of the file (GGUF versions 2 and 3). Raises SettingsError for a file that
    is missing, cannot be read or is no GGUF file.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4)
            if head != _MAGIC:
                shown = head.decode("latin-1")
                raise SettingsError(
                    f"llm.model: {path} is not a GGUF file (it begins with {shown!r}); "
                    "download the model in GGUF format"
                )
            return _metadata(file)
    except FileNotFoundError:
        raise SettingsError(
            f"llm.model: there is no file {path}; write the path of a GGUF file, relative to the "
            "project folder"
        ) from None
    except OSError as error:
        raise SettingsError(f"llm.model: {path} cannot be read ({error.strerror})") from None
    except (struct.error, UnicodeDecodeError, KeyError, OverflowError):
        return 0  # A damaged file: llama.cpp says what is wrong with it.


def _metadata(file: IO[bytes]) -> int:
    """The value of ``<architecture>.context_length`` among the key-value pairs; 0 without one."""
    _, _, pairs = struct.unpack("<IQQ", file.read(20))
    for _ in range(pairs):
        key = _string(file)
        (kind,) = struct.unpack("<I", file.read(4))
        if key.endswith(".context_length") and _SIZES.get(kind) in (4, 8):
            size = _SIZES[kind]
            return int.from_bytes(file.read(size), "little")
        _skip(file, kind)
    return 0


def _string(file: IO[bytes]) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST:
        raise struct.error("no string of GGUF metadata is that long")
    return file.read(length).decode("utf-8")


def _skip(file: IO[bytes], kind: int) -> None:
    """Pass over one value."""
    if kind == _STRING:
        _string(file)
    elif kind == _ARRAY:
        inner, count = struct.unpack("<IQ", file.read(12))
        if inner in _SIZES:
            file.seek(min(_SIZES[inner] * count, _LONGEST), os.SEEK_CUR)
        else:
            for _ in range(count):
                _skip(file, inner)
    else:
        file.seek(_SIZES[kind], os.SEEK_CUR)
