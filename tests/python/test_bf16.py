"""bf16 in NumPy: arrays of ml_dtypes wherever an element is seen, and its bits where that package is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops

IMPORTABLE = str(Path(__file__).parent / "importable")
sys.path.insert(0, IMPORTABLE)
from functions_of_processes import double_bf16  # noqa: E402

BITS_ONLY = """
import sys
sys.modules["ml_dtypes"] = None  # as if it were not installed
import warnings
import numpy as np
import headrace as hr
from headrace import ops
data = hr.from_arrays(np.array([1.5, -2], "f4")).map(lambda x: ops.cast(x, dtype="bf16"))
assert data[0] == 0x3FC0 and data[0].dtype == np.uint16, data[0]
assert next(iter(data.batch(2).numpy())).tolist() == [0x3FC0, 0xC000]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    seen = list(data.map(lambda x: x.dtype.name, python=True))
assert seen == ["uint16"] * 2, seen
assert "gets a bfloat16 field as uint16 bits" in str(caught[0].message) and "install ml_dtypes" in str(caught[0].message), caught
"""


@pytest.fixture
def bfloat16() -> Any:
    return pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16


def test_it_is_one_dtype_wherever_it_is_seen(bfloat16: Any) -> None:
    x = np.arange(6).reshape(3, 2).astype(bfloat16)
    data = hr.from_arrays(x)
    assert repr(data.schema) == repr(hr.FieldSpec("bfloat16", (2,)))
    seen = [
        data[1],
        next(iter(data)),
        next(iter(data.batch(2))),
        next(iter(data.batch(2).numpy())),
        data.unbatch().numpy(),
    ]
    seen[-1] = next(iter(seen[-1]))
    assert [leaf.dtype for leaf in seen] == [np.dtype(bfloat16)] * 5
    assert data[1].tolist() == [2, 3] and type(data.map(lambda v: v)[1]) is np.ndarray
    assert ops.cast(np.float32(1.5), dtype="bf16") == bfloat16(1.5)
    assert ops.cast(x, dtype="f32").tolist() == x.astype("f4").tolist()
    rows = next(iter(hr.from_arrays(hr.ragged([x[0], x[0][:1]])).batch(2, ragged=True)))
    assert [row.dtype for row in rows] == [np.dtype(bfloat16)] * 2


def test_functions_get_and_return_it(bfloat16: Any) -> None:
    x = np.arange(6).astype(bfloat16)
    for data in (hr.from_arrays(x), hr.from_arrays(x.reshape(3, 2))):
        doubled = data.map(double_bf16, python=True)
        assert [element.dtype for element in doubled] == [np.dtype(bfloat16)] * len(doubled)
        assert np.asarray(list(doubled)).ravel().tolist() == [0, 2, 4, 6, 8, 10]
        assert next(iter(doubled.batch(2))).dtype == bfloat16
    widened = hr.from_arrays(x).map(lambda v: v.astype("f4") / 2, python=True)
    assert [float(v) for v in widened] == [0, 0.5, 1, 1.5, 2, 2.5] and widened.schema.dtype == "float32"
    looked: list[Any] = []
    hr.from_arrays(x).map(lambda v: looked.append(v.dtype) or v)
    assert set(looked) == {np.dtype(bfloat16)}


def test_functions_in_processes_get_and_return_it(bfloat16: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", IMPORTABLE)
    data = hr.from_arrays(np.arange(6).reshape(3, 2).astype(bfloat16)).map(double_bf16, python="processes")
    assert [element.tolist() for element in data.options(workers=1)] == [[0, 2], [4, 6], [8, 10]]


def test_generators_and_lists_give_it(bfloat16: Any) -> None:
    for data in (
        hr.from_generator(lambda: iter([bfloat16(1), bfloat16(2)])),
        hr.from_list([np.asarray(1, bfloat16), np.asarray(2, bfloat16)]),
    ):
        elements = list(data)
        assert data.schema.dtype.name == "bfloat16" and elements == [1, 2]
        assert [element.dtype for element in elements] == [np.dtype(bfloat16)] * 2


def test_pytorch_gets_its_own(bfloat16: Any) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    batch = next(iter(hr.from_arrays(np.array([1, 2.5], bfloat16)).batch(2).torch()))
    assert batch.dtype == torch.bfloat16 and batch.tolist() == [1, 2.5]


def test_without_the_package_it_is_its_bits() -> None:
    done = subprocess.run([sys.executable, "-c", BITS_ONLY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
