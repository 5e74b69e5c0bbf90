"""Excel workbooks (.xlsx, .xlsm, .xltx) as Markdown, a page a sheet."""

from __future__ import annotations

from collections.abc import Iterator

from graphkb.errors import InputError
from graphkb.ingest.decode import clean_text
from graphkb.ingest.readers.grid import cell_text
from graphkb.ingest.readers.office import OfficePackage, child, children, number
from graphkb.ingest.readers.office_graphics import drawing_text
from graphkb.ingest.readers.office_record import office_reading
from graphkb.ingest.readers.xlsx_cells import Sheet, Workbook
from graphkb.ingest.readers.xlsx_tables import sheet_blocks
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.settings_input import Input
from graphkb.text.sheets import SHEET_ROWS, SHEETS, SPREADSHEET, row_runs
from graphkb.types import Refused

_THREADED = "[Threaded comment]"


def read_xlsx(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The workbook as one document: each sheet a heading, its tables, text boxes and comments.

    Cells are as shown: cached values of formulas in their number formats; a formula never
    calculated stands as its text. Title: the properties', else the file name. Hidden sheets are
    kept and named in a note; a sheet that cannot be read, or the rest of one that is too large,
    is refused by name and the others are kept. The metadata says which row each line is.
    """
    package = OfficePackage(data)
    workbook = Workbook(package)
    text = ""
    starts: list[int] = []
    rows: list[list[list[int]]] = []
    refused: list[Refused] = []
    hidden: list[str] = []
    for sheet in workbook.sheets:
        starts.append(len(text))
        rows.append([])
        where = f"{source.path}:{sheet.name}"
        try:
            cells = workbook.cells(sheet)
        except InputError as error:
            refused.append(Refused(where, str(error)))
            continue
        if cells.cut_at:
            reason = f"rows from {cells.cut_at:,} on are left out: more than {cells.most:,} cells"
            refused.append(Refused(where, f"{reason}; split the sheet"))
        tables = list(sheet_blocks(cells))
        beside = [*_drawn(package, sheet), *_comments(package, sheet)]
        if tables or beside:
            blocks = [f"# {sheet.name}", *(table.text for table in tables), *beside]
            text += clean_text("\n\n".join(blocks))[0] + "\n\n"
            rows[-1] = row_runs([0, *(row for table in tables for row in (0, *table.rows))])
            if sheet.is_hidden:
                hidden.append(sheet.name)
    if refused and not text:
        return FileReading((), tuple(refused))
    if hidden:
        package.notes.append(f"hidden sheets are read too: {', '.join(hidden)}")
    told = {SHEETS: [sheet.name for sheet in workbook.sheets], SHEET_ROWS: rows}
    return office_reading(
        source, package, text, SPREADSHEET, page_starts=starts, refused=refused, told=told
    )


def _drawn(package: OfficePackage, sheet: Sheet) -> Iterator[str]:
    """The sheet's text boxes; charts repeat what cells say and are left out."""
    for part in package.related(sheet.part, "drawing"):
        root = package.optional(part)
        for body in root.iter("xdr:txBody") if root is not None else ():
            lines = drawing_text(body)
            if lines:
                yield "\n".join(lines)


def _comments(package: OfficePackage, sheet: Sheet) -> Iterator[str]:
    """One line a comment, with the cell and the author."""
    for part in package.related(sheet.part, "comments"):
        root = package.optional(part)
        authors = [node.text or "" for node in children(child(root, "s:authors"))]
        for node in children(child(root, "s:commentList")):
            said = child(node, "s:text")
            text = "".join(one.text or "" for one in said.iter("s:t")) if said is not None else ""
            if text.startswith(_THREADED):
                text = text.partition("Comment:")[2] or text
            place = number(node.get("authorId"), len(authors))
            author = authors[place] if 0 <= place < len(authors) else ""
            # Comments of the newer kind name an id there.
            author = "" if author.startswith("tc=") else author
            shown = cell_text(text.removeprefix(f"{author}:").split("\n"))
            if shown:
                yield f"> [{', '.join(filter(None, (node.get('ref'), author)))}] {shown}"
