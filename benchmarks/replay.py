"""What a real model does to retrieval: its recorded findings and choices, played as the model.

    python benchmarks/replay.py [--data ../shared/bench/musique] [--work FOLDER]

The folder holds ``input/``, ``queries.jsonl`` and ``openie_gpt35.jsonl``: a line a passage with
``id`` (of the document), ``entities`` (names) and ``triples`` (subject, relation, object), as
GPT-3.5 wrote them for HippoRAG. A server on loopback finds the passage of each prompt and answers
with just that, in the form that graphkb asks for; what the file does not have (types, descriptions,
weights, claims) stays empty. The same project is indexed without a model, with the model, and with
both united, and asked the same questions. Prints Markdown.

For the questions of musique ``musique_listwise.jsonl`` holds what a strong chat model chose of the
30 passages that ``rerank.method: llm`` shows it: a line a question with ``query`` and ``passages``
(documents, most needed first). It was shown those that the graph of GPT-3.5's extraction finds; a
document that is not among the passages shown is left out. These choices are played as the answer
model, over the offline graph and over that of the model.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loopback import Loopback, loopback
from retrieval import HERE, copy_input, work_folder

import graphkb
from graphkb.errors import GraphkbError
from graphkb.evaluate.questions import read_questions
from graphkb.evaluate.run import run_evaluation
from graphkb.progress import ProgressDisplay, shown_progress
from graphkb.text.names import name_key
from graphkb.view.evaluation import aligned

FINDINGS = "openie_gpt35.jsonl"
LISTWISE = "rerank.method=llm"
#: Ways of extraction, and of choosing, by name, with the settings they need.
WAYS = {
    "offline": ["extract.method=offline"],
    "offline, listwise": ["extract.method=offline", LISTWISE],
    "llm": ["extract.method=llm"],
    "llm, listwise": ["extract.method=llm", LISTWISE],
    "hybrid, all units": ["extract.method=hybrid", "extract.hybrid_share=1"],
}
#: What a strong chat model chose for the questions of musique.
CHOICES = HERE / "musique_listwise.jsonl"
METHODS = ("hybrid", "graph")
COLUMNS = ("recall@2", "recall@5", "mrr")
BAR, LISTWISE_BAR = 0.02, 0.84


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared/bench/musique")
    parser.add_argument("--work", type=Path, help="keep the index here, with its vectors")
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    for name in ("queries.jsonl", FINDINGS):
        if not (options.data / name).is_file():
            sys.exit(f"error: {options.data / name} is not there; say where the set is: --data")
    try:
        with work_folder(options.work) as work:
            copy_input(options.data, work)
            play = functools.partial(reply_to, str(options.data))
            with loopback(play) as server:
                results = {way: measured(work, options.data, way, server) for way in WAYS}
    except GraphkbError as error:
        sys.exit(f"error: {error}")
    print(report(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), "utf-8")


def measured(root: Path, data: Path, way: str, server: Loopback) -> dict[str, Any]:
    """Indexes the project in one way and asks all questions."""
    questions = read_questions(data / "queries.jsonl")
    settings = [f"llm.base_url={server.url}", "llm.model=gpt-3.5-turbo", *WAYS[way]]
    settings += [f"{part}.method=offline" for part in ("describe", "report")]
    settings += ["embed.when=now"]
    before = server.counts()
    with contextlib.closing(graphkb.open(root, settings)) as project, shown_progress() as progress:
        clock = StageClock(progress)
        result = project.index(clock)
        for remark in (*result.warnings, *result.incomplete):
            print(f"warning: {remark}", file=sys.stderr)
        evaluation = run_evaluation(project, questions, METHODS, (2, 5), progress)
    after = server.counts()
    return {
        "units": result.counts["text_units"],
        "entities": result.counts["entities"],
        "relationships": result.counts["relationships"],
        "extract_cpu": clock.cpu,
        **{key: after[key] - before[key] for key in ("calls", "prompt_tokens", "reply_tokens")},
        "means": {found.method: dict(found.mean) for found in evaluation.methods},
    }


class StageClock:
    """CPU seconds of this process while the extract stage shows progress."""

    def __init__(self, shown: ProgressDisplay) -> None:
        self.shown, self.cpu = shown, 0.0
        self._stage, self._started = "", 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.process_time()
        if self._stage == "extract":
            self.cpu += now - self._started
        self._stage, self._started = stage, now
        self.shown(stage, done, total)


def report(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Retrieval and cost of each way, and how far the model's ways lie above the first."""
    rows = [("extraction", "method", *COLUMNS, "entities", "relationships")]
    costs = [("extraction", "calls a unit", "prompt tokens a unit", "reply tokens a unit",
              "CPU ms a unit (extract, this process)")]  # fmt: skip
    for way, found in results.items():
        for method in METHODS:
            means = [f"{found['means'][method][column]:.3f}" for column in COLUMNS]
            counts = (str(found["entities"]), str(found["relationships"]))
            rows.append((way, method, *means, *counts))
        units = found["units"]
        per_unit = [found[key] / units for key in ("calls", "prompt_tokens", "reply_tokens")]
        costs.append(
            (way, f"{per_unit[0]:.2f}", *(f"{value:.0f}" for value in per_unit[1:]),
             f"{1000 * found['extract_cpu'] / units:.1f}")
        )  # fmt: skip
    offline = results["offline"]["means"]["hybrid"]["recall@5"]
    verdicts = []
    for way in results:
        if WAYS[way][-1] == LISTWISE:
            reached = results[way]["means"]["hybrid"]["recall@5"]
            met = "met" if reached >= LISTWISE_BAR else "MISSED"
            verdicts.append(f"- {way}: recall@5 {reached:.3f}, bar {LISTWISE_BAR}: {met}")
        if WAYS[way][-1] == LISTWISE or way == "offline":
            continue
        gain = results[way]["means"]["hybrid"]["recall@5"] - offline
        met = "met" if gain >= BAR else "MISSED"
        verdicts.append(f"- {way}: recall@5 {gain:+.3f} against offline, bar +{BAR}: {met}")
    note = "The last way asks what the one before asked: its replies come from the cache."
    tables = aligned(rows, left=(0, 1)), aligned(costs, left=(0,))
    return "\n".join([tables[0], "", *verdicts, "", tables[1], "", note])


