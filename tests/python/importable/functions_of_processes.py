"""What test_processes.py sends to other processes: it must be importable there."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from headrace import ops


def double(s):
    return {"x": s.x * 2, "name": s.name + "!", "pid": os.getpid()}


def draw(x, rng):
    return {
        "noise": rng.random(3) + x,
        "flipped": ops.random_flip(np.arange(6, dtype=np.uint8).reshape(1, 2, 3)),
    }


def rows(x):
    return np.full((int(x), 3), x)


def is_even(x):
    return x % 2 == 0


def large(x):
    return np.full(300_000 + int(x), x)


class Odd(Exception):
    def __init__(self, sample, why):
        super().__init__(f"{why}: {sample}")


def refuse_three(x):
    if x == 3:
        raise ValueError("no three")
    if x == 5:
        raise Odd(x, "odd")
    return x


def die_at_four(x):
    if x == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def deep_at_two(x):
    return np.zeros((1,) * (12 if x == 2 else 3))


def slow(x):
    time.sleep(0.05)
    return {"pid": os.getpid(), "x": x}


def same(sample):
    return sample


def busy(x):
    total = 0
    for number in range(200_000):
        total += number
    return x + 0 * total


def cut_the_shared_memory(x):
    if sys.argv[0] == "-c" and len(sys.argv) > 2:  # a process of the map, with its socket and the memory
        os.ftruncate(int(sys.argv[2]), 0)
    return x


def leave_at_four(x):
    if int(x) == 4:
        raise SystemExit(7)
    return x


def interrupt_at_four(x):
    if int(x) == 4:
        raise KeyboardInterrupt
    return x


def ones(x):
    return np.ones(int(x))


def sums_and_names(pair):
    rows, batch = pair
    names = [name.encode() for name in batch["name"]]
    return {
        "sums": np.array([row.sum() for row in rows]),
        "last": names[-1],
        "texts": "".join(batch["name"][: len(rows)]),
    }


def measure_nested(batch):
    lengths = [len(name) for names in batch["name"] for name in names]
    return {"lengths": np.array(lengths), "x": np.concatenate(batch["x"])}


def stuck(x):
    if x > 0:  # the first is called when the graph is built
        Path(os.environ["STUCK"], str(os.getpid())).touch()
        time.sleep(1000)
    return x


def double_bf16(x):
    assert x.dtype.name == "bfloat16", x.dtype
    return x * x.dtype.type(2)


def ordinals(i):
    return {"ids": list(range(int(i))), "half": 0.5 * int(i + 1) if i % 2 == 0 else int(i + 1) // 2}


def moved(s, rng):
    return {"y": s["y"], "by": np.float64(rng.random())}
