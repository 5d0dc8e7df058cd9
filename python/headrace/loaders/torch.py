"""Elements as PyTorch tensors: sharing the batch's memory on the CPU, copied one element ahead to a CUDA device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch  # type: ignore[import-not-found,unused-ignore]

from .. import _core
from .loader import Iteration, Loader, State

if TYPE_CHECKING:
    from ..dataset import Dataset


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


class TorchLoader(Loader[Any]):
    """Yields elements with the nesting of the dataset and tensors at the leaves; created by `Dataset.torch`.

    bytes and str are as in `NumpyLoader`. A ragged field is a list of tensors with `values` and `row_splits` (`RaggedTensors`), or a
    plain list if rows differ along another axis than the first. On the CPU, tensors share the batch's memory. For a CUDA device, each
    element is copied through page-locked memory on a separate stream while the previous element is in use.
    """

    def __init__(self, dataset: Dataset, *, device: Any = None, pin_memory: bool | None = None):
        super().__init__(dataset)
        self.device = torch.device(device if device is not None else "cpu")
        on_cuda = self.device.type == "cuda"
        self.pin_memory = on_cuda if pin_memory is None else pin_memory
        if (on_cuda or self.pin_memory) and not torch.cuda.is_available():
            wanted = f"device {str(self.device)!r}" if on_cuda else "pin_memory=True"
            raise RuntimeError(f"torch: {wanted} needs CUDA, but PyTorch finds no CUDA device")
        self.batch_sampler = None  # trainers that find a sampler ask for it
        self._stream = torch.cuda.Stream(self.device) if on_cuda else None  # type: ignore[no-untyped-call,unused-ignore]
        self._bf16 = {i for i, (dtype, _) in enumerate(dataset._node.schema[1]) if dtype == "bfloat16"}

    def _target(self) -> str:
        return f" to {self.device}{', page-locked' if self.pin_memory else ''}"

    def _converter(self) -> Callable[[list[Any]], Any]:
        return self._convert

    def _convert(self, leaves: list[Any]) -> Any:
        return self._pack([self._tensor(leaf, i in self._bf16) for i, leaf in enumerate(leaves)])

    def _tensor(self, leaf: Any, bf16: bool) -> Any:
        if isinstance(leaf, (bytes, str, _core.BytesColumn)):
            return leaf
        if isinstance(leaf, _core.RaggedColumn) and (rows := self._together(leaf, bf16)) is not None:
            return rows
        if isinstance(leaf, (list, _core.RaggedColumn)):
            return [self._tensor(row, bf16) for row in leaf]
        array = np.asarray(leaf).view(np.uint16) if bf16 else np.asarray(leaf)
        tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
        if bf16:
            tensor = tensor.view(torch.bfloat16)
        if self.pin_memory:
            tensor = tensor.pin_memory()
        return tensor if self._stream is None else tensor.to(self.device, non_blocking=True)

    def _together(self, column: _core.RaggedColumn, bf16: bool) -> RaggedTensors | None:
        """Return rows as views of one tensor; None if they differ along another axis than the first."""
        try:
            values, splits = column.values, column.row_splits
        except ValueError:
            return None
        together = self._tensor(values, bf16)
        is_flat = len(column) > 0 and column[0].ndim == 0
        rows = together.unbind() if is_flat else together.split(np.diff(splits).tolist())
        return RaggedTensors(rows, together, self._tensor(splits, False))

    def _make_iteration(self) -> Iteration[Any]:
        return Iteration(self) if self._stream is None else _AheadIteration(self, self._stream)


class _AheadIteration(Iteration[Any]):
    """Copies the next element to the device before the current one is returned."""

    def __init__(self, loader: TorchLoader, stream: torch.cuda.Stream):
        super().__init__(loader)
        self._stream = stream
        self._begun = False
        self._ahead: tuple[Any, State] | None = None  # an element, and the state after it is handed out
        self._given: list[State] = [
            loader._core.save()
        ]  # the state of what was handed out; shared with the loader
        loader._left_at = self._given
        self._at_end: State | None = None
        self._failure: Exception | None = None  # of the next element
        self._has_said_end = False

    def _copy_next(self) -> tuple[Any, State] | None:
        loader = self._loader
        if loader is None:
            _core.give_way_to_exit()  # which may have closed it
            return None
        try:
            with torch.cuda.stream(self._stream):
                element = super().__next__()
            return element, loader._core.save()
        except StopIteration:
            self._at_end = loader._core.save()
            return None
        except BaseException:
            if not loader._core.is_within:
                self._end(None)  # else an element that arrived but is not stored here would be lost
            raise

    def __next__(self) -> Any:
        if not self._begun:
            self._begun, self._ahead = True, self._copy_next()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        self._raise_if_ended()
        if self._ahead is None:
            if self._at_end is not None and self._loader is None:
                self._given[0] = self._at_end
            self._has_said_end = True
            raise StopIteration
        element, state = self._ahead
        torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)
        _used_on(element, torch.cuda.current_stream(self._stream.device))
        try:
            self._ahead = self._copy_next()
        except Exception as error:  # noqa: BLE001 -- of the next element: raised when its turn comes
            self._ahead, self._failure = None, error
        self._given[0] = state  # last, so that an exception before loses no element
        return element

    def _is_over(self) -> bool:
        return super()._is_over() and (self._has_said_end or self._ended_by is not None)

    def state_dict(self) -> State:
        """Return the position of this iteration; the element that was copied ahead does not count."""
        return dict(self._given[0])

    def _saved(self, loader: Loader[Any]) -> State:
        return self._given[0]


def _used_on(element: Any, stream: torch.cuda.Stream) -> None:
    if isinstance(element, torch.Tensor):
        if element.is_cuda:
            element.record_stream(stream)
    elif isinstance(element, dict):
        for value in element.values():
            _used_on(value, stream)
    elif isinstance(element, (list, tuple)):
        for value in element:
            _used_on(value, stream)
