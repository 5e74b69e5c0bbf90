"""The question sets: where they are, how they become projects, and the subset of 2wiki."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphkb.evaluate.questions import read_questions

HERE = Path(__file__).parent
SAMPLE_QUESTIONS = HERE / "sample_questions.jsonl"
#: Sets that come with the repository; the others lie in the data folder.
OWN = ("sample", "zh_multihop")
#: Where vectors of the same passages may already be.
SAME_TEXTS = {"2wiki_780": "2wiki", "2wiki": "2wiki_780"}
SETS = ("2wiki_780", "2wiki", "musique", "netop_zh", *OWN)

_SUBSET = 780
_SEED = 780


def set_folder(data: Path, name: str) -> Path:
    """The set's folder; exits with one line when it is not there."""
    folder = data / name
    if not (folder / "queries.jsonl").is_file() or not (folder / "input").is_dir():
        sys.exit(f"error: {folder} has no queries.jsonl and input/; say where the sets are: --data")
    return folder


@contextlib.contextmanager
def work_folder(work: Path | None) -> Iterator[Path]:
    """``work``, made; or a new folder that is deleted at the end."""
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
        yield work
        return
    with tempfile.TemporaryDirectory(prefix="graphkb-bench-") as folder:
        yield Path(folder)


def copy_input(source: Path, root: Path) -> None:
    """The set's documents as the input of a project at ``root``; the set may be read-only."""
    for file in sorted((source / "input").rglob("*")):
        if file.is_file():
            copy = root / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def prepare(name: str, data: Path, work: Path) -> Path:
    """Lays out the documents of a set at ``work/name``; returns its questions file.

    Vectors that another set of the same texts has in ``work`` are taken over.
    """
    root = work / name
    if name == "sample":
        copy_input(HERE.parent, root)
        questions = SAMPLE_QUESTIONS
    elif name == "2wiki_780":
        source = set_folder(data, "2wiki")
        write_subset(source, root)
        questions = source / "queries.jsonl"
    else:
        source = set_folder(HERE if name in OWN else data, name)
        copy_input(source, root)
        questions = source / "queries.jsonl"
    known = work / SAME_TEXTS.get(name, name) / "cache"
    if known.is_dir() and not (root / "cache").exists():
        shutil.copytree(known, root / "cache")
    return questions


def write_subset(source: Path, root: Path) -> None:
    """The passages that the questions of ``source`` need, filled up to 780 with a seeded choice of
    the others, in the order of the whole set."""
    lines = (source / "input" / "corpus.jsonl").read_text("utf-8").splitlines()
    titles = [json.loads(line)["title"] for line in lines]
    needed = {
        title for q in read_questions(source / "queries.jsonl").questions for title in q.relevant
    }
    chosen = {place for place, title in enumerate(titles) if title in needed}
    others = [place for place in range(len(lines)) if place not in chosen]
    chosen.update(random.Random(_SEED).sample(others, max(0, _SUBSET - len(chosen))))
    (root / "input").mkdir(parents=True, exist_ok=True)
    text = "".join(f"{lines[place]}\n" for place in sorted(chosen))
    (root / "input" / "corpus.jsonl").write_text(text, "utf-8")
