"""Python functions in a pipeline: from the engine's flat leaves to the user's function and back."""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._c_function import CTYPES_FUNCTION, CFunction, as_c_function
from ._making.element import Form, Leaves, form_in_plan
from ._processes import Starter
from ._structure import Fields, packer


def label_of(function: Callable[..., Any]) -> str:
    """Return a name for messages."""
    return str(getattr(function, "__qualname__", type(function).__name__)).replace("<locals>.", "")


def wants_generator(function: Callable[..., Any]) -> bool:
    """Whether the function has a parameter `rng`."""
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def caller(function: Callable[..., Any], structure: str) -> Callable[[Leaves, tuple[int, int]], Any]:
    """Return the function as one of leaves and a key for its generator; its result is not converted."""
    pack = packer(structure, Fields)
    generator = wants_generator(function)

    def call(leaves: Leaves, key: tuple[int, int]) -> Any:
        sample = pack(leaves)
        if not generator:
            return function(sample)
        rekeyed = Rekeyed()
        rekeyed.rekey(*key)
        return function(sample, rng=rekeyed.generator)

    return functools.wraps(function, updated=())(call)


def code_version(slots: Mapping[str, Any]) -> str:
    """Return a string that changes with the functions that are bound to a plan: their code, and the values that they use.

    Raises:
        ValueError: something that they use cannot be compared between runs.
    """
    functions = {
        slot: bound
        for slot, bound in slots.items()
        if slot.startswith(("map_", "filter_")) or isinstance(bound, CFunction)
    }
    digest = hashlib.sha256()
    for slot, function in sorted(functions.items()):
        digest.update(slot.encode())
        _Identity(digest).add(
            function, function.name if isinstance(function, CFunction) else label_of(function)
        )
    return digest.hexdigest()[:32] if functions else ""


