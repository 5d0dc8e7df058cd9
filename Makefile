# Everything a checkout needs, a word each; `make help` lists them. The first use of any of them does the whole set-up:
# system packages (asking only for what is missing), a virtual environment in .venv, the build. Later uses take seconds.
#
# One CMake tree, build/release, holds the library, the command line, the C++ tests and the Python module: the library's
# objects are compiled once and shared by all four. The Python package is an editable install whose compiled half is copied
# from that tree, so a changed .py file needs no build and a changed .cc file is compiled once.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.SUFFIXES:

SYSTEM_PACKAGES ?= yes
JOBS ?= $(shell nproc)
BUILD_PYTHON ?= python3
DEMO_DATA ?= demo-data

RELEASE := build/release
VENV := .venv
PYTHON := $(VENV)/bin/python
REQUIREMENTS := tools/requirements-build.txt tools/requirements-test.txt
# The stamps of what is set up once.
PACKAGES_READY := build/.packages-ready
VENV_READY := $(VENV)/.ready
CHECKERS_READY := $(VENV)/.checkers-ready
EDITABLE_READY := $(RELEASE)/.editable-ready
ORACLE_READY := .oracle/.ready
TRAINERS_READY := .trainers/.ready
READERS_READY := $(VENV)/.readers-ready

# A cache hit in one checkout serves another: paths below the checkout are hashed as relative ones.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# Without this it does not serve what is built with precompiled headers.
export CCACHE_SLOPPINESS := pch_defines,time_macros
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# ---- what people meet first

.PHONY: demo
demo: package  ## write a sample data set, inspect it, run one epoch and ten steps of training on it
	@$(PYTHON) tools/make_demo_data.py --out $(DEMO_DATA)
	@$(PYTHON) tools/demo.py $(DEMO_DATA)

# Python tests run in parallel, those of a file together as they share what they make; then, one by one, ten that measure and
# those that need no time of their own. All: `make nightly`.
SIDE_BY_SIDE = -n $(JOBS) --dist loadfile
PYTEST = $(PYTHON) -m pytest -q --ignore=tests/oracle/pipelines --ignore=tests/trainers
# As many processes as cores, each with a share of the tests: ctest, which knows each test by its name, starts one for each.
GTEST_IN_PARALLEL = seq 0 $$(($(JOBS) - 1)) | GTEST_TOTAL_SHARDS=$(JOBS) xargs -P $(JOBS) -I{} env GTEST_SHARD_INDEX={} timeout 1500
.PHONY: test
test: build  ## run the C++ tests and the Python tests
	@set -o pipefail; status=0; \
	$(GTEST_IN_PARALLEL) $(RELEASE)/tests/headrace_tests --gtest_brief=1 || status=1; \
	$(PYTEST) -m 'not alone' $(SIDE_BY_SIDE) || status=1; \
	$(PYTEST) -m 'alone(ci=True)' || status=1; \
	exit $$status

ORACLE_PIPELINES ?= 400
ORACLE_SEED ?= 1
# What `make test` passes over where these are not installed.
WITH_READERS := $(addprefix tests/oracle/,test_arrow.py test_color_spaces.py test_hdf5.py test_parquet.py test_sixteen_bits.py test_text_tables.py test_writers.py test_zarr.py) \
  $(addprefix tests/,python/test_torch.py python/test_torch_dataset.py python/test_torch_protocol.py python/test_bf16.py python/test_made_elements.py python/test_nulls.py python/test_sources.py python/test_c_functions.py python/test_write.py cli/test_convert.py)
WITH_ORACLES := $(addprefix tests/oracle/,pipelines test_tensorflow.py test_grain.py test_coco.py test_prepared.py)
.PHONY: oracle
oracle: build $(ORACLE_READY) $(READERS_READY)  ## ORACLE_PIPELINES (400) random pipelines beside tf.data, and every format beside its own reader
	HEADRACE_TENSORFLOW_PYTHON=$(abspath .oracle/bin/python) HEADRACE_ORACLE_PIPELINES=$(ORACLE_PIPELINES) \
	  HEADRACE_ORACLE_SEED=$(ORACLE_SEED) $(PYTHON) -m pytest -q $(SIDE_BY_SIDE) $(WITH_ORACLES) $(WITH_READERS)

