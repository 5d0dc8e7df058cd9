"""A dataset for PyTorch's own DataLoader, with an epoch that reaches its workers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import (
    Dataset as TorchData,
)
from torch.utils.data import get_worker_info

from .._arguments import whole_number
from .._line import stacklevel
from .tensors import Tensors
from .visits import Visits

if TYPE_CHECKING:
    from ..dataset import Dataset

_NOT_SET = -1


class TorchDataset(TorchData[Any]):
    """The elements of a dataset by position, as tensors, for PyTorch's DataLoader; created by `Dataset.torch_dataset`.

    Elements are those of the epoch that `set_epoch()` has set, in this process and in all workers. Without it, epochs are counted: in
    DataLoader's workers each iteration of the DataLoader is an epoch; without workers, an epoch begins when a position comes for the
    second time. Call set_epoch() where neither shows an epoch: with `persistent_workers=True`, and in several ranks without workers,
    as each rank has other positions in each epoch; a warning says so.

    Attributes:
        pipeline: The dataset.
    """

    def __init__(self, pipeline: Dataset):
        node = pipeline._node
        if not node.indexed or node.size is None:
            raise ValueError(
                "torch_dataset: expected a dataset with random access and a length, as DataLoader needs; iterate over torch() instead"
            )
        self.pipeline = pipeline
        self._varies = node.varies_by_epoch
        # In shared memory: the epoch that was set, and of those that workers count, the number and the seed of the last iteration.
        self._shared = torch.tensor([_NOT_SET, 0]).share_memory_()
        self._counted = 0
        self._visits = Visits()
        self._seed = 0
        self._has_warned = False
        self._made: tuple[Any, Tensors] | None = None

    def __len__(self) -> int:
        return len(self.pipeline)

    def __getitem__(self, position: int) -> Any:
        """Compute an element of the epoch, as tensors."""
        self._look([position], counts=False)
        return self._at(position)

    def __getitems__(self, positions: Sequence[int]) -> list[Any]:
        """Compute several elements of the epoch; called by PyTorch's DataLoader."""
        self._look(positions, counts=True)
        return [self._at(position) for position in positions]

    @property
    def epoch(self) -> int:
        """The epoch of the next element, as far as it is known."""
        given, word = map(int, self._shared.tolist())
        if given != _NOT_SET:
            return given
        if get_worker_info() is None:
            return max(self._counted, (word >> 32) - 1)
        return max(0, (word >> 32) - 1)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the elements from now on, also in workers that run.

        Args:
            epoch: The epoch, from 0.
        """
        self._shared[0] = whole_number("set_epoch", "epoch", epoch)

    def state_dict(self) -> dict[str, int]:
        """Return the epoch, for torchdata's StatefulDataLoader."""
        return {"epoch": self.epoch}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Set the epoch of a state."""
        self.set_epoch(state["epoch"])

    def _at(self, position: int) -> Any:
        node = self.pipeline._node
        if self._made is None or self._made[0] is not node:
            self._made = node, Tensors(node, torch.device("cpu"), False)
        size = len(self.pipeline)
        index = range(size)[position]
        return self._made[1](self.pipeline._random_access(node).at(index, self.epoch))

    def _look(self, positions: Sequence[int], counts: bool) -> None:
        """Count the epoch, if nobody sets it."""
        if not self._varies or int(self._shared[0]) != _NOT_SET:
            return
        worker = get_worker_info()
        if worker is not None:
            self._count_by_seed(int(worker.seed) - worker.id)
            counts = False
        if counts and _are_ranks():  # each has other positions in each epoch
            self._warn()
        if self._visits.repeat(positions, len(self)):
            if counts:
                self._counted += 1
            else:
                self._warn()

    def _count_by_seed(self, seed: int) -> None:
        """Count iterations of a DataLoader: each has another seed. Workers that see it at the same time write the same."""
        word, mark = int(self._shared[1]), seed & 0xFFFFFFFF
        if word == 0 or word & 0xFFFFFFFF != mark:
            self._shared[1] = ((word >> 32) + 1) << 32 | mark
        if mark != self._seed:
            self._seed, self._visits = mark, Visits()

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"elements are those of epoch {self.epoch}, as nothing tells this dataset of the next one: call its set_epoch(epoch) before "
                "each epoch",
                RuntimeWarning,
                stacklevel=stacklevel(),
            )

    def __repr__(self) -> str:
        return f"<TorchDataset at epoch {self.epoch} of\n{self.pipeline!r}>"


def _are_ranks() -> bool:
    distributed = torch.distributed
    return bool(
        distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
    )
