"""Questions and documents to rerank, in English and Chinese, and what is found."""

from __future__ import annotations

from graphkb.llm.model import Model
from graphkb.search.hybrid import Retrieval, retrieve
from graphkb.search.rerank import Reranking
from graphkb.search.snapshot import Snapshot

ENGLISH, CHINESE = "Who replaced the valve of turbine T-07?", "青石公司的退款由谁批准？"
MORE = {
    "公司.md": "# 青石公司\n\n青石公司由沈若衡创办。青石公司的总部在杭州。\n",
    "退款.md": "# 退款规则\n\n青石公司的退款由陈明批准。退款在三个工作日内到账。\n",
    "面包.md": "# 麦田面包\n\n麦田面包店的酵母由赵小曼培养。面包店周五开门。\n",
    "码头.md": "# 码头\n\n青石公司租用四号码头。租约由罗庆签订。\n",
    "bluestone.md": "# BLUESTONE\n\nThe yard has two cranes and a slipway.\n",
}


def found(snapshot: Snapshot, text: str, top_k: int = 5, model: Model | None = None) -> Retrieval:
    """What a search finds."""
    return retrieve(snapshot, text, top_k, None, Reranking(model))


def ids(retrieval: Retrieval) -> list[str]:
    return [unit.text_unit_id for unit in retrieval.units]


def fused(collection: Snapshot, text: str, top_k: int = 5) -> list[str]:
    """The order without reranking."""
    order = ids(found(collection, text, top_k))
    assert len(order) > 2
    return order


def titles(snapshot: Snapshot, retrieval: Retrieval) -> list[str]:
    return [row["title"] for row in snapshot.units(ids(retrieval))]
