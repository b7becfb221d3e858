# `make run` starts the app, `make test` checks and tests everything; both first install what they need into .venv.

PYTHON ?= python3
PORT ?= 8501
VENV := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help run test unit browser check format bench report soak load fuzz screenshots clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile

run: .venv/run.stamp ## start the app in the browser; PORT=8502 for another port
	@echo 'The dashboard opens in the browser. Ctrl-C stops it.'
	@trap 'exit 0' INT; $(VENV) -m streamlit run app.py --server.port=$(PORT) --server.showEmailPrompt=false

# Files in their own order, the slow ones early: a long one at the end would leave the other workers idle.
SPREAD := --dist loadfile --no-loadscope-reorder --durations=10

test: .venv/test.stamp ## everything that CI runs: check and the tests
	$(MAKE) --jobs=2 check unit; first=$$?; $(MAKE) browser && exit $$first

# One thread a test worker: more than there are cores wait for one another.
unit: .venv/test.stamp
	OMP_NUM_THREADS=1 $(VENV) -m pytest -n 4 $(SPREAD) -m "not browser and not soak"

browser: .venv/test.stamp
	$(VENV) -m pytest -n 2 $(SPREAD) -m "browser and not soak" \
	    tests/browser/test_server.py tests/browser/test_compare.py tests/browser

check: .venv/test.stamp ## format, style, types, the Dockerfile, known faults of dependencies
	$(VENV) -m ruff format --check .
	$(VENV) -m ruff check .
	$(VENV) -m mypy
	.venv/bin/hadolint deploy/Dockerfile
	$(VENV) -m tests.audit

format: .venv/test.stamp ## format the code, and mend what ruff can mend
	$(VENV) -m ruff check --fix .
	$(VENV) -m ruff format .

bench: .venv/test.stamp ## run every benchmark
	for script in benchmarks/*.py; do PYTHONPATH=. $(VENV) "$$script" || exit 1; done

report: .venv/run.stamp ## docs/reproduction.md, docs/league.md and figures, from the rows that come with the library
	$(VENV) -c "from pathlib import Path; from steinglm.paper import report, results, run; \
	    run.write(Path('docs'), report.documents(*results.kept(), results.kept_images()))"
	$(VENV) -c "from pathlib import Path; from steinglm.league import report; from steinglm.paper import run; \
	    run.write(Path('docs'), report.documents(*report.kept()))"

soak: .venv/test.stamp ## half an hour of scripted use, watching the server's memory
	$(VENV) -m pytest -s -m soak -o faulthandler_timeout=0 tests/browser/test_soak.py

load: .venv/test.stamp ## thirty people at one server; the same at the services of deploy/, one worker killed
	PYTHONPATH=. $(VENV) benchmarks/load.py
	PYTHONPATH=. $(VENV) benchmarks/load.py --services

fuzz: .venv/test.stamp ## 10,000 generated files through the reader of one's own tables, and 10,000 links
	$(VENV) -m pytest -s -m soak tests/tables/test_fuzz.py tests/test_link.py

screenshots: .venv/test.stamp ## the main page in light and dark, wide and narrow
	$(VENV) -m tests.browser.screenshots

clean: ## remove .venv and all caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An existing .venv is kept if its Python is new enough and has pip; it may be broken, or of a Python since removed.
define make_venv
@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
    echo 'steinglm needs Python 3.11 or newer, and "$(PYTHON)" is not; try make PYTHON=python3.13'; exit 1; }
@$(VENV) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || "$(PYTHON)" -m venv --clear .venv
endef

PIP_INSTALL := $(VENV) -m pip install --disable-pip-version-check

.venv/run.stamp: requirements.txt
	$(make_venv)
	$(PIP_INSTALL) -r requirements.txt
	@touch $@

.venv/test.stamp: requirements.txt requirements-dev.txt
	$(make_venv)
	$(PIP_INSTALL) -r requirements-dev.txt
	@touch .venv/run.stamp $@
