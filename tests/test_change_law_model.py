"""The change law with a model that extracts, judges names, describes and writes reports."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import fixed_model
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from law import broken, committed, differences
from model_server import ModelServer, model_server, said
from test_change_law import ENGLISH, SETTINGS, Files, histories, put

import graphkb

# 5 in CI; GRAPHKB_LAW_EXAMPLES=50 for the bar.
EXAMPLES = int(os.environ.get("GRAPHKB_LAW_EXAMPLES", "5"))


def index(root: Path, files: Files, server: ModelServer, *more: str) -> graphkb.Project:
    put(root, files)
    project = graphkb.open(
        root,
        [*SETTINGS, f"llm.base_url={server.url}", "llm.model=fixed", "resolve.method=llm",
         "describe.max_tokens=50", "report.model_share=0.5", *more],
    )  # fmt: skip
    result = project.index()
    project.close()
    assert result.incomplete == ()
    return project


def fixed_server() -> ModelServer:
    server = ModelServer()
    server.play = lambda body: said(fixed_model.play(body))
    return server


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 5,
    database=None,
    phases=[Phase.generate] if EXAMPLES > 5 else [Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(histories())
@pytest.mark.parametrize("method", ["llm", "hybrid"])
def test_edits_lead_to_the_tables_of_an_index_from_scratch(
    method: str, states: list[Files]
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="graphkb-law-"))
    server = fixed_server()
    try:
        changed_root, fresh_root = folder / "changed", folder / "fresh"
        for root in (changed_root, fresh_root):
            (root / "input").mkdir(parents=True)
        index(fresh_root, states[-1], server, f"extract.method={method}")
        for files in states:
            index(changed_root, files, server, f"extract.method={method}")
        assert differences(committed(changed_root), committed(fresh_root)) == []
        assert broken(committed(fresh_root)) == []
        paid_twice = repeated(server, len(server.requests))
        # The two projects have a cache each: what both asked stands twice, nothing three times.
        assert not [count for count in paid_twice if count > 2]
    finally:
        server.close()
        shutil.rmtree(folder)


def repeated(server: ModelServer, upto: int) -> list[int]:
    """How often each distinct request was made."""
    counts: dict[str, int] = {}
    for body in server.requests[:upto]:
        counts[repr(body)] = counts.get(repr(body), 0) + 1
    return list(counts.values())


def test_one_more_document_asks_for_its_own_units_and_the_reports_that_show_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "input").mkdir()
    every = "report.model_share=9"
    files = {f"{n}.md": f"# Part {n}\n\n{ENGLISH[n]} {ENGLISH[-n]}\n" for n in range(1, 7)}
    with model_server(lambda body: said(fixed_model.play(body))) as server:
        index(tmp_path, files, server, every)
        first = len(server.requests)
        index(tmp_path, files, server, every)
        assert len(server.requests) == first
        index(tmp_path, {**files, "new.md": "# New\n\nZara Quill paints in Oslo.\n"}, server, every)
        asked = [str(body["messages"][-1]["content"]) for body in server.requests[first:]]
    units = [prompt for prompt in asked if prompt.startswith("<document>")]
    reports = [prompt for prompt in asked if prompt.startswith("<data>")]
    assert len(units) == 1
    assert "Zara Quill" in units[0]
    assert len(units) + len(reports) == len(asked)
    assert any("Zara Quill" in prompt for prompt in reports)
    assert len(reports) <= 2
