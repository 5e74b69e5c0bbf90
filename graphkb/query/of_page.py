"""The page of a file that a question asks for: page 2 of X.pdf, 第3页, the last slide."""

from __future__ import annotations

from dataclasses import replace

from graphkb.search.files import named_files
from graphkb.search.snapshot import Snapshot
from graphkb.text.asked_page import LAST
from graphkb.text.sheets import has_slides
from graphkb.types import Context, Passage


def with_asked_page(snapshot: Snapshot, question: str, context: Context) -> Context:
    """The context with what stands on that page alone, where the question asks for a page of
    files; all of it with a warning where their pages are not known, or nothing is on that one."""
    named = named_files(snapshot, question)
    if named is None or named.page is None:
        return context
    own = [one for one in context.passages if one.document_id in named.document_ids]
    paged = [passage for passage in own if passage.page is not None]
    names = ", ".join(named.names)
    if own and not paged:
        warning = f"the pages of {names} are not known: the answer is from all of it"
        return replace(context, warnings=(*context.warnings, warning))
    if not paged:
        return context
    page = named.page
    if page == LAST:
        page = max(passage.page_end or passage.page or 1 for passage in paged)
    on_page = tuple(found for one in paged if (found := narrowed_to(one, page)))
    if not on_page:
        kind = "slide" if has_slides(paged[0].path) else "page"
        warning = f"nothing was found on {kind} {page} of {names}: the answer is from other pages"
        return replace(context, warnings=(*context.warnings, warning))
    return replace(context, passages=on_page)


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
