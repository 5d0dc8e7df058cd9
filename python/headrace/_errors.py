"""The exceptions of the package beside Python's own."""

from __future__ import annotations


class HeadraceError(RuntimeError):
    """What went wrong has no class of its own: a user's function failed (it is the cause), or a run was stopped."""


class CorruptSample(ValueError):  # noqa: N818 -- the name says what the sample is
    """The data of a sample is damaged. The message names the file, the operator, the reason and the user's line."""
