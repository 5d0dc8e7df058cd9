"""Bare Python: a loop that calls the function and makes the same arrays."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from .segment import serve
from .verb_data import plus_noise, plus_one


def mapped() -> Iterator[Any]:
    for start in range(0, 1 << 60, 256):
        yield np.array([plus_one(x) for x in np.arange(start, start + 256)])


def mapped_with_rng() -> Iterator[Any]:
    """A reused generator with a new key for every element."""
    bits = np.random.Philox(0)
    rng, state = np.random.Generator(bits), bits.state
    for start in range(0, 1 << 60, 256):
        made = []
        for x in np.arange(start, start + 256):
            state["state"]["key"][0] = x
            bits.state = state
            made.append(plus_noise(x, rng))
        yield np.array(made)


def filtered() -> Iterator[Any]:
    for start in range(0, 1 << 60, 256):
        yield np.array([x for x in np.arange(start, start + 256) if x != 7])


def generated() -> Iterator[Any]:
    numbers = iter(range(1 << 60))
    while True:
        yield np.array([next(numbers) for _ in range(256)])


VERBS = {
    "map in Python": mapped,
    "map in Python, with rng": mapped_with_rng,
    "filter in Python": filtered,
    "from_generator": generated,
}

if __name__ == "__main__":
    serve(VERBS[sys.argv[1]](), 256)
