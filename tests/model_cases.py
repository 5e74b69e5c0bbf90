"""Answers of servers and replies of models from the case files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from model_server import Raw

from graphkb.llm.model import Prompt

REPLIES = Path(__file__).parent / "data" / "cases" / "replies"


def ask(text: str = "陈明是谁？", **fields: Any) -> Prompt:
    """A short question."""
    return Prompt("answer", "be short", text, **fields)


def case(name: str) -> Raw:
    """A server's answer of the case files, byte for byte."""
    data = json.loads((REPLIES / "http" / f"{name}.json").read_text("utf-8"))
    body = data.get("raw_body")
    text = json.dumps(data["body"], ensure_ascii=False) if body is None else body
    headers = {"Content-Type": "application/json", **data["headers"]}
    cut = int(headers.get("Content-Length", 0)) > len(text.encode())
    return Raw((text.encode(),), data["status"], headers, close=cut)


def error(status: int, message: str, **headers: str) -> Raw:
    """A server's error with this message."""
    body = json.dumps({"error": {"message": message}}, ensure_ascii=False)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Raw((body.encode(),), status, {"Content-Type": "application/json", **named})
