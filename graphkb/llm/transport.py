"""Requests over HTTP, with every failure as a Fault."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from graphkb import __version__
from graphkb.errors import GraphkbError, SettingsError
from graphkb.llm.background import close_with
from graphkb.llm.bodies import (
    LARGEST_ERROR,
    LARGEST_REPLY,
    LARGEST_STREAM,
    larger_than,
    leniently_decoded,
    pieces_within,
)
from graphkb.llm.events import EventReader
from graphkb.llm.faults import Fault, judge, judge_inside
from graphkb.llm.keys import masked, without_secrets
from graphkb.llm.wire import DONE, can_be_connected, endpoint, is_local, read_body
from graphkb.settings import LanguageModel

_PATH = "/chat/completions"
_END = "[DONE]"
_NEVER = ("certificate verify failed", "wrong version number")
# A gateway's headers are longer than browsers' are.
_LONGEST_HEADER = 65_536
# A kept connection that the server closes later than this may have been read from.
_CLOSED_WITHIN = 1.0


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """What https is checked against. Reading the certificates takes 40 ms of CPU, so it is done
    once, and only where it is needed. Raises SettingsError where the environment names a file or
    folder without any."""
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise SettingsError(
            f"the certificates cannot be read ({error.strerror or error}); correct the environment "
            "variable SSL_CERT_FILE or SSL_CERT_DIR"
        ) from None


def _failures() -> tuple[type[Exception], ...]:
    """What a request may raise; plain ValueError is for events that are no JSON."""
    import aiohttp

    return (Fault, aiohttp.ClientError, OSError, TimeoutError, ValueError)


def environment_proxy(address: str) -> str:
    """The proxy that the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY) or the system
    names for an address; empty for none, and for what is on this machine or its network.

    Raises SettingsError for one that is no HTTP proxy, or no address at all.
    """
    parts = urlsplit(address)
    if is_local(address) or proxy_bypass(parts.hostname or ""):
        return ""
    named = getproxies()
    proxy = named.get(parts.scheme) or named.get("all") or ""
    proxy = proxy if "://" in proxy or not proxy else f"http://{proxy}"
    if proxy and not can_be_connected(proxy):
        raise SettingsError(
            f"{without_secrets(proxy)!r}: this proxy of the environment is no HTTP proxy; set "
            f"{parts.scheme.upper()}_PROXY to one that is, or NO_PROXY={parts.hostname}"
        )
    return proxy


class Transport:
    """One server. ``address`` is where it is, ``name`` what its replies are kept under.

    The coroutines belong to the background loop. Raises SettingsError for a ``base_url`` that is
    no URL and a key that cannot be sent.
    """

    def __init__(self, options: LanguageModel, base_url: str = "", name: str = "") -> None:
        self.address, self._query = endpoint(base_url or options.base_url)
        self._options = options
        self._key = options.api_key.strip()
        self.name = name or self.clean(self.address)
        if not (self._key.isascii() and self._key.isprintable()) or " " in self._key:
            raise SettingsError(
                "llm.api_key: a key has only ASCII characters, no spaces and no control "
                "characters; copy it again"
            )
        self._session: Any = None
        self._sent = asyncio.Event()
        self._n_sent = 0

    @property
    def n_sent(self) -> int:
        """Requests that went out so far. May be read from any thread."""
        return self._n_sent

    async def wait_until_sent(self) -> None:
        """Until a first request went out."""
        await self._sent.wait()

    async def _note_sent(self, *event: Any) -> None:
        self._n_sent += 1
        self._sent.set()

    async def prepare(self) -> None:
        """Load the HTTP library before the first request. What is wrong shows at that."""
        with suppress(GraphkbError):
            self._connected()

    def _connected(self) -> Any:
        if self._session is None:
            import aiohttp

            size = self._options.concurrency
            secure = self.address.startswith("https:")
            headers = {"User-Agent": f"graphkb/{__version__}", "Accept": "application/json"}
            if urlsplit(self.address).username is None:
                headers["Authorization"] = f"Bearer {self._key or 'none'}"
            proxy = environment_proxy(self.address)
            trace = aiohttp.TraceConfig()
            trace.on_connection_reuseconn.append(_note_kept)
            trace.on_request_chunk_sent.append(self._note_sent)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=size, ssl=_certificates() if secure else True),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
                proxy=proxy or None,
                trace_configs=[trace],
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    sock_connect=self._options.connect_timeout,
                    sock_read=self._options.timeout,
                ),
                max_line_size=_LONGEST_HEADER,
                max_field_size=_LONGEST_HEADER,
            )
            close_with(self, self._session)
        return self._session

    @asynccontextmanager
    async def _posted(self, body: Mapping[str, Any]) -> AsyncIterator[Any]:
        """The response, its body not read yet. Raises Fault when its status is an error."""
        import aiohttp

        data = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        seconds = self._options.timeout + self._options.connect_timeout
        async with asyncio.timeout(seconds):
            try:
                response = await self._response(data.encode())
            except ValueError as error:
                if isinstance(error, OSError | aiohttp.ClientError):
                    raise
                # No reply was read yet, so it is the address or what goes into the headers.
                raise Fault("address", f"no request can be sent there ({_said(error)})") from error
        async with response:
            if not 200 <= response.status < 300:
                async with asyncio.timeout(seconds):
                    content = await _read(response, LARGEST_ERROR)
                said = leniently_decoded(response.headers, content)
                raise self._cleaned(judge(response.status, response.headers, said))
            yield response

    async def _response(self, data: bytes) -> Any:
        """The response to a request. A connection kept from an earlier one may have been closed
        by the server just before: such a request was not read, and is sent again at once, until
        it goes out on a new connection."""
        import aiohttp

        # Each one that was closed is gone from those that are kept.
        for _ in range(self._options.concurrency):
            kept: list[bool] = []
            started = time.monotonic()
            try:
                return await self._post(data, kept)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if not kept or time.monotonic() - started > _CLOSED_WITHIN:
                    raise
        return await self._post(data, [])

    async def _post(self, data: bytes, kept: list[bool]) -> Any:
        """``kept`` gets an item where the connection is not new."""
        # Documents go where the settings say, and nowhere a server sends them on to.
        return await self._connected().post(
            self.address + _PATH, params=self._query, data=data,
            headers={"Content-Type": "application/json"}, allow_redirects=False,
            trace_request_ctx=kept,
        )  # fmt: skip

    async def send(self, body: Mapping[str, Any]) -> Any:
        """The parsed JSON of the reply. Raises Fault."""
        seconds = self._options.timeout + self._options.connect_timeout
        try:
            async with asyncio.timeout(seconds), self._posted(body) as response:
                content = await _read(response, LARGEST_REPLY)
        except _failures() as error:
            raise self._fault(error) from error
        return self._checked(response.status, response.headers, content)

    async def stream(self, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Chunks as they come, :data:`DONE` where the stream says so at its end; a server that
        answers without streaming gives one. Raises Fault."""
        try:
            async with self._posted(body) as response:
                if "event-stream" not in response.headers.get("Content-Type", ""):
                    seconds = self._options.timeout + self._options.connect_timeout
                    async with asyncio.timeout(seconds):
                        content = await _read(response, LARGEST_REPLY)
                    yield self._checked(response.status, response.headers, content)
                    return
                reader = EventReader()
                size = 0
                async with aclosing(pieces_within(response.content, LARGEST_STREAM)) as pieces:
                    async for received in pieces:
                        size += len(received)
                        for data in reader.feed(received):
                            if data.startswith(_END):
                                yield DONE
                                return
                            chunk = json.loads(data)
                            if isinstance(chunk, dict):
                                yield _without_error(chunk)
                if size > LARGEST_STREAM:
                    raise Fault("server", larger_than(LARGEST_STREAM))
        except _failures() as error:
            raise self._fault(error) from error

    def _checked(self, status: int, headers: Mapping[str, str], content: bytes) -> Any:
        if len(content) > LARGEST_REPLY:
            raise Fault("server", larger_than(LARGEST_REPLY), status)
        try:
            return read_body(status, headers, content)
        except Fault as fault:
            raise self._cleaned(fault) from fault.__cause__

    @property
    def where(self) -> str:
        """The address as messages show it."""
        return self.clean(without_secrets(self.address))

    def clean(self, text: str) -> str:
        """``text`` without the key."""
        return masked(text, self._key)

    def _cleaned(self, fault: Fault) -> Fault:
        fault.said = self.clean(fault.said)
        return fault

    def _fault(self, error: Exception) -> Fault:
        """What an exception of a request means."""
        import aiohttp

        if isinstance(error, Fault):
            return self._cleaned(error)
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            seconds = self._options.connect_timeout
            return Fault("unreachable", f"no connection within {seconds:g} s")
        if isinstance(error, TimeoutError):
            return Fault("silent", f"no reply within {self._options.timeout:g} s")
        said = self.clean(_said(error))
        if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
            return Fault("address", said)
        if any(sign in said.lower() for sign in _NEVER):
            return Fault("address", said)
        if isinstance(error, aiohttp.ClientConnectorError):
            return Fault("unreachable", said)
        if isinstance(error, aiohttp.ClientError | OSError):
            return Fault("server", said)
        return Fault("server", f"the reply was not JSON ({self.clean(str(error))[:100]})")

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _note_kept(session: Any, context: Any, parameters: Any) -> None:
    """Says in the context of a request that its connection is not new."""
    context.trace_request_ctx.append(True)


async def _read(response: Any, most: int) -> bytes:
    """A response's body up to the piece that goes beyond ``most`` bytes. One that switches to
    another protocol has none."""
    if response.status < 200:
        return b""
    return b"".join([piece async for piece in pieces_within(response.content, most)])


def _without_error(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk that is no error. Raises Fault for one that is."""
    if chunk.get("error"):
        raise judge_inside(chunk)
    return chunk


def _said(error: BaseException) -> str:
    """What the innermost exception says, in one line: what the system said, not the library."""
    root = error
    while (following := root.__cause__ or root.__context__) is not None:
        root = following
    return " ".join(str(root).split())[:200] or type(root).__name__
