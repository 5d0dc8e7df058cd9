"""Check that public headers include only what is installed and stay cheap: under 60,000 lines after the preprocessor.

    python tools/check_headers.py [HEADER ...]

Lines that are blank or markers do not count. Public is what is installed: the headers that
cmake/public_headers.cmake names, and what they include. The largest five are printed, so that growth is seen
before it hurts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
MAX_LINES = 60_000
SHOWN = 5
INCLUDED = re.compile(r'^#include "(headrace/[^"]+)"', re.MULTILINE)


def preprocessed_lines(header: Path, root: Path) -> tuple[int, str]:
    """Count the lines of a header after `g++ -E`; the text is the compiler's complaint, if any."""
    compiler = os.environ.get("CXX", "g++")
    command = [compiler, "-E", "-std=c++20", "-x", "c++", f"-I{root}", str(header)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        return 0, done.stderr.decode(errors="replace").strip()
    return sum(1 for line in done.stdout.splitlines() if line.strip() and not line.startswith(b"#")), ""


def public_headers() -> list[Path]:
    """List the headers that are installed."""
    named = (ROOT / "cmake/public_headers.cmake").read_text(encoding="utf-8")
    left = re.findall(r"headrace/[\w/]+\.h", named)
    found: set[str] = set()
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += INCLUDED.findall((ROOT / name).read_text(encoding="utf-8"))
    return [ROOT / name for name in sorted(found)]


def main() -> int:
    """Measure every public header and fail when one is too large or does not preprocess."""
    headers = [Path(name).resolve() for name in sys.argv[1:]] or public_headers()
    with TemporaryDirectory() as installed, ThreadPoolExecutor(os.cpu_count()) as pool:
        for path in public_headers():
            copy = Path(installed) / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        done = pool.map(lambda path: preprocessed_lines(path, Path(installed)), headers)
        measured = list(zip(headers, done, strict=True))
    failed = False
    for header, (num_lines, complaint) in measured:
        if complaint:
            print(f"{header.relative_to(ROOT)}: does not preprocess\n{complaint}")
        elif num_lines > MAX_LINES:
            print(f"{header.relative_to(ROOT)}: too large: at most {MAX_LINES:,} lines, got {num_lines:,}")
        failed |= bool(complaint) or num_lines > MAX_LINES
    for header, (num_lines, _) in sorted(measured, key=lambda item: -item[1][0])[:SHOWN]:
        print(f"{num_lines:7,}  {header.relative_to(ROOT)}")
    print(
        f"check_headers: {len(headers)} headers, {'failed' if failed else 'all within'} {MAX_LINES:,} lines"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
