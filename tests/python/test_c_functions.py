"""C functions in maps and filters: of ctypes, numba and cffi, of numbers and of arrays."""

from __future__ import annotations

import ctypes
import gc
import json
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops

ROOT = Path(__file__).parents[2]
SOURCE = r"""
#include <math.h>
#include <stdbool.h>
#include "headrace/core/c_function.h"

double twice(double x) { return 2 * x; }
bool is_large(double x) { return x > 2; }
float blend(unsigned char a, float share, short b) { return a * share + b * (1 - share); }
int64_t add(int64_t a, int64_t b) { return a + b; }
void nothing(double x) { (void)x; }

/* f32 (n, 3) -> sums f32 (n), largest f32 (); 5 when there are no rows. */
static int sums(const void* const* inputs, const int64_t* const* shapes, void* const* outputs, const uint64_t* key, void* user) {
  const float* x = inputs[0];
  float* out = outputs[0];
  float* largest = outputs[1];
  (void)key;
  if (shapes[0][0] == 0) return 5;
  for (int64_t i = 0; i < shapes[0][0]; ++i) {
    for (int64_t k = 0; k < 3; ++k) out[i] += x[3 * i + k] * (user ? ((const float*)user)[k] : 1);
    if (i == 0 || out[i] > *largest) *largest = out[i];
  }
  return 0;
}
headrace_function sums_pointer = sums;
int row_sums(const void* const* inputs, const int64_t* const* shapes, void* const* outputs, const uint64_t* key, void* user) {
  return sums(inputs, shapes, outputs, key, user);
}
int draw(const void* const* inputs, const int64_t* const* shapes, void* const* outputs, const uint64_t* key, void* user) {
  (void)inputs, (void)shapes, (void)user;
  if (!key) return 1;
  ((uint64_t*)outputs[0])[0] = key[0];
  ((uint64_t*)outputs[0])[1] = key[1];
  return 0;
}
int length(const void* const* inputs, const int64_t* const* shapes, void* const* outputs, const uint64_t* key, void* user) {
  (void)inputs, (void)key, (void)user;
  *(int64_t*)outputs[0] = shapes[0][0];
  *(unsigned char*)outputs[1] = shapes[0][0] > 2 ? 4 : 0;
  return 0;
}
"""


@pytest.fixture(scope="session")
def library_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "functions.c").write_text(SOURCE)
    command = [
        "cc",
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-O1",
        "-shared",
        "-fPIC",
        f"-I{ROOT}",
    ]
    subprocess.run([*command, "functions.c", "-o", "functions.so"], cwd=folder, check=True)
    return folder / "functions.so"


@pytest.fixture
def library(library_path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path))
    for name, result, *arguments in (
        ("twice", ctypes.c_double, ctypes.c_double),
        ("is_large", ctypes.c_bool, ctypes.c_double),
        ("blend", ctypes.c_float, ctypes.c_ubyte, ctypes.c_float, ctypes.c_short),
        ("add", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64),
        ("nothing", None, ctypes.c_double),
    ):
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    return library


def numbers(count: int = 10) -> hr.Dataset:
    return hr.range(count).map(lambda x: ops.cast(x, dtype="f64"))


def row_sums(library: ctypes.CDLL, **options: Any) -> hr.CFunction:
    layouts = {"sums": ("f32", ("n",)), "largest": "f32"}
    return hr.c_function(library.row_sums, inputs=[("f32", ("n", 3))], outputs=layouts, **options)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    return str(caught.value)


# ---- of numbers


def test_a_function_of_numbers_maps_every_element(library: ctypes.CDLL) -> None:
    assert [float(x) for x in numbers(4).map(library.twice)] == [0, 2, 4, 6]
    assert [x.tolist() for x in numbers(4).batch(3).map(library.twice)] == [[0, 2, 4], [6]]
    assert numbers(4).map(library.twice)[3] == 6
    assert repr(numbers().map(library.twice).schema) == repr(hr.FieldSpec("f64", ()))
    image = hr.from_arrays(np.arange(24.0).reshape(2, 3, 4))
    np.testing.assert_array_equal(next(iter(image.map(library.twice))), np.arange(0, 24, 2).reshape(3, 4))


def test_a_bool_function_filters(library: ctypes.CDLL) -> None:
    assert [float(x) for x in numbers(5).filter(library.is_large)] == [3, 4]
    large = hr.c_function(library.is_large)
    assert [float(s["x"]) for s in hr.from_arrays({"x": np.arange(5.0)}).filter(lambda s: ~large(s.x))] == [
        0,
        1,
        2,
    ]
    assert "must return one bool scalar ()" in refusal(lambda: numbers().filter(library.twice))


