#!/usr/bin/env bash
# Install the library from a build tree into an empty prefix; build and run a program against it, and the examples, which
# must say in C++ what they say in Python and as JSON.
#   tests/cmake_consumer/run.sh BUILD_TREE PYTHON
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1") python=$(realpath -s "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for component in dev plugins; do
  cmake --install "$build" --component $component --prefix "$scratch/prefix" >/dev/null
  echo "headers with $component: $(find "$scratch/prefix/include" -name '*.h' | wc -l)"
done
for project in tests/cmake_consumer examples; do
  cmake -S "$root/$project" -B "$scratch/$project" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
  cmake --build "$scratch/$project"
done
timeout 60 "$scratch/tests/cmake_consumer/consumer"

cd "$scratch"  # the path in imagenet.json is demo-data/train
"$python" "$root/tools/make_demo_data.py" --count 20
in_cpp=$(timeout 60 examples/imagenet demo-data/train)
in_python=$("$python" "$root/examples/imagenet.py" demo-data/train)
as_json=$("$build/cli/headrace" run "$root/examples/imagenet.json" | grep -oE '[0-9a-f]{32}')
echo "imagenet: $in_cpp in C++, $in_python in Python, $as_json as JSON"
[ "$in_cpp" = "$in_python" ] && [ "$in_cpp" = "$as_json" ]
timeout 60 examples/run_plan "$root/examples/imagenet.json" | grep -qF 'float32 (20, 3, 224, 224)'
timeout 60 examples/slow_store demo-data/train
