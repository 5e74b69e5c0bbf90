"""Snapshots, differences, compaction and examinations as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphkb.types import NamedSnapshot
from graphkb.upkeep.case import Finding
from graphkb.upkeep.compact import Compaction
from graphkb.upkeep.difference import Difference
from graphkb.view.counts import counts_line
from graphkb.view.summary import size
from graphkb.view.terminal import one_line

_MOST = 20
_SENTENCE = 160

_WORDS = {"text_units": "text units", "communities": "communities"}
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "renamed": "~", "moved": "~"}


def snapshot_lines(snapshots: Sequence[NamedSnapshot]) -> list[str]:
    """A snapshot a line, with its note below it."""
    lines = []
    for snapshot in snapshots:
        facts = f"version {snapshot.version} of {snapshot.committed_at}"
        if snapshot.problem:
            facts = f"cannot be read: {snapshot.problem}"
        automatic = " (automatic)" if snapshot.automatic else ""
        lines.append(f"{snapshot.name}{automatic}  {one_line(facts)}")
        if snapshot.note:
            lines.append(f"  {one_line(snapshot.note)}")
        if snapshot.counts:
            lines.append(f"  {counts_line(snapshot.counts)}")
    return lines


def difference_lines(difference: Difference) -> list[str]:
    """Counts of every part, then its first rows."""
    lines: list[str] = []
    for part, lists in difference.parts.items():
        counts = ", ".join(f"{len(rows)} {kind}" for kind, rows in lists.items())
        lines.append(f"{_WORDS.get(part, part)}: {counts}")
        for kind, rows in lists.items():
            for row in rows[:_MOST]:
                lines += [f"  {_SIGNS[kind]} {line}" for line in _SHOW[part](row)[:1]]
                lines += [f"      {line}" for line in _SHOW[part](row)[1:]]
            if len(rows) > _MOST:
                lines.append(f"    … and {len(rows) - _MOST} more {kind} (--json lists all)")
    return lines


def _cut(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _SENTENCE else text[: _SENTENCE - 1] + "…"


def _document(row: Mapping[str, Any]) -> list[str]:
    if "old_path" in row:
        several = f" ({row['documents']:,} documents)" if row["documents"] > 1 else ""
        return [one_line(f"renamed {row['old_path']} → {row['path']}") + several]
    changes = row.get("changes", ())
    lines = [one_line(f"{row['path']} {row['title']}")]
    for change in changes[:_MOST]:
        lines += [f"{word} {_cut(change[key])}" for key, word in _SIDES if change[key]]
    if len(changes) > _MOST:
        lines.append(f"… and {len(changes) - _MOST} more places")
    return lines


_SIDES = (("old", "was:"), ("new", "now:"))


def _text_unit(row: Mapping[str, Any]) -> list[str]:
    return [f"{one_line(row['path'])}: {_cut(row['text'])}"]


def _entity(row: Mapping[str, Any]) -> list[str]:
    fields = ", ".join(row["fields"]) if "fields" in row else ""
    return [one_line(f"{row['title']} ({row['type']})") + (f": {fields}" if fields else "")]


def _relationship(row: Mapping[str, Any]) -> list[str]:
    line = one_line(f"{row['source']} – {row['target']} ({row['type']})")
    if "new_weight" in row:
        return [f"{line}: weight {row['old_weight']:.3g} → {row['new_weight']:.3g}"]
    return [line]


def _community(row: Mapping[str, Any]) -> list[str]:
    line = one_line(f"{row['title']} (level {row['level']})")
    if "size" in row:
        return [f"{line}, {row['size']} entities"]
    come, gone = (_cut("; ".join(row[kind])) for kind in ("added", "removed"))
    return [line, *([f"in: {come}"] if come else []), *([f"out: {gone}"] if gone else [])]


_SHOW: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "documents": _document,
    "text_units": _text_unit,
    "entities": _entity,
    "relationships": _relationship,
    "communities": _community,
}


def compaction_lines(done: Compaction) -> list[str]:
    """Bytes before and after by part, and in all."""
    lines = [
        f"{part:<10} {size(before):>8} → {size(done.after[part]):>8}"
        for part, before in done.before.items()
    ]
    before, after = sum(done.before.values()), sum(done.after.values())
    lines.append(f"{'all':<10} {size(before):>8} → {size(after):>8}")
    if done.tables:
        lines.append(f"compacted  {', '.join(done.tables)}: now version {done.version}")
    return lines


def finding_lines(findings: Sequence[Finding], everything: bool) -> list[str]:
    """Problems, what was repaired and what comes with advice, a line each; ``everything`` adds
    what is in order."""
    lines = []
    for finding in findings:
        if finding.problem:
            mark, rest = "problem", f"; do: {finding.advice}" if finding.advice else ""
        elif finding.repaired:
            mark, rest = "repaired", f": {finding.repaired}"
        elif everything or finding.advice:
            mark, rest = "ok", f"; {finding.advice}" if finding.advice else ""
        else:
            continue
        lines.append(f"{mark:<9}{finding.check:<11}{one_line(finding.where)}: ")
        lines[-1] += one_line(finding.what) + rest
    problems = sum(finding.problem for finding in findings)
    repaired = sum(bool(finding.repaired) for finding in findings)
    if problems:
        lines.append(f"{problems} problem{'s' * (problems > 1)}, {len(findings)} checks")
    elif repaired:
        lines.append(f"{repaired} repaired, {len(findings)} checks")
    else:
        lines.append(f"healthy: {len(findings)} checks")
    return lines
