"""HDF5 files against h5py: every type, layout, chunk index and kind of group made here, and every real file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

h5py = pytest.importorskip("h5py")

REFUSALS = (hr.CorruptSample, NotImplementedError, ValueError, MemoryError)
DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
ROWS = 37
RANDOM = np.random.default_rng(5)
VERSIONS = ["earliest", "latest"]


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Name the members of a compound as the reader does; a complex number is one of r and i."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and dtype.names:
        for member in dtype.names:
            yield from leaves(f"{name}/{member}", value[member])
    elif dtype is not None and dtype.kind == "c":
        yield f"{name}/r", value.real
        yield f"{name}/i", value.imag
    else:
        yield name, value


def same(got: Any, wanted: Any) -> bool:
    """Compare a field with what h5py says: dtype, shape and values."""
    if isinstance(got, str):
        if isinstance(wanted, np.ndarray):  # one text in a row of further dimensions
            wanted = wanted.reshape(-1)[0]
        wanted = wanted if isinstance(wanted, bytes) else wanted.encode()
        return got == wanted.decode()
    wanted = np.asarray(wanted)
    if isinstance(got, bytes) or wanted.dtype.kind in "SV":
        return (got if isinstance(got, bytes) else got.tobytes()) == wanted.tobytes()
    got = np.asarray(got)
    kinds = (got.dtype.kind, got.dtype.itemsize) == (wanted.dtype.kind, wanted.dtype.itemsize)
    return (
        kinds and got.shape == wanted.shape and np.array_equal(got, wanted, equal_nan=got.dtype.kind == "f")
    )


def check(path: Path, name: str, rows: Any = None) -> int:
    """Compare a dataset's rows with h5py's, alone and out of order; how many values were."""
    group, _, field = name.rpartition("/")
    options: dict[str, Any] = {"fields": [field]} | ({"group": group} if group else {})
    ds = hr.read(path, format="hdf5", **options)
    raw = hr.read(path, format="hdf5", encoding="bytes", **options)
    compared = 0
    with h5py.File(path) as file:
        data = file[name]
        assert len(ds) == len(data)
        for i in map(int, RANDOM.permutation(len(ds)) if rows is None else rows):
            try:
                sample = ds[i]
            except hr.CorruptSample as error:
                assert "expected UTF-8" in str(error)
                sample = raw[i]
            for leaf, wanted in leaves(field, data[i]):
                assert same(sample[leaf], wanted), (path.name, leaf, i, sample[leaf], wanted)
                compared += 1
    return compared


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return RANDOM.integers(0, 120, shape).astype(dtype)


POINT = np.dtype([("x", "<f4"), ("y", ">f8", (2, 3)), ("of", [("id", ">u2"), ("name", "S5")]), ("on", "?")])


def typed() -> dict[str, np.ndarray]:
    """Make arrays of every type whose elements have a fixed size."""
    points = np.zeros(ROWS, POINT)
    points["x"], points["y"] = RANDOM.random(ROWS), RANDOM.random((ROWS, 2, 3))
    points["of"]["id"], points["of"]["name"] = np.arange(ROWS), [b"n%d" % i for i in range(ROWS)]
    points["on"] = np.arange(ROWS) % 3 == 0
    simple = {t: numbers(t, ROWS) for t in (
        "u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8",
        "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "?", "<c8", ">c16")}  # fmt: skip
    return simple | {
        "matrix": numbers("<f4", ROWS, 3, 5),
        "big_matrix": numbers(">i4", ROWS, 2, 2, 2),
        "one": numbers("<i8", ROWS, 1),
        "flags": numbers("u1", ROWS, 4) % 2 == 0,
        "text": np.array([b"a" * (i % 7) for i in range(ROWS)], "S6"),
        "texts": np.array([[b"ab", b"c"]] * ROWS, "S2"),
        "opaque": np.array([bytes([i, 1, 2]) for i in range(ROWS)], "V3"),
        "points": points,
        "grid": np.stack([points[:2]] * ROWS),
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_every_type_reads_as_h5py_wrote_it(tmp_path: Path, version: str):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=version) as file:
        for name, data in typed().items():
            file[name] = data
        file.create_dataset(
            "enum", data=numbers("<i2", ROWS) % 3, dtype=h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, "<i2")
        )
        file["named"] = np.dtype(">f4")
        file.create_dataset("of_named", data=numbers(">f4", ROWS), dtype=file["named"])
    for name in [*typed(), "enum", "of_named"]:
        assert check(path, name) >= ROWS
    assert set(hr.read(path).schema) >= {"matrix", "points/y", "points/of/name", "grid/x", "<c8/r"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("storage", ["contiguous", "chunked", "gzip"])
def test_runs_and_texts_of_free_length(tmp_path: Path, version: str, storage: str):
    path = tmp_path / "x.h5"
    options = {"contiguous": {}, "chunked": {"chunks": (5,), "maxshape": (None,)},
               "gzip": {"chunks": (5,), "compression": "gzip"}}[storage]  # fmt: skip
    with h5py.File(path, "w", libver=version) as file:
        for name, base in {"bytes": "u1", "floats": "<f4", "longs": "<i8"}.items():
            data = file.create_dataset(name, (ROWS,), h5py.vlen_dtype(np.dtype(base)), **options)
            for i in RANDOM.permutation(ROWS):
                if i % 5:  # some are never written
                    data[i] = numbers(base, i * (400 if i % 4 == 0 else 3))
        text = file.create_dataset("text", (ROWS,), h5py.string_dtype(), **options)
        for i in range(ROWS):
            text[i] = "ä" * (i % 9) + "."
        file.create_dataset(
            "column",
            (ROWS, 1),
            h5py.string_dtype(),
            **({} if storage == "contiguous" else {"chunks": (4, 1)}),
        )
        file["column"][:, 0] = [f"<{i}>" for i in range(ROWS)]
    for name in ("bytes", "floats", "longs", "text", "column"):
        check(path, name)
    ds = hr.read(path)
    assert ds.schema["bytes"].dtype == "bytes" and ds.schema["text"].dtype == "str"
    with h5py.File(path) as file:
        assert [s["bytes"] for s in ds] == [row.tobytes() for row in file["bytes"]]


CHUNKS = {
    "rows": {"chunks": (4, 6, 3)},
    "inner": {"chunks": (3, 4, 2)},
    "one": {"chunks": (ROWS, 6, 3)},
    "larger": {"chunks": (64, 7, 3), "maxshape": (64, 7, 3)},
    "grows": {"chunks": (2, 4, 3), "maxshape": (None, 6, 3)},
    "grows_inside": {"chunks": (2, 4, 3), "maxshape": (ROWS, None, 3)},
    "grows_twice": {"chunks": (2, 4, 3), "maxshape": (None, None, 3)},
    "may_grow": {"chunks": (2, 4, 3), "maxshape": (80, 12, 9)},
}
FILTERS = {
    "plain": {},
    "gzip": {"compression": "gzip"},
    "shuffled": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf", "shuffle": True},
    "checked": {"fletcher32": True},
}
if "szip" in h5py.filters.encode:
    FILTERS["szip"] = {"compression": "szip", "compression_opts": ("nn", 4)}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("filters", FILTERS)
def test_every_layout_and_chunk_index(tmp_path: Path, version: str, filters: str):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=version) as file:
        for name, layout in CHUNKS.items():
            file.create_dataset(name, data=numbers("<u4", ROWS, 6, 3), **layout, **FILTERS[filters])
            small = {"maxshape": (None,)} if "grows" in name else {}
            file.create_dataset(
                f"small_{name}", data=numbers(">i2", ROWS), chunks=(5,), **small, **FILTERS[filters]
            )
            sparse = file.create_dataset(
                f"sparse_{name}", (ROWS, 6, 3), "<f8", fillvalue=2.5, **layout, **FILTERS[filters]
            )
            sparse[11:13, 2:4] = 7
    for name in CHUNKS:
        for kind in ("", "small_", "sparse_"):
            assert check(path, kind + name) == ROWS
    batch = next(iter(hr.read(path).batch(ROWS).numpy()))
    with h5py.File(path) as file:
        for name in file:
            assert np.array_equal(batch[name], file[name][()]), name


@pytest.mark.skipif("szip" not in h5py.filters.encode, reason="h5py cannot write szip")
@pytest.mark.parametrize("block", [4, 8, 16, 32])
@pytest.mark.parametrize("method", ["nn", "ec"])
def test_szip_of_every_width_and_kind_of_data(tmp_path: Path, method: str, block: int):
    path, rows = tmp_path / "x.h5", 70
    steps = RANDOM.integers(-2, 3, (rows, 300)).cumsum(axis=1)
    with h5py.File(path, "w") as file:
        for dtype in ("u1", ">u2", "<i2", "<u4", ">i4", "<i8", "<f4", ">f8"):
            whole = np.iinfo(dtype) if np.dtype(dtype).kind in "ui" else None
            noise = (
                RANDOM.integers(0, 250, steps.shape)
                if whole is None
                else RANDOM.integers(whole.min, whole.max, steps.shape, np.dtype(dtype).newbyteorder("="))
            )
            for name, data in {
                "zeros": 0 * steps,
                "steps": steps,
                "noise": noise,
                "rare": steps * (steps % 7 == 0),
            }.items():
                file.create_dataset(f"{dtype}_{name}", data=data.astype(dtype), chunks=(13, 299), compression="szip",
                                    compression_opts=(method, block))  # fmt: skip
        names = list(file)
    for name in names:
        assert check(path, name) == rows


def test_runs_of_big_endian_numbers(tmp_path: Path):
    written = [numbers(">f4", i) for i in range(5)]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("x", (5,), h5py.vlen_dtype(np.dtype(">f4")))
        for i, row in enumerate(written):
            data[i] = row
    for got, wanted in zip(hr.read(tmp_path / "x.h5"), written, strict=True):  # h5py forgets to swap them
        assert np.array_equal(got["x"], wanted)


def low_level(file: Any, name: str, data: np.ndarray, layout: int, time: int) -> None:
    """Make a dataset of a layout that h5py has no words for."""
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_layout(layout)
    if layout == h5py.h5d.CHUNKED:
        made.set_chunk((3, 2))
    made.set_alloc_time(time)
    space = h5py.h5s.create_simple(data.shape)
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(data.dtype), space, made)
    file[name][...] = data


@pytest.mark.parametrize("version", VERSIONS)
def test_compact_implicit_and_empty(tmp_path: Path, version: str):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=version) as file:
        low_level(file, "compact", numbers("<i4", ROWS, 5), h5py.h5d.COMPACT, h5py.h5d.ALLOC_TIME_EARLY)
        low_level(file, "implicit", numbers("<i4", ROWS, 5), h5py.h5d.CHUNKED, h5py.h5d.ALLOC_TIME_EARLY)
        file.create_dataset("never_written", (ROWS, 2), "<i4", fillvalue=-3)
        file.create_dataset("never_text", (ROWS,), h5py.string_dtype())
        file.create_dataset("none", (0, 3), "<f4", maxshape=(None, 3))
        file["scalar"] = 5
        file["nothing"] = h5py.Empty("f4")
    for name in ("compact", "implicit", "never_written"):
        assert check(path, name) == ROWS
    assert hr.read(path, fields=["never_text"])[3]["never_text"] == ""
    assert len(hr.read(path, fields=["none"])) == 0
    with pytest.raises(ValueError, match="'scalar' is a single value"):
        hr.read(path, fields=["scalar"])


def test_a_small_file_that_claims_much_takes_little(tmp_path: Path):
    path, rows = tmp_path / "x.h5", 1 << 40
    with h5py.File(path, "w") as file:
        for i in range(20):
            file.create_dataset(f"few/{i}", (1 << 22,), "<i8", chunks=(1 << 16,), fillvalue=i)
        file.create_dataset("many", (rows,), "<i4", chunks=(1000,), fillvalue=7)
        file.create_dataset("texts", (rows,), h5py.string_dtype(), chunks=(1000,))
        file.create_dataset("wide", (4, 1 << 28), "<i8", chunks=(1, 1 << 10))
    ds = hr.read(path, fields=["many"])
    assert len(ds) == rows and ds[rows - 1]["many"] == 7
    assert hr.read(path, group="few")[12345]["11"] == 11
    for name in ("texts", "wide"):
        with pytest.raises(MemoryError):
            hr.read(path, fields=[name])


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("chunks", [20_000, 90_000])
def test_indexes_of_many_chunks(tmp_path: Path, grows: bool, chunks: int):
    path = tmp_path / "x.h5"
    for version in VERSIONS if chunks < 50_000 else ["latest"]:
        with h5py.File(path, "w", libver=version) as file:
            shape = {"maxshape": (None,)} if grows else {}
            data = file.create_dataset("x", (chunks,), "<u2", chunks=(1,), fillvalue=9, **shape)
            data[: chunks // 2] = np.arange(chunks // 2)
            data[chunks - 3 :] = 7
        rows = [*RANDOM.integers(0, chunks, 300), 0, chunks - 4, chunks - 1, chunks // 2 - 1, chunks // 2]
        assert check(path, "x", rows) == len(rows)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [3, 40, 3000])
def test_groups_of_few_and_many_datasets(tmp_path: Path, version: str, count: int):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=version) as file:
        for i in range(count):
            file[f"deep/er/a_dataset_of_number_{i}"] = np.full(2, i)
    ds = hr.read(path)
    assert len(ds.schema) == count
    sample = ds[1]
    assert all(sample[f"a_dataset_of_number_{i}"] == i for i in range(count))


def test_groups_are_splits_and_files_are_joined(tmp_path: Path):
    for part in range(3):
        with h5py.File(tmp_path / f"part-{part}.h5", "w", userblock_size=512 if part == 1 else 0) as file:
            for split, rows in {"train": 5, "val": 2}.items():
                images = file.create_dataset(f"{split}/images", (rows,), h5py.vlen_dtype(np.uint8))
                for row in range(rows):
                    images[row] = np.full(row + 1, part, np.uint8)
                file[f"{split}/targets"] = np.arange(rows) + 10 * part
                file[f"{split}/rows"] = rows
    for path in (tmp_path, tmp_path / "part-*.h5", [tmp_path / f"part-{i}.h5" for i in range(3)]):
        ds = hr.read_hdf5(path, group="/train")
        assert list(ds.schema) == ["images", "targets"] and len(ds) == 15
        assert [int(s["targets"]) for s in ds] == [10 * (i // 5) + i % 5 for i in range(15)]
        assert ds[7]["images"] == b"\1\1\1"
    with pytest.raises(ValueError, match=r"several groups \(train, val\); select one with group="):
        hr.read(tmp_path)
    with pytest.raises(ValueError, match="no datasets in group 'test'; groups with datasets: train, val"):
        hr.read(tmp_path, group="test")
    with pytest.raises(ValueError, match="no dataset 'labels' in group 'val'; it has images, targets"):
        hr.read(tmp_path, group="val", fields=["labels"])


def test_links_and_what_leads_out_of_the_file(tmp_path: Path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["data/x"] = np.arange(4)
        file["data/same"] = file["data/x"]
        file["data/soft"] = h5py.SoftLink("x")
        file["data/absolute"] = h5py.SoftLink("/data/soft")
        file["data/dangling"] = h5py.SoftLink("/nowhere")
        file["data/loop"] = file["data"]
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/secret")
        file.create_dataset("outside", (4,), "<i4", external=[(str(tmp_path / "secret"), 0, 16)])
        layout = h5py.VirtualLayout((4,), "<i8")
        layout[:] = h5py.VirtualSource("other.h5", "x", (4,))
        file.create_virtual_dataset("virtual", layout)
    ds = hr.read(path, group="data")
    assert set(ds.schema) == {"x", "same", "soft", "absolute"} and ds[3]["absolute"] == 3
    for name, why in {"elsewhere": "cannot follow a link to another file", "outside": "cannot read external storage",
                      "virtual": "cannot read virtual datasets"}.items():  # fmt: skip
        with pytest.raises(NotImplementedError, match=why):
            hr.read(path, fields=[name])
    with pytest.raises(NotImplementedError, match="fields="):
        hr.read(path, group="/", fields=None)


def test_lengths_that_differ_are_not_guessed(tmp_path: Path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"], file["classes"] = np.zeros((4, 2)), np.zeros(9)
    with pytest.raises(ValueError, match=r"'classes' of 9 rows and 'images' of 4 rows; select .*fields="):
        hr.read(tmp_path / "x.h5")
    assert len(hr.read(tmp_path / "x.h5", fields=["images"])) == 4


@pytest.mark.parametrize(
    "options",
    [{}, {"compression": "gzip"}, {"rows_per_chunk": 3}, {"compression": "gzip", "rows_per_chunk": 3}],
)
def test_what_we_write_is_read_by_h5py(tmp_path: Path, options: dict[str, Any]):
    """The course layout, arrays and runs; and back from a file that h5py wrote."""
    rows = 60
    images = [RANDOM.bytes(i * i * 37 % 20_000) for i in range(rows)]
    columns = {
        name: numbers(name, rows, 2, 3)
        for name in ("u1", "<u2", "<u4", "<u8", "i1", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8")
    }
    columns |= {"?": numbers("u1", rows) % 2 == 0, "targets": np.arange(rows)}
    source = tmp_path / "theirs.h5"
    with h5py.File(source, "w") as file:
        for name, data in columns.items():
            file[name] = data
        runs = file.create_dataset("meta/floats", (rows,), h5py.vlen_dtype(np.float32))
        texts = file.create_dataset("meta/text", (rows,), h5py.string_dtype())
        data = file.create_dataset("images", (rows,), h5py.vlen_dtype(np.uint8))
        for i in range(rows):
            runs[i], texts[i], data[i] = (
                numbers("<f4", i % 7),
                "ä" * (i % 5),
                np.frombuffer(images[i], np.uint8),
            )
    fields = [*columns, "images", "meta/text", "meta/floats"]
    target = tmp_path / "ours.h5"
    hr.read(source, fields=fields).write(target, options=options, verify=True)
    with h5py.File(target) as ours, h5py.File(source) as theirs:
        assert [i.tobytes() for i in ours["images"]] == images
        assert list(ours["meta/text"].asstr()) == list(theirs["meta/text"].asstr())
        for i in range(rows):
            assert np.array_equal(ours["meta/floats"][i], theirs["meta/floats"][i])
        for name, data in columns.items():
            assert ours[name].dtype == theirs[name].dtype and np.array_equal(ours[name], data), name
            assert ours[name].compression == options.get("compression")
    assert list(hr.read(target).schema) == fields


def datasets(path: Path) -> list[tuple[str, int]]:
    """Every dataset with rows, as h5py sees the file; none where it refuses it."""
    found: list[tuple[str, int]] = []

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape:
            found.append((name, item.shape[0]))

    try:
        with h5py.File(path) as file:
            file.visititems(add)
    except OSError:
        return []
    return found


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
def test_real_files_read_as_h5py_reads_them():
    compared = 0
    for path in sorted(
        p for p in [*DATA.glob("hdf5/**/*"), *DATA.glob("official_writers/hdf5/*")] if p.is_file()
    ):
        found = datasets(path)
        if not found:
            with pytest.raises(REFUSALS):
                hr.read(path, format="hdf5")
        for name, rows in found:
            compared += check(path, name, range(min(rows, 500)))
    assert compared > 2000
