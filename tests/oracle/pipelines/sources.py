"""Where pipelines begin: small data of every dtype, written out in full."""

from __future__ import annotations

import math

import numpy as np

from .choices import Choices
from .kinds import FLOATS, INTEGERS, TEXTS, Leaf, Pipeline, Tree, leaves, mapped, written

SIZES = (3, 5, 1, 7, 12, 2, 0, 4, 9)
SHAPES: tuple[tuple[int, ...], ...] = ((), (), (), (2,), (3, 2), (1,), (2, 1, 2), (4,), (0,))
SPECIAL = (0.0, -0.0, 1.5, -2.25, 0.1, math.nan, math.inf, -math.inf, 65504.0, 1e-3, 1e10)
NESTS: tuple[Tree, ...] = (
    Leaf("", ()),
    {"a": 0},
    {"a": 0, "b": 0},
    (0, 0),
    {"a": 0, "n": {"b": 0, "c": 0}},
    ({"a": 0}, 0),
    {"a": 0, "t": (0, 0)},
    (0, (0, {"d": 0})),
)


def numbers(c: Choices, dtype: str, count: int) -> list[int | float | bool]:
    """So many values; the plain ones are 0, 1, 2, …, and now and then the greatest and the least."""
    special = c.one_in(3)
    if dtype == "bool":
        return [bool(c.below(2)) for _ in range(count)]
    if dtype in FLOATS:
        with np.errstate(over="ignore"):
            made = [c.of(SPECIAL) if special else float(i % 50) for i in range(count)]
            return [float(value) for value in np.array(made, dtype).tolist()]
    info = np.iinfo(dtype)
    return [c.of((0, 1, info.max, info.min, 7, 100)) if special else i % 50 for i in range(count)]


def column(c: Choices, leaf: Leaf, rows: int) -> str:
    """The code of a column of so many rows."""
    if leaf.is_text:
        words = [c.of(("a", "", "bc", "déf", "x" * 40)) for _ in range(rows)]
        return repr(words if leaf.dtype == "str" else [word.encode() for word in words])
    shape = (rows, *(3 if size is None else size for size in leaf.shape))
    values = np.array(numbers(c, leaf.dtype, math.prod(shape)), leaf.dtype).reshape(shape)
    code = f'np.array({values.tolist()}, "{leaf.dtype}")'
    return code if values.size else f'np.zeros({shape}, "{leaf.dtype}")'


def random_leaf(c: Choices) -> Leaf:
    dtype = c.of(("int64", *INTEGERS, "float32", "float64", "float16", "bool", *TEXTS))
    return Leaf(dtype) if dtype in TEXTS else Leaf(dtype, c.of(SHAPES))


def arrays_of(c: Choices, element: Tree, rows: int) -> Pipeline:
    """Elements of this kind, made anew."""
    data = written(mapped(element, lambda leaf: c.within(lambda: column(c, leaf, rows))))
    return Pipeline(
        f"hr.from_arrays({data})", f"tf.data.Dataset.from_tensor_slices({data})", element, rows, rows
    )


def from_arrays(c: Choices) -> Pipeline:
    element = mapped(c.of(NESTS), lambda _: c.within(lambda: random_leaf(c)))
    rows = c.of(SIZES)
    if any(leaf.is_text for _, leaf in leaves(element)):
        rows = max(rows, 1)  # no column of texts can be empty: nothing tells that they are texts
    return arrays_of(c, element, rows)


def integers(c: Choices) -> Pipeline:
    start, count, step = c.of((0, 5, -3)), c.of(SIZES), c.of((1, 2, -1))
    code = f"range({start}, {start + count * step}, {step})"
    return Pipeline(f"hr.{code}", f"tf.data.Dataset.{code}", Leaf("int64"), count, count)


def from_list(c: Choices) -> Pipeline:
    """Elements whose shapes differ."""
    dtype = c.of(("int64", "float32", "uint8", "bool"))
    rows = c.of((3, 1, 2, 5))
    lengths = [c.below(4) for _ in range(rows)]
    rows_of = [f'np.array({numbers(c, dtype, n)}, "{dtype}")' for n in lengths]
    items = "[" + ", ".join(f'{{"a": {row}, "i": np.int64({i})}}' for i, row in enumerate(rows_of)) + "]"
    element: Tree = {"a": Leaf(dtype, (None,)), "i": Leaf("int64")}
    read = c.of(("from_dataset", "from_list"))
    return Pipeline(f"hr.{read}({items})", f"listed({items})", element, rows, rows)


def file_code(c: Choices, data: bytes) -> tuple[str, str, str]:
    """The code of a file of these bytes, and how both are told its compression."""
    packed = c.of(("", "", "GZIP", "ZLIB"))
    mine, theirs = (
        (f', compression="{packed.lower()}"', f', compression_type="{packed}"') if packed else ("", "")
    )
    return f"file_of({data!r}{f', {packed!r}' * bool(packed)})", mine, theirs


def text_lines(c: Choices) -> Pipeline:
    count, end = c.of(SIZES), c.of(("\n", "\r\n"))
    lines = [c.of(("one", "", "déf", " two ", "x" * 40)) for _ in range(count)]
    data = end.join([*lines, ""] if c.one_in(2) or lines[-1:] == [""] else lines)
    file, mine, theirs = file_code(c, data.encode())
    kind = c.of(TEXTS)
    encoding = ', encoding="bytes"' if kind == "bytes" else ""
    return Pipeline(
        f'hr.read_text({file}{encoding}{mine}).map(lambda s: s["line"])',
        f"tf.data.TextLineDataset({file}{theirs})",
        Leaf(kind),
        count,
        count,
    )


def fixed_records(c: Choices) -> Pipeline:
    count, size, header, footer = c.of(SIZES), c.of((3, 1, 8)), c.of((0, 0, 5)), c.of((0, 0, 2))
    data = b"H" * header + bytes(i % 256 for i in range(count * size)) + b"F" * footer
    file, mine, theirs = file_code(c, data)
    return Pipeline(
        f"hr.read_fixed({file}, record_bytes={size}, header_bytes={header}, footer_bytes={footer}{mine})"
        '.map(lambda s: s["record"])',
        f"tf.data.FixedLengthRecordDataset({file}, {size}, {header}, {footer}{theirs})",
        Leaf("bytes"),
        count,
        count,
    )


def csv_rows(c: Choices) -> Pipeline:
    count, end, header = c.of(SIZES), c.of(("\n", "\r\n")), c.one_in(2)
    texts = ("x", "", '"a,b"', '"two\nlines"', '"say ""hi"""', "déf")
    rows = [f"{i - 1},{c.of(texts)},{c.of(('0.5', '-1e-3', ' 2 ', '7', '1e400'))}" for i in range(count)]
    data = "".join(row + end for row in (["a,b,c"] if header else []) + rows)
    file, mine, theirs = file_code(c, data.encode())
    return Pipeline(
        f'hr.read_csv({file}, header={header}, names=["a", "b", "c"], '
        f'dtypes={{"a": "int64", "b": "bytes", "c": "float32"}}, defaults={{"a": 0}}{mine})',
        f'tf.data.experimental.CsvDataset({file}, [tf.int64, "", tf.float32], header={header}{theirs})'
        '.map(lambda a, b, c: {"a": a, "b": b, "c": c})',
        {"a": Leaf("int64"), "b": Leaf("bytes"), "c": Leaf("float32")},
        count,
        count,
    )


SOURCES = (integers, from_arrays, from_arrays, from_list, text_lines, csv_rows, fixed_records)


def source(c: Choices) -> Pipeline:
    return c.of(SOURCES)(c)
