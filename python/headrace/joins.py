"""Datasets from several datasets: zipped, concatenated, mixed by weights or chosen one by one; and numbers alongside data."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _core
from ._arguments import did_you_mean, names_checked, text, whole_number
from ._errors import mismatch
from ._line import users_line
from ._structure import flatten
from ._verbs import field_of
from .dataset import Dataset, FieldSpec, nodes_to_join, warned

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Stop = Literal["first_exhausted", "all_exhausted", "cycle"]
Weights = Sequence[float]


def zip(*datasets: Any) -> Dataset:  # noqa: A001
    """Combine datasets element by element: element i consists of element i of each dataset, in its order in the epoch.

    The result is as long as the shortest dataset. It has random access if all datasets have. Random operators after it draw by the
    sample of the first dataset, whose id `with_ids` gives.

    Args:
        datasets: `zip(a, b)` gives tuples; `zip({"x": a, "y": (b, c)})` gives elements with this nesting.

    Raises:
        TypeError: an argument is not a dataset.
        ValueError: one of the datasets contains a shard; put it after zip.

    Example:
        hr.zip({"image": images, "mask": masks})
    """
    tree = datasets[0] if len(datasets) == 1 else datasets
    names, leaves, structure = flatten(tree, lambda node: isinstance(node, Dataset))
    for name, leaf in builtins.zip(names, leaves, strict=True):
        if not isinstance(leaf, Dataset):
            raise mismatch(TypeError, "zip", expected="datasets", got=f"{leaf!r} at {name!r}")
    if not leaves:
        raise ValueError("zip: expected at least one dataset")
    inputs: list[Dataset] = leaves
    nodes = [dataset._node for dataset in inputs]
    node = _core.verb("zip", nodes, {"structure": structure}, users_line())
    return inputs[0]._then(node, others=inputs[1:])


@names_checked
def concatenate(datasets: Iterable[Dataset], *, align_labels: bool = False) -> Dataset:
    """Concatenate datasets, each in its own order. The result has random access if all datasets have.

    Args:
        datasets: At least one, with the same fields.
        align_labels: Whether labels are mapped by name to one list of classes where the lists of the datasets differ: the classes of
            the first, then the others in the order in which they are found, as `metadata["classes"]` has them. Otherwise labels that
            mean different classes are an error.

    Raises:
        ValueError: fields, their units or their classes differ, or an infinite dataset comes before another.

    Example:
        hr.concatenate([train, extra])
    """
    inputs = _datasets("concatenate", datasets)
    node = warned(_core.verb("concatenate", nodes_to_join(inputs, align_labels), {}, users_line()))
    return inputs[0]._then(node, others=inputs[1:])


@names_checked
def mix(
    datasets: Iterable[Dataset],
    *,
    weights: Weights | Sequence[tuple[int, Weights]] | None = None,
    seed: int = 0,
    stop: Stop = "first_exhausted",
    align_labels: bool = False,
) -> Dataset:
    """Mix datasets with the same fields by weights, each in its own order.

    After p elements, each dataset has contributed p · (its normalised weight) elements, to within one element. Within that, the order is
    determined by the seed, so that all ranks of a shard and every batch get elements of all datasets; it is the same every epoch.
    The source of each position is computed arithmetically, so length and random access are kept, and states are not larger.

    Args:
        datasets: At least one.
        weights: One for each dataset, need not be normalised; equal weights when not given. Or a schedule:
            [(0, [3, 1]), (10_000, [1, 1])] changes the weights at element 10,000 of the epoch, counted over all ranks.
        seed: Determines the order.
        stop: "first_exhausted" ends when a dataset has no more elements. "all_exhausted" continues with the others, in the
            proportions of their weights, and yields every element once. "cycle" restarts datasets that end, each pass being a new
            epoch, until all have ended once. With `repeat()` in each branch, the mix is infinite.
        align_labels: Whether labels are mapped by name to one list of classes, see `concatenate`.

    Raises:
        ValueError: fields, their units or their classes differ, or weights are invalid.

    Example:
        hr.mix([english, code], weights=[0.8, 0.2], stop="cycle")
    """
    inputs = _datasets("mix", datasets)
    members = {
        "schedule": [{"from": at, "weights": each} for at, each in _schedule(weights, len(inputs))],
        "seed": whole_number("mix", "seed", seed),
        "stop": text("mix", "stop", stop),
    }
    node = warned(_core.verb("mix", nodes_to_join(inputs, align_labels), members, users_line()))
    return inputs[0]._then(node, others=inputs[1:])


@names_checked
def choose(
    datasets: Iterable[Dataset],
    choice: ArrayLike | Dataset,
    *,
    stop: Stop = "first_exhausted",
    align_labels: bool = False,
) -> Dataset:
    """Take each element from the dataset that a sequence of indices selects.

    Args:
        datasets: At least one, with the same fields.
        choice: Indices of datasets, one for each element: an integer array of shape (n,), or a dataset of integers, which is read
            immediately.
        stop: What to do if the chosen dataset has no more elements: "first_exhausted" ends, "all_exhausted" skips the index, "cycle"
            restarts the dataset.
        align_labels: Whether labels are mapped by name to one list of classes, see `concatenate`.

    Raises:
        TypeError: the choice is infinite, or not integers.
        ValueError: an index is out of range, or fields, their units or their classes differ.

    Example:
        hr.choose([a, b], [0, 0, 1])
    """
    inputs = _datasets("choose", datasets)
    if isinstance(choice, Dataset):
        if choice._node.endless:
            raise mismatch(
                TypeError, "choose", expected="a finite choice", got="an infinite dataset", hint="use take()"
            )
        choice = list(choice)
    array = np.asarray(choice)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
        raise mismatch(
            TypeError, "choose", expected="integers in one dimension", got=f"{array.dtype} {array.shape}"
        )
    numbers, bound = numbers_of("choices", array)
    nodes, members = [*nodes_to_join(inputs, align_labels), numbers], {"stop": text("choose", "stop", stop)}
    node = warned(_core.verb("choose", nodes, members, users_line()))
    return inputs[0]._then(node, bound, others=inputs[1:])


def beside(
    dataset: Dataset, verb: str, name: str, given: ArrayLike | str
) -> tuple[_core.Node, tuple[str, Any]]:
    """Return a node with one number per element of a dataset, from an array or a field, and what it binds."""
    values = values_beside(dataset, verb, name, given)
    if name == "weights" and values.dtype.kind not in "biuf":
        raise mismatch(TypeError, verb, expected="numbers", got=str(values.dtype), option="weights")
    return numbers_of(name, values)


def values_beside(dataset: Dataset, verb: str, name: str, given: ArrayLike | str) -> np.ndarray[Any, Any]:
    """Return one value per element of a dataset, from an array or a field, which is read once for all verbs on this dataset."""
    if isinstance(given, str):
        if given not in dataset._fields_read:
            dataset._fields_read[given] = _field(dataset, verb, given)
        return dataset._fields_read[given]
    values = np.asarray(given)
    if values.ndim != 1:
        raise mismatch(ValueError, verb, expected=f"{name} in one dimension", got=f"shape {values.shape}")
    return values


def _field(dataset: Dataset, verb: str, field: str) -> np.ndarray[Any, Any]:
    if dataset._node.sharded:
        raise ValueError(
            f"{verb}: needs the field of all elements, but there is a shard before it; put shard after it"
        )
    names, _, _ = dataset._node.schema
    if not any(name == field or name.startswith(f"{field}/") for name in names):
        raise KeyError(
            f"{verb}: no field {field!r}; there are {', '.join(names)}{did_you_mean(field, names)}"
        )
    values = dataset.map(lambda element: field_of(element, field))
    spec = values.schema
    if not isinstance(spec, FieldSpec) or len(spec.shape) > (spec.dtype in {"bytes", "str"}):
        raise mismatch(
            ValueError,
            verb,
            expected="one number or str per element",
            got=f"field {field!r} of {_described(values)}",
            hint="use map() to compute one",
        )
    return np.asarray([value for batch in values.batch(4096) for value in batch])


def _described(dataset: Dataset) -> str:
    names, specs, structure = dataset._node.schema
    if structure != "0":
        return f"several ({', '.join(names)})"
    dtype, shape = specs[0]
    return f"{dtype} ({', '.join('?' if dim is None else str(dim) for dim in shape)})"


def numbers_source(what: str, values: ArrayLike, slot: str) -> _core.Source:
    """Return keys, weights or choices as a source, from an argument of a verb or a binding of a plan."""
    array = np.asarray(values)
    if array.dtype.kind in "SU" and array.ndim == 1:
        column: Any = array.tolist()
    elif array.dtype.kind not in "biuf" and what == "keys":
        column = np.unique(array, return_inverse=True)[1]  # other dtypes are replaced by their ranks
    elif array.size == 0 or array.dtype.itemsize > 8:
        column = array.astype(np.int64 if what in {"choices", "indices"} else np.float64)
    else:
        column = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return _core.numbers_beside(_core.array_source(["value"], "0", [column], slot, {}), what)


def numbers_of(what: str, values: np.ndarray[Any, Any]) -> tuple[_core.Node, tuple[str, Any]]:
    """Return a node of numbers, and what it binds."""
    return _core.read(numbers_source(what, values, what), users_line()), (what, values)


def _datasets(verb: str, datasets: Iterable[Dataset]) -> list[Dataset]:
    if isinstance(datasets, (Dataset, Mapping)) or not isinstance(datasets, Iterable):
        raise mismatch(TypeError, verb, expected="a list of datasets", got=f"{type(datasets).__name__}")
    inputs = list(datasets)
    for dataset in inputs:
        if not isinstance(dataset, Dataset):
            raise mismatch(TypeError, verb, expected="a list of datasets", got=f"{dataset!r} in it")
    if not inputs:
        raise ValueError(f"{verb}: expected at least one dataset")
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
                f"mix: weights must be a list of numbers, or of (position, numbers), got {weights!r}"
            ) from None
    return [(0, _floats(steps))]


def _floats(weights: Any) -> list[float]:
    array = np.asarray(weights)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise mismatch(TypeError, "mix", expected="a list of numbers", got=f"{weights!r}", option="weights")
    return [float(weight) for weight in array]
