"""The files that a question names, and the question without their names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from graphkb.text.asked_page import asked_pages, asked_rows
from graphkb.text.language import HAN
from graphkb.text.names import fold_file_name

# No more of a question is looked through.
_LONGEST_QUESTION, _LONGEST_NAME = 400, 120
_KEPT_QUESTIONS = 256
_SUFFIX = re.compile(r"(?<=[^\s.])\.[A-Za-z0-9]{1,8}(?![A-Za-z0-9_]|[.\-/][A-Za-z0-9])")
_INNER = re.compile(r"[A-Za-z0-9_.\-/]")
_WORD_START = re.compile(rf"(?<![A-Za-z0-9_.\-/])(?=[A-Za-z0-9])|(?=[{HAN}])")
_WORD_END = re.compile(
    rf"(?<=[A-Za-z0-9])(?![A-Za-z0-9_]|[.\-/][A-Za-z0-9])|(?<=[{HAN}])|(?<=[)）])"
)
# Words beside a name that say that a file is meant: the file pumps, 《手册》, 附件手册.
_FILE_BEFORE = re.compile(
    r"(?:\b(?:files?|documents?|attachment|workbook|spreadsheet)\s+(?:called\s+|named\s+)?"
    r"|(?:文件|文档|附件|工作簿|表格)\s*(?:名为|叫)?)[“\"'‘「《]?\Z",
    re.IGNORECASE,
)
_FILE_BEHIND = re.compile(
    r"[”\"'’」》]?(?:\s*(?:这个|这份|这)?(?:文件|文档|附件|工作簿)"
    r"|\s+(?:file|document|attachment|workbook|spreadsheet)\b)",
    re.IGNORECASE,
)
_TITLED = re.compile(r"《\Z"), re.compile("》")
_SIGNS = (
    _SUFFIX,
    re.compile("《"),
    re.compile(r"\b(?:files?|documents?|attachment|workbook|spreadsheet)\b", re.IGNORECASE),
    re.compile("文件|文档|附件|工作簿|表格"),
)
# A stem that is no word of a text: of three parts or more, or with a number and six characters.
_DISTINCTIVE = re.compile(
    rf"(?=.{{6,}}\Z)(?=.*\d)(?=.*[a-z{HAN}]).*|[^\W_]+(?:[_\-][^\W_]+){{2,}}", re.DOTALL
)
# What goes with a name when it is taken out: in the file X, 《X》这份文件.
_WITH_NAME = re.compile(
    r"(?:\b(?:according to|in|of|from|by)\s+)?(?:\bthe\s+)?"
    r"(?:\b(?:files?|documents?|attachment|workbook|spreadsheet)\s+(?:called\s+|named\s+)?)?"
    r"(?:根据|按照|依据)?(?:(?:文件|文档|附件|工作簿|表格)\s*(?:名为|叫)?)?"
    r"[“\"'‘「《]?\0[”\"'’」》]?"
    r"(?:\s+(?:file|document|attachment|workbook|spreadsheet)\b"
    r"|\s*(?:这个|这份|这)?(?:文件|文档|附件|工作簿))?",
    re.IGNORECASE,
)
# What the question says of a file, not of what it is asked for: what does X say about …?
_SAYS = re.compile(
    r"\b(?:what\s+)?(?:does|do|did)\s+(?:it\s+)?(?:say|tell|mention|state|write|read)\b"
    r"(?:\s+(?:me|us))?(?:\s+(?:about|on|regarding)\b)?"
    r"|\b(?:what\s+)?(?:is|are|was|were)\s+(?:said|told|mentioned|written)\b(?:\s+(?:about|on)\b)?"
    r"|\bsays?\s+(?:about|on|regarding)\b"
    r"|(?:里面|里|中|上)?(?:是)?(?:怎么|如何)?[说讲写提](?:(?:了|到了?|过)(?:什么|哪些|啥)?|的?(?:什么|哪些|啥))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class NamedFiles:
    """``names`` as they are written in the question, the documents that have them, and the
    ``rest`` of the question, which may be empty. Not ``sure`` are names without a suffix, which
    may mean something else. ``pages`` and ``rows`` are those of it that the question asks for
    by number (:mod:`graphkb.text.asked_page`), which is not in the rest."""

    names: tuple[str, ...]
    document_ids: frozenset[str]
    rest: str
    sure: bool = True
    pages: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()


def may_name_a_file(question: str) -> bool:
    """Whether a question looks as if it named a file: by a suffix, or a word such as file, or a
    title in brackets beside it. Distinctive stems may be named without."""
    return any(sign.search(question) for sign in _SIGNS)


def is_meant_as_file(question: str, start: int, end: int) -> bool:
    """Whether what stands beside a part of a question says that it is a file."""
    before, behind = question[:start], question[end:]
    return bool(
        (_TITLED[0].search(before) and _TITLED[1].match(behind))
        or _FILE_BEFORE.search(before)
        or _FILE_BEHIND.match(behind)
    )


class FileNames:
    """The names of all files of a version, folded."""

    def __init__(self, paths: Iterable[tuple[str, str]], folder: str = "") -> None:
        """``paths`` are (document id, path), several documents may share one; the input ``folder``
        that they are in may be written before them, whole or its last parts."""
        parts = fold_file_name(folder).split("/")
        self._folders = ["/".join([*parts[at:], ""]) for at in range(len(parts)) if any(parts[at:])]
        self._ids: dict[str, list[str]] = {}
        for document_id, path in paths:
            self._ids.setdefault(path, []).append(document_id)
        self._paths = list(self._ids)
        # One by one this would take seconds for a hundred thousand.
        folded = fold_file_name("\n".join(self._paths)).split("\n")
        if len(folded) != len(self._paths):
            folded = [fold_file_name(path) for path in self._paths]
        self._folded = folded
        self._names: dict[str, list[int]] = {}
        self._stems: dict[str, list[int]] = {}
        for place, path in enumerate(folded):
            name = path.rpartition("/")[2]
            self._names.setdefault(name, []).append(place)
            self._stems.setdefault(name.rpartition(".")[0] or name, []).append(place)
        self._sizes = sorted(
            size for size in set(map(len, self._stems)) if 1 < size <= _LONGEST_NAME
        )
        # A question is routed, searched for, weighed and quoted for.
        self._named = lru_cache(_KEPT_QUESTIONS)(self._look_for)

    def _of(self, places: Iterable[int]) -> set[str]:
        return {one for place in places for one in self._ids[self._paths[place]]}

    def _with_name(self, written: str) -> set[str]:
        """Documents whose path is, or ends with, what is written."""
        places = self._names.get(written.rpartition("/")[2], ())
        if "/" in written:
            places = [p for p in places if f"/{self._folded[p]}".endswith(f"/{written}")]
        return self._of(places)

    def _with_stem(self, written: str) -> set[str]:
        """The documents of the one file with this stem: of README.md in twenty folders it tells
        nothing."""
        places = self._stems.get(written, ())
        return self._of(places) if len(places) == 1 else set()

    def with_stem_of(self, name: str) -> list[str]:
        """Paths of the files, at most three, that are called like ``name`` but for the suffix."""
        stem = fold_file_name(name).rpartition("/")[2].rpartition(".")[0]
        return [self._paths[place] for place in self._stems.get(stem, ())[:3]]

    def named_in(self, question: str) -> NamedFiles | None:
        """The files that a question names, or None: by file name or path, or by a stem that can
        be nothing else, or beside which it says that a file is meant."""
        return self._named(question)

    def _look_for(self, question: str) -> NamedFiles | None:
        # Letters whose accents are characters of their own, as in names from a Mac, have one less.
        question = unicodedata.normalize("NFC", question)
        head = question[:_LONGEST_QUESTION]
        folded = fold_file_name(head)
        if len(folded) != len(head):
            each = ((sign, fold_file_name(sign)) for sign in head)
            folded = "".join(one if len(one) == 1 else sign for sign, one in each)
        spans: dict[tuple[int, int], set[str]] = {}
        for start, end, ids in (*self._whole_names(folded), *self._stems_in(head, folded)):
            if not any(start < b and a < end for a, b in spans):
                spans[start, end] = ids
        if not spans:
            return None
        places = sorted(spans)
        rest, at = [], 0
        for start, end in places:
            rest.append(head[at:start])
            at = end
        left = _SAYS.sub(" ", _WITH_NAME.sub(" ", "\0".join([*rest, question[at:]])))
        pages, left = asked_pages(left)
        rows, left = asked_rows(left)
        return NamedFiles(
            tuple(head[start:end] for start, end in places),
            frozenset().union(*spans.values()),
            " ".join(left.split()),
            sure=any(_SUFFIX.search(head, *span) for span in places),
            pages=pages,
            rows=rows,
        )

    def _whole_names(self, folded: str) -> Iterator[tuple[int, int, set[str]]]:
        """Names with their suffix, each the longest that ends there."""
        for match in _SUFFIX.finditer(folded):
            end = match.end()
            if found := self._in_folder(folded, match.start(), end):
                yield found
                continue
            for start in range(max(0, end - _LONGEST_NAME), match.start()):
                if _WORD_START.match(folded, start) and (ids := self._with_name(folded[start:end])):
                    yield start, end, ids
                    break

    def _in_folder(self, folded: str, dot: int, end: int) -> tuple[int, int, set[str]] | None:
        """A path with the input folder before it: input/manual.pdf."""
        for folder in self._folders:
            start = folded.rfind(folder, max(0, end - _LONGEST_NAME - len(folder)), dot)
            if start >= 2 and folded[start - 2 : start] in ("~/", "./"):
                start -= 2
            if start < 0 or (_INNER.match(folded[max(0, start - 1)]) and start):
                continue
            path = folded[start:end].partition(folder)[2]
            if ids := self._with_name(path):
                return start, end, ids
        return None

    def _stems_in(self, question: str, folded: str) -> Iterator[tuple[int, int, set[str]]]:
        """Stems, the longest first."""
        starts = [match.start() for match in _WORD_START.finditer(folded)]
        ends = {match.end() for match in _WORD_END.finditer(folded)}
        found = [
            (start, start + size, ids)
            for start in starts
            for size in self._sizes
            if start + size in ends and (ids := self._with_stem(folded[start : start + size]))
        ]
        for start, end, ids in sorted(found, key=lambda one: (one[0] - one[1], one[0])):
            if _DISTINCTIVE.fullmatch(folded, start, end) or is_meant_as_file(question, start, end):
                yield start, end, ids
