"""What each format that is written gives back, of every kind of field; and samples handed from each to each.

A kind of field is written beside an image of bytes, read with the format's own reader, and compared with what was written.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops, readers

Spec = tuple[str, list[int | None]]
IMAGES = [b"\xff\xd8 one", b"two" * 3000, b"\0"]

WHOLE: dict[str, tuple[Spec, list[Any]]] = {
    dtype: ((dtype, []), [np.dtype(numpy).type(value) for value in (0, 1, 100)])
    for dtype, numpy in {
        "bool": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
        "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
        "f16": "float16", "f32": "float32", "f64": "float64",
    }.items()
}  # fmt: skip
KINDS: dict[str, tuple[Spec, list[Any]]] = WHOLE | {
    "bytes": (("bytes", [None]), [b"", b"\0\xff", b"x" * 5000]),
    "str": (("str", [None]), ["", "ä", "text"]),
    "u8 (4)": (("u8", [4]), [np.arange(4, dtype=np.uint8) + i for i in range(3)]),
    "f32 (2, 3)": (("f32", [2, 3]), [np.arange(6, dtype=np.float32).reshape(2, 3) / 8 + i for i in range(3)]),
    "i64 (?)": (("i64", [None]), [np.arange(n) - 1 for n in (3, 1, 2)]),
    "i64 (?), some empty": (("i64", [None]), [np.arange(n) for n in (0, 3, 0)]),
    "f32 (?, 4)": (("f32", [None, 4]), [np.ones((n, 4), np.float32) * n for n in (2, 0, 1)]),
    "u8 (?, ?, 3)": (("u8", [None, None, 3]), [np.full((h, 2, 3), h, np.uint8) for h in (1, 2, 3)]),
}


def read_arrow(path: Path, kind: str) -> hr.Dataset:
    """Read fields as they were called."""
    return readers.read_arrow(path)


def read_hdf5(path: Path, kind: str) -> hr.Dataset:
    """Read fields as they were called."""
    return readers.read_hdf5(path)


def read_lmdb(path: Path, kind: str) -> hr.Dataset:
    """Read Datums: the field beside the image is their label."""
    return readers.read_lmdb(path, values="datum").map(lambda s: {"image": s.image, "x": s.label})


def read_mds(path: Path, kind: str) -> hr.Dataset:
    """Read columns as they were called."""
    return readers.read_mds(path)


def read_parquet(path: Path, kind: str) -> hr.Dataset:
    """Read columns as they were called."""
    return readers.read_parquet(path)


def read_recordio(path: Path, kind: str) -> hr.Dataset:
    """Read image records: the field beside the image is their label, or labels."""
    return readers.read_recordio(path).map(lambda s: {"image": s.image, "x": s.label})


RAW = ("u8 (4)", "u8 (?, ?, 3)")  # what an Example has no list for is the bytes of the array


def feature(kind: str) -> Any:
    """Return the feature of an Example that holds such a field."""
    dtype, shape = KINDS[kind][0]
    if kind in (*RAW, "bytes", "str"):
        return hr.FixedLenFeature([], "bytes")
    kept = "f32" if dtype.startswith("f") else "i64"
    if None not in shape:
        return hr.FixedLenFeature(shape, kept)
    return hr.FixedLenSequenceFeature([n for n in shape if n], kept, allow_missing=True)


def read_tfrecord(path: Path, kind: str) -> hr.Dataset:
    """Parse Examples."""
    features = {"image": hr.FixedLenFeature([], "bytes"), "x": feature(kind)}
    parsed = readers.read_tfrecord(path).map(lambda s: ops.parse_example(s.record, features=features))
    if kind not in RAW:
        return parsed
    return parsed.map(lambda s: {"image": s.image, "x": ops.decode_raw(s.x, dtype=KINDS[kind][0][0])})


def read_webdataset(path: Path, kind: str) -> hr.Dataset:
    """Take members by their names: `x` is a class in digits, a file of NumPy's, or bytes."""
    rows = readers.read_webdataset(path)
    (member,) = (name for name in rows.schema if name.startswith("x."))
    return rows.map(lambda s: {"image": s["jpg"], "x": s[member]})


def read_zarr(path: Path, kind: str) -> hr.Dataset:
    """Read fields as they were called."""
    return readers.read_zarr(path)


FORMATS: dict[str, tuple[str, Callable[[Path, str], hr.Dataset]]] = {
    "arrow": ("a.arrow", read_arrow),
    "hdf5": ("a.h5", read_hdf5),
    "lmdb": ("a.lmdb", read_lmdb),
    "mds": ("a.mds", read_mds),
    "parquet": ("a.parquet", read_parquet),
    "recordio": ("a.rec", read_recordio),
    "tfrecord": ("a.tfrecord", read_tfrecord),
    "webdataset": ("a.tar", read_webdataset),
    "zarr": ("a.zarr", read_zarr),
}

