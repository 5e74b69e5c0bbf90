"""Spaces between Latin words that PP-OCR sees but does not write.

Its Chinese models were trained on lines whose spaces were mostly left out, so where a word ends the
class of the space often stays below that of the blank of CTC (Graves et al. 2006), and the best
path has none: ``Validuntil30June2030``. The probability of a space is still far above zero there
and next to nothing within words, so that a low threshold parts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Lowest values that put no space where there is none.
_LEAST = 0.015
_LEAST_AT_SIGNS = 0.04
# A number cut in two is worse than two that run together.
_LEAST_IN_NUMBERS = 0.3
_BLANK = 0
_NO_SPACE_BEFORE = frozenset(",.;:!?)]}%@/'’”")
_NO_SPACE_AFTER = frozenset("([{@/'‘“")


class SpacedDecoder:
    """Stands for the decoder of a RapidOCR engine: the same lines and scores, with the spaces."""

    def __init__(self, decoder: Any) -> None:
        self.decoder = decoder

    def __call__(
        self, predictions: np.ndarray, *arguments: Any, **options: Any
    ) -> list[tuple[str, float]]:
        """Text and mean confidence of each line; ``predictions`` float32 [line, step, class]."""
        lines = self.decoder(predictions, *arguments, **options)
        characters = self.decoder.character
        return [
            (spaced(steps, characters), *line[1:])
            for steps, line in zip(predictions, lines, strict=True)
        ]


def spaced(steps: np.ndarray, characters: Sequence[str]) -> str:
    """The best path of a line, with the spaces that are likely between two Latin characters.

    ``steps`` are probabilities float32 [step, class]; ``characters`` names the classes, the first
    is CTC's blank and the last the space.

    >>> likely = {"a": [0, 1, 0, 0], "b": [0, 0, 1, 0], "between": [0.8, 0, 0, 0.2]}
    >>> spaced(np.array([likely["a"], likely["between"], likely["b"]]), ["", "a", "b", " "])
    'a b'
    """
    best = steps.argmax(axis=1)
    begins = best != _BLANK
    begins[1:] &= best[1:] != best[:-1]
    places = np.flatnonzero(begins)
    text = ""
    for number, place in enumerate(places):
        character = characters[best[place]]
        if number and _may_part(text[-1:], character):
            between = steps[places[number - 1] + 1 : place, len(characters) - 1]
            if between.sum() >= _least(text[-1], character):
                text += " "
        text += character
    return text


def _may_part(before: str, after: str) -> bool:
    return not (
        before.isspace()
        or after.isspace()
        or before in _NO_SPACE_AFTER
        or after in _NO_SPACE_BEFORE
        or not (_is_latin(before) and _is_latin(after))
    )


def _least(before: str, after: str) -> float:
    """How likely a space must be between the two."""
    if before.isdigit() and after.isdigit():
        return _LEAST_IN_NUMBERS
    return _LEAST if before.isalnum() and after.isalnum() else _LEAST_AT_SIGNS


def _is_latin(character: str) -> bool:
    return character.isascii() or "À" <= character <= "ɏ"
