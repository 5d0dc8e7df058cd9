"""The end of the interpreter while daemon threads read: they wait for it, and the process ends as if they were not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# HEADRACE_EXITS=200 for a long run by hand.
EXITS = int(os.environ.get("HEADRACE_EXITS", "24"))

BEFORE = """
import itertools, queue, sys, threading, time
import numpy as np
import headrace as hr

def slow(x):
    time.sleep(0.001)
    return x

def fast(x):
    return x

def work(x):
    return sum(i for i in range(3000)) * 0 + x

class Items:
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        time.sleep(0.001)
        return np.int64(i)

def endless():
    for i in itertools.count():
        time.sleep(0.0005)
        yield np.int64(i)

def in_thread(function):
    def run():
        while True:
            function()
    threading.Thread(target=run, daemon=True).start()

def consume(loader, pause=0.0):
    for _ in loader:
        if pause:
            time.sleep(pause)

numbers = hr.range(100000)
"""
# What the daemon threads do.
FORMS = {
    "by position, Python function": "ds = numbers.map(slow, python=True); in_thread(lambda: [ds[i] for i in range(1000)])",
    "by position, busy Python function": "ds = numbers.map(work, python=True); in_thread(lambda: [ds[i] for i in range(1000)])",
    "by position, native": "ds = numbers.batch(100); in_thread(lambda: [ds[i] for i in range(1000)])",
    "by position, files": "ds = hr.read(sys.argv[1]); in_thread(lambda: [ds[i] for i in range(12)])",
    "no workers, Python function": "ds = numbers.map(slow, python=True).options(workers=0); in_thread(lambda: consume(ds.numpy()))",
    "no workers, native": "ds = numbers.batch(100).options(workers=0); in_thread(lambda: consume(ds.numpy()))",
    "loader, slow Python function": "ds = numbers.map(slow, python=True).batch(10).repeat(); in_thread(lambda: consume(ds.numpy()))",
    "loader, fast Python function": "ds = numbers.map(fast, python=True).batch(10).repeat(); in_thread(lambda: consume(ds.numpy()))",
    "loader, native": "ds = numbers.batch(10).repeat(); in_thread(lambda: consume(ds.numpy()))",
    "loader, slow consumer": "ds = numbers.batch(10).repeat(); in_thread(lambda: consume(ds.numpy(), 0.002))",
    "loader, files": "ds = hr.read(sys.argv[1]).repeat().batch(4); in_thread(lambda: consume(ds.numpy()))",
    "short epochs": "ds = hr.range(20).batch(4); in_thread(lambda: consume(ds.numpy()))",
    "one loader, many epochs": "loader = hr.range(20).batch(4).numpy(); in_thread(lambda: consume(loader))",
    "two threads, one iterator": "it = iter(numbers.batch(2).repeat().numpy()); [in_thread(lambda: consume(it)) for _ in '12']",
    "prefetcher": "q = queue.Queue(2); ds = numbers.batch(10).repeat().numpy(); in_thread(lambda: [q.put(b) for b in ds]); q.get()",
    "sequence": "ds = hr.from_dataset(Items()).batch(4).repeat(); in_thread(lambda: consume(ds.numpy()))",
    "generator": "ds = hr.from_generator(endless).batch(4); in_thread(lambda: consume(ds.numpy()))",
    "window shuffle": "ds = numbers.map(slow, python=True).shuffle(window=8).batch(4); in_thread(lambda: consume(ds.numpy()))",
    "Python filter": "ds = numbers.filter(lambda x: slow(x) % 2 == 0, python=True); in_thread(lambda: consume(ds.numpy()))",
    "opening": "in_thread(lambda: hr.read(sys.argv[1]))",
    "building": "in_thread(lambda: numbers.map(slow, python=True).batch(2).explain())",
    "all at once": "ds = numbers.map(slow, python=True).batch(4).repeat(); "
    "[in_thread(lambda: consume(ds.numpy())) for _ in '123']; in_thread(lambda: [ds[i] for i in range(1000)])",
}


def exits(code: str, folder: Path, count: int) -> list[tuple[int, str]]:
    """Run the code in several processes, two at a time: the exit statuses and outputs."""
    out: list[tuple[int, str]] = []
    while len(out) < count:
        running = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(folder)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for _ in range(min(2, count - len(out)))
        ]
        for process in running:
            said, _ = process.communicate(timeout=60)
            out.append((process.returncode, said))
    return out


@pytest.mark.parametrize("form", FORMS)
def test_daemon_threads_that_read_do_not_disturb_the_end(photos: Path, form: str):
    code = f"{BEFORE}\n{FORMS[form]}\ntime.sleep(0.15)\n"
    assert set(exits(code, photos, max(1, EXITS // len(FORMS)))) == {(0, "")}


def test_the_exit_status_is_the_scripts(photos: Path):
    code = f"{BEFORE}\n{FORMS['all at once']}\ntime.sleep(0.15)\nsys.exit(7)\n"
    assert exits(code, photos, 2) == [(7, "")] * 2


def test_an_exit_function_may_wait_for_a_thread_that_reads(photos: Path):
    """It is registered before the package's own, so it runs after all loaders were closed."""
    code = f"""
import atexit, threading
stop = threading.Event()
atexit.register(lambda: (stop.set(), thread.join(), print("joined")))
{BEFORE}
def read():
    try:
        for _ in numbers.batch(10).repeat().numpy():
            if stop.is_set():
                break
    except Exception:
        pass
thread = threading.Thread(target=read, daemon=True)
thread.start()
time.sleep(0.15)
"""
    assert exits(code, photos, 2) == [(0, "joined\n")] * 2
