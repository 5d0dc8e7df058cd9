"""Elements as plain JSON, the same from NumPy arrays of either side: {"dict": …}, {"tuple": …}, or a leaf.

A leaf is [dtype, shape, bytes in base64], of text ["bytes", shape, one text in base64 for each]; rows that differ in shape are {"rows": …}.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from .kinds import Leaf


def told(value: Any) -> Any:
    """An element as JSON. `str` is told as the bytes of its UTF-8."""
    if isinstance(value, Mapping):
        return {"dict": {name: told(part) for name, part in value.items()}}
    if isinstance(value, tuple):
        return {"tuple": [told(part) for part in value]}
    if isinstance(value, (bytes, str)):
        return ["bytes", [], [_text(value)]]
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        return ["bytes", list(value.shape), [_text(item) for item in value.ravel().tolist()]]
    if not isinstance(value, (np.ndarray, np.generic)):  # a list of rows, or of texts
        rows = list(value)
        if rows and all(isinstance(row, (bytes, str)) for row in rows):
            return ["bytes", [len(rows)], [_text(row) for row in rows]]
        return {"rows": [told(row) for row in rows]}
    array = np.ascontiguousarray(value).reshape(np.shape(value))
    return [array.dtype.name, list(array.shape), _bytes(array)]


def _bytes(array: Any) -> str:
    return base64.b64encode(array.tobytes()).decode()


def _text(value: bytes | str) -> str:
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()


def alike(value: Any, tree: Any, ragged: bool) -> Any:
    """What was told, less what is not meant to be the same (docs/differences-from-tf-data.md).

    NaNs have one sign, and numbers too small for their dtype's full precision are 0. bf16 is told as its bits, for NumPy has no such dtype. Texts in batches of batches are one list; all fields of ragged
    batches are rows, and those that are empty have no dimensions left.
    """
    if isinstance(tree, dict):
        return {"dict": {name: alike(value["dict"][name], part, ragged) for name, part in tree.items()}}
    if isinstance(tree, tuple):
        return {"tuple": [alike(told, part, ragged) for told, part in zip(value["tuple"], tree, strict=True)]}
    if isinstance(value, dict):
        rows = [alike(row, tree, False) for row in value["rows"]]
        return _gathered(rows) if tree.is_text and not ragged else {"rows": list(map(_empty_of_rank, rows))}
    value = _with_plain_floats(value, tree)
    return {"rows": list(map(_empty_of_rank, _rows(value)))} if ragged else value


def _empty_of_rank(row: Any) -> Any:
    """A row of a ragged batch; one without elements has lost its dimensions there."""
    return [row[0], [0] * len(row[1]), row[2]] if 0 in row[1] else row


def _with_plain_floats(value: Any, leaf: Leaf) -> Any:
    dtype, shape, held = value
    if leaf.dtype == "bfloat16" and dtype in {"bfloat16", "uint16"}:
        bits = np.frombuffer(base64.b64decode(held), "uint16")
        return ["bfloat16", shape, _bytes(np.where(bits & 0x7FFF > 0x7F80, np.uint16(0x7FC0), bits))]
    if dtype.startswith("float"):
        numbers = np.frombuffer(base64.b64decode(held), dtype)
        numbers = np.where(np.isnan(numbers), np.array(np.nan, dtype), numbers)
        if dtype != "float16":
            numbers = np.where(
                np.abs(numbers) < np.finfo(dtype).tiny, np.copysign(np.zeros((), dtype), numbers), numbers
            )
        return [dtype, shape, _bytes(numbers)]
    return value


def _rows(value: Any) -> list[Any]:
    dtype, shape, held = value
    if dtype == "bytes":
        return [[dtype, shape[1:], [text]] for text in held]
    rows = np.frombuffer(base64.b64decode(held), "uint16" if dtype == "bfloat16" else dtype).reshape(shape)
    return [[dtype, shape[1:], _bytes(row)] for row in rows]


def _gathered(rows: list[Any]) -> Any:
    """Rows of texts as one array of them, where they are of one shape."""
    if not rows or any(row[1] != rows[0][1] for row in rows):
        return {"rows": rows}
    return ["bytes", [len(rows), *rows[0][1]], [text for row in rows for text in row[2]]]


def has_uneven_texts(value: Any) -> bool:
    """Whether what was told has lists of texts that are not of one length."""
    if not isinstance(value, dict):
        return False
    ((kind, held),) = value.items()
    parts = list(held.values()) if kind == "dict" else held
    if kind == "rows" and all(isinstance(part, list) and part[0] == "bytes" for part in parts):
        return any(part[1] != parts[0][1] for part in parts)
    return any(map(has_uneven_texts, parts))


def shown(value: Any) -> str:
    """What was told, for a person to read."""
    if isinstance(value, dict) and "dict" in value:
        return "{" + ", ".join(f"{name!r}: {shown(part)}" for name, part in value["dict"].items()) + "}"
    if isinstance(value, dict):
        return "(" + ", ".join(map(shown, value.get("tuple", value.get("rows", [])))) + ")"
    dtype, shape, held = value
    if dtype == "bytes":
        return f"{[base64.b64decode(text) for text in held]} {shape}"
    as_numpy = "uint16" if dtype == "bfloat16" else dtype
    return f"{dtype} {np.frombuffer(base64.b64decode(held), as_numpy).reshape(shape).tolist()} {shape}"
