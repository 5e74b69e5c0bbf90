"""Long collected descriptions merged by a model, with every fact of the statements kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from graphkb.extract.batches import ask_batches, cut_batches
from graphkb.extract.collect import Collected, select_descriptions
from graphkb.extract.facts import facts_of, missing_facts, with_parts
from graphkb.extract.statements import (
    Statement,
    join_statements,
    select_statements,
    sentences_of,
    within,
)
from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import LANGUAGES, data_block, load_prompt
from graphkb.llm.structured import json_parser
from graphkb.tables import TABLES, content_hash
from graphkb.text.language import has_han
from graphkb.text.names import fold
from graphkb.text.sentences import sentence_spans
from graphkb.text.tokens import count_tokens

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "descriptions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "text": {"type": "string"}},
                "required": ["id", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["descriptions"],
    "additionalProperties": False,
}
# Times the length of a description: the most statements shown for one, and for one call.
_MOST_SHOWN, _MOST_CALLED = 4, 10
# What a description may be told to have, for a token of o200k_base.
_WORDS, _CHARACTERS = 0.7, 1.2
_parse = json_parser(SCHEMA)


def asked_with(root: Path) -> dict[str, str]:
    """Language to the hash of the prompt that descriptions are asked with."""
    return {
        language: content_hash(*load_prompt(root, language, "describe", things="", length=""))
        for language in LANGUAGES
    }


class DescriptionMerger:
    """A :data:`~graphkb.extract.collect.Shorten` that asks a model, once for the same statements.

    Of more than the model is shown, the statements that cover most facts are taken. Its reply is
    checked by :func:`keep_facts`. ``known`` is the descriptions table so far; after a call
    ``descriptions`` is the table as it is now, with an empty text where there is no reply; there
    the sentences that cover most facts are the description. ``failure`` says why, or is empty.
    ``meanwhile`` is other work, in steps, for the time in which replies are awaited.
    """

    def __init__(
        self,
        model: Model,
        root: Path,
        known: pl.DataFrame,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
        meanwhile: Iterable[object] = (),
    ) -> None:
        self._model, self._root = model, root
        self._known = {key: text for key, text in known.iter_rows() if text}
        self._on_progress, self._meanwhile = on_progress, meanwhile
        self._asked_with = asked_with(root)
        self.descriptions = TABLES["descriptions"].empty()
        self.failure = ""

    @property
    def n_open(self) -> int:
        """Descriptions that the model has not merged."""
        return self.descriptions.filter(pl.col("description") == "").height

    def __call__(self, collected: Sequence[Collected], max_tokens: int) -> list[str]:
        """A description of each, in order. Raises ModelUnusableError."""
        hashes = [self._hash(one, max_tokens) for one in collected]
        texts = dict(self._known)
        new = {
            place: _shown(one, _MOST_SHOWN * max_tokens)
            for place, one in enumerate(collected)
            if hashes[place] not in self._known
        }
        for place, reply in self._replies(new, hashes, max_tokens).items():
            texts[hashes[place]] = keep_facts(reply, new[place], max_tokens)
        self.descriptions = TABLES["descriptions"].conform(
            pl.DataFrame(
                {"evidence_hash": hashes, "description": [texts.get(h, "") for h in hashes]},
                schema=TABLES["descriptions"].schema,
            ).unique("evidence_hash")
        )
        left = [place for place in new if hashes[place] not in texts]
        chosen = select_descriptions([new[place] for place in left], max_tokens)
        texts.update({hashes[place]: text for place, text in zip(left, chosen, strict=True)})
        return [texts[key] for key in hashes]

    def _replies(
        self, asked: Mapping[int, Collected], hashes: Sequence[str], max_tokens: int
    ) -> dict[int, str]:
        """The model's descriptions by place."""
        batches: list[list[int]] = []
        for language in LANGUAGES:
            places = [place for place, one in asked.items() if _language(one) == language]
            cut = cut_batches(
                [hashes[place] for place in places],
                [_tokens(asked[place]) for place in places],
                _MOST_CALLED * max_tokens,
            )
            batches += [[places[number] for number in batch] for batch in cut]
        answers = ask_batches(
            self._model,
            batches,
            lambda batch: self._prompt([asked[place] for place in batch], max_tokens),
            read_descriptions,
            self._on_progress,
            chain(_read_ahead(asked.values()), self._meanwhile),
        )
        if answers.failures and not self.failure:
            self.failure = str(answers.failures[0])
        return answers.found

    def _hash(self, one: Collected, max_tokens: int) -> str:
        """Of all that the description is made from."""
        parts = [self._model.name("report"), self._asked_with[_language(one)], str(max_tokens)]
        for statement in one.statements:
            parts += [statement.text, *sorted(statement.names)]
        return content_hash(*parts, one.title)

    def _prompt(self, things: Sequence[Collected], max_tokens: int) -> Prompt:
        language = _language(things[0])
        blocks = [
            "\n".join([f"{number}. {one.title}", *(f"- {said.text}" for said in one.statements)])
            for number, one in enumerate(things, 1)
        ]
        system, user = load_prompt(
            self._root,
            language,
            "describe",
            things=data_block("things", "\n\n".join(blocks)),
            length=str(round(max_tokens * (_CHARACTERS if language == "zh" else _WORDS))),
        )
        return Prompt("describe", system, user, role="report", schema=SCHEMA)


