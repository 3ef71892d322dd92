# The verbs of the project. `make demo` and `make test` need git, make and Python 3.11 or newer with venv, nothing else.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WORKERS ?= 3

# A broker is a process, and tests start hundreds: none of them is to compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all lint bench lab lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    a broker killed, links swapped, one added, one drained; events lost; a plan from a trace: the verdicts"
	@echo "make test    the tests, with lint and types"
	@echo "make test-all  the same, and the tests that take long"
	@echo "make lint    ruff, mypy, import rules"
	@echo "make bench   what it reaches, beside mosquitto, a plain scan and simpy"
	@echo "make lab     the experiments, quick scale"
	@echo "make lock    resolve the locked versions anew"

$(READY): requirements/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "reknit needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the locked packages into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lock.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)
	@$(BIN)/reknit demo
	@echo
	@$(BIN)/reknit demo --loss
	@echo
	@$(BIN)/reknit demo --loop

test: $(READY) lint
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -q -m "not long"

test-all: $(READY) lint
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -q

lint: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/mypy
	@said=$$($(BIN)/lint-imports --no-logo) && echo "$$said" | tail -n 1 || { code=$$?; echo "$$said"; exit $$code; }

bench: $(READY)
	@$(BIN)/python -m bench

lab: $(READY)
	@$(BIN)/reknit lab run --all --scale quick --out out/lab
	@$(BIN)/reknit lab compare out/lab

lock:
	@test -x $(VENV)/lock/bin/uv || { $(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install --quiet uv; }
	@$(VENV)/lock/bin/uv pip compile pyproject.toml --quiet --all-extras --group dev --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements/lock.txt

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
