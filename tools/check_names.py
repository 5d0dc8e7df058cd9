"""Find names of anonymous namespaces that clash where the files of a folder are compiled together.

    python tools/check_names.py [ROOT]

A build compiles several files of a folder at a time (`headrace_unity` in CMakeLists.txt). Which ones depends on
how many there are, so a name must be unique in its folder: a type, a constant, a variable, an alias, or a function
with the same parameters. Functions whose parameters differ are overloads, but not in tests, where literals and
default arguments make calls ambiguous. Tests write `::testing`, as `headrace::testing` may be in the same group.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Each is one target, whose files of a folder may be compiled together: those of tests are another one's.
TREES = ("headrace", "cli", "python/src", "tests")
# Files that include themselves again for each SIMD target are compiled alone, and SKELETON.cc not at all.
ALONE = re.compile(r"foreach_target")

# Comments, strings and characters, in one pattern: each may hold what begins another.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|(?<!\w)'(?:[^'\\\n]|\\[^\n][^'\n]*)'""",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
NAMESPACE = re.compile(r"(?:inline )?namespace\s*([\w:]*)\s*$")
TYPE = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?: class| struct)?)\s+(?:alignas\([^)]*\)\s*)?(\w+)",
    re.DOTALL,
)
ALIAS = re.compile(r"^(?:template\s*<.*?>\s*)?using\s+(\w+)\s*=", re.DOTALL)
FUNCTION = re.compile(
    r"(?:^|[\s*&>])(~?\w+|operator\S+)\s*\((.*)\)\s*(?:const|noexcept|->.*|:.*)?\s*$", re.DOTALL
)
VARIABLE = re.compile(r"(?:^|[\s*&>])(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=.*)?$", re.DOTALL)
PARENTHESES = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)|operator\S+")
DEFAULT = re.compile(r"\s*=\s*[^,]*")
# Names of GoogleTest, as against those of headrace::testing.
OTHER_TESTING = re.compile(
    r"(?<![\w:])testing::(?:Test|TestWithParam|TestParamInfo|TestInfo|UnitTest|AssertionResult|Assertion\w+|Values|ValuesIn|Combine|Range|Bool|"
    r"HasSubstr|StartsWith|EndsWith|ElementsAre\w*|UnorderedElementsAre\w*|Each|Not|Contains|AllOf|AnyOf|SizeIs|IsEmpty|Pair|Eq|Ne|Lt|Le|Gt|Ge|Matcher|"
    r"TempDir|Message|Optional|Pointee|KilledBySignal|WithParamInterface|internal)\b"
)
NOT_DECLARED = (
    "using namespace",
    "static_assert",
    "template class",
    "friend",
    "extern",
    "return",
    "TEST",
    "INSTANTIATE",
    "HEADRACE_",
    "MATCHER",
)


@dataclass(frozen=True)
class Name:
    """A name that a file gives in an anonymous namespace; `parameters` of a function, else None."""

    scope: str
    name: str
    parameters: str | None
    line: int


