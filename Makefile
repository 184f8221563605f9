# All the set-up on a fresh machine: a Python of 3.11 or newer, make and a package index. Name another Python with `make demo PYTHON=python3.12`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.stamp-runtime
DEV := $(VENV)/.stamp-dev
BENCH := $(VENV)/.stamp-bench
DOCS := $(VENV)/.stamp-docs
PROJECTS := pyproject.toml sdk/python/pyproject.toml
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test examples test-hermes bench-hermes real-clients real-servers pythons lint bench torture soak generate docs release clean

help: ## show these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: $(RUNTIME) ## an agent with four plugins, about ten seconds
	@$(BIN)/sliphook demo

test: $(DEV) ## all tests; some of them: make test ARGS="tests/docs -x"
	@$(BIN)/python -m pytest -n auto $(ARGS)

examples: $(DEV) ## the use cases of examples/, each with the real server, browser, database or shell
	@$(BIN)/python -m pytest -n auto tests/examples $(ARGS)

.PHONY: fleet-load
fleet-load: $(DEV) ## 200 agents, 1,000 events a second, and the broker killed in the middle; less: make fleet-load ARGS="--agents 20 --rate 100"
	@$(BIN)/python -m tests.examples.fleet_load $(ARGS)

test-hermes: ## the bridge in the real Hermes Agent, in an environment of its own, offline but for installing it
	@test -x .venv-hermes/bin/pytest || { $(PYTHON) -m venv .venv-hermes && .venv-hermes/bin/python -m pip install --quiet --disable-pip-version-check 'hermes-agent[anthropic,bedrock]==0.19.0' -e sdk/python -e '.[test]'; }
	@SLIPHOOK_TEST_HERMES=1 .venv-hermes/bin/python -m pytest -s -W default tests/bridges/hermes/real $(ARGS)

bench-hermes: ## what a plugin costs in the real Hermes Agent, on an idle machine; less: make bench-hermes ARGS="--interrupts 20"
	@test -x .venv-hermes/bin/pytest || $(MAKE) --no-print-directory test-hermes ARGS="--collect-only -q"
	@.venv-hermes/bin/python -W ignore -m tests.bridges.hermes.real.speed $(ARGS)

real-clients: $(DEV) ## plugins in the real Claude Code, Codex, Gemini CLI and Copilot CLI (1 GB from npm), offline; some of it: make real-clients ARGS="codex session"
	@$(BIN)/python -m tests.real_clients $(ARGS)

real-servers: $(DEV) ## public MCP servers from npm and PyPI (0.3 GB) as plugins, with a guard in front, the protocol's conformance suite and its Inspector; some of them: make real-servers ARGS="git time"
	@$(BIN)/python -m tests.real_servers $(ARGS)

pythons: $(DEV) ## the SDK on the oldest Python that is found, both on the newest; on every one: make pythons ARGS=--all
	@$(BIN)/python -m tests.pythons $(ARGS)

lint: $(DEV) $(BENCH) ## ruff, mypy and pyright, all strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright

bench: $(BENCH) ## what a hook costs, beside the pipe's own limit and beside others; under a minute: make bench QUICK=1
	@$(BIN)/python -m tests.bench $(if $(QUICK),--quick) $(ARGS)

torture: $(DEV) ## hundreds of misbehaving plugins beside a healthy one, as a table; some of them: make torture ARGS="framing admin/two"
	@$(BIN)/python -m tests.torture $(ARGS)

soak: $(DEV) ## thirty plugins, a third of them misbehaving, for ten minutes; shorter: make soak SECONDS=60; a million drawn messages instead: make soak MESSAGES=1000000
	@$(BIN)/python -m tests.torture.$(if $(MESSAGES),soak_messages $(MESSAGES),soak $(or $(SECONDS),600))

generate: $(RUNTIME) ## protocol.schema.json and the tables of protocol.md, from sliphook_sdk.protocol
	@$(BIN)/python -m tools.generate

docs: $(DOCS) ## the site in build/site, from the pages and the docstrings; a dead link fails
	@$(BIN)/python -m tools.site build/pages
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

release: $(DEV) ## a dry run: versions, CHANGELOG, wheels, the npm package, and a fresh install of all three
	@$(BIN)/python -m tools.release $(DIST)

clean: ## remove the virtual environment, caches and built files
	rm -rf $(VENV) .venv-hermes .real-clients .real-servers build dist sdk/python/dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find host sdk tests tools examples -name __pycache__ -prune -exec rm -rf {} +

$(RUNTIME): $(PROJECTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  found=$$($(PYTHON) --version 2>/dev/null) || found="not there"; \
	  echo "Sliphook needs Python 3.11 or newer; $(PYTHON) is $$found. Name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV) || { \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "Installing Sliphook into $(VENV) ..."
	@$(PIP_INSTALL) -e sdk/python -e .
	@touch $@

$(DEV): $(PROJECTS) $(RUNTIME)
	@echo "Installing what tests and checks need into $(VENV) ..."
	@$(PIP_INSTALL) -e sdk/python -e '.[dev]'
	@touch $@

$(BENCH): $(PROJECTS) $(RUNTIME)
	@echo "Installing what the benchmark compares with into $(VENV) ..."
	@$(PIP_INSTALL) -e sdk/python -e '.[bench]'
	@touch $@

$(DOCS): $(PROJECTS) $(RUNTIME)
	@echo "Installing what the site needs into $(VENV) ..."
	@$(PIP_INSTALL) -e sdk/python -e '.[docs]'
	@touch $@
