"""Errors of model calls in words: what happened, where, and what to do."""

from __future__ import annotations

from urllib.parse import urlsplit

from graphkb.errors import ModelFailure, ModelUnusableError
from graphkb.llm.faults import Fault

_KINDS = {
    "context": "context", "filtered": "refused", "refused": "refused", "empty": "empty",
    "blocked": "empty",
}  # fmt: skip


def unusable(
    fault: Fault, address: str, model: str, setting: str, key_from: str
) -> ModelUnusableError:
    """The error that ends a run: no call can succeed. ``setting`` names the model."""
    where = f"{address}: {fault.what}"
    if fault.kind == "key":
        return ModelUnusableError(f"{where}; {key_from}; check the key")
    if fault.kind == "money":
        return ModelUnusableError(
            f"{where}; {key_from}; add credit to its account or set another model, "
            "then run again: what was paid for is kept"
        )
    if fault.kind == "model":
        return ModelUnusableError(
            f"{where}; the server has no model {model!r}: correct {setting} or load it there"
        )
    if fault.kind == "unreachable":
        return ModelUnusableError(
            f"{where}; nothing answers there: start the server or correct llm.base_url"
        )
    if fault.kind == "silent":
        return ModelUnusableError(
            f"{where} (llm.timeout), also when asked again, and it never answered: the server "
            "hangs or is still loading its model; check it, or raise llm.timeout"
        )
    path = urlsplit(address).path
    ending = "" if path.endswith("/v1") else f", such as {address}/v1"
    return ModelUnusableError(
        f"{where}; chat completions are not offered there: "
        f"check llm.base_url (it usually ends in /v1{ending})"
    )


def down(fault: Fault, address: str, calls: int) -> ModelUnusableError:
    """The error of a server that fails everything."""
    what = "lets nothing through" if fault.kind == "throttled" else "is down"
    return ModelUnusableError(
        f"{address}: the server {what}: {calls} calls in a row failed for good "
        f"(the last: {fault.what}); run again when it works: what was paid for is kept"
    )


def refuses_all(fault: Fault, address: str, calls: int) -> ModelUnusableError:
    """The error of a server that refuses every request from the first on."""
    return ModelUnusableError(
        f"{address}: the server refused the first {calls} requests "
        f"(the last: {fault.what}); check llm.model, llm.extra_body and llm.temperature"
    )


def failure(fault: Fault, where: str, text: str) -> ModelFailure:
    """One call that failed for good without repetition."""
    kind = _KINDS.get(fault.kind, "server")
    advice = "; the text is longer than the model's window" if kind == "context" else ""
    return ModelFailure(kind, f"{where}: {fault.what}{advice}", text)


def given_up(fault: Fault, where: str, tries: int, text: str) -> ModelFailure:
    """One call that failed at every try."""
    times = "1 try" if tries == 1 else f"{tries} tries"
    return ModelFailure("server", f"{where}: failed after {times} (the last: {fault.what})", text)


def cut(where: str, text: str) -> ModelFailure:
    """A reply that the length limit ended."""
    what = "the reply was cut at the token limit"
    if not text.strip():
        what = "reasoning used up the token limit and no reply was written"
    return ModelFailure("truncated", f"{where}: {what}; raise llm.max_tokens", text)