# "same": dtype, shape and bytes. "i64": the same numbers in that dtype, "bytes" of a str. "flat": all of them, but not their shape.
# "npy": a file of NumPy's with the same in it. "-": refused by name, before anything is written.
TABLE = """
                        arrow  hdf5  lmdb  mds   parquet  recordio  tfrecord  webdataset     zarr
bool                    same   same  i64   -     same     f32       i64       i64            same
u8                      same   same  i64   same  same     f32       i64       i64            same
u16                     same   same  i64   same  same     f32       i64       i64            same
u32                     same   same  i64   same  same     f32       i64       i64            same
u64                     same   same  i64   same  same     f32       i64       i64            same
i8                      same   same  i64   same  same     f32       i64       i64            same
i16                     same   same  i64   same  same     f32       i64       i64            same
i32                     same   same  i64   same  same     f32       i64       i64            same
i64                     same   same  same  same  same     f32       same      same           same
f16                     same   same  -     same  same     f32       f32       same           same
f32                     same   same  -     same  same     same      same      same           same
f64                     same   same  -     same  same     f32       f32       same           same
bytes                   same   same  -     same  same     -         same      same           same
str                     same   same  -     same  same     -         bytes     same           same
u8 (4)                  same   same  -     same  same     f32       same      same           same
f32 (2, 3)              same   same  -     same  same     -         same      same           same
i64 (?)                 same   same  -     same  same     f32       same      same           -
i64 (?), some empty     same   same  -     same  same     -         same      same           -
f32 (?, 4)              same   same  -     same  same     -         same      same           -
u8 (?, ?, 3)            -      -     -     same  -        -         flat      same           -
"""


def expected() -> dict[tuple[str, str], str]:
    """Return the words of the table, by kind and format."""
    head, *lines = TABLE.strip("\n").splitlines()
    return {
        (line[:24].strip(), name): word
        for line in lines
        for name, word in zip(head.split(), line[24:].split(), strict=True)
    }


def values(path: Path, name: str, kind: str) -> list[Any]:
    """Return the field of all samples, once their images are known to be the same."""
    samples = list(FORMATS[name][1](path, kind))
    assert [bytes(s["image"]) for s in samples] == IMAGES[: len(samples)]
    return [s["x"] for s in samples]


def write(path: Path, kind: str, fields: list[Any]) -> None:
    """Write a sample with each of these beside an image."""
    with hr.writer(path, {"image": ("bytes", [None]), "x": KINDS[kind][0]}) as w:
        for image, value in zip(IMAGES, fields, strict=False):
            w.write({"image": image, "x": value})


def as_bytes(value: Any) -> bytes:
    """Return the bytes of a text, which some formats have no other name for."""
    return value.encode() if isinstance(value, str) else bytes(value)


def outcome(wanted: list[Any], got: list[Any]) -> str:
    """Return the word of the table."""
    if isinstance(wanted[0], (bytes, str)):
        assert list(map(as_bytes, wanted)) == list(map(as_bytes, got))
        return "same" if type(got[0]) is type(wanted[0]) else "bytes"
    if isinstance(got[0], bytes):
        assert outcome(wanted, [np.load(io.BytesIO(file)) for file in got]) == "same"
        return "npy"
    assert all(np.array_equal(np.ravel(a), np.ravel(b)) for a, b in zip(wanted, got, strict=True))
    if any(np.shape(a) != np.shape(b) for a, b in zip(wanted, got, strict=True)):
        return "flat"
    return (
        "same" if got[0].dtype == wanted[0].dtype else {"int64": "i64", "float32": "f32"}[got[0].dtype.name]
    )


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_back(tmp_path: Path, kind: str, name: str) -> None:
    """Each word of the table."""
    path = tmp_path / FORMATS[name][0]
    try:
        write(path, kind, KINDS[kind][1])
        word = outcome(KINDS[kind][1], values(path, name, kind))
    except ValueError as refused:
        assert name in str(refused) and not path.exists()
        word = "-"
    assert word == expected()[kind, name]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", WHOLE)
def test_no_number_becomes_another(tmp_path: Path, kind: str, name: str) -> None:
    """The ends of each dtype come back, or are an error when they are written."""
    dtype = WHOLE[kind][1][0].dtype
    limits: Any = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype) if dtype.kind == "f" else None
    ends = [dtype.type(limits.min), dtype.type(limits.max)] if limits else [np.False_, np.True_]
    path = tmp_path / FORMATS[name][0]
    try:
        write(path, kind, ends)
    except ValueError as refused:
        assert "'x'" in str(refused)
        assert not path.exists()
        return
    got = values(path, name, kind)
    outcome(ends, got)


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(FORMATS, 2)))
def test_from_each_to_each(tmp_path: Path, first: str, second: str) -> None:
    """Images and labels, read from one format and written in another, in shards too."""
    write(tmp_path / FORMATS[first][0], "i64", KINDS["i64"][1])
    read = FORMATS[first][1](tmp_path / FORMATS[first][0], "i64")
    read = read.map(lambda s: {"image": s.image, "x": ops.cast(s.x, dtype="i64")})
    for target, how in {"one": {}, "shards": {"shards": 2}}.items():
        path = tmp_path / target
        report = read.write(path, format=second, verify=True, **how)
        assert (report["samples"], report["shards"]) == (3, 2 if how else 1)
        assert values(path, second, "i64") == KINDS["i64"][1]


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_back_from_npy(tmp_path: Path, kind: str) -> None:
    """It holds one field: numbers and arrays of one shape come back as they were, others are refused by name."""
    spec, fields = KINDS[kind]
    path = tmp_path / "a.npy"

    def written() -> None:
        with hr.writer(path, {"x": spec}) as w:
            for value in fields:
                w.write({"x": value})

    if spec[0] in ("bytes", "str") or None in spec[1]:
        with pytest.raises(ValueError, match="'x': expected arrays of"):
            written()
        assert not path.exists()
        return
    written()
    assert outcome(fields, [s["array"] for s in hr.read(path)]) == "same"
    for name, (target, _) in FORMATS.items():
        if expected()[kind, name] == "same" and name in ("arrow", "hdf5", "parquet"):
            hr.read(path).write(tmp_path / target, verify=True)
            hr.read(tmp_path / target).write(tmp_path / f"{name}.npy", verify=True)
            assert (tmp_path / f"{name}.npy").read_bytes() == path.read_bytes()
