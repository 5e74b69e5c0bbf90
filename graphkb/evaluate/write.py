"""Questions with answers by a language model, one call a text unit, each held against the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphkb.errors import ModelFailure
from graphkb.evaluate.candidates import Candidate
from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import data_block, load_prompt, prompt_language
from graphkb.llm.structured import json_parser
from graphkb.text.language import detect_language
from graphkb.text.names import fold
from graphkb.types import Progress, no_progress

STEP = "questions"
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string"}, "answer": {"type": "string"}},
    "required": ["question", "answer"],
    "additionalProperties": False,
}
_LONGEST_QUESTION, _LONGEST_ANSWER = 200, 120


def written_questions(
    model: Model,
    root: Path,
    units: Sequence[Mapping[str, Any]],
    progress: Progress = no_progress,
) -> tuple[list[Candidate], tuple[str, ...]]:
    """A question for each text unit that holds something to ask for, and the failures.

    ``units`` are rows with id and text. A reply whose answer does not stand in the text word for
    word is left out, as is one that leaves the question empty. Raises ModelUnusableError when no
    call can succeed.
    """
    prompts = [_prompt(root, str(unit["text"])) for unit in units]
    done = 0

    def count(place: int, outcome: object) -> None:
        nonlocal done
        done += 1
        progress("ask the model", done, len(prompts))

    outcomes = model.ask_many(prompts, json_parser(SCHEMA), count)
    found, failures = [], []
    for unit, said in zip(units, outcomes, strict=True):
        if isinstance(said, ModelFailure):
            failures.append(str(said))
            continue
        query, answer = (" ".join(said.value[key].split()) for key in ("question", "answer"))
        fits = 5 < len(query) <= _LONGEST_QUESTION and 0 < len(answer) <= _LONGEST_ANSWER
        if fits and fold(answer) in fold(" ".join(str(unit["text"]).split())):
            language = detect_language(query)
            found.append(Candidate(query, answer, "model", language, (str(unit["id"]),)))
    return found, tuple(dict.fromkeys(failures))


def _prompt(root: Path, text: str) -> Prompt:
    language = prompt_language(detect_language(text))
    system, user = load_prompt(
        root, language, "eval_question", document=data_block("document", text)
    )
    return Prompt(STEP, system, user, schema=SCHEMA)
