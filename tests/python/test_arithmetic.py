"""Operators between fields and numbers as they are traced, beside NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
WHOLE = {"//": operator.floordiv, "%": operator.mod}


def values(dtype: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(7)
    if dtype[0] == "f":
        some = np.array(
            [0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 5.5, -5.5, 2.0, -2.0, 1e-3, 300.0, np.inf, -np.inf, np.nan]
        )
        return np.concatenate([some, rng.normal(0, 20, 200)]).astype(dtype)
    info = np.iinfo(dtype)
    edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7]
    if info.min < 0:
        edges += [-1, -2, -3, -7]
    drawn = rng.integers(info.min, info.max, 200, dtype=dtype, endpoint=True)
    return np.concatenate([np.array(edges, dtype), drawn])


def native(data: hr.Dataset, function: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
    made = data.map(function)
    assert "python" not in made.explain()
    (column,) = made.batch(1 << 20)
    return np.asarray(column)


def assert_same(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> None:
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))  # -0.0 is not 0.0


@pytest.mark.filterwarnings("error::headrace.PythonFunctionWarning")
@pytest.mark.parametrize("sign", WHOLE)
@pytest.mark.parametrize("dtype", [*INTEGERS, "f2", "f4", "f8"])
def test_whole_division_is_that_of_numpy(dtype: str, sign: str) -> None:
    x, apply = values(dtype), WHOLE[sign]
    y = np.roll(x, 5)
    with np.errstate(all="ignore"):
        assert_same(native(hr.from_arrays((x, y)), lambda s: apply(s[0], s[1])), apply(x, y))
        for number in (3, 7, 1) if dtype[0] == "u" else (3, -3, 7, -1):
            assert_same(
                native(hr.from_arrays(x), lambda v, n=number: apply(v, n)), apply(x, x.dtype.type(number))
            )
            assert_same(
                native(hr.from_arrays(x), lambda v, n=number: apply(n, v)), apply(x.dtype.type(number), x)
            )


@pytest.mark.filterwarnings("error::headrace.PythonFunctionWarning")
@pytest.mark.parametrize("dtype", [*INTEGERS, "f2", "f4", "f8"])
def test_the_absolute_value_is_that_of_numpy(dtype: str) -> None:
    x = values(dtype)
    with np.errstate(all="ignore"):
        assert_same(native(hr.from_arrays(x), abs), np.abs(x))


def test_by_the_number_zero_is_refused_for_integers() -> None:
    for apply in WHOLE.values():
        with pytest.raises(ValueError, match=r"value must not be 0 for integers.*test_arithmetic.py"):
            hr.range(3).map(lambda x, apply=apply: apply(x, 0))
    assert [float(x) for x in hr.from_arrays(np.ones(1)).map(lambda x: x // 0)] == [np.inf]


def test_a_filter_by_a_remainder_is_native() -> None:
    even = hr.range(1000).filter(lambda x: x % 2 == 0)
    assert [int(x) for x in even] == list(range(0, 1000, 2))
