"""The layout rules of ARCHITECTURE.md: imports point down, stages never touch the store."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import graphkb
from graphkb.pipeline import plan
from graphkb.settings import Settings
from graphkb.settings_file import settings_yaml
from graphkb.tables import PARQUET, TABLES

ROOT = Path(graphkb.__file__).parent
LAYERS = [
    {"errors", "explanation", "types", "whole_file"},
    {"arguments", "forked", "settings_base"},
    {"settings_input"},
    {"settings", "tables"},
    {"settings_file"},
    {"settings_edit"},
    {"text"},
    {"code", "llm", "embed", "store"},
    {"ingest"},
    {"extract"},
    {"graph"},
    {"report"},
    {"search"},
    {"work"},
    {"stages"},
    {"pipeline"},
    {"forecast"},
    {"preview", "query"},
    {"evaluate", "govern", "upkeep"},
    {"caches", "decisions", "network", "removals", "scaffold", "status", "terms"},
    {"importing", "tune"},
    {"project"},
    {"pace"},
    {"view", "serve", "scale", "progress"},
    {"terminal"},
    {
        "cli_change",
        "cli_chunks",
        "cli_entities",
        "cli_eval",
        "cli_explain",
        "cli_inspect",
        "cli_map",
        "cli_model",
        "cli_query",
        "cli_questions",
        "cli_terms",
        "cli_versions",
    },
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
STAGES = {"ingest", "extract", "graph", "report"}
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.name != "__init__.py" or p.parent != ROOT)

# Results render themselves in a notebook, so types reach up to view when they are drawn.
ALLOWED = {("types", "view"), ("explanation", "view")}


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> list[tuple[str, int]]:
    """(graphkb module, line) of every import in a file, type-checking ones left out."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphkb"):
            found.append((str(node.module), node.lineno))
        elif isinstance(node, ast.Import):
            found += [(a.name, node.lineno) for a in node.names if a.name.startswith("graphkb")]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for module, line in imports(path):
        other = part(module)
        if other and other != own and (own, other) not in ALLOWED:
            assert RANK[other] < RANK[own], f"{path}:{line}: {own} imports {module}"
        assert not (own in STAGES and other == "store"), f"{path}:{line}: a stage imports the store"


def test_every_module_belongs_to_a_layer() -> None:
    names = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    assert names <= RANK.keys()


def test_stages_are_a_verb_and_a_noun_and_read_only_what_came_before() -> None:
    known = {"files", "removals", "decisions", "entity_evidence"}
    for stage in plan(Settings()):
        assert re.fullmatch(r"[a-z]+_[a-z]+", stage.name)
        assert set(stage.reads) <= known, stage.name
        assert set(stage.writes) <= TABLES.keys(), stage.name
        assert set(stage.settings) <= Settings.model_fields.keys(), stage.name
        known |= set(stage.writes)


def test_table_names_are_plural_and_parquet_columns_exist() -> None:
    derived = {
        "text_unit_ids", "entity_ids", "relationship_ids", "covariate_ids",
        "degree", "rank", "x", "y", "combined_degree",
    }  # fmt: skip
    for name, columns in PARQUET.items():
        assert set(columns) <= TABLES[name].columns.keys() | derived, name
    for name, table in TABLES.items():
        assert name.endswith(("s", "evidence"))
        assert set(table.key) <= table.columns.keys(), name
        assert all(meaning for _, meaning in table.columns.values())


def test_settings_yaml_of_the_sample_project_is_the_generated_one() -> None:
    assert (ROOT.parent / "settings.yaml").read_text("utf-8") == settings_yaml()


def test_public_names_are_exactly_these() -> None:
    assert graphkb.__all__ == ["GraphkbError", "Project", "init_project", "open"]
    for name in graphkb.__all__:
        assert getattr(graphkb, name).__name__ == name
