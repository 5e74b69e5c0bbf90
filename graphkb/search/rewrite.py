"""Other texts to search with: the question made to stand alone, and further wordings of it.

``stand_alone``  resolves what a question leaves to the conversation before it, by the model or,
                 without one, by rules. What the model writes must still be the question (see
                 there), since everything after is searched with it.
``widen``        by rules, comparisons and names (:mod:`graphkb.search.decompose`); by the model,
                 multi-query (further wordings), HyDE (a passage that would answer the question;
                 Gao et al. 2022) and translation into the documents' other language.

Each helper that fails leaves the plain question, with a warning and a step in the trace.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from graphkb.errors import LanguageModelError, ModelFailure, ModelUnusableError
from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import data_block, load_prompt, prompt_language
from graphkb.search.decompose import graph_starts_from_each, other_names, sub_questions
from graphkb.search.hybrid import retrieve
from graphkb.search.refer import TURN_TOKENS, Turns, refers_back, words_before
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import question_language
from graphkb.text.segment import STOP_WORDS, search_tokens, stem
from graphkb.text.tokens import truncate_tokens
from graphkb.types import Step

_LONGEST = 300
_LONGEST_PASSAGE = 1000
# Characters of a useless rewriting that its warning shows, and lines of a reply looked at.
_SHOWN, _TRIED = 80, 3
_NAMES, _UNITS = 40, 12
_REPLY_TOKENS = 500

_NAMES_OF_LANGUAGES = {
    "en": {"en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ru": "Russian",
           "ar": "Arabic"},
    "zh": {"en": "英文", "zh": "中文", "ja": "日文", "ko": "韩文", "ru": "俄文", "ar": "阿拉伯文"},
}  # fmt: skip

# A question by its form, in English and Chinese, or a request.
_ASKS = re.compile(
    r"[?？]\W*$|^\W*(?:who|whom|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|"
    r"can|could|will|would|should|has|have|tell|list|name|describe|explain|give|show|compare|"
    r"summari[sz]e|in|on|at|for|by|from|to|with|of|about)\b"
    r"|[谁哪吗呢几何]|什么|怎[么样]|多少|为何|是否|请|介绍|说明|解释|列出|总结|比较|描述",
    re.IGNORECASE,
)
# Chinese words that ask or only join; they are no content of a question.
_EMPTY = frozenset(
    "谁 哪 哪个 哪些 哪里 哪儿 什么 什么样 怎么 怎样 怎么样 如何 为什么 为何 多少 几 吗 呢 吧 啊 "
    "请 请问 是否 还 也 又 再 都 就 那 那么 这 这个 那个 这些 那些 该 其 此 它 他 她 它们 他们 "
    "她们 你 我 我们 上述 前者 后者 还有 另外 有 没有 是 会 能 可以 "
    "him hers theirs our your me us my "
    "former latter also so but if no yes please question answer".split()
)
# A rewrite that keeps this share of the question's own words is searched instead of it.
_KEPT = 0.5
_ENUMERATED = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)、:：]|[（(]\d{1,2}[)）])\s*")
_LABEL = re.compile(
    r"^(?:(?:rewritten |standalone )?question|answer|query|translation|(?:改写后的)?问题|译文|改写)"
    r"\s*[:：]\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Wordings:
    """Texts to search with, how they came about, and what did not work.

    ``unusable`` when no further call to the model can succeed.
    """

    texts: tuple[str, ...]
    trace: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()
    unusable: bool = False


def stand_alone(
    snapshot: Snapshot,
    model: Model | None,
    question: str,
    turns: Turns,
    deadline: float | None = None,
) -> Wordings:
    """One text: the question as it is understood without the conversation.

    By the model where there is one and ``search.rewrite`` is on, else by rules: the names of
    the last turns are added to a question that leans on them.

    What the model writes is taken when it is in the question's language, asks where the
    question asks, shares a content word with the question or the conversation, and keeps half
    of the question's own content words (pronouns, question words and the like are none). One
    that fails only the last is searched together with a question that leans on the
    conversation. Any other is left for the rules, with a warning; so is, without one, a leaning
    question that the model repeats as it is.
    """
    if not turns:
        return Wordings((question,))
    started = time.perf_counter()
    if model is None or not snapshot.settings.search.rewrite:
        return _by_rules(snapshot, question, turns, started)
    prompt = rewrite_prompt(snapshot, question, turns)
    try:
        lines = model.ask(prompt, _some_lines, deadline).value
    except LanguageModelError as error:
        plain = _by_rules(snapshot, question, turns, started)
        warning = f"the question could not be rewritten by the model ({error}): names were added"
        unusable = isinstance(error, ModelUnusableError)
        return replace(plain, warnings=(warning,), unusable=unusable)
    told = [_taken(snapshot, question, turns, line) for line in lines]
    text = next((line for line in told if line), "")
    if not text:
        plain = _by_rules(snapshot, question, turns, started)
        warning = (
            "the model's rewriting of the question was not used, since it is no wording of the "
            f"question: {lines[0][:_SHOWN]!r}"
        )
        return replace(plain, warnings=(warning,))
    if text == question and refers_back(snapshot, question):
        return _by_rules(snapshot, question, turns, started)
    step = Step("rewrite", f"by the model: {text}", time.perf_counter() - started)
    return Wordings((text,), (step,))


def _taken(snapshot: Snapshot, question: str, turns: Turns, rewritten: str) -> str:
    """What to search with for a rewritten question by the rule of :func:`stand_alone`; empty
    when the rewriting is of no use."""
    asked, written = question_language(question), question_language(rewritten)
    if asked != written and "und" not in (asked, written):
        return ""
    if _ASKS.search(question) and not _ASKS.search(rewritten):
        return ""
    own, kept = _content(snapshot, question), _content(snapshot, rewritten)
    said = _content(snapshot, "\n".join(text for turn in turns for text in turn))
    if not kept & (own | said):
        return ""
    if len(own & kept) >= _KEPT * len(own):
        return rewritten
    return f"{question} {rewritten}" if refers_back(snapshot, question) else ""


def _content(snapshot: Snapshot, text: str) -> set[str]:
    """Stems of the words that say what a text is about."""
    tokens = search_tokens(text, snapshot.dictionary)
    return {stem(token) for token in tokens if token not in STOP_WORDS and token not in _EMPTY}


def _by_rules(snapshot: Snapshot, question: str, turns: Turns, started: float) -> Wordings:
    added = words_before(snapshot, question, turns)
    text = " ".join([question, *added])
    detail = f"by rules: added {', '.join(added)}" if added else "the question stands alone"
    return Wordings((text,), (Step("rewrite", detail, time.perf_counter() - started),))


def rewrite_prompt(snapshot: Snapshot, question: str, turns: Turns) -> Prompt:
    """The prompt that makes a question stand alone."""
    told = "\n".join(
        f"Q: {asked}\nA: {truncate_tokens(answered, TURN_TOKENS)}" for asked, answered in turns
    )
    conversation = data_block("conversation", told)
    return _prompt(snapshot, question, "rewrite", conversation=conversation)


def widen(
    snapshot: Snapshot, model: Model | None, question: str, deadline: float | None = None
) -> Wordings:
    """Further texts to search with: by rules as ``search.decompose`` and ``other_names`` say, by
    the model as ``multi_query``, ``hyde`` and ``translate`` say. The question itself is never
    among them."""
    ruled = _by_other_rules(snapshot, question)
    asked = _by_model(snapshot, model, question, deadline)
    return Wordings(
        tuple(dict.fromkeys((*ruled.texts, *asked.texts))),
        (*ruled.trace, *asked.trace),
        asked.warnings,
        asked.unusable,
    )


def _by_other_rules(snapshot: Snapshot, question: str) -> Wordings:
    """Sub-questions of a comparison, and names in the documents' other language."""
    options = snapshot.settings.search
    started = time.perf_counter()
    found: dict[str, list[str]] = {}
    asked = sub_questions(question) if options.decompose else []
    if asked and not graph_starts_from_each(snapshot, asked):
        found["decompose"] = asked
    if options.other_names:
        found["other_names"] = other_names(snapshot, question)
    texts = list(dict.fromkeys(text for texts in found.values() for text in texts))
    seconds = time.perf_counter() - started
    steps = (Step(name, "; ".join(texts), seconds) for name, texts in found.items() if texts)
    return Wordings(tuple(text for text in texts if text != question), tuple(steps))


