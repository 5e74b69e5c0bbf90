"""What reading files imports: the readers of a format when there is a file of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LATE = ("archive", "docx", "eml", "epub", "html", "image", "ipynb", "office", "pdf", "pptx", "xlsx")
CODE = """
import sys
from pathlib import Path
from graphkb.ingest.isolate import read_files
from graphkb.ingest.read import list_files, read_file
from graphkb.settings_input import Input
late = [f"graphkb.ingest.readers.{name}" for name in sys.argv[2].split()]
plain = [file for file in list_files(Path(sys.argv[1]), Input()) if file.suffix != ".html"]
texts = [reading.records[0].text for reading in read_files(plain, Input())]
assert texts == ["陈明在杭州。", "Ada."]
print(*(name for name in late if name in sys.modules))
page = next(file for file in list_files(Path(sys.argv[1]), Input()) if file.suffix == ".html")
assert "Osprey" in read_file(page, Input()).records[0].text
print(*(name for name in late if name in sys.modules))
"""


def test_plain_text_imports_no_reader_of_another_format(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("陈明在杭州。", "utf-8")
    (tmp_path / "b.md").write_text("Ada.", "utf-8")
    (tmp_path / "c.html").write_text("<p>The Osprey project and who leads it.</p>", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path), " ".join(LATE)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    none, one = done.stdout.splitlines()
    assert none == ""
    assert "graphkb.ingest.readers.html" in one.split()
    assert "graphkb.ingest.readers.pdf" not in one.split()
