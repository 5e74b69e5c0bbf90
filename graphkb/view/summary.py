"""What an index run did and what a project holds, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphkb.types import IndexResult, Refused
from graphkb.view.terminal import one_line

if TYPE_CHECKING:
    from graphkb.preview import Preview

# Words of the summary by table name; the rest of a result's counts are not for people.
COUNTED = {
    "documents": "documents",
    "text_units": "text units",
    "entities": "entities",
    "relationships": "relationships",
    "covariates": "claims",
    "communities": "communities",
    "community_reports": "reports",
    "vectors": "vectors",
}

MOST_REFUSED = 20


def index_lines(result: IndexResult, verbose: bool = False) -> list[str]:
    """The summary of an index run; ``verbose`` adds the seconds of each stage."""
    change = f"{result.added} added, {result.changed} changed, {result.removed} removed"
    seconds = sum(result.seconds.values())
    lines = [f"version {result.version}: {change} in {seconds:.1f} s", counts_line(result.counts)]
    if result.reused and (result.added or result.changed or result.removed):
        kept = ", ".join(f"{_percent(share)} of {what}" for what, share in result.reused.items())
        lines.append(f"kept as they were: {kept}")
    if verbose:
        lines += [f"  {stage} {value:.2f} s" for stage, value in result.seconds.items()]
    return lines + refused_lines(result.refused)


def _percent(share: float) -> str:
    """Never rounded up to 100 %.

    >>> _percent(1.0), _percent(0.99996), _percent(0.5)
    ('100 %', '99.9 %', '50.0 %')
    """
    return "100 %" if share == 1 else f"{int(1000 * share) / 10:.1f} %"


def counts_line(counts: Mapping[str, Any]) -> str:
    """``12 documents · 31 text units · …`` for the counts that are there."""
    return " · ".join(f"{counts[name]} {word}" for name, word in COUNTED.items() if name in counts)


def refused_lines(refused: tuple[Refused, ...]) -> list[str]:
    """What was not read, by name and reason; the first of them, then how many more."""
    if not refused:
        return []
    lines = [f"not read ({len(refused)}):"]
    lines += [
        f"  {one_line(item.where)}: {one_line(item.reason)}" for item in refused[:MOST_REFUSED]
    ]
    more = len(refused) - MOST_REFUSED
    return lines + ([f"  … and {more} more (--json lists all)"] if more > 0 else [])


def status_lines(status: Mapping[str, Any]) -> list[str]:
    """A project's state, one fact a line."""
    if not status["version"]:
        return [f"{status['root']}: not indexed yet; run: graphkb index --root {status['root']}"]
    sizes = status["sizes"]
    facts = {
        "root": status["root"],
        "version": f"{status['version']}, committed {status['committed_at']}",
        "holds": counts_line(status),
        "embedding": status["embedding_model"] or "none",
        "on disk": ", ".join(
            [size(sum(sizes.values()))] + [f"{part} {size(count)}" for part, count in sizes.items()]
        ),
        "graphkb": status["graphkb_version"],
    }
    lines = [f"{name:<10} {value}" for name, value in facts.items()]
    if status["stale"]:
        lines.append("stale      input or settings changed since: run graphkb index")
    return lines


def size(count: int) -> str:
    """Bytes in the largest unit that keeps the number above 1.

    >>> size(900), size(15_300_000)
    ('900 B', '15.3 MB')
    """
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def preview_lines(found: Preview) -> list[str]:
    """What an index run would do, for a terminal."""
    lines = [found.settings_change] if found.settings_change else []
    for what, paths in (
        ("added", found.added),
        ("changed", found.changed),
        ("removed", found.removed),
        ("renamed", tuple(f"{old} → {new}" for old, new in found.renamed)),
    ):
        lines.append(f"{what:<9} {len(paths)}")
        lines.extend(f"          {path}" for path in paths[:MOST_REFUSED])
        if len(paths) > MOST_REFUSED:
            lines.append(f"          … and {len(paths) - MOST_REFUSED} more")
    for item in found.refused[:MOST_REFUSED]:
        lines.append(f"unread    {item.where}: {item.reason}")
    lines.append(
        f"to do     {found.text_units} of {found.text_units_total} text units "
        f"({found.tokens:,} tokens), about {found.communities} of {found.communities_total} "
        "communities"
    )
    lines.append(f"          {found.embed_texts} texts to embed ({found.embed_tokens:,} tokens)")
    lines.append(f"          {found.model_calls} model calls, price {found.price:.2f}")
    return lines
