"""The package's own exceptions."""

from __future__ import annotations

import errno
import os
from typing import Any


class HeadraceError(RuntimeError):
    """An error without a more specific class: a user's function raised (its exception is the cause), or a run was stopped."""


class CorruptSample(ValueError):  # noqa: N818 -- describes the sample
    """The data of a sample is damaged. The message has the file, the operator, the reason and the user's line."""


class _KnownFileError(OSError):
    """An OSError whose str() is only its message; Python would format one with a filename itself."""

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return os_error, (str(self), self.errno, self.filename)


_kinds: dict[type[OSError], type[OSError]] = {}


def os_error(message: str, number: int | None, path: str | None) -> OSError:
    """Return the OSError subclass of an errno, such as FileNotFoundError, with `errno` and `filename`."""
    if not number:
        return OSError(message)
    error = _of_kind(FileNotFoundError if number == errno.ENOTDIR else type(OSError(number, "")))(message)
    error.errno, error.strerror, error.filename = number, os.strerror(number), path or None
    return error


def _of_kind(kind: type[OSError]) -> type[OSError]:
    if kind not in _kinds:
        _kinds[kind] = type(kind.__name__, (_KnownFileError, kind), {"__module__": "builtins"})
    return _kinds[kind]
