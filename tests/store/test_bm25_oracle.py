"""The store's full-text ranking against rank-bm25's formula."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from rank_bm25 import BM25Okapi

from graphkb.store.lance import Store
from graphkb.tables import TABLES
from graphkb.text.segment import query_tokens, search_tokens

TEXTS = [
    "青石云账的银行流水导入失败时会提示错误 E1043",
    "E1042 表示表头无法识别，请另存为 CSV 后重新上传",
    "陈明是青石云账的工程师，负责银行流水",
    "Ada Lin leads the valve team at Bluestone",
    "The valve of turbine T-07 failed and Bluestone replaced the valve",
    "Northern Seals supplied the valve; Ada Lin signed the contract",
    "退款规则：七天内可以申请退款，退款原路返回",
    "专业版每月 49 元，企业版每月 199 元",
]


class Okapi(BM25Okapi):
    """rank-bm25 with Lucene's idf, which never goes negative on small collections."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        n = self.corpus_size
        self.idf = {w: math.log(1 + (n - df + 0.5) / (df + 0.5)) for w, df in nd.items()}


@pytest.mark.parametrize(
    "question",
    ["银行流水 E1043", "退款多久", "who leads the valve team", "Bluestone valve", "工程师陈明"],
)
def test_order_equals_rank_bm25(tmp_path: Path, question: str) -> None:
    tokenized = [search_tokens(text) for text in TEXTS]
    store = Store(tmp_path, {})
    store.write(
        "search_texts",
        pl.DataFrame(
            {"id": [str(i) for i in range(len(TEXTS))], "tokens": [" ".join(t) for t in tokenized]},
            schema=TABLES["search_texts"].schema,
        ),
    )
    store.index("search_texts")
    query = query_tokens(question)
    scores = Okapi(tokenized, k1=1.2, b=0.75).get_scores(query)
    expected = sorted((i for i in range(len(TEXTS)) if scores[i] > 0), key=lambda i: -scores[i])
    found = store.search_text(query, 10)
    assert [i for i, _ in found] == [str(i) for i in expected]
    # Lucene's BM25 leaves out the constant factor k1 + 1 in some versions: compare ratios.
    ratios = [score / scores[int(i)] for i, score in found]
    assert max(ratios) / min(ratios) < 1.1
