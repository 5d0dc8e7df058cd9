"""The options of `Dataset.options`: checks and conversion for the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from . import _core
from ._arguments import byte_size, flag, whole_number
from ._errors import mismatch

_KNOBS = ("workers", "io", "ready")


def merged_options(before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options updated with the given ones that are not None.

    Raises:
        TypeError: a value has the wrong type.
        ValueError: a number is out of range, or a name is unknown.
    """
    merged = dict(before)
    for name, value in given.items():
        if value is None:
            continue
        if name == "rewrites":
            merged["rewrites_off"] = _rewrites_off(merged.get("rewrites_off", ()), value)
        else:
            merged[name] = _CHECKS[name](name, value)
    return merged


def _count(name: str, value: object) -> int:
    return whole_number("options", name, value, least=1)


def _workers(name: str, value: object) -> int:
    return whole_number("options", name, value)


def _retries(name: str, value: object) -> int:
    return whole_number("options", name, value, end=1024)


def _bytes(name: str, value: object) -> int:
    return byte_size("options", name, value)


def _path(name: str, value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise mismatch(TypeError, "options", expected="the path of a file", got=f"{value!r}", option=name)
    return str(os.fspath(value))


def _flag(name: str, value: object) -> bool:
    return flag("options", name, value)


def _tuning(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise mismatch(TypeError, "options", expected="'auto' or 'locked'", got=f"{value!r}", option=name)
    if value not in {"auto", "locked"}:
        raise mismatch(ValueError, "options", expected="'auto' or 'locked'", got=f"{value!r}", option=name)
    return value


def _cache(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise mismatch(TypeError, "options", expected="'auto'", got=f"{value!r}", option=name)
    if value != "auto":
        raise mismatch(ValueError, "options", expected="'auto'", got=f"{value!r}", option=name)
    return value


def _settings(name: str, value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise mismatch(
            TypeError,
            "options",
            expected="a dict such as the 'settings' of a report",
            got=f"{value!r}",
            option=name,
        )
    for key in value:
        if key not in _KNOBS:
            raise ValueError(f"options: {name}: unknown key {key!r}; there are {', '.join(_KNOBS)}")
    return {  # workers may be 0
        key: whole_number("options", f"settings[{key!r}]", number, least=int(key != "workers"))
        for key, number in value.items()
    }


def _rewrites_off(before: Any, value: object) -> set[str]:
    if isinstance(value, bool):
        return set() if value else {"all"}
    if not isinstance(value, Mapping):
        raise mismatch(
            TypeError,
            "options",
            expected="a bool, or a dict of name to bool",
            got=f"{value!r}",
            option="rewrites",
        )
    off = set(before)
    for name, on in value.items():
        (off.discard if flag("options", f"rewrites[{name!r}]", on) else off.add)(name)
    _core.check_rewrites(set(value))
    return off


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "seed": lambda name, value: whole_number("options", name, value),
    "workers": _workers,
    "io": _count,
    "ready": _count,
    "memory_budget": _bytes,
    "deterministic": _flag,
    "checkpoints": _flag,
    "map_files": _flag,
    "retries": _retries,
    "cache": _cache,
    "trace": _path,
    "tuning": _tuning,
    "settings": _settings,
}
