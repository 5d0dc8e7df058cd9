"""The random decisions that make a pipeline, as a list of numbers that can be replayed, and shrunk.

A pipeline is a pure function of its choices, in which 0 is always the plainest thing to do. So to make an example smaller, leave numbers out
or lower them and build it again: no verb needs to know how it is shrunk.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Numbers that are drawn, or replayed; after the last replayed one comes 0 for ever, with `rng` None."""

    def __init__(self, made: Sequence[int] = (), rng: random.Random | None = None):
        self.made = list(made)
        self.spans: list[tuple[int, int]] = []  # what belongs together, as a verb with all that it draws
        self._rng = rng
        self._at = 0

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1."""
        if self._at == len(self.made):
            self.made.append(self._rng.randrange(limit) if self._rng else 0)
        self.made[self._at] = min(self.made[self._at], limit - 1)
        self._at += 1
        return self.made[self._at - 1]

    def between(self, least: int, most: int) -> int:
        """A number from `least` to `most`, the plainest of which is `least`."""
        return least + self.below(most - least + 1)

    def of(self, options: Sequence[T]) -> T:
        """One of them, the plainest of which is the first."""
        return options[self.below(len(options))]

    def one_in(self, n: int) -> bool:
        """True once in n times; False is the plainer."""
        return self.below(n) == n - 1

    def within(self, make: Callable[[], T]) -> T:
        """What `make` gives; what it draws is a span."""
        begin = self._at
        made = make()
        self.spans.append((begin, self._at))
        return made

    def used(self) -> list[int]:
        """The numbers that were asked for."""
        return self.made[: self._at]


def shrunk(
    made: Sequence[int],
    spans: Callable[[Sequence[int]], Sequence[tuple[int, int]]],
    fails: Callable[[Sequence[int]], bool],
) -> list[int]:
    """The smallest choices found that still fail, from some that do; `spans` gives those that belong together."""
    best = list(made)
    while True:
        before = best
        best = _without(best, lambda best: sorted(spans(best), key=lambda span: span[0] - span[1]), fails)
        for length in (8, 4, 2, 1):
            best = _without(
                best, lambda best, n=length: [(at, at + n) for at in range(0, len(best), n)], fails
            )  # type: ignore[misc]
        for at in range(len(best)):
            for lower in dict.fromkeys((0, best[at] // 2, best[at] - 1)):
                candidate = best[:at] + [lower] + best[at + 1 :]
                if 0 <= lower < best[at] and fails(candidate):
                    best = candidate
        best = _plainer_and_shorter(best, spans, fails)
        if best == before:
            return best


def _without(
    made: list[int],
    parts: Callable[[list[int]], list[tuple[int, int]]],
    fails: Callable[[Sequence[int]], bool],
) -> list[int]:
    """Leave out every part that is not needed."""
    number = 0
    while number < len(left := parts(made)):
        begin, end = left[number]
        candidate = made[:begin] + made[end:]
        if begin < end and fails(candidate):
            made = candidate
        else:
            number += 1
    return made


def _plainer_and_shorter(
    made: list[int],
    spans: Callable[[Sequence[int]], Sequence[tuple[int, int]]],
    fails: Callable[[Sequence[int]], bool],
) -> list[int]:
    """Lower a number, as that of an element's fields, and leave out a part that it no longer asks for."""
    for at, number in enumerate(made):
        for begin, end in sorted(span for span in spans(made) if span[0] > at)[:6] if number else []:
            candidate = made[:at] + [0] + made[at + 1 : begin] + made[end:]
            if len(candidate) < len(made) and fails(candidate):
                made = candidate
                break
    return made
