"""The verbs that Headrace and tf.data share, an entry each: when it may come, and what it adds to both pipelines.

Those of several datasets are in joining.py, those that gather or remember elements in gathering.py. To add one, write a function from a Pipeline and Choices to a Pipeline and register it with `@verb`. If it means something else there, say so in
docs/differences-from-tf-data.md and write its twin in twins.py.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

from .choices import Choices
from .expressions import Expression, expression, python_expression
from .kinds import Pipeline, argument, leaves, mapped, written
from .registry import MOST, can_be_made_anew, decides, fields_of, verb
from .sources import NESTS, arrays_of

# ---- the order


@verb(orders=True)
def take(p: Pipeline, c: Choices) -> Pipeline:
    count = c.of((3, 5, 2, 1, 8, 100, 0))
    return p.then(f".take({count})", f".take({count})").with_sizes(lambda n: min(n, count))


@verb(orders=True)
def skip(p: Pipeline, c: Choices) -> Pipeline:
    count = c.of((1, 2, 1, 0, 3, 2, 100))
    return p.then(f".skip({count})", f".skip({count})").with_sizes(lambda n: max(n - count, 0))


@verb(lambda p: p.most * 3 <= MOST, orders=True)
def repeat(p: Pipeline, c: Choices) -> Pipeline:
    times = c.between(1, 3)
    p = p.with_sizes(lambda n: n * times)
    if not p.shuffled:
        return p.then(f".repeat({times})", f".repeat({times})")
    theirs = f"repeated(lambda epoch:\n{p.theirs},\n    times={times}, epoch=epoch)"
    return replace(p, ours=f"{p.ours}\n    .repeat({times})", theirs=theirs)


@verb(lambda p: p.size is not None and p.indexed, often=2, orders=True)
def shuffle(p: Pipeline, c: Choices) -> Pipeline:
    seed = c.below(100)
    return p.around(f".shuffle(seed={seed})", "shuffled", f"seed={seed}, epoch=epoch", shuffled=True)


@verb()
def shuffle_in_window(p: Pipeline, c: Choices) -> Pipeline:
    seed, window = c.below(100), c.between(1, 5)
    arguments = f"seed={seed}, window={window}"
    return p.around(
        f".shuffle({arguments})",
        "shuffled_in_window",
        f"{arguments}, epoch=epoch",
        shuffled=True,
        indexed=False,
    )


@verb(lambda p: p.most * 2 <= MOST and not p.ragged, orders=True)
def concatenate(p: Pipeline, c: Choices) -> Pipeline:
    """With fresh data of the same kind, where that can be written out."""
    if not can_be_made_anew(p) or p.sharded:
        return p
    other = arrays_of(c, p.element, c.of((1, 2, 4)))
    size = None if p.size is None else p.size + other.most
    return p.then(
        f".concatenate({other.ours})", f".concatenate({other.theirs})", size=size, most=p.most + other.most
    )


@verb(lambda p: p.size is not None and not p.sharded, orders=True)
def shard(p: Pipeline, c: Choices) -> Pipeline:
    world = c.between(1, 4)
    rank, even = c.below(world), c.of(("wrap", "drop"))
    arguments = f'rank={rank}, world={world}, even="{even}"'
    p = p.then(f'.shard({rank}, {world}, even="{even}")', "", deal=arguments, sharded=True)
    return replace(p, theirs=p.theirs.rstrip())


# ---- the elements


@verb(lambda p: bool(fields_of(p)), often=4, orders=True)
def map(p: Pipeline, c: Choices) -> Pipeline:
    """A traced function: a new nest of expressions of the fields."""
    return _mapped(p, c, expression, "")


@verb(lambda p: len(fields_of(p)) == len(leaves(p.element)), orders=True)
def map_in_python(p: Pipeline, c: Choices) -> Pipeline:
    return _mapped(p, c, python_expression, ", python=True")


def _mapped(p: Pipeline, c: Choices, make: Callable[..., Expression], more: str) -> Pipeline:
    fields = fields_of(p)
    made = mapped(c.of(NESTS), lambda _: c.within(lambda: make(c, fields)))
    ours, theirs = (written(mapped(made, operator.attrgetter(side))) for side in ("ours", "theirs"))
    element = mapped(made, operator.attrgetter("leaf"))
    return p.then(
        f".map(lambda s: {ours}{more})", f".map(lambda {argument(p.element)}: {theirs})", element=element
    )


@verb(
    lambda p: not p.sharded and any(decides(leaf) for _, leaf in fields_of(p)),
    often=2,
)
def filter(p: Pipeline, c: Choices) -> Pipeline:
    x, leaf = c.of([(x, leaf) for x, leaf in fields_of(p) if decides(leaf)])
    if leaf.dtype == "bool":
        ours = theirs = x
    else:
        sign, value = c.of((">", "<=", "==", "!=")), c.of((1, 0, 3))
        ours, theirs = f"{x} {sign} {value}", f'{x} {sign} tf.constant({value}, "{leaf.dtype}")'
    kept = {"size": None, "indexed": False}
    return p.then(f".filter(lambda s: {ours})", f".filter(lambda {argument(p.element)}: {theirs})", **kept)


@verb(
    lambda p: (
        not p.sharded and not p.ragged and _rows(p) is not None and p.most * max(1, _rows(p) or 0) <= MOST
    ),
    often=2,
)
def unbatch(p: Pipeline, c: Choices) -> Pipeline:
    """Rows become elements. Its own unbatch serves where every field has rows and none can be empty, which would crash it."""
    whole = all(leaf.shape and all(leaf.shape) for _, leaf in leaves(p.element))
    element = mapped(p.element, lambda leaf: replace(leaf, shape=leaf.shape[1:]))
    return p.then(
        ".unbatch()",
        ".unbatch()" if whole else ".flat_map(rows)",
        element=element,
        size=None,
        most=p.most * (_rows(p) or 0),
        indexed=False,
        batched=max(0, p.batched - 1),
    )


def _rows(p: Pipeline) -> int | None:
    """The rows of an element at most, if all that have any have as many."""
    first = {leaf.shape[0] for _, leaf in leaves(p.element) if leaf.shape}
    if len(first) != 1:
        return None
    rows = first.pop()
    return 12 if rows is None else rows


@verb(lambda p: not p.ragged and p.batched < 2, often=3)
def batch(p: Pipeline, c: Choices) -> Pipeline:
    size, drop = c.of((2, 1, 3, 5)), c.one_in(3)
    rows = size if drop else None
    p = replace(
        p,
        element=mapped(p.element, lambda leaf: replace(leaf, shape=(rows, *leaf.shape))),
        batched=p.batched + 1,
    )
    p = p.then(
        f".batch({size}{', drop_last=True' * drop})", f".batch({size}{', drop_remainder=True' * drop})"
    )
    return p.with_sizes(lambda n: n // size if drop else -(-n // size))


@verb(lambda p: not p.ragged and not p.batched)
def ragged_batch(p: Pipeline, c: Choices) -> Pipeline:
    size, drop = c.of((2, 1, 3)), c.one_in(3)
    p = p.then(
        f".batch({size}{', drop_last=True' * drop}, ragged=True)",
        f".ragged_batch({size}{', drop_remainder=True' * drop})",
        ragged=True,
        batched=1,
    )
    return p.with_sizes(lambda n: n // size if drop else -(-n // size))


# ---- how it runs, which changes nothing


@verb(orders=True)
def prefetch(p: Pipeline, c: Choices) -> Pipeline:
    count = c.between(1, 3)
    return p.then(f".prefetch({count})", f".prefetch({count})")


@verb(orders=True)
def options(p: Pipeline, c: Choices) -> Pipeline:
    """Ours alone: workers, elements under way, rewrites."""
    how = c.of(
        (
            "workers=0",
            "workers=1",
            "workers=4",
            "ready=1",
            "io=1",
            "rewrites=False",
            'rewrites={"fuse_maps": False}',
            "seed=7",
        )
    )
    return replace(p, ours=f"{p.ours}\n    .options({how})")