def test_fields_are_its_arguments_in_order(library: ctypes.CDLL) -> None:
    table = {
        "a": np.array([0, 255], "u1"),
        "share": np.array([0.25, 0.75], "f4"),
        "b": np.array([-32768, 100], "i2"),
    }
    expected = [-24576.0, 216.25]
    assert [float(x) for x in hr.from_arrays(table).map(library.blend)] == expected
    blend = hr.c_function(library.blend)
    named = hr.from_arrays(table).map(lambda s: {**s, "mixed": blend(s.a, s.share, s.b)})
    assert [float(s["mixed"]) for s in named] == expected
    assert float(blend(np.uint8(255), np.float32(0.75), np.int16(100))) == 216.25
    share = hr.from_arrays(
        {"a": np.full((2, 3), 10, "u1"), "share": np.array([0, 1], "f4"), "b": np.ones((2, 3), "i2")}
    )
    assert [x.tolist() for x in share.map(library.blend)] == [[1, 1, 1], [10, 10, 10]]


def test_an_address_wants_a_signature(library: ctypes.CDLL) -> None:
    address = ctypes.cast(library.twice, ctypes.c_void_p).value
    twice = hr.c_function(address, signature="float64 (f64)", name="twice")
    assert repr(twice) == "<C function twice>" and float(twice(np.float64(4))) == 8
    untyped = ctypes.CDLL(library._name).twice
    assert float(hr.c_function(untyped, signature="f64(f64)")(np.float64(4))) == 8
    assert "its types are not known" in refusal(lambda: hr.c_function(address))
    assert "its types are not known" in refusal(lambda: numbers().map(untyped))
    assert "signature must be a string such as" in refusal(lambda: hr.c_function(address, signature="double"))
    assert "signature is f32(f32), but the function is float64(float64)" in refusal(
        lambda: hr.c_function(library.twice, signature="f32(f32)")
    )


def test_a_prototype_of_ctypes_and_a_pointer_of_cffi(library: ctypes.CDLL) -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    twice = kind(ctypes.cast(library.twice, ctypes.c_void_p).value)
    data = numbers(3).map(twice)
    del twice
    gc.collect()
    assert [float(x) for x in data.options(workers=2)] == [0, 2, 4]
    # Nobody would see it raise.
    assert "is a pointer to a Python function" in refusal(lambda: numbers(3).map(kind(lambda x: x / 2)))
    library.twice.errcheck = lambda result, function, arguments: result
    assert "has an errcheck" in refusal(lambda: numbers(3).map(library.twice))
    silent = ctypes.CDLL("libm.so.6").hypot
    silent.argtypes = [ctypes.c_double] * 2  # and no restype, which is int then
    assert "its types are not known" in refusal(lambda: hr.c_function(silent))
    cffi = pytest.importorskip("cffi", reason="cffi is not installed")
    ffi = cffi.FFI()
    ffi.cdef("double twice(double); float blend(unsigned char, float, short);")
    opened = ffi.dlopen(library._name)
    assert [float(x) for x in numbers(3).map(opened.twice)] == [0, 2, 4]
    assert hr.c_function(opened.blend)._described[1] == [("uint8", []), ("float32", []), ("int16", [])]


def test_what_does_not_fit_is_said(library: ctypes.CDLL) -> None:
    assert refusal(lambda: hr.range(3).map(library.twice)).startswith(
        "twice: argument 0 of float64(float64): expected float64, got int64 (); convert it with cast (map at test_c_functions.py:"
    )
    assert "expected the fields (int64 (), int64 ()), got 1 (int64 ())" in refusal(
        lambda: hr.range(3).map(library.add)
    )
    assert "expected numbers, got ?(float64)" in refusal(lambda: hr.c_function(library.nothing))
    assert "expected the address of a function, got null" in refusal(
        lambda: hr.c_function(0, signature="f64(f64)")
    )
    null = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)()
    assert "expected the address of a function, got null" in refusal(lambda: numbers().map(null))
    assert "got NoneType" in refusal(lambda: hr.c_function(None))
    assert "needs the GIL" in refusal(lambda: hr.c_function(ctypes.pythonapi.PyLong_FromLong))
    assert "leave out python=" in refusal(lambda: numbers().map(library.twice, python=True))
    assert "expected 1 to 6 arguments" in refusal(
        lambda: hr.c_function(1, signature="f64(f64,f64,f64,f64,f64,f64,f64)")
    )
    assert "expected bool, integers, float32 or float64" in refusal(
        lambda: hr.c_function(1, signature="f64(f16)")
    )
    assert "is an address in this process" in refusal(lambda: pickle.dumps(hr.c_function(library.twice)))
    rows = hr.from_arrays([b"a", b"bc"])
    assert "expected float64, got bytes" in refusal(lambda: rows.map(library.twice))


