"""One module a format; ``READERS`` says which reader a file name's suffix leads to."""

from graphkb.ingest.readers.archive import read_tar, read_zip
from graphkb.ingest.readers.code import CODE_READERS
from graphkb.ingest.readers.docx import read_docx
from graphkb.ingest.readers.eml import read_mail, read_mailbox, read_saved_page
from graphkb.ingest.readers.epub import read_epub
from graphkb.ingest.readers.html import read_html
from graphkb.ingest.readers.image import read_image
from graphkb.ingest.readers.ipynb import read_notebook
from graphkb.ingest.readers.json_ import read_json, read_json_lines
from graphkb.ingest.readers.markdown import read_markdown
from graphkb.ingest.readers.pdf import read_pdf
from graphkb.ingest.readers.pptx import read_pptx
from graphkb.ingest.readers.tabular import read_table
from graphkb.ingest.readers.text import read_text
from graphkb.ingest.readers.xlsx import read_xlsx
from graphkb.ingest.records import Reader

READERS: dict[str, Reader] = {
    ".txt": read_text,
    ".text": read_text,
    ".log": read_text,
    ".rst": read_text,
    "": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".csv": read_table,
    ".tsv": read_table,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".docx": read_docx,
    ".docm": read_docx,
    ".dotx": read_docx,
    ".pptx": read_pptx,
    ".pptm": read_pptx,
    ".ppsx": read_pptx,
    ".potx": read_pptx,
    ".xlsx": read_xlsx,
    ".xlsm": read_xlsx,
    ".xltx": read_xlsx,
    ".pdf": read_pdf,
    ".png": read_image,
    ".jpg": read_image,
    ".jpeg": read_image,
    ".tif": read_image,
    ".tiff": read_image,
    ".bmp": read_image,
    ".webp": read_image,
    ".epub": read_epub,
    ".eml": read_mail,
    ".mbox": read_mailbox,
    ".mhtml": read_saved_page,
    ".mht": read_saved_page,
    ".ipynb": read_notebook,
    ".zip": read_zip,
    ".tar": read_tar,
    ".tgz": read_tar,
    ".tbz2": read_tar,
    ".txz": read_tar,
    ".gz": read_tar,
    ".bz2": read_tar,
    ".xz": read_tar,
    **CODE_READERS,
}
