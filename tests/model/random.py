"""Randomness as a pure function: Philox4x32-10 and Key, as defined in headrace/core/random/key.h."""

from dataclasses import dataclass

MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, order=True)
class SampleId:
    """A sample, and which occurrence of it: headrace/core/sample.h."""

    index: int = 0
    epoch: int = 0
    read: int = 0
    occurrence: int = 0
    child: int = 0


def halves(x: int) -> tuple[int, int]:
    """The low and the high 32 bits."""
    return x & MASK32, x >> 32 & MASK32


def philox(key: tuple[int, int], counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK32, (p0 >> 32) ^ c3 ^ k1, p0 & MASK32
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


def word_of(key: int, counter: tuple[int, int, int, int]) -> int:
    """The first 64 bits of a block."""
    low, high, *_ = philox(halves(key), counter)
    return low | high << 32


class Key:
    """The stream of 32-bit words of one draw site: (seed, ordinal of the operator, sample id)."""

    def __init__(self, seed: int, ordinal: int, id: SampleId):
        first = philox(halves(seed), (ordinal, id.read, *halves(id.epoch)))
        self._stream = philox(first[:2], (*halves(id.index), id.occurrence, id.child))[:2]

    def bits(self, draw: int) -> int:
        return philox(self._stream, (draw // 4, 0, 0, 0))[draw % 4]

    def below(self, draw: int, n: int) -> int:
        return self.bits(draw) * n >> 32

    def uniform64(self, draw: int) -> float:
        word = self.bits(2 * draw) | self.bits(2 * draw + 1) << 32
        return (word >> 11) * 2.0**-53
