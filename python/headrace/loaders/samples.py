"""What `TorchLoader` shows as dataset, samplers and collate_fn, for trainers that build another loader around them.

Such a loader asks for positions in the order of the epoch. Positions that are a batch of the plan are answered with that batch,
which the engine has made in advance; it is followed in steps, as a trainer that divides batches among ranks takes them.
"""

from __future__ import annotations

import json
import warnings
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

import torch
from torch.utils.data import (
    Dataset as TorchData,
)
from torch.utils.data import DistributedSampler, IterableDataset, Sampler, SequentialSampler, get_worker_info

from .._arguments import whole_number
from .tensors import Tensors, row_of, rows_in, stacked
from .visits import Visits

if TYPE_CHECKING:
    from .. import _core
    from ..dataset import Dataset
    from .loader import Iteration, Loader, Report

_MOST_RESTARTS = 3  # of an epoch; a trainer that jumps more often gets its batches one by one


class Numbering(NamedTuple):
    """How the samples of an epoch are numbered: sample i is row i % rows of element i // rows.

    Attributes:
        samples: Number of samples.
        rows: Rows per batch; None if elements are samples.
        drop_last: Whether a last batch that is not full is dropped.
        ragged: Whether rows of a batch may differ in shape.
        below: The node of the samples, if nothing follows `batch`.
    """

    samples: int
    rows: int | None
    drop_last: bool = False
    ragged: bool = False
    below: _core.Node | None = None


def numbering_of(node: _core.Node) -> Numbering | None:
    """Return how samples are numbered; None without random access, or if batches change places after `batch`."""
    if not node.indexed or node.size is None:
        return None
    described, below, steps = json.loads(node.plan(0))["plan"], node, 0
    while described["verb"] in {"map", "cache", "on_error"} and below.inputs:
        described, below, steps = described["input"], below.inputs[0], steps + 1
    if described["verb"] != "batch":
        return Numbering(node.size, None) if not _has_batch(below) else None
    rows, source, drop_last = described["size"], below.inputs[0], bool(described.get("drop_last"))
    if source.size is None:
        return None
    total = source.size // rows * rows if drop_last else source.size
    plain = steps == 0 and "padding" not in described
    return Numbering(total, rows, drop_last, bool(described.get("ragged")), source if plain else None)


def _has_batch(node: _core.Node) -> bool:
    return node.describe()["verb"] in {"batch", "padded_batch"} or any(map(_has_batch, node.inputs))


class Starts(Protocol):
    """Makes a loader of tensors for a plan, without its warnings."""

    def __call__(self, pipeline: Dataset) -> Loader[Any]:
        """Make a loader."""


