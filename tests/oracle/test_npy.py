"""NumPy's files, MNIST's and CIFAR's, against NumPy: every dtype, order and version made here, and every real file."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
DTYPES = ("?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8")
SHAPES = (
    (0,),
    (0, 3),
    (1,),
    (7,),
    (5, 1),
    (5, 3),
    (1, 3, 2),
    (4, 3, 2),
    (40, 2, 1, 9),
    (3, 1, 1, 1, 2, 1, 2, 2),
)


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return numbers whose bytes are all different, NaN among them."""
    random = np.random.default_rng(len(shape))
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return random.random(shape) < 0.5
    return np.frombuffer(random.bytes(int(np.prod(shape)) * kind.itemsize), kind).reshape(shape)


def check(ds: hr.Dataset, wanted: np.ndarray[Any, Any], field: str = "array") -> None:
    """The field's samples, in order, shuffled and in batches, are the rows of the array, byte for byte."""
    plain = wanted.astype(wanted.dtype.newbyteorder("="), order="C")
    assert len(ds) == len(plain)
    assert ds.schema[field].shape == plain.shape[1:]
    order = [int(i) for i in hr.range(len(plain)).shuffle(seed=3)] if len(plain) else []
    for rows, indices in ((ds, range(len(plain))), (ds.shuffle(seed=3), order)):
        for got, i in zip(rows, indices, strict=True):
            assert np.asarray(got[field]).dtype == plain.dtype
            assert np.asarray(got[field]).tobytes() == plain[i].tobytes()
    batches = [batch[field] for batch in ds.shuffle(seed=3).batch(4)]
    if len(plain):
        assert np.concatenate(batches).tobytes() == plain[order].tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_order_and_version(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "x.npy"
    for shape, order, byte_order in itertools.product(SHAPES, "CF", "<>"):
        array = values(dtype, shape).astype(np.dtype(dtype).newbyteorder(byte_order), order=order)
        for version in ((1, 0), (2, 0), (3, 0)):
            with path.open("wb") as file:
                np.lib.format.write_array(file, array, version=version)
            check(hr.read(path), array)


@pytest.mark.parametrize("rows", [1, 40, 3000])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_an_npz(tmp_path: Path, save: Any, rows: int) -> None:
    arrays = {
        "x": values("f4", (rows, 3, 5)),
        "y": values("i8", (rows,)),
        "f": np.asfortranarray(values(">i2", (rows, 4, 2))),
        "b": values("?", (rows, 3)),
    }
    save(tmp_path / "x.npz", scalar=np.float64(3), **arrays)
    ds = hr.read(tmp_path / "x.npz")
    assert list(ds.schema) == list(arrays)
    for name, array in arrays.items():
        check(ds, array, name)
    some = hr.read_npz(tmp_path / "x.npz", fields=["y", "b"])
    assert list(some.schema) == ["y", "b"]
    check(some, arrays["y"], "y")


def test_members_of_zip64(tmp_path: Path) -> None:
    """Members whose sizes were not known when they began have zip64's fields, as NumPy forces them."""
    array = values("f8", (9, 3))
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("x.npy", "w", force_zip64=True) as member:
            np.save(member, array)
        file.writestr("notes.txt", "no array")
    check(hr.read(tmp_path / "x.npz"), array, "x")


def test_several_files_of_any_order_are_one(tmp_path: Path) -> None:
    array = values("f4", (30, 4))
    parts = [array[:7], np.asfortranarray(array[7:20]), array[20:].astype(">f4")]
    for i, part in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", part)
    check(hr.read(tmp_path), array)


@pytest.mark.parametrize(
    ("array", "wants"),
    [
        (np.array([{}]), "objects are pickled, which is not supported"),
        (np.zeros(3, np.complex64), r"x\.view\(x\.real\.dtype\)"),
        (np.zeros(3, [("a", "f4")]), "numpy.savez"),
        (np.array(["text"]), "write strings to Arrow or CSV"),
        (np.zeros(3, "M8[s]"), r"x\.view\('i8'\)"),
        (np.zeros(3, np.longdouble), "as another dtype"),
    ],
)
def test_what_is_no_number_is_refused(tmp_path: Path, array: Any, wants: str) -> None:
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    with pytest.raises(NotImplementedError, match=wants):
        hr.read(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", y=np.zeros(len(array)), x=array)
    with pytest.raises(NotImplementedError, match=wants):
        hr.read(tmp_path / "x.npz")
    assert len(hr.read_npz(tmp_path / "x.npz", fields=["y"])) == len(array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_written_numpy_reads(tmp_path: Path, dtype: str) -> None:
    for shape in ((0, 2), (1,), (9, 3), (70, 2, 2, 3)):
        array = values(dtype, shape)
        path = tmp_path / f"{shape[0]}.npy"
        hr.from_arrays({"x": array}).write(path, verify=True)
        back = np.load(path)
        assert back.dtype == array.dtype and back.shape == shape and back.tobytes() == array.tobytes()
        assert np.load(path, mmap_mode="r").flags.c_contiguous
        check(hr.read(path), array)


def test_a_writer_counts_its_rows(tmp_path: Path) -> None:
    with hr.writer(tmp_path / "x.npy") as w:
        for i in range(1000):
            w.write({"x": np.full((3, 2), i, np.int32)})
    back = np.load(tmp_path / "x.npy")
    assert back.shape == (1000, 3, 2) and (back[:, 0, 0] == np.arange(1000)).all()
    hr.from_arrays({"x": back}).write(tmp_path / "shards", format="npy", shards=3)
    assert (
        np.concatenate([np.load(p) for p in sorted((tmp_path / "shards").glob("*.npy"))]).tobytes()
        == back.tobytes()
    )
    check(hr.read(tmp_path / "shards"), back)
    with pytest.raises(ValueError, match=r"npy: expected one field, got x: int64 .*, y: int64"):
        hr.from_arrays({"x": np.arange(3), "y": np.arange(3)}).write(tmp_path / "two.npy")
    assert not (tmp_path / "two.npy").exists()


# ---- IDX and CIFAR


def idx(array: np.ndarray[Any, Any]) -> bytes:
    """Write as MNIST's files are."""
    code = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}[array.dtype.str[1:]]
    head = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def load_idx(path: Path) -> np.ndarray[Any, Any]:
    """Read one of u8."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    rank = data[3]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(
        struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    )


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "f4", "f8"])
def test_idx_of_every_type(tmp_path: Path, dtype: str) -> None:
    for shape in ((1,), (30,), (20, 3, 4), (2, 1, 2, 3, 2)):
        array, labels = values(dtype, shape), np.arange(shape[0], dtype=np.int32)
        for name, pack in (("x", bytes), ("x.gz", gzip.compress)):
            (tmp_path / name).write_bytes(pack(idx(array)))
            (tmp_path / f"labels-{name}").write_bytes(pack(idx(labels)))
            check(hr.read(tmp_path / name), array)
            both = hr.read_idx(tmp_path / name, labels=tmp_path / f"labels-{name}")
            check(both, array, "image")
            check(both, labels, "label")


def test_pairs_of_images_and_labels_survive_a_plan_and_a_stop(tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(idx(values("u1", (50, 6, 7))))
    (tmp_path / "labels").write_bytes(idx(np.arange(50, dtype=np.uint8)))
    ds = hr.read_idx(tmp_path / "images", labels=tmp_path / "labels").shuffle(seed=1).batch(5)
    ds.save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json")
    run = iter(ds.numpy())
    first = [next(run) for _ in range(4)]
    rest = again.numpy()
    rest.load_state_dict(run.state_dict())
    labels = [batch["label"].tolist() for batch in [*first, *rest]]
    assert labels == [batch["label"].tolist() for batch in ds]


@pytest.mark.parametrize("classes", [10, 100])
def test_cifar(tmp_path: Path, classes: int) -> None:
    random = np.random.default_rng(classes)
    planes = random.integers(0, 256, (24, 3, 32, 32), np.uint8)
    labels = random.integers(0, classes, 24).astype(np.uint8)
    coarse = (labels // 5)[:, None]
    rows = np.concatenate(
        [*([coarse] if classes == 100 else []), labels[:, None], planes.reshape(24, -1)], axis=1
    )
    for i in range(2):
        (tmp_path / f"data_batch_{i}.bin").write_bytes(rows[12 * i : 12 * i + 12].tobytes())
    ds = hr.read_cifar(tmp_path / "data_batch_?.bin")
    check(ds, planes.transpose(0, 2, 3, 1), "image")
    check(ds, labels.astype(np.int64), "label")
    assert list(ds.schema) == ["image", "label", *(["coarse_label"] if classes == 100 else [])]
    if classes == 10:
        assert hr.read(tmp_path).schema == ds.schema
    with pytest.raises(hr.CorruptSample, match="expected whole records of"):
        hr.read_cifar(tmp_path, classes=110 - classes)


# ---- real files


def truths() -> list[Any]:
    """Return what truth.jsonl says of NumPy's files."""
    if not (DATA / "truth.jsonl").exists():
        return []
    with (DATA / "truth.jsonl").open() as lines:
        return [row for row in map(json.loads, lines) if row["path"].endswith((".npy", ".npz"))]


@pytest.mark.skipif(not truths(), reason="HEADRACE_DATA names no folder with truth.jsonl")
def test_real_files_of_numpy() -> None:
    """What NumPy reads without unpickling is read, but for single numbers; dtypes and shapes are those that truth.jsonl has."""
    read = 0
    for truth in truths():
        path = DATA / truth["path"]
        try:
            loaded = np.load(path)
            arrays = dict(loaded) if path.suffix == ".npz" else {"array": loaded}
        except (ValueError, OSError, EOFError):
            arrays = {}
        if not arrays or any(array.ndim == 0 for array in arrays.values()):
            with pytest.raises((hr.CorruptSample, NotImplementedError, ValueError)):
                hr.read(path)
            continue
        ds = hr.read(path)
        for name, array in arrays.items():
            if truth.get("status") == "ok":
                said = truth["arrays"][name] if "arrays" in truth else [truth["dtype"], truth["shape"]]
                assert [np.dtype(said[0]), *said[1]] == [array.dtype, *array.shape]
            check(ds, array, name)
        read += 1
    print(f"{read} of {len(truths())} files read")


MNIST = sorted((DATA / "mnist_cifar").glob("**/*ubyte*")) if DATA.exists() else []


@pytest.mark.skipif(not MNIST, reason="HEADRACE_DATA names no folder with MNIST's files")
def test_real_files_of_mnist() -> None:
    for path in MNIST:
        check(hr.read_idx(path, labels=False), load_idx(path))
    (images,) = (p for p in MNIST if p.name == "t10k-images-idx3-ubyte.gz")
    labels = images.with_name("t10k-labels-idx1-ubyte.gz")
    ds = hr.read_idx(images, labels=labels)
    check(ds, load_idx(images), "image")
    check(ds, load_idx(labels), "label")
