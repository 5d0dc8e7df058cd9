"""Python functions in a pipeline: from the engine's flat leaves to the user's function and back."""

from __future__ import annotations

import functools
import hashlib
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _core
from ._processes import Starter
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


def caller(function: Callable[..., Any], structure: str) -> Callable[[Leaves, tuple[int, int]], Any]:
    """Return the function over leaves and a key for its generator, which gives what it returned as it is."""
    pack = packer(structure, Fields)
    generator = wants_generator(function)

    def call(leaves: Leaves, key: tuple[int, int]) -> Any:
        sample = pack(leaves)
        if not generator:
            return function(sample)
        rekeyed = Rekeyed()
        rekeyed.rekey(*key)
        return function(sample, rng=rekeyed.generator)

    return functools.wraps(function, updated=())(call)


def code_version(slots: Mapping[str, Any]) -> str:
    """Return a text that changes with the code of the functions among what is bound to a plan."""
    digest = hashlib.sha256()
    known = False
    for slot, bound in sorted(slots.items()):
        code = getattr(getattr(bound, "func", bound), "__code__", None)
        if code is not None:
            known = True
            digest.update(slot.encode())
            _add_code(code, digest)
    return digest.hexdigest()[:32] if known else ""


def _add_code(code: types.CodeType, digest: Any) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _add_code(constant, digest)
        else:
            digest.update(repr(constant).encode())


def converter(result: str) -> Callable[[Any], Leaves]:
    """Return what makes leaves of a value that should nest as `result` says."""

    def convert(returned: Any) -> Leaves:
        names, values, nest = flatten(returned, is_function_leaf)
        if nest != result:
            raise ValueError(f"returned the structure {nest}, and {result} when the graph was built")
        return [to_leaf(value, name) for name, value in zip(names, values, strict=True)]

    return convert


class Rekeyed:
    """A generator that becomes that of another key, as if it were new: write `key`, then set `bits.state` to `state`."""

    def __init__(self) -> None:
        self.bits = np.random.Philox(key=np.zeros(2, np.uint64))
        self.state: Any = self.bits.state
        self.key = self.state["state"]["key"]
        self.generator = np.random.Generator(self.bits)

    def rekey(self, low: int, high: int) -> None:
        """Begin with the first draw of this key."""
        self.key[:] = low, high
        self.bits.state = self.state


def spec_of(leaf: Any) -> tuple[str, list[None]]:
    """Return the spec of a leaf: its dtype and rank. How long its dimensions are may differ from call to call."""
    if isinstance(leaf, (bytes, str)):
        return type(leaf).__name__, [None]
    return leaf.dtype.name, [None] * leaf.ndim


def make_function(
    function: Callable[..., Any], slot: str, structure: str, returned: object, *, processes: bool
) -> tuple[Any, list[str], str]:
    """Return the engine's function, and the names and structure of its outputs, from one value that it returned."""
    names, values, nest = flatten(returned, is_function_leaf)
    specs = [spec_of(to_leaf(value, name)) for name, value in zip(names, values, strict=True)]
    params = {
        "input": structure,
        "output": nest,
        "outputs": specs,
        "random": wants_generator(function),
        "python": "processes" if processes else "threads",
    }
    return bind_function(function, slot, params), names, nest


def bind_function(function: Callable[..., Any], slot: str, params: dict[str, Any]) -> Any:
    """Return the engine's function from what a plan says of it: what it takes and returns, and where it runs."""
    job = {key: params[key] for key in ("input", "output", "random")}
    processes = params.get("python") == "processes"
    return _core.make_function(
        slot,
        label_of(function),
        params["input"],
        params["output"],
        params["outputs"],
        params["random"],
        function,
        converter(params["output"]),
        Starter(slot.partition("_")[0], function, job) if processes else None,
    )
