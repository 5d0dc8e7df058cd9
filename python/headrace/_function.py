"""Python functions in a pipeline: from the engine's flat leaves to the user's function and back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._structure import Fields, flatten, packer

Leaves = list[Any]


def label_of(function: Callable[..., Any]) -> str:
    """Return a name for messages."""
    return str(getattr(function, "__qualname__", type(function).__name__)).replace("<locals>.", "")


def wants_generator(function: Callable[..., Any]) -> bool:
    """Whether the function has a parameter `rng`."""
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def to_leaf(value: Any, name: str) -> Any:
    """Turn what stands in field `name` into what the engine holds: bytes, str, or an array in C order."""
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, str):
        return str.__str__(value)  # of a subclass, as NumPy's, its text
    array = np.asarray(value)
    if array.dtype.kind in "SU" and array.ndim == 0:
        return array.item()
    is_number = array.dtype.kind in "biuf" and array.dtype.itemsize <= 8
    if not is_number and array.dtype.name != "bfloat16":
        raise TypeError(
            f"wants arrays of numbers or bool, bytes or str, got {_spelled(value, array)} in field {name!r}"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def _spelled(value: Any, array: np.ndarray[Any, Any]) -> str:
    if value is None:
        return "None"
    if array.dtype.kind == "O" and any(item is None for item in array.flat):
        return f"{type(value).__name__} with None in it"
    return f"{type(value).__name__} ({array.dtype})"


def is_function_leaf(node: object) -> bool:
    """Lists of Python's own numbers are arrays; other lists, tuples and mappings nest, as they do in a traced function."""
    return isinstance(node, list) and bool(node) and all(type(value) in {bool, int, float} for value in node)


def caller(function: Callable[..., Any], structure: str, result: str | None) -> Callable[[Leaves, Any], Any]:
    """Return the function over leaves; without `result`, what it returns is given as it is."""
    pack = packer(structure, Fields)
    generator = wants_generator(function)

    def call(leaves: Leaves, words: tuple[int, int, int, int] | None) -> Any:
        sample = pack(leaves)
        returned = function(sample, rng=_generator(words)) if generator else function(sample)
        if result is None:
            return returned
        names, values, nest = flatten(returned, is_function_leaf)
        if nest != result:
            raise ValueError(f"returned the structure {nest}, and {result} when the graph was built")
        return [to_leaf(value, name) for name, value in zip(names, values, strict=True)]

    return functools.wraps(function, updated=())(call)


def spec_of(leaf: Any) -> tuple[str, list[None]]:
    """Return the spec of a leaf: its dtype and rank. How long its dimensions are may differ from call to call."""
    if isinstance(leaf, (bytes, str)):
        return type(leaf).__name__, [None]
    return leaf.dtype.name, [None] * leaf.ndim


def make_function(
    function: Callable[..., Any], slot: str, structure: str, returned: object
) -> tuple[Any, list[str], str]:
    """Return the engine's function, and the names and structure of its outputs, from one value that it returned."""
    names, values, nest = flatten(returned, is_function_leaf)
    specs = [spec_of(to_leaf(value, name)) for name, value in zip(names, values, strict=True)]
    made = _core.make_function(
        slot,
        label_of(function),
        structure,
        nest,
        specs,
        wants_generator(function),
        caller(function, structure, nest),
    )
    return made, names, nest


def bind_function(function: Callable[..., Any], slot: str, params: dict[str, Any]) -> Any:
    """Return the engine's function for a loaded plan, which says what it takes and returns."""
    call = caller(function, params["input"], params["output"])
    return _core.make_function(
        slot, label_of(function), params["input"], params["output"], params["outputs"], params["random"], call
    )


def _generator(words: tuple[int, int, int, int] | None) -> np.random.Generator:
    a, b, c, d = words if words is not None else (0, 0, 0, 0)
    return np.random.Generator(np.random.Philox(key=np.array([a | b << 32, c | d << 32], dtype=np.uint64)))
