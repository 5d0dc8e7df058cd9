"""rejection_resample: which elements are kept, in plain Python. Its draws are those of one operator, accept_class."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .random import Key, SampleId

SEEN_BEFORE = 10  # per class, if shares are estimated


def rate(target: Sequence[float], come: Sequence[float], of: int) -> float:
    """The probability of keeping an element of a class: the ratio of the shares; the class with the greatest is always kept."""
    ratios = [wanted / share if wanted else 0.0 for wanted, share in zip(target, come, strict=True)]
    return ratios[of] / max(ratios)


def resampled(
    elements: Iterable[tuple[SampleId, Any]],
    class_of: Callable[[Any], int],
    target: Sequence[float],
    initial: Sequence[float] | None,
    seed: int,
    plan_seed: int,
    ordinal: int,
) -> Iterator[tuple[int, Any]]:
    """The pairs of an epoch that are kept. `ordinal`: of the operator that draws, in the plan."""
    counts = [SEEN_BEFORE] * len(target)
    for id, value in elements:
        of = class_of(value)
        counts[of] += 1
        if Key(plan_seed, ordinal, id).uniform64(seed) < rate(target, initial or counts, of):
            yield of, value
