"""Files of one data set whose columns have other logical types: every pair of types, beside the values that pyarrow has.

Either the two are read in one unit, which `metadata["types"]` names and pyarrow's cast confirms, or they are refused
by an error that names the file and both types. Two units are never in one field.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pa = pytest.importorskip("pyarrow")
ipc = pytest.importorskip("pyarrow.ipc")
pq = pytest.importorskip("pyarrow.parquet")

WHEN = [dt.datetime(2020, 1, 2, 3, 4, 5), dt.datetime(1969, 12, 31, 23, 59, 59)]
UNITS = ("s", "ms", "us", "ns")
NUMBER = [decimal.Decimal("1.25"), decimal.Decimal("-7.50")]
COLUMNS: dict[str, Any] = {
    **{f"timestamp {unit}": pa.array(WHEN, pa.timestamp(unit)) for unit in UNITS},
    **{f"timestamp {unit} UTC": pa.array(WHEN, pa.timestamp(unit, "UTC")) for unit in UNITS},
    "timestamp us Berlin": pa.array(WHEN, pa.timestamp("us", "Europe/Berlin")),
    "date32": pa.array([when.date() for when in WHEN], pa.date32()),
    "date64": pa.array([when.date() for when in WHEN], pa.date64()),
    "time32 s": pa.array([when.time() for when in WHEN], pa.time32("s")),
    "time32 ms": pa.array([when.time() for when in WHEN], pa.time32("ms")),
    "time64 us": pa.array([when.time() for when in WHEN], pa.time64("us")),
    "time64 ns": pa.array([when.time() for when in WHEN], pa.time64("ns")),
    **{f"duration {unit}": pa.array([dt.timedelta(seconds=3), dt.timedelta(days=-1)], pa.duration(unit)) for unit in UNITS},
    "int64": pa.array([5, -6], pa.int64()),
    "float64": pa.array([0.5, -6.0], pa.float64()),
    "decimal 9 2": pa.array(NUMBER, pa.decimal128(9, 2)),
    "decimal 20 4": pa.array(NUMBER, pa.decimal128(20, 4)),
    "list of timestamp us": pa.array([[when] for when in WHEN], pa.list_(pa.timestamp("us"))),
    "list of timestamp ns": pa.array([[when] for when in WHEN], pa.list_(pa.timestamp("ns"))),
    "pair of duration s": pa.array([[3, 4], [5, 6]], pa.list_(pa.duration("s"), 2)),
    "pair of duration ms": pa.array([[3, 4], [5, 6]], pa.list_(pa.duration("ms"), 2)),
    "dictionary of timestamp us": pa.array(WHEN, pa.timestamp("us")).dictionary_encode(),
    "string": pa.array(["2020-01-02", "x"]),
}  # fmt: skip
INT96 = "int96"  # of Parquet only


def write(path: Path, kind: str, name: str) -> None:
    """Write a file with one column `x`."""
    column = COLUMNS["timestamp ns" if name == INT96 else name]
    table = pa.table({"x": column})
    if kind == "parquet":
        pq.write_table(table, path, use_deprecated_int96_timestamps=name == INT96)
        return
    with (
        pa.OSFile(str(path), "wb") as file,
        (ipc.new_file if kind == "arrow" else ipc.new_stream)(file, table.schema) as writer,
    ):
        writer.write_table(table)


def stored(path: Path, kind: str) -> Any:
    """Return the column as pyarrow reads it."""
    if kind == "parquet":
        column = pq.read_table(path)["x"].combine_chunks()
    else:
        with pa.OSFile(str(path)) as file:
            column = (
                (ipc.open_file if kind == "arrow" else ipc.open_stream)(file).read_all()["x"].combine_chunks()
            )
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def family(column: Any) -> tuple[Any, ...]:
    """Return what two types must share to have a common unit."""
    of = column.type
    lists: list[Any] = []
    while pa.types.is_list(of) or pa.types.is_fixed_size_list(of):
        lists.append(of.list_size if pa.types.is_fixed_size_list(of) else None)
        of = of.value_type
    if pa.types.is_timestamp(of):
        return "timestamp", of.tz is not None, *lists
    for name in ("date", "time", "duration", "decimal"):
        if getattr(pa.types, f"is_{name}")(of):
            return "double" if name == "decimal" else name, *lists
    return str(of), *lists


def arrow_type(text: str) -> Any:
    """Return the type that `metadata["types"]` names."""
    if text.startswith("date"):
        return pa.date32() if text == "date32[day]" else pa.date64()
    name, inside = text.rstrip("]").split("[")
    unit, _, zone = inside.partition(", tz=")
    return getattr(pa, name)(unit, zone) if zone else getattr(pa, name)(unit)


def numbers(column: Any, text: str | None) -> list[Any]:
    """Return a column's values as numbers of this type, by pyarrow's cast."""
    if pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        return [numbers(row.values, text) for row in column]
    if text is None or text.startswith("decimal"):
        return [float(x) if isinstance(x, decimal.Decimal) else x for x in column.to_pylist()]
    wanted = arrow_type(text)
    if pa.types.is_date64(wanted):  # whose integers pyarrow does not cast to
        return [86_400_000 * day for day in column.cast(pa.date32()).cast(pa.int32()).to_pylist()]
    narrow = pa.int32() if wanted in (pa.date32(), pa.time32("s"), pa.time32("ms")) else pa.int64()
    return list(column.cast(wanted).cast(narrow).to_pylist())


@pytest.mark.parametrize("kind", ["arrow", "arrows", "parquet"])
def test_every_pair_of_types_is_read_in_one_unit_or_refused(kind: str, tmp_path: Path) -> None:
    names = [*COLUMNS, *([INT96] if kind == "parquet" else [])]
    for name in names:
        write(tmp_path / f"{names.index(name):02}.{kind}", kind, name)
    read = 0
    for a, b in itertools.product(range(len(names)), repeat=2):
        paths = [tmp_path / f"{i:02}.{kind}" for i in (a, b)] if a != b else [tmp_path / f"{a:02}.{kind}"]
        columns = [stored(path, kind) for path in paths]
        families = {family(column) for column in columns}
        at = f"{names[a]}, then {names[b]}"
        if len(families) > 1:
            with pytest.raises((ValueError, NotImplementedError)) as refused:
                pytest.fail(f"{at}: {hr.read([str(path) for path in paths]).metadata}")
            if kind == "parquet" or "decimal" not in at:  # which Arrow files do not have here
                assert paths[-1].name in str(refused.value), at
                assert paths[0].name in str(refused.value), at
            continue
        if kind != "parquet" and "decimal" in at:
            continue
        data = hr.read([str(path) for path in paths])
        text = data.metadata.get("types", {}).get("x")
        got = [
            sample["x"].tolist() if isinstance(sample["x"], (np.ndarray, np.generic)) else sample["x"]
            for sample in data
        ]
        assert got == [value for column in columns for value in numbers(column, text)], (at, text)
        read += 1
    assert read > 60


@pytest.mark.parametrize("kind", ["arrow", "arrows", "parquet"])
def test_a_value_that_does_not_fit_into_the_finer_unit_is_an_error_of_its_sample(
    kind: str, tmp_path: Path
) -> None:
    far = dt.datetime(2500, 1, 1)
    COLUMNS["far"] = pa.array([WHEN[0], far], pa.timestamp("us"))
    try:
        write(tmp_path / f"0.{kind}", kind, "far")
        write(tmp_path / f"1.{kind}", kind, "timestamp ns")
    finally:
        del COLUMNS["far"]
    data = hr.read(str(tmp_path / f"*.{kind}"))
    assert int(data[0]["x"]) == 1577934245000000000
    with pytest.raises(hr.CorruptSample, match=r"timestamp\[us\] is beyond the range of timestamp\[ns\]"):
        data[1]
    assert len(list(data.on_error("skip"))) == 3


NUMBERS = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)


@pytest.mark.parametrize("kind", ["arrow", "arrows", "parquet"])
def test_numbers_of_one_kind_come_in_the_wider_dtype(kind: str, tmp_path: Path) -> None:
    """NumPy's common dtype where it loses nothing; integers beside floats, and uint64 beside signed ones, are refused."""
    columns = {}
    for at, name in enumerate(NUMBERS):
        limit = np.iinfo(name) if np.dtype(name).kind in "iu" else np.finfo(name)
        columns[name] = np.array([limit.min, limit.max, 3], name)
        values = pa.array(columns[name])
        table = pa.table(
            {"x": values, "l": pa.array([[value] for value in values.to_pylist()], pa.list_(values.type))}
        )
        if kind == "parquet":
            pq.write_table(table, tmp_path / f"{at:02}.parquet")
            continue
        with (
            pa.OSFile(str(tmp_path / f"{at:02}.{kind}"), "wb") as file,
            (ipc.new_file if kind == "arrow" else ipc.new_stream)(file, table.schema) as writer,
        ):
            writer.write_table(table)
    for a, b in itertools.permutations(range(len(NUMBERS)), 2):
        names = NUMBERS[a], NUMBERS[b]
        paths = [str(tmp_path / f"{i:02}.{kind}") for i in (a, b)]
        wanted = np.result_type(*names)
        if (wanted.kind == "f") != all(name.startswith("float") for name in names):
            with pytest.raises(ValueError, match=f"column 'x: {names[0]} .*got 'x: {names[1]} "):
                hr.read(paths)
            continue
        data = hr.read(paths)
        assert data.schema["x"].dtype == data.schema["l"].dtype == wanted.name
        both = np.concatenate([columns[name].astype(wanted) for name in names])
        (batch,) = data.batch(6).numpy()
        assert batch["x"].dtype == wanted and np.array_equal(batch["x"], both)
        assert [sample["l"].tolist() for sample in data] == [[value] for value in both.tolist()]


