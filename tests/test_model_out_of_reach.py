"""What must happen also while a model cannot be reached, and what is said of a strange one."""

from __future__ import annotations

import json
from pathlib import Path

import fixed_model
import pytest
import small
from click.testing import CliRunner
from law import broken, committed
from model_server import ModelServer, Play, model_server, said

from graphkb.cli import main
from graphkb.errors import ModelUnusableError
from graphkb.project import Project

MORE = "# More\n\nAda Lin leads the valve team.\n"
FIXED: Play = lambda body: said(fixed_model.play(body))  # noqa: E731
WRONG_KEY: Play = lambda body: (401, {"error": {"message": "wrong key"}})  # noqa: E731


def own(server: ModelServer) -> list[str]:
    return [
        f"llm.base_url={server.url}", "llm.model=fixed", "embed.when=off", "resolve.method=llm",
        "describe.max_tokens=50", "report.model_share=9",
    ]  # fmt: skip


def everything(root: Path) -> str:
    return "".join(str(frame.to_dicts()) for frame in committed(root).values())


def index_with_more(root: Path, server: ModelServer) -> None:
    """The small project with one document more, indexed with the model."""
    small.make(root)
    (root / "input" / "more.md").write_text(MORE, "utf-8")
    with Project(root, own(server)) as project:
        project.index()


@pytest.mark.parametrize(("name", "fact"), [("公司.md", "陈明"), ("osprey.md", "Ada Lin")])
def test_a_deleted_document_takes_its_facts_with_it_while_the_key_is_wrong(
    tmp_path: Path, name: str, fact: str
) -> None:
    small.make(tmp_path)
    with model_server(FIXED) as server, Project(tmp_path, own(server)) as project:
        project.index()
        assert fact in everything(tmp_path)
        (tmp_path / "input" / name).unlink()
        server.play = WRONG_KEY
        project.close()
        with Project(tmp_path, own(server)) as changed:
            changed.index()
    assert fact not in everything(tmp_path)
    assert broken(committed(tmp_path)) == []


def test_reports_that_must_be_written_anew_are_quoted_and_asked_for_later(tmp_path: Path) -> None:
    with model_server(FIXED) as server:
        index_with_more(tmp_path, server)
        (tmp_path / "input" / "more.md").unlink()
        server.play = WRONG_KEY
        with Project(tmp_path, own(server)) as project:
            stopped = project.index()
        server.play = FIXED
        with Project(tmp_path, own(server)) as project:
            assert project.index().incomplete == ()
            assert set(project.table("community_reports")["method"]) == {"llm"}
    (line,) = stopped.incomplete
    assert "wrong key" in line
    assert "quoted reports stand in" in line


def test_a_first_run_with_a_wrong_key_stops_with_nothing_committed(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "more.md").write_text(MORE, "utf-8")
    with model_server(WRONG_KEY) as server, Project(tmp_path, own(server)) as project:
        with pytest.raises(ModelUnusableError, match="wrong key"):
            project.index()
        assert len(server.requests) == 1
    assert not (tmp_path / "output" / "manifest.json").exists()


def test_remove_says_by_its_exit_code_that_reports_are_missing(tmp_path: Path) -> None:
    with model_server(FIXED) as server:
        index_with_more(tmp_path, server)
        server.play = WRONG_KEY
        sets = [part for option in own(server) for part in ("--set", option)]
        done = CliRunner().invoke(main, ["remove", "-r", str(tmp_path), *sets, "more.md"])
    assert done.exit_code == 1
    assert "could not be written by the model" in done.output
    assert "valve team" not in everything(tmp_path)


def test_an_index_run_says_that_the_server_cuts_prompts(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    text = "Ada Lin leads the Osprey project of Bluestone. 陈明在杭州工作。" * 120
    (tmp_path / "input" / "long.md").write_text(f"# Long\n\n{text}\n", "utf-8")

    def cutting(body: dict[str, object]) -> tuple[int, dict[str, object]]:
        status, data = said(fixed_model.play(body))
        return status, {**data, "usage": {"prompt_tokens": 1024, "completion_tokens": 9}}

    with model_server(cutting) as server:
        project = Project(tmp_path, [*own(server), "chunks.size=4000"])
        warnings = project.index().warnings
        project.close()
    assert any("longer than the server's window" in warning for warning in warnings), warnings


def test_a_model_that_finds_nothing_anywhere_is_doubted(tmp_path: Path) -> None:
    small.make(tmp_path)
    nothing = json.dumps({"entities": [], "relationships": [], "claims": []})
    with model_server(lambda body: said(nothing)) as server:
        project = Project(tmp_path, own(server))
        warnings = project.index().warnings
        project.close()
    assert any("found nothing in any of 3 text units" in warning for warning in warnings)
