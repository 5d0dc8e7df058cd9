"""The project's own tools: what they let pass and what they refuse."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import check_layers
import gen_ops
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
        ("headrace/run/loader.cc", True, "headrace/headrace.h", "run lies below it"),
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


def test_long_files_warn_then_fail(tmp_path: Path) -> None:
    folder = tmp_path / "headrace" / "core"
    folder.mkdir(parents=True)
    for name, num_lines in (("short.h", 250), ("long.h", 251), ("longest.h", 301)):
        (folder / name).write_text("//\n" * num_lines)
    found = {path.name: check_layers.check_file(tmp_path, path) for path in folder.iterdir()}
    assert {name: (len(errors), len(warnings)) for name, (errors, warnings) in found.items()} == {
        "short.h": (0, 0),
        "long.h": (0, 1),
        "longest.h": (1, 0),
    }


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
