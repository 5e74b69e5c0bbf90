"""Frames to stored Arrow tables and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from graphkb.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_schema(name: str, dimension: int | None = None) -> pa.Schema:
    """Arrow schema of a stored table; ``dimension`` is the width of the vector column."""
    import pyarrow as pa

    fields = []
    for column, dtype in TABLES[name].schema.items():
        if column == "vector":
            fields.append(pa.field(column, pa.list_(pa.float32(), dimension or 1)))
        else:
            fields.append(pa.field(column, _arrow_type(dtype)))
    return pa.schema(fields)


def _arrow_type(dtype: pl.DataType) -> pa.DataType:
    import pyarrow as pa

    if isinstance(dtype, pl.List):
        inner = dtype.inner
        return pa.list_(_arrow_type(inner if isinstance(inner, pl.DataType) else inner()))
    return {
        pl.String(): pa.string(),
        pl.Int64(): pa.int64(),
        pl.Float64(): pa.float64(),
        pl.Float32(): pa.float32(),
        pl.Boolean(): pa.bool_(),
    }[dtype]


def to_arrow(name: str, frame: pl.DataFrame, dimension: int | None = None) -> pa.Table:
    """``frame`` as the Arrow table that is stored under ``name``."""
    schema = arrow_schema(name, dimension)
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)


def from_arrow(arrow: pa.Table) -> pl.DataFrame:
    """What the store returns as a frame; vectors as lists."""
    frame = pl.from_arrow(arrow)
    assert isinstance(frame, pl.DataFrame)
    arrays = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Array)]
    return frame.cast(dict.fromkeys(arrays, pl.List(pl.Float32))) if arrays else frame
