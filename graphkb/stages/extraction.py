"""Text units to evidence: names, relationships and claims, by rules, a model, or both.

Every unit has a row in ``extractions``. Units of parsed code have the evidence of the code,
whatever the method, rows of large tables that of the rules. Under ``llm`` the model reads each
other unit, and names that the rules are sure of are added; under ``hybrid`` it reads the units it
is worth most for, and its evidence is united with that of the rules. A unit that the model could
not read has the evidence of the rules, and is asked for again in the next run; one that was cut
by the model's limits when those are others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import polars as pl

from graphkb.errors import LanguageModelError
from graphkb.llm.keys import without_secrets
from graphkb.settings import LanguageModel, Settings, uses_model
from graphkb.stages.code import METHOD, code_evidence, code_unit_ids
from graphkb.stages.graph import tokenize_ahead
from graphkb.stages.imported import depends_on_imported, imported_extraction
from graphkb.stages.sure_names import SureNames
from graphkb.tables import TABLES
from graphkb.work import Work

if TYPE_CHECKING:
    from graphkb.extract.imported import ImportedExtraction
    from graphkb.extract.llm import Reading
    from graphkb.extract.offline import Extraction
    from graphkb.extract.questions import Questions, Unit

STAGE = "extract_evidence"
_EVIDENCE = ("mention_evidence", "relationship_evidence", "claim_evidence")
_WRITTEN = (*_EVIDENCE, "entity_evidence", "extractions")
_UNFINISHED = ("partial", "failed", "budget")
_SAMPLE = 200
# Text units of a first index whose sentences are kept in memory for its reports.
_READ_AHEAD = 4000
# Bytes a token of statements that are likely too long for one description.
_LONG = 3
# What a row of a large table says its cells and columns tell exactly.
NOT_A_ROW = pl.col("kind") != "row"
# What resolution, communities, reports and the graph import.
_NEEDED_LATER = (
    "graspologic_native", "graphkb.extract.resolve",
    "graphkb.graph.communities", "graphkb.graph.build", "graphkb.report.llm",
    "graphkb.search.vocabulary",
)  # fmt: skip
#: From so many text units without a single finding the model is to be doubted, not the text.
_TELLING = 3

Method = Literal["offline", "llm", "hybrid"]
Frames = dict[str, pl.DataFrame]


def extraction_method(settings: Settings) -> Method:
    """How units are read, ``auto`` decided. Raises SettingsError without the model asked for."""
    if not uses_model(settings, "extract"):
        return "offline"
    return "hybrid" if settings.extract.method == "hybrid" else "llm"


def extraction_depends_on(work: Work) -> tuple[str, ...]:
    """What the evidence depends on beside settings and tables: how units are read, by which
    model, with which prompts, and what was imported."""
    imported = depends_on_imported(work)
    method = extraction_method(work.settings)
    if method == "offline":
        return imported
    llm = work.settings.llm
    return (
        *imported,
        method,
        llm.extraction_model or llm.model,
        extraction_questions(work).fingerprint,
    )


def extraction_is_unfinished(work: Work) -> bool:
    """Whether units are left that the model could not read, and there is one to ask."""
    return work.model is not None and not units_unfinished(work).is_empty()


def units_unfinished(work: Work) -> pl.Series:
    """Ids of the text units that the last run left for the model; none where it is not asked."""
    rows = work.table("extractions")
    if extraction_method(work.settings) == "offline":
        return rows["text_unit_id"].clear()
    return rows.filter(_is_unfinished(work))["text_unit_id"]


def _is_unfinished(work: Work) -> pl.Expr:
    """Whether a row of ``extractions`` is of a unit that asking again may bring more of."""
    same = pl.col("reason").fill_null("").str.ends_with(_limits(work.settings.llm))
    return pl.col("status").is_in(_UNFINISHED) | ((pl.col("status") == "cut") & ~same)


def _limits(llm: LanguageModel) -> str:
    """The limits under which a reply is cut, as they end the reason of a unit."""
    return f"(llm.max_tokens {llm.max_tokens}, llm.context_tokens {llm.context_tokens})"


def units_to_read(work: Work) -> pl.DataFrame:
    """The text units that the model is asked about when the stage runs now."""
    method = extraction_method(work.settings)
    elsewhere = _unit_ids(imported_extraction(work))
    due, _ = _due(work, method, pl.concat([elsewhere, code_unit_ids(work)]))
    if method == "hybrid":
        return _worth_asking(work, due, _by_rules(work, due))
    return due.filter(NOT_A_ROW)


def extract_evidence(work: Work) -> Frames:
    method = extraction_method(work.settings)
    imported = imported_extraction(work)
    elsewhere = _unit_ids(imported)
    of_code = code_unit_ids(work)
    due, kept = _due(work, method, pl.concat([elsewhere, of_code]))
    work.progress("extract", 0, due.height)
    if method == "offline":
        parts = [_by_rules(work, due, partial(work.progress, "extract"))]
        parts[0]["extractions"] = _extractions(due["id"], "offline")
    else:
        parts, kept = _by_model(work, method, due, kept)
    if imported:
        evidence = _evidence(imported.extraction) | {"entity_evidence": imported.entities}
        parts.append(evidence | {"extractions": _extractions(elsewhere, "imported")})
    parts.append(code_evidence(work) | {"extractions": _extractions(of_code, METHOD)})
    return {name: _joined(name, work.kept(STAGE, name), kept, parts) for name in _WRITTEN}


def _unit_ids(imported: ImportedExtraction | None) -> pl.Series:
    return imported.unit_ids if imported else pl.Series("id", dtype=pl.String)


def _joined(name: str, old: pl.DataFrame, kept: pl.Series, parts: Sequence[Frames]) -> pl.DataFrame:
    """Rows of the units that are kept, and those of the parts; of equal keys the first row."""
    table = TABLES[name]
    found = [part[name] for part in parts if name in part]
    new = pl.concat([table.empty(), *found]).unique(
        list(table.key), keep="first", maintain_order=True
    )
    return pl.concat([_of(old, kept), new])


def _of(frame: pl.DataFrame, unit_ids: pl.Series) -> pl.DataFrame:
    return frame.filter(pl.col("text_unit_id").is_in(unit_ids.implode()))


def _without(frame: pl.DataFrame, unit_ids: set[str]) -> pl.DataFrame:
    return frame.filter(~pl.col("text_unit_id").is_in(sorted(unit_ids)))


def _due(work: Work, method: Method, elsewhere: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Text units to extract from, sorted by id, and the ids of those whose rows are kept; those
    ``elsewhere`` are neither."""
    units = work.table("text_units").filter(~pl.col("id").is_in(elsewhere.implode())).sort("id")
    if STAGE in work.fresh:
        return units, units["id"].clear()
    columns = ["id", "text", "context", "language", "kind"]
    before = work.committed("text_units").select(columns)
    last = work.table("extractions").select(
        pl.col("text_unit_id").alias("id"), "method", "status", "reason"
    )
    known = units.join(before, on=columns, how="semi").join(last, on="id")
    stale = pl.col("method").is_in(["imported", METHOD]) | _holds_moved_term(work, method)
    if method != "offline":
        # A cut unit would be paid for again and cut again, for a word that rules may find in it.
        stale = (stale & (pl.col("status") != "cut")) | _is_unfinished(work)
    kept = known.filter(~stale)["id"]
    return units.filter(~pl.col("id").is_in(kept.implode())), kept


