"""The index flow: a folder of documents to one committed version of a knowledge base.

:func:`plan` is the story: each stage with the tables it reads and writes. :func:`run_index`
walks through it. A stage runs when its settings, its code or one of its tables changed. Stages
that work document by document or unit by unit (``map``) are handed only the new rows and keep
the rest; the others recompute over whole tables in columnar code. Two commits: the first makes
the lexical and graph legs searchable, the second adds the vectors.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from graphkb import __version__
from graphkb.errors import InputError, StoreError
from graphkb.settings import Settings
from graphkb.store.arrays import write_arrays
from graphkb.store.lance import Store
from graphkb.store.lock import write_lock
from graphkb.store.manifest import Manifest, read_manifest, write_manifest
from graphkb.store.parquet import parquet_wanted, write_parquet
from graphkb.store.versions import drop_unneeded, last_number, new_folder, oldest_needed
from graphkb.tables import TABLES, content_hash
from graphkb.types import IndexResult, Progress, Refused, no_progress

COUNTED = (
    "documents", "text_units", "entities", "relationships", "covariates",
    "communities", "community_reports", "vectors",
)  # fmt: skip


@dataclass
class Work:
    """What stages see while a run is under way: settings, tables, and a place for remarks."""

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
    warnings: list[str] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    documents: tuple[int, int, int] = (0, 0, 0)
    graph: str = ""
    embedding: Mapping[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> pl.DataFrame:
        """A table as it stands in this run."""
        if name not in self.loaded:
            self.loaded[name] = self.store.read(name)
        return self.loaded[name]

    def kept(self, stage: str, name: str) -> pl.DataFrame:
        """The table as the last run left it; empty when the stage's settings or code changed."""
        return TABLES[name].empty() if stage in self.fresh else self.table(name)

    def save(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Store what a stage returned; remembers which tables changed."""
        for name, frame in frames.items():
            old = self.table(name)
            self.before.setdefault(name, old)
            frame = TABLES[name].conform(_numbered(name, frame, old))
            if self.store.write(name, frame, old=old):
                self.changed.add(name)
            self.loaded[name] = frame

    def committed(self, name: str) -> pl.DataFrame:
        """A table as it stood when this run began."""
        return self.before[name] if name in self.before else self.table(name)


@dataclass(frozen=True)
class Stage:
    """One step. ``settings`` are the sections that change its result; ``revision`` its code."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    settings: tuple[str, ...]
    run: Callable[[Work], Mapping[str, pl.DataFrame]]
    revision: int = 1

    def fingerprint(self, work: Work) -> str:
        """Hash of everything but its tables that the stage's result depends on."""
        sections = {name: getattr(work.settings, name) for name in self.settings}
        dumped = {
            name: value.model_dump(mode="json") if hasattr(value, "model_dump") else value
            for name, value in sections.items()
        }
        if "text" in dumped:
            dumped["text"] = list(work.dictionary)
        return content_hash(self.name, str(self.revision), json.dumps(dumped, sort_keys=True))


def plan(settings: Settings) -> list[Stage]:
    """The stages of an index run in order, up to the first commit."""
    return [
        Stage(
            "read_documents",
            ("files", "removals"),
            ("sources", "documents"),
            ("input",),
            _read_documents,
        ),
        Stage("cut_documents", ("documents",), ("text_units",), ("chunks",), _cut_documents),
        Stage("mine_terms", ("text_units",), ("terms",), ("extract", "text"), _mine_terms),
        Stage(
            "extract_evidence",
            ("text_units", "terms"),
            ("mention_evidence", "relationship_evidence", "claim_evidence"),
            ("extract", "text"),
            _extract_evidence,
        ),
        Stage(
            "resolve_entities",
            ("text_units", "mention_evidence", "relationship_evidence", "claim_evidence"),
            ("entities", "mentions", "relationships", "covariates"),
            ("extract",),
            _resolve_entities,
        ),
        Stage(
            "find_communities",
            ("entities", "relationships"),
            ("communities", "nodes"),
            ("cluster",),
            _find_communities,
        ),
        Stage(
            "write_reports",
            ("communities", "entities", "nodes", "relationships", "mentions", "text_units"),
            ("community_reports",),
            ("report",),
            _write_reports,
        ),
        Stage("tokenize_units", ("text_units",), ("search_texts",), ("text",), _tokenize_units),
        Stage(
            "build_graph",
            ("entities", "mentions", "relationships", "text_units", "search_texts"),
            (),
            ("text",),
            _build_graph,
        ),
    ]


EMBED = Stage("embed_units", ("text_units",), ("vectors",), ("embed",), lambda work: {})


def run_index(
    root: Path,
    settings: Settings,
    *,
    progress: Progress = no_progress,
    rebuild: bool = False,
    removals: pl.DataFrame | None = None,
    on_plan: Callable[[str], None] = lambda line: None,
    on_commit: Callable[[IndexResult], None] = lambda result: None,
) -> IndexResult:
    """Bring the knowledge base in ``root/output`` up to date with the input folder.

    Commits once when the lexical and graph legs are searchable and again when the vectors are
    complete (``embed.when``); ``on_commit`` is called after each. With ``rebuild`` nothing of
    the last version is reused but cached vectors. ``removals`` replaces the table of documents
    that are left out though their files are there. ``on_plan`` is told, before anything is
    done, when changed settings make stages run again. Raises InputError when there is nothing to
    index, LockedError when another run is active, StoreError when the output cannot be written.
    """
    output = _output_folder(root)
    with write_lock(output):
        last = None if rebuild else read_manifest(output)
        # A rebuild never writes into tables it cannot trust: it gets a folder of its own.
        folder = last.folder if last else new_folder(output)
        store = Store(output, last.tables if last else {}, folder)
        work = Work(root, settings, store, progress, read_dictionary(root, settings))
        if last:
            work.graph, work.embedding = last.graph, last.embedding
        run = _Run(work, last, output, on_commit)
        stages = plan(settings)
        line = settings_line(last, settings, due_stages(last, stages, work))
        if line:
            on_plan(line)
        if removals is None and rebuild:
            removals = _removals_before_rebuild(output)
        if removals is not None:
            work.save({"removals": removals})
        run.walk(stages)
        if settings.embed.when == "now":
            run.embed(stages)
            return run.commit(stages)
        _prune_vectors(work)
        result = run.commit(stages)
        if settings.embed.when == "later" and run.embed(stages):
            result = run.commit(stages)
        return result


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

    def walk(self, stages: Iterable[Stage]) -> None:
        work = self.work
        for stage in stages:
            fingerprint = stage.fingerprint(work)
            self.fingerprints[stage.name] = fingerprint
            known = self.last is not None and self.last.fingerprints.get(stage.name) == fingerprint
            if not known:
                work.fresh.add(stage.name)
            # Files are looked at in every run; everything else only when something changed.
            if known and "files" not in stage.reads and not work.changed.intersection(stage.reads):
                continue
            started = time.perf_counter()
            work.save(stage.run(work))
            self.seconds[stage.name] = time.perf_counter() - started

    def embed(self, stages: list[Stage]) -> bool:
        """Make the missing vectors; True when any were made."""
        started = time.perf_counter()
        made = _embed_units(self.work)
        if made:
            self.seconds[EMBED.name] = time.perf_counter() - started
        return made

    def commit(self, stages: list[Stage]) -> IndexResult:
        """Index the changed tables, write the manifest if anything changed, report."""
        work, last = self.work, self.last
        started = time.perf_counter()
        for name in sorted(work.changed):
            work.store.index(name)
        fingerprints = dict(self.fingerprints)
        if work.embedding:
            fingerprints[EMBED.name] = EMBED.fingerprint(work)
        same = last is not None and (
            dict(last.tables) == work.store.tables
            and dict(last.fingerprints) == fingerprints
            and last.graph == work.graph
            and {tuple(pair) for pair in last.notes.get("refused", ())} == set(work.unread)
        )
        counts = {name: work.store.count(name) for name in COUNTED}
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
                    "languages": _languages(work),
                    "settings": settings_note(work.settings),
                },
                folder=work.store.folder,
            )
            write_manifest(self.output, manifest)
            self._after_commit(manifest)
            self.last = manifest
        self._write_parquet(counts["text_units"])
        self.seconds["commit"] = self.seconds.get("commit", 0) + time.perf_counter() - started
        added, changed, removed = work.documents
        result = IndexResult(
            self.version, counts, added, changed, removed, dict(self.seconds),
            tuple(work.refused), tuple(work.warnings), _reused(work),
        )  # fmt: skip
        self.on_commit(result)
        return result

    def _after_commit(self, manifest: Manifest) -> None:
        work = self.work
        kept = drop_unneeded(self.output, manifest)
        work.store.clean_up(sorted(work.changed), oldest_needed(kept, manifest.folder))

    def _write_parquet(self, n_units: int) -> None:
        """Bring the Parquet files up to date; those of a run killed before this are caught up."""
        if parquet_wanted(self.work.settings.parquet, n_units):
            write_parquet(self.work.store, self.output, self.work.table)


