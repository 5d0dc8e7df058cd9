"""What tf.data has no verb for, or means otherwise, in TensorFlow: the names that a pipeline's second text may use.

Each is a row of docs/differences-from-tf-data.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from ...model.order import permutation
from ...model.random import Key, SampleId

Dataset = tf.data.Dataset


def quick(dataset: Dataset) -> Dataset:
    """The same, for small data: no time spent on making it fast, and one thread."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    options.threading.private_threadpool_size = 1
    return dataset.with_options(options)


def listed(elements: list[Any]) -> Dataset:
    """A dataset of at least one element, whose shapes may differ."""
    datasets = [Dataset.from_tensors(element) for element in elements]
    return functools.reduce(Dataset.concatenate, datasets)


def reordered(dataset: Dataset, order: Callable[[list[Any]], Iterable[Any]]) -> Dataset:
    """The elements in another order."""
    elements = list(order(list(quick(dataset))))
    if not elements:
        return dataset.take(0)
    columns = list(zip(*map(tf.nest.flatten, elements), strict=True))
    if any(
        isinstance(row, tf.RaggedTensor) or row.shape != rows[0].shape for rows in columns for row in rows
    ):
        return listed(elements)
    stacked = [tf.stack(rows) for rows in columns]
    return Dataset.from_tensor_slices(tf.nest.pack_sequence_as(elements[0], stacked))


def shuffled(dataset: Dataset, seed: int, epoch: int) -> Dataset:
    """Headrace's global shuffle: the model's permutation of all elements."""

    def order(elements: list[Any]) -> Iterable[Any]:
        source = permutation(seed, epoch, len(elements))
        return (elements[source(i)] for i in range(len(elements)))

    return reordered(dataset, order)


def shuffled_in_window(dataset: Dataset, seed: int, window: int, epoch: int) -> Dataset:
    """Headrace's window shuffle: deliver a slot that is drawn, refill it; at the end the last slot moves in."""

    def order(elements: list[Any]) -> Iterable[Any]:
        slots, ahead = elements[:window], iter(elements[window:])
        emitted = 0
        while slots:
            slot = Key(seed, 0, SampleId(index=emitted, epoch=epoch)).below(0, len(slots))
            yield slots[slot]
            emitted += 1
            refill = next(ahead, None)
            if refill is None:
                refill = slots.pop()
                if slot == len(slots):
                    continue
            slots[slot] = refill

    return reordered(dataset, order)


def repeated(data: Callable[[int], Dataset], times: int, epoch: int) -> Dataset:
    """Headrace's repeat over something shuffled: each pass is an epoch with an order of its own."""
    whole = data(epoch * times)
    for number in range(1, times):
        whole = whole.concatenate(data(epoch * times + number))
    return whole


def dealt(dataset: Dataset, rank: int, world: int, even: str) -> Dataset:
    """Headrace's shard: all ranks take equally many steps, so the first elements come again, or the last are left out."""
    size = sum(1 for _ in quick(dataset))
    if even == "drop":
        dataset = dataset.take(size // world * world)
    elif size:
        dataset = dataset.concatenate(dataset.repeat().take(-size % world))
    return dataset.shard(world, rank)


def rows(*element: Any) -> Dataset:
    """The rows of an element; fields without any are repeated for each: what Headrace's unbatch makes of it."""
    nested = element[0] if len(element) == 1 else element
    flat = tf.nest.flatten(nested)
    count = next(tf.shape(leaf)[0] for leaf in flat if leaf.shape.rank)
    spread = [leaf if leaf.shape.rank else tf.gather([leaf], tf.zeros(count, tf.int32)) for leaf in flat]
    return Dataset.from_tensor_slices(tf.nest.pack_sequence_as(nested, spread))


def cast(x: tf.Tensor, dtype: str) -> tf.Tensor:
    """Headrace's cast: fractions are cut off, what does not fit becomes the nearest number that does, NaN 0."""
    to = tf.as_dtype(dtype)
    if not to.is_integer:
        return tf.cast(x, to)
    made = tf.numpy_function(lambda array: saturated(array, np.dtype(dtype)), [x], to)
    made.set_shape(x.shape)
    return made


def saturated(x: np.ndarray, to: np.dtype) -> np.ndarray:
    least, most = np.iinfo(to).min, np.iinfo(to).max
    x = np.asarray(x)
    if x.dtype.kind in "iu":
        known = np.iinfo(x.dtype)
        return np.clip(x, max(least, known.min), min(most, known.max)).astype(to)
    exact = np.nan_to_num(x.astype("float64"), nan=0.0, posinf=2.0**70, neginf=-(2.0**70))
    within = (exact > float(least)) & (exact < float(most))  # float(most) of 64 bits is most + 1
    return np.where(
        within, np.where(within, exact, 0).astype(to), np.where(exact > 0, most, least).astype(to)
    )


def zipped(dataset: Dataset, other: Dataset) -> Dataset:
    return Dataset.zip((dataset, other))


def chosen(dataset: Dataset, other: Dataset, choice: list[int], ends: bool) -> Dataset:
    """Its elements anew: theirs forgets their shapes, and concatenate then refuses it."""
    order = Dataset.from_tensor_slices(tf.constant(choice, tf.int64))
    made = list(quick(Dataset.choose_from_datasets([dataset, other], order, stop_on_empty_dataset=ends)))
    return listed(made) if made else dataset.take(0)


def interleaved(dataset: Dataset, others: list[Dataset], cycle: int, block: int) -> Dataset:
    """Their interleave makes datasets of elements: here of the numbers of those that are given."""
    numbered = [
        one.map(lambda *s, n=n: (tf.constant(n, tf.int64), s)) for n, one in enumerate([dataset, *others])
    ]
    whole = functools.reduce(Dataset.concatenate, numbered)

    def of_number(wanted: tf.Tensor) -> Dataset:
        mine = whole.filter(lambda n, s: n == wanted)
        return mine.map(lambda n, s: s if len(s) > 1 else s[0])

    return Dataset.range(len(numbered)).interleave(of_number, cycle_length=cycle, block_length=block)


def windows(dataset: Dataset, size: int, shift: int, stride: int, drop: bool) -> Dataset:
    """Windows as batches: theirs are datasets of elements, a dataset for each field."""
    for _ in quick(dataset):  # an error in an element that is in no window is one here, too
        pass
    made = []
    for one in quick(dataset.window(size, shift, stride, drop_remainder=drop)):
        whole = one if isinstance(one, Dataset) else Dataset.zip(one)
        made.append(next(iter(quick(whole.batch(size)))))
    return listed(made) if made else dataset.batch(size).take(0)


def ragged_buckets(
    length: Callable[..., tf.Tensor], boundaries: list[int], sizes: list[int], drop: bool
) -> Callable[[Dataset], Dataset]:
    """Buckets whose batches are ragged: without padding, theirs wants elements of one shape."""

    def bucket(*element: Any) -> tf.Tensor:
        return tf.reduce_sum(tf.cast(length(*element) >= tf.constant(boundaries, tf.int32), tf.int64))

    def size(key: tf.Tensor) -> tf.Tensor:
        return tf.gather(tf.constant(sizes, tf.int64), key)

    return lambda dataset: dataset.group_by_window(
        bucket, lambda key, one: one.ragged_batch(size(key), drop_remainder=drop), window_size_func=size
    )
