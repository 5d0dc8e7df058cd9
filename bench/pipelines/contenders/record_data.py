"""Files for `containers.py`, one per container and size: made if they are missing.

    python -m contenders.record_data FOLDER [CONTAINER …]

Next to each is `<file>.extents.npy`: the extent of each record in its file, for the loop of pread.
"""

import os
import random
import shutil
import struct
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np

LARGE, SMALL = 110_000, 100
RECORDS = {LARGE: 4_096, SMALL: 204_800}
CONTAINERS = ("tfrecord", "recordio", "webdataset", "lmdb", "arrow", "hdf5", "zarr")


def path_of(folder: Path, container: str, size: int) -> Path:
    endings = {"recordio": "rec", "webdataset": "tar", "hdf5": "h5"}
    return folder / f"{size}.{endings.get(container, container)}"


def extents_of(path: Path) -> np.ndarray:
    """Offset and length of each record, as (n, 2)."""
    extents: np.ndarray = np.load(path.with_name(path.name + ".extents.npy"))
    return extents


def records(size: int) -> Iterator[bytes]:
    """Records that differ in their first bytes."""
    draw = random.Random(size)
    noise = draw.randbytes(size)
    for i in range(RECORDS[size]):
        yield struct.pack("<Q", i) + noise[8:]


def evenly(path: Path, size: int, framed: int) -> np.ndarray:
    count = RECORDS[size]
    assert framed * count <= path.stat().st_size
    return np.array([(i * framed, framed) for i in range(count)], np.int64)


def write_tfrecord(path: Path, size: int) -> np.ndarray:
    import tensorflow as tf  # noqa: PLC0415 - where it is installed

    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records(size):
            writer.write(record)
    return evenly(path, size, size + 16)


def write_recordio(path: Path, size: int) -> np.ndarray:
    padding = b"\0" * (-size % 4)
    with path.open("wb") as file:
        for record in records(size):
            file.write(struct.pack("<II", 0xCED7230A, size) + record + padding)
    return evenly(path, size, 8 + size + len(padding))


def write_webdataset(path: Path, size: int) -> np.ndarray:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i, record in enumerate(records(size)):
            info = tarfile.TarInfo(f"{i:08}.bin")
            info.size = size
            tar.addfile(info, BytesIO(record))
    return evenly(path, size, 512 + (size + 511) // 512 * 512)


def write_lmdb(path: Path, size: int) -> np.ndarray:
    import lmdb  # noqa: PLC0415

    with lmdb.open(str(path), subdir=False, map_size=1 << 32) as env, env.begin(write=True) as transaction:
        for i, record in enumerate(records(size)):
            transaction.put(b"%08d" % i, record, append=True)
    Path(str(path) + "-lock").unlink()
    page = 4096  # for small records the page is read
    if size == SMALL:
        per_page = max(1, RECORDS[size] // (path.stat().st_size // page))
        return np.array([((2 + i // per_page) * page, page) for i in range(RECORDS[size])], np.int64)
    framed = (16 + size + page - 1) // page * page
    return np.array([(2 * page + i * framed, 16 + size) for i in range(RECORDS[size])], np.int64)


def write_arrow(path: Path, size: int) -> np.ndarray:
    import pyarrow as pa  # noqa: PLC0415

    schema = pa.schema([("image_data", pa.binary()), ("label", pa.uint16())])
    begins = []
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for i, record in enumerate(records(size)):
            begins.append(file.tell())
            writer.write_batch(
                pa.record_batch([pa.array([record]), pa.array([i % 1000], pa.uint16())], schema=schema)
            )
        begins.append(file.tell())
    return np.array([(a, b - a) for a, b in pairwise(begins)], np.int64)


def write_hdf5(path: Path, size: int) -> np.ndarray:
    import h5py  # noqa: PLC0415

    count = RECORDS[size]
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (count,), h5py.vlen_dtype(np.uint8))
        begins = range(0, count, 4096)
        every = records(size)
        for begin in begins:
            images[begin : begin + 4096] = [
                np.frombuffer(next(every), np.uint8) for _ in range(min(4096, count - begin))
            ]
        file["targets"] = np.arange(count) % 1000
    return found(path, size)


def write_zarr(path: Path, size: int) -> np.ndarray:
    import zarr  # noqa: PLC0415

    count, rows = RECORDS[size], max(1, (64 << 10) // size)
    data = np.frombuffer(b"".join(records(size)), np.uint8).reshape(count, size)
    shards = (min(count, 256 * rows), size)
    zarr.create_array(str(path), data=data, chunks=(rows, size), shards=shards, zarr_format=3)
    return np.zeros((0, 2), np.int64)  # compressed


def found(path: Path, size: int) -> np.ndarray:
    """The extents of records that cannot be computed in a simple way."""
    data = path.read_bytes()
    extents = np.zeros((RECORDS[size], 2), np.int64)
    at = 0
    for i, record in enumerate(records(size)):
        at = data.index(record, at)
        extents[i] = at, size
        at += size
    return extents


WRITERS = {
    "tfrecord": write_tfrecord,
    "recordio": write_recordio,
    "webdataset": write_webdataset,
    "lmdb": write_lmdb,
    "arrow": write_arrow,
    "hdf5": write_hdf5,
    "zarr": write_zarr,
}


def read_anew(path: Path) -> None:
    """Fill the page cache by reading from disk, which uses large pieces, instead of by writing, which uses small ones."""
    for part in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
        with part.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while file.read(1 << 20):
                pass


def make(folder: Path, containers: list[str]) -> None:
    """Make what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for container, write in WRITERS.items():
        if containers and container not in containers:
            continue
        for size in RECORDS:
            path = path_of(folder, container, size)
            index = path.with_name(path.name + ".extents.npy")
            if index.exists():
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            try:
                extents = write(path, size)
            except ImportError as error:
                print(f"  {path.name}: not made ({error})", file=sys.stderr)
                continue
            np.save(index, extents)
            read_anew(path)


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2:])
