"""The words around an answer, in the question's language."""

from __future__ import annotations

from dataclasses import dataclass

from graphkb.text.language import question_language


@dataclass(frozen=True)
class Wording:
    """What stands around an answer in one language. ``{}`` and ``{name}`` are filled in."""

    refusal: str
    no_text: str
    sources: str
    closest: str
    no_sources: str
    title: str  # a list's title
    span: str
    page: str
    pages: str  # from one to another
    slide: str  # a page of a presentation
    slides: str
    sheet: str
    sheets: str
    sheet_name: str
    behind_sheet: str
    row: str  # of a sheet
    rows: str
    source: str
    unverified: str
    unchecked: str
    unsupported: str
    uncited: str
    corrected: str
    refused: str
    by: str
    seconds: str
    call: str
    calls: str
    tokens: str
    cached: str
    comma: str
    usd: str


EN = Wording(
    refusal="The knowledge base does not answer this question.",
    no_text="(no text)",
    sources="Sources",
    closest="Closest passages",
    no_sources="The last answer names no source.",
    title="{}:",
    span="{path}, {page}chars {start}–{end}",
    page="p. {}",
    pages="pp. {}–{}",
    slide="slide {}",
    slides="slides {}–{}",
    sheet="sheet {}",
    sheets="sheets {}",
    sheet_name="“{}”",
    behind_sheet=", ",
    row="row {}",
    rows="rows {}–{}",
    source="{place} ({span}): “{quote}”",
    unverified="(unverified) ",
    unchecked="(not checked: other language) ",
    unsupported="Not borne out by the sources they cite:",
    uncited="Without a source:",
    corrected="Corrected after the check against the sources:",
    refused="refused",
    by="by {}",
    seconds="{} s",
    call="{} model call",
    calls="{} model calls",
    tokens="{} tokens",
    cached="{} from the cache",
    comma=", ",
    usd="USD",
)
ZH = Wording(
    refusal="知识库中没有这个问题的答案。",
    no_text="（无文字）",
    sources="来源",
    closest="最接近的段落",
    no_sources="上一个回答没有引用来源。",
    title="{}：",
    span="{path}，{page}字符 {start}–{end}",
    page="第 {} 页",
    pages="第 {}–{} 页",
    slide="第 {} 张幻灯片",
    slides="第 {}–{} 张幻灯片",
    sheet="工作表{}",
    sheets="工作表{}",
    sheet_name="「{}」",
    behind_sheet="",
    row="第 {} 行",
    rows="第 {}–{} 行",
    source="{place}（{span}）：“{quote}”",
    unverified="（未证实）",
    unchecked="（未核对：语言不同）",
    unsupported="所引来源不能证实：",
    uncited="没有来源：",
    corrected="对照来源核对后更正为：",
    refused="未作答",
    by="由 {} 回答",
    seconds="{} 秒",
    call="{} 次模型调用",
    calls="{} 次模型调用",
    tokens="{} 个词元",
    cached="{} 次取自缓存",
    comma="，",
    usd="美元",
)


def wording(question: str) -> Wording:
    """The words for an answer to ``question``: Chinese for a Chinese one, else English."""
    return ZH if question_language(question) == "zh" else EN