# A column of nothing but nulls beside one with values: what pandas and Polars write for a part without any.
OF_NULLS: dict[str, tuple[Any, Any]] = {
    "numbers": (pa.array([1, None, 3]), 0),
    "int16": (pa.array([1, 2], pa.int16()), 0),
    "floats": (pa.array([0.5, 1.5]), 0.0),
    "strings": (pa.array(["a", "bc"]), ""),
    "bytes": (pa.array([b"a", b"bc"]), b""),
    "flags": (pa.array([True, False]), False),
    "times": (pa.array(WHEN, pa.timestamp("us")), 0),
    "lists": (pa.array([[1, 2], [3]]), []),
    "pairs": (pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)), [0, 0]),
}


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("kind", ["arrow", "arrows", "parquet"])
@pytest.mark.parametrize("name", OF_NULLS)
def test_a_part_of_nothing_but_nulls_is_read_as_the_others(
    name: str, kind: str, order: str, tmp_path: Path
) -> None:
    column, zero = OF_NULLS[name]
    tables = [
        pa.table({"k": ["x"] * len(column), "b": column}),
        pa.table({"k": ["y", "z"], "b": pa.nulls(2)}),
    ]
    if order == "first":
        tables.reverse()
    for i, table in enumerate(tables):
        if kind == "parquet":
            pq.write_table(table, tmp_path / f"{i}.parquet")
            continue
        with (
            pa.OSFile(str(tmp_path / f"{i}.{kind}"), "wb") as file,
            (ipc.new_file if kind == "arrow" else ipc.new_stream)(file, table.schema) as writer,
        ):
            writer.write_table(table)
    data = hr.read(tmp_path, nulls="zero")
    alone = hr.read(tmp_path / f"{0 if order == 'last' else 1}.{kind}", nulls="zero")
    assert data.schema == alone.schema

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value

    rows = [plain(sample["b"]) for sample in alone]
    wanted = rows + [zero] * 2 if order == "last" else [zero] * 2 + rows
    assert [plain(sample["b"]) for sample in data] == wanted
    assert [plain(sample["b"]) for sample in hr.read(tmp_path, nulls="zero", columns=["b"])] == wanted
    assert sum(len(batch["k"]) for batch in data.map(lambda s: {"k": s.k}).batch(2)) == len(wanted)
    masked = [bool(sample["b_valid"]) for sample in hr.read(tmp_path, nulls="mask")]
    there = column.is_valid().to_pylist()
    assert masked == (there + [False] * 2 if order == "last" else [False] * 2 + there)
    if name == "floats":
        got = [sample["b"] for sample in hr.read(tmp_path, nulls="nan")]
        assert np.isnan(got[2:] if order == "last" else got[:2]).all()
    with pytest.raises(hr.CorruptSample, match="in column 'b', got null; nulls="):
        list(hr.read(tmp_path))
    assert "b" in hr.read(tmp_path / f"{1 if order == 'last' else 0}.{kind}").metadata["left_out_columns"]


