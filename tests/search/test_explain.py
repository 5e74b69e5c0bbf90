"""Why a document was, or was not, returned."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from embed.embeddings_server import embeddings_server
from query.gathering import with_settings
from rerank_server import rerank_server
from search.documents import make_project

from graphkb.cli import main
from graphkb.errors import UsageError
from graphkb.explanation import Explanation
from graphkb.project import Project
from graphkb.search.explain import explain
from graphkb.search.fuse import adaptive_weights, lead_of
from graphkb.search.hybrid import search
from graphkb.search.path import shortest_path
from graphkb.search.rerank import Reranking
from graphkb.view.explain import explanation_html, explanation_lines

ASKED = "Who approves a refund of the Osprey project?"


@pytest.mark.parametrize(
    ("text", "document", "word"),
    [(ASKED, "faq/refund.md", "osprey"), ("谁批准超过五百元的退款？", "zh/退款.md", "批准")],
)
def test_a_hit_is_explained_by_what_search_says_of_it(
    catalogue: Project, text: str, document: str, word: str
) -> None:
    found = catalogue.explain(text, document)
    hits = catalogue.search(text)
    (hit,) = (hit for hit in hits if hit.path == document)
    assert found.returned
    assert (found.rank, found.text_unit_id, found.path) == (hit.rank, hit.text_unit_id, document)
    assert found.fused_score == pytest.approx(hit.score)
    legs = {leg.leg: leg for leg in found.legs}
    for leg, via in hit.via.items():
        assert (legs[leg].rank, legs[leg].score) == (via.rank, via.score)
    words = [(hit.text_unit_id, hit.score) for hit in catalogue.search(text, 50, method="lexical")]
    walk = catalogue._current().graph.search(text, 50, words)
    documents = catalogue._current().graph.documents(unit_id for unit_id, _ in words)
    weights = adaptive_weights(walk.trust, walk.coverage, lead_of(words, documents))
    assert legs["dense"].problem
    assert legs["lexical"].weight == pytest.approx(weights["lexical"] + weights["dense"])
    (named,) = (one for one in found.words if one.token == word)
    assert named.in_document
    assert named.in_unit
    assert named.idf == pytest.approx(catalogue._current().vocabulary.idf([word])[word])
    assert "among the hits" in found.advice


def test_a_leg_that_did_not_put_it_forward_gives_its_score_all_the_same(
    catalogue: Project,
) -> None:
    text = "turbine manual refund of travel costs"
    full = catalogue.explain(text, "travel.md")
    few = copy.copy(catalogue)
    few._snapshot = with_settings(catalogue._current(), "search", candidates=1, top_k=1)
    few._snapshot.narrowed = {}
    whole = {leg.leg: leg for leg in full.legs}
    found = explain(few._snapshot, text, "faq/shipping.md", top_k=1)
    (lexical,) = (leg for leg in found.legs if leg.leg == "lexical")
    assert lexical.rank is None
    assert lexical.candidates == 1
    run = catalogue.search(text, top_k=50, method="lexical")
    (exact,) = (hit.score for hit in run if hit.path == "faq/shipping.md")
    assert lexical.score == pytest.approx(exact)
    assert lexical.lowest == pytest.approx(whole["lexical"].score)
    assert not found.returned


def test_the_way_leads_from_what_is_named_through_what_is_said(catalogue: Project) -> None:
    found = catalogue.explain("What does Ada Lin lead?", "plain.md")
    assert [one.entity for one in found.named] == ["Ada Lin"]
    assert not found.named[0].in_document
    assert found.named[0].how == "exact"
    assert found.links[0].source == "Ada Lin"
    assert found.links[-1].target == "Founding"
    assert found.links[-1].kind == "text unit"
    for one, after in zip(found.links, found.links[1:], strict=False):
        assert one.target == after.source


def test_the_shortest_path_is_the_one_networkx_finds(catalogue: Project) -> None:
    import networkx as nx

    graph = catalogue._current().graph
    indptr, indices = graph.arrays["indptr"], graph.arrays["indices"]
    whole = nx.Graph()
    whole.add_nodes_from(range(len(indptr) - 1))
    for node in range(len(indptr) - 1):
        whole.add_edges_from((node, int(n)) for n in indices[indptr[node] : indptr[node + 1]])
    for start in range(graph.n_units, len(indptr) - 1):
        for target in range(graph.n_units):
            path = shortest_path(graph.arrays, [start], [target])
            if not nx.has_path(whole, start, target):
                assert path == []
            elif (steps := nx.shortest_path_length(whole, start, target)) <= 6:
                assert (path[0], path[-1], len(path)) == (start, target, steps + 1)
                assert nx.is_path(whole, path)


CUTS: list[tuple[str, dict[str, Any], str, str]] = [
    ("top_k", {"top_k": 1}, "behind the first 1", "ask for more hits"),
    ("candidates", {"candidates": 1, "top_k": 1}, "no leg put it forward", "search.candidates"),
]


@pytest.mark.parametrize(("cut", "options", "reason", "advice"), CUTS)
def test_where_it_was_cut_is_said_with_what_to_do(
    catalogue: Project, cut: str, options: dict[str, Any], reason: str, advice: str
) -> None:
    snapshot = with_settings(catalogue._current(), "search", **options)
    found = explain(snapshot, "refund within 14 days", "travel.md")
    assert not found.returned
    assert found.cut == cut
    assert reason in found.reason
    assert advice in found.advice


def test_a_document_without_a_word_of_the_question_is_told_so(catalogue: Project) -> None:
    found = catalogue.explain("超过五百元的退款", "plain.md")
    assert found.cut == "candidates"
    assert not any(word.in_document for word in found.words)
    assert "shares no words" in found.advice


def test_the_share_of_a_document_cuts_its_other_text_units(catalogue: Project) -> None:
    text = "turbine mechanic oil of team 3"
    snapshot = with_settings(catalogue._current(), "search", max_per_doc=1)
    best = explain(snapshot, text, "manual.md")
    assert best.returned
    hits = catalogue.search(text, top_k=50)
    other = next(h for h in hits if h.path == "manual.md" and h.text_unit_id != best.text_unit_id)
    found = explain(snapshot, text, "manual.md", unit=other.text_unit_id[:12], top_k=50)
    assert found.text_unit_id == other.text_unit_id
    assert (found.cut, found.rank) == ("max_per_doc", None)
    assert "max_per_doc" in found.advice


def test_a_filter_that_leaves_it_out_is_named(catalogue: Project) -> None:
    found = catalogue.explain("退款规则", "faq/refund.md", where="language = 'zh'")
    assert found.cut == "filter"
    assert "language = 'zh'" in found.reason
    inside = catalogue.explain("退款规则", "退款.md", where="language = 'zh'")
    assert inside.returned


def test_what_a_reranker_leaves_out_is_said(catalogue: Project) -> None:
    text = "refund within 14 days"
    with rerank_server(relevance=lambda asked, passage: 0.9 if "14 days" in passage else 0.1) as at:
        snapshot = with_settings(
            catalogue._current(),
            "rerank",
            method="http",
            base_url=at.base_url,
            model="m",
            threshold=0.5,
        )
        kept = explain(snapshot, text, "faq/refund.md", reranking=Reranking(None))
        lost = explain(snapshot, text, "travel.md", reranking=Reranking(None))
    assert (kept.returned, kept.rerank_rank, kept.rerank_score) == (True, 1, 0.9)
    assert (lost.returned, lost.cut) == (False, "rerank")
    assert lost.fused_rank is not None
    assert "rerank.threshold" in lost.advice


def test_filters_and_explanations_know_the_dense_leg(tmp_path: Path) -> None:
    with embeddings_server() as server:
        settings = [
            "embed.provider=openai",
            f"embed.base_url={server.url}",
            "embed.model=m",
            "embed.when=now",
        ]
        with make_project(tmp_path, *settings) as kb:
            snapshot = kb._current()
            found = kb.search("退款", method="dense", where="language = 'zh'", top_k=2)
            assert {hit.path for hit in found} == {"zh/退款.md", "zh/公司.md"}
            few = with_settings(snapshot, "search", candidates=1, top_k=1)
            told = explain(few, "refund within 14 days", "zh/公司.md", top_k=1)
            run = kb.search("refund within 14 days", top_k=100, method="dense")
            # A question whose words stand nowhere is compared within each language.
            foreign = "rückerstattung"
            compared = explain(few, foreign, "zh/公司.md", top_k=1)
            every = search(few, foreign, 100, "dense")
    (exact,) = (hit.score for hit in run if hit.path == "zh/公司.md")
    (dense,) = (leg for leg in told.legs if leg.leg == "dense")
    assert (dense.rank, dense.candidates, dense.problem) == (None, 1, "")
    assert dense.score == pytest.approx(exact, abs=1e-5)
    assert dense.lowest == pytest.approx(run[0].score, abs=1e-5)
    assert any("compared within en, zh" in step.detail for step in every.trace)
    (exact,) = (hit.score for hit in every if hit.path == "zh/公司.md")
    (dense,) = (leg for leg in compared.legs if leg.leg == "dense")
    assert dense.score == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("name", ["faq/refund.md", "Refund rules", "refund rules", "refund.md"])
def test_a_document_is_found_by_path_title_or_file_name(catalogue: Project, name: str) -> None:
    assert catalogue.explain(ASKED, name).path == "faq/refund.md"


@pytest.mark.parametrize(
    ("name", "near"),
    [("faq/refnd.md", "'faq/refund.md'"), ("公司简价", "'公司简介'"), ("zh", "'zh/退款.md'")],
)
def test_an_unknown_document_gives_near_names(catalogue: Project, name: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"no document has .*{name}.* did you mean .*{near}"):
        catalogue.explain(ASKED, name)


def test_an_unknown_text_unit_gives_those_there_are(catalogue: Project) -> None:
    unit = catalogue.explain(ASKED, "travel.md").text_unit_id
    with pytest.raises(UsageError, match=f"'zzz' is no text unit of travel.md; there are: {unit}"):
        catalogue.explain(ASKED, "travel.md", unit="zzz")


def test_it_reads_well_in_a_terminal_and_a_notebook(catalogue: Project) -> None:
    found = catalogue.explain("What does Ada Lin lead <b>?", "plain.md", top_k=1)
    text = "\n".join(explanation_lines(found))
    for part in (
        "Founding  plain.md, text unit",
        "Not returned (cut by ",
        "Words of the question:\n  ",
        "Legs:\n  lexical ",
        "“Ada Lin” → Ada Lin  exact",
        "Way through the graph:\n  Ada Lin —",
        "Advice: ",
    ):
        assert part in text
    assert str(found) == text
    page = found._repr_html_()
    assert page == explanation_html(found)
    assert "Ada Lin —" in page
    assert "\x1b" not in page


def test_text_of_documents_cannot_steer_a_terminal_or_a_page(project: Project | Any) -> None:
    evil = "Refund \x1b[2J <script>alert(1)</script>"
    (project / "input" / "evil.txt").write_text(evil, "utf8")
    with Project(project, ["embed.when=off"]) as kb:
        kb.index()
        found = kb.explain("refund alert", "evil.txt")
    assert isinstance(found, Explanation)
    assert "\x1b" not in "\n".join(explanation_lines(found))
    assert "<script>" not in explanation_html(found)


def test_the_command_prints_lines_json_and_one_line_of_error(catalogue: Project) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        options = ["--root", str(catalogue.root), "--set", "embed.when=off"]
        result = CliRunner().invoke(main, ["explain", *options, *arguments])
        return result.exit_code, result.stdout, result.stderr

    code, out, told = run(ASKED, "--doc", "faq/refund.md")
    assert (code, told) == (0, "")
    assert "Returned: hit 1 of " in out
    code, out, _ = run("谁批准退款", "--doc", "退款规则", "--json", "-k", "3")
    data = json.loads(out)
    assert code == 0
    assert data["returned"]
    assert data["top_k"] == 3
    assert data["path"] == "zh/退款.md"
    code, _, told = run(ASKED, "--doc", "nowhere.md")
    assert code == 2
    assert told.startswith("error: no document has the path, id or title 'nowhere.md'")
    assert told.count("\n") == 1
