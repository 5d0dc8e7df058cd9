"""Random pipelines: a pure function of the choices."""

from __future__ import annotations

from dataclasses import replace

from . import gathering, joining, verbs  # noqa: F401 -- they register their verbs
from .choices import Choices
from .kinds import Pipeline
from .registry import VERBS
from .sources import source

VERBS_AT_MOST = 8


def pipeline(c: Choices) -> Pipeline:
    """A source and up to 8 verbs."""
    p = c.within(lambda: source(c))
    for _ in range(VERBS_AT_MOST):
        p, more = c.within(lambda p=p: with_verb(c, p))  # type: ignore[misc]
        if not more:
            break
    p = p.settled()
    return replace(p, ours=f"({p.ours})", theirs=f"(lambda epoch:\n{p.theirs})(0)")


def with_verb(c: Choices, p: Pipeline) -> tuple[Pipeline, bool]:
    """One verb more, or none and False."""
    fitting = [verb for verb in VERBS if verb.fits(p) for _ in range(verb.often)]
    chosen = c.below(len(fitting) + 2)
    if chosen < 2:
        return p, False
    verb = fitting[chosen - 2]
    return verb.add(p if verb.orders else p.settled(), c), True