def _shown(one: Collected, limit: int) -> Collected:
    if _tokens(one) <= limit:
        return one
    return Collected(one.title, tuple(select_statements(one.statements, limit)))


def _tokens(one: Collected) -> int:
    return sum(count_tokens(statement.text) for statement in one.statements)


def _language(one: Collected) -> str:
    return "zh" if any(has_han(statement.text) for statement in one.statements) else "en"


def keep_facts(reply: str, one: Collected, max_tokens: int) -> str:
    """A model's description without what it invented and with what it lost.

    Sentences with dates, numbers or codes that no statement has are left out; for those that
    it lost, and for lost names, the original sentences are added. A reply of which nothing is
    left, or longer than the statements, is not used: then the sentences that cover most facts
    are the description.

    >>> from graphkb.extract.statements import Statement
    >>> said = "Ada Lin was born on 3 May 1970.", "She leads Osprey."
    >>> one = Collected("Ada Lin", tuple(map(Statement, said)))
    >>> keep_facts("Ada Lin, born in 1970, leads Osprey. She has 9 cats.", one, 50)
    'Ada Lin, born in 1970, leads Osprey. Ada Lin was born on 3 May 1970.'
    """
    sentences, held = _held(one)
    every = frozenset[str]().union(*held)
    allowed = with_parts(every)
    spoken = " ".join(reply.split())
    kept = [spoken[a:b] for a, b in sentence_spans(spoken) if facts_of(spoken[a:b]) <= allowed]
    text = join_statements(kept)
    if not text or not within(text, _tokens(one)):
        return select_descriptions([one], max_tokens)[0]
    folded = fold(text)
    names = {f"name:{name}" for said in sentences for name in said.names if fold(name) in folded}
    lost = missing_facts(every, facts_of(text) | names)
    added: list[int] = []
    while lost:
        best = max(range(len(held)), key=lambda place: (len(held[place] & lost), -place))
        added.append(best)
        lost -= with_parts(held[best])
    return join_statements([text, *(sentences[place].text for place in sorted(added))])


@lru_cache(maxsize=1024)
def _held(one: Collected) -> tuple[list[Statement], list[frozenset[str]]]:
    """The sentences of a thing's statements and the facts of each."""
    sentences = sentences_of(one.statements)
    return sentences, [sentence.facts for sentence in sentences]


def _read_ahead(things: Iterable[Collected]) -> Iterator[None]:
    """See what :func:`keep_facts` will look for in the replies."""
    for one in things:
        _held(one)
        yield


def read_descriptions(text: str) -> dict[int, str]:
    """Descriptions by the number of their thing. Raises ValueError for a reply without any.

    >>> read_descriptions('{"descriptions": [{"id": 1, "text": "Ada Lin leads Osprey."}]}')
    {1: 'Ada Lin leads Osprey.'}
    """
    found: dict[int, str] = {}
    for item in _parse(text)["descriptions"]:
        if item["text"].strip():
            found.setdefault(item["id"], item["text"].strip())
    if not found:
        raise ValueError("no descriptions: one entry is needed for every thing")
    return found
