"""Office packages written by hand, for what the libraries that make such files leave out."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from graphkb.ingest.read import FileReading, SourceFile, read_file
from graphkb.settings_input import Input

_W = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMESPACES = " ".join(
    f'xmlns:{prefix}="{name}"'
    for prefix, name in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "r": _OFFICE,
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
        "p188": "http://schemas.microsoft.com/office/powerpoint/2018/8/main",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)


def read_path(path: Path, **options: object) -> FileReading:
    """What graphkb reads of a file."""
    return read_file(SourceFile(path.name, path, 0), Input(**options))


def read_saved(path: Path, content: Any) -> FileReading:
    """What graphkb reads of bytes, or of what a library made, saved at ``path``."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content.save(path)
    return read_path(path)


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """A zip container of these members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def changed(data: bytes, parts: dict[str, str | bytes]) -> bytes:
    """The container with some members replaced or added."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        old = {name: archive.read(name) for name in archive.namelist()}
    return zipped({**old, **parts})


def relations(links: dict[str, tuple[str, str]]) -> str:
    """A relationships part: id to (last word of the type, target)."""
    listed = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in links.items()
    )
    return f'<Relationships xmlns="{_RELATIONS}">{listed}</Relationships>'


def word(body: str, **parts: str) -> bytes:
    """A Word document with this body; parts by kind: styles, numbering, footnotes, header, …"""
    links = {f"r{kind}": (kind, f"{kind}.xml") for kind in parts}
    members = {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Override PartName="/word/document.xml" '
        f'ContentType="{_W}.document.main+xml"/></Types>',
        "_rels/.rels": relations({"r1": ("officeDocument", "word/document.xml")}),
        "word/document.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations(links),
    }
    for kind, content in parts.items():
        root = {"header": "hdr", "footer": "ftr"}.get(kind, kind)
        members[f"word/{kind}.xml"] = f"<w:{root} {NAMESPACES}>{content}</w:{root}>"
    return zipped(members)


def paragraph(text: str, properties: str = "") -> str:
    """A Word paragraph with one run."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