# ---- of arrays


def test_a_function_of_arrays_makes_what_was_declared(library: ctypes.CDLL) -> None:
    x = np.arange(24, dtype="f4").reshape(2, 4, 3)
    data = hr.from_arrays(x).map(row_sums(library))
    assert data.schema == {"sums": hr.FieldSpec("f32", (4,)), "largest": hr.FieldSpec("f32", ())}
    for i, element in enumerate(data):
        assert element["sums"].tolist() == x[i].sum(1).tolist() and element["largest"] == x[i].sum(1).max()
    uneven = hr.from_arrays(hr.ragged([x[0][:n] for n in (1, 4, 2)])).map(row_sums(library))
    assert uneven.schema["sums"].shape == (None,) and [len(e["sums"]) for e in uneven] == [1, 4, 2]
    batches = hr.from_arrays(x.reshape(8, 3)).batch(5).map(row_sums(library))
    assert [b["sums"].tolist() for b in batches] == [
        x.reshape(8, 3)[:5].sum(1).tolist(),
        x.reshape(8, 3)[5:].sum(1).tolist(),
    ]


def test_an_error_names_the_function_the_number_and_the_sample(library: ctypes.CDLL) -> None:
    empty = hr.from_arrays(hr.ragged([np.zeros((n, 3), "f4") for n in (1, 0, 2)]))
    data = empty.map(row_sums(library))
    with pytest.raises(ValueError, match=r"row_sums: the C function returned 5, which is not 0") as caught:
        list(data)
    told = str(caught.value)
    assert "test_c_functions.py:" in told and "row 1" in told, told
    assert [len(e["sums"]) for e in data.on_error("skip")] == [1, 2]


def test_user_data_lives_as_long_as_the_dataset(library: ctypes.CDLL) -> None:
    data = hr.from_arrays(np.ones((4, 2, 3), "f4")).map(row_sums(library, user=np.array([1, 10, 100], "f4")))
    gc.collect()
    assert [e["sums"].tolist() for e in data] == [[111, 111]] * 4
    weights = (ctypes.c_float * 3)(1, 2, 3)
    assert row_sums(library, user=weights)(np.ones((1, 3), "f4"))["largest"] == 6
    assert "user must be" in refusal(lambda: row_sums(library, user="weights"))


def test_bytes_go_in_and_any_byte_but_zero_is_true(library: ctypes.CDLL) -> None:
    length = hr.c_function(library.length, inputs=[("bytes", (None,))], outputs=["i64", "bool"])
    data = hr.from_arrays([b"a", b"abcd", b""]).map(length)
    assert [(int(n), x.tobytes()) for n, x in data] == [(1, b"\0"), (4, b"\1"), (0, b"\0")]


def test_a_random_one_draws_with_the_key_of_rng(library: ctypes.CDLL) -> None:
    options: dict[str, Any] = {"inputs": ["i64"], "outputs": ("u64", (2,))}
    data = hr.range(5).options(seed=3)
    drawn = list(data.map(hr.c_function(library.draw, random=True, **options)))
    keys = data.map(lambda x, rng: rng.bit_generator.state["state"]["key"])
    assert [x.tolist() for x in drawn] == [x.tolist() for x in keys]
    assert len({x.tobytes() for x in drawn}) == 5
    again = data.map(hr.c_function(library.draw, random=True, **options))
    assert [x.tolist() for x in again.at_epoch(1)] != [x.tolist() for x in drawn]
    with pytest.raises(ValueError, match="returned 1, which is not 0"):
        list(data.map(hr.c_function(library.draw, **options)))


