"""The change law: after any edits the tables equal those of an index from scratch."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from law import committed, differences

import graphkb
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.types import Refused

# 25 in CI; GRAPHKB_LAW_EXAMPLES=500 for a long run.
EXAMPLES = int(os.environ.get("GRAPHKB_LAW_EXAMPLES", "25"))
SETTINGS = [
    "embed.when=off", "chunks.size=90", "chunks.overlap=0", "cluster.max_cluster_size=4",
    "extract.min_term_frequency=4", "parquet=off",
]  # fmt: skip

Files = Mapping[str, str]

# Names are shared between sentences, aliases come and go with the sentence that defines them,
# and 熵流引擎 and 岚桥 become terms only where enough different sentences hold them.
ENGLISH = (
    "Northwind Robotics (NWR) was founded by Ada Lin in Lisbon in 2014.",
    "NWR opened a laboratory in Porto with Jonas Petrel.",
    "Ada Lin is chief engineer of Northwind Robotics Inc.",
    "Bo Chen is chief engineer of Northwind Robotics.",
    "Dr Ada Lin met Jonas Petrel at the Kestrel Observatory on 3 May 2019.",
    "The Kestrel Observatory paid 1,280 euros to Bo Chen in 2021.",
    "A gila monster was seen near the Kestrel Observatory.",
    "The European Space Agency (ESA) hired Maria Osprey.",
    "ESA and Northwind Robotics signed contract CT-2023-118.",
    "The Electronic Student Association (ESA) elected Bo Chen.",
    "Jonas Petrel wrote the book \u201cThe Harbor Project\u201d.",
    "It rained all day and nothing happened.",
    "Maria Osprey, also known as Mo, lives in Porto.",
    "École Normale hired Maria Osprey; the école normale is in Paris.",
)
CHINESE = (
    "青石云账有限公司（以下简称青石）由陈明于2014年在杭州创立。",
    "青石与北风机器人公司签署了合同。",
    "陈明是青石云账有限公司的总工程师。",
    "王芳博士加入北风机器人公司，担任总工程师。",
    "王芳在2021年3月访问杭州，会见陈明。",
    "陈明发明熵流引擎。", "王芳称熵流引擎，节省能源。", "杭州部署熵流引擎！", "旧熵流引擎？停产。",
    "北风采购熵流引擎；价格1280元。", "熵流引擎推动增长。", "升级熵流引擎成功。",
    "岚桥位于杭州。", "陈明路过岚桥。", "修复岚桥！", "古岚桥很长。", "新岚桥，开通。",
    "王芳画岚桥图。",
    "《岚桥纪事》由王芳撰写，青石云账有限公司出版。",
    "北风机器人公司，简称北风，总部在里斯本。",
    "今天没有发生任何事情。",
)  # fmt: skip
TITLES = ("Gila monster", "Kestrel Observatory", "青石", "熵流引擎", "Ada Lin", "notes", "École")
NAMES = ("a", "b", "青石", "gila monster")
FOLDERS = ("", "", "x/", "文档/")
SUFFIXES = (".txt", ".md", ".csv", ".jsonl")

bodies = st.lists(st.sampled_from(ENGLISH + CHINESE), min_size=1, max_size=9)
paths = st.builds(
    lambda folder, name, suffix: folder + name + suffix,
    st.sampled_from(FOLDERS), st.sampled_from(NAMES), st.sampled_from(SUFFIXES),
)  # fmt: skip
rows = st.lists(
    st.tuples(st.sampled_from(("r1", "r2", "r3")), st.sampled_from(TITLES), bodies),
    min_size=1, max_size=4,
)  # fmt: skip


def markdown(title: str | None, parts: list[tuple[str, list[str]]]) -> str:
    head = f"---\ntitle: {title}\n---\n\n" if title else ""
    return head + "\n\n".join(f"# {name}\n\n{' '.join(body)}" for name, body in parts) + "\n"


def as_csv(table: list[tuple[str, str, list[str]]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([("id", "title", "text"), *((i, t, " ".join(b))
                                                              for i, t, b in table)])  # fmt: skip
    return written.getvalue()


def as_jsonl(table: list[tuple[str, str, list[str]]]) -> str:
    lines = [{"id": i, "title": t, "text": " ".join(b)} for i, t, b in table]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n"


@st.composite
def contents(draw: st.DrawFn, suffix: str) -> str:
    if suffix == ".csv":
        return as_csv(draw(rows))
    if suffix == ".jsonl":
        return as_jsonl(draw(rows))
    if suffix == ".md":
        part = st.tuples(st.sampled_from(TITLES), bodies)
        title = draw(st.none() | st.sampled_from(TITLES))
        return markdown(title, draw(st.lists(part, min_size=1, max_size=3)))
    return draw(st.sampled_from((" ", "\n", "\n\n"))).join(draw(bodies))


@st.composite
def changed(draw: st.DrawFn, files: Files, past: list[Files]) -> dict[str, str]:
    """``files`` after one to three random edits."""
    new = dict(files)
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from(
                "write write edit delete rename duplicate empty restore touch move trail".split()
            )
        )
        held = sorted(new)
        if kind in ("write",) or not held:
            path = draw(paths)
            new[path] = draw(contents(os.path.splitext(path)[1]))
            continue
        path = draw(st.sampled_from(held))
        suffix = os.path.splitext(path)[1]
        target = draw(st.sampled_from(FOLDERS)) + draw(st.sampled_from(NAMES)) + suffix
        if kind == "edit":
            new[path] = draw(contents(suffix))
        elif kind == "delete":
            del new[path]
        elif kind == "rename":
            new[target] = new.pop(path)
        elif kind == "move":
            new[f"moved/{path}"] = new.pop(path)
        elif kind == "duplicate":
            new[target] = new[path]
        elif kind == "empty":
            new[path] = ""
        elif kind == "trail":
            new[path] = new[path].replace("\n", draw(st.sampled_from((" \n", "\r\n")))) + "  \n"
        elif kind == "restore" and past:
            new = dict(draw(st.sampled_from(past)))
        event(kind)
    return new


@st.composite
def histories(draw: st.DrawFn) -> list[Files]:
    """Input folders one after the other; the first and the last hold text."""
    path = draw(st.lists(paths, min_size=2, max_size=6, unique=True))
    states: list[Files] = [{p: draw(contents(os.path.splitext(p)[1])) for p in path}]
    for _ in range(draw(st.integers(1, 4))):
        states.append(draw(changed(states[-1], states[:-1])))
    if not any(states[-1].values()):
        states[-1] = {**states[-1], "last.txt": ENGLISH[0]}
    return states


def put(root: Path, files: Files) -> None:
    """Make the input folder hold exactly these files."""
    folder = root / "input"
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != text.encode():
            path.write_bytes(text.encode())
        else:
            os.utime(path)


def index(root: Path, files: Files) -> None:
    put(root, files)
    graphkb.open(root, SETTINGS).index(allow_empty=True)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 25,
    database=None,
    phases=[Phase.generate] if EXAMPLES > 25 else [Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(histories())
def test_edits_lead_to_the_tables_of_an_index_from_scratch(states: list[Files]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="graphkb-law-"))
    try:
        changed_root, fresh_root = folder / "changed", folder / "fresh"
        for root in (changed_root, fresh_root):
            (root / "input").mkdir(parents=True)
        index(fresh_root, states[-1])
        for files in states:
            index(changed_root, files)
        assert differences(committed(changed_root), committed(fresh_root)) == []
    finally:
        shutil.rmtree(folder)


def same_as_from_scratch(tmp_path: Path, *states: Files) -> None:
    changed_root, fresh_root = tmp_path / "changed", tmp_path / "fresh"
    for root in (changed_root, fresh_root):
        (root / "input").mkdir(parents=True)
    for files in states:
        index(changed_root, files)
    index(fresh_root, states[-1])
    assert differences(committed(changed_root), committed(fresh_root)) == []


def test_white_space_at_line_ends_moves_the_spans(tmp_path: Path) -> None:
    text = "\n\n".join(ENGLISH[:6])
    spaced = text.replace("\n", "  \n")
    same_as_from_scratch(tmp_path, {"a.txt": text}, {"a.txt": spaced})


def test_a_copy_that_takes_the_place_of_its_original_has_its_own_text(tmp_path: Path) -> None:
    text = "\n".join(CHINESE[:5])
    files = {"a.txt": text, "b.txt": text.replace("\n", "   \n"), "c.txt": ENGLISH[0]}
    same_as_from_scratch(tmp_path, files, {name: files[name] for name in ("b.txt", "c.txt")})


def test_a_copy_that_cannot_be_read_when_its_original_goes_is_told_of_and_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given_up(sources: list[SourceFile], *rest: object, **more: object) -> list[FileReading]:
        return [FileReading(refused=(Refused(s.path, "no time 超时"),)) for s in sources]

    (tmp_path / "input").mkdir()
    text = "\n".join([*CHINESE[:3], *ENGLISH[:2]])
    files = {"a.txt": text, "b.txt": text.replace("\n", "   \n"), "c.txt": ENGLISH[3]}
    index(tmp_path, files)
    left = {name: files[name] for name in ("b.txt", "c.txt")}
    put(tmp_path, left)
    with graphkb.open(tmp_path, SETTINGS) as project:
        with monkeypatch.context() as patched:
            patched.setattr("graphkb.ingest.isolate.read_files", given_up)
            assert project.index().refused == (Refused("b.txt", "no time 超时"),)
        assert set(project.table("documents")["path"]) == {"c.txt"}
        assert project.index().refused == ()
        assert set(project.table("documents")["path"]) == set(left)


def test_what_could_not_be_read_is_part_of_the_version(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    index(tmp_path, {"a.txt": ENGLISH[0]})
    for files in ({"a.txt": ENGLISH[0], "bad.json": "{"}, {"a.txt": ENGLISH[0]}):
        index(tmp_path, files)
        assert graphkb.open(tmp_path, SETTINGS).status()["stale"] is False


@pytest.mark.parametrize(
    "override",
    ["chunks.size=40", "chunks.context=none", "text.dictionary=[岚桥, 总工程师]",
     "extract.claims=false", "extract.min_term_frequency=9", "report.max_findings=1"],
)  # fmt: skip
def test_changed_settings_lead_to_the_tables_of_an_index_from_scratch(
    tmp_path: Path, override: str
) -> None:
    parts = [(title, [*ENGLISH[n::4], *CHINESE[n::4]]) for n, title in enumerate(TITLES[:4])]
    files = {"a.md": markdown(None, parts[:2]), "b.md": markdown("Gila monster", parts[2:])}
    changed_root, fresh_root = tmp_path / "changed", tmp_path / "fresh"
    for root in (changed_root, fresh_root):
        (root / "input").mkdir(parents=True)
    index(changed_root, files)
    before = committed(changed_root)
    for root in (changed_root, fresh_root):
        put(root, files)
        graphkb.open(root, [*SETTINGS, override]).index()
    found, expected = committed(changed_root), committed(fresh_root)
    assert differences(found, expected) == []
    if override.startswith("report."):  # else communities stay, and reports with them
        one, two = (t["community_reports"].drop("human_readable_id") for t in (found, expected))
        assert one.equals(two)
    assert any(not found[name].equals(before[name]) for name in found)
