"""What accelerate's `prepare()` adds to a loader, for one whose plan shards, which accelerate leaves as it is."""

from __future__ import annotations

import json
import warnings
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import _core
    from .torch import TorchLoader


class Prepared:
    """Tells accelerate about an iteration, and puts its batches on the device of this process.

    Attributes:
        is_at_end: Whether the last batch was handed out.
        remainder: How many samples of the last batches of all ranks are not padding; 0: all, -1: not known.
    """

    def __init__(self, loader: TorchLoader):
        self._loader = weakref.ref(loader)
        self.is_at_end = False
        self.remainder = -1

    def iterate(self, iteration: Any) -> Iterator[Any]:
        """Yield the elements of an iteration as accelerate's own loaders do."""
        from accelerate.state import (  # noqa: PLC0415 -- who prepared it has it
            GradientState,
            PartialState,
        )
        from accelerate.utils import (  # noqa: PLC0415
            send_to_device,
        )

        loader = self._loader()
        assert loader is not None  # it made the iteration
        self.is_at_end, self.remainder = False, real_rows(loader._node)
        left = _left(loader)
        state, device = GradientState(), PartialState().device
        state._add_dataloader(loader)
        try:
            for element in iteration:
                left -= 1
                self.is_at_end = left == 0
                yield send_to_device(element, device, non_blocking=True)
        finally:
            state._remove_dataloader(loader)


def _left(loader: TorchLoader) -> int:
    size = loader._node.size
    return -1 if size is None else size - int(loader._core.position)


def real_rows(node: _core.Node) -> int:
    """Return how many rows of the last batches of all ranks are no padding; 0: all, -1: this is not known.

    accelerate cuts what it gathered after that many: rank after rank, so padding must be at the end of it.
    """
    described = json.loads(node.plan(0))["plan"]
    while described["verb"] in {"map", "cache", "on_error"}:
        described, node = described["input"], node.inputs[0]
    if described["verb"] != "batch":
        return -1
    rows, drop_last = described["size"], described.get("drop_last")
    described, node = described["input"], node.inputs[0]
    mine = node.size
    while described["verb"] in {"map", "cache", "on_error"}:
        described, node = described["input"], node.inputs[0]
    if described["verb"] != "shard" or described.get("steps") is not None or mine is None or not node.inputs:
        return -1
    total, world = node.inputs[0].size, node.describe()["world"]
    if total is None:
        return -1
    last, padding = mine % rows or rows, mine * world - total
    if padding <= 0 or (drop_last and last < rows):
        return 0
    if padding > 1 and last > 1:
        warnings.warn(
            f"gather_for_metrics() counts {padding} samples twice: shard() pads the last batches of {padding} ranks, and accelerate "
            "removes padding of the last rank only. Leave shard() out: prepare() then divides the batches itself",
            RuntimeWarning,
            stacklevel=2,
        )
        return -1
    return int(last * world - padding)
