"""Iterables as sources, for `from_generator`."""

from __future__ import annotations

import inspect
import itertools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._errors import mismatch
from .._function import label_of
from .element import Form, Leaves, form_of


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
        raise mismatch(
            TypeError,
            "from_generator",
            expected="an iterable that can be iterated over in every epoch",
            got=f"{type(make).__name__}, which can only be used once",
            hint="pass the function that creates it",
        )
    if isinstance(make, Iterable):
        return lambda epoch: make
    if not callable(make):
        raise mismatch(TypeError, "from_generator", expected="a function or an iterable", got=f"{make!r}")
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


def form_of_samples(make: Any) -> Form:
    """Return the form of the samples of an iterable, from those of epoch 0, and leave it as it was.

    Raises:
        ValueError: there is none.
    """
    with as_it_was(make):
        samples = iter(opener(make)(0))
        if isinstance(make, Filled):
            defaults = make.defaults
            samples = (filled("from_generator", sample, defaults) for sample in samples)
        for first in samples:
            return form_of(itertools.chain([first], samples), "the first one")
    raise ValueError("from_generator: expected at least one sample, to infer the fields; or pass signature=")


@contextmanager
def as_it_was(*made: Any) -> Iterator[None]:
    """Give iterables their state back at the end, if a look at their samples changed it.

    An iterator has its own position, but an iterable that is resumed by `load_state_dict()` may hold the only one.
    """
    before = [(owner, _state_of(owner)) for owner in map(_made_by, made) if _has_state(owner)]
    try:
        yield
    finally:
        for owner, state in before:
            if state is not None and _state_of(owner) != state:
                owner.load_state_dict(json.loads(state))


def _has_state(owner: Any) -> bool:
    return isinstance(owner, Iterable) and hasattr(owner, "state_dict") and hasattr(owner, "load_state_dict")


def _made_by(make: Any) -> Any:
    return make.make if isinstance(make, Filled) else make


def _state_of(owner: Any) -> str | None:
    """Return the state as JSON; None if it has none before it is used."""
    try:
        return json.dumps(owner.state_dict())
    except Exception:  # noqa: BLE001 -- a user's method, asked earlier than a run would
        return None


class Pass:
    """One pass over the samples."""

    def __init__(self, iterable: Iterable[Any], form: Form, name: str, defaults: Mapping[str, Any]):
        self._iterable, self._form, self._name = iterable, form, name
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
        return self._form.leaves(value, "a sample")

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
