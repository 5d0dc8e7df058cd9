"""Rate of shuffled records of an HDF5 file in wall time, by number of readers: h5py in threads, which share its lock, and the loader's workers.

    python bench/experiments/hdf5_readers.py FOLDER

FOLDER has the files that bench/pipelines/containers.py makes. Its table has the CPU time per record, compared with h5py.
"""

from __future__ import annotations

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
MOST = 10_000  # records per round


def through_h5py(path: Path, order: Any) -> int:
    """Read one row after the other."""
    total = 0
    with h5py.File(path) as file:
        images, targets = file["images"], file["targets"]
        for i in order:
            total += len(images[i].tobytes()) + int(targets[i])
    return len(order) if total else 0


def through_headrace(ds: hr.Dataset, readers: int) -> int:
    """Read batches through the loader."""
    records = total = 0
    for x in ds.take(MOST).batch(256).options(workers=readers):
        total += sum(map(len, x["images"])) + int(x["targets"].sum())
        records += len(x["targets"])
    return records if total else 0


def rate(run: Callable[[], int]) -> float:
    """The best number of records per second over some rounds."""
    rates = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        rates.append(run() / (time.perf_counter() - begin))
    return max(rates)


def main(folder: Path) -> None:
    """Print a line for each file and number of readers."""
    for path in (folder / "110000.h5", folder / "100.h5"):
        ds = hr.read(path).shuffle(seed=1)
        order = np.random.default_rng(1).permutation(len(ds))[:MOST].tolist()
        for readers in (1, 2, 4, 8):
            shares = [order[i::readers] for i in range(readers)]
            with ThreadPoolExecutor(readers) as threads:
                theirs = rate(lambda: sum(threads.map(lambda share: through_h5py(path, share), shares)))  # noqa: B023
            ours = rate(lambda: through_headrace(ds, readers))  # noqa: B023
            print(f"{path.name}, {readers} readers: h5py {theirs:,.0f} records/s, headrace {ours:,.0f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
