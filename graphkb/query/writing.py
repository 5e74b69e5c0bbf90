"""A model writes the answer: what it says is passed on as it comes, and what came of it kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace

from graphkb.errors import LanguageModelError, ModelFailure
from graphkb.llm.model import Model, Prompt, plain
from graphkb.llm.wire import UNKNOWN, UNSAID
from graphkb.query.compose import NOT_FOUND, Composed, reply_share
from graphkb.text.sentences import sentence_spans

Compose = Callable[[int], Composed]
"""Makes the prompt for a window of so many tokens; 0 when none is known."""

# A prompt that was too long for the model is shortened to this share of its window, so often.
_SHORTER, _ATTEMPTS = 0.6, 4
_CUT = " …"

_MARKER = re.compile(rf"[*_`\[【(]*{NOT_FOUND}[*_`\]】).:：]*")
_LEADING_MARKER = re.compile(rf"^\s*{_MARKER.pattern}\s*")
# Characters after the agreed line that may still belong to it.
_MARKER_TAIL = 4
# A short answer without citations that says this is a refusal without the agreed line.
_SAYS_NOTHING = re.compile(
    r"\b(?:sources?|documents?|context|passages?|knowledge base|text)\b[^.]{0,40}"
    r"\b(?:do(?:es)? not|don['’]t|doesn['’]t|cannot|no)\b"
    r"|\bI (?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t|am unable|was unable)\b"
    r"|\b(?:no|not enough|insufficient) (?:information|evidence|mention|answer)\b"
    r"|\bnot (?:mentioned|found|contained|provided|given|available|stated) (?:in|by) the\b"
    r"|(?:来源|资料|文档|知识库|上下文|文中|原文)[^。]{0,20}(?:没有|未|无法|不能|不包含|不足)"
    r"|(?:没有|未能|无法)(?:找到|提供|获得|确定|回答)|不知道|不清楚",
    re.IGNORECASE,
)
_SHORT = 400
# Where an answer cites, with the space before.
_CITED = re.compile(r"[ \t]*[\[【［]\s*\^?\d[^\]】］\n]{0,40}[\]】］]")


@dataclass(frozen=True)
class Written:
    """What the model wrote for ``composed``; ``refused`` when it says that the sources do not
    answer; ``problem`` says why it is not complete."""

    composed: Composed
    text: str
    refused: bool
    problem: str = ""


def write_answer(
    model: Model, compose: Compose, deadline: float | None, whole: bool
) -> Generator[str, None, Written]:
    """Yields pieces of the answer and returns it all; with ``whole`` in one piece at the end,
    with the retries that only a reply that nobody has seen yet allows.

    A prompt beyond the model's window is shortened and sent again. What came before a failure
    is kept. Raises ModelFailure and ModelUnusableError when nothing came.
    """
    window = model.window("answer")
    for attempt in range(_ATTEMPTS):
        composed = compose(window)
        try:
            if whole:
                return _whole(model, composed, deadline, window)
            return (yield from _streamed(model, composed, deadline, window))
        except ModelFailure as failure:
            if failure.kind != "context" or attempt == _ATTEMPTS - 1:
                raise
            tried = composed.n_tokens + composed.prompt.max_tokens
            known = model.window("answer") or tried
            window = known if known < tried * _SHORTER else int(tried * _SHORTER)
    raise AssertionError("the last attempt returns or raises")


def _whole(model: Model, composed: Composed, deadline: float | None, window: int) -> Written:
    try:
        said = model.ask(composed.prompt, plain, deadline)
    except ModelFailure as failure:
        if not failure.text.strip() or failure.kind != "truncated":
            raise
        return _written(composed, failure.text, _cut_off(model, composed.prompt, window))
    return _written(composed, said.value)


def _streamed(
    model: Model, composed: Composed, deadline: float | None, window: int
) -> Generator[str, None, Written]:
    stream = model.stream(composed.prompt, deadline)
    problem = ""
    try:
        yield from _without_marker(stream)
    except LanguageModelError as error:
        if not stream.text.strip():
            raise
        problem = f"the model stopped before the end ({error}): what came is kept"
        if isinstance(error, ModelFailure) and error.kind == "truncated":
            problem = _cut_off(model, composed.prompt, window)
        yield _CUT
    text = stream.text if stream.reply is None else stream.reply.text
    if not text.strip():
        raise ModelFailure("empty", "the model's reply is empty")
    written = _written(composed, text, problem)
    if stream.reply is not None and stream.reply.finish_reason == UNKNOWN:
        return replace(written, problem=UNSAID)
    return written


def _cut_off(model: Model, prompt: Prompt, window: int) -> str:
    """Names the limit that the reply was asked with: ``llm.max_tokens`` goes before the length
    that the prompt asks for."""
    if most := model.options.max_tokens:
        return f"the answer was cut after {most} tokens: raise llm.max_tokens (now {most})"
    most = prompt.max_tokens
    if window and most == reply_share(window):
        return (
            f"the answer was cut after {most} tokens, what an answer may take of the model's "
            f"window of {window}: use a model with a larger one (or raise llm.context_tokens)"
        )
    return f"the answer was cut after {most} tokens: raise answer.max_tokens (now {most})"


def _written(composed: Composed, text: str, problem: str = "") -> Written:
    """The reply without the agreed line, and whether it is a refusal.

    It is one when the line comes first, or when it comes elsewhere or is missing and the
    answer, a short one, says that nothing was found and cites nothing, or cites for that alone.
    Marks of a refusal that says nothing else are left out.
    """
    first = _MARKER.match(text.lstrip())
    marked = _MARKER.search(text) is not None
    bare = _MARKER.sub("", text).strip()
    pieces = _CITED.split(bare)
    cites = len(pieces) > 1 and not (len(bare) <= _SHORT and all(map(_says_only_that, pieces)))
    nothing = marked or (len(bare) <= _SHORT and _SAYS_NOTHING.search(bare) is not None)
    refused = first is not None or (nothing and not cites)
    if refused and not cites:
        bare = _CITED.sub("", bare).strip()
    return Written(composed, bare + (_CUT if problem else ""), refused, problem)


def _says_only_that(text: str) -> bool:
    """Whether every sentence here says that nothing was found; true of a text without words."""
    said = (text[start:end] for start, end in sentence_spans(text))
    return all(_SAYS_NOTHING.search(one) for one in said if re.search(r"\w", one))


def _without_marker(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces without the agreed line at their beginning: the first ones are held back until
    they cannot be it any more."""
    held, open_ = "", True
    for piece in pieces:
        if not open_:
            yield piece
            continue
        held += piece
        start = held.lstrip(" \t\r\n*_`[【(")
        so_far = start[: len(NOT_FOUND)]
        if NOT_FOUND.startswith(so_far) and len(start) < len(NOT_FOUND) + _MARKER_TAIL:
            continue
        open_ = False
        if said := _LEADING_MARKER.sub("", held):
            yield said
    if open_ and (said := _LEADING_MARKER.sub("", held)):
        yield said
