"""Zarr stores against zarr-python: codecs, types, chunks and shards of both versions made here, and every real store; both directions."""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

zarr = pytest.importorskip("zarr")
from numcodecs import BZ2, LZ4, Blosc, Delta, FixedScaleOffset, GZip, Shuffle, VLenBytes, VLenUTF8, Zlib, Zstd  # noqa: E402
from zarr import codecs as v3  # noqa: E402

warnings.filterwarnings("ignore", module="zarr")
pytestmark = pytest.mark.filterwarnings("ignore")

REFUSALS = (hr.CorruptSample, NotImplementedError, ValueError, MemoryError)
DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
RANDOM = np.random.default_rng(7)
TYPES = [
    "bool",
    "u1",
    "<u2",
    ">u2",
    "<u4",
    "<u8",
    "i1",
    "<i2",
    "<i4",
    ">i4",
    "<i8",
    "<f2",
    ">f2",
    "<f4",
    "<f8",
    ">f8",
]
V2_CODECS: dict[str, Any] = {
    "none": None,
    "zlib": Zlib(1),
    "gzip": GZip(9),
    "zstd": Zstd(3),
    "lz4": LZ4(),
    **{
        f"blosc {name} {shuffle}": Blosc(name, clevel=5, shuffle=shuffle)
        for name in ("lz4", "lz4hc", "blosclz", "zlib", "zstd")
        for shuffle in (0, 1, 2)
    },
}
V3_CODECS: dict[str, list[Any]] = {
    "none": [],
    "gzip": [v3.GzipCodec(level=3)],
    "zstd": [v3.ZstdCodec(level=3)],
    "zstd, checksum": [v3.ZstdCodec(level=1, checksum=True)],
    "crc32c": [v3.Crc32cCodec()],
    "gzip, crc32c": [v3.GzipCodec(level=1), v3.Crc32cCodec()],
    "crc32c, zstd": [v3.Crc32cCodec(), v3.ZstdCodec()],
    "two": [v3.ZstdCodec(), v3.GzipCodec()],
    "blosc": [v3.BloscCodec(cname="lz4", shuffle="bitshuffle")],
    "blosc zstd": [v3.BloscCodec(cname="zstd", shuffle="shuffle")],
}
SHAPES = [
    ((23,), (4,)),
    ((23,), (100,)),
    ((11, 6), (4, 6)),
    ((11, 6), (3, 4)),
    ((7, 5, 3), (2, 5, 3)),
    ((7, 5, 3), (7, 2, 2)),
    ((5, 4, 3), (1, 1, 1)),
]


def numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return any values of the type, neither too small nor all different."""
    return RANDOM.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


def check(path: Path, wanted: np.ndarray, **options: Any) -> None:
    """Compare every row, out of order, then batches in order."""
    ds = hr.read(path, **options)
    (name,) = ds.schema
    assert len(ds) == len(wanted)
    native = wanted.dtype.newbyteorder("=")
    for i in map(int, RANDOM.permutation(len(wanted))):
        got = np.asarray(ds[i][name])
        assert got.dtype == native and got.shape == wanted[i].shape
        assert np.array_equal(got, wanted[i], equal_nan=native.kind == "f"), (path, i)
    rows = [row for batch in ds.batch(5) for row in np.asarray(batch[name])]
    assert np.array_equal(np.array(rows).reshape(wanted.shape), wanted, equal_nan=native.kind == "f")


@pytest.mark.parametrize("codec", V2_CODECS)
def test_version_2(tmp_path: Path, codec: str) -> None:
    """Each codec with each type, order and separator."""
    for n, ((shape, chunks), dtype) in enumerate(itertools.product(SHAPES, TYPES)):
        if n % 5 != len(codec) % 5:  # each codec a fifth of them; all together every pair
            continue
        path = tmp_path / f"{n}.zarr"
        data = numbers(dtype, shape)
        array = zarr.create_array(
            str(path), shape=shape, chunks=chunks, dtype=dtype, zarr_format=2, compressors=V2_CODECS[codec], order="CF"[n % 2],
            chunk_key_encoding={"name": "v2", "separator": "./"[n // 2 % 2]}, fill_value=n % 2,
        )  # fmt: skip
        array[...] = data
        check(path, data)


@pytest.mark.parametrize("codec", V3_CODECS)
def test_version_3(tmp_path: Path, codec: str) -> None:
    """Each codec with each type, with and without shards, transposed or not."""
    for n, ((shape, chunks), dtype) in enumerate(itertools.product(SHAPES, TYPES)):
        if n % 5 != len(codec) % 5:
            continue
        path = tmp_path / f"{n}.zarr"
        data = numbers(dtype, shape)
        shards = tuple(2 * c for c in chunks) if n % 3 == 0 else None
        filters = (
            [v3.TransposeCodec(order=tuple(RANDOM.permutation(len(shape)).tolist()))] if n % 4 == 1 else None
        )
        array = zarr.create_array(
            str(path), shape=shape, chunks=chunks, shards=shards, dtype=dtype, zarr_format=3, filters=filters,
            compressors=V3_CODECS[codec] or None, fill_value=n % 2,
            serializer=v3.BytesCodec(endian="big" if n % 2 else "little"),
        )  # fmt: skip
        array[...] = data
        check(path, data)


def test_shards(tmp_path: Path) -> None:
    """Index at the start and the end, with and without a checksum, chunks that are not there, shards packed whole and in shards."""
    data = numbers("<i4", (20, 6))
    data[4:6] = 7  # the fill value: not written
    index = {
        "plain": [v3.BytesCodec()],
        "checked": [v3.BytesCodec(), v3.Crc32cCodec()],
        "big": [v3.BytesCodec(endian="big"), v3.Crc32cCodec()],
    }
    for (name, codecs), where in itertools.product(index.items(), ("start", "end")):
        inner = v3.ShardingCodec(
            chunk_shape=(2, 3),
            codecs=[v3.BytesCodec(), v3.ZstdCodec()],
            index_codecs=codecs,
            index_location=where,
        )
        nested = v3.ShardingCodec(
            chunk_shape=(4, 6), codecs=[inner], index_codecs=codecs, index_location=where
        )
        for kind, serializer, packers, filters in (
            ("shard", inner, None, None),
            ("packed", inner, [v3.GzipCodec()], None),
            ("nested", nested, None, None),
            ("transposed", v3.ShardingCodec(chunk_shape=(2, 1), codecs=[v3.BytesCodec(), v3.ZstdCodec()], index_codecs=codecs, index_location=where), None, [v3.TransposeCodec(order=(1, 0))]),
        ):  # fmt: skip
            path = tmp_path / f"{name} {where} {kind}.zarr"
            array = zarr.create_array(
                str(path), shape=data.shape, chunks=(8, 6), dtype="<i4", zarr_format=3, fill_value=7,
                serializer=serializer, compressors=packers, filters=filters,
            )  # fmt: skip
            array[:4], array[6:] = data[:4], data[6:]
            check(path, data)


def test_filters(tmp_path: Path) -> None:
    """Delta, shuffle and fixedscaleoffset, alone and together; what else there is is refused by name."""
    data = np.cumsum(RANDOM.integers(-5, 9, (30, 4)), axis=0)
    for n, (dtype, filters) in enumerate(
        [
            ("<i4", [Delta("<i4")]), ("<i8", [Delta("<i8", "<i2")]), ("<f8", [Delta("<f8")]), (">i2", [Delta(">i2")]), ("<i4", [Shuffle(4)]),
            ("<f4", [FixedScaleOffset(offset=1000, scale=10, dtype="<f4", astype="<i2")]),
            ("<f8", [FixedScaleOffset(offset=-1, scale=2.5, dtype="<f8", astype="<u1")]),
            ("<i4", [Delta("<i4"), Shuffle(4)]),
        ]
    ):  # fmt: skip
        for compressor in (None, Zlib(1), Blosc()):
            path = tmp_path / f"{n}{compressor}.zarr"
            array = zarr.create_array(
                str(path),
                shape=data.shape,
                chunks=(7, 4),
                dtype=dtype,
                zarr_format=2,
                filters=filters,
                compressors=compressor,
            )
            array[...] = data.astype(dtype)
            check(path, array[...])
    path = tmp_path / "bz2.zarr"
    zarr.create_array(str(path), shape=(4,), chunks=(2,), dtype="<i4", zarr_format=2, compressors=BZ2())[
        ...
    ] = 1
    with pytest.raises(NotImplementedError, match="bz2"):
        hr.read(path)


@pytest.mark.parametrize("version", [2, 3])
def test_fill_values(tmp_path: Path, version: int) -> None:
    """Rows nobody wrote have the fill value, whatever it is."""
    for n, (dtype, fill) in enumerate(
        [
            ("<f4", np.nan), ("<f8", np.inf), ("<f8", -np.inf), ("<f2", 1.5), ("<i8", -3), ("<u8", 2**64 - 1), ("bool", True), (">i4", 258), ("u1", 255), ("<f4", 1e-3),
        ]
    ):  # fmt: skip
        path = tmp_path / f"{n}.zarr"
        array = zarr.create_array(
            str(path), shape=(9, 2000), chunks=(2, 900), dtype=dtype, zarr_format=version, fill_value=fill
        )
        array[3] = 1
        check(path, array[...])


@pytest.mark.parametrize("version", [2, 3])
def test_texts(tmp_path: Path, version: int) -> None:
    """Texts of free and of fixed length."""
    texts = ["", "a", "ä€", "𝄞 and more", "x" * 300, "b\0c"] * 3
    rows: dict[str, list[Any]] = {
        "S": [t.encode()[:9] for t in texts],
        "U": texts,
        "str": texts,
        "bytes": [t.encode() + b"\0" for t in texts],
    }
    for kind, wanted in rows.items():
        for shards in (None, 8):
            if version == 2 and shards:
                continue
            path = tmp_path / f"{kind}{shards}.zarr"
            options: dict[str, Any] = {"dtype": {"S": "S9", "U": "U300", "str": str, "bytes": object}[kind]}
            if version == 3 and kind == "bytes":
                options["dtype"] = zarr.dtype.VariableLengthBytes()
            if version == 2 and kind in ("str", "bytes"):
                options = {
                    "dtype": zarr.dtype.VariableLengthUTF8()
                    if kind == "str"
                    else zarr.dtype.VariableLengthBytes()
                }
                options["filters"] = [VLenUTF8() if kind == "str" else VLenBytes()]
            array = zarr.create_array(
                str(path),
                shape=(18,),
                chunks=(4,),
                shards=(shards,) if shards else None,
                zarr_format=version,
                **options,
            )
            array[:] = np.array(wanted, dtype=object if kind in ("str", "bytes") else None)
            ds = hr.read(path)
            assert [ds[i]["array"] for i in reversed(range(18))] == [
                w.rstrip(b"\0" if isinstance(w, bytes) else "\0") if kind in "SU" else w
                for w in reversed(wanted)
            ], (kind, shards)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("consolidated", [False, True])
def test_groups(tmp_path: Path, version: int, consolidated: bool) -> None:
    """A field for each array of a group; scalars are left out, other lengths are named."""
    path = tmp_path / "x.zarr"
    root = zarr.create_group(
        str(path), zarr_format=version, attributes={"classes": ["cat", "dog"], "nothing": float("nan")}
    )
    images, labels = numbers("u1", (12, 4, 4)), numbers("<i8", (12,))
    for group in (root, root.create_group("train/deep")):
        group.create_array("images", shape=(12, 4, 4), chunks=(3, 4, 4), dtype="u1")[...] = images
        group.create_array("labels", shape=(12,), chunks=(12,), dtype="<i8")[...] = labels
        group.create_array("scalar", shape=(), dtype="<f8")[...] = 1
    if consolidated:
        zarr.consolidate_metadata(str(path))
    for group in (None, "/train/deep"):
        ds = hr.read(path, group=group) if group else hr.read(path)
        assert list(ds.schema) == ["images", "labels"]
        for i in (11, 0, 5):
            assert np.array_equal(ds[i]["images"], images[i]) and ds[i]["labels"] == labels[i]
    assert hr.read(path).metadata["attributes"]["classes"] == ["cat", "dog"]
    ds = hr.read_zarr(path, fields=["train/deep/labels", "images"])
    assert list(ds.schema) == ["train/deep/labels", "images"] and ds[3]["train/deep/labels"] == labels[3]
    root.create_array("more", shape=(13,), chunks=(4,), dtype="<i8")
    if consolidated:
        assert len(hr.read(path)) == 12
        zarr.consolidate_metadata(str(path))
    with pytest.raises(ValueError, match="'images' of 12 rows and 'more' of 13 rows"):
        hr.read(path)
    with pytest.raises(ValueError, match="no array 'other' in group ''; it has images, labels, more"):
        hr.read(path, fields=["other"])


def nodes(root: Path) -> list[Path]:
    """Return folders with an array's metadata."""
    found = (
        {p.parent for name in (".zarray", "zarr.json") for p in root.rglob(name)} if root.is_dir() else set()
    )
    return sorted(found)


