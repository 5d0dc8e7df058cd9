"""Check the structure: which folders include which, how many files a folder has, how large a class is.

    python tools/check_layers.py [ROOT]

The drawing is in HACKING.md; `BELOW` is the same drawing as a table, `ROOMS` the order of the folders within a
layer. Tests, benchmarks, fuzz targets and examples may include anything.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from check_names import NO_CODE

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
    "api": frozenset({"core", "kernels", "codecs", "io", "formats", "ops", "graph", "tune", "run"}),
    "cli": frozenset({"api", "core", "kernels", "codecs", "io", "formats", "ops", "graph", "tune", "run"}),
    "python": frozenset({"api", "core", "kernels", "codecs", "io", "formats", "ops", "graph", "tune", "run"}),
}
# Folders that are one room with the files above them: node.h holds all verbs, and a verb infers over nodes.
ONE_ROOM = {"headrace/graph/verbs"}
# io and its archives/ are one room: a store of files opens archives, and these are stores.
# Within a layer, its folders from the lowest to the highest: each may include those before it. "." are the files
# of the layer's own folder, "*" are all folders that are not listed (formats, which may include each other).
ROOMS: dict[str, tuple[str, ...]] = {
    "core": ("text", ".", "json", "random", "cache"),
    "codecs": (".", "zstd", "deflate", "packed", "*"),
    "formats": (
        *(".", "strings", "index", "records", "rows", "prepared", "dataset", "*", "splits", "opening"),
        "testing",
    ),
    "graph": (".", "plan", "explain", "passes", "rewrites"),
    "run": (
        *("order", "measure", "evaluate", "read", "element_cache", "work", "row_paths", "streams", "engine"),
        *("lower", "state", "cache", "report", "."),
    ),
    "cli": ("output", ".", "input", "look", "commands", "doctor"),
    "python": ("base", "arrays", "functions", "."),
}

# A thread_local is a hidden argument, or a result that depends on the thread: what a call needs is in CallContext
# (headrace/ops/call_context.h). Which crews a thread works for is about the thread itself.
NO_THREAD_LOCALS = ("headrace/ops/", "headrace/graph/", "headrace/run/")
THREAD_LOCALS_OF = ("headrace/run/measure/reentrancy_guard.cc",)

# Kernels are free functions on pointers, strides and sizes: of core they see the plain values only.
HIDDEN_FROM_KERNELS = ("tensor.h", "status.h", "sample.h", "buffer.h", "value.h", "pool.h")

WARN_LINES = {".cc": 400, ".h": 250}
MAX_FILES = 30  # of a folder, tests not counted
MAX_UNREAD = 15  # of a folder that neither has a README nor is in one that has
# Lists of one thing a file.
LISTS = ("headrace/ops", "headrace/kernels", "headrace/graph/verbs", "fuzz")
MAX_METHODS, MAX_SOURCES = 25, 2  # of a class, and .cc files that define it
# Classes that are larger, with the methods and files they have today: none may grow, and one that got smaller leaves the list.
LARGE_CLASSES: dict[str, tuple[int, int]] = {
    "LevelBody": (91, 9),
    "Stage": (61, 2),
    "StateForm": (27, 2),
    "Executor": (42, 1),
    "LoaderImpl": (37, 1),
    "Fetcher": (35, 3),
    "Evaluator": (26, 1),
    "UnfinishedDataset": (30, 1),
    "Order": (14, 4),
    "Table": (3, 4),
    # The public API, and values that hold any kind of thing.
    "Dataset": (46, 2),
    "Value": (27, 2),
    # One method for each verb of a plan.
    "Lowering": (38, 0),
    "LevelLowering": (28, 0),
    "Narrowing": (28, 0),
    "Adviser": (27, 0),
    "ChunkReader": (26, 2),
    "PlaneDecoder": (26, 0),
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# Standard C++ headers have neither a folder nor a suffix in their names; the system's C headers are listed.
STANDARD = re.compile(r"[a-z_0-9]+")
SYSTEM = re.compile(r"(cxxabi|sys/\w+|fcntl|unistd|pthread|sched|stdint)\.h")


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
    """Name the layer of a path: "core" of headrace/core/pool.h, "api" of headrace/headrace.h."""
    parts = path.split("/")
    if parts[0] == "headrace":
        return parts[1] if len(parts) > 2 else "api"
    return parts[0] if parts[0] in ("python", "cli") else None


def room_of(path: str) -> str:
    """Name the folder of a path within its layer: "order" of headrace/run/order/level.h, "." of its own files."""
    parts = path.split("/")[1 if path.startswith("cli/") else 2 :]
    return parts[0] if len(parts) > 1 and str(Path(path).parent) not in ONE_ROOM else "."


def is_above(layer: str, room: str, other: str) -> bool:
    """Tell whether `other` comes after `room` in the layer's order."""
    rooms = ROOMS.get(layer, ())

    def place(name: str) -> int:
        return rooms.index(name) if name in rooms else rooms.index("*") if "*" in rooms else 0

    return place(other) > place(room)


