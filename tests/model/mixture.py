"""Turns of several sources in given shares, and mixtures of them, as defined in core/random/fair_turns.h and core/random/mixture.h."""

import math
from functools import lru_cache

from .random import MASK64, halves, philox

MOST_SHARES = 65521


def shares_of(weights) -> list[int] | None:
    """Integer shares in the proportions of the weights: the smallest exact ones, otherwise the nearest of 65521."""
    total = 0.0
    for weight in weights:
        total += weight
    for of in range(1, MOST_SHARES + 1):
        if (exact := _exact(weights, total, of)) is not None:
            return exact
    shares, left = [], []
    for weight in weights:
        share = weight / total * MOST_SHARES
        whole = 1 if 0.99 < share < 1 else math.floor(share)
        if whole == 0 and weight > 0:
            return None
        shares.append(whole)
        left.append(share - whole)
    while sum(shares) < MOST_SHARES:
        most = left.index(max(left))
        shares[most] += 1
        left[most] = -1
    return shares


def _exact(weights, total: float, of: int) -> list[int] | None:
    out = []
    for weight in weights:
        share = weight / total * of
        whole = math.floor(share + 0.5)
        if abs(share - whole) > 1e-7 or whole == 0 and weight > 0:
            return None
        out.append(whole)
    return out if sum(out) == of else None


class FairTurns:
    def __init__(self, shares: list[int], seed: int, piece: int):
        self.shares, self.period = shares, sum(shares)
        self.count = min(max((1 << 14) // self.period, 4), 64)
        self.key = philox(halves(seed), (piece, 0x3117, 0, 0))[:2]
        self.drawn = {}

    def variant(self, cycle: int) -> list[int]:
        z = (self.key[0] | self.key[1] << 32) + (cycle + 1) * 0x9E3779B97F4A7C15 & MASK64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK64
        ordinal = ((z ^ z >> 31) >> 32) * self.count >> 32
        if ordinal not in self.drawn:
            self.drawn[ordinal] = self.draw(ordinal)
        return self.drawn[ordinal]

    def window(self, source: int, turn: int) -> tuple[int, int]:
        """The permitted positions of a turn, without the end."""
        n = self.shares[source]
        return turn * self.period // n, -(-(turn + 1) * self.period // n)

    def wanted(self, variant: int, source: int, turn: int) -> int:
        release, deadline = self.window(source, turn)
        word = philox(self.key, (source, turn, variant, 0))[0]
        return (release << 16) + (word * (deadline - release << 16) >> 32)

    def draw(self, variant: int) -> list[int]:
        """The sources of a cycle. A turn may be drawn if all others can still meet their deadlines after it."""
        counts, out = [0] * len(self.shares), []
        for t in range(self.period):
            allowed = [
                (self.wanted(variant, i, count), i)
                for i, count in enumerate(counts)
                if count < self.shares[i]
                and self.window(i, count)[0] <= t
                and all(self.can_wait(counts, i, t, end) for end in range(t + 1, self.window(i, count)[1]))
            ]
            counts[min(allowed)[1]] += 1
            out.append(min(allowed)[1])
        return out

    def can_wait(self, counts: list[int], source: int, t: int, end: int) -> bool:
        """Whether the turns of others that end by `end` fit after this source has taken position t."""
        due = sum(
            max(0, end * n // self.period - counts[i]) for i, n in enumerate(self.shares) if i != source
        )
        return due <= end - (t + 1)

    def source(self, position: int) -> int:
        cycle, within = divmod(position, self.period)
        return self.variant(cycle)[within]


class Mixture:
    """An endless sequence of turns; sources that have ended are left out when reported."""

    def __init__(self, schedule, seed: int):
        self.schedule, self.seed = schedule, seed
        self.out: set[int] = set()
        self.pieces: list[tuple[int, FairTurns | None]] = []
        for start, _ in schedule:
            self.begin(start)

    def begin(self, position: int) -> None:
        if self.pieces and self.pieces[-1][0] == position:
            self.pieces.pop()
        step = max(i for i, (start, _) in enumerate(self.schedule) if start <= position)
        turns = None
        for _, weights in self.schedule[step:]:
            left = [0 if i in self.out else weight for i, weight in enumerate(weights)]
            if any(left):
                turns = turns_of(tuple(left), self.seed, len(self.pieces))
                break
        self.pieces.append((position, turns))

    def leave_out(self, source: int, position: int) -> None:
        self.out.add(source)
        while self.pieces[-1][0] > position:
            self.pieces.pop()
        self.begin(position)
        for start, _ in self.schedule:
            if start > position and self.pieces[-1][1]:
                self.begin(start)

    def source(self, position: int) -> int | None:
        first, turns = [piece for piece in self.pieces if piece[0] <= position][-1]
        return None if turns is None else turns.source(position - first)

    def is_lasting(self, source: int) -> bool:
        return self.schedule[-1][1][source] > 0


@lru_cache(maxsize=4096)
def turns_of(weights: tuple[float, ...], seed: int, piece: int) -> FairTurns:
    return FairTurns(shares_of(weights), seed, piece)


class Turns:
    """The source of the next element, of a mix or of choices; callers report when a source has ended."""

    def __init__(self, sources: int, stop: str, mixture: Mixture | None = None, choices=None):
        self.stop, self.mixture, self.choices = stop, mixture, choices
        self.position, self.over = 0, False
        self.out: set[int] = set()
        self.ended: set[int] = set()
        self.lasting = {i for i in range(sources) if mixture and mixture.is_lasting(i)}

    def next(self) -> int | None:
        while not self.over:
            if self.mixture:
                return self.mixture.source(self.position)
            if self.position >= len(self.choices):
                break
            if self.choices[self.position] not in self.out:
                return self.choices[self.position]
            self.position += 1
        return None

    def gave(self) -> None:
        self.position += 1

    def end(self, source: int) -> bool:
        """Reports that a source has ended; returns whether it begins again."""
        if self.stop == "first_exhausted":
            self.over = True
        elif self.stop == "all_exhausted":
            self.out.add(source)
            if self.mixture:
                self.mixture.leave_out(source, self.position)
        else:
            self.ended.add(source)
            self.over = bool(self.lasting) and self.lasting <= self.ended
            return not self.over
        return False