def _holds_moved_term(work: Work, method: Method) -> pl.Expr:
    """Whether a unit that rules read holds a term which came or went: it depends on them."""
    moved: list[str] = []
    if "terms" in work.changed:
        moved = _moved_terms(work.committed("terms")["term"], work.table("terms")["term"])
    if not moved:
        return pl.lit(value=False)
    holds = pl.col("text").str.contains_any(moved, ascii_case_insensitive=True)
    return holds & (pl.col("method") == "offline") if method == "llm" else holds


def _moved_terms(before: pl.Series, after: pl.Series) -> list[str]:
    """Terms that came or went, and those that differ from one of them in case only: of such the
    texts' spelling decides which is found."""
    moved = {term.lower() for term in set(before).symmetric_difference(after)}
    return sorted(term for term in {*before, *after} if term.lower() in moved)


def _by_rules(
    work: Work, units: pl.DataFrame, progress: Callable[[int, int], None] | None = None
) -> Frames:
    from graphkb.extract.offline import extract_units

    return _evidence(extract_units(units, work.table("terms"), work.settings.extract, progress))


def _evidence(extraction: Extraction) -> Frames:
    frames = (extraction.mentions, extraction.relationships, extraction.claims)
    return {name: TABLES[name].conform(f) for name, f in zip(_EVIDENCE, frames, strict=True)}


