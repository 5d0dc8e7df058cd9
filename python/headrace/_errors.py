"""The exceptions of the package beside Python's own."""

from __future__ import annotations

import errno
import os
from typing import Any


class HeadraceError(RuntimeError):
    """What went wrong has no class of its own: a user's function failed (it is the cause), or a run was stopped."""


class CorruptSample(ValueError):  # noqa: N818 -- the name says what the sample is
    """The data of a sample is damaged. The message names the file, the operator, the reason and the user's line."""


class _KnownFileError(OSError):
    """Says its message alone: of an OSError that knows its file Python makes words of its own."""

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return os_error, (str(self), self.errno, self.filename)


_kinds: dict[type[OSError], type[OSError]] = {}


def os_error(message: str, number: int | None, path: str | None) -> OSError:
    """Return the OSError of an errno: FileNotFoundError, PermissionError or which it is, with `errno` and `filename`."""
    if not number:
        return OSError(message)
    error = _of_kind(FileNotFoundError if number == errno.ENOTDIR else type(OSError(number, "")))(message)
    error.errno, error.strerror, error.filename = number, os.strerror(number), path or None
    return error


def _of_kind(kind: type[OSError]) -> type[OSError]:
    if kind not in _kinds:
        _kinds[kind] = type(kind.__name__, (_KnownFileError, kind), {"__module__": "builtins"})
    return _kinds[kind]
