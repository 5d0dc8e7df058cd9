"""Find code that looks into the message of an error.

    python tools/check_messages.py [ROOT]

A message is written for people, and may be reworded. Code that decides by an error asks its code and its facts
(headrace/core/error_facts.h; in Python the attributes of the exception).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# A Status in an expression: status.text(), index.status().text(), why.text() ….
STATUS = r"(?:status\(\)|\b\w*(?:status|error|failure|refusal|why)_?)"
LOOKS = r"(?:find\w*|rfind|starts_with|ends_with|contains|substr|compare|remove_prefix)\("
CPP = re.compile(
    rf"{STATUS}(?:\.|->)text\(\)\s*(?:\.{LOOKS}|[=!]=)|\b(?:message|said)\.(?:find|starts_with|ends_with|contains)\(|"
    rf"std::regex"
)
ERROR = r"str\(\s*(?:e|err|error|exc|exception|failure|reason)\s*\)"
PYTHON = re.compile(
    rf"{ERROR}\s*(?:\.(?:startswith|endswith|find|index|split|partition|rpartition)\(|[=!]=)|\bin\s+{ERROR}|"
    rf"\bre\.\w+\([^\n]*{ERROR}|\.args\[0\]\.(?:startswith|endswith|find|split|partition)\("
)
# What other libraries raise has no facts.
ALLOWED = {("python/headrace/_mapping.py", "_is_about_symbols")}


def function_around(text: str, position: int) -> str:
    """Return the name of the Python function that holds a position."""
    names = re.findall(r"^ *def (\w+)", text[:position], re.MULTILINE)
    return names[-1] if names else ""


def check_file(root: Path, path: Path) -> list[str]:
    """Return a line for each place of a file that looks into a message."""
    text = path.read_text(encoding="utf-8")
    pattern = PYTHON if path.suffix == ".py" else CPP
    name = path.relative_to(root).as_posix()
    out = []
    for match in pattern.finditer(text):
        if path.suffix == ".py" and (name, function_around(text, match.start())) in ALLOWED:
            continue
        line = text.count("\n", 0, match.start()) + 1
        out.append(
            f"{name}:{line}: looks into a message: {match.group().strip()}; ask the error's code and facts"
        )
    return out


def files_of(root: Path) -> list[Path]:
    """Return the sources of the library, the command line and the Python package; tests may read messages."""
    cpp = [
        p
        for tree in ("headrace", "cli", "python/src")
        for p in (root / tree).rglob("*")
        if p.suffix in {".cc", ".h"}
    ]
    python = list((root / "python/headrace").rglob("*.py"))
    return sorted(p for p in cpp + python if not p.name.endswith("_test.cc") and "testing" not in p.parts)


def main() -> int:
    """Print what was found; 1 if there is anything."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = files_of(root)
    found = [line for path in files for line in check_file(root, path)]
    for line in found:
        print(line)
    print(f"check_messages: {len(files)} files, {len(found)} place{'' if len(found) == 1 else 's'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
