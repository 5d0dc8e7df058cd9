"""Nulls: one option, `nulls=`, for every reader and maker that knows them, beside pyarrow."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

HUGE = 2**53 + 1  # what no float64 is
ARRAYS = {
    "int8": pa.array([1, None, -3, None, 5], pa.int8()),
    "int64": pa.array([HUGE, None, -HUGE, 0, None], pa.int64()),
    "uint64": pa.array([None, 2**64 - 1, 1, None, 0], pa.uint64()),
    "float32": pa.array([0.5, None, -0.5, 2, None], pa.float32()),
    "float64": pa.array([None, None, 1e300, 0, 1], pa.float64()),
    "bool": pa.array([True, None, False, None, True], pa.bool_()),
    "str": pa.array(["a", None, "", None, "ü"], pa.string()),
    "bytes": pa.array([b"a", None, b"", None, b"\xff"], pa.binary()),
    "categories": pa.array(["a", None, "b", None, "a"]).dictionary_encode(),
    "timestamp": pa.array([1, None, 3, None, 5], pa.timestamp("us")),
    "list of int64": pa.array([[1, HUGE], None, [], None, [3]], pa.list_(pa.int64())),
    "list of float32": pa.array([[0.5], None, [], None, [1, 2]], pa.list_(pa.float32())),
    "list of str": pa.array([["a", ""], None, [], None, ["bc"]], pa.list_(pa.string())),
    "fixed list of float32": pa.array([[0.5, 1], None, [2, 3], None, [4, 5]], pa.list_(pa.float32(), 2)),
    "no nulls": pa.array([1, 2, 3, 4, 5], pa.int32()),
}
FLOATS = {"float32", "float64", "fixed list of float32"}
OF_FILES = set(ARRAYS)
OF_TEXT = {"int64", "float64", "bool", "str", "no nulls"}
OF_JSON = OF_TEXT | {"list of int64", "list of str"}
OF_FRAMES = OF_FILES - {kind for kind in ARRAYS if "list" in kind}
RULES = ["error", "zero", "nan", "mask"]


def in_parquet(path: Path, table: Any, nulls: Any) -> hr.Dataset:
    pq.write_table(table, path / "x.parquet", row_group_size=2)
    return hr.read(path / "x.parquet", nulls=nulls)


def in_arrow(path: Path, table: Any, nulls: Any) -> hr.Dataset:
    with pa.ipc.new_file(path / "x.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=2)
    return hr.read(path / "x.arrow", nulls=nulls)


def in_arrow_rows(path: Path, table: Any, nulls: Any) -> hr.Dataset:
    with pa.ipc.new_stream(path / "x.arrows", table.schema) as out:
        out.write_table(table, max_chunksize=1)
    return hr.read(path / "x.arrows", nulls=nulls)


def in_csv(path: Path, table: Any, nulls: Any) -> hr.Dataset:
    names = table.column_names
    rows = [
        ",".join(names),
        *(",".join("" if row[n] is None else str(row[n]) for n in names) for row in table.to_pylist()),
    ]
    (path / "x.csv").write_text("\n".join(rows) + "\n")
    return hr.read(
        path / "x.csv",
        nulls=nulls,
        dtypes={n: "bool" for n in names if table.schema.field(n).type == pa.bool_()},
    )


def in_json(path: Path, table: Any, nulls: Any) -> hr.Dataset:
    (path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return hr.read(path / "x.jsonl", nulls=nulls)


def in_json_without_keys(path: Path, table: Any, nulls: Any) -> hr.Dataset:
    rows = [{k: v for k, v in row.items() if v is not None} for row in table.to_pylist()]
    (path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return hr.read(path / "x.jsonl", nulls=nulls)


def in_hugging_face(path: Path, table: Any, nulls: Any) -> hr.Dataset:
    with pa.ipc.new_stream(path / "data-00000-of-00001.arrow", table.schema) as out:
        out.write_table(table)
    (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    (path / "dataset_info.json").write_text("{}")
    return hr.read(path, nulls=nulls)


PANDAS = {
    pa.int8(): pd.Int8Dtype(), pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype(),
    pa.float32(): pd.Float32Dtype(), pa.float64(): pd.Float64Dtype(), pa.bool_(): pd.BooleanDtype(),
}  # fmt: skip

MAKERS: dict[str, tuple[Callable[[Path, Any, Any], hr.Dataset], set[str]]] = {
    "parquet": (in_parquet, OF_FILES),
    "arrow": (in_arrow, OF_FILES),
    "arrow, a row a batch": (in_arrow_rows, OF_FILES),
    "huggingface": (in_hugging_face, OF_FILES),
    "csv": (in_csv, OF_TEXT),
    "jsonl": (in_json, OF_JSON),
    "jsonl without the keys": (in_json_without_keys, OF_JSON),
    "pyarrow": (lambda _, table, nulls: hr.from_arrays(table, nulls=nulls), OF_FRAMES),
    "pyarrow, columns": (
        lambda _, table, nulls: hr.from_arrays({n: table[n].combine_chunks() for n in table.column_names}, nulls=nulls),
        OF_FRAMES,
    ),
    "polars": (lambda _, table, nulls: hr.from_arrays(pl.from_arrow(table), nulls=nulls), OF_FRAMES),
    "pandas": (
        lambda _, table, nulls: hr.from_arrays(table.to_pandas(types_mapper=PANDAS.get), nulls=nulls), OF_FRAMES,
    ),
    "pandas of pyarrow": (
        lambda _, table, nulls: hr.from_arrays(table.to_pandas(types_mapper=pd.ArrowDtype), nulls=nulls), OF_FRAMES,
    ),
}  # fmt: skip
CASES = [(maker, kind) for maker, (_, kinds) in MAKERS.items() for kind in ARRAYS if kind in kinds]


def zero_of(kind: str) -> Any:
    if kind == "fixed list of float32":
        return [0, 0]
    if kind.startswith("list of str"):
        return []
    return [] if "list" in kind else "" if kind in {"str", "categories"} else b"" if kind == "bytes" else 0


def plain(value: Any) -> Any:
    if isinstance(value, dict):  # a list of strings
        text, out = value["values"].encode(), []
        for length in value["lengths"]:
            out.append(text[:length].decode())
            text = text[length:]
        return out
    return value.tolist() if hasattr(value, "tolist") else value


def given(kind: str) -> list[Any]:
    array = ARRAYS[kind]
    return (array.cast(pa.int64()) if kind == "timestamp" else array).to_pylist()


def same(a: Any, b: Any) -> bool:
    return a == b or (isinstance(b, float) and math.isnan(b) and math.isnan(a))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("maker", "kind"), CASES)
def test_a_null_is_what_the_option_says(maker: str, kind: str, rule: str, tmp_path: Path) -> None:
    make = MAKERS[maker][0]
    table = pa.table({"n": pa.array(range(5)), "x": ARRAYS[kind]})
    present = ARRAYS[kind].is_valid().to_pylist()
    may_be_nan = kind in FLOATS
    refuses = not all(present) and (rule == "error" or (rule == "nan" and not may_be_nan))
    if maker == "csv" and kind == "str":  # an empty field is an empty string
        refuses = False
        present = [bool(value) for value in given(kind)]
    if refuses and maker.startswith(("pandas", "pyarrow", "polars")):
        with pytest.raises(ValueError, match=rf"row {present.index(False)} of column 'x', got null; nulls="):
            make(tmp_path, table, rule)
        return
    data = make(tmp_path, table, rule)
    if refuses:
        with pytest.raises(
            (ValueError, hr.HeadraceError, hr.CorruptSample), match=r"column 'x(/values)?'.*nulls="
        ):
            list(data)
        assert [int(s["n"]) for s in data.on_error("skip")] == [i for i in range(5) if present[i]]
        return
    null = [math.nan, math.nan] if kind == "fixed list of float32" else math.nan
    null = null if rule == "nan" and may_be_nan else zero_of(kind)
    wanted = [null if value is None else value for value in given(kind)]
    for got in (list(data), list(data.batch(5, ragged=True).unbatch())):
        values = [plain(s["x"]) for s in got]
        assert len(values) == 5
        for a, b in zip(values, wanted, strict=True):
            assert all(map(same, a, b)) and len(a) == len(b) if isinstance(b, list) else same(a, b), (
                values,
                wanted,
            )
        if rule == "mask":
            assert [bool(s["x_valid"]) for s in got] == present
    if rule == "mask":
        assert data.schema["x_valid"] == hr.FieldSpec("bool", ())
        alone = data.map(lambda s: {"v": s["x_valid"], "n": s["n"]})  # the other columns are not read
        assert [(bool(s["v"]), int(s["n"])) for s in alone.batch(2).unbatch()] == list(
            zip(present, range(5), strict=True)
        )
        both = data.map(lambda s: {"x": s["x"], "v": s["x_valid"]})
        assert [bool(s["v"]) for s in both] == present
    else:
        assert "x_valid" not in data.schema
    if "int" in kind and "list" not in kind:
        assert data.schema["x"].dtype == (
            "int64" if maker in {"csv", "jsonl", "jsonl without the keys"} else kind
        )


def test_rules_by_column(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([1, None]), "b": pa.array([0.5, None]), "c": pa.array(["x", None])})
    rules = {"a": "mask", "b": "nan", "c": "zero"}
    for maker in ("parquet", "arrow", "jsonl", "csv", "pyarrow", "pandas"):
        (path := tmp_path / maker).mkdir()
        data = MAKERS[maker][0](path, table, rules)
        assert list(data.schema) == ["a", "b", "c", "a_valid"], maker
        last = data[1]
        assert (last["a"], last["c"], last["a_valid"]) == (0, "", False) and math.isnan(last["b"]), maker
        with pytest.raises(ValueError, match=r"nulls: expected names of columns.*got 'd'"):
            MAKERS[maker][0](path, table, {"d": "zero"})
        with pytest.raises(ValueError, match='"error", "zero", "nan" or "mask"'):
            MAKERS[maker][0](path, table, "none")


def test_the_name_of_a_mask_must_be_free(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([1, None]), "a_valid": pa.array([1, 2])})
    for maker in ("parquet", "arrow", "jsonl", "csv", "pyarrow"):
        (path := tmp_path / maker).mkdir()
        with pytest.raises(ValueError, match="'a_valid', the name of the mask of column 'a'"):
            MAKERS[maker][0](path, table, "mask")


def test_null_items_of_a_list_have_no_mask(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([[1, None], None])})
    for maker in ("parquet", "arrow"):
        data = MAKERS[maker][0](tmp_path, table, "mask")
        assert not data[1]["a_valid"] and data[1]["a"].tolist() == []
        with pytest.raises(hr.CorruptSample, match="numbers without nulls"):
            data[0]


def test_masks_of_members_of_structs(tmp_path: Path) -> None:
    table = pa.table({"s": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}])})
    for maker in ("parquet", "arrow", "jsonl"):
        (path := tmp_path / maker).mkdir()
        data = MAKERS[maker][0](path, table, "mask")
        assert list(data.schema) == ["s/a", "s/b", "s/a_valid", "s/b_valid"], maker
        assert [(bool(s["s/a_valid"]), bool(s["s/b_valid"])) for s in data] == [
            (True, True),
            (False, False),
            (False, True),
        ]


def test_frames_say_what_they_cannot_read() -> None:
    for kind in sorted(OF_FILES - OF_FRAMES):
        with pytest.raises(TypeError, match=r"column 'x'.*not supported"):
            hr.from_arrays(pa.table({"x": ARRAYS[kind]}), nulls="zero")
        with pytest.raises(TypeError, match=r"column 'x'.*not supported"):
            hr.from_arrays(pl.from_arrow(pa.table({"x": ARRAYS[kind]})), nulls="zero")
    with pytest.raises(TypeError, match="'x' has only nulls"):
        hr.from_arrays(pd.DataFrame({"x": pd.Series([None, None], dtype=object)}), nulls="zero")
    with pytest.raises(ValueError, match="pass a dict of columns"):
        hr.from_arrays((pa.array([1, None]), np.arange(2)), nulls="mask")
    assert [int(x) for x in hr.from_arrays(pa.array([1, None]), nulls="zero")] == [1, 0]


def test_nan_of_numpy_is_a_number() -> None:
    frame = pd.DataFrame({"x": [0.5, math.nan]})
    for rule in RULES:
        data = hr.from_arrays(frame, nulls=rule)
        assert math.isnan(data[1]["x"]) and list(data.schema) == ["x"]


def test_masks_lie_beside_their_columns() -> None:
    data = hr.from_arrays({"frame": pa.table({"a": pa.array([1, None])}), "n": np.arange(2)}, nulls="mask")
    assert [bool(s["frame"]["a_valid"]) for s in data] == [True, False] and list(data.schema) == [
        "frame",
        "n",
    ]


def test_a_default_comes_before_the_rule(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,\n,2\n")
    (tmp_path / "x.jsonl").write_text('{"a": 1, "b": null}\n{"b": 2}\n')
    for name in ("x.csv", "x.jsonl"):
        data = hr.read(tmp_path / name, defaults={"a": 7}, nulls="mask")
        assert [(int(s["a"]), int(s["b"]), bool(s["a_valid"]), bool(s["b_valid"])) for s in data] == [
            (1, 0, True, False), (7, 2, False, True),
        ]  # fmt: skip


def test_a_plan_and_a_state_keep_the_rule(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1, None, 3, None]), "n": pa.array(range(4))})
    for maker in ("parquet", "csv", "jsonl", "pyarrow"):
        (path := tmp_path / maker).mkdir()
        data = MAKERS[maker][0](path, table, "mask").shuffle(seed=3)
        data.save_plan(path / "plan.json")
        again = hr.load_plan(path / "plan.json", bind=data.slots)
        elements = iter(data.numpy())
        first = [next(elements) for _ in range(2)]
        loader = again.numpy()
        loader.load_state_dict(elements.state_dict())
        got = sorted((int(s["x"]), bool(s["x_valid"])) for s in [*first, *loader])
        assert got == [(0, False), (0, False), (1, True), (3, True)]
        assert (
            MAKERS[maker][0](path, table, "zero").fingerprint()
            != MAKERS[maker][0](path, table, "mask").fingerprint()
        )
