"""Extraction by a language model: one call a text unit, more only where a reply was cut.

A reply that the model's window or its length limit cut off is not asked for again as it was: its
whole records are kept and the two halves of the text are asked for, down to quarters. What still
is cut leaves the unit cut: under the same limits another run would bring no more. What fails
otherwise leaves it partial, or failed when nothing was found; the caller has other evidence for
it, and asks again in the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from graphkb.errors import ModelFailure
from graphkb.extract.parse import parse_reply
from graphkb.extract.questions import Questions, Unit
from graphkb.extract.records import NOTHING, Records
from graphkb.extract.verify import Verified, verify
from graphkb.llm.model import Model, Said
from graphkb.llm.prompt import Prompt
from graphkb.settings import Extract
from graphkb.text.names import name_key
from graphkb.text.sentences import cover_spans

_MAX_DEPTH = 2
_SHORTEST_HALF = 30
_AT_ONCE = 2_000
_MAX_REASON = 300
# Where at most this share of the units failed, it was the server's moment and not the model's
# nature: they are asked once more when all others are done.
_HICCUPS = 0.05
# Failures that come from the limits of the model, and come again while those stay.
_LIMITS = ("truncated", "context")

Outcome = Said[Records] | ModelFailure
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Reading:
    """What a model found in one unit.

    ``status`` is ``done``; ``partial`` when a part could not be read; ``failed`` or ``budget``
    when nothing could; ``cut`` when the limits of the model are all that was in the way of a part
    or of everything. ``reason`` says why, in one line. ``sample`` is the beginning of a reply that
    could not be used; ``by_server``: there was none, as the server failed every time.
    """

    unit: Unit
    status: str
    reason: str
    found: Verified
    repaired: int = 0
    sample: str = ""
    by_server: bool = False

    @property
    def unusable(self) -> bool:
        """Whether the model brought nothing: no reply, or one of which nothing stands."""
        return self.status in ("failed", "budget") or (
            not self.found.used and (self.found.dropped > 0 or self.status == "cut")
        )


@dataclass
class _Open:
    """A unit whose reading is not finished."""

    unit: Unit
    records: Records = NOTHING
    pending: int = 1
    answered: bool = False
    failures: list[ModelFailure] = field(default_factory=list)


@dataclass(frozen=True)
class _Ask:
    """A question about a part of a unit; ``gleanings`` and ``prompt`` for one asking for more."""

    of: _Open
    start: int
    end: int
    depth: int = 0
    gleanings: int = 0
    prompt: Prompt | None = None


def read_units(
    units: Sequence[Unit],
    model: Model,
    questions: Questions,
    options: Extract,
    progress: Progress = lambda done, total: None,
    meanwhile: Iterable[object] = (),
    on_reading: Callable[[Reading], None] = lambda reading: None,
) -> list[Reading]:
    """The model's reading of every unit, in their order; where few failed, those are asked again.

    ``progress(done, total)`` is called as each reply arrives, ``on_reading`` as a unit is done
    with; ``meanwhile`` is other work, in steps, for the time in which none arrives. Raises
    ModelUnusableError when no call can succeed.
    """
    reader = _Reader(model, questions, options, progress, meanwhile, on_reading)
    reader.ask([_Ask(_Open(unit), 0, len(unit.text)) for unit in units])
    failed = [unit for unit in units if reader.readings[unit.id].status == "failed"]
    if len(failed) <= _HICCUPS * len(units):
        reader.ask([_Ask(_Open(unit), 0, len(unit.text)) for unit in failed])
    return [reader.readings[unit.id] for unit in units]


class _Reader:
    def __init__(
        self,
        model: Model,
        questions: Questions,
        options: Extract,
        progress: Progress,
        meanwhile: Iterable[object],
        on_reading: Callable[[Reading], None],
    ) -> None:
        self.model, self.questions, self.options = model, questions, options
        self.progress, self.meanwhile, self.on_reading = progress, meanwhile, on_reading
        self.done = self.total = 0
        self.readings: dict[str, Reading] = {}
        self.again: list[_Ask] = []

    def ask(self, asks: list[_Ask]) -> None:
        """Ask, and ask again what the replies make necessary, until nothing is left."""
        while asks:
            self.again = []
            self.total += len(asks)
            rest = iter(asks)
            while part := list(islice(rest, _AT_ONCE)):
                self._ask_part(part)
            asks = self.again

    def _ask_part(self, asks: list[_Ask]) -> None:
        prompts = [
            ask.prompt or self.questions.first(ask.of.unit, ask.start, ask.end) for ask in asks
        ]

        # The work on a reply is done while others are on their way.
        def take(place: int, outcome: Outcome) -> None:
            self.done += 1
            self._take(asks[place], prompts[place], outcome)
            self.progress(self.done, self.total)

        self.model.ask_many(prompts, parse_reply, take, meanwhile=self.meanwhile)

    def _take(self, ask: _Ask, prompt: Prompt, outcome: Outcome) -> None:
        if isinstance(outcome, Said):
            following = self._said(ask, prompt, outcome)
        else:
            following = self._failed(ask, outcome)
        self.again += following
        ask.of.pending += len(following) - 1
        if not ask.of.pending:
            reading = self.readings[ask.of.unit.id] = self._finished(ask.of)
            self.on_reading(reading)

    def _said(self, ask: _Ask, prompt: Prompt, said: Said[Records]) -> list[_Ask]:
        """Keep a reply's records; what to ask next: for more, while that brings something."""
        opened, found = ask.of, said.value
        if ask.gleanings:
            found = _new_in(found, opened.records)
        opened.answered = True
        opened.records += replace(found, repaired=found.repaired + said.repaired)
        if ask.gleanings >= self.options.max_gleanings or (ask.gleanings and not len(found)):
            return []
        more = self.questions.more(opened.unit, prompt, said.reply.text)
        return [replace(ask, gleanings=ask.gleanings + 1, prompt=more)]

    def _failed(self, ask: _Ask, failure: ModelFailure) -> list[_Ask]:
        """Keep what a cut reply holds; the halves to ask for."""
        opened = ask.of
        if failure.kind == "truncated":
            opened.records += _new_in(_whole_records(failure.text), opened.records)
        if ask.gleanings:  # what was found before stays
            return []
        if failure.kind in _LIMITS and ask.depth < _MAX_DEPTH:
            parts = halves(opened.unit.text, ask.start, ask.end)
            if parts:
                return [_Ask(opened, start, end, ask.depth + 1) for start, end in parts]
        opened.failures.append(failure)
        return []

    def _finished(self, opened: _Open) -> Reading:
        unit, records = opened.unit, opened.records
        if opened.failures and not opened.answered and not len(records):
            failure = opened.failures[0]
            status = _status(opened.failures)
            by_server = all(each.kind == "server" for each in opened.failures)
            reason, sample = _reason(failure), failure.text
            return Reading(unit, status, reason, Verified(), sample=sample, by_server=by_server)
        found = verify(unit, records, bool(self.options.entity_types), self.options.claims)
        if opened.failures:
            cut = all(f.kind in _LIMITS for f in opened.failures)
            status, reason = "cut" if cut else "partial", _reason(opened.failures[0])
        else:
            status, reason = "done", ""
        sample = ", ".join(entity.name for entity in records.entities[:5])
        return Reading(unit, status, reason, found, records.repaired, sample)


