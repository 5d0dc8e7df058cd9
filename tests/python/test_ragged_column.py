"""A field of a ragged batch: a sequence of arrays that share the batch's memory."""

import gc
import itertools
import pickle
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import headrace as hr

ROWS = [[1], [2, 3, 4], [], [5, 6]]
SPLITS = [0, 1, 4, 4, 6]


def ragged_batch(rows: Sequence[Any] = ROWS, dtype: str = "int64") -> Any:
    (batch,) = hr.from_arrays(hr.ragged([np.array(row, dtype) for row in rows])).batch(len(rows), ragged=True)
    return batch


def lists(column: Any) -> list[list[int]]:
    return [row.tolist() for row in column]


def test_it_is_a_sequence_of_arrays() -> None:
    column = ragged_batch()
    assert isinstance(column, hr.RaggedColumn) and isinstance(column, Sequence)
    assert len(column) == 4 and lists(column) == ROWS
    assert all(type(row) is np.ndarray and row.dtype == np.int64 for row in column)
    assert column[-1].tolist() == ROWS[3] and column[np.int64(1)].tolist() == ROWS[1]
    assert lists(column[1:3]) == ROWS[1:3] and lists(column[::-1]) == ROWS[::-1]
    assert type(column[1:3]) is list
    for beyond in (4, -5, 1 << 70):
        with pytest.raises(IndexError):
            column[beyond]
    with pytest.raises(TypeError):
        column["x"]


def test_it_prints_and_pickles_as_a_list() -> None:
    column = ragged_batch()
    assert repr(column) == repr([np.array(row, np.int64) for row in ROWS])
    again = pickle.loads(pickle.dumps(column))
    assert type(again) is list and lists(again) == ROWS


def test_rows_of_one_shape_make_an_array() -> None:
    column = ragged_batch([[1, 2], [3, 4]])
    assert np.asarray(column).tolist() == [[1, 2], [3, 4]]
    assert np.stack(column).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.asarray(ragged_batch())


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "bool"])
def test_values_and_splits_are_all_rows(dtype: str) -> None:
    column = ragged_batch(dtype=dtype)
    assert column.values.dtype == np.dtype(dtype)
    assert column.values.tolist() == np.array([1, 2, 3, 4, 5, 6], dtype).tolist()
    assert column.row_splits.dtype == np.int64 and column.row_splits.tolist() == SPLITS


def test_values_of_scattered_rows_are_a_copy() -> None:
    data = hr.from_list([np.array(row, np.int64) for row in ROWS]).shuffle(seed=1)
    (column,) = data.batch(4, ragged=True)
    values, splits = column.values, column.row_splits
    assert lists(column) != ROWS
    assert lists(column) == [values[a:b].tolist() for a, b in itertools.pairwise(splits)]
    assert not np.shares_memory(values, column[0]) and values.flags.writeable


def test_values_of_rows_that_lie_side_by_side_are_no_copy() -> None:
    column = ragged_batch()
    assert np.shares_memory(column.values, column[1])


def test_values_of_rows_with_more_dimensions_and_with_none() -> None:
    column = ragged_batch([np.ones((n, 2, 3)) * n for n in (2, 0, 1)])
    assert column.values.shape == (3, 2, 3) and column.row_splits.tolist() == [0, 2, 2, 3]
    (numbers,) = hr.range(3).batch(3, ragged=True)
    assert numbers.values.tolist() == [0, 1, 2] and numbers.row_splits.tolist() == [0, 1, 2, 3]
    assert [type(row) for row in numbers] == [np.int64] * 3


def test_rows_that_differ_along_another_axis_have_no_values() -> None:
    column = ragged_batch([np.ones((2, n)) for n in (3, 4)])
    for name in ("values", "row_splits"):
        with pytest.raises(ValueError, match=r"differ only along axis 0, got shapes \(2, 3\) and \(2, 4\)"):
            getattr(column, name)


