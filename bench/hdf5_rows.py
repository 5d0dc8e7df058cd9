"""CPU of a record in HDF5 files of the course layout, runs of uint8 and an int: h5py beside the loader, on the same files.

    python bench/hdf5_rows.py FOLDER

Both hand every image to the same consumer as `bytes`. The files are made in FOLDER when they are not there. Afterwards, how wall time
changes with the number of readers: h5py in threads, which share its lock, and the loader's workers.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import headrace as hr

ROUNDS = 3


def make(path: Path, size: int, rows: int) -> None:
    """Write `rows` runs of `size` bytes and as many labels."""
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (rows,), h5py.vlen_dtype(np.uint8))
        for i in range(rows):
            images[i] = np.frombuffer(os.urandom(min(size, 64)).ljust(size, b"\0"), np.uint8)
        file["targets"] = np.arange(rows) % 1000


def cpu_us(run: Callable[[], int]) -> float:
    """Best CPU time of a record over some rounds, in microseconds, all threads."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        records = run()
        times.append((time.process_time() - begin) / records * 1e6)
    return min(times)


def through_h5py(path: Path, order: Any) -> int:
    """Take one row after the other."""
    total = 0
    with h5py.File(path) as file:
        images, targets = file["images"], file["targets"]
        for i in order:
            total += len(images[i].tobytes()) + int(targets[i])
    return len(order) if total else 0


def through_h5py_256(path: Path, rows: int) -> int:
    """Take 256 rows at once."""
    total = 0
    with h5py.File(path) as file:
        images, targets = file["images"], file["targets"]
        for first in range(0, rows, 256):
            total += sum(len(image.tobytes()) for image in images[first : first + 256])
            total += int(targets[first : first + 256].sum())
    return rows if total else 0


def through_headrace(ds: hr.Dataset, batch: int, workers: int | None = None) -> int:
    """Take batches out of the loader."""
    records = total = 0
    for x in ds.batch(batch).options(**({"workers": workers} if workers else {})):
        total += sum(map(len, x["images"])) + int(x["targets"].sum())
        records += len(x["targets"])
    return records if total else 0


def rate(run: Callable[[], int]) -> float:
    """Best number of records a second over some rounds."""
    rates = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        rates.append(run() / (time.perf_counter() - begin))
    return max(rates)


def scaling(path: Path, ds: hr.Dataset, rows: int, order: list[int]) -> None:
    """Print records a second of one reader and of several, shuffled."""
    for readers in (1, 2, 4, 8):
        with ThreadPoolExecutor(readers) as threads:
            shares = [order[i::readers] for i in range(readers)]
            theirs = rate(lambda: sum(threads.map(lambda share: through_h5py(path, share), shares)))  # noqa: B023
        ours = rate(lambda: through_headrace(ds, 256, readers))  # noqa: B023
        print(f"{rows} rows, {readers} readers: h5py {theirs:,.0f} records/s, headrace {ours:,.0f}")


def main(folder: Path) -> None:
    """Print a line for each file and order."""
    for size, rows in ((110_000, 2_000), (100, 100_000)):
        path = folder / f"{size}.h5"
        if not path.exists():
            make(path, size, rows)
        ds = hr.read(path)
        shuffled = np.random.default_rng(1).permutation(rows).tolist()
        few = min(rows, 10_000)
        for name, order, data in (
            ("in order", list(range(few)), ds),
            ("shuffled", shuffled[:few], ds.shuffle(seed=1)),
        ):
            theirs = cpu_us(lambda order=order, path=path: through_h5py(path, order))  # type: ignore[misc]
            ours = [cpu_us(lambda data=data, b=b: through_headrace(data, b)) for b in (8, 256)]  # type: ignore[misc]
            print(f"{size} B {name}: h5py {theirs:.2f} us, batches of 8 {ours[0]:.2f}, of 256 {ours[1]:.2f}")
        at_once = cpu_us(lambda path=path, rows=rows: through_h5py_256(path, rows))  # type: ignore[misc]
        print(f"{size} B, 256 at once: h5py {at_once:.2f} us")
        scaling(path, ds.shuffle(seed=1), rows, shuffled[:few])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
