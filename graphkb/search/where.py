"""The filter language: ``category = 'refund' and updated_at >= '2024-01-01'``, read and checked.

::

    filter     := all ("or" all)*
    all        := part ("and" part)*
    part       := "not" part | "(" filter ")" | comparison
    comparison := key ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                | key ["not"] "in" "(" value ("," value)* ")"
                | key ["not"] "like" string            % any characters, _ any one; in any case
                | key "is" ["not"] "null"
    value      := 'string' | number | true | false

A key is a bare word (letters of any script, digits, ``. _ - : /``) or stands in double quotes
or backquotes. Full-width signs and Chinese quotation marks are read as their plain forms.
Nothing of a filter is ever handed to the store: it is decided here, row by row.

A key that a row lacks makes every comparison false but ``is null``; a list passes one when any of
its values does. Numbers compare as numbers, dates (2024-3-5, 2024/03/05, 2024年3月5日) as dates
to the precision of the filter's value: ``<= '2024-05'`` holds for all of May. Other text compares
by its characters, exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from graphkb.arguments import as_text
from graphkb.errors import UsageError
from graphkb.search.values import COMPARE, Scalar, compares, equal, like_pattern, text_of

Values = Callable[[str], Sequence[Scalar]]
"""The values that a row has for a key: none where it lacks the key, several for a list."""

MAX_LENGTH = 4_000
_MAX_DEPTH = 40

_WIDE = str.maketrans("（），＝＜＞！", "(),=<>!")
_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<string>'(?:[^']|'')*'|‘[^’]*’|“[^”]*”)"
    r'|(?P<quoted>"(?:[^"]|"")*"|`[^`]*`)'
    r"|(?P<number>[+-]?\d+(?:\.\d+)?(?![\w.\-/:]))"
    r"|(?P<word>[^\W\d][\w.\-/:]*)"
    r"|(?P<sign><=|>=|!=|<>|==|[=<>(),])"
    r")"
)
_SIGNS = {"==": "=", "<>": "!="}
_KEYWORDS = frozenset("and or not in like is null true false".split())


@dataclass(frozen=True)
class Comparison:
    """``key operator values``; ``position`` is the key's first character, from 1."""

    key: str
    operator: str
    values: tuple[Scalar, ...]
    position: int

    def holds(self, row: Values) -> bool:
        """Whether the row passes."""
        present = row(self.key)
        if self.operator == "is null":
            return not present
        if self.operator == "like":
            pattern = like_pattern(str(self.values[0]))
            return any(pattern.fullmatch(text_of(value)) is not None for value in present)
        if self.operator == "!=":
            return bool(present) and not any(equal(v, self.values[0]) for v in present)
        if self.operator in ("=", "in"):
            return any(equal(value, wanted) for value in present for wanted in self.values)
        return any(compares(value, self.operator, self.values[0]) for value in present)


@dataclass(frozen=True)
class Not:
    """True where ``part`` is not."""

    part: Filter

    def holds(self, row: Values) -> bool:
        """Whether the row passes."""
        return not self.part.holds(row)


@dataclass(frozen=True)
class Joined:
    """All of the parts (``every``), or any of them."""

    parts: tuple[Filter, ...]
    every: bool

    def holds(self, row: Values) -> bool:
        """Whether the row passes."""
        return (all if self.every else any)(part.holds(row) for part in self.parts)


Filter = Comparison | Not | Joined


def comparisons_of(part: Filter) -> Iterator[Comparison]:
    """Every comparison of a filter, from left to right."""
    if isinstance(part, Comparison):
        yield part
    elif isinstance(part, Not):
        yield from comparisons_of(part.part)
    else:
        for one in part.parts:
            yield from comparisons_of(one)


def parse_filter(text: str) -> Filter:
    """The filter that ``text`` says. Raises UsageError that names the position.

    >>> parse_filter("category = 'refund'").holds(lambda key: ["refund"])
    True
    """
    if len(as_text("where", text)) > MAX_LENGTH:
        raise UsageError(f"filter: {len(text)} characters; use at most {MAX_LENGTH}")
    return _Parser(text).whole()


@dataclass(frozen=True)
class _Token:
    kind: str  # string, quoted, number, word, sign, end
    text: str
    position: int

    @property
    def keyword(self) -> str:
        """The word in lower case; empty for anything but a word."""
        return self.text.lower() if self.kind == "word" else ""