# They are large, and their dependencies none of ours: so in an environment of their own.
$(ORACLE_READY): tools/requirements-oracle.txt
	$(BUILD_PYTHON) -m venv --clear .oracle
	.oracle/bin/python -m pip install -q -r $<
	@touch $@

.PHONY: trainers
trainers: build $(TRAINERS_READY)  ## Lightning, accelerate, Hugging Face's Trainer, torchdata, ignite and DDP, with our loader and with PyTorch's
	.trainers/bin/python -m pytest -q $(SIDE_BY_SIDE) tests/trainers

# They see the package and what it needs where .venv has it, and bring the rest.
$(TRAINERS_READY): tools/requirements-trainers.txt $(VENV_READY)
	$(BUILD_PYTHON) -m venv --clear .trainers
	.trainers/bin/python -m pip install -q -r $<
	@site=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("platlib"))'); \
	  echo "import site; site.addsitedir('$$site')" \
	  >"$$(.trainers/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/headrace.pth"
	@touch $@

$(READERS_READY): tools/requirements-readers.txt $(VENV_READY)
	$(PYTHON) -m pip install -q -r $<
	@touch $@

# ---- build

.PHONY: build
build: $(EDITABLE_READY)  ## build everything and install the Python package into .venv
	@cmake --build $(RELEASE) -j $(JOBS)
	@$(INSTALL_PACKAGE)

.PHONY: package
package: $(EDITABLE_READY)  ## the Python package in .venv and the command line, without the tests
	@cmake --build $(RELEASE) -j $(JOBS) --target _core headrace_cli
	@$(INSTALL_PACKAGE)

INSTALL_PACKAGE = cmake --install $(RELEASE) --component python \
  --prefix "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" >/dev/null

$(PACKAGES_READY): tools/install_system_packages.sh
	@if [ "$(SYSTEM_PACKAGES)" = yes ]; then tools/install_system_packages.sh; fi
	@mkdir -p $(@D) && touch $@