def test_memory_stays_as_long_as_a_row() -> None:
    loader = (
        hr.from_list([np.array(row, np.int64) for row in ROWS]).map(lambda x: x + 1).batch(4, ragged=True)
    )
    column = next(iter(loader))
    row, values = column[1], column.values
    del column, loader
    gc.collect()
    assert row.tolist() == [3, 4, 5] and values.tolist() == [2, 3, 4, 5, 6, 7]


def test_rows_of_its_own_can_be_written_and_those_of_a_source_cannot() -> None:
    data = hr.from_list([np.array(row, np.int64) for row in ROWS])
    (made,) = data.map(lambda x: x + 1).batch(4, ragged=True)
    made[1][0] = 7
    assert made[1].tolist() == [7, 4, 5]
    (shared,) = data.batch(4, ragged=True)
    with pytest.raises(ValueError, match="read-only"):
        shared[1][0] = 7


def test_what_is_written_into_rows_stays_out_of_a_cache() -> None:
    data = hr.from_list([np.array(row, np.int64) for row in ROWS]).map(lambda x: x + 1)
    for column in data.batch(4, ragged=True).cache().repeat(3):
        assert lists(column)[1] == [3, 4, 5]
        if column[1].flags.writeable:
            column[1][:] = 7


def test_it_drops_what_it_makes() -> None:
    column = ragged_batch()
    before = sys.getrefcount(column)
    for _ in range(1000):
        list(column), column.values, column.row_splits, repr(column), column[1:]
    gc.collect()
    assert sys.getrefcount(column) == before


def test_threads_may_share_it() -> None:
    data = hr.range(4096).map(lambda x: np.arange(int(x) % 7), python=True)
    columns = list(data.batch(64, ragged=True))
    failures: list[str] = []

    def look() -> None:
        for column in columns:
            if sum(row.sum() for row in column) != column.values.sum():
                failures.append(repr(column))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_it_is_a_column_again() -> None:
    assert [row.tolist() for row in hr.from_arrays({"x": ragged_batch()}).map(lambda s: s["x"])] == ROWS


def test_a_batch_of_ragged_batches_holds_one_column_each() -> None:
    data = hr.from_list([np.array(row, np.int64) for row in ROWS])
    (whole,) = data.batch(2, ragged=True).batch(2, ragged=True)
    assert [lists(column) for column in whole] == [ROWS[:2], ROWS[2:]]


def test_ragged_batches_become_others() -> None:
    rows = [np.arange(n % 4 + 1) for n in range(10)]
    for size in (2, 5):
        batches = list(hr.from_list(rows).batch(3, ragged=True).rebatch(size, ragged=True))
        assert [len(batch) for batch in batches] == [size] * (10 // size)
        assert [row.tolist() for batch in batches for row in batch] == [row.tolist() for row in rows]


def test_ragged_batch_is_a_batch_whose_rows_may_differ() -> None:
    data = hr.from_list([np.arange(n) for n in range(7)])
    same = [data.ragged_batch(3), data.batch(3, ragged=True)]
    rows = [[[row.tolist() for row in column] for column in batches] for batches in same]
    assert rows[0] == rows[1] and len(rows[0]) == 3
    assert len(list(data.ragged_batch(3, drop_last=True))) == 2


def test_a_batch_of_ragged_rows_is_an_error_even_of_one():
    ragged = hr.from_list([{"x": i} for i in range(6)]).ragged_batch(2)
    for ds in (ragged.batch(1), ragged.batch(2), ragged.window(1), ragged.shuffle(window=2).batch(1)):
        with pytest.raises(
            ValueError,
            match=r"'x': expected rows of one shape, but row 0 \((batch|sample) \d\) is itself ragged",
        ):
            list(ds)
    with pytest.raises(ValueError, match="pack: expected sequences of numbers"):
        list(ragged.pack({"x": 4}))
