"""What a run imports: nothing that only other runs need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from graphkb.project import Project

CODE = """
import sys
from graphkb.project import Project
with Project(sys.argv[1], ["embed.when=off"]) as project:
    result = project.index()
print(result.version, *(name for name in sys.argv[2:] if name in sys.modules))
"""
HEAVY = (
    "scipy", "aiohttp", "tiktoken", "graspologic_native", "networkx", "opencc", "pandas",
    "graphkb.ingest.readers.pdf", "graphkb.extract.resolve", "graphkb.graph.build",
)  # fmt: skip


def imported(root: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(root), *HEAVY], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def test_a_run_imports_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "a.txt").write_text("Ada Lin leads Osprey in Porto.", "utf-8")
    (tmp_path / "input" / "b.txt").write_text("陈明是青石公司的工程师。", "utf-8")
    with Project(tmp_path, ["embed.when=off"]) as project:
        project.index()
    assert imported(tmp_path) == ["1"]
    (tmp_path / "input" / "c.txt").write_text("Ben Okafor met Ada Lin in Porto.", "utf-8")
    version, *names = imported(tmp_path)
    assert version == "2"
    assert {"graphkb.extract.resolve", "graphkb.graph.build"} <= set(names)
    assert not {"scipy", "aiohttp", "networkx", "pandas", "graphkb.ingest.readers.pdf"} & set(names)
