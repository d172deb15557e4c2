# You need Python ≥ 3.11, git and make. The first target you run creates .venv from the lock files: `make serve` installs
# the run-time packages only (requirements/runtime.lock), the other targets everything (requirements/dev.lock).
# PYTHON=python3.12 make test     uses another interpreter
# make test ARGS="-k berlin -x"   passes arguments on to pytest; `make serve` and `make bench` take ARGS too

PYTHON ?= python3
JOBS ?= auto
ARGS ?=
PART ?= spec
MINUTES ?= 10
BIN := .venv/bin
# Tests start hundreds of Python processes. Without cached bytecode each compiles everything that it imports.
unexport PYTHONDONTWRITEBYTECODE
SCAN := .venv-scan/bin
COMPILE := $(BIN)/uv pip compile --quiet --system-certs --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help serve test test-fast ui-test ui-check check scan sbom dist bench prove fmt lock clean environment runtime interpreter node browser scanners

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

serve: runtime ## run the service, its web UI and an engine on ./tompion.db
	@trap : INT; $(BIN)/tompion serve $(ARGS) || [ $$? = 130 ] # 130: stopped by Ctrl-C, as intended

test: environment node ui-test ## run the tests (ARGS="-k name" to choose, JOBS=1 for one process)
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-fast: environment ## run the tests that need no server, no browser and no process, in about a minute
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m 'not server and not slow and not browser' $(ARGS)

ui-test: environment ## run the unit tests of the web UI
	@$(BIN)/python hatch_build.py --run test

ui-check: environment ## lint, formatting and types of the web UI
	@echo "biome, tsc …" && $(BIN)/python hatch_build.py --run check

check: environment scan ui-check ## lint, formatting, types, and what scanners say
	@echo "ruff check …" && $(BIN)/ruff check .
	@echo "ruff format …" && $(BIN)/ruff format --check .
	@echo "mypy …" && $(BIN)/mypy

scan: scanners ## look for dangerous code with bandit and semgrep, by local rules
	@echo "bandit …" && $(SCAN)/bandit --quiet --recursive --ini requirements/bandit.ini src
	@echo "semgrep …" && $(SCAN)/semgrep scan --quiet --error --strict --metrics=off --disable-version-check \
		--config requirements/scan.yml src

sbom: scanners ## write build/sbom.json: what the locks pin, as CycloneDX
	@mkdir -p build
	@$(SCAN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --of JSON \
		-o build/sbom.json requirements/dev.lock
	@echo "wrote build/sbom.json"

dist: environment ## build both distributions into dist, and check them as an index does
	@$(BIN)/python -m hatchling build -d dist
	@cd packaging/client && $(CURDIR)/$(BIN)/python -m hatchling build -d $(CURDIR)/dist
	@$(BIN)/python -m twine check --strict dist/tompion*

bench: environment ## run the benchmark of the time engine (PART=engine, executors, rest, web or temporal for the others)
	@$(BIN)/python -m bench.$(PART) $(ARGS)

prove: environment ## run every search for MINUTES (10) in all, and print what was tried and found
	@$(BIN)/python -m tests.prove --minutes $(MINUTES) $(ARGS)

fmt: environment ## format the code and apply the automatic fixes of the linters
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .
	@$(BIN)/python hatch_build.py --run format

lock: environment ## pin again what pyproject.toml asks for (ARGS=--upgrade for the newest)
	@echo "resolving requirements/bootstrap.in …"
	@$(COMPILE) $(ARGS) requirements/bootstrap.in -o requirements/bootstrap.lock
	@echo "resolving pyproject.toml …"
	@$(COMPILE) $(ARGS) pyproject.toml --group dev -o requirements/dev.lock
	@$(COMPILE) $(ARGS) pyproject.toml --group build --constraint requirements/dev.lock -o requirements/runtime.lock
	@$(COMPILE) $(ARGS) --group node --constraint requirements/dev.lock -o requirements/node.lock
	@echo "resolving requirements/scan.in …"
	@$(COMPILE) $(ARGS) requirements/scan.in -o requirements/scan.lock
	@echo "resolving tests/node/package.json and the web UI …"
	@$(BIN)/python requirements/install.py node-lock

clean: ## remove everything that make created
	@rm -rf .venv .venv-scan build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/node/node_modules \
		src/tompion/web/static src/tompion/web/ui/node_modules
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

environment: interpreter
	@$(PYTHON) requirements/install.py dev

runtime: interpreter
	@$(PYTHON) requirements/install.py runtime

interpreter:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Tompion needs Python 3.11 or newer, and '$(PYTHON)' is not: try PYTHON=python3.12 make …" >&2; exit 1; }

browser: ## install Debian's chromium for the tests of the web UI, if there is no browser (needs root)
	@$(PYTHON) requirements/browser.py

scanners: environment
	@$(PYTHON) requirements/install.py scanners

node: environment
	@$(BIN)/python requirements/install.py node
