"""The package's own exceptions, and what is known of an error besides its message."""

from __future__ import annotations

import errno
import os
from typing import Any, TypeVar, cast

_Error = TypeVar("_Error", bound=BaseException)


class Facts:
    """What is known of an error besides its message; None where nothing is known.

    Every exception that the engine raises has these attributes, also a ValueError or an OSError.

    Attributes:
        format: Of the data, such as "webdataset".
        file: The path of the file.
        field: The field of the sample, or the column of the table.
        operator: The operator, verb or function.
        option: The argument of the call.
        expected: What was expected, as in the message.
        got: What came instead.
        place: In your code, such as "map at train.py:31".
        byte: In the file.
        record: The record, row, line or member in the file, from 0.
        sample: The index of the sample in the data set, from 0.
    """

    format: str | None = None
    file: str | None = None
    field: str | None = None
    operator: str | None = None
    option: str | None = None
    expected: str | None = None
    got: str | None = None
    place: str | None = None
    byte: int | None = None
    record: int | None = None
    sample: int | None = None


FACTS = tuple(Facts.__annotations__)


class HeadraceError(Facts, RuntimeError):
    """An error without a more specific class: a user's function raised (its exception is the cause), or a run was stopped.

    It has the attributes of an engine's error: `format`, `file`, `field`, `operator`, `option`, `expected`, `got`, `place`,
    `byte`, `record` and `sample`, each None where it is not known.
    """


class Stopped(HeadraceError):  # noqa: N818 -- describes the run
    """The run was stopped by another call; a loader's iteration says by which."""


class CorruptSample(Facts, ValueError):  # noqa: N818 -- describes the sample
    """The data of a sample is damaged. The message has the file, the operator, the reason and the user's line.

    It has the attributes of an engine's error: `format`, `file`, `field`, `operator`, `option`, `expected`, `got`, `place`,
    `byte`, `record` and `sample`, each None where it is not known.

    Example:
        >>> try:
        ...     batch = next(batches)
        ... except hr.CorruptSample as error:
        ...     print(error.file, error.sample, error.place)
    """


def set_facts(error: BaseException, facts: dict[str, Any]) -> None:
    """Make the facts attributes of an exception."""
    for name in FACTS:
        setattr(error, name, facts.get(name))


def facts_of(error: BaseException) -> dict[str, Any]:
    """Return the facts that are known of an exception."""
    known = {name: getattr(error, name, None) for name in FACTS}
    return {name: value for name, value in known.items() if value is not None}


def with_message(error: _Error, message: str) -> _Error:
    """Return the exception again with another message, and the same facts."""
    made: BaseException
    if isinstance(error, OSError) and error.errno:
        made = os_error(message, error.errno, error.filename)
    else:
        made = type(error)(message)
    if hasattr(error, "expected"):
        set_facts(made, facts_of(error))
    return cast("_Error", made)


def mismatch(
    kind: type[_Error], verb: str, *, expected: str, got: str, option: str | None = None, hint: str = ""
) -> _Error:
    """Return the error of a call that got something else than expected, with these facts.

    The message is "VERB: OPTION must be EXPECTED, got GOT", or "VERB: expected EXPECTED, got GOT", and "; HINT".
    """
    what = f"{option} must be {expected}" if option else f"expected {expected}"
    error = kind(f"{verb}: {what}, got {got}" + (f"; {hint}" if hint else ""))
    set_facts(error, {"operator": verb, "option": option, "expected": expected, "got": got})
    return error


class _KnownFileError(OSError):
    """An OSError whose str() is only its message; Python would format one with a filename itself."""

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (str(self), self.errno, self.filename, facts_of(self))


_kinds: dict[type[OSError], type[OSError]] = {}


def _unpickled(message: str, number: int, path: str | None, facts: dict[str, Any]) -> OSError:
    error = os_error(message, number, path)
    set_facts(error, facts)
    return error


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
