"""Verbs whose elements depend on those before them: take_while, scan, reduce, unique."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import names_checked
from ._errors import facts_of, mismatch, set_facts, with_message
from ._line import users_line
from ._making.element import Form, Leaves, form_of
from ._mapping import Given, Where, elements_of, program
from ._slots import Bound
from ._structure import differs, packer
from ._trace import Tracer
from ._verbs import Verbs, check_takes, field_of

if TYPE_CHECKING:
    from .dataset import Dataset


class CarryingVerbs(Verbs):
    """The results have no random access and, except for `scan`, no known length."""

    @names_checked
    def take_while(self, function: Callable[..., Any], *, python: Where = False) -> Dataset:
        """Keep the elements before the first one for which a function returns False.

        Args:
            function: From element to a bool scalar; traced like `map`.
            python: Run the function as Python without trying to trace it, as in `map`.

        Example:
            hr.range(10).take_while(lambda x: x < 4)  # 0, 1, 2, 3
        """
        made, bound, at = self._program("take_while", function, python)
        return self._then(_core.verb("take_while", [self._node], {}, at, made), *bound)

    @names_checked
    def unique(
        self, key: str | Sequence[str] | Callable[..., Any] | None = None, *, python: Where = False
    ) -> Dataset:
        """Drop the elements whose key equals that of an earlier element of the epoch.

        Keys are compared bitwise: 0.0 and -0.0 differ, and NaNs with the same bits are equal. All keys of an epoch are held in
        memory; a resumed run reads the epoch's elements again to collect them.

        Args:
            key: A field name, a list of them, or a function from element to key, traced like `map`; all fields when not given.
            python: Run the function as Python without trying to trace it, as in `map`.

        Example:
            ds.unique("url")
        """
        made, bound, at = self._program("unique", _key_function(key), python)
        return self._then(_core.verb("unique", [self._node], {}, at, made), *bound)

    @names_checked
    def scan(self, initial: Any, function: Callable[..., Any], *, python: bool = False) -> Dataset:
        """Map the elements with a function that carries a state from element to element.

        The function runs sequentially, not in parallel. The length stays the same. A saved iteration contains the state.

        Args:
            initial: The state at the beginning of each epoch: numbers, arrays, bytes and str, nested as the function expects.
            function: From (state, element) to (new state, new element); traced like `map`. The state keeps its structure, dtypes
                and ranks.
            python: Run the function as Python without trying to trace it.

        Example:
            hr.range(4).scan(0, lambda total, x: (total + x, total + x))  # 0, 1, 3, 6
        """
        return self._scanned("scan", initial, function, python=python)

    def _scanned(self, verb: str, initial: Any, function: Callable[..., Any], *, python: bool) -> Dataset:
        """Return the result of `scan` for a verb, which appears in messages."""
        at, slot = users_line(), self._next_slot("scan")
        given, leaves, nest = _with_state(self._node, self._bound, initial)
        stepped = of_pair(function)
        made, bound = program(given, verb, stepped, at, python, slot)
        names, structure = _new_element(verb, made, nest)
        node = _core.scan(self._node, made, leaves, names, structure, at)
        return self._then(node, *((slot, function if thing is stepped else thing) for slot, thing in bound))

    @names_checked
    def reduce(self, initial: Any, function: Callable[..., Any], *, python: bool = False) -> Any:
        """Compute one value from all elements of epoch 0, immediately; never returns for an infinite dataset.

        Args:
            initial: The state before the first element, and the result if there are no elements.
            function: From (state, element) to the new state; traced like `map`.
            python: Run the function as Python without trying to trace it.

        Returns:
            The last state, with NumPy arrays and scalars, bytes and str at the leaves.

        Example:
            hr.range(4).reduce(0, lambda total, x: total + x)  # 6
        """
        if not callable(function):
            raise mismatch(TypeError, "reduce", expected="a function", got=f"{function!r}")
        check_takes("reduce", function, ("state", "element"))

        @functools.wraps(function)
        def step(state: Any, element: Any, **rng: Any) -> tuple[Any, Any]:
            new = function(state, element, **rng)
            return new, new

        form, leaves = _form_and_leaves(initial)
        result = packer(form.structure)(leaves)
        try:
            states = self._scanned("reduce", initial, step, python=python)
        except (TypeError, ValueError) as error:
            if facts_of(error).get("operator") != "scan":
                raise
            again = with_message(error, "reduce: " + str(error).removeprefix("scan: "))
            set_facts(again, facts_of(error) | {"operator": "reduce"})
            raise again from error.__cause__
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
    raise mismatch(
        TypeError, "unique", expected="a field, a list of fields or a function", got=f"{key!r}", option="key"
    )


def of_pair(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a single argument, a pair, like functions of elements."""
    if not callable(function):
        raise mismatch(TypeError, "scan", expected="a function", got=f"{function!r}")
    check_takes("scan", function, ("state", "element"))

    @functools.wraps(function)
    def stepped(pair: Any, **rng: Any) -> Any:
        returned = function(pair[0], pair[1], **rng)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(f"scan: the function must return (state, element), got {returned!r}")
        return returned

    return stepped


def _form_and_leaves(initial: Any) -> tuple[Form, Leaves]:
    form = form_of(iter([initial]), "the initial state")
    return form, form.leaves(initial, "the initial state")


def _shifted(nest: Any, by: int) -> Any:
    if isinstance(nest, dict):
        return {name: _shifted(below, by) for name, below in nest.items()}
    return [_shifted(below, by) for below in nest] if isinstance(nest, list) else nest + by


def _with_state(node: _core.Node, bound: Bound, initial: Any) -> tuple[Given, list[Any], Any]:
    """Return the argument of the function of a scan, the leaves of the state, and their nesting."""
    form, leaves = _form_and_leaves(initial)
    elements, nest = elements_of(node, bound), json.loads(form.structure)
    both = json.dumps([nest, _shifted(json.loads(elements.structure), len(leaves))], separators=(",", ":"))

    def samples() -> Iterator[list[Any] | Exception]:
        for sample in elements.samples():
            yield sample if isinstance(sample, Exception) else [*leaves, *sample]

    given = Given(
        [*form.names, *elements.names],
        both,
        lambda at, slot: Tracer(slot, node, at, leaves, samples=samples),
        samples,
        lambda: [*leaves, *elements.zeros()],
    )
    return given, leaves, nest


def _new_element(verb: str, made: _core.Program, state: Any) -> tuple[list[str], str]:
    """Return names and structure of the element that a scan's program returns next to the state."""
    described = json.loads(made.json())
    new_state, element = json.loads(described["structure"])
    if new_state != state:
        raise TypeError(
            f"{verb}: "
            + (
                differs("the state that the function returns", new_state, "the initial one", state)
                or "the state that the function returns has its fields in another order than the initial one"
            )
        )
    count = len(described["names"]) - _leaf_count(element)
    names = [name.partition("/")[2] or "value" for name in described["names"][count:]]
    return names, json.dumps(_shifted(element, -count), separators=(",", ":"))


def _leaf_count(nest: Any) -> int:
    below = nest.values() if isinstance(nest, dict) else nest if isinstance(nest, list) else None
    return 1 if below is None else sum(map(_leaf_count, below))
