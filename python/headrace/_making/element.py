"""The form of elements that Python code makes, and how each element becomes values of the engine.

One rule for `from_list`, `from_dataset`, `from_generator` and the Python functions of `map`: docs/concepts.md, "Elements made in Python".
The first element decides the form. What it leaves open, by an empty list or by a whole number where others may have a fraction, is
decided by a later one.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._errors import mismatch
from .._structure import differs, flatten, hiding_method, joined_path, names_in
from .times import advice

Leaves = list[Any]
Spec = tuple[str, list[int | None]]  # dtype and dimensions; None: any size

AHEAD = 100  # elements, at most, that are looked at to find what an empty list of the first one holds
AHEAD_OF_WHOLE = (
    10  # elements, at most, after one with whole numbers that are looked at to find a float in their place
)


def is_function_leaf(node: object) -> bool:
    """Whether it is a leaf: lists of Python numbers are arrays; other lists, tuples and mappings nest, as in a traced function."""
    return isinstance(node, list) and all(type(value) in {bool, int, float} for value in node)


def to_leaf(value: Any, name: str) -> Any:
    """Convert the value of field `name` to a type of the engine: bytes, str, or a C-contiguous array.

    A bfloat16 tensor of PyTorch stays a tensor where NumPy has no such dtype.
    """
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, str):
        return str.__str__(value)  # subclasses, such as NumPy's, become str
    if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"expected an array without a mask, got a masked array in field {name!r}; use .filled(…), or data and mask as two fields"
        )
    if _is_tensor(value):
        value = _of_tensor(value, name)
        if _is_tensor(value):
            return value
    array = _as_array(value, name)
    if isinstance(value, list):
        check_not_rounded(value, array, name)
    if array.dtype.kind in "SU" and array.ndim == 0:
        return array.item()
    is_number = array.dtype.kind in "biuf" and array.dtype.itemsize <= 8
    if not is_number and array.dtype.name != "bfloat16":
        raise TypeError(
            f"expected arrays of numbers or bool, bytes or str, got {_spelled(value, array)} in field {name!r}"
            + ("; from_list and from_generator replace None with defaults=" if value is None else "")
            + advice(array.dtype)
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def _as_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(
            f"expected an array in field {name!r}, got {type(value).__name__} of rows of different shapes; return values and row_splits as two fields, or pad the rows"
        ) from None
    if array.dtype.kind == "f" and isinstance(value, list) and value and _are_whole(value):
        return _as_uint64(value, name)
    return array


def _as_uint64(value: list[Any], name: str) -> np.ndarray[Any, Any]:
    """Convert whole numbers beyond int64, of which NumPy makes floats."""
    try:
        return np.asarray(value, np.uint64)
    except (OverflowError, ValueError):
        raise ValueError(
            f"expected whole numbers of int64 or of uint64 in field {name!r}, got {min(value)} and {max(value)}"
        ) from None


def check_not_rounded(values: Sequence[Any], array: np.ndarray[Any, Any], name: str) -> None:
    """Refuse whole numbers of Python that NumPy rounded in `array`, since floats are beside them.

    Raises:
        ValueError: there is one.
    """
    if array.dtype != np.float64 or not (np.abs(array) >= 2**53).any():
        return
    if (number := _rounded_in(values)) is not None:
        raise ValueError(
            f"field {name!r}: expected numbers that float64 holds exactly, because floats are beside them, got {number!r}; use str(x) "
            "to keep all digits, or float(x) to round it"
        )


def _rounded_in(values: Sequence[Any]) -> int | None:
    for item in values:
        if isinstance(item, (list, tuple)):
            if (number := _rounded_in(item)) is not None:
                return number
        elif type(item) is int and int(float(item)) != item:
            return item
    return None


def _are_whole(value: list[Any]) -> bool:
    return all(type(item) is int for item in value)


def _is_tensor(value: object) -> bool:
    return hasattr(value, "detach") and hasattr(value, "is_sparse") and hasattr(value, "numpy")


def _of_tensor(tensor: Any, name: str) -> Any:
    """Convert a tensor of PyTorch to an array, without its gradient; or return it if only the engine can read it."""
    tensor = tensor.detach()
    try:
        if str(tensor.dtype) != "torch.bfloat16":
            return np.asarray(tensor)
        tensor = tensor.contiguous()
        dtype: Any = _core.bf16_dtype()
        return tensor if dtype == np.uint16 else tensor.view(sys.modules["torch"].int16).numpy().view(dtype)
    except (TypeError, RuntimeError) as error:
        raise TypeError(
            f"expected arrays of numbers or bool, bytes or str, got a tensor of {tensor.dtype} in field {name!r} that NumPy cannot "
            f"read: {error}"
        ) from None


def _spelled(value: Any, array: np.ndarray[Any, Any]) -> str:
    if value is None:
        return "None"
    if hiding := hiding_method(value):
        return hiding
    if array.dtype.kind == "O" and any(item is None for item in array.flat):
        return f"{type(value).__name__} that contains None"
    return f"{type(value).__name__} ({array.dtype})"


def spec_of(leaf: Any) -> Spec:
    """Return the spec of a leaf: its dtype and rank. The sizes of dimensions may differ between calls."""
    if isinstance(leaf, (bytes, str)):
        return type(leaf).__name__, [None]
    return str(getattr(leaf.dtype, "name", leaf.dtype)).removeprefix("torch."), [None] * leaf.ndim


class Form:
    """Names, specs and nesting of the fields of elements."""

    def __init__(self, names: Sequence[str], specs: Sequence[Any], structure: str, first: str):
        self.names, self.structure = list(names), structure
        self.given_specs = specs  # unchecked: those of a plan may be anything until the engine has read them
        self._first = first  # what the form is of, for messages: "item 0"
        self.open: list[str] = []  # fields whose dtype no element decided

    @functools.cached_property
    def specs(self) -> list[Spec]:
        """Dtype and dimensions of each leaf."""
        return [(_core.dtype_name(dtype), list(shape)) for dtype, shape in self.given_specs]

    @functools.cached_property
    def _nest(self) -> Any:
        return json.loads(self.structure)

    def in_order(self, names: Sequence[str], structure: str) -> Form:
        """Return the same fields in another order."""
        specs = dict(zip(self.names, self.specs, strict=True))
        return Form(names, [specs[name] for name in names], structure, self._first)

    def leaves(self, element: Any, called: str) -> Leaves:
        """Return the leaves of an element, converted for the engine.

        Args:
            element: It may have its keys in another order, empty lists for arrays, and whole numbers of Python for any number that
                holds them.
            called: What to call it in messages: "item 7".

        Raises:
            ValueError: it nests differently; the message names the first place.
            TypeError: a value is not one of the engine.
        """
        out: Leaves = [None] * len(self.specs)
        if not self._put(self._nest, element, out):
            _, _, nest = flatten(element, is_function_leaf)
            hint = (
                "; a list of lists is a tuple, of one length in all elements: make an array of it, np.array(…).reshape(-1, n)"
                if _is_list_of_other_length(self._nest, element)
                else ""
            )
            raise ValueError(differs(called, json.loads(nest), self._first, self._nest) + hint)
        return out

    def _put(self, nest: Any, value: Any, out: Leaves) -> bool:
        """Put the leaves of a value into `out`; False if it nests differently."""
        if isinstance(nest, int):
            leaf = self._leaf(value, nest)
            out[nest] = leaf
            return leaf is not None
        value = as_mapping(value)
        if isinstance(nest, dict):
            if not isinstance(value, Mapping):
                return False
            given = {str(key): below for key, below in value.items()}
            return given.keys() == nest.keys() and all(
                self._put(below, given[key], out) for key, below in nest.items()
            )
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(nest)
            and (not nest or not is_function_leaf(value))
            and all(self._put(below, one, out) for below, one in zip(nest, value, strict=True))
        )

    def _leaf(self, value: Any, at: int) -> Any:
        name, (dtype, shape) = self.names[at], self.specs[at]
        if isinstance(value, list) and shape and dtype not in {"bytes", "str"}:
            return self._of_list(value, name, dtype, shape)
        if isinstance(as_mapping(value), (Mapping, tuple)) or (
            isinstance(value, list) and not is_function_leaf(value)
        ):
            return None
        if type(value) is int:
            return _held(to_leaf(value, name), dtype, name)
        self._check_float(value, name, dtype)
        return to_leaf(value, name)

    def _of_list(self, value: list[Any], name: str, dtype: str, shape: Sequence[int | None]) -> Any:
        """Convert a list to an array of this dtype and shape where it is one; None if it nests in another way."""
        if not value:
            if None in shape[1:]:
                raise ValueError(
                    f"field {name!r}: expected an array of {len(shape)} dimensions, got an empty list, which has one; use "
                    f"np.zeros((0, …), {dtype!r}) with the sizes of the other dimensions"
                )
            return np.zeros([0, *(dim or 0 for dim in shape[1:])], _numpy_dtype(dtype))
        _refuse_texts(value, name)
        if not is_function_leaf(value) and len(shape) == 1 and isinstance(value[0], (list, tuple, Mapping)):
            return None
        self._check_float(value, name, dtype)
        leaf = to_leaf(value, name)
        return _held(leaf, dtype, name) if leaf.dtype.kind in "iu" and _is_of_ints(value) else leaf

    def _check_float(self, value: Any, name: str, dtype: str) -> None:
        """Refuse a float of Python where whole numbers decided the dtype."""
        if dtype in {"int64", "uint64"} and _has_float(value):
            raise ValueError(
                f"field {name!r}: expected {dtype} as in {self._first}, got {value!r}; make all of them floats with float(x)"
            )


def _is_list_of_other_length(nest: Any, value: Any) -> bool:
    """Whether the first place where the value nests differently has a list where others have one of another length."""
    value = as_mapping(value)
    if isinstance(nest, dict) and isinstance(value, Mapping):
        return any(_is_list_of_other_length(below, value[key]) for key, below in nest.items() if key in value)
    if not isinstance(nest, list) or not isinstance(value, (list, tuple)):
        return False
    if len(nest) != len(value) or is_function_leaf(value):
        return isinstance(value, list)
    return any(map(_is_list_of_other_length, nest, value))


def _refuse_texts(value: list[Any], name: str) -> None:
    if kind := next((type(item).__name__ for item in value if isinstance(item, (str, bytes))), None):
        raise ValueError(
            f"expected a list of numbers in field {name!r}, got a list of {kind}; a list of {kind} that differs in length between "
            "elements is no field: join it into one, or pad it to one length"
        )


def _is_of_ints(value: Any) -> bool:
    return all(map(_is_of_ints, value)) if isinstance(value, list) else type(value) is int


def _held(array: np.ndarray[Any, Any], dtype: str, name: str) -> np.ndarray[Any, Any]:
    """Return whole numbers of Python in the dtype of their field, which must hold them exactly."""
    if dtype in {array.dtype.name, "bool", "bytes", "str"}:
        return array
    wanted = _numpy_dtype(dtype)
    numbers = array.reshape(-1).tolist()
    with np.errstate(all="ignore"):
        out = array.astype(wanted)
    try:
        is_exact = [int(number) for number in out.reshape(-1).tolist()] == numbers
    except OverflowError:  # inf
        is_exact = False
    if not is_exact:
        hint = "" if wanted.kind != "f" else "; use str(x) to keep all digits, or float(x) to round it"
        raise ValueError(
            f"field {name!r}: expected {dtype}, got {array.tolist()!r}, which it cannot hold exactly{hint}"
        )
    return out


def _numpy_dtype(name: str) -> np.dtype[Any]:
    dtype: np.dtype[Any] = _core.bf16_dtype() if name == "bfloat16" else np.dtype(name)  # type: ignore[assignment]
    return dtype


def as_mapping(node: Any) -> Any:
    """Return a dataclass as a dict of its fields, and anything else as it is."""
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return {field.name: getattr(node, field.name) for field in dataclasses.fields(node)}
    return node


def form_of(elements: Iterator[Any], first: str, known: Mapping[str, Spec] | None = None) -> Form:
    """Return the form of elements, from the first.

    Those after it are only asked for while it leaves a dtype open: by an empty list, at most `AHEAD` elements in all; by whole numbers
    of Python, which are float64 if a float follows within `AHEAD_OF_WHOLE`. What no element decides is float64, as of NumPy's
    `np.array([])`, and int64.

    Args:
        elements: At least one.
        first: What to call the first in messages.
        known: The specs of fields that are known otherwise, as from a plan, where no element decides.

    Raises:
        ValueError, TypeError: the first element has values that are none of the engine.
    """
    kept = [next(elements)]
    seen = _Seen(kept)
    last = AHEAD_OF_WHOLE
    for number, element in enumerate(_later(elements), 1) if seen.open or seen.whole else ():
        try:
            more = _Seen([*kept, element])
        except (ValueError, TypeError):
            more = seen  # the error is that of the element, when it is read
        if len(more.open) < len(seen.open):
            last = number + AHEAD_OF_WHOLE
        if len(more.open) < len(seen.open) or more.differs_in_dtypes(seen):
            kept.append(element)
            seen = more
        if number + 1 >= AHEAD or not (seen.open or (seen.whole and number < last)):
            break
    for at in seen.open:
        seen.specs[at] = (known or {}).get(seen.names[at], seen.specs[at])
    for at in seen.whole:
        dtype, shape = (known or {}).get(seen.names[at], seen.specs[at])
        if dtype == "float64" and len(shape) == len(seen.specs[at][1]):
            seen.specs[at] = dtype, shape
    return seen.form(first)


def _later(elements: Iterator[Any]) -> Iterator[Any]:
    """Yield elements up to one that fails: its error belongs to the run, not to a look ahead."""
    while True:
        try:
            element = next(elements)
        except Exception:  # noqa: BLE001 -- StopIteration, or what code of the user raises
            return
        yield element


def form_of_all(elements: Sequence[Any], called: str) -> Form:
    """Return the form of elements that are all known: numbers and lists are what holds all of them.

    Raises:
        ValueError: they nest differently; the message calls them "`called` 0", "`called` 1", ….
    """
    return _Seen(elements, called).form(f"{called} 0")


def alike(rows: Sequence[Any]) -> Leaves:
    """Return rows as arrays, lists among them by the same rule: empty ones, and those of whole numbers, take the dtype of the others."""
    leaves = [to_leaf(row, f"row {number}") for number, row in enumerate(rows)]
    full = [leaf for row, leaf in zip(rows, leaves, strict=True) if not isinstance(row, list) or leaf.size]
    if not all(getattr(leaf, "ndim", 0) for leaf in leaves):
        return leaves
    chosen = [row.dtype for row in rows if not isinstance(row, list)]
    found = chosen or [leaf.dtype for leaf in full if leaf.dtype.kind == "f"] or [leaf.dtype for leaf in full]
    if not found:
        return leaves
    spec: Spec = (found[0].name, [None, *full[0].shape[1:]])
    form = Form(["row"], [spec], "0", "the first one")
    for number, row in enumerate(rows):
        if isinstance(row, list) and _is_of_numbers(row):
            array = form._of_list(row, f"row {number}", *spec)
            leaves[number] = leaves[number] if array is None else array
    return leaves


def form_in_plan(structure: str, specs: Sequence[Any], first: str) -> Form:
    """Return the form that a plan describes without names."""
    return Form(names_in(json.loads(structure)), specs, structure, first)


def with_fields(verb: str, form: Form) -> Form:
    """Return the form, of elements of a source.

    Raises:
        ValueError: it has no fields: nothing would be read, and what later elements have would be lost.
    """
    if not form.names:
        raise mismatch(
            ValueError, verb, expected="elements with at least one field", got="none in the first one"
        )
    return form


class _Seen:
    """What some elements have in common, found place by place."""

    def __init__(self, elements: Sequence[Any], called: str = "element"):
        self.names: list[str] = []
        self.specs: list[Spec] = []
        self.open: list[int] = []  # leaves that only empty lists were seen of
        self.whole: list[int] = []  # leaves that only whole numbers of Python were seen of
        self._called = called
        self._nest = self._visit(elements, "")
        if self.names == [""]:
            self.names = ["value"]

    def form(self, first: str) -> Form:
        structure = json.dumps(self._nest, separators=(",", ":"), ensure_ascii=False)
        out = Form(self.names, self.specs, structure, first)
        out.open = [self.names[at] for at in self.open]
        return out

    def differs_in_dtypes(self, other: _Seen) -> bool:
        """Whether it nests as the other, but has other dtypes."""
        return self._nest == other._nest and [spec[0] for spec in self.specs] != [
            spec[0] for spec in other.specs
        ]

    def _visit(self, values: Sequence[Any], path: str) -> Any:
        values = [as_mapping(value) for value in values]
        first = values[0]
        if any(isinstance(value, list) and not value for value in values):
            return self._lists(values, path)
        if isinstance(first, Mapping):
            each = [self._keyed(value, values, path) for value in values]
            for number, keyed in enumerate(each):
                if keyed.keys() != each[0].keys():
                    raise self._unlike(values, number, path)
            return {
                key: self._visit([keyed[key] for keyed in each], joined_path(path, key)) for key in each[0]
            }
        if isinstance(first, (list, tuple)) and not is_function_leaf(first):
            for number, value in enumerate(values):
                if not isinstance(value, (list, tuple)) or is_function_leaf(value):
                    raise self._unlike(values, number, path)
                if len(value) != len(first):
                    if all(isinstance(one, list) for one in values):
                        return self._lists(values, path)
                    raise self._unlike(values, number, path)
            return [
                self._visit([value[at] for value in values], joined_path(path, str(at)))
                for at in range(len(first))
            ]
        for number, value in enumerate(values):
            if isinstance(value, (Mapping, tuple)) or (
                isinstance(value, list) and not is_function_leaf(value)
            ):
                raise self._unlike(values, number, path)
        spec = spec_of(to_leaf(first, path or "value"))
        if spec[0] in {"int64", "uint64"} and _is_of_numbers(first):
            return self._add_whole(path, values, spec)
        return self._add(path, spec)

    def _keyed(self, value: Any, values: Sequence[Any], path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self._unlike(values, next(i for i, one in enumerate(values) if one is value), path)
        return {str(key): below for key, below in value.items()}

    def _lists(self, values: Sequence[Any], path: str) -> Any:
        """Add a field of lists that differ in length: arrays of the same dtype and rank."""
        name = path or "value"
        specs: list[Spec] = []
        chosen: list[str] = []  # dtypes of arrays, which are not NumPy's choice for Python numbers
        for number, value in enumerate(values):
            if isinstance(value, list):
                _refuse_texts(value, name)
            elif not getattr(value, "ndim", 0):
                raise self._unlike(values, number, path)
            leaf = to_leaf(value, name)
            if not isinstance(value, list) or math.prod(leaf.shape):
                specs.append((spec_of(leaf)[0], [None, *leaf.shape[1:]]))
                chosen += [] if _is_of_numbers(value) else [specs[-1][0]]
        if not specs:
            self.open.append(len(self.names))
            return self._add(path, ("float64", [None]))
        dtype, shape = specs[0]
        if odd := [each for _, each in specs if len(each) != len(shape)]:
            raise ValueError(
                f"expected arrays or lists of one rank in field {name!r}, got rank {len(shape)} and rank {len(odd[0])}"
            )
        found = {each for each, _ in specs}
        if chosen:
            dtype = chosen[0]
        elif "float64" in found:
            dtype = "float64"
        elif found <= {"int64", "uint64"}:
            self.whole.append(len(self.names))
        dims = [
            sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*(s for _, s in specs), strict=True)
        ]
        return self._add(path, (dtype, dims))

    def _add(self, path: str, spec: Spec) -> int:
        self.names.append(path)
        self.specs.append(spec)
        return len(self.names) - 1

    def _add_whole(self, path: str, values: Sequence[Any], spec: Spec) -> int:
        """Add a field of whole numbers of Python, or lists of them: of the dtype of an array beside them, or float64 if a float is."""
        arrays = [value.dtype for value in values if isinstance(value, (np.ndarray, np.generic))]
        if any(map(_has_float, values)):
            spec = "float64", spec[1]
        elif chosen := next((dtype.name for dtype in arrays if dtype.kind in "iuf"), None):
            spec = chosen, spec[1]
        else:
            self.whole.append(len(self.names))
        return self._add(path, spec)

    def _unlike(self, values: Sequence[Any], number: int, path: str) -> ValueError:
        got, wanted = (json.loads(flatten(values[at], is_function_leaf)[2]) for at in (number, 0))
        called, first = f"{self._called} {number}", f"{self._called} 0"
        kinds = [type(values[at]).__name__ for at in (number, 0)]
        return ValueError(
            differs(called, got, first, wanted, path)
            or f"{called} has {kinds[0]} in {path or 'value'!r}, but {first} has {kinds[1]}"
        )


def _is_of_numbers(value: Any) -> bool:
    return all(map(_is_of_numbers, value)) if isinstance(value, list) else type(value) in {bool, int, float}


def _has_float(value: Any) -> bool:
    return any(type(item) is float for item in value) if isinstance(value, list) else type(value) is float
