"""References of a model's report are checked against what it was shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphkb.report.checked import check_report
from graphkb.report.draft import Draft, DraftFinding
from graphkb.report.evidence import Shown

ROWS = (
    Shown(1, "Reports", 5, "Port Lammer | The port has two quays.", ("u5", "u6")),
    Shown(2, "Entities", 0, "Ada Lin | PERSON | An engineer of tides.", ("u1",)),
    Shown(3, "Relationships", 0, "Ada Lin | Harbor Project | leads", ("u1", "u2")),
    Shown(4, "Sources", 0, "Northwind Tidal Energy runs the Harbor Project.", ("u3",)),
    Shown(5, "Sources", 1, "陈明制定了退款规则，青石云账按退款规则处理申请。", ("u4",)),
)
NUMBERS = {f"u{i}": 10 + i for i in range(9)}


def checked(*findings: DraftFinding, rating: float | None = 7.0, limit: int = 6) -> Any:
    draft = Draft("Harbor", "A project.", rating, "Because.", findings)
    return check_report(draft, ROWS, NUMBERS, 3.5, limit)


def test_a_checked_report_reads_like_this() -> None:
    found = checked(
        DraftFinding("Ada leads.", "Ada Lin leads it.", (3,)),
        DraftFinding("Two quays.", "The port has two.", (1, 2)),
    )
    assert found.content["full_content"] == (
        "# Harbor\n\nA project. [Data: Sources (11, 12, 15, 16)]\n\n"
        "## Ada leads.\n\nAda Lin leads it. [Data: Sources (11, 12)]\n\n"
        "## Two quays.\n\nThe port has two. [Data: Sources (15, 16, 11)]\n"
    )
    findings = json.loads(found.content["findings"])
    assert [finding["text_unit_ids"] for finding in findings] == [["u1", "u2"], ["u5", "u6", "u1"]]
    whole = json.loads(found.content["full_content_json"])
    assert whole["findings"] == findings
    assert whole["rating"] == found.content["rank"] == 7.0
    assert (found.n_unknown, found.n_dropped) == (0, 0)


def test_references_to_what_was_not_shown_are_removed_and_counted() -> None:
    found = checked(DraftFinding("Ada leads.", "She does.", (99, 3, 6)))
    assert json.loads(found.content["findings"])[0]["text_unit_ids"] == ["u1", "u2"]
    assert (found.n_unknown, found.n_dropped) == (2, 0)


@pytest.mark.parametrize(
    ("said", "units"),
    [
        ("Northwind Tidal Energy is in charge of the Harbor Project.", ["u3"]),
        ("退款规则由陈明制定。", ["u4"]),
    ],
)
def test_a_finding_without_references_gets_those_of_rows_that_say_so(
    said: str, units: list[str]
) -> None:
    for numbers in ((), (77,)):
        found = checked(DraftFinding(said, said, numbers))
        assert json.loads(found.content["findings"])[0]["text_unit_ids"] == units
        assert found.n_unknown == len(numbers)


@pytest.mark.parametrize("said", ["Elephants sleep standing.", "The Project.", "大象站着睡觉。"])
def test_a_finding_that_rests_on_nothing_is_dropped(said: str) -> None:
    kept = DraftFinding("Ada leads.", "Ada Lin leads it.", (3,))
    found = checked(DraftFinding(said, said, ()), kept)
    assert [f["summary"] for f in json.loads(found.content["findings"])] == ["Ada leads."]
    assert found.n_dropped == 1
    assert checked(DraftFinding(said, said, ())) is None


def test_without_a_rating_the_importance_stands_and_findings_are_limited() -> None:
    many = [DraftFinding(f"F{i}", "Ada Lin leads it.", (3,)) for i in range(9)]
    found = checked(*many, rating=None, limit=2)
    assert found.content["rank"] == 3.5
    assert [f["summary"] for f in json.loads(found.content["findings"])] == ["F0", "F1"]
