"""The user's decisions about entities: applied, kept, reversed, and nothing else moved."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from law import committed, differences

import graphkb
from graphkb.cli import main
from graphkb.errors import UsageError
from graphkb.extract.join import NameSets, read_decisions
from graphkb.project import Project
from graphkb.tables import TABLES
from tests.extract.asked import mentions, resolved

OPTIONS = ["embed.when=off", "parquet=off"]
FILES = {
    "osprey.md": "# Osprey\n\nAda Lin leads the Osprey project at Bluestone in Bergen.\n",
    "lin.md": "# Visit\n\nA. Lin visited Bergen. A. Lin met Bo Chen.\n",
    "组织.md": "# 组织\n\n世界卫生组织（简称世卫组织）在日内瓦。世卫组织发布报告。\n",
    "公司.md": "# 公司\n\n陈明在北风机器人公司工作。北风机器人公司在杭州。\n",
}


def decided(*rows: tuple[str, str, str]) -> pl.DataFrame:
    """A decisions table, oldest first."""
    records = [(number, *row) for number, row in enumerate(rows, 1)]
    return pl.DataFrame(records, schema=TABLES["decisions"].schema, orient="row")


def project(root: Path, files: dict[str, str] | None = None) -> Project:
    folder = root / "input"
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, text in (FILES if files is None else files).items():
        (folder / name).write_text(text, "utf8")
    kb = graphkb.open(root, OPTIONS)
    kb.index()
    return kb


def titles(kb: Project) -> dict[str, list[str]]:
    return dict(kb.table("entities").select("title", "aliases").iter_rows())


AB = mentions(("u0", "Ada Lin", "PERSON"), ("u1", "Bo Chen", "PERSON"), ("u2", "Cy Dorn", "PERSON"))
WHO = mentions(
    ("u0", "世界卫生组织", "ORGANIZATION"), ("u0", "世卫组织", "ORGANIZATION", "世界卫生组织"),
    ("u1", "世卫组织", "ORGANIZATION"),
)  # fmt: skip


def test_a_merge_joins_into_the_second_name_and_is_recorded() -> None:
    made = resolved(AB, decisions=decided(("merge", "Ada Lin", "Bo Chen")))
    assert made.entities["title"].to_list().count("Bo Chen") == 1
    assert made.entities.height == 2
    assert made.merges.rows() == [("Ada Lin", "Bo Chen", "user", 1)]
    alone = resolved(AB).entities.filter(title="Bo Chen")["id"]
    assert made.entities.filter(title="Bo Chen")["id"].to_list() == alone.to_list()


def test_split_undoes_what_a_text_says_and_takes_the_alias_away() -> None:
    assert resolved(WHO).entities.height == 1
    for rows in ([("split", "世卫组织", "")], [("split", "世卫组织", "世界卫生组织")],
                 [("split", "世界卫生组织", "")]):  # fmt: skip
        made = resolved(WHO, decisions=decided(*rows))
        assert sorted(made.entities["title"]) == ["世卫组织", "世界卫生组织"]
        assert made.entities["aliases"].to_list() == [[], []]
        assert made.merges.height == 0


def test_the_newest_decision_wins() -> None:
    merge, split = ("merge", "Ada Lin", "Bo Chen"), ("split", "Ada Lin", "Bo Chen")
    alone = ("split", "Bo Chen", "")
    for rows, count in (
        ([merge, split], 3), ([split, merge], 2), ([merge, alone], 3), ([alone, merge], 2),
        ([merge, ("merge", "Bo Chen", "Cy Dorn")], 1),
        ([merge, ("merge", "Bo Chen", "Cy Dorn"), ("split", "Ada Lin", "Cy Dorn")], 2),
    ):  # fmt: skip
        assert resolved(AB, decisions=decided(*rows)).entities.height == count, rows


def test_rules_do_not_bring_together_what_the_user_keeps_apart() -> None:
    evidence = mentions(
        ("u0", "Ada Lin", "PERSON"), ("u1", "Dr Ada Lin", "PERSON"), ("u2", "Prof Ada Lin", "TERM")
    )  # fmt: skip
    made = resolved(evidence, decisions=decided(("split", "Dr Ada Lin", "Prof Ada Lin")))
    assert made.entities.height == 2
    assert made.merges["rule"].to_list() == ["honorific"]


def test_a_renamed_entity_keeps_its_id_and_its_old_name() -> None:
    before = resolved(AB).entities.filter(title="Ada Lin")["id"][0]
    made = resolved(AB, decisions=decided(("rename", "Ada Lin", "林艾达")))
    row = made.entities.filter(title="林艾达").to_dicts()[0]
    assert row["id"] == before
    assert row["aliases"] == ["Ada Lin"]
    assert made.entities.height == 3


def test_a_new_name_that_comes_up_in_the_texts_means_the_renamed_entity() -> None:
    more = pl.concat([AB, mentions(("u3", "林艾達", "PERSON"))])
    made = resolved(more, decisions=decided(("rename", "Ada Lin", "林艾达")))
    assert made.entities.filter(title="林艾达")["frequency"].to_list() == [2]
    respelled = resolved(AB, decisions=decided(("rename", "Ada Lin", "ADA LIN")))
    assert "ADA LIN" in respelled.entities["title"]
    assert respelled.entities.height == 3


def test_renamed_and_then_merged_has_the_name_of_the_newest() -> None:
    rename = ("rename", "Ada Lin", "Ada Marie Lin")
    for rows, title in (
        ([rename, ("merge", "Bo Chen", "Ada Marie Lin")], "Ada Marie Lin"),
        ([rename, ("merge", "Ada Lin", "Bo Chen")], "Bo Chen"),
        ([("merge", "Ada Lin", "Bo Chen"), ("rename", "Bo Chen", "Boaz")], "Boaz"),
        ([rename, ("rename", "Ada Marie Lin", "A. M. Lin")], "A. M. Lin"),
    ):
        made = resolved(AB, decisions=decided(*rows))
        assert title in made.entities["title"].to_list(), rows
        assert made.entities["title"].is_unique().all()


def test_decisions_on_names_that_are_gone_change_nothing_but_still_connect() -> None:
    rows = decided(("merge", "Ada Lin", "Gone"), ("merge", "Gone", "Bo Chen"), ("rename", "X", "Y"))
    made = resolved(AB, decisions=rows)
    assert sorted(made.entities["title"]) == ["Bo Chen", "Cy Dorn"]
    assert resolved(AB, decisions=decided(("merge", "Ada Lin", "Gone"))).entities.equals(
        resolved(AB).entities
    )


def test_sets_that_are_apart_stay_apart_when_they_grow() -> None:
    sets = NameSets()
    sets.keep_apart("a", "z")
    assert sets.join("a", "b", "r", 1)
    assert sets.join("z", "y", "r", 1)
    assert sets.must_not_join("b", "y")
    assert not sets.join("b", "y", "r", 1)
    assert not sets.join("a", "b", "r", 1)
    assert sets.roots(["b", "z", "y"]) == {"z": "y"}
    assert read_decisions(decided()).joins == ()


def test_merge_rename_split_and_undo_in_a_project(tmp_path: Path) -> None:
    kb = project(tmp_path)
    first = committed(tmp_path)
    assert "A. Lin" in titles(kb)
    kb.merge_entities("A. Lin", "ada lin")
    assert titles(kb)["Ada Lin"] == ["A. Lin"]
    assert "A. Lin" not in titles(kb)
    kb.rename_entity("北风机器人公司", "北风科技")
    assert titles(kb)["北风科技"] == ["北风机器人公司"]
    kb.split_entities("世卫组织")
    assert titles(kb)["世卫组织"] == titles(kb)["世界卫生组织"] == []
    assert kb.table("decisions")["action"].to_list() == ["merge", "rename", "split"]
    assert {"A. Lin", "北风机器人公司"} <= set(kb.table("merges").filter(rule="user")["name"])
    kb.undo_decisions()
    assert titles(kb)["世界卫生组织"] == ["世卫组织"]
    kb.undo_decisions("A. Lin")
    assert "A. Lin" in titles(kb)
    kb.undo_decisions("北风科技")
    assert kb.table("decisions").height == 0
    assert differences(committed(tmp_path), first) == []


def test_a_decision_re_does_only_what_depends_on_it(tmp_path: Path) -> None:
    kb = project(tmp_path)
    before = committed(tmp_path)
    result = kb.merge_entities("A. Lin", "Ada Lin")
    assert "read_documents" in result.seconds  # the input folder is always looked at
    assert not {"cut_documents", "extract_evidence", "tokenize_units"} & result.seconds.keys()
    after = committed(tmp_path)
    changed = {name for name in TABLES if not before[name].equals(after[name])}
    assert not changed & {"documents", "text_units", "mention_evidence", "search_texts", "terms"}
    same = before["entities"].join(after["entities"], on=before["entities"].columns, how="semi",
                                   nulls_equal=True)  # fmt: skip
    assert set(before["entities"]["title"]) - set(same["title"]) == {"A. Lin", "Ada Lin"}


def test_decisions_survive_new_documents_and_a_rebuild(tmp_path: Path) -> None:
    kb = project(tmp_path)
    kb.merge_entities("A. Lin", "Ada Lin")
    kb.split_entities("世卫组织", "世界卫生组织")
    more = {**FILES, "more.md": "# More\n\nA. Lin paints. 世卫组织在上海。\n"}
    kb = project(tmp_path, more)
    assert titles(kb)["Ada Lin"] == ["A. Lin"]
    assert "世卫组织" in titles(kb)
    changed = committed(tmp_path)
    kb.index(rebuild=True)
    assert differences(changed, committed(tmp_path)) == []
    assert committed(tmp_path)["decisions"].equals(changed["decisions"])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda kb: kb.merge_entities("Ada Lim", "Bo Chen"), "'Ada Lim' is the name of no entity, "
         "did you mean 'Ada Lin'"),
        (lambda kb: kb.merge_entities("北风机器人公寓", "陈明"), "did you mean '北风机器人公司'"),
        (lambda kb: kb.merge_entities("Ada Lin", "ADA  LIN"), "are one entity already"),
        (lambda kb: kb.merge_entities("Ada Lin", "Bo Chen", "陈明"), "--into '陈明'"),
        (lambda kb: kb.split_entities("Zzyzx 99"), "graphkb entities list --like TEXT"),
        (lambda kb: kb.split_entities("世界卫生组织", "世界衛生組織"), "cannot be two entities"),
        (lambda kb: kb.split_entities(), "give the names"),
        (lambda kb: kb.rename_entity("Ada Lin", "Bo Chen"), "graphkb entities merge"),
        (lambda kb: kb.rename_entity("Ada Lin", "  "), "is no name"),
        (lambda kb: kb.undo_decisions(), "no decisions"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_clear_line_and_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, call: object, said: str
) -> None:
    root = tmp_path_factory.getbasetemp() / "refused"
    kb = graphkb.open(root, OPTIONS) if root.exists() else project(root)
    version = kb.status()["version"]
    with pytest.raises(UsageError) as error:
        call(kb)  # type: ignore[operator]
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert kb.status()["version"] == version


def run(root: Path, *arguments: str) -> tuple[int, str, str]:
    options = [f"--set={option}" for option in OPTIONS]
    if arguments[0] in ("list", "merges", "decisions"):
        options = []
    result = CliRunner().invoke(main, ["entities", *arguments, "-r", str(root), *options])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_line_lists_decides_and_takes_back(tmp_path: Path) -> None:
    project(tmp_path)
    code, out, _ = run(tmp_path, "list", "--like", "lin")
    assert code == 0
    assert out.splitlines() == ["     1  A. Lin  (TERM)", "     1  Ada Lin  (PERSON)"]
    assert run(tmp_path, "list", "--like", "衛生")[1].split()[1] == "世界卫生组织"
    code, out, err = run(tmp_path, "list", "-n", "1")
    assert len(out.splitlines()) == 1
    assert "more (--limit 0 lists all)" in err
    assert run(tmp_path, "merges")[1] == "世卫组织 → 世界卫生组织  (alias, 1)\n"

    code, out, _ = run(tmp_path, "merge", "Ada Lin", "A. Lin", "--into", "Ada Lin")
    assert code == 0
    assert out.startswith("version 2: ")
    code, out, _ = run(tmp_path, "split", "世卫组织", "世界卫生组织", "--json")
    assert json.loads(out)["version"] == 3
    run(tmp_path, "rename", "北风机器人公司", "北风科技")
    assert run(tmp_path, "decisions")[1].splitlines() == [
        "1  'A. Lin' is 'Ada Lin'",
        "2  '世卫组织' is apart from '世界卫生组织'",
        "3  '北风机器人公司' is called '北风科技'",
    ]
    rows = json.loads(run(tmp_path, "list", "--like", "北风科技", "--json")[1])
    assert rows == [
        {"title": "北风科技", "type": "ORGANIZATION", "frequency": 1, "aliases": ["北风机器人公司"]}
    ]
    assert run(tmp_path, "undo", "北风科技")[0] == 0
    assert len(json.loads(run(tmp_path, "decisions", "--json")[1])) == 2
    code, out, err = run(tmp_path, "merge", "Ada Lim", "Bo Chen")
    assert (code, out) == (2, "")
    assert err.startswith("error: 'Ada Lim' is the name of no entity, did you mean")
    assert run(tmp_path, "split")[0] == 2


def test_an_older_version_is_for_reading(tmp_path: Path) -> None:
    kb = project(tmp_path)
    kb.merge_entities("A. Lin", "Ada Lin")
    old = kb.at(1)
    assert "A. Lin" in old.find_entities("lin")["title"]
    with pytest.raises(UsageError, match="is for reading"):
        old.split_entities("A. Lin")
