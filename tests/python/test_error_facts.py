"""What is known of an error besides its message: attributes of exceptions, and `facts` of `--json`."""

from __future__ import annotations

import io
import json
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace._errors import FACTS, facts_of
from PIL import Image

import headrace as hr
from headrace import ops

from .pictures import picture

Do = Callable[[Path], Any]


def raised(do: Do, folder: Path) -> BaseException:
    with pytest.raises(Exception) as caught:
        do(folder)
    return caught.value


def fields(**arrays: Any) -> hr.Dataset:
    return hr.from_arrays(arrays or {"x": np.arange(4.0), "label": np.arange(4)})


def csv(folder: Path, text: str = "a,b\n1,2\n3,x\n", **options: Any) -> hr.Dataset:
    (folder / "t.csv").write_text(text)
    return hr.read_csv(folder / "t.csv", **options)


def jsonl(folder: Path, text: str, **options: Any) -> hr.Dataset:
    (folder / "t.jsonl").write_text(text)
    return hr.read_jsonl(folder / "t.jsonl", **options)


def records(folder: Path) -> Path:
    hr.from_arrays({"x": np.arange(6)}).write(folder / "r.tfrecord")
    return folder / "r.tfrecord"


def flipped(folder: Path) -> hr.Dataset:
    path = records(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return hr.read(path)


def cut_tar(folder: Path) -> hr.Dataset:
    with tarfile.open(folder / "t.tar", "w") as tar:
        for name in ("a", "b"):
            (folder / f"{name}.cls").write_bytes(b"1" * 600)
            tar.add(folder / f"{name}.cls", f"{name}.cls")
    (folder / "t.tar").write_bytes((folder / "t.tar").read_bytes()[:1700])
    return hr.read(folder / "t.tar")


def photos(folder: Path, broken: bytes | None = None) -> hr.Dataset:
    for name in ("cat", "dog"):
        (folder / "p" / name).mkdir(parents=True)
        (folder / "p" / name / "1.jpg").write_bytes(jpeg())
    if broken is not None:
        (folder / "p/dog/1.jpg").write_bytes(broken)
    return hr.read(folder / "p")


def decoded(dataset: hr.Dataset) -> list[Any]:
    return list(dataset.map(lambda s: {"image": ops.decode_image(s.image)}))


def parquet(folder: Path, **options: Any) -> hr.Dataset:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1, None, 3], "b": [1.0, 2.0, 3.0]}), folder / "t.parquet")
    return hr.read(folder / "t.parquet", **options)


def failing_later(sample: Any) -> Any:
    if sample["label"] == 2:
        raise KeyError("x")
    return sample


def npy(folder: Path, cut: int = 0) -> hr.Dataset:
    np.save(folder / "x.npy", np.arange(100))
    whole = (folder / "x.npy").read_bytes()
    (folder / "x.npy").write_bytes(whole[: len(whole) - cut])
    return hr.read(folder / "x.npy")


def resumed(state: Any) -> None:
    fields().batch(2).numpy().load_state_dict(state)


def plan(folder: Path, text: str) -> hr.Dataset:
    (folder / "plan.json").write_text(text)
    return hr.load_plan(folder / "plan.json")


def jpeg() -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture(3)).save(out, "JPEG")
    return out.getvalue()


def changed_plan(key: str, value: Any) -> dict[str, Any]:
    """The plan of a batch with one member changed."""
    saved = json.loads(hr.range(4).batch(2).plan())
    saved["plan"][key] = value
    return saved


def short_record(folder: Path) -> hr.Dataset:
    path = records(folder)
    path.write_bytes(path.read_bytes()[:-3])
    return hr.read(path)


def written(folder: Path) -> Path:
    fields().write(folder / "w", format="csv")
    return folder / "w"


def lengths(folder: Path) -> hr.Dataset:
    return jsonl(folder, '{"x": [1]}\n{"x": [1, 2]}\n')


