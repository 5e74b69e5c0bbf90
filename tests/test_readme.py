"""The README's Python runs as it stands, and the commands it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from graphkb.cli import main
from graphkb.ingest.read import list_files, read_file
from graphkb.project import init_project
from graphkb.settings_input import Input

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


def test_the_readme_says_how_tables_are_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(input:\n.*?)```", README, re.DOTALL)
    options = Input(**yaml.safe_load(block)["input"])
    (tmp_path / "帮助.csv").write_text("标题,正文,部门\n退款,三天内退款。,财务\n", "utf-8")
    (tmp_path / "prices.csv").write_text("Plan,Price\nPro,30\n", "utf-8")
    prices, helped = (read_file(file, options).records for file in list_files(tmp_path, options))
    assert [(row.title, row.text) for row in helped] == [("退款", "三天内退款。")]
    assert helped[0].metadata == {"部门": "财务"}
    assert [row.text for row in prices] == ["| Plan | Price |\n|---|---|\n| Pro | 30 |"]
    by_default = [read_file(file, Input()) for file in list_files(tmp_path, Input())]
    assert [record.text for record in by_default[0].records] == [prices[0].text]
    assert "read whole, as one table" in by_default[0].notes[0]
    (tmp_path / "帮助.csv").write_text("编号,内容\n1,退款申请提交后三天内退回付款账户。\n", "utf-8")
    refused = read_file(list_files(tmp_path, Input())[1], Input()).refused
    assert "no column 'text'" in refused[0].reason


def test_every_command_is_in_the_readme_and_the_other_way_round() -> None:
    named = set(re.findall(r"^\| `graphkb ([a-z-]+)", README, re.MULTILINE))
    assert named == set(main.commands)


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text("utf-8")
    for target in re.findall(r"make ([a-z]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
