"""List prices of common models, for budgets and reports. Users add theirs in ``llm.prices``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Price = tuple[float, float]
"""USD per million tokens of the prompt and of the reply."""

WRITTEN = "2026-11-30"
"""When this table was written. Vendors change prices often: ``llm.prices`` wins over it."""

# Prompt tokens that the vendor's own cache serves are cheaper; that is left out. Where a price
# depends on region or hour the higher one stands here, and that of prompts below 32,000 tokens.
PRICES: dict[str, Price] = {
    # OpenAI
    "gpt-3.5-turbo": (0.5, 1.5),
    "gpt-4-turbo": (10.0, 30.0),
    "gpt-4o": (2.5, 10.0),
    "gpt-4o-mini": (0.15, 0.6),
    "gpt-4.1": (2.0, 8.0),
    "gpt-4.1-mini": (0.4, 1.6),
    "gpt-4.1-nano": (0.1, 0.4),
    "gpt-5": (1.25, 10.0),
    "gpt-5-mini": (0.25, 2.0),
    "gpt-5-nano": (0.05, 0.4),
    "gpt-5.1": (1.25, 10.0),
    "gpt-5.2": (1.75, 14.0),
    "gpt-5.4": (2.5, 15.0),
    "gpt-5.4-mini": (0.75, 4.5),
    "gpt-5.4-nano": (0.2, 1.25),
    "gpt-5.5": (5.0, 30.0),
    "gpt-5.6-sol": (5.0, 30.0),
    "gpt-5.6-terra": (2.0, 12.0),
    "gpt-5.6-luna": (0.2, 1.2),
    "o3": (2.0, 8.0),
    "o3-mini": (1.1, 4.4),
    "o4-mini": (1.1, 4.4),
    # DeepSeek
    "deepseek-chat": (0.28, 1.12),
    "deepseek-reasoner": (0.28, 1.12),
    "deepseek-flash": (0.28, 1.12),
    "deepseek-v4-flash": (0.28, 1.12),
    "deepseek-v4-pro": (1.74, 3.48),
    "deepseek-v3": (0.27, 1.1),
    "deepseek-r1": (0.55, 2.19),
    # DashScope (Alibaba Cloud Model Studio), international
    "qwen-max": (1.6, 6.4),
    "qwen-plus": (0.4, 1.2),
    "qwen-flash": (0.05, 0.4),
    "qwen-turbo": (0.05, 0.2),
    "qwen3-max": (1.2, 6.0),
    "qwen3.5-plus": (0.4, 2.4),
    "qwen3.5-flash": (0.1, 0.4),
    # SiliconFlow
    "qwen3-8b": (0.06, 0.06),
    "qwen3-14b": (0.07, 0.28),
    "qwen3-32b": (0.14, 0.57),
    "qwen3-235b-a22b": (0.35, 1.42),
    "qwen2.5-7b-instruct": (0.05, 0.05),
    "qwen2.5-72b-instruct": (0.59, 0.59),
    "glm-5.3": (1.4, 4.4),
    # Through OpenAI-compatible endpoints
    "gemini-3.1-pro": (2.0, 12.0),
    "gemini-3.5-flash": (1.5, 9.0),
    "claude-haiku-4.5": (1.0, 5.0),
    "claude-sonnet-4.5": (3.0, 15.0),
    "claude-sonnet-5": (2.0, 10.0),
    "claude-opus-5": (5.0, 25.0),
    "kimi-k3": (3.0, 15.0),
}
# What vendors add to a name without changing the price: dates and release marks.
_ADDED = re.compile(r"(-\d{4}-\d{2}-\d{2}|-\d{4,8}|[-:]latest|-preview|:free)+$")


def price_of(model: str, own: Mapping[str, Sequence[float]]) -> Price | None:
    """A model's price: the user's own first; names match without vendor, case and date.

    >>> price_of("openai/GPT-4o-2024-08-06", {}), price_of("unheard-of", {})
    ((2.5, 10.0), None)
    >>> price_of("mine", {"mine": [1, 2]})
    (1.0, 2.0)
    """
    table = {name.lower(): (float(pair[0]), float(pair[-1])) for name, pair in own.items() if pair}
    names = _names(model)
    found = [prices[name] for prices in (table, PRICES) for name in names if name in prices]
    return found[0] if found else None


def _names(model: str) -> list[str]:
    name = model.lower().strip()
    short = name.rsplit("/", 1)[-1]
    return list(dict.fromkeys([name, short, _ADDED.sub("", short)]))


def cost(price: Price, prompt_tokens: int, completion_tokens: int) -> float:
    """USD for these tokens.

    >>> cost((2.0, 8.0), 500_000, 250_000)
    3.0
    """
    return (price[0] * prompt_tokens + price[1] * completion_tokens) / 1_000_000
