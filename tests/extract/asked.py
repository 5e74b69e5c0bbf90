"""Evidence for resolution, and models that answer about it deterministically."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from model_server import ModelServer, model_server, prompt_of, said

from graphkb.extract.judge import Judge
from graphkb.extract.resolve import Resolution, resolve_entities
from graphkb.llm.model import Model, make_model
from graphkb.settings import LanguageModel
from graphkb.tables import TABLES

Verdict = Callable[[str, str], str]
_PAIR = re.compile(r"^(\d+)\. (.+)\n   (.+)$", re.MULTILINE)
_THING = re.compile(r"^(\d+)\. (.+)\n((?:- .+\n?)+)", re.MULTILINE)
_SIDE = re.compile(r"(.+?) \([^)]*\)(?:: .*)?")


def mentions(*rows: tuple[str, str, str] | tuple[str, str, str, str]) -> pl.DataFrame:
    """Mention evidence of (unit, name, type[, alias_of]), each at its own place."""
    records = [
        (row[0], 10 * place, 10 * place + 5, row[1], row[1], row[2], row[3] if row[3:] else None)
        for place, row in enumerate(rows)
    ]
    return pl.DataFrame(records, schema=TABLES["mention_evidence"].schema, orient="row")


def related(*rows: tuple[str, str, str, str]) -> pl.DataFrame:
    """Relationship evidence of (unit, source, target, description)."""
    records = [(u, a, b, text, "RELATED", 1.0, False, 0, 9) for u, a, b, text in rows]
    return pl.DataFrame(records, schema=TABLES["relationship_evidence"].schema, orient="row")


def told(*rows: tuple[str, str, str]) -> pl.DataFrame:
    """Entity evidence of (unit, name, description)."""
    records = [(unit, name, "TERM", text) for unit, name, text in rows]
    return pl.DataFrame(records, schema=TABLES["entity_evidence"].schema, orient="row")


def units(**texts: str) -> pl.DataFrame:
    """Text units by id, each its own document."""
    return pl.DataFrame(
        {
            "id": list(texts),
            "document_id": [f"d-{unit}" for unit in texts],
            "text": list(texts.values()),
            "context": [""] * len(texts),
        },
        schema=dict.fromkeys(("id", "document_id", "text", "context"), pl.String),
    )


def resolved(evidence: pl.DataFrame, **options: Any) -> Resolution:
    """Entities of mention evidence; ``options`` of resolve_entities, and related."""
    where = evidence["text_unit_id"].unique().sort().to_list()
    given = options.pop("text_units", units(**dict.fromkeys(where, "text")))
    beside = options.pop("related", TABLES["relationship_evidence"].empty())
    return resolve_entities(evidence, beside, TABLES["claim_evidence"].empty(), given, **options)


def judging(verdict: Verdict) -> Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]:
    """A play that judges every pair of a prompt by its two names."""

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        verdicts = [
            {"pair": int(number), "verdict": verdict(*map(name_of, sides))}
            for number, *sides in _PAIR.findall(prompt_of(body))
        ]
        return said(json.dumps({"verdicts": verdicts}))

    return play


def name_of(side: str) -> str:
    """The name of one line of a pair."""
    match = _SIDE.fullmatch(side)
    assert match is not None, side
    return match.group(1)


def asked_pairs(server: ModelServer) -> list[frozenset[str]]:
    """The pairs of all prompts so far."""
    return [
        frozenset(map(name_of, sides))
        for body in server.requests
        for _, *sides in _PAIR.findall(prompt_of(body))
    ]


@contextmanager
def judge(
    folder: Path, verdict: Verdict, batch_size: int = 20, known: pl.DataFrame | None = None
) -> Iterator[tuple[Judge, ModelServer]]:
    """A judge that asks a server on loopback."""
    before = TABLES["judgements"].empty() if known is None else known
    with model_server(judging(verdict)) as server, asking(folder, server) as model:
        yield Judge(model, folder, batch_size, before), server


@contextmanager
def asking(folder: Path, server: ModelServer) -> Iterator[Model]:
    """The model of a server on loopback, with its cache in ``folder``."""
    options = LanguageModel(model="m", base_url=server.url, max_retries=0)
    model = make_model(folder, options)
    assert model is not None
    try:
        yield model
    finally:
        model.close()


def writing(write: Callable[[str, list[str]], str]) -> Callable[[dict[str, Any]], Any]:
    """A play that describes every thing of a prompt from its name and statements."""

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        items = [
            {"id": int(number), "text": write(name, block.strip().removeprefix("- ").split("\n- "))}
            for number, name, block in _THING.findall(prompt_of(body) + "\n")
        ]
        return said(json.dumps({"descriptions": items}, ensure_ascii=False))

    return play


def described_things(bodies: list[dict[str, Any]]) -> list[str]:
    """The things of all prompts, sorted."""
    return sorted(name for body in bodies for _, name, _ in _THING.findall(prompt_of(body) + "\n"))