def halves(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """``text[start:end]`` in two at the sentence end nearest its middle, else at white space;
    empty when a half would hold nearly nothing.

    >>> text = "One is a sentence, and a long one at that. Two is another sentence, long as well."
    >>> [text[a:b] for a, b in halves(text, 0, len(text))]
    ['One is a sentence, and a long one at that. ', 'Two is another sentence, long as well.']
    """
    part = text[start:end]
    middle = len(part) / 2

    def nearest(places: Iterable[int]) -> int | None:
        inner = (p for p in places if _SHORTEST_HALF <= p <= len(part) - _SHORTEST_HALF)
        return min(inner, key=lambda place: abs(place - middle), default=None)

    cut = nearest(begin for begin, _ in cover_spans(part))
    if cut is None:
        cut = nearest(
            place + 1 for place, sign in enumerate(part) if sign.isspace() or sign in "，、；"
        )
    return [] if cut is None else [(start, start + cut), (start + cut, end)]


def _status(failures: Sequence[ModelFailure]) -> str:
    """Of a unit for which nothing came."""
    kinds = {failure.kind for failure in failures}
    if "budget" in kinds:
        return "budget"
    return "cut" if kinds.issubset(_LIMITS) else "failed"


def _whole_records(text: str) -> Records:
    """The records that a cut reply ends after."""
    try:
        return parse_reply(text, cut=True)
    except ValueError:
        return NOTHING


def _new_in(found: Records, before: Records) -> Records:
    """``found`` without what is in ``before``: a model asked for more repeats itself."""
    names = {name_key(entity.name) for entity in before.entities}
    pairs = {_pair(r.source, r.type, r.target) for r in before.relationships}
    claims = {_pair(c.subject, c.type, c.description) for c in before.claims}
    return replace(
        found,
        entities=tuple(e for e in found.entities if name_key(e.name) not in names),
        relationships=tuple(
            r for r in found.relationships if _pair(r.source, r.type, r.target) not in pairs
        ),
        claims=tuple(
            c for c in found.claims if _pair(c.subject, c.type, c.description) not in claims
        ),
    )


def _pair(*names: str) -> tuple[str, ...]:
    return tuple(name_key(name) if name else "" for name in names)


def _reason(failure: ModelFailure) -> str:
    return " ".join(str(failure).split())[:_MAX_REASON]
