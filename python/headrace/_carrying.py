"""Verbs whose elements depend on those before them: take_while, scan, reduce, unique."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import names_checked
from ._function import leaves_of
from ._line import users_line
from ._mapping import Given, Where, elements_of, program
from ._structure import packer
from ._trace import Tracer
from ._verbs import Verbs, check_takes, field_of

if TYPE_CHECKING:
    from .dataset import Dataset


class CarryingVerbs(Verbs):
    """Their length is not known, but for `scan`, and random access ends."""

    @names_checked
    def take_while(self, function: Callable[..., Any], *, python: Where = False) -> Dataset:
        """Keep the elements before the first for which a function answers false (a bool scalar); traced like `map`."""
        made, bound, at = self._program("take_while", function, python)
        return self._then(_core.take_while(self._node, made, at), *bound)

    @names_checked
    def unique(
        self, key: str | Sequence[str] | Callable[..., Any] | None = None, *, python: Where = False
    ) -> Dataset:
        """Leave out the elements whose key is that of an earlier one of the epoch.

        Keys are the same when their bits are: 0.0 and -0.0 are two keys, and a NaN is equal to one of the same bits. All keys of an
        epoch are held in memory; a resumed run reads the epoch's elements again for them.

        Args:
            key: A field or several, or a function from element to key, traced like `map`; all fields when not given.
            python: Run the function as Python without trying to trace it.
        """
        made, bound, at = self._program("unique", _key_function(key), python)
        return self._then(_core.unique(self._node, made, at), *bound)

    @names_checked
    def scan(self, initial: Any, function: Callable[..., Any], *, python: bool = False) -> Dataset:
        """Carry a state from element to element.

        The function gets the state and the element, and returns the new state and the new element; traced like `map`. Elements
        come one after the other, so nothing of it runs in parallel. The length stays. A saved iteration holds the state as it is.

        Args:
            initial: The state at the beginning of each epoch: numbers, arrays, bytes, str, nested as the function wants it.
            function: From (state, element) to (state, element). The state keeps its structure, dtypes and ranks.
            python: Run the function as Python without trying to trace it.
        """
        return self._scanned("scan", initial, function, python=python)

    def _scanned(self, verb: str, initial: Any, function: Callable[..., Any], *, python: bool) -> Dataset:
        """Return what `scan` does for a verb, which messages name."""
        at, slot = users_line(), self._next_slot("scan")
        given, leaves, nest = _with_state(self._node, initial)
        stepped = of_pair(function)
        made, bound = program(given, verb, stepped, at, python, slot)
        names, structure = _new_element(made, nest)
        node = _core.scan(self._node, made, leaves, names, structure, at)
        return self._then(node, *((slot, function if thing is stepped else thing) for slot, thing in bound))

    @names_checked
    def reduce(self, initial: Any, function: Callable[..., Any], *, python: bool = False) -> Any:
        """Compute one value from all elements of epoch 0, here and now; never returns on an endless dataset.

        Args:
            initial: The state before the first element, and the result when there is none.
            function: From (state, element) to the new state; traced like `map`.
            python: Run the function as Python without trying to trace it.

        Returns:
            The last state, with NumPy arrays and scalars, bytes and str at the leaves.
        """
        if not callable(function):
            raise TypeError(f"reduce: wants a function, got {function!r}")
        check_takes("reduce", function, ("state", "element"))

        @functools.wraps(function)
        def step(state: Any, element: Any, **rng: Any) -> tuple[Any, Any]:
            new = function(state, element, **rng)
            return new, new

        _, leaves, nest = leaves_of(initial)
        result = packer(nest)(leaves)
        try:
            states = self._scanned("reduce", initial, step, python=python)
        except (TypeError, ValueError) as error:
            if not str(error).startswith("scan: "):
                raise
            raise type(error)("reduce: " + str(error).removeprefix("scan: ")) from error.__cause__
        for state in states:
            result = state
        return result


def _key_function(key: str | Sequence[str] | Callable[..., Any] | None) -> Callable[..., Any]:
    if key is None:
        return lambda element: element
    if isinstance(key, str):
        return lambda element: field_of(element, key)
    if callable(key):
        return key
    if isinstance(key, Sequence) and key and all(isinstance(name, str) for name in key):
        return lambda element: {name: field_of(element, name) for name in key}
    raise TypeError(f"unique: wants a field, a list of fields or a function, got {key!r}")


def of_pair(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as one of a single argument, as functions of elements are."""
    if not callable(function):
        raise TypeError(f"scan: wants a function, got {function!r}")
    check_takes("scan", function, ("state", "element"))

    @functools.wraps(function)
    def stepped(pair: Any, **rng: Any) -> Any:
        returned = function(pair[0], pair[1], **rng)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(f"scan: the function wants to return (state, element), got {returned!r}")
        return returned

    return stepped


def _shifted(nest: Any, by: int) -> Any:
    if isinstance(nest, dict):
        return {name: _shifted(below, by) for name, below in nest.items()}
    return [_shifted(below, by) for below in nest] if isinstance(nest, list) else nest + by


def _with_state(node: _core.Node, initial: Any) -> tuple[Given, list[Any], Any]:
    """Return what the function of a scan gets, the leaves of the state, and how they nest."""
    names, leaves, structure = leaves_of(initial)
    elements, nest = elements_of(node), json.loads(structure)
    both = json.dumps([nest, _shifted(json.loads(elements.structure), len(leaves))], separators=(",", ":"))

    def samples() -> Iterator[list[Any] | Exception]:
        for sample in elements.samples():
            yield sample if isinstance(sample, Exception) else [*leaves, *sample]

    given = Given(
        [*names, *elements.names],
        both,
        lambda at, slot: Tracer(slot, node, at, leaves),
        samples,
        lambda: [*leaves, *elements.zeros()],
    )
    return given, leaves, nest


def _new_element(made: _core.Program, state: Any) -> tuple[list[str], str]:
    """Return names and structure of the element that a scan's program makes beside the state."""
    described = json.loads(made.json())
    new_state, element = json.loads(described["structure"])
    if new_state != state:
        raise TypeError(
            f"scan: the state begins with the structure {json.dumps(state)}, and the function makes "
            f"{json.dumps(new_state)} of it"
        )
    count = len(described["names"]) - _leaf_count(element)
    names = [name.partition("/")[2] or "value" for name in described["names"][count:]]
    return names, json.dumps(_shifted(element, -count), separators=(",", ":"))


def _leaf_count(nest: Any) -> int:
    below = nest.values() if isinstance(nest, dict) else nest if isinstance(nest, list) else None
    return 1 if below is None else sum(map(_leaf_count, below))
