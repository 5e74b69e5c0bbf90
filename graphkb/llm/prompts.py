"""Prompts: one Markdown file each, the project's own before the shipped one."""

from __future__ import annotations

import re
import string
from importlib import resources
from pathlib import Path
from typing import Any

from graphkb.errors import SettingsError

LANGUAGES = ("en", "zh")


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
    language = language if language in LANGUAGES else "en"
    own = root / "prompts" / language / f"{name}.md"
    source = own if own.is_file() else shipped_folder("prompts") / language / f"{name}.md"
    try:
        template = string.Template(source.read_text("utf-8-sig").strip())
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{source}: the prompt cannot be read ({error})") from None
    try:
        return template.substitute(variables)
    except KeyError as error:
        known = ", ".join(f"${variable}" for variable in variables) or "none"
        raise SettingsError(
            f"{source}: unknown variable ${error.args[0]}; this prompt may use: {known}"
        ) from None
    except ValueError as error:
        raise SettingsError(f"{source}: {error}; write $$ for a dollar sign") from None


def load_prompt(root: Path, language: str, name: str, **variables: str) -> tuple[str, str]:
    """System and user message of a prompt for a model.

    The file holds both, parted by a line ``---``. Text from documents may only come into the
    user message. Raises SettingsError as :func:`fill_prompt` does, and when the line is missing.
    """
    filled = fill_prompt(root, language, name, **{key: f"\x00{key}\x00" for key in variables})
    system, separator, user = filled.partition("\n---\n")
    if not separator:
        raise SettingsError(
            f"prompts/{language}/{name}.md: a line --- must part the system from the user message"
        )

    def put(text: str) -> str:
        return re.sub("\x00(.*?)\x00", lambda found: variables[found.group(1)], text).strip()

    return put(system), put(user)


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
