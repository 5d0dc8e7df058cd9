"""Readers of record containers, one per process: `READER CONTAINER FILE SIZE ORDER BATCH WORKERS`.

Each passes every record to the same consumer, which takes its length and its first byte: as `bytes`, or, if a reader's name ends in
"views" (or "tensor"), as the reader's own object without making bytes of it. A reader whose name ends in "array" passes all records of a
batch as one array of bytes with the offset of each, as training uses them. ORDER is "sequential" or "random". WORKERS is
headrace's: 1, with one reader thread, or 0, everything in the caller's thread, as with the peers that do so.
"""

import os
import struct
import sys
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from .record_data import RECORDS, extents_of
from .segment import serve

reader, container, file, size_text, order, batch_text, workers_text = sys.argv[1:]
as_array = reader.endswith("-array")
path, size, batch = Path(file), int(size_text), int(batch_text)
count = RECORDS[size]
FIELDS = {
    "tfrecord": "record",
    "recordio": "record",
    "webdataset": "bin",
    "lmdb": "value",
    "arrow": "image_data",
    "hdf5": "images",
    "zarr": "array",
}


def consume(records: Iterable[Any]) -> int:
    """Read from every record."""
    total = 0
    if container == "zarr":  # rows are NumPy arrays
        return sum(len(record) + int(record[0]) for record in records)
    for record in records:
        total += len(record) + record[0]
    return total


def consume_array(values: Any, row_splits: Any) -> int:
    """Read the same from every record."""
    return int(row_splits[-1]) + int(values[row_splits[:-1]].sum(dtype=np.int64))


def splits_of(records: Any) -> Any:
    row_splits = np.zeros(len(records) + 1, np.int64)
    np.cumsum([len(record) for record in records], out=row_splits[1:])
    return row_splits


def joined(records: list[Any]) -> int:
    return consume_array(np.frombuffer(b"".join(records), np.uint8), splits_of(records))


def indices() -> list[int]:
    draw = np.random.default_rng(1)
    return (draw.permutation(count) if order == "random" else np.arange(count)).tolist()


def grouped(records: Iterator[Any]) -> Iterator[int]:
    """Groups of the same size, for a reader without batches."""
    while True:
        yield (
            joined(list(islice(records, batch))) if as_array else consume(next(records) for _ in range(batch))
        )


def headrace(views: bool) -> Iterator[int]:
    import headrace as hr  # noqa: PLC0415 - where it is installed

    ds = hr.read_recordio(path, header=False) if container == "recordio" else hr.read(path, format=container)
    if order == "random":
        ds = ds.shuffle(seed=1)
    field = FIELDS[container]
    for element in ds.repeat().batch(batch).options(workers=int(workers_text), io=1).numpy():
        rows = element[field]
        if as_array:
            yield consume_array(rows.values, rows.row_splits)
            continue
        yield consume(rows.views() if views and hasattr(rows, "views") else rows)


def tfdata(tensor: bool) -> Iterator[int]:
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    import tensorflow as tf  # noqa: PLC0415

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    read = tf.data.TFRecordDataset(str(path), buffer_size=1 << 20).repeat().batch(batch).prefetch(2)
    read = read.with_options(options)
    if tensor:
        for element in read:
            yield len(element)  # its content is not read
    for element in read.as_numpy_iterator():
        yield joined(element.tolist()) if as_array else consume(element)


def pread() -> Iterator[int]:
    """Only read the same extents into one buffer."""
    extents = extents_of(path)[indices()]
    data = memoryview(bytearray(int(extents[:, 1].max())))
    places = [(int(offset), data[: int(length)]) for offset, length in extents]
    descriptor = os.open(path, os.O_RDONLY)

    def records() -> Iterator[memoryview]:
        for offset, into in cycle(places):
            os.preadv(descriptor, [into], offset)
            yield into

    return grouped(records())


def recordio_in_python() -> Iterator[int]:
    """Read dmlc's framing in Python."""

    def records() -> Iterator[bytes]:
        offsets = extents_of(path)[:, 0].tolist()
        with path.open("rb") as data:
            while True:
                if order == "sequential":
                    data.seek(0)
                for i in indices():
                    if order == "random":
                        data.seek(offsets[i])
                    magic, length = struct.unpack("<II", data.read(8))
                    assert magic == 0xCED7230A
                    yield data.read(length)
                    data.read(-length % 4)

    return grouped(records())


