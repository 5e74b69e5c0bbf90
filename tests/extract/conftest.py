"""Small corpora in both languages, as text_units frames."""

from __future__ import annotations

import polars as pl
import pytest


def units(*rows: tuple[str, str]) -> pl.DataFrame:
    """Frame of (context, text) rows with ids u0, u1, …"""
    return pl.DataFrame(
        {
            "id": [f"u{i}" for i in range(len(rows))],
            "text": [text for _, text in rows],
            "context": [context for context, _ in rows],
        },
        schema={"id": pl.String, "text": pl.String, "context": pl.String},
    )


@pytest.fixture
def mixed() -> pl.DataFrame:
    return units(
        ("Ada Lin", "Ada Marie Lin (born 3 May 1970) leads Bluestone Ltd. She studied in Vienna."),
        ("Bluestone Ltd", "Bluestone Ltd is a company founded by Ada Lin. It sells C++ tools."),
        ("曹操", "曹操在许昌与刘备煮酒论英雄。公元196年，曹操迎汉献帝到许昌。"),
        ("世界卫生组织", "世界卫生组织（简称“世卫组织”）总部在日内瓦。世衛組織成立於1948年。"),
    )
