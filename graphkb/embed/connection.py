"""One request to an embeddings endpoint: retries, waits, and what a refusal means."""

from __future__ import annotations

import base64
import email.utils
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np

from graphkb.embed import Vectors
from graphkb.embed.wording import (
    Kind,
    decoded,
    message_of,
    out_of_money,
    refusal_kind,
    stated_limit,
)
from graphkb.errors import EmbeddingError, SettingsError
from graphkb.settings import Embed
from graphkb.settings_base import key_problem

# Failures that can pass: time-outs, conflicts, too early, too many requests, and servers' own.
_PASSING_STATUS = {408, 409, 425, 429}
_FIRST_WAIT, _LONGEST_BACK_OFF = 0.5, 30.0
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
# However much later an endpoint asks to be called again.
_LONGEST_ASKED = 60.0


@dataclass(frozen=True)
class Patience:
    """How long to try: ``retries`` of failures that can pass, seconds for one reply, and most
    seconds for all of it, standing in line where the endpoint gets too many requests included.

    ``thorough``: a refused text is looked into, alone and beside a harmless one.
    """

    retries: int
    timeout: float
    longest: float
    thorough: bool = True


class Refusal(Exception):
    """The endpoint will not embed what it was sent; another choice of texts may go through.

    ``limit`` is the number of texts a request may have, where the endpoint says it, else 0.
    """

    def __init__(self, kind: Kind, reason: str, limit: int = 0) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.limit = kind, reason, limit


class Malformed(Exception):
    """A reply that is cut off or is no list of embeddings."""


