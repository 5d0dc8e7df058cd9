"""Functions of `map(f)`, `filter(f)` and similar verbs: a traced graph where possible, else Python for each sample."""

from __future__ import annotations

import itertools
import random
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import _core
from ._arguments import whole_number
from ._errors import mismatch
from ._function import caller, label_of, make_function, wants_generator
from ._line import stacklevel
from ._making.element import AHEAD, Form, form_of, is_function_leaf
from ._making.generator import as_it_was
from ._slots import Bound
from ._structure import Fields, flatten, packer
from ._trace import NeedsData, Symbol, Tracer, constant, numpy_dtype

# Whether a function runs as Python for each sample, and where: True means "threads".
Where = bool | Literal["threads", "processes"]


class PythonFunctionWarning(UserWarning):
    """A function passed to map, filter or a similar verb runs as Python for each sample; the message gives the reason."""


@dataclass(frozen=True)
class Given:
    """The argument of a function: names and nesting of the leaves, a graph to trace into, samples to try."""

    names: list[str]
    structure: str
    tracer: Callable[[str, str], Tracer]  # (the user's line, the slot for a function in saved plans)
    samples: Callable[[], Iterator[list[Any] | Exception]]
    zeros: Callable[[], list[Any]]  # an artificial sample
    size: int | None = None  # the number of samples, where it is known


def elements_of(node: _core.Node, bound: Bound) -> Given:
    """Return the elements of a dataset, which binds this, as the argument of a function."""
    names, specs, structure = node.schema
    return Given(
        names,
        structure,
        lambda at, slot: Tracer(
            slot,
            node,
            at,
            samples=lambda: _first_samples(node.without_order(), [thing for _, thing in bound]),
        ),
        lambda: _first_samples(node.without_order(), [thing for _, thing in bound]),
        lambda: [_zero(*spec) for spec in specs],
        node.size,
    )


def program(
    given: Given,
    verb: str,
    function: Callable[..., Any],
    made_at: str,
    python: Where,
    slot: str,
    num_parallel: int | None = None,
    pure: bool = False,
) -> tuple[_core.Program, Bound]:
    """Return the function as a program, and what to bind in a saved plan."""
    if not (isinstance(python, bool) or python in {"threads", "processes"}):
        raise mismatch(
            ValueError,
            verb,
            expected='True, False, "threads" or "processes"',
            got=f"{python!r}",
            option="python",
        )
    at = f"{verb} at {made_at}" if made_at else verb
    why = None if python else "it has a parameter rng" if wants_generator(function) else ""
    if why == "":
        traced, why = _trace_twice(given, function, at, slot)
        if traced is not None:
            if num_parallel is not None:
                raise ValueError(
                    f"{verb}: num_parallel limits the calls of a function that runs as Python, but {label_of(function)} became native "
                    f'operators, which all workers run: leave it out, or set python="threads" ({at})'
                )
            return traced
    most = 0 if num_parallel is None else whole_number(verb, "num_parallel", num_parallel, 1, 2**63)
    if pure and wants_generator(function):
        raise ValueError(f"{verb}: a function with a parameter rng is not pure; leave out pure=True ({at})")
    made = _as_python(
        given, function, at, slot, pure=pure, processes=python == "processes", num_parallel=most
    )
    if why is not None and not wants_generator(function):
        warnings.warn(
            f"{at}: {label_of(function)} runs as Python for each sample, because {why}; "
            "set python=True if that is intended, which silences this warning",
            PythonFunctionWarning,
            stacklevel=stacklevel(),
        )
    return made, [(slot, function)]


# ---- tracing


def _trace_twice(
    given: Given, function: Callable[..., Any], at: str, slot: str
) -> tuple[tuple[_core.Program, Bound] | None, str]:
    """Return the program and what it binds, or None and the reason."""
    try:
        with _random_states_kept() as were_drawn:
            first, bound = _trace(given, function, at, slot)
            second, bound_again = _trace(given, function, at, slot)
    except NeedsData as reason:
        return None, str(reason)
    if were_drawn():
        return (
            None,
            "it draws random numbers of Python, NumPy or PyTorch, which are not reproducible; with a parameter rng it gets a "
            "numpy.random.Generator that is the same for the same sample and epoch, and random operators of headrace.ops are "
            "reproducible too",
        )
    if first.json() != second.json() or any(
        not one.is_like(other) for (_, one), (_, other) in zip(bound, bound_again, strict=True)
    ):
        return None, "two calls gave two different graphs"
    return (first, bound), ""


def _trace(given: Given, function: Callable[..., Any], at: str, slot: str) -> tuple[_core.Program, Bound]:
    tracer = given.tracer(at, slot)
    sample = packer(given.structure, Fields)([Symbol(tracer, value) for value in range(len(given.names))])
    try:
        returned = function(sample)
    except (TypeError, AttributeError) as error:  # code that needs an array and got a symbol
        if _is_about_symbols(error):
            raise NeedsData(f"it passed a field to code that needs data ({error})") from error
        raise
    names, leaves, nest = flatten(returned, lambda node: type(node) is Symbol or is_function_leaf(node))
    values = [_value_of(tracer, name, leaf) for name, leaf in zip(names, leaves, strict=True)]
    made = tracer.finish(names, values, nest)
    return made, tracer.bound(made)


