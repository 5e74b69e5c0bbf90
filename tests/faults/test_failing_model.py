"""An index run against a model server that fails three calls in ten, in every way it can."""

from __future__ import annotations

from pathlib import Path

import fixed_model
import pytest
from fault_server import fault_server
from law import broken, committed
from model_server import model_server, said
from test_change_law import CHINESE, ENGLISH

import graphkb

UNITS = 60
OWN = [
    "llm.model=fixed", "llm.max_wait=0.02", "llm.timeout=0.5", "embed.when=off", "parquet=off",
    "report.model_share=0.1",
]  # fmt: skip


def write_input(root: Path) -> None:
    (root / "input").mkdir(parents=True)
    for number in range(UNITS):
        lines = [ENGLISH[number % len(ENGLISH)], CHINESE[number % len(CHINESE)]]
        text = "\n".join([f"# Part {number} 部分", *lines, f"Item {number} is in Oslo."])
        (root / "input" / f"{number}.md").write_text(text, "utf-8")


@pytest.mark.parametrize("seed", [1, 2])
def test_no_text_unit_is_lost_and_the_run_ends_by_itself(tmp_path: Path, seed: int) -> None:
    failing, sound = tmp_path / "failing", tmp_path / "sound"
    for root in (failing, sound):
        write_input(root)
    with fault_server(fixed_model.play, share=0.3, seed=seed) as server:
        project = graphkb.open(failing, [*OWN, f"llm.base_url={server.url}"])
        result = project.index()
        project.close()
        n_calls = len(server.requests)
    with model_server(lambda body: said(fixed_model.play(body))) as server:
        project = graphkb.open(sound, [*OWN, f"llm.base_url={server.url}"])
        project.index()
        project.close()
        least = len(server.requests)
    assert result.incomplete == ()
    assert n_calls <= 1.6 * least
    found, expected = committed(failing), committed(sound)
    assert broken(found) == []
    for name in ("mention_evidence", "relationship_evidence", "entity_evidence", "entities"):
        one, other = (t[name].drop("human_readable_id", strict=False) for t in (found, expected))
        assert one.equals(other), name
    assert set(found["extractions"]["status"]) == {"done"}
