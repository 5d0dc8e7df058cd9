"""Verbs of several datasets, an entry each: as in verbs.py."""

from __future__ import annotations

from .choices import Choices
from .kinds import Leaf, Pipeline, mapped
from .registry import MOST, can_be_made_anew, verb
from .sources import NESTS, arrays_of, random_leaf


@verb(lambda p: not p.sharded and not p.ragged, needs=("zip",))
def zip(p: Pipeline, c: Choices) -> Pipeline:
    """With fresh data of another kind; the shortest says how many."""
    other = arrays_of(c, mapped(c.of(NESTS), lambda _: random_leaf(c)), c.of((3, 5, 1, 12)))
    size = None if p.size is None else min(p.size, other.most)
    return p.around(
        f".zip({other.ours})",
        "zipped",
        other.theirs,
        element=(p.element, other.element),
        size=size,
        most=min(p.most, other.most),
    )


@verb(lambda p: not p.sharded and not p.ragged, needs=("enumerate",))
def enumerate(p: Pipeline, c: Choices) -> Pipeline:
    start = c.of((0, 5, -3))
    made = f".enumerate({start})" if start else ".enumerate()"
    return p.then(made, made, element=(Leaf("int64"), p.element))


@verb(lambda p: not p.sharded and can_be_made_anew(p) and p.most * 2 <= MOST, needs=("choose", "apply"))
def choose(p: Pipeline, c: Choices) -> Pipeline:
    """One that has no more ends it all, or is passed over."""
    other = arrays_of(c, p.element, c.of((1, 2, 4)))
    choice = [c.below(2) for _ in range(c.below(8))]
    ends = c.one_in(2)
    stop = "first_exhausted" if ends else "all_exhausted"
    ours = f'.apply(lambda ds: hr.choose([ds, {other.ours}], np.array({choice}, "int64"), stop="{stop}"))'
    return p.around(
        ours,
        "chosen",
        f"{other.theirs}, {choice}, {ends}",
        size=None if p.size is None else chosen(choice, [p.size, other.most], ends),
        most=p.most + other.most,
    )


def chosen(choice: list[int], left: list[int], ends: bool) -> int:
    """How many elements a choice gives."""
    left, given = list(left), 0
    for which in choice:
        if left[which]:
            left[which] -= 1
            given += 1
        elif ends:
            break
    return given


@verb(
    lambda p: not p.sharded and can_be_made_anew(p) and p.most * 2 <= MOST,
    often=2,
    needs=("interleave", "apply"),
)
def interleave(p: Pipeline, c: Choices) -> Pipeline:
    others = [
        arrays_of(c, p.element, c.of((1, 3, 4, 0) if _has_no_text(p) else (1, 3, 4)))
        for _ in range(c.between(1, 3))
    ]
    cycle, block = c.between(1, 4), c.between(1, 3)
    ours = ", ".join(other.ours for other in others)
    theirs = ", ".join(other.theirs for other in others)
    more = sum(other.most for other in others)
    return p.around(
        f".apply(lambda ds: hr.interleave([ds, {ours}], cycle_length={cycle}, block_length={block}))",
        "interleaved",
        f"[{theirs}], {cycle}, {block}",
        size=None if p.size is None else p.size + more,
        most=p.most + more,
    )


def _has_no_text(p: Pipeline) -> bool:
    return (
        '["' not in arrays_of(Choices(), p.element, 1).ours
        and "b'" not in arrays_of(Choices(), p.element, 1).ours
    )
