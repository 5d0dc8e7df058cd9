"""Tracing: a user's function, called once or twice with symbols, becomes a graph of operators.

A symbol represents a field or an operator's result. Operations that need real data (`bool`, `len`, iteration, NumPy) raise
`NeedsData`, and the function then runs as Python on every sample. So does using a dimension that differs between samples.
"""

from __future__ import annotations

import json
import math
import numbers
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import mismatch
from ._features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from ._structure import Fields, hiding_method, packer

DTypeLike: TypeAlias = "str | npt.DTypeLike"


class NeedsData(Exception):  # noqa: N818 -- caught by map, never shown
    """A traced function asked a symbol for something that only data has."""


def _asked_by_us() -> bool:
    """Whether the property that calls this was accessed by this package."""
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith("headrace.")


class Tracer(_core.Tracer):
    """A graph being traced, and the C functions that it calls."""

    def __init__(self, slot: str, *arguments: Any, samples: Callable[[], Iterator[Any]] | None = None):
        super().__init__(*arguments)
        self._slot = slot
        self._samples = samples
        self._functions: list[Any] = []

    def settled(self, name: str, params: dict[str, Any], value: int) -> dict[str, Any]:
        """Return the parameters of an operator with what the first sample has, where they ask for what the data have."""
        for leaves in self._samples() if self._samples else ():
            if isinstance(leaves, Exception):
                continue
            if value >= len(leaves):
                break
            try:
                settled: dict[str, Any] = _core.settled(name, params, leaf_of(leaves[value]))
            except (TypeError, ValueError, NotImplementedError):
                continue  # a damaged file decides nothing
            return settled
        raise NeedsData(f'it passed {name} dtype="unchanged", and there is no first image to take it from')

    def slot_of(self, function: Any) -> str:
        """Return the slot of a C function in saved plans: the map's slot, with a number from the second function on."""
        at = next((at for at, known in enumerate(self._functions) if known is function), None)
        if at is None:
            at = len(self._functions)
            self._functions.append(function)
        return self._slot if at == 0 else f"{self._slot}#{at + 1}"

    def bound(self, program: _core.Program) -> list[tuple[str, Any]]:
        """Return what to bind to each slot of a finished program, where some calls may have been dropped."""
        by_slot = {self.slot_of(function): function for function in self._functions}
        steps = json.loads(program.json())["steps"] if by_slot else []
        return [(self._slot, by_slot[step["params"]["slot"]]) for step in steps if "slot" in step["params"]]


