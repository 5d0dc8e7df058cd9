"""Iterables as sources: what `from_generator` gives the engine."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ._function import Leaves, is_function_leaf, label_of, to_leaf
from ._structure import flatten


class ReplayWarning(UserWarning):
    """A resumed run passes over samples that it has handed out, since their generator cannot say where it stands."""


class Filled:
    """What makes samples, some of which lack fields, and what these are then."""

    def __init__(self, make: Any, defaults: Mapping[str, Any]):
        self.make, self.defaults = make, dict(defaults)


def filled(verb: str, sample: Any, defaults: Mapping[str, Any]) -> Any:
    """Return the sample with what it lacks, or has None for.

    Raises:
        TypeError: it is no dict, whose fields have names.
    """
    if not isinstance(sample, Mapping):
        raise TypeError(f"{verb}: defaults= is for samples that are dicts, got {type(sample).__name__}")
    given = {name: value for name, value in sample.items() if value is not None or name not in defaults}
    return {**defaults, **given}


def opener(make: Any) -> Callable[[int], Iterable[Any]]:
    """Return what gives the iterable of an epoch.

    Raises:
        TypeError: it gives nothing to iterate over, or can be gone through once only.
    """
    if isinstance(make, Filled):
        return opener(make.make)
    if isinstance(make, Iterator):
        raise TypeError(
            f"from_generator: wants what can be gone through in every epoch, got {type(make).__name__}, which ends for good; "
            "give the function that makes it"
        )
    if isinstance(make, Iterable):
        return lambda epoch: make
    if not callable(make):
        raise TypeError(f"from_generator: wants a function or an iterable, got {make!r}")
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
    """Once through the samples."""

    def __init__(self, iterable: Iterable[Any], structure: str, name: str, defaults: Mapping[str, Any]):
        self._iterable, self._structure, self._name = iterable, structure, name
        self._defaults = defaults
        self._iterator: Iterator[Any] | None = None

    def iterator(self) -> Iterator[Any]:
        """Return what gives the samples, from where the pass stands."""
        if self._iterator is None:
            self._iterator = iter(self._iterable)
        return self._iterator

    def leaves(self, value: Any) -> Leaves:
        """Return the leaves of a sample, as the engine holds them: asked for those that it does not know by their looks."""
        if self._defaults:
            value = filled("from_generator", value, self._defaults)
        names, leaves, nest = flatten(value, is_function_leaf)
        if nest != self._structure:
            raise ValueError(f"a sample has the structure {nest}, and the first one {self._structure}")
        return [to_leaf(leaf, name) for name, leaf in zip(names, leaves, strict=True)]

    def tell(self) -> str | None:
        """Return the state of the iterator, or of what it iterates over, as JSON; None when neither has one."""
        for owner in (self._iterator, self._iterable):
            if owner is not None and hasattr(owner, "state_dict"):
                return json.dumps(owner.state_dict())
        return None

    def seek(self, place: str) -> None:
        """Go where another pass has been."""
        state = json.loads(place)
        iterator = iter(self._iterable)
        if hasattr(iterator, "load_state_dict"):
            iterator.load_state_dict(state)
            self._iterator = iterator
        else:  # what is iterated over takes it before its iterator begins
            self._iterable.load_state_dict(state)  # type: ignore[attr-defined]

    def will_replay(self, samples: int) -> None:
        """Warn of work that is done again."""
        self.iterator()
        if self.tell() is None:
            warnings.warn(
                f"from_generator: passes over {samples} samples that were handed out before, since {self._name} has no "
                "state_dict() and load_state_dict() to say where it stands",
                ReplayWarning,
                stacklevel=2,
            )
