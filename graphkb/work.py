"""What stages see while an index run is under way, and what a stage is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from graphkb import __version__
from graphkb.errors import ModelUnusableError
from graphkb.llm.keys import hidden, without_secrets
from graphkb.llm.model import Model
from graphkb.llm.reach import OutOfReach
from graphkb.settings import Settings
from graphkb.settings_base import Section
from graphkb.store.lance import Store
from graphkb.store.manifest import Manifest
from graphkb.tables import TABLES, content_hash
from graphkb.types import Progress, Refused

if TYPE_CHECKING:
    from graphkb.report.corpus import CorpusAhead

# Stages that a change of prompts makes due.
_ASKING = frozenset(
    {"cut_documents", "extract_evidence", "resolve_entities", "write_reports", "write_questions"}
)

T = TypeVar("T")


@dataclass
class Work:
    """What stages see while a run is under way: settings, tables, and a place for remarks.

    ``beside`` is what can be done of later stages, in steps, while one awaits a model's replies.
    """

    root: Path
    settings: Settings
    store: Store
    progress: Progress
    dictionary: tuple[str, ...]
    fresh: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    loaded: dict[str, pl.DataFrame] = field(default_factory=dict)
    before: dict[str, pl.DataFrame] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    refused_before: list[Refused] = field(default_factory=list)
    keeps_readings: bool = False
    version: int = 0
    held: int = 0
    allow_empty: bool = False
    unread_before: set[tuple[str, str]] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    remarks: dict[str, list[list[str]]] = field(default_factory=dict)
    given_up: dict[str, str] = field(default_factory=dict)
    documents: tuple[int, int, int] = (0, 0, 0)
    graph: str = ""
    embedding: Mapping[str, Any] = field(default_factory=dict)
    model: Model | None = None
    incomplete: list[str] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    communities: tuple[tuple[pl.DataFrame, ...], dict[str, pl.DataFrame]] | None = None
    corpus: CorpusAhead | None = None
    beside: Iterator[None] = field(default_factory=lambda: iter(()))

    def remember(self, notes: Mapping[str, Any]) -> None:
        """What the last run said of files that it did not read, from its manifest's notes."""
        self.remarks = dict(notes.get("remarks", {}))
        self.given_up = dict(notes.get("given_up", {}))
        self.unread_before = {(path, digest) for path, digest in notes.get("refused", ())}

    def asked_model(self) -> Model:
        """The model of a stage that needs one."""
        assert self.model is not None, "uses_model() says whether there is one"
        return self.model

    def with_model(self, run: Callable[[Model], T]) -> T:
        """``run`` with the model; once more without reaching it where none can be reached and
        there is a version whose facts must follow the documents. Raises ModelUnusableError when
        there is none."""
        model = self.asked_model()
        try:
            return run(model)
        except ModelUnusableError as error:
            if not self.committed("documents").height:
                raise
            return run(OutOfReach(model, error))

    def table(self, name: str) -> pl.DataFrame:
        """A table as it stands in this run."""
        if name not in self.loaded:
            self.loaded[name] = self.store.read(name)
        return self.loaded[name]

    def place_of(self, units: pl.DataFrame, unit_id: str) -> str:
        """Path and headings of one of the text units, as messages name it."""
        unit: dict[str, Any] = units.filter(id=unit_id).row(0, named=True)
        paths = self.table("documents").filter(id=unit["document_id"])["path"]
        return " › ".join([*paths, *(unit["heading_path"] or [])])

    def kept(self, stage: str, name: str) -> pl.DataFrame:
        """The table as the last run left it; empty when the stage's settings or code changed."""
        return TABLES[name].empty() if stage in self.fresh else self.table(name)

    def save(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Store what a stage returned; remembers which tables changed."""
        for name, frame in frames.items():
            old = self.table(name)
            self.before.setdefault(name, old)
            frame = TABLES[name].conform(_numbered(name, frame, old))
            # Where a model is asked, its latency is the time for what is not needed before.
            later = self.model is not None
            if self.store.write(name, frame, old=old, later=later, conformed=True):
                self.changed.add(name)
                self.store.index_later(name, self.settings.text.stemming)
            self.loaded[name] = frame
        self.store.write_behind()

    def put_off(self) -> Iterator[None]:
        """Write the tables whose writing was put off, one by one."""
        while self.store.write_next():
            yield

    def committed(self, name: str) -> pl.DataFrame:
        """A table as it stood when this run began."""
        return self.before[name] if name in self.before else self.table(name)


@dataclass(frozen=True)
class Stage:
    """One step. ``settings`` are the sections that change its result; ``revision`` its code.

    ``also`` gives more that its result depends on, such as the model and the prompts of a stage
    that asks one. ``unfinished`` is true when the last run left work that can be done now.
    ``ahead`` is for a stage that asks no model and may run while another awaits replies: steps
    that take it most of the way.
    """

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    settings: tuple[str, ...]
    run: Callable[[Work], Mapping[str, pl.DataFrame]]
    revision: int = 1
    also: Callable[[Work], tuple[str, ...]] = lambda work: ()
    unfinished: Callable[[Work], bool] = lambda work: False
    ahead: Callable[[Work], Iterable[None]] | None = None

    def fingerprint(self, work: Work) -> str:
        """Hash of everything but its tables that the stage's result depends on."""
        sections = {name: getattr(work.settings, name) for name in self.settings}
        dumped = {
            name: value.model_dump(mode="json", exclude=set(value.limits))
            if isinstance(value, Section)
            else value
            for name, value in sections.items()
        }
        if "text" in dumped:
            dumped["text"] = list(work.dictionary)
        parts = (str(self.revision), json.dumps(dumped, sort_keys=True), *self.also(work))
        return content_hash(self.name, *parts)


def _numbered(name: str, frame: pl.DataFrame, old: pl.DataFrame) -> pl.DataFrame:
    """human_readable_id: kept for known rows, counted on for new ones in the frame's order."""
    if "human_readable_id" not in TABLES[name].schema or "community" in TABLES[name].schema:
        return frame
    known = old.select("id", pl.col("human_readable_id").alias("_known"))
    start = (old["human_readable_id"].max() if old.height else None) or 0
    first = int(start) + 1 if old.height else 0  # type: ignore[arg-type]
    joined = frame.join(known, on="id", how="left", maintain_order="left")
    new = pl.col("_known").is_null()
    return joined.with_columns(
        pl.when(new)
        .then(new.cum_sum() + (first - 1))
        .otherwise("_known")
        .alias("human_readable_id")
    ).drop("_known")


def settings_note(settings: Settings) -> dict[str, Any]:
    """Settings as the manifest keeps them: plain values, keys hidden."""
    note = settings.model_dump(mode="json")
    for section in ("embed", "llm", "rerank"):
        note[section]["api_key"] = "set" if note[section]["api_key"] else ""
        note[section]["base_url"] = without_secrets(note[section]["base_url"])
    note["llm"]["extra_body"] = hidden(note["llm"]["extra_body"])
    return note


def settings_line(last: Manifest | None, settings: Settings, due: list[str]) -> str:
    """One line that names changed settings with old and new values, or what else changed, and
    the stages that run again; empty when no stage of an existing version is due."""
    if last is None or not due:
        return ""
    old, new = last.notes.get("settings", {}), settings_note(settings)
    changes = [
        f"{name} {before} → {after}"
        for name, before, after in _differences(old, new, "")
        if name != "embed.when"
    ]
    if changes:
        what = f"settings changed: {', '.join(changes)}"
    elif _ASKING.issuperset(due) and last.graphkb_version == __version__:
        what = "prompts or model changed"
    else:
        what = "stages changed"
    return f"{what}; runs again: {', '.join(due)} and what depends on them"


def _differences(old: Any, new: Any, name: str) -> list[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*old, *(key for key in new if key not in old)]
        pairs = [(f"{name}.{key}".strip("."), old.get(key), new.get(key)) for key in keys]
        return [found for key, a, b in pairs for found in _differences(a, b, key)]
    return [] if old == new else [(name, old, new)]
