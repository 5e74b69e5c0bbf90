# make demo   index the sample documents and ask four questions, with no key
# make test   run the tests
# make lint   style and types

PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin

LOCK := --upgrade --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header --no-annotate

.PHONY: demo test lint lock clean

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/installed: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.lock
	$(PIP) --no-deps -e .
	touch $@

$(VENV)/tools: $(VENV)/installed requirements-dev.lock
	$(PIP) -r requirements-dev.lock
	touch $@

demo: $(VENV)/installed
	$(BIN)/graphkb index --root .
	$(BIN)/graphkb query --root . --method local "In which city was the founder of the company that supplied the failed valve of INC-2025-014 born?"
	$(BIN)/graphkb query --root . --method local "修复2025年11月12日银行流水同步事故的小组，现在由谁负责？"
	$(BIN)/graphkb query --root . --method global "What are the main causes of delays and outages at Kelsound Tidal Energy?"
	$(BIN)/graphkb query --root . --method global "青石谷这两年在产品、银行合作和组织上有哪些主要变化？"

test: $(VENV)/tools
	$(BIN)/python -m pytest -q

lint: $(VENV)/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lock:
	uv pip compile $(LOCK) pyproject.toml -o requirements.lock
	uv pip compile $(LOCK) pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf $(VENV) output cache
