#!/usr/bin/env bash
# Run fuzz targets from the seeds in fuzz/corpus and, when HEADRACE_DATA is set, from real files.
#   fuzz/run.sh BUILD [SECONDS [TARGET...]]   each for SECONDS (default 60); without TARGET all of them
#   fuzz/run.sh --changed BUILD [SECONDS]     replay the seeds of all; SECONDS for those whose code changed (tools/changed.sh)
# BUILD is where they were built. New inputs are kept in BUILD/corpus, which is not part of the project; a failing input is
# written to BUILD/failures. As many run at once as there are cores.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
changed=
if [[ ${1:-} == --changed ]]; then
  changed=$("$root/tools/changed.sh")
  shift
fi
build=$1 seconds=${2:-60}
shift $(($# < 2 ? $# : 2))
if [[ $# == 0 ]]; then
  for source in "$root"/fuzz/fuzz_*.cc; do
    name=$(basename "$source" .cc)
    set -- "$@" "${name#fuzz_}"
  done
fi

# Whether a target's code changed: its own file, a folder that it includes headers of, or what every parser stands on.
is_changed() {  # is_changed TARGET
  [[ -z $changed ]] && return 0
  local folders
  folders=$(sed -nE 's#^\#include "(headrace/[^"]+)/[^"/]+".*#\1#p' "$root/fuzz/fuzz_$1.cc" | sort -u | paste -sd'|')
  case $1 in  # what it reads without including it
    zip | squashfs) folders+='|headrace/io' ;;
    npz) folders+='|headrace/formats/npy' ;;
    voc_* | file_list | json_map | captions) folders+='|headrace/formats/images|headrace/formats/captions' ;;
    dali_tar_index) folders+='|headrace/formats/webdataset' ;;
    sidecar) folders+='|headrace/formats/index' ;;
    manifest) folders+='|headrace/formats/dataset|headrace/formats/opening' ;;
    tfds | huggingface) folders+="|headrace/formats/prepared|headrace/formats/$1" ;;
    *) if [[ -d $root/headrace/formats/$1 ]]; then folders+="|headrace/formats/$1"; fi ;;
  esac
  grep -qE "^(everything$|fuzz/(fuzz_$1\.cc|[a-z_]+\.h|CMakeLists\.txt)|headrace/(core|codecs)/|($folders)/)" <<<"$changed"
}

fuzz_one() {  # fuzz_one ROOT BUILD SECONDS TARGET; of 0 seconds the seeds are replayed
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
  local log="$build/failures/$target.log" result=ok work="$build/corpus/$target" how=(-max_total_time="$seconds") said="$seconds s"
  if [[ $seconds == 0 ]]; then work=$(mktemp -d) how=(-runs=0) said=replayed; fi
  "$root/tools/runnable.sh" "$build/fuzz/fuzz_$target"
  "$build/fuzz/fuzz_$target" "${how[@]}" -timeout=5 -rss_limit_mb="$memory" -malloc_limit_mb="$((memory / 2))" -max_len=65536 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="$build/failures/$target-" "$work" "${seeds[@]}" >"$log" 2>&1 || result=FAILED
  if [[ $seconds == 0 ]]; then rm -rf "$work"; fi
  printf '== %s, %s: %s, %s\n' "$target" "$said" "$result" "$(grep -o 'number_of_executed_units: .*' "$log" || echo 'no end')"
  if [[ $result == ok ]]; then rm "$log"; else cat "$log" && return 1; fi
}
export -f fuzz_one
for target in "$@"; do
  if is_changed "$target"; then echo "$seconds $target"; else echo "0 $target"; fi
done | xargs -P "$(nproc)" -L1 bash -c 'fuzz_one "$0" "$1" "$2" "$3"' "$root" "$build"
