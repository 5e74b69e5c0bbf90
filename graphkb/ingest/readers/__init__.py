"""One module a format; ``READERS`` says which reader a file name's suffix leads to."""

from graphkb.ingest.readers.code import CODE_READERS
from graphkb.ingest.readers.json_ import read_json, read_json_lines
from graphkb.ingest.readers.later import Later
from graphkb.ingest.readers.markdown import read_markdown
from graphkb.ingest.readers.tabular import read_table
from graphkb.ingest.readers.text import read_text
from graphkb.ingest.records import Reader

# What these formats take to be read is imported for the first file of theirs.
_TAR = Later("archive", "read_tar")
_ZIP = Later("archive", "read_zip")
_DOCX = Later("docx", "read_docx")
_MAIL = Later("eml", "read_mail")
_MAILBOX = Later("eml", "read_mailbox")
_SAVED_PAGE = Later("eml", "read_saved_page")
_EPUB = Later("epub", "read_epub")
_HTML = Later("html", "read_html")
_IMAGE = Later("image", "read_image")
_NOTEBOOK = Later("ipynb", "read_notebook")
_PDF = Later("pdf", "read_pdf")
_PPTX = Later("pptx", "read_pptx")
_XLSX = Later("xlsx", "read_xlsx")

READERS: dict[str, Reader] = {
    ".txt": read_text,
    ".text": read_text,
    ".log": read_text,
    ".rst": read_text,
    "": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".csv": read_table,
    ".tsv": read_table,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".docx": _DOCX,
    ".docm": _DOCX,
    ".dotx": _DOCX,
    ".pptx": _PPTX,
    ".pptm": _PPTX,
    ".ppsx": _PPTX,
    ".potx": _PPTX,
    ".xlsx": _XLSX,
    ".xlsm": _XLSX,
    ".xltx": _XLSX,
    ".pdf": _PDF,
    ".png": _IMAGE,
    ".jpg": _IMAGE,
    ".jpeg": _IMAGE,
    ".tif": _IMAGE,
    ".tiff": _IMAGE,
    ".bmp": _IMAGE,
    ".webp": _IMAGE,
    ".epub": _EPUB,
    ".eml": _MAIL,
    ".mbox": _MAILBOX,
    ".mhtml": _SAVED_PAGE,
    ".mht": _SAVED_PAGE,
    ".ipynb": _NOTEBOOK,
    ".zip": _ZIP,
    ".tar": _TAR,
    ".tgz": _TAR,
    ".tbz2": _TAR,
    ".txz": _TAR,
    ".gz": _TAR,
    ".bz2": _TAR,
    ".xz": _TAR,
    **CODE_READERS,
}
