"""An order of the user's own for each epoch: a function of the epoch, or a sampler. For `reorder`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, cast

import numpy as np

from .. import _core
from .._errors import mismatch
from .._function import label_of

WEYL = 0x9E3779B97F4A7C15  # so that neighboring seeds and epochs have unlike sums


def epoch_order(order: Any, length: int, slot: str, seed: int) -> _core.EpochOrder:
    """Return what the engine asks for the positions of an epoch."""
    give: Callable[[int], Any] = order if callable(order) else lambda epoch: positions_of(order, epoch, seed)
    name = label_of(order) if callable(order) else type(order).__name__
    return _core.epoch_order(length, slot, seed, name, lambda epoch: _checked(give(epoch)).tobytes())


def length_of(order: Any, length: int | None, total: int) -> int:
    """Return the number of positions of every epoch.

    Raises:
        TypeError: it is neither a function nor a sampler, or a sampler without a length.
        ValueError: the length is another one than that of the sampler, or the sampler deals to ranks.
    """
    if callable(order):
        return total if length is None else length
    if isinstance(order, (Iterator, np.ndarray, list, tuple, range)) or not isinstance(order, Iterable):
        fixed = isinstance(order, (np.ndarray, list, tuple, range))
        raise mismatch(
            TypeError,
            "reorder",
            expected="a function from epoch to positions, or a sampler",
            got=type(order).__name__,
            hint="select() takes positions that are the same in every epoch" if fixed else "",
        )
    if not hasattr(order, "__len__"):
        raise mismatch(
            TypeError,
            "reorder",
            expected="a sampler with a length",
            got=f"{type(order).__name__} without len()",
        )
    own = len(cast("Sized", order))
    ranks = getattr(order, "num_replicas", 1)
    if isinstance(ranks, int) and ranks > 1:
        raise mismatch(
            ValueError,
            "reorder",
            expected="a sampler of the whole dataset",
            got=f"{type(order).__name__} of {ranks} ranks",
            hint="give it num_replicas=1, rank=0, and let shard() after it deal to the ranks",
        )
    if length is not None and length != own:
        raise mismatch(
            ValueError,
            "reorder",
            expected=f"{own} positions, the length of the sampler",
            got=f"length={length}",
        )
    return own


def positions_of(sampler: Any, epoch: int, seed: int) -> list[Any]:
    """Return what a sampler yields in an epoch, which for those of PyTorch depends on nothing but the epoch and seeds."""
    if hasattr(sampler, "set_epoch"):
        sampler.set_epoch(epoch)
        return list(sampler)
    torch = sys.modules.get("torch")
    if torch is None:
        return list(sampler)
    own = getattr(sampler, "generator", None)
    drawn = [(torch.default_generator, seed)]
    if isinstance(own, torch.Generator):
        drawn.append((own, own.initial_seed()))
    before = [generator.get_state() for generator, _ in drawn]
    try:
        for generator, from_seed in drawn:
            generator.manual_seed(_mixed(from_seed, epoch))
        return list(sampler)
    finally:
        for (generator, _), state in zip(drawn, before, strict=True):
            generator.set_state(state)


def _mixed(seed: int, epoch: int) -> int:
    return (seed * WEYL + epoch * 0xD1B54A32D192ED03) % (1 << 63)


def _checked(given: Any) -> np.ndarray[Any, Any]:
    if hasattr(given, "detach"):  # a tensor
        given = given.detach().cpu().numpy()
    array = np.asarray(
        given if hasattr(given, "__array__") or isinstance(given, (list, tuple, range)) else list(given)
    )
    if array.ndim != 1:
        hint = "; let batch() after reorder() make batches" if array.ndim == 2 else ""
        raise ValueError(f"expected positions in one dimension, got shape {array.shape}{hint}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"expected integers, got {array.dtype}")
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"expected positions, got {array.max()}")
    return np.ascontiguousarray(array, dtype=np.int64)
