#!/usr/bin/env bash
# Install the library from a build tree into an empty prefix, then build and run a program against it.
#   tests/cmake_consumer/run.sh BUILD_TREE
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$1" --component dev --prefix "$scratch/prefix" >/dev/null
cmake -S "$here" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build "$scratch/build"
timeout 60 "$scratch/build/consumer"
