"""Shared by the contenders of verbs.py: sizes, data and functions."""

from typing import Any

import numpy as np

MANY = 10**9
FEW = 1 << 16
SIZES = 8  # the longest sequence


def sequences() -> list[Any]:
    """4,096 sequences of 1 to 8 integers."""
    lengths = np.random.default_rng(1).integers(1, SIZES + 1, 4096)
    return [np.arange(length) for length in lengths]


def plus_one(x: Any) -> Any:
    return x + 1


def plus_noise(x: Any, rng: Any) -> Any:
    return x + rng.integers(8)
