"""What reading files costs: seconds, CPU seconds of all processes, and the most memory of them.

    python benchmarks/files.py [--long]

Files are made for it: PDFs of text and tables (shared by workers and read by one), small Word files
(read by workers and in this process), Markdown and rows. ``--long`` adds a PDF of 1,000 pages,
which must not need much more memory than one of 100. The bars: 100 pages of PDF in 20 s on 2 cores,
500 MB whatever the length.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import docx
from reportlab.pdfgen.canvas import Canvas

WORDS = "pump station valve report Bergen pressure meter annual plan water service line".split()
# In a process of its own, so that the memory of one measurement is not that of another.
CPU = """
import json, os, resource, sys, time
def cpu_seconds():
    return sum(os.times()[:4])
"""
READ = """
from pathlib import Path
from graphkb.ingest.isolate import read_files
from graphkb.ingest.read import list_files, read_file
from graphkb.settings_input import Input
options = Input(gitignore=False)
files = list_files(Path(sys.argv[1]), options)
started, cpu = time.perf_counter(), cpu_seconds()
if sys.argv[2] == "one":
    from graphkb.ingest import isolate
    isolate._MOST_PROCESSES = 1
if sys.argv[2] == "here":
    readings = [read_file(file, options) for file in files]
else:
    readings = read_files(files, options)
seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu
kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
unit = 1e6 if sys.platform == "darwin" else 1e3
most = [resource.getrusage(kind).ru_maxrss / unit for kind in kinds]
documents = sum(len(reading.records) for reading in readings)
print(json.dumps([documents, seconds, cpu, *most]))
"""
NEAR = """
from pathlib import Path
from graphkb.ingest.duplicates import near_duplicates
texts = [path.read_text("utf-8") for path in sorted(Path(sys.argv[1]).iterdir())]
started, cpu = time.perf_counter(), cpu_seconds()
found = near_duplicates(texts)
seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
print(json.dumps([len(found), seconds, cpu, most, 0]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--long", action="store_true", help="also a PDF of 1,000 pages")
    options = parser.parse_args()
    measured: list[tuple[str, str, Callable[[Path], None], str]] = [
        ("PDF, 100 pages", READ, lambda folder: _pdf(folder, 100), "workers"),
        ("PDF, 100 pages, one worker", READ, lambda folder: _pdf(folder, 100), "one"),
        ("100 Word files", READ, lambda folder: _word(folder, 100), "workers"),
        ("100 Word files, not isolated", READ, lambda folder: _word(folder, 100), "here"),
        ("one HTML file (a worker's start)", READ, _html, "workers"),
        ("6,000 Markdown files", READ, lambda folder: _markdown(folder, 6000), "workers"),
        ("6,000 rows", READ, lambda folder: _rows(folder, 6000), "workers"),
        ("near-duplicates of 6,000 texts", NEAR, lambda folder: _markdown(folder, 6000), ""),
    ]
    if options.long:
        measured.insert(1, ("PDF, 1,000 pages", READ, lambda folder: _pdf(folder, 1000), "workers"))
    print("| read | documents | seconds | CPU seconds | MB here | MB in a worker |")
    print("|---|---|---|---|---|---|")
    for name, program, make, how in measured:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder))
            done = subprocess.run(
                [sys.executable, "-c", CPU + program, folder, how], capture_output=True, check=True
            )
            count, seconds, cpu, here, worker = json.loads(done.stdout)
            spent = f"{seconds:.1f} | {cpu:.1f} | {here:.0f} | {worker:.0f}"
            print(f"| {name} | {count} | {spent} |", flush=True)


def _sentence(chance: random.Random, length: int) -> str:
    return " ".join(chance.choices(WORDS, k=length)).capitalize() + "."


def _pdf(folder: Path, pages: int) -> None:
    chance = random.Random(1)
    packed = io.BytesIO()
    canvas = Canvas(packed, invariant=1)
    for page in range(pages):
        canvas.setFont("Helvetica", 10)
        canvas.drawString(60, 800, f"Annual report, part {page // 10}")
        for line in range(40):
            canvas.drawString(60, 770 - 13 * line, _sentence(chance, 12)[:95])
        canvas.grid([60, 160, 260, 360], [60, 80, 100, 120, 140])
        for row in range(4):
            for column in range(3):
                canvas.drawString(64 + 100 * column, 66 + 20 * row, f"{row}.{column} kPa {page}")
        canvas.drawString(280, 30, f"Page {page + 1}")
        canvas.showPage()
    canvas.save()
    (folder / "report.pdf").write_bytes(packed.getvalue())


def _word(folder: Path, files: int) -> None:
    chance = random.Random(2)
    for number in range(files):
        document = docx.Document()
        document.add_heading(f"Report {number}", 1)
        for _ in range(10):
            document.add_paragraph(_sentence(chance, 30) + "泵站运行正常。")
        document.save(folder / f"{number}.docx")


def _html(folder: Path) -> None:
    (folder / "page.html").write_text("<h1>Pump</h1><p>泵站 station</p>", "utf-8")


def _markdown(folder: Path, files: int) -> None:
    chance = random.Random(3)
    for number in range(files):
        text = f"# Note {number}\n\n{_sentence(chance, 90)}\n"
        (folder / f"{number:05}.md").write_text(text, "utf-8")


def _rows(folder: Path, rows: int) -> None:
    chance = random.Random(4)
    lines = (json.dumps({"id": number, "text": _sentence(chance, 90)}) for number in range(rows))
    (folder / "rows.jsonl").write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main()
