"""A small indexed collection and models that read prompts, for the methods that gather points."""

from __future__ import annotations

import copy
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model_server import ModelServer, Play, said

from graphkb.llm.model import Model, make_model
from graphkb.project import Project
from graphkb.query.ask import Ask
from graphkb.query.points import Gathered
from graphkb.search.snapshot import Snapshot
from graphkb.settings import LanguageModel
from graphkb.text.sentences import sentence_spans
from graphkb.types import Context, Passage

DOCUMENTS = {
    "osprey.md": (
        "# Osprey\n\nAda Lin leads the Osprey project at Bluestone. Osprey builds tidal turbines "
        "in Bergen. Ada Lin reports to Marta Voss. Marta Voss founded Bluestone in 2014.\n"
    ),
    "valve.md": (
        "# Valve failure\n\nThe valve of turbine T-07 failed on 3 May 2021. Northern Seals "
        "replaced the valve. Northern Seals charged Bluestone 4,100 euros. Turbine T-07 stood "
        "still for nine days.\n"
    ),
    "oil.md": (
        "# Hydraulic oil\n\nThe oil Fjordol 32 swelled the seals of turbine T-07. Northern Seals "
        "advised the compound HX-7. Otto Brandt tested HX-7 in Kiel.\n"
    ),
    "harbour.md": (
        "# Harbour\n\nThe Kiel Harbour Authority rents Pier 4 to Bluestone. Otto Brandt signed the "
        "lease of Pier 4. The lease of Pier 4 ends in December 2027.\n"
    ),
    "bakery.md": (
        "# Rye bakery\n\nHelga Rye opened the Rye Bakery in Ghent. The Rye Bakery sells sourdough "
        "bread. Jonas Peeters bakes sourdough bread for the Rye Bakery.\n"
    ),
    "market.md": (
        "# Ghent market\n\nJonas Peeters rents a stall on Ghent Market. Ghent Market opens on "
        "Fridays. Helga Rye chairs Ghent Market.\n"
    ),
    "公司.md": (
        "# 青石公司\n\n陈明是青石公司的工程师。青石公司总部设在杭州。陈明负责云账系统的退款模块。"
        "青石公司由沈若衡创办于2017年。\n"
    ),
    "退款.md": (
        "# 退款规则\n\n云账系统的退款在七天内到账。陈明批准了云账系统的退款规则。"
        "栖岩资本投资了青石公司。栖岩资本总部设在苏州。\n"
    ),
}
SETTINGS = ("embed.when=off", "cluster.max_cluster_size=3")

_LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def make_snapshot(root: Path, *settings: str, more: Mapping[str, str] | None = None) -> Snapshot:
    """The collection above and ``more`` documents, indexed at ``root`` without vectors."""
    (root / "input").mkdir(parents=True)
    for name, text in {**DOCUMENTS, **(more or {})}.items():
        (root / "input" / name).parent.mkdir(exist_ok=True)
        (root / "input" / name).write_text(text, "utf8")
    project = Project(root, [*SETTINGS, *settings])
    project.index()
    return project._with_text()


def with_settings(snapshot: Snapshot, section: str, **changes: Any) -> Snapshot:
    """The same snapshot with other settings."""
    changed = copy.copy(snapshot)
    part = getattr(snapshot.settings, section).model_copy(update=changes)
    changed.settings = snapshot.settings.model_copy(update={section: part})
    return changed


def make_asker(url: str, folder: Path, **options: Any) -> Model:
    """A model at the server that gives up at once, with a cache of its own."""
    told = {"max_retries": 0, "structured": "text", **options}
    model = make_model(folder, LanguageModel(model="m", base_url=url, **told))
    assert model is not None
    return model


def question(text: str, model: Model | None = None, **more: Any) -> Ask:
    """A question as a method gets it."""
    return Ask(text, text, model=model, **more)


def system_of(body: dict[str, Any]) -> str:
    """The system message of a request."""
    return "\n".join(m["content"] for m in body["messages"] if m["role"] == "system")


def user_of(body: dict[str, Any]) -> str:
    """The rest of a request."""
    return "\n".join(m["content"] for m in body["messages"] if m["role"] != "system")


def lines_of(body: dict[str, Any]) -> dict[int, str]:
    """The numbered sources that a request shows."""
    return {int(number): text for number, text in _LINE.findall(user_of(body))}


def kind_of(body: dict[str, Any]) -> str:
    """What a request asks for: ratings, questions, follow_ups or points."""
    system = system_of(body)
    kinds = ("ratings", "questions", "follow_ups", "points")
    return next(kind for kind in kinds if f'"{kind}": [' in system)


def reader(
    *words: str, follow_ups: Callable[[str], list[str]] = lambda prompt: [], score: int = 90
) -> Play:
    """A model that takes the first sentence of each line which holds one of the words for a
    point, and rates such lines 9."""

    def telling(text: str) -> str:
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        return next(s for s in sentences if any(word in s for word in words))

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        lines = lines_of(body)
        kept = [n for n, text in lines.items() if any(word in text for word in words)]
        kind = kind_of(body)
        if kind == "ratings":
            ratings = [{"id": n, "rating": 9 if n in kept else 1} for n in lines]
            return said(json.dumps({"ratings": ratings}))
        if kind == "questions":
            return said(json.dumps({"questions": []}))
        points = [{"description": telling(lines[n]), "score": score, "sources": [n]} for n in kept]
        reply: dict[str, Any] = {"points": points}
        if kind == "follow_ups":
            reply["follow_ups"] = follow_ups(user_of(body))
        return said(json.dumps(reply, ensure_ascii=False))

    return play


def while_it_hangs(
    server: ModelServer,
    gather: Callable[[float], Context],
    seconds: float,
    hangs: Callable[[dict[str, Any]], bool] = lambda body: True,
    read: Play = lambda body: said("{}"),
) -> Context:
    """What ``gather`` finds until a deadline in so many seconds, of a model that answers no
    request that ``hangs`` picks and reads the others; it may not take much longer."""
    over = threading.Event()

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if hangs(body):
            over.wait(20)
        return read(body)

    server.play = play
    started = time.monotonic()
    context = gather(started + seconds)
    took = time.monotonic() - started
    over.set()
    assert took < seconds + 2.5
    return context


def check_context(snapshot: Snapshot, context: Context) -> None:
    """Every point cites passages, and every passage is exactly what its document says there."""
    rows = snapshot.store.read("documents", ("id", "text"))
    texts = dict(zip(rows["id"], rows["text"], strict=True))
    for passage in context.passages:
        span = texts[passage.document_id][passage.char_start : passage.char_end]
        assert passage.text == span
    for point in context.points:
        assert point.passages
        assert 0 < point.score <= 100
        assert all(0 <= place < len(context.passages) for place in point.passages)


def passages_of(found: Context | Gathered) -> list[list[str]]:
    """The texts that each point quotes."""
    return [[found.passages[place].text for place in point.passages] for point in found.points]


def passage_of_text(text: str, title: str, path: str, columns: tuple[str, ...] = ()) -> Passage:
    """A text unit that is all of its document."""
    return Passage(
        kind="text_unit",
        text=text,
        score=1.0,
        text_unit_id="u",
        document_id="d",
        title=title,
        path=path,
        heading="",
        page=None,
        char_start=0,
        char_end=len(text),
        columns=columns,
    )
