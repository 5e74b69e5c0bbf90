"""What an index run did and what a project holds, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphkb.ingest.sizes import SHORT
from graphkb.types import IndexResult, Refused, StepUsage
from graphkb.view.answer import price_text
from graphkb.view.counts import counts_line, noun
from graphkb.view.notices import notice_lines
from graphkb.view.refusals import MOST_REFUSED, refused_lines, unread_lines
from graphkb.view.terminal import one_line

if TYPE_CHECKING:
    from graphkb.importing.project import Imported
    from graphkb.preview import Preview
    from graphkb.tune.prompts import Tuning


def index_lines(result: IndexResult, verbose: bool = False) -> list[str]:
    """The summary of an index run; ``verbose`` adds the seconds of each stage."""
    change = f"{result.added} added, {result.changed} changed, {result.removed} removed"
    change += f", {len(result.renamed)} renamed" if result.renamed else ""
    seconds = sum(result.seconds.values())
    lines = [f"version {result.version}: {change} in {seconds:.1f} s"]
    lines += [*_renamed_lines(result.renamed), counts_line(result.counts)]
    lines += size_lines(result.unit_sizes)
    if result.reused and (result.added or result.changed or result.removed):
        kept = ", ".join(f"{_percent(share)} of {what}" for what, share in result.reused.items())
        lines.append(f"kept as they were: {kept}")
    if verbose:
        lines += [f"  {stage} {value:.2f} s" for stage, value in result.seconds.items()]
    return [
        *lines,
        *usage_lines(result.usage),
        *refused_lines(result.refused, result.refused_before),
        *incomplete_lines(result.incomplete),
    ]


def _renamed_lines(renamed: Sequence[tuple[str, str]]) -> list[str]:
    """Old and new path of the first renamed files, then how many more."""
    lines = [one_line(f"renamed {old} → {new}") for old, new in renamed[:MOST_REFUSED]]
    more = len(renamed) - MOST_REFUSED
    return lines + ([f"… and {more} more renamed (--json lists all)"] if more > 0 else [])


def size_lines(sizes: Mapping[str, Any]) -> list[str]:
    """How large text units are, by kind where there are several, and how many stand out."""
    if not sizes.get("count"):
        return []
    kinds = [f"{kind} {facts['count']:,}" for kind, facts in sizes["kinds"].items()]
    of_kinds = f" ({', '.join(kinds)})" if len(kinds) > 1 else ""
    line = f"unit sizes: median {sizes['median']:,}, longest {sizes['longest']:,} tokens{of_kinds}"
    if sizes["short"]:
        line += f"; {sizes['short']:,} below {SHORT} tokens"
    if sizes["cut"]:
        line += f"; {sizes['cut']:,} cut inside a sentence at chunks.size"
    return [line]


def usage_lines(steps: Sequence[StepUsage]) -> list[str]:
    """What the model's work cost: a line a step, and all of it where there are several."""
    lines = [f"{step.step} by {step.model}: {_spent(step)}" for step in steps]
    if len(steps) > 1:
        lines.append(f"all model work: {_spent(_total(steps))}")
    return lines


def _spent(step: StepUsage) -> str:
    counts = [f"{step.calls:,} {noun(step.calls, 'calls')}", f"{step.cached:,} cached"]
    for name in ("retries", "repaired", "failed"):
        if count := getattr(step, name):
            counts.append(f"{count:,} {noun(count, name)}")
    counts.append(f"{step.prompt_tokens:,} tokens in, {step.completion_tokens:,} out")
    counts.append(price_text(step.price))
    return ", ".join([*counts, f"{step.seconds:.1f} s in calls"])


def _total(steps: Sequence[StepUsage]) -> StepUsage:
    """The sum; its price is known when every step's is."""
    counts = {
        name: sum(getattr(step, name) for step in steps)
        for name in (
            "calls", "cached", "retries", "repaired", "failed", "prompt_tokens",
            "completion_tokens", "seconds",
        )
    }  # fmt: skip
    prices = [step.price for step in steps]
    known = [price for price in prices if price is not None]
    return StepUsage("", "", price=sum(known) if len(known) == len(prices) else None, **counts)


def incomplete_lines(incomplete: Sequence[str]) -> list[str]:
    """Work that the model could not do; the first lines, then how many more."""
    if not incomplete:
        return []
    lines = [f"incomplete ({len(incomplete)}), the next run tries again:"]
    lines += [f"  {one_line(item)}" for item in incomplete[:MOST_REFUSED]]
    more = len(incomplete) - MOST_REFUSED
    return lines + ([f"  … and {more} more (--json lists all)"] if more > 0 else [])


def _percent(share: float) -> str:
    """Never rounded up to 100 %.

    >>> _percent(1.0), _percent(0.99996), _percent(0.5)
    ('100 %', '99.9 %', '50.0 %')
    """
    return "100 %" if share == 1 else f"{int(1000 * share) / 10:.1f} %"


def status_lines(status: Mapping[str, Any]) -> list[str]:
    """A project's state, one fact a line."""
    if not status["version"]:
        return [f"{status['root']}: not indexed yet; run: graphkb index --root {status['root']}"]
    sizes = status["sizes"]
    facts = {
        "root": status["root"],
        "version": f"{status['version']}, committed {status['committed_at']}",
        "holds": counts_line(status),
        "units": " ".join(size_lines(status["unit_sizes"])).removeprefix("unit sizes: ") or "none",
        "model": status["language_model"] or "none",
        "read by": _read_by(status["extracted"]),
        "embedding": status["embedding_model"] or "none",
        "on disk": ", ".join(
            [size(sum(sizes.values()))] + [f"{part} {size(count)}" for part, count in sizes.items()]
        ),
        "graphkb": status["graphkb_version"],
    }
    lines = [f"{name:<10} {value}" for name, value in facts.items()]
    unread = [Refused(*item) for item in status.get("not_read", ())]
    if unread:
        lines.append(f"{'left out':<10} {len(unread):,}")
        lines += [f"{'':<10} {line}" for line in unread_lines(unread)]
    if status["stale"]:
        stages = ", ".join(status["stale_stages"])
        what = f"prompts or settings changed ({stages})" if stages else "input changed since"
        lines.append(f"stale      {what}: run graphkb index")
    return lines


