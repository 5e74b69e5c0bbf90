"""Questions about the whole begin with what a model wrote about the largest parts."""

from __future__ import annotations

from pathlib import Path

import fixed_model
import pytest
import small
from model_server import model_server, prompt_of, said

from graphkb.project import Project
from graphkb.query.global_reports import model_reports


@pytest.mark.parametrize(
    ("question", "first"),
    [("What are the main themes?", True), ("主要主题有哪些？", True),
     ("陈明在青石公司做什么工作？", False)],
)  # fmt: skip
def test_overviews_come_first_unless_the_question_has_content_words(
    tmp_path: Path, question: str, first: bool
) -> None:
    small.make(tmp_path)
    with model_server(lambda body: said(fixed_model.play(body))) as server:
        own = [f"llm.base_url={server.url}", "llm.model=fixed", "embed.when=off",
               "report.model_share=0.4"]  # fmt: skip
        with Project(tmp_path, own) as project:
            project.index()
            (overview,) = model_reports(project._current(), level=2)
            server.requests.clear()
            project.query(question, method="global")
    shown = prompt_of(server.requests[0])
    title = overview["title"]
    assert title in shown
    others = [
        row["title"]
        for row in project.table("community_reports").to_dicts()
        if row["method"] == "offline" and row["title"] in shown
    ]
    assert others
    assert all(shown.index(title) < shown.index(other) for other in others) is first