def _by_model(
    snapshot: Snapshot, model: Model | None, question: str, deadline: float | None
) -> Wordings:
    planned = plan_wordings(snapshot, question)
    if not planned:
        return Wordings(())
    if model is None:
        names = ", ".join(f"search.{item.name}" for item in planned)
        return Wordings((), (), (f"{names}: not without a language model; left out",))
    started = time.perf_counter()
    try:
        replies = model.ask_many([item.prompt for item in planned], str.strip, deadline=deadline)
    except ModelUnusableError as error:
        warning = f"no further wordings ({error}): searched with the question alone"
        step = Step("widen", "the model cannot be used", time.perf_counter() - started)
        return Wordings((), (step,), (warning,), unusable=True)
    texts: list[str] = []
    steps: list[Step] = []
    warnings: list[str] = []
    seconds = time.perf_counter() - started
    for item, reply in zip(planned, replies, strict=True):
        read = [] if isinstance(reply, ModelFailure) else item.read(reply.value)
        new = [text for text in read if text not in texts and text != question]
        if not new:
            why = str(reply) if isinstance(reply, ModelFailure) else "the reply held none"
            warnings.append(f"{item.name}: no further text ({why}): searched without it")
        steps.append(Step(item.name, "; ".join(new) or "nothing", seconds))
        texts += new
    return Wordings(tuple(texts), tuple(steps), tuple(warnings))


