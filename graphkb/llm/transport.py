"""Requests over the openai SDK, with every failure as a Fault."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from functools import lru_cache
from typing import Any

from graphkb.errors import SettingsError
from graphkb.llm.faults import Fault, judge, judge_inside
from graphkb.llm.keys import masked, without_secrets
from graphkb.llm.wire import endpoint, is_local, read_body
from graphkb.settings import LanguageModel

_PATH = "/chat/completions"
_NEVER = (
    "certificate verify failed",
    "wrong version number",
    "unknown url",
    "unsupported protocol",
)


@lru_cache(maxsize=2)
def _certificates(none: bool) -> ssl.SSLContext:
    """What https is checked against. Reading the certificates takes 40 ms of CPU, so it is done
    once, and not for plain http on this machine."""
    import httpx2

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if none else httpx2.create_ssl_context()


def _failures() -> tuple[type[Exception], ...]:
    """What a request may raise; the SDK raises plain ValueError for events that are no JSON."""
    import httpx2
    import openai

    return (Fault, openai.OpenAIError, httpx2.HTTPError, TimeoutError, ValueError)


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
        if not self._key.isascii() or any(character.isspace() for character in self._key):
            raise SettingsError(
                "llm.api_key: a key has only ASCII characters and no spaces; copy it again"
            )
        self._sdk: Any = None

    def _connected(self) -> Any:
        if self._sdk is None:
            import httpx2
            import openai

            size = self._options.concurrency
            http = openai.DefaultAsyncHttpxClient(
                limits=httpx2.Limits(max_connections=size, max_keepalive_connections=size),
                trust_env=not is_local(self.address),
                verify=_certificates(self.address.startswith("http:") and is_local(self.address)),
                # Documents go where the settings say, and nowhere a server sends them on to.
                follow_redirects=False,
            )
            self._sdk = openai.AsyncOpenAI(
                base_url=self.address,
                api_key=self._key or "none",
                default_query=self._query,
                max_retries=0,
                http_client=http,
                timeout=openai.Timeout(
                    self._options.timeout, connect=self._options.connect_timeout, pool=None
                ),
            )
        return self._sdk

    async def send(self, body: Mapping[str, Any]) -> Any:
        """The parsed JSON of the reply. Raises Fault."""
        import httpx2

        seconds = self._options.timeout + self._options.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                response = await self._connected().post(_PATH, cast_to=httpx2.Response, body=body)
        except _failures() as error:
            raise self._fault(error) from error
        return self._checked(response.status_code, response.headers, response.content)

    async def stream(self, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Chunks as they come; a server that answers without streaming gives one. Raises Fault."""
        import httpx2
        import openai

        try:
            response = await self._connected().post(
                _PATH, cast_to=httpx2.Response, body=body, stream=True,
                stream_cls=openai.AsyncStream[Any],
            )  # fmt: skip
        except _failures() as error:
            raise self._fault(error) from error
        try:
            if "event-stream" not in response.headers.get("content-type", ""):
                content = await response.aread()
                yield self._checked(response.status_code, response.headers, content)
                return
            chunks = openai.AsyncStream(cast_to=object, response=response, client=self._sdk)
            async for chunk in chunks:
                if isinstance(chunk, dict):
                    yield chunk
        except _failures() as error:
            raise self._fault(error) from error
        finally:
            await response.aclose()

    def _checked(self, status: int, headers: Mapping[str, str], content: bytes) -> Any:
        try:
            return read_body(status, headers, content)
        except Fault as fault:
            fault.said = self.clean(fault.said)
            raise

    @property
    def where(self) -> str:
        """The address as messages show it."""
        return self.clean(without_secrets(self.address))

    def clean(self, text: str) -> str:
        """``text`` without the key."""
        return masked(text, self._key)

    def _fault(self, error: Exception) -> Fault:
        """What an exception of the SDK means."""
        import httpx2
        import openai

        if isinstance(error, Fault):
            return error
        if isinstance(error, openai.APIStatusError):
            response = error.response
            fault = judge(response.status_code, response.headers, response.text)
            fault.said = self.clean(fault.said)
            return fault
        if isinstance(error, TimeoutError | openai.APITimeoutError | httpx2.TimeoutException):
            return self._timeout(error)
        if isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
            return self._broken(error)
        if isinstance(error, openai.APIError):
            inside = error.body if isinstance(error.body, dict) else {"error": error.message}
            fault = judge_inside(inside)
            fault.said = self.clean(fault.said)
            return fault
        return Fault("server", f"the reply was not JSON ({self.clean(str(error))[:100]})")

    def _timeout(self, error: Exception) -> Fault:
        import httpx2

        if isinstance(error.__cause__, httpx2.ConnectTimeout):
            seconds = self._options.connect_timeout
            return Fault("unreachable", f"no connection within {seconds:g} s")
        return Fault("silent", f"no reply within {self._options.timeout:g} s")

    def _broken(self, error: Exception) -> Fault:
        import httpx2

        root: BaseException = error
        connecting = False
        while True:
            connecting = connecting or isinstance(root, httpx2.ConnectError)
            following = root.__cause__ or root.__context__
            if following is None:
                break
            root = following
        said = self.clean(" ".join(str(root).split())[:200] or type(root).__name__)
        if any(sign in said.lower() for sign in _NEVER):
            return Fault("address", said)
        return Fault("unreachable" if connecting else "server", said)

    async def close(self) -> None:
        """Close the connections."""
        if self._sdk is not None:
            await self._sdk.close()
            self._sdk = None
