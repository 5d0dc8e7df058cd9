"""Nesting of samples: converts dicts, tuples and bare leaves to flat lists and back.

A structure is the engine's compact JSON, with the ordinal of each leaf: `0`, `{"image":0,"label":1}`, `[0,1]`.
Lists and tuples become tuples, dataclasses and other mappings become `Fields`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from types import BuiltinMethodType
from typing import Any

from ._arguments import did_you_mean


class Fields(dict[str, Any]):
    """The fields of a sample: a dict whose items are also attributes."""

    def __missing__(self, name: object) -> Any:
        raise KeyError(self._without(name))

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(self._without(name))
        return self[name]

    def _without(self, name: object) -> str:
        if not isinstance(name, str):
            return f"the sample is a dict with the fields {', '.join(self) or 'none'}; expected one of these names, got {name!r}"
        made_by = {"id": "; with_ids() adds it", "valid": "; with_validity() adds it"}.get(name, "")
        known = f"it has {', '.join(self) or 'none'}"
        return f"the sample has no field {name!r}; {known}{made_by or did_you_mean(name, self)}"

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def hiding_method(value: object) -> str:
    """Return a description for a dict method that hides a field of the same name, as in `s.tags.values`; "" for anything else."""
    if not isinstance(value, BuiltinMethodType) or not isinstance(value.__self__, Fields):
        return ""
    name = value.__name__
    return (
        f"the dict method .{name}(), which hides the field; use [{name!r}]" if name in value.__self__ else ""
    )


def flatten(
    tree: object,
    is_leaf: Callable[[object], bool] | None = None,
    replaced: Callable[[object, str], object] | None = None,
) -> tuple[list[str], list[Any], str]:
    """Return the names, the leaves and the structure of a nested value. `replaced(node, path)` may replace nodes."""
    names: list[str] = []
    leaves: list[Any] = []

    def visit(node: object, path: str) -> object:
        if replaced is not None:
            node = replaced(node, path)
        if is_leaf is None or not is_leaf(node):
            if dataclasses.is_dataclass(node) and not isinstance(node, type):
                node = {field.name: getattr(node, field.name) for field in dataclasses.fields(node)}
            if isinstance(node, Mapping):
                return {str(key): visit(value, joined_path(path, str(key))) for key, value in node.items()}
            if isinstance(node, (list, tuple)):
                return [visit(value, joined_path(path, str(i))) for i, value in enumerate(node)]
        names.append(path)
        leaves.append(node)
        return len(leaves) - 1

    nest = visit(tree, "")
    if names == [""]:
        names = ["value"]
    return names, leaves, json.dumps(nest, separators=(",", ":"), ensure_ascii=False)


def packer(structure: str, mapping: type[dict[str, Any]] = dict) -> Callable[[list[Any]], Any]:
    """Return a function that nests a list of leaves according to `structure`."""
    nest = json.loads(structure)
    if isinstance(nest, int):
        return lambda leaves: leaves[nest]
    if isinstance(nest, dict) and list(nest.values()) == list(range(len(nest))):
        names = tuple(nest)
        if mapping is dict and len(names) in {
            1,
            2,
        }:  # a dict display takes a quarter of the time of dict(zip())
            one, other = names[0], names[-1]
            if len(names) == 1:
                return lambda leaves: {one: leaves[0]}
            return lambda leaves: {one: leaves[0], other: leaves[1]}
        return lambda leaves: mapping(zip(names, leaves, strict=True))

    def pack(node: Any, leaves: list[Any]) -> Any:
        if isinstance(node, dict):
            return mapping((key, pack(value, leaves)) for key, value in node.items())
        if isinstance(node, list):
            return tuple(pack(value, leaves) for value in node)
        return leaves[node]

    return lambda leaves: pack(nest, leaves)


def joined_path(path: str, name: str) -> str:
    """Return the name of a field below `path`.

    Raises:
        ValueError: it has half of a surrogate pair, which no file and no plan could hold.
    """
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"expected names of fields in whole characters, got {name!a} with half of a surrogate pair"
            ) from None
    return f"{path}/{name}" if path else name


def names_in(nest: Any, path: str = "") -> list[str]:
    """Return the names of the leaves of a structure (parsed), in order."""
    if isinstance(nest, int):
        return [path or "value"]
    items = nest.items() if isinstance(nest, dict) else enumerate(nest)
    return [name for key, below in items for name in names_in(below, joined_path(path, str(key)))]


def differs(called: str, got: Any, first: str, wanted: Any, path: str = "") -> str:
    """Say where one structure (parsed) is unlike another: "" if they are alike, but for the order of keys.

    Args:
        called: What has the structure `got`: "item 7".
        got: The structure that came.
        first: What has the structure `wanted`: "item 0".
        wanted: The structure that was expected.
        path: Where in the element they are.
    """
    if isinstance(got, int) and isinstance(wanted, int):
        return ""
    keys: list[Any] = []
    if isinstance(got, dict) and isinstance(wanted, dict) and got.keys() == wanted.keys():
        keys = list(wanted)
    elif isinstance(got, list) and isinstance(wanted, list) and len(got) == len(wanted):
        keys = list(range(len(wanted)))
    elif type(got) is not type(wanted) or len(got) != len(wanted) or isinstance(got, dict):
        at = f"in {path!r} " if path else ""
        text = f"{called} has {at}{_kind(got)}, but {first} has {_kind(wanted)}"
        if isinstance(got, dict) and isinstance(wanted, dict):
            lacks = [f"{key!r} is missing" for key in wanted if key not in got]
            text += ": " + ", ".join(lacks + [f"{key!r} is new" for key in got if key not in wanted])
        return text
    below = (differs(called, got[key], first, wanted[key], joined_path(path, str(key))) for key in keys)
    return next(filter(None, below), "")


def _kind(nest: Any) -> str:
    if isinstance(nest, int):
        return "one value"
    if isinstance(nest, dict):
        return f"the field{'' if len(nest) == 1 else 's'} {', '.join(nest)}" if nest else "no fields"
    return f"a tuple or list of {len(nest)}"