def say(path: Path) -> Any:
    """Return all of an array as zarr-python reads it, or why not."""
    try:
        node = zarr.open(str(path), mode="r")
        return node[...] if isinstance(node, zarr.Array) and node.shape else None
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error


@pytest.mark.parametrize("path", nodes(DATA), ids=lambda p: str(p.relative_to(DATA))[-80:])
def test_real_stores(path: Path) -> None:
    """What both read is the same; what one refuses is known."""
    wanted = say(path)
    if wanted is None:
        pytest.skip("a group, or a single value")
    try:
        ds = hr.read(path, format="zarr")
        (name,) = ds.schema
        got = [ds[i][name] for i in range(len(ds))]
    except REFUSALS as error:
        known = ("pcodec", "zfpy", "bz2", "fletcher32", "json2", "strings along one axis", "zstd", "objects")
        assert isinstance(wanted, Exception) or any(word in str(error) for word in known), (error, wanted)
        return
    assert not isinstance(wanted, Exception), wanted
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert (
            (a == b)
            if isinstance(a, str | bytes)
            else np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
        )


KINDS: dict[str, tuple[tuple[str, list[int | None]], Any]] = {
    **{
        name: ((name, []), np.dtype(kind))
        for name, kind in {
            "bool": "bool", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
            "f16": "f2", "f32": "f4", "f64": "f8",
        }.items()
    },
    "deep/image": (("u8", [9, 8, 3]), np.dtype("u1")),
    "deep/er/matrix": (("f32", [3, 4]), np.dtype("f4")),
    "nothing": (("i32", [2, 0]), np.dtype("i4")),
}  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"compression": "none"}, {"compression": "gzip", "level": 9}, {"level": 19}, {"rows_per_chunk": 7}, {"rows_per_chunk": 3, "rows_per_shard": 9}], ids=str)  # fmt: skip
@pytest.mark.parametrize("rows", [0, 1, 23])
def test_what_we_write(tmp_path: Path, options: dict[str, Any], rows: int) -> None:
    """zarr-python reads what we write, with and without consolidated metadata; so do we."""
    values = {name: numbers(dtype.str, (rows, *shape)) for name, ((_, shape), dtype) in KINDS.items()}
    values["jpeg"] = [RANDOM.bytes(int(n)) for n in RANDOM.integers(0, 9000, rows)]
    values["__key__"] = [f"ä{i}" * (i % 3) for i in range(rows)]
    schema = {name: spec for name, (spec, _) in KINDS.items()} | {
        "jpeg": ("bytes", [None]),
        "__key__": ("str", [None]),
    }
    path = tmp_path / "x.zarr"
    with hr.writer(path, schema, options=options) as out:
        for i in range(rows):
            out.write({name: column[i] for name, column in values.items()})
    for consolidated in (None, False):
        root = zarr.open_group(str(path), mode="r", use_consolidated=consolidated)
        for name, column in values.items():
            got = root[name][...]
            assert got.shape[0] == rows
            if isinstance(column, list):
                assert list(got) == column
            else:
                assert got.dtype == column.dtype and np.array_equal(got, column)
    ds = hr.read(path)
    assert list(ds.schema) == list(schema) and len(ds) == rows
    for i in map(int, RANDOM.permutation(rows)):
        for name, column in values.items():
            assert np.array_equal(ds[i][name], column[i]), (name, i)
