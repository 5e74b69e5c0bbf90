"""Chat requests as they are sent, and replies as they are read, whatever the server's dialect."""

from __future__ import annotations

import ipaddress
import json
import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from graphkb.errors import SettingsError
from graphkb.llm.bodies import decoded, leniently_decoded
from graphkb.llm.cache import Reply, Request
from graphkb.llm.characters import whole_characters
from graphkb.llm.faults import Fault, is_html, judge, judge_inside, message_of
from graphkb.llm.keys import without_secrets
from graphkb.llm.memo import ByIdentity
from graphkb.llm.servers import Traits, mode_of
from graphkb.llm.thoughts import without_thoughts
from graphkb.text.language import has_han

_ENDINGS = ("/chat/completions", "/completions", "/chat", "/models")
UNKNOWN = "unknown"
"""finish_reason of a stream that did not say whether it was at its end."""
UNSAID = "the reply may be incomplete: the stream ended without saying so"
"""What is said of such a reply."""
ENDED = "ended"
"""finish_reason of a stream that said that it was at its end, and not why."""
DONE = {"ended": True}
"""The chunk that stands for a stream's word that this is its end."""
HALF = "?"
"""What stands for half a character in what is sent and said."""
_CUT = {"length", "max_tokens", "model_length", "max_output_tokens"}
_BLOCKED = {"content_filter", "content-filter", "safety", "sensitive", "recitation", "blocklist"}
_BROKEN = {"insufficient_system_resource", "network_error", "error", "abort"}
# Beyond any window: a count of tokens above this is none.
_MOST_TOKENS = 100_000_000
_LOCAL = {"localhost", "host.docker.internal"}


def endpoint(base_url: str) -> tuple[str, dict[str, str]]:
    """The endpoint's address without a trailing slash or ``/chat/completions``, and the fields of
    its query (Azure's api-version). Raises SettingsError for what is not a URL.

    >>> endpoint("http://h:1/v1/chat/completions/"), endpoint("https://h/v1?api-version=1")
    (('http://h:1/v1', {}), ('https://h/v1', {'api-version': '1'}))
    """
    if not can_be_connected(base_url):
        shown = without_secrets(base_url).rpartition("@")[2]
        raise SettingsError(
            f"llm.base_url: {shown!r} is not a URL; "
            "write for example https://api.openai.com/v1 or http://localhost:11434/v1"
        )
    parts = urlsplit(base_url.strip())
    path = parts.path.rstrip("/")
    for ending in _ENDINGS:
        path = path.removesuffix(ending).rstrip("/")
    address = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
    return address, dict(parse_qsl(parts.query))


def can_be_connected(address: str) -> bool:
    """Whether an address of http or https has a host and a port that there can be, and no
    control characters inside.

    >>> can_be_connected("http://h:1/v1"), can_be_connected("http://h..i/"), can_be_connected("h")
    (True, False, False)
    """
    address = address.strip()
    if any(unicodedata.category(character) == "Cc" for character in address):
        return False
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").encode("idna")
        # User and password go into a header.
        (parts.username or "").encode("latin-1"), (parts.password or "").encode("latin-1")
        return parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        return False


def is_local(address: str) -> bool:
    """Whether the endpoint is on this machine or its network, where no proxy is wanted."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host in _LOCAL


def body_of(
    request: Request, traits: Traits, limit: int = 0, stream: bool = False
) -> dict[str, Any]:
    """The JSON body of a request to a server with these traits.

    ``limit`` overrides the length limit where a server found it too large for this prompt.
    """
    options = request.options
    mode = mode_of(request, traits)
    messages = [
        {"role": role, "content": whole_characters(text, HALF)} for role, text in request.messages
    ]
    if mode is not None:
        _say_json(messages)
    if not traits.system_role:
        messages = _without_system(messages)
    body: dict[str, Any] = {"model": request.model, "messages": messages}
    if mode == "schema":
        body["response_format"] = _schema_format(options["schema"])
    elif mode == "json":
        body["response_format"] = {"type": "json_object"}
    if "temperature" in options and "temperature" not in traits.dropped:
        body["temperature"] = options["temperature"]
    most = limit or _limit(options, traits)
    if most and "max_tokens" not in traits.dropped:
        body[traits.limit_name] = most
    if traits.thinking_off:
        body["enable_thinking"] = False
    if stream:
        body["stream"] = True
        if "stream_options" not in traits.dropped:
            body["stream_options"] = {"include_usage": True}
    body.update(options.get("extra_body", {}))
    return body


def _limit(options: Mapping[str, Any], traits: Traits) -> int:
    """llm.max_tokens as set; a prompt's own limit only where it does not also limit reasoning."""
    most = int(options.get("max_tokens", 0))
    if not most and not traits.reasons:
        most = int(options.get("prompt_max_tokens", 0))
    return min(most, traits.reply_limit) if traits.reply_limit and most else most


