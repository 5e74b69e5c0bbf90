"""Large tables from file to answer: each row is found, quoted with its columns, in the graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from embed.embeddings_server import embedded, embeddings_server, refused
from model_server import model_server, said

import graphkb
from graphkb.text.tokens import count_tokens

CASES = Path(__file__).parent / "data" / "cases"
OPTIONS = ["chunks.size=120", "chunks.overlap=0", "parquet=off", "report.method=offline"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tables")
    (root / "input").mkdir()
    plans = "".join(f"| 方案{n}号 | {100 + n} | {n}个 |\n" for n in range(1, 30))
    chinese = (
        f"# 价格表\n\n| 套餐 | 月付(元) | 席位 |\n|---|---|---|\n{plans}| 专业版 | 49 | 5个 |\n"
    )
    (root / "input" / "价格.md").write_text(chinese, "utf-8")
    pumps = "".join(f"| PX-{n} | {n} bar | North Works |\n" for n in range(10, 40))
    english = f"# Pumps\n\n| Pump | Pressure | Manufacturer |\n|---|---|---|\n{pumps}"
    (root / "input" / "pumps.md").write_text(english, "utf-8")
    graphkb.open(root, OPTIONS).index()
    return root


@pytest.mark.parametrize("method", ["lexical", "dense", "hybrid"])
@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("专业版的月付是多少元?", "| 专业版 | 49 | 5个 |"),
        ("What pressure does pump PX-27 have?", "| PX-27 | 27 bar | North Works |"),
    ],
)
def test_each_row_is_found(root: Path, method: str, question: str, row: str) -> None:
    hits = graphkb.open(root, OPTIONS).search(question, method=method)
    found = [row in hit.text for hit in hits]
    assert any(found[: 3 if method == "dense" else 1])


def test_an_answer_quotes_a_row_with_the_names_of_its_columns(root: Path) -> None:
    with graphkb.open(root, OPTIONS) as kb:
        chinese = kb.query("专业版的月付是多少元?")
        assert "套餐: 专业版; 月付(元): 49; 席位: 5个" in chinese.text
        cited = chinese.citations[0]
        assert cited.quote == "| 专业版 | 49 | 5个 |"
        english = kb.query("What pressure does pump PX-27 have?")
        assert "Pump: PX-27; Pressure: 27 bar; Manufacturer: North Works" in english.text


def test_a_model_is_shown_rows_as_a_table_with_its_header(root: Path) -> None:
    with model_server(lambda body: said("专业版每月49元 [1]。")) as server:
        options = [*OPTIONS, f"llm.base_url={server.url}", "llm.model=m"]
        with graphkb.open(root, options) as kb:
            kb.query("专业版的月付是多少元?", method="hybrid")
        prompt = str(server.requests[-1]["messages"][-1]["content"])
    source = next(part for part in prompt.split("</source>") if "| 专业版 |" in part)
    assert "<source>\n价格表\n| 套餐 | 月付(元) | 席位 |\n|---|---|---|\n| 方案" in source
    assert source.endswith("\n| 专业版 | 49 | 5个 |\n")


def test_rows_are_in_the_graph(root: Path) -> None:
    with graphkb.open(root, OPTIONS) as kb:
        related = kb.table("relationships").filter(type="Manufacturer")
        claims = kb.table("covariates").filter(subject_id="专业版")
    assert related["target"].unique().to_list() == ["North Works"]
    assert related.height == 30
    assert "专业版 月付(元): 49" in claims["description"].to_list()


def test_a_model_is_not_asked_about_rows(root: Path, project: Path) -> None:
    (project / "input" / "pumps.md").write_bytes((root / "input" / "pumps.md").read_bytes())
    nothing = said('{"entities": [["Pumps", "TERM", "a list"]], "relationships": [], "claims": []}')
    with model_server(lambda body: nothing) as server:
        options = [*OPTIONS, f"llm.base_url={server.url}", "llm.model=m", "embed.when=off"]
        kb = graphkb.open(project, options)
        assert kb.preview().model_calls == 1
        kb.index()
        assert len(server.requests) == 1
        assert kb.table("relationships").filter(type="Manufacturer").height > 25


def test_case_c07_an_endpoint_with_a_limit_of_512_tokens_takes_a_long_table(project: Path) -> None:
    table = (CASES / "table" / "long_table.md").read_text("utf-8")
    (project / "input" / "long.md").write_text(table, "utf-8")
    with embeddings_server() as server:
        server.play = lambda body: (
            refused(400, "maximum context length is 512 tokens")
            if any(count_tokens(text) > 512 for text in body["input"])
            else embedded(body)
        )
        options = [f"embed.base_url={server.url}", "embed.provider=openai", "embed.model=m"]
        small = ["chunks.size=400", "parquet=off"]
        result = graphkb.open(project, [*options, *small]).index()
        assert result.counts["vectors"] == result.counts["text_units"] > 30
        assert not [line for line in result.warnings if "too long" in line]
        whole = ["chunks.size=2000", "chunks.table_rows=200"]
        result = graphkb.open(project, [*options, *whole]).index()
        assert result.counts["vectors"] == result.counts["text_units"]
        assert any("too long for the embedding model" in line for line in result.warnings)


def test_a_row_is_expanded_to_its_parent(project: Path) -> None:
    rows = "".join(f"| 方案{n}号 | {n} |\n" for n in range(30))
    table = f"# 价格表\n\n| 套餐 | 月付 |\n|---|---|\n{rows}\n# 别的\n\n{'另一段文字。' * 40}\n"
    (project / "input" / "价格.md").write_text(table, "utf-8")
    more = ["chunks.table_rows=1", "chunks.parents=150", "search.expand=parent", "embed.when=off"]
    with graphkb.open(project, [*OPTIONS, *more]) as kb:
        kb.index()
        units = kb.table("text_units")
        hit = kb.search("方案7号", method="lexical")[0]
    own = units.filter(id=hit.text_unit_id)["parent_id"][0]
    family = units.filter(parent_id=own)
    assert family.height > 2
    assert hit.wider is not None
    assert {part.text_unit_id for part in hit.wider.parts} == set(family["id"])
