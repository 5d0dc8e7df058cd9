"""C functions from ctypes, numba and cffi: their types, and their wrapper in a pipeline."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from . import _core
from ._errors import mismatch
from ._structure import Fields, flatten, packer
from ._trace import DTypeLike, NeedsData, Symbol, leaf_of, plain

Layout: TypeAlias = "DTypeLike | tuple[DTypeLike, Sequence[int | str | None]]"
CTYPES_FUNCTION: Any = ctypes._CFuncPtr  # type: ignore[attr-defined]
_NEEDS_GIL = 4  # FUNCFLAG_PYTHONAPI of ctypes
_FORM_OF_ARRAYS = "int32(void** inputs, int64** shapes, void** outputs, uint64* key, void* user)"


class CFunction:
    """A C function that workers call without Python; created by `headrace.c_function`.

    `map(f)` passes the element's fields in order. In a function passed to `map`, `f(s.x, s.y)` is traced like an operator; on
    arrays it runs eagerly, unless it is random.

    Attributes:
        name: For messages.
        version: As given to `c_function`.
    """

    def __init__(
        self,
        function: Any,
        *,
        name: str,
        address: int,
        calls: str,
        inputs: list[Any],
        outputs: Any,
        random: bool,
        user: Any,
        version: str | None,
    ):
        names, layouts, self._nest = flatten(outputs, _is_layout)
        self._output_names = names
        self.name = name
        self.version = version
        self._function, self._user = function, user
        self._described = calls, inputs, [_layout(layout) for layout in layouts], random
        self._address = address
        self._now = self.bind(name)  # reports errors in its description

    def __repr__(self) -> str:
        return f"<C function {self.name}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self.name}: a C function is an address in this process and cannot be sent to another; "
            'use python="threads"'
        )

    def __call__(self, *fields: Any) -> Any:
        """Apply it to traced fields, or eagerly to arrays."""
        if any(not isinstance(value, Symbol) and isinstance(value, Mapping) for value in fields):
            raise TypeError(f"{self.name}: expected fields, got the whole sample; pass s.x, s.y, …")
        symbols = [value for value in fields if isinstance(value, Symbol)]
        if not symbols:
            leaves = [leaf_of(value) for value in fields]
            return packer(self._nest, Fields)(_core.compute_function(self._now, leaves))
        tracer = symbols[0]._tracer
        if len(symbols) < len(fields) or any(symbol._tracer is not tracer for symbol in symbols):
            raise NeedsData(f"it passed {self.name} something other than the fields of this map")
        made = self.bind(tracer.slot_of(self))
        values = tracer.add_function(made, [symbol._value for symbol in symbols])
        return packer(self._nest, Fields)([Symbol(tracer, value) for value in values])

    def of_element(self, element: Any) -> Any:
        """Apply it to the fields of an element, in order."""
        _, leaves, _ = flatten(element, lambda node: isinstance(node, Symbol))
        return self(*leaves)

    def bind(self, slot: str) -> Any:
        """Return the engine's function, named `slot` in saved plans."""
        calls, inputs, outputs, random = self._described
        return _core.make_c_function(
            slot,
            self.name,
            self.version or "",
            self._address,
            calls,
            inputs,
            outputs,
            random,
            _user_address(self._user),
            (self._function, self._user),
        )

    def is_like(self, other: CFunction) -> bool:
        """Whether both call the same code in the same way, with the same user data."""
        mine = (self._address, self._described, self.version)
        return mine == (other._address, other._described, other.version) and self._user is other._user

    def known_by(self) -> tuple[Any, ...] | None:
        """Return what identifies it in another run; None if nothing does."""
        if self.version is not None:
            return (self.version,)
        source = getattr(self._function, "_pyfunc", None)  # of numba
        if source is None or not (self._user is None or isinstance(self._user, np.ndarray)):
            return None
        return source, repr(self._described), self._user