def read_dictionary(root: Path, settings: Settings) -> tuple[str, ...]:
    """The user's own words, sorted and distinct. Raises InputError when the file is unreadable."""
    given = settings.text.dictionary
    if isinstance(given, str):
        path = root / given
        try:
            lines = path.read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: text.dictionary cannot be read as UTF-8 ({error})") from None
        # jieba's format puts frequency and tag behind the word.
        given = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    return tuple(sorted({word.strip() for word in given if word.strip()}))


def _output_folder(root: Path) -> Path:
    output = root / "output"
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{output}: cannot be made ({error.strerror}); check the folder") from None
    return output


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


# --- stages ----------------------------------------------------------------------------------


def _read_documents(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.ingest.assemble import assemble_documents
    from graphkb.ingest.read import file_hash, list_files, read_file, sources_frame

    options = work.settings.input
    files = list_files(work.root / options.folder, options)
    old_documents, old_sources = work.table("documents"), work.kept("read_documents", "sources")
    known = {
        (path, digest): group for (path, digest), group in old_sources.group_by("path", "file_hash")
    }
    texts = old_documents.select("path", "content_hash", "text").unique(["path", "content_hash"])
    frames: list[pl.DataFrame] = []
    for done, source in enumerate(files):
        work.progress("read", done, len(files))
        digest = file_hash(source)
        kept = known.get((source.path, digest))
        if kept is not None:
            kept = kept.join(texts, on=["path", "content_hash"], how="left")
        # A copy was left out and has no text here; its own may differ in white space.
        if kept is not None and not kept["text"].null_count():
            frames.append(kept)
            continue
        reading = read_file(source, options)
        work.refused.extend(reading.refused)
        work.warnings.extend(f"{source.path}: {note}" for note in reading.notes)
        if reading.records:
            frames.append(sources_frame(source, digest, reading))
        else:
            work.unread.append((source.path, digest))
    work.progress("read", len(files), len(files))
    if not frames and not old_documents.height:
        raise InputError(_nothing_to_read(work.root / options.folder, len(files), work.refused))
    columns = [*TABLES["sources"].schema, "text"]
    schema = pl.Schema({**TABLES["sources"].schema, "text": pl.String()})
    sources = (
        pl.concat([frame.select(columns).cast(schema) for frame in frames])
        if frames
        else pl.DataFrame(schema=schema)
    )
    assembled = assemble_documents(without_removals(sources, work.table("removals")))
    if not assembled.documents.height:
        work.warnings.append("the input folder holds no text: the knowledge base is now empty")
    work.warnings.extend(
        f"{path}: same content as {kept}, indexed once" for path, kept in assembled.duplicates
    )
    work.warnings.extend(assembled.warnings)
    work.documents = _document_changes(old_documents, assembled.documents)
    return {"sources": sources.drop("text"), "documents": assembled.documents}


def without_removals(sources: pl.DataFrame, removals: pl.DataFrame) -> pl.DataFrame:
    """Source records that the user did not remove, as whole files or as single rows."""
    files = removals.filter(pl.col("record") == "").select("path")
    records = removals.filter(pl.col("record") != "").select("path", "record")
    kept = sources.join(files, on="path", how="anti", maintain_order="left")
    record = pl.coalesce("own_id", "content_hash").alias("record")
    return (
        kept.with_columns(record)
        .join(records, on=["path", "record"], how="anti", maintain_order="left")
        .drop("record")
    )


def _removals_before_rebuild(output: Path) -> pl.DataFrame:
    """What the user removed stays removed when everything else is made again."""
    try:
        last = read_manifest(output)
        return Store(output, last.tables, last.folder).read("removals") if last else _NONE_REMOVED
    except StoreError:
        return _NONE_REMOVED


_NONE_REMOVED = TABLES["removals"].empty()


def due_stages(last: Manifest | None, stages: Iterable[Stage], work: Work) -> list[str]:
    """Names of the stages whose settings or code changed since the last commit."""
    known = last.fingerprints if last else {}
    every = [*stages, EMBED] if work.embedding else [*stages]
    return [stage.name for stage in every if known.get(stage.name) != stage.fingerprint(work)]


def settings_note(settings: Settings) -> dict[str, Any]:
    """Settings as the manifest keeps them: plain values, keys hidden."""
    note = settings.model_dump(mode="json")
    note["embed"]["api_key"] = "set" if settings.embed.api_key else ""
    return note


def settings_line(last: Manifest | None, settings: Settings, due: list[str]) -> str:
    """One line that names changed settings with old and new values, and the stages they re-run;
    empty when no stage of an existing version is due."""
    if last is None or not due:
        return ""
    old, new = last.notes.get("settings", {}), settings_note(settings)
    changes = [
        f"{name} {before} → {after}"
        for name, before, after in _differences(old, new, "")
        if name != "embed.when"
    ]
    what = f"settings changed: {', '.join(changes)}" if changes else "stages changed"
    return f"{what}; runs again: {', '.join(due)} and what depends on them"


def _differences(old: Any, new: Any, name: str) -> list[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*old, *(key for key in new if key not in old)]
        pairs = [(f"{name}.{key}".strip("."), old.get(key), new.get(key)) for key in keys]
        return [found for key, a, b in pairs for found in _differences(a, b, key)]
    return [] if old == new else [(name, old, new)]


def _nothing_to_read(folder: Path, n_files: int, refused: list[Refused]) -> str:
    if not n_files:
        return f"{folder}: no documents found; put text, Markdown, HTML, CSV or JSON files there"
    listed = "; ".join(f"{item.where}: {item.reason}" for item in refused[:5])
    more = f" (+{len(refused) - 5} more)" if len(refused) > 5 else ""
    return f"{folder}: no text found in {n_files} file(s): {listed}{more}"


def _document_changes(old: pl.DataFrame, new: pl.DataFrame) -> tuple[int, int, int]:
    """Numbers of added, changed (same path, other content) and removed documents."""
    gone = old.join(new.select("id", "content_hash"), on=["id", "content_hash"], how="anti")
    come = new.join(old.select("id", "content_hash"), on=["id", "content_hash"], how="anti")
    by_id = come.join(gone, on="id", how="semi").height
    rest_come = come.join(gone, on="id", how="anti")
    rest_gone = gone.join(come, on="id", how="anti")
    by_path = rest_come.join(rest_gone, on="path", how="semi")["path"].n_unique()
    changed = by_id + by_path
    return come.height - changed, changed, gone.height - changed


def _cut_documents(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.ingest.chunk import cut_documents

    documents = work.table("documents")
    columns = ["id", "title", "text", "media_type"]
    old = work.kept("cut_documents", "text_units")
    before = work.committed("documents") if old.height else documents.clear()
    kept_ids = documents.join(before.select(columns), on=columns, how="semi").select("id")
    kept = old.join(kept_ids, left_on="document_id", right_on="id", how="semi")
    new = documents.join(kept_ids, on="id", how="anti")
    work.progress("cut", 0, new.height)
    units = pl.concat(
        [kept, TABLES["text_units"].conform(cut_documents(new, work.settings.chunks))]
    )
    work.progress("cut", new.height, new.height)
    order = documents.select(pl.col("id").alias("document_id"), "path").with_row_index("_place")
    units = units.join(order, on="document_id", how="left").sort("_place", "index")
    return {"text_units": units.drop("_place", "path")}


def _new_units(work: Work, stage: str, *outputs: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Text units that a map stage must run on, and the ids of those whose rows are kept."""
    units = work.table("text_units")
    if stage in work.fresh:
        return units, units.clear().select("id")
    columns = ["id", "text", "context", "language", "kind"]
    before = work.committed("text_units").select(columns)
    kept = units.join(before, on=columns, how="semi").select("id")
    return units.join(kept, on="id", how="anti"), kept


def _mine_terms(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.extract.terms import mine_terms

    work.progress("terms", 0, 0)
    return {"terms": mine_terms(work.table("text_units"), work.settings.extract, work.dictionary)}


def _extract_evidence(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.extract.offline import extract_units

    stage = "extract_evidence"
    names = ("mention_evidence", "relationship_evidence", "claim_evidence")
    new, kept = _new_units(work, stage)
    terms = work.table("terms")
    if kept.height and "terms" in work.changed:
        # A unit depends on the terms it holds: run it again when one of them came or went.
        before = set(work.committed("terms")["term"])
        moved = sorted(before.symmetric_difference(terms["term"]))
        if moved:
            units = work.table("text_units").join(kept, on="id", how="semi")
            hit = units.filter(pl.col("text").str.contains_any(moved, ascii_case_insensitive=True))
            kept = kept.join(hit.select("id"), on="id", how="anti")
            new = pl.concat([new, hit])
    new = new.sort("id")
    work.progress("extract", 0, new.height)
    extraction = extract_units(new, terms, work.settings.extract, partial(work.progress, "extract"))
    made = (extraction.mentions, extraction.relationships, extraction.claims)
    result = {}
    for name, frame in zip(names, made, strict=True):
        old = work.kept(stage, name).join(kept, left_on="text_unit_id", right_on="id", how="semi")
        result[name] = pl.concat([old, TABLES[name].conform(frame)])
    return result


def _resolve_entities(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.extract.resolve import resolve_entities

    work.progress("resolve", 0, 0)
    resolution = resolve_entities(
        work.table("mention_evidence"),
        work.table("relationship_evidence"),
        work.table("claim_evidence"),
        work.table("text_units"),
        work.settings.extract,
    )
    if not resolution.entities.height:
        work.warnings.append("no entities were found: search works, the graph is empty")
    return {
        "entities": resolution.entities,
        "mentions": resolution.mentions,
        "relationships": resolution.relationships,
        "covariates": resolution.covariates,
    }


def _find_communities(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.graph.communities import find_communities
    from graphkb.graph.pagerank import rank_entities

    work.progress("communities", 0, 0)
    entities, relationships = work.table("entities"), work.table("relationships")
    previous = work.kept("find_communities", "communities")
    found = find_communities(
        entities, relationships, work.settings.cluster, previous if previous.height else None
    )
    nodes = (
        rank_entities(entities, relationships)
        .join(found.leaf, on="entity_id", how="left")
        .with_columns(
            pl.col("community").fill_null(-1),
            pl.lit(None, pl.Float64).alias("x"),
            pl.lit(None, pl.Float64).alias("y"),
        )
    )
    return {"communities": found.communities, "nodes": nodes}


def _write_reports(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.report.offline import write_reports

    work.progress("reports", 0, 0)
    previous = work.kept("write_reports", "community_reports")
    reports = write_reports(
        work.table("communities"),
        work.table("entities"),
        work.table("nodes"),
        work.table("relationships"),
        work.table("mentions"),
        work.table("text_units"),
        work.settings.report,
        previous if previous.height else None,
    )
    return {"community_reports": reports}


def _tokenize_units(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.text.segment import search_tokens

    new, kept = _new_units(work, "tokenize_units")
    work.progress("tokens", 0, new.height)
    tokens = [
        " ".join(search_tokens(f"{context}\n{text}", work.dictionary))
        for context, text in zip(new["context"], new["text"], strict=True)
    ]
    work.progress("tokens", new.height, new.height)
    made = pl.DataFrame({"id": new["id"], "tokens": tokens}, schema=TABLES["search_texts"].schema)
    old = work.kept("tokenize_units", "search_texts").join(kept, on="id", how="semi")
    return {"search_texts": pl.concat([old, made])}


def _build_graph(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.graph.build import build_graph
    from graphkb.search.vocabulary import build_vocabulary

    work.progress("graph", 0, 0)
    arrays = build_graph(
        work.table("entities"),
        work.table("mentions"),
        work.table("relationships"),
        work.table("text_units"),
        work.table("search_texts"),
    )
    arrays.update(build_vocabulary(work.table("search_texts")))
    pins = (f"{key}={version}" for key, version in sorted(work.store.tables.items()))
    name = content_hash(work.store.folder, *pins)
    work.graph = write_arrays(work.store.output, name[:16], arrays)
    return {}


def _passages(units: pl.DataFrame) -> pl.DataFrame:
    """What is embedded for each text unit: its context, a line end, its text; and its hash."""
    texts = [f"{c}\n{t}" if c else t for c, t in zip(units["context"], units["text"], strict=True)]
    return pl.DataFrame(
        {
            "id": units["id"],
            "passage": texts,
            "text_hash": [content_hash(text) for text in texts],
            "language": units["language"],
        },
        schema=dict.fromkeys(("id", "passage", "text_hash", "language"), pl.String),
    )


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


def _prune_vectors(work: Work) -> None:
    """Before the first commit: drop vectors of units that are gone, changed or of another model."""
    old = work.table("vectors")
    if not old.height:
        return
    options = work.settings.embed
    same_model = work.embedding.get("fingerprint") == EMBED.fingerprint(work)
    if options.when == "off" or not same_model:
        if not same_model and options.when != "off":
            work.warnings.append("the embedding settings changed: all vectors are made again")
        work.embedding = {}
        kept = old.clear()
    elif "text_units" in work.changed:
        passages = _passages(work.table("text_units")).select("id", "text_hash")
        kept = old.join(passages, on=["id", "text_hash"], how="semi")
    else:
        return
    if work.store.write("vectors", kept, work.embedding.get("dimension") or _width(old)):
        work.changed.add("vectors")
    work.loaded["vectors"] = kept


def _languages(work: Work) -> dict[str, int]:
    """Text units by language."""
    counts = work.store.read("text_units", ["language"]).group_by("language").len().sort("language")
    return dict(counts.iter_rows())


def _width(vectors: pl.DataFrame) -> int:
    return len(vectors["vector"][0]) if vectors.height else 1


def passages_to_embed(work: Work, new: pl.DataFrame, kept: pl.DataFrame) -> list[str]:
    """Texts whose vector is neither stored nor cached, of new and of kept text units."""
    from graphkb.embed import make_embedder
    from graphkb.embed.cache import VectorCache, vector_key

    options = work.settings.embed
    if options.when == "off":
        return []
    same_model = work.embedding.get("fingerprint") == EMBED.fingerprint(work)
    stored = work.table("vectors") if same_model else TABLES["vectors"].empty()
    missing = pl.concat(
        [_passages(new), _passages(kept).join(stored, on=["id", "text_hash"], how="anti")]
    )
    embedder = make_embedder(options)
    texts = {vector_key(embedder, options.passage_prefix, t): t for t in missing["passage"]}
    if (work.root / "cache" / VectorCache.file_name).is_file():
        cache = VectorCache(work.root / "cache")
        known = cache.get(list(texts))
        cache.close()
        texts = {key: text for key, text in texts.items() if key not in known}
    return list(texts.values())


def _embed_units(work: Work) -> bool:
    """Embed text units that have no vector yet; False when none is missing."""
    from graphkb.embed import make_embedder
    from graphkb.embed.cache import VectorCache, vector_key

    _prune_vectors(work)
    options = work.settings.embed
    old = work.table("vectors")
    if old.height == work.table("text_units").height and work.embedding:
        return False
    passages = _passages(work.table("text_units"))
    missing = passages.join(old, on=["id", "text_hash"], how="anti")
    if not missing.height:
        return False
    embedder = make_embedder(options)
    cache = VectorCache(work.root / "cache")
    keys = [vector_key(embedder, options.passage_prefix, text) for text in missing["passage"]]
    known = cache.get(keys)
    todo = [(k, t) for k, t in zip(keys, missing["passage"], strict=True) if k not in known]
    # Texts of like length together: a batch costs what its longest text costs.
    todo = sorted(dict(todo).items(), key=lambda item: (len(item[1]), item[0]))
    done = missing.height - len(todo)
    work.progress("embed", done, missing.height)
    for start in range(0, len(todo), options.batch_size):
        batch = todo[start : start + options.batch_size]
        vectors = embedder.embed_passages([text for _, text in batch])
        cache.put([key for key, _ in batch], vectors)
        known.update(zip((key for key, _ in batch), vectors, strict=True))
        work.progress("embed", min(done + start + len(batch), missing.height), missing.height)
    cache.close()
    made = missing.select("id", "text_hash", "language").with_columns(
        pl.Series("vector", np.stack([known[key] for key in keys])).cast(pl.List(pl.Float32))
    )
    dimension = _width(made)
    frame = pl.concat([old, made.select(old.columns)])
    if work.store.write("vectors", frame, dimension):
        work.changed.add("vectors")
    work.loaded["vectors"] = TABLES["vectors"].conform(frame)
    work.embedding = {
        "provider": embedder.provider,
        "model": embedder.model,
        "dimension": dimension,
        "fingerprint": EMBED.fingerprint(work),
    }
    return True
