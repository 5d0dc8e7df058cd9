#!/usr/bin/env bash
# Print the files that changed since the newest commit that is more than a day older than HEAD, uncommitted ones included, one a line.
# Prints "everything" where that commit is not known, as in a shallow clone. On a branch that is older than a day this is not all that the
# branch changed: run `make tsan fuzz` by hand before it is merged.
#
#   tools/changed.sh [PATTERN]   with an extended regular expression: exit 0 when a changed file matches it, print nothing
set -euo pipefail
cd "$(dirname "$0")/.."
list() {
  local head base
  head=$(git log -1 --format=%ct) || { echo everything; return; }
  base=$(git log -1 --format=%H --before=$((head - 86400)) || true)
  if [ -z "$base" ]; then echo everything; return; fi
  git diff --name-only --no-renames "$base"
  git ls-files --others --exclude-standard
}
changed=$(list)
if [ $# -eq 0 ]; then echo "$changed"; else grep -qE "^everything$|$1" <<<"$changed"; fi
