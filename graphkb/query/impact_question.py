"""Questions about what a change of code affects, in English and Chinese."""

from __future__ import annotations

import re

_CHANGE = r"(?:chang\w*|modif\w*|edit\w*|updat\w*|remov\w*|delet\w*|renam\w*|break\w*|refactor\w*)"
_SYMBOL = r"[`'\"“‘「]?(?P<name>[\w./:\\-]+?(?:\(\))?)[`'\"”’」]?"
_KIND = (
    r"(?:(?:the|a|an)\s+)?(?:(?:function|method|class|module|file|struct|interface)\s+)?(?:to\s+)?"
)
_TAIL = r"(?:\s+(?:function|method|class|module|file))?\s*[?.!？]*\s*\Z"
_ENGLISH = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bwhat\b.*?\b{_CHANGE}\s+{_KIND}{_SYMBOL}(?:\s+(?:function|method|class|module|file))?"
        rf"\s+(?:affect|break|impact|chang|influence|touch)\w*\b",
        rf"\bwhat\b.*?\b(?:affected|broken|impacted|breaks?|happens)\b.*?\b{_CHANGE}\s+"
        rf"{_KIND}{_SYMBOL}{_TAIL}",
        rf"\b(?:impact|effects?|consequences?)\s+of\s+(?:a\s+)?{_CHANGE}\s+(?:to\s+|in\s+)?{_KIND}"
        rf"{_SYMBOL}{_TAIL}",
        rf"\b(?:what|who|which\s+\w+)\s+(?:code\s+)?(?:depends?\s+(?:up)?on|calls?|uses?|imports?)"
        rf"\s+{_KIND}{_SYMBOL}{_TAIL}",
    )
)
_ZH_KIND = r"(?:函数|方法|类|模块|文件|接口)?\s*"
_ZH_CHANGE = r"(?:改动|修改|更改|变更|改变|重构|重命名|删除|删掉|去掉|改)(?:了|掉)?"
_CHINESE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_ZH_CHANGE}\s*{_ZH_KIND}{_SYMBOL}\s*(?:这个)?{_ZH_KIND}(?:会|将|可能|都会)*\s*"
        r"(?:影响|波及|牵连|破坏)",
        rf"{_SYMBOL}\s*(?:这个)?{_ZH_KIND}的?{_ZH_CHANGE}后?(?:会|将|可能|都会)*(?:影响|波及|牵连)",
        rf"(?:谁|什么|哪些?[^\s`]{{0,4}})\s*(?:依赖|调用|用到|使用|引用|导入)了?\s*{_ZH_KIND}"
        rf"{_SYMBOL}\s*{_ZH_KIND}[?？。]*\Z",
    )
)
# The time that the patterns take grows with the square of the length, and who asks what a change
# affects is brief.
_LONGEST = 400


def symbol_asked(question: str) -> str:
    """The name of the code whose change a question is about; empty for other questions, and for
    those of more than 400 characters.

    >>> symbol_asked("What does changing Client.chat affect?"), symbol_asked("改 chat 会影响什么？")
    ('Client.chat', 'chat')
    >>> symbol_asked("What changed in the Osprey project?")
    ''
    """
    for pattern in (*_ENGLISH, *_CHINESE):
        found = pattern.search(question) if len(question) <= _LONGEST else None
        if found is not None:
            return found.group("name").removesuffix("()").strip(".:")
    return ""
