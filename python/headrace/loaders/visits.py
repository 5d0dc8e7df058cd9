"""Which positions came in an epoch: one that comes again begins the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Visits:
    """Positions that were asked for in this epoch."""

    def __init__(self) -> None:
        self._seen = np.zeros(0, np.uint8)

    def repeat(self, positions: Sequence[int], size: int) -> bool:
        """Add positions; return whether one of them was there, which begins a new set with these."""
        if len(self._seen) != size // 8 + 1:
            self._seen = np.zeros(size // 8 + 1, np.uint8)
        at = np.unique(np.asarray(positions, np.int64) % max(1, size))
        bits = np.left_shift(1, at % 8).astype(np.uint8)
        again = bool((self._seen[at // 8] & bits).any())
        if again:
            self._seen[:] = 0
        np.bitwise_or.at(self._seen, at // 8, bits)
        return again
