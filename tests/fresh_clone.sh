#!/usr/bin/env bash
# A clone of what is committed must install with `pip install .` alone, outside any prepared environment: nothing that the build
# needs may be left uncommitted, and nothing may depend on the checkout once it is installed.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git clone -q "$checkout" "$scratch/clone"
python3 -m venv "$scratch/venv"
# The compiler cache may serve the clone: its paths below the clone are hashed as relative ones.
CCACHE_BASEDIR="$scratch/clone" CCACHE_NOHASHDIR=1 "$scratch/venv/bin/pip" install -q "$scratch/clone"
mv "$scratch/clone" "$scratch/moved"
cd "$scratch"
venv/bin/python -c 'import headrace; print("import headrace:", headrace.__name__)'
venv/bin/headrace --help | head -n 3
