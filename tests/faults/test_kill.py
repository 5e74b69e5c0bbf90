"""An index run killed anywhere loses nothing, and the next one ends where it would have."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from faults.harness import Killer


@pytest.mark.parametrize(
    ("kind", "count"),
    [("first", 3), ("update", 3), ("vectors", 3), ("model", 2), ("model update", 2)],
)
def test_a_killed_run_leaves_the_last_version_and_the_next_one_ends_the_same(
    tmp_path: Path, kind: str, count: int
) -> None:
    killer = Killer(tmp_path / kind, kind)
    try:
        chance = random.Random(f"seed {kind}")
        for _ in range(count):
            where, said = killer.once(chance)
            assert said == [], where
    finally:
        killer.close()
