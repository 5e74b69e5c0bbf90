"""The running text of a Word paragraph: what a reader sees, and what hangs on it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from graphkb.ingest.readers.office import Element, child, choices, number, value

_SKIPPED = frozenset({"w:del", "w:moveFrom", "w:pPr", "w:rPr", "w:sdtPr", "w:instrText",
                      "w:delText", "w:rt", "w:sdtEndPr"})  # fmt: skip
_FIXED = {"w:tab": "\t", "w:ptab": "\t", "w:cr": "\n", "w:noBreakHyphen": "-"}
_PAGE_FIELD = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b", re.IGNORECASE)
# Characters of symbol fonts by code: what documents use them for, ticks, boxes and bullets.
_WINGDINGS = {
    0xFC: "✓", 0xFB: "✗", 0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐", 0x71: "☐", 0x52: "☑",
    0x53: "☒", 0xA3: "☐", 0xE0: "→", 0xDF: "←", 0xE1: "↑", 0xE2: "↓", 0xE8: "→", 0x6C: "●",
    0x6E: "■", 0x75: "◆", 0xD8: "➢", 0xAB: "★", 0x4A: "☺",
}  # fmt: skip
_SYMBOL = {
    **dict(zip(b"ABGDEZHQIKLMNXOPRSTUFCYW", "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", strict=True)),
    **dict(zip(b"abgdezhqiklmnxoprstufcyw", "αβγδεζηθικλμνξοπρστυφχψω", strict=True)),
    0xA3: "≤", 0xB3: "≥", 0xB1: "±", 0xB4: "×", 0xB8: "÷", 0xB9: "≠", 0xBB: "≈", 0xB0: "°",
    0xAE: "→", 0xAC: "←", 0xA5: "∞", 0xD6: "√", 0xE5: "∑", 0xF2: "∫", 0xB7: "•", 0xDE: "⇒",
}  # fmt: skip
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|bmp|emf|wmf|tiff?|svg|webp)", re.IGNORECASE)


@dataclass
class Inline:
    """A paragraph's text, the ids of its notes and comments, its text boxes and its graphics;
    ``pictures`` by the id of their link and the area they are shown on, in square EMU."""

    text: str = ""
    notes: list[tuple[str, str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    graphics: list[Element] = field(default_factory=list)
    pictures: list[tuple[str, float]] = field(default_factory=list)


def read_inline(paragraph: Element, *, page_numbers: bool = True) -> Inline:
    """The paragraph's text without deleted and hidden runs, with inserted ones.

    Fields give their shown result; without ``page_numbers`` those of page numbers give nothing.
    A note leaves ``[^1]`` in the text. Text boxes are found once, however many forms they are
    saved in.
    """
    return _Reader(page_numbers).read(paragraph)


class _Reader:
    """Walks the runs of one paragraph; fields may begin in one run and end in another."""

    def __init__(self, page_numbers: bool) -> None:
        self._found = Inline()
        self._parts: list[str] = []
        self._page_numbers = page_numbers
        # One entry an open field: its instruction, and whether its result has begun.
        self._fields: list[tuple[str, bool]] = []

    def read(self, paragraph: Element) -> Inline:
        self._walk(paragraph)
        text = "".join(self._parts)
        lines = (re.sub(r"[ \t\u00a0\u3000]+", " ", line).strip() for line in text.split("\n"))
        self._found.text = "\n".join(line for line in lines if line)
        return self._found

    def _add(self, text: str) -> None:
        if all(is_result and self._is_shown(code) for code, is_result in self._fields):
            self._parts.append(text)

    def _is_shown(self, instruction: str) -> bool:
        return self._page_numbers or not _PAGE_FIELD.match(instruction)

    def _walk(self, node: Element) -> None:
        for one in choices(node):
            tag = one.tag
            if tag == "w:t":
                self._add(one.text or "")
            elif tag in _FIXED:
                self._add(_FIXED[tag])
            elif tag == "w:br":
                self._add(" " if one.get("w:type") in {"page", "column"} else "\n")
            elif tag == "w:sym":
                self._add(_symbol(one))
            elif tag == "w:fldChar":
                self._field(one.get("w:fldCharType", ""))
            elif tag == "w:instrText" and self._fields:
                code, is_result = self._fields[-1]
                self._fields[-1] = (code + (one.text or ""), is_result)
            elif tag in {"w:footnoteReference", "w:endnoteReference"}:
                kind, name = tag[2:-9], one.get("w:id", "")
                self._found.notes.append((kind, name))
                self._add(f"[^{'e' if kind == 'endnote' else ''}{name}]")
            elif tag == "w:commentReference":
                self._found.comments.append(one.get("w:id", ""))
            elif tag in {"w:drawing", "w:pict", "w:object"}:
                self._drawing(one)
            elif tag in {"m:oMath", "m:oMathPara"}:
                self._add(math_text(one))
            elif tag not in _SKIPPED and not self._is_unseen(one):
                self._walk(one)

    def _is_unseen(self, node: Element) -> bool:
        """True for hidden runs, prompts of empty controls and numbers of pages."""
        if node.tag == "w:fldSimple":
            return not self._is_shown(node.get("w:instr", ""))
        is_hidden = node.tag == "w:r" and is_on(child(node, "w:rPr", "w:vanish"))
        return is_hidden or is_placeholder(node)

    def _field(self, kind: str) -> None:
        if kind == "begin":
            self._fields.append(("", False))
        elif kind == "separate" and self._fields:
            self._fields[-1] = (self._fields[-1][0], True)
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _drawing(self, node: Element) -> None:
        described = next((one for one in node.iter("wp:docPr")), None)
        self._add(image_text(described.get("descr", "") if described is not None else ""))
        area = _area(next((one for one in node.iter("wp:extent")), None))
        stack = [node]
        while stack:
            one = stack.pop()
            if one.tag == "w:txbxContent":
                self._found.boxes.append(one)
            elif one.tag in {"c:chart", "dgm:relIds"}:
                self._found.graphics.append(one)
            elif one.tag == "a:blip":
                self._found.pictures.append((one.get("r:embed", ""), area))
            else:
                stack.extend(reversed(list(choices(one))))


def _area(extent: Element | None) -> float:
    """The product of width and height; 0 where there are none."""
    if extent is None:
        return 0.0
    return float(number(extent.get("cx"))) * float(number(extent.get("cy")))


def image_text(description: str) -> str:
    """A picture's description as text in brackets; nothing for a mere file name.

    >>> image_text("Pump, exploded view"), image_text("scan01.png")
    ('[image: Pump, exploded view]', '')
    """
    description = " ".join(description.split())
    if not description or _FILE_NAME.fullmatch(description):
        return ""
    return f"[image: {description}]"


def is_on(switch: Element | None) -> bool:
    """True where a property stands that is on unless its value says otherwise."""
    return switch is not None and switch.get("w:val", "1") not in {"0", "false", "off"}


def is_placeholder(node: Element) -> bool:
    """True for a content control that still shows its prompt, such as "Click to enter text"."""
    return node.tag == "w:sdt" and is_on(child(node, "w:sdtPr", "w:showingPlcHdr"))


def _symbol(node: Element) -> str:
    try:
        code = int(node.get("w:char", ""), 16)
    except ValueError:
        return ""
    font = node.get("w:font", "").casefold()
    place = code & 0xFF if 0xF000 <= code <= 0xF0FF or code < 0x100 else -1
    if font.startswith("wingdings"):
        return _WINGDINGS.get(place, "")
    if font == "symbol":
        return _SYMBOL.get(place, chr(place) if 0x20 <= place < 0x7F else "")
    is_character = code >= 0x20 and not 0xD800 <= code <= 0xF8FF and code <= 0x10FFFF
    return chr(code) if is_character else ""


def math_text(node: Element) -> str:
    """A formula in one line: ``a/(b+c)``, ``x^2``, ``a_i``, ``√(x)``.

    Parts of more than one character are put in parentheses where they need them.
    """
    tag = node.tag
    if tag == "m:t":
        return node.text or ""
    if tag == "m:f":
        return f"{_grouped(node, 'm:num')}/{_grouped(node, 'm:den')}"
    if tag in {"m:sSup", "m:sSub", "m:sSubSup"}:
        base, sub, sup = (_grouped(node, part) for part in ("m:e", "m:sub", "m:sup"))
        return base + (f"_{sub}" if sub else "") + (f"^{sup}" if sup else "")
    if tag == "m:rad":
        return f"{_part(node, 'm:deg')}√({_part(node, 'm:e')})"
    if tag == "m:d":
        properties = child(node, "m:dPr")
        opening = value(properties, "m:begChr", name="m:val")
        closing = value(properties, "m:endChr", name="m:val")
        inner = ", ".join(math_text(one) for one in node if one.tag == "m:e")
        return ("(" if opening is None else opening) + inner + (")" if closing is None else closing)
    if tag == "m:nary":
        sign = value(node, "m:naryPr", "m:chr", name="m:val") or "∫"
        sub, sup = _grouped(node, "m:sub"), _grouped(node, "m:sup")
        ends = (f"_{sub}" if sub else "") + (f"^{sup}" if sup else "")
        return f"{sign}{ends} {_part(node, 'm:e')}"
    if tag == "m:oMathPara":
        return "\n".join(math_text(one) for one in node if one.tag == "m:oMath")
    return "".join(math_text(one) for one in choices(node))


def _part(node: Element, tag: str) -> str:
    found = child(node, tag)
    return math_text(found) if found is not None else ""


def _grouped(node: Element, tag: str) -> str:
    text = _part(node, tag)
    return text if len(text) < 2 or text.isalnum() else f"({text})"
