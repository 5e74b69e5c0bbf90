"""Which method answers a question best, by its shape and by what the graph knows of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from graphkb.arguments import as_text
from graphkb.errors import UsageError
from graphkb.query.narrowed import has_reports
from graphkb.search.files import named_files
from graphkb.search.snapshot import Snapshot
from graphkb.text.visible import visible

# Questions about the collection as a whole: its themes, an overview, what is common or main.
_GLOBAL = re.compile(
    r"\b(?:main|major|key|overall|common|general|top|recurring)\s+(?:\w+\s+)?"
    r"(?:themes?|topics?|ideas?|points?|findings?|issues?|trends?|causes?|reasons?|changes?|risks?|"
    r"problems?|lessons?|conclusions?)\b"
    r"|\b(?:overview|summari[sz]e|summary of|in general|across (?:all|the) (?:documents?|reports?|"
    r"collection|corpus)|what (?:is|are) (?:this|these|the) (?:documents?|collection|corpus|"
    r"knowledge base|data ?set)s? about|themes?)\b"
    r"|主题|总体|整体|概述|概括|综述|总结|归纳|主要(?:内容|问题|变化|原因|观点|特点|趋势|风险|方面|话题)"
    r"|有哪些(?:主要|共同|重大)|(?:文档|资料|知识库|文件)(?:里|中)?(?:主要)?(?:讲|说|谈|包含|涉及)",
    re.IGNORECASE,
)

_THEME = re.compile(r"themes?|主题", re.IGNORECASE)
_ONE_THEME = re.compile(r"\btheme\b|[的上]主题(?:词|口号)?(?:是|为|叫)", re.IGNORECASE)
_DOCUMENTS = re.compile(
    r"\b(?:documents?|files?|collection|corpus|knowledge base|data ?set|texts?|notes)\b"
    r"|文档|资料|知识库|文件|材料|语料",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[“\"‘「『《][^“”\"’」』》]{2,}[”\"’」』》]")

# e5 and BM25 gain nothing from more, and a part of a question is another question.
MAX_QUESTION = 8_000


@dataclass(frozen=True)
class Route:
    """A method and the reason it was chosen."""

    method: str
    reason: str


def clean_question(question: str) -> str:
    """The question without invisible characters and outer space.

    Raises UsageError when it is no text, nothing is left, or more than 8,000 characters are.

    >>> clean_question(" who\\u200b? ")
    'who?'
    """
    kept = " ".join(visible(as_text("question", question)).split())
    if not kept:
        raise UsageError('the question is empty; ask something, for example "who leads the team?"')
    if len(kept) > MAX_QUESTION:
        raise UsageError(
            f"the question has {len(kept):,} characters, more than {MAX_QUESTION:,}: ask for what "
            "is wanted in fewer words, and put long texts into the input folder"
        )
    return kept


def is_about_everything(question: str) -> bool:
    """True for questions about the collection as a whole; the theme of what stands in quotes is
    asked of that one thing.

    >>> is_about_everything("What are the main themes?"), is_about_everything("主要变化有哪些？")
    (True, True)
    >>> is_about_everything("Who leads the valve team?"), is_about_everything("E1043 怎么办")
    (False, False)
    >>> is_about_everything("“智慧车联网论坛”的主题是什么？"), is_about_everything("有哪些主题？")
    (False, True)
    """
    if _GLOBAL.search(question) is None:
        return False
    return not (_QUOTED.search(question) and _is_theme_alone(question))


def _is_theme_alone(question: str) -> bool:
    """Whether nothing but the word theme or 主题 lets a question be one about the whole."""
    return all(_THEME.fullmatch(found.group()) for found in _GLOBAL.finditer(question))


def _is_of_one_thing(question: str) -> bool:
    """Whether a question asks for the one theme of something that is no document.

    >>> _is_of_one_thing("联通大会的主题是什么？"), _is_of_one_thing("这些文档的主题是什么？")
    (True, False)
    """
    theme = _ONE_THEME.search(question) and not _DOCUMENTS.search(question)
    return bool(theme) and _is_theme_alone(question)


def route(snapshot: Snapshot, question: str, *, with_model: bool = False) -> Route:
    """The method that answers a question best.

    ``global`` for questions about the whole, by reports; without reports ``lazy`` where there
    is a model to read for it. ``local`` where the graph knows more of an entity of the question
    than one passage, ``hybrid`` where its evidence is thin. ``drift`` costs many calls and is
    only taken when it is asked for.
    """
    seeds = snapshot.graph.link(question)
    of_one = bool(seeds) and _is_of_one_thing(question)
    if is_about_everything(question) and not of_one and not named_files(snapshot, question):
        if has_reports(snapshot):
            return Route("global", "the question asks about the collection as a whole")
        if with_model:
            return Route("lazy", "the question asks about the whole, and there are no reports")
    if not seeds:
        return Route("hybrid", "no entity of the graph is named in the question")
    named = ", ".join(f"“{seed.surface}”" for seed in seeds[:3])
    if sum(snapshot.graph.neighbours(seed.entity) for seed in seeds) <= 1:
        return Route("hybrid", f"the graph knows {named} from one passage only")
    return Route("local", f"the question names {named}")
