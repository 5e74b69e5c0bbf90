"""One module a way of cutting; ``CHUNKERS`` says which a media type gets."""

from graphkb.ingest.chunkers.code import CODE_CHUNKERS
from graphkb.ingest.chunkers.heading import cut_markdown
from graphkb.ingest.chunkers.piece import Chunker
from graphkb.ingest.chunkers.token import cut_plain

# Rows hold Markdown as often as plain text, and plain text has no structure to be misread.
CHUNKERS: dict[str, Chunker] = {
    "text/plain": cut_plain,
    "text/markdown": cut_markdown,
    "text/html": cut_markdown,
    "text/csv": cut_markdown,
    "text/tab-separated-values": cut_markdown,
    "application/json": cut_markdown,
    "application/x-ndjson": cut_markdown,
    "application/epub+zip": cut_markdown,
    "application/x-ipynb+json": cut_markdown,
    "message/rfc822": cut_markdown,
    "application/pdf": cut_markdown,
    "image/png": cut_markdown,
    "image/jpeg": cut_markdown,
    "image/tiff": cut_markdown,
    "image/bmp": cut_markdown,
    "image/webp": cut_markdown,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": cut_markdown,
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": cut_markdown,
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": cut_markdown,
    **CODE_CHUNKERS,
}
