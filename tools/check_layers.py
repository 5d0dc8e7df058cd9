"""Check that includes point down the layers, that headers include nothing foreign, that files stay short.

    python tools/check_layers.py [ROOT]

The drawing is in HACKING.md; `BELOW` is the same drawing as a table. Tests, benchmarks, fuzz targets and
examples may include anything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Layer -> the layers it may include besides itself. Formats unpack compressed records, and io the members of
# archives, hence their codecs; formats of text look for bytes, hence their kernels.
BELOW: dict[str, frozenset[str]] = {
    "core": frozenset(),
    "kernels": frozenset({"core"}),
    "codecs": frozenset({"core", "kernels"}),
    "io": frozenset({"core", "codecs"}),
    "formats": frozenset({"core", "kernels", "codecs", "io"}),
    "ops": frozenset({"core", "kernels", "codecs"}),
    "graph": frozenset({"core", "codecs", "io", "formats", "ops"}),
    "tune": frozenset({"core"}),
    "run": frozenset({"core", "kernels", "codecs", "io", "formats", "ops", "graph", "tune"}),
    "gpu": frozenset({"core", "ops", "run"}),
}
TOP = frozenset(BELOW)  # headrace.h, the Python module and the command line include any of them

# Kernels are free functions on pointers, strides and sizes: of core they see the plain values only.
HIDDEN_FROM_KERNELS = ("tensor.h", "status.h", "sample.h", "buffer.h", "value.h", "pool.h")

WARN_LINES, MAX_LINES = {".cc": 400, ".h": 250}, {".cc": 500, ".h": 300}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# Standard C++ headers have neither a folder nor a suffix in their names; the system's C headers are listed.
STANDARD = re.compile(r"[a-z_0-9]+")
SYSTEM = re.compile(r"(sys/\w+|fcntl|unistd|pthread|sched|stdint)\.h")


@dataclass(frozen=True)
class Finding:
    """One broken rule, at a line of a file."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        """Spell it as a compiler would."""
        return f"{self.path}:{self.line}: {self.text}"


def layer_of(path: str) -> str | None:
    """Name the layer of a path: "core" of headrace/core/key.h, "top" of what stands above all layers."""
    parts = path.split("/")
    if parts[0] == "headrace":
        return parts[1] if len(parts) > 2 else "top"
    return "top" if parts[0] in ("python", "cli") else None


def is_free(path: str) -> bool:
    """Tell whether a file may include anything, as tests may."""
    return path.endswith("_test.cc") or layer_of(path) is None


def check_include(path: str, quoted: bool, target: str) -> str | None:
    """Say what is wrong with one include of `path`, or nothing."""
    layer = layer_of(path) or "top"
    if not quoted or not target.startswith(("headrace/", "python/", "cli/")):
        if not path.endswith(".h") or path.endswith("-inl.h"):
            return None
        if path.startswith("python/src/") and target.startswith("nanobind/"):
            return None
        if quoted and layer == "top" and "/" not in target:
            return None  # a neighbour in python/src or cli, which nobody includes from elsewhere
        if quoted:
            return f'"{target}": the include path is the path from the root: "headrace/..."'
        if STANDARD.fullmatch(target) or SYSTEM.fullmatch(target):
            return None
        return f"<{target}>: third-party headers stay in .cc files"
    wanted = layer_of(target)
    if layer == "top":
        return None
    if wanted is None or wanted == "top":
        return f'"{target}": {layer} lies below it'
    for name in (layer, wanted):
        if name not in BELOW:
            return f'"{target}": {name} is no layer that tools/check_layers.py knows'
    if wanted != layer and wanted not in BELOW[layer]:
        allowed = ", ".join(sorted(BELOW[layer])) or "nothing else"
        return f'"{target}": {layer} may include {allowed}, not {wanted}'
    if layer == "kernels" and target.removeprefix("headrace/core/") in HIDDEN_FROM_KERNELS:
        return f'"{target}": kernels take pointers, strides and sizes'
    return None


def check_file(root: Path, path: Path) -> tuple[list[Finding], list[Finding]]:
    """Return the errors and the warnings of one file."""
    name = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    errors: list[Finding] = []
    warnings: list[Finding] = []
    num_lines = text.count("\n")
    if num_lines > WARN_LINES[path.suffix]:
        hard = num_lines > MAX_LINES[path.suffix]
        limit = f"{WARN_LINES[path.suffix]} wanted, {MAX_LINES[path.suffix]} allowed"
        (errors if hard else warnings).append(Finding(path, num_lines, f"the file is long: {limit}"))
    if is_free(name):
        return errors, warnings
    for match in INCLUDE.finditer(text):
        wrong = check_include(name, match[1] == '"', match[2])
        if wrong:
            errors.append(Finding(path, text.count("\n", 0, match.start()) + 1, wrong))
    return errors, warnings


NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
TYPE = re.compile(r"^(?:class|struct) (\w+)[^;\n]*\{", re.MULTILINE)


def check_names(headers: list[Path]) -> list[Finding]:
    """Find types of one name in several headers: a program that has both runs either's code for both."""
    first: dict[str, Path] = {}
    errors = []
    for path in headers:
        text = path.read_text(encoding="utf-8")
        opened = [(match.start(), match[1]) for match in NAMESPACE.finditer(text)]
        closed = [match.start() for match in re.finditer(r"^\}  // namespace", text, re.MULTILINE)]
        for match in TYPE.finditer(text):
            at = match.start()
            depth = sum(start < at for start, _ in opened) - sum(end < at for end in closed)
            scopes = [name for start, name in opened if start < at][:depth]
            name = "::".join([*scopes, match[1]])
            other = first.setdefault(name, path)
            if other != path:
                line = text.count("\n", 0, at) + 1
                errors.append(Finding(path, line, f"{name} is another type in {other.name}, too"))
    return errors


def source_files(root: Path) -> Iterator[Path]:
    """List the C++ files of the project."""
    for folder in ("headrace", "python/src", "cli", "tests", "bench", "fuzz", "examples"):
        for suffix in WARN_LINES:
            yield from sorted((root / folder).rglob(f"*{suffix}"))


def main() -> int:
    """Check every file and say what was found."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    files = list(source_files(root))
    errors: list[Finding] = []
    for path in files:
        found, warnings = check_file(root, path)
        errors += found
        for warning in warnings:
            print(f"{Finding(warning.path.relative_to(root), warning.line, warning.text)} (warning)")
    errors += check_names(
        [path for path in files if path.suffix == ".h" and path.is_relative_to(root / "headrace")]
    )
    for error in errors:
        print(Finding(error.path.relative_to(root), error.line, error.text))
    print(f"check_layers: {len(files)} files, {len(errors)} error{'' if len(errors) == 1 else 's'}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
