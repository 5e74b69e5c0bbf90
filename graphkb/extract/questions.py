"""What a model is asked about a text unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from graphkb.errors import SettingsError
from graphkb.extract.parse import reply_schema
from graphkb.llm.prompt import Prompt
from graphkb.llm.prompts import LANGUAGES, data_block, fill_prompt, load_prompt, prompt_language
from graphkb.settings import Extract
from graphkb.tables import content_hash

#: Under which the cost of extraction is counted.
STEP = "extract"
_DOCUMENT = "\x01document\x01"
# Words that a model's server may take for its own signs when they stand in a text.
_LEAST_REPLY = 1_000
# Tokens of a reply for three bytes of text, which are about one token.
_REPLY_BYTES = 4
_SIGN = re.compile(r"<(?=\|[\w ]{1,40}\|>|/?(?:s|eos|bos)>)")


@dataclass(frozen=True)
class Unit:
    """A text unit as a model reads it; ``context`` is its title › headings."""

    id: str
    text: str
    context: str
    language: str


@dataclass(frozen=True)
class _Template:
    system: str
    user: str
    more: str


class Questions:
    """The prompts of extraction in every language, filled but for the text.

    The system message is the same for all units of a language, so that servers keep it. Raises
    SettingsError when a prompt file cannot be used.
    """

    def __init__(self, root: Path, options: Extract) -> None:
        self._schema = reply_schema(options.claims)
        self._templates = {language: _template(root, language, options) for language in LANGUAGES}

    @property
    def fingerprint(self) -> str:
        """Hash of all the prompts."""
        return content_hash(
            *(
                part
                for template in self._templates.values()
                for part in (template.system, template.user, template.more)
            )
        )

    def first(self, unit: Unit, start: int, end: int) -> Prompt:
        """What is asked of ``unit.text[start:end]``. What stands above the unit is shown."""
        template = self._templates[prompt_language(unit.language)]
        text = f"{unit.context}\n\n{unit.text[start:end]}" if unit.context else unit.text[start:end]
        block = data_block("document", _SIGN.sub("‹", text))
        user = template.user.replace(_DOCUMENT, block)
        return Prompt(STEP, template.system, user, "extraction", self._schema, _limit(text))

    def more(self, unit: Unit, before: Prompt, reply: str) -> Prompt:
        """What is asked after ``reply`` to ``before``: what it leaves out."""
        template = self._templates[prompt_language(unit.language)]
        history = (*before.history, ("user", before.user), ("assistant", reply))
        return Prompt(
            STEP, before.system, template.more, "extraction", self._schema, before.max_tokens,
            history,
        )  # fmt: skip


def _limit(text: str) -> int:
    """The longest reply to a text, in tokens: several times what a text of that length can name.
    A weak model may never end by itself; a reply that is cut here is asked for by halves."""
    return max(_LEAST_REPLY, len(text.encode()) * _REPLY_BYTES // 3)


def _template(root: Path, language: str, options: Extract) -> _Template:
    types = ", ".join(options.entity_types) or fill_prompt(root, language, "extract_types").strip()
    claims = fill_prompt(root, language, "extract_claims").strip() if options.claims else ""
    system, user = load_prompt(
        root, language, "extract", entity_types=types, claims=claims, document=_DOCUMENT
    )
    if _DOCUMENT in system or _DOCUMENT not in user:
        raise SettingsError(
            f"prompts/{language}/extract.md: $document must stand below the line ---, only there"
        )
    more = fill_prompt(root, language, "extract_more").strip() if options.max_gleanings else ""
    return _Template(re.sub(r"\n{3,}", "\n\n", system), user, more)
