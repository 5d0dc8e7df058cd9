"""Verbs that make elements of several, or remember those before, an entry each: as in verbs.py."""

from __future__ import annotations

import operator
from dataclasses import replace

from .choices import Choices
from .expressions import expression
from .kinds import INTEGERS, Leaf, Pipeline, argument, leaves, mapped, written
from .registry import decides, fields_of, verb
from .sources import NESTS


def stacked(p: Pipeline, rows: int | None = None) -> Pipeline:
    """With one more dimension in front of every field."""
    element = mapped(p.element, lambda leaf: replace(leaf, shape=(rows, *leaf.shape)))
    return replace(p, element=element, batched=p.batched + 1)


def is_stream_of_elements(p: Pipeline) -> bool:
    return not p.sharded and not p.ragged


@verb(lambda p: is_stream_of_elements(p) and p.batched < 2, often=2, needs=("window",))
def window(p: Pipeline, c: Choices) -> Pipeline:
    size, shift, stride, drop = c.of((2, 3, 1, 5)), c.of((1, 2, 4)), c.of((1, 2, 3)), c.one_in(3)
    # Theirs keeps an error of what it reads to itself until a window holds it, and a window that is dropped never does.
    drop = drop and ".unbatch(" not in p.ours
    ours = f".window({size}, shift={shift}, stride={stride}{', drop_last=True' * drop})"
    reach = (size - 1) * stride if drop else 0
    made = stacked(p).around(ours, "windows", f"{size}, {shift}, {stride}, {drop}")
    return made.with_sizes(lambda n: max(0, -(-(n - reach) // shift)))


def has_rows_together(p: Pipeline) -> bool:
    """All fields have as many rows: what was zipped to batches may have others, which we refuse."""
    return all(leaf.shape for _, leaf in leaves(p.element)) and ".zip(" not in p.ours


@verb(
    lambda p: is_stream_of_elements(p) and p.batched > 0 and has_rows_together(p),
    needs=("rebatch",),
)
def rebatch(p: Pipeline, c: Choices) -> Pipeline:
    size, drop = c.of((2, 1, 3, 5)), c.one_in(3)
    rows = max(12 if leaf.shape[0] is None else leaf.shape[0] for _, leaf in leaves(p.element))
    element = mapped(p.element, lambda leaf: replace(leaf, shape=(None, *leaf.shape[1:])))
    return p.then(
        f".rebatch({size}{', drop_last=True' * drop})",
        f".rebatch({size}{', drop_remainder=True' * drop})",
        element=element,
        size=None,
        most=p.most * rows,
        indexed=False,
    )


@verb(lambda p: is_stream_of_elements(p) and not p.batched, often=2, needs=("padded_batch",))
def padded_batch(p: Pipeline, c: Choices) -> Pipeline:
    size, drop, fill = c.of((2, 1, 3, 5)), c.one_in(3), c.of((0, 1))
    ours = f".padded_batch({size}, fill={fill}{', drop_last=True' * drop})"
    grown = mapped(p.element, lambda leaf: replace(leaf, shape=tuple(leaf.shape)))
    made = stacked(replace(p, element=grown), size if drop else None).then(
        ours, f".padded_batch({size}, padding_values={fills(p, fill)}{', drop_remainder=True' * drop})"
    )
    return made.with_sizes(lambda n: n // size if drop else -(-n // size))


def fills(p: Pipeline, fill: int) -> str:
    """What each field is filled up with, as tf.data wants it."""
    return written(
        mapped(p.element, lambda leaf: '""' if leaf.is_text else f'tf.cast({fill}, "{leaf.dtype}")')
    )


@verb(
    lambda p: is_stream_of_elements(p) and not p.batched and any(leaf.shape for _, leaf in fields_of(p)),
    often=2,
    needs=("bucket_by_length",),
)
def bucket_by_length(p: Pipeline, c: Choices) -> Pipeline:
    x, _ = c.of([(x, leaf) for x, leaf in fields_of(p) if leaf.shape])
    boundaries = c.of(([2], [1, 3], [3], []))
    sizes = [c.between(1, 3) for _ in range(len(boundaries) + 1)]
    fill, drop, ragged = c.of((0, 1)), c.one_in(3), c.one_in(4)
    length = f"lambda {argument(p.element)}: tf.shape({x})[0]"
    how = "ragged=True" if ragged else f"fill={fill}"
    ours = f".bucket_by_length(lambda s: ops.length({x}), boundaries={boundaries}, batch_sizes={sizes}, {how}"
    theirs = f".bucket_by_sequence_length({length}, {boundaries}, {sizes}, padding_values={fills(p, fill)}"
    if ragged:
        theirs = f".apply(ragged_buckets({length}, {boundaries}, {sizes}, {drop})"
    elif drop:
        theirs += ", drop_remainder=True"
    return stacked(p).then(
        f"{ours}{', drop_last=True' * drop})", f"{theirs})", size=None, indexed=False, ragged=ragged
    )


@verb(
    lambda p: is_stream_of_elements(p) and p.batched < 2 and any(_is_key(leaf) for _, leaf in fields_of(p)),
    often=2,
    needs=("group_by_window",),
)
def group_by_window(p: Pipeline, c: Choices) -> Pipeline:
    x, _ = c.of([(x, leaf) for x, leaf in fields_of(p) if _is_key(leaf)])
    size, drop = c.of((2, 1, 3)), c.one_in(3)
    reduce = f"lambda key, ds: ds.batch({size}{', drop_remainder=True' * drop})"
    return stacked(p).then(
        f".group_by_window(lambda s: {x}, {size}{', drop_last=True' * drop})",
        f'.group_by_window(lambda {argument(p.element)}: tf.cast({x}, "int64"), {reduce}, window_size={size})',
        size=None,
        indexed=False,
    )


def _is_key(leaf: Leaf) -> bool:
    return not leaf.shape and leaf.dtype in INTEGERS and leaf.dtype != "uint64"


@verb(
    lambda p: is_stream_of_elements(p) and any(decides(leaf) for _, leaf in fields_of(p)),
    needs=("take_while",),
)
def take_while(p: Pipeline, c: Choices) -> Pipeline:
    x, leaf = c.of([(x, leaf) for x, leaf in fields_of(p) if decides(leaf)])
    if leaf.dtype == "bool":
        ours = theirs = x
    else:
        sign, value = c.of(("<", ">=", "!=")), c.of((3, 1, 7, 100))
        ours, theirs = f"{x} {sign} {value}", f'{x} {sign} tf.constant({value}, "{leaf.dtype}")'
    return p.then(
        f".take_while(lambda s: {ours})",
        f".take_while(lambda {argument(p.element)}: {theirs})",
        size=None,
        indexed=False,
    )


@verb(
    lambda p: (
        is_stream_of_elements(p)
        and isinstance(p.element, Leaf)
        and not p.element.shape
        and p.element.dtype in {"int32", "int64", "bytes", "str"}
    ),
    often=6,
    needs=("unique",),
)
def unique(p: Pipeline, c: Choices) -> Pipeline:
    """Theirs takes single fields of three dtypes."""
    return p.then(".unique()", ".unique()", size=None, indexed=False)


@verb(
    lambda p: is_stream_of_elements(p) and any(decides(leaf) for _, leaf in fields_of(p)),
    needs=("rejection_resample",),
)
def rejection_resample(p: Pipeline, c: Choices) -> Pipeline:
    """Where all of one class stay and none of the other: what is drawn in between is another draw in each."""
    x, leaf = c.of([(x, leaf) for x, leaf in fields_of(p) if decides(leaf)])
    wanted = c.of(([1.0, 0.0], [0.0, 1.0]))
    ours, theirs = (x, x) if leaf.dtype == "bool" else (f"{x} > 1", f'{x} > tf.constant(1, "{leaf.dtype}")')
    return p.then(
        f'.rejection_resample(lambda s: ops.cast({ours}, dtype="i64"), {wanted}, [1, 3]).map(lambda s: s[1])',
        f".rejection_resample(lambda {argument(p.element)}: tf.cast({theirs}, tf.int32), {wanted}, [0.25, 0.75])"
        ".map(lambda c, s: s)",
        size=None,
        indexed=False,
    )


@verb(
    lambda p: is_stream_of_elements(p) and any(_adds_up(leaf) for _, leaf in fields_of(p)),
    often=2,
    needs=("scan",),
)
def scan(p: Pipeline, c: Choices) -> Pipeline:
    """A running sum beside expressions of the fields."""
    x, leaf = c.of([(x, leaf) for x, leaf in fields_of(p) if _adds_up(leaf)])
    fields = [*fields_of(p), ("t", leaf)]
    made = mapped(c.of(NESTS), lambda _: c.within(lambda: expression(c, fields)))
    ours, theirs = (written(mapped(made, operator.attrgetter(side))) for side in ("ours", "theirs"))
    return p.then(
        f'.scan(np.array(0, "{leaf.dtype}"), lambda t, s: (t + {x}, {ours}))',
        f'.scan(tf.constant(0, "{leaf.dtype}"), lambda t, s: (t + {x}, {theirs}))',
        element=mapped(made, operator.attrgetter("leaf")),
        indexed=False,
    )


def _adds_up(leaf: Leaf) -> bool:
    return decides(leaf) and leaf.dtype not in {"bool", "bfloat16"}
