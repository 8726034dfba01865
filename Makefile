# `make demo` and `make test` need Python 3.11 or later and make; the rest is installed into .venv.
NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p $(NEW_ENOUGH) >/dev/null 2>&1 && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-dev
DEMO_STAMP := $(VENV)/.installed-demo
# pip compiles what it installs on one core, this on all of them.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable
# Not what nothing imports: other packages' tests, what mypy has compiled otherwise, and the tools of the installation.
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/(tests|mypy|mypyc|pip|setuptools|pkg_resources)/' $(VENV)/lib

# Many processes import Credo, and without compiled modules each of them would need seconds more.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser chromium lint types imports unit slow test-oldest docs fuzz bench bench-quick bench-honesty bench-rivals bench-portfolio format clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/python:
	@test -n "$(PYTHON)" && $(PYTHON) $(NEW_ENOUGH) || \
	  { echo "Credo needs Python 3.11 or later; name one: make PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEMO_STAMP): pyproject.toml | $(BIN)/python
	$(INSTALL) '.[all]'
	@$(COMPILE) || true
	@touch $@

$(STAMP): pyproject.toml | $(BIN)/python
	$(INSTALL) '.[dev]'
	@$(COMPILE) || true
	@touch $@ $(DEMO_STAMP)

demo: $(DEMO_STAMP)  ## fit the models to a real table and write a report
	$(BIN)/credo demo --out demo

# The tests of one ring of packages, and the examples in its docstrings: make test RING=models.
PACKAGES_core := core distributions kernels likelihoods features metrics
PACKAGES_models := linear sparse additive kernel_machines gp trees ensemble mixtures selection
PACKAGES_app := tables study plots app
TESTS_core := tests/reference $(foreach name,distributions features kernels likelihoods representations,tests/contracts/test_$(name).py)
TESTS_models := tests/contracts
TESTS_app := tests/benchmarks $(wildcard tests/test_*.py src/credo/*.py)
TESTS = $(if $(RING),$(PACKAGES_$(RING):%=src/credo/%) $(PACKAGES_$(RING):%=tests/%) $(TESTS_$(RING)))

ifneq ($(filter-out core models app,$(RING)),)
$(error There is no ring "$(RING)": use core, models or app)
endif

# Types and import rules need one core for a minute: they run beside the tests, and their output follows.
test: lint  ## everything that must pass before a change lands; RING=core, models or app for a part of the tests
	@$(MAKE) --no-print-directory types imports >$(VENV)/checks.log 2>&1 & checks=$$!; \
	$(MAKE) --no-print-directory unit; unit=$$?; \
	wait $$checks; checks=$$?; cat $(VENV)/checks.log; exit $$((unit || checks))

# Debian's and Ubuntu's package; elsewhere install Chromium by hand.
CHROMIUM := $(shell command -v chromium || command -v chromium-browser)

# A busy machine can be slower than a page's patience: what fails is run again, twice at most.
BROWSER := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q -m browser tests/browser

chromium:  ## the browser of test-browser, installed with apt-get where it is missing
ifeq ($(CHROMIUM),)
	$(if $(filter 0,$(shell id -u)),,sudo )apt-get update -qq
	$(if $(filter 0,$(shell id -u)),,sudo )apt-get install -qq -y chromium >/dev/null
endif

test-browser: $(STAMP) chromium  ## the pages of the lab in Chromium
	$(BROWSER) -n 2 || { echo "Once more, what failed:"; $(BROWSER) --last-failed; } || $(BROWSER) --last-failed

lint: $(STAMP)  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## static types
	$(BIN)/mypy

imports: $(STAMP)  ## the import rules between the packages
	$(BIN)/lint-imports

# A file's tests share fitted models and compiled functions, so they run in one process.
unit: $(STAMP)  ## tests and docstring examples, in parallel
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n logical --dist loadfile -q -m 'not slow' --ignore tests/browser $(TESTS)

slow: $(STAMP)  ## the long tests as well
	$(BIN)/pytest -n auto --dist loadfile -q -m 'not browser'

OLDEST := .venv-oldest
# The oldest libraries have wheels for the oldest Python.
OLDEST_PYTHON ?= $(shell for p in python3.11 $(BIN)/python; do $$p --version >/dev/null 2>&1 && echo $$p && break; done)

$(OLDEST)/.installed: pyproject.toml tests/oldest.py | $(BIN)/python
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(BIN)/python -m tests.oldest >$(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(OLDEST)/constraints.txt --editable '.[test]'
	@touch $@

test-oldest: RING ?= models
test-oldest: $(OLDEST)/.installed  ## the tests of a ring (models, or RING=core or app) with the oldest libraries that pyproject.toml allows
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/pytest -n logical --dist loadfile -q -m 'not slow' $(TESTS)

JOBS ?= 2

docs: $(STAMP)  ## these pages as a site in docs/_build/html, its examples run; without a network
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -q -j $(JOBS) -W --keep-going docs docs/_build/html

SECONDS ?= 60

fuzz: $(STAMP)  ## hostile inputs for a while: make fuzz SECONDS=3600
	for name in tables commands model_files fits; do \
	  echo "fuzz.$$name"; $(BIN)/python -m fuzz.$$name --seconds $(SECONDS) || exit 1; done

# The peers have an environment of their own, because some of them need older libraries; GPflow needs one for itself.
BENCH := .venv-bench
GPFLOW := .venv-bench-gpflow
RIVALS := .venv-bench-rivals

$(BENCH)/.installed $(GPFLOW)/.installed $(RIVALS)/.installed: %/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv $*
	$*/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$(patsubst .venv-%,%,$*)]'
	@touch $@

# Where GPflow can't be installed, its suite is skipped, and the page says so.
WITH_GPFLOW = @$(MAKE) --no-print-directory $(GPFLOW)/.installed && $(GPFLOW)/bin/python -m benchmarks gpflow $(1) || \
	  echo "skipped: GPflow, which isn't installed"

bench: $(BENCH)/.installed  ## Credo compared with other libraries; writes docs/benchmarks.json and docs/benchmarks.md
	$(BENCH)/bin/python -m benchmarks --json docs/benchmarks.json --page docs/benchmarks.md
	$(call WITH_GPFLOW,--json docs/benchmarks.json --page docs/benchmarks.md)

bench-quick: $(BENCH)/.installed  ## the same for the small cases, in less than five minutes
	$(BENCH)/bin/python -m benchmarks --quick --json $(BENCH)/quick.json

DATA ?= ../shared/data

bench-honesty: $(BENCH)/.installed  ## accuracy and calibration of every default model; tables in DATA=folder; writes docs/honesty.md
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BENCH)/bin/python -m benchmarks.honesty --data $(DATA)

# What is in docs/rivals.csv isn't run again.
bench-rivals: $(RIVALS)/.installed  ## Credo beside AutoGluon, CatBoost and LightGBM on real tables, for hours; writes docs/rivals.md
	nice -n 19 $(RIVALS)/bin/python -m benchmarks.rivals

bench-portfolio: $(RIVALS)/.installed  ## scores and times of every model of a study, for hours; prints the order of the models
	nice -n 19 $(RIVALS)/bin/python -m benchmarks.portfolio run
	$(RIVALS)/bin/python -m benchmarks.portfolio derive

format: $(STAMP)  ## fix and format with ruff, and write the stub of public names
	$(BIN)/python -m tests.test_types
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what the targets above made
	rm -rf $(VENV) $(BENCH) $(GPFLOW) $(RIVALS) demo docs/_build docs/auto_examples docs/reference build dist .pytest_cache .mypy_cache .ruff_cache \
	  .import_linter_cache .hypothesis
