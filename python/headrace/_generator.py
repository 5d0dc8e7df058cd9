"""Iterables as sources: what `from_generator` gives the engine."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ._function import Leaves, is_function_leaf, label_of, to_leaf
from ._structure import flatten

_LEAVES = (int, float, bytes, str, np.generic, np.ndarray)


class ReplayWarning(UserWarning):
    """A resumed run passes over samples that it has handed out, since their generator cannot say where it stands."""


def opener(make: Any) -> Callable[[int], Iterable[Any]]:
    """Return what gives the iterable of an epoch.

    Raises:
        TypeError: it gives nothing to iterate over, or can be gone through once only.
    """
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
    return label_of(make) if inspect.isroutine(make) else type(make).__name__


class Pass:
    """Once through the samples. `next` gives the leaves of one, None at the end."""

    def __init__(self, iterable: Iterable[Any], structure: str, name: str):
        self._iterable, self._structure, self._name = iterable, structure, name
        self._iterator: Iterator[Any] | None = None
        nest = json.loads(structure)
        flat_dict = isinstance(nest, dict) and list(nest.values()) == list(range(len(nest)))
        # The names of a flat dict; none for a bare value; None for any other nest.
        self._flat: tuple[str, ...] | None = tuple(nest) if flat_dict else () if nest == 0 else None

    def next(self) -> Leaves | None:
        """Return the leaves of the next sample."""
        if self._iterator is None:
            self._iterator = iter(self._iterable)
        for value in self._iterator:
            if self._is_flat(value):
                fields = value if self._flat else {"value": value}
                return [to_leaf(leaf, name) for name, leaf in fields.items()]
            names, leaves, nest = flatten(value, is_function_leaf)
            if nest != self._structure:
                raise ValueError(f"a sample has the structure {nest}, and the first one {self._structure}")
            return [to_leaf(leaf, name) for name, leaf in zip(names, leaves, strict=True)]
        return None

    def _is_flat(self, value: Any) -> bool:
        """Whether its leaves lie at hand: flatten() finds them in any nest, and takes ten times as long."""
        if self._flat:
            return (
                type(value) is dict
                and tuple(value) == self._flat
                and all(isinstance(leaf, _LEAVES) for leaf in value.values())
            )
        return self._flat is not None and isinstance(value, _LEAVES)

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
        if self._iterator is None:
            self._iterator = iter(self._iterable)
        if self.tell() is None:
            warnings.warn(
                f"from_generator: passes over {samples} samples that were handed out before, since {self._name} has no "
                "state_dict() and load_state_dict() to say where it stands",
                ReplayWarning,
                stacklevel=2,
            )
