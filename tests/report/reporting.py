"""A model that writes reports: what it says follows from what it is shown."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from model_server import said

ROW = re.compile(r"^(\d+) \| (.*)$", re.MULTILINE)


def shown(body: dict[str, Any]) -> dict[int, str]:
    """The numbered rows that a request shows."""
    user = body["messages"][-1]["content"]
    return {int(number): text for number, text in ROW.findall(user)}


def report(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A report on a request's rows: each of the first three is a finding."""
    rows = shown(body)
    mark = hashlib.sha256(body["messages"][-1]["content"].encode()).hexdigest()[:8]
    findings = [
        {"summary": text[:60], "explanation": f"It is written: {text}", "sources": [number]}
        for number, text in list(rows.items())[:3]
    ]
    whole = {
        "title": f"Report {mark}", "summary": f"Told of {len(rows)} things.", "rating": 8.5,
        "rating_explanation": f"For {mark}.", "findings": findings,
    }  # fmt: skip
    return {**whole, **changes}


def write_report(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """What a well-behaved model answers."""
    return said(json.dumps(report(body), ensure_ascii=False))
