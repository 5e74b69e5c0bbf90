"""What a language model costs: calls, tokens, CPU and time, against a server that always answers.

    python benchmarks/model.py [--data ../shared/bench]

The first 800 passages of 2wiki are indexed with a deterministic model on loopback: once without
latency, for the CPU time that each text unit takes, and once with 200 ms a call and 16 in flight,
for the wall time against the ideal of calls x 0.2 s / 16. Then one document is added, and nothing
is changed. Vectors are off: their cost is measured in speed.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from fixed_model import play
from loopback import Loopback, loopback
from retrieval import HERE, set_folder, work_folder

from graphkb.view.evaluation import aligned

PASSAGES = 800
LATENCY, IN_FLIGHT = 0.2, 16
ADDED = {
    "id": "added",
    "title": "Marie Curie",
    "text": "Marie Curie was born in Warsaw and worked with Pierre Curie in Paris. "
    "She won the Nobel Prize in Physics in 1903.",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    source = set_folder(options.data, "2wiki")
    results = {}
    with work_folder(None) as work:
        for name, latency in (("no latency", 0.0), ("200 ms", LATENCY)):
            root = work / name.replace(" ", "-")
            (root / "input").mkdir(parents=True)
            with (source / "input" / "corpus.jsonl").open("rb") as corpus:
                lines = list(itertools.islice(corpus, options.passages))
            (root / "input" / "corpus.jsonl").write_bytes(b"".join(lines))
            with loopback(play, latency) as server:
                results[name] = runs(root, server)
    print(report(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), "utf-8")


def runs(root: Path, server: Loopback) -> dict[str, dict[str, float]]:
    """A first run, one with a document more, one with nothing changed; each a new process."""
    found = {"first": measured(root, server)}
    (root / "input" / "added.jsonl").write_text(json.dumps(ADDED) + "\n", "utf-8")
    found["one more"] = measured(root, server)
    found["unchanged"] = measured(root, server)
    return found


def measured(root: Path, server: Loopback) -> dict[str, float]:
    """Seconds, CPU seconds of the index process and its children, and what it asked."""
    before = server.counts()
    cpu, started = child_cpu(), time.perf_counter()
    done = subprocess.run(
        [
            sys.executable, "-m", "graphkb", "index", "--root", str(root), "--json",
            "--set", f"llm.base_url={server.url}", "--set", "llm.model=fixed",
            "--set", f"llm.concurrency={IN_FLIGHT}", "--set", "embed.when=off",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    seconds = time.perf_counter() - started
    after = server.counts()
    result: dict[str, Any] = json.loads(done.stdout)
    return {
        "seconds": seconds,
        "stages": sum(result["seconds"].values()),
        "cpu": child_cpu() - cpu,
        "units": result["counts"]["text_units"],
        **{f"{key} s": value for key, value in result["seconds"].items()},
        **{key: after[key] - before[key] for key in after},
    }


def child_cpu() -> float:
    """CPU seconds of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def report(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """The table."""
    rows = [("server", "run", "calls", "prompt tokens a unit", "CPU ms a unit", "s", "of ideal")]
    for name, found in results.items():
        for run, row in found.items():
            ideal = row["calls"] * LATENCY / IN_FLIGHT
            share = row["seconds"] / ideal if name != "no latency" and run == "first" else None
            rows.append(
                (
                    name,
                    run,
                    f"{row['calls']:.0f}",
                    f"{row['prompt_tokens'] / row['units']:.0f}",
                    f"{1000 * row['cpu'] / row['units']:.1f}",
                    f"{row['seconds']:.2f}",
                    f"{share:.2f}" if share else "",
                )
            )
    return aligned(rows)


if __name__ == "__main__":
    main()
