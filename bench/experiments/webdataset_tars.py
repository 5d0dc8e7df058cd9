"""CPU time per sample of WebDataset's tars, read by Headrace, Python's tarfile, webdataset and SPDL, as far as these are installed.

    python bench/experiments/webdataset_tars.py [--rounds 5]

Tars of samples with a jpg of 110 kB or of 100 bytes, and a cls, as webdataset's own writer makes them (one PAX header per member), in the
page cache. Each contender delivers the bytes of every member; Headrace delivers large samples one by one and small ones in batches of
256. Its index is made once and then stored, as in normal use. Rounds alternate; the best of each counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import random
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LARGE, SMALL = 110_000, 100
SAMPLES = {LARGE: 2_000, SMALL: 20_000}


def size_of(path: Path) -> int:
    return int(path.stem)


def write(path: Path, size: int) -> None:
    noise = random.Random(size).randbytes(size)
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for i in range(SAMPLES[size]):
            for suffix, data in (("cls", str(i % 1000).encode()), ("jpg", noise)):
                info = tarfile.TarInfo(f"{i:08}.{suffix}")
                info.size, info.mtime = len(data), 1700000000.5
                tar.addfile(info, io.BytesIO(data))


def headrace(path: Path, shuffled: bool) -> int:
    import headrace as hr  # noqa: PLC0415 - where it is installed

    samples = hr.read(path, fields=["jpg", "cls"])
    if shuffled:
        samples = samples.shuffle(seed=1)
    if size_of(path) == LARGE:
        return sum(len(sample["jpg"]) for sample in samples)
    return sum(len(jpg) for batch in samples.batch(256) for jpg in batch["jpg"])


def headrace_in_order(path: Path) -> int:
    return headrace(path, shuffled=False)


def headrace_shuffled(path: Path) -> int:
    return headrace(path, shuffled=True)


def tarfile_in_order(path: Path) -> int:
    total = 0
    with tarfile.open(path, "r|") as tar:
        for member in tar:
            file = tar.extractfile(member)
            data = file.read() if file else b""
            total += len(data) if member.name.endswith(".jpg") else 0
    return total


def tarfile_shuffled(path: Path) -> int:
    total = 0
    with tarfile.open(path) as tar:
        members = tar.getmembers()
        pairs = [members[i : i + 2] for i in range(0, len(members), 2)]
        random.Random(1).shuffle(pairs)
        for pair in pairs:
            for member in pair:
                file = tar.extractfile(member)
                data = file.read() if file else b""
                total += len(data) if member.name.endswith(".jpg") else 0
    return total


def webdataset_in_order(path: Path) -> int:
    import webdataset  # noqa: PLC0415 - where it is installed

    return sum(len(sample["jpg"]) for sample in webdataset.WebDataset(str(path), shardshuffle=False))


def spdl_in_order(path: Path) -> int:
    import spdl.io  # noqa: PLC0415 - where it is installed

    with path.open("rb") as file:
        return sum(len(data) for name, data in spdl.io.iter_tarfile(file) if name.endswith(".jpg"))


def pread_shuffled(path: Path) -> int:
    """Only read the extents of the samples, as a lower bound."""
    count = SAMPLES[size_of(path)]
    size = path.stat().st_size // count
    order = list(range(count))
    random.Random(1).shuffle(order)
    file = os.open(path, os.O_RDONLY)
    for i in order:
        os.pread(file, size, i * size)
    os.close(file)
    return 0


CONTENDERS: dict[str, tuple[str, Callable[[Path], int]]] = {
    "Headrace, in order": ("headrace", headrace_in_order),
    "SPDL, in order": ("spdl", spdl_in_order),
    "webdataset, in order": ("webdataset", webdataset_in_order),
    "tarfile, in order": ("tarfile", tarfile_in_order),
    "Headrace, shuffled": ("headrace", headrace_shuffled),
    "tarfile, shuffled": ("tarfile", tarfile_shuffled),
    "pread of the same bytes, shuffled": ("os", pread_shuffled),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        for size, count in SAMPLES.items():
            path = Path(folder) / f"{size}.tar"
            write(path, size)
            best: dict[str, tuple[float, float]] = {}
            for _ in range(rounds):
                for contender, (module, run) in CONTENDERS.items():
                    if not importlib.util.find_spec(module):
                        continue
                    wall, cpu = time.perf_counter(), time.process_time()
                    total = run(path)
                    spent = time.process_time() - cpu, time.perf_counter() - wall
                    assert total in (0, size * count), contender
                    best[contender] = min(best.get(contender, spent), spent)
            for contender, (cpu, wall) in best.items():
                print(
                    f"{size:7} bytes  {contender:34} {cpu / count * 1e6:8.2f} µs  {count / wall:9.0f} samples/s"
                )


if __name__ == "__main__":
    main()
