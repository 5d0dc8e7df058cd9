"""Iterables as sources, for `from_generator`."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ._function import Leaves, is_function_leaf, label_of, to_leaf
from ._structure import flatten


class ReplayWarning(UserWarning):
    """A resumed run skips samples that were already handed out by generating them again, since the generator has no state."""


class Filled:
    """An iterable or function for samples with optional fields, and the default values of these."""

    def __init__(self, make: Any, defaults: Mapping[str, Any]):
        self.make, self.defaults = make, dict(defaults)


def filled(verb: str, sample: Any, defaults: Mapping[str, Any]) -> Any:
    """Return the sample with defaults for fields that are missing or None.

    Raises:
        TypeError: it is not a dict.
    """
    if not isinstance(sample, Mapping):
        raise TypeError(f"{verb}: defaults= needs samples that are dicts, got {type(sample).__name__}")
    given = {name: value for name, value in sample.items() if value is not None or name not in defaults}
    return {**defaults, **given}


def opener(make: Any) -> Callable[[int], Iterable[Any]]:
    """Return a function from epoch to iterable.

    Raises:
        TypeError: it cannot be iterated over, or only once.
    """
    if isinstance(make, Filled):
        return opener(make.make)
    if isinstance(make, Iterator):
        raise TypeError(
            f"from_generator: expected an iterable that can be iterated over in every epoch, got {type(make).__name__}, "
            "which can only be used once; pass the function that creates it"
        )
    if isinstance(make, Iterable):
        return lambda epoch: make
    if not callable(make):
        raise TypeError(f"from_generator: expected a function or an iterable, got {make!r}")
    return (lambda epoch: make(epoch=epoch)) if _takes_epoch(make) else (lambda epoch: make())


def _takes_epoch(make: Callable[..., Any]) -> bool:
    try:
        return "epoch" in inspect.signature(make).parameters
    except (TypeError, ValueError):
        return False


def name_of(make: Any) -> str:
    """Return a name for messages."""
    if isinstance(make, Filled):
        return name_of(make.make)
    return label_of(make) if inspect.isroutine(make) else type(make).__name__


class Pass:
    """One pass over the samples."""

    def __init__(self, iterable: Iterable[Any], structure: str, name: str, defaults: Mapping[str, Any]):
        self._iterable, self._structure, self._name = iterable, structure, name
        self._defaults = defaults
        self._iterator: Iterator[Any] | None = None

    def iterator(self) -> Iterator[Any]:
        """Return the iterator over the samples, at its current position."""
        if self._iterator is None:
            self._iterator = iter(self._iterable)
        return self._iterator

    def leaves(self, value: Any) -> Leaves:
        """Return the leaves of a sample, converted for the engine; called for samples that it cannot read itself."""
        if self._defaults:
            value = filled("from_generator", value, self._defaults)
        names, leaves, nest = flatten(value, is_function_leaf)
        if nest != self._structure:
            raise ValueError(f"a sample has the structure {nest}, but the first one has {self._structure}")
        return [to_leaf(leaf, name) for name, leaf in zip(names, leaves, strict=True)]

    def tell(self) -> str | None:
        """Return the state of the iterator, or of the iterable, as JSON; None if neither has one."""
        for owner in (self._iterator, self._iterable):
            if owner is not None and hasattr(owner, "state_dict"):
                return json.dumps(owner.state_dict())
        return None

    def seek(self, place: str) -> None:
        """Go to the saved position of another pass."""
        state = json.loads(place)
        iterator = iter(self._iterable)
        if hasattr(iterator, "load_state_dict"):
            iterator.load_state_dict(state)
            self._iterator = iterator
        else:  # the iterable takes the state before its iterator is used
            self._iterable.load_state_dict(state)  # type: ignore[attr-defined]

    def will_replay(self, samples: int) -> None:
        """Warn that samples are generated again."""
        self.iterator()
        if self.tell() is None:
            warnings.warn(
                f"from_generator: generates {samples} samples again that were already handed out, since {self._name} has no "
                "state_dict() and load_state_dict() to resume from",
                ReplayWarning,
                stacklevel=2,
            )
