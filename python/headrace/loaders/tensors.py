"""Leaves of the engine as PyTorch tensors, and rows of batches of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from .. import _core
from .._structure import packer


class RaggedTensors(list[Any]):
    """A field of a ragged batch: a list with one tensor per row, all of them views of `values`.

    Row i is values[row_splits[i]:row_splits[i + 1]]; rows without dimensions are one value each. Both can be passed to
    `torch.nested.nested_tensor_from_jagged(values, offsets)`.

    Attributes:
        values: All rows concatenated along dimension 0, shape (row_splits[-1], *row.shape[1:]).
        row_splits: int64, shape (rows + 1,).
    """

    def __init__(self, rows: Iterable[Any], values: Any, row_splits: Any):
        super().__init__(rows)
        self.values = values
        self.row_splits = row_splits


class Tensors:
    """Converts the leaves of an element of a node to tensors, and nests them."""

    def __init__(self, node: _core.Node, device: torch.device, pin_memory: bool):
        self.device = device
        self.pin_memory = pin_memory
        _, specs, structure = node.schema
        self._pack = packer(structure)
        self._bf16 = {i for i, (dtype, _) in enumerate(specs) if dtype == "bfloat16"}
        self._moves = device.type != "cpu"

    def __call__(self, leaves: list[Any]) -> Any:
        """Return an element of tensors."""
        return self._pack([self.of(leaf, i in self._bf16) for i, leaf in enumerate(leaves)])

    def of(self, leaf: Any, bf16: bool = False) -> Any:
        """Convert a leaf; text and bytes stay as they are."""
        if isinstance(leaf, (bytes, str, _core.BytesColumn)):
            return leaf
        if isinstance(leaf, _core.RaggedColumn) and (rows := self._together(leaf, bf16)) is not None:
            return rows
        if isinstance(leaf, (list, _core.RaggedColumn)):
            return [self.of(row, bf16) for row in leaf]
        array = np.asarray(leaf).view(np.uint16) if bf16 else np.asarray(leaf)
        tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
        if bf16:
            tensor = tensor.view(torch.bfloat16)
        if self.pin_memory:
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True) if self._moves else tensor

    def _together(self, column: _core.RaggedColumn, bf16: bool) -> RaggedTensors | None:
        """Return rows as views of one tensor; None if they differ along another axis than the first."""
        try:
            values, splits = column.values, column.row_splits
        except ValueError:
            return None
        together = self.of(values, bf16)
        is_flat = len(column) > 0 and column[0].ndim == 0
        rows = together.unbind() if is_flat else together.split(np.diff(splits).tolist())
        return RaggedTensors(rows, together, self.of(splits))


def leaves_of(element: Any) -> list[Any]:
    """Return what is nested in dicts and tuples."""
    if isinstance(element, dict):
        return [leaf for value in element.values() for leaf in leaves_of(value)]
    if isinstance(element, tuple):
        return [leaf for value in element for leaf in leaves_of(value)]
    return [element]


def rows_in(batch: Any) -> int:
    """Return the number of rows of a batch.

    Raises:
        ValueError: its fields have different numbers of rows, or one has none.
    """
    counts = {_rows(leaf) for leaf in leaves_of(batch)}
    if len(counts) != 1 or None in counts:
        raise ValueError(
            "torch: a trainer asked for single rows of a batch whose fields do not all have a row per sample; let it take whole batches, "
            "or move the map() that makes such fields before batch()"
        )
    return int(counts.pop() or 0)


def _rows(leaf: Any) -> int | None:
    if isinstance(leaf, torch.Tensor):
        return len(leaf) if leaf.ndim else None
    return len(leaf) if isinstance(leaf, (list, _core.BytesColumn)) else None


def row_of(batch: Any, row: int) -> Any:
    """Return one row of a batch, with its nesting."""
    if isinstance(batch, dict):
        return {name: row_of(value, row) for name, value in batch.items()}
    if isinstance(batch, tuple):
        return tuple(row_of(value, row) for value in batch)
    return batch[row]


def stacked(rows: Sequence[Any], *, ragged: bool = False) -> Any:
    """Return rows as a batch, as `batch()` makes it.

    Raises:
        ValueError: rows differ in shape, and ragged is False.
    """
    first = rows[0]
    if isinstance(first, dict):
        return {name: stacked([row[name] for row in rows], ragged=ragged) for name in first}
    if isinstance(first, tuple):
        return tuple(stacked(list(column), ragged=ragged) for column in zip(*rows, strict=True))
    if not isinstance(first, torch.Tensor):
        return list(rows)
    if ragged:
        return _ragged(rows)
    if any(row.shape != first.shape for row in rows):
        raise ValueError(
            "torch: a trainer puts rows of several batches into one, and they differ in shape; with .shard() in the plan it takes "
            "batches as they are, and batch(drop_last=True) leaves it none to fill up"
        )
    return torch.stack(list(rows))


def _ragged(rows: Sequence[Any]) -> Any:
    if len({row.shape[1:] for row in rows}) > 1:
        return list(rows)
    sizes = [len(row) if row.ndim else 1 for row in rows]
    values = torch.cat([row if row.ndim else row[None] for row in rows])
    splits = torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    return RaggedTensors(values.split(sizes) if rows[0].ndim else values.unbind(), values, splits)
