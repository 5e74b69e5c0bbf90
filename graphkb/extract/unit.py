"""Offline extraction of one text unit: its names, what connects them, and its claims."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from graphkb.extract import aliases, claims, context, cues, han, kinds, latin
from graphkb.extract.rows import TableRow, is_name, is_value, tables_of, value_claim
from graphkb.text.language import has_han
from graphkb.text.sentences import sentence_spans
from graphkb.text.table_rows import Cell

RELATED = "RELATED"
_MAX_NAME = 120
_MAX_DESCRIPTION = 200
_MAX_TITLE_LINKS = 12
_MAX_TITLE_WORDS = 10
_TABLE_RULE = re.compile(r"\s*\|\s*:?-{2,}")
_SPACES = re.compile(r"\s+")

TermHit = tuple[str, int, int]
"""A term of the corpus and the span at which it stands in the unit's text."""


@dataclass
class Evidence:
    """Rows of the three evidence tables, as tuples in the order of their columns."""

    mentions: list[tuple[str, int, int, str, str, str, str | None]] = field(default_factory=list)
    relationships: list[tuple[str, str, str, str, str, float, bool, int, int]] = field(
        default_factory=list
    )
    claims: list[
        tuple[str, str, str | None, str, str, str, str | None, str | None, str, int, int]
    ] = field(default_factory=list)


@dataclass(frozen=True)
class _Name:
    start: int
    end: int
    name: str
    type: str


def extract_unit(
    unit_id: str, text: str, above: str, hits: list[TermHit], with_claims: bool, into: Evidence
) -> None:
    """Append to ``into`` what one unit says; ``above`` is the unit's context, title first.

    Depends on nothing but its arguments. Sentences are read in order; in each, the document's
    title is taken to be the subject, the other names hang on it (the first strongest) and on
    the name before them. Of a table's rows the key cell is the subject.
    """
    titles = context.title_names(above)
    title = titles[0] if titles and len(titles[0].split()) <= _MAX_TITLE_WORDS else None
    sentences = sentence_spans(text)
    prose = (text[a:b] for a, b in sentences if text[a : a + 1] not in "#|" and b - a > 3)
    _add_titles(unit_id, titles, next(prose, ""), into)
    for heading in context.parts(above)[1:]:
        for name in _names(heading, [], text):
            into.mentions.append((unit_id, -1, -1, name.name, name.name, name.type, None))
    position = 0
    hits = sorted(hits, key=lambda hit: hit[1])
    tables = tables_of(text, above)
    for row in tables.rows:
        in_row = [(t, a - row.start, b - row.start) for t, a, b in hits
                  if a >= row.start and b <= row.end]  # fmt: skip
        _add_row(unit_id, text, row, in_row, title, with_claims, into)
    taken = [*tables.headers, *((row.start, row.end) for row in tables.rows)]
    for number, (start, end) in enumerate(_outside(sentences, taken)):
        inside: list[TermHit] = []
        while position < len(hits) and hits[position][1] < end:
            term, a, b = hits[position]
            if a >= start and b <= end:
                inside.append((term, a - start, b - start))
            position += 1
        sentence = text[start:end]
        header = _TABLE_RULE.match(text, end) is not None
        names = [] if header else _names(sentence, inside, text)
        _add_mentions(unit_id, start, sentence, names, title if number == 0 else None, into)
        _add_relationships(unit_id, start, end, sentence, names, title, into)
        if with_claims:
            _add_claim(unit_id, start, end, sentence, names, title, into)