class Epochs:
    """The epoch of loaders that others build: that of set_epoch(), and after each pass the next one."""

    def __init__(self, loader: Loader[Any]):
        self.epoch = 0
        self._next: int | None = None
        self._loader = weakref.ref(loader)
        self.begun = False  # whether another loader has begun a pass

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration, of the loader as well."""
        number = whole_number("set_epoch", "epoch", epoch)
        if (loader := self._loader()) is not None:  # not its truth, which is its length
            loader.set_epoch(number)
        else:
            self.name(number, at_once=True)

    def name(self, epoch: int, at_once: bool) -> None:
        """Set the epoch of the next pass, and that of samples which are asked for now."""
        self._next = epoch
        if at_once:
            self.epoch = epoch

    def follow(self, epoch: int) -> None:
        """Take over the epoch that the loader itself has now."""
        self.epoch, self._next = epoch, epoch

    def begin(self) -> int:
        """Begin a pass of another loader, and return its epoch."""
        if self._next is not None:
            self.epoch = self._next
        elif self.begun:
            self.epoch += 1
        self.begun, self._next = True, None
        return self.epoch


class _Turn:
    """Batches that the engine makes in advance: every `stride`-th from one on."""

    def __init__(self, loader: Loader[Any], node: _core.Node, epoch: int, number: int, stride: int):
        self.loader, self.node, self.epoch, self.number, self.stride = loader, node, epoch, number, stride
        loader.set_epoch(epoch)
        self._iteration: Iteration[Any] = iter(loader)

    def next(self) -> Any:
        self.number += self.stride
        return next(self._iteration)

    def close(self) -> None:
        self._iteration.close()


class Samples(TorchData[Any]):
    """The samples of a loader, map-style: `len()` counts them, and position i is sample i in the order of the epoch.

    Of a plan that shards, they are the samples of this rank. Batches come from the engine: `report()` shows them.

    Attributes:
        pipeline: The dataset that the loader runs.
        epochs: The epoch of positions.
    """

    def __init__(self, pipeline: Dataset, start: Starts, tensors: Tensors, epochs: Epochs):
        self.pipeline = pipeline
        self.epochs = epochs
        self.tensors = tensors
        self._start = start
        self._numbered: tuple[_core.Node, Numbering] | None = None
        self._turn: _Turn | None = None
        self._run: Loader[Any] | None = None  # the last one, for its report
        self._restarts = 0
        self._last: int | None = None  # the last batch asked for
        self._resumes_after: int | None = None  # that of a state that was loaded
        self._has_resumed = False  # whether a pass has begun since
        self._is_led = False  # whether positions come from the sampler of the loader
        self._visits: Visits | None = None  # else, those of the epoch
        self._kept: tuple[tuple[int, int], Any] | None = (
            None  # the last element that single samples came from
        )

    @property
    def numbering(self) -> Numbering:
        """How samples are numbered now: ranks may change after a loader is made."""
        node = self.pipeline._node
        if self._numbered is None or self._numbered[0] is not node:
            numbering = numbering_of(node)
            assert numbering is not None  # else a Stream was made
            self._numbered = node, numbering
        return self._numbered[1]

    def __len__(self) -> int:
        return self.numbering.samples

    def __getitem__(self, position: int) -> Any:
        """Return the sample at a position of the epoch, as tensors."""
        _refuse_in_worker()
        numbering = self.numbering
        index = range(numbering.samples)[position]  # an IndexError as of any sequence
        if numbering.rows is None:
            follows = self._last is not None and index == self._last + 1
            return self._batch(index) if follows else self._made(index)
        if numbering.below is not None:
            return self._below(numbering.below, index)
        number = index // numbering.rows
        if self._kept is None or self._kept[0] != (self.epochs.epoch, number):
            self._kept = (self.epochs.epoch, number), self._at(number)
        rows_in(self._kept[1])
        return row_of(self._kept[1], index % numbering.rows)

    def __getitems__(self, positions: Sequence[int]) -> Positions:
        """Return the samples at several positions; `collate` makes the batch of them."""
        if not self._is_led:  # by a sampler of somebody else, which begins no pass here
            if self._visits is None or self._visits.repeat(positions, len(self)):
                self.epochs.begin()
            if self._visits is None:
                self._visits = Visits()
                self._visits.repeat(positions, len(self))
        return Positions(self, list(positions))

    def together(self, positions: Sequence[int]) -> Any:
        """Return the batch of these positions: that of the plan if they are one, else their rows."""
        _refuse_in_worker()
        number = self._number_of(positions)
        if number is not None:
            return self._batch(number)
        return stacked([self[position] for position in positions], ragged=self.numbering.ragged)

    def report(self) -> Report | None:
        """Return the statistics of the engine for loaders that were built around this; None before there was one."""
        return None if self._run is None else self._run.report()

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration."""
        self.epochs.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the epoch, which the state of a `StatefulDataLoader` lacks, and the last batch of it that was asked for."""
        return {"epoch": self.epochs.epoch, "last": self._last}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Set the epoch of a state; the next one, if the loader then begins anew instead of going on."""
        self.epochs.follow(state["epoch"])
        self._resumes_after, self._has_resumed = state["last"], False

    def passes(self) -> Iterator[int]:
        """Begin a pass, and give its positions in order."""
        self.epochs.begin()
        self._is_led = True
        self._restarts, self._last = 0, None
        if self._has_resumed:
            self._resumes_after = None  # the loader went on at the end, and begins anew now
        self._has_resumed = self._resumes_after is not None
        return iter(range(len(self)))

    def _number_of(self, positions: Sequence[int]) -> int | None:
        _, rows, drop_last, _, _ = self.numbering
        if rows is None or not positions or positions[0] % rows:
            return None
        end = min(positions[0] + rows, len(self))
        is_whole = len(positions) == end - positions[0] and list(positions) == list(range(positions[0], end))
        return positions[0] // rows if is_whole and not (drop_last and len(positions) < rows) else None

    def _batch(self, number: int) -> Any:
        if self._resumes_after is not None and number <= self._resumes_after:
            self.epochs.epoch += 1
        self._resumes_after = None
        node, epoch, last = self.pipeline._node, self.epochs.epoch, self._last
        self._last = number
        turn = self._turn
        if turn is None or (turn.node, turn.epoch, turn.number) != (node, epoch, number):
            if turn is not None:
                turn.close()
            self._turn = turn = self._begun(node, epoch, number, last)
        if turn is None:
            return self._at(number)
        element = turn.next()
        if turn.number >= (node.size or 0):
            turn.close()
            self._turn = None
        return element

    def _begun(self, node: _core.Node, epoch: int, number: int, last: int | None) -> _Turn | None:
        """Let the engine begin at a batch, in steps as far as they are known; None if it was asked to jump too often."""
        self._restarts += 1
        if self._restarts > _MOST_RESTARTS:
            return None
        stride = number - last if last is not None and last < number else _ranks_beside(node)
        if stride > 1 and node.sharded:
            return None
        pipeline = self.pipeline.skip(number) if number else self.pipeline
        if stride > 1:
            pipeline = pipeline.shard(0, stride)
        self._run = self._start(pipeline)
        return _Turn(self._run, node, epoch, number, stride)

    def _made(self, number: int) -> Any:
        self._last = number
        return self._at(number)

    def _at(self, number: int) -> Any:
        node = self.pipeline._node
        return self.tensors(self.pipeline._random_access(node).at(number, self.epochs.epoch))

    def _below(self, node: _core.Node, index: int) -> Any:
        if self._kept is None or self._kept[0] != (-1, id(node)):
            below = self.pipeline._then(node)
            self._kept = (-1, id(node)), (below, Tensors(node, self.tensors.device, self.tensors.pin_memory))
        below, tensors = self._kept[1]
        return tensors(below._random_access(node).at(index, self.epochs.epoch))

    def __reduce__(self) -> NoReturn:
        raise _no_workers()


