"""Columns whose rows differ in shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from ._errors import mismatch
from ._making.element import alike


class Ragged(Sequence[Any]):
    """Arrays of one dtype and rank, concatenated in one array; created by `ragged`."""

    def __init__(self, flat: np.ndarray[Any, Any], shapes: np.ndarray[Any, Any]):
        self.flat, self.shapes = flat, shapes
        self._ends = np.cumsum(shapes.prod(axis=1))

    def __len__(self) -> int:
        return len(self.shapes)

    @overload
    def __getitem__(self, index: int) -> np.ndarray[Any, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[np.ndarray[Any, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        shape, end = tuple(self.shapes[index]), self._ends[index]
        return self.flat[end - np.prod(shape, dtype=np.int64) : end].reshape(shape)

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"ragged({list(self)!r})"


def ragged(rows: Iterable[Any]) -> Ragged:
    """Make a column of arrays that differ in shape, for `from_arrays`: row i is element i.

    The arrays are copied into one. The result behaves like a list of the arrays, with a length and indexing. Columns of bytes or
    str do not need this.

    Args:
        rows: At least one array or list of numbers; all of the same dtype and rank, at least one-dimensional. An empty list has the
            dtype of the others, and a list of whole numbers becomes one of floats beside those.

    Raises:
        ValueError: there are no rows, or rows differ in dtype or rank.

    Example:
        sentences = hr.from_arrays({"tokens": hr.ragged([[1, 2, 3], [4, 5]]), "label": [0, 1]})
    """
    arrays = alike([row if isinstance(row, list) else np.asarray(row) for row in rows])
    if not arrays:
        raise ValueError("ragged: expected at least one row, to infer dtype and rank")
    first = arrays[0]
    for number, array in enumerate(arrays):
        if not isinstance(array, np.ndarray) or array.ndim == 0:
            raise mismatch(
                ValueError,
                "ragged",
                expected="arrays with at least one dimension",
                got=f"{array!r} for row {number}",
            )
        if (array.dtype, array.ndim) != (first.dtype, first.ndim):
            raise mismatch(
                ValueError,
                "ragged",
                expected="rows of one dtype and rank",
                got=f"{array.dtype} {array.shape} for row {number} and {first.dtype} {first.shape} for row 0",
            )
    flat = np.concatenate([array.reshape(-1) for array in arrays])
    return Ragged(flat, np.array([array.shape for array in arrays], np.int64))