class _Identity:
    """Adds a value to a digest: the same in every run, and different for different values."""

    def __init__(self, digest: Any):
        self._digest = digest
        self._seen: set[object] = set()
        # Names used by the current function: of modules and classes, only these members count.
        self._words: set[str] = set()

    def add(self, value: object, name: str) -> None:
        self._text(type(value).__name__)
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, type(...))):
            self._text(repr(value))
        elif isinstance(value, np.generic) or (
            isinstance(value, np.ndarray) and value.dtype.kind not in "OV"
        ):
            self._text(f"{value.dtype.str} {value.shape}")
            self._digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, (list, tuple)):
            for item in value:
                self.add(item, name)
        elif isinstance(value, (set, frozenset)):
            self._text(" ".join(sorted(map(repr, value))))
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self.add(key, name)
                self.add(item, name)
        elif isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc)):
            self._text(
                f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', _name_of(value))}"
            )
            if isinstance(value, types.ModuleType):
                self._module(value, name)
            elif isinstance(value, type):
                self._class(value, name)
        elif isinstance(value, (CFunction, CTYPES_FUNCTION)):
            known = value.known_by() if isinstance(value, CFunction) else None
            if known is None:
                raise ValueError(
                    f"cache: {name} is or uses a C function, which cannot be compared between runs; "
                    "set version=, and change it when the function changes"
                )
            self.add(known, name)
        elif isinstance(getattr(value, "py_func", None), types.FunctionType):  # compiled by numba
            self.add(value.py_func, name)  # type: ignore[attr-defined]
        elif isinstance(value, functools.partial):
            self.add((value.func, value.args, value.keywords), name)
        elif isinstance(value, types.MethodType):
            self.add(value.__func__, name)
            if isinstance(value.__func__, types.FunctionType):
                self._method(value.__func__, type(value.__self__), name)
            self.add(value.__self__, name)
        elif isinstance(value, types.FunctionType):
            self._function(value, name)
        elif isinstance(value, types.CodeType):
            self._code(value, name)
        elif (
            not isinstance(value, types.GetSetDescriptorType)
            and type(value).__module__ != "builtins"
            and hasattr(value, "__dict__")
        ):
            self._object(value, name)
        else:
            raise ValueError(
                f"cache: {name} uses a {type(value).__name__}, which cannot be compared between runs; "
                "set version=, and change it when that changes"
            )

    def _text(self, text: str) -> None:
        self._digest.update(text.encode() + b"\0")

    def _code(self, code: types.CodeType, name: str) -> None:
        self._digest.update(code.co_code)
        self._text(repr((code.co_names, code.co_varnames)))
        for constant in code.co_consts:
            self.add(constant, name)

    def _function(self, function: types.FunctionType, name: str) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        if function.__module__.partition(".")[0] == __package__.partition(".")[0]:
            self._text(
                f"{function.__module__} {function.__qualname__}"
            )  # of this package: identified by name
            return
        outer, self._words = self._words, _words(function.__code__)
        self._code(function.__code__, name)
        self.add((function.__defaults__, function.__kwdefaults__), name)
        for cell in function.__closure__ or ():
            self.add(cell.cell_contents, name)
        for word in sorted(self._words):
            if word in function.__globals__:
                self.add(function.__globals__[word], f"{name}, through {word},")
        for module in _imported(function.__code__, function.__globals__):
            self._module(module, name)
        self._words = outer

    def _method(self, function: types.FunctionType, owner: type, name: str) -> None:
        """Add a function, and the members of its class that it names: `self.k` may be a class attribute."""
        if ("method", id(function), id(owner)) in self._seen:
            return
        self._seen.add(("method", id(function), id(owner)))
        self._function(function, name)
        outer, self._words = self._words, _words(function.__code__)
        self._class(owner, name)
        self._words = outer

    def _module(self, module: types.ModuleType, name: str) -> None:
        if not _is_users(module.__name__):
            return
        for word in sorted(self._words & vars(module).keys()):
            if (id(module), word) not in self._seen:
                self._seen.add((id(module), word))
                self._text(f"{module.__name__} {word}")
                self.add(vars(module)[word], f"{name}, through {module.__name__}.{word},")

    def _class(self, owner: type, name: str) -> None:
        """Add the named members of a class and its bases, and those that Python calls implicitly: `__init__`, `__call__`, operators."""
        for below in owner.__mro__:
            if not _is_users(below.__module__):
                continue
            for word, member in sorted(vars(below).items(), key=lambda item: item[0]):
                function = _function_of(member)
                called = word.startswith("__") and word.endswith("__") and function is not None
                if (id(owner), id(below), word) in self._seen or not (called or word in self._words):
                    continue
                self._seen.add((id(owner), id(below), word))
                self._text(f"{below.__qualname__} {word}")
                if function is not None:
                    self._method(function, owner, f"{name}, through {below.__qualname__}.{word},")
                elif not isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                    self.add(member, f"{name}, through {below.__qualname__}.{word},")

    def _object(self, value: object, name: str) -> None:
        of_class = (id(value), frozenset(self._words))
        if of_class not in self._seen:
            self._seen.add(of_class)
            self._class(type(value), name)
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._text(f"{type(value).__module__} {type(value).__qualname__}")
        call: object = vars(type(value)).get("__call__")
        if isinstance(call, types.FunctionType):
            self._method(call, type(value), name)
        self.add(vars(value), name)


def _name_of(value: object) -> str:
    """Return a module's name, which identifies it in any run, unlike its path; the repr of other values."""
    return value.__name__ if isinstance(value, types.ModuleType) else repr(value)


def _function_of(member: object) -> types.FunctionType | None:
    """Return the function of a class member, if it has one."""
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    elif isinstance(member, property):
        member = member.fget
    elif isinstance(member, functools.cached_property):
        member = member.func
    return member if isinstance(member, types.FunctionType) else None


def _is_users(module: str) -> bool:
    """Whether a module is user code: installed packages and Python itself are identified by name only."""
    if module.partition(".")[0] == __package__.partition(".")[0]:
        return False
    if module == "__main__":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str):
        return False
    path = Path(file).resolve()
    if not {"site-packages", "dist-packages"}.isdisjoint(path.parts):
        return False
    return not path.is_relative_to(_standard_library())


@functools.cache
def _standard_library() -> Path:
    import sysconfig  # noqa: PLC0415 -- slow to import, and rarely needed

    return Path(sysconfig.get_path("stdlib")).resolve()