class Positions(Sequence[Any]):
    """Samples at some positions: a sequence of samples for any collate function, and a batch for `collate`."""

    def __init__(self, samples: Samples, positions: list[int]):
        self.samples, self.positions = samples, positions

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, place: Any) -> Any:
        return self.samples[self.positions[place]]


class Row(NamedTuple):
    """A row of a batch of a `Stream`."""

    batch: Any
    number: int
    rows: int


class Stream(IterableDataset[Any]):
    """The samples of a loader without random access, iterable: rows of its batches, which `collate` puts together again."""

    def __init__(self, pipeline: Dataset, start: Starts, tensors: Tensors, epochs: Epochs):
        self.pipeline = pipeline
        self.epochs = epochs
        self.tensors = tensors
        self._start = start
        self._run: Loader[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        _refuse_in_worker()
        if self._run is None:
            self._run = self._start(self.pipeline)
        self._run.set_epoch(self.epochs.begin())
        are_batches = self._run.batch_size is not None
        for element in self._run:
            if not are_batches:
                yield element
                continue
            rows = rows_in(element)
            for number in range(rows):
                yield Row(element, number, rows)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration."""
        self.epochs.set_epoch(epoch)

    def report(self) -> Report | None:
        """Return the statistics of the engine for loaders that were built around this; None before there was one."""
        return None if self._run is None else self._run.report()

    def __reduce__(self) -> NoReturn:
        raise _no_workers()


def collate(samples: Any) -> Any:
    """Make a batch of samples of a loader: the `collate_fn` of `TorchLoader`."""
    if isinstance(samples, Positions):
        return samples.samples.together(samples.positions)
    if not isinstance(samples[0], Row):
        return stacked(samples)
    batch, _, rows = samples[0]
    if all(row.batch is batch and row.number == i for i, row in enumerate(samples)) and len(samples) == rows:
        return batch
    return stacked([row_of(row.batch, row.number) for row in samples])


def as_it_is(sample: Any) -> Any:
    """Return a sample unchanged: the `collate_fn` of a `TorchLoader` without batches."""
    return sample


class EpochSampler(SequentialSampler):
    """The positions of an epoch in its order, which is shuffled already. Each iteration is the next epoch."""

    def __init__(self, samples: Samples):
        super().__init__(samples)
        self.samples = samples

    def __iter__(self) -> Iterator[int]:
        return self.samples.passes()

    def __len__(self) -> int:
        return len(self.samples)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration; see `Loader.set_epoch`."""
        self.samples.set_epoch(epoch)


class RankSampler(EpochSampler, DistributedSampler[Any]):
    """The positions of this rank's samples. A DistributedSampler, so that trainers leave it where it is."""

    def __init__(self, samples: Samples, rank: int, world: int):
        DistributedSampler.__init__(self, samples, num_replicas=world, rank=rank, shuffle=False)
        EpochSampler.__init__(self, samples)


class StreamSampler(Sampler[Any]):
    """The sampler of a loader without random access: as PyTorch's for iterable datasets, it has no positions."""

    def __init__(self, stream: Stream):
        self.stream = stream

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration; see `Loader.set_epoch`."""
        self.stream.set_epoch(epoch)


def _ranks_beside(node: _core.Node) -> int:
    """Return the step at which a trainer most likely takes batches: by its ranks, if the plan does not shard."""
    distributed = torch.distributed
    if node.sharded or not distributed.is_available() or not distributed.is_initialized():
        return 1
    return int(distributed.get_world_size())


def _refuse_in_worker() -> None:
    if get_worker_info() is not None:
        raise _no_workers()


def _no_workers() -> TypeError:
    return TypeError(
        "the dataset of a loader is read in the process of that loader, which has threads of its own; for workers of DataLoader, use "
        "ds.torch_dataset()"
    )


def quietly(pipeline: Dataset, make: Starts) -> Loader[Any]:
    """Make a loader for another that has given the warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = make(pipeline)
    loader._knows_epoch = loader._knows_order = loader._knows_ranks = True
    return loader