def _outside(
    spans: Sequence[tuple[int, int]], taken: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The spans, ascending, that share nothing with those ``taken``."""
    if not taken:
        return list(spans)
    ordered = sorted(taken)
    starts = [start for start, _ in ordered]
    free = []
    for start, end in spans:
        at = bisect_left(starts, end) - 1
        if at < 0 or ordered[at][1] <= start:
            free.append((start, end))
    return free


def _add_row(
    unit_id: str,
    text: str,
    row: TableRow,
    hits: list[TermHit],
    title: str | None,
    with_claims: bool,
    into: Evidence,
) -> None:
    """The row's key is related to the names in its other cells, by their columns, and has their
    values as claims; what stands in running text in a cell is related to it too."""
    said = text[row.start : row.end]
    names = _names(said, hits, text)
    subject = row.subject
    whole = {row.cells[row.key].start: row.cells[row.key]} if subject else {}
    links: list[tuple[str, str, str, float, bool]] = []
    for column, cell in row.others():
        found = [n for n in names if cell.start <= n.start + row.start < cell.end]
        phrase = _SPACES.sub(" ", f"{subject or title or ''} {column}: {cell.text}").strip()
        phrase = phrase[:_MAX_DESCRIPTION]
        longest = max((n.end - n.start for n in found), default=0)
        if is_name(column, cell.text, named=2 * longest > len(cell.text)):
            whole[cell.start] = cell
            name = _SPACES.sub(" ", cell.text)
            links.append((name, phrase, column or RELATED, 1.0, bool(column)))
        else:
            outer = _outermost(found)[:_MAX_TITLE_LINKS]
            links += [(name.name, phrase, RELATED, 0.5, False) for name in outer]
        if with_claims and (subject or title) and is_value(column, cell.text):
            kind, status, first, last = value_claim(column, cell.text)
            about = (unit_id, subject or str(title), None, kind, phrase, status, first, last)
            into.claims.append((*about, said, row.start, row.end))
    names = _with_cells(names, row, whole)
    _add_mentions(unit_id, row.start, said, names, None, into)
    holder = subject or title
    if title and subject and subject != title:
        phrase = _SPACES.sub(" ", said.strip("| ")).strip()[:_MAX_DESCRIPTION]
        links.append((subject, phrase, RELATED, 0.5, False))
    for target, phrase, kind, weight, directed in links:
        source = title if target == subject else holder
        if source and source != target:
            into.relationships.append(
                (unit_id, source, target, phrase, kind, weight, directed, row.start, row.end)
            )


def _with_cells(names: list[_Name], row: TableRow, whole: Mapping[int, Cell]) -> list[_Name]:
    """The names of a row, with those cells that are names as a whole in place of their parts."""
    spans = [(cell.start - row.start, cell.end - row.start) for cell in whole.values()]
    kept = [n for n in names if not any(a <= n.start and n.end <= b for a, b in spans)]
    for cell, (start, end) in zip(whole.values(), spans, strict=True):
        same = [n.type for n in names if n.start == start and n.end == end]
        name = _SPACES.sub(" ", cell.text)
        kept.append(_Name(start, end, name, same[0] if same else kinds.guess_type(name)))
    return sorted(kept, key=lambda n: (n.start, -n.end))


def _add_titles(unit_id: str, titles: list[str], definition: str, into: Evidence) -> None:
    if not titles:
        return
    kind = kinds.type_of_title(titles[0], definition)
    into.mentions.append((unit_id, -1, -1, titles[0], titles[0], kind, None))
    for short in titles[1:]:
        into.mentions.append((unit_id, -1, -1, short, short, kind, titles[0]))


def _names(sentence: str, hits: list[TermHit], around: str) -> list[_Name]:
    """Names of a sentence by place, longest first at one place; ``around`` is its unit's text."""
    chinese = has_han(sentence)
    spans: dict[tuple[int, int], str] = {}
    if chinese:
        for start, end, flag in han.name_spans(sentence, around):
            spans[start, end] = flag
    for start, end in latin.code_spans(sentence):
        spans.setdefault((start, end), kinds.CODE)
    for start, end in latin.name_spans(sentence):
        spans.setdefault((start, end), "")
    if not chinese:
        for start, end in latin.quoted_spans(sentence):
            spans.setdefault((start, end), "")
    for _, start, end in hits:
        spans.setdefault((start, end), "")
    names = []
    reach = 0
    for (start, end), flag in sorted(spans.items(), key=lambda item: (item[0][0], -item[0][1])):
        name = _SPACES.sub(" ", sentence[start:end]).strip()
        if 1 < len(name) <= _MAX_NAME and any(map(str.isalpha, name)):
            kind = flag if flag.isupper() else kinds.guess_type(name, flag)
            if kind == kinds.TERM and start >= reach:  # what stands by a part is about the whole
                kind = cues.type_in_context(sentence, start, end) or kind
            names.append(_Name(start, end, name, kind))
            reach = max(reach, end)
    return names


def _add_mentions(
    unit_id: str,
    offset: int,
    sentence: str,
    names: list[_Name],
    defined: str | None,
    into: Evidence,
) -> None:
    """Mentions of one sentence; ``defined`` is the title when this is the unit's first one."""
    spans = [(name.start, name.end) for name in names]
    second: dict[tuple[int, int], str] = {}
    for first, alias in aliases.alias_pairs(sentence, spans):
        second[alias] = _SPACES.sub(" ", sentence[slice(*first)])
    if defined and names and _is_full_name(names[0].name, defined):
        second.setdefault((names[0].start, names[0].end), defined)
    for name in names:
        alias_of = second.pop((name.start, name.end), None)
        place = (offset + name.start, offset + name.end)
        into.mentions.append(
            (unit_id, *place, sentence[name.start : name.end], name.name, name.type, alias_of)
        )
    for (start, end), full in sorted(second.items()):
        surface = sentence[start:end]
        into.mentions.append(
            (unit_id, offset + start, offset + end, surface, surface, kinds.guess_type(full), full)
        )


def _is_full_name(name: str, title: str) -> bool:
    """True when a first sentence's first name is the title written out: more words, same ends."""
    words, wanted = name.lower().split(), context.title_names(title)[-1].lower().split()
    return (
        len(words) > len(wanted) >= 2
        and words[0][0].isalpha()
        and words[-1] == wanted[-1]
        and (words[0] == wanted[0] or wanted[0] in words)
    )


def _add_relationships(
    unit_id: str,
    start: int,
    end: int,
    sentence: str,
    names: list[_Name],
    title: str | None,
    into: Evidence,
) -> None:
    """Title to each outermost name, and each outermost name to the next one."""
    outer = _outermost(names)
    best: dict[tuple[str, str], tuple[float, str]] = {}
    place = 0
    for name in outer[:_MAX_TITLE_LINKS]:
        if title and name.name != title:
            phrase = sentence[max(0, name.end - _MAX_DESCRIPTION) : name.end + 60]
            best.setdefault((title, name.name), (1.0 / (1.0 + 0.3 * place), phrase.strip()))
            place += 1
    for left, right in pairwise(outer):
        if left.name != right.name and right.start - left.end <= _MAX_DESCRIPTION:
            pair = (left.name, right.name)
            if pair not in best and pair[::-1] not in best:
                best[pair] = (0.3, sentence[left.start : right.end])
    for (source, target), (weight, phrase) in best.items():
        text = _SPACES.sub(" ", phrase)
        into.relationships.append(
            (unit_id, source, target, text, RELATED, weight, False, start, end)
        )


def _outermost(names: list[_Name]) -> list[_Name]:
    """Names that lie in no other one, in order."""
    kept: list[_Name] = []
    for name in names:
        if not kept or name.start >= kept[-1].end:
            kept.append(name)
    return kept


def _add_claim(
    unit_id: str,
    start: int,
    end: int,
    sentence: str,
    names: list[_Name],
    title: str | None,
    into: Evidence,
) -> None:
    claim = claims.claim_of(sentence)
    outer = _outermost(names)
    if claim is None or not (outer or title):
        return
    subject = title if title and not has_han(sentence) else outer[0].name if outer else title
    if subject is None:
        return
    target = next((name.name for name in outer if name.name != subject), None)
    words = _SPACES.sub(" ", sentence).strip()
    into.claims.append(
        (
            unit_id,
            subject,
            target,
            claim.type,
            words,
            claim.status,
            claim.start_date,
            claim.end_date,
            sentence,
            start,
            end,
        )
    )
