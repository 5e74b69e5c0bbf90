"""A setting that names a path that is not there is a mistake, wherever it is set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import small
from click.testing import CliRunner

from graphkb.cli import main
from graphkb.errors import SettingsError
from graphkb.project import Project

WRONG = {
    "a folder": ({"input": {"folder": "资料"}}, "资料 does not exist"),
    "a folder that is a file": ({"input": {"folder": "settings.yaml"}}, "settings.yaml is a file"),
    "a dictionary": ({"text": {"dictionary": "词表.txt"}}, "词表.txt: text.dictionary cannot be"),
    "a model file": (
        {"llm": {"provider": "llama_cpp", "model": "models/a.gguf"}},
        "models/a.gguf",
    ),
    "an embedding model": (
        {"embed": {"provider": "onnx", "model": "/nowhere/a.onnx"}},
        "embed.model: /nowhere/a.onnx is no ONNX file",
    ),
}


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("name", WRONG)
def test_a_path_that_is_not_there_is_exit_code_2(tmp_path: Path, name: str, indexed: bool) -> None:
    values, said = WRONG[name]
    kb = small.make(tmp_path)
    (tmp_path / "settings.yaml").write_text("", "utf-8")
    if not indexed:
        (tmp_path / "output").rename(tmp_path / "elsewhere")
    sets = [f"{s}.{k}={v}" for s, keys in values.items() for k, v in keys.items()]
    with pytest.raises(SettingsError, match=said):
        Project(tmp_path, sets).index()
    options = [part for override in sets for part in ("--set", override)]
    by_command = CliRunner().invoke(main, ["index", "--root", str(tmp_path), *options])
    (tmp_path / "settings.yaml").write_text(json.dumps(values), "utf-8")
    by_file = CliRunner().invoke(main, ["index", "--root", str(tmp_path)])
    for result in (by_command, by_file):
        line = result.stderr.splitlines()[-1]
        assert (result.exit_code, said in line) == (2, True), line
    assert not indexed or kb.version >= 1


def test_what_only_reads_goes_on_without_the_input_folder(tmp_path: Path) -> None:
    small.make(tmp_path)
    kb = Project(tmp_path, ["input.folder=资料"])
    assert "Ada Lin" in kb.query("Who leads the Osprey project?").text