def c_function(
    function: Any,
    *,
    inputs: Sequence[Layout] | None = None,
    outputs: Any = None,
    signature: str | None = None,
    name: str | None = None,
    random: bool = False,
    user: Any = None,
    version: str | None = None,
) -> CFunction:
    """Wrap a C function so that workers can call it without Python and the GIL.

    A function of numbers, such as `double f(double, double)`, is applied elementwise to fields of one shape, or to scalars;
    `map(f)` accepts it without this wrapper if ctypes or numba know its types. With `inputs` and `outputs`, it is a function of
    arrays:

        int f(const void* const* inputs, const int64_t* const* shapes, void* const* outputs, const uint64_t* key, void* user)

    (see headrace/core/c_function.h). It returns 0, or another number for an error; the message has that number and the sample.

    Args:
        function: A function of a `ctypes` library or a `CFUNCTYPE`, the result of `@numba.cfunc`, a cffi function pointer, or an
            address. Several threads call it concurrently, and its result must depend only on its arguments.
        inputs: Layouts of its array arguments, in order: a dtype for a scalar, or (dtype, dimensions). A dimension is a size, None
            for any size, or a name, which stands for one size in all fields of a call: `("float32", ("n", 3))`.
        outputs: The layout of its result, a list of layouts for a tuple, or a dict of layouts. Dimensions are sizes, or names of
            dimensions of `inputs`. The memory is zeroed before the call.
        signature: Types of a function of numbers if they are not known: `"float64(float64, int32)"`, the result first. At most 6
            arguments.
        name: For messages. The function's own name when not given.
        random: Whether it draws random numbers from `key`: two uint64 that are the same for the same sample and epoch, and equal
            the key of a Python function's `rng`. Only for functions of arrays.
        user: What `user` points to: a C-contiguous NumPy array, a ctypes object, or an address. None for a null pointer.
        version: Identifies the function in the files of `cache(path)`; change it when the function changes. numba functions are
            identified by their code.

    Raises:
        TypeError: it is not a C function, or one that needs the GIL.
        ValueError: its types are not known or not supported, or the address is null.

    Example:
        libm = ctypes.CDLL("libm.so.6")
        hypot = hr.c_function(libm.hypot, signature="float64(float64, float64)")
        data.map(lambda s: {**s, "r": hypot(s.x, s.y)})
    """
    if isinstance(function, CFunction):
        raise mismatch(TypeError, "c_function", expected="a C function", got="a result of c_function")
    known = _known(function)
    own_name = known.name if name is None else name
    where = f"c_function: {own_name}: "
    if not known.address:
        raise ValueError(f"{where}expected the address of a function, got null")
    if (inputs is None) != (outputs is None):
        raise ValueError(
            f"{where}a function of arrays needs both inputs and outputs, a function of numbers neither"
        )
    if inputs is None:
        arguments, result = _types(known, signature, where)
        layouts: list[Any] = [(dtype, []) for dtype in arguments]
        outputs = result
    else:
        if signature is not None:
            raise ValueError(f"{where}expected either signature, or inputs and outputs, got both")
        if isinstance(inputs, (str, tuple)) or not isinstance(inputs, Sequence):
            raise TypeError(f"{where}inputs must be a list of layouts, got {inputs!r}")
        _check_form_of_arrays(known, where)
        layouts = [_layout(layout) for layout in inputs]
    return CFunction(
        function,
        name=own_name,
        address=known.address,
        calls="elements" if inputs is None else "arrays",
        inputs=layouts,
        outputs=outputs,
        random=random,
        user=user,
        version=version,
    )


def as_c_function(function: object) -> CFunction | None:
    """Return the wrapper of a C function in a pipeline; None if it is not a C function."""
    if isinstance(function, CFunction):
        return function
    is_one = isinstance(function, CTYPES_FUNCTION) or _is_numba(function) or _is_cffi(function)
    return c_function(function) if is_one else None


