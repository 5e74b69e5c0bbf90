"""Nearly equal files through index runs: once with all paths, as if indexed from scratch."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from law import EQUAL, committed

from graphkb.project import Project

NAMES = ["Osprey", "Bluestone", "Bergen", "Farsail", "Riverton", "Quagga", "Zebra", "Valve"]
REPORT = [f"{NAMES[n % 8]} pump {n} was checked by engineer {n * 7}. " for n in range(40)]
ZH_REPORT = [f"第{n}号泵站由青石公司检修，编号为{n * 7}。" for n in range(60)]


def index(root: Path, rebuild: bool = False) -> tuple[str, ...]:
    options = ["embed.when=off", "input.duplicates=near"]
    return Project(root, options).index(rebuild=rebuild).warnings


def paths_of(root: Path) -> dict[str, list[str]]:
    """The other paths of every document."""
    documents = Project(root).table("documents")
    return {
        path: json.loads(metadata).get("duplicate_paths", [])
        for path, metadata in documents.select("path", "metadata").iter_rows()
    }


def assert_as_from_scratch(root: Path) -> None:
    def compared() -> dict[str, pl.DataFrame]:
        tables = committed(root)
        return {name: tables[name].drop("human_readable_id", strict=False) for name in EQUAL}

    before = compared()
    index(root, rebuild=True)
    after = compared()
    assert [name for name in EQUAL if not before[name].equals(after[name])] == []


def test_near_duplicates_come_and_go(project: Path) -> None:
    folder = project / "input"
    (folder / "a.md").write_text("".join(REPORT), "utf-8")
    (folder / "b.md").write_text("".join(["A new first line. ", *REPORT]), "utf-8")
    (folder / "甲.md").write_text("".join(ZH_REPORT), "utf-8")
    (folder / "乙.md").write_text("".join([*ZH_REPORT, "新的一行。"]), "utf-8")
    said = index(project)
    assert paths_of(project) == {"a.md": ["b.md"], "乙.md": ["甲.md"]}
    assert [line.partition(":")[0] for line in said if "indexed once" in line] == ["b.md", "甲.md"]
    version = Project(project).status()["version"]
    index(project)
    assert Project(project).status()["version"] == version
    (folder / "a.md").unlink()
    index(project)
    assert paths_of(project) == {"b.md": [], "乙.md": ["甲.md"]}
    assert_as_from_scratch(project)
    (folder / "甲.md").write_text("".join(ZH_REPORT[::-1]), "utf-8")
    index(project)
    assert paths_of(project) == {"b.md": [], "乙.md": [], "甲.md": []}
    assert_as_from_scratch(project)
