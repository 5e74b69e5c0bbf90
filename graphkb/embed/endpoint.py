"""Embeddings from any OpenAI-compatible endpoint."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import numpy as np

from graphkb.embed import Made, Vectors, unit_rows, vector_problem
from graphkb.embed.connection import Connection, Patience, Refusal
from graphkb.embed.prefixes import passage_prefix, query_prefix
from graphkb.errors import EmbeddingError
from graphkb.settings import Embed
from graphkb.text.tokens import truncate_tokens

# A text that the endpoint refuses as too long is halved at most this often.
_MAX_HALVINGS = 6

# Embedded to learn whether an endpoint that refuses texts would embed anything.
_HARMLESS = "graphkb"
# Refusals in a row after which the endpoint is doubted again.
_DOUBT = 5
# How long requests in flight may still land after one that said that none can succeed.
_LAST_SECONDS = 5.0

_DOUBTFUL = Patience(retries=2, timeout=30.0, longest=40.0)

# Most seconds that requests stand in line before the run gives up.
_LONGEST_WAIT = 300.0
# A question must not wait for an endpoint that is down: the other legs answer it.
_QUESTION_TIMEOUT, _QUESTION_WAIT = 10.0, 3.0
_REST = 30.0


@dataclass
class _Flight:
    """Texts on their way; then their vectors and which were halved, or why there are none."""

    places: list[int]
    vectors: Sequence[Vectors] = ()
    halved: bool = False
    problem: Exception | None = None


class EndpointEmbedder:
    """Embeds through ``POST {base_url}/embeddings``, ``concurrency`` requests in flight.

    What the endpoint says of its limits is respected and remembered: how many texts a request
    may have, and how many requests may fly.
    """

    provider = "openai"

    def __init__(self, options: Embed) -> None:
        self._connection = Connection(options)
        self._options = options
        self.model = options.model
        self.dimension = 0
        self.batch_size = options.batch_size
        self.query_prefix = query_prefix(options.query_prefix, options.model)
        self.passage_prefix = passage_prefix(options.passage_prefix, options.model)
        self._last_question: tuple[str, Vectors] | None = None
        self._down: tuple[float, str] = (0.0, "")

    def embed_many(self, texts: Sequence[str]) -> Iterator[Made]:
        """Vectors as they come, in any order; each text stands in exactly one :class:`Made`.

        The first text goes alone: what an endpoint that does not work costs is one request.
        """
        patience = Patience(self._options.max_retries, self._options.timeout, _LONGEST_WAIT)
        sent = self._sent(texts, self.passage_prefix)
        return _Pass(self, self._connection, sent, patience).run()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32 [n, dimension], unit rows; for few texts while somebody waits, as
        :meth:`embed_query`. A text that is too long for the model is halved and the vectors of
        its parts averaged."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return self._at_once(self._sent(texts, self.passage_prefix))

    def embed_query(self, text: str) -> Vectors:
        """float32 [dimension], unit length. Gives up within seconds when the endpoint fails, and
        then leaves it alone for half a minute. Raises EmbeddingError."""
        if self._last_question is None or self._last_question[0] != text:
            vector = self._at_once(self._sent([text], self.query_prefix))[0]
            self._last_question = (text, vector)
        return self._last_question[1]

    def _at_once(self, texts: Sequence[str]) -> Vectors:
        until, reason = self._down
        if time.monotonic() < until:
            raise EmbeddingError(reason)
        retries = min(self._options.max_retries, 1)
        timeout = min(self._options.timeout, _QUESTION_TIMEOUT)
        rows: dict[int, Vectors] = {}
        try:
            patience = Patience(retries, timeout, _QUESTION_WAIT, thorough=False)
            for made in _Pass(self, self._connection, texts, patience).run():
                rows.update(zip(made.places, made.vectors, strict=True))
        except EmbeddingError as error:
            self._down = (time.monotonic() + _REST, str(error))
            raise
        return np.stack([rows[place] for place in range(len(texts))])

    def _sent(self, texts: Sequence[str], prefix: str) -> list[str]:
        """What is sent for texts: behind their prefix, not longer than the settings say."""
        limit = self._options.max_text_tokens
        whole = [(prefix + text).encode("utf-8", "replace").decode("utf-8") for text in texts]
        return [truncate_tokens(text, limit) for text in whole] if limit else whole

    def embed_halved(
        self, text: str, patience: Patience, stopped: threading.Event, halvings: int = 0
    ) -> tuple[Vectors, bool]:
        """One vector, and whether the text was too long and it is the mean of its parts'."""
        try:
            return self._connection.embed([text], patience, stopped)[0], False
        except Refusal as refusal:
            too_long = refusal.kind in ("length", "batch")
            if not too_long or halvings == _MAX_HALVINGS or len(text) < 2:
                raise
            middle = len(text) // 2
            parts = [
                self.embed_halved(half, patience, stopped, halvings + 1)[0]
                for half in (text[:middle], text[middle:])
            ]
            return unit_rows(np.stack(parts)).mean(axis=0), True

    def check_width(self, vector: Vectors) -> None:
        """The first vector sets the dimension; raises EmbeddingError for one that differs."""
        self.dimension = self.dimension or len(vector)
        if len(vector) != self.dimension:
            raise EmbeddingError(
                f"{self._connection.url}: model {self.model!r} returned a vector of "
                f"{len(vector)} numbers where the others have {self.dimension}; if another model "
                "runs there now, run graphkb index --rebuild"
            )

    def failure(self, reason: str) -> EmbeddingError:
        """The endpoint cannot embed, or not this text."""
        return EmbeddingError(
            f"{self._connection.url}: embedding with model {self.model!r} failed ({reason}); "
            "check the endpoint, embed.base_url and embed.model"
        )


