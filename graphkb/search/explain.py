"""Why a document was, or was not, returned: retrieval done once more, with an eye on it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphkb.errors import GraphkbError, UsageError
from graphkb.explanation import Explanation, LegView, Link, Named, Word
from graphkb.search.advice import advice_for
from graphkb.search.assemble import assemble, capped
from graphkb.search.dense import backgrounds, search_beside, search_dense
from graphkb.search.fuse import lead_of, leg_weights
from graphkb.search.graph import GraphRun
from graphkb.search.hybrid import COMPARED, RankedUnit, Retrieval, Run, fused_units
from graphkb.search.path import entity_titles, links_of, shortest_path
from graphkb.search.rerank import Reranking
from graphkb.search.rerank.apply import rerank_units
from graphkb.search.selection import Selection, narrow_to
from graphkb.search.sheets import sheet_place
from graphkb.search.snapshot import Snapshot
from graphkb.text.segment import query_tokens
from graphkb.types import Via


def explain(
    snapshot: Snapshot,
    question: str,
    document: str,
    unit: str = "",
    top_k: int | None = None,
    reranking: Reranking | None = None,
) -> Explanation:
    """Why ``document`` (path, id or title) was, or was not, among the ``top_k`` hits of the
    hybrid search; ``unit`` looks at one of its text units instead of the one that came nearest.

    Raises UsageError for a document or text unit that is not there, with near names.
    """
    row = find_document(snapshot, document)
    return _Look(snapshot, question, row, unit, top_k, reranking).explanation()


def find_document(snapshot: Snapshot, name: str) -> Mapping[str, Any]:
    """id, title and path of the document of that path, id or title, case folded where it must
    be. Raises UsageError when there is none, or several."""
    rows = snapshot.store.read("documents", ("id", "title", "path")).to_dicts()
    keys = ("path", "id", "title")
    found = [row for row in rows if name in (row[key] for key in keys)]
    folded = name.casefold()
    found = found or [r for r in rows if folded in (str(r[key]).casefold() for key in keys)]
    found = found or [r for r in rows if str(r["path"]).casefold().endswith(f"/{folded}")]
    if len(found) == 1:
        return found[0]
    if found:
        paths = ", ".join(sorted({f"{row['path']} ({row['id']})" for row in found})[:5])
        raise UsageError(f"{name!r} names {len(found)} documents; give one of their ids: {paths}")
    known = {str(row[key]).casefold(): str(row[key]) for row in rows for key in ("title", "path")}
    near = difflib.get_close_matches(folded, known, n=3, cutoff=0.4)
    near = near or [key for key in known if folded and folded in key][:3]
    hint = f"; did you mean {' or '.join(repr(known[key]) for key in near)}?" if near else ""
    raise UsageError(f"no document has the path, id or title {name!r}{hint}")


class _Look:
    """One question and one document; retrieval is run when this is made."""

    def __init__(
        self,
        snapshot: Snapshot,
        question: str,
        document: Mapping[str, Any],
        unit: str,
        top_k: int | None,
        reranking: Reranking | None,
    ) -> None:
        self.snapshot, self.question, self.document = snapshot, question, document
        self.options = snapshot.settings.search
        self.top_k = top_k or self.options.top_k
        self.whole = snapshot.whole or snapshot
        self.own = self._own_units(unit)
        self.found = fused_units(snapshot, question, self.top_k)
        self.runs = _runs(self.found)
        self.reranked = rerank_units(snapshot, question, self.found.units, reranking)
        self.given = assemble(snapshot, self.reranked.units, self.top_k)[0]
        self.direct = self._direct_units()
        self.walk = self._walk()
        self.unit = self._nearest_unit()

    def _own_units(self, unit: str) -> tuple[str, ...]:
        """The text units looked at: all of the document, or the one that was asked for."""
        columns = ("id", "index")
        rows = self.whole.store.where("text_units", "document_id", [self.document["id"]], columns)
        ids = rows.sort("index")["id"].to_list()
        if not ids:
            raise UsageError(f"{self.document['path']}: the document has no text")
        if not unit:
            return tuple(ids)
        named = [unit_id for unit_id in ids if unit_id.startswith(unit)]
        if len(named) != 1:
            some = ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")
            what = "is no text unit of" if not named else "begins several text units of"
            raise UsageError(f"{unit!r} {what} {self.document['path']}; there are: {some}")
        return tuple(named)

    def _direct_units(self) -> dict[str, Run]:
        """By leg, the document's own text units with their scores, best first, as if there were
        no others; a leg that cannot run is missing."""
        selection = Selection("", 1, frozenset(self.own), self._total())
        narrowed = narrow_to(self.whole, selection)
        direct: dict[str, Run] = {}
        for leg in self.options.legs:
            if leg == "graph":
                continue
            try:
                alone = fused_units(narrowed, self.question, len(self.own), [leg])
            except GraphkbError:
                continue
            direct[leg] = [(unit.text_unit_id, unit.score) for unit in alone.units]
            if leg == "dense":
                direct[leg] = self._dense_alone(narrowed)
        return direct

    def _dense_alone(self, narrowed: Snapshot) -> Run:
        """Similarities of the document's own text units, on the scale of the whole search: where
        that compared within languages, above the same backgrounds."""
        embedder = narrowed.embedder
        assert embedder is not None, "the dense leg ran"
        vector = embedder.embed_query(self.question)
        details = [step.detail for step in self.found.trace if step.name == "dense"]
        if not any(COMPARED in detail for detail in details):
            return search_dense(narrowed.store, vector, len(self.own))
        languages = self.whole.languages
        limit = max(self.options.candidates, self.top_k)
        background = backgrounds(self.snapshot.store, vector, limit, languages)
        return search_beside(narrowed.store, vector, len(self.own), languages, background)

    def _total(self) -> int:
        return int(self.whole.manifest.counts.get("text_units", 0))

    def _walk(self) -> GraphRun:
        """The graph leg over the document's own text units, begun where it was begun."""
        graph = self.whole.graph
        among = Selection("", 1, frozenset(self.own), self._total()).mask(graph.arrays["unit_ids"])
        lexical, dense = self.runs.get("lexical", []), self.runs.get("dense", [])
        return graph.search(self.question, len(self.own), lexical, dense, among)

    def _nearest_unit(self) -> str:
        """The text unit that came nearest: given, reranked, fused, or best seen by a leg alone."""
        for units in (self.given, self.reranked.units, self.found.units):
            for unit in units:
                if unit.text_unit_id in self.own:
                    return unit.text_unit_id
        runs = [self.direct.get("lexical"), self.direct.get("dense"), self.walk.hits]
        return next((run[0][0] for run in runs if run), self.own[0])

    def explanation(self) -> Explanation:
        """All that can be said."""
        fused = _find(self.found.units, self.unit)
        reranked = _find(self.reranked.units, self.unit)
        given = _find(self.given, self.unit)
        said = reranked.via.get("rerank") if reranked else None
        (row,) = self.whole.units([self.unit])
        at = sheet_place(self.whole, self.document["id"], row["char_start"], row["char_end"])
        words = self._words()
        explained = Explanation(
            question=self.question,
            document_id=self.document["id"],
            title=self.document["title"] or "",
            path=self.document["path"] or "",
            text_unit_id=self.unit,
            text=row["text"],
            top_k=self.top_k,
            rank=given.rank if given else None,
            cut="",
            reason="",
            words=words,
            legs=self._legs(),
            named=self._named(),
            links=self._links(),
            n_fused=len(self.found.units),
            fused_rank=fused.rank if fused else None,
            fused_score=fused.score if fused else None,
            last_score=self.given[-1].score if self.given else None,
            rerank_rank=said.rank if said else None,
            rerank_score=said.score if said else None,
            advice="",
            warnings=(*self.found.warnings, *self.reranked.warnings),
            page=row["page_start"],
            page_end=row["page_end"],
            sheets=at.sheets,
            row=at.row,
            row_end=at.row_end,
        )
        cut, reason = self._cut(given, reranked, fused)
        return replace(explained, cut=cut, reason=reason, advice=advice_for(explained, cut))

    def _words(self) -> tuple[Word, ...]:
        """The question's tokens, the rarest first."""
        tokens = query_tokens(self.question, self.whole.dictionary)
        idf = self.whole.vocabulary.idf(tokens)
        own = self.whole.store.where("search_texts", "id", self.own, ("id", "tokens"))
        held = {unit_id: set(text.split()) for unit_id, text in own.iter_rows()}
        everywhere = set().union(*held.values()) if held else set()
        words = [
            Word(
                token,
                idf[token],
                self.whole.vocabulary.document_frequency(token),
                token in everywhere,
                token in held.get(self.unit, ()),
            )
            for token in dict.fromkeys(tokens)
        ]
        return tuple(sorted(words, key=lambda word: -word.idf))

    def _legs(self) -> tuple[LegView, ...]:
        weights: Mapping[str, float] = {str(leg): w for leg, w in self.options.weights.items()}
        if not weights and "graph" in self.options.legs:
            weights = leg_weights(self.runs, self.walk.trust, self.walk.coverage, self._lead())
        elif not weights:
            weights = leg_weights(self.runs, 0.0, 1.0, self._lead())
        return tuple(self._leg(leg, weights.get(leg, 1.0)) for leg in self.options.legs)

    def _lead(self) -> float:
        run = self.runs.get("lexical", [])
        return lead_of(run, self.whole.graph.documents(i for i, _ in run))

    def _leg(self, leg: str, weight: float) -> LegView:
        run = self.runs.get(leg, [])
        lowest = run[-1][1] if run else None
        for rank, (unit_id, score) in enumerate(run, 1):
            if unit_id in self.own:
                return LegView(leg, unit_id, rank, score, len(run), lowest, weight)
        alone = self.walk.hits if leg == "graph" else self.direct.get(leg)
        if alone is None:
            return LegView(leg, "", None, None, 0, None, None, f"there is no {leg} leg")
        if not alone:
            return LegView(leg, self.unit, None, None, len(run), lowest, weight)
        return LegView(leg, alone[0][0], None, alone[0][1], len(run), lowest, weight)

    def _named(self) -> tuple[Named, ...]:
        seeds = self.walk.seeds
        titles = entity_titles(self.whole, [seed.entity_id for seed in seeds])
        mentions = self.whole.store.where("mentions", "text_unit_id", self.own, ("entity_id",))
        here = set(mentions["entity_id"].to_list())
        frequency = self.whole.graph.arrays["frequency"]
        return tuple(
            Named(
                seed.surface,
                titles.get(seed.entity_id, seed.entity_id),
                seed.how,
                seed.weight,
                int(frequency[seed.entity]),
                seed.entity_id in here,
            )
            for seed in seeds
        )

    def _links(self) -> tuple[Link, ...]:
        graph = self.whole.graph
        starts = [graph.n_units + seed.entity for seed in self.walk.seeds]
        targets = graph.positions([self.unit])
        return links_of(self.whole, shortest_path(graph.arrays, starts, targets))

    def _cut(
        self, given: RankedUnit | None, reranked: RankedUnit | None, fused: RankedUnit | None
    ) -> tuple[str, str]:
        """Where the text unit was lost, and that in words; empty when it was given."""
        if given:
            return "", f"hit {given.rank} of {len(self.given)}"
        selection = self.snapshot.selection
        if selection is not None and self.unit not in selection.unit_ids:
            return "filter", f"the filter {selection.expression} leaves it out"
        if fused is None:
            return "candidates", "no leg put it forward"
        if reranked is None:
            return "rerank", f"the reranker left it out; it was {fused.rank} of the fused order"
        most = self.options.max_per_doc
        if most and not _find(capped(self.snapshot, self.reranked.units, most), self.unit):
            return "max_per_doc", f"{most} better text units of the document are hits"
        if self.options.diversity and reranked.rank <= self.top_k:
            return "diversity", "other hits say much the same (search.diversity)"
        return "top_k", f"place {reranked.rank} of {len(self.reranked.units)}, behind the first " \
            f"{self.top_k}"  # fmt: skip


def _runs(found: Retrieval) -> dict[str, Run]:
    """What each leg put forward, taken from the fused units; best first."""
    runs: dict[str, list[tuple[Via, str]]] = {}
    for unit in found.units:
        for leg, via in unit.via.items():
            runs.setdefault(leg, []).append((via, unit.text_unit_id))
    return {
        leg: [(unit_id, via.score) for via, unit_id in sorted(run, key=lambda hit: hit[0].rank)]
        for leg, run in runs.items()
    }


def _find(units: Sequence[RankedUnit], unit_id: str) -> RankedUnit | None:
    return next((unit for unit in units if unit.text_unit_id == unit_id), None)
