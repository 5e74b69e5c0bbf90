from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from graphkb.ingest.isolate import read_files
from graphkb.ingest.read import SourceFile, read_file
from graphkb.ingest.records import FileReading
from graphkb.settings_input import Input

TO_STDOUT = (
    "import sys; sys.stdout.reconfigure(encoding='utf-8'); "
    "print('# 标题 Title'); print(open(sys.argv[1], encoding='utf-8').read())"
)
TO_FOLDER = (
    "import pathlib, sys; out = pathlib.Path(sys.argv[2]) / 'deep'; out.mkdir(); "
    "(out / 'notes.md').write_text('# From a folder'); (out / 'other.md').write_text('no')"
)


def read(tmp_path: Path, converter: str, **options: object) -> FileReading:
    path = tmp_path / "notes.abc"
    path.write_text("泵站 pump", "utf-8")
    source = SourceFile("notes.abc", path, 10)
    return read_file(source, Input(converters={".abc": converter}, **options))


def command(tmp_path: Path, program: str, arguments: str) -> str:
    script = tmp_path / "my converter.py"
    script.write_text(program, "utf-8")
    return f"'{sys.executable}' '{script}' {arguments}"


def test_what_a_command_prints_is_the_document(tmp_path):
    converter = command(tmp_path, TO_STDOUT, "{input}")
    (record,) = read(tmp_path, converter).records
    assert record.text.split("\n")[:2] == ["# 标题 Title", "泵站 pump"]
    assert (record.title, record.media_type) == ("标题 Title", "text/markdown")
    assert record.metadata == {"converter": converter}


def test_of_several_files_in_its_output_folder_the_one_with_the_name_is_taken(tmp_path):
    (record,) = read(tmp_path, command(tmp_path, TO_FOLDER, "{input} {output}")).records
    assert record.text == "# From a folder"


def test_a_function_is_called_with_the_path(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def convert(path): return '# M\\n' + path.read_text('utf-8')"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (record,) = read(tmp_path, "mine:convert").records
    assert (record.title, record.text) == ("M", "# M\n泵站 pump")


@pytest.mark.parametrize(
    ("program", "arguments", "said"),
    [
        ("import sys; print('no weights', file=sys.stderr); sys.exit(4)", "{input}",
         "failed with exit code 4: no weights"),
        ("pass", "{input} {output}", "left no Markdown file (*.md) in {output}"),
        ("import time; time.sleep(30)", "{input}", "took longer than 1 s"),
        ("pass", "{input}", "gave no text"),
    ],
)  # fmt: skip
def test_a_command_that_fails_is_named(tmp_path, program, arguments, said):
    reading = read(tmp_path, command(tmp_path, program, arguments), max_seconds=1)
    assert not reading.records
    assert said in reading.refused[0].reason
    assert "my converter.py" in reading.refused[0].reason


@pytest.mark.parametrize(
    ("converter", "said"),
    [
        ("no-such-program-here {input}", "cannot be started (No such file"),
        ("no_such_module_here:convert", "cannot be imported (No module named"),
        ("os:no_such_function", "cannot be imported"),
        ("os:getpid", "failed (TypeError"),
        ("os.path:getsize", "gave a int instead of Markdown text"),
        ("'unbalanced {input}", "is no command (No closing quotation)"),
    ],
)
def test_a_converter_that_cannot_run_is_named(tmp_path, converter, said):
    reason = read(tmp_path, converter).refused[0].reason
    assert said in reason
    assert repr(converter) in reason
    assert "input.converters" in reason


@pytest.mark.parametrize("converters", [{"pdf": "x {input}"}, {".pdf": "mineru -o {output}"}])
def test_settings_that_name_no_converter_are_refused(converters):
    with pytest.raises(ValidationError, match=r"is no suffix|\{input\}"):
        Input(converters=converters)


def test_a_converter_wins_over_the_reader_and_is_not_bounded_by_the_memory_of_readers(tmp_path):
    # 700 MB in the converter's own process; the reading process may have 300.
    program = "import sys; held = bytearray(700_000_000); print('converted', len(held))"
    path = tmp_path / "a.txt"
    path.write_text("plain", "utf-8")
    options = Input(converters={".TXT": command(tmp_path, program, "{input}")}, max_memory_mb=300)
    (reading,) = read_files([SourceFile("a.txt", path, 5)], options)
    assert reading.records[0].text.strip() == "converted 700000000"