def reply_to(data: str, body: Mapping[str, Any]) -> str:
    """What was recorded of the passage in a request, or chosen for its question, in the form that
    was asked for."""
    content = str(body["messages"][-1]["content"])
    if "<passages>" in content:
        return json.dumps({"passages": _chosen(data, content)})
    found = re.search(r"<document>\n(.*)\n</document>", content, re.S)
    passage = found.group(1) if found else ""
    title, _, text = passage.partition("\n\n")
    recorded = _recorded(data)
    row = recorded.get((name_key(title), _opening(text))) or recorded.get(("", _opening(text)), {})
    triples = [triple for triple in row.get("triples", ()) if len(triple) == 3]
    reply = {
        "entities": [[name, "", ""] for name in row.get("entities", ())],
        "relationships": triples,
        "claims": [],
    }
    return json.dumps(reply, ensure_ascii=False)


@functools.lru_cache(maxsize=1)
def _recorded(data: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Recorded findings by title and the beginning of the text, and by the text alone."""
    lines = (Path(data) / FINDINGS).read_text("utf-8").splitlines()
    by_id = {row["id"]: row for row in map(json.loads, lines)}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for file in sorted((Path(data) / "input").glob("*.jsonl")):
        for document in map(json.loads, file.read_text("utf-8").splitlines()):
            row = by_id.get(document["id"], {})
            opening = _opening(document["text"])
            found[name_key(document["title"]), opening] = row
            found.setdefault(("", opening), row)
    return found


def _chosen(data: str, content: str) -> list[int]:
    """Numbers of the passages shown that are of a document chosen for the question."""
    passages, _, question = content.rpartition("\n\nQuestion: ")
    shown = {
        _opening(text): int(number)
        for number, text in re.findall(r"^(?:<passages>)?\[(\d+)\] (.*)$", passages, re.M)
    }
    chosen = _choices().get(question.strip(), [])
    numbers = (shown.get(_document_openings(data)[document]) for document in chosen)
    return [number for number in numbers if number is not None]


@functools.lru_cache(maxsize=1)
def _choices() -> dict[str, list[str]]:
    """Chosen documents by question."""
    if not CHOICES.is_file():
        return {}
    rows = map(json.loads, CHOICES.read_text("utf-8").splitlines())
    return {row["query"]: row["passages"] for row in rows}


@functools.lru_cache(maxsize=1)
def _document_openings(data: str) -> dict[str, str]:
    """How the passage of each document begins as it is shown: its title, then its text."""
    lines = (
        line
        for file in sorted((Path(data) / "input").glob("*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    )
    return {
        document["id"]: _opening(f"{document['title']} {document['text']}")
        for document in map(json.loads, lines)
    }


def _opening(text: str) -> str:
    return "".join(filter(str.isalnum, text[:200])).lower()


if __name__ == "__main__":
    main()
