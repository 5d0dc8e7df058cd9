"""The base of all verbs; `Dataset` inherits from the classes of verbs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._c_function import as_c_function
from ._errors import mismatch
from ._function import label_of, wants_generator
from ._line import users_line
from ._mapping import Where, elements_of, program
from ._slots import Bound, names_of
from ._trace import Symbol

if TYPE_CHECKING:
    from .dataset import Dataset

_TRACED = ("map", "filter", "take_while", "unique", "scan", "bucket_by_length", "group_by_window")


def field_of(element: Any, name: str) -> Any:
    """Return a field by its name; for nested fields a path: "image/bytes", "0"."""
    if isinstance(element, Symbol) or not isinstance(element, (Mapping, tuple)):
        return element  # the only field
    for step in name.split("/"):
        element = element[int(step)] if isinstance(element, tuple) else element[step]
    return element


def _refusal(function: Callable[..., Any], count: int) -> str | None:
    """Return why the function cannot be called with this many arguments, plus `rng` if it has that parameter."""
    try:  # not the wrapped function: a wrapper may take one argument for a function of several
        own = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None
    try:
        own.bind(*[None] * count, **({"rng": None} if wants_generator(function) else {}))
    except TypeError as error:
        return str(error)
    return None


def check_takes(verb: str, function: Callable[..., Any], arguments: Sequence[str]) -> None:
    """Raise a TypeError that lists the arguments if the function cannot be called with them."""
    if error := _refusal(function, len(arguments)):
        names = " and ".join(f"the {name}" for name in arguments)
        raise TypeError(
            f"{verb}: {label_of(function)} is called with {len(arguments)} arguments, {names}: {error}"
        )


def _check_takes_one(verb: str, function: Callable[..., Any], structure: str) -> None:
    """Raise a TypeError with a hint how to unpack the element, if the function cannot be called with one argument."""
    if error := _refusal(function, 1):
        what, apart = {"[": (", a tuple", "*s"), "{": (", a dict", "**s")}.get(structure[0], ("", ""))
        hint = f"; write lambda s: f({apart})" if apart and "missing" in error else ""
        raise TypeError(
            f"{verb}: {label_of(function)} is called with one argument, the element{what}: {error}{hint}"
        )


class Verbs:
    """A node, and what it binds that a plan cannot contain."""

    _bound: Bound  # in the order of the plan's slots

    @property
    def _node(self) -> _core.Node:
        raise NotImplementedError

    def _then(self, node: _core.Node, *bound: tuple[str, Any], others: Sequence[Dataset] = ()) -> Dataset:
        """Return the dataset of a node over this dataset and others, with what it binds."""
        raise NotImplementedError

    def _next_slot(self, verb: str) -> str:
        """Return the slot of a Python function in saved plans."""
        return f"{verb}_{sum(name.rpartition('_')[0] in _TRACED for name in set(names_of(self._bound)))}"

    def _program(
        self,
        verb: str,
        function: Callable[..., Any],
        python: Where,
        num_parallel: int | None = None,
        pure: bool = False,
    ) -> tuple[_core.Program, Bound, str]:
        """Return the function as a program over the elements, what to bind in a saved plan, and the user's line."""
        if not callable(function):
            raise mismatch(TypeError, verb, expected="a function", got=f"{function!r}")
        if (native := as_c_function(function)) is not None:
            if python:
                raise ValueError(
                    f"{verb}: {native.name} is a C function, which runs without Python; leave out python="
                )
            function = native.of_element
        else:
            _check_takes_one(verb, function, self._node.schema[2])
        at, slot = users_line(), self._next_slot(verb)
        made, bound = program(
            elements_of(self._node, self._bound), verb, function, at, python, slot, num_parallel, pure
        )
        return made, bound, at
