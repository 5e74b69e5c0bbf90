"""Numbers as a workbook shows them: number formats of ECMA-376 part 1, section 18.8.30/31."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from graphkb.ingest.readers.office_dates import shown_date

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>General|G/通用格式)|(?P<ampm>AM/PM|A/P|上午/下午)|(?P<exp>E[+-])"
    r"|(?P<date>[yY]+|[mM]+|[dD]+|[hH]+|[sS]+|a{3,4}|e+|g+|b+)|(?P<digits>[0#?])|(?P<point>\.)"
    r"|(?P<comma>,)|(?P<percent>%)|(?P<slash>/)|(?P<text>@)|(?P<other>.)",
    re.DOTALL,
)
_ELAPSED = re.compile(r"(?:h+|m+|s+)", re.IGNORECASE)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_CURRENCY = re.compile(r"\$([^-]*)(?:-([0-9A-Fa-f]+))?")
_LONGEST = 400
_WIDE = Context(prec=1_000)

Token = tuple[str, str]


@dataclass(frozen=True)
class Section:
    """One part of a format, with the condition under which it holds."""

    tokens: tuple[Token, ...]
    condition: tuple[str, float] | None = None
    is_chinese: bool = False

    @cached_property
    def is_date(self) -> bool:
        """True where it shows a date, a time of day or an elapsed time."""
        return any(kind in {"date", "elapsed"} for kind, _ in self.tokens)


def shown_number(text: str, code: str = "General", *, from_1904: bool = False) -> str:
    """A stored number the way its format shows it; what is no number stays as it is.

    General shows up to ten significant digits, as a wide cell does, but whole numbers in full.

    >>> shown_number("0.256", "0.0%"), shown_number("-1234.5", '"¥"#,##0.00;[Red]("¥"#,##0.00)')
    ('25.6%', '(¥1,234.50)')
    >>> shown_number("45356", 'yyyy"年"m"月"d"日"')
    '2024年3月5日'
    """
    try:
        stored = float(text)
    except ValueError:
        return text
    if not math.isfinite(stored) or len(code) > _LONGEST:
        return text
    if code == "General":
        return _general(stored)
    section, is_absolute = _chosen(sections(code), stored)
    if section.is_date:
        shown = shown_date(stored, section.tokens, from_1904, section.is_chinese)
        return shown if shown is not None else _general(stored)
    # The shortest decimal that is this float, as a workbook rounds decimals and not floats.
    exact = Decimal(repr(stored))
    shown = _number(abs(exact) if is_absolute else exact, section.tokens)
    return shown or _general(stored)


def shown_text(text: str, code: str) -> str:
    """A text with what its format puts around it.

    >>> shown_text("042", '"No. "@')
    'No. 042'
    """
    if "@" not in code or len(code) > _LONGEST:
        return text
    tokens = sections(code)[-1].tokens
    if all(kind != "text" for kind, _ in tokens):
        return text
    return "".join(text if kind == "text" else part for kind, part in tokens
                   if kind in {"text", "literal"})  # fmt: skip


@lru_cache(maxsize=1024)
def sections(code: str) -> tuple[Section, ...]:
    """The format's parts for positive numbers, negative ones, zero and text."""
    found: list[Section] = []
    tokens: list[Token] = []
    condition: tuple[str, float] | None = None
    is_chinese = False

    def close() -> None:
        nonlocal condition, is_chinese
        found.append(Section(tuple(tokens), condition, is_chinese))
        tokens.clear()
        condition, is_chinese = None, False

    for match in _TOKEN.finditer(code):
        kind, text = match.lastgroup or "other", match.group(match.lastgroup or 0)
        if kind == "bracket":
            limit, money = _CONDITION.fullmatch(text), _CURRENCY.fullmatch(text)
            if _ELAPSED.fullmatch(text):
                tokens.append(("elapsed", text.lower()))
            elif limit:
                condition = (limit[1], float(limit[2]))
            elif money:
                tokens.append(("literal", money[1]))
                is_chinese |= (money[2] or "").lower().endswith("804")
        elif kind == "other" and text == ";":
            close()
        elif kind in {"quoted", "escaped", "other"}:
            tokens.append(("literal", text))
        elif kind == "space":
            tokens.append(("literal", " "))
        elif kind != "fill":
            tokens.append((kind, text))
    close()
    return tuple(found)


def _chosen(parts: tuple[Section, ...], stored: float) -> tuple[Section, bool]:
    """The section that holds for the number, and whether it shows the sign itself."""
    if any(part.condition for part in parts):
        for part in parts[:3]:
            if part.condition is None or _holds(stored, *part.condition):
                return part, part.condition is not None and part.condition[0].startswith("<")
        return parts[0], False
    if len(parts) > 1 and stored < 0:
        return parts[1], True
    if len(parts) > 2 and stored == 0:
        return parts[2], False
    return parts[0], False


def _holds(stored: float, sign: str, limit: float) -> bool:
    return {
        "<": stored < limit, "<=": stored <= limit, ">": stored > limit,
        ">=": stored >= limit, "=": stored == limit, "<>": stored != limit,
    }[sign]  # fmt: skip


