"""Communities to reports: quoted on this machine, or written by a model."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from graphkb.settings import uses_model
from graphkb.stages.imported import depends_on_imported, imported_report_rows
from graphkb.work import Work

if TYPE_CHECKING:
    from graphkb.report.corpus import Corpus
    from graphkb.report.offline import OfflineReports

_TABLES = ("communities", "entities", "nodes", "relationships", "mentions", "text_units")

# In the cache folder: which inputs led to which prompt. Without it they are gathered again.
_INPUTS = "report_inputs.json"

# Of a list of failures, so many different reasons are said, each so long.
_REASONS, _REASON_LENGTH = 3, 200


def write_reports(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.report.corpus import read_corpus
    from graphkb.report.offline import OfflineReports

    work.progress("reports", 0, 0)
    tables = tuple(work.table(name) for name in _TABLES)
    ahead, work.corpus = work.corpus, None
    corpus = (ahead and ahead.described(*tables)) or read_corpus(*tables)
    offline = OfflineReports(
        corpus, work.settings.report, work.kept("write_reports", "community_reports")
    )
    given = imported_report_rows(work)
    if uses_model(work.settings, "report"):
        return {"community_reports": _by_model(work, corpus, offline, given)}
    others = set(offline.communities).difference(given["community"])
    reports = pl.concat([given, offline.write(others)]).sort("community")
    return {"community_reports": reports}


def _by_model(
    work: Work, corpus: Corpus, offline: OfflineReports, given: pl.DataFrame
) -> pl.DataFrame:
    from graphkb.report.llm import write_reports

    # What the model said is remembered by all that it was asked with, whatever made this run.
    kept = work.table("community_reports")
    inputs = work.root / "cache" / _INPUTS
    before = _read_inputs(inputs)
    written = work.with_model(
        lambda model: write_reports(
            corpus,
            offline,
            work.settings.report,
            model,
            work.root,
            given=given,
            kept=kept,
            asked_by_inputs=before,
            progress=work.progress,
            meanwhile=chain(work.put_off(), work.beside),
        )
    )
    if written.asked_by_inputs != before:
        _write_inputs(inputs, written.asked_by_inputs)
    if written.failures:
        reasons = list(dict.fromkeys(written.failures.values()))
        said = "; ".join(reason[:_REASON_LENGTH] for reason in reasons[:_REASONS])
        more = "; …" if len(reasons) > _REASONS else ""
        work.incomplete.append(
            f"{len(written.failures)} of {written.asked_for} community reports could not be "
            f"written by the model ({said}{more}): quoted reports stand in; run again to retry"
        )
    if written.n_rejected:
        work.warnings.append(
            f"{written.n_rejected} of {written.asked_for} community reports by the model rested on "
            "nothing that it was shown: quoted reports stand in"
        )
    if written.n_unknown or written.n_dropped:
        work.warnings.append(
            f"in reports by the model, {written.n_unknown} references to nothing that was shown "
            f"were removed, and {written.n_dropped} findings that rest on nothing"
        )
    return written.reports


def _read_inputs(path: Path) -> dict[str, str]:
    """What an earlier run left; nothing where that cannot be read."""
    try:
        known = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    pairs = known.items() if isinstance(known, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, str)}


def _write_inputs(path: Path, asked_by_inputs: Mapping[str, str]) -> None:
    new = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(asked_by_inputs), "utf-8")
        new.replace(path)


def reports_depend_on(work: Work) -> tuple[str, ...]:
    """What was imported, and the model and the prompts that reports are asked with where one
    is."""
    imported = depends_on_imported(work)
    if not uses_model(work.settings, "report"):
        return imported
    from graphkb.report.prompts import asked_with

    llm = work.settings.llm
    return (*imported, llm.report_model or llm.model, *asked_with(work.root).values())


def reports_are_unfinished(work: Work) -> bool:
    """Whether a quoted report stands where the model is to write one."""
    if not uses_model(work.settings, "report"):
        return False
    from graphkb.report.llm import choose_communities

    communities = work.store.read("communities", ["community", "id", "size"])
    n_units = work.store.count("text_units")
    chosen = choose_communities(communities, n_units, work.settings.report)
    methods = work.store.read("community_reports", ["community", "method"])
    written = methods.filter(pl.col("method") != "offline")
    return not set(chosen) <= set(written["community"].to_list())
