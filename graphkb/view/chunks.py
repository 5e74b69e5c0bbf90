"""Text units of a file as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphkb.text.sheets import has_slides
from graphkb.view.answer import sheets_text
from graphkb.view.terminal import one_line

_SHOWN = 160


def unit_lines(
    unit: Mapping[str, Any],
    whole: bool,
    bold: Callable[[str], str] = str,
    dim: Callable[[str], str] = str,
) -> list[str]:
    """A line of place, span, tokens and kind, then context and text; ``whole``: all of the text.

    >>> unit_lines({"index": 0, "kind": "prose", "n_tokens": 3, "char_start": 0, "char_end": 9,
    ...     "page_start": 2, "page_end": 3, "context": "T", "text": "Hi there.", "path": "a.md"},
    ...     False)
    ['a.md #0  prose  3 tokens  0-9  pages 2-3', '  T', '  Hi there.', '']
    """
    first, last = unit["page_start"], unit["page_end"]
    page = sheets_text(unit.get("sheets") or (), unit.get("row"), unit.get("row_end"))
    if not page and first is not None:
        name = "slide" if has_slides(unit["path"]) else "page"
        page = f"{name} {first}" if first == last else f"{name}s {first}-{last}"
    page = page and f"  {one_line(page)}"
    facts = f"{unit['n_tokens']} tokens  {unit['char_start']}-{unit['char_end']}{page}"
    head = bold(f"{one_line(unit['path'])} #{unit['index']}  {unit['kind']}") + f"  {facts}"
    context = [dim(f"  {one_line(line)}") for line in unit["context"].split("\n") if line]
    if whole:
        text = [f"  {one_line(line)}" for line in unit["text"].split("\n")]
    else:
        said = " ".join(unit["text"].split())
        text = [f"  {one_line(said[:_SHOWN])}{'…' if len(said) > _SHOWN else ''}"]
    return [head, *context, *text, ""]