class _Parser:
    """Recursive descent, one method a rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _takes(self, *words: str) -> bool:
        """Whether the next token is one of these; then it is taken."""
        found = self._token.keyword in words or (
            self._token.kind == "sign" and self._token.text in words
        )
        self._next += found
        return found

    def _wrong(self, wanted: str) -> UsageError:
        token = self._token
        if token.kind == "end":
            return UsageError(f"filter: ends at character {token.position}; expected {wanted}")
        return UsageError(
            f"filter: {token.text!r} at character {token.position}; expected {wanted}"
        )

    def whole(self) -> Filter:
        if self._token.kind == "end":
            raise UsageError("filter: is empty; write for example category = 'refund'")
        found = self._any()
        if self._token.kind != "end":
            raise self._wrong("and, or, or the end")
        return found

    def _any(self) -> Filter:
        parts = [self._all()]
        while self._takes("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), every=False)

    def _all(self) -> Filter:
        parts = [self._part()]
        while self._takes("and"):
            parts.append(self._part())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), every=True)

    def _part(self) -> Filter:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise UsageError(
                f"filter: nested deeper than {_MAX_DEPTH} at character {self._token.position}"
            )
        if self._takes("not"):
            found: Filter = Not(self._part())
        elif self._takes("("):
            found = self._any()
            if not self._takes(")"):
                raise self._wrong("and, or, or a closing parenthesis")
        else:
            found = self._comparison()
        self._depth -= 1
        return found

    def _comparison(self) -> Filter:
        token = self._token
        if token.kind not in ("word", "quoted") or token.keyword in _KEYWORDS:
            raise self._wrong("a key, such as category or path")
        self._next += 1
        key, position = token.text, token.position
        if self._takes("is"):
            negated = self._takes("not")
            if not self._takes("null"):
                raise self._wrong("null")
            return _maybe_not(Comparison(key, "is null", (), position), negated)
        negated = self._takes("not")
        if self._takes("in"):
            return _maybe_not(Comparison(key, "in", self._list(), position), negated)
        if self._takes("like"):
            if self._token.kind not in ("string", "quoted"):
                raise self._wrong("a pattern in quotes, such as 'faq%'")
            return _maybe_not(Comparison(key, "like", (self._take().text,), position), negated)
        sign = _SIGNS.get(self._token.text, self._token.text)
        if negated or self._token.kind != "sign" or sign not in COMPARE:
            raise self._wrong("in or like" if negated else "=, !=, <, <=, >, >=, in, like or is")
        self._next += 1
        return Comparison(key, sign, (self._value(),), position)

    def _list(self) -> tuple[Scalar, ...]:
        if not self._takes("("):
            raise self._wrong("values in parentheses, such as ('a', 'b')")
        values = [self._value()]
        while self._takes(","):
            values.append(self._value())
        if not self._takes(")"):
            raise self._wrong("a comma or a closing parenthesis")
        return tuple(values)

    def _value(self) -> Scalar:
        token = self._token
        if token.keyword in ("true", "false"):
            self._next += 1
            return token.keyword == "true"
        if token.kind == "number":
            self._next += 1
            return float(token.text) if "." in token.text else int(token.text)
        if token.kind in ("string", "quoted"):
            return self._take().text
        if token.keyword == "null":
            raise self._wrong("a value; for missing ones write: is null")
        raise self._wrong("a value: text in single quotes, a number, true or false")


def _maybe_not(comparison: Comparison, negated: bool) -> Filter:
    """``key not in …`` is, like ``!=``, false where the key is missing."""
    if not negated or comparison.operator == "is null":
        return Not(comparison) if negated else comparison
    missing = Comparison(comparison.key, "is null", (), comparison.position)
    return Joined((Not(missing), Not(comparison)), every=True)


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    plain = _outside_quotes_plain(text)
    while place < len(plain.rstrip()):
        match = _TOKEN.match(plain, place)
        if match is None:
            at = place + len(plain[place:]) - len(plain[place:].lstrip())
            open_quote = "; a quotation mark is not closed" if plain[at] in "'\"`‘“" else ""
            raise UsageError(f"filter: {text[at]!r} at character {at + 1} is not part of the "
                             f"filter language{open_quote}")  # fmt: skip
        kind = str(match.lastgroup)
        found = match.group(kind)
        yield _Token(kind, _unquoted(found, kind), match.start(kind) + 1)
        place = match.end()
    yield _Token("end", "", len(text) + 1)


def _outside_quotes_plain(text: str) -> str:
    """The text, of equal length, with full-width signs outside quotation marks made plain."""
    parts = re.split(r"('(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|‘[^’]*’|“[^”]*”)", text)
    return "".join(p if i % 2 else p.translate(_WIDE) for i, p in enumerate(parts))


def _unquoted(text: str, kind: str) -> str:
    if kind not in ("string", "quoted"):
        return text
    return text[1:-1].replace(text[0] * 2, text[0]) if text[0] in "'\"" else text[1:-1]
