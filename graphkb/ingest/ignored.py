"""What repositories leave out: what .gitignore files name, dependencies, caches, lock files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_FOLDERS = frozenset(
    "node_modules bower_components __pycache__ venv site-packages __pypackages__".split()
)
_FILES = frozenset(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock poetry.lock uv.lock "
    "pdm.lock pipfile.lock cargo.lock composer.lock composer.phar gemfile.lock go.sum "
    "packages.lock.json".split()
)
_ENDINGS = (".min.js", ".min.mjs", ".min.css", ".js.map", ".css.map", ".pyc", ".pyo", ".class")


class Ignored:
    """Decides file by file, going down: a folder's ``.gitignore`` is read when it is entered."""

    def __init__(self) -> None:
        self._specs: dict[str, GitIgnoreSpec] = {}
        self.by_git: list[str] = []
        self.by_default: list[str] = []

    def enter(self, location: str, below: str) -> None:
        """Read the ``.gitignore`` of the folder at ``below``, where there is one.

        One that is no UTF-8 is read as far as it goes; one that cannot be opened counts as none.
        """
        try:
            text = (Path(location) / ".gitignore").read_text("utf-8-sig", "replace")
        except OSError:
            return
        from pathspec import GitIgnoreSpec

        lines = [line for line in text.splitlines() if _is_pattern(line)]
        self._specs[below] = GitIgnoreSpec.from_lines(lines)

    def leaves_out(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Whether the file or folder at ``path`` is left out; remembers what was and why."""
        folded = name.casefold()
        if (folded in _FOLDERS) if is_folder else (folded in _FILES or folded.endswith(_ENDINGS)):
            self.by_default.append(path + "/" * is_folder)
            return True
        if self._says(path + "/" * is_folder):
            self.by_git.append(path + "/" * is_folder)
            return True
        return False

    def _says(self, path: str) -> bool:
        """What the nearest ``.gitignore`` that says anything of the path says."""
        folder = path.rstrip("/")
        while folder:
            folder = folder.rpartition("/")[0]
            spec = self._specs.get(folder)
            if spec is not None:
                inside = path[len(folder) + 1 :] if folder else path
                said = spec.check_file(inside).include
                if said is not None:
                    return said
        return False

    def notes(self) -> list[str]:
        """One line that says what was left out; none where nothing was."""
        parts = [
            f"{len(paths)} {why} ({', '.join(sorted(paths)[:3])}{', …' if len(paths) > 3 else ''})"
            for paths, why in (
                (self.by_default, "of dependencies, caches, lock and minified files"),
                (self.by_git, "that .gitignore names"),
            )
            if paths
        ]
        if not parts:
            return []
        return [f"left out: {', '.join(parts)}; set input.gitignore: false to read them"]


def _is_pattern(line: str) -> bool:
    """False for a line that no pattern can be made of; git passes over it too."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