$(VENV_READY): $(REQUIREMENTS) | $(PACKAGES_READY)
	@$(BUILD_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headrace needs Python 3.11 or newer.")'
	@[ -x $(PYTHON) ] || $(BUILD_PYTHON) -m venv $(VENV)
	$(PYTHON) -m pip install -q $(REQUIREMENTS:%=-r %)
	@touch $@

$(CHECKERS_READY): tools/requirements-check.txt $(VENV_READY)
	$(PYTHON) -m pip install -q -r $<
	@touch $@

# The build comes first and shows its progress; pip then finds everything compiled and adds the metadata and the editable hook.
$(EDITABLE_READY): pyproject.toml python/CMakeLists.txt $(VENV_READY)
	@cmake -S . -B $(RELEASE) -G Ninja $(RELEASE_OPTIONS) >build/configure.log || { cat build/configure.log; exit 1; }
	@cmake --build $(RELEASE) -j $(JOBS) --target _core headrace_cli
	@$(PYTHON) -m pip install -q --no-build-isolation --no-deps --config-settings=build-dir=$(RELEASE) -e .
	@touch $@
RELEASE_OPTIONS = -DCMAKE_BUILD_TYPE=Release -DHEADRACE_TESTS=ON -DHEADRACE_PYTHON=ON \
  -DPython_EXECUTABLE=$(abspath $(PYTHON)) $(WERROR)
# A warning fails CI, and no build of a user's.
WERROR = $(if $(CI),-DHEADRACE_WERROR=ON)

# ---- checks

CXX_FILES = $(shell git ls-files --cached --others --exclude-standard '*.cc' '*.h')
PYTHON_FILES = $(shell git ls-files --cached --others --exclude-standard '*.py')
TEXT_FILES = $(CXX_FILES) $(PYTHON_FILES) $(shell git ls-files --cached --others --exclude-standard '*.md')

.PHONY: check check-names check-layers check-headers check-format check-lint check-types check-generated
check: check-layers check-names check-headers check-format check-lint check-types check-generated  ## layers, names, headers, formatting, lint, types, generated files

check-layers: $(PACKAGES_READY)
	@$(BUILD_PYTHON) tools/check_layers.py

check-names: $(PACKAGES_READY)
	@$(BUILD_PYTHON) tools/check_names.py
	@$(BUILD_PYTHON) tools/check_messages.py

check-headers: $(PACKAGES_READY)
	@$(BUILD_PYTHON) tools/check_headers.py

check-format: $(CHECKERS_READY)
	@badly=$$(printf '%s\n' $(CXX_FILES) | xargs $(VENV)/bin/clang-format --dry-run 2>&1 \
	  | sed -nE 's/^([^: ]+):[0-9]+:.*/\1/p' | sort -u); \
	if [ -n "$$badly" ]; then echo "clang-format: run \`make format\` for:"; echo "$$badly"; exit 1; fi; \
	echo "clang-format: $(words $(CXX_FILES)) files, all formatted"
	@$(VENV)/bin/ruff format --check $(PYTHON_FILES)

check-lint: $(CHECKERS_READY)
	@$(VENV)/bin/ruff check $(PYTHON_FILES)
	@! grep -nE '@@[A-Z0-9]+@@' $(filter %.md,$(TEXT_FILES)) || { echo "placeholders are left in pages"; exit 1; }
	@$(VENV)/bin/codespell $(TEXT_FILES) && echo "codespell: $(words $(TEXT_FILES)) files, no misspelling"

.PHONY: tidy
TIDY_FILES ?=
tidy: build $(CHECKERS_READY)  ## clang-tidy on the files that changed lately, or TIDY_FILES ("--all")
	@$(PYTHON) tools/tidy.py $(TIDY_FILES)

check-types: $(CHECKERS_READY)
	@$(VENV)/bin/mypy

# Stale: the operators, the formats or the module would now generate another text.
check-generated: build $(CHECKERS_READY)
	@$(PYTHON) tools/gen_stub.py --check
	@$(PYTHON) tools/gen_ops.py --check
	@$(PYTHON) tools/gen_readers.py --check
	@$(PYTHON) tools/gen_plans.py --check

.PHONY: generate
generate: build $(CHECKERS_READY)  ## write the generated files again: ops.py, readers.py, _core.pyi, tables of options and verbs
	$(PYTHON) tools/gen_stub.py
	$(PYTHON) tools/gen_ops.py
	$(PYTHON) tools/gen_readers.py
	$(PYTHON) tools/gen_plans.py

.PHONY: format
format: $(CHECKERS_READY)  ## format C++ and Python in place
	@printf '%s\n' $(CXX_FILES) | xargs -P $(JOBS) -n 16 $(VENV)/bin/clang-format -i
	$(VENV)/bin/ruff format $(PYTHON_FILES)
	$(VENV)/bin/ruff check --fix-only $(PYTHON_FILES)

# ---- sanitizers, fuzzing, benchmarks

# -O1 and line tables only (a -g after it would undo that): half the time to build, and reports still name the line.
SANITIZER_OPTIONS = -G Ninja -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1" -DHEADRACE_TESTS=ON \
  -DHEADRACE_CLI=OFF -DCMAKE_CXX_COMPILER=$(CLANG) $(WERROR)
# Of GCC 12's precompiled headers one with -fsanitize=thread made every compiler that read it take all memory.
CLANG = $(shell command -v clang++-19 || command -v clang++-18)

# Before the recipes that name the compiler, which make looks for as it begins each.
.PHONY: dev-packages
dev-packages:
	@tools/install_system_packages.sh --dev

# One build for both: the library with the sanitizers and the coverage that fuzzing wants is compiled once.
.PHONY: build/asan
build/asan: dev-packages
	cmake -S . -B $@ $(SANITIZER_OPTIONS) -DHEADRACE_SANITIZE=address -DHEADRACE_FUZZ=ON >/dev/null

.PHONY: asan
asan: build/asan  ## all C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	cmake --build build/asan -j $(JOBS) --target headrace_tests
	@tools/runnable.sh build/asan/tests/headrace_tests
	export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:handle_abort=1 UBSAN_OPTIONS=print_stacktrace=1; \
	  $(GTEST_IN_PARALLEL) build/asan/tests/headrace_tests --gtest_brief=1

# Kernels that randomise many address bits put libraries where ThreadSanitizer wants its shadow memory; containers may forbid
# to ask for less, and then often need none.
FIXED_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)
# What runs threads: the suites of run/, the pool they take memory from, and what indexes and writes in the background.
TSAN_FILTER ?= Executor*:ManyReads*:Loader*:*/Loader*:RowList*:Pool*:TuningOfThreads*:IndexesOfRecords*:DatasetWriter*:FileMaps.*
.PHONY: tsan
tsan: dev-packages  ## the tests that run threads under ThreadSanitizer
	cmake -S . -B build/tsan $(SANITIZER_OPTIONS) -DHEADRACE_SANITIZE=thread >/dev/null
	cmake --build build/tsan -j $(JOBS)
	@tools/runnable.sh build/tsan/tests/headrace_tests
	@build/tsan/tests/headrace_tests --gtest_list_tests --gtest_filter='$(TSAN_FILTER)' | grep -q '^  ' \
	  || { echo "tsan: no test matches $(TSAN_FILTER)"; exit 1; }
	TSAN_OPTIONS=halt_on_error=1:handle_abort=1 $(FIXED_ADDRESSES) build/tsan/tests/headrace_tests --gtest_brief=1 \
	  --gtest_filter='$(TSAN_FILTER)'

