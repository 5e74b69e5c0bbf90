"""Damaged files of every format are read or refused; ``benchmarks/fuzz.py`` runs many more."""

from __future__ import annotations

import os
import random
import time

import pytest
from fuzz import all_samples, damage, fuzz
from samples import samples

from graphkb.settings_input import Input

FILES = int(os.environ.get("GRAPHKB_FUZZ_FILES", "120"))


def test_no_damaged_file_breaks_its_reader() -> None:
    options = Input(max_seconds=60, max_memory_mb=1024, ocr={"enabled": "off"})
    tallies = fuzz(samples(), range(FILES), options)
    assert sum(tally.files for tally in tallies.values()) == FILES
    assert [line for tally in tallies.values() for line in tally.findings] == []
    assert sum(tally.read for tally in tallies.values()) > FILES / 5


def test_damage_is_the_same_for_the_same_seed() -> None:
    found = all_samples()
    others = list(found.values())
    for name in ("s.docx", "s.pdf", "s.html"):
        damaged = {damage(found[name], random.Random(seed), others) for seed in range(20)}
        assert len(damaged) > 15
        assert damage(found[name], random.Random(3), others) in damaged


def test_what_is_packed_anew_does_not_tell_when(monkeypatch: pytest.MonkeyPatch) -> None:
    found = all_samples()
    others = list(found.values())
    packed = []
    for now in (1_700_000_000.0, 1_800_000_000.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        packed.append([damage(found["s.docx"], random.Random(n), others) for n in range(20)])
    assert packed[0] == packed[1]
