"""Readers of Parquet files, one per process: `READER FILE BATCH`. One thread decodes.

Each gives batches of all columns, photographs as `bytes`; "groups": the rows of one row group after the other, permuted. If a name ends in
"arrays", pyarrow's columns are converted to headrace's output, NumPy arrays and Python strings, in the way that is cheapest for pyarrow.
"""

import sys
from collections.abc import Iterator
from typing import Any

from .segment import serve

reader, file, batch_text = sys.argv[1:]
batch = int(batch_text)
has_images = "images" in file
makes_arrays = reader.endswith("-arrays")
columns = ["id", "x", "y"] if "-numbers" in reader else None


def headrace(order: str) -> Iterator[Any]:
    import headrace as hr  # noqa: PLC0415 - where it is installed

    ds = hr.read_parquet(file, columns=columns)
    if order == "groups":
        ds = ds.shuffle(seed=1, blocks=1)
    if order == "random":
        ds = ds.shuffle(seed=1)
    for one in ds.repeat().batch(batch, ragged=has_images).options(workers=1, io=1).numpy():
        yield (one, list(one["image"])) if has_images else one


def taken(rows: Any) -> Any:
    if has_images:
        return (rows, rows.column("image").combine_chunks().field("bytes").to_pylist())
    return [column.to_numpy(zero_copy_only=False) for column in rows.columns] if makes_arrays else rows


def pyarrow_in_order() -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    pa.set_cpu_count(1)
    while True:
        for one in pq.ParquetFile(file, memory_map=True).iter_batches(
            batch, columns=columns, use_threads=False
        ):
            yield taken(pa.Table.from_batches([one]))


def pyarrow_groups() -> Iterator[Any]:
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    pa.set_cpu_count(1)
    random = np.random.default_rng(1)
    while True:
        opened = pq.ParquetFile(file, memory_map=True)
        for i in range(opened.num_row_groups):
            group = opened.read_row_group(i, columns=columns, use_threads=False)
            order = random.permutation(group.num_rows)
            for begin in range(0, len(order) - batch + 1, batch):
                yield taken(group.take(order[begin : begin + batch]))


READERS = {
    "headrace": lambda: headrace("sequential"),
    "headrace-groups": lambda: headrace("groups"),
    "headrace-random": lambda: headrace("random"),
    "pyarrow": pyarrow_in_order,
    "pyarrow-groups": pyarrow_groups,
}

serve(READERS[reader.removesuffix("-arrays").replace("-numbers", "")](), batch)
