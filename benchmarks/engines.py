"""Other engines on the same text units: they need no key and no model of their own.

All get context and text of every unit that graphkb searches, and its vectors where they use
vectors. Words are those of jieba's search mode, or of its plain mode, in lower case, without
stop-words, stemming or name folding: what these libraries are usually fed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from graphkb.project import Project
from graphkb.types import Hit, Hits

if TYPE_CHECKING:
    import polars as pl

Ranked = list[tuple[int, float]]
"""Positions of units with their score, best first."""

Ranker = Callable[[str, int], Ranked]
Cut = Callable[[str], list[str]]


def search_words(text: str) -> list[str]:
    """Words of jieba's search mode: long words also give their parts."""
    import rjieba

    return _words(rjieba.cut_for_search(_folded(text)))


def plain_words(text: str) -> list[str]:
    """Words of jieba's plain mode."""
    import rjieba

    return _words(rjieba.cut(_folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def _words(pieces: Sequence[str]) -> list[str]:
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


@dataclass(frozen=True)
class Corpus:
    """The text units of an indexed project: texts with their context, vectors [n, dim] by unit
    where there are some, and how a question becomes a vector."""

    rows: Sequence[Mapping[str, Any]]
    texts: Sequence[str]
    vectors: np.ndarray | None
    embed: Callable[[str], np.ndarray] | None


def read_corpus(project: Project) -> Corpus:
    """Text units with the title and path of their document."""
    snapshot = project._current()
    units = snapshot.store.read("text_units", ("id", "document_id", "text", "context")).sort("id")
    documents = {row["id"]: row for row in snapshot.store.read("documents").to_dicts()}
    rows = [
        {**row, "title": documents[row["document_id"]]["title"] or ""} for row in units.to_dicts()
    ]
    vectors = None
    embedder = snapshot.embedder
    if snapshot.manifest.counts.get("vectors") and embedder is not None:
        stored = dict(snapshot.store.read("vectors", ("id", "vector")).iter_rows())
        vectors = np.array([stored[row["id"]] for row in rows], np.float32)
    texts = [f"{row['context'] or ''}\n{row['text']}" for row in rows]
    return Corpus(rows, texts, vectors, embedder.embed_query if embedder else None)


def rank_bm25(cut: Cut) -> Callable[[Corpus], Ranker]:
    """BM25Okapi of rank-bm25 with its defaults."""

    def make(corpus: Corpus) -> Ranker:
        from rank_bm25 import BM25Okapi

        index = BM25Okapi([cut(text) for text in corpus.texts])

        def rank(question: str, limit: int) -> Ranked:
            scores = index.get_scores(cut(question))
            order = np.lexsort((np.arange(len(scores)), -scores))[:limit]
            return [(int(place), float(scores[place])) for place in order]

        return rank

    return make


def bm25s(corpus: Corpus) -> Ranker:
    """bm25s with its defaults (Lucene's idf)."""
    import bm25s as library

    index = library.BM25()
    index.index([search_words(text) for text in corpus.texts], show_progress=False)

    def rank(question: str, limit: int) -> Ranked:
        known = [word for word in search_words(question) if word in index.vocab_dict]
        if not known:
            return []
        limit = min(limit, len(corpus.texts))
        found, scores = index.retrieve([known], k=limit, show_progress=False)
        return list(zip(map(int, found[0]), map(float, scores[0]), strict=True))

    return rank


def tantivy(corpus: Corpus) -> Ranker:
    """tantivy over the words joined by spaces, any of them."""
    import tantivy as library

    schema = (
        library.SchemaBuilder()
        .add_integer_field("place", stored=True)
        .add_text_field("words", tokenizer_name="whitespace")
        .build()
    )
    index = library.Index(schema)
    writer = index.writer(num_threads=1)
    for place, text in enumerate(corpus.texts):
        writer.add_document(library.Document(place=place, words=" ".join(search_words(text))))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def rank(question: str, limit: int) -> Ranked:
        terms = [
            (library.Occur.Should, library.Query.term_query(schema, "words", word))
            for word in dict.fromkeys(search_words(question))
        ]
        hits = searcher.search(library.Query.boolean_query(terms), limit).hits
        return [(searcher.doc(address)["place"][0], float(score)) for score, address in hits]

    return rank


def lancedb_hybrid(corpus: Corpus) -> Ranker:
    """LanceDB's own hybrid query: its full text over the words, its vectors, its RRF reranker."""
    import lancedb
    import pyarrow as pa
    from lancedb.index import FTS
    from lancedb.query import MatchQuery
    from lancedb.rerankers import RRFReranker

    if corpus.vectors is None or corpus.embed is None:
        raise ValueError("this index has no vectors")
    embed, dimension = corpus.embed, corpus.vectors.shape[1]
    flat = pa.array(corpus.vectors.ravel())
    columns = {
        "place": pa.array(range(len(corpus.texts))),
        "words": pa.array([" ".join(search_words(text)) for text in corpus.texts]),
        "vector": pa.FixedSizeListArray.from_arrays(flat, dimension),
    }
    table = lancedb.connect("memory://").create_table("units", pa.table(columns))
    table.create_index("words", config=FTS(base_tokenizer="whitespace", stem=False))

    def rank(question: str, limit: int) -> Ranked:
        words = MatchQuery(" ".join(search_words(question)), "words")
        asked = table.search(query_type="hybrid").vector(embed(question)).text(words)
        found = asked.rerank(RRFReranker()).limit(limit).to_arrow()
        scores = map(float, found["_relevance_score"].to_pylist())
        return list(zip(found["place"].to_pylist(), scores, strict=True))

    return rank


#: By name: the module it needs, and what makes it ready to rank.
ENGINES: dict[str, tuple[str, Callable[[Corpus], Ranker]]] = {
    "rank-bm25, jieba words": ("rank_bm25", rank_bm25(plain_words)),
    "rank-bm25, jieba search words": ("rank_bm25", rank_bm25(search_words)),
    "bm25s, jieba search words": ("bm25s", bm25s),
    "tantivy, jieba search words": ("tantivy", tantivy),
    "LanceDB hybrid (RRF), same vectors": ("lancedb", lancedb_hybrid),
}


class OtherEngines:
    """The engines that are installed, asked like a project (graphkb.evaluate.run.Searchable).

    ``missing`` are the names of the others with what to do.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.corpus = read_corpus(project)
        self.missing = {
            name: f"not installed: pip install {module.replace('_', '-')}"
            for name, (module, _) in ENGINES.items()
            if find_spec(module) is None
        }
        if self.corpus.vectors is None:
            self.missing["LanceDB hybrid (RRF), same vectors"] = "this index has no vectors"
        self._rankers: dict[str, Ranker] = {}

    @property
    def search_methods(self) -> Sequence[str]:
        return tuple(name for name in ENGINES if name not in self.missing)

    def table(self, name: str) -> pl.DataFrame:
        return self.project.table(name)

    def search(self, question: str, top_k: int | None = None, method: str = "") -> Hits:
        """Units with a score above 0, best first."""
        if method not in self._rankers:
            self._rankers[method] = ENGINES[method][1](self.corpus)
        ranked = self._rankers[method](question, top_k or 8)
        return Hits([self._hit(*found) for found in enumerate(ranked, 1) if found[1][1] > 0])

    def _hit(self, rank: int, found: tuple[int, float]) -> Hit:
        row = self.corpus.rows[found[0]]
        return Hit(
            rank=rank, score=found[1], text_unit_id=row["id"], document_id=row["document_id"],
            title=row["title"], path="", heading="", page=None, char_start=0,
            char_end=len(row["text"]), text=row["text"],
        )  # fmt: skip
