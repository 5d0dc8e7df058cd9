"""What a function of map and filter computes: an expression for each side, and the dtype and shape of what it gives.

Where tf.data means something else by the same expression, theirs is written so that it says what ours does: see docs/differences-from-tf-data.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .choices import Choices
from .kinds import FLOATS, INTEGERS, NUMBERS, Leaf

NARROW = ("uint8", "int8", "uint16", "int16", "uint32", "int32")  # f64 holds each of their values


@dataclass(frozen=True)
class Expression:
    ours: str
    theirs: str
    leaf: Leaf


Field = tuple[str, Leaf]  # its code, `s["a"]`, on both sides


@dataclass(frozen=True)
class Form:
    """A kind of expression: the fields it can begin with, and what it makes of one."""

    fits: Callable[[Leaf], bool]
    make: Callable[[Choices, str, Leaf, Sequence[Field]], Expression]


def is_number(leaf: Leaf) -> bool:
    return leaf.dtype in NUMBERS


def same(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    return Expression(x, x, leaf)


def number_of(c: Choices, dtype: str) -> int | float:
    return c.of((2, 1, 0, 100) if dtype in INTEGERS else (2, 0.5, 0.1, -3.75, 0, 100))


def float_of(integer: str) -> str:
    return "float32" if integer.endswith(("int8", "int16")) else "float64"


def with_number(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    """x + 2, with the number in the dtype of the field."""
    sign, left = c.of("+-*"), c.one_in(4)
    value = number_of(c, leaf.dtype)
    theirs = f'tf.constant({value}, "{leaf.dtype}")'
    if left:
        return Expression(f"{value} {sign} {x}", f"{theirs} {sign} {x}", leaf)
    return Expression(f"{x} {sign} {value}", f"{x} {sign} {theirs}", leaf)


def with_fraction(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    """Whole numbers become floats with a fraction, which tf.data refuses, as they do by division."""
    sign, value = c.of("+-*/"), c.of((0.5, 0.1, 3))
    value = 0.5 if sign != "/" and value == 3 else value
    dtype = float_of(leaf.dtype)
    theirs = f'tf.cast({x}, "{dtype}") {sign} tf.constant({value}, "{dtype}")'
    return Expression(f"{x} {sign} {value}", theirs, Leaf(dtype, leaf.shape))


def divided(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    value, left = c.of((2, 0.1, 3, 0)), c.one_in(3)
    theirs = f'tf.constant({value}, "{leaf.dtype}")'
    return (
        Expression(f"{value} / {x}", f"{theirs} / {x}", leaf)
        if left
        else Expression(f"{x} / {value}", f"{x} / {theirs}", leaf)
    )


def compared(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    sign, value = c.of(("<", "<=", ">", ">=", "==", "!=")), number_of(c, leaf.dtype)
    return Expression(
        f"{x} {sign} {value}", f'{x} {sign} tf.constant({value}, "{leaf.dtype}")', Leaf("bool", leaf.shape)
    )


def compared_exactly(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    """A whole number is compared with the number itself, be it a fraction or beyond its dtype."""
    sign, value = c.of(("<", "<=", ">", ">=", "==", "!=")), c.of((0.5, 300, -1, 70000, 2**40))
    theirs = f'tf.cast({x}, "float64") {sign} tf.constant({value}, "float64")'
    return Expression(f"{x} {sign} {value}", theirs, Leaf("bool", leaf.shape))


def of_two(c: Choices, x: str, leaf: Leaf, fields: Sequence[Field]) -> Expression:
    """Two fields of one dtype, of one shape or one of them a scalar; no other broadcasting."""
    alike = [
        (y, other)
        for y, other in fields
        if other.dtype == leaf.dtype and (other.shape == leaf.shape or not other.shape)
    ]
    y, _ = c.of(alike)
    if leaf.dtype == "bool":
        name, sign = c.of((("logical_and", "&"), ("logical_or", "|"), ("equal", "=="), ("not_equal", "!=")))
        return Expression(f"{x} {sign} {y}", f"tf.{name}({x}, {y})", leaf)
    sign = c.of(("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!="))
    if sign == "/" and leaf.dtype in INTEGERS:
        return Expression(f"{x} / {y}", f"{x} / {y}", Leaf(float_of(leaf.dtype), leaf.shape))
    return Expression(
        f"{x} {sign} {y}", f"{x} {sign} {y}", leaf if sign in "+-*/" else Leaf("bool", leaf.shape)
    )


def inverted(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    return Expression(f"~{x}", f"tf.logical_not({x})", leaf)


def negated(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    return Expression(f"-{x}", f"-{x}", leaf)


def cast(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    """Casts stop at the nearest number that fits, where tf.cast wraps around or leaves it open."""
    dtype = c.of(NUMBERS)
    return Expression(f'ops.cast({x}, dtype="{dtype}")', f'cast({x}, "{dtype}")', Leaf(dtype, leaf.shape))


def reshaped(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    shape = c.of(((-1,), (-1, 1), (1, -1), (2, -1)))
    known = None if None in leaf.shape else math.prod(size for size in leaf.shape if size is not None)
    fixed = math.prod(size for size in shape if size > 0)
    made = tuple(size if size > 0 else None if known is None else known // fixed for size in shape)
    return Expression(f"ops.reshape({x}, shape={shape})", f"tf.reshape({x}, {shape})", Leaf(leaf.dtype, made))


def one_hot(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    depth, dtype, on = c.between(1, 4), c.of(("float32", "uint8", "int64", "float16")), c.of((1, 5))
    ours = f'ops.one_hot({x}, depth={depth}, on_value={on}, dtype="{dtype}")'
    theirs = f'tf.one_hot(tf.cast({x}, "int64"), {depth}, on_value=tf.constant({on}, "{dtype}"), off_value=tf.constant(0, "{dtype}"))'
    return Expression(ours, theirs, Leaf(dtype, (*leaf.shape, depth)))


FORMS = (
    Form(lambda leaf: True, same),
    Form(is_number, with_number),
    Form(lambda leaf: leaf.dtype in INTEGERS, with_fraction),
    Form(lambda leaf: leaf.dtype in FLOATS, divided),
    Form(is_number, compared),
    Form(lambda leaf: leaf.dtype in NARROW, compared_exactly),
    Form(lambda leaf: not leaf.is_text, of_two),
    Form(lambda leaf: leaf.dtype == "bool", inverted),
    Form(lambda leaf: leaf.dtype in FLOATS or leaf.dtype.startswith("int"), negated),
    Form(is_number, cast),
    Form(lambda leaf: not leaf.is_text, reshaped),
    Form(lambda leaf: leaf.dtype in INTEGERS, one_hot),
)


def expression(c: Choices, fields: Sequence[Field]) -> Expression:
    """Some expression of some field."""
    x, leaf = c.of(fields)
    return c.of([form for form in FORMS if form.fits(leaf)]).make(c, x, leaf, fields)


def backwards(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    return Expression(f"{x}[::-1]", f"{x}[::-1]", leaf)


def positive(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    """As many as the data says, so that shapes differ."""
    return Expression(f"{x}[{x} > 0]", f"tf.boolean_mask({x}, {x} > 0)", Leaf(leaf.dtype, (None,)))


def longer(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    return Expression(f'{x} + {"b" * (leaf.dtype == "bytes")}"!"', f'{x} + "!"', leaf)


def length(c: Choices, x: str, leaf: Leaf, _: Sequence[Field]) -> Expression:
    count = f"len({x})" if leaf.dtype == "bytes" else f"len({x}.encode())"
    return Expression(f"np.int32({count})", f"tf.strings.length({x})", Leaf("int32"))


def in_numpy(leaf: Leaf) -> bool:
    """NumPy has no bf16 of its own: a function gets that of ml_dtypes, and gives it back."""
    return leaf.dtype != "bfloat16"


# What NumPy can and our operators cannot: for functions that run as Python.
PYTHON_FORMS = (
    Form(lambda _: True, same),
    Form(lambda leaf: bool(leaf.shape) and not leaf.is_text and in_numpy(leaf), backwards),
    Form(lambda leaf: len(leaf.shape) == 1 and leaf.dtype in NUMBERS and in_numpy(leaf), positive),
    Form(lambda leaf: leaf.is_text and not leaf.shape, longer),
    Form(lambda leaf: leaf.is_text and not leaf.shape, length),
)


def python_expression(c: Choices, fields: Sequence[Field]) -> Expression:
    x, leaf = c.of(fields)
    return c.of([form for form in PYTHON_FORMS if form.fits(leaf)]).make(c, x, leaf, fields)
