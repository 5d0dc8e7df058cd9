"""CPU time per record of containers, compared with each format's own reader and a loop of pread over the same bytes.

    python bench/pipelines/containers.py [FOLDER] --peers PYTHON [--container arrow --size 100 --order random] [--arrays] [--json]

Records of 110 kB and of 100 bytes, in the order of the file and at random, one thread that reads and one that computes, or with
--workers 0 only the caller's thread; page cache. The files (3.1 GB) are made in FOLDER if they are missing, and read once; PYTHON is an interpreter
with the peers. Every reader passes each record to the same consumer as `bytes`; "views" and "tensor" are readers that do not make
`bytes` objects. With --arrays a batch is passed as one array of bytes with the offset of each record. Figures are medians of alternating rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from contenders.record_data import CONTAINERS, LARGE, RECORDS, SMALL, path_of
from race import HERE, Entry, Times, race, ratio

OURS = ("headrace", "headrace-views")
ARRAYS = ("headrace-array",)
ALL_OURS = (*OURS, *ARRAYS)
PEERS = {
    ("tfrecord", "sequential"): ("tfdata", "tfdata-tensor"),
    ("recordio", "sequential"): ("python",),
    ("recordio", "random"): ("python",),
    ("webdataset", "sequential"): ("spdl", "webdataset"),
    ("lmdb", "sequential"): ("lmdb", "lmdb-views"),
    ("lmdb", "random"): ("lmdb", "lmdb-views"),
    ("arrow", "sequential"): ("pyarrow",),
    ("arrow", "random"): ("pyarrow",),
    ("hdf5", "sequential"): ("h5py", "h5py-256"),
    ("hdf5", "random"): ("h5py",),
    ("zarr", "sequential"): ("zarr", "zarr-256"),
    ("zarr", "random"): ("zarr",),
}
FEWER = 4  # zarr-python takes a millisecond per record
SLOW = {"webdataset"}  # a hundred times slower for small records: Python's tarfile


def compare(
    folder: Path, container: str, size: int, order: str, arguments: argparse.Namespace
) -> dict[str, Times]:
    """Race every reader of one container, size and order."""
    path = path_of(folder, container, size)
    if not path.exists():
        return {}

    def entry(reader: str) -> Entry:
        python = arguments.peers if reader not in ALL_OURS else sys.executable
        batch = arguments.batch
        how = (str(size), order, str(batch), str(arguments.workers))
        return Entry(reader, "records", (reader, container, str(path), *how), python)

    peers = [p for p in PEERS.get((container, order), ()) if not (p in SLOW and size == SMALL)]
    if arguments.arrays:
        peers = [f"{p}-array" for p in peers if not p.endswith("-tensor")]
    batches = arguments.records[size] // (arguments.batch if container != "zarr" else FEWER * arguments.batch)
    by_row = OURS if container != "zarr" else OURS[:1]  # its rows are arrays, and compressed
    ours = ARRAYS if arguments.arrays else by_row
    plain = ["pread"] if container != "zarr" and not arguments.arrays else []
    return race([entry(r) for r in (*ours, *peers, *plain)], arguments.rounds, max(batches, 1))


def row(container: str, size: int, order: str, times: dict[str, Times]) -> str:
    """One line of the table."""

    def cpu(reader: str) -> str:
        return f"{statistics.median(times[reader].cpu) * 1e6:.2f}" if reader in times else "-"

    def beside(reader: str) -> str:
        ratios = [ratio(times[reader].cpu, times[ours].cpu).median for ours in ALL_OURS if ours in times]
        return f"{reader} {cpu(reader)} ({', '.join(f'{r:.2f}' for r in ratios)})"

    peers = [beside(reader) for reader in times if reader not in (*ALL_OURS, "pread")]
    what = f"{size // 1000} kB" if size >= 1000 else f"{size} B"
    plain = beside("pread")[6:] if "pread" in times else "-"
    cells = [
        container,
        what,
        order,
        *(cpu(reader) for reader in (ARRAYS if ARRAYS[0] in times else OURS)),
        "; ".join(peers),
        plain,
    ]
    return f"| {' | '.join(cells)} |"


HEAD_OF_ARRAYS = """CPU per record, us, of batches as one array; in parentheses the ratio to headrace

| container | records | order | headrace | peers | pread |
|---|---|---|---|---|---|"""

HEAD = """CPU per record, us; in parentheses the ratio to headrace, as bytes and as views

| container | records | order | headrace | views | peers | pread |
|---|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(tempfile.gettempdir()) / "headrace-containers"
    )
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument(
        "--workers",
        type=int,
        choices=(0, 1),
        default=1,
        help="0: everything in the caller's thread, as with the peers",
    )
    parser.add_argument("--container", choices=CONTAINERS, action="append")
    parser.add_argument("--size", type=int, choices=list(RECORDS), action="append")
    parser.add_argument("--order", choices=("sequential", "random"), action="append")
    parser.add_argument("--arrays", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.records = {LARGE: 2_048, SMALL: 1_024_000}  # per round
    subprocess.run(
        [
            arguments.peers,
            "-m",
            "contenders.record_data",
            str(arguments.folder),
            *(arguments.container or []),
        ],
        cwd=HERE,
        check=True,
    )
    found = []
    if not arguments.json:
        print(HEAD_OF_ARRAYS if arguments.arrays else HEAD, flush=True)
    for container in arguments.container or [c for c in CONTAINERS if c != "zarr" or not arguments.arrays]:
        for size in arguments.size or RECORDS:
            for order in arguments.order or ("sequential", "random"):
                times = compare(arguments.folder, container, size, order, arguments)
                if not times:
                    continue
                cpu = {reader: statistics.median(t.cpu) * 1e6 for reader, t in times.items()}
                found.append({"container": container, "bytes": size, "order": order, "cpu_us": cpu})
                if not arguments.json:
                    print(row(container, size, order, times), flush=True)
    if arguments.json:
        print(json.dumps({"batch": arguments.batch, "rounds": arguments.rounds, "rows": found}))


if __name__ == "__main__":
    main()
