"""Reranking by the language model: it is shown many passages and says which the answer needs.

Listwise selection as in RankGPT (Sun et al. 2023) and SAG: the passages are judged together, so
that the second step of a question of several steps, which shares no word with it, is chosen
because the first is there. Where not all passages fit into one call, the chosen ones are shown
again beside the next.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphkb.errors import LanguageModelError, ModelFailure, RerankError
from graphkb.llm.model import Parse, Prompt
from graphkb.llm.prompts import data_block, load_prompt, prompt_language
from graphkb.llm.structured import parse_json
from graphkb.llm.thoughts import without_thoughts
from graphkb.search.rerank import Reranking, Scores
from graphkb.search.rerank.passages import Passages
from graphkb.settings import Rerank
from graphkb.text.language import question_language
from graphkb.text.tokens import count_tokens

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"passages": {"type": "array", "items": {"type": "integer"}}},
    "required": ["passages"],
    "additionalProperties": False,
}
"""The reply: numbers of the passages that are needed, most needed first."""

# Tokens shown in one call, where the window is not known to be smaller; those that instructions
# and marks take beside the passages, and those of a reply.
_MOST_SHOWN, _INSTRUCTIONS, _REPLY_TOKENS = 16_000, 500, 400
_LEAST_SHOWN = 200
# Of a window, the share that passages chosen before may take, and a single passage.
_CHOSEN_SHARE, _PASSAGE_SHARE = 2, 4
# How often the window is halved for a model that finds the prompt too long.
_HALVINGS = 4

_KEYS = ("passages", "ids", "order", "ranking", "selected", "numbers", "段落", "编号", "排序")
_NUMBER_KEYS = ("id", "number", "passage", "编号")
_MARKED = re.compile(r"[\[【]\s*(\d{1,4})\s*[\]】]")
_BARE = re.compile(r"\d{1,4}")
_ONLY_NUMBERS = re.compile(r"[\s\d,，、>;；.\[\]【】]+")


class ListwiseReranker:
    """Asks ``llm.answer_model``. Scores are 1 / rank of what it chooses; the rest has none."""

    def __init__(self, root: Path, options: Rerank) -> None:
        self._root, self._options = root, options

    def score(self, passages: Passages, reranking: Reranking) -> Scores:
        """The passages that the model chooses. When a later call fails, what was chosen until
        then stands, with a warning. Raises RerankError when the first does."""
        model = reranking.model
        if model is None:
            raise RerankError(
                "rerank.method is llm, and no language model can be asked; check llm.model and "
                "answer.method"
            )
        own = time.monotonic() + self._options.timeout
        end = min(own, reranking.deadline or own)
        budget = self._budget(model.window("answer"))
        chosen: list[int] = []
        seen = calls = halvings = 0
        warnings: tuple[str, ...] = ()
        while seen < len(passages):
            prompt, shown, following = self._window(passages, chosen, seen, budget)
            try:
                picked = model.ask(prompt, read_numbers(len(shown)), end).value
            except LanguageModelError as error:
                too_long = isinstance(error, ModelFailure) and error.kind == "context"
                if too_long and halvings < _HALVINGS:
                    budget = max(min(budget, count_tokens(prompt.user)) // 2, _LEAST_SHOWN)
                    halvings += 1
                    continue
                problem = f"the model {model.name('answer')} could not choose ({error})"
                if not chosen:
                    raise RerankError(problem) from error
                left = len(passages) - seen
                warnings = (f"rerank: {problem}; {left} text units were not looked at",)
                break
            unseen = [place for place in chosen if place not in shown]
            chosen = [*(shown[number - 1] for number in picked), *unseen]
            seen, calls = following, calls + 1
        times = "1 call" if calls == 1 else f"{calls} calls"
        by = f"{len(chosen)} of {len(passages)} text units chosen by {model.name('answer')}"
        ranks = {place: 1 / rank for rank, place in enumerate(chosen, 1)}
        return Scores(ranks, f"{by} in {times}", absolute=False, warnings=warnings)

    def first_prompt(self, passages: Passages, window: int) -> Prompt:
        """The prompt that :meth:`score` sends first to a model with this window (0: unknown)."""
        return self._window(passages, (), 0, self._budget(window))[0]

    def _budget(self, window: int) -> int:
        """Tokens of passages in one call."""
        if not window:
            return _MOST_SHOWN
        return max(min(_MOST_SHOWN, window - _INSTRUCTIONS - _REPLY_TOKENS), _LEAST_SHOWN)

    def _window(
        self, passages: Passages, chosen: Sequence[int], seen: int, budget: int
    ) -> tuple[Prompt, list[int], int]:
        """A prompt, the places of the passages that it shows by number, and the place of the
        first one that was never shown."""
        limit = min(self._options.max_passage_tokens, budget // _PASSAGE_SHARE)

        def shortened(place: int) -> str:
            return " ".join(passages.text(place, limit).split())

        again = _fitting([shortened(place) for place in chosen], budget // _CHOSEN_SHARE)
        room = budget - sum(map(count_tokens, again))
        new = _fitting([shortened(place) for place in range(seen, len(passages))], room)
        shown = [*chosen[: len(again)], *range(seen, seen + len(new))]
        texts = [f"[{number}] {text}" for number, text in enumerate([*again, *new], 1)]
        language = prompt_language(question_language(passages.question))
        block = data_block("passages", "\n".join(texts))
        system, user = load_prompt(
            self._root, language, "rerank", question=passages.question, passages=block
        )
        prompt = Prompt("rerank", system, user, schema=SCHEMA, max_tokens=_REPLY_TOKENS)
        return prompt, shown, seen + len(new)


def _fitting(texts: Sequence[str], budget: int) -> list[str]:
    """The first texts that fit into so many tokens, the very first in any case."""
    taken: list[str] = []
    for text in texts:
        budget -= count_tokens(text)
        if taken and budget < 0:
            break
        taken.append(text)
    return taken


def read_numbers(most: int) -> Parse[list[int]]:
    """The :data:`~graphkb.llm.model.Parse` of a reply that lists numbers from 1 to ``most``.

    JSON of any shape, or a line such as ``[3] > [1]``. Numbers beyond, and a second time, are
    left out; an empty list chooses nothing. Raises ValueError for anything else without numbers.

    >>> read_numbers(5)('{"passages": [3, "1", {"id": 3}, 9]}'), read_numbers(5)("[2] > [4]")
    ([3, 1], [2, 4])
    """

    def parse(text: str) -> list[int]:
        found = _numbers_of(text)
        kept = list(dict.fromkeys(number for number in found if 1 <= number <= most))
        if found and not kept:
            raise ValueError(f"passages must be numbers from 1 to {most}, found {found[:5]}")
        return kept

    return parse


def _numbers_of(text: str) -> list[int]:
    spoken, ended = without_thoughts(text)
    if ended and "{" not in spoken:
        if _ONLY_NUMBERS.fullmatch(spoken) and (bare := _BARE.findall(spoken)):
            return [int(digits) for digits in bare]
        if marked := _MARKED.findall(spoken):
            return [int(digits) for digits in marked]
    value = parse_json(text)
    if isinstance(value, Mapping):
        listed = next((value[key] for key in _KEYS if key in value), None)
        if listed is None:
            listed = next((item for item in value.values() if isinstance(item, list)), None)
        if listed is None:
            raise ValueError('the reply must be JSON such as {"passages": [3, 1]}')
        value = listed
    items = value if isinstance(value, list) else [value]
    found = [number for item in items for number in _number(item)]
    if items and not found:
        seen = " ".join(json.dumps(value, ensure_ascii=False).split())[:60]
        raise ValueError(f"passages must be a list of numbers, found {seen}")
    return found


def _number(item: Any) -> list[int]:
    if isinstance(item, Mapping):
        return _number(next((item[key] for key in _NUMBER_KEYS if key in item), None))
    if isinstance(item, str):
        return [int(digits) for digits in _BARE.findall(item)]
    whole = isinstance(item, int | float) and not isinstance(item, bool) and item == item // 1
    return [int(item)] if whole else []
