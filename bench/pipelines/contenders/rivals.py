"""Readers of the formats of `rival_data`, one per process: `READER CONTAINER FILE SIZE ORDER BATCH WORKERS`.

Each passes every record to the same consumer, which takes its length and its first byte: as `bytes`, or as a row of an array if the
format has arrays. If a reader's name ends in "views" it passes its own object without a copy; if in "batch" the consumer takes the first
byte of all rows at once. ORDER is "sequential" or "random". WORKERS is headrace's: 1, with one reader thread, or 0: everything in the
caller's thread.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from .record_data import RECORDS
from .segment import serve

reader, container, file, size_text, order, batch_text, workers_text = sys.argv[1:]
path, size, batch = Path(file), int(size_text), int(batch_text)
count = RECORDS[size]
is_random = order == "random"
BLOCKS = 4  # LitData shuffles chunks, in each chunk groups of 256, and then the samples of a group
EPOCHS_AT_ONCE = 64  # FFCV's loader starts threads each time


def consume(records: Iterable[Any]) -> int:
    """Read from every record."""
    total = 0
    for record in records:
        total += len(record) + record[0]
    return total


def consume_rows(rows: Iterable[Any]) -> int:
    """Read from every record; NumPy numbers are added one type at a time, or they overflow."""
    return sum(len(row) + int(row[0]) for row in rows)


def consume_batch(rows: Any) -> int:
    return len(rows) + int(rows[:, 0].sum())


def indices() -> list[int]:
    draw = np.random.default_rng(1)
    places: list[int] = (draw.permutation(count) if is_random else np.arange(count)).tolist()
    return places


def grouped(records: Iterator[Any]) -> Iterator[int]:
    """Groups of the same size, for a reader without batches."""
    while True:
        yield consume(next(records) for _ in range(batch))


def headrace(form: str) -> Iterator[int]:
    import headrace as hr  # noqa: PLC0415 - where it is installed

    ds = hr.read(path)
    names = list(ds.schema) if isinstance(ds.schema, dict) else []  # none: samples are the records themselves
    if is_random:
        ds = ds.shuffle(seed=1, blocks=BLOCKS if form == "blocks" else 0)
    for element in ds.repeat().batch(batch).options(workers=int(workers_text), io=1).numpy():
        rows = element[names[0]] if names else element
        if form == "batch":
            yield consume_batch(rows)
        elif isinstance(rows, np.ndarray):
            yield consume_rows(rows)
        else:
            yield consume(rows.views() if form == "views" else rows)


def memcpy() -> Iterator[int]:
    """Copy the records from memory to memory, by NumPy's compiled loop."""
    data, into = np.zeros((count, size), np.uint8), np.zeros((batch, size), np.uint8)
    data += 1  # gives it its own pages
    places = np.array(indices())
    while True:
        for begin in range(0, count - batch + 1, batch):
            if is_random:
                np.take(data, places[begin : begin + batch], axis=0, out=into, mode="clip")
            else:
                np.copyto(into, data[begin : begin + batch])
            yield batch


def mapped(consumer: Callable[[Any], int]) -> Iterator[int]:
    """Batches copied from the map, as collating does."""
    array = np.asarray(np.load(path, mmap_mode="r"))
    places = np.array(indices())
    while True:
        for begin in range(0, count - batch + 1, batch):
            rows = array[places[begin : begin + batch]] if is_random else array[begin : begin + batch].copy()
            yield consumer(rows)


def mapped_views() -> Iterator[int]:
    array = np.asarray(np.load(path, mmap_mode="r"))
    rows = cycle(indices())
    while True:
        yield consume_rows(array[next(rows)] for _ in range(batch))


def loaded() -> Iterator[int]:
    """Load everything into memory, once per epoch."""
    places = indices()
    while True:
        array = np.load(path) if container == "npy" else np.load(path)["record"]
        for begin in range(0, count - batch + 1, batch):
            yield consume_rows(array[i] for i in places[begin : begin + batch])


def mds() -> Iterator[int]:
    """Its reader of local data: StreamingDataset does the same for each sample, plus more work."""
    import streaming  # noqa: PLC0415

    data = streaming.LocalDataset(str(path))
    return grouped(data[i]["record"] for i in cycle(indices()))


def litdata(is_indexed: bool, as_bytes: bool = True) -> Iterator[int]:
    """Its iterator, which shuffles chunks and, within them, groups of 256 samples; or access by index."""
    import litdata as ld  # noqa: PLC0415

    data = ld.StreamingDataset(str(path), shuffle=is_random)

    def samples() -> Iterator[Any]:
        while True:
            yield from (data[i] for i in indices()) if is_indexed else data

    if container == "litdata":
        return grouped(sample["record"] for sample in samples())
    return grouped(bytes(sample) for sample in samples()) if as_bytes else grouped(samples())


def array_record(how: str) -> Iterator[int]:
    """Its module without read-ahead, whose threads cost more than they gain here, or with the best settings for ranges."""
    from array_record.python.array_record_module import ArrayRecordReader  # noqa: PLC0415

    ahead = (1 << 20) if how == "range" else 0
    opened = ArrayRecordReader(str(path), f"readahead_buffer_size:{ahead},max_parallelism:0")

    def records() -> Iterator[bytes]:
        while True:
            if how == "range":
                for begin in range(0, count, batch):
                    yield from opened.read(begin, min(begin + batch, count))
            elif how == "seek":
                for i in indices():
                    opened.seek(i)
                    yield opened.read()
            else:
                opened.seek(0)
                for _ in range(count):
                    yield opened.read()

    return grouped(records())


def beton(consumer: Callable[[Any], int]) -> Iterator[int]:
    """One thread, which copies records from the map into arrays that it reuses."""
    from ffcv.fields.bytes import BytesDecoder  # noqa: PLC0415
    from ffcv.fields.decoders import NDArrayDecoder  # noqa: PLC0415
    from ffcv.loader import Loader, OrderOption  # noqa: PLC0415

    loader = Loader(
        str(path),
        batch_size=batch,
        num_workers=1,
        os_cache=True,
        drop_last=True,
        batches_ahead=2,
        order=OrderOption.RANDOM if is_random else OrderOption.SEQUENTIAL,
        indices=np.tile(np.arange(count), EPOCHS_AT_ONCE),
        pipelines={"record": [BytesDecoder() if container == "beton-bytes" else NDArrayDecoder()]},
    )
    while True:
        for (rows,) in loader:
            yield consumer(rows)


READERS: dict[str, Callable[[], Iterator[int]]] = {
    "headrace": lambda: headrace("bytes"),
    "headrace-views": lambda: headrace("views"),
    "headrace-blocks": lambda: headrace("blocks"),
    "headrace-batch": lambda: headrace("batch"),
    "memcpy": memcpy,
    "mmap": lambda: mapped(consume_rows),
    "mmap-batch": lambda: mapped(consume_batch),
    "mmap-views": mapped_views,
    "load": loaded,
    "LocalDataset": mds,
    "iterator": lambda: litdata(is_indexed=False),
    "iterator-blocks": lambda: litdata(is_indexed=False),
    "iterator-views": lambda: litdata(is_indexed=False, as_bytes=False),
    "index": lambda: litdata(is_indexed=True),
    "index-views": lambda: litdata(is_indexed=True, as_bytes=False),
    "read": lambda: array_record("read"),
    "range": lambda: array_record("range"),
    "seek": lambda: array_record("seek"),
    "Loader": lambda: beton(consume_rows),
    "Loader-batch": lambda: beton(consume_batch),
}

serve(READERS[reader](), batch)