# What is done, the exception, and what is known of it: "@" is the test's folder, and of a place the verb.
TABLE: dict[str, tuple[Do, str, dict[str, Any]]] = {
    "no file": (
        lambda d: hr.read(d / "none.csv"),
        "FileNotFoundError",
        {"file": "@none.csv", "operator": "read"},
    ),
    "no file for a reader": (
        lambda d: hr.read_csv(d / "none.csv"),
        "FileNotFoundError",
        {"file": "@none.csv", "operator": "read"},
    ),
    "a folder without files": (
        hr.read,
        "ValueError",
        {
            "operator": "read",
            "expected": "data of a known format",
            "got": "'#', a folder of 0 files",
        },
    ),
    "a str for a list": (
        lambda d: csv(d, columns="a"),
        "ValueError",
        {"format": "csv", "file": "@t.csv", "option": "columns", "expected": "a list of str", "got": '"a"'},
    ),
    "a list for a bool": (
        lambda d: csv(d, header=[1]),
        "ValueError",
        {"format": "csv", "file": "@t.csv", "option": "header", "expected": "a bool", "got": "[1]"},
    ),
    "split of no splits": (
        lambda d: csv(d, split="train"),
        "ValueError",
        {"format": "csv", "file": "@t.csv", "option": "split"},
    ),
    "an unknown rule for nulls": (
        lambda d: csv(d, nulls="zeros"),
        "ValueError",
        {
            "format": "csv",
            "file": "@t.csv",
            "option": "nulls",
            "got": '"zeros"',
            "expected": '"error", "zero", "nan" or "mask", or a dict of these by column',
        },
    ),
    "an unknown dtype": (
        lambda d: csv(d, dtypes={"b": "int7"}),
        "ValueError",
        {
            "format": "csv",
            "file": "@t.csv",
            "option": "dtype",
            "got": "'int7'",
            "expected": "one of bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 bytes str",
        },
    ),
    "a word among numbers": (
        lambda d: list(csv(d, "a,b\n1,2\n3,4\n5,x\n", dtypes={"b": "int64"})),
        "CorruptSample",
        {
            "format": "csv",
            "field": "b",
            "expected": "int64",
            "got": "'x'",
            "place": "read",
            "sample": 2,
            "file": "@t.csv",
            "byte": 12,
            "record": 2,
        },
    ),
    "an empty field": (
        lambda d: list(csv(d, "a,b\n1,2\n3,\n", dtypes={"b": "int64"})),
        "CorruptSample",
        {
            "format": "csv",
            "field": "b",
            "option": "nulls",
            "expected": "int64",
            "got": "null",
            "place": "read",
            "sample": 1,
            "file": "@t.csv",
            "byte": 8,
            "record": 1,
        },
    ),
    "a word in jsonl": (
        lambda d: list(jsonl(d, '{"a": 1}\n{"a": "x"}\n', dtypes={"a": "int64"})),
        "CorruptSample",
        {
            "format": "jsonl",
            "field": "a",
            "expected": "int64 ()",
            "got": '"x"',
            "place": "read",
            "sample": 1,
            "file": "@t.jsonl",
            "byte": 9,
            "record": 1,
        },
    ),
    "a null in jsonl": (
        lambda d: list(jsonl(d, '{"a": 1}\n{"a": null}\n', dtypes={"a": "int64"})),
        "CorruptSample",
        {
            "format": "jsonl",
            "field": "a",
            "option": "nulls",
            "expected": "int64 ()",
            "got": "null",
            "place": "read",
            "sample": 1,
            "file": "@t.jsonl",
            "byte": 9,
            "record": 1,
        },
    ),
    "no such column": (
        lambda d: jsonl(d, '{"a": 1}\n', columns=["z"]),
        "ValueError",
        {
            "format": "jsonl",
            "option": "columns",
            "got": "'z'",
            "file": "@t.jsonl",
            "expected": "names of columns (a)",
        },
    ),
    "a flipped bit": (
        lambda d: list(flipped(d)),
        "CorruptSample",
        {"format": "tfrecord", "file": "@r.tfrecord", "place": "read", "byte": 90, "record": 3, "sample": 3},
    ),
    "a cut tar": (
        lambda d: list(cut_tar(d)),
        "CorruptSample",
        {"format": "webdataset", "file": "@t.tar", "byte": 0, "record": 0},
    ),
    "a cut array": (
        lambda d: list(npy(d, 80)),
        "CorruptSample",
        {"format": "npy", "file": "@x.npy", "expected": "800 bytes for int64 (100)", "got": "720"},
    ),
    "a null of parquet": (
        lambda d: list(parquet(d)),
        "CorruptSample",
        {
            "format": "parquet",
            "file": "@t.parquet",
            "field": "a",
            "option": "nulls",
            "expected": "a value in column 'a'",
            "got": "null",
            "place": "read",
            "sample": 1,
        },
    ),
    "a column that parquet lacks": (
        lambda d: parquet(d, columns=["z"]),
        "ValueError",
        {
            "format": "parquet",
            "option": "columns",
            "expected": "names of columns (a, b)",
            "got": "'z'",
            "file": "@t.parquet",
        },
    ),
    "no image": (
        lambda d: decoded(photos(d, b"text")),
        "CorruptSample",
        {"operator": "decode_image", "got": "'text'", "place": "map", "sample": 1, "file": "@p/dog/1.jpg"},
    ),
    "an empty image": (
        lambda d: decoded(photos(d, b"")),
        "CorruptSample",
        {"operator": "decode_image", "place": "map", "sample": 1, "file": "@p/dog/1.jpg"},
    ),
    "a cut image": (
        lambda d: decoded(photos(d, jpeg()[:300])),
        "CorruptSample",
        {"operator": "decode_image", "place": "map", "sample": 1, "file": "@p/dog/1.jpg"},
    ),
    "batch of 0": (
        lambda d: fields().batch(0),
        "ValueError",
        {"operator": "batch", "option": "size", "expected": "at least 1", "got": "0"},
    ),
    "batch of a str": (
        lambda d: fields().batch("2"),
        "TypeError",
        {"operator": "batch", "option": "size", "expected": "an integer", "got": "'2'"},
    ),
    "a window of 0": (
        lambda d: fields().shuffle(window=-1),
        "ValueError",
        {"operator": "shuffle", "option": "window", "expected": "at least 0", "got": "-1"},
    ),
    "a rank beyond the world": (
        lambda d: fields().shard(3, 2),
        "ValueError",
        {"operator": "shard", "expected": "0 <= rank < world", "got": "rank 3 of 2"},
    ),
    "take of a float": (
        lambda d: fields().take(1.5),
        "TypeError",
        {"operator": "take", "option": "count", "expected": "an integer", "got": "1.5"},
    ),
    "skip below 0": (
        lambda d: fields().skip(-1),
        "ValueError",
        {"operator": "skip", "option": "count", "expected": "at least 0", "got": "-1"},
    ),
    "repeat of a bool": (
        lambda d: fields().repeat(True),
        "TypeError",
        {"operator": "repeat", "option": "times", "expected": "an integer", "got": "True"},
    ),
    "weights of another number": (
        lambda d: hr.mix([fields(), fields()], weights=[1.0]),
        "ValueError",
        {"operator": "mix", "expected": "a weight for each of the 2 datasets", "got": "1"},
    ),
    "zip of another thing": (
        lambda d: hr.zip({"a": 3}),
        "TypeError",
        {"operator": "zip", "expected": "datasets", "got": "3 at 'a'"},
    ),
    "concatenate of other fields": (
        lambda d: fields().concatenate(fields(y=np.arange(3))),
        "ValueError",
        {
            "operator": "concatenate",
            "expected": "datasets with the same fields",
            "got": "x: float64 (), label: int64 () and y: int64 ()",
        },
    ),
    "an unknown policy": (
        lambda d: fields().on_error("ignore"),
        "ValueError",
        {
            "operator": "on_error",
            "option": "policy",
            "expected": '"raise", "skip" or "replace"',
            "got": '"ignore"',
        },
    ),
    "an unknown rewrite": (
        lambda d: fields().options(rewrites="x"),
        "TypeError",
        {
            "operator": "options",
            "option": "rewrites",
            "expected": "a bool, or a dict of name to bool",
            "got": "'x'",
        },
    ),
    "workers below 0": (
        lambda d: fields().batch(2).options(workers=-1),
        "ValueError",
        {"operator": "options", "option": "workers", "expected": "at least 0", "got": "-1"},
    ),
    "a budget of a list": (
        lambda d: fields().batch(2).options(memory_budget=[1]),
        "TypeError",
        {
            "operator": "options",
            "option": "memory_budget",
            "expected": "a number of bytes, or a string such as '512MB'",
            "got": "[1]",
        },
    ),
    "size of one number too many": (
        lambda d: photos(d).map(lambda s: {"x": ops.resize(ops.decode_image(s.image), size=(1, 2, 3))}),
        "ValueError",
        {"operator": "resize", "place": "map"},
    ),
    "an unknown interpolation": (
        lambda d: photos(d).map(
            lambda s: {"x": ops.resize(ops.decode_image(s.image), size=8, interpolation="x")}
        ),
        "ValueError",
        {
            "operator": "resize",
            "option": "interpolation",
            "expected": '"bilinear", "bicubic", "nearest", "lanczos" or "box"',
            "got": '"x"',
            "place": "map",
        },
    ),
    "a label as an image": (
        lambda d: photos(d).map(lambda s: {"x": ops.decode_image(s.label)}),
        "ValueError",
        {
            "operator": "decode_image",
            "expected": "the bytes of an image file",
            "got": "int64 ()",
            "place": "map",
        },
    ),
    "floats for pixels": (
        lambda d: fields(x=np.zeros((2, 8, 8, 3))).map(lambda s: {"x": ops.random_flip(s.x, p=2.0)}),
        "ValueError",
        {"operator": "random_flip", "place": "map"},
    ),
    "a function that raises": (
        lambda d: list(fields().map(failing_later, python=True)),
        "HeadraceError",
        {"operator": "failing_later", "got": "KeyError: 'x'", "place": "map", "sample": 2},
    ),
    "a function of two results": (
        lambda d: list(fields().map(lambda s: {"x": np.zeros(int(s["label"]))}, python=True).batch(2)),
        "ValueError",
        {"operator": "batch", "field": "x", "expected": "rows of one shape", "got": "(1)"},
    ),
    "a state of another thing": (
        lambda d: resumed({"headrace": 1}),
        "ValueError",
        {
            "operator": "state",
            "expected": "the output of state_dict()",
            "got": "a value without 'version' and 'fingerprint'",
        },
    ),
    "a state that is no dict": (
        lambda d: resumed(3),
        "TypeError",
        {"operator": "load_state_dict", "expected": "the dict that state_dict() returned", "got": "3"},
    ),
    "a plan that is no JSON": (
        lambda d: plan(d, "no JSON"),
        "ValueError",
        {
            "operator": "plan",
            "expected": "the output of save_plan()",
            "got": "invalid JSON: json: syntax error at byte 2 of 7",
        },
    ),
    "a plan of a later version": (
        lambda d: plan(d, '{"headrace": 99, "plan": {}}'),
        "ValueError",
        {"operator": "plan", "expected": "version 1", "got": "99"},
    ),
    "a plan with an unknown verb": (
        lambda d: plan(d, json.dumps(changed_plan("verb", "none"))),
        "ValueError",
        {"operator": "plan", "got": "none"},
    ),
    "a plan with a wrong member": (
        lambda d: plan(d, json.dumps(changed_plan("size", "x"))),
        "ValueError",
        {"operator": "batch", "option": "size", "expected": "a whole number of at least 0", "got": '"x"'},
    ),
    "write to a folder that exists": (
        lambda d: fields().write(written(d), format="csv"),
        "ValueError",
        {"file": "@w", "operator": "write"},
    ),
    "write of a format that there is not": (
        lambda d: fields().write(d / "w", format="none"),
        "ValueError",
        {"operator": "write"},
    ),
    "write of what the format cannot hold": (
        lambda d: fields(x=np.zeros((2, 3))).write(d / "w", format="recordio"),
        "ValueError",
        {"format": "recordio"},
    ),
    "a ragged batch for a tensor": (
        lambda d: list(lengths(d).batch(2).map(lambda s: {"x": ops.reshape(s.x, shape=2)})),
        "ValueError",
        {"operator": "batch", "field": "x", "expected": "rows of one shape", "got": "(2)"},
    ),
    "a memory budget that is too small": (
        lambda d: list(fields(x=np.zeros((4, 1000, 1000))).batch(4).options(memory_budget="1MB")),
        "MemoryError",
        {"place": "batch"},
    ),
    "a record beyond the end": (
        lambda d: list(short_record(d)),
        "CorruptSample",
        {"format": "tfrecord", "file": "@r.tfrecord", "place": "read", "byte": 150, "record": 5, "sample": 5},
    ),
    "a file of another reader": (
        lambda d: hr.read_csv(npy(d) and d / "x.npy"),
        "CorruptSample",
        {"format": "csv", "file": "@x.npy"},
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_exceptions_have_facts(name: str, tmp_path: Path) -> None:
    do, kind, expected = TABLE[name]
    error = raised(do, tmp_path)
    got = facts_of(error)
    if got.get("place"):
        got["place"] = got["place"].split(" at test_error_facts.py:")[0]
    wanted = {
        k: v.replace("@", f"{tmp_path}/").replace("#", str(tmp_path)) if isinstance(v, str) else v
        for k, v in expected.items()
        if v is not None
    }
    assert (type(error).__name__, got) == (kind, wanted)
    assert all(hasattr(error, name) for name in FACTS)
    again = pickle.loads(pickle.dumps(error))
    assert facts_of(again) == facts_of(error)
    assert str(again) == str(error)


def test_what_is_expected_and_what_came_are_in_the_message(tmp_path: Path) -> None:
    error = raised(lambda d: csv(d, columns="a"), tmp_path)
    assert f"expected {error.expected}, got {error.got}" in str(error)


def test_the_exception_of_a_function_is_the_cause(tmp_path: Path) -> None:
    error = raised(lambda d: list(fields().map(failing_later, python=True)), tmp_path)
    assert isinstance(error, hr.HeadraceError)
    assert isinstance(error.__cause__, KeyError)


def test_reduce_says_its_own_name(tmp_path: Path) -> None:
    error = raised(lambda d: hr.range(3).reduce({"a": 0}, lambda state, element: {"b": element}), tmp_path)
    assert str(error).startswith("reduce: ")
    assert getattr(error, "operator", "reduce") == "reduce"
