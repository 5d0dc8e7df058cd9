"""Columns that know nulls: those of pandas, polars and pyarrow, for `from_arrays`. What a null is read as is decided in the engine
(headrace/formats/nulls.h), as for files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._errors import mismatch
from .._structure import joined_path
from .times import times_of

LISTS = "; make a column of arrays of it with hr.ragged(…)"


@dataclass
class Nullable:
    """A column with nulls, or that could have some: which rows have a value, and the values of these."""

    name: str
    there: np.ndarray[Any, Any]
    values: Any  # an array, or a list of str or bytes

    @property
    def dtype(self) -> str:
        """The name of the engine's dtype."""
        return type(self.values[0]).__name__ if isinstance(self.values, list) else self.values.dtype.name

    def filled(self, rule: str) -> Any:
        """Return all rows, with what nulls are read as."""
        if rule == "error" and not self.there.all():
            row = int(np.argmin(self.there))
            is_float = not isinstance(self.values, list) and self.values.dtype.kind == "f"
            raise mismatch(
                ValueError,
                "from_arrays",
                expected=f"a value in row {row} of column {self.name!r}",
                got="null",
                hint=_core.null_is_read(is_float),
            )
        if isinstance(self.values, list):
            empty, values = type(self.values[0])(), iter(self.values)
            return [next(values) if there else empty for there in self.there]
        out = np.full(len(self.there), np.nan if rule == "nan" else 0, self.values.dtype)
        out[self.there] = self.values
        return out


def columns_of(node: Any) -> Any:
    """Return a data frame or a table of Arrow as a dict of its columns, and anything else as it is."""
    if isinstance(node, Mapping):
        return node
    if all(hasattr(node, word) for word in ("column_names", "column", "schema")):  # pyarrow
        columns, column = list(node.column_names), node.column
    elif all(hasattr(node, word) for word in ("columns", "dtypes", "to_numpy")):  # pandas, polars
        columns, column = list(node.columns), node.__getitem__
    else:
        return node
    if again := [name for name in columns if columns.count(name) > 1]:
        raise mismatch(
            ValueError, "from_arrays", expected="columns with different names", got=f"{again[0]!r} twice"
        )
    return {name: column(name) for name in columns}


def without_nulls(
    data: Any, nulls: Any, is_column: Callable[[object], bool], of_series: Callable[[Any, str], Any]
) -> tuple[Any, dict[str, str]]:
    """Return nested columns without nulls, and with their masks, as `nulls` says; and the types of columns of times, by name.

    Args:
        data: As for `from_arrays`.
        nulls: The option.
        is_column: Whether a list is a column.
        of_series: Returns a column of a data frame as an array or a list.

    Raises:
        ValueError: there are nulls, which are an error; or `nulls` is not understood.
        TypeError: values beside nulls are not supported.
    """
    found: dict[str, Nullable] = {}  # by name
    names: list[str] = []
    types: dict[str, str] = {}

    def look(node: Any, path: str) -> Any:
        node = columns_of(node)
        if isinstance(node, Mapping):
            return {key: look(below, joined_path(path, str(key))) for key, below in node.items()}
        if isinstance(node, (list, tuple)) and not is_column(node):
            items = [look(below, joined_path(path, str(at))) for at, below in enumerate(node)]
            return items if isinstance(node, list) else tuple(items)
        name = path or "value"
        names.append(name)
        if (times := times_of(node, name)) is not None:
            types[name] = times.type
            found[name] = Nullable(name, times.there, times.numbers[times.there])
            return found[name]
        there = present_in(node)
        if there is None or (there.all() and nulls == "error"):
            return node
        found[name] = Nullable(name, there, _values(node, there, name, of_series))
        return found[name]

    tree = look(data, "")
    specs: list[tuple[str, list[int]]] = [
        (found[name].dtype if name in found else "float64", []) for name in names
    ]
    rules = dict(zip(names, _core.null_rules(nulls, names, specs), strict=True))

    def fill(node: Any, *, is_named: bool) -> Any:
        if isinstance(node, Nullable):
            rule, mask = rules[node.name]
            if mask and not is_named:
                raise ValueError('from_arrays: nulls="mask" adds a field by name, so pass a dict of columns')
            return node.filled(rule)
        if isinstance(node, Mapping):
            out = {key: fill(below, is_named=True) for key, below in node.items()}
            for key, below in node.items():
                if isinstance(below, Nullable) and (mask := rules[below.name][1]):
                    out[f"{key}{mask.removeprefix(below.name)}"] = below.there
            return out
        if isinstance(node, (list, tuple)) and not is_column(node):
            items = [fill(below, is_named=False) for below in node]
            return items if isinstance(node, list) else tuple(items)
        return node

    return (fill(tree, is_named=False) if found else data), types


def present_in(column: Any) -> np.ndarray[Any, Any] | None:
    """Return which rows have a value; None for a column that cannot have nulls. NaN in a column of plain floats is a value."""
    if hasattr(column, "null_count") and hasattr(column, "is_null"):  # pyarrow, polars
        is_null = column.is_null()
        as_numpy = {"zero_copy_only": False} if hasattr(column, "type") else {}
        return ~np.asarray(is_null.to_numpy(**as_numpy), bool)
    if hasattr(column, "isna") and hasattr(column, "dtype") and not isinstance(column, np.ndarray):  # pandas
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufcmM":
            return None
        return ~np.asarray(column.isna(), bool)
    return None


def _values(column: Any, there: np.ndarray[Any, Any], name: str, of_series: Callable[[Any, str], Any]) -> Any:
    if hasattr(column, "drop_null"):
        values = _of_arrow(column.drop_null(), name)
    elif hasattr(column, "drop_nulls"):
        values = _of_polars(column.drop_nulls(), name)
    else:
        values = of_series(column[there], name)
    if not len(values) and (isinstance(values, list) or _is_of_objects(column)):
        raise TypeError(
            f"from_arrays: column {name!r} has only nulls, which do not tell its dtype; convert it with .astype(…), or leave it out"
        )
    return values


def _is_of_objects(column: Any) -> bool:
    return isinstance(getattr(column, "dtype", None), np.dtype) and column.dtype.kind == "O"


def _of_arrow(column: Any, name: str) -> Any:
    types = sys.modules["pyarrow"].types
    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    texts = (
        "is_string",
        "is_large_string",
        "is_string_view",
        "is_binary",
        "is_large_binary",
        "is_binary_view",
    )
    if any(getattr(types, text)(kind) for text in (*texts, "is_fixed_size_binary") if hasattr(types, text)):
        values = column.to_pylist()
        return values if values else _refuse(name, kind, "; it has only nulls: leave it out")
    hint = LISTS if "list" in str(kind) else "; convert it with .cast(…)"
    return _refuse(name, kind, hint)


def _of_polars(column: Any, name: str) -> Any:
    kind = str(column.dtype)
    if kind.startswith(("Int", "UInt", "Float", "Boolean")):
        return np.asarray(column.to_numpy())
    if kind.startswith(("String", "Utf8", "Binary", "Categorical", "Enum")):
        return column.to_list()
    return _refuse(name, kind, LISTS if kind.startswith(("List", "Array")) else "; convert it with .cast(…)")


def _refuse(name: str, kind: object, hint: str) -> Any:
    raise TypeError(f"from_arrays: column {name!r} has dtype {kind}, which is not supported{hint}")
