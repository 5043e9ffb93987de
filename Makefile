# Berth: every target is a command that a person could type. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
PY := .venv/bin/python
UV := .venv/bin/uv
PACKAGES := devserver config agents instances storage marketplace billing accounts common
CHECKED := $(PACKAGES) scripts tests bench
# Linters import the settings, which insist on these; nothing listens there and nothing is opened.
NOWHERE := DATABASE_URL=postgresql:///nowhere REDIS_URL=redis://nowhere DJANGO_SETTINGS_MODULE=config.settings.test
COMPILE := $(UV) pip compile --quiet --generate-hashes --no-header --no-emit-index-url --no-annotate \
	--universal --python-version 3.11

# The tests start hundreds of processes; a machine that forbids bytecode would have each of them compile Berth anew.
unexport PYTHONDONTWRITEBYTECODE

SETUP := .venv/.packages node_modules/.packages static/vendor/.copied
CATALOGUES := $(patsubst %.po,%.mo,$(wildcard locale/*/LC_MESSAGES/*.po))

.PHONY: up dev down setup test test-fast e2e lint format bench chaos upgrade-drill lock wheel help

up: setup ## start everything on http://127.0.0.1:8000 in the foreground (PORT=… moves it); Ctrl-C stops it
	@exec $(PY) -m devserver

dev: setup ## as `make up`, and web, relay, worker and beat start anew when a file changes
	@exec $(PY) -m devserver dev

down: ## stop a running `make up`
	@if [ -x $(PY) ]; then exec $(PY) -m devserver down; else echo "Berth is not running."; fi

setup: $(SETUP) $(CATALOGUES) ## install what is missing: Python packages by hash, front-end packages, translations

test: setup ## the whole test suite, on its own embedded PostgreSQL and Redis (TESTS=tests/billing narrows it)
	HYPOTHESIS_PROFILE=ci $(PY) -m pytest -q -n 2 --dist loadgroup --durations 15 $(TESTS)

# The agent's and the relay's own tests start programs and wait for them: they are whole only in `make test`.
FAST := agents/protocol architecture common web

test-fast: setup ## protocol, rules, templates and the style of the code: no PostgreSQL, no engine, no browser
	$(PY) -m pytest -q -n 0 --without-services $(or $(TESTS),$(addprefix tests/,$(FAST)))

e2e: setup ## only the tests that drive a browser
	$(PY) -m pytest -q -n 0 -m browser $(TESTS)

lint: setup ## formatting, lint, types, import contracts, migrations
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	$(NOWHERE) .venv/bin/mypy $(CHECKED)
	$(NOWHERE) .venv/bin/lint-imports
	$(NOWHERE) $(PY) manage.py makemigrations --check --dry-run

format: setup ## format the code and sort its imports
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

bench: setup ## the benchmark rows, each beside a floor measured in the same run (ROWS="start_simulated rent_tx" narrows it)
	$(PY) -m bench $(ROWS)

chaos: setup ## random faults on two real engines, then everything must be whole (MINUTES=30 SEED=1; needs root and gcc)
	$(PY) -m tests.chaos --minutes $(or $(MINUTES),30) --seed $(or $(SEED),1)

upgrade-drill: setup ## from the code of another commit to this one, with instances running (FROM=<commit>; needs root and gcc)
	$(PY) -m tests.upgrade --from $(FROM)

lock: .venv/.bootstrap ## compile requirements/*.in into hash-locked requirements/*.txt (UPGRADE=1 takes newer versions)
	cd requirements && for name in agent base dev; do \
		../$(COMPILE) $(if $(UPGRADE),--upgrade) $$name.in -o $$name.txt || exit 1; done
	cd requirements && for name in bootstrap build; do ../$(COMPILE) $$name.in -c dev.txt -o $$name.txt || exit 1; done

wheel: setup ## the host agent's own wheel, in dist/
	$(PY) -m build --wheel --outdir dist agents

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# -- what `setup` consists of; each file is the stamp of work that need not be done again

.venv/.bootstrap: requirements/bootstrap.txt
	@test -n "$(PYTHON)" || { echo "Berth needs Python 3.11 or later; name one with PYTHON=…"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "This Python cannot make virtual environments; on Debian: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	@touch $@

.venv/.packages: .venv/.bootstrap requirements/dev.txt
	$(UV) pip install --quiet --python $(PY) --require-hashes -r requirements/dev.txt
	@touch $@

node_modules/.packages: package.json package-lock.json | .venv/.packages
	$(PY) -m devserver.node ci --silent
	@touch $@

static/vendor/.copied: node_modules/.packages config/frontend.py
	$(PY) -m config.frontend
	@touch $@

%.mo: %.po | .venv/.packages
	$(PY) -m config.translations
	@touch $@
