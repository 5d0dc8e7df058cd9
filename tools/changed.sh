#!/usr/bin/env bash
# Print the files that changed since the newest commit that is more than a day older than HEAD, uncommitted ones included, one a line.
# Prints "everything" where that commit is not known, as in a shallow clone.
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
if [ $# -eq 0 ]; then list; else list | grep -qE "^everything$|$1"; fi
