"""What a question would ask the model: the exact prompts, their tokens, and a price. Nothing is
sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from graphkb.llm.model import Prompt
from graphkb.llm.prices import cost, price_of
from graphkb.query.absent_files import with_absent_files
from graphkb.query.answer import FIRST_PROMPTS, METHODS, WIDENED, Notes, understand
from graphkb.query.ask import Ask
from graphkb.query.compose import compose_answer, count_prompt, last_turns
from graphkb.query.route import clean_question
from graphkb.search.hybrid import fused_units
from graphkb.search.rerank.listwise import ListwiseReranker
from graphkb.search.rerank.passages import passages_of
from graphkb.search.rewrite import plan_wordings, rewrite_prompt
from graphkb.search.snapshot import Snapshot
from graphkb.types import Step


@dataclass(frozen=True)
class PlannedPrompt:
    """A prompt as it would be sent, and its tokens. ``messages`` are (role, text) pairs."""

    step: str
    messages: tuple[tuple[str, str], ...]
    n_tokens: int
    max_reply_tokens: int


@dataclass(frozen=True)
class QueryPlan:
    """What :meth:`~graphkb.project.Project.query` would send.

    ``complete`` is False where later prompts depend on the replies to these. ``price`` in USD
    is for these prompts with replies as long as they may be; None without a known price.
    """

    question: str
    method: str
    model: str
    prompts: tuple[PlannedPrompt, ...]
    complete: bool
    price: float | None
    trace: tuple[Step, ...] = ()

    @property
    def n_tokens(self) -> int:
        """Tokens of all prompts."""
        return sum(prompt.n_tokens for prompt in self.prompts)

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return {**asdict(self), "n_tokens": self.n_tokens}


def plan_query(snapshot: Snapshot, ask: Ask, method: str) -> QueryPlan:
    """The prompts of a question in the order in which they would be sent.

    Where an earlier prompt would reword the question, the later ones have it as it is, with
    the names that the conversation adds by rules.
    """
    ask = replace(ask, question=clean_question(ask.question), model=None, reranked=False)
    options = snapshot.settings
    notes = Notes()
    turns = [(turn.question, turn.answer) for turn in last_turns(snapshot, ask.history)]
    prompts: list[Prompt] = []
    if turns and options.search.rewrite:
        prompts.append(rewrite_prompt(snapshot, ask.question, turns))
    ask, method = understand(snapshot, ask, method, notes, with_model=options.llm.configured)
    if method in WIDENED:
        prompts += [planned.prompt for planned in plan_wordings(snapshot, ask.search)]
    reworded = bool(prompts)
    chosen: list[Prompt] = []
    if first := FIRST_PROMPTS.get(method):
        prompts += first(snapshot, ask)
    else:
        chosen = _rerank_prompts(snapshot, ask)
        prompts += chosen
        context = with_absent_files(snapshot, ask.search, METHODS[method](snapshot, ask))
        window = options.llm.context_tokens
        prompts.append(compose_answer(snapshot, ask, context, window).prompt)
    planned_prompts = tuple(_planned(prompt) for prompt in prompts)
    model = options.llm.answer_model or options.llm.model
    return QueryPlan(
        question=ask.question,
        method=method,
        model=model,
        prompts=planned_prompts,
        complete=not (reworded or chosen or first),
        price=_price(planned_prompts, model, options.llm.prices),
        trace=tuple(notes.steps),
    )


def _rerank_prompts(snapshot: Snapshot, ask: Ask) -> list[Prompt]:
    """The prompt by which the model first chooses among passages, where it does that."""
    reranker = snapshot.reranker
    if not isinstance(reranker, ListwiseReranker):
        return []
    most = snapshot.settings.rerank.candidates
    units = fused_units(snapshot, ask.search, most).units[:most]
    passages, _ = passages_of(snapshot, ask.search, [unit.text_unit_id for unit in units])
    window = snapshot.settings.llm.context_tokens
    return [reranker.first_prompt(passages, window)] if len(passages) else []


def _planned(prompt: Prompt) -> PlannedPrompt:
    return PlannedPrompt(prompt.step, prompt.messages, count_prompt(prompt), prompt.max_tokens)


def _price(
    prompts: Sequence[PlannedPrompt], model: str, own: dict[str, list[float]]
) -> float | None:
    price = price_of(model, own)
    if price is None:
        return None
    asked = sum(prompt.n_tokens for prompt in prompts)
    replied = sum(prompt.max_reply_tokens for prompt in prompts)
    return cost(price, asked, replied)
