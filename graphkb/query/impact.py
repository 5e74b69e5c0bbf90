"""What a change of code affects, answered from the graph: no model and no search.

The reverse closure over calls, imports and inheritance, breadth first to depth three, of what the
question names and of all that it contains; each step with the line that states it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from graphkb.code.edges import CALLS, CODE_TYPES, CONTAINS, IMPORTS, INHERITS
from graphkb.llm.prompts import prompt_language
from graphkb.query.ask import Ask
from graphkb.query.citations import citation_of
from graphkb.query.impact_question import symbol_asked
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.text.language import question_language
from graphkb.types import Answer, Citation, Context, Step, Usage

DEPTH = 3
_BY_STRENGTH = (CALLS, INHERITS, IMPORTS)
_MOST_SHOWN = 40
_MOST_MEANT = 3

_WORDS = {
    "en": {
        "head": "Changing `{name}` affects {n} definitions in {files} "
        "(calls, imports and inheritance up to depth {depth}), as the code states:",
        "one": "Changing `{name}` affects 1 definition "
        "(calls, imports and inheritance up to depth {depth}), as the code states:",
        "none": "Nothing in the indexed code calls, imports or inherits from `{name}`, "
        "which is defined at {place}.",
        "level": "Depth {depth}:",
        "line": "- `{source}` {type} `{target}`: {place}",
        "more": "… and {n} more.",
        "others": "The name also fits {names}; ask for one of them by its full name.",
        "file": "1 file",
        "files": "{n} files",
        CALLS: "calls", IMPORTS: "imports", INHERITS: "inherits from",
    },
    "zh": {
        "head": "修改 `{name}` 会影响 {files}中的 {n} 处定义（沿调用、导入和继承，"
        "深度至 {depth}），依据代码：",
        "one": "修改 `{name}` 会影响 1 处定义（沿调用、导入和继承，深度至 {depth}），依据代码：",
        "none": "已索引的代码中没有调用、导入或继承 `{name}` 的地方，它定义在 {place}。",
        "level": "深度 {depth}：",
        "line": "- `{source}` {type} `{target}`：{place}",
        "more": "……另有 {n} 处。",
        "others": "这个名称也可以指 {names}；请用全名提问。",
        "file": "1 个文件",
        "files": "{n} 个文件",
        CALLS: "调用", IMPORTS: "导入", INHERITS: "继承",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Affected:
    """A definition that a change reaches, by the relationship that says so."""

    depth: int
    source: str
    target: str
    type: str
    text_unit_id: str
    line: str


def impact_answer(snapshot: Snapshot, ask: Ask) -> Answer | None:
    """The answer to a question about the effects of a change; None for any other question, and
    where the code has no such name."""
    name = symbol_asked(ask.question)
    if not name or not snapshot.store.count("code_files"):
        return None
    started = time.perf_counter()
    meant = symbols_named(snapshot, name)
    if not meant.height:
        return None
    words = _WORDS[prompt_language(question_language(ask.question))]
    writer = _Writer(snapshot, words)
    for entity_id, title in meant.head(_MOST_MEANT).select("id", "title").iter_rows():
        writer.section(entity_id, title)
    others = meant["title"].to_list()[_MOST_MEANT:]
    if others:
        listed = ", ".join(f"`{other}`" for other in others[:10])
        writer.lines.append(words["others"].format(names=listed + (", …" * (len(others) > 10))))
    seconds = time.perf_counter() - started
    detail = f"{len(writer.citations)} places, {meant.height} definitions named {name!r}"
    trace = (
        Step("route", "local: the question asks what a change of code affects", 0.0),
        Step("impact", detail, seconds),
    )
    return writer.answer(ask.question, trace)


def symbols_named(snapshot: Snapshot, name: str) -> pl.DataFrame:
    """id, title, type of the code that a name means: by its full name, else by its end, else by
    that in any case; sorted by title."""
    columns = ("id", "title", "type", "aliases")
    every = snapshot.store.where("entities", "type", sorted(CODE_TYPES), columns).sort("title")
    end = re.escape(name.replace("::", "."))
    for pattern in (rf"^{end}$", rf"(?:^|[./:]){end}$", rf"(?i)(?:^|[./:]){end}$"):
        fits = (
            pl.col("title").str.contains(pattern)
            | pl.col("aliases").list.eval(pl.element().str.contains(pattern)).list.any()
        )
        found = _of_code(snapshot, every.filter(fits))
        if found.height:
            return found
    return every.clear()


def _of_code(snapshot: Snapshot, entities: pl.DataFrame) -> pl.DataFrame:
    """Those that code defines or imports; a model may give its own entities types alike."""
    ids = entities["id"].to_list()
    ends = [
        _relationships(snapshot, end, ids, (CONTAINS, IMPORTS, INHERITS))[end]
        for end in ("source_id", "target_id")
    ]
    return entities.filter(pl.col("id").is_in(pl.concat(ends).implode()))


def affected_by(snapshot: Snapshot, entity_id: str, depth: int = DEPTH) -> list[Affected]:
    """What a change of an entity reaches, nearest first, then by name.

    What it contains changes with it; that is no effect.
    """
    seen = _with_contents(snapshot, entity_id)
    frontier = sorted(seen)
    found: list[Affected] = []
    selected = sorted(snapshot.selection.unit_ids) if snapshot.selection is not None else None
    for step in range(1, depth + 1):
        rows = _relationships(snapshot, "target_id", frontier, _BY_STRENGTH)
        rows = rows.filter(~pl.col("source_id").is_in(sorted(seen)))
        if selected is not None:
            rows = rows.filter(pl.col("text_unit_ids").list.eval(
                pl.element().is_in(selected)).list.any())  # fmt: skip
        rows = rows.with_columns(
            order=pl.col("type").replace_strict(
                list(_BY_STRENGTH), [0, 1, 2], return_dtype=pl.Int64
            )
        )
        nearest = rows.sort("source", "order", "target").unique(
            "source_id", keep="first", maintain_order=True
        )
        found += [
            Affected(step, row["source"], row["target"], row["type"], row["text_unit_ids"][0],
                     row["description"].split("\n")[0])
            for row in nearest.iter_rows(named=True)
        ]  # fmt: skip
        frontier = sorted(nearest["source_id"].to_list())
        seen.update(frontier)
        if not frontier:
            break
    return found


def _relationships(
    snapshot: Snapshot, end: str, ids: Sequence[str], types: Sequence[str]
) -> pl.DataFrame:
    columns = ("source", "target", "source_id", "target_id", "type", "description", "text_unit_ids")
    return snapshot.store.where("relationships", end, ids, columns).filter(
        pl.col("type").is_in(list(types))
    )


def _with_contents(snapshot: Snapshot, entity_id: str) -> set[str]:
    seen = {entity_id}
    frontier = [entity_id]
    while frontier:
        rows = _relationships(snapshot, "source_id", frontier, (CONTAINS,))
        frontier = sorted(set(rows["target_id"].to_list()) - seen)
        seen.update(frontier)
    return seen


class _Writer:
    """The answer as it grows: its lines and the places they cite."""

    def __init__(self, snapshot: Snapshot, words: dict[str, str]) -> None:
        self.snapshot, self.words = snapshot, words
        self.lines: list[str] = []
        self.citations: list[Citation] = []
        self._texts: dict[str, str] = {}

    def section(self, entity_id: str, title: str) -> None:
        """What the change of one thing affects."""
        words = self.words
        found = affected_by(self.snapshot, entity_id)
        shown = found[:_MOST_SHOWN]
        if self.lines:
            self.lines.append("")
        if not found:
            self._nothing(entity_id, title)
            return
        places = self._cite((one.text_unit_id, one.line) for one in shown)
        rows = self.snapshot.units([one.text_unit_id for one in found])
        n_files = len({row["path"] for row in rows})
        files = words["file" if n_files == 1 else "files"].format(n=n_files)
        head = words["one" if len(found) == 1 else "head"]
        self.lines.append(head.format(name=title, n=len(found), files=files, depth=DEPTH))
        depth = 0
        for one, place in zip(shown, places, strict=True):
            if one.depth != depth:
                depth = one.depth
                self.lines.append(words["level"].format(depth=depth))
            self.lines.append(words["line"].format(
                source=one.source, type=words[one.type], target=one.target, place=place
            ))  # fmt: skip
        if len(found) > len(shown):
            self.lines.append(words["more"].format(n=len(found) - len(shown)))

    def _nothing(self, entity_id: str, title: str) -> None:
        """That nothing is affected, with the place of the definition."""
        columns = ("source_id", "description", "text_unit_ids", "type")
        rows = self.snapshot.store.where("relationships", "target_id", [entity_id], columns)
        rows = rows.filter(pl.col("type") == CONTAINS)
        place = title
        if rows.height:
            row = rows.row(0, named=True)
            (place,) = self._cite([(row["text_unit_ids"][0], row["description"].split("\n")[0])])
        self.lines.append(self.words["none"].format(name=title, place=place))

    def _cite(self, wanted: Iterable[tuple[str, str]]) -> list[str]:
        """``file:line [n]`` of lines of text units."""
        wanted = list(wanted)
        rows = {row["id"]: row for row in self.snapshot.units([unit for unit, _ in wanted])}
        self._read({row["document_id"] for row in rows.values()})
        places = []
        for unit, line in wanted:
            row = rows[unit]
            offset = max(row["text"].find(line), 0)
            start = row["char_start"] + offset
            end = min(start + len(line), row["char_end"])
            number = self._texts[row["document_id"]].count("\n", 0, start) + 1
            mark = len(self.citations) + 1
            quote = self._texts[row["document_id"]][start:end]
            self.citations.append(citation_of(mark, passage_of(row, 1.0), start, end, quote))
            places.append(f"{row['path']}:{number} [{mark}]")
        return places

    def _read(self, ids: Iterable[str]) -> None:
        new = sorted(set(ids) - self._texts.keys())
        rows = self.snapshot.store.where("documents", "id", new, ("id", "text"))
        self._texts.update(zip(rows["id"], rows["text"], strict=True))

    def answer(self, question: str, trace: tuple[Step, ...]) -> Answer:
        """All of it."""
        units = self.snapshot.units([citation.text_unit_id for citation in self.citations])
        passages = tuple(passage_of(row, 1.0) for row in units)
        n_tokens = sum(row["n_tokens"] for row in units)
        context = Context("local", passages, 1.0, n_tokens, trace=trace)
        return Answer(
            question=question, text="\n".join(self.lines), citations=tuple(self.citations),
            refused=False, method="local", context=context,
            usage=Usage(sum(step.seconds for step in trace)), trace=trace,
        )  # fmt: skip
