"""What the generated readers share: types of paths, the names of options, the call of `read`."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeVar, cast

from . import _core
from .dataset import Dataset
from .sources import read

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]

_Reader = TypeVar("_Reader", bound=Callable[..., Dataset])


def options_checked(reader: _Reader) -> _Reader:
    """Wrap a reader so that an unknown option gives an error with the known options and the closest one."""
    known = list(inspect.signature(reader).parameters)

    @functools.wraps(reader)
    def checked(*args: Any, **options: Any) -> Dataset:
        for name in options:
            if name not in known:
                raise TypeError(f"{reader.__name__}: {_core.no_option(name, known[1:])}")
        return reader(*args, **options)

    return cast(_Reader, checked)


def read_as(name: str, path: Paths, options: Mapping[str, Any]) -> Dataset:
    """Read a path in the format of that name; an option that is None has the format's default."""
    given = {option: _for_json(value) for option, value in options.items() if value is not None}
    return read(path, format=name, **given)


def _for_json(value: Any) -> Any:
    """Convert what JSON does not have: paths, and NaN and infinity in a dict of defaults, to strings."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not isinstance(value, Mapping):
        return value
    return {
        key: str(one) if isinstance(one, float) and not isfinite(one) else one for key, one in value.items()
    }
