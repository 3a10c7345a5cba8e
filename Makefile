# `make validate` and `make test` start from nothing: they make .venv, install the pinned packages, and run.

PYTHON ?= python3
# extra words for pip, for example an index with torch's small CPU build
PIP_FLAGS ?=
BIN := .venv/bin
RUN := .venv/.installed
DEV := .venv/.installed-dev
export MPLBACKEND = Agg
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# compiled once, read by every worker and by every process that a test starts
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help validate validate-full reproduce figures generated test test-all lint check bench chaos mutation nightly test-matrix notebooks power docs dist clean

help: ## this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(RUN): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing dfltheory and what it needs into .venv (a few minutes the first time)"
	@$(BIN)/python -m pip install -q $(PIP_FLAGS) -c constraints.txt -e .
	@touch $@

$(DEV): $(RUN) Makefile
	@echo "installing the developers' tools into .venv"
	@$(BIN)/python -m pip install -q $(PIP_FLAGS) -c constraints.txt -e '.[all,dev,docs]'
	@touch $@

validate: $(RUN) ## every theorem and claim against runs: a table, figures and a report in results/
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.run_all --out results

validate-full: $(RUN) ## the same with longer horizons, more seeds and the papers' networks (hours)
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.run_all --full --out results-full

reproduce: $(RUN) ## the papers' tables and figures that are known, and how to run them
	@$(BIN)/python -m validation.reproduce --list

figures: $(DEV) ## every picture of the README, the documentation and the notebooks, made again
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.figures

generated: $(DEV) ## every page that code writes: audit, errata, proofs, counterexamples, fields, coverage, fidelity, atlas, covered statements
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.pages.proofs docs/proofs.md
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.statuses
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.pages.audit docs/audit.md docs/covered.md
	@$(BIN)/python -m validation.pages.errata docs
	@$(BIN)/python -m validation.pages.falsify docs/counterexamples docs/falsify.md docs/covered.md
	@$(BIN)/python -m validation.pages.power docs/counterexamples docs/power.md
	@$(BIN)/python -m validation.pages.config docs/experiment-files.md
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.coverage docs/coverage.json docs/verdicts.md
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.bounds.drawn_slips docs/drawn-slips.md
	@$(BIN)/python -m tests.fidelity.page docs/fidelity.md
	@$(BIN)/python -m tests.mutation --page docs/reliability.md
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.pages.atlas docs/atlas.md
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.pages.standard docs/standard.md
	@$(BIN)/python -m validation.predictors
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.scorecard docs/scorecard.json README.md paper.md

test: $(DEV) ## the test suite, without the slow tests
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-all: $(DEV) ## every test
	@$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(DEV) ## format, ruff, types, direction of imports
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports

check: lint test ## lint and test

bench: $(DEV) ## the workloads of the benchmarks, as ratios
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest benchmarks -o python_files='bench_*.py' --benchmark-only -q

chaos: $(DEV) ## real commands killed at random moments, N=50 times each, and what is lost
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/chaos.py -n $(or $(N),50)

mutation: $(DEV) ## N=30 small changes of each package, and which of them its own tests see; goes on where it was stopped
	@$(BIN)/python -m tests.mutation -n $(or $(N),30)

CHEAP ?= $(addprefix tests/, test_confidence.py tasks/test_partition.py graphs/test_definition_1.py graphs/test_mixing.py)

nightly: $(DEV) ## N=100000 examples of each property in CHEAP, the tests whose examples are cheap
	@OMP_NUM_THREADS=1 HYPOTHESIS_PROFILE=nightly EXAMPLES=$(or $(N),100000) $(BIN)/python -m pytest -n auto \
	-m "hypothesis and not slow" --hypothesis-show-statistics $(CHEAP)

MATRIX ?= 3.11-lowest 3.11-newest 3.12-newest 3.13-newest
PART ?= $(addprefix tests/, models test_files.py graphs/test_spectral.py bounds/test_tree.py bounds/test_theorem.py \
	algorithms/test_twins.py tasks/test_quadratics.py tasks/test_hostile_data.py training/test_train.py \
	training/test_checkpoint.py training/test_half_precision.py testing/test_networks.py verdicts/test_compare.py \
	verdicts/test_statistics.py exact/test_exact.py counterexamples/test_falsify_files.py cli/test_bound.py cli/test_sweep.py)

.matrix/%/.installed: pyproject.toml constraints-lowest.txt
	@python$(firstword $(subst -, ,$*)) -m venv .matrix/$*
	@.matrix/$*/bin/pip install -q $(PIP_FLAGS) $(if $(findstring lowest,$*),-c constraints-lowest.txt) pytest hypothesis psutil -e .
	@touch $@

test-matrix-%: .matrix/%/.installed
	@echo "$*: $(PART)"
	@OMP_NUM_THREADS=1 .matrix/$*/bin/python -m pytest -q -p no:cacheprovider -m "not slow" \
	-o addopts="--strict-markers --import-mode=importlib" $(PART)

.PRECIOUS: .matrix/%/.installed
test-matrix: $(MATRIX:%=test-matrix-%) ## PART of the tests on each Python of MATRIX, with lowest or newest packages; one alone: make test-matrix-3.13-newest

notebooks: $(DEV) ## execute the notebooks again and keep what they show
	@cd notebooks && MPLBACKEND=module://matplotlib_inline.backend_inline PYTHONHASHSEED=0 \
		../$(BIN)/jupyter execute --inplace *.ipynb

power: $(DEV) ## search false versions of the corrected theorems; goes on where it was stopped
	@OMP_NUM_THREADS=1 $(BIN)/python -m validation.counterexamples.power docs/power.json --seconds 60 --jobs -1
	@$(BIN)/python -m validation.pages.power docs/counterexamples docs/power.md

docs: $(DEV) ## the documentation, built strictly into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: $(DEV) ## source distribution and wheel in dist/, for the address of the repository: HOME_URL=https://...
	@$(BIN)/python docs/_site/dist.py $(HOME_URL)

clean: ## remove what the targets above made
	rm -rf .venv .matrix results results-full site dist .pytest_cache .ruff_cache .hypothesis build *.egg-info
