"""Readers of JSON lines and CSV, one per process: `READER FILE BATCH`. One thread parses.

Each gives all fields of all rows in its own form: columns of a batch or a table, or a row as Python objects. Readers that load a whole file
do so again and again; a segment is a whole number of passes.
"""

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from .segment import serve

reader, file, batch_text = sys.argv[1:]
path, batch = Path(file), int(batch_text)
is_json = path.suffix == ".jsonl"


def headrace(order: str) -> Iterator[Any]:
    import headrace as hr  # noqa: PLC0415 - where it is installed

    ds = hr.read_jsonl(path) if is_json else hr.read_csv(path)
    if order == "random":
        ds = ds.shuffle(seed=1)
    yield from ds.repeat().batch(batch).options(workers=1, io=1).numpy()


def grouped(rows: Iterable[Any]) -> Iterator[list[Any]]:
    rows = iter(rows)
    while group := list(islice(rows, batch)):
        yield group


def python() -> Iterator[list[Any]]:
    while True:
        with path.open(encoding="utf-8", newline="") as opened:
            yield from grouped(map(json.loads, opened) if is_json else csv.DictReader(opened))


def pyarrow() -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv as arrow_csv  # noqa: PLC0415
    from pyarrow import json as arrow_json  # noqa: PLC0415

    pa.set_cpu_count(1)
    while True:
        table = (
            arrow_json.read_json(path, read_options=arrow_json.ReadOptions(use_threads=False))
            if is_json
            else arrow_csv.read_csv(
                path,
                read_options=arrow_csv.ReadOptions(use_threads=False),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            )
        )
        for begin in range(0, table.num_rows, batch):
            yield table.slice(begin, batch)


def pandas() -> Iterator[Any]:
    import pandas as pd  # noqa: PLC0415

    while True:
        table = pd.read_json(path, lines=True) if is_json else pd.read_csv(path)
        for begin in range(0, len(table), batch):
            yield table.iloc[begin : begin + batch]


READERS = {
    "headrace": lambda: headrace("sequential"),
    "headrace-random": lambda: headrace("random"),
    "python": python,
    "pyarrow": pyarrow,
    "pandas": pandas,
}

serve(READERS[reader](), batch)
