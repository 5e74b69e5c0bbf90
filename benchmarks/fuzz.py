"""Damaged files through every reader: nothing crashes, hangs or ends in a traceback.

    python benchmarks/fuzz.py [--files 10000] [--seed 0] [--suffixes .pdf .docx] [--keep FOLDER]

Samples are the files of ``tests/data/cases`` and generated ones of every format. Each is damaged
by its own seed: bits, bytes and numbers changed, cut off, parts moved, repeated or taken from
another sample; in zip containers also inside a member, so that the parser behind the archive
sees it. Every file is read by a worker under limits, and must be read or refused with a reason
that is the file's own. Some are read twice and must give the same. Prints one row a format, and
the findings; the exit code is 1 when there are any.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import sys
import tempfile
import time
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from samples import samples

from graphkb.ingest import isolate
from graphkb.ingest.read import FileReading, SourceFile
from graphkb.settings_input import Input

CASES = Path(__file__).parent.parent / "tests" / "data" / "cases"
BATCH = 200
EVERY_NTH_TWICE = 20
_LARGEST_SAMPLE = 150_000
_LARGEST_DAMAGED = 3_000_000
# Reasons that say that a reader had no answer to a file.
_NO_ANSWER = re.compile(
    r"its parser failed|made its parser crash|input\.max_seconds|input\.max_memory_mb|"
    r"ended by the system"
)
_ODD_BYTES = (
    b"\x00", b"\xff" * 4, b"\x00\x00\x00\x80", b"\r\n" * 50, "\u202e水\ufeff".encode(),
    b"<![CDATA[", b"&#x110000;", b"\\u0000", b"]]>", b"\xed\xa0\x80",
)  # fmt: skip
_HUGE = (b"99999999999999999999", b"-1", b"1e999", b"4294967295", b"0")


@dataclass
class Tally:
    """Of one format: files, how many gave a document, and what went wrong."""

    files: int = 0
    read: int = 0
    findings: list[str] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--suffixes", nargs="*", default=[], help="these formats only")
    parser.add_argument("--keep", type=Path, help="write files with findings here")
    parser.add_argument("--seconds", type=float, default=30, help="limit a file")
    parser.add_argument("--ocr", action="store_true", help="read images too (slow)")
    options = parser.parse_args()
    settings = Input(
        max_seconds=options.seconds, max_memory_mb=1024, gitignore=False,
        ocr={"enabled": "auto" if options.ocr else "off"},
    )  # fmt: skip
    found = {name: data for name, data in all_samples().items()
             if not options.suffixes or Path(name).suffix in options.suffixes}  # fmt: skip
    started = time.perf_counter()
    tallies = fuzz(found, range(options.seed, options.seed + options.files), settings, options.keep)
    print(report(tallies))
    total = sum(tally.files for tally in tallies.values())
    print(f"\n{total:,} files in {time.perf_counter() - started:.0f} s")
    sys.exit(1 if any(tally.findings for tally in tallies.values()) else 0)


def all_samples() -> dict[str, bytes]:
    """Bytes by name: the cases that are not too large, and one or more of every format."""
    cases = [
        path
        for path in sorted(CASES.rglob("*"))
        if path.is_file() and "replies" not in path.parts and path.stat().st_size <= _LARGEST_SAMPLE
    ]
    return {path.name: path.read_bytes() for path in cases} | samples()


def fuzz(
    found: dict[str, bytes], seeds: range, settings: Input, keep: Path | None = None
) -> dict[str, Tally]:
    """Read one damaged file a seed, formats in turn; results by suffix."""
    by_suffix: dict[str, list[str]] = defaultdict(list)
    for name in sorted(found):
        by_suffix[Path(name).suffix.lower()].append(name)
    suffixes = sorted(by_suffix)
    tallies: dict[str, Tally] = {suffix: Tally() for suffix in suffixes}
    # Every file goes to a worker, so that nothing a reader raises ends this process.
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(isolate, "IN_PROCESS", ()):
        for start in range(seeds.start, seeds.stop, BATCH):
            damaged: list[tuple[str, SourceFile]] = []
            for seed in range(start, min(start + BATCH, seeds.stop)):
                suffix = suffixes[seed % len(suffixes)]
                chance = random.Random(seed)
                name = chance.choice(by_suffix[suffix])
                data = damage(found[name], chance, list(found.values()))
                path = Path(folder) / f"{seed}{suffix}"
                path.write_bytes(data)
                damaged.append((suffix, SourceFile(f"{seed}-{name}", path, len(data))))
            _read_batch(damaged, settings, tallies, keep)
            for _, source in damaged:
                source.location.unlink()
    return tallies


def _read_batch(
    damaged: list[tuple[str, SourceFile]],
    settings: Input,
    tallies: dict[str, Tally],
    keep: Path | None,
) -> None:
    again = damaged[::EVERY_NTH_TWICE]
    readings = isolate.read_files([source for _, source in damaged + again], settings)
    first = dict(zip((source.path for _, source in damaged), readings, strict=False))
    for (suffix, source), reading in zip(damaged, readings, strict=False):
        tally = tallies[suffix]
        tally.files += 1
        tally.read += bool(reading.records)
        problem = unanswered(reading) if source.size else ""
        if problem:
            _note(tally, source, problem, keep)
    for (suffix, source), reading in zip(again, readings[len(damaged) :], strict=True):
        if reading != first[source.path]:
            _note(tallies[suffix], source, "another result the second time", keep)


def unanswered(reading: FileReading) -> str:
    """What is wrong with a reading, or the empty string."""
    if not reading.records and not reading.refused:
        return "neither read nor refused"
    return next((item.reason for item in reading.refused if _NO_ANSWER.search(item.reason)), "")


def _note(tally: Tally, source: SourceFile, problem: str, keep: Path | None) -> None:
    tally.findings.append(f"{source.path}: {problem}")
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / source.path).write_bytes(source.location.read_bytes())


def damage(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """The file with one to four things changed."""
    if data[:2] == b"PK" and chance.random() < 0.7:
        return _damaged_member(data, chance, others)
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(DAMAGES)(data, chance, others)[:_LARGEST_DAMAGED]
    return data


def _damaged_member(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """A zip container packed anew with one member damaged, missing or there twice."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = [(member.filename, archive.read(member)) for member in archive.infolist()]
    except (zipfile.BadZipFile, RuntimeError, OSError):
        return _flipped(data, chance, others)
    if not members:
        return _flipped(data, chance, others)
    place = chance.randrange(len(members))
    name, inside = members[place]
    how = chance.random()
    if how < 0.1:
        del members[place]
    elif how < 0.15:
        members.append((f"../{name}", inside))
    else:
        for _ in range(chance.choice((1, 1, 2, 4))):
            inside = chance.choice(DAMAGES)(inside, chance, others)[:_LARGEST_DAMAGED]
        members[place] = (name, inside)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name, inside in members:
            # Without a date of its own a member would get that of now.
            dated = zipfile.ZipInfo(name)
            dated.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(dated, inside)
    return packed.getvalue()


