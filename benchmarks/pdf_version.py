"""The same documents as text and as PDF: what reading PDF costs retrieval.

    python benchmarks/pdf_version.py [--set sample|netop_zh] [--data FOLDER] [--embed now|off]

Every Markdown or text file of the set is laid out as a PDF (headings by size, tables with rules,
running page numbers); both versions are indexed with the default settings and asked the same
questions. The bar: no measure of the hybrid method falls by more than 0.01. Prints Markdown.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Table, TableStyle
from sets import HERE, prepare, work_folder

from graphkb.errors import GraphkbError
from graphkb.evaluate.questions import read_questions
from graphkb.evaluate.results import Evaluation
from graphkb.evaluate.run import run_evaluation
from graphkb.ingest.blocks import markdown_blocks
from graphkb.project import Project
from graphkb.text.language import has_han
from graphkb.text.table_rows import is_rule, row_cells

METRICS = ("recall@1", "recall@5", "recall@8", "ndcg@8", "mrr")
MOST_LOST = 0.01
_SIZES = {1: 20, 2: 16, 3: 14}
_BODY = 11
_WIDTH = 440
# A cell that is longer than a page cannot be laid out.
_LONGEST_CELL = 150
_LATIN, _HAN = "Helvetica", "STSong-Light"
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_EMPHASIS = re.compile(r"\*\*(.+?)\*\*|`([^`]+)`")
_COMMENT = re.compile(r"<!--.*?-->|<PAGE_DIV>", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", choices=("sample", "netop_zh"), default="sample", dest="name")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument("--embed", choices=("now", "off"), default="now")
    parser.add_argument("--work", type=Path, help="keep the indexes here")
    options = parser.parse_args()
    pdfmetrics.registerFont(UnicodeCIDFont(_HAN))
    try:
        with work_folder(options.work) as work:
            questions = prepare(options.name, options.data, work)
            plain, paged = work / options.name, work / f"{options.name}_pdf"
            print(f"{laid_out(plain / 'input', paged / 'input')} files\n", flush=True)
            rewritten = paged / "queries.jsonl"
            asked = re.sub(r"\.(?:md|txt)(?=\")", ".pdf", questions.read_text("utf-8"))
            rewritten.write_text(asked, "utf-8")
            found = [
                measured(root, file, options.embed)
                for root, file in ((plain, questions), (paged, rewritten))
            ]
    except GraphkbError as error:
        sys.exit(f"error: {error}")
    print(report(*found))


def laid_out(source: Path, target: Path) -> int:
    """Writes each text of ``source`` as a PDF below ``target``; how many."""
    files = [file for file in sorted(source.rglob("*")) if file.suffix in (".md", ".txt")]
    for file in files:
        path = (target / file.relative_to(source)).with_suffix(".pdf")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _COMMENT.sub("", _FRONT.sub("", file.read_text("utf-8-sig")))
        document = SimpleDocTemplate(str(path), title=file.stem, invariant=1)
        document.build(list(flowables(text)), onFirstPage=_number, onLaterPages=_number)
    return len(files)


def flowables(text: str) -> Iterator[Flowable]:
    """The blocks of a Markdown text as they stand on a page."""
    for block in markdown_blocks(text):
        content = text[block.start : block.end].strip()
        if block.kind == "heading":
            yield _paragraph(block.title, _SIZES.get(block.level, 12))
        elif block.kind == "table" and max(map(len, content.split("|"))) <= _LONGEST_CELL:
            yield _table(content)
        elif content:
            for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+[.)])\s)", content):
                yield _paragraph(" ".join(part.split()), _BODY)


def _paragraph(text: str, size: int) -> Paragraph:
    words = _EMPHASIS.sub(lambda match: match.group(1) or match.group(2), text)
    words = re.sub(r"^[-*] ", "• ", words)
    style = ParagraphStyle(
        "text", fontName=_HAN if has_han(words) else _LATIN, fontSize=size, leading=size * 1.35,
        spaceBefore=size * 0.6, spaceAfter=size * 0.3, wordWrap="CJK" if has_han(words) else None,
    )  # fmt: skip
    return Paragraph(html.escape(words) or "&nbsp;", style)


def _table(text: str) -> Table:
    lines = [line for line in text.splitlines() if not is_rule(line)]
    rows = [[cell.text for cell in row_cells(line, 0, len(line))] for line in lines]
    width = max(map(len, rows))
    cells = [[_paragraph(cell, 9) for cell in (*row, *[""] * (width - len(row)))] for row in rows]
    style = TableStyle(
        [("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("LEFTPADDING", (0, 0), (-1, -1), 2),
         ("RIGHTPADDING", (0, 0), (-1, -1), 2)]
    )  # fmt: skip
    return Table(cells, [_WIDTH / width] * width, repeatRows=1, splitInRow=1, style=style)


def _number(canvas: object, document: SimpleDocTemplate) -> None:
    canvas.setFont(_LATIN, 9)  # type: ignore[attr-defined]
    canvas.drawCentredString(300, 30, f"Page {document.page}")  # type: ignore[attr-defined]


def measured(root: Path, questions: Path, embed: str) -> Evaluation:
    with Project(root) as project:
        project.index(embed=embed)
        return run_evaluation(project, read_questions(questions), ks=(1, 5, 8))


def report(plain: Evaluation, paged: Evaluation) -> str:
    """Both versions side by side, by method, and what falls too far."""
    lines = [f"| method | version | {' | '.join(METRICS)} |", "|---|---|" + "---:|" * len(METRICS)]
    lost = []
    for before, after in zip(plain.methods, paged.methods, strict=True):
        for version, result in (("text", before), ("PDF", after)):
            values = " | ".join(f"{result.mean[metric]:.3f}" for metric in METRICS)
            lines.append(f"| {before.method} | {version} | {values} |")
        if before.method == "hybrid":
            lost = [m for m in METRICS if before.mean[m] - after.mean[m] > MOST_LOST]
    lines.append("\nfalls by more than 0.01: " + (", ".join(lost) or "nothing"))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
