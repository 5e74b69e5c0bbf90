"""What a corpus is about and what it names: asked of a model, or counted without one.

After GraphRAG's ``prompt-tune`` (https://microsoft.github.io/graphrag/prompt_tuning/). Examples
are checked against their passage as any extraction is, so that none teaches a model to invent.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from graphkb.errors import ModelFailure
from graphkb.extract import parse
from graphkb.extract.kinds import TERM
from graphkb.extract.offline import extract_units
from graphkb.extract.questions import Unit
from graphkb.extract.verify import Verified, verify
from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import data_block, load_prompt
from graphkb.llm.structured import parse_json
from graphkb.settings import Extract
from graphkb.tables import TABLES
from graphkb.text.sentences import sentence_spans
from graphkb.text.tokens import count_tokens, truncate_tokens
from graphkb.tune.names import SampleNames
from graphkb.tune.sample import Sample

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "domain": {"type": "string"},
        "persona": {"type": "string"},
        "entity_types": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "relationship_types": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["domain", "persona", "entity_types", "relationship_types"],
    "additionalProperties": False,
}
_MOST = 12
_PASSAGE_TOKENS, _ALL_TOKENS, _EXAMPLE_TOKENS = 400, 6_000, 120
_EXAMPLES = 2
_LONGEST = 120
_TYPE = re.compile(r"([A-Z][A-Z_]+)(?:\s*[(（]([^()（）]*)[)）])?")
_NOT_IN_A_LINE = re.compile(r"[<>{}\[\]\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Proposal:
    """What is proposed for the documents of one language.

    ``entity_types`` are (type, what belongs to it), the most frequent first; ``examples`` are
    (passage, reply). ``model`` made it; empty when it comes from offline extraction. ``seen``
    counts the mentions by type that offline extraction found in the sample.
    """

    language: str
    passages: int
    domain: str
    persona: str
    entity_types: tuple[tuple[str, str], ...]
    relationship_types: tuple[str, ...]
    model: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    seen: Mapping[str, int] = field(default_factory=dict)


def propose_offline(sample: Sample, shipped_types: str) -> Proposal:
    """The usual types by how often the sample names such things.

    ``shipped_types`` is the prompt of the usual types: what it says of a type is kept. What the
    documents are about is not said: without a model only names would tell it.
    """
    named = _mentions(sample.text_units)
    counts = Counter(named["type"].to_list())
    usual = dict(_TYPE.findall(shipped_types))
    by_count = sorted(usual, key=lambda kind: (kind == TERM, -counts[kind]))
    return Proposal(
        sample.language,
        sample.text_units.height,
        "",
        "",
        tuple((kind, usual[kind]) for kind in by_count),
        (),
        seen={kind: counts[kind] for kind in by_count if counts[kind]},
    )


def names_of(sample: Sample, shipped_types: str) -> SampleNames:
    """The names in the sample that hints for all documents may not hold."""
    units = sample.text_units
    return SampleNames(_mentions(units), units["text"], shipped_types)


def _mentions(units: pl.DataFrame) -> pl.DataFrame:
    """What offline extraction finds in the text of the units."""
    found = extract_units(units, TABLES["terms"].empty(), Extract(workers=1)).mentions
    return found.filter(pl.col("char_start") >= 0)


def propose_by_model(
    sample: Sample, root: Path, model: Model, fallback: Proposal, names: SampleNames
) -> Proposal:
    """The model's view of the sample, without the ``names`` in it, of which a warning tells;
    ``fallback`` with a warning where it gives none.

    Raises ModelUnusableError when no call can succeed.
    """
    blocks: list[str] = []
    spent = 0
    for text in sample.text_units["text"]:
        block = data_block("passage", truncate_tokens(text, _PASSAGE_TOKENS))
        spent += count_tokens(block)
        if blocks and spent > _ALL_TOKENS:
            break
        blocks.append(block)
    system, user = load_prompt(root, sample.language, "tune", passages="\n\n".join(blocks))
    prompt = Prompt("tune", system, user, "extraction", _SCHEMA)
    try:
        found = model.ask(prompt, _parse).value
    except ModelFailure as failure:
        said = f"the model proposed nothing ({failure}); the types come from offline extraction"
        return replace(fallback, warnings=(said,))
    hints = _Hints(names)
    kinds = [
        (kind, hints.kept(meaning))
        for kind, meaning in found["entity_types"]
        if not names.held_by(kind.replace("_", " ").title())
    ]
    return replace(
        fallback,
        passages=len(blocks),
        domain=hints.kept(_line(found["domain"])),
        persona=hints.kept(_line(found["persona"]).rstrip(".。")),
        entity_types=tuple(kinds) or fallback.entity_types,
        relationship_types=tuple(filter(None, map(hints.kept, found["relationship_types"]))),
        model=model.name("extraction"),
        warnings=hints.warnings(),
    )


class _Hints:
    """Hints without names, and what was left out of them."""

    def __init__(self, names: SampleNames) -> None:
        self._names = names
        self._left_out: list[str] = []

    def kept(self, hint: str) -> str:
        kept = self._names.taken_out(hint)
        if kept != hint:
            self._left_out.append(hint.removeprefix(kept).strip(" ,;，；、"))
        return kept

    def warnings(self) -> tuple[str, ...]:
        if not self._left_out:
            return ()
        told = "; ".join(f"“{hint}”" for hint in self._left_out)
        return (f"left out, as it names what only some documents are about: {told}",)


def _parse(text: str) -> dict[str, Any]:
    """The proposal in a reply, however it is written. Raises ValueError without entity types."""
    said = parse_json(text)
    if isinstance(said, list) and len(said) == 1:
        said = said[0]
    if not isinstance(said, dict):
        raise ValueError("wanted a JSON object with domain, persona, entity_types and "
                         "relationship_types")  # fmt: skip
    found: dict[str, str] = {}
    for item in _items(said.get("entity_types")):
        kind, meaning = _type_of(item)
        if kind:
            found.setdefault(kind, meaning)
    if not found:
        raise ValueError('wanted "entity_types", a list of [TYPE, what belongs to it]')
    relations = [_line(_text(item)) for item in _items(said.get("relationship_types"))]
    return {
        "domain": _text(said.get("domain")),
        "persona": _text(said.get("persona")),
        "entity_types": tuple(found.items())[:_MOST],
        "relationship_types": tuple(dict.fromkeys(filter(None, relations)))[:_MOST],
    }


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, str):
        return [part for part in re.split(r"[,，、;；\n]", value) if part.strip()]
    return value if isinstance(value, list) else []


def _type_of(item: Any) -> tuple[str, str]:
    """The type in capitals with what belongs to it; empty where there is no type."""
    if isinstance(item, dict):
        values = [str(value) for value in item.values()]
    elif isinstance(item, list | tuple):
        values = [_text(value) for value in item]
    else:
        name, _, rest = str(item).partition(":")
        values = [name, rest]
    kind = re.sub(r"[\W_]+", "_", values[0].strip()).strip("_").upper() if values else ""
    if not kind or len(kind) > 40:
        return "", ""
    return kind, _line(values[1]) if len(values) > 1 else ""


def _text(value: Any) -> str:
    """A value of a reply as text; of a list or an object its first part."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        value = value[0] if value else ""
    return "" if value is None else str(value)