def _read_by(extracted: Mapping[str, int]) -> str:
    """Text units by what they were read with, and how many are to be read again.

    >>> _read_by({"llm": 3, "imported": 0, "offline": 1, "unfinished": 1})
    'the model 3 text units, offline extraction 1; to be tried again 1'
    >>> _read_by({"llm": 3, "cut": 1})
    "the model 3 text units; cut by the model's limits 1 (llm.max_tokens, llm.context_tokens)"
    """
    words = {
        "llm": "the model", "imported": "GraphRAG's model", "code": "the parser of code",
        "offline": "offline extraction",
    }  # fmt: skip
    counts = [(what, extracted[name]) for name, what in words.items() if extracted.get(name)]
    if not counts:
        return "none"
    (what, count), *others = counts
    first = f"{what} {count} {noun(count, 'text units')}"
    text = ", ".join([first, *(f"{what} {count}" for what, count in others)])
    unfinished = extracted.get("unfinished", 0)
    text += f"; to be tried again {unfinished}" if unfinished else ""
    cut = extracted.get("cut", 0)
    limits = "(llm.max_tokens, llm.context_tokens)"
    return text + (f"; cut by the model's limits {cut} {limits}" if cut else "")


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


def import_lines(imported: Imported) -> list[str]:
    """What was taken over from another tool, what was not and why."""
    kind = "the files that GraphRAG read" if imported.originals else ", ".join(imported.files)
    counts = (f"{n} of {found} {what}" for what, (n, found) in imported.counts.items())
    lines = [
        f"imported   {imported.source} → {imported.root}",
        f"documents  {kind}",
        f"taken over {' · '.join(counts)}",
    ]
    for left in imported.left:
        shown = ", ".join(one_line(example) for example in left.examples)
        more = ", …" if left.count > len(left.examples) else ""
        lines.append(f"left out   {left.count} {left.what}: {shown}{more}")
    if imported.not_indexed:
        shown = ", ".join(imported.not_indexed[:5])
        n = len(imported.not_indexed)
        lines.append(f"left out   {n} {noun(n, 'files')} that GraphRAG had not indexed: {shown}")
    return lines


def tuning_lines(tuning: Tuning) -> list[str]:
    """What is proposed for the documents of one language, and how the prompts would change."""
    found = tuning.proposal
    source = found.model or "offline extraction (no model)"
    read = f"{found.passages} {noun(found.passages, 'documents')}"
    lines = [f"{found.language}: {read} read by {source}"]
    types = (f"{kind} ({meaning})" if meaning else kind for kind, meaning in found.entity_types)
    facts = {
        "domain": found.domain,
        "persona": found.persona,
        "types": ", ".join(types),
        "seen": ", ".join(f"{kind} {count}" for kind, count in found.seen.items()),
        "relations": ", ".join(found.relationship_types),
        "examples": str(len(found.examples)) if found.examples else "",
    }
    lines += [f"  {name:<9} {one_line(value)}" for name, value in facts.items() if value]
    for change in tuning.changes:
        lines += change.diff() or [f"{change.path}: stays as it is"]
    return lines


def preview_lines(found: Preview, verbose: bool = False) -> list[str]:
    """What an index run would do, for a terminal; ``verbose`` names the files of each notice."""
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
    lines += [f"unread    {line}" for line in unread_lines(found.refused)]
    touched = (
        f", about {found.communities} of {found.communities_total} "
        f"{noun(found.communities_total, 'communities')}"
    )
    lines.append(
        f"to do     {found.text_units} of {found.text_units_total} "
        f"{noun(found.text_units_total, 'text units')} "
        f"({found.tokens:,} tokens){touched if found.communities_total else ''}"
    )
    texts = f"{found.embed_texts} {noun(found.embed_texts, 'texts')}"
    lines.append(f"          {texts} to embed ({found.embed_tokens:,} tokens)")
    return lines + planned_lines(found, verbose)


def planned_lines(found: Preview, verbose: bool = False) -> list[str]:
    """What the model would be asked, by step and in all."""
    if not found.calls:
        return ["model     no calls"]
    lines = [
        f"model     {step.step} by {step.model}: {_at_least(step.at_least)}{step.calls:,} "
        f"{noun(step.calls, 'calls')}, {step.cached:,} cached, "
        f"{_at_least(step.at_least)}{step.prompt_tokens:,} tokens in, "
        f"about {step.completion_tokens:,} out, "
        f"{price_text(step.price)}"
        for step in found.calls
    ]
    calls = f"{found.model_calls:,} {noun(found.model_calls, 'calls')}"
    calls = _at_least(any(step.at_least for step in found.calls)) + calls
    about = "" if found.price is None else "about "
    lines.append(f"          in all {calls}, {about}{price_text(found.price)}")
    return lines + [f"warning   {warning}" for warning in notice_lines(found.warnings, verbose)]


def _at_least(more: bool) -> str:
    return "at least " if more else ""


def prompt_lines(found: Preview) -> list[str]:
    """The first prompts as they would be sent."""
    lines: list[str] = []
    for number, messages in enumerate(found.prompts, 1):
        for role, text in messages:
            lines += [f"--- prompt {number}, {role}", text]
    return lines
