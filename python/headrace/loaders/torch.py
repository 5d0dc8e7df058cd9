"""Elements as PyTorch tensors: sharing the batch's memory on the CPU, copied one element ahead to a CUDA device."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    SequentialSampler,
)

from .ahead import AheadIteration
from .loader import Iteration, Loader, Report, State, fixed_state
from .prepared import Prepared
from .samples import (
    Epochs,
    EpochSampler,
    RankSampler,
    Samples,
    Stream,
    StreamSampler,
    as_it_is,
    collate,
    numbering_of,
    quietly,
)
from .tensors import RaggedTensors, Tensors

if TYPE_CHECKING:
    from ..dataset import Dataset

__all__ = ["RaggedTensors", "TorchLoader"]


class TensorLoader(Loader[Any]):
    """Yields elements with tensors at the leaves: what `TorchLoader` is without PyTorch's protocol."""

    def __init__(self, pipeline: Dataset, *, device: Any = None, pin_memory: bool | None = None):
        super().__init__(pipeline)
        self.device = torch.device(device if device is not None else "cpu")
        on_cuda = self.device.type == "cuda"
        self._pins = on_cuda if pin_memory is None else pin_memory
        if (on_cuda or self._pins) and not torch.cuda.is_available():
            wanted = f"device {str(self.device)!r}" if on_cuda else "pin_memory=True"
            raise RuntimeError(f"torch: {wanted} needs CUDA, but PyTorch finds no CUDA device")
        self._stream = torch.cuda.Stream(self.device) if on_cuda else None
        self._tensors = Tensors(self._node, self.device, self._pins)

    def _target(self) -> str:
        return f" to {self.device}{', page-locked' if self._pins else ''}"

    def _converter(self) -> Callable[[list[Any]], Any]:
        return self._tensors

    def _make_iteration(self) -> Iteration[Any]:
        return Iteration(self) if self._stream is None else AheadIteration(self, self._stream)


