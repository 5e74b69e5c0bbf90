"""How a line of Markdown says that it is a heading."""

from __future__ import annotations

from graphkb.text.language import HAN

#: Pattern of the marks before a heading's words. ``##概述`` without a space is common in Chinese
#: Markdown; a single ``#`` without one is a heading where its line is short of a sentence and no
#: hashtag (``#话题#``).
HEADING_MARKS = rf"(?:#{{1,6}}\s+|#{{2,6}}(?=[{HAN}])|#(?=[{HAN}][^#。！？!?]*\Z))"
