"""The project's own tools: what they let pass and what they refuse."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import check_layers
import check_messages
import gen_ops
import gen_readers
import make_demo_data
import pytest
from PIL import Image

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.mark.parametrize(
    ("path", "quoted", "target", "wrong"),
    [
        ("headrace/core/random/key.h", True, "headrace/core/status.h", None),
        ("headrace/core/random/key.h", False, "vector", None),
        ("headrace/core/random/key.h", False, "nlohmann/json.hpp", "third-party headers stay in .cc files"),
        ("headrace/core/value.cc", False, "nlohmann/json.hpp", None),
        ("headrace/kernels/resize-inl.h", False, "hwy/highway.h", None),
        ("headrace/kernels/resize.cc", True, "headrace/core/tensor.h", "kernels take pointers"),
        ("headrace/formats/images/source.cc", True, "headrace/io/store.h", None),
        ("headrace/formats/images/source.cc", True, "headrace/ops/op.h", "not ops"),
        (
            "headrace/io/file.cc",
            True,
            "headrace/formats/source.h",
            "io may include codecs, core, not formats",
        ),
        ("headrace/graph/node.cc", True, "headrace/run/loader.h", "not run"),
        ("headrace/run/loader.cc", True, "headrace/headrace.h", "not api"),
        ("headrace/run/order/level.cc", True, "headrace/run/read/fetch.h", "read stands above order in run"),
        ("headrace/run/read/fetch.cc", True, "headrace/run/measure/counters.h", None),
        ("headrace/run/engine/stage.cc", True, "headrace/run/loader.h", "stands above engine"),
        ("headrace/formats/csv/csv.cc", True, "headrace/formats/opening/open.h", "opening stands above csv"),
        ("headrace/formats/jsonl/jsonl.cc", True, "headrace/formats/csv/values.h", None),
        ("cli/output/terminal.cc", True, "cli/doctor/report.h", "doctor stands above output"),
        ("headrace/run/loader.cc", True, "headrace/new/thing.h", "new is no layer"),
        ("headrace/run/loader.h", True, "loader.h", "the path from the root"),
        ("headrace/headrace.h", True, "headrace/run/loader.h", None),
        ("python/src/op.h", False, "nanobind/nanobind.h", None),
    ],
)
def test_layers_point_one_way(path: str, quoted: bool, target: str, wrong: str | None) -> None:
    found = check_layers.check_include(path, quoted, target)
    assert found is None if wrong is None else found is not None and wrong in found


def test_layers_drawing_has_no_cycle() -> None:
    for layer, below in check_layers.BELOW.items():
        assert not any(layer in check_layers.BELOW[name] for name in below)


def test_long_files_warn(tmp_path: Path) -> None:
    folder = tmp_path / "headrace" / "core"
    folder.mkdir(parents=True)
    for name, num_lines in (("short.h", 250), ("long.h", 251)):
        (folder / name).write_text("//\n" * num_lines)
    found = {path.name: check_layers.check_file(tmp_path, path) for path in folder.iterdir()}
    assert {name: (len(errors), len(warnings)) for name, (errors, warnings) in found.items()} == {
        "short.h": (0, 0),
        "long.h": (0, 1),
    }


def test_operators_and_runs_have_no_thread_local(tmp_path: Path) -> None:
    code = "// thread_local is refused\nthread_local int hidden = 0;\n"
    found = {}
    for name in (
        "headrace/ops/a.cc",
        "headrace/run/measure/a.cc",
        "headrace/run/measure/reentrancy_guard.cc",
        "headrace/codecs/a.cc",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
        found[name] = [error.line for error in check_layers.check_file(tmp_path, path)[0]]
    assert list(found.values()) == [[2], [2], [], []]


def test_a_folder_has_at_most_30_files_but_for_tests_and_lists_and_a_readme(tmp_path: Path) -> None:
    for folder in ("headrace/run", "headrace/ops"):
        (tmp_path / folder).mkdir(parents=True)
        for i in range(31):
            (tmp_path / folder / f"a{i}.cc").touch()
    files = sorted(tmp_path.rglob("*.cc"))

    def found(files: list[Path]) -> list[str]:
        return [f"{error.path.name}: {error.text}" for error in check_layers.check_folders(tmp_path, files)]

    many = "run: the folder has 31 files: 30 at most, tests not counted"
    assert found(files) == [
        "ops: the folder has 31 files and no README.md",
        "run: the folder has 31 files and no README.md",
        many,
    ]
    (tmp_path / "headrace/README.md").touch()
    assert found(files) == [many]
    assert (
        found([path.with_name(path.stem + "_test.cc") if path.name == "a0.cc" else path for path in files])
        == []
    )


def test_what_changed_is_told_apart_from_what_did_not(tmp_path: Path) -> None:
    def git(*arguments: str, date: str = "") -> None:
        environment = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        names = ["-c", "user.name=x", "-c", "user.email=x"]
        subprocess.run(
            ["git", *names, *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            env={**os.environ, **environment},
        )

    def changed(pattern: str) -> int:
        return subprocess.run(
            ["tools/changed.sh", pattern], cwd=tmp_path, check=False, capture_output=True
        ).returncode

    (tmp_path / "tools").mkdir()
    shutil.copy(TOOLS / "changed.sh", tmp_path / "tools")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "old", date="2020-01-01T00:00:00")
    assert changed("^run/") == 0  # no commit is older than a day: everything
    for i in range(3000):  # enough that a reader that ends early is noticed
        (tmp_path / f"many-{i:04d}-{'x' * 60}").touch()
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli/a.cc").touch()
    git("add", "-A")
    git("commit", "-qm", "new", date="2020-01-03T00:00:00")
    assert [changed(pattern) for pattern in ("^cli/", "^many-", "^run/")] == [0, 0, 1]


def test_a_class_has_at_most_25_methods_in_two_files(tmp_path: Path) -> None:
    folder = tmp_path / "headrace" / "core"
    folder.mkdir(parents=True)

    def found(methods: int, sources: int) -> list[str]:
        body = "".join(
            f"  void method_{i}(int a, std::function<void(int)> f = {{}}) const;\n" for i in range(methods)
        )
        (folder / "thing.h").write_text(
            f"class Thing {{\n public:\n{body} private:\n  int size_ = f(3);\n}};\n"
        )
        for path in folder.glob("*.cc"):
            path.unlink()
        for i in range(sources):
            (folder / f"thing{i}.cc").write_text(f"void Thing::method_{i}(int a) const {{}}\n")
        return [error.text for error in check_layers.check_classes(tmp_path, sorted(folder.iterdir()))]

    assert found(25, 2) == []
    assert found(26, 1) == ["class Thing has 26 methods in 1 .cc files: 25 and 2 at most"]
    assert found(3, 3) == ["class Thing has 3 methods in 3 .cc files: 25 and 2 at most"]


@pytest.mark.parametrize(
    ("first", "second", "clashes"),
    [
        ("struct Look { int a; };", "struct Look { int b; };", True),
        ("constexpr size_t kFiles = 3, kRows = size_t{1} << 20;", "const int kRows = 4;", True),
        (
            "std::string text_of(int a = 3) { return {}; }",
            "std::string text_of(const Value& v) { return {}; }",
            False,
        ),
        ("void put(size_t n, int m) {}", "void put(uint64_t count, int other) {}", True),
        ("using Bytes = std::string;", "using Bytes = std::string;", False),
        ("using Bytes = std::string;", "using Bytes = std::vector<int>;", True),
        (
            "template <class T> T twice(T x) { return x + x; }",
            "int other(int twice) { return twice; }",
            False,
        ),
        ("const Registered<A> registered;", "const Registered<B> registered;", True),
    ],
)
def test_names_that_clash_in_a_group(tmp_path: Path, first: str, second: str, clashes: bool) -> None:
    folder = tmp_path / "headrace" / "core"
    folder.mkdir(parents=True)
    for name, text in (("a.cc", first), ("b.cc", second)):
        (folder / name).write_text(
            f"namespace headrace {{\nnamespace {{\n\n{text}\n\n}}  // namespace\n}}  // namespace headrace\n"
        )
    done = subprocess.run(
        [sys.executable, str(TOOLS / "check_names.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 1) == clashes, done.stdout


def parameter(name: str, kind: str, fallback: object, required: bool = False) -> gen_ops.Param:
    return {
        "name": name,
        "type": kind,
        "doc": name,
        "fallback": fallback,
        "required": required,
        "bindable": False,
    }


def test_generated_function_has_the_operators_signature() -> None:
    op: gen_ops.Operator = {
        "name": "resize",
        "doc": "Change the size. Longer story.",
        "inputs": ["image"],
        "named": False,
        "variadic": False,
        "outputs": 1,
        "params": [
            parameter("size", "int", 0, required=True),
            parameter("ratio", "Sequence[float]", [0.75, 1.5]),
        ],
    }
    function = ast.parse(gen_ops.function(op)).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert ast.unparse(function.args) == "image: Data, *, size: int, ratio: Sequence[float]=(0.75, 1.5)"
    assert (ast.get_docstring(function) or "").startswith("Change the size.\n\nLonger story.\n\nArgs:\n")
    assert (
        ast.unparse(function.body[1]) == "return apply('resize', [image], {'size': size, 'ratio': ratio})[0]"
    )


def test_generated_function_of_many_inputs_has_overloads() -> None:
    op: gen_ops.Operator = {
        "name": "flip", "doc": "Mirror.", "inputs": ["image"], "variadic": True, "named": False, "outputs": 1,
        "params": [],
    }  # fmt: skip
    functions = ast.parse(gen_ops.function(op)).body
    returned = [ast.unparse(f.returns) for f in functions if isinstance(f, ast.FunctionDef) and f.returns]
    assert returned == ["Data", "tuple[Data, ...]", "Any"]


def option(name: str, kind: str, fallback: object, required: bool = False) -> gen_readers.Option:
    return {"name": name, "type": kind, "doc": f"The {name}", "fallback": fallback, "required": required}


DIGITS: gen_readers.Format = {
    "name": "digits", "doc": "Rows in one file.", "fields": "`value`", "details": ["More."], "path": "", "takes_files": True, "made": False,
    "options": [
        option("size", "int", None, required=True), option("nulls", 'Literal["error", "zero", "nan", "mask"]', "error"),
        option("labels", "str | os.PathLike[str] | None", None), option("quote", "str", '"'), option("key", "bool", False),
    ],
    "split": [], "common": [],
    "raises": [("ValueError", "it is empty")], "example": "hr.read_digits(path, size=3)",
}  # fmt: skip


def test_generated_reader_has_the_formats_options_and_sentences() -> None:
    function = ast.parse(gen_readers.function(DIGITS)).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert ast.unparse(function.args) == (
        "path: Paths, *, size: int, nulls: Nulls | None=None, labels: Path | None=None, quote: str | None=None, key: bool=False"
    )
    assert ast.unparse(function.body[1]) == (
        "return read_as('digits', path, {'size': size, 'nulls': nulls, 'labels': labels, 'quote': quote, 'key': key or None})"
    )
    assert (ast.get_docstring(function) or "").splitlines() == [
        "Read rows in one file.", "", "Fields: `value`.", "", "More.", "",
        "Args:", f"    path: {gen_readers.FILES}", "    size: The size.", '    nulls: The nulls. Default: "error".',
        "    labels: The labels.", "    quote: The quote. Default: '\"'.", "    key: The key.", "",
        "Raises:", "    ValueError: it is empty.", "", "Example:", "    hr.read_digits(path, size=3)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "within"),
    [("A file", "a file"), ("The lines", "the lines"), ("JSON lines", "JSON lines"), ("NumPy's", "NumPy's")],
)
def test_noun_phrases_begin_small_within_a_sentence(text: str, within: str) -> None:
    assert gen_readers.lower_first(text) == within


def test_generated_table_replaces_what_is_between_the_marks() -> None:
    begin, end = "<!-- options of digits: generated by tools/gen_readers.py -->\n", "<!-- end -->\n"
    text = f"# A\n{begin}stale\n{end}B\n{begin.replace(' of digits', '')}{end}"
    written = gen_readers.readme(text, "digits", [DIGITS])
    assert "stale" not in written and written.count("| `size` | `int` | required | The size. |\n") == 2
    assert "| `labels` | `str \\| os.PathLike[str]` | `None` | The labels. |" in written
    assert gen_readers.readme(written, "digits", [DIGITS]) == written
    with pytest.raises(SystemExit, match="no format 'figures'"):
        gen_readers.readme(text.replace("digits", "figures"), "digits", [DIGITS])


def make_data(out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / "make_demo_data.py"), "--out", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_demo_data_agrees_with_its_list_map_and_boxes(tmp_path: Path) -> None:
    out = tmp_path / "data"
    assert make_data(out, "--count", "20").returncode == 0
    labels = json.loads((out / "train_map.json").read_text())
    assert sorted(labels) == sorted(str(path.relative_to(out)) for path in out.glob("train/*/*.JPEG"))
    assert [line.split()[0] for line in (out / "train_cls.txt").open()] == [
        name.removeprefix("train/").removesuffix(".JPEG") for name in labels
    ]
    for name, label in labels.items():
        assert make_demo_data.CLASSES[label].wnid == name.split("/")[1]
        tree = ElementTree.parse(out / name.replace("train/", "Annotations/").replace(".JPEG", ".xml"))
        with Image.open(out / name) as image:
            assert (tree.findtext("size/width"), tree.findtext("size/height")) == tuple(map(str, image.size))
            for box in tree.findall("object/bndbox"):
                left, top, right, bottom = (int(side.text or "") for side in box)
                assert 1 <= left < right <= image.width and 1 <= top < bottom <= image.height


def test_demo_data_is_the_same_each_time_and_written_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert make_data(tmp_path / name, "--count", "6", "--seed", "5").returncode == 0
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert all((tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes() for f in files)
    again = make_data(tmp_path / "a", "--count", "6", "--seed", "5")
    assert again.returncode == 0 and "is there" in again.stdout


def test_demo_data_leaves_a_foreign_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    refused = make_data(tmp_path)
    assert refused.returncode == 1 and "holds something else" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["train"]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("headrace/io/a.cc", 'if (status.text().starts_with("read")) {}', 1),
        ("headrace/io/b.cc", 'if (why.text() == "gone" || file.status().text().find("x") != npos) {}', 2),
        (
            "headrace/io/c.cc",
            "if (status.facts().option == kOption) return note + std::string(status.text());",
            0,
        ),
        ("headrace/io/c_test.cc", "EXPECT_EQ(status.text().find(x), 0);", 0),
        ("python/headrace/a.py", 'if "batch" in str(error) or str(error).startswith("x"):\n    pass\n', 2),
        ("python/headrace/b.py", 'raise type(error)(f"{verb}: {error}")\n', 0),
    ],
)
def test_code_that_looks_into_a_message_is_found(tmp_path: Path, name: str, text: str, found: int) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert [len(check_messages.check_file(tmp_path, p)) for p in check_messages.files_of(tmp_path)] == (
        [] if name.endswith("_test.cc") else [found]
    )