def _extractions(unit_ids: pl.Series, method: str) -> pl.DataFrame:
    """A row for each of the units, all done."""
    columns = {"method": method, "status": "done", "reason": None, "repaired": 0, "dropped": 0}
    frame = unit_ids.alias("text_unit_id").to_frame()
    return TABLES["extractions"].conform(
        frame.with_columns(pl.lit(value).alias(name) for name, value in columns.items())
    )


def _by_model(
    work: Work, method: Method, due: pl.DataFrame, kept: pl.Series
) -> tuple[list[Frames], pl.Series]:
    """Evidence of the due units, the model's before that of the rules, and the ids of the units
    whose rows are kept, with those that got worse."""
    rules: Frames = {}
    asked = due.filter(NOT_A_ROW)
    if method == "hybrid":
        rules = _by_rules(work, due)
        asked = _worth_asking(work, due, rules)
    names = SureNames(asked, work.settings.extract)
    readings = _read(work, asked, _meanwhile(work, None if method == "hybrid" else names))
    better = _better_before(work, readings)
    readings = [reading for reading in readings if reading.unit.id not in better]
    model = _model_frames(readings, _limits(work.settings.llm))
    if method == "llm":
        usable = {r.unit.id for r in readings if not r.unusable}
        whole = {r.unit.id for r in readings if r.status == "done"} & usable
        model["mention_evidence"] = pl.concat([model["mention_evidence"], names.of(whole)])
        rules = _by_rules(work, due.filter(~pl.col("id").is_in(list(whole | better))))
    rest = due.filter(~pl.col("id").is_in(asked["id"].implode()))
    others = {name: _without(frame, better) for name, frame in rules.items()}
    others["extractions"] = _extractions(rest["id"], "offline")
    kept = pl.concat([kept, pl.Series(kept.name, sorted(better), dtype=pl.String)])
    return [model, others], kept


def _worth_asking(work: Work, units: pl.DataFrame, rules: Frames) -> pl.DataFrame:
    """The units that the model is to read under ``hybrid``."""
    from graphkb.extract.worth import worth_reading

    share = work.settings.extract.hybrid_share
    units = units.filter(NOT_A_ROW)
    chosen = worth_reading(units, rules["mention_evidence"], share)
    return units.filter(pl.col("id").is_in(chosen.implode()))


def _meanwhile(work: Work, names: SureNames | None) -> Iterator[None]:
    """What is done while replies are awaited: tables are written, sure names found, and what
    later stages need is made ready."""
    yield from work.put_off()
    if names is not None:
        yield from names.steps()
    yield from tokenize_ahead(work)
    for module in _NEEDED_LATER:
        importlib.import_module(module)
        yield
    yield from work.beside
    if not work.store.has("community_reports"):
        from graphkb.report.sentences import read_ahead

        units = work.table("text_units").head(_READ_AHEAD)
        yield from read_ahead(units.select("text", "language").iter_rows())


def extraction_questions(work: Work) -> Questions:
    from graphkb.extract.questions import Questions

    return Questions(work.root, work.settings.extract)


def as_units(units: pl.DataFrame) -> list[Unit]:
    from graphkb.extract.questions import Unit

    rows = units.select("id", "text", "context", "language").iter_rows()
    return [Unit(unit, text, above or "", language) for unit, text, above, language in rows]


