"""Columns of times in memory are read as those of Arrow and Parquet files: the same whole numbers, with the same unit, and nulls by the same option."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

UNITS = ["s", "ms", "us", "ns"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_arrays_of_numpy(kind: str, unit: str) -> None:
    times = np.array([1, -5, 2**40], f"{kind}[{unit}]")
    data = hr.from_arrays({"t": times, "x": np.arange(3)})
    word = "timestamp" if kind == "datetime64" else "duration"
    assert data.metadata["types"] == {"t": f"{word}[{unit}]"}
    assert [int(sample["t"]) for sample in data] == [1, -5, 2**40] and data.schema["t"].dtype == np.int64


def test_other_units_are_seconds_or_refused() -> None:
    for unit, factor in (("m", 60), ("h", 3600), ("D", 86400), ("W", 604800), ("15m", 900)):
        data = hr.from_arrays({"t": np.array([3, "NaT"], f"timedelta64[{unit}]")}, nulls="zero")
        assert data.metadata["types"] == {"t": "duration[s]"}
        assert [int(sample["t"]) for sample in data] == [3 * factor, 0]
    with pytest.raises(
        TypeError, match=r"unit is none of s, ms, us, ns; convert it with .astype\(\"datetime64\[s\]\"\)"
    ):
        hr.from_arrays({"t": np.array(["2024-05"], "datetime64[M]")})
    with pytest.raises(ValueError, match="times beyond int64 in s"):
        hr.from_arrays({"t": np.array([2**60], "datetime64[D]")})


def test_what_is_missing_is_a_null() -> None:
    times = np.array([7, "NaT"], "datetime64[us]")
    with pytest.raises(ValueError, match=r"expected a value in row 1 of column 't', got null"):
        hr.from_arrays({"t": times})
    data = hr.from_arrays({"t": times}, nulls="mask")
    assert [(int(s["t"]), bool(s["t_valid"])) for s in data] == [(7, True), (0, False)]
    assert data.metadata["types"] == {"t": "timestamp[us]"}


def test_units_that_differ_are_not_joined() -> None:
    a, b = (hr.from_arrays({"t": np.array([1], f"datetime64[{unit}]")}) for unit in ("us", "ns"))
    with pytest.raises(ValueError, match=r"timestamp\[us\] in one dataset, timestamp\[ns\] in another"):
        a.concatenate(b)


MOMENT = np.datetime64("2024-01-01", "us")


@pytest.mark.parametrize("value", [MOMENT, np.array([MOMENT]), np.timedelta64(5, "us")])
@pytest.mark.parametrize(
    "make",
    [
        hr.from_list,
        hr.from_dataset,
        lambda items: hr.from_generator(lambda: iter(items)),
        lambda items: list(hr.range(1).map(lambda i: items[int(i)], python=True)),
    ],
)
def test_elements_with_times_are_refused_with_their_unit(make: Any, value: Any) -> None:
    with pytest.raises(Exception, match=r"64\[us\].*\.astype\(\"int64\"\) counts us, and np.isnat\(x\)"):
        make([{"t": value}])


def test_writing_says_that_units_are_lost(tmp_path: Path) -> None:
    data = hr.from_arrays({"t": np.array([1], "datetime64[us]"), "x": np.arange(1)})
    with pytest.warns(RuntimeWarning, match=r"written as plain numbers: 't' is timestamp\[us\]"):
        data.write(tmp_path / "a.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.map(lambda s: {"x": s.x}).write(tmp_path / "b.parquet")


def test_frames_are_read_as_arrow(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    ipc = pytest.importorskip("pyarrow.ipc")
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    types = [
        *(pa.timestamp(unit) for unit in UNITS),
        pa.timestamp("us", "UTC"),
        pa.timestamp("ms", "Asia/Tokyo"),
        *(pa.duration(unit) for unit in UNITS),
        pa.date32(),
        pa.time32("ms"),
        pa.time64("us"),
        pa.time64("ns"),
    ]
    for number, kind in enumerate(types):
        to = pa.int32() if kind.bit_width == 32 else pa.int64()
        table = pa.table({"t": pa.array([1, None, 86_399], to).cast(kind)})
        path = tmp_path / f"{number}.arrow"
        with ipc.new_file(path, table.schema) as file:
            file.write_table(table)
        wanted = hr.read_arrow(path, nulls="mask")
        frames = {"pyarrow": table, "chunks": pa.concat_tables([table.slice(0, 1), table.slice(1)])}
        if not pa.types.is_time(kind):
            frames["pandas"] = table.to_pandas(date_as_object=False)
        if str(kind) not in ("timestamp[s]", "duration[s]", "time32[ms]", "time64[us]"):  # polars has none
            frames["polars"] = pl.from_arrow(table)
        for name, frame in frames.items():
            found = hr.from_arrays(frame, nulls="mask")
            if name == "pandas" and pa.types.is_date(kind):  # which has no dates
                assert found.metadata["types"]["t"].startswith("timestamp[")
                continue
            assert found.metadata["types"] == wanted.metadata["types"], (name, kind)
            assert [(int(s["t"]), bool(s["t_valid"])) for s in found] == [
                (int(s["t"]), bool(s["t_valid"])) for s in wanted
            ], (name, kind)
    index = pd.to_datetime(["2020-01-01", None], utc=True)
    assert hr.from_arrays({"t": index}, nulls="zero").metadata["types"]["t"].endswith(", tz=UTC]")
    with pytest.raises(TypeError, match=r"is not supported|expected numbers"):
        hr.from_arrays(pd.DataFrame({"t": [datetime.date(2024, 1, 1)]}))