class TorchLoader(TensorLoader, DataLoader[Any]):
    """Yields elements with the nesting of the dataset and tensors at the leaves; created by `Dataset.torch`.

    bytes and str are as in `NumpyLoader`. A ragged field is a list of tensors with `values` and `row_splits` (`RaggedTensors`), or a
    plain list if rows differ along another axis than the first. On the CPU, tensors share the batch's memory. For a CUDA device, each
    element is copied through page-locked memory on a separate stream while the previous element is in use.

    It is a `torch.utils.data.DataLoader` with all of its attributes. The engine runs threads, so `num_workers` is 0. Trainers may
    build another loader around `dataset`, `sampler`, `batch_sampler` and `collate_fn`: its batches come from the engine too.

    Attributes:
        dataset: The samples, in the order of the epoch, of this rank: `len(loader.dataset)` counts samples. Map-style; iterable and
            without a length if the plan has no random access, or if batches change places after `batch`.
        sampler: The positions of an epoch. With a shard in the plan, a `DistributedSampler`.
        batch_size: Rows per batch; None if elements are samples.
    """

    def __new__(cls, dataset: Any, *, sampler: Any = None, batch_sampler: Any = None, **options: Any) -> Any:
        """Make a loader; a plain DataLoader around the samples for the sampler of somebody else."""
        given = batch_sampler if batch_sampler is not None else sampler
        if _is_the_engines(given, batch_sampler is not None):
            return super().__new__(cls)
        samples = dataset if isinstance(dataset, Samples) else cls(dataset, **options).dataset
        rows = samples.numbering.rows
        made = collate if rows is not None else as_it_is
        if batch_sampler is not None:
            return DataLoader(samples, batch_sampler=batch_sampler, collate_fn=made)
        drop_last = samples.numbering.drop_last
        return DataLoader(samples, rows, sampler=sampler, drop_last=drop_last, collate_fn=made)

    def __init__(
        self,
        dataset: Any,
        *,
        device: Any = None,
        pin_memory: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        **_options: Any,
    ):
        """Make a loader of a Dataset; or, as trainers do, of the samples of one, with another sampler."""
        pipeline = dataset
        if isinstance(dataset, (Samples, Stream)):
            pipeline, device = dataset.pipeline, dataset.tensors.device
            pin_memory = dataset.tensors.pin_memory
        if type(sampler) is DistributedSampler:
            pipeline = _dealt(pipeline, sampler)
        super().__init__(pipeline, device=device, pin_memory=pin_memory)
        self._accelerated: Prepared | None = None
        self._epochs = Epochs(self)
        start = partial(quietly, make=partial(TensorLoader, device=self.device, pin_memory=self._pins))
        self._become_a_data_loader(start)

    def _become_a_data_loader(self, start: Any) -> None:
        numbering = numbering_of(self._node)
        rank, world = self.rank_and_world
        if numbering is None:
            stream = Stream(self.pipeline, start, self._tensors, self._epochs)
            made = collate if self.batch_size is not None else as_it_is
            drop_last = self.drop_last and self.batch_size is not None
            DataLoader.__init__(self, stream, self.batch_size, drop_last=drop_last, collate_fn=made)
            object.__setattr__(self, "sampler", StreamSampler(stream))
            return
        samples = Samples(self.pipeline, start, self._tensors, self._epochs)
        sampler = RankSampler(samples, rank, world) if self._node.sharded else EpochSampler(samples)
        DataLoader.__init__(
            self,
            samples,
            numbering.rows,
            sampler=sampler,
            pin_memory=self._pins and self.device.type == "cpu",  # what is on a device cannot be pinned
            drop_last=numbering.drop_last,
            collate_fn=collate if numbering.rows is not None else as_it_is,
        )
        if self.batch_sampler is not None:
            self.batch_sampler.set_epoch = sampler.set_epoch

    def __iter__(self) -> Any:
        iteration = super().__iter__()
        self._epochs.follow(self.epoch)
        return iteration if self._accelerated is None else self._accelerated.iterate(iteration)

    def __len__(self) -> int:
        # Not that of one epoch: trainers keep it, and would end a longer epoch before its last elements.
        return len(self.pipeline)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration; see `Loader.set_epoch`."""
        super().set_epoch(epoch)
        self._epochs.name(int(epoch), at_once=self._running() is None)

    def state_dict(self) -> State:
        """Return the position of the iteration as a dict that can be saved as JSON; see `Loader.state_dict`.

        It has the same keys at every position, as `torch.distributed.checkpoint` needs. Any loader of the same pipeline loads it.
        """
        return fixed_state(super().state_dict())

    def load_state_dict(self, state: State) -> None:
        """Let the next iteration continue from a state; see `Loader.load_state_dict`."""
        super().load_state_dict(state)
        self._epochs.follow(self.epoch)

    def report(self) -> Report:
        """Return the statistics so far, over all iterations; of the loader that a trainer built around `dataset`, if only that ran."""
        of_another: Report | None = self.dataset.report()
        return super().report() if self._last_begun or of_another is None else of_another

    @property
    def _is_accelerate_prepared(self) -> bool:
        """What accelerate asks before it divides the batches of a loader among ranks: a plan that shards has done so."""
        return self._node.sharded

    @_is_accelerate_prepared.setter
    def _is_accelerate_prepared(self, _: bool) -> None:
        self._accelerated = Prepared(self)

    @property
    def use_stateful_dataloader(self) -> bool:
        """Whether accelerate saves and loads the state in its checkpoints."""
        return self._accelerated is not None

    @property
    def end_of_dataloader(self) -> bool:
        """Whether the last batch was handed out: for accelerate, which prepares no loader that shards."""
        return self._accelerated is not None and self._accelerated.is_at_end

    @property
    def remainder(self) -> int:
        """How many samples of the last batches of all ranks are not padding, for accelerate; 0: all, -1: not known."""
        return -1 if self._accelerated is None else self._accelerated.remainder


def _is_the_engines(sampler: Any, of_batches: bool) -> bool:
    """Return whether the engine's order is that of a sampler."""
    if of_batches:
        return type(sampler) is BatchSampler and _is_the_engines(sampler.sampler, False)
    if type(sampler) is DistributedSampler:  # even if it shuffles: the plan says what is shuffled
        return isinstance(sampler.dataset, Samples) and not sampler.dataset.pipeline._node.sharded
    return (
        sampler is None
        or isinstance(sampler, StreamSampler | EpochSampler)
        or type(sampler) is SequentialSampler
    )


def _dealt(pipeline: Dataset, sampler: Any) -> Dataset:
    """Return a pipeline that deals its samples as a DistributedSampler would."""
    from ..sources import open_plan  # noqa: PLC0415 -- avoids an import cycle

    even: Literal["drop", "wrap"] = "drop" if sampler.drop_last else "wrap"
    if (numbering := numbering_of(pipeline._node)) is None or numbering.rows is None:
        return pipeline.shard(sampler.rank, sampler.num_replicas, even=even)
    plan = json.loads(pipeline.plan())
    node = plan["plan"]
    while node["verb"] != "batch":
        node = node["input"]
    shard = {"verb": "shard", "rank": sampler.rank, "world": sampler.num_replicas, "even": even}
    node["input"] = shard | {"at": "", "input": node["input"]}
    return open_plan(json.dumps(plan), pipeline.slots, pipeline._options)
