"""Questions with known answers, made from the documents of a knowledge base.

By patterns over sentences, tables and headings; with a model also by the model, one call a text
unit. What can be understood only with its document at hand is left out, and so is what another
sentence of the collection may answer otherwise: fewer questions that hold are worth more.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
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
    tells,
    without_rivals,
)
from graphkb.evaluate.facts import Fact, Name, sentences_of
from graphkb.evaluate.facts_en import english_facts
from graphkb.evaluate.facts_zh import chinese_facts
from graphkb.evaluate.labels import label_facts
from graphkb.evaluate.order import chosen_evenly
from graphkb.evaluate.pairs import paired
from graphkb.evaluate.patterns_en import english_patterns
from graphkb.evaluate.patterns_zh import chinese_patterns
from graphkb.evaluate.questions import DocumentNames
from graphkb.evaluate.resample import SEED
from graphkb.evaluate.unique import is_unique, stands_alone
from graphkb.evaluate.wellformed import reads_well
from graphkb.evaluate.write import written_questions
from graphkb.query.candidates import stems_of
from graphkb.search.snapshot import Snapshot
from graphkb.tables import content_hash
from graphkb.text.language import HAN, has_han
from graphkb.text.names import fold, name_key
from graphkb.types import Progress, no_progress

if TYPE_CHECKING:
    from graphkb.llm.model import Model

# Text units that a model is shown for each question wanted.
_READ = 2
# Cells of tables are easy to ask for and come in great numbers.
_MOST_TABLES = 0.4
# Kinds whose answer other sentences may go on with, but not contradict.
_OPEN = ("definition", "relation", "why")
_ENGLISH = (english_facts, english_patterns, label_facts)
_CHINESE = (chinese_facts, chinese_patterns, label_facts)
_QUOTED = re.compile(r"[《“][^》”]*[》”]")
# One question in so many, and at least two, may be the same but for the title in it.
_ALIKE = 20
# Titles that a question can quote: not names of files, not whole sentences.
_TITLE = re.compile(
    rf"(?=.*(?:[{HAN}].*[{HAN}]|[A-Za-z]{{2}}.* .*[A-Za-z]))[^《》“”\"\n|]{{4,60}}(?<![。.!?！？])"
)


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
    """At most ``n`` questions: documents evenly, and kinds and languages by turns; the same for
    the same ``seed``.

    Each row has ``id``, ``query``, ``relevant`` (paths of documents, which outlast an edit; ids of
    those that share a file), ``answer``, ``language``, ``type``, ``hops`` and ``text_units``. A
    question with two hops needs text of two text units.
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
    names = _lasting_names(snapshot)
    accept = _Accepted(snapshot, n)
    rows: list[dict[str, Any]] = []
    for candidate in chosen_evenly(
        found,
        lambda candidate: documents[candidate.text_unit_ids[-1]],
        lambda candidate: not _quotes_title(candidate, documents, titles),
        accept,
        n,
        seed,
    ):
        rows.append(_row(candidate, documents, names))
        progress("questions", len(rows), n)
    return Generated(tuple(rows), len(found), accept.ambiguous, failures)


class _Accepted:
    """Takes candidates that hold. Cells of tables make up no more than their share, and none asks
    for what another asked in nearly the same words."""

    def __init__(self, snapshot: Snapshot, n: int) -> None:
        self._snapshot, self._n = snapshot, n
        self._tables = 0
        self._asked: dict[str, list[frozenset[str]]] = defaultdict(list)
        self._alike: Counter[str] = Counter()
        self._most_alike = max(2, n // _ALIKE)
        self.ambiguous = 0

    def __call__(self, candidate: Candidate) -> bool:
        words = stems_of(candidate.query, self._snapshot.dictionary)
        asked = self._asked[candidate.answer]
        if any(2 * len(words & other) > len(words | other) for other in asked):
            return False
        # The same of several documents: 《甲》的负责人是谁？《乙》的负责人是谁？
        alike = name_key(_QUOTED.sub("", candidate.query))
        if self._alike[alike] >= self._most_alike:
            return False
        if candidate.type == TABLE and self._tables >= _MOST_TABLES * self._n:
            return False
        if not _holds(self._snapshot, candidate):
            self.ambiguous += 1
            return False
        self._tables += candidate.type == TABLE
        asked.append(words)
        self._alike[alike] += 1
        return True


def _candidates(snapshot: Snapshot, units: pl.DataFrame) -> list[Candidate]:
    names, titles = _names(snapshot), _telling_titles(snapshot)
    facts: list[Fact] = []
    others: list[Candidate] = []
    for row in units.iter_rows(named=True):
        if row["kind"] not in ("prose", "table"):
            continue
        others += table_questions(row["text"], row["id"])
        others += heading_questions(row["text"], row["id"])
        for sentence in sentences_of(
            row["text"],
            names.get(row["id"], []),
            row["id"],
            row["document_id"],
            titles.get(row["document_id"], ""),
        ):
            for make in _CHINESE if has_han(sentence.text) else _ENGLISH:
                facts += make(sentence)
    alone = [
        fact
        for fact in facts
        if stands_alone(fact.query, fact.answer, fact.language)
        and reads_well(fact.query, fact.language)
    ]
    made = without_rivals([*map(of_fact, alone), *others, *chained(alone), *paired(alone)])
    return list(filter(tells, made))


def _telling_titles(snapshot: Snapshot) -> dict[str, str]:
    """Titles by document, of those that no other document has and that read like one."""
    rows = list(snapshot.store.read("documents", ("id", "title")).iter_rows())
    counts = Counter(fold(title or "") for _, title in rows)
    return {
        document: title
        for document, title in rows
        if title and counts[fold(title)] == 1 and _TITLE.fullmatch(title)
    }


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
    if not candidate.links:
        if not stands_alone(candidate.query, candidate.answer, candidate.language):
            return False
        unit = candidate.text_unit_ids[0]
        rivals = candidate.type not in _OPEN
        return is_unique(snapshot, candidate.query, candidate.answer, unit, rivals=rivals)
    linked = zip(candidate.links, candidate.text_unit_ids, strict=True)
    return all(is_unique(snapshot, query, answer, unit) for (query, answer), unit in linked)


def _quotes_title(candidate: Candidate, documents: dict[str, str], titles: dict[str, str]) -> bool:
    query = fold(candidate.query)
    own = (fold(titles.get(documents[unit]) or "") for unit in candidate.text_unit_ids)
    return any(title and title in query for title in own)


def _lasting_names(snapshot: Snapshot) -> dict[str, str]:
    """What evaluation finds each document by: its path where no other has it, else its id, which
    is of its content."""
    paths = dict(snapshot.store.read("documents", ("id", "path")).iter_rows())
    names = DocumentNames((document, path, "") for document, path in paths.items())
    return {
        document: path if names.find(path) == [document] else document
        for document, path in paths.items()
    }


def _row(candidate: Candidate, documents: dict[str, str], names: dict[str, str]) -> dict[str, Any]:
    relevant = (names[documents[unit]] for unit in candidate.text_unit_ids)
    return {
        "id": content_hash(candidate.query, candidate.answer, length=10),
        "query": candidate.query,
        "relevant": list(dict.fromkeys(relevant)),
        "answer": candidate.answer,
        "language": candidate.language,
        "type": candidate.type,
        "hops": candidate.hops,
        "text_units": list(dict.fromkeys(candidate.text_unit_ids)),
    }
