"""A batch's field of bytes: a sequence of bytes that shares the batch's memory."""

import gc
import pickle
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

ROWS = [b"one", b"", b"three\0", b"a longer row of some bytes"]


@pytest.fixture
def column() -> Any:
    (batch,) = hr.from_arrays({"x": ROWS, "name": ["a", "b", "c", "d"]}).batch(4)
    assert batch["name"] == ["a", "b", "c", "d"]
    return batch["x"]


def test_it_is_a_sequence_of_bytes(column: Any) -> None:
    assert isinstance(column, hr.BytesColumn) and isinstance(column, Sequence)
    assert len(column) == 4 and list(column) == ROWS
    assert all(type(row) is bytes for row in column)
    assert column[-1] == ROWS[3] and column[np.int64(2)] == ROWS[2]
    assert column[1:3] == ROWS[1:3] and column[::-1] == ROWS[::-1]
    assert b"one" in column and b"two" not in column
    for beyond in (4, -5, 1 << 70):
        with pytest.raises(IndexError):
            column[beyond]
    with pytest.raises(TypeError):
        column["x"]


def test_it_compares_prints_and_pickles_as_a_list(column: Any) -> None:
    (again,) = hr.from_arrays({"x": ROWS}).batch(4)
    assert column == ROWS and column == ROWS and column == again["x"]
    assert column != ROWS[:3] and column != tuple(ROWS) and column < [b"two"]
    assert repr(column) == repr(ROWS)
    assert pickle.loads(pickle.dumps(column)) == ROWS
    assert np.array(column, dtype=object).tolist() == ROWS
    with pytest.raises(TypeError, match="unhashable"):
        hash(column)


def test_views_are_no_copies_and_keep_the_memory(column: Any) -> None:
    views, others = column.views(), column.views()
    assert all(type(view) is memoryview and view.readonly for view in views)
    same = [np.frombuffer(view, np.uint8) for view in (views[3], others[3])]
    assert np.shares_memory(*same)
    del column, others
    gc.collect()
    assert [bytes(view) for view in views] == ROWS


def test_all_rows_are_one_array_and_where_they_begin(column: Any) -> None:
    values, row_splits = column.values, column.row_splits
    assert values.dtype == np.uint8 and values.tobytes() == b"".join(ROWS)
    assert row_splits.dtype == np.int64 and row_splits.tolist() == [0, *np.cumsum([len(row) for row in ROWS])]
    assert [values[a:b].tobytes() for a, b in pairwise(row_splits)] == ROWS
    del column
    gc.collect()
    assert values.tobytes() == b"".join(ROWS)


def test_arrays_of_rows_without_bytes() -> None:
    (batch,) = hr.from_arrays({"x": [b"", b""]}).batch(2)
    assert batch["x"].values.shape == (0,) and batch["x"].row_splits.tolist() == [0, 0, 0]


def test_a_row_that_lies_alone_is_shared_and_read_only(tmp_path: Path) -> None:
    rows = [b"%03d" % i for i in range(50)]
    (tmp_path / "x.bin").write_bytes(b"".join(rows))
    for batch in hr.read_fixed(tmp_path / "x.bin", record_bytes=3).batch(1):
        column = batch["record"]
        assert column.values.tobytes() == rows.pop(0)
        assert np.shares_memory(column.values, np.frombuffer(column.views()[0], np.uint8))
        assert not column.values.flags.writeable
    (batch,) = hr.read_fixed(tmp_path / "x.bin", record_bytes=3).batch(50)
    assert batch["record"].values.tobytes() == (tmp_path / "x.bin").read_bytes()


def test_it_is_a_column_again() -> None:
    (batch,) = hr.from_arrays({"x": ROWS}).batch(4)
    assert [element["x"] for element in hr.from_arrays({"x": batch["x"]})] == ROWS


@pytest.mark.parametrize("kind", [bytes, str])
def test_a_batch_of_batches_holds_one_column_each(kind: type) -> None:
    texts = ROWS if kind is bytes else ["one", "", "three", "more"]
    (whole,) = hr.from_arrays({"x": texts}).batch(2).batch(2)
    assert [list(column) for column in whole["x"]] == [texts[:2], texts[2:]]