def lmdb_records(buffers: bool) -> Iterator[int]:
    import lmdb  # noqa: PLC0415

    env = lmdb.open(str(path), subdir=False, readonly=True, lock=False, readahead=False)

    def records() -> Iterator[Any]:
        keys = [b"%08d" % i for i in indices()]
        with env.begin(buffers=buffers) as transaction:
            while True:
                if order == "sequential":
                    for _, value in transaction.cursor():
                        yield value
                else:
                    yield from map(transaction.get, keys)

    return grouped(records())


def pyarrow_records() -> Iterator[int]:
    import pyarrow as pa  # noqa: PLC0415

    table = pa.ipc.open_file(pa.memory_map(str(path)))
    labels = []

    def records() -> Iterator[bytes]:
        for i in cycle(indices()):
            row = table.get_batch(i)
            labels.append(row.column(1)[0].as_py())
            yield row.column(0)[0].as_py()

    def arrays() -> Iterator[int]:
        group = []
        for i in cycle(indices()):
            row = table.get_batch(i)
            labels.append(row.column(1)[0].as_py())
            group.append(row.column(0))
            if len(group) == batch:
                _, row_splits, values = pa.concat_arrays(group).buffers()
                yield consume_array(np.frombuffer(values, np.uint8), np.frombuffer(row_splits, np.int32))
                group = []

    return arrays() if as_array else grouped(records())


def h5py_records(at_once: int) -> Iterator[int]:
    import h5py  # noqa: PLC0415

    file = h5py.File(path)
    images, targets = file["images"], file["targets"]
    labels = []

    def records() -> Iterator[bytes]:
        for i in cycle(indices()):
            labels.append(int(targets[i]))
            yield images[i].tobytes()

    def slices() -> Iterator[bytes]:
        for begin in cycle(range(0, count, at_once)):
            labels.extend(targets[begin : begin + at_once].tolist())
            for image in images[begin : begin + at_once]:
                yield image.tobytes()

    def arrays() -> Iterator[int]:
        for begin in cycle(range(0, count, at_once)):
            labels.extend(targets[begin : begin + at_once].tolist())
            rows = images[begin : begin + at_once]
            yield consume_array(np.concatenate(rows), splits_of(rows))

    if as_array and at_once > 1:
        return arrays()
    return grouped(records() if at_once == 1 else slices())


def zarr_records(at_once: int) -> Iterator[int]:
    import zarr  # noqa: PLC0415

    array = zarr.open_array(str(path), mode="r")

    def records() -> Iterator[Any]:
        for i in cycle(indices()):
            yield array[i]

    def slices() -> Iterator[Any]:
        for begin in cycle(range(0, count, at_once)):
            yield from array[begin : begin + at_once]

    return grouped(records() if at_once == 1 else slices())


def spdl_records() -> Iterator[int]:
    import spdl.io  # noqa: PLC0415

    def records() -> Iterator[Any]:
        while True:
            with path.open("rb") as data:
                for _, member in spdl.io.iter_tarfile(data):
                    yield member

    return grouped(records())


def webdataset_records() -> Iterator[int]:
    import webdataset  # noqa: PLC0415

    def records() -> Iterator[Any]:
        while True:
            for sample in webdataset.WebDataset(str(path), shardshuffle=False):
                yield sample["bin"]

    return grouped(records())


READERS = {
    "headrace": lambda: headrace(views=False),
    "headrace-views": lambda: headrace(views=True),
    "tfdata": lambda: tfdata(tensor=False),
    "tfdata-tensor": lambda: tfdata(tensor=True),
    "pread": pread,
    "python": recordio_in_python,
    "lmdb": lambda: lmdb_records(buffers=False),
    "lmdb-views": lambda: lmdb_records(buffers=True),
    "pyarrow": pyarrow_records,
    "h5py": lambda: h5py_records(1),
    "h5py-256": lambda: h5py_records(256),
    "zarr": lambda: zarr_records(1),
    "zarr-256": lambda: zarr_records(256),
    "spdl": spdl_records,
    "webdataset": webdataset_records,
}

serve(READERS[reader.removesuffix("-array")](), batch)
