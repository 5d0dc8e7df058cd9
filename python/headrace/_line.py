"""The user's line: where a verb was called in their program, for messages."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).parent) + os.sep


def users_line() -> str:
    """Return "train.py:31": the innermost frame outside this package, or "" if there is none."""
    frame, _ = _users_frame()
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else ""


def stacklevel() -> int:
    """Return the stacklevel for `warnings.warn` in the caller, so that it shows the user's line."""
    return _users_frame()[1]


def warn_of(notes: Sequence[str]) -> None:
    """Warn about data, at the user's line."""
    for note in notes:  # names of files and columns may not be UTF-8
        text = note.encode("utf-8", "backslashreplace").decode()
        warnings.warn(text, UserWarning, stacklevel=stacklevel())


def _users_frame() -> tuple[FrameType | None, int]:
    """Return the user's frame and its stacklevel, counted from the caller of the calling function, which is 1."""
    frame: FrameType | None = sys._getframe(2)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return frame, level
