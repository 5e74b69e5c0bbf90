"""The README's Python runs as it stands, and the commands it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphkb.cli import main
from graphkb.project import init_project

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    init_project(tmp_path / "my-kb", sample=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHKB_EMBED_WHEN", "off")
    exec(compile(code, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "zh/银行流水导入.md" in shown
    assert "[1]" in shown


def test_every_command_is_in_the_readme_and_the_other_way_round() -> None:
    named = set(re.findall(r"^\| `graphkb ([a-z-]+)", README, re.MULTILINE))
    assert named == set(main.commands)


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text("utf-8")
    for target in re.findall(r"make ([a-z]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
