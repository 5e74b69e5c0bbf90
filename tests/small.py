"""A small project in both languages, and what its tables hold."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from graphkb.project import Project
from graphkb.store.manifest import Manifest, read_manifest
from graphkb.tables import TABLES
from graphkb.upkeep.case import Finding

FILES = {
    "osprey.md": "# Osprey\n\nAda Lin leads the Osprey project at Bluestone. It is in Bergen.\n",
    "公司.md": "# 公司简介\n\n陈明是青石公司的工程师。青石公司在杭州。\n",
    "valve.md": "# Valve\n\nThe valve of turbine T-07 failed. Northern Seals replaced the valve.\n",
}


def make(root: Path) -> Project:
    """The small project at ``root``, version 1."""
    (root / "input").mkdir(parents=True)
    for name, text in FILES.items():
        (root / "input" / name).write_text(text, "utf8")
    return indexed(root)


def indexed(root: Path) -> Project:
    """The project after an index run without vectors."""
    project = Project(root)
    project.index(embed="off")
    return project


def contents(project: Project) -> dict[str, pl.DataFrame]:
    """Every stored table, without the numbers that are given once and kept."""
    store = project._current().store
    return {name: store.read(name).drop("human_readable_id", strict=False) for name in TABLES}


def same(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> list[str]:
    """Names of the tables that differ: none, when all is well."""
    return [name for name in TABLES if not one[name].equals(other[name])]


def problems(project: Project, repair: bool = False) -> list[Finding]:
    """What graphkb doctor finds wrong, repaired or not."""
    return [finding for finding in project.doctor(repair) if not finding.ok]


def the_problem(project: Project) -> Finding:
    """The one problem there is; everything a user needs is said in it."""
    found = problems(project)
    assert len(found) == 1, found
    assert found[0].problem
    assert found[0].where
    assert found[0].what
    assert found[0].advice
    return found[0]


def mended(project: Project) -> None:
    """Repairs everything, indexes, and is healthy then."""
    found = problems(project, repair=True)
    assert found
    assert not [finding for finding in found if finding.problem]
    project.index(embed="off")
    assert problems(project) == []


def manifest_of(root: Path) -> Manifest:
    """The committed manifest."""
    manifest = read_manifest(root / "output")
    assert manifest is not None
    return manifest
