"""CPU time per record compared with each format's own reader: NumPy, Streaming, LitData, ArrayRecord, FFCV.

    python bench/pipelines/rivals.py [FOLDER] --peers PYTHON --ffcv PYTHON [--container mds --size 100 --order random] [--json]

Records of 110 kB and of 100 bytes, in order and shuffled, in batches of 256, one thread that reads and one that computes, or with --workers 0 only
the caller's thread; page cache. The files (4.5 GB) are made in FOLDER by each format's own writer if they are missing. PYTHON of --peers has
Streaming, LitData and ArrayRecord, that of --ffcv FFCV. Every reader passes each record to the same consumer, in Python. "memcpy" is a copy of
the record from memory to memory. The goal is half the cost of a peer that costs more than twice a memcpy, and at most the cost of any other.
Figures are medians of alternating rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from contenders.record_data import LARGE, RECORDS, SMALL
from contenders.rival_data import CONTAINERS, path_of
from race import HERE, Entry, Times, race, ratio

ORDERS = ("sequential", "random")
NUMPY = ("mmap", "mmap-views", "load", "mmap-batch")
FFCV = ("Loader", "Loader-batch")
PEERS: dict[str, dict[str, tuple[str, ...]]] = {
    "npy": dict.fromkeys(ORDERS, NUMPY),
    "npz": dict.fromkeys(ORDERS, ("load",)),
    "mds": dict.fromkeys(ORDERS, ("LocalDataset",)),
    "litdata": {"sequential": ("iterator", "index"), "random": ("iterator", "iterator-blocks")},
    "litdata-tree": {
        "sequential": ("iterator", "index", "iterator-views", "index-views"),
        "random": ("iterator", "iterator-blocks", "iterator-views"),
    },
    "array_record": {"sequential": ("read", "range"), "random": ("seek",)},
    "array_record-plain": {"sequential": ("read", "range"), "random": ("seek",)},
    "beton": dict.fromkeys(ORDERS, FFCV),
    "beton-bytes": dict.fromkeys(ORDERS, FFCV[:1]),
}
ARRAYS = ("npy", "npz", "beton")  # their rows are arrays
EPOCHS = {LARGE: 2, SMALL: 4}  # per round


class Row(NamedTuple):
    """A peer, and our reader with the same output."""

    container: str
    size: int
    order: str
    peer: str
    ours: str
    times: dict[str, Times]

    def cpu(self, reader: str) -> float:
        return statistics.median(self.times[reader].cpu) * 1e6

    def holds(self) -> bool:
        """Whether our cost is at most half of the peer's, or at most the peer's if it does little more than copy."""
        beside = ratio(self.times[self.peer].cpu, self.times[self.ours].cpu)
        if self.cpu(self.peer) > 2 * self.cpu("memcpy"):
            return beside.median >= 2
        return beside.high >= 1

    def text(self) -> str:
        peer = self.times[self.peer].cpu
        views = "headrace-views"
        has_views = self.ours == "headrace" and views in self.times
        cells = [
            self.container,
            f"{self.size // 1000} kB" if self.size >= 1000 else f"{self.size} B",
            "shuffled" if self.order == "random" else "in order",
            f"{self.cpu(self.ours):.3g}",
            self.peer,
            f"{self.cpu(self.peer):.3g}",
            str(ratio(peer, self.times[self.ours].cpu)).strip(),
            f"{ratio(peer, self.times[views].cpu).median:.2f}" if has_views else "-",
            f"{self.cpu('memcpy'):.2g}",
            "yes" if self.holds() else "no",
        ]
        return f"| {' | '.join(cells)} |"


HEAD = """CPU per record, us; the ratio of the peer's to ours, with a 95 % interval

| file | records | order | headrace | peer | its cost | ratio | to our views | memcpy | holds |
|---|---|---|---|---|---|---|---|---|---|"""


def ours_for(peer: str) -> str:
    form = peer.rpartition("-")[2]
    return f"headrace-{form}" if form in ("views", "batch", "blocks") else "headrace"


def compare(container: str, size: int, order: str, arguments: argparse.Namespace) -> Iterator[Row]:
    """Race every reader of one file in one order."""
    path = path_of(arguments.folder, container, size)
    if not path.exists():
        return
    pairs = {peer: ours_for(peer) for peer in PEERS[container][order]}
    if container in ARRAYS:  # they only have views
        pairs = {peer: ours.replace("-views", "") for peer, ours in pairs.items()}
    ours = dict.fromkeys(pairs.values())
    if container not in ARRAYS:
        ours["headrace-views"] = None

    def entry(reader: str) -> Entry:
        peers = arguments.ffcv if reader in FFCV else arguments.peers
        python = sys.executable if reader in ours else peers
        how = (str(size), order, str(arguments.batch), str(arguments.workers))
        return Entry(reader, "rivals", (reader, container, str(path), *how), python)

    batches = EPOCHS[size] * RECORDS[size] // arguments.batch
    times = race([entry(r) for r in (*ours, *pairs, "memcpy")], arguments.rounds, batches)
    for peer, mine in pairs.items():
        if peer in times and mine in times and "memcpy" in times:
            yield Row(container, size, order, peer, mine, times)


def as_json(row: Row) -> dict[str, Any]:
    cpu = {reader: row.cpu(reader) for reader in (row.ours, row.peer, "memcpy")}
    beside = ratio(row.times[row.peer].cpu, row.times[row.ours].cpu)
    what = {"container": row.container, "bytes": row.size, "order": row.order}
    return what | {"cpu_us": cpu, "ratio": list(beside), "holds": row.holds()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(tempfile.gettempdir()) / "headrace-rivals"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--ffcv", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument(
        "--workers",
        type=int,
        choices=(0, 1),
        default=1,
        help="0: everything in the caller's thread, as with most peers",
    )
    parser.add_argument("--container", choices=CONTAINERS, action="append")
    parser.add_argument("--size", type=int, choices=list(RECORDS), action="append")
    parser.add_argument("--order", choices=ORDERS, action="append")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for python in dict.fromkeys((arguments.peers, arguments.ffcv)):
        command = [
            python,
            "-m",
            "contenders.rival_data",
            str(arguments.folder.absolute()),
            *(arguments.container or []),
        ]
        subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    found = []
    if not arguments.json:
        print(HEAD, flush=True)
    for container in arguments.container or CONTAINERS:
        for size in arguments.size or RECORDS:
            for order in arguments.order or ORDERS:
                for row in compare(container, size, order, arguments):
                    found.append(as_json(row))
                    if not arguments.json:
                        print(row.text(), flush=True)
    if arguments.json:
        print(json.dumps({"batch": arguments.batch, "rounds": arguments.rounds, "rows": found}))


if __name__ == "__main__":
    main()
