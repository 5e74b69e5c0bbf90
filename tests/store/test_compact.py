"""Compaction frees what nothing needs, and breaks no version."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from small import contents, indexed, same

from graphkb.project import Project
from graphkb.store import versions
from graphkb.store.database import wait_for
from graphkb.store.lance import Store
from graphkb.store.manifest import read_manifest

Edit = Callable[[str, str, str], Project]


def test_compaction_joins_pieces_and_breaks_no_version(kb: Path, edit: Edit) -> None:
    # Enough documents that a small change adds a piece instead of writing the table anew.
    rows = "\n".join(
        json.dumps({"title": f"note {n}", "text": f"Note {n} about Bluestone."}) for n in range(40)
    )
    (kb / "input" / "notes.jsonl").write_text(rows, "utf8")
    project = indexed(kb)
    project.create_snapshot("base")
    for number in range(3):
        (kb / "input" / f"n{number}.txt").write_text(f"Extra {number} about Osprey.", "utf8")
        project = indexed(kb)
    before = {wanted: contents(project.at(wanted)) for wanted in ("base", 2, 3, 4, 5)}

    done = project.compact()
    assert "documents" in done.tables
    assert done.version == 6
    manifest = read_manifest(kb / "output")
    assert manifest is not None
    live = Store(kb / "output", manifest.tables, manifest.folder).open("documents")
    assert wait_for(live.stats())["fragment_stats"]["num_fragments"] == 1
    for wanted, tables in before.items():
        assert same(contents(project.at(wanted)), tables) == [], wanted
    assert same(contents(project), before[5]) == []
    assert project.compact().tables == ()
    assert project.index(embed="off").version == 6


def test_compaction_frees_what_no_version_needs(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Bo Berg", "Cy Dahl", "Di Eng"):
        project = edit("osprey.md", "Ada Lin", name)
        (kb / "input" / "osprey.md").write_text("# Osprey\n\nAda Lin leads Osprey.\n", "utf8")
        project = indexed(kb)
    (kb / "output" / "snapshots").mkdir()
    for stray in ("lancedb.99", "graph/stray", "snapshots/.half.1.tmp"):
        (kb / "output" / stray).mkdir()
        (kb / "output" / stray / "x").write_bytes(b"x" * 1000)
    (kb / "output" / "manifest.json.77.tmp").write_text("x")
    monkeypatch.setattr(versions, "KEEP_SECONDS", -1)
    done = project.compact()
    assert sum(done.after.values()) < sum(done.before.values())
    assert done.notes == ()
    assert sorted(path.name for path in (kb / "output").glob("lancedb*")) == ["lancedb"]
    assert not list((kb / "output").rglob("*.tmp"))
    assert len(list((kb / "output" / "graph").iterdir())) == 1
    assert project.index(embed="off").changed == 0
