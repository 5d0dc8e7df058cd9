"""Draws from weights, as defined in core/random/alias_table.h and core/random/weighted_order.h."""

import math
from functools import lru_cache

from .random import MASK64, halves, philox


@lru_cache(maxsize=1024)
def alias_table(weights: tuple[float, ...]) -> list[tuple[int, int]]:
    """(threshold, alias) of each column, by Vose's method in integers."""
    n = len(weights)
    exponent = math.frexp(max(weights))[1]
    bits = min(40, 63 - n.bit_length())
    whole = [math.floor(math.ldexp(weight, bits - exponent) + 0.5) for weight in weights]
    total, scaled = sum(whole), [w * n for w in whole]
    columns = [(0, i) for i in range(n)]
    small = [i for i in range(n) if scaled[i] < total]
    large = [i for i in range(n) if scaled[i] >= total]
    while small and large:
        less, more = small.pop(), large[-1]
        columns[less] = ((scaled[less] << 64) // total, more)
        scaled[more] -= total - scaled[less]
        if scaled[more] < total:
            small.append(large.pop())
    return columns


def draw(weights: tuple[float, ...], seed: int, epoch: int, position: int) -> int:
    """The element taken by a draw with replacement."""
    a, b, c, d = philox(halves(seed), (*halves(position), *halves(epoch)))
    column = (a | b << 32) * len(weights) >> 64
    threshold, alias = alias_table(weights)[column]
    return column if (c | d << 32) < threshold else alias


@lru_cache(maxsize=1024)
def weighted_order(weights: tuple[float, ...], seed: int, epoch: int) -> list[int]:
    """An epoch's order without replacement, of all elements that have weight."""
    keys = []
    for i, weight in enumerate(weights):
        if weight > 0:
            a, b, *_ = philox(halves(seed), (*halves(i), *halves(epoch)))
            keys.append((minus_log2((a | b << 32) | 1) / weight, i))
    return [i for _, i in sorted(keys)]


def minus_log2(u: int) -> int:
    """-log2(u / 2**64) in steps of 2**-40, digit by digit."""
    zeros = 64 - u.bit_length()
    x, digits = (u << zeros & MASK64) >> 32, 0
    for _ in range(40):
        x = x * x >> 31
        digits <<= 1
        if x >> 32:
            digits, x = digits | 1, x >> 1
    return (zeros + 1 << 40) - digits
