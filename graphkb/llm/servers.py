"""What a server proved to be able to do, remembered for each endpoint and model."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from graphkb.llm.cache import ReplyCache, Request

Mode = Literal["schema", "json", "text"]
MODES: tuple[Mode, ...] = ("schema", "json", "text")

# Replies that broke the promise of JSON before a server is asked less strictly.
_BROKEN_PROMISES = 2
_KEPT = -1


@dataclass(frozen=True)
class Traits:
    """How a server wants to be asked. The defaults are what OpenAI's own endpoint accepts.

    ``mode`` is the strictest way of asking for JSON not yet refused; ``dropped`` are parameters
    that it refuses; ``limit_name`` is its name for the length limit, ``reply_limit`` the largest
    it accepts (0: not known), ``window`` its context in tokens (0: not known; for this process
    only, because a server's window may be raised and its error tells it again). ``system_role`` is
    false where instructions must stand in the user message. ``reasons`` is true when reasoning
    used up a limit meant for the reply, ``late_thoughts`` when thoughts come without an opening
    mark, ``thinking_off`` when thinking must be switched off. ``streaming``: can it stream?
    ``json_tried`` is true once JSON mode itself was refused or ignored: plain text that was kept
    without it is not believed.
    """

    mode: Mode = "schema"
    dropped: tuple[str, ...] = ()
    limit_name: str = "max_tokens"
    reply_limit: int = 0
    window: int = 0
    system_role: bool = True
    reasons: bool = False
    late_thoughts: bool = False
    thinking_off: bool = False
    streaming: Literal["yes", "no", "only"] = "yes"
    json_tried: bool = False

    def step_down(self) -> Traits:
        """The next less strict way of asking for JSON."""
        place = min(MODES.index(self.mode) + 1, len(MODES) - 1)
        tried = self.json_tried or self.mode == "json"
        return replace(self, mode=MODES[place], json_tried=tried)

    def as_dict(self) -> dict[str, Any]:
        """What differs from the defaults."""
        default = asdict(Traits())
        return {key: value for key, value in asdict(self).items() if value != default[key]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Traits:
        """Traits as they were kept; what this version does not know is left out."""
        kept: dict[str, Any] = {}
        for name, default in asdict(cls()).items():
            value = values.get(name)
            value = tuple(value) if isinstance(value, list) else value
            if type(value) is type(default):
                kept[name] = value
        if kept.get("mode") not in MODES:
            kept.pop("mode", None)
        if kept.get("mode") == "text" and not kept.get("json_tried"):
            kept["mode"] = "json"
        return cls(**kept)


def mode_of(request: Request, traits: Traits) -> Mode | None:
    """How this request asks for JSON; None when it asks for plain text."""
    if "schema" not in request.options:
        return None
    wanted: Any = request.options.get("structured", "auto")
    mode: Mode = traits.mode if wanted == "auto" else wanted
    return mode


class ServerMemory:
    """The traits of one endpoint's models, kept in the cache database. Its coroutines belong to
    the background loop."""

    def __init__(self, cache: ReplyCache, endpoint: str) -> None:
        self._cache = cache
        self._endpoint = endpoint
        self._traits: dict[str, Traits] = {}
        self._broken: dict[tuple[str, Mode | None], int] = {}
        # How requests were sent whose replies were not judged yet, by their keys.
        self._sent: dict[str, Mode | None] = {}

    def traits(self, model: str) -> Traits:
        """What this server proved, in this run and in earlier ones."""
        if model not in self._traits:
            kept = self._cache.server(self._endpoint, model)
            self._traits[model] = replace(Traits.from_dict(kept), window=0)
        return self._traits[model]

    async def learn(self, model: str, **changes: Any) -> None:
        """Remember that a server is different from what was thought."""
        await self.replace(model, replace(self.traits(model), **changes))

    async def replace(self, model: str, traits: Traits) -> None:
        """Remember these traits."""
        before = replace(self.traits(model), window=traits.window)
        self._traits[model] = traits
        if traits != before:
            values = replace(traits, window=0).as_dict()
            kept = self._cache.remember_server(self._endpoint, model, values)
            await asyncio.wrap_future(kept)

    def trusts(self, request: Request) -> bool:
        """Whether it is settled that this server keeps its promise of JSON, or makes none."""
        mode = mode_of(request, self.traits(request.model))
        fixed = request.options.get("structured", "auto") != "auto"
        return mode in (None, "text") or fixed or self._broken.get((request.model, mode)) == _KEPT

    def note_sent(self, request: Request, traits: Traits) -> None:
        """Remember how a request was sent that is answered now; only what is not settled yet."""
        if not self.trusts(request):
            self._sent[request.key] = mode_of(request, traits)

    async def note_json(self, request: Request, strict: bool) -> None:
        """Whether a reply was JSON as its request asked; a server that breaks this promise from
        the first on is asked less strictly from then on. Replies to what was sent before that
        tell nothing of the new way."""
        traits = self.traits(request.model)
        sent = self._sent.pop(request.key, None)
        if sent != mode_of(request, traits) or self.trusts(request):
            return
        key = (request.model, sent)
        broken = self._broken.get(key, 0) + 1
        if strict:
            self._broken[key] = _KEPT
        elif broken >= _BROKEN_PROMISES:
            await self.replace(request.model, traits.step_down())
        else:
            self._broken[key] = broken
