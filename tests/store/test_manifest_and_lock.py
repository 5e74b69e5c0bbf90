"""The commit and the write lock."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from graphkb.errors import LockedError, StoreError
from graphkb.store.lock import write_lock
from graphkb.store.manifest import Manifest, read_manifest, write_manifest

MANIFEST = Manifest(
    version=3,
    tables={"documents": 2},
    fingerprints={"read_documents": "f"},
    counts={"documents": 1},
    graph="graph/x",
    embedding={},
    committed_at="2026-01-01T00:00:00Z",
    graphkb_version="0.1.0",
)


def test_a_manifest_reads_back_equal_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None
    write_manifest(tmp_path, MANIFEST)
    write_manifest(tmp_path, replace(MANIFEST, version=4))
    assert read_manifest(tmp_path) == replace(MANIFEST, version=4)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert files == {"manifest.json", "manifests/3.json", "manifests/4.json"}


@pytest.mark.parametrize("text", ["", '{"version": 1', "[]", '{"format": 99}', '{"format": 1}'])
def test_a_broken_manifest_is_a_clear_line_and_a_way_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(StoreError, match=r"manifest\.json.*--rebuild"):
        read_manifest(tmp_path)


def test_a_second_writer_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    with write_lock(tmp_path):
        code = (
            "import sys; from pathlib import Path\n"
            "from graphkb.store.lock import write_lock\n"
            "from graphkb.errors import LockedError\n"
            "try:\n"
            "    with write_lock(Path(sys.argv[1])): print('taken')\n"
            "except LockedError as error: print(error)\n"
        )
        out = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
        ).stdout
        pid = json.loads((tmp_path / "write.lock.json").read_text())["pid"]
        assert f"pid {pid}" in out
        assert "another index run is active" in out
    with write_lock(tmp_path):
        assert (tmp_path / "write.lock.json").exists()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from graphkb.store.lock import write_lock\n"
        "with write_lock(Path(sys.argv[1])): os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert (tmp_path / "write.lock.json").exists()
    with write_lock(tmp_path):
        pass


def test_locked_error_is_a_store_error() -> None:
    assert issubclass(LockedError, StoreError)
