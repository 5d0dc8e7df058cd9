"""Datasets made of several: side by side, mixed by weights, chosen one by one. And the numbers that stand beside data."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _core
from ._arguments import did_you_mean, names_checked, text, whole_number
from ._line import users_line
from ._structure import flatten
from ._verbs import field_of
from .dataset import Dataset, FieldSpec

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Stop = Literal["first_exhausted", "all_exhausted", "cycle"]
Weights = Sequence[float]


def zip(*datasets: Any) -> Dataset:  # noqa: A001
    """Put elements of several datasets side by side: element i is element i of each, in the order of each at its epoch.

    It is as long as the shortest. With random access in all of them it has random access; else it is a stream.
    Random operators after it draw by the sample of the first dataset, whose id `with_ids` shows.

    Args:
        datasets: `zip(a, b)` makes tuples; `zip({"x": a, "y": (b, c)})` elements that nest so.

    Raises:
        TypeError: something else than a dataset stands there.
        ValueError: a shard stands in one of them; put it after zip.
    """
    tree = datasets[0] if len(datasets) == 1 else datasets
    names, leaves, structure = flatten(tree, lambda node: isinstance(node, Dataset))
    for name, leaf in builtins.zip(names, leaves, strict=True):
        if not isinstance(leaf, Dataset):
            raise TypeError(f"zip: wants datasets, got {leaf!r} at {name!r}")
    if not leaves:
        raise ValueError("zip: wants at least one dataset")
    inputs: list[Dataset] = leaves
    node = _core.zip([dataset._node for dataset in inputs], structure, 0, users_line())
    return inputs[0]._then(node, others=inputs[1:])


def concatenate(datasets: Iterable[Dataset]) -> Dataset:
    """One dataset after the other, each in its own order: with random access in all of them it has random access.

    Args:
        datasets: At least one, of the same fields.

    Raises:
        ValueError: fields differ, or an endless dataset stands before another.
    """
    inputs = _datasets("concatenate", datasets)
    node = _core.concatenate([dataset._node for dataset in inputs], users_line())
    return inputs[0]._then(node, others=inputs[1:])


@names_checked
def mix(
    datasets: Iterable[Dataset],
    *,
    weights: Weights | Sequence[tuple[int, Weights]] | None = None,
    seed: int = 0,
    stop: Stop = "first_exhausted",
) -> Dataset:
    """Mix datasets of the same fields by weights, each in its own order.

    After p elements every dataset has given p · its weight, to less than one element: at no place one is ahead or behind. Within
    that the order is drawn from the seed, so that a shard's ranks and every batch see all of them; it is the same every epoch.
    Which element stands where is arithmetic: exact length, random access, and a state as small as without it.

    Args:
        datasets: At least one.
        weights: One for each, in any unit; equal ones when not given. Or a schedule: [(0, [3, 1]), (10_000, [1, 1])] has other
            weights from element 10,000 of the epoch on, over all ranks.
        seed: Names the order.
        stop: "first_exhausted" ends where a dataset has no more. "all_exhausted" goes on with the others, in the proportions of
            their weights, and gives every element once. "cycle" begins again those that end, each pass an epoch of them,
            until all have ended once. Before `repeat()` in each branch nothing ends.

    Raises:
        ValueError: fields differ, or weights are none.
    """
    inputs = _datasets("mix", datasets)
    node = _core.mix(
        [dataset._node for dataset in inputs],
        _schedule(weights, len(inputs)),
        whole_number("mix", "seed", seed),
        text("mix", "stop", stop),
        users_line(),
    )
    return inputs[0]._then(node, others=inputs[1:])


@names_checked
def choose(
    datasets: Iterable[Dataset], choice: ArrayLike | Dataset, *, stop: Stop = "first_exhausted"
) -> Dataset:
    """Take the next element of the dataset that a list of numbers names.

    Args:
        datasets: At least one, of the same fields.
        choice: Ordinals of datasets, one for each element: an array, or a dataset of whole numbers, which is read at once.
        stop: What happens where a chosen dataset has no more: "first_exhausted" ends, "all_exhausted" passes over it, "cycle" begins it
            again.

    Raises:
        TypeError: the choice has no end, or holds other things than whole numbers.
        ValueError: it names a dataset that is not there.
    """
    inputs = _datasets("choose", datasets)
    if isinstance(choice, Dataset):
        if choice._node.endless:
            raise TypeError("choose: wants a choice that ends, got an endless dataset; take() some of it")
        choice = list(choice)
    array = np.asarray(choice)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
        raise TypeError(f"choose: wants whole numbers in one dimension, got {array.dtype} {array.shape}")
    numbers, bound = _numbers("choices", array)
    node = _core.choose(
        [*(dataset._node for dataset in inputs), numbers], text("choose", "stop", stop), users_line()
    )
    return inputs[0]._then(node, bound, others=inputs[1:])


def beside(
    dataset: Dataset, verb: str, name: str, given: ArrayLike | str
) -> tuple[_core.Node, tuple[str, Any]]:
    """Return a node of one number for each element of a dataset, and what it binds: numbers given, or a field's."""
    values = _field(dataset, verb, given) if isinstance(given, str) else np.asarray(given)
    if values.ndim != 1:
        raise ValueError(f"{verb}: wants {name} in one dimension, got a shape of {values.shape}")
    if name == "weights" and values.dtype.kind not in "biuf":
        raise TypeError(f"{verb}: wants weights that are numbers, got {values.dtype}")
    return _numbers(name, values)


