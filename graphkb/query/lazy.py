"""The lazy method: no reports needed, the reading is done when the question is asked.

After LazyGraphRAG (Edge et al., Microsoft Research, November 2024): the question is split into
smaller ones, text units are rated best first within a relevance budget
(:mod:`graphkb.query.lazy_search`), and points are drawn from the relevant ones. Without a model
units are rated by the question's words and by retrieval, and the answer quotes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphkb.llm.model import Prompt
from graphkb.query.ask import Ask
from graphkb.query.asking import make_prompt, room_in_window
from graphkb.query.calls import Calls
from graphkb.query.candidates import stems_of
from graphkb.query.evidence import widest_evidence
from graphkb.query.extractive import share_held, wanted_stems
from graphkb.query.lazy_search import LazySearch, find_candidates
from graphkb.query.pack import fit, passage_cost
from graphkb.query.points import find_sources, gather_points
from graphkb.query.replies import (
    POINTS_SCHEMA,
    QUESTIONS_SCHEMA,
    RATINGS_SCHEMA,
    read_points,
    read_questions,
    read_ratings,
)
from graphkb.query.sources import Entry, deal, passage_entry, shortened, shown, sources_of
from graphkb.search.snapshot import Snapshot
from graphkb.types import Context, Passage

# Smaller questions followed, and the text units looked up for each of them per rating.
_QUESTIONS = 4
_CANDIDATES_PER_RATING = 2
# Rating calls in flight: later rounds learn from earlier ones.
_CALLS_A_ROUND = 2
# Share of the time left that the smaller questions, and each round of ratings, may take.
_TIME = 0.3
# Tokens: a text unit shown for rating, one rating and the rest of such a reply, the questions,
# the passages of one call for points and its reply.
_UNIT_TOKENS = 400
_RATING_TOKENS, _REPLY_TOKENS = 20, 100
_QUESTION_TOKENS = 200
_POINTS_INPUT, _POINTS_TOKENS = 3000, 800
_POINTS_CALLS = 3


def lazy_context(snapshot: Snapshot, ask: Ask) -> Context:
    """Points drawn from the text units that prove relevant, with their sentences; without a
    model, or when calls for points fail and none is found, those text units themselves."""
    calls = Calls(ask, ask.model)
    options = snapshot.settings.lazy_search
    questions = [ask.search, *ask.also, *_smaller_questions(snapshot, ask, calls)]
    candidates = find_candidates(
        snapshot, questions, _CANDIDATES_PER_RATING * options.relevance_budget
    )
    search = LazySearch(snapshot, candidates.scores)
    rater = _Rater(snapshot, ask, calls, questions)
    search.run(
        rater.rate,
        options.relevance_budget,
        options.batch_size * _CALLS_A_ROUND,
        options.max_context_tokens,
        lambda: calls.too_late("rating text units"),
    )
    relevant = search.relevant
    calls.note(
        "lazy",
        f"{len(questions)} questions, {len(search.rated)} text units rated, {len(relevant)} "
        f"relevant, {search.given_up} communities given up",
    )
    kept, n_tokens = fit(relevant, options.max_context_tokens, passage_cost, at_least=1)
    evidence = widest_evidence(snapshot, kept, candidates.each)
    if ask.model is None or not kept:
        return calls.passages_context("lazy", kept, n_tokens, evidence, candidates.found)
    entries = [passage_entry(passage) for passage in kept]
    room = room_in_window(snapshot, ask, _POINTS_INPUT, _POINTS_TOKENS)
    batches, _ = deal(entries, room, _POINTS_CALLS)
    replies = calls.ask_each(
        "draw points", batches, lambda b: _points_prompt(snapshot, ask, b), read_points
    )
    found = [
        point
        for batch, drafts in replies
        for point in find_sources(snapshot, drafts or (), sources_of(batch))
    ]
    gathered = gather_points(snapshot, found, options.max_context_tokens)
    if not gathered.points and any(drafts is None for _, drafts in replies):
        why = "calls for points failed and the others found nothing"
        calls.warnings.append(f"{why}: the passages themselves are used")
        return calls.passages_context("lazy", kept, n_tokens, evidence, candidates.found)
    return calls.context("lazy", gathered, evidence, candidates.found)


def first_prompts(snapshot: Snapshot, ask: Ask) -> list[Prompt]:
    """The prompt that :func:`lazy_context` sends first; nothing is sent."""
    return [_questions_prompt(snapshot, ask)]


def _smaller_questions(snapshot: Snapshot, ask: Ask, calls: Calls) -> tuple[str, ...]:
    """What the model says must be looked up; nothing without one, or when its call fails."""
    if ask.model is None:
        return ()
    prompt = _questions_prompt(snapshot, ask)
    found = calls.ask("smaller questions", [prompt], read_questions, share=_TIME)[0] or ()
    return tuple(q for q in found if q not in (ask.search, *ask.also))[:_QUESTIONS]


class _Rater:
    """Rates text units by the model; those it does not rate, by words and retrieval."""

    def __init__(
        self, snapshot: Snapshot, ask: Ask, calls: Calls, questions: Sequence[str]
    ) -> None:
        self._snapshot, self._ask, self._calls = snapshot, ask, calls
        self._wanted = [wanted_stems(snapshot, question) for question in questions]
        self._best = 0.0
        self._by_model = ask.model is not None

    def rate(self, passages: Sequence[Passage]) -> list[float]:
        """Ratings from 0 to 10, in the order of the passages."""
        if not self._by_model:
            return self._by_words(passages)
        size = self._snapshot.settings.lazy_search.batch_size
        batches = [passages[start : start + size] for start in range(0, len(passages), size)]
        replies = self._calls.ask_each(
            "rate text units", batches, self._prompt, read_ratings, share=_TIME
        )
        if all(ratings is None for _, ratings in replies):
            self._by_model = False
            self._calls.warnings.append("no rating came back: text units are rated by their words")
        rated: list[float] = []
        for batch, ratings in replies:
            by_words = self._by_words(batch)
            given = ratings or {}
            rated += [given.get(place, other) for place, other in enumerate(by_words, 1)]
        return rated

    def _by_words(self, passages: Sequence[Passage]) -> list[float]:
        """The share of a question's words in the text unit and its headings, and its place in
        retrieval, as a part of the best so far."""
        values = []
        for passage in passages:
            text = f"{passage.title}\n{passage.heading}\n{passage.text}"
            words = stems_of(text, self._snapshot.dictionary)
            share = max(share_held(wanted, words) for wanted in self._wanted)
            values.append(share + passage.score)
        self._best = max([self._best, *values])
        return [10 * value / self._best if self._best else 0.0 for value in values]

    def _prompt(self, passages: Sequence[Passage]) -> Prompt:
        max_tokens = _REPLY_TOKENS + _RATING_TOKENS * len(passages)
        room = room_in_window(self._snapshot, self._ask, _UNIT_TOKENS * len(passages), max_tokens)
        entries = [shortened(passage_entry(p), room // len(passages)) for p in passages]
        return make_prompt(
            self._snapshot,
            self._ask,
            "rate_passages",
            step="rate",
            schema=RATINGS_SCHEMA,
            max_tokens=max_tokens,
            blocks={"passages": shown(entries)},
        )


def _questions_prompt(snapshot: Snapshot, ask: Ask) -> Prompt:
    return make_prompt(
        snapshot,
        ask,
        "lazy_questions",
        step="lazy",
        schema=QUESTIONS_SCHEMA,
        max_tokens=_QUESTION_TOKENS,
    )


def _points_prompt(snapshot: Snapshot, ask: Ask, entries: Sequence[Entry]) -> Prompt:
    return make_prompt(
        snapshot,
        ask,
        "lazy_points",
        step="lazy",
        schema=POINTS_SCHEMA,
        max_tokens=_POINTS_TOKENS,
        blocks={"passages": shown(entries)},
    )
