"""By how much the peak of this process's memory grows while a pipeline runs, in MiB beside what a short run of it takes.

    python tests/soak/peak.py shuffle [COUNT]     # 100 million integers in random order
    python tests/soak/peak.py window [COUNT]      # a window of 2,000 arrays of 64 KiB
    python tests/soak/peak.py integers [COUNT]    # a window of a million integers
    python tests/soak/peak.py cache [COUNT]       # cache(path) over 12,000 arrays of 64 KiB, filled and read
    python tests/soak/peak.py found [COUNT]       # 300 elements of 1 MiB that such a cache has are ready, of 32 MB

COUNT: how many elements are taken, all when not given.
"""

import atexit
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import headrace as hr

ARRAY = 8192  # numbers: 64 KiB


def peak_mib() -> float:
    """Of this program: getrusage() also tells of the one that it was started from."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def arrays(size: int) -> hr.Dataset:
    return hr.random(seed=1, shape=(ARRAY,), size=size)


def shuffle(size: int) -> hr.Dataset:
    return hr.range(size).shuffle(seed=1).batch(10_000)


def window(size: int) -> hr.Dataset:
    return arrays(10 * size).shuffle(seed=1, window=size)


def integers(size: int) -> hr.Dataset:
    return hr.range(2 * size).shuffle(seed=1, window=size).batch(1000)


def cache(size: int) -> hr.Dataset:
    folder = Path(tempfile.mkdtemp(prefix="headrace_peak_"))
    atexit.register(shutil.rmtree, folder)
    return arrays(size).cache(folder).repeat(2)


def found(size: int) -> hr.Dataset:
    folder = Path(tempfile.mkdtemp(prefix="headrace_peak_"))
    atexit.register(shutil.rmtree, folder)
    large = hr.random(seed=1, shape=(16 * ARRAY,), size=size).cache(folder).options(memory_budget=32_000_000)
    for _ in large.options(workers=1, ready=1).numpy():
        pass
    return large.options(ready=300)


WHAT: dict[str, tuple[Callable[[int], hr.Dataset], int]] = {
    "shuffle": (shuffle, 100_000_000),
    "window": (window, 2000),
    "integers": (integers, 1_000_000),
    "cache": (cache, 12_000),
    "found": (found, 400),
}


def run(dataset: hr.Dataset, count: int | None) -> None:
    for n, _ in enumerate(dataset.options(workers=2).numpy(), 1):
        if n == count:
            return


def main(what: str, count: int | None) -> None:
    make, size = WHAT[what]
    run(make(1), None)
    before = peak_mib()
    run(make(size), count)
    print(f"{peak_mib() - before:.1f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
