"""What an index run says of files that were read, for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Said of nearly every PDF file; see graphkb.ingest.readers.pdf_notes.
_REMOVED = re.compile(
    r".+?: (removed as headers, footers and page numbers: )(.+) "
    r"\((input\.pdf\.repeated_lines: keep leaves them in)\)"
)


def notice_lines(notices: Sequence[str], verbose: bool = False) -> list[str]:
    """The notices, those on removed headers and footers of several files in one line that says of
    how many; ``verbose`` names each file."""
    found = {
        place: match for place, text in enumerate(notices) if (match := _REMOVED.fullmatch(text))
    }
    if verbose or len(found) < 2:
        return list(notices)
    first = min(found)
    what, texts, hint = found[first].groups()
    others = " and others" if any(match[2] != texts for match in found.values()) else ""
    line = f"{len(found):,} files: {what}{texts}{others} ({hint}; -v names the files)"
    before, after = notices[:first], enumerate(notices[first:], first)
    return [*before, line, *(text for place, text in after if place not in found)]