def _line(text: str) -> str:
    """One short line without marks and control characters: it goes into a system message."""
    return _NOT_IN_A_LINE.sub("", " ".join(text.split()))[:_LONGEST].strip()


def find_examples(
    sample: Sample, template: str, types: str, claims: str, model: Model, names: SampleNames
) -> tuple[tuple[str, str], ...]:
    """Short passages with the model's reply to them, as far as the passage bears it out; of the
    sample's ``names`` only those in the passage.

    ``template`` is the extraction prompt that is proposed. Raises ModelUnusableError.
    """
    chosen = _example_passages(sample)
    prompts = [_example_prompt(template, types, claims, passage) for passage in chosen]
    outcomes = model.ask_many(prompts, parse.parse_reply)
    examples = []
    for passage, outcome in zip(chosen, outcomes, strict=True):
        if isinstance(outcome, ModelFailure):
            continue
        unit = Unit("", passage, "", sample.language)
        borne_out = verify(unit, outcome.value, own_types=True, claims=claims != "")
        reply = _reply_of(borne_out, passage, names)
        if reply:
            examples.append((passage, reply))
    return tuple(examples)


def _example_prompt(template: str, types: str, claims: str, passage: str) -> Prompt:
    filled = string.Template(template).substitute(
        entity_types=types, claims=claims, document=data_block("document", f"\n{passage}")
    )
    system, _, user = filled.partition("\n---\n")
    return Prompt(
        "tune", system.strip(), user.strip(), "extraction", parse.reply_schema(claims != "")
    )


def _example_passages(sample: Sample) -> list[str]:
    """The beginnings of the units that name most, whole sentences each."""
    texts = {
        row["id"]: _first_sentences(row["text"]) for row in sample.text_units.iter_rows(named=True)
    }
    units = sample.text_units.with_columns(text=pl.Series(list(texts.values()), dtype=pl.String))
    named = _mentions(units).group_by("text_unit_id").agg(pl.col("name").n_unique())
    counts = dict(named.iter_rows())
    best = sorted(texts, key=lambda unit: -counts.get(unit, 0))[:_EXAMPLES]
    return [texts[unit] for unit in best if counts.get(unit, 0) >= 2]


def _first_sentences(text: str) -> str:
    ends = [end for _, end in sentence_spans(text)]
    taken = ""
    for end in ends:
        if taken and count_tokens(text[:end]) > _EXAMPLE_TOKENS:
            break
        taken = text[:end].strip()
    return truncate_tokens(taken, 2 * _EXAMPLE_TOKENS)


def _reply_of(verified: Verified, passage: str, names: SampleNames) -> str:
    """What was borne out, in the form that is asked for, where its words hold none of the
    ``names`` outside the passage; empty where it is too little to learn from."""

    def of_passage(words: str) -> bool:
        return not names.held_by(words, passage)

    said = {name: words for _, name, _, words in verified.descriptions if of_passage(words)}
    entities = {
        name: [name, kind, said.get(name, "")]
        for _, start, _, _, name, kind, _ in verified.evidence.mentions
        if start >= 0
    }
    relationships = [
        [source, kind, target, f"{10 * weight:.0f}"]
        for _, source, target, _, kind, weight, *_ in verified.evidence.relationships
        if of_passage(kind)
    ]
    claims = [
        [subject, kind, words, status, start or "", end or ""]
        for _, subject, _, kind, words, status, start, end, *_ in verified.evidence.claims
        if of_passage(words)
    ]
    if len(entities) < 2 or not relationships:
        return ""
    reply = {
        "entities": list(entities.values()), "relationships": relationships, "claims": claims,
    }  # fmt: skip
    return json.dumps(reply, ensure_ascii=False)
