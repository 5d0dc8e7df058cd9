#!/usr/bin/env bash
# A clone of what is committed must install with pip from what pyproject.toml names alone: nothing that the build needs may
# be left uncommitted, and nothing may depend on the clone once it is installed.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone -q "$checkout" "$scratch/clone"
cd "$scratch/clone"
# A new environment with what the build asks for and nothing else is what pip would make, but where `make build` has its own:
# so the compiler cache serves the clone, as it hashes paths below the clone as relative ones.
python3 -m venv .venv
.venv/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
  >"$scratch/requires.txt"
.venv/bin/pip install -q -r "$scratch/requires.txt"
# The compiler by the name that `make build` has it by, and its options, which the cache minds.
CXX=c++ CMAKE_ARGS=${CI:+-DHEADRACE_WERROR=ON} CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros .venv/bin/pip install -q --no-build-isolation .
find . -mindepth 1 -maxdepth 1 ! -name .venv -exec rm -rf {} +
cd "$scratch"
clone/.venv/bin/python -c 'import headrace; print("import headrace:", headrace.__name__)'
clone/.venv/bin/headrace --help | head -n 3