def _imported(code: types.CodeType, scope: Mapping[str, Any]) -> Iterator[types.ModuleType]:
    """Yield the modules that the code imports, and the packages that contain them."""
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME"}
    package = str(scope.get("__package__") or "")
    for name in sorted(names):
        for full in sorted({name, f"{package}.{name}".strip(".")}):
            if isinstance(module := sys.modules.get(full), types.ModuleType):
                yield module
                if "." in full and isinstance(
                    top := sys.modules.get(full.partition(".")[0]), types.ModuleType
                ):
                    yield top
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imported(constant, scope)


def _words(code: types.CodeType) -> set[str]:
    """Return the names that the code and its nested functions look up."""
    words = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            words |= _words(constant)
    return words


def converter(result: str, specs: Sequence[Any]) -> Callable[[Any], Leaves]:
    """Return a function that converts a value with the nesting `result` to leaves of these specs."""

    @functools.cache
    def form() -> Form:
        return form_in_plan(result, specs, "the result when the pipeline was built")

    return lambda returned: form().leaves(returned, "the result")


class Rekeyed:
    """A generator whose key can be changed, as if it were new: write `key`, then set `bits.state` to `state`."""

    def __init__(self) -> None:
        self.bits = np.random.Philox(key=np.zeros(2, np.uint64))
        self.state: Any = self.bits.state
        self.key = self.state["state"]["key"]
        self.generator = np.random.Generator(self.bits)

    def rekey(self, low: int, high: int) -> None:
        """Restart with this key."""
        self.key[:] = low, high
        self.bits.state = self.state


def rekeys_alike(rekey: Callable[[Any, int, int], bool]) -> bool:
    """Whether `rekey(bits, low, high)` changes a Philox as `Rekeyed.rekey` does; it returns False if it cannot."""

    def draws(rng: np.random.Generator, odd: int) -> str:
        halves = rng.integers(0, 2**32, odd, dtype=np.uint32)
        return f"{halves.tolist()} {rng.random(odd).tolist()} {rng.normal()} {rng.integers(0, 99, odd, dtype=np.uint32)}"

    written, official = Rekeyed(), Rekeyed()
    keys = [(0, 0), (1, 2**64 - 1), (2**64 - 1, 1), (0x0123456789ABCDEF, 0xFEDCBA9876543210)]
    for odd, key in zip((1, 3, 5, 7), keys, strict=True):
        written.generator.integers(
            0, 2**32, odd, dtype=np.uint32
        )  # leaves half a word and a partly used buffer
        try:
            if not rekey(written.bits, *key):
                return False
        except (AttributeError, ImportError):  # no `ctypes` to find its memory
            return False
        official.rekey(*key)
        for _ in range(2):
            if repr(written.bits.state) != repr(official.bits.state):
                return False
            if draws(written.generator, odd) != draws(official.generator, odd):
                return False
    return True


def make_function(
    function: Callable[..., Any],
    slot: str,
    structure: str,
    result: Form,
    *,
    pure: bool,
    processes: bool,
    num_parallel: int,
) -> Any:
    """Return the engine's function, from the nesting of its argument and the form of its results."""
    params = {
        "input": structure,
        "output": result.structure,
        "outputs": result.specs,
        "random": wants_generator(function),
        "pure": pure,
        "python": "processes" if processes else "threads",
        "num_parallel": num_parallel,
    }
    return bind_function(function, slot, params)


def bind_function(function: Callable[..., Any], slot: str, params: dict[str, Any]) -> Any:
    """Return the engine's function from its description in a plan: arguments, results, and where it runs."""
    if "calls" in params:
        native = as_c_function(function)
        if native is None:
            raise ValueError(f"plan: slot {slot!r}: expected a C function, got {label_of(function)}")
        return native.bind(slot)
    job = {key: params[key] for key in ("input", "output", "outputs", "random")}
    processes = params.get("python") == "processes"
    return _core.make_function(
        slot,
        label_of(function),
        params["input"],
        params["output"],
        params["outputs"],
        params["random"],
        params.get("pure", False),
        params.get("num_parallel", 0),
        function,
        converter(params["output"], params["outputs"]),
        Starter(slot.partition("_")[0], function, job) if processes else None,
    )
