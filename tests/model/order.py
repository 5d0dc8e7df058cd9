"""The orders of a shuffled epoch: the keyed permutation of [0, n), as defined in headrace/core/random/permutation.h, and
the shuffle of blocks, as defined in headrace/run/order/block_shuffle.cc.
"""

from functools import lru_cache
from math import isqrt

from .random import MASK32, halves, philox

ROUNDS = 12


class Permutation:
    def __init__(self, seed: int, epoch: int, n: int):
        self.n = n
        self.a = isqrt(n - 1) + 1 if n else 1  # ceil(sqrt(n))
        self.b = -(-n // self.a) if n else 1
        self.keys = [philox(halves(seed), (i, 0x5EED, *halves(epoch)))[:2] for i in range(ROUNDS)]

    def __call__(self, x: int) -> int:
        assert 0 <= x < self.n
        while True:  # cycle walking: the network permutes [0, a * b), a little more than [0, n)
            x = self._step(x)
            if x < self.n:
                return x

    def _step(self, x: int) -> int:
        left, right = divmod(x, self.b)
        for i in range(ROUNDS):
            if i % 2 == 0:
                left = (left + (self._mix(i, right) * self.a >> 32)) % self.a
            else:
                right = (right + (self._mix(i, left) * self.b >> 32)) % self.b
        return left * self.b + right

    def _mix(self, i: int, value: int) -> int:
        c, d = self.keys[i]
        product = (value ^ c) * 0xD2511F53
        return (product >> 32) ^ (product & MASK32) ^ d


@lru_cache(maxsize=4096)
def permutation(seed: int, epoch: int, n: int) -> Permutation:
    """The same, cached."""
    return Permutation(seed, epoch, n)


def shuffled_blocks(seed: int, epoch: int, sizes: list[int], blocks: int) -> list[int]:
    """The order of elements stored in blocks of `sizes`, when the elements of every `blocks` blocks are mixed."""
    firsts = [sum(sizes[:i]) for i in range(len(sizes))]
    places = [permutation(seed, epoch, len(sizes))(i) for i in range(len(sizes))]
    out: list[int] = []
    if len(sizes) == sum(sizes):  # all blocks have one element
        return places
    for group, begin in enumerate(range(0, len(places), blocks)):
        low, high = philox(halves(seed), (0xB10C, 0x5EED, *halves(group)))[:2]
        rows = [firsts[j] + i for j in places[begin : begin + blocks] for i in range(sizes[j])]
        within = permutation(high << 32 | low, epoch, len(rows))
        out += [rows[within(i)] for i in range(len(rows))]
    return out