def _span(data: bytes, chance: random.Random, longest: int = 400) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.randrange(1, longest))


def _flipped(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 17) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _without(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + data[end:]


def _odd(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    start, end = _span(data, chance, 8)
    return data[:start] + chance.choice(_ODD_BYTES) + data[end:]


def _huge_number(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    numbers = list(re.finditer(rb"\d+", data[:200_000]))
    if not numbers:
        return _odd(data, chance, others)
    match = chance.choice(numbers)
    return data[: match.start()] + chance.choice(_HUGE) + data[match.end() :]


def _repeated(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    start, end = _span(data, chance, 60)
    times = chance.choice((2, 30, 5_000))
    return data[:start] + data[start:end] * times + data[end:]


def _nested(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """An opening tag or bracket of the file many times."""
    openings = list(re.finditer(rb"<[A-Za-z][^<>/]{0,80}>|[\[{(]", data[:200_000]))
    if not openings:
        return _repeated(data, chance, others)
    match = chance.choice(openings)
    times = chance.choice((3, 300, 20_000))
    return data[: match.start()] + match.group() * times + data[match.start() :]


def _spliced(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    other = chance.choice([data, chance.choice(others)])
    start, end = _span(other, chance, 2_000)
    place = chance.randrange(len(data) + 1)
    return data[:place] + other[start:end] + data[place:]


DAMAGES = (_flipped, _cut, _without, _odd, _huge_number, _repeated, _nested, _spliced)


def report(tallies: dict[str, Tally]) -> str:
    """A Markdown table, and the findings below it."""
    rows = ["| format | files | read | refused | findings |", "|---|---|---|---|---|"]
    for suffix, tally in tallies.items():
        rows.append(
            f"| {suffix or 'none'} | {tally.files} | {tally.read} | {tally.files - tally.read} "
            f"| {len(tally.findings)} |"
        )
    findings = [f"- {line}" for tally in tallies.values() for line in tally.findings]
    return "\n".join([*rows, "", *findings])


if __name__ == "__main__":
    main()