def stripped(text: str) -> str:
    """Return the text without what is no code; every line stays where it is."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    return DIRECTIVE.sub(blank, NO_CODE.sub(blank, text))


def parameter_types(text: str) -> str:
    """Reduce a list of parameters to what tells overloads apart: "const A& a, int n = 1" to "const A&,int"."""
    types = []
    depth, part = 0, ""
    for char in text + ",":
        depth += (char in "<([") - (char in ">)]")
        if char == "," and depth == 0:
            words = DEFAULT.sub("", " ".join(part.split())).strip()
            type_ = re.sub(r"(?<=[\s*&>])\w+$", "", words).strip() if " " in words else words
            types.append(re.sub(r"\bsize_t\b", "uint64_t", type_))
            part = ""
        else:
            part += char
    return ",".join(types)


def declared(statement: str, ends_in_brace: bool, scope: str, line: int) -> Name | None:
    """Say what a statement at the scope of an anonymous namespace declares."""
    code = " ".join(statement.split())
    if not code or code.startswith(NOT_DECLARED):
        return None
    code = re.sub(r"\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*", "", code)
    if alias := ALIAS.match(code):
        return Name(scope, alias[1], code, line)  # to say the same twice is no clash
    if (kind := TYPE.match(code)) and (
        "(" not in code or ends_in_brace and code.startswith(("class", "struct", "enum", "union"))
    ):
        return Name(scope, kind[1], None, line)
    value = PARENTHESES.sub(lambda match: "?" * len(match[0]), code).find(" = ")
    head = code[:value] if value >= 0 and not code.startswith("template") else code
    head = re.sub(r"^template\s*<[^>]*(?:<[^>]*>[^>]*)*>\s*(?:requires [^{]*?\)\s*)?", "", head)
    if (function := FUNCTION.search(head)) and "::" not in head.split("(")[0].split()[-1]:
        return Name(scope, function[1], parameter_types(function[2]), line)
    if "::" in head.split("(")[0].split(" ")[-1] or "(" in head.split("=")[0] and not ends_in_brace:
        return None
    if variable := VARIABLE.search(head.split("{")[0]):
        return Name(scope, variable[1], None, line)
    return None


def further(statement: str, scope: str, line: int) -> Iterator[Name]:
    """List the second and later names of a declaration: "constexpr size_t kFiles = 64, kRecords = 40"."""
    code = PARENTHESES.sub("", " ".join(statement.split()))
    if code.startswith(("constexpr ", "const ", "static ", "std::", "int ", "bool ")) and "=" in code:
        for match in re.finditer(r", (\w+) =", re.sub(r"<[^<>]*>", "", code)):
            yield Name(scope, match[1], None, line)


def is_open(statement: str) -> bool:
    """Tell whether a brace stands within parentheses: a default argument."""
    return statement.count("(") > statement.count(")")


def names_of(text: str) -> Iterator[Name]:
    """List the names of a file's anonymous namespaces, at their own level only."""
    code = stripped(text)
    scopes: list[str | None] = []  # names of namespaces; "" an anonymous one, None a brace of anything else
    statement, begin = "", 0

    def where() -> tuple[str, int]:
        return "::".join(scope or "" for scope in scopes), code.count("\n", 0, begin) + 1

    for at, char in enumerate(code):
        inside = None in scopes
        if char == "{":
            opened = NAMESPACE.search(statement.strip()) if not inside else None
            is_value = not inside and ("=" in PARENTHESES.sub("", statement) or is_open(statement))
            if opened:
                scopes.append(opened[1])
            else:
                is_at_scope = not inside and "" in scopes and not is_value
                if is_at_scope and (found := declared(statement, True, *where())):
                    yield found
                scopes.append(None)
                inside = True
            if not inside:
                statement, begin = "", at + 1
            continue
        if char == "}":
            if scopes:
                was = scopes.pop()
                is_value = "=" in PARENTHESES.sub("", statement) or is_open(statement)
                if was is None and None not in scopes and not is_value or was is not None:
                    statement, begin = "", at + 1
            continue
        if inside:
            continue
        if char == ";":
            if "" in scopes:
                if found := declared(statement, False, *where()):
                    yield found
                yield from further(statement, *where())
            statement, begin = "", at + 1
            continue
        if not statement.strip() and char.isspace():
            begin = at + 1
        statement += char


def main() -> int:
    """Check every folder and say what clashes."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    folders: dict[tuple[Path, bool], list[Path]] = {}
    for tree in TREES:
        for path in sorted((root / tree).rglob("*.cc")):
            if path.name != "SKELETON.cc":
                folders.setdefault((path.parent, path.name.endswith("_test.cc")), []).append(path)
    errors = 0
    num_files = 0
    for (_, is_test), paths in folders.items():
        first: dict[tuple[str, str, str | None], tuple[Path, Name]] = {}
        for path in paths:
            text = path.read_text(encoding="utf-8")
            if ALONE.search(text):
                continue
            num_files += 1
            for match in OTHER_TESTING.finditer(text) if is_test else ():
                print(
                    f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}: ::testing, not testing"
                )
                errors += 1
            for name in names_of(text):
                is_alias = (name.parameters or "").startswith("using ")
                key = (name.scope, name.name, None if is_alias or is_test else name.parameters)
                other, known = first.setdefault(key, (path, name))
                if other != path and not (is_alias and name.parameters == known.parameters):
                    where = other.relative_to(root)
                    print(
                        f"{path.relative_to(root)}:{name.line}: '{name.name}' is in {where}:{known.line}, too"
                    )
                    errors += 1
    print(f"check_names: {num_files} files, {errors} clash{'' if errors == 1 else 'es'}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
