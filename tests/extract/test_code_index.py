"""A repository indexed: its graph, its map, what a change affects, and the change law."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import law
import polars as pl
import pytest
from click.testing import CliRunner
from model_server import model_server, said

import graphkb
from graphkb.cli import main
from graphkb.code import languages
from graphkb.errors import UsageError
from graphkb.project import Project
from graphkb.stages.documents import without_unparsed

FILES = {
    "README.md": (
        "# Shop\n\nThe `place_order` function of the shop places an order. Ada Lin wrote it.\n"
    ),
    "shop/__init__.py": "",
    "shop/orders.py": (
        '"""Orders and their prices. 订单。"""\nfrom shop.wire import Wire, send\n\n\n'
        "class Base:\n    def close(self):\n        send('bye')\n\n\n"
        "class Client(Base):\n    def __init__(self, wire: Wire):\n        self.wire = wire\n\n"
        "    def chat(self, text):\n        self.close()\n        return self.wire.run(text)\n\n\n"
        "def chat(text):\n    return text\n\n\n"
        "def 计算总价(价目):\n    '''把价格加起来。'''\n    return sum(价目)\n"
    ),
    "shop/wire.py": (
        "class Wire:\n    def run(self, text):\n        return send(text)\n\n\n"
        "def send(text):\n    return text\n"
    ),
    "shop/app.py": (
        "from shop.orders import Client, 计算总价\nfrom shop.wire import Wire\n\n\n"
        "def place_order(text):\n    client = Client(Wire())\n    计算总价([1, 2])\n"
        "    return client.chat(text)\n\n\n"
        "def main():\n    place_order('x')\n"
    ),
    "web/view.ts": "import { load } from './data';\nexport function show() { return load(); }\n",
    "web/data.ts": "export function load() { return 1; }\nexport function Load() { return 2; }\n",
    "notes/会议.md": "# 会议\n\n王小明在 2024 年 3 月说订单系统要重写。\n",
    "web/.gitignore": "dist/\n",
    "web/dist/out.ts": "export function built() {}\n",
}


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / "input" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "input" / path).write_text(text, "utf-8")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("code")
    write(root, FILES)
    (root / "settings.yaml").write_text("embed:\n  when: 'off'\n", "utf-8")
    with graphkb.open(root) as project:
        result = project.index()
        assert not result.refused
        assert [w for w in result.warnings if "left out: 1 that .gitignore names" in w]
        yield project


def test_entities_and_relationships_of_code_have_their_types_and_places(kb: Project) -> None:
    entities = {row["title"]: row for row in kb.table("entities").to_dicts()}
    assert entities["shop.orders"]["type"] == "MODULE"
    assert entities["shop.orders.Client"]["type"] == "CLASS"
    assert entities["shop.orders.Client.chat"]["type"] == "METHOD"
    assert entities["shop.orders.chat"]["type"] == "FUNCTION"
    assert entities["shop.orders"]["description"].endswith("Orders and their prices. 订单。")
    assert entities["shop.orders.计算总价"]["description"].endswith("把价格加起来。")
    found = kb.table("relationships").filter(pl.col("directed"))
    triples = set(found.select("source", "type", "target").iter_rows())
    assert ("shop.app.place_order", "calls", "shop.orders.Client.chat") in triples
    assert ("shop.app.place_order", "calls", "shop.orders.chat") not in triples
    assert ("shop.orders.Client", "inherits", "shop.orders.Base") in triples
    assert ("shop.app", "imports", "shop.orders.计算总价") in triples
    assert ("shop.orders.Client", "contains", "shop.orders.Client.chat") in triples
    units = {row["id"]: row for row in kb.table("text_units").to_dicts()}
    for row in found.filter(pl.col("type") == "calls").to_dicts():
        lines = row["description"].split("\n")
        texts = [units[unit]["text"] for unit in row["text_unit_ids"]]
        assert all(any(line in text for text in texts) for line in lines)


def test_names_that_differ_in_case_only_stay_apart(kb: Project) -> None:
    titles = set(kb.table("entities")["title"])
    assert {"web/data.ts:load", "web/data.ts:Load"} <= titles


def test_what_prose_says_of_a_function_is_said_of_the_code(kb: Project) -> None:
    entities = kb.table("entities").filter(pl.col("title") == "shop.app.place_order")
    (row,) = entities.to_dicts()
    assert row["aliases"] == ["place_order"]
    units = kb.table("mentions").filter(pl.col("entity_id") == row["id"])["text_unit_id"]
    documents = kb.table("text_units").filter(pl.col("id").is_in(units.implode()))["context"]
    assert any(context.startswith("Shop") for context in documents)


def test_code_that_git_ignores_is_not_there(kb: Project) -> None:
    assert "web/dist/out.ts" not in set(kb.table("documents")["path"])


@pytest.mark.parametrize("method", ["auto", "local"])
def test_what_a_change_affects_is_answered_from_the_graph(kb: Project, method: str) -> None:
    answer = kb.query("What does changing Client.chat affect?", method=method)
    assert not answer.refused
    assert answer.text.split("\n") == [
        "Changing `shop.orders.Client.chat` affects 2 definitions in 1 file "
        "(calls, imports and inheritance up to depth 3), as the code states:",
        "Depth 1:",
        "- `shop.app.place_order` calls `shop.orders.Client.chat`: shop/app.py:8 [1]",
        "Depth 2:",
        "- `shop.app.main` calls `shop.app.place_order`: shop/app.py:12 [2]",
    ]
    texts = dict(kb.table("documents").select("id", "text").iter_rows())
    for citation in answer.citations:
        assert (
            texts[citation.document_id][citation.char_start : citation.char_end] == citation.quote
        )
    assert [c.quote for c in answer.citations] == ["return client.chat(text)", "place_order('x')"]


def test_what_a_change_affects_in_chinese_and_of_a_class_and_of_a_module(kb: Project) -> None:
    answer = kb.query("改 计算总价 会影响什么？")
    assert "修改 `shop.orders.计算总价` 会影响 3 处" in answer.text.replace(
        "影响 1 个文件中的 3 处定义", "影响 3 处"
    )
    assert "- `shop.app.place_order` 调用 `shop.orders.计算总价`：shop/app.py:7 [" in answer.text
    base = kb.query("What breaks if I rename the class Base?").text
    assert "`shop.orders.Client` inherits from `shop.orders.Base`: shop/orders.py:10 [" in base
    module = kb.query("修改 shop/wire.py 会影响哪些代码？").text
    assert "`shop.orders` 导入 `shop.wire.Wire`：shop/orders.py:2 [" in module
    nothing = kb.query("what depends on shop.app.main?").text
    assert nothing == (
        "Nothing in the indexed code calls, imports or inherits from `shop.app.main`, "
        "which is defined at shop/app.py:11 [1]."
    )


def test_a_name_that_fits_several_is_answered_for_each(kb: Project) -> None:
    text = kb.query("What does changing chat affect?").text
    assert "Changing `shop.orders.Client.chat` affects 2 definitions" in text
    assert "Nothing in the indexed code calls, imports or inherits from `shop.orders.chat`" in text


@pytest.mark.parametrize(
    "question",
    ["What does changing the weather affect?", "Who is Ada Lin?", "王小明说了什么？",
     "What changed in the shop?", "修改订单会影响什么？"],
)  # fmt: skip
def test_other_questions_are_answered_as_ever(kb: Project, question: str) -> None:
    assert not any(step.name == "impact" for step in kb.query(question).trace)


def test_the_map_shows_what_matters_most_within_its_budget(kb: Project) -> None:
    whole = kb.map()
    assert (whole.n_files, whole.n_definitions) == (5, 15)
    assert "shop/wire.py:\n" in str(whole)
    assert "  class Wire\n    def run(self, text)\n  def send(text)" in str(whole)
    small = kb.map(tokens=30)
    assert 0 < small.n_tokens <= 30
    ranks = {entry.name: entry.rank for file in whole.files for entry in file.entries}
    assert max(ranks, key=lambda name: ranks[name]) == "shop.wire.send"
    assert [file.path for file in kb.map("web").files] == ["web/data.ts", "web/view.ts"]
    lines = {entry.name: entry.line for file in whole.files for entry in file.entries}
    assert lines["shop.app.main"] == 11
    with pytest.raises(UsageError, match="no indexed code file fits 'nowhere'"):
        kb.map("nowhere")


def test_the_map_command(kb: Project) -> None:
    shown = CliRunner().invoke(main, ["map", "--root", str(kb.root), "shop/*.py", "--tokens", "60"])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("shop/")
    assert "of 12 definitions in" in shown.stderr
    found = CliRunner().invoke(main, ["map", "--root", str(kb.root), "--json"])
    assert json.loads(found.stdout)["n_definitions"] == 15


CHANGES: list[dict[str, str | None]] = [
    {
        "shop/wire.py": FILES["shop/wire.py"].replace("def send", "def post"),
        "shop/other/wire.py": FILES["shop/wire.py"],
        "web/.gitignore": "",
        "web/data.ts": "function broken( {",
    },
    {
        "shop/orders.py": None,
        "shop/商品.py": FILES["shop/orders.py"] + "\n\ndef x():\n    chat(1)\n",
        "shop/app.py": FILES["shop/app.py"].replace("shop.orders", "shop.商品"),
        "README.md": "# Shop\n\nNothing of orders.\n",
    },
    {
        "shop/wire.py": FILES["shop/wire.py"],
        "shop/other/wire.py": None,
        "web/data.ts": FILES["web/data.ts"],
    },
]


def test_after_any_edits_the_tables_are_those_of_an_index_from_scratch(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with graphkb.open(tmp_path, "embed.when=off") as project:
        project.index()
        for step in CHANGES:
            for path, text in step.items():
                if text is None:
                    (tmp_path / "input" / path).unlink(missing_ok=True)
                else:
                    write(tmp_path, {path: text})
            project.index()
            found = law.committed(tmp_path)
            project.index(rebuild=True)
            assert law.differences(found, law.committed(tmp_path)) == []


def test_code_read_as_plain_text_is_read_again_once_the_extra_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [("a.go", ""), ("b.txt", ""), ("c.zip", "in/d.GO"), ("e", "")]
    sources = pl.DataFrame(rows, schema=["path", "member"], orient="row").with_columns(
        media_type=pl.lit("text/plain")
    )
    assert without_unparsed(sources)["path"].to_list() == ["b.txt", "e"]
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    languages.parser_of.cache_clear()
    try:
        assert without_unparsed(sources).height == 4
    finally:
        monkeypatch.undo()
        languages.parser_of.cache_clear()


def test_without_code_questions_are_like_any_other_and_the_map_says_what_to_do(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"a.md": "# Payment\n\nChanging Payment affects the shop of Ada Lin.\n"})
    with graphkb.open(tmp_path, "embed.when=off") as project:
        project.index()
        answer = project.query("What does changing Payment affect?")
        assert not any(step.name == "impact" for step in answer.trace)
        with pytest.raises(UsageError, match="no source code is indexed"):
            project.map()


def test_a_model_is_asked_about_prose_and_not_about_code(tmp_path: Path) -> None:
    write(tmp_path, {path: FILES[path] for path in ("README.md", "shop/orders.py", "shop/wire.py")})
    found = {"entities": [["Ada Lin", "PERSON", "wrote it"]], "relationships": [], "claims": []}
    with model_server(lambda body: said(json.dumps(found))) as server:
        overrides = [
            "embed.when=off", "llm.model=m", f"llm.base_url={server.url}", "llm.api_key=k",
            "report.method=offline", "extract.method=llm", "resolve.method=llm",
        ]  # fmt: skip
        with graphkb.open(tmp_path, overrides) as project:
            (planned,) = project.preview().calls
            assert (planned.step, planned.calls) == ("extract", 1)
            project.index()
            extracted = project.status()["extracted"]
            titles = set(project.table("entities")["title"])
    prompts = "".join(json.dumps(body, ensure_ascii=False) for body in server.requests)
    assert "place_order" in prompts
    assert "class Client" not in prompts
    assert "shop.orders.Client" not in prompts
    assert (extracted["llm"], extracted["offline"]) == (1, 0)
    assert extracted["code"] > 2
    assert {"Ada Lin", "shop.orders.Client.chat"} <= titles
