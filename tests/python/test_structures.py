"""Elements of every nest and dtype come out of every verb as they went in: values bit for bit, dtypes, shapes, Python types."""

from __future__ import annotations

import dataclasses
import io
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import headrace as hr
from headrace import ops

# Other processes import it by its name.
sys.path.insert(0, str(Path(__file__).parent / "importable"))
import functions_of_processes as functions

ROWS = 7
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


class Named(NamedTuple):
    a: Any
    b: Any


def integers(dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.array([0, 1, info.max, info.min, 2, info.max // 3, 5], dtype)


def floats(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    return np.array([0, -0.0, np.nan, -np.inf, info.max, info.tiny, 0.1]).astype(dtype)


# Seven values of each kind: a list of what an element's leaf is.
COLUMNS: dict[str, list[Any]] = {
    **{dtype: list(integers(dtype)) for dtype in INTEGERS},
    **{dtype: list(floats(dtype)) for dtype in ("float16", "float32", "float64")},
    "bool": list(np.arange(ROWS) % 3 == 0),
    "bytes": [b"", b"\0", b"a\0b", b"x" * 300, b"\xff", b"ab", b"c"],
    "str": ["", "a", "déf", "😀", "a\0b", "x" * 300, "end"],
    "matrix": list(np.arange(ROWS * 6, dtype="float32").reshape(ROWS, 2, 3)),
    "empty": list(np.zeros((ROWS, 0, 2), "uint8")),
    "bools": list(np.arange(ROWS * 2).reshape(ROWS, 2) % 3 == 0),
    "ragged": [np.arange(n, dtype="int16") for n in (2, 0, 1, 3, 0, 5, 1)],
    "ragged matrix": [np.ones((n, 4 - n % 2), "float16") for n in (2, 0, 1, 3, 0, 5, 1)],
}
RAGGED = ("ragged", "ragged matrix")

# How leaves nest in what is given, and what it comes back as.
NESTS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "dict": (lambda i, x: {"i": i, "x": x},) * 2,
    "tuple": (lambda i, x: (i, x),) * 2,
    "list": (lambda i, x: [i, x], lambda i, x: (i, x)),
    "dataclass": (Pair, lambda i, x: {"a": i, "b": x}),
    "namedtuple": (Named, lambda i, x: (i, x)),
    "deep": (
        lambda i, x: {"i": (i,), "n": {"m": {"x": x}, "t": (i, [x, i])}},
        lambda i, x: {"i": (i,), "n": {"m": {"x": x}, "t": (i, (x, i))}},
    ),
    "lone": (lambda i, x: x, lambda i, x: x),
}

Data = Callable[[Any], Any]
# A verb, and what it makes of the list of elements.
VERBS: dict[str, tuple[Data, Callable[[list[Any]], list[Any]]]] = {
    "nothing": (lambda ds: ds, lambda rows: rows),
    "take": (lambda ds: ds.take(3), lambda rows: rows[:3]),
    "skip": (lambda ds: ds.skip(3), lambda rows: rows[3:]),
    "repeat": (lambda ds: ds.repeat(2), lambda rows: rows * 2),
    "shard": (lambda ds: ds.shard(1, 2), lambda rows: rows[1::2] + rows[:1]),
    "concatenate": (lambda ds: ds.concatenate(ds.take(2)), lambda rows: rows + rows[:2]),
    "shuffle": (lambda ds: ds.shuffle(seed=3), lambda rows: [rows[int(i)] for i in hr.range(len(rows)).shuffle(seed=3)]),
    "window": (lambda ds: ds.shuffle(seed=3, window=3), lambda rows: [rows[int(i)] for i in hr.range(len(rows)).shuffle(seed=3, window=3)]),
    "map": (lambda ds: ds.map(lambda s: s), lambda rows: rows),
    "map in Python": (lambda ds: ds.map(lambda s: s, python=True), lambda rows: rows),
    "filter": (lambda ds: ds.filter(lambda s: True, python=True), lambda rows: rows),
    "on_error": (lambda ds: ds.on_error("skip"), lambda rows: rows),
    "options": (lambda ds: ds.options(workers=2, ready=2).prefetch(3), lambda rows: rows),
    "batch and unbatch": (lambda ds: ds.batch(3, ragged=True).unbatch(), lambda rows: rows),
    "batch and more": (lambda ds: ds.batch(3, ragged=True).skip(1).repeat(2).unbatch(), lambda rows: rows[3:] * 2),
}  # fmt: skip


def elements(nest: Callable[[Any, Any], Any], kind: str) -> list[Any]:
    return [nest(np.int64(i), value) for i, value in enumerate(COLUMNS[kind])]


def same(got: Any, wanted: Any) -> None:
    assert type(got) is type(wanted)
    if isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for name, value in wanted.items():
            same(got[name], value)
    elif isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for value, other in zip(got, wanted):
            same(value, other)
    elif isinstance(wanted, (bytes, str)):
        assert got == wanted
    else:
        assert (got.dtype, got.shape, got.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_keeps_what_it_does_not_change(verb: str, nest: str) -> None:
    given, back = NESTS[nest]
    apply, meaning = VERBS[verb]
    for kind in COLUMNS:
        dataset = hr.from_dataset(elements(given, kind))
        same(list(apply(dataset)), meaning(elements(back, kind)))


@pytest.mark.parametrize("nest", NESTS)
def test_columns_are_cut_into_such_elements(nest: str) -> None:
    given, back = NESTS[nest]
    for kind, values in COLUMNS.items():
        if kind not in RAGGED:
            column = values if kind in {"bytes", "str"} else np.stack(values)
            same(list(hr.from_arrays(given(np.arange(ROWS), column))), elements(back, kind))


@pytest.mark.parametrize("nest", NESTS)
def test_a_batch_stacks_each_leaf(nest: str) -> None:
    given, back = NESTS[nest]
    for kind, values in COLUMNS.items():
        if kind in RAGGED:
            continue
        batches = hr.from_dataset(elements(given, kind)).batch(3)
        for batch, begin in zip(batches, (0, 3, 6), strict=True):
            rows = values[begin : begin + 3]
            texts = kind in {"bytes", "str"}
            leaf = rows if texts else np.stack(rows)
            wanted = back(np.arange(begin, begin + len(rows)), leaf)
            if kind != "bytes":
                same(batch, wanted)
            else:
                assert isinstance(batch if nest == "lone" else batch_leaf(batch), hr.BytesColumn)
        same(list(batches.unbatch()), elements(back, kind))


def batch_leaf(batch: Any) -> Any:
    """The leaf that is not the number."""
    flat: list[Any] = []

    def visit(node: Any) -> None:
        for part in node.values() if isinstance(node, dict) else node:
            visit(part) if isinstance(part, (dict, tuple)) else flat.append(part)

    visit(batch)
    return next(leaf for leaf in flat if not isinstance(leaf, np.ndarray))


def test_functions_in_other_processes_get_and_give_the_same() -> None:
    given, back = NESTS["deep"]
    rows = [dict(zip(COLUMNS, values)) for values in zip(*COLUMNS.values())]
    items = [given(np.int64(i), row) for i, row in enumerate(rows)]
    dataset = hr.from_dataset(items).map(functions.same, python="processes")
    same(list(dataset), [back(np.int64(i), row) for i, row in enumerate(rows)])


@pytest.mark.parametrize("nest", NESTS)
def test_a_plan_keeps_the_nest(nest: str, tmp_path: Any) -> None:
    given, back = NESTS[nest]
    items = elements(given, "matrix")
    hr.from_dataset(items).shuffle(seed=1).batch(2).unbatch().save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json", bind={"sequence": items})
    same(list(again), [elements(back, "matrix")[int(i)] for i in hr.range(ROWS).shuffle(seed=1)])


def test_bf16_goes_through_bit_by_bit() -> None:
    data = hr.from_arrays(np.array([0.0, 1.5, -2.0, np.inf], "float32")).map(
        lambda x: {"x": ops.cast(x, dtype="bf16")}
    )
    assert data.schema["x"].dtype.name == "bfloat16"
    bits = np.array([0, 0x3FC0, 0xC000, 0x7F80], "uint16")
    for ds, wanted in {
        data: bits,
        data.shuffle(seed=1).batch(4).unbatch(): bits[[int(i) for i in hr.range(4).shuffle(seed=1)]],
        data.batch(2, ragged=True).unbatch(): bits,
        data.filter(lambda s: s.x > 0): bits[[1, 3]],
        data.map(lambda s: s, python=True).take(2): bits[:2],
    }.items():
        assert [int(element["x"].view("u2")) for element in ds] == list(wanted)
    back = data.batch(4).map(lambda s: ops.cast(s.x, dtype="f32"))
    assert back[0].tolist() == [0, 1.5, -2, np.inf]


NO_LEAVES = {
    "None": (lambda: None, "got None"),
    "complex": (lambda: np.zeros((), "complex64"), "complex64"),
    "long double": (lambda: np.zeros((), "longdouble"), "float128"),
    "time": (lambda: np.zeros((), "datetime64[s]"), "datetime64"),
    "array of texts": (lambda: np.array([["a"]]), "<U1"),
    "object": (object, "object"),
}


@pytest.mark.parametrize("what", NO_LEAVES)
def test_what_no_field_can_hold_is_named(what: str) -> None:
    make, named = NO_LEAVES[what]
    for attempt in (
        lambda: hr.from_dataset([{"a": 1, "b": make()}]),
        lambda: hr.range(3).map(lambda x: {"a": x, "b": make()}, python=True),
    ):
        with pytest.raises(TypeError, match=f"{named}.* in field 'b'"):
            attempt()


def test_texts_of_numpy_are_texts() -> None:
    made = hr.range(1).map(lambda x: (np.str_("a"), np.bytes_(b"b"), np.array("c")), python=True)
    same(made[0], ("a", b"b", "c"))
    same(hr.from_dataset([(np.str_("a"), np.bytes_(b"b"))])[0], ("a", b"b"))


def test_optional_fields_are_empty_bytes_in_every_verb(tmp_path: Any) -> None:
    """A member that some samples of a tar lack: `missing="empty"`."""
    wanted = []
    with tarfile.open(tmp_path / "some.tar", "w") as tar:
        for i in range(ROWS):
            members = {"cls": str(i).encode(), "mask": b"m" * i if i % 3 else None}
            for suffix, data in members.items():
                if data is not None:
                    entry = tarfile.TarInfo(f"{i:03}.{suffix}")
                    entry.size = len(data)
                    tar.addfile(entry, io.BytesIO(data))
            wanted.append({"cls": np.int64(i), "mask": members["mask"] or b""})
    whole = hr.read(tmp_path / "some.tar", fields=["cls", "mask"], missing="empty")
    for apply, meaning in VERBS.values():
        same(list(apply(whole)), meaning(wanted))
