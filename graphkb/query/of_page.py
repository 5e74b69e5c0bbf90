"""The pages or rows of a file that a question asks for: page 2 of X.pdf, 第3页, row 20 of X.csv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from graphkb.query.sentences import sentences_of
from graphkb.search.file_names import NamedFiles
from graphkb.search.files import named_files
from graphkb.search.sheets import row_spans, sheet_maps
from graphkb.search.snapshot import Snapshot
from graphkb.text.asked_page import LAST
from graphkb.text.sheets import SPREADSHEET, has_slides
from graphkb.types import Context, Passage

Spans = Mapping[str, Sequence[tuple[int, int]]]

_HAS = {
    "en": {
        "page": "{name} has {n} page{s}: there is no page {asked}.",
        "slide": "{name} has {n} slide{s}: there is no slide {asked}.",
        "sheet": "{name} has {n} sheet{s}: there is no sheet {asked}.",
        "row": "The last row of {name} is {n}: there is no row {asked}.",
        "empty": "{name} has nothing in row {asked}.",
    },
    "zh": {
        "page": "{name} 共 {n} 页，没有第 {asked} 页。",
        "slide": "{name} 共 {n} 张幻灯片，没有第 {asked} 张。",
        "sheet": "{name} 共 {n} 个工作表，没有第 {asked} 个。",
        "row": "{name} 的最后一行是第 {n} 行，没有第 {asked} 行。",
        "empty": "{name} 的第 {asked} 行没有内容。",
    },
}
_JOINED = {"en": ", ", "zh": "、"}


def not_there(snapshot: Snapshot, question: str, language: str) -> str:
    """A sentence for each file that has none of the pages or rows that are asked of it, saying how
    many it has; empty where any file has one, or it is not known."""
    named = named_files(snapshot, question)
    if named is None or not (named.pages or named.rows):
        return ""
    if named.pages:
        return _no_such_page(snapshot, named, language)
    return _no_such_row(snapshot, named, language)


def _no_such_page(snapshot: Snapshot, named: NamedFiles, language: str) -> str:
    if LAST in named.pages:
        return ""
    columns = ("id", "path", "n_pages", "media_type")
    documents = (snapshot.whole or snapshot).store.where(
        "documents", "id", sorted(named.document_ids), columns
    )
    lowest = min(named.pages)
    known = [row for row in documents.iter_rows() if row[2]]
    if len(known) < documents.height or not known or any(n >= lowest for _, _, n, _ in known):
        return ""
    said = []
    for _, path, n, media_type in sorted(known, key=lambda row: row[1]):
        kind = "slide" if has_slides(path) else "sheet" if media_type == SPREADSHEET else "page"
        said.append(_said(kind, path, n, named.pages, language))
    return " ".join(said)


def _no_such_row(snapshot: Snapshot, named: NamedFiles, language: str) -> str:
    maps = sheet_maps(snapshot.whole or snapshot, named.document_ids)
    spans = row_spans(snapshot, named.document_ids, named.rows, named.rest)
    if len(spans) < len(named.document_ids) or any(spans.values()):
        return ""
    last = max(maps[one].last_row for one in spans)
    kind = "row" if min(named.rows) > last else "empty"
    return _said(kind, ", ".join(named.names), last, named.rows, language)


def _said(kind: str, name: str, n: int, asked: Sequence[int], language: str) -> str:
    numbers = _JOINED[language].join(map(str, asked))
    return _HAS[language][kind].format(name=name, n=f"{n:,}", s="s" * (n != 1), asked=numbers)


def with_asked_part(snapshot: Snapshot, question: str, context: Context) -> Context:
    """The context with what stands on those pages or in those rows alone, where the question asks
    for some of files; all of it with a warning where their pages or the numbers of their rows are
    not known."""
    named = named_files(snapshot, question)
    if named is None or not (named.pages or named.rows) or not_there(snapshot, question, "en"):
        return context
    own = [one for one in context.passages if one.document_id in named.document_ids]
    if named.pages:
        context = _on_pages(named, own, context)
    if named.rows:
        own = [one for one in context.passages if one.document_id in named.document_ids]
        context = _in_rows(snapshot, named, own, context)
    return context


def _on_pages(named: NamedFiles, own: Sequence[Passage], context: Context) -> Context:
    paged = [passage for passage in own if passage.page is not None]
    names = ", ".join(named.names)
    if own and not paged:
        return _warned(context, f"the pages of {names} are not known: the answer is from all of it")
    if not paged:
        return context
    last = max(passage.page_end or passage.page or 1 for passage in paged)
    pages = dict.fromkeys(last if page == LAST else page for page in named.pages)
    found = {page: [one for p in paged if (one := narrowed_to(p, page))] for page in pages}
    on_page = tuple(passage for passages in found.values() for passage in passages)
    missing = ", ".join(str(page) for page, passages in found.items() if not passages)
    kind = "slide" if has_slides(paged[0].path) else "page"
    if not on_page:
        return _warned(
            context,
            f"nothing was found on {kind} {missing} of {names}: the answer is from other {kind}s",
        )
    if missing:
        context = _warned(context, f"nothing was found on {kind} {missing} of {names}")
    return replace(context, passages=on_page)


def _in_rows(
    snapshot: Snapshot, named: NamedFiles, own: Sequence[Passage], context: Context
) -> Context:
    spans = row_spans(snapshot, named.document_ids, named.rows, named.rest)
    found = tuple(one for passage in own for one in _rows_of(passage, spans))
    if found:
        return replace(context, passages=found)
    names = ", ".join(named.names)
    return _warned(
        context,
        f"rows of {names} cannot be asked for by their number: it is known for workbooks and CSV "
        "files only; ask for what stands in the row",
    )


def _rows_of(passage: Passage, spans: Spans) -> Iterator[Passage]:
    """The rows of a passage, each under the names of its columns."""
    for start, end in spans.get(passage.document_id, ()):
        first, last = max(start, passage.char_start), min(end, passage.char_end)
        if first < last:
            at = first - passage.char_start
            rows = sentences_of(passage.text, passage.columns)
            names = next((row.header for row in rows if row.start <= at < row.end), ())
            yield replace(passage.narrowed(first, last), columns=names)


def _warned(context: Context, warning: str) -> Context:
    return replace(context, warnings=(*context.warnings, warning))


def narrowed_to(passage: Passage, page: int) -> Passage | None:
    """What of a passage stands on a page; None where nothing does."""
    first = passage.page
    if first is None or not first <= page <= (passage.page_end or first):
        return None
    bounds = (passage.char_start, *passage.page_breaks, passage.char_end)
    start, end = bounds[page - first : page - first + 2]
    text = passage.text[start - passage.char_start : end - passage.char_start]
    start += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    return passage.narrowed(start, end) if start < end else None
