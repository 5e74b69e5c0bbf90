"""One request and what comes back: paced, within the budget, counted, read."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from graphkb.errors import ModelFailure
from graphkb.llm import explain
from graphkb.llm.cache import Reply
from graphkb.llm.calls import Call
from graphkb.llm.characters import WholeCharacters
from graphkb.llm.faults import Fault
from graphkb.llm.in_flight import IN_FLIGHT
from graphkb.llm.limits import Pace
from graphkb.llm.servers import ServerMemory, Traits
from graphkb.llm.thoughts import ThoughtFilter, are_late
from graphkb.llm.transport import Transport
from graphkb.llm.usage import Budget, Ledger
from graphkb.llm.wire import (
    ENDED,
    HALF,
    UNKNOWN,
    UNSAID,
    body_of,
    first_choice,
    message_in,
    read_reply,
    text_of,
    usage_of,
)
from graphkb.settings import LanguageModel
from graphkb.text.tokens import count_tokens

# Tokens that a reply of unknown length is expected to have, for limits and budgets.
_EXPECTED_REPLY = 500
# A server that saw fewer tokens than this share of our estimate has cut the prompt: tokenizers
# differ by less. Counts below the least window are no counts.
_SEEN_SHARE = 0.6
_LEAST_WINDOW = 256
_MOST_BYTES_PER_TOKEN = 8
# A streamed reply is stopped at so many times its length limit, reckoned in bytes: a token has
# about 4 of them in English and in Chinese. The bounds are for tiny limits and for none.
_BEYOND = 4
_BYTES_PER_TOKEN = 4
_LEAST_BYTES = 4_000
_MOST_BYTES = 4_000_000
# Windows are multiples of 256; servers keep some tokens of them for themselves.
_WINDOW_SLACK = 8
# A window learned from an error counts the server's tokens; ours differ, so leave it a margin.
_WINDOW_MARGIN = 1.2


class Attempts:
    """Sends single requests. Its coroutines belong to the background loop.

    ``answers`` counts the requests that were answered; ``answered`` has the models that ever
    answered in this process; ``warnings`` is what the user should know of the server.
    """

    def __init__(
        self, options: LanguageModel, transport: Transport, memory: ServerMemory, ledger: Ledger
    ) -> None:
        self._options = options
        self._transport = transport
        self._memory = memory
        self._ledger = ledger
        self._budget = Budget(options.budget_usd, options.budget_tokens, ledger)
        self.pace = Pace(
            options.concurrency, options.requests_per_minute, options.tokens_per_minute,
            options.max_wait,
        )  # fmt: skip
        self._counted = options.tokens_per_minute > 0 or self._budget.limited
        self.answers = 0
        self.answered: set[str] = set()
        self.warnings: dict[str, str] = {}
        self._short: set[int] = set()

    def where(self, call: Call) -> str:
        """The beginning of an error on this call."""
        return f"{self._transport.where}: model {call.model!r}"

    async def ask(self, call: Call, traits: Traits) -> Reply:
        """The reply to one request. Raises Fault, or ModelFailure where no repetition helps."""
        self._check_window(call, traits)
        body = body_of(call.request, traits, call.limit, streamed(call, traits))
        data, tokens = await self._paid_answer(call, traits, body)
        reply = read_reply(data)
        await self._look_at(call, traits, data, reply)
        if reply.finish_reason == "length":
            raise self._cut(call, traits, reply)
        if not body.get("stream"):
            call.show(reply.text)
        return replace(reply, prompt_tokens=tokens[0], completion_tokens=tokens[1])

    async def _paid_answer(
        self, call: Call, traits: Traits, body: dict[str, Any]
    ) -> tuple[Any, tuple[int, int]]:
        """The answer and its prompt and reply tokens, when limits and budget allow it."""
        asked = call.prompt_tokens if self._counted else 0
        expected = self._expected_reply(call, body.get(traits.limit_name, 0))
        tokens = (0, 0)
        await self.pace.enter(asked + expected, call.deadline)
        try:
            call.batch.check()
            reserved = await self._budget.reserve(call.model, asked, expected)
            try:
                call.batch.check()
                started = time.monotonic()
                with IN_FLIGHT.call(call.step, call.request.messages[-1][1]):
                    data = await self._answer(call, traits, body)
                tokens = self._bill(call, data, time.monotonic() - started)
            finally:
                self._budget.settle(reserved, call.model, *tokens)
        finally:
            self.pace.correct(asked + expected - sum(tokens))
            self.pace.leave()
        return data, tokens

    async def _answer(self, call: Call, traits: Traits, body: dict[str, Any]) -> Any:
        """A chat completion, put together from pieces when it is streamed."""
        if not body.get("stream"):
            return await self._transport.send(body)
        # A stream that is watched may take longer as long as there is more to see.
        most = self._options.timeout
        what = "whole reply" if call.pass_on is None else "more of the reply"
        try:
            async with asyncio.timeout(most) as limit:
                return await self._joined(call, traits, body, limit)
        except TimeoutError:
            raise Fault("silent", f"no {what} within {most:g} s") from None

    async def _joined(
        self, call: Call, traits: Traits, body: dict[str, Any], limit: asyncio.Timeout
    ) -> Any:
        """The completion that the pieces of a stream make; one that runs far beyond its length
        limit is stopped and counts as cut there. Each piece that is shown puts ``limit`` off.
        Raises Fault for a stream that ends without saying so before it has any text."""
        most = _most_bytes(body.get(traits.limit_name))
        size = 0
        characters = WholeCharacters(HALF)
        thoughts = ThoughtFilter(traits.late_thoughts)
        parts: list[str] = []
        shown = ""
        whole: dict[str, Any] = {}
        end: dict[str, Any] = {}
        async with aclosing(self._transport.stream(body)) as chunks:
            async for chunk in chunks:
                whole.update({k: value for k, value in chunk.items() if k != "choices" and value})
                choice = first_choice(chunk)
                if choice is None:
                    continue
                parts.append(characters.feed(text_of(message_in(choice).get("content"))))
                seen = thoughts.feed(parts[-1])
                call.show(seen)
                if seen.strip() and call.pass_on is not None:
                    limit.reschedule(asyncio.get_running_loop().time() + self._options.timeout)
                shown = shown or seen.strip()
                end.update({k: choice[k] for k in ("finish_reason", "error") if choice.get(k)})
                size += len(parts[-1].encode())
                if size > most:
                    end["finish_reason"] = "length"
                    break
        if not parts:
            return whole
        parts.append(characters.finish())
        last = thoughts.feed(parts[-1]) + thoughts.finish()
        call.show(last)
        if not end.get("finish_reason") and "usage" not in whole:
            # Nothing says whether this is all of it, so the text is used but not kept.
            end["finish_reason"] = ENDED if whole.pop("ended", False) else UNKNOWN
            if end["finish_reason"] == UNKNOWN and not (end.get("error") or shown or last.strip()):
                raise Fault("server", "the stream ended without a text and without saying so")
        return {**whole, "choices": [{**end, "message": {"content": "".join(parts)}}]}

    def _bill(self, call: Call, data: Any, seconds: float) -> tuple[int, int]:
        """Prompt and reply tokens of an answer, counted; ours where the server gives none."""
        prompt, completion, text = usage_of(data)
        if not (prompt or first_choice(data)):
            return 0, 0
        if text and not prompt:
            prompt = call.prompt_tokens
        if text and not completion:
            completion = count_tokens(text)
        self._ledger.add(
            call.step, call.model,
            {"calls": 1, "prompt_tokens": prompt, "completion_tokens": completion,
             "seconds": seconds},
        )  # fmt: skip
        return prompt, completion

    async def _look_at(self, call: Call, traits: Traits, data: Any, reply: Reply) -> None:
        """What an answer tells of the server."""
        self.answers += 1
        self.answered.add(call.model)
        self.pace.speed_up()
        seen, _, text = usage_of(data)
        if not traits.late_thoughts and are_late(text):
            await self._memory.learn(call.model, late_thoughts=True)
        if reply.finish_reason == UNKNOWN and call.pass_on is None:
            self.warnings.setdefault(f"end {call.model}", f"{self.where(call)}: {UNSAID}")
        if self._was_cut(call, seen):
            self.warnings.setdefault(
                f"window {call.model}",
                f"{self.where(call)}: the prompt was longer than the server's window: it read only "
                f"{seen} of about {call.prompt_tokens} tokens and cut the rest; raise the server's "
                "context length (Ollama: num_ctx) or lower chunks.size",
            )

    def _was_cut(self, call: Call, seen: int) -> bool:
        """Whether the server read less of the prompt than we sent: far fewer tokens, and a number
        that is a usual window or came before (some servers leave out what they had cached)."""
        if not _LEAST_WINDOW <= seen < call.prompt_bytes / _MOST_BYTES_PER_TOKEN:
            return False
        if seen >= _SEEN_SHARE * call.prompt_tokens:
            return False
        came_before = seen in self._short
        self._short.add(seen)
        off = seen % _LEAST_WINDOW
        return came_before or min(off, _LEAST_WINDOW - off) <= _WINDOW_SLACK

    def _cut(self, call: Call, traits: Traits, reply: Reply) -> Exception:
        """A reply that the limit ended; a Fault when reasoning used up a limit that was meant
        for the reply alone, and it can be asked for without."""
        own = call.request.options
        limited = "prompt_max_tokens" in own and not own.get("max_tokens")
        if limited and not reply.text.strip() and not traits.reasons:
            return Fault("reasoned", "reasoning used up the token limit")
        return explain.cut(self.where(call), reply.text)

    def _expected_reply(self, call: Call, limit: int) -> int:
        if not self._counted:
            return 0
        mean = self._ledger.mean_reply(call.model)
        expected = _EXPECTED_REPLY if mean is None else int(mean)
        return min(expected, limit) if limit else expected

    def _check_window(self, call: Call, traits: Traits) -> None:
        """A prompt that cannot fit is not sent."""
        own = self._options.context_tokens
        window = own or traits.window
        if window and call.prompt_bytes > window:
            most = window if own else int(window * _WINDOW_MARGIN)
            if call.prompt_tokens > most:
                source = "llm.context_tokens" if own else "the window that the server told"
                raise ModelFailure(
                    "context",
                    f"{self.where(call)}: the prompt has about {call.prompt_tokens} tokens, more "
                    f"than {window} ({source})",
                )


def _most_bytes(limit: Any) -> int:
    """UTF-8 bytes at which a streamed reply is stopped, by its limit in tokens (0: none)."""
    if not isinstance(limit, int) or limit <= 0:
        return _MOST_BYTES
    return max(_LEAST_BYTES, min(_BEYOND * _BYTES_PER_TOKEN * limit, _MOST_BYTES))


def streamed(call: Call, traits: Traits) -> bool:
    """Whether the reply is asked for piece by piece."""
    wanted = call.pass_on is not None and traits.streaming != "no"
    return wanted or traits.streaming == "only"
