"""``graphkb chunks FILE``: how a file would be cut, without a project and without indexing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import graphkb
from graphkb.cli import main
from graphkb.errors import InputError

CASES = Path(__file__).parent / "data" / "cases"


def run(*arguments: object):
    return CliRunner().invoke(main, ["chunks", *map(str, arguments)])


def test_units_are_shown_with_place_tokens_kind_and_context(tmp_path: Path) -> None:
    file = tmp_path / "价格.md"
    rows = "".join(f"| 套餐{n} | {n} |\n" for n in range(30))
    file.write_text(f"# 价格\n\n说明。\n\n| 套餐 | 月付(元) |\n|---|---|\n{rows}", "utf-8")
    small = [f"chunks.{option}" for option in ("size=60", "overlap=0", "table_rows=1")]
    shown = run(file, "-r", tmp_path, *(word for one in small for word in ("--set", one)))
    assert shown.exit_code == 0, shown.output
    blocks = shown.stdout.strip().split("\n\n")
    assert len(blocks) == 30
    start = file.read_text("utf-8").index("| 套餐1 ")
    assert blocks[1].split("\n")[1:] == ["  价格", "  套餐=套餐1;月付(元)=1", "  | 套餐1 | 1 |"]
    assert blocks[1].startswith("价格.md #1  row  ")
    assert blocks[1].split("\n")[0].endswith(f" tokens  {start}-{start + 11}")
    assert "unit sizes: median" in shown.stderr
    assert "row 29" in shown.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_json_has_whole_units_pages_and_sizes(tmp_path: Path) -> None:
    shown = run(CASES / "pdf_bordered_table_nics.pdf", "-r", tmp_path, "--json")
    found = json.loads(shown.stdout)
    assert set(found) == {"file", "units", "sizes", "refused", "notes"}
    assert {unit["page_start"] for unit in found["units"]} == {1}
    assert {"kind", "char_start", "context", "heading_path", "n_tokens"} <= set(found["units"][0])
    assert found["sizes"]["count"] == len(found["units"])


def test_a_file_is_found_by_its_name_below_the_input_folder(tmp_path: Path) -> None:
    (tmp_path / "input" / "手册").mkdir(parents=True)
    (tmp_path / "input" / "手册" / "泵.md").write_text("# 泵\n\n每四千小时更换轴封。\n", "utf-8")
    shown = run("手册/泵.md", "-r", tmp_path)
    assert shown.exit_code == 0, shown.output
    assert "每四千小时更换轴封" in shown.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [("nothing.md", "no such file"), (".", "is a folder"), ("empty.txt", "empty")],
)
def test_what_cannot_be_cut_is_said_in_a_line(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    shown = run(tmp_path / name, "-r", tmp_path)
    assert shown.exit_code == 1
    assert shown.stdout == ""
    assert shown.stderr.count("\n") == 1
    assert said in shown.stderr


def test_wrong_sizes_are_named_with_their_values(tmp_path: Path) -> None:
    file = CASES / "table" / "long_table.md"
    shown = run(file, "-r", tmp_path, "--set", "chunks.size=100", "--set", "chunks.overlap=150")
    assert shown.exit_code == 2
    assert "overlap 150 must be smaller than size 100" in shown.stderr


def test_a_project_says_it_in_python_and_after_indexing(project: Path) -> None:
    file = CASES / "table" / "long_table.md"
    options = ["embed.when=off", "chunks.size=200", "chunks.table_rows=4", "parquet=off"]
    with graphkb.open(project, options) as kb:
        found = kb.chunks(file)
        assert found.units.filter(kind="row").height > 20
        with pytest.raises(InputError, match="no such file"):
            kb.chunks("nothing.md")
        (project / "input" / file.name).write_bytes(file.read_bytes())
        result = kb.index()
        assert result.unit_sizes == found.sizes | {"outliers": result.unit_sizes["outliers"]}
        assert kb.status()["unit_sizes"] == result.unit_sizes
        again = kb.index()
        assert again.unit_sizes == result.unit_sizes
        (project / "input" / file.name).write_text("word " * 100, "utf8")
        assert kb.index().unit_sizes["cut"] == 0
    with graphkb.open(project, [*options, "chunks.size=102"]) as kb:
        assert kb.index().unit_sizes["cut"] == 1
    shown = CliRunner().invoke(main, ["status", "--root", str(project)])
    assert "units      median" in shown.stdout
