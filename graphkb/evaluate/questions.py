"""Evaluation questions: one JSON object a line, with the documents that answer it.

=============  ==================================================================================
key            meaning
=============  ==================================================================================
``query``      the question; the only key that every line needs
``id``         text or number; the line number stands in for it (``line 3`` where another
               question is called 3)
``relevant``   documents by id, path or title; ``[]`` marks a question the documents do not answer
``answer``     the right answer, or a list of right ones; ``answer_aliases`` adds further ones
``hops``       documents the answer is put together from; else the number of relevant documents
``language``   ISO 639-1; else found from the question
``type``       a kind of your own, for the breakdown
=============  ==================================================================================

Other keys are ignored.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphkb.errors import InputError, UsageError
from graphkb.types import Refused

# Begins the key of a relevant item that names no document.
UNMATCHED = "unmatched:"


@dataclass(frozen=True)
class Question:
    """A question and what answers it: document ids, paths or titles as the file gives them.

    ``answers`` are the right answers, any of which will do; ``hops`` is 0 and ``language`` and
    ``type`` are empty where the file says nothing. ``unanswerable`` when the file says so, by
    an empty list of relevant documents.
    """

    id: str
    query: str
    relevant: tuple[str, ...]
    answers: tuple[str, ...] = ()
    hops: int = 0
    language: str = ""
    type: str = ""
    unanswerable: bool = False


@dataclass(frozen=True)
class QuestionSet:
    """The questions of one file, and the lines that were not taken (``where`` is file:line)."""

    questions: tuple[Question, ...]
    refused: tuple[Refused, ...] = ()


def read_questions(path: Path) -> QuestionSet:
    """Questions of a jsonl file, ``{"id": …, "query": …, "relevant": [document, …]}`` a line.

    Null entries of ``relevant`` are dropped. Raises UsageError when the file cannot be read,
    InputError when no line of it is usable.
    """
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; give a questions file in JSON lines") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    questions: dict[int, Question] = {}
    unnamed: list[int] = []
    taken: set[str] = set()
    refused = []
    # Not splitlines(): U+2028 may stand inside a JSON string.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            question, is_named = _parse(line)
            if is_named and question.id in taken:
                raise InputError(f"id {question.id!r} is taken by an earlier line")
        except InputError as error:
            refused.append(Refused(f"{path}:{number}", str(error)))
            continue
        questions[number] = question
        if is_named:
            taken.add(question.id)
        else:
            unnamed.append(number)
    for number in unnamed:
        questions[number] = replace(questions[number], id=_free(str(number), taken))
    if not questions:
        what = f"{refused[0].where}: {refused[0].reason}" if refused else f"{path}: empty file"
        raise InputError(
            f'{what}; a line looks like {{"id": "1", "query": "…", "relevant": ["title"]}}'
        )
    return QuestionSet(tuple(questions.values()), tuple(refused))


def question_set_of(questions: str | Path | QuestionSet) -> QuestionSet:
    """The questions themselves, or those of a file."""
    return questions if isinstance(questions, QuestionSet) else read_questions(Path(questions))


def _free(name: str, taken: Collection[str]) -> str:
    """A line number as an id that no question of the file was given."""
    while name in taken:
        name = f"line {name}"
    return name


def _parse(line: str) -> tuple[Question, bool]:
    """One line as a question, and whether it has an id; InputError says what is wrong with it."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        # A number with thousands of digits; what follows is advice to programmers.
        raise InputError(f"not usable JSON: {str(error).partition(';')[0]}") from None
    except RecursionError:
        raise InputError("not usable JSON: nested too deeply") from None
    if not isinstance(row, dict):
        raise InputError(f"expected an object, found {line.strip()[:60]}")
    query = row.get("query")
    if not isinstance(query, str) or not query.strip():
        keys = _whole(", ".join(row)) or "none"
        raise InputError(f"no text under 'query' (keys: {keys})")
    identity = row.get("id")
    if isinstance(identity, bool) or not isinstance(identity, str | int | None):
        raise InputError(f"'id' must be text or a number, found {identity!r}")
    question = Question(
        id="" if identity is None else str(identity),
        query=query,
        relevant=_relevant(row),
        answers=_answers(row),
        hops=_hops(row),
        language=_word(row, "language"),
        type=_word(row, "type"),
        unanswerable=row.get("relevant") == [],
    )
    texts = (question.id, query, *question.relevant, *question.answers)
    for text in (*texts, question.language, question.type):
        if text != _whole(text):
            raise InputError(f"half a character in {_whole(text)[:60]}; write it whole, as UTF-8")
    return question, identity is not None


