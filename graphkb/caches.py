"""What the caches of a project hold: model replies and vectors that were paid for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphkb.embed.cache import VectorCache
from graphkb.ingest.kept import forget_readings
from graphkb.llm.cache import ReplyCache
from graphkb.store.lock import write_lock


def cache_stats(folder: Path) -> dict[str, Any]:
    """Kept model replies by endpoint and model, number of vectors, bytes on disk."""
    replies: list[dict[str, Any]] = []
    vectors = 0
    if (folder / ReplyCache.file_name).is_file():
        kept = ReplyCache(folder)
        replies = kept.stats()
        kept.close()
    if (folder / VectorCache.file_name).is_file():
        known = VectorCache(folder)
        vectors = known.count()
        known.close()
    return {
        "replies": replies,
        "total_replies": sum(row["replies"] for row in replies),
        "vectors": vectors,
        "bytes": sum(file.stat().st_size for file in folder.glob("*.sqlite*")),
    }


def clear_caches(folder: Path, output: Path) -> dict[str, Any]:
    """Forget all model replies and vectors; what there was, and the bytes left.

    Raises LockedError while an index run is active.
    """
    stats = cache_stats(folder)
    output.mkdir(parents=True, exist_ok=True)
    with write_lock(output):
        forget_readings(folder)
        for kind in (ReplyCache, VectorCache):
            if (folder / kind.file_name).is_file():
                cache = kind(folder)
                cache.clear()
                cache.close()
    return {**stats, "bytes": cache_stats(folder)["bytes"]}


def export_replies(folder: Path) -> Iterator[str]:
    """Every kept model reply with its request, as JSON lines in key order."""
    if (folder / ReplyCache.file_name).is_file():
        cache = ReplyCache(folder)
        for row in cache.export():
            yield json.dumps(row, ensure_ascii=False)
        cache.close()
