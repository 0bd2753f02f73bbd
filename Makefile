# Everything a fresh machine needs: Python 3.11 or later, git and make.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
RUN := $(VENV)/bin/
# Tests start hundreds of processes: each would compile everything anew where this is set.
export PYTHONDONTWRITEBYTECODE :=
# Root's tests add a user for PostgreSQL and install a browser: useradd and ldconfig are not on every PATH.
export PATH := $(PATH):/usr/sbin:/sbin

.PHONY: help demo test check collected format soak bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## repair a scripted stream in the terminal, and write a report of it
	@$(RUN)director-ai demo

test: $(VENV)/.installed-dev ## set up, then run every gate and every test
	@$(RUN)python tests/serve/page/browser.py --install
	@$(MAKE) --no-print-directory --jobs 2 check collected
	$(RUN)pytest -n 5 --dist worksteal
	@$(RUN)python tests/serve/page/browser.py

check: $(VENV)/.installed-dev ## the gates alone: format, lint, types, import contracts
	$(RUN)ruff format --check .
	$(RUN)ruff check .
	$(RUN)mypy
	$(RUN)lint-imports

collected: $(VENV)/.installed-dev # every process of the tests then finds them compiled
	@$(RUN)pytest --collect-only -qq > $(VENV)/collected 2>&1 || { cat $(VENV)/collected; exit 1; }

format: $(VENV)/.installed-dev ## put the code into the project's format
	$(RUN)ruff format .
	$(RUN)ruff check --fix .

soak: $(VENV)/.installed-dev ## the long runs, with the larger numbers of docs/promises.md
	$(RUN)pytest -n auto -m soak --timeout 3600

bench: $(VENV)/.installed-dev ## measure everything we claim, peers beside it, and write benchmarks/results
	$(PIP) --editable '.[bench]'
	$(RUN)python benchmarks/kernel.py --save
	$(RUN)python benchmarks/segmenter.py --save
	$(RUN)python benchmarks/slots.py --save
	$(RUN)python benchmarks/model.py --rows 40 --rounds 5 --save
	$(RUN)python benchmarks/knowledge.py --facts 1000,4000 --rows 50 --save
	$(RUN)python benchmarks/scoring.py --rows 12 --cases 30 --save
	$(RUN)python benchmarks/streaming_false_halt_bench.py --nli
	$(RUN)python benchmarks/regression_suite.py --nli
	$(RUN)python benchmarks/answers.py --peer --save
	$(RUN)python benchmarks/answers.py benchmarks/answers_test/test.jsonl --peer --save
	$(RUN)python benchmarks/injection.py --save
	$(RUN)python benchmarks/pii.py --save
	$(RUN)python benchmarks/merge.py --peer --save
	$(RUN)python benchmarks/repair.py --peer --rows 30 --seconds 20 --save
	$(RUN)python benchmarks/review.py --peer --rows 1000 10000 --save
	$(RUN)python benchmarks/serve.py --seconds 6 --streams 1 50 200 --model-streams 1 4 8 --save

clean: ## remove what the other targets made
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed, and none was found"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed, $$($(PYTHON) --version) was found; say: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "installing director-ai"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	@echo "installing director-ai and what its tests need"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.installed
