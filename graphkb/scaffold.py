"""New projects: settings, prompts, folders, and the sample documents when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphkb.errors import UsageError
from graphkb.settings_file import FILE_NAME


def init_project(root: str | Path, sample: bool = False, force: bool = False) -> list[Path]:
    """Make a project at ``root``: settings.yaml, prompts/, input/, .env; with ``sample`` also
    the sample documents. Returns the files made.

    With ``force`` a settings.yaml that is there is kept as settings.yaml.bak and written anew;
    without it UsageError is raised. Prompts, documents and .env that are there are never
    overwritten.
    """
    from graphkb.llm.prompts import shipped_folder
    from graphkb.settings_file import settings_yaml

    root = Path(root)
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root}: is a file; give a folder")
    if (root / FILE_NAME).exists() and not force:
        raise UsageError(f"{root / FILE_NAME}: exists already; use --force to write it anew")
    made: list[Path] = []

    def put(path: Path, data: bytes) -> None:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            made.append(path)

    made += _set_aside(root / FILE_NAME, settings_yaml().encode())
    put(root / FILE_NAME, settings_yaml().encode())
    put(root / ".env", b"# Keys for settings.yaml: write api_key: ${OPENAI_API_KEY} there.\n")
    put(root / ".gitignore", b".env\noutput/\ncache/\n")
    (root / "input").mkdir(parents=True, exist_ok=True)
    for part, wanted in (("prompts", True), ("input", sample)):
        if wanted:
            for relative, data in _files_below(shipped_folder(part)):
                put(root / part / relative, data)
    return made


def _set_aside(path: Path, new: bytes) -> list[Path]:
    """Rename ``path`` to .bak unless it holds ``new`` already, which would cost the .bak that
    has the user's own; what was made."""
    if not path.exists() or path.read_bytes() == new:
        return []
    return [path.replace(path.with_name(f"{path.name}.bak"))]


def _files_below(folder: Any, prefix: str = "") -> list[tuple[str, bytes]]:
    """Files of a resource folder, sorted, with paths relative to it."""
    found: list[tuple[str, bytes]] = []
    for item in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
        if item.is_dir():
            found.extend(_files_below(item, f"{prefix}{item.name}/"))
        else:
            found.append((f"{prefix}{item.name}", item.read_bytes()))
    return found
