"""rejection_resample: a map that adds the classes, and a filter that draws."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import ops
from ._errors import mismatch
from ._mapping import Where

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .dataset import Dataset

_SEEN_BEFORE = (
    10  # initial count of each class, so that the first elements have little influence, as in tf.data
)


def resampled(
    dataset: Dataset,
    class_function: Callable[..., Any],
    target_dist: ArrayLike,
    initial_dist: ArrayLike | None,
    seed: int,
    python: Where,
) -> Dataset:
    """Return the result of `Dataset.rejection_resample`."""
    if not callable(class_function):
        raise mismatch(TypeError, "rejection_resample", expected="a function", got=f"{class_function!r}")
    target = np.asarray(target_dist, np.float64).tolist()

    @functools.wraps(class_function)
    def with_class(element: Any, **rng: Any) -> tuple[Any, Any]:
        return class_function(element, **rng), element

    pairs = dataset.map(with_class, python=python)
    if initial_dist is not None:
        initial = np.asarray(initial_dist, np.float64).tolist()
        return pairs.filter(lambda pair: ops.accept_class(pair[0], target=target, initial=initial, seed=seed))
    num_classes = np.size(target_dist)

    def step(counts: Any, pair: Any) -> tuple[Any, Any]:
        counts = counts + ops.one_hot(pair[0], depth=num_classes, dtype="i64")
        return counts, (pair, ops.accept_counted_class(pair[0], counts, target=target, seed=seed))

    counted = pairs.scan(np.full(num_classes, _SEEN_BEFORE, np.int64), step)
    return counted.filter(lambda both: both[1]).map(lambda both: both[0])
