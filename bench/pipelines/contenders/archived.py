"""Readers of many small files, one per process: `READER PATH ORDER BATCH`.

PATH is a folder, an archive, or the mount point of one. Each reader passes the bytes of every file to the same consumer, which takes their
length and the first byte. ORDER is "sequential" or "random".
"""

import os
import sys
import zipfile
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np

from .segment import serve

reader, place, order, batch_text = sys.argv[1:]
path, batch = Path(place), int(batch_text)


def in_order(names: list[str]) -> Iterator[str]:
    """The same names again and again, in the given order."""
    names = sorted(names)
    if order == "random":
        names = [names[i] for i in np.random.default_rng(1).permutation(len(names))]
    return cycle(names)


def grouped(files: Iterator[bytes]) -> Iterator[int]:
    while True:
        yield sum(len(data) + data[0] for data in (next(files) for _ in range(batch)))


def headrace() -> Iterator[int]:
    import headrace as hr  # noqa: PLC0415 - where it is installed

    ds = hr.read(path, format="images")
    if order == "random":
        ds = ds.shuffle(seed=1)
    for element in ds.repeat().batch(batch).options(workers=1, io=1).numpy():
        yield sum(len(data) + data[0] for data in element["image"])


def folder() -> Iterator[int]:
    """open() and read() of Python, also for mounted images."""
    names = [f"{root}/{name}" for root, _, files in os.walk(path) for name in files]
    return grouped(Path(name).read_bytes() for name in in_order(names))


def python_zipfile() -> Iterator[int]:
    archive = zipfile.ZipFile(path)
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    return grouped(archive.read(name) for name in in_order(names))


serve({"headrace": headrace, "folder": folder, "zipfile": python_zipfile}[reader](), batch)