def is_free(path: str) -> bool:
    """Tell whether a file may include anything, as tests may."""
    return path.endswith(("_test.cc", "testing.h")) or "/testing/" in path or layer_of(path) is None


def check_include(path: str, quoted: bool, target: str) -> str | None:
    """Say what is wrong with one include of `path`, or nothing."""
    layer = layer_of(path) or "api"
    if not quoted or not target.startswith(("headrace/", "python/", "cli/")):
        if not path.endswith(".h") or path.endswith("-inl.h"):
            return None
        if path.startswith("python/src/") and target.startswith("nanobind/"):
            return None
        if path == "cli/output/say.h" and target == "fmt/core.h":  # its function is a template
            return None
        if quoted:
            return f'"{target}": the include path is the path from the root: "headrace/..."'
        if STANDARD.fullmatch(target) or SYSTEM.fullmatch(target):
            return None
        return f"<{target}>: third-party headers stay in .cc files"
    other = layer_of(target) or "api"
    for name in (layer, other):
        if name not in BELOW:
            return f'"{target}": {name} is no layer that tools/check_layers.py knows'
    if other != layer and other not in BELOW[layer]:
        allowed = ", ".join(sorted(BELOW[layer])) or "nothing else"
        return f'"{target}": {layer} may include {allowed}, not {other}'
    unknown = [
        room
        for room in (room_of(path), room_of(target))
        if layer in ROOMS and not {room, "*"} & {*ROOMS[layer]}
    ]
    if other == layer and unknown:
        return f'"{target}": {unknown[0]} is no folder of {layer} that tools/check_layers.py knows (ROOMS)'
    if other == layer and is_above(layer, room_of(path), room_of(target)):
        return f'"{target}": {room_of(target)} stands above {room_of(path)} in {layer} (ROOMS)'
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
        warnings.append(Finding(path, num_lines, f"the file is long: {WARN_LINES[path.suffix]} are enough"))
    if is_free(name):
        return errors, warnings
    for match in INCLUDE.finditer(text):
        wrong = check_include(name, match[1] == '"', match[2])
        if wrong:
            errors.append(Finding(path, text.count("\n", 0, match.start()) + 1, wrong))
    if name.startswith(NO_THREAD_LOCALS) and name not in THREAD_LOCALS_OF:
        code = NO_CODE.sub(lambda skipped: "\n" * skipped[0].count("\n"), text)
        says = (
            "thread_local: what a call of an operator needs is in CallContext (headrace/ops/call_context.h)"
        )
        errors += [
            Finding(path, code.count("\n", 0, match.start()) + 1, says)
            for match in re.finditer(r"\bthread_local\b", code)
        ]
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


