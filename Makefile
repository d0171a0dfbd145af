# make run: a dashboard with a sample fleet.  make test: every test, on real servers.  make check: before a commit.
# make matrix, lint, format, bench, trust, docs, figures, lock, dist.
#
# Needs Python 3.11 or newer; `make test` also Debian or Ubuntu's apt-get, as root or with sudo.

PORT ?= 8000
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
# Images of Python set it; then each process of a test compiles the product anew, 1 to 3 seconds each time.
export PYTHONDONTWRITEBYTECODE :=
# Tests of one server stay together on one worker; the others spread one by one.
PYTEST_ARGS ?= -n auto --dist loadgroup
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TYPED := karpdash migrations_app tests/servers tests/upstream tests/conftest.py

.PHONY: help run test check matrix servers lint lint-openapi format bench trust docs figures lock dist clean
help:
	@head -n 4 Makefile | cut -c3-

run: $(VENV)/.run
	@exec $(BIN)/karpdash up --port $(PORT)

test: $(VENV)/.dev servers
	$(BIN)/python -m pytest $(PYTEST_ARGS)
	$(BIN)/python -m tests.servers.on_postgres $(PYTEST_ARGS)

# Before a commit: lint, types, the deciding half without the simulator, and the tests of what is not committed yet.
PURE := $(addprefix tests/,access actions campaigns checks conversion iam inventory journeys karpenter manifests \
	readiness upstream)
check: lint
	$(BIN)/python -m pytest $(PYTEST_ARGS) --quiet -m "not apiserver and not moto and not browser" \
		--ignore tests/karpenter/test_next_minor.py $(PURE) $$($(BIN)/python -m tests.tools.touched)

# The tests that need no server, on each Python from 3.11 to 3.14 that is found here; those that are not there are named.
matrix: $(VENV)/.dev
	$(BIN)/python -m tests.tools.matrix $(MATRIX_ARGS)

# Without apt-get the tests that miss a server are skipped, unless KARPDASH_REQUIRE_SERVICES is 1.
servers:
	@tests/servers/install.sh || { \
		[ "$${KARPDASH_REQUIRE_SERVICES:-}" != 1 ] && echo "some servers are missing: their tests will be skipped"; }

lint: $(VENV)/.dev
	@! grep -nE '://|--(extra-)?index|--find-links|--trusted-host' locks/*.txt /dev/null || \
		{ echo "a lock file names where packages come from: make it with make lock"; exit 1; }
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/djangofmt --check templates
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports
	@# Its low findings are those of ruff's S rules, each with a reason beside it.
	$(BIN)/bandit --quiet --recursive --severity-level medium karpdash migrations_app

# The published REST document, held against the rules of redocly and spectral. Needs npm; an error ends it.
OPENAPI_LINT := build/openapi-lint
OPENAPI_LINTERS := $(OPENAPI_LINT)/node_modules/.package-lock.json
lint-openapi: $(OPENAPI_LINTERS)
	@cp tests/openapi_lint/*.yaml $(OPENAPI_LINT)
	cd $(OPENAPI_LINT) && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true node_modules/.bin/redocly lint \
		--config redocly.yaml $(CURDIR)/docs/schema/openapi-v1.yaml
	cd $(OPENAPI_LINT) && node_modules/.bin/spectral lint --ruleset spectral.yaml --fail-severity error \
		$(CURDIR)/docs/schema/openapi-v1.yaml

$(OPENAPI_LINTERS): tests/openapi_lint/package.json tests/openapi_lint/package-lock.json
	@command -v npm >/dev/null || { echo "make lint-openapi needs npm, which comes with Node.js"; exit 1; }
	@mkdir -p $(OPENAPI_LINT) && cp tests/openapi_lint/* $(OPENAPI_LINT)
	@cd $(OPENAPI_LINT) && npm ci --loglevel=error --no-audit --no-fund --ignore-scripts || { \
		echo "npm could not install the linters of the REST document"; exit 1; }
	@touch $@

# Python and templates.
format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/djangofmt templates

bench: $(VENV)/.dev servers
	$(BIN)/python -m tests.bench

# Hostile cases, killed workers and races in numbers; whole it takes hours. make trust SCALE=0.01 is a hundredth of it.
SCALE ?= 1
trust: $(VENV)/.dev servers
	$(BIN)/python -m tests.trust --scale $(SCALE)

# The pages as a site, in build/docs/index.html. What is generated is up to date, links lead somewhere, commands work.
docs: $(VENV)/.dev servers
	$(BIN)/python -m karpdash.docs --check
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b dirhtml docs build/docs
	$(BIN)/python -m pytest tests/docs

# Size and cut of the code base, as the table of docs/architecture.md.
figures: $(VENV)/.dev
	@$(BIN)/python -m tests.house.figures

# The build back end is locked too: the project itself is installed without build isolation, so nothing is unpinned.
LOCKED = --generate-hashes --python-version 3.11 --no-header --no-annotate --no-emit-index-url --no-emit-find-links
COMPILE = echo 'setuptools>=77' | $(BIN)/uv pip compile --quiet pyproject.toml - --all-extras $(LOCKED)
lock: $(VENV)/.dev
	$(COMPILE) --output-file locks/run.txt
	$(COMPILE) --group dev --output-file locks/dev.txt
	$(BIN)/uv pip compile --quiet pyproject.toml $(LOCKED) --constraints locks/run.txt --output-file locks/cli.txt

# Wheel, sdist and their sums, from the commit that is checked out: docs/releasing.md.
dist: $(VENV)/.dev
	@rm -rf dist build
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/uv build --no-build-isolation --python $(BIN)/python --out-dir dist .
	@cd dist && sha256sum *.whl *.tar.gz > SHA256SUMS && cat SHA256SUMS

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# A stamp is written when its set is complete. The development set contains the runtime set.
$(VENV)/.run: $(BIN)/pip locks/run.txt pyproject.toml
	@echo "installing the runtime set"
	@$(PIP_INSTALL) --require-hashes --no-deps -r locks/run.txt
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

# uv takes an eighth of pip's processor time, but does not read pip's configuration: where it fails, pip is next.
$(VENV)/.dev: $(BIN)/pip locks/dev.txt pyproject.toml
	@echo "installing the development set"
	@sed -n '/^uv==/,/[^\\]$$/p' locks/dev.txt >$(VENV)/uv.txt
	@$(PIP_INSTALL) --require-hashes --no-deps -r $(VENV)/uv.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r locks/dev.txt || \
		$(PIP_INSTALL) --require-hashes --no-deps -r locks/dev.txt
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.run

$(BIN)/pip:
	@[ -n "$(PYTHON)" ] || { echo "karpdash needs Python 3.11 or newer: install it, or name it with make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); \
		echo "could not make $(VENV): on Debian and Ubuntu, apt-get install python3-venv"; exit 1; }
