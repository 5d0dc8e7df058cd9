"""What all verbs stand on; `Dataset` is the sum of the classes of verbs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._c_function import as_c_function
from ._function import label_of, wants_generator
from ._line import users_line
from ._mapping import Where, elements_of, program
from ._slots import Bound, names_of
from ._trace import Symbol

if TYPE_CHECKING:
    from .dataset import Dataset

_TRACED = ("map", "filter", "take_while", "unique", "scan", "bucket_by_length", "group_by_window")


def field_of(element: Any, name: str) -> Any:
    """Return a field by its name, which of nested ones is a path: "image/bytes", "0"."""
    if isinstance(element, Symbol) or not isinstance(element, (Mapping, tuple)):
        return element  # the only one
    for step in name.split("/"):
        element = element[int(step)] if isinstance(element, tuple) else element[step]
    return element


def _refusal(function: Callable[..., Any], count: int) -> str | None:
    """Return why the function cannot be called with this many arguments, and its generator when it wants one."""
    try:  # not what a wrapper wraps: it may take one argument for a function of several
        own = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None
    try:
        own.bind(*[None] * count, **({"rng": None} if wants_generator(function) else {}))
    except TypeError as error:
        return str(error)
    return None


def check_takes(verb: str, function: Callable[..., Any], arguments: Sequence[str]) -> None:
    """Raise a TypeError that names what the function gets when it cannot be called with these arguments."""
    if error := _refusal(function, len(arguments)):
        names = " and ".join(f"the {name}" for name in arguments)
        raise TypeError(f"{verb}: {label_of(function)} gets {len(arguments)} arguments, {names}: {error}")


def _check_takes_one(verb: str, function: Callable[..., Any], structure: str) -> None:
    """Raise a TypeError that says how to take an element apart, when the function cannot be called with one argument."""
    if error := _refusal(function, 1):
        what, apart = {"[": (", a tuple", "*s"), "{": (", a dict", "**s")}.get(structure[0], ("", ""))
        hint = f"; write lambda s: f({apart})" if apart and "missing" in error else ""
        raise TypeError(f"{verb}: {label_of(function)} gets one argument, the element{what}: {error}{hint}")


class Verbs:
    """A node, and what a plan cannot hold of it."""

    _node: _core.Node
    _bound: Bound  # by the plan's places, from the first on

    def _then(self, node: _core.Node, *bound: tuple[str, Any], others: Sequence[Dataset] = ()) -> Dataset:
        """Return a dataset of the node over this one and the others, which binds more."""
        raise NotImplementedError

    def _next_slot(self, verb: str) -> str:
        """Return the name of a Python function in saved plans."""
        return f"{verb}_{sum(name.rpartition('_')[0] in _TRACED for name in set(names_of(self._bound)))}"

    def _program(
        self,
        verb: str,
        function: Callable[..., Any],
        python: Where,
        num_parallel: int | None = None,
        pure: bool = False,
    ) -> tuple[_core.Program, Bound, str]:
        """Return the function as a program over the elements, what to bind in a saved plan, the user's line."""
        if not callable(function):
            raise TypeError(f"{verb}: wants a function, got {function!r}")
        if (native := as_c_function(function)) is not None:
            if python:
                raise ValueError(
                    f"{verb}: {native.name} is a C function, which runs without Python; leave out python="
                )
            function = native.of_element
        else:
            _check_takes_one(verb, function, self._node.schema[2])
        at, slot = users_line(), self._next_slot(verb)
        made, bound = program(elements_of(self._node), verb, function, at, python, slot, num_parallel, pure)
        return made, bound, at