def test_lists_that_are_all_empty_have_the_type_of_the_others(tmp_path: Path) -> None:
    for i, column in enumerate((pa.array([[], []]), pa.array([[1.5], []]), pa.array([[], [], []]))):
        pq.write_table(pa.table({"k": ["x"] * len(column), "b": column}), tmp_path / f"{i}.parquet")
        with (
            pa.OSFile(str(tmp_path / f"{i}.arrow"), "wb") as file,
            ipc.new_file(file, pa.schema({"b": column.type})) as writer,
        ):
            writer.write_table(pa.table({"b": column}))
    for kind in ("parquet", "arrow"):
        data = hr.read(tmp_path / f"*.{kind}")
        assert [sample["b"].tolist() for sample in data] == [[], [], [1.5], [], [], [], []]
        assert all(sample["b"].dtype == np.float64 for sample in data)


def test_ways_to_read_give_the_same_in_one_unit(tmp_path: Path) -> None:
    for kind in ("arrow", "parquet"):
        folder = tmp_path / kind
        folder.mkdir()
        for i, unit in enumerate(("us", "ns", "ms")):
            table = pa.table({"t": pa.array(range(1000), pa.timestamp(unit)), "n": list(range(1000))})
            path = folder / f"{i}.{kind}"
            if kind == "parquet":
                pq.write_table(table, path, row_group_size=300)
            else:
                with pa.OSFile(str(path), "wb") as file, ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table, max_chunksize=300)
        data = hr.read(folder)
        want = [i * factor for factor in (1000, 1, 1_000_000) for i in range(1000)]
        assert [int(sample["t"]) for sample in data] == want
        assert np.concatenate([batch["t"] for batch in data.batch(256).numpy()]).tolist() == want
        only = [int(t) for batch in data.map(lambda s: s.t).batch(64).numpy() for t in batch]
        assert only == want
        assert [int(sample["n"]) for sample in data.map(lambda s: {"n": s.n})] == list(range(1000)) * 3
        shuffled = sorted(int(sample["t"]) for sample in data.shuffle(seed=1))
        assert shuffled == sorted(want)
        assert [int(data[i]["t"]) for i in (0, 1500, 2999)] == [want[i] for i in (0, 1500, 2999)]
        out = tmp_path / f"{kind}.parquet"
        data.write(str(out))
        assert [int(sample["t"]) for sample in hr.read(out)] == want


def test_conditions_on_columns_whose_unit_differs_are_refused(tmp_path: Path) -> None:
    for i, unit in enumerate(("us", "ns")):
        pq.write_table(
            pa.table({"t": pa.array(WHEN, pa.timestamp(unit)), "n": [1, 2]}), tmp_path / f"{i}.parquet"
        )
    for columns in (None, ["n"]):
        with pytest.raises(
            ValueError, match=r"where= compares values as they are stored, and the files store 't'"
        ):
            hr.read_parquet(tmp_path / "*.parquet", where=[("t", "<", 5)], columns=columns)
    assert len(hr.read_parquet(tmp_path / "*.parquet", where=[("n", "<", 2)])) == 2


def test_files_that_agree_are_as_before(tmp_path: Path) -> None:
    for i in range(2):
        pq.write_table(pa.table({"t": pa.array(WHEN, pa.timestamp("us"))}), tmp_path / f"{i}.parquet")
    data = hr.read(tmp_path)
    assert data.metadata == {"files": 2, "row_groups": 2, "types": {"t": "timestamp[us]"}}
