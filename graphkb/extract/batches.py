"""Many small questions to a model in few calls, the same calls whatever came before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from graphkb.errors import ModelFailure
from graphkb.llm.model import Model, Parse, Prompt, Said

T = TypeVar("T")

# Batches are cut at a hash about every third of them, so that they are nearly full.
_CUT = 3
# Failures that a smaller question may not meet.
_TOO_MUCH = frozenset({"context", "truncated", "unparseable"})


@dataclass
class Answers(Generic[T]):
    """What a model answered, by place, and why the rest was not."""

    found: dict[int, T] = field(default_factory=dict)
    failures: list[ModelFailure] = field(default_factory=list)


def cut_batches(hashes: Sequence[str], weights: Sequence[int], most: int) -> list[list[int]]:
    """Places of items in batches of at most ``most`` weight; a heavier one is alone.

    Items are ordered by hash and some hashes end a batch (content-defined chunking, as rsync and
    LBFS do): an item more or less changes the batch it is in and a few behind it, so the other
    calls stay word for word what they were and their replies come from the cache.

    >>> cut_batches(["c7", "a7", "b7"], [1, 1, 1], 2)
    [[1, 2], [0]]
    """
    batches: list[list[int]] = []
    load = most
    for place in sorted(range(len(hashes)), key=lambda place: hashes[place]):
        if load + weights[place] > most:
            batches.append([])
            load = 0
        batches[-1].append(place)
        load += weights[place]
        if int(hashes[place][-12:], 16) % (_CUT * most) < weights[place]:
            load = most
    return batches


def ask_batches(
    model: Model,
    batches: list[list[int]],
    prompt_of: Callable[[list[int]], Prompt],
    parse: Parse[dict[int, T]],
    on_progress: Callable[[int, int], None],
    meanwhile: Iterable[object] = (),
) -> Answers[T]:
    """One call a batch. ``parse`` gives answers by number within the batch, from 1.

    What is too much for the model is asked again in halves. ``on_progress`` is told how many
    places of how many are done with; ``meanwhile`` is other work, in steps, for the time in which
    replies are awaited. Raises ModelUnusableError.
    """
    answers: Answers[T] = Answers()
    done, total = 0, sum(map(len, batches))
    while batches:
        here = batches

        def on_reply(number: int, outcome: object, here: list[list[int]] = here) -> None:
            nonlocal done
            done += len(here[number])
            on_progress(done, total)

        prompts = (prompt_of(batch) for batch in here)
        outcomes = model.ask_many(prompts, parse, on_reply, meanwhile=meanwhile)
        batches = []
        for batch, outcome in zip(here, outcomes, strict=True):
            for number, value in _values(outcome, parse).items():
                if 1 <= number <= len(batch):
                    answers.found[batch[number - 1]] = value
            if isinstance(outcome, Said):
                continue
            left = [place for place in batch if place not in answers.found]
            if len(left) > 1 and outcome.kind in _TOO_MUCH:
                half = len(left) // 2
                batches += [left[:half], left[half:]]
                done -= len(left)
            elif left:
                answers.failures.append(outcome)
    return answers


def _values(outcome: Said[dict[int, T]] | ModelFailure, parse: Parse[dict[int, T]]) -> dict[int, T]:
    """The answers of a reply, also of one that was cut."""
    if isinstance(outcome, Said):
        return outcome.value
    try:
        return parse(outcome.text) if outcome.text else {}
    except ValueError:
        return {}
