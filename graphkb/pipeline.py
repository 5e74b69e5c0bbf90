"""The index flow: a folder of documents to one committed version of a knowledge base.

:func:`plan` is the story: each stage with the tables it reads and writes. :func:`run_index`
walks through it. A stage runs when its settings, its code or one of its tables changed. Stages
that work document by document or unit by unit (``map``) are handed only the new rows and keep
the rest; the others recompute over whole tables in columnar code. Two commits: the first makes
the lexical and graph legs searchable, the second adds the vectors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from graphkb import __version__
from graphkb.errors import SettingsError, StoreError
from graphkb.ingest.kept import forget_readings
from graphkb.ingest.renamed import renamed_files
from graphkb.ingest.sizes import unit_sizes
from graphkb.llm.model import make_model
from graphkb.settings import Settings, uses_model
from graphkb.stages.code import parse_code
from graphkb.stages.documents import cut_documents, read_documents
from graphkb.stages.extraction import (
    extract_evidence,
    extraction_depends_on,
    extraction_is_unfinished,
)
from graphkb.stages.graph import (
    build_graph,
    find_communities,
    graph_is_damaged,
    mine_terms,
    tokenize_ahead,
    tokenize_units,
)
from graphkb.stages.imported import depends_on_imported
from graphkb.stages.questions import (
    questions_are_unfinished,
    questions_depend_on,
    write_questions,
)
from graphkb.stages.reports import reports_are_unfinished, reports_depend_on, write_reports
from graphkb.stages.resolution import (
    resolution_depends_on,
    resolution_is_unfinished,
    resolve_entities,
)
from graphkb.stages.situating import situating_depends_on, situating_is_unfinished
from graphkb.stages.vectors import EMBED, embed_units, prune_vectors
from graphkb.store.lance import Store
from graphkb.store.lock import write_lock
from graphkb.store.manifest import Manifest, read_manifest, write_manifest
from graphkb.store.parquet import ParquetAhead, parquet_wanted, write_parquet
from graphkb.store.versions import (
    drop_unnamed,
    drop_unneeded,
    last_documents,
    last_number,
    manifest_files,
    new_folder,
    oldest_needed,
)
from graphkb.tables import TABLES
from graphkb.text.dictionary import dictionary_words
from graphkb.types import IndexResult, Progress, no_progress
from graphkb.work import Stage, Work, settings_line, settings_note

COUNTED = (
    "documents", "text_units", "entities", "relationships", "covariates",
    "communities", "community_reports", "vectors",
)  # fmt: skip

MODEL_PARTS: tuple[
    Literal["chunks", "extract", "resolve", "describe", "report", "questions"], ...
] = (
    "chunks", "extract", "resolve", "describe", "report", "questions",
)  # fmt: skip


def plan(settings: Settings) -> list[Stage]:
    """The stages of an index run in order, up to the first commit."""
    return [
        Stage(
            "read_documents",
            ("files", "removals"),
            ("sources", "documents"),
            ("input",),
            read_documents,
            revision=2,
        ),
        Stage(
            "cut_documents",
            ("documents",),
            ("text_units", "situations"),
            ("chunks",),
            cut_documents,
            revision=2,
            also=situating_depends_on,
            unfinished=situating_is_unfinished,
        ),
        Stage("parse_code", ("documents",), ("code_files",), (), parse_code),
        Stage(
            "mine_terms",
            ("text_units", "code_files"),
            ("terms",),
            ("extract", "text"),
            mine_terms,
        ),
        Stage(
            "extract_evidence",
            ("text_units", "terms", "code_files"),
            (
                "mention_evidence",
                "relationship_evidence",
                "claim_evidence",
                "entity_evidence",
                "extractions",
            ),
            ("extract", "text"),
            extract_evidence,
            revision=3,
            also=extraction_depends_on,
            unfinished=extraction_is_unfinished,
        ),
        Stage(
            "resolve_entities",
            (
                "text_units",
                "mention_evidence",
                "relationship_evidence",
                "claim_evidence",
                "entity_evidence",
                "decisions",
            ),
            (
                "entities",
                "mentions",
                "relationships",
                "covariates",
                "merges",
                "judgements",
                "descriptions",
            ),
            ("resolve", "describe"),
            resolve_entities,
            also=resolution_depends_on,
            unfinished=resolution_is_unfinished,
        ),
        Stage(
            "find_communities",
            ("entities", "relationships"),
            ("communities", "nodes"),
            ("cluster",),
            find_communities,
            also=depends_on_imported,
        ),
        Stage(
            "write_reports",
            ("communities", "entities", "nodes", "relationships", "mentions", "text_units"),
            ("community_reports",),
            ("report",),
            write_reports,
            also=reports_depend_on,
            unfinished=reports_are_unfinished,
        ),
        Stage(
            "tokenize_units",
            ("text_units",),
            ("search_texts",),
            ("text",),
            tokenize_units,
            revision=3,
            also=lambda work: ("stemming",) if work.settings.text.stemming else (),
            ahead=tokenize_ahead,
        ),
        Stage(
            "write_questions",
            ("text_units", "mention_evidence"),
            ("questions",),
            ("questions", "text"),
            write_questions,
            also=questions_depend_on,
            unfinished=questions_are_unfinished,
        ),
        Stage(
            "build_graph",
            (
                "entities",
                "mentions",
                "relationships",
                "text_units",
                "search_texts",
                "nodes",
                "documents",
                "covariates",
            ),
            (),
            ("text",),
            build_graph,
            revision=4,
            unfinished=graph_is_damaged,
            ahead=lambda work: (),
        ),
    ]


def run_index(
    root: Path,
    settings: Settings,
    *,
    progress: Progress = no_progress,
    rebuild: bool = False,
    allow_empty: bool = False,
    removals: Callable[[Store], pl.DataFrame] | None = None,
    decisions: Callable[[Store], pl.DataFrame] | None = None,
    on_plan: Callable[[str], None] = lambda line: None,
    on_commit: Callable[[IndexResult], None] = lambda result: None,
) -> IndexResult:
    """Bring the knowledge base in ``root/output`` up to date with the input folder.

    Commits once when the lexical and graph legs are searchable and again when the vectors are
    complete (``embed.when``); ``on_commit`` is called after each. With ``rebuild`` nothing of
    the last version is reused but cached vectors. ``removals`` makes of the last version the new
    table of documents that are left out though their files are there, ``decisions`` that of what
    the user says about entities, while no other writer can change them; what they raise comes
    before anything is done. ``on_plan`` is told, before anything is done, when changed settings
    make stages run again. Raises InputError when there is nothing to index, EmptiedInputError when
    the input folder has none of the last version's documents any more and without ``allow_empty``,
    LockedError when another run is active, StoreError when the output cannot be written.
    """
    output = _output_folder(root)
    with ExitStack() as stack:
        stack.enter_context(write_lock(output))
        last = None if rebuild else read_manifest(output)
        # A rebuild never writes into tables it cannot trust: it gets a folder of its own.
        folder = last.folder if last else new_folder(output)
        store = Store(output, last.tables if last else {}, folder)
        # While the lock is held, the last first.
        stack.callback(drop_unnamed, output, "" if last else folder)
        stack.callback(store.settle)
        changes = {"removals": removals, "decisions": decisions}
        said = {name: change(store) if change else None for name, change in changes.items()}
        work = Work(root, settings, store, progress, read_dictionary(root, settings))
        if any(uses_model(settings, part) for part in MODEL_PARTS):
            work.model = make_model(root, settings.llm)
        if work.model:
            stack.callback(work.model.close)
        if last:
            work.graph, work.embedding = last.graph, last.embedding
            work.remember(last.notes)
        work.version, work.held = last_documents(output)
        work.allow_empty = allow_empty
        run = _Run(work, last, output, on_commit)
        stack.callback(run.parquet.close)
        stages = plan(settings)
        line = settings_line(last, settings, due_stages(last, stages, work)) if last else ""
        if line:
            on_plan(line)
        for name, table in said.items():
            if table is None and rebuild:
                table = _said_before_rebuild(output, name)
            if table is not None:
                work.save({name: table})
        run.walk(stages)
        if settings.embed.when == "now":
            run.embed(stages)
            return run.commit(stages)
        prune_vectors(work)
        result = run.commit(stages)
        if settings.embed.when == "later" and run.embed(stages):
            result = run.commit(stages)
        # Texts that got no vector are told of also where no other vector was made.
        return replace(result, warnings=_warnings(work))


class _Run:
    """The bookkeeping of one run: which stages are due, what they cost, how they are committed."""

    def __init__(
        self,
        work: Work,
        last: Manifest | None,
        output: Path,
        on_commit: Callable[[IndexResult], None],
    ) -> None:
        self.work, self.last, self.output, self.on_commit = work, last, output, on_commit
        self.seconds: dict[str, float] = {}
        self.fingerprints: dict[str, str] = {}
        self.version = last.version if last else last_number(output)
        self.parquet = ParquetAhead(output)

    def walk(self, stages: Iterable[Stage]) -> None:
        """Run the stages that are due, in their order but for those that run beside another."""
        left = list(stages)
        while left:
            stage = left.pop(0)
            self.work.beside = self._beside(stage, left)
            self._run(stage)

    def _run(self, stage: Stage) -> None:
        work = self.work
        fingerprint = stage.fingerprint(work)
        self.fingerprints[stage.name] = fingerprint
        known = self.last is not None and self.last.fingerprints.get(stage.name) == fingerprint
        if not known:
            work.fresh.add(stage.name)
        # Files are looked at in every run; everything else only when something changed.
        moved = "files" in stage.reads or work.changed.intersection(stage.reads)
        if known and not moved and not stage.unfinished(work):
            return
        started, others = time.perf_counter(), sum(self.seconds.values())
        work.save(stage.run(work))
        beside = sum(self.seconds.values()) - others
        self.seconds[stage.name] = time.perf_counter() - started - beside

    def _beside(self, awaited: Stage, left: list[Stage]) -> Iterator[None]:
        """Run, while a stage awaits a model's replies, those after it that need neither what it
        writes nor what is written between, and make Parquet files of tables that are whole."""
        open_ = set(awaited.writes)
        self._begin_parquet(open_.union(*(stage.writes for stage in left)))
        yield
        for stage in list(left):
            if stage.ahead is None or open_.intersection(stage.reads):
                open_.update(stage.writes)
                continue
            yield from stage.ahead(self.work)
            left.remove(stage)
            shown, self.work.progress = self.work.progress, no_progress
            try:
                self._run(stage)
            finally:
                self.work.progress = shown
            yield
        self._begin_parquet(open_)

    def _begin_parquet(self, unfinished: Set[str]) -> None:
        """Have the Parquet files written of which no table is unfinished."""
        work = self.work
        if work.changed and parquet_wanted(work.settings.parquet, work.table("text_units").height):
            self.parquet.make(work.changed, unfinished, work.table)

    def embed(self, stages: list[Stage]) -> bool:
        """Make the missing vectors; True when any were made."""
        started = time.perf_counter()
        made = embed_units(self.work)
        if made:
            self.seconds[EMBED.name] = time.perf_counter() - started
        return made

    def commit(self, stages: list[Stage]) -> IndexResult:
        """Index the changed tables, write the manifest if anything changed, report."""
        work, last = self.work, self.last
        started = time.perf_counter()
        for name in sorted(work.changed):
            work.store.index(name, work.settings.text.stemming)
        fingerprints = dict(self.fingerprints)
        if work.embedding:
            # Of the vectors that are stored: another model's stay until the new ones are complete.
            fingerprints[EMBED.name] = str(work.embedding["fingerprint"])
        not_read = sorted([item.where, item.reason] for item in work.refused)
        same = last is not None and (
            dict(last.tables) == work.store.tables
            and dict(last.fingerprints) == fingerprints
            and last.graph == work.graph
            and {tuple(pair) for pair in last.notes.get("refused", ())} == set(work.unread)
            and last.notes.get("given_up", {}) == work.given_up
            and last.notes.get("not_read", []) == not_read
        )
        counts = {name: work.store.count(name) for name in COUNTED}
        sizes = self._unit_sizes()
        if not same:
            self.version += 1
            manifest = Manifest(
                version=self.version,
                tables=dict(work.store.tables),
                fingerprints=fingerprints,
                counts=counts,
                graph=work.graph,
                embedding=dict(work.embedding),
                committed_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                graphkb_version=__version__,
                notes={
                    "refused": work.unread,
                    "remarks": work.remarks,
                    "given_up": work.given_up,
                    "not_read": not_read,
                    "languages": _languages(work),
                    "unit_sizes": sizes,
                    "settings": settings_note(work.settings),
                },
                folder=work.store.folder,
            )
            write_manifest(self.output, manifest)
            self._after_commit(manifest)
            self.last = manifest
        forget_readings(work.root / "cache")
        self._write_parquet(counts["text_units"])
        self.seconds["commit"] = self.seconds.get("commit", 0) + time.perf_counter() - started
        added, changed, removed = work.documents
        result = IndexResult(
            self.version, counts, added, changed, removed, dict(self.seconds),
            tuple(work.refused), _warnings(work), _reused(work),
            tuple(work.incomplete), work.model.usage() if work.model else (), sizes,
            tuple(work.refused_before), _renamed(work),
        )  # fmt: skip
        self.on_commit(result)
        return result

    def _unit_sizes(self) -> dict[str, Any]:
        """What the last version says of the sizes of text units, unless they or the size that is
        aimed at changed since."""
        known = self.last.notes.get("unit_sizes") if self.last else None
        cut_anew = "cut_documents" in self.work.fresh or "text_units" in self.work.changed
        if known and not cut_anew:
            return dict(known)
        return unit_sizes(self.work.table("text_units"), self.work.settings.chunks.size)

    def _after_commit(self, manifest: Manifest) -> None:
        store = self.work.store
        known = manifest_files(self.output)
        kept = drop_unneeded(self.output, manifest)
        # While every version stays, no table has one that may go.
        if len(known) > len(kept):
            store.clean_up(sorted(store.tables), oldest_needed(kept, manifest.folder))

    def _write_parquet(self, n_units: int) -> None:
        """Bring the Parquet files up to date; those of a run killed before this are caught up."""
        if parquet_wanted(self.work.settings.parquet, n_units):
            write_parquet(self.work.store, self.output, self.work.table, self.parquet)


def _warnings(work: Work) -> tuple[str, ...]:
    """What stages had to say, and what was noticed of the model's server."""
    return (*work.warnings, *(work.model.warnings() if work.model else ()))