@dataclass(frozen=True)
class Planned:
    """A prompt for further texts, and how its reply is read."""

    name: str
    prompt: Prompt
    read: Callable[[str], list[str]]


def plan_wordings(snapshot: Snapshot, question: str) -> list[Planned]:
    """The prompts that :func:`widen` sends to a model."""
    options = snapshot.settings.search
    planned: list[Planned] = []
    if count := options.multi_query:
        prompt = _prompt(snapshot, question, "queries", count=str(count))
        planned.append(Planned("multi_query", prompt, lambda text: _lines(text)[:count]))
    if options.hyde:
        prompt = _prompt(snapshot, question, "hyde")
        planned.append(Planned("hyde", prompt, _passage))
    target = _other_language(snapshot, question) if options.translate else ""
    if target:
        asked = prompt_language(question_language(question))
        names = data_block("names", "\n".join(_names_in(snapshot, question, target)))
        language = _NAMES_OF_LANGUAGES[asked].get(target, target)
        prompt = _prompt(snapshot, question, "translate", names=names, target=language)
        planned.append(Planned("translate", prompt, lambda text: _lines(text)[:1]))
    return planned


def _prompt(snapshot: Snapshot, question: str, name: str, **variables: str) -> Prompt:
    language = prompt_language(question_language(question))
    system, user = load_prompt(snapshot.root, language, name, question=question, **variables)
    return Prompt(name, system, user, max_tokens=_REPLY_TOKENS)


def _lines(text: str) -> list[str]:
    """Distinct lines of a reply without numbering, quotes and labels."""
    lines = (_bare(line) for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line and not line.endswith((":", "："))))


def _bare(line: str) -> str:
    plain = _LABEL.sub("", _ENUMERATED.sub("", line.strip()).strip("*_ "))
    return " ".join(plain.strip("\"'“”「」").split())[:_LONGEST]


def _some_lines(text: str) -> list[str]:
    """The first lines of a reply that say something. Raises ValueError when there is none."""
    lines = _lines(text)[:_TRIED]
    if not lines:
        raise ValueError("the reply must be the rewritten question on one line")
    return lines


def _passage(text: str) -> list[str]:
    plain = " ".join(text.split())[:_LONGEST_PASSAGE]
    return [plain] if plain else []


def _other_language(snapshot: Snapshot, question: str) -> str:
    """The language of most documents that are not in the question's; empty when there are none."""
    counts = dict(snapshot.manifest.notes.get("languages", {}))
    asked = question_language(question)
    others = [code for code in snapshot.languages if code != asked]
    return max(others, key=lambda code: (counts.get(code, 0), code), default="")


def _names_in(snapshot: Snapshot, question: str, language: str) -> list[str]:
    """Names that the best text units in a language hold: what the documents call things."""
    found = retrieve(snapshot, question, _UNITS * 2)
    rows = snapshot.units(unit.text_unit_id for unit in found.units)
    ids = [row["id"] for row in rows if row["language"] == language][:_UNITS]
    mentions = snapshot.store.where("mentions", "text_unit_id", ids, ("entity_id", "text_unit_id"))
    place = {unit_id: index for index, unit_id in enumerate(ids)}
    pairs = sorted(
        (place[row["text_unit_id"]], row["entity_id"]) for row in mentions.unique().to_dicts()
    )
    entity_ids = list(dict.fromkeys(entity_id for _, entity_id in pairs))[:_NAMES]
    rows_by_id = {
        row["id"]: row["title"]
        for row in snapshot.store.where("entities", "id", entity_ids, ("id", "title")).to_dicts()
    }
    return [rows_by_id[entity_id] for entity_id in entity_ids if entity_id in rows_by_id]
