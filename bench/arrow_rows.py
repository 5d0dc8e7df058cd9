"""CPU of a record in Arrow files with one row a batch: pyarrow over a memory map beside the loader, on the same files.

    python bench/arrow_rows.py FOLDER

Both hand every image to the same consumer as `bytes`. The files are made in FOLDER when they are not there.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

import headrace as hr

ROUNDS = 3


def make(path: Path, size: int, rows: int) -> None:
    """Write `rows` batches of one row: image_data of `size` bytes and a label."""
    schema = pa.schema([("image_data", pa.binary()), ("label", pa.uint16())])
    with ipc.new_file(path, schema) as writer:
        for i in range(rows):
            data = os.urandom(min(size, 64)).ljust(size, b"\0")
            columns = [pa.array([data]), pa.array([i % 1000], pa.uint16())]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def cpu_us(run: Callable[[], int]) -> float:
    """Best CPU time of a record over some rounds, in microseconds, all threads."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        records = run()
        times.append((time.process_time() - begin) / records * 1e6)
    return min(times)


def through_pyarrow(path: Path, order: Any) -> int:
    """Take one batch after the other out of the map."""
    reader, total = ipc.open_file(pa.memory_map(str(path))), 0
    for i in order:
        batch = reader.get_batch(i)
        total += len(batch.column(0)[0].as_py()) + batch.column(1)[0].as_py()
    return len(order) if total else 0


def through_headrace(ds: hr.Dataset, batch: int) -> int:
    """Take batches out of the loader."""
    records = total = 0
    for x in ds.batch(batch):
        total += sum(map(len, x["image_data"])) + int(x["label"].sum())
        records += len(x["label"])
    return records if total else 0


def main(folder: Path) -> None:
    """Print a line for each file and order."""
    for size, rows in ((110_000, 2_000), (100, 200_000)):
        path = folder / f"{size}.arrow"
        if not path.exists():
            make(path, size, rows)
        ds = hr.read(path)
        shuffled = np.random.default_rng(1).permutation(rows).tolist()
        for name, order, data in (
            ("in order", list(range(rows)), ds),
            ("shuffled", shuffled, ds.shuffle(seed=1)),
        ):
            theirs = cpu_us(lambda order=order, path=path: through_pyarrow(path, order))  # type: ignore[misc]
            ours = [cpu_us(lambda data=data, b=b: through_headrace(data, b)) for b in (8, 256)]  # type: ignore[misc]
            print(
                f"{size} B {name}: pyarrow {theirs:.2f} us, batches of 8 {ours[0]:.2f}, of 256 {ours[1]:.2f}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
