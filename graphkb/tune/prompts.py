"""A proposal as prompt files of the project, shown as a change before anything is written."""

from __future__ import annotations

import difflib
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from graphkb.errors import UsageError
from graphkb.llm.model import Model
from graphkb.llm.prompts import data_block, shipped_folder
from graphkb.settings import Settings
from graphkb.tune.propose import (
    Proposal,
    find_examples,
    names_of,
    propose_by_model,
    propose_offline,
)
from graphkb.tune.sample import sample_documents
from graphkb.types import Progress, no_progress

PROMPT, TYPES, CLAIMS = "extract", "extract_types", "extract_claims"
_PART = "\n---\n"
_SHIPPED_EXAMPLE = re.compile(r"\n\n(?:Example|示例)[:：].*\Z", re.DOTALL)


@dataclass(frozen=True)
class _Wording:
    persona: str
    domain: str
    relations: str
    examples: str
    gap: str
    comma: str
    meaning: str


_WORDINGS = {
    "en": _Wording(
        persona="You are {}.",
        domain="The documents are about {}.",
        relations="Relations in them are such as: {}.",
        examples="Each <example> shows a passage and its right reply; it is data as well.",
        gap=" ",
        comma=", ",
        meaning="{} ({})",
    ),
    "zh": _Wording(
        persona="你是{}。",
        domain="这批文档的内容：{}。",
        relations="其中的关系例如：{}。",
        examples="每个 <example> 给出一段文字和它的正确回复，同样只是资料。",
        gap="",
        comma="、",
        meaning="{}（{}）",
    ),
}


@dataclass(frozen=True)
class Change:
    """A prompt file of the project: its words now (as shipped, where the project has none), and
    those proposed. ``edited`` when the project's own differ from the shipped ones."""

    path: Path
    before: str
    after: str
    edited: bool

    def diff(self) -> list[str]:
        """The change as a unified diff."""
        before, after = self.before.splitlines(), self.after.splitlines()
        names = (str(self.path), f"{self.path} (proposed)")
        return list(difflib.unified_diff(before, after, *names, n=1, lineterm=""))


@dataclass(frozen=True)
class Tuning:
    """A proposal and the prompt files that would say it."""

    proposal: Proposal
    changes: tuple[Change, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: the proposal, and each file's path with its new text."""
        files = {str(change.path): change.after for change in self.changes}
        return {**asdict(self.proposal), "files": files}


def tune_prompts(
    root: Path,
    settings: Settings,
    model: Model | None,
    size: int = 15,
    languages: tuple[str, ...] = (),
    keep_edited: bool = False,
    progress: Progress = no_progress,
) -> list[Tuning]:
    """A proposal for each language of the documents, from a sample of ``size`` documents of each.

    Two or three calls a language with a model, none without. Nothing is written. Raises
    InputError when there are no documents, ModelUnusableError when no call can succeed, and with
    ``keep_edited`` UsageError for a prompt that the user has edited, before anything is asked.
    """
    tunings = []
    samples = sample_documents(root, settings, size, languages, progress)
    if keep_edited:
        _refuse_edited(
            change.path
            for sample in samples
            for name in (PROMPT, TYPES)
            if (change := _change(root, sample.language, name, "")).edited
        )
    for sample in samples:
        language = sample.language
        shipped = {name: _shipped(language, name) for name in (PROMPT, TYPES, CLAIMS)}
        proposal = propose_offline(sample, shipped[TYPES])
        types = _types(proposal)
        if model is not None:
            names = names_of(sample, shipped[TYPES])
            proposal = propose_by_model(sample, root, model, proposal, names)
            types = _types(proposal)
            if proposal.model:
                template = _composed(shipped[PROMPT], proposal)
                claims = shipped[CLAIMS] if settings.extract.claims else ""
                plain_types = types.replace("$$", "$")
                examples = find_examples(sample, template, plain_types, claims, model, names)
                proposal = replace(proposal, examples=examples)
        texts = {PROMPT: _composed(shipped[PROMPT], proposal), TYPES: types}
        changes = [_change(root, language, name, text) for name, text in texts.items()]
        tunings.append(Tuning(proposal, tuple(changes)))
    return tunings


def write_prompts(changes: Iterable[Change]) -> list[Path]:
    """Write the prompt files that change; what they said before is kept beside them as
    ``.bak``."""
    wanted = [change for change in changes if change.after != change.before]
    for change in wanted:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        if change.path.exists():
            shutil.copyfile(change.path, change.path.with_name(f"{change.path.name}.bak"))
        # Whole or not at all: a prompt cut short would be the next run's prompt.
        whole = change.path.with_name(f"{change.path.name}.new")
        whole.write_text(change.after, "utf-8", newline="\n")
        os.replace(whole, change.path)
    return [change.path for change in wanted]


def _refuse_edited(paths: Iterable[Path]) -> None:
    found = ", ".join(map(str, paths))
    if found:
        raise UsageError(
            f"{found}: differs from the shipped prompt (edited, or tuned before); "
            "--force replaces it and keeps the old one as .bak"
        )


def _shipped(language: str, name: str) -> str:
    text: str = (shipped_folder("prompts") / language / f"{name}.md").read_text("utf-8")
    return text.strip()


def _change(root: Path, language: str, name: str, text: str) -> Change:
    path = root / "prompts" / language / f"{name}.md"
    shipped = _shipped(language, name)
    own = path.read_text("utf-8-sig").strip() if path.is_file() else shipped
    return Change(path, f"{own}\n", f"{text}\n", own != shipped)


def _types(proposal: Proposal) -> str:
    """The entity types as the prompt lists them."""
    wording = _WORDINGS[proposal.language]
    listed = (
        wording.meaning.format(kind, meaning) if meaning else kind
        for kind, meaning in proposal.entity_types
    )
    return _literal(wording.comma.join(listed))


def _composed(shipped: str, proposal: Proposal) -> str:
    """The shipped prompt with what the documents are about before it and, where there are any,
    examples from them in place of the shipped one. Examples are text from documents, so they
    stand in the user part."""
    wording = _WORDINGS[proposal.language]
    system, _, user = shipped.partition(_PART)
    about = []
    if proposal.persona:
        about.append(wording.persona.format(proposal.persona))
    if proposal.domain:
        about.append(wording.domain.format(proposal.domain))
    if proposal.relationship_types:
        relations = wording.comma.join(proposal.relationship_types)
        about.append(wording.relations.format(relations))
    if proposal.examples:
        system = _SHIPPED_EXAMPLE.sub("", system) + f"\n{wording.examples}"
        blocks = [data_block("example", f"{text}\n{reply}") for text, reply in proposal.examples]
        user = "\n\n".join([*map(_literal, blocks), user.strip()])
    head = _literal(wording.gap.join(about))
    return (f"{head}\n\n" if head else "") + system.rstrip() + _PART + user.strip()


def _literal(text: str) -> str:
    """Text that stays as it is when the prompt is filled in."""
    return text.replace("$", "$$")
