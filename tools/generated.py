"""Write a generated file, or with --check compare it with what would be written."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = 40


def write_or_check(path: Path, text: str, check: bool) -> int:
    """Return the exit status: 1 when `check` is asked for and the file differs from `text`."""
    name = path.relative_to(ROOT)
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    if old == text:
        print(f"{name}: up to date")
        return 0
    if not check:
        path.write_text(text, encoding="utf-8")
        print(f"{name}: written")
        return 0
    diff = list(
        difflib.unified_diff(old.splitlines(), text.splitlines(), str(name), "from the sources", lineterm="")
    )
    print("\n".join(diff[:SHOWN]), file=sys.stderr)
    print(
        f"{name} is stale: run `make generate` and commit it ({len(diff)} lines of difference)",
        file=sys.stderr,
    )
    return 1
