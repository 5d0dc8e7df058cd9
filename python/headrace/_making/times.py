"""Columns of times in memory, as Parquet's are read: whole numbers, whose unit `metadata["types"]` has.

Elements made one by one have no column that could state a unit, so that times among them are refused, with how to convert them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

_COUNTED = {"s": 1, "ms": 1, "us": 1, "ns": 1, "m": 60, "h": 3600, "D": 86400, "W": 7 * 86400}
_OF_POLARS = {"Datetime": "timestamp", "Duration": "duration"}


class Times:
    """A column of times: which rows have one, their numbers, and the type of these."""

    def __init__(self, there: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any], kind: str):
        self.there, self.numbers, self.type = there, numbers, kind


def times_of(column: Any, name: str) -> Times | None:
    """Return a column of NumPy, pandas, polars or pyarrow as numbers; None if it has no times.

    Raises:
        TypeError: its unit has no length in seconds, such as months.
    """
    if isinstance(column, np.ndarray):
        return _of_array(column, name, None) if column.dtype.kind in "mM" else None
    if hasattr(column, "type") and hasattr(column, "null_count"):
        return _of_arrow(column)
    if hasattr(column, "to_physical"):
        return _of_polars(column)
    dtype = getattr(column, "dtype", None)
    if getattr(dtype, "kind", "") in ("m", "M") and hasattr(column, "to_numpy"):
        zone = getattr(dtype, "tz", None)
        accessor = column.dt if hasattr(column, "dt") else column  # a Series, or an Index
        array = (accessor.tz_convert(None) if zone is not None else column).to_numpy()
        return _of_array(array, name, zone) if array.dtype.kind in "mM" else None
    return None


def advice(dtype: np.dtype[Any]) -> str:
    """Return how to convert times that are not a column, without losing their unit or what is missing; "" for other dtypes."""
    if dtype.kind not in "mM":
        return ""
    word = "datetime64" if dtype.kind == "M" else "timedelta64"
    unit = np.datetime_data(dtype)[0]
    unit = unit if unit in ("s", "ms", "us", "ns") else "ns"
    return (
        f'; np.asarray(x, "{word}[{unit}]").astype("int64") counts {unit}, and np.isnat(x) says what is missing; from_arrays() takes '
        "columns of times, and keeps their unit in metadata"
    )


def _of_array(array: np.ndarray[Any, Any], name: str, zone: object) -> Times:
    unit, step = np.datetime_data(array.dtype)
    if unit not in _COUNTED:
        raise TypeError(
            f"from_arrays: column {name!r} has dtype {array.dtype}, whose unit is none of s, ms, us, ns; convert it with "
            f'.astype("{"datetime64" if array.dtype.kind == "M" else "timedelta64"}[s]")'
        )
    there = ~np.isnat(array)
    shown = unit if unit in ("s", "ms", "us", "ns") else "s"
    numbers = np.where(there, array.astype(f"{array.dtype.kind}8[{step}{unit}]").astype(np.int64), 0)
    factor = step * _COUNTED[unit]
    if numbers.size and factor > 1 and np.abs(numbers).max() > (2**63 - 1) // factor:
        raise ValueError(f"from_arrays: column {name!r} has times beyond int64 in {shown}")
    kind = "duration" if array.dtype.kind == "m" else "timestamp"
    return Times(there, numbers * factor, f"{kind}[{shown}{_with_zone(zone)}]")


def _with_zone(zone: object) -> str:
    return "" if zone is None else f", tz={zone}"


def _of_arrow(column: Any) -> Times | None:
    pa = sys.modules["pyarrow"]
    types, kind = pa.types, column.type
    if not (types.is_temporal(kind) and not types.is_interval(kind)):
        return None
    to = pa.int32() if types.is_date32(kind) or types.is_time32(kind) else pa.int64()
    there = ~np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool)
    numbers = np.zeros(len(there), to.to_pandas_dtype())
    numbers[there] = column.drop_null().cast(to).to_numpy(zero_copy_only=False)
    return Times(there, numbers, str(kind))


def _of_polars(column: Any) -> Times | None:
    kind = column.dtype
    word = str(kind).partition("(")[0]
    if word in _OF_POLARS:
        zone = getattr(kind, "time_zone", None)
        shown = f"{_OF_POLARS[word]}[{kind.time_unit}{_with_zone(zone)}]"
    elif word == "Date":
        shown = "date32[day]"
    elif word == "Time":
        shown = "time64[ns]"
    else:
        return None
    numbers = column.to_physical()
    there = ~np.asarray(column.is_null().to_numpy(), bool)
    return Times(there, np.asarray(numbers.fill_null(0).to_numpy()), shown)
