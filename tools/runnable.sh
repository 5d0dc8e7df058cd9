#!/bin/sh
# runnable.sh FILE...: wait until each executable can be started, at most ten seconds each. Right after it was linked, some machines
# answer "Text file busy" or "Permission denied" for a moment.
for file; do
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    status=0
    timeout 20 "$file" -help=1 --help >/dev/null 2>&1 || status=$?
    [ "$status" = 126 ] || [ "$status" = 125 ] || break
    sleep 1
  done
done