def _is_numba(function: object) -> bool:
    return type(function).__module__.startswith("numba.") and hasattr(function, "address")


def _is_cffi(function: object) -> bool:
    return type(function).__module__ == "_cffi_backend"


# ---- what is known about a function


class _Known:
    """An address, and its types if its library knows them: dtypes, None for what is not a number."""

    def __init__(self, name: str, address: int, arguments: list[str | None] | None, result: str | None):
        self.name, self.address, self.arguments, self.result = name, address, arguments, result


def _known(function: Any) -> _Known:
    if isinstance(function, int) and not isinstance(function, bool):
        return _Known("c_function", function, None, None)
    if _is_numba(function):
        of = _known(function.ctypes)
        return _Known(
            str(getattr(function, "__qualname__", "c_function")), function.address, of.arguments, of.result
        )
    if isinstance(function, CTYPES_FUNCTION):
        return _known_to_ctypes(function)
    if _is_cffi(function):
        return _known_to_cffi(function)
    raise mismatch(
        TypeError,
        "c_function",
        expected="a function of ctypes, numba.cfunc or cffi, or an address",
        got=f"{type(function).__name__}",
    )


def _known_to_ctypes(function: Any) -> _Known:
    name = getattr(function, "__name__", "c_function")
    if type(function)._flags_ & _NEEDS_GIL:
        raise TypeError(
            f"c_function: {name} is a function of the Python C API, which needs the GIL; workers call without it"
        )
    kept = (getattr(function, "_objects", None) or {}).values()
    if any(type(one).__name__ == "CThunkObject" for one in kept):
        raise TypeError(
            f"c_function: {name} is a pointer to a Python function, whose exceptions would be lost; pass the function itself to map"
        )
    if getattr(function, "errcheck", None) is not None:
        raise TypeError(f"c_function: {name} has an errcheck, which is Python code and would not be called")
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    if function.argtypes is None:  # the result type is then the default, c_int
        return _Known(name, address, None, None)
    arguments = [_ctypes_dtype(argument) for argument in function.argtypes]
    result = _ctypes_dtype(function.restype)
    # c_int is also the default result type: with float arguments, restype was probably forgotten.
    is_said = function.restype is not ctypes.c_int or not {"float32", "float64"} & set(arguments)
    return _Known(name, address, arguments if is_said else None, result if is_said else None)


def _ctypes_dtype(type_: Any) -> str | None:
    code = getattr(type_, "_type_", None) if isinstance(type_, type) else None
    if not isinstance(code, str) or not issubclass(type_, ctypes._SimpleCData):
        return None
    bits = 8 * ctypes.sizeof(type_)
    for codes, kind in (("bhilq", "int"), ("BHILQ", "uint"), ("fd", "float")):
        if code in codes:
            return f"{kind}{bits}"
    return "bool" if code == "?" else None


def _known_to_cffi(function: Any) -> _Known:
    import cffi  # type: ignore[import-untyped,import-not-found,unused-ignore] # noqa: PLC0415 -- installed, since the pointer comes from it

    ffi = cffi.FFI()
    type_ = ffi.typeof(function)
    if type_.kind != "function":
        raise mismatch(TypeError, "c_function", expected="a function pointer", got=str(type_.cname))
    arguments = [_cffi_dtype(ffi, argument) for argument in type_.args]
    return _Known(
        "c_function", int(ffi.cast("uintptr_t", function)), arguments, _cffi_dtype(ffi, type_.result)
    )


def _cffi_dtype(ffi: Any, type_: Any) -> str | None:
    if type_.kind != "primitive" or type_.cname in {"char", "wchar_t", "long double"}:
        return None
    if type_.cname == "_Bool":
        return "bool"
    if type_.cname in {"float", "double"}:
        return f"float{8 * ffi.sizeof(type_)}"
    is_signed = int(ffi.cast(type_, -1)) < 0
    return f"{'int' if is_signed else 'uint'}{8 * ffi.sizeof(type_)}"