def _whole(text: str) -> str:
    """``text`` with lone surrogates, which no file can hold, written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _answers(row: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for key in ("answer", "answer_aliases"):
        value = row.get(key)
        items = value if isinstance(value, list) else [] if value is None else [value]
        for item in items:
            if isinstance(item, bool) or not isinstance(item, str | int | float):
                raise InputError(f"{key!r} must be text or a list of texts, found {value!r}")
            found.append(str(item).strip())
    return tuple(dict.fromkeys(text for text in found if text))


def _hops(row: Mapping[str, Any]) -> int:
    hops = row.get("hops")
    if hops is None:
        return 0
    if isinstance(hops, bool) or not isinstance(hops, int) or hops < 1:
        raise InputError(f"'hops' must be a whole number from 1, found {hops!r}")
    return hops


def _word(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{key!r} must be text, found {value!r}")
    return (value or "").strip()


def _relevant(row: Mapping[str, Any]) -> tuple[str, ...]:
    relevant = row.get("relevant")
    items = [relevant] if isinstance(relevant, str) else [] if relevant is None else relevant
    if not isinstance(items, list):
        raise InputError(f"'relevant' must be a list, found {relevant!r}")
    for item in items:
        if isinstance(item, bool) or not isinstance(item, str | int | None):
            raise InputError(f"'relevant' holds {item!r}; give document ids, paths or titles")
    return tuple(dict.fromkeys(str(item) for item in items if item is not None))


@dataclass(frozen=True)
class Judgement:
    """The relevant documents of one question, found in a knowledge base.

    ``document_item`` maps each document that satisfies an item to that item's key (a document id),
    so that any of several documents with the same title counts, and counts once. ``relevant`` are
    the keys, ``unmatched`` the items that name no document; those stay in ``relevant`` under their
    own text, because evidence that is not in the knowledge base cannot be retrieved.
    """

    document_item: Mapping[str, str]
    labels: Mapping[str, str]
    unmatched: tuple[str, ...]

    @property
    def relevant(self) -> tuple[str, ...]:
        return tuple(self.labels)


class DocumentNames:
    """Finds documents by id, else by path, else by title (which several may share)."""

    def __init__(self, documents: Iterable[tuple[str, str, str]]) -> None:
        """``documents`` are (id, path, title), once for each path; an empty name is none."""
        self._by: tuple[dict[str, list[str]], ...] = ({}, {}, {})
        for document_id, path, title in documents:
            for names, name in zip(self._by, (document_id, path, title), strict=True):
                if name:
                    names.setdefault(_normal(name), []).append(document_id)

    def find(self, name: str) -> list[str]:
        """Document ids that ``name`` stands for; empty when it names none."""
        key = _normal(name)
        return next((names[key] for names in self._by if key in names), [])

    def judge(self, question: Question) -> Judgement:
        """The documents of this knowledge base that answer ``question``."""
        document_item: dict[str, str] = {}
        labels: dict[str, str] = {}
        unmatched = []
        for item in question.relevant:
            found = self.find(item)
            if not found:
                unmatched.append(item)
            # Items that share a document are one piece of evidence.
            taken = (document_item[document] for document in found if document in document_item)
            key = next(taken, found[0] if found else f"{UNMATCHED}{item}")
            labels.setdefault(key, item)
            for document in found:
                document_item.setdefault(document, key)
        return Judgement(document_item, labels, tuple(unmatched))


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip()
