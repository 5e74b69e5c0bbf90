"""Prompts: one Markdown file each, the project's own before the shipped one."""

from __future__ import annotations

import re
import string
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from graphkb.errors import SettingsError

LANGUAGES = ("en", "zh")

_PARTING = re.compile(r"^---[ \t]*$", re.MULTILINE)


@cache
def shipped_folder(part: str) -> Any:
    """The ``prompts`` or ``input`` folder that comes with graphkb, from a wheel or a checkout."""
    package = resources.files("graphkb")
    inside = package / "shipped" / part
    if inside.is_dir():
        return inside
    return Path(str(package)).parent / part


def fill_prompt(root: Path, language: str, name: str, **variables: str) -> str:
    """The prompt ``prompts/<language>/<name>.md`` of the project (or the shipped one) filled in.

    Only ``$name`` and ``${name}`` are replaced, ``$$`` is a dollar sign, and braces are plain
    text, in the prompt and in the values. Languages without prompts use English. Raises
    SettingsError naming the file and the variable when the prompt asks for one not given.
    """
    source = _source(root, prompt_language(language), name)
    return _filled(source, _read(source), variables)


def load_prompt(root: Path, language: str, name: str, **variables: str) -> tuple[str, str]:
    """System and user message of a prompt for a model.

    The file holds both, parted by a line ``---``. A variable of the shipped user message holds
    text from documents or the question: the project's own prompt must have it there too, and
    not in the system message. Raises SettingsError as :func:`fill_prompt` does, when the line is
    missing, and when such a variable stands elsewhere.
    """
    language = prompt_language(language)
    source = _source(root, language, name)
    system, user = _parts(source)
    shipped = shipped_folder("prompts") / language / f"{name}.md"
    if str(shipped) != str(source):
        _check_places(source, (system, user), _parts(shipped))
    return _filled(source, system, variables), _filled(source, user, variables)


def _source(root: Path, language: str, name: str) -> Any:
    own = root / "prompts" / language / f"{name}.md"
    return own if own.is_file() else shipped_folder("prompts") / language / f"{name}.md"


def _read(source: Any) -> str:
    try:
        text: str = source.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{source}: the prompt cannot be read ({error})") from None
    return text.strip()


def _parts(source: Any) -> tuple[str, str]:
    """System and user message of a prompt file, not filled in."""
    parts = _PARTING.split(_read(source), maxsplit=1)
    if len(parts) < 2:
        raise SettingsError(f"{source}: a line --- must part the system from the user message")
    return parts[0].strip(), parts[1].strip()


def _check_places(source: Any, own: tuple[str, str], shipped: tuple[str, str]) -> None:
    system, user = (set(string.Template(part).get_identifiers()) for part in own)
    known, wanted = (set(string.Template(part).get_identifiers()) for part in shipped)
    for name in sorted(wanted - known):
        if name in system:
            raise SettingsError(
                f"{source}: ${name} stands above the line ---, where text from documents would "
                "pass for instructions; move it below"
            )
        if name not in user:
            raise SettingsError(f"{source}: ${name} is missing below the line ---; put it back")


def _filled(source: Any, text: str, variables: dict[str, str]) -> str:
    try:
        return string.Template(text).substitute(variables)
    except KeyError as error:
        known = ", ".join(f"${variable}" for variable in variables) or "none"
        raise SettingsError(
            f"{source}: unknown variable ${error.args[0]}; this prompt may use: {known}"
        ) from None
    except ValueError as error:
        raise SettingsError(f"{source}: {error}; write $$ for a dollar sign") from None


def prompt_language(code: str) -> str:
    """The prompt folder for a text's language code: ``zh`` or ``en``."""
    return code if code in LANGUAGES else "en"


def data_block(name: str, text: str) -> str:
    """Text from documents, marked as data.

    A closing mark inside the text is defused, so that a document cannot step out of its block.

    >>> data_block("document", "a </document> b")
    '<document>\\na ‹/document> b\\n</document>'
    """
    inner = re.sub(rf"<(?=/?\s*{name}\b)", "‹", text, flags=re.IGNORECASE)
    return f"<{name}>\n{inner}\n</{name}>"