class _Pass:
    """One pass over many texts. Threads send; everything is decided in the caller's thread."""

    def __init__(
        self,
        embedder: EndpointEmbedder,
        connection: Connection,
        texts: Sequence[str],
        patience: Patience,
    ) -> None:
        self._embedder, self._connection = embedder, connection
        self._texts, self._patience = texts, patience
        # Groups go first, then the rest, in requests of the size that works. As long as the
        # endpoint has not shown what it makes, the first text goes alone.
        self._proven = embedder.dimension > 0
        self._groups: deque[list[int]] = deque()
        self._rest = deque(range(len(texts)))
        if self._rest and not self._proven:
            self._groups.append([self._rest.popleft()])
        self._landed: SimpleQueue[_Flight] = SimpleQueue()
        self._flying = 0
        self._refusals = 0
        self._stopped = threading.Event()

    def run(self) -> Iterator[Made]:
        """Send, wait, decide, until every text has a vector or a reason."""
        try:
            while self._groups or self._rest or self._flying:
                while self._may_start():
                    self._start(self._next_group())
                flight = self._landed.get()
                self._flying -= 1
                yield from self._decided(flight)
        except EmbeddingError:
            yield from self._still_landing()
            raise
        finally:
            self._stopped.set()

    def _still_landing(self) -> Iterator[Made]:
        """What others were already paid for brings in, in the few seconds that are left."""
        self._stopped.set()
        until = time.monotonic() + _LAST_SECONDS
        with contextlib.suppress(Empty):
            while self._flying:
                flight = self._landed.get(timeout=max(until - time.monotonic(), 0.01))
                self._flying -= 1
                width = self._embedder.dimension
                if flight.problem is None and all(
                    len(vector) == width and not vector_problem(vector) for vector in flight.vectors
                ):
                    yield from self._accepted(flight)

    def _may_start(self) -> bool:
        allowed = self._connection.pace.allowed if self._proven else 1
        return self._flying < allowed and bool(self._groups or self._rest)

    def _next_group(self) -> list[int]:
        size = self._embedder.batch_size
        if not self._groups:
            return [self._rest.popleft() for _ in range(min(size, len(self._rest)))]
        group = self._groups.popleft()
        if group[size:]:
            self._groups.appendleft(group[size:])
        return group[:size]

    def _start(self, places: list[int]) -> None:
        self._flying += 1
        # A daemon: a hung request does not keep an interrupted program alive.
        threading.Thread(target=self._fly, args=(_Flight(places),), daemon=True).start()

    def _fly(self, flight: _Flight) -> None:
        try:
            texts = [self._texts[place] for place in flight.places]
            if len(texts) == 1:
                vector, flight.halved = self._embedder.embed_halved(
                    texts[0], self._patience, self._stopped
                )
                flight.vectors = [vector]
            else:
                flight.vectors = self._connection.embed(texts, self._patience, self._stopped)
        except Exception as error:  # raised again in the caller's thread
            flight.problem = error
        self._landed.put(flight)

    def _decided(self, flight: _Flight) -> Iterator[Made]:
        problem, places = flight.problem, flight.places
        if problem is None:
            yield from self._accepted(flight)
        elif not isinstance(problem, Refusal):
            raise problem
        elif problem.kind == "batch" and len(places) > 1:
            self._shrink(places, problem.limit)
        elif len(places) > 1:
            if problem.kind == "server":
                self._doubt(problem)
            middle = len(places) // 2
            self._groups.extendleft((places[middle:], places[:middle]))
        else:
            self._doubt(problem)
            yield self._refused(places[0], problem.reason)

    def _accepted(self, flight: _Flight) -> Iterator[Made]:
        good: list[int] = []
        for row, (place, vector) in enumerate(zip(flight.places, flight.vectors, strict=True)):
            problem = vector_problem(vector)
            if not problem:
                self._embedder.check_width(vector)
                good.append(row)
            elif len(flight.places) > 1:
                self._groups.append([place])
            else:
                self._doubt(Refusal("value", f"returned {problem}"))
                yield self._refused(place, f"returned {problem}")
        if good:
            self._proven, self._refusals = True, 0
            places = tuple(flight.places[row] for row in good)
            vectors = unit_rows(np.stack([flight.vectors[row] for row in good]))
            yield Made(places, vectors, halved=places if flight.halved else ())

    def _refused(self, place: int, reason: str) -> Made:
        return Made((), np.empty((0, self._embedder.dimension), np.float32), {place: reason})

    def _shrink(self, places: list[int], limit: int) -> None:
        """Fewer texts a request from now on; these first."""
        self._embedder.batch_size = min(self._embedder.batch_size, limit or len(places) // 2)
        self._groups.appendleft(places)

    def _doubt(self, refusal: Refusal) -> None:
        """Is it the texts, or does the endpoint embed nothing at all? Raises EmbeddingError when
        it does not even embed a harmless word."""
        if not self._patience.thorough or (refusal.kind == "server" and not self._proven):
            raise self._embedder.failure(refusal.reason)
        self._refusals += 1
        if self._proven and refusal.kind != "server" and self._refusals % _DOUBT:
            return
        try:
            vector = self._connection.embed([_HARMLESS], _DOUBTFUL, self._stopped)[0]
        except Refusal:
            raise self._embedder.failure(refusal.reason) from refusal
        if vector_problem(vector):
            raise self._embedder.failure(refusal.reason) from refusal
        self._embedder.check_width(vector)
        self._proven = True
