# Berth: every target is a command that a person could type. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
PY := .venv/bin/python
UV := .venv/bin/uv
PACKAGES := devserver config agents vast workloads instances storage marketplace billing accounts common
CHECKED := $(PACKAGES) scripts tests bench images clients/python/src
# Linters import the settings, which insist on these; nothing listens there and nothing is opened.
NOWHERE := DATABASE_URL=postgresql:///nowhere REDIS_URL=redis://nowhere DJANGO_SETTINGS_MODULE=config.settings.test
COMPILE := $(UV) pip compile --quiet --generate-hashes --no-header --no-emit-index-url --no-annotate \
	--universal --python-version 3.11

# The tests start hundreds of processes; a machine that forbids bytecode would have each of them compile Berth anew.
unexport PYTHONDONTWRITEBYTECODE

SETUP := .venv/.packages node_modules/.packages static/vendor/.copied
CATALOGUES := $(patsubst %.po,%.mo,$(wildcard locale/*/LC_MESSAGES/*.po))

.PHONY: up dev down setup test test-fast test-dstack test-skypilot e2e lint format bench chaos upgrade-drill seeded-faults lock client wheel help

up: setup ## start everything on http://127.0.0.1:8000 in the foreground (PORT=… moves it); Ctrl-C stops it
	@exec $(PY) -m devserver

dev: setup ## as `make up`, and web, relay, worker and beat start anew when a file changes
	@exec $(PY) -m devserver dev

down: ## stop a running `make up`
	@if [ -x $(PY) ]; then exec $(PY) -m devserver down; else echo "Berth is not running."; fi

setup: $(SETUP) $(CATALOGUES) ## install what is missing: Python packages by hash, front-end packages, translations

# More workers than the two cores that CI has: Docker and stack tests mostly wait. Who runs what: tests/distribution.py.
WORKERS ?= 3

test: setup .venv-vastai/.packages ## the whole test suite, on its own embedded PostgreSQL and Redis (TESTS=tests/billing narrows it)
	HYPOTHESIS_PROFILE=ci $(PY) -m pytest -q -n $(WORKERS) --durations 15 $(TESTS)

# The agent's and the relay's own tests start programs and wait for them: they are whole only in `make test`.
FAST := agents/protocol architecture common web

test-fast: setup ## protocol, rules, templates and the style of the code: no PostgreSQL, no engine, no browser
	$(PY) -m pytest -q -n 0 --without-services $(or $(TESTS),$(addprefix tests/,$(FAST)))

test-dstack: setup .venv-dstack/.packages ## the backend for dstack (clients/dstack), in a dstack of its own
	$(PY) -m pytest -q -n 0 clients/dstack/tests

test-skypilot: setup .venv-skypilot/.packages ## SkyPilot, as published and patched (clients/skypilot), with real containers; needs root
	$(PY) -m pytest -q -n 0 clients/skypilot/tests

e2e: setup ## only the tests that drive a browser
	$(PY) -m pytest -q -n 0 -m browser $(TESTS)

lint: setup ## formatting, lint, types, import contracts, migrations
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	$(NOWHERE) .venv/bin/mypy $(CHECKED)
	$(NOWHERE) .venv/bin/lint-imports
	cd clients/python/src && $(CURDIR)/.venv/bin/lint-imports --config ../importlinter.toml
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

seeded-faults: setup ## mistakes written into a copy of the code one at a time: their nearest tests must fail (FAULTS="money agent")
	$(PY) -m tests.seeded_faults $(FAULTS)

lock: .venv/.bootstrap ## compile requirements/*.in into hash-locked requirements/*.txt (UPGRADE=1 takes newer versions)
	cd requirements && for name in agent base dev; do \
		../$(COMPILE) $(if $(UPGRADE),--upgrade) $$name.in -o $$name.txt || exit 1; done
	cd requirements && for name in bootstrap build; do ../$(COMPILE) $$name.in -c dev.txt -o $$name.txt || exit 1; done
	$(COMPILE) $(if $(UPGRADE),--upgrade) tests/vast/requirements.in -o tests/vast/requirements.txt
	$(COMPILE) $(if $(UPGRADE),--upgrade) clients/dstack/requirements.in -o clients/dstack/requirements.txt
	$(COMPILE) $(if $(UPGRADE),--upgrade) clients/skypilot/requirements.in -o clients/skypilot/requirements.txt

client: setup ## the models and resources of the Python client, from the OpenAPI document
	$(NOWHERE) $(PY) -m scripts.client_code

wheel: setup ## the host agent's own wheel, in dist/
	$(PY) -m build --wheel --outdir dist agents

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

.venv-vastai/.packages: tests/vast/requirements.txt | .venv/.packages
	$(PY) -m venv --clear --without-pip .venv-vastai
	$(UV) pip install --quiet --python .venv-vastai/bin/python --require-hashes -r tests/vast/requirements.txt
	@touch $@

.venv-dstack/.packages: clients/dstack/requirements.txt $(wildcard clients/dstack/patches/*) | .venv/.packages
	$(PY) -m venv --clear --without-pip .venv-dstack
	$(UV) pip install --quiet --python .venv-dstack/bin/python --require-hashes -r clients/dstack/requirements.txt
	@touch $@

.venv-skypilot/.packages: clients/skypilot/requirements.txt | .venv/.packages
	$(PY) -m venv --clear --without-pip .venv-skypilot
	$(UV) pip install --quiet --python .venv-skypilot/bin/python --require-hashes -r clients/skypilot/requirements.txt
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
