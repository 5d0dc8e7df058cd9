"""Shared by all contenders: run a segment on request, and report how much time it took.

A contender builds an endless iterator of batches, then calls `serve`. CPU time is that of the process and of its live
children (worker processes), in nanoseconds, from the kernel's clock of each process.

Every contender reads ahead. A segment begins with full buffers, so it ends when they are full again: then each contender has
made exactly what was taken, and is idle while another one is measured.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BATCH, SIDE, SHORTER = 64, 224, 256
CENTER = SIDE / SHORTER  # the share of the shorter side that eval keeps


class Task(NamedTuple):
    """The command line of a contender for images."""

    data: str  # a folder of JPEGs
    workers: int
    work: str  # "train", "eval" or "decode"
    rest: list[str]


def task() -> Task:
    data, workers, work, *rest = sys.argv[1:]
    return Task(data, int(workers), work, rest)


def default_data() -> Path:
    return Path(os.environ.get("HEADRACE_DATA", "")) / "imagenet1k"


def files(folder: str) -> list[str]:
    return sorted(str(p) for p in Path(folder).rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *_children(int(child))]
    return found


def cpu_seconds() -> float:
    total = time.process_time()
    for pid in _children(os.getpid()):
        try:
            total += time.clock_gettime((~pid << 3) | 2)
        except OSError:
            continue
    return total


def working() -> bool:
    """Whether any other thread runs or is ready to run, here or in a worker process."""
    for pid in [os.getpid(), *_children(os.getpid())]:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            try:
                state = (thread / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if state in "RD" and thread.name != str(threading.get_native_id()):
                return True
    return False


def refilled() -> tuple[float, float]:
    """Wait until all threads are idle; return the time of that and the CPU time spent until then."""
    pause, idle = 0.02, 0.001
    cpu, looking, since = cpu_seconds(), time.thread_time(), time.perf_counter()
    while True:
        time.sleep(pause)
        now, looked = cpu_seconds(), time.thread_time()
        if (
            now - cpu - (looked - looking) < idle and not working()
        ):  # checking many threads takes CPU time, too
            return since, cpu
        cpu, looking, since = now, looked, time.perf_counter()


def serve(batches: Iterator[Any], per_batch: int) -> None:
    """For each number on stdin: take that many batches, print one line of JSON."""
    for line in sys.stdin:
        count = int(line)
        wall, cpu = time.perf_counter(), cpu_seconds()
        for _ in range(count):
            next(batches)
        end, spent = refilled()
        out = {"wall": end - wall, "cpu": spent - cpu, "units": count * per_batch}
        print(json.dumps(out), flush=True)
    os._exit(0)
