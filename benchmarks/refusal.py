"""How well questions without an answer are told from those with one: evidence, no model.

    python benchmarks/refusal.py [--sets musique zh_multihop …] [--work FOLDER] [--json FILE]

Prints Markdown: per set, with and without vectors, the share of answerable questions that are
refused and of unanswerable ones that are, by kind, under the threshold in force, and the area
under the ROC curve. The default threshold is one for all sets. What is unanswerable:

- other: questions of another set, about other things; those whose documents are there are left out
- invented: an answerable question whose key name is replaced by one that nobody bears
- mixed: … by one made of words of two names that the documents hold, but never together
- number: … whose codes, numbers and years are replaced by ones that stand in no document
- written: by hand (refusal_questions.jsonl), among them the set's own
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval import index
from sets import HERE, SETS, prepare, work_folder

import graphkb
from graphkb.errors import GraphkbError
from graphkb.evaluate.calibrate import area_under_curve
from graphkb.evaluate.questions import DocumentNames, read_questions
from graphkb.progress import shown_progress
from graphkb.query.answer import METHODS
from graphkb.query.ask import Ask
from graphkb.query.route import clean_question
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import HAN, has_han
from graphkb.text.names import fold
from graphkb.view.evaluation import aligned

OTHERS = {
    "musique": ("2wiki",), "2wiki": ("musique",), "2wiki_780": ("musique",),
    "netop_zh": ("zh_multihop",), "zh_multihop": ("netop_zh",),
    "sample": ("musique", "zh_multihop"),
}  # fmt: skip
MODES = {"with vectors": (), "without": ("embed.when=off",)}
KINDS = ("other", "invented", "mixed", "number", "written")
MOST = 60
_SEED = 7

# Parts of names that nobody bears; those that do stand in a set are left out of it.
_FIRST = "Ottoline Zebulon Marfisa Thaddo Quirina Ulvhild Branimar Sesk Velgoth Ixtara".split()
_LAST = "Grebeshkova Tarnwick Pellorby Vostrand Quennerd Hazlemoor Drabnitz Olvekar".split()
_HAN_NAMES = "霍铭远 栾舒畅 邝砚秋 鄢若岚 嵊泽 瑶坪 澈湖 鼎泓 黛岭 骁腾".split()
_KINDS_OF_THING = re.compile(
    r"(?:有限公司|公司|集团|银行|医院|大学|学院|学校|煤矿|地铁|保险|合作社|研究所|博物馆|奖|船|县|市|镇|村|号)\Z"
)
_HAN_TITLE = re.compile(f"[{HAN}]{{2,8}}")
_NUMBER = re.compile(r"(?<![\w.])(?:[A-Z]{1,6}-?)?(?:\d+-)*\d{1,4}(?![\d.%])", re.ASCII)


@dataclass(frozen=True)
class Asked:
    """A question and what it is: answerable, or one of :data:`KINDS`."""

    kind: str
    query: str


class Corpus:
    """The folded text and the titles of a set, to see what stands in it."""

    def __init__(self, snapshot: Snapshot) -> None:
        documents = snapshot.store.read("documents", ("title", "text"))
        self.titles = sorted({title for title in documents["title"] if title})
        self.text = "\n".join(fold(f"{title}\n{text}") for title, text in documents.iter_rows())
        entities = snapshot.store.read("entities", ("title",))
        names = sorted({title for title in entities["title"] if title})
        self.known = [
            [(fold(name), name) for name in group if _telling(name)]
            for group in (self.titles, names)
        ]

    def holds(self, words: str) -> bool:
        return fold(words) in self.text


def questions_of(name: str, data: Path, work: Path, snapshot: Snapshot) -> list[Asked]:
    """All questions for a set, each once; the same in every run."""
    own = read_questions(prepare(name, data, work)).questions
    rows = snapshot.store.read("documents", ("id", "path", "title")).iter_rows()
    names = DocumentNames(rows)
    answerable = [q.query for q in own if any(map(names.find, q.relevant))]
    corpus = Corpus(snapshot)
    chance = random.Random(_SEED)
    made = [Asked("answerable", query) for query in answerable]
    for other in OTHERS[name]:
        foreign = read_questions(prepare(other, data, work)).questions
        absent = [q.query for q in foreign if q.relevant and not any(map(names.find, q.relevant))]
        made += [Asked("other", query) for query in _spread(absent, MOST // len(OTHERS[name]))]
    for kind, change in (("invented", _invented), ("mixed", _mixed), ("number", _numbered)):
        changed = [change(query, corpus, chance) for query in answerable]
        made += [Asked(kind, query) for query in _spread([q for q in changed if q], MOST)]
    made += [Asked("written", q.query) for q in own if q.unanswerable]
    lines = (HERE / "refusal_questions.jsonl").read_text("utf-8").splitlines()
    written = [json.loads(line) for line in lines]
    made += [Asked("written", row["query"]) for row in written if name.startswith(row["set"])]
    return list(dict.fromkeys(made))


def _spread(items: Sequence[str], most: int) -> list[str]:
    step = max(1.0, len(items) / most)
    return [items[int(step * place)] for place in range(min(most, len(items)))]


def _key_name(query: str, corpus: Corpus) -> str:
    """The longest title of a document, else name of an entity, that stands in a question."""
    folded = fold(query)
    for known in corpus.known:
        found = [name for key, name in known if key in folded and _within(key, folded)]
        if found:
            return max(found, key=lambda name: (len(name), name))
    return ""


def _telling(name: str) -> bool:
    if has_han(name):
        return _HAN_TITLE.fullmatch(name) is not None
    return len(name) > 3 and any(word[0].isupper() for word in name.split())


def _within(name: str, folded: str) -> bool:
    edge = "" if has_han(name) else r"\b"
    return re.search(edge + re.escape(name) + edge, folded) is not None


def _replaced(query: str, name: str, by: str) -> str:
    place = fold(query).find(fold(name))
    if len(fold(query)) != len(query) or place < 0:
        return ""
    return query[:place] + by + query[place + len(fold(name)) :]


def _invented(query: str, corpus: Corpus, chance: random.Random) -> str:
    name = _key_name(query, corpus)
    if not name:
        return ""
    if has_han(name):
        kind = _KINDS_OF_THING.search(name)
        new = chance.choice(_HAN_NAMES) + (kind.group() if kind else "")
    else:
        new = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
    return "" if corpus.holds(new) else _replaced(query, name, new)


def _mixed(query: str, corpus: Corpus, chance: random.Random) -> str:
    """The beginning of one name and the end of another."""
    name = _key_name(query, corpus)
    if not name:
        return ""
    han = has_han(name)
    for _ in range(50):
        one, other = chance.choice(corpus.titles), chance.choice(corpus.titles)
        if han:
            if not (_HAN_TITLE.fullmatch(one) and _HAN_TITLE.fullmatch(other)):
                continue
            new = one[: len(one) // 2] + other[len(other) // 2 :]
        else:
            first, last = re.findall(r"[A-Z]\w{3,}", one), re.findall(r"[A-Z]\w{3,}", other)
            if not first or len(last) < 2:
                continue
            new = f"{first[0]} {last[-1]}"
        if not corpus.holds(new):
            return _replaced(query, name, new)
    return ""


def _numbered(query: str, corpus: Corpus, chance: random.Random) -> str:
    """The question with its codes and numbers of at least two digits replaced."""

    def other(match: re.Match[str]) -> str:
        for _ in range(50):
            new = re.sub(r"\d(?=\d*\Z)", lambda _: str(chance.randint(1, 9)), match.group())
            if re.fullmatch(r"(?:19|20)\d\d", match.group()):
                new = str(chance.choice([1903, 1911, 1927, 1938, 2031, 2034, 2037]))
            if not re.search(rf"(?<!\d){re.escape(fold(new))}(?!\d)", corpus.text):
                return new
        return match.group()

    changed = _NUMBER.sub(lambda m: other(m) if re.search(r"\d\d", m.group()) else m.group(), query)
    return "" if changed == query else changed


def evidence_of(snapshot: Snapshot, asked: Sequence[Asked], method: str) -> list[float]:
    texts = [clean_question(one.query) for one in asked]
    return [METHODS[method](snapshot, Ask(question=t, search=t)).evidence for t in texts]


def measure(snapshot: Snapshot, asked: Sequence[Asked], method: str) -> dict[str, Any]:
    """The figures of one set and one way of searching."""
    threshold = snapshot.settings.answer.threshold(method)
    evidence = evidence_of(snapshot, asked, method)
    by_kind: dict[str, list[float]] = {}
    for one, value in zip(asked, evidence, strict=True):
        by_kind.setdefault(one.kind, []).append(value)
    found = {
        kind: {"n": len(values), "refused": sum(v < threshold for v in values) / len(values)}
        for kind, values in by_kind.items()
    }
    absent = [value for kind in KINDS for value in by_kind.get(kind, [])]
    return {
        "threshold": threshold,
        "auc": area_under_curve(by_kind["answerable"], absent)[0],
        "unanswerable": {
            "n": len(absent), "refused": sum(v < threshold for v in absent) / len(absent),
        },
        **found,
        "questions": [
            {**dataclasses.asdict(one), "evidence": round(value, 4)}
            for one, value in zip(asked, evidence, strict=True)
        ],
    }  # fmt: skip


def rows(results: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    yield ["set", "false refusals", "refused", *KINDS, "AUC"]
    for name, found in results.items():
        shares = (found.get(kind) for kind in ("answerable", "unanswerable", *KINDS))
        cells = [f"{s['refused']:.0%} of {s['n']}" if s else "" for s in shares]
        yield [name, *cells, f"{found['auc']:.3f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS[1:])
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument("--work", type=Path, help="keep the indexes here")
    parser.add_argument("--method", choices=METHODS, default="hybrid")
    parser.add_argument("--json", type=Path, help="also write every question's evidence here")
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    try:
        with work_folder(options.work) as work, shown_progress() as progress:
            for name in options.sets:
                prepare(name, options.data, work)
                if not (work / name / "output" / "manifest.json").is_file():
                    index(work / name, progress)
                for mode, settings in MODES.items():
                    with contextlib.closing(graphkb.open(work / name, settings)) as knowledge:
                        snapshot = knowledge._with_text()
                        if not settings and snapshot.dense_problem():
                            continue
                        asked = questions_of(name, options.data, work, snapshot)
                        results[f"{name}, {mode}"] = measure(snapshot, asked, options.method)
    except GraphkbError as error:
        sys.exit(f"error: {error}")
    print(aligned(list(rows(results))))
    if options.json:
        options.json.write_text(json.dumps(results, ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