def test_layouts_that_make_no_sense(library: ctypes.CDLL) -> None:
    def made(**options: Any) -> Callable[[], object]:
        return lambda: hr.c_function(library.row_sums, **options)

    assert "names of input dimensions, got float32 (n)" in refusal(
        made(inputs=["f32"], outputs=("f32", ("n",)))
    )
    assert "names of input dimensions, got float32 (?)" in refusal(
        made(inputs=["f32"], outputs=("f32", (None,)))
    )
    assert "needs both inputs and outputs" in refusal(made(inputs=["f32"]))
    assert "inputs must be a list of layouts" in refusal(made(inputs=("f32", (3,)), outputs="f32"))
    assert "dimensions in a tuple" in refusal(made(inputs=[("f32", 3)], outputs="f32"))
    assert "a dimension must be a size, a name or None, got -2" in refusal(
        made(inputs=[("f32", (-2,))], outputs="f32")
    )
    assert "a function of arrays must be int32(void**" in refusal(
        lambda: hr.c_function(library.twice, inputs=["f64"], outputs="f64")
    )
    wrong = hr.from_arrays(np.zeros((2, 4, 3)))
    assert "row_sums: input 0: expected float32 (n, 3), got float64 (4, 3) (map at" in refusal(
        lambda: wrong.map(row_sums(library))
    )


# ---- what every verb promises


def pipelines(library: ctypes.CDLL) -> list[hr.Dataset]:
    twice, add = hr.c_function(library.twice), hr.c_function(library.add)
    draw = hr.c_function(library.draw, inputs=["i64"], outputs=("u64", (2,)), random=True)
    table = hr.from_arrays({"x": np.arange(500.0), "k": np.arange(500)})
    return [
        numbers(500).map(library.twice).filter(library.is_large).batch(7),
        table.shuffle(seed=1).map(lambda s: {"x": twice(twice(s.x)), "k": add(s.k, s.k)}).batch(9),
        table.filter(lambda s: hr.c_function(library.is_large)(s.x)).map(lambda s: draw(s.k)),
        hr.from_arrays(np.arange(1800, dtype="f4").reshape(200, 3, 3))
        .map(row_sums(library))
        .shuffle(seed=2, window=20),
        table.shuffle(seed=4).map(lambda s: draw(s.k)).repeat(2).batch(32),
    ]


def as_text(element: Any) -> str:
    return repr(
        element
        if not isinstance(element, dict)
        else sorted((k, np.asarray(v).tolist()) for k, v in element.items())
    )


def test_one_stream_for_any_workers_and_rewrites_and_from_any_stop(library: ctypes.CDLL) -> None:
    for data in pipelines(library):
        expected = [as_text(x) for x in data.options(workers=1, rewrites=False)]
        assert len(expected) > 15
        for workers in (1, 2, 4):
            for rewrites in (True, False):
                options: dict[str, Any] = {"workers": workers, "rewrites": rewrites}
                assert [as_text(x) for x in data.options(**options)] == expected
        elements = iter(data.options(workers=2).numpy())
        begun = [as_text(next(elements)) for _ in range(11)]
        state = elements.state_dict()
        going_on = data.options(workers=1, rewrites=False).numpy()
        going_on.load_state_dict(state)
        assert begun + [as_text(x) for x in going_on] == expected


