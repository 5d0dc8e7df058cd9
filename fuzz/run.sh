#!/usr/bin/env bash
# Run every fuzz target for SECONDS (default 60), from the seeds in fuzz/corpus and, when HEADRACE_DATA is set, from real files.
#   fuzz/run.sh [SECONDS]
# New inputs are kept in build/fuzz/corpus, which is not part of the project; a failing input is written to build/fuzz/failures.
set -euo pipefail
seconds=${1:-60}
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/fuzz
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" -DHEADRACE_FUZZ=ON -DHEADRACE_CLI=OFF \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
mkdir -p "$build/failures"
failed=0
for source in "$root"/fuzz/fuzz_*.cc; do
  name=$(basename "$source" .cc)
  target=${name#fuzz_}
  cmake --build "$build" --target "$name" >/dev/null
  seeds=("$root/fuzz/corpus/$target")
  case $target in
    *image*)
      if [[ -n ${HEADRACE_DATA:-} ]]; then seeds+=("$HEADRACE_DATA/jpeg" "$HEADRACE_DATA/images"); fi ;;
    arrow)
      if [[ -n ${HEADRACE_DATA:-} ]]; then seeds+=("$HEADRACE_DATA/arrow"); fi ;;
    hdf5)
      if [[ -n ${HEADRACE_DATA:-} ]]; then seeds+=("$HEADRACE_DATA/hdf5"); fi ;;
  esac
  mkdir -p "$build/corpus/$target"
  echo "== $name, $seconds s"
  "$build/fuzz/$name" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=4096 -max_len=65536 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="$build/failures/$target-" "$build/corpus/$target" "${seeds[@]}" || failed=1
done
exit $failed
