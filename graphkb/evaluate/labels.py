"""Lines such as "Author: Calum Strachey" and 主持人：王晓岚 as questions about their document."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphkb.evaluate.facts import Fact, Sentence
from graphkb.evaluate.patterns_en import DATE
from graphkb.evaluate.patterns_zh import ends_in_noun
from graphkb.extract.kinds import PERSON
from graphkb.text.language import HAN, has_han

_LINE = re.compile(
    rf"^[-*•\s]*(?P<label>[{HAN}]{{2,8}}|[A-Z][a-z]+(?: [a-z]+){{0,2}})\s*[:：]"
    r"\s*(?P<value>[^\s:：][^:：]{1,79})$"
)
_ZH_DATE = re.compile(
    r"\d{4}-\d\d(?:-\d\d)?|\d{4}\s*年(?:\s*\d{1,2}\s*月(?:\s*\d{1,2}\s*[日号])?)?"
)
_AMOUNT = re.compile(
    r"[A-Z]{3} ?\d.*|[$€£¥]?\s*\d[\d,.]*\s*(?:[%％]|[a-zA-Z]+|.?[元人个家次天年月吨台套])"
)
# What begins a remark rather than names a value.
_REMARK = re.compile(
    r"(?:note|warning|example|tip|remember|important|question|answer|see|summary|comment|title|contact|further|more|interview|photo|"
    r"information|next|first|second|finally|result|answer)s?\b"
    r"|注|注意|例如|比如|提示|说明|备注|问|答|如下|另外|其中|结论|总结|决定|风险|标题|展望|背景|亮点|愿景|"
    r"口号",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(r"(?:[A-Z][a-z]+|Last [a-z]+)ed\Z")


def label_facts(sentence: Sentence) -> Iterator[Fact]:
    """A question for a line that gives a label and its value; nothing where the document's title
    does not tell it from others."""
    found = _LINE.match(sentence.text.replace("**", "").strip())
    if found is None or not sentence.title or _REMARK.match(found["label"]):
        return
    label, value = found["label"], found["value"].rstrip(" .。；;*")
    if re.search(r"[<>|\\]", value):
        return
    person = any(n.type == PERSON and n.surface == value for n in sentence.names)
    if has_han(label):
        date, amount = _ZH_DATE.fullmatch(value), _AMOUNT.fullmatch(value)
        plain = date or person or amount
        if not ends_in_noun(label) or (not plain and re.search("[，。；、！？]", value)):
            return
        word = "谁" if person else "什么时候" if date else "多少" if amount else "什么"
        kind = "who" if person else "when" if date else "how much" if amount else "what"
        yield Fact(
            f"《{sentence.title}》的{label}是{word}？", value, kind, "zh", None, "", sentence
        )
        return
    if len(value.split()) > 8 or has_han(value):
        return
    title, name = f"“{sentence.title}”", label[:1].lower() + label[1:]
    date_en = re.fullmatch(DATE, value)
    if _PARTICIPLE.fullmatch(label):
        if date_en:
            yield Fact(f"When was {title} {name}?", value, "when", "en", None, "", sentence)
        return
    word = "Who" if person else "What"
    kind = "who" if person else "when" if date_en else "what"
    yield Fact(f"{word} is the {name} in {title}?", value, kind, "en", None, "", sentence)