def check_folders(root: Path, files: list[Path]) -> list[Finding]:
    """Find folders with too many files."""
    counts = Counter(
        path.parent for path in files if not path.name.endswith("_test.cc") and path.name != "testing.h"
    )
    unread = [
        Finding(folder, count, f"the folder has {count} files and no README.md")
        for folder, count in sorted(counts.items())
        if count > MAX_UNREAD
        and not (folder / "README.md").exists()
        and not (folder.parent / "README.md").exists()
    ]
    return unread + [
        Finding(folder, count, f"the folder has {count} files: {MAX_FILES} at most, tests not counted")
        for folder, count in sorted(counts.items())
        if count > MAX_FILES
        and folder.relative_to(root).as_posix() not in LISTS
        and folder.relative_to(root).parts[0] not in ("tests", "bench", "examples")
    ]


CLASS = re.compile(r"^[ ]*(?:class|struct) (\w+)(?: final)?(?: : [^{;]*?)?\s*\{", re.MULTILINE)
METHOD = re.compile(r"(?:^|[\s*&])(~?\w+|operator[^\s(]+)\s*\(")
DEFINITION = re.compile(r"^[A-Za-z][^;\n={]*?\b(\w+)::(?:~?\w+|operator[^\s(]+)\(", re.MULTILINE)


def without_nested_braces(text: str, begin: int) -> str:
    """Return a class body from its opening brace on, with what nested braces hold left out."""
    depth, out = 0, []
    for char in text[begin:]:
        if char == "{":
            depth += 1
            if depth > 1:
                continue
        elif char == "}":
            depth -= 1
            if depth == 0:
                break
            if depth == 1:
                out.append(";")
            continue
        if depth == 1:
            out.append(char)
    return "".join(out)


def num_methods(body: str) -> int:
    """Count what a class body declares with parentheses behind a name: methods, constructors, operators."""
    count = 0
    for statement in body.split(";"):
        code = re.sub(r"\b(?:public|private|protected):", "", statement).strip("{ \n")
        if not code.startswith(("using ", "friend ", "static_assert", "HEADRACE_")) and METHOD.search(
            code.split("=")[0] if "operator" not in code else code
        ):
            count += 1
    return count


def check_classes(root: Path, files: list[Path]) -> list[Finding]:
    """Find classes with too many methods, or spread over too many files."""
    methods: dict[str, tuple[int, Path]] = {}
    sources: dict[str, set[Path]] = {}
    for path in files:
        if is_free(path.relative_to(root).as_posix()):
            continue
        text = NO_CODE.sub(
            lambda match: '""' if match[0][0] == '"' else " ", path.read_text(encoding="utf-8")
        )
        for match in CLASS.finditer(text):
            count = num_methods(without_nested_braces(text, match.end() - 1))
            if count > methods.get(match[1], (0, path))[0]:
                methods[match[1]] = (count, path)
        if path.suffix == ".cc":
            for name in DEFINITION.findall(text):
                sources.setdefault(name, set()).add(path)
    errors = []
    for name, (count, path) in sorted(methods.items()):
        num_sources = len(sources.get(name, ()))
        most = LARGE_CLASSES.get(name, (MAX_METHODS, MAX_SOURCES))
        if count > most[0] or num_sources > most[1]:
            says = f"class {name} has {count} methods in {num_sources} .cc files: {most[0]} and {most[1]} at most"
            errors.append(Finding(path, 1, says))
        if name in LARGE_CLASSES and count <= MAX_METHODS and num_sources <= MAX_SOURCES:
            errors.append(Finding(path, 1, f"class {name} is no longer large: take it out of LARGE_CLASSES"))
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
    python = list((root / "python/headrace").rglob("*.py"))
    errors += check_folders(root, files + python) + check_classes(root, files)
    for error in errors:
        print(Finding(error.path.relative_to(root), error.line, error.text))
    print(f"check_layers: {len(files)} files, {len(errors)} error{'' if len(errors) == 1 else 's'}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
