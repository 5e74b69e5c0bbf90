"""Which definition a name in code means: small repositories with every edge known."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkb.code.edges import CODE_TYPES, CodeGraph, link_code
from graphkb.code.languages import BY_SUFFIX
from graphkb.code.parse import parse_code
from graphkb.code.symbols import CodeFile


def parsed(files: dict[str, str]) -> dict[str, CodeFile]:
    found = {}
    for path, text in files.items():
        code = parse_code(text, BY_SUFFIX["." + path.rsplit(".", 1)[1]].name)
        assert code is not None
        assert CodeFile.from_json(code.to_json()) == code
        found[path] = code
    return found


def graph(files: dict[str, str]) -> CodeGraph:
    return link_code(parsed(files))


def edges(files: dict[str, str], kind: str = "calls") -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in graph(files).edges if edge.type == kind}


CLIENT = '''"""A client."""
from .wire import send as post, Wire

class Base:
    def close(self): ...

class Client(Base):
    def __init__(self, wire: Wire):
        self.wire = wire

    def chat(self, text):
        self.close()
        post(text)
        return self.wire.run(text)

def make() -> "Client | None":
    return Client(Wire())

def chat(text):
    return text
'''
WIRE = "class Wire:\n    def run(self, text): return send(text)\n\ndef send(text): ...\n"


def test_a_method_called_on_a_variable_is_that_of_its_class_and_not_a_function_of_its_name() -> (
    None
):
    use = (
        "import pkg.client as c\nfrom pkg import client\nfrom pkg.client import make, Client\n"
        "def one():\n    client = Client(None)\n    client.chat('x')\n"
        "def two():\n    c.chat('x')\n"
        "def three(given: Client):\n    given.chat('x')\n"
        "def four():\n    made = make()\n    made.chat('x')\n"
        "def five(chat):\n    chat('x')\n"
        "def six():\n    client.chat('x')\n"
    )
    files = {"pkg/__init__.py": "", "pkg/client.py": CLIENT, "pkg/wire.py": WIRE, "app/use.py": use}
    assert edges(files) == {
        ("pkg.client.Client.chat", "pkg.client.Base.close"),
        ("pkg.client.Client.chat", "pkg.wire.send"),
        ("pkg.client.Client.chat", "pkg.wire.Wire.run"),
        ("pkg.client.make", "pkg.client.Client"),
        ("pkg.client.make", "pkg.wire.Wire"),
        ("pkg.wire.Wire.run", "pkg.wire.send"),
        ("app.use.one", "pkg.client.Client"),
        ("app.use.one", "pkg.client.Client.chat"),
        ("app.use.two", "pkg.client.chat"),
        ("app.use.three", "pkg.client.Client.chat"),
        ("app.use.four", "pkg.client.make"),
        ("app.use.four", "pkg.client.Client.chat"),
        ("app.use.six", "pkg.client.chat"),
    }
    assert edges(files, "inherits") == {("pkg.client.Client", "pkg.client.Base")}
    assert ("app.use", "pkg.client.make") in edges(files, "imports")
    assert ("pkg.client", "pkg.wire.Wire") in edges(files, "imports")


def test_what_is_not_plain_gives_no_edge() -> None:
    text = (
        "def run(): ...\ndef other(run):\n    run()\ndef more():\n    run = pick()\n    run()\n"
        "def loop(xs):\n    for run in xs:\n        run()\n    xs.run()\n    'a'.run()\n"
        "    [run() for run in xs]\n"
    )
    assert edges({"pkg/a.py": text}) == set()


def test_functions_of_one_name_in_two_files_stay_apart() -> None:
    files = {
        "app/a.py": "def load(): ...\ndef main(): load()\n",
        "app/b.py": "def load(): ...\ndef main(): load()\n",
    }
    assert edges(files) == {("app.a.main", "app.a.load"), ("app.b.main", "app.b.load")}


def test_properties_supers_decorators_stars_and_reexports_of_python() -> None:
    files = {
        "p/__init__.py": "from .deep import *\nfrom .deep import Store as Shop\n",
        "p/deep.py": (
            "from functools import cached_property\n"
            "class Store:\n    def read(self): ...\n"
            "class Sub(Store):\n    def read(self):\n        super().read()\n"
            "class Work:\n    @property\n    def store(self) -> Store: ...\n"
            "    def go(self):\n        self.store.read()\n"
            "def wrap(f): return f\n"
            "@wrap\ndef used(): ...\n"
        ),
        "q.py": (
            "import p\nfrom p import Shop, used\n"
            "def f():\n    p.Shop().read()\n    Shop()\n    used()\n"
        ),
    }
    assert edges(files) == {
        ("p.deep.Sub.read", "p.deep.Store.read"),
        ("p.deep.Work.go", "p.deep.Store.read"),
        ("p.deep", "p.deep.wrap"),
        ("q.f", "p.deep.Store.read"),
        ("q.f", "p.deep.Store"),
        ("q.f", "p.deep.used"),
    }


SUPERS = [
    (
        "A.java",
        "class Other { void run() {} }\nclass Base { void run() {} }\nclass A extends Base {\n"
        "  void go(Other parent, Other self) { super.run(); }\n"
        "  void two(Other parent) { parent.run(); }\n  void three(Other self) { self.run(); }\n}\n",
        {
            ("A.java:A.go", "A.java:Base.run"),
            ("A.java:A.two", "A.java:Other.run"),
            ("A.java:A.three", "A.java:Other.run"),
        },
    ),
    (
        "a.php",
        "<?php\nclass Base { function run() {} }\nclass 甲 extends Base {\n"
        "  function go() { parent::run(); }\n  function two($parent) { $parent->run(); }\n}\n",
        {("a.php:甲.go", "a.php:Base.run")},
    ),
    (
        "a.cs",
        "class Other { public void Run() {} }\nclass Base { public void Run() {} }\n"
        "class A : Base {\n  void Go() { base.Run(); }\n"
        "  void Two(Other parent) { parent.Run(); }\n}\n",
        {("a.cs:A.Go", "a.cs:Base.Run"), ("a.cs:A.Two", "a.cs:Other.Run")},
    ),
    (
        "p/a.py",
        "class Base:\n    def run(self): ...\nclass A(Base):\n    def go(self):\n"
        "        super().run()\n    def two(self, parent, base):\n        parent.run()\n"
        "        base.run()\n",
        {("p.a.A.go", "p.a.Base.run")},
    ),
]


@pytest.mark.parametrize(("path", "text", "wanted"), SUPERS, ids=[case[0] for case in SUPERS])
def test_a_variable_named_like_another_languages_word_for_a_base_is_a_variable(
    path: str, text: str, wanted: set[tuple[str, str]]
) -> None:
    assert edges({path: text}) == wanted


def test_super_in_a_method_of_rust_is_the_module_above() -> None:
    files = {
        "src/lib.rs": "mod a;\npub fn help() {}\n",
        "src/a.rs": "pub struct C;\nimpl C { fn go(&self) { super::help(); } }\n",
    }
    assert edges(files) == {("src/a.rs:C.go", "src/lib.rs:help")}


def test_libraries_are_named_in_full_and_those_of_the_language_are_left_out() -> None:
    files = {"a/m.py": "import os, numpy as np\nfrom yaml import load\nclass X(np.ndarray): ...\n"}
    assert edges(files, "imports") == {("a.m", "numpy"), ("a.m", "yaml.load")}
    assert edges(files, "inherits") == {("a.m.X", "numpy.ndarray")}


def test_a_module_of_the_language_is_not_one_of_the_package() -> None:
    files = {"k/__init__.py": "X = 1\n", "k/types.py": "def f(): ...\n", "k/a.py": "import types\n"}
    assert edges(files, "imports") == set()


def test_chinese_names_and_comments() -> None:
    text = (
        "# 计价\nclass 订单:\n    # 求和\n"
        "    def 合计(self, 价目):\n        return 计算总价(价目)\n"
        "def 计算总价(价目):\n    '''把价格加起来。'''\n    return sum(价目)\n"
        "def 主():\n    单 = 订单()\n    单.合计([1])\n"
    )
    files = {"商店/计价.py": text}
    assert edges(files) == {
        ("商店.计价.订单.合计", "商店.计价.计算总价"),
        ("商店.计价.主", "商店.计价.订单"),
        ("商店.计价.主", "商店.计价.订单.合计"),
    }
    made = {d.name: d for d in parsed(files)["商店/计价.py"].definitions}
    assert made["计算总价"].doc == "把价格加起来。"
    assert text[made["合计"].start :].startswith("# 求和")
    assert text[made["合计"].name_start : made["合计"].name_end] == "合计"


SAMPLES = Path(__file__).parents[1] / "data" / "code"

CALLS = {
    "javascript": {
        ("src/app.js:main", "src/app.js:go"),
        ("src/app.js:main", "src/client.js:Client"),
        ("src/app.js:main", "src/client.js:Client.chat"),
        ("src/app.js:main", "src/client.js:helper"),
        ("src/app.js:main", "src/old.js:run"),
        ("src/client.js:Client.chat", "src/client.js:Client.send"),
        ("src/client.js:Client.chat", "src/client.js:helper"),
    },
    "typescript": {
        ("a/main.tsx:main", "a/service.ts:Item.show"),
        ("a/main.tsx:main", "a/service.ts:Service.load"),
        ("a/service.ts:Service", "a/service.ts:Cache"),
        ("a/service.ts:Service.load", "a/service.ts:Cache.get"),
    },
    "java": {
        ("src/com/acme/Client.java:Client", "src/com/acme/net/Wire.java:Wire"),
        ("src/com/acme/Client.java:Client.chat", "src/com/acme/Base.java:Base.close"),
        ("src/com/acme/Client.java:Client.chat", "src/com/acme/Reply.java:Reply"),
        ("src/com/acme/Client.java:Client.chat", "src/com/acme/net/Wire.java:Wire.send"),
        ("src/com/acme/Main.java:Main.main", "src/com/acme/Client.java:Client"),
        ("src/com/acme/Main.java:Main.main", "src/com/acme/Client.java:Client.chat"),
        ("src/com/acme/Main.java:Main.main", "src/com/acme/Reply.java:Reply.show"),
    },
    "go": {
        ("main.go:main", "net/client.go:Client.Chat"),
        ("main.go:main", "net/client.go:New"),
        ("net/client.go:Client.Chat", "net/wire.go:Wire.Send"),
        ("net/client.go:Client.Chat", "net/wire.go:help"),
        ("net/client.go:New", "net/client.go:Client"),
    },
    "rust": {
        ("src/client.rs:Client.chat", "src/client.rs:Wire.send"),
        ("src/client.rs:Client.new", "src/client.rs:Client"),
        ("src/main.rs:main", "src/client.rs:Client.chat"),
        ("src/main.rs:main", "src/client.rs:Client.new"),
        ("src/main.rs:main", "src/client.rs:help"),
    },
    "c": {
        ("lib/util.c:add", "lib/util.c:inner"),
        ("main.c:main", "lib/util.c:add"),
    },
    "cpp": {
        ("main.cpp:main", "main.cpp:Square"),
        ("main.cpp:main", "shape.hpp:geo.Shape.area"),
        ("main.cpp:main", "shape.hpp:geo.Shape.draw"),
        ("shape.hpp:geo.Shape.draw", "shape.hpp:geo.Shape.area"),
    },
    "csharp": {
        ("App/Client.cs:App.Client", "App/Wire.cs:App.Net.Wire"),
        ("App/Client.cs:App.Client.Chat", "App/Client.cs:App.Base.Close"),
        ("App/Client.cs:App.Client.Chat", "App/Client.cs:App.Reply"),
        ("App/Client.cs:App.Client.Chat", "App/Wire.cs:App.Net.Wire.Send"),
        ("App/Main.cs:App.Program.Main", "App/Client.cs:App.Client"),
        ("App/Main.cs:App.Program.Main", "App/Client.cs:App.Client.Chat"),
        ("App/Main.cs:App.Program.Main", "App/Client.cs:App.Reply.Show"),
    },
    "ruby": {
        ("lib/client.rb:Client.chat", "lib/client.rb:Base.close"),
        ("lib/client.rb:Client.chat", "lib/wire.rb:Wire.send_text"),
        ("lib/client.rb:Client.initialize", "lib/wire.rb:Wire"),
    },
    "php": {
        ("src/Client.php:Client.chat", "src/Net/Wire.php:Wire.send"),
        ("src/Client.php:Client.chat", "src/Client.php:Client.help"),
        ("src/Client.php:Client.chat", "src/Client.php:Base.close"),
        ("src/Client.php:Client.chat", "src/Client.php:run"),
        ("src/Client.php:run", "src/Client.php:Client"),
        ("src/Client.php:run", "src/Client.php:Client.chat"),
    },
    "bash": {
        ("run.sh", "run.sh:main"),
        ("run.sh:main", "lib.sh:prepare"),
    },
}


def sample(name: str) -> dict[str, str]:
    """The files of a small repository by path."""
    folder = SAMPLES / name
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_other_languages(name: str) -> None:
    assert edges(sample(name)) == CALLS[name]


def test_inheritance_of_other_languages() -> None:
    assert edges(sample("rust"), "inherits") == {("src/client.rs:Client", "src/client.rs:Talk")}
    assert edges(sample("cpp"), "inherits") == {("main.cpp:Square", "shape.hpp:geo.Shape")}
    assert edges(sample("java"), "inherits") == {
        ("src/com/acme/Client.java:Client", "src/com/acme/Base.java:Base")
    }


def test_everything_defined_has_a_type_of_code_and_stands_in_its_file() -> None:
    for files in map(sample, CALLS):
        found = graph(files)
        assert {entity.type for entity in found.entities} <= CODE_TYPES
        for entity in found.entities:
            if entity.definition is not None:
                made = entity.definition
                text = files[entity.file]
                assert text[made.name_start : made.name_end].lstrip("#$") == made.name
                assert made.start <= made.name_start < made.name_end <= made.end


@pytest.mark.parametrize("language", sorted({known.name for known in BY_SUFFIX.values()}))
def test_broken_code_is_read_as_far_as_it_goes(language: str) -> None:
    for files in map(sample, CALLS):
        for text in files.values():
            for part in (
                text[: len(text) // 2],
                text[::-1],
                "((((" + text,
                "\x00" + text,
                "你好" * 9,
            ):
                assert parse_code(part, language) is not None


def test_deeply_nested_code_is_no_trouble() -> None:
    text = "x = " + "(" * 3000 + "f()" + ")" * 3000 + "\n" + "a" + ".b()" * 3000 + "\n"
    found = parse_code(text, "python")
    assert found is not None
    assert any(call.chain == ("f", "()") for call in found.calls)
