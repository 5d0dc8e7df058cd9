#!/usr/bin/env bash
# Run every fuzz target for SECONDS (default 60), from the seeds in fuzz/corpus and, when HEADRACE_DATA is set, from real files.
#   fuzz/run.sh BUILD [SECONDS [TARGET...]]
# BUILD is where they were built. New inputs are kept in BUILD/corpus, which is not part of the project; a failing input is
# written to BUILD/failures. As many run at once as there are cores.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 seconds=${2:-60}
shift $(($# < 2 ? $# : 2))
if [[ $# == 0 ]]; then
  for source in "$root"/fuzz/fuzz_*.cc; do
    name=$(basename "$source" .cc)
    set -- "$@" "${name#fuzz_}"
  done
fi
fuzz_one() {  # fuzz_one ROOT BUILD SECONDS TARGET
  local root=$1 build=$2 seconds=$3 target=$4 seeds=("$1/fuzz/corpus/$4") memory=4096
  # An input is 64 kB: archives say how much more they may take of memory (most_held), and the sanitizer keeps what is freed.
  case $target in zip | squashfs) memory=1024 ;; esac
  if [[ -n ${HEADRACE_DATA:-} ]]; then
    case $target in
      *image*) seeds+=("$HEADRACE_DATA/jpeg" "$HEADRACE_DATA/images") ;;
      arrow | hdf5) seeds+=("$HEADRACE_DATA/$target") ;;
    esac
  fi
  mkdir -p "$build/corpus/$target" "$build/failures"
  local log="$build/failures/$target.log" result=ok
  "$build/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb="$memory" -malloc_limit_mb="$((memory / 2))" -max_len=65536 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="$build/failures/$target-" "$build/corpus/$target" "${seeds[@]}" >"$log" 2>&1 || result=FAILED
  printf '== %s, %s s: %s, %s\n' "$target" "$seconds" "$result" "$(grep -o 'number_of_executed_units: .*' "$log" || echo 'no end')"
  if [[ $result == ok ]]; then rm "$log"; else cat "$log" && return 1; fi
}
export -f fuzz_one
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one "$@"' _ "$root" "$build" "$seconds" {}