def _value_of(tracer: Tracer, name: str, leaf: Any) -> int:
    if type(leaf) is Symbol:
        if leaf._tracer is not tracer:
            raise NeedsData(f"it returns {name} of another map")
        return leaf._value
    value = constant(tracer, leaf)
    if value is None:
        raise NeedsData(
            f"it returns {name} that is not a field, an operator's result or a number, but {type(leaf).__name__}"
        )
    return value


def _is_about_symbols(error: Exception) -> bool:
    return "Symbol" in str(error) or "symbol" in str(error)


@contextmanager
def _random_states_kept() -> Iterator[Callable[[], bool]]:
    """Restore the global generators at the end; yields a function that returns whether they were used."""
    torch = sys.modules.get("torch")
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch_state = torch.get_rng_state() if torch is not None else None
    drawn = False
    try:
        yield lambda: drawn
    finally:
        after = np.random.get_state()  # noqa: NPY002
        drawn = random.getstate() != python_state
        drawn = drawn or any(
            np.any(np.asarray(a) != np.asarray(b)) for a, b in zip(numpy_state, after, strict=True)
        )
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        if torch is not None:
            drawn = drawn or not torch.equal(torch_state, torch.get_rng_state())
            torch.set_rng_state(torch_state)


# ---- Python for each sample


def _as_python(
    given: Given,
    function: Callable[..., Any],
    at: str,
    slot: str,
    *,
    pure: bool,
    processes: bool,
    num_parallel: int,
) -> _core.Program:
    with _random_states_kept():
        results = _results(given, caller(function, given.structure))
        returned = next(results)
        if isinstance(getattr(returned, "_node", None), _core.Node):
            raise TypeError(
                f"{at}: the function returned a Dataset; flat_map needs an array of rows (or fields with the same number of rows), and "
                "interleave(function, cycle_length=1) reads a dataset of each element, one after the other"
            )
        if returned is None:
            verb, _, line = at.partition(" ")
            wanted = "True or False" if verb == "filter" else "a field or a dict"
            raise TypeError(
                f"{verb}: the function returned nothing; return {wanted}{f' ({verb} {line})' if line else ''}"
            )
        result = form_of(itertools.chain([returned], results), "the first result")
        if not result.names:
            _check_all_are_empty(given, result, results, at)
        results.close()
    made = make_function(
        function, slot, given.structure, result, pure=pure, processes=processes, num_parallel=num_parallel
    )
    tracer = given.tracer(at, slot)
    _warn_of_bits(tracer, function, at, len(given.names))
    values = tracer.add_function(made, list(range(len(given.names))))
    return tracer.finish(result.names, values, result.structure)


def _check_all_are_empty(given: Given, result: Form, results: Iterator[Any], at: str) -> None:
    """Raise a ValueError unless no result has a field: a run does not call a function whose results nothing uses."""
    count = 1
    for other in results:
        result.leaves(other, f"{at}: another result")
        count += 1
    if count != given.size:
        raise mismatch(
            ValueError,
            at,
            expected="results with at least one field",
            got=f"none in the first {count}",
            hint="a function without results is not called in a run, so return at least one field",
        )


def _warn_of_bits(tracer: Tracer, function: Callable[..., Any], at: str, fields: int) -> None:
    has_bf16 = any(tracer.spec(value)[0] == "bfloat16" for value in range(fields))
    if has_bf16 and numpy_dtype("bfloat16") == np.uint16:
        warnings.warn(
            f"{at}: {label_of(function)} gets a bfloat16 field as uint16 bits, since NumPy has no bfloat16; install ml_dtypes, "
            "or cast to float32 before",
            PythonFunctionWarning,
            stacklevel=stacklevel(),
        )


def _results(given: Given, call: Callable[[list[Any], tuple[int, int]], Any]) -> Generator[Any, None, None]:
    """Yield the function's results for samples that it and the verbs before it can process; if there is none, for one of zeros."""
    failure: Exception | None = None
    has_result = False
    for leaves in given.samples():
        if isinstance(leaves, Exception):
            failure = failure or leaves
            continue
        try:
            result = _core.call_once(call, leaves, (1, 2))
        except Exception as error:  # noqa: BLE001 -- the user's function may raise anything
            failure = error
        else:
            has_result = True
            yield result
    if has_result:
        return
    try:
        yield _core.call_once(call, given.zeros(), (1, 2))
    except Exception:
        if failure is not None:
            raise failure from None
        raise


def _first_samples(node: _core.Node, bound: list[Any]) -> Iterator[list[Any] | Exception]:
    if node.indexed and node.size is not None:
        elements = _core.Elements(node, 0, 0)
        for position in range(min(node.size, AHEAD)):
            try:
                yield elements.at(position, 0)
            except Exception as error:  # noqa: BLE001
                yield error
        return
    with as_it_was(*bound):
        loader = _core.Loader(node, {"workers": 1, "io": 1, "ready": 1})
        try:
            iteration = loader.begin()
            for _ in range(AHEAD):
                leaves = loader.next(iteration)
                if leaves is None:
                    return
                yield leaves
        except Exception as error:  # noqa: BLE001
            yield error
        finally:
            loader.stop()


def _zero(dtype: str, shape: tuple[int | None, ...]) -> Any:
    if dtype in {"bytes", "str"}:
        empty: Any = b"" if dtype == "bytes" else ""
        return empty if len(shape) == 1 else []
    return np.zeros([1 if dim is None else dim for dim in shape], numpy_dtype(dtype))[()]