def _general(stored: float) -> str:
    if stored == int(stored) and abs(stored) < 1e15:
        return str(int(stored))
    if not 1e-4 <= abs(stored) < 1e15:
        return f"{stored:.6G}"
    decimals = max(0, 10 - len(str(int(abs(stored)))))
    text = f"{stored:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number(exact: Decimal, tokens: tuple[Token, ...]) -> str:
    kinds = [kind for kind, _ in tokens]
    if "general" in kinds or "text" in kinds:
        plain = _general(float(exact))
        shown = (plain if kind in {"general", "text"} else text
                 for kind, text in tokens if kind in {"general", "text", "literal"})  # fmt: skip
        return "".join(shown)
    if "digits" not in kinds:
        return "".join(text for kind, text in tokens if kind in {"literal", "percent"}).strip()
    if "slash" in kinds:
        return _fraction(exact, tokens)
    first = kinds.index("digits")
    last = len(kinds) - 1 - kinds[::-1].index("digits")
    if "exp" in kinds:
        return _around(_scientific(exact, tokens), tokens, first, last)
    exact = exact.scaleb(2 * kinds.count("percent"))
    after = kinds[last + 1 :]
    thousands = next((at for at, kind in enumerate(after) if kind != "comma"), len(after))
    exact = exact.scaleb(-3 * thousands)
    point = kinds.index("point") if "point" in kinds else None
    places = [text for kind, text in tokens[point or 0 :] if kind == "digits"] if point else []
    digits = exact.quantize(Decimal(1).scaleb(-len(places)), ROUND_HALF_UP, _WIDE)
    whole, _, decimals = f"{abs(digits):f}".partition(".")
    while places and places[-1] in "#?" and decimals.endswith("0"):
        places.pop()
        decimals = decimals[:-1]
    end = point if point is not None and first < point else last + 1
    inner = tokens[first:end] if point is None or first < point else ()
    text = _placed(whole, inner) + (f".{decimals}" if decimals else "")
    sign = "-" if digits < 0 else ""
    return _around(sign + text, tokens, first if point is None else min(first, point), last)


def _around(text: str, tokens: tuple[Token, ...], first: int, last: int) -> str:
    """The number with the literal texts before and after it; the sign goes first."""
    shown = {"literal", "percent"}
    before = "".join(part for kind, part in tokens[:first] if kind in shown)
    after = "".join(part for kind, part in tokens[last + 1 :] if kind in shown)
    if text.startswith("-"):
        before, text = f"-{before.lstrip()}", text[1:]
    return f"{before}{text}{after}".strip()


def _placed(whole: str, tokens: tuple[Token, ...]) -> str:
    """The whole digits in their places, from the right; the first place takes what is left."""
    groups = any(kind == "comma" for kind, _ in tokens)
    left = whole.lstrip("0")
    n_places = sum(kind == "digits" for kind, _ in tokens)
    parts: list[str] = []
    count = 0

    def put(digit: str) -> None:
        nonlocal count
        if groups and count and count % 3 == 0:
            parts.append(",")
        parts.append(digit)
        count += 1

    for kind, text in reversed(tokens):
        if kind == "literal":
            parts.append(text[::-1])
        if kind != "digits":
            continue
        n_places -= 1
        if left:
            put(left[-1])
            left = left[:-1]
        elif text == "0":
            put("0")
        while n_places == 0 and left:
            put(left[-1])
            left = left[:-1]
    return "".join(parts)[::-1]


def _scientific(exact: Decimal, tokens: tuple[Token, ...]) -> str:
    at = next(place for place, (kind, _) in enumerate(tokens) if kind == "exp")
    mantissa = [kind for kind, _ in tokens[:at]]
    decimals = mantissa[mantissa.index("point") :].count("digits") if "point" in mantissa else 0
    digits, _, exponent = f"{exact:.{decimals}E}".partition("E")
    power = int(exponent)
    n_places = sum(kind == "digits" for kind, _ in tokens[at:])
    sign = "-" if power < 0 else "+" if tokens[at][1][1] == "+" else ""
    return f"{digits}E{sign}{abs(power):0{n_places}}"


def _fraction(exact: Decimal, tokens: tuple[Token, ...]) -> str:
    """``1 1/2``; the denominator is the format's own or has as many digits as it has places."""
    at = next(place for place, (kind, _) in enumerate(tokens) if kind == "slash")
    below = "".join(text for kind, text in tokens[at + 1 :] if kind in {"digits", "literal"})
    fixed = re.match(r"[0-9]*[1-9][0-9]*", below)
    part = Fraction(abs(exact))
    whole = int(part)
    if fixed:
        denominator = int(fixed[0])
        numerator = round((part - whole) * denominator)
    else:
        n_places = min(sum(kind == "digits" for kind, _ in tokens[at + 1 :]), 5)
        near = (part - whole).limit_denominator(10 ** max(n_places, 1) - 1)
        numerator, denominator = near.numerator, near.denominator
    if numerator == denominator:
        whole, numerator = whole + 1, 0
    sign = "-" if exact < 0 else ""
    if not numerator:
        return f"{sign}{whole}"
    return sign + (f"{whole} " if whole else "") + f"{numerator}/{denominator}"
