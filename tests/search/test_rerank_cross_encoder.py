"""A cross-encoder in an ONNX file, run by onnxruntime with its own tokenizer."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx_file import token_ids, word_overlap
from query.gathering import make_snapshot, with_settings
from rerank_cases import CHINESE, ENGLISH, MORE, found, fused, ids
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from graphkb.errors import MissingExtraError, RerankError
from graphkb.search.rerank import Reranking, Scores
from graphkb.search.rerank.cross_encoder import CrossEncoderReranker
from graphkb.search.rerank.passages import Passages
from graphkb.settings import Rerank

TEXTS = (
    "The oil Fjordol 32 swelled the seals.",
    "Northern Seals replaced the valve of turbine T-07.",
    "青石公司由沈若衡创办。",
    "退款由陈明批准。",
)


def write_tokenizer(folder: Path, texts: tuple[str, ...] = TEXTS) -> None:
    """A tokenizer of whole words and single Chinese characters, as BERT pairs them."""
    normalizer, cutter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    for text in (*texts, ENGLISH, CHINESE):
        words += [word for word, _ in cutter.pre_tokenize_str(normalizer.normalize_str(text))]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, cutter
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model as exporters lay it out."""
    (tmp_path / "model" / "onnx").mkdir(parents=True)
    (tmp_path / "model" / "onnx" / "model.onnx").write_bytes(word_overlap())
    write_tokenizer(tmp_path / "model")
    return tmp_path / "model"


def scored(folder: Path, question: str, texts: tuple[str, ...], **options: float) -> Scores:
    told = Rerank(method="cross_encoder", model=str(folder), **options)
    passages = Passages(question, ("",) * len(texts), texts, {})
    return CrossEncoderReranker(Path("."), told).score(passages, Reranking())


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def test_scores_that_are_no_numbers_are_left_out_or_a_failure() -> None:
    reranker = CrossEncoderReranker(Path("."), Rerank(method="cross_encoder", model="模型"))
    passages = Passages(CHINESE, ("",) * 4, TEXTS, {})
    reranker._predict = lambda question, texts: np.array([math.nan, 0.5, math.inf, 0.25])
    scores = reranker.score(passages, Reranking())
    assert scores.by_place == {1: 0.5, 3: 0.25}
    assert scores.detail == "2 of 4 text units scored by 模型"
    reranker._predict = lambda question, texts: np.full(len(texts), math.nan)
    with pytest.raises(RerankError, match="模型 gives no score that is a number"):
        reranker.score(passages, Reranking())


@pytest.mark.parametrize("given", [".", "onnx", "onnx/model.onnx"])
@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_every_pair_gets_the_sigmoid_of_its_logit(
    folder: Path, given: str, batch_size: int
) -> None:
    """Whatever the batch, padding counts for nothing."""
    scores = scored(folder / given, "Who replaced the valve of turbine T-07?", TEXTS,
                    batch_size=batch_size)  # fmt: skip
    # replaced, the, valve, of, turbine, t, -, 07 in the second text; "the" twice in the first.
    assert scores.by_place == pytest.approx(
        {0: sigmoid(2 - 3), 1: sigmoid(8 - 3), 2: sigmoid(-3), 3: sigmoid(-3)}
    )
    chinese = scored(folder / given, "退款由谁批准？", TEXTS, batch_size=batch_size)
    assert max(chinese.by_place, key=lambda place: chinese.by_place[place]) == 3
    assert chinese.by_place[3] == pytest.approx(sigmoid(5 - 3))


@pytest.mark.parametrize(("told", "found"), [({"model_max_length": 12}, -3), ({}, 5), (None, 5)])
def test_pairs_are_cut_to_what_the_model_reads(
    folder: Path, told: dict[str, int] | None, found: int
) -> None:
    """The longer one of question and text is cut first."""
    if told is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(told), "utf8")
    text = "oil " * 9 + "Northern Seals replaced the valve of turbine T-07."
    scores = scored(folder, "replaced the valve of turbine T-07?", (text,))
    assert scores.by_place[0] == pytest.approx(sigmoid(found))


@pytest.mark.parametrize("question", ["valve " * 900, "阀门" * 900], ids=["en", "zh"])
def test_an_endless_question_is_cut_as_well(folder: Path, question: str) -> None:
    assert len(scored(folder, question, TEXTS).by_place) == len(TEXTS)


def test_time_is_looked_at_between_batches(folder: Path) -> None:
    with pytest.raises(RerankError, match=r"only 1 of 4 text units .* raise rerank.timeout"):
        scored(folder, CHINESE, TEXTS, batch_size=1, timeout=1e-9)
    assert len(scored(folder, CHINESE, TEXTS, timeout=1e-9).by_place) == len(TEXTS)


def test_a_search_is_reranked(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> None:
    collection = make_snapshot(tmp_path_factory.mktemp("crossed"), more=MORE)
    texts = tuple(row["text"] for row in collection.store.read("text_units").to_dicts())
    write_tokenizer(folder, texts)
    snapshot = with_settings(
        collection, "rerank", method="cross_encoder", model=str(folder), threshold=0.001
    )
    for text in (ENGLISH, CHINESE):
        result = found(snapshot, text, 9)
        own = [unit.via["rerank"].score for unit in result.units]
        assert own == sorted(own, reverse=True)
        assert sorted(ids(result)) == sorted(fused(collection, text, 9))
        assert result.warnings == ()
    missing = with_settings(snapshot, "rerank", model=str(folder / "nowhere.onnx"))
    result = found(missing, CHINESE, 9)
    assert ids(result) == fused(collection, CHINESE, 9)
    (warning,) = result.warnings
    assert "nowhere.onnx does not exist" in warning


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"no model", "cannot be loaded"), (token_ids(), "is no cross-encoder"), (None, "is missing")],
    ids=["damaged", "other", "no tokenizer"],
)
def test_files_that_are_no_cross_encoder_are_named(
    folder: Path, content: bytes | None, said: str
) -> None:
    if content is None:
        (folder / "tokenizer.json").unlink()
    else:
        (folder / "onnx" / "model.onnx").write_bytes(content)
    with pytest.raises(RerankError, match=said) as caught:
        scored(folder, ENGLISH, TEXTS)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("module", "extra"), [("onnxruntime", "rerank"), ("tokenizers", "rerank")])
def test_a_missing_library_is_one_line_that_installs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        scored(folder, ENGLISH, TEXTS)
    assert str(caught.value).endswith(f'needs an extra: pip install "graphkb[{extra}]"')


def test_a_name_needs_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError) as caught:
        scored(Path("BAAI/bge-reranker-v2-m3"), ENGLISH, TEXTS)
    assert "rerank.model 'BAAI/bge-reranker-v2-m3'" in str(caught.value)
    assert str(caught.value).endswith('pip install "graphkb[sentence-transformers]"')
