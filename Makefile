# make demo: set everything up, run every verb on built-in scenes headless, write demo/index.html
# make test: set everything up, run format, lint, types and all tests
# make test-bounds: the tests without a browser, with bounds checks in all compiled kernels (slow; a cache of its own)
# make docs: set everything up, build the pages of docs/ into site/, warnings are errors
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
BEGAN  := $(shell date +%s)

BROWSERS := chromium chromium-browser google-chrome google-chrome-stable

CHECKED := src tests benchmarks examples scripts integrations hatch_build.py

.PHONY: page demo docs test test-bounds fuzz faults browser blender addon bench format clean
.DEFAULT_GOAL := help

help:
	@sed -n '1,4s/^# //p' Makefile
	@echo 'make page: build the studio page when its sources are newer; make fuzz: 100,000 mutated inputs of every reader; make faults: kill, fill and share running studios, and count lost edits (ROUNDS=10); make bench: benchmarks/, ratios in one run; make addon: the add-on for Blender, into dist/; make format: apply the formatter; make clean: remove what was made'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'Cajole needs Python 3.11 or newer; found:'; $(PYTHON) --version; \
	  echo 'point to one with: make PYTHON=/path/to/python3.11 ...'; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo 'this Python cannot make virtual environments; on Debian: apt-get install python3-venv'; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fast,contact,usd,images,viz,studio,docs,dev]'
	@touch $@

page: $(READY)
	$(BIN)/python hatch_build.py

demo: $(READY)
	$(BIN)/cajole demo --output demo
	@echo "From make to the first picture: $$(( $$(date +%s) - $(BEGAN) )) s. Open $(CURDIR)/demo/index.html"

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --site-dir site
	@echo 'open site/index.html; with search: $(BIN)/python -m http.server --directory site'

# The studio is tested in a real browser; without one those tests are skipped, and this says so first.
browser:
	@for name in $(BROWSERS); do command -v $$name >/dev/null 2>&1 && exit 0; done; \
	  echo 'no Chromium found, so the studio is not tested in a browser; on Debian: apt-get install chromium fonts-liberation'

# Exchange with Blender is tested in Blender itself, as a Python module in an environment of its own, made once; where it
# cannot be had those tests are skipped, and this says why.
blender: $(READY)
	@$(BIN)/python scripts/blender_env.py

addon: $(READY)
	@$(BIN)/python scripts/blender_addon.py

# What is played live in a browser needs the machine for itself.
test: page browser blender
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python hatch_build.py test
	$(BIN)/python -m pytest --ignore tests/e2e --numprocesses auto --maxprocesses 4 --dist loadfile
	$(BIN)/python -m pytest tests/e2e

# A round takes 4 kills of a studio, a full and a read-only disk, and two studios on one folder.
ROUNDS ?= 10
faults: page
	PYTHONPATH=tests $(BIN)/python tests/studio/fault_runner.py $(ROUNDS)

# Mutated files, messages and requests; a table by reader. Other inputs: make fuzz SEED=2; findings go to fuzz-findings/.
SEED ?= 1
fuzz: $(READY)
	$(BIN)/python tests/fuzz/fuzz.py --count 100000 --seed $(SEED)

# An index outside of an array raises IndexError in every kernel; without the checks it reads or writes other memory.
test-bounds: page
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/kernels-with-bounds KERNEL_PROCESSES=modules \
	  $(BIN)/python -m pytest --ignore tests/e2e --numprocesses auto --maxprocesses 4 --dist loadfile

bench: $(READY)
	$(BIN)/cajole bench

format: $(READY)
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

clean:
	rm -rf $(VENV) .venv-blender demo site dist build .pytest_cache .mypy_cache .ruff_cache src/cajole/studio/static \
	  src/cajole/studio/web/node_modules