def _types(known: _Known, signature: str | None, where: str) -> tuple[list[str], str]:
    """Return the dtypes of the arguments and the result of a function of numbers."""
    if signature is not None:
        match = re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*", signature)
        if match is None:
            raise ValueError(
                f'{where}signature must be a string such as "float64(float64, int32)", got {signature!r}'
            )
        arguments = [argument.strip() for argument in match[2].split(",") if argument.strip()]
        wanted: list[str] = [_core.dtype_name(dtype) for dtype in [*arguments, match[1]]]
        told = [*(known.arguments or []), known.result]
        if known.arguments is not None and told != wanted:
            raise ValueError(f"{where}signature is {signature}, but the function is {_spelled(known)}")
        return wanted[:-1], wanted[-1]
    if known.arguments is None:
        raise ValueError(
            f'{where}its types are not known: set argtypes and restype, or pass signature="float64(float64)"; '
            "a function of arrays needs inputs and outputs"
        )
    numbers = [argument for argument in known.arguments if argument is not None]
    if known.result is None or len(numbers) < len(known.arguments):
        raise ValueError(
            f"{where}expected numbers, got {_spelled(known)}; a function of arrays, {_FORM_OF_ARRAYS}, needs inputs and outputs"
        )
    return numbers, known.result


def _check_form_of_arrays(known: _Known, where: str) -> None:
    if known.arguments is None:
        return
    is_form = len(known.arguments) == 5 and not any(known.arguments) and known.result == "int32"
    if not is_form:
        raise ValueError(f"{where}a function of arrays must be {_FORM_OF_ARRAYS}, got {_spelled(known)}")


def _spelled(known: _Known) -> str:
    arguments = ", ".join(argument or "?" for argument in known.arguments or [])
    spelled = f"{known.result or '?'}({arguments})"
    return f"{spelled}, where ? is not a number" if "?" in spelled else spelled


# ---- layouts


def _is_layout(node: object) -> bool:
    """Lists and dicts nest; a tuple is a dtype with dimensions."""
    return not isinstance(node, (list, Mapping))


def _layout(layout: Any) -> tuple[str, list[int | str | None]]:
    if (
        hasattr(layout, "shape") and hasattr(layout, "dtype") and not isinstance(layout, np.ndarray)
    ):  # a FieldSpec
        layout = (layout.dtype, layout.shape)
    dtype, dims = layout if isinstance(layout, tuple) and len(layout) == 2 else (layout, ())
    if isinstance(dims, (str, int)) or dims is None:
        raise TypeError(
            f'c_function: a layout needs dimensions in a tuple, as in ("float32", (3,)), got {layout!r}'
        )
    checked: list[int | str | None] = []
    for dim in dims:
        is_size = isinstance(dim, (int, np.integer)) and not isinstance(dim, bool) and dim >= 0
        if not (is_size or dim is None or (isinstance(dim, str) and dim)):
            raise TypeError(
                f"c_function: a dimension must be a size, a name or None, got {dim!r} in {layout!r}"
            )
        checked.append(int(dim) if is_size else dim)
    return str(plain(dtype)), checked


def _user_address(user: Any) -> int:
    if user is None:
        return 0
    if isinstance(user, int) and not isinstance(user, bool):
        return user
    if isinstance(user, np.ndarray):
        if not user.flags.c_contiguous or user.dtype.hasobject:
            raise ValueError("c_function: user must be a C-contiguous array of numbers")
        return int(user.ctypes.data)
    if isinstance(user, ctypes.c_void_p):
        return user.value or 0
    try:
        return ctypes.addressof(user)
    except TypeError:
        raise mismatch(
            TypeError,
            "c_function",
            expected="a NumPy array, a ctypes object or an address",
            got=f"{type(user).__name__}",
            option="user",
        ) from None
