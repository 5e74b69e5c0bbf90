"""What nearly every PDF file says takes one line."""

from __future__ import annotations

import pytest

from graphkb.ingest.pdf.document import Pages
from graphkb.ingest.readers.pdf_notes import notes_of
from graphkb.settings_input import Input
from graphkb.view.notices import notice_lines

HINT = "input.pdf.repeated_lines: keep leaves them in"


def removed(path: str, *texts: str) -> str:
    """What the reader says of a file whose running lines were removed."""
    pages = Pages(furniture=list(texts))
    (note,) = notes_of(pages, 3, Input())
    return f"{path}: {note}"


@pytest.mark.parametrize(
    ("other", "said"), [("第 1 页", "'第 1 页'"), ("Page 1", "'第 1 页' and others")]
)
def test_headers_of_several_files_are_one_line(other: str, said: str):
    copy = "副本.md: same content as 报告.md, indexed once"
    notices = [copy, removed("手册.pdf", "第 1 页"), copy, removed("docs.zip/a: b.pdf", other)]
    what = "removed as headers, footers and page numbers"
    assert notice_lines(notices) == [
        copy, f"2 files: {what}: {said} ({HINT}; -v names the files)", copy,
    ]  # fmt: skip
    assert notice_lines(notices, verbose=True) == notices
    assert notice_lines(notices[:3]) == notices[:3], "one file is named"
    assert notice_lines([]) == []