def _renamed(work: Work) -> tuple[tuple[str, str], ...]:
    """Old and new path of each file that was renamed."""
    if "documents" not in work.changed:
        return ()
    files = renamed_files(work.committed("documents"), work.table("documents"))
    return tuple(files.select("old_path", "path").iter_rows())


def due_stages(last: Manifest | None, stages: Iterable[Stage], work: Work) -> list[str]:
    """Names of the stages whose settings or code changed since the last commit."""
    known = last.fingerprints if last else {}
    every = [*stages, EMBED] if work.embedding else [*stages]
    return [stage.name for stage in every if known.get(stage.name) != stage.fingerprint(work)]


def _reused(work: Work) -> dict[str, float]:
    """Share of communities and reports that are row for row those of the version before."""
    shares = {}
    for word, name in (("communities", "communities"), ("reports", "community_reports")):
        if name not in work.changed:
            if work.store.count(name):
                shares[word] = 1.0
            continue
        old, new = work.committed(name), work.table(name)
        if not old.height or not new.height:
            continue
        one, two = (frame.select(pl.struct(pl.all()).hash()).to_series() for frame in (old, new))
        shares[word] = two.is_in(one.implode()).to_numpy().mean().item()
    return shares


def _languages(work: Work) -> dict[str, int]:
    """Text units by language."""
    counts = work.store.read("text_units", ["language"]).group_by("language").len().sort("language")
    return dict(counts.iter_rows())


def read_dictionary(root: Path, settings: Settings) -> tuple[str, ...]:
    """The user's own words, sorted and distinct. Raises SettingsError when the file is
    unreadable."""
    given = settings.text.dictionary
    if isinstance(given, str):
        path = root / given
        try:
            given = dictionary_words(path.read_text("utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"{path}: text.dictionary cannot be read as UTF-8 ({error})"
            ) from None
    return tuple(sorted({word.strip() for word in given if word.strip()}))


def _output_folder(root: Path) -> Path:
    output = root / "output"
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{output}: cannot be made ({error.strerror}); check the folder") from None
    return output


def _said_before_rebuild(output: Path, name: str) -> pl.DataFrame:
    """What the user removed or decided stays so when everything else is made again."""
    try:
        last = read_manifest(output)
        return (Store(output, last.tables, last.folder) if last else Store(output, {})).read(name)
    except StoreError:
        return TABLES[name].empty()
