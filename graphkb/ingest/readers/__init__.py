"""One module a format; ``READERS`` says which reader a file name's suffix leads to."""

from graphkb.ingest.readers.html import read_html
from graphkb.ingest.readers.json_ import read_json, read_json_lines
from graphkb.ingest.readers.markdown import read_markdown
from graphkb.ingest.readers.tabular import read_table
from graphkb.ingest.readers.text import read_text
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
}