class Symbol:
    """A value of a sample that is not known yet: a field, or an operator's result."""

    __slots__ = ("_tracer", "_value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tracer: Tracer, value: int):
        self._tracer = tracer
        self._value = value

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # `isinstance(x, np.ndarray)` would be False in tracing but True with data, so the wrong branch would be traced.
        if _asked_by_us():
            return Symbol
        raise NeedsData("it asked for the type of a field")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that a Python function gets: bfloat16 is `ml_dtypes.bfloat16`, or uint16 bits if that package is not installed; bytes and str are `np.dtype(bytes)` and `np.dtype(str)`."""
        return numpy_dtype(self._tracer.spec(self._value)[0])

    @property
    def shape(self) -> tuple[Any, ...]:
        """The dimensions: ints, or a placeholder for those that differ between samples."""
        return tuple(SymbolDimension() if dim is None else dim for dim in self._tracer.spec(self._value)[1])

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<symbol {self._tracer.spec(self._value)[0]} {self.shape}>"

    def __add__(self, other: Data) -> Any:
        return _arithmetic("add", "add", self, other)

    __radd__ = __add__

    def __mul__(self, other: Data) -> Any:
        return _arithmetic("multiply", "multiply", self, other)

    __rmul__ = __mul__

    def __sub__(self, other: Data) -> Any:
        return _arithmetic("subtract", "subtract", self, other)

    def __rsub__(self, other: Data) -> Any:
        return _arithmetic("subtract_from", "subtract", self, other)

    def __truediv__(self, other: Data) -> Any:
        return _arithmetic("divide", "divide", self, other)

    def __rtruediv__(self, other: Data) -> Any:
        return _arithmetic("divide_into", "divide", self, other)

    def __floordiv__(self, other: Data) -> Any:
        return _arithmetic("floor_divide", "floor_divide", self, other)

    def __rfloordiv__(self, other: Data) -> Any:
        return _arithmetic("floor_divide_into", "floor_divide", self, other)

    def __mod__(self, other: Data) -> Any:
        return _arithmetic("remainder", "remainder", self, other)

    def __rmod__(self, other: Data) -> Any:
        return _arithmetic("remainder_of", "remainder", self, other)

    def __abs__(self) -> Any:
        return apply("absolute", [self], {})[0]

    def __neg__(self) -> Any:
        dtype = self._tracer.spec(self._value)[0]
        if dtype.startswith("u"):
            raise ValueError(f"-: expected a signed dtype, got {dtype}; convert it with ops.cast")
        return apply("multiply", [self], {"value": -1})[0]

    def __lt__(self, other: Data) -> Any:
        return _arithmetic("less", "less", self, other)

    def __le__(self, other: Data) -> Any:
        return _arithmetic("less_equal", "less_equal", self, other)

    def __gt__(self, other: Data) -> Any:
        return _arithmetic("greater", "greater", self, other)

    def __ge__(self, other: Data) -> Any:
        return _arithmetic("greater_equal", "greater_equal", self, other)

    def __eq__(self, other: object) -> Any:
        return _arithmetic("equal", "equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _arithmetic("not_equal", "not_equal", self, other)

    def __and__(self, other: Data) -> Any:
        return apply("logical_and", [self, other], {})[0]

    def __or__(self, other: Data) -> Any:
        return apply("logical_or", [self, other], {})[0]

    def __invert__(self) -> Any:
        return apply("logical_not", [self], {})[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and not name.startswith("__array"):
            raise AttributeError(name)
        raise NeedsData(f"it used .{name} of a field")


def _needs_data(reason: str) -> Callable[..., Any]:
    def method(self: object, *_: object, **__: object) -> Any:
        raise NeedsData(reason)

    return method


_NOT_OF_SYMBOLS = {
    "__bool__": "the truth value",
    "__len__": "len()",
    "__iter__": "the items",
    "__getitem__": "an item",
    "__contains__": "the items",
    "__int__": "int()",
    "__float__": "float()",
    "__index__": "the number",
    "__complex__": "complex()",
    "__round__": "round()",
    "__bytes__": "the bytes",
    "__array__": "the array",
    "__pow__": "**",
    "__rpow__": "**",
    "__matmul__": "@",
    "__rmatmul__": "@",
    "__lshift__": "<<",
    "__rlshift__": "<<",
    "__rshift__": ">>",
    "__rrshift__": ">>",
    "__xor__": "^",
    "__rxor__": "^",
}
for _name, _what in _NOT_OF_SYMBOLS.items():
    setattr(Symbol, _name, _needs_data(f"it used {_what} of a field"))

_WHY_NO_DIMENSION = (
    "it used a dimension that differs between samples, which is known only at run time "
    "(ops.length(x) is the traced length of a vector)"
)


class SymbolDimension:
    """A dimension that differs between samples: using its value needs data."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        if _asked_by_us():
            return SymbolDimension
        raise NeedsData(_WHY_NO_DIMENSION)

    def __repr__(self) -> str:  # so that `print(x.shape)` shows the other dimensions
        return "?"

    def __getattr__(self, name: str) -> Any:
        raise NeedsData(_WHY_NO_DIMENSION)


_OF_TWO = "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split()
_OF_ONE = (
    "neg pos abs invert bool int float complex index round trunc floor ceil hash str format array".split()
)
for _name in [*"eq ne lt le gt ge".split(), *_OF_ONE, *_OF_TWO, *(f"r{_name}" for _name in _OF_TWO)]:
    setattr(SymbolDimension, f"__{_name}__", _needs_data(_WHY_NO_DIMENSION))


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the dtype that NumPy holds a field in; for bfloat16 that of ml_dtypes, or without it uint16, its bits."""
    dtype: np.dtype[Any] = _core.bf16_dtype() if name == "bfloat16" else np.dtype(name)  # type: ignore[assignment]
    return dtype


Data: TypeAlias = "Symbol | npt.ArrayLike | bytes | str | Any"


def apply(name: str, data: Sequence[Data], params: dict[str, Any]) -> list[Any]:
    """Apply an operator: symbols add it to the traced graph; arrays, bytes and str compute it eagerly."""
    if any(not isinstance(value, Symbol) and isinstance(value, Mapping) for value in data):
        raise mismatch(
            TypeError, name, expected="a field", got="the whole sample", hint="pass a field, such as s.image"
        )
    if hiding := next(filter(None, map(hiding_method, data)), None):
        raise mismatch(TypeError, name, expected="a field", got=str(hiding))
    fields = [value for value in data if isinstance(value, Symbol)]
    symbols = fields + [value for value in params.values() if isinstance(value, Symbol)]
    if not symbols:
        given, leaves = {key: plain(value) for key, value in params.items()}, list(map(leaf_of, data))
        if given.get("dtype") == "unchanged" and leaves:
            given = _core.settled(name, given, leaves[0])
        return _core.compute(name, given, leaves)
    tracer = symbols[0]._tracer
    if any(symbol._tracer is not tracer for symbol in symbols):
        raise NeedsData(f"it passed {name} a field of another map")
    if len(fields) < len(data):
        raise NeedsData(f"it passed {name} a constant array together with a field")
    bound = [(key, value._value) for key, value in params.items() if isinstance(value, Symbol)]
    constants = {key: plain(value) for key, value in params.items() if not isinstance(value, Symbol)}
    if constants.get("dtype") == "unchanged" and fields:
        constants = tracer.settled(name, constants, fields[0]._value)
    values = tracer.add(name, constants, [field._value for field in fields], bound)
    return [Symbol(tracer, value) for value in values]


def apply_named(name: str, data: Sequence[Data], params: dict[str, Any]) -> Any:
    """Apply an operator whose results have names, and nest them according to its parameters."""
    results = apply(name, data, params)
    return packer(_core.output_structure(name, plain(params)), Fields)(results)


def constant(tracer: Tracer, value: object) -> int | None:
    """Add a constant number or bool to the graph, with the dtype that NumPy gives it; None for anything else."""
    if not isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return None
    array = np.asarray(value)
    if array.ndim > 0 or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        return None
    number = array.item()
    fits = math.isfinite(number) if isinstance(number, float) else number < 2**63  # as in JSON
    if not fits:
        return None
    params = {"value": int(number) if array.dtype.kind == "b" else number, "dtype": array.dtype.name}
    return tracer.add("constant", params, [], [])[0]


def plain(value: Any) -> Any:
    """Convert a parameter to JSON types: NumPy scalars and arrays to numbers and lists, dtypes to names."""
    if type(value) is SymbolDimension:
        raise NeedsData(_WHY_NO_DIMENSION)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature)):
        return plain(value.params())
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return str(value).removeprefix("torch.")
    if type(value).__module__.startswith("tensorflow.") and type(value).__name__ == "DType":
        return "bytes" if value.name == "string" else value.name
    try:
        return np.dtype(value).name
    except TypeError:
        raise TypeError(f"expected a number, a str, a list of them or a dtype, got {value!r}") from None


def leaf_of(value: Any) -> Any:
    """Convert a value to an operand of operators: bytes, str, or a C-contiguous array."""
    return value if isinstance(value, (bytes, str)) else np.ascontiguousarray(value).reshape(np.shape(value))


def _arithmetic(with_number: str, of_two: str, x: Symbol, other: Any) -> Any:
    if isinstance(other, Symbol):
        return apply(f"{of_two}_fields", [x, other], {})[0]
    if type(other) is SymbolDimension:
        raise NeedsData(_WHY_NO_DIMENSION)
    if isinstance(other, np.ndarray) and other.ndim == 0:
        other = other.item()
    if isinstance(other, (bool, numbers.Integral)):
        return apply(with_number, [x], {"value": int(other)})[0]
    if isinstance(other, numbers.Real):
        return apply(with_number, [x], {"value": float(other)})[0]
    raise NeedsData(f"it used an operator between a field and {type(other).__name__}")
