"""What the errors of servers mean, in the wordings of many vendors."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from graphkb.llm.faults import judge, message_of, retry_after


def kind(status: int, message: str, code: str = "") -> str:
    error = {"message": message, "code": code} if code else {"message": message}
    return judge(status, {}, json.dumps({"error": error}, ensure_ascii=False)).kind


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (402, "Insufficient Balance"),
        (429, "You exceeded your current quota, please check your plan and billing details."),
        (429, "您的账户已欠费，请充值后重试。"),
        (400, "Access denied, please make sure your account is in good standing. (Arrearage)"),
        (403, "The free tier of the model has been exhausted."),
        (403, "Sorry, your account balance is insufficient"),
        (403, "账户余额不足，请充值"),
        (400, "Your credit balance is too low to access the API."),
        (429, "Your account is suspended due to insufficient balance"),
        (402, "This request requires more credits, or fewer max_tokens."),
        (400, "Billing hard limit has been reached"),
    ],
)
def test_no_money_left(status: int, message: str) -> None:
    assert kind(status, message) == "money"


def test_a_quota_that_refills_is_a_pause() -> None:
    gemini = "You exceeded your current quota, please check your plan. Please retry in 23.5s."
    fault = judge(429, {}, json.dumps([{"error": {"message": gemini, "code": 429}}]))
    assert (fault.kind, fault.wait) == ("throttled", 23.5)
    assert kind(429, "Requests rate limit exceeded", "limit_requests") == "throttled"
    assert kind(429, "当前分组上游负载已饱和，请稍后再试") == "throttled"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "Incorrect API key provided: sk-abcd****"),
        (401, "Authentication Fails, Your api key: ****1234 is invalid"),
        (403, "Country, region, or territory not supported"),
        (400, "API key not valid. Please pass a valid API key."),
        (400, "无效的API Key"),
        (400, "密钥无效"),
        (401, "身份验证失败。"),
    ],
)
def test_a_wrong_key(status: int, message: str) -> None:
    assert kind(status, message) == "key"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "The model `gpt-9` does not exist or you do not have access to it."),
        (404, 'model "qwen9" not found, try pulling it first'),
        (400, "Model Not Exist"),
        (400, "Model does not exist. Please check it carefully."),
        (400, "模型不存在，请检查模型代码。"),
        (403, "Project `p` does not have access to model `o9`: model_not_found"),
        (400, "qwen9 is not a valid model ID"),
        (400, "No models loaded. Please load a model in the developer page."),
    ],
)
def test_a_model_that_is_not_there(status: int, message: str) -> None:
    assert kind(status, message) == "model"


@pytest.mark.parametrize("status", [404, 410, 415, 501])
def test_a_path_that_is_not_there(status: int) -> None:
    assert judge(status, {}, '{"detail": "Not Found"}').kind == "address"
    assert judge(status, {}, "404 page not found").kind == "address"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, your messages "
              "resulted in 9000 tokens. Please reduce the length of the messages."),
        (400, "Your input exceeds the context window of this model."),
        (400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be "
              "[1, 30720]"),
        (400, "length of prompt_tokens (40000) must be less than max_seq_len (32768)."),
        (400, "Invalid request: Your request exceeded model token limit: 8192"),
        (400, "Prompt exceeds max length"),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        (400, "the request exceeds the available context size. try increasing the context size"),
        (400, "Trying to keep the first 5000 tokens when context the overflows. However, the "
              "model is loaded with context length of only 4096 tokens"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "The input token count (40000) exceeds the maximum number of tokens allowed (32768)"),
        (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context"),
        (413, "Request Entity Too Large"),
        (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"),
        (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
        (400, "Total tokens of image and text exceed max message tokens"),
        (500, "the input length exceeds the context length"),
        (400, "输入长度超过了模型的最大上下文长度"),
        (400, "输入内容过长，请缩短后重试"),
    ],
)  # fmt: skip
def test_a_prompt_longer_than_the_window(status: int, message: str) -> None:
    assert kind(status, message) == "context"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "The response was filtered due to the prompt triggering Azure OpenAI's content "
              "management policy."),
        (400, "Input data may contain inappropriate content."),
        (400, "Content Exists Risk"),
        (400, "系统检测到输入或生成内容可能包含不安全或敏感内容"),
        (403, "Your chosen model requires moderation and your input was flagged"),
    ],
)  # fmt: skip
def test_a_request_that_a_content_filter_refuses(status: int, message: str) -> None:
    assert kind(status, message) == "filtered"


@pytest.mark.parametrize("status", [405, 408, 409, 425, 500, 502, 503, 504, 520, 529])
def test_failures_that_pass(status: int) -> None:
    assert kind(status, "try later") == "server"
    assert judge(status, {}, "<html><h1>Bad Gateway</h1></html>").kind == "server"


def test_a_page_that_bars_the_way_is_no_wrong_key() -> None:
    assert judge(403, {}, "<!DOCTYPE html><html>Access denied</html>").kind == "address"


def test_anything_else_is_a_refusal_of_this_request() -> None:
    assert kind(400, "messages: at least one message is required") == "refused"
    assert kind(422, "invalid type") == "refused"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "bad", "code": "c"}}, "bad (c)"),
        ({"error": "plain"}, "plain"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"loc": ["body", "model"], "msg": "missing", "input": "SECRET"}]},
         "body.model: missing"),
        ({"object": "error", "message": "old", "code": 40303}, "old (40303)"),
        ({"code": 30001, "message": "余额不足"}, "余额不足 (30001)"),
        ([{"error": {"message": "listed"}}], "listed"),
        ({"error": {"message": {"nested": 1}}}, '{"nested": 1}'),
        ({}, ""),
        (None, ""),
    ],
)  # fmt: skip
def test_the_message_is_found_in_every_shape_of_error(body: object, message: str) -> None:
    assert message_of(body) == message


def test_a_web_page_is_named_as_one() -> None:
    assert judge(502, {}, "<!DOCTYPE html><html>…</html>").said == "a web page instead of JSON"


def test_retry_after_in_seconds_milliseconds_dates_and_words() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    date = format_datetime(now + timedelta(seconds=30), usegmt=True)
    past = format_datetime(now - timedelta(seconds=30), usegmt=True)

    def wait(headers: dict[str, str], said: str = "") -> float | None:
        return retry_after(headers, said, now.timestamp())

    assert wait({"retry-after": "2"}) == 2
    assert wait({"retry-after": "0.5"}) == 0.5
    assert wait({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert wait({"retry-after": date}) == 30
    assert wait({"retry-after": past}) == 0
    assert wait({"retry-after": "soon"}) is None
    assert wait({"retry-after": "-5"}) is None
    assert wait({}, "Rate limit reached, try again in 1.5s") == 1.5
    assert wait({}, "Please try again in 6ms.") == 0.006
    assert wait({}, "Please try again in 1m30s") == 90
    assert wait({}, "Please retry after 20 seconds.") == 20
    assert wait({}, "slow down") is None
