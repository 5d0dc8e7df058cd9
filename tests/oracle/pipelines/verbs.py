"""The verbs that Headrace and tf.data share, an entry each: when it may come, and what it adds to both pipelines.

To add one, write a function from a Pipeline and Choices to a Pipeline and register it with `@verb`. If it means something else there, say so in
docs/differences-from-tf-data.md and write its twin in twins.py.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace

from .choices import Choices
from .expressions import Expression, Field, expression, python_expression
from .kinds import INTEGERS, Leaf, Pipeline, argument, leaves, mapped, written
from .sources import NESTS, arrays_of

MOST = 60  # elements of one pipeline


@dataclass(frozen=True)
class Verb:
    """Whether it may follow a pipeline, and the pipeline with it."""

    name: str
    fits: Callable[[Pipeline], bool]
    add: Callable[[Pipeline, Choices], Pipeline]
    often: int
    orders: bool  # it works on the order only, so a shard may wait until after it


VERBS: list[Verb] = []


def verb(
    fits: Callable[[Pipeline], bool] = lambda p: True, often: int = 1, orders: bool = False
) -> Callable[[Callable[[Pipeline, Choices], Pipeline]], Callable[[Pipeline, Choices], Pipeline]]:
    """Register a verb: where it fits, how often it is drawn, and whether it works on the order only."""

    def register(add: Callable[[Pipeline, Choices], Pipeline]) -> Callable[[Pipeline, Choices], Pipeline]:
        VERBS.append(Verb(add.__name__, fits, add, often, orders))
        return add

    return register


def fields_of(p: Pipeline) -> list[Field]:
    """What a function can work with: all fields, of a batch those without text."""
    fields = [(f"s{path}", leaf) for path, leaf in leaves(p.element)]
    return [] if p.ragged else [(x, leaf) for x, leaf in fields if not (leaf.is_text and leaf.shape)]


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
    """With fresh data of the same kind; with itself where that cannot be written out."""
    kinds = [leaf for _, leaf in leaves(p.element)]
    plain = all(
        leaf.dtype != "bfloat16" and None not in leaf.shape and not (leaf.is_text and leaf.shape)
        for leaf in kinds
    )
    if p.batched or not plain or p.sharded:
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
    lambda p: not p.sharded and any(_decides(leaf) for _, leaf in fields_of(p)),
    often=2,
)
def filter(p: Pipeline, c: Choices) -> Pipeline:
    return _choosing(p, c, "filter")


@verb(lambda p: not p.sharded and any(_decides(leaf) for _, leaf in fields_of(p)))
def take_while(p: Pipeline, c: Choices) -> Pipeline:
    return _choosing(p, c, "take_while")


def _choosing(p: Pipeline, c: Choices, name: str) -> Pipeline:
    x, leaf = c.of([(x, leaf) for x, leaf in fields_of(p) if _decides(leaf)])
    if leaf.dtype == "bool":
        ours = theirs = x
    else:
        sign, value = c.of((">", "<=", "==", "!=")), c.of((1, 0, 3))
        ours, theirs = f"{x} {sign} {value}", f'{x} {sign} tf.constant({value}, "{leaf.dtype}")'
    return p.then(f".{name}(lambda s: {ours})", f".{name}(lambda {argument(p.element)}: {theirs})", **STREAM)


STREAM = {"size": None, "indexed": False}


@verb(
    lambda p: not p.sharded and p.element in [Leaf(dtype) for dtype in ("int64", "int32", "bytes")], often=3
)
def unique(p: Pipeline, c: Choices) -> Pipeline:
    """Of what theirs takes: single fields of these dtypes."""
    return p.then(".unique()", ".unique()", **STREAM)


@verb(lambda p: not p.sharded and not p.ragged)
def scan(p: Pipeline, c: Choices) -> Pipeline:
    """Counts the elements."""
    step = "lambda n, s: (n + 1, {'n': n, 's': s})"
    element = {"n": Leaf("int64"), "s": p.element}
    return p.then(
        f".scan(0, {step})", f".scan(tf.constant(0, tf.int64), {step})", element=element, indexed=False
    )


def _decides(leaf: Leaf) -> bool:
    return not leaf.shape and not leaf.is_text


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


def _all_numbers(p: Pipeline) -> bool:
    return not any(leaf.is_text for _, leaf in leaves(p.element))


@verb(lambda p: not p.ragged and p.batched < 2 and _all_numbers(p), often=2)
def padded_batch(p: Pipeline, c: Choices) -> Pipeline:
    size, drop = c.of((2, 1, 3, 5)), c.one_in(3)
    rows = size if drop else None
    p = replace(
        p,
        element=mapped(p.element, lambda leaf: replace(leaf, shape=(rows, *leaf.shape))),
        batched=p.batched + 1,
    )
    p = p.then(
        f".padded_batch({size}{', drop_last=True' * drop})",
        f".padded_batch({size}{', drop_remainder=True' * drop})",
    )
    return p.with_sizes(lambda n: n // size if drop else -(-n // size))


def _lengths(p: Pipeline) -> list[str]:
    return [x for x, leaf in fields_of(p) if leaf.shape]


@verb(
    lambda p: not p.sharded and not p.ragged and p.batched < 2 and _all_numbers(p) and bool(_lengths(p)),
    often=2,
)
def bucket_by_length(p: Pipeline, c: Choices) -> Pipeline:
    x, drop = c.of(_lengths(p)), c.one_in(3)
    boundaries = c.of(([1], [2], [2, 4]))
    sizes = [c.between(1, 3) for _ in range(len(boundaries) + 1)]
    return p.then(
        f".bucket_by_length(lambda s: ops.length({x}), boundaries={boundaries}, batch_sizes={sizes}"
        f"{', drop_last=True' * drop})",
        f".bucket_by_sequence_length(lambda {argument(p.element)}: tf.shape({x})[0], {boundaries}, {sizes}"
        f"{', drop_remainder=True' * drop})",
        element=mapped(p.element, lambda leaf: replace(leaf, shape=(None, *leaf.shape))),
        batched=p.batched + 1,
        **STREAM,
    )


@verb(
    lambda p: (
        not p.sharded and not p.ragged and not p.batched and any(is_key(leaf) for _, leaf in fields_of(p))
    ),
    often=2,
)
def group_by_window(p: Pipeline, c: Choices) -> Pipeline:
    x = c.of([x for x, leaf in fields_of(p) if is_key(leaf)])
    size = c.between(1, 4)
    return p.then(
        f".group_by_window(lambda s: {x}, {size})",
        f".group_by_window(lambda {argument(p.element)}: tf.cast({x}, tf.int64),\n"
        f"        lambda key, window: window.batch({size}), window_size={size})",
        element=mapped(p.element, lambda leaf: replace(leaf, shape=(None, *leaf.shape))),
        batched=1,
        **STREAM,
    )


def is_key(leaf: Leaf) -> bool:
    """Whether it is an integer that i64 holds."""
    return not leaf.shape and leaf.dtype in INTEGERS and leaf.dtype != "uint64"


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