class Pace:
    """Shared by the threads of one endpoint: when the next request may leave, and how many may
    be in flight. Halved when there were too many, one more after each success."""

    def __init__(self, most: int) -> None:
        self._most, self.allowed = most, most
        self._not_before = 0.0
        self._lock = threading.Lock()

    def slow_down(self, seconds: float) -> None:
        """Hold all requests back for a while, and let fewer fly at once."""
        with self._lock:
            until = time.monotonic() + seconds
            # The others of one burst are refused for the same reason: they halve nothing more.
            if self._not_before < time.monotonic():
                self.allowed = max(1, self.allowed // 2)
            self._not_before = max(self._not_before, until)

    def went_well(self) -> None:
        """One more may fly."""
        with self._lock:
            self.allowed = min(self._most, self.allowed + 1)

    def wait(self, stopped: threading.Event) -> None:
        """Until the next request may leave, or the run was stopped."""
        while (seconds := self._not_before - time.monotonic()) > 0 and not stopped.is_set():
            stopped.wait(seconds)


class Connection:
    """``POST {base_url}/embeddings`` with lists of strings. Safe to use from several threads."""

    def __init__(self, options: Embed) -> None:
        if not options.base_url.startswith(("http://", "https://")):
            raise SettingsError(
                f"embed.base_url: {options.base_url!r} is not a URL; "
                "write for example http://localhost:11434/v1"
            )
        if not (options.api_key.isascii() and options.api_key.isprintable()):
            raise SettingsError(
                "embed.api_key: holds characters that cannot be sent; copy the key again"
            )
        self.url = options.base_url.rstrip("/").removesuffix("/embeddings")
        self.model = options.model
        self.pace = Pace(options.concurrency)
        self._key = options.api_key
        self._encoding: Literal["base64", "float"] = "base64"
        self._answered = False
        self._client: Any = None
        self._lock = threading.Lock()

    def embed(
        self, texts: Sequence[str], patience: Patience, stopped: threading.Event
    ) -> list[Vectors]:
        """Float32 vectors in the order of ``texts``, as the endpoint made them: neither scaled
        nor checked for NaN, zeros and width.

        Raises Refusal for these texts, EmbeddingError when no request can succeed.
        """
        began, attempt = time.monotonic(), 0
        while True:
            self.pace.wait(stopped)
            if stopped.is_set():
                raise EmbeddingError("stopped")
            try:
                vectors = self._once(texts, patience.timeout)
            except _Passing as failure:
                attempt += 1
                wait = min(failure.wait, _LONGEST_ASKED) or _back_off(attempt)
                late = time.monotonic() - began + wait > patience.longest
                most = patience.retries if self._answered else min(patience.retries, 1)
                # Standing in line is bounded by time, everything else also by the tries.
                if not most or late or (attempt > most and not failure.crowded):
                    raise Refusal("server", failure.reason) from failure
                if failure.crowded:
                    self.pace.slow_down(wait)
                else:
                    stopped.wait(wait)
            else:
                self._answered = True
                self.pace.went_well()
                return vectors

    def _once(self, texts: Sequence[str], timeout: float) -> list[Vectors]:
        import openai

        asked = self._encoding
        try:
            # Base64 is six times cheaper to decode than lists of floats.
            raw = self._connected().embeddings.with_raw_response.create(
                model=self.model,
                input=list(texts),
                encoding_format=asked,
                timeout=openai.Timeout(timeout, connect=min(timeout, 10.0)),
            )
            return self._vectors(raw.http_response.text, raw.headers, len(texts))
        except openai.APIStatusError as error:
            status, text = error.status_code, error.response.text
            if status in (400, 422) and "encoding_format" in text and asked == "base64":
                self._encoding = "float"
                return self._once(texts, timeout)
            raise self._judged(status, text, error.response.headers, len(texts)) from error
        except openai.APITimeoutError as error:
            raise _Passing(f"no reply in {timeout:g} seconds") from error
        except openai.APIConnectionError as error:
            raise _Passing(f"no connection: {error.__cause__ or error}") from error
        except (Malformed, openai.OpenAIError) as error:
            raise _Passing(str(error)) from error

    def _connected(self) -> Any:
        if problem := key_problem(self._key):
            raise EmbeddingError(problem)
        with self._lock:
            if self._client is None:
                import openai

                self._client = openai.OpenAI(
                    base_url=self.url,
                    api_key=self._key or "none",
                    max_retries=0,
                    # No proxy stands between a program and its own machine.
                    http_client=openai.DefaultHttpxClient(
                        trust_env=urlsplit(self.url).hostname not in _THIS_MACHINE,
                        follow_redirects=False,
                    ),
                )
            return self._client

    def _vectors(self, text: str, headers: Mapping[str, str], expected: int) -> list[Vectors]:
        """The vectors of a reply with status 200, by their index."""
        if "html" in headers.get("content-type", "") or text.lstrip()[:1] == "<":
            raise self.wrong_address("a web page came back")
        try:
            reply = json.loads(text)
        except ValueError as error:
            raise Malformed("the reply is cut off or not JSON") from error
        items = reply.get("data") if isinstance(reply, dict) else reply
        if not isinstance(items, list):
            if isinstance(reply, dict) and ("error" in reply or "message" in reply):
                raise self._judged(400, text, headers, expected)
            raise self.wrong_address("the reply has no list of embeddings")
        vectors = [_decoded(item) for item in items]
        indexes = [item.get("index") for item in items]
        if len(vectors) == 1 == expected:
            return vectors
        if indexes == [None] * expected:
            return vectors
        if sorted(i for i in indexes if isinstance(i, int)) != list(range(expected)):
            # Which vector belongs to which text is not known: only one at a time can be trusted.
            reason = f"returned {len(items)} embeddings for {expected} texts"
            raise Refusal("batch" if expected > 1 and items else "other", reason, 1)
        return [vectors[indexes.index(place)] for place in range(expected)]

    def _judged(self, status: int, text: str, headers: Mapping[str, str], texts: int) -> Exception:
        """What a status and a message mean: an error for good, one that can pass, or a refusal
        of these texts."""
        said, text = self._said(status, text), decoded(text)
        if out_of_money(status, text):
            return EmbeddingError(
                f"{self.url}: no money or quota is left ({said}); top up the account of "
                f"{self._key_name()}, then run graphkb index again: what was embedded is kept"
            )
        if status in (401, 403):
            what = "is refused" if self._key else "is empty"
            do = "check the key" if self._key else "set it"
            return EmbeddingError(f"{self.url}: {self._key_name()} {what} ({said}); {do}")
        if status in (404, 405):
            return self.wrong_address(said)
        kind = refusal_kind(status, text)
        if kind is not None:
            return Refusal(kind, said, stated_limit(text, texts) if kind == "batch" else 0)
        if status in _PASSING_STATUS or status >= 500:
            wait = _retry_after(headers)
            asked = f"; it asks to wait {wait:.0f} seconds" if wait else ""
            return _Passing(said + asked, wait, crowded=status == 429 or wait > 0)
        return Refusal("other", said)

    def _said(self, status: int, text: str) -> str:
        said = f"{status}: {message_of(text)}" if status != 400 else message_of(text)
        return said.replace(self._key, "***") if self._key else said

    def _key_name(self) -> str:
        variable = getattr(self._key, "variable", "")
        return f"embed.api_key (from {variable})" if variable else "embed.api_key"

    def wrong_address(self, said: str) -> EmbeddingError:
        """No embeddings are to be had there."""
        return EmbeddingError(
            f"{self.url}: no embeddings from model {self.model!r} there ({said}); "
            "check embed.base_url and embed.model"
        )


class _Passing(Exception):
    """A failure that can pass; ``wait`` seconds where the endpoint says so; ``crowded`` when it
    gets too many requests."""

    def __init__(self, reason: str, wait: float = 0.0, *, crowded: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.wait, self.crowded = reason, wait, crowded


def _decoded(item: Any) -> Vectors:
    """One embedding: base64 of little-endian float32, or numbers (also as strings, null as NaN).

    Raises Malformed.
    """
    given = item.get("embedding") if isinstance(item, dict) else None
    try:
        if isinstance(given, str):
            vector = np.frombuffer(base64.b64decode(given, validate=True), "<f4")
        else:
            with np.errstate(over="ignore"):
                vector = np.array(given, np.float32)
    except (ValueError, TypeError) as error:
        raise Malformed("an embedding is no list of numbers") from error
    if vector.ndim != 1 or not vector.size:
        raise Malformed(f"an embedding has the shape {vector.shape}, not that of one vector")
    return vector.astype(np.float32)


def _back_off(attempt: int) -> float:
    """Seconds before the next try: doubled each time, with jitter so that threads spread."""
    wait: float = min(_FIRST_WAIT * 2.0 ** (attempt - 1), _LONGEST_BACK_OFF)
    return wait * random.uniform(0.8, 1.2)


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a Retry-After header asks to wait, given in seconds or as a date; 0 without."""
    given = headers.get("retry-after", "").strip()
    try:
        return max(float(given), 0.0)
    except ValueError:
        pass
    try:
        at = email.utils.parsedate_to_datetime(given)
    except ValueError:
        return 0.0
    return max(at.timestamp() - time.time(), 0.0)
