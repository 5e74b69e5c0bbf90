"""Readers in other processes while index runs go by: every answer is from one whole version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults.harness import REPOSITORY, options, write_input

import graphkb

# 20 and more outside CI.
RUNS, READERS = int(os.environ.get("GRAPHKB_READER_RUNS", "8")), 4

# Every version carries one marker in three documents; whoever sees two saw half an update.
READER = """
import json, re, sys
from pathlib import Path
import graphkb
root, stop = Path(sys.argv[1]), Path(sys.argv[2])
kb = graphkb.open(root, json.loads(sys.argv[3]))
marker = re.compile(r"ZQ\\d+X")
def seen(text):
    return sorted(set(marker.findall(text)))
reads = []
while True:
    last = stop.exists()
    found = {
        "search": seen(repr(list(kb.search("Zebra marker Quagga", top_k=20)))),
        "lexical": seen(repr(list(kb.search("Zebra marker Quagga", top_k=20, method="lexical")))),
        "answer": seen(repr(kb.query("Which marker does the Zebra carry?", "local").to_dict())),
        "text_units": seen(repr(kb.table("text_units").to_dicts())),
        "entities": seen(repr(kb.table("entities").to_dicts())),
        "reports": seen(repr(kb.table("community_reports").to_dicts())),
        "graph": seen(repr(list(kb.graph().edges(data=True)))),
    }
    reads.append(found)
    if last:
        break
print(json.dumps(reads))
"""


def write_markers(root: Path, number: int) -> None:
    """The documents of one version; a fourth one comes and goes."""
    write_input(root, number % 2)
    text = f"The Zebra carries marker ZQ{number}X. Quagga Station noted marker ZQ{number}X.\n"
    for place in range(4 if number % 3 else 3):
        (root / "input" / f"zebra{place}.txt").write_text(f"Note {place}. {text}", "utf-8")


@pytest.fixture
def indexed_root(tmp_path: Path) -> Path:
    root = tmp_path / "kb"
    root.mkdir()
    write_markers(root, 0)
    graphkb.open(root, options(None)).index()
    return root


def test_every_answer_is_from_one_version_while_runs_go_by(indexed_root: Path) -> None:
    stop = indexed_root / "stop"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(indexed_root), str(stop), json.dumps(options(None))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        )
        for _ in range(READERS)
    ]  # fmt: skip
    try:
        for number in range(1, RUNS + 1):
            write_markers(indexed_root, number)
            assert graphkb.open(indexed_root, options(None)).index().version == number + 1
    finally:
        stop.touch()
        ended = [reader.communicate(timeout=120) for reader in readers]
    seen = set()
    for reader, (stdout, stderr) in zip(readers, ended, strict=True):
        assert reader.returncode == 0, stderr.decode()
        reads = json.loads(stdout)
        for found in reads:
            for what, markers in found.items():
                assert len(markers) <= 1, f"{what} mixes versions: {markers}"
                seen.update(markers)
            assert found["text_units"], "the marker's documents are gone"
            assert found["search"], "search does not find the marker"
        assert reads[-1]["search"] == reads[-1]["text_units"] == [f"ZQ{RUNS}X"]
    assert len(seen) > RUNS / 3, f"the readers saw only {len(seen)} versions"
