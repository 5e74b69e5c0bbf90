"""Runs kept in ``output/eval`` under a name, to be compared later."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphkb.errors import InputError, UsageError
from graphkb.evaluate.files import check_writable, write_text
from graphkb.evaluate.results import Evaluation, evaluation_from

FOLDER = "eval"
FORMAT = 1

_NAME = re.compile(r"[\w][\w.\-]{0,79}")
# File systems take 255 bytes, ".json" among them.
_MOST_BYTES = 240


@dataclass(frozen=True)
class SavedRun:
    """An evaluation with what it was made from: knowledge-base version and retrieval settings."""

    name: str
    evaluation: Evaluation
    version: int = 0
    settings: Mapping[str, Any] | None = None


def check_name(output: Path, name: str) -> None:
    """Raises UsageError when a run cannot be called that, or cannot be kept in ``output``."""
    if not _is_name(name):
        raise UsageError(
            f"run name {name!r}: use up to 80 letters, digits, dots, dashes and underscores "
            f"({_MOST_BYTES} bytes), such as before-tuning"
        )
    check_writable(_path(output, name), f"run name {name!r}")


def _is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and len(name.encode()) <= _MOST_BYTES


def _path(output: Path, name: str) -> Path:
    return output / FOLDER / f"{name}.json"


def save_run(output: Path, run: SavedRun) -> Path:
    """Write a run to ``output/eval/<name>.json``; one of the same name is replaced, whole or not
    at all. Raises UsageError for a name that is none."""
    check_name(output, run.name)
    path = _path(output, run.name)
    data = {
        "format": FORMAT,
        "name": run.name,
        "version": run.version,
        "settings": dict(run.settings or {}),
        "evaluation": run.evaluation.to_dict(),
    }
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1))
    return path


def load_run(output: Path, name: str) -> SavedRun:
    """The run kept under a name, or in a file: saved by ``--save``, or the output of ``--json``.

    Raises UsageError when there is none, naming those there are; InputError for a file that is
    no evaluation.
    """
    kept = _path(output, name)
    path = kept if _is_name(name) and kept.is_file() else Path(name)
    try:
        data = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        known = ", ".join(list_runs(output)) or "none yet; make one with graphkb eval --save NAME"
        raise UsageError(f"no saved run and no file {name!r}; saved runs: {known}") from None
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error).partition(";")[0]
        raise InputError(f"{path}: cannot be read as a saved evaluation ({reason})") from None
    try:
        return _run_from(path, data)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InputError(
            f"{path}: not a saved evaluation ({type(error).__name__}: {error}); "
            "make one with graphkb eval --save NAME, or --json"
        ) from None


def _run_from(path: Path, data: Any) -> SavedRun:
    if "evaluation" not in data:
        return SavedRun(path.stem, evaluation_from(data))
    if data["format"] != FORMAT:
        raise InputError(
            f"{path}: format {data['format']!r} of another graphkb version, this one reads "
            f"{FORMAT}; measure again with graphkb eval --save"
        )
    return SavedRun(
        str(data["name"]),
        evaluation_from(data["evaluation"]),
        int(data["version"]),
        dict(data["settings"]),
    )


def list_runs(output: Path) -> list[str]:
    """Names of the saved runs, sorted."""
    return sorted(path.stem for path in (output / FOLDER).glob("*.json"))
