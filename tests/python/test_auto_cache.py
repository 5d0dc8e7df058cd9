"""options(cache="auto"): elements are kept where it pays, and nothing else changes."""

import time

import numpy as np
import pytest

import headrace as hr
from headrace import ops

SLEEP = 0.004


class Slow:
    """A function that takes its time, always answers the same, and knows how often it ran."""

    def __init__(self, seconds=SLEEP, size=8):
        self.calls, self.seconds, self.size = 0, seconds, size

    def __call__(self, x):
        self.calls += 1
        time.sleep(self.seconds)
        return np.full(self.size, x, np.int64)


def noisy(x, rng):
    return x + rng.integers(0, 1000, x.shape)


def epochs(ds, count=3):
    loader = ds.numpy()
    return [[b.tobytes() for b in loader] for _ in range(count)]


def chosen(ds):
    return [line for line in ds.explain().splitlines() if line.startswith("cache: ")]


def test_a_slow_function_runs_once_for_a_sample_and_what_draws_after_it_draws_anew():
    slow = Slow()
    ds = hr.range(40).shuffle(seed=1).map(slow, python=True).map(noisy, python=True).batch(8)
    wanted = epochs(ds.options(seed=3))
    kept = ds.options(seed=3, cache="auto", workers=2)
    loader = kept.numpy()
    slow.calls = 0
    assert [[b.tobytes() for b in loader] for _ in range(3)] == wanted
    assert slow.calls == 40
    (cache,) = loader.report()["caches"]
    assert cache["elements"] == 40 and cache["hits"] == 80
    assert "cache: after python_function" in loader.explain()
    assert len(set(map(tuple, wanted))) == 3