FUZZ_SECONDS ?= 5
FUZZ_TARGETS ?=
.PHONY: fuzz
fuzz: build/asan  ## every fuzz target (or FUZZ_TARGETS) for FUZZ_SECONDS (5) each
	cmake --build build/asan -j $(JOBS) --target fuzz_targets
	@fuzz/run.sh build/asan $(FUZZ_SECONDS) $(FUZZ_TARGETS)

.PHONY: fuzz-changed
fuzz-changed: build/asan  ## the seeds of every fuzz target; FUZZ_SECONDS (5) for those whose code changed
	cmake --build build/asan -j $(JOBS) --target fuzz_targets
	@fuzz/run.sh --changed build/asan $(FUZZ_SECONDS)

.PHONY: nightly
nightly: test  ## the long checks: all sanitizers, an Arm CPU, memory, the model's and the oracle's long sweeps, ten minutes of every fuzz target
	$(PYTEST) -m alone
	HEADRACE_NIGHTLY=1 $(PYTHON) -m pytest -q tests/model tests/soak tests/oracle/pipelines/test_streams.py tests/oracle/pipelines/test_kills.py
	@$(MAKE) oracle ORACLE_PIPELINES=20000 ORACLE_SEED=$$(date +%Y%m%d)
	@$(MAKE) asan tsan TSAN_FILTER='*'
	@$(MAKE) tidy TIDY_FILES=--all
	@$(MAKE) neon
	@$(MAKE) fuzz FUZZ_SECONDS=600

.PHONY: neon
neon:  ## the kernels and the JPEG decoder on an emulated Arm CPU, by their tests
	@tests/neon.sh build/neon

.PHONY: consumer
consumer: build  ## build and run C++ programs that use find_package(headrace)
	@tests/cmake_consumer/run.sh $(RELEASE) $(PYTHON)

.PHONY: bench
bench: build  ## the micro-benchmarks and the pipelines beside other loaders
	@cmake -B $(RELEASE) -DHEADRACE_BENCH=ON >/dev/null
	@cmake --build $(RELEASE) --target headrace_micro
	$(RELEASE)/bench/micro/headrace_micro
	@$(PYTHON) tools/make_demo_data.py --out $(DEMO_DATA)
	$(PYTHON) bench/pipelines/rn50.py $(DEMO_DATA)/train
	$(PYTHON) bench/pipelines/verbs.py

.PHONY: clean
clean:  ## remove what was built; the virtual environment and the demo data stay
	rm -rf build dist

.PHONY: distclean
distclean: clean  ## remove the virtual environment and the demo data too
	rm -rf $(VENV) .oracle .trainers demo-data .pytest_cache .mypy_cache .ruff_cache
