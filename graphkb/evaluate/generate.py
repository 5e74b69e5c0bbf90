"""Questions with known answers, made from the documents of a knowledge base.

By patterns over sentences, tables and headings; with a model also by the model, one call a text
unit. What can be understood only with its document at hand is left out, and so is what another
sentence of the collection may answer otherwise: fewer questions that hold are worth more.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from graphkb.evaluate.candidates import (
    TABLE,
    Candidate,
    chained,
    heading_questions,
    of_fact,
    table_questions,
    without_rivals,
)
from graphkb.evaluate.facts import Fact, Name, sentences_of
from graphkb.evaluate.facts_en import english_facts
from graphkb.evaluate.facts_zh import chinese_facts
from graphkb.evaluate.resample import SEED
from graphkb.evaluate.unique import is_unique, stands_alone
from graphkb.evaluate.write import written_questions
from graphkb.query.extractive import stems_of
from graphkb.search.snapshot import Snapshot
from graphkb.tables import content_hash
from graphkb.text.language import has_han
from graphkb.text.names import fold
from graphkb.types import Progress, no_progress

if TYPE_CHECKING:
    from graphkb.llm.model import Model

# Candidates that are checked for each question wanted, and text units a model is shown.
_CHECKED = 12
_READ = 2
# Cells of tables are easy to ask for and come in great numbers.
_MOST_TABLES = 0.4


@dataclass(frozen=True)
class Generated:
    """``rows`` are the questions, as lines of a questions file; ``candidates`` how many there
    were, ``ambiguous`` how many of those looked at were left out. ``failures`` of the model."""

    rows: tuple[dict[str, Any], ...]
    candidates: int
    ambiguous: int
    failures: tuple[str, ...] = ()

    def to_jsonl(self) -> str:
        """One JSON object a line."""
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in self.rows)


def generate_questions(
    snapshot: Snapshot,
    n: int,
    model: Model | None = None,
    seed: int = SEED,
    progress: Progress = no_progress,
) -> Generated:
    """At most ``n`` questions: kinds, languages and documents by turns, the same for the same
    ``seed``.

    Each row has ``id``, ``query``, ``relevant`` (document ids), ``answer``, ``language``,
    ``type``, ``hops`` and ``text_units``. A question with two hops needs text of two text units.
    """
    units = snapshot.store.read("text_units", ("id", "text", "document_id", "kind")).sort("id")
    found = _candidates(snapshot, units)
    failures: tuple[str, ...] = ()
    if model is not None:
        shown = random.Random(seed).sample(units.to_dicts(), min(units.height, _READ * n))
        written, failures = written_questions(model, snapshot.root, shown, progress)
        found = without_rivals([*written, *found])
    documents = dict(units.select("id", "document_id").iter_rows())
    titles = dict(snapshot.store.read("documents", ("id", "title")).iter_rows())
    queue = _by_turns(found, documents, titles, seed)[: _CHECKED * n]
    chosen, ambiguous = _chosen(snapshot, queue, n, progress)
    rows = tuple(_row(candidate, documents) for candidate in chosen)
    return Generated(rows, len(found), ambiguous, failures)


def _chosen(
    snapshot: Snapshot, queue: Sequence[Candidate], n: int, progress: Progress
) -> tuple[list[Candidate], int]:
    """The first ``n`` that hold, and how many did not. Cells of tables make up no more than their
    share, and none asks for what another asked in nearly the same words."""
    chosen: list[Candidate] = []
    tables = 0
    asked: dict[str, list[frozenset[str]]] = defaultdict(list)
    ambiguous = 0
    for candidate in queue:
        if len(chosen) == n:
            break
        words = stems_of(candidate.query, snapshot.dictionary)
        near = any(2 * len(words & other) > len(words | other) for other in asked[candidate.answer])
        many = candidate.type == TABLE and tables >= _MOST_TABLES * n
        if near or many:
            continue
        if not _holds(snapshot, candidate):
            ambiguous += 1
            continue
        chosen.append(candidate)
        tables += candidate.type == TABLE
        asked[candidate.answer].append(words)
        progress("questions", len(chosen), n)
    return chosen, ambiguous


def _candidates(snapshot: Snapshot, units: pl.DataFrame) -> list[Candidate]:
    names = _names(snapshot)
    facts: list[Fact] = []
    others: list[Candidate] = []
    for row in units.iter_rows(named=True):
        if row["kind"] not in ("prose", "table"):
            continue
        others += table_questions(row["text"], row["id"])
        others += heading_questions(row["text"], row["id"])
        for sentence in sentences_of(
            row["text"], names.get(row["id"], []), row["id"], row["document_id"]
        ):
            make = chinese_facts if has_han(sentence.text) else english_facts
            facts += make(sentence)
    alone = [f for f in facts if stands_alone(f.query, f.answer, f.language)]
    return without_rivals([*map(of_fact, alone), *others, *chained(alone)])


def _names(snapshot: Snapshot) -> dict[str, list[Name]]:
    """Names by text unit, with their places in its text."""
    types = dict(snapshot.store.read("entities", ("id", "type")).iter_rows())
    columns = ("entity_id", "text_unit_id", "char_start", "char_end", "surface")
    found: dict[str, list[Name]] = defaultdict(list)
    for entity, unit, start, end, surface in snapshot.store.read("mentions", columns).iter_rows():
        if start >= 0:
            found[unit].append(Name(start, end, surface, entity, types.get(entity, "")))
    return {unit: sorted(names, key=lambda n: (n.start, n.end)) for unit, names in found.items()}


def _holds(snapshot: Snapshot, candidate: Candidate) -> bool:
    """Whether the question can stand alone and has one answer only; so must its links."""
    if not stands_alone(candidate.query, candidate.answer, candidate.language):
        return False
    if not candidate.links:
        unit = candidate.text_unit_ids[0]
        return is_unique(snapshot, candidate.query, candidate.answer, unit)
    linked = zip(candidate.links, candidate.text_unit_ids, strict=True)
    return all(is_unique(snapshot, query, answer, unit) for (query, answer), unit in linked)


def _by_turns(
    candidates: Sequence[Candidate],
    documents: dict[str, str],
    titles: dict[str, str],
    seed: int,
) -> list[Candidate]:
    """One of each type and language by turns; within those, documents that have fewest so far
    first, then questions that do not quote a title of their documents."""
    generator = random.Random(seed)
    groups: dict[tuple[str, str], list[tuple[int, bool, float, Candidate]]] = defaultdict(list)
    seen: dict[tuple[str, str, str], int] = defaultdict(int)
    for candidate in sorted(candidates, key=lambda c: content_hash(str(seed), c.query)):
        kind = candidate.type, candidate.language
        home = documents[candidate.text_unit_ids[-1]]
        place = seen[(*kind, home)]
        seen[(*kind, home)] += 1
        quoted = _quotes_title(candidate, documents, titles)
        groups[kind].append((place, quoted, generator.random(), candidate))
    queues = [
        [entry[-1] for entry in sorted(groups[kind], key=lambda entry: entry[:3])]
        for kind in sorted(groups)
    ]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


def _quotes_title(candidate: Candidate, documents: dict[str, str], titles: dict[str, str]) -> bool:
    query = fold(candidate.query)
    own = (fold(titles.get(documents[unit]) or "") for unit in candidate.text_unit_ids)
    return any(title and title in query for title in own)


def _row(candidate: Candidate, documents: dict[str, str]) -> dict[str, Any]:
    return {
        "id": content_hash(candidate.query, candidate.answer, length=10),
        "query": candidate.query,
        "relevant": list(dict.fromkeys(documents[unit] for unit in candidate.text_unit_ids)),
        "answer": candidate.answer,
        "language": candidate.language,
        "type": candidate.type,
        "hops": candidate.hops,
        "text_units": list(candidate.text_unit_ids),
    }