def test_a_plan_holds_no_address_and_binds_by_slot(library: ctypes.CDLL, tmp_path: Path) -> None:
    twice, add = hr.c_function(library.twice), hr.c_function(library.add)
    table = hr.from_arrays({"x": np.arange(4.0), "k": np.arange(4)})
    data = table.map(lambda s: {"k": add(s.k, add(s.k, s.k)), "x": twice(s.x)}).filter(lambda s: s.k > 0)
    data.save_plan(tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    for function in (library.twice, library.add):
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert str(address) not in text and f"{address:x}" not in text
    bind: dict[str, Any] = {
        "arrays": {"x": np.arange(4.0), "k": np.arange(4)},
        "map_0": library.add,
        "map_0#2": twice,
    }
    loaded = hr.load_plan(tmp_path / "plan.json", bind=bind)
    assert [as_text(x) for x in loaded] == [as_text(x) for x in data]
    state = iter(data.numpy())
    next(state)
    going_on = loaded.numpy()
    going_on.load_state_dict(state.state_dict())
    assert [as_text(x) for x in going_on] == [as_text(x) for x in data][1:]

    def opened(**other: Any) -> Callable[[], object]:
        return lambda: hr.load_plan(tmp_path / "plan.json", bind={**bind, **other})

    assert "expected a C function with inputs" in refusal(opened(map_0=library.twice))
    assert "slot 'map_0': expected a C function, got" in refusal(opened(map_0=lambda x: x))
    del bind["map_0"]
    assert "the C function in slot 'map_0' is not bound" in refusal(opened())


def test_a_plan_cannot_say_what_to_call(library: ctypes.CDLL, tmp_path: Path) -> None:
    numbers(3).map(library.twice).save_plan(tmp_path / "plan.json")
    plan = json.loads((tmp_path / "plan.json").read_text())
    params = plan["plan"]["program"]["steps"][0]["params"]
    slot = params["slot"]

    def opened(**changed: Any) -> Callable[[], object]:
        plan["plan"]["program"]["steps"][0]["params"] = {**params, **changed}
        (tmp_path / "other.json").write_text(json.dumps(plan))
        return lambda: hr.load_plan(tmp_path / "other.json", bind={slot: library.twice})

    assert len(list(opened(address=4096, user=4096, code=4096)())) == 3  # type: ignore[call-overload] # nobody reads them
    assert "expected a C function with calls" in refusal(opened(calls="arrays"))
    assert "expected a C function with outputs" in refusal(opened(outputs=[["f64", [1000000]]]))
    assert "expected a C function with inputs" in refusal(opened(inputs=[["i64", []]]))


def test_files_of_a_cache_want_a_version(library: ctypes.CDLL, tmp_path: Path) -> None:
    assert "is or uses a C function" in refusal(lambda: numbers().map(library.twice).cache(tmp_path))

    def kept(version: str) -> hr.Dataset:
        return numbers().map(hr.c_function(library.twice, version=version)).cache(tmp_path)

    assert [float(x) for x in kept("1")] == [2 * x for x in range(10)]
    folders = {path for path in tmp_path.rglob("*") if path.is_file()}
    list(kept("1"))
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == folders
    list(kept("2"))
    assert {path for path in tmp_path.rglob("*") if path.is_file()} > folders
    twice = library.twice
    inside = numbers().map(lambda x: twice(float(x)), python=True)
    assert "is or uses a C function" in refusal(lambda: inside.cache(tmp_path))
    assert [float(x) for x in numbers().map(library.twice).cache()] == [2 * x for x in range(10)]


def test_python_functions_call_it_on_arrays(library: ctypes.CDLL) -> None:
    twice = hr.c_function(library.twice)
    data = numbers(4).map(lambda x: twice(np.sqrt(x)) if x > 0 else x, python=True)
    assert [float(x) for x in data] == [0, 2, 2 * 2**0.5, 2 * 3**0.5]
    with pytest.warns(
        hr.PythonFunctionWarning, match="passed add something other than the fields of this map"
    ):
        added = hr.range(3).map(lambda x: hr.c_function(library.add)(x, np.int64(5)))
    assert [int(x) for x in added] == [5, 6, 7]


# ---- of numba


def test_numba_functions_of_numbers() -> None:
    numba = pytest.importorskip("numba", reason="numba is not installed")

    @numba.cfunc("float64(float64, int64)")
    def power(x: float, n: int) -> float:
        return float(x**n)

    @numba.cfunc("boolean(float64)")
    def even(x: float) -> bool:
        return x % 2 == 0

    table = hr.from_arrays({"x": np.arange(300.0), "n": np.full(300, 2)})
    assert [float(x) for x in table.map(power).filter(even).options(workers=2)] == [
        float(i * i) for i in range(0, 300, 2)
    ]
    assert "argument 0 of float64(float64, int64): expected float64, got int64 ()" in refusal(
        lambda: table.map(lambda s: hr.c_function(power)(s.n, s.n))
    )


def test_numba_functions_of_arrays_and_their_caches(tmp_path: Path) -> None:
    numba = pytest.importorskip("numba", reason="numba is not installed")
    types, carray = numba.types, numba.carray
    form = types.int32(
        types.CPointer(types.voidptr),
        types.CPointer(types.CPointer(types.int64)),
        types.CPointer(types.voidptr),
        types.CPointer(types.uint64),
        types.voidptr,
    )

    def made(step: float) -> hr.CFunction:
        @numba.cfunc(form)
        def shifted(inputs, shapes, outputs, key, user):  # type: ignore[no-untyped-def]
            shape = (shapes[0][0], shapes[0][1])
            carray(outputs[0], shape, np.float32)[:] = carray(inputs[0], shape, np.float32) + step
            return 0

        return hr.c_function(shifted, inputs=[("f32", ("h", "w"))], outputs=("f32", ("h", "w")))

    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    np.testing.assert_array_equal(np.stack(list(hr.from_arrays(x).map(made(1)))), x + 1)
    for step, keys in ((1, 1), (1, 1), (2, 2)):  # known by their code, and what it can see
        kept = hr.from_arrays(x).map(made(step)).cache(tmp_path)
        np.testing.assert_array_equal(np.stack(list(kept)), x + step)
        assert len({path.stem.partition("-")[0] for path in tmp_path.iterdir()}) == keys
