"""A sentence by the model on where a text unit stands in its document, for search.

Anthropic, Introducing Contextual Retrieval (2024): the sentence is put before the unit when it is
indexed. All units of a window of a document are asked about behind the same beginning, so that a
server that keeps prompts reads the document once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import polars as pl

from graphkb.llm.model import Prompt
from graphkb.llm.prompts import LANGUAGES, data_block, load_prompt, prompt_language

STEP = "situate"
#: Tokens of a document that are shown at most with each of its units.
WINDOW = 8_000
#: Tokens that a sentence takes about.
SENTENCE_TOKENS = 60
_REPLY_TOKENS = 200
_LONGEST = 400
_MARKS = "\"'“”「」*_ "


def situating_prompt(root: Path, document: str, part: str, language: str) -> Prompt:
    """What the model is asked of ``part``, a text unit of ``document``."""
    system, user = load_prompt(
        root,
        prompt_language(language),
        "situate",
        document=data_block("document", document),
        part=data_block("part", part),
    )
    return Prompt(STEP, system, user, "extraction", max_tokens=_REPLY_TOKENS)


def prompts_fingerprint(root: Path) -> tuple[str, ...]:
    """What a change of the prompts changes."""
    prompts = (situating_prompt(root, "", "", language) for language in LANGUAGES)
    return (str(WINDOW), *(text for prompt in prompts for _, text in prompt.messages))


def read_sentence(reply: str) -> str:
    """The sentence of a reply on one line. Raises ValueError when there is none.

    >>> read_sentence(' "Part of the 2024 report of\\nOsprey." ')
    'Part of the 2024 report of Osprey.'
    """
    sentence = " ".join(reply.split()).strip(_MARKS)
    if not any(map(str.isalnum, sentence)):
        raise ValueError("the reply must be one sentence on where the part stands in the document")
    return sentence[:_LONGEST]


def units_to_situate(units: pl.DataFrame, situations: pl.DataFrame) -> pl.DataFrame:
    """Text units that need a sentence and have none: those of documents with others, but for rows
    of tables, whose columns say what they are. ``situations`` are the sentences that are known."""
    several = units.filter(pl.len().over("document_id") > 1).filter(pl.col("kind") != "row")
    known = situations.filter(status="done").select(
        pl.col("text_unit_id").alias("id"), ending=pl.lit("\n") + pl.col("sentence")
    )
    done = several.join(known, on="id").filter(pl.col("context").str.ends_with(pl.col("ending")))
    return several.join(done, on="id", how="anti", maintain_order="left")


def situating_prompts(
    root: Path, documents: pl.DataFrame, units: pl.DataFrame, wanted: Collection[str]
) -> Iterator[tuple[str, Prompt]]:
    """(text unit id, prompt) of the ``wanted`` units, by document and place.

    ``units`` are all of the documents: they decide the windows, which begin where a unit does.
    """
    texts = {row[0]: row[1:] for row in documents.select("id", "text", "language").iter_rows()}
    columns = ("id", "text", "char_start", "char_end", "n_tokens")
    wanted = frozenset(wanted)
    for (document_id,), group in units.sort("document_id", "index").group_by(
        "document_id", maintain_order=True
    ):
        if wanted.isdisjoint(group["id"]):
            continue
        text, language = texts[document_id]
        for window in _windows(group.select(columns).rows()):
            shown = text[window[0][2] : max(row[3] for row in window)]
            for unit_id, part, *_ in window:
                if unit_id in wanted:
                    yield unit_id, situating_prompt(root, shown, part, language)


def _windows(
    units: Sequence[tuple[str, str, int, int, int]],
) -> Iterator[list[tuple[str, str, int, int, int]]]:
    """Neighbours of at most ``WINDOW`` tokens in all."""
    window: list[tuple[str, str, int, int, int]] = []
    spent = 0
    for unit in units:
        if window and spent + unit[4] > WINDOW:
            yield window
            window, spent = [], 0
        window.append(unit)
        spent += unit[4]
    if window:
        yield window