def _say_json(messages: list[dict[str, str]]) -> None:
    """DeepSeek, Qwen and OpenAI refuse JSON mode when no message says the word."""
    if not any("json" in message["content"].lower() for message in messages):
        last = messages[-1]
        note = (
            "请只用一个 JSON 对象回答。"
            if has_han(last["content"])
            else "Reply with one JSON object."
        )
        last["content"] = f"{last['content']}\n\n{note}"


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    system = "\n\n".join(m["content"] for m in messages if m["role"] == "system" and m["content"])
    rest = [message for message in messages if message["role"] != "system"]
    if system and rest:
        rest[0] = {**rest[0], "content": f"{system}\n\n{rest[0]['content']}"}
    return rest


def _schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in schema.get("title", "reply"))
    wanted: dict[str, Any] = {"name": name or "reply", "schema": schema}
    if _STRICT(schema):
        wanted["strict"] = True
    return {"type": "json_schema", "json_schema": wanted}


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes the schema: every object is closed and needs every key."""
    if isinstance(schema, list):
        return all(_is_strict(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    if "properties" in schema and (
        schema.get("additionalProperties") is not False
        or set(schema.get("required", ())) != set(schema["properties"])
    ):
        return False
    return all(_is_strict(value) for value in schema.values())


_STRICT = ByIdentity(_is_strict)


def read_body(status: int, headers: Mapping[str, str], content: bytes) -> Any:
    """The JSON of a successful response. Raises Fault for a web page, and for a body that is empty,
    cut off, null, in no charset that is known, or otherwise no JSON."""
    try:
        text = decoded(headers, content).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        text = leniently_decoded(headers, content)
        if not is_html(text):
            raise Fault("server", f"the reply is no text in UTF-8 ({error})", status) from error
    if not text.strip():
        raise Fault("server", "the reply is empty", status)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith(("{", "[")):
            raise Fault("server", _unreadable(text, error), status) from error
        raise Fault("address", judge(404, headers, text).said, status) from error
    if data is None:
        raise Fault("address", "the reply is null", status)
    return data


def _unreadable(text: str, error: Exception) -> str:
    """Why a body that begins like JSON is none."""
    if isinstance(error, RecursionError):
        return "the reply is nested too deep"
    if not isinstance(error, json.JSONDecodeError):
        return "the reply holds a number that is too long"
    whole = text.rstrip()
    # A whole reply that is no JSON still ends like one.
    open_end = not whole.endswith(("}", "]")) and error.msg != "Extra data"
    cut = open_end or error.pos >= len(whole) or error.msg.startswith("Unterminated")
    return "the reply was cut off" if cut else f"the reply is no JSON ({error})"


def read_reply(data: Any, status: int = 200) -> Reply:
    """The reply in a chat completion, its tokens not counted yet (:func:`usage_of`).

    Raises Fault: kind ``empty`` for one without text, ``server`` for one the server broke off,
    or what an error inside it means. A reply that was cut has finish_reason ``length``; its text
    is empty when reasoning used the limit up.
    """
    if not isinstance(data, dict):
        raise Fault("server", f"a {type(data).__name__} instead of a chat completion", status)
    choice = first_choice(data)
    if choice is None:
        if message_of(data) and ("error" in data or "choices" not in data):
            raise judge_inside(data)
        raise Fault("empty", "the reply has no choices (content filter?)", status)
    message = message_in(choice)
    if isinstance(choice.get("error"), dict) and not message.get("content"):
        raise judge_inside(choice)
    return _reply(message, str(choice.get("finish_reason") or "").lower(), status)


def usage_of(data: Any) -> tuple[int, int, str]:
    """Prompt tokens, reply tokens (0 where the server gives none) and the text with thoughts."""
    usage = data.get("usage") if isinstance(data, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    text = whole_characters(text_of(message_in(first_choice(data) or {}).get("content")), HALF)
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), text


def first_choice(data: Any) -> dict[str, Any] | None:
    """The first choice of a completion or a chunk; None when it has none."""
    choices = data.get("choices") if isinstance(data, dict) else None
    found = choices[0] if isinstance(choices, list) and choices else None
    return found if isinstance(found, dict) else None


def message_in(choice: Mapping[str, Any]) -> dict[str, Any]:
    """The message of a choice, or the piece of one in a chunk; empty when it has none."""
    found = choice.get("delta") or choice.get("message")
    return found if isinstance(found, dict) else {}


def _reply(message: Mapping[str, Any], reason: str, status: int) -> Reply:
    if reason in _BROKEN:
        raise Fault("server", f"the server broke the reply off ({reason})", status)
    text, ended = without_thoughts(whole_characters(text_of(message.get("content")), HALF))
    cut = reason in _CUT or not ended
    if reason in _BLOCKED:
        raise Fault("blocked", "no text, or only a part of it (content filter)", status)
    if not cut and not text.strip():
        if message.get("refusal"):
            raise Fault("refused", f"the model refused: {message['refusal']}"[:400], status)
        raise Fault("empty", "the reply has no text (content filter?)", status)
    return Reply(text, "length" if cut else reason if reason in (UNKNOWN, ENDED) else "stop", 0, 0)


def text_of(content: Any) -> str:
    """A message's content as text: a string, or the text parts of a list. It may hold, or end
    in, half characters."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _count(value: Any) -> int:
    """A number of tokens; 0, as if it were not given, for what can be none (NaN, 1e999, -1)."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if known and 0 < value <= _MOST_TOKENS else 0
