"""Chat completions from any OpenAI-compatible endpoint, through the reply cache."""

from __future__ import annotations

from typing import Any

from graphkb.errors import LanguageModelError
from graphkb.llm.cache import Reply, ReplyCache, Request


class ChatClient:
    """Asks a model once for each distinct request; whole replies come from the cache after."""

    def __init__(
        self, cache: ReplyCache, api_key: str = "none", timeout: float = 60, max_retries: int = 3
    ) -> None:
        self._cache = cache
        self._api_key = api_key or "none"
        self._timeout = timeout
        self._max_retries = max_retries
        self._clients: dict[str, Any] = {}

    def complete(self, request: Request) -> Reply:
        """The reply, kept before it is returned. Raises LanguageModelError naming the endpoint,
        also for a reply without choices."""
        import openai

        kept = self._cache.get(request)
        if kept is not None:
            return kept
        try:
            answer = self._connect(request.base_url).chat.completions.create(
                model=request.model,
                messages=[{"role": role, "content": text} for role, text in request.messages],
                **request.options,
            )
        except (openai.OpenAIError, ValueError, TypeError) as error:
            raise LanguageModelError(
                f"{request.base_url}: model {request.model!r} failed "
                f"({' '.join(str(error).split())[:300]}); check the endpoint, the model and the key"
            ) from error
        choices = getattr(answer, "choices", None)
        if not choices:
            raise LanguageModelError(
                f"{request.base_url}: model {request.model!r} replied without choices; "
                "check that the endpoint speaks the chat completions API"
            )
        usage = getattr(answer, "usage", None)
        reply = Reply(
            choices[0].message.content or "",
            choices[0].finish_reason or "",
            getattr(usage, "prompt_tokens", 0) or 0,
            getattr(usage, "completion_tokens", 0) or 0,
        )
        self._cache.put(request, reply)
        return reply

    def _connect(self, base_url: str) -> Any:
        if base_url not in self._clients:
            import openai

            self._clients[base_url] = openai.OpenAI(
                base_url=base_url,
                api_key=self._api_key,
                timeout=self._timeout,
                max_retries=self._max_retries,
            )
        return self._clients[base_url]