def _field(dataset: Dataset, verb: str, field: str) -> np.ndarray[Any, Any]:
    if dataset._node.sharded:
        raise ValueError(f"{verb}: wants the field of all elements, got those of a shard; put shard after it")
    names, _, _ = dataset._node.schema
    if not any(name == field or name.startswith(f"{field}/") for name in names):
        raise KeyError(
            f"{verb}: no field {field!r}; there are {', '.join(names)}{did_you_mean(field, names)}"
        )
    values = dataset.map(lambda element: field_of(element, field))
    spec = values.schema
    if not isinstance(spec, FieldSpec) or len(spec.shape) > (spec.dtype in {"bytes", "str"}):
        raise ValueError(
            f"{verb}: wants one number or text of each element, got field {field!r} of {_described(values)}; "
            "map() can make one of it"
        )
    return np.asarray([value for batch in values.batch(4096) for value in batch])


def _described(dataset: Dataset) -> str:
    names, specs, structure = dataset._node.schema
    if structure != "0":
        return f"several ({', '.join(names)})"
    dtype, shape = specs[0]
    return f"{dtype} ({', '.join('?' if dim is None else str(dim) for dim in shape)})"


def numbers_source(what: str, values: ArrayLike, slot: str) -> _core.Source:
    """Return keys, weights or choices as the engine wants them, given as the verbs take them or bound to a plan."""
    array = np.asarray(values)
    if array.dtype.kind in "SU" and array.ndim == 1:
        column: Any = array.tolist()
    elif array.dtype.kind not in "biuf" and what == "keys":
        column = np.unique(array, return_inverse=True)[1]  # what has no dtype of ours sorts as its ranks do
    elif array.size == 0 or array.dtype.itemsize > 8:
        column = array.astype(np.int64 if what == "choices" else np.float64)
    else:
        column = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return _core.numbers_beside(_core.array_source(["value"], "0", [column], slot), what)


def _numbers(what: str, values: np.ndarray[Any, Any]) -> tuple[_core.Node, tuple[str, Any]]:
    return _core.read(numbers_source(what, values, what), users_line()), (what, values)


def _datasets(verb: str, datasets: Iterable[Dataset]) -> list[Dataset]:
    if isinstance(datasets, (Dataset, Mapping)) or not isinstance(datasets, Iterable):
        raise TypeError(f"{verb}: wants a list of datasets, got {type(datasets).__name__}")
    inputs = list(datasets)
    for dataset in inputs:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"{verb}: wants a list of datasets, got {dataset!r} in it")
    if not inputs:
        raise ValueError(f"{verb}: wants at least one dataset")
    return inputs


def _schedule(
    weights: Weights | Sequence[tuple[int, Weights]] | None, count: int
) -> list[tuple[int, list[float]]]:
    if weights is None:
        return [(0, [1.0] * count)]
    steps: list[Any] = list(weights)
    if any(isinstance(step, (list, tuple)) for step in steps):
        try:
            return [(whole_number("mix", "weights", start), _floats(step)) for start, step in steps]
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"mix: weights wants a list of numbers, or of (position, numbers), got {weights!r}"
            ) from None
    return [(0, _floats(steps))]


def _floats(weights: Any) -> list[float]:
    array = np.asarray(weights)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise TypeError(f"mix: weights wants a list of numbers, got {weights!r}")
    return [float(weight) for weight in array]