def _read(work: Work, units: pl.DataFrame, meanwhile: Iterable[None]) -> list[Reading]:
    """The model's reading of each unit. Raises LanguageModelError when it brought nothing for
    any unit of the knowledge base."""
    from graphkb.extract.llm import read_units
    from graphkb.extract.statements import Heard

    model, options = work.asked_model(), work.settings.extract
    progress = partial(work.progress, "extract")
    asked = as_units(units)
    heard = Heard(_LONG * work.settings.describe.max_tokens)

    def on_reading(reading: Reading) -> None:
        for _, name, _, said in reading.found.descriptions:
            heard.add(name, said)

    questions = extraction_questions(work)
    readings = read_units(asked, model, questions, options, progress, meanwhile, on_reading)
    _remark(work, readings)
    done = [reading for reading in readings if reading.status == "done"]
    if len(done) >= _TELLING and not any(reading.found.used for reading in done):
        work.warnings.append(
            f"the model found nothing in any of {len(done)} text units: check "
            f"{model.name('extraction')!r}, or set extract.method: hybrid"
        )
    unusable = [reading for reading in readings if reading.unusable]
    nothing = len(unusable) == len(readings) > 0
    stopped = any(reading.status == "budget" for reading in readings)
    read_before = (work.kept(STAGE, "extractions")["method"] == "llm").any()
    if nothing and not stopped and not read_before:
        sample = next((r.sample for r in unusable if r.sample), "")
        said = f"; a reply: {' '.join(sample.split())[:_SAMPLE]!r}" if sample else ""
        why = unusable[0].reason or "nothing that it lists stands in the text"
        llm = work.settings.llm
        if all(reading.by_server for reading in unusable):
            raise LanguageModelError(
                f"none of {len(readings)} text units could be read: the server failed every call "
                f"({why}); run again when it works (where it limits calls, lower llm.concurrency), "
                "or set extract.method: offline"
            )
        at = "" if llm.provider == "llama_cpp" else f" at {without_secrets(llm.base_url)}"
        raise LanguageModelError(
            f"no entities extracted from {len(readings)} text units: model "
            f"{model.name('extraction')!r}{at} said nothing that can be used ({why}){said}; "
            "check llm.model, or set extract.method: offline"
        )
    return readings


def _better_before(work: Work, readings: Sequence[Reading]) -> set[str]:
    """Units that could be read in part before, and not at all now: their rows are kept."""
    before = work.kept(STAGE, "extractions").filter(pl.col("status") == "partial")["text_unit_id"]
    failed = {r.unit.id for r in readings if r.status in ("failed", "budget")}
    return failed.intersection(before.to_list())


def _model_frames(readings: Sequence[Reading], limits: str) -> Frames:
    found = [reading.found for reading in readings]
    lists: dict[str, list[tuple[object, ...]]] = {
        "mention_evidence": [row for f in found for row in f.evidence.mentions],
        "relationship_evidence": [row for f in found for row in f.evidence.relationships],
        "claim_evidence": [row for f in found for row in f.evidence.claims],
        "entity_evidence": [row for f in found for row in f.descriptions],
        "extractions": [_extraction(reading, limits) for reading in readings],
    }
    return {name: TABLES[name].of_rows(data) for name, data in lists.items()}


def _extraction(reading: Reading, limits: str) -> tuple[object, ...]:
    """The unit's row of ``extractions``; of one that was cut the reason ends with the limits."""
    method = "offline" if reading.unusable else "llm"
    reason = reading.reason or ("nothing listed stands in the text" if reading.unusable else None)
    if reading.status == "cut":
        reason = f"{reason} {limits}"
    found = reading.found
    return reading.unit.id, method, reading.status, reason, reading.repaired, found.dropped


def _remark(work: Work, readings: Sequence[Reading]) -> None:
    """Say which units the model could not read, what stands in for it, and what to do."""
    units = work.table("text_units")
    none, some = (
        "offline extraction stands in",
        "what was found is kept, with offline extraction for the rest",
    )
    again = "run again to retry"
    limits = "for a larger window set llm.context_tokens; raise llm.max_tokens or lower chunks.size"
    groups = (
        ("failed", "could not be read by the model", none, again),
        ("budget", "were not read by the model", none, again),
        ("partial", "could be read by the model only in part", some, again),
        ("cut", "could be read by the model only in part, if at all", some, limits),
    )
    for status, what, instead, advice in groups:
        left = [reading for reading in readings if reading.status == status]
        if left:
            why = left[0].reason.removesuffix("; raise llm.max_tokens")
            where = work.place_of(units, left[0].unit.id)
            work.incomplete.append(
                f"{len(left)} of {units.height} text units {what} ({where}: {why}): "
                f"{instead}; {advice}"
            )
