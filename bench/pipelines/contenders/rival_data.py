"""Files for `rivals.py`, each written by its format's own writer with its defaults: made if they are missing.

    python -m contenders.rival_data FOLDER [CONTAINER …]

The records are those of `record_data`. A container whose writer cannot be imported here is left to another Python.
"""

import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .record_data import RECORDS, read_anew, records

CONTAINERS = (
    "npy",
    "npz",
    "mds",
    "litdata",
    "litdata-tree",
    "array_record",
    "array_record-plain",
    "beton",
    "beton-bytes",
)
ENDINGS = {"mds": "", "litdata": "", "litdata-tree": ""}  # folders


def path_of(folder: Path, container: str, size: int) -> Path:
    return folder / f"{size}-{container}{ENDINGS.get(container, '.' + container.split('-', maxsplit=1)[0])}"


@cache
def all_records(size: int) -> list[bytes]:
    return list(records(size))


def array_of(size: int) -> np.ndarray:
    return np.frombuffer(b"".join(all_records(size)), np.uint8).reshape(RECORDS[size], size)


def write_npy(path: Path, size: int) -> None:
    np.save(path, array_of(size))


def write_npz(path: Path, size: int) -> None:
    np.savez(path, record=array_of(size))


def write_mds(path: Path, size: int) -> None:
    import streaming  # noqa: PLC0415 - where it is installed

    with streaming.MDSWriter(out=str(path), columns={"record": "bytes"}) as writer:
        for record in all_records(size):
            writer.write({"record": record})


def as_row(record: bytes) -> dict[str, bytes]:
    return {"record": record}


def as_leaf(record: bytes) -> bytes:
    return record


def write_litdata(path: Path, size: int, one: Any = as_row) -> None:
    """Rows of Arrow, as 0.2.76 stores a dict of bytes; `as_leaf`: samples of one leaf."""
    import litdata  # noqa: PLC0415

    litdata.optimize(one, all_records(size), str(path), chunk_bytes="64MB", num_workers=1, fast_dev_run=False)


def write_array_record(path: Path, size: int, options: str = "group_size:1") -> None:
    """Groups of one record, as Grain requires; compressed by zstd, although the records are incompressible."""
    from array_record.python import array_record_module  # noqa: PLC0415

    writer = array_record_module.ArrayRecordWriter(str(path), options)
    for record in all_records(size):
        writer.write(record)
    writer.close()


class Samples:
    """The input of FFCV's writer: tuples by index."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return RECORDS[self.size]

    def __getitem__(self, index: int) -> tuple[np.ndarray]:
        return (np.frombuffer(all_records(self.size)[index], np.uint8),)


def write_beton(path: Path, size: int, is_array: bool = True) -> None:
    from ffcv.fields import BytesField, NDArrayField  # noqa: PLC0415
    from ffcv.writer import DatasetWriter  # noqa: PLC0415

    field = NDArrayField(np.dtype(np.uint8), (size,)) if is_array else BytesField()
    all_records(size)  # before the writer's processes are forked
    DatasetWriter(str(path), {"record": field}, num_workers=1).from_indexed_dataset(Samples(size))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "npy": write_npy,
    "npz": write_npz,
    "mds": write_mds,
    "litdata": write_litdata,
    "litdata-tree": lambda path, size: write_litdata(path, size, as_leaf),
    "array_record": write_array_record,
    "array_record-plain": lambda path, size: write_array_record(path, size, "group_size:1,uncompressed"),
    "beton": write_beton,
    "beton-bytes": lambda path, size: write_beton(path, size, is_array=False),
}


def make(folder: Path, containers: list[str]) -> None:
    """Make the missing files that can be made here."""
    folder.mkdir(parents=True, exist_ok=True)
    for container in containers or CONTAINERS:
        for size in RECORDS:
            path = path_of(folder, container, size)
            if path.exists():
                continue
            partial = path.with_name("partial-" + path.name)
            shutil.rmtree(partial, ignore_errors=True)
            partial.unlink(missing_ok=True)
            try:
                WRITERS[container](partial, size)
            except ImportError:
                continue
            partial.rename(path)
            read_anew(path)


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2:])
