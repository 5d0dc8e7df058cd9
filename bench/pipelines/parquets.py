"""CPU time per row of Parquet files, compared with pyarrow in one run.

    python bench/pipelines/parquets.py [FOLDER] --peers PYTHON [--file images-snappy] [--rounds 7] [--json]

Photographs of 110 kB with a label, stored as Hugging Face does (row groups of 400), and rows of an integer, two floats, a short and a
repeated string (row groups of 65,536), all columns or the first three, in order and permuted within row groups; photographs written by headrace
also at random, which needs a page index. The files are made in FOLDER if they are missing. PYTHON is an interpreter with pyarrow. Figures are
medians of alternating rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from race import Entry, race, ratio

FILES = (
    "numbers-snappy",
    "numbers-plain",
    "numbers-headrace",
    "images-snappy",
    "images-plain",
    "images-headrace",
)
ROWS = {"numbers": 20 * 65_536, "images": 2_000}
BATCH = {"numbers": 256, "images": 40}
SEGMENT = {"numbers": 1_280, "images": 50}  # batches
MAKE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
path, kind, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
random = np.random.default_rng(1)
if kind.startswith("numbers"):
    table = pa.table({"id": random.integers(0, 10**9, rows), "x": random.random(rows), "y": random.random(rows).astype("f4"),
                      "name": [f"item {i}" for i in random.integers(0, 10**6, rows)],
                      "class": [f"n{i}" for i in random.integers(0, 1000, rows)]})
    group = 65_536
else:
    images = [{"bytes": random.bytes(int(n)), "path": f"{i}.jpg"} for i, n in enumerate(random.integers(60_000, 160_000, rows))]
    table = pa.table({"image": images, "label": random.integers(0, 1000, rows)})
    group = 400
pq.write_table(table, path, row_group_size=group, compression="none" if kind.endswith("plain") else "snappy")
"""


class Row(NamedTuple):
    """One of our readers, and pyarrow: its own columns, and converted to the same output."""

    columns: str
    order: str
    ours: str
    peers: tuple[str, ...]


def rows_of(kind: str) -> list[Row]:
    if kind == "images-headrace":  # pyarrow's photographs are converted to `bytes` in any case
        return [
            Row("all", "in order", "headrace", ("pyarrow",)),
            Row("all", "at random", "headrace-random", ()),
        ]
    if kind.startswith("images"):
        return [
            Row("all", "in order", "headrace", ("pyarrow",)),
            Row("all", "within groups", "headrace-groups", ("pyarrow-groups",)),
        ]
    return [
        Row("all", "in order", "headrace", ("pyarrow", "pyarrow-arrays")),
        Row("numbers", "in order", "headrace-numbers", ("pyarrow-numbers", "pyarrow-numbers-arrays")),
        Row("all", "within groups", "headrace-groups", ("pyarrow-groups", "pyarrow-groups-arrays")),
    ]


def make(path: Path, kind: str, peers: str) -> None:
    """Write a file with pyarrow, or headrace's file from it."""
    if kind.endswith("headrace"):
        import headrace as hr  # noqa: PLC0415

        hr.read_parquet(path.with_name(kind.replace("headrace", "plain") + ".parquet")).write(path)
    else:
        subprocess.run(
            [peers, "-c", MAKE, str(path), kind, str(ROWS[kind.split("-", maxsplit=1)[0]])], check=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(tempfile.gettempdir()) / "headrace-parquets"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--file", choices=FILES, action="append")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    found = []
    if not arguments.json:
        print(
            "CPU of a row, us; of pyarrow, how many times that of headrace, with a 95 % interval: as it comes, and made into what\n"
            "headrace gives\n"
        )
        print(
            "| file | columns | order | headrace | pyarrow's columns | as arrays and texts |\n|---|---|---|---|---|---|"
        )
    for kind in FILES:
        path = arguments.folder / f"{kind}.parquet"
        if not path.exists():
            make(path, kind, arguments.peers)
        if arguments.file and kind not in arguments.file:
            continue
        of = kind.split("-")[0]

        def entry(reader: str, file: str = str(path), batch: int = BATCH[of]) -> Entry:
            python = sys.executable if reader.startswith("headrace") else arguments.peers
            return Entry(reader, "parquets", (reader, file, str(batch)), python)

        rows = rows_of(kind)
        names = dict.fromkeys(name for row in rows for name in (row.ours, *row.peers))
        times = race([entry(name) for name in names], arguments.rounds, SEGMENT[of])
        cpu = {name: statistics.median(t.cpu) * 1e6 for name, t in times.items()}
        found.append({"file": kind, "cpu_us": cpu})
        for row in rows if not arguments.json else ():
            beside = [str(ratio(times[peer].cpu, times[row.ours].cpu)) for peer in row.peers]
            cells = [
                kind,
                row.columns,
                row.order,
                f"{cpu[row.ours]:.3g}",
                *beside,
                *["-"] * (2 - len(beside)),
            ]
            print(f"| {' | '.join(cells)} |", flush=True)
    if arguments.json:
        print(json.dumps({"rounds": arguments.rounds, "files": found}))


if __name__ == "__main__":
    main()
