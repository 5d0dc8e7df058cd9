"""Elements that Python code makes: one rule for every maker (docs/concepts.md, "Elements made in Python").

Every maker gets every kind of element whose first ones hold empty lists. What comes must be what NumPy makes of each list, or an
error that names the field; never fewer values.
"""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace._making.element import AHEAD_OF_WHOLE

import headrace as hr

# Other processes import it by its name.
IMPORTABLE = str(Path(__file__).parent / "importable")
sys.path.insert(0, IMPORTABLE)
import functions_of_processes as functions  # noqa: E402

ERRORS = (ValueError, TypeError, hr.HeadraceError)  # in a run, that of the sample


class Items:
    """A map-style data set."""

    def __init__(self, items: Sequence[Any]):
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class Resumable:
    """An iterator that knows its position."""

    def __init__(self, items: Sequence[Any]):
        self.items, self.at = items, 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.at == len(self.items):
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


class OnePosition:
    """An iterable that holds the only position, and goes on from it."""

    def __init__(self, items: Sequence[Any]):
        self.items, self.at = items, 0

    def __iter__(self) -> Iterator[Any]:
        while self.at < len(self.items):
            self.at += 1
            yield self.items[self.at - 1]
        self.at = 0

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


MAKERS: dict[str, Callable[[Sequence[Any]], hr.Dataset]] = {
    "from_list": lambda items: hr.from_list(list(items)),
    "from_dataset": lambda items: hr.from_dataset(Items(items)),
    "from_generator": lambda items: hr.from_generator(lambda: iter(items)),
    "from_generator that resumes": lambda items: hr.from_generator(lambda: Resumable(items)),
    "from_generator of an iterable that resumes": lambda items: hr.from_generator(OnePosition(items)),
    "map": lambda items: hr.range(len(items)).map(lambda i: items[int(i)], python=True),
    "map of a stream": lambda items: (
        hr.range(len(items)).filter(lambda i: i >= 0).map(lambda i: items[int(i)], python=True)
    ),
}

# An element with empty lists, and one with something in them.
KINDS: dict[str, tuple[Any, Any]] = {
    "a list": ([], [1, 2]),
    "a list of floats": ([], [1.5]),
    "a list of bools": ([], [True, False, True]),
    "a field": ({"a": []}, {"a": [1, 2, 3]}),
    "a field beside others": ({"a": [], "n": 0, "s": ""}, {"a": [0.5, 1.5], "n": 2, "s": "xy"}),
    "two fields": ({"a": [], "b": []}, {"a": [1], "b": [0.5, 1.5]}),
    "in a tuple": (([], 1), ([7], 2)),
    "nested": ({"m": {"a": [], "n": (1, [])}}, {"m": {"a": [1], "n": (2, [2.5])}}),
    "lists of lists": ({"boxes": [], "n": 0}, {"boxes": [[1.0, 2.0, 3.0, 4.0]] * 3, "n": 3}),
    "lists of lists of lists": ([], [[[1, 2], [3, 4], [5, 6]]]),
    "an array": ({"a": []}, {"a": np.array([1, 2], np.int16)}),
    "an array of rank 2": ({"boxes": []}, {"boxes": np.ones((2, 4), np.float32)}),
    "a list in a list": ([[]], [[1, 2, 3]]),
}
# Here the first element alone decides if it is full: a list of lists is a tuple, and an array of rank 2 has rows of any size.
DECIDED = {"lists of lists", "lists of lists of lists", "an array of rank 2"}


def is_empty(value: Any) -> bool:
    return isinstance(value, list) and not value


def leaf(value: Any, full: Any) -> Any:
    """Return what NumPy makes of a list, in the dtype and the rank that `full`, the same place of a full element, has."""
    wanted = np.asarray(full)
    return (
        np.asarray(value, wanted.dtype).reshape(-1, *wanted.shape[1:])
        if is_empty(value)
        else np.asarray(value)
    )


def expected(value: Any, full: Any) -> Any:
    if isinstance(full, dict):
        return {key: expected(value[key], full[key]) for key in full}
    if isinstance(full, tuple) or (isinstance(full, list) and value == [[]]):
        return tuple(expected(one, other) for one, other in zip(value, full, strict=True))
    return leaf(value, full) if isinstance(full, (list, np.ndarray)) else value


def equal(a: Any, b: Any) -> bool:
    if isinstance(b, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in b)
    if isinstance(b, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(b, np.ndarray):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and np.array_equal(a, b)
    return bool(a == b)


def with_full(kind: str, position: int | None, size: int = 6) -> list[Any]:
    empty, full = KINDS[kind]
    return [full if i == position else empty for i in range(size)]


def wanted(kind: str, position: int | None, size: int = 6) -> list[Any]:
    empty, full = KINDS[kind]
    if kind == "a list in a list":
        return [
            expected(full, ([1, 2, 3],)) if i == position else (np.zeros(0, np.int64),) for i in range(size)
        ]
    return [expected(full if i == position else empty, full) for i in range(size)]


@pytest.mark.parametrize("position", [0, 1, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maker", MAKERS)
def test_what_an_empty_list_holds_is_decided_by_a_later_element(maker: str, kind: str, position: int) -> None:
    items = with_full(kind, position)
    if position == 0 and kind in DECIDED and maker != "from_list":
        with pytest.raises(ERRORS, match=r"boxes|empty list|one value"):
            list(MAKERS[maker](items))
        return
    data = MAKERS[maker](items)
    got = list(data)
    assert len(got) == len(items)
    assert all(map(equal, got, wanted(kind, position))), got


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maker", MAKERS)
def test_where_all_are_empty_it_is_what_numpy_has(maker: str, kind: str) -> None:
    empty, full = KINDS[kind]
    got = list(MAKERS[maker]([empty] * 3))

    def of_floats(value: Any, like: Any) -> Any:
        if isinstance(value, dict):
            return {key: of_floats(value[key], like[key]) for key in value}
        if isinstance(value, tuple):
            return tuple(map(of_floats, value, like))
        if value == [[]]:
            return (np.zeros(0),)
        return np.zeros(0) if value == [] else value

    assert len(got) == 3 and all(equal(one, of_floats(empty, full)) for one in got)


@pytest.mark.parametrize("maker", [name for name in MAKERS if name != "from_list"])
def test_the_look_ahead_ends(maker: str) -> None:
    taken = []

    class Watched(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            taken.append(index)
            return super().__getitem__(index)

        def __iter__(self) -> Iterator[Any]:
            return (self[i] for i in range(len(self)))

    items = Watched([{"a": []} for _ in range(150)] + [{"a": [1, 2]}, {"a": [0.5]}])
    data = MAKERS[maker](items)
    assert max(taken) < 110
    got = [x["a"].tolist() for x in data]
    assert got == [[]] * 150 + [[1, 2], [0.5]] and data.schema["a"].dtype == "float64"


@pytest.mark.parametrize("maker", MAKERS)
def test_only_what_is_open_is_looked_for(maker: str) -> None:
    items = [{"a": [1.0], "n": 0.5}, {"a": [], "n": 1}, {"a": [2, 3], "n": 2}]
    asked: list[int] = []

    def item(i: int) -> Any:
        asked.append(int(i))
        return items[int(i)]

    if maker == "map":
        hr.range(3).map(item, python=True)
        assert asked == [0]
    assert [x["a"].tolist() for x in MAKERS[maker](items)] == [[1], [], [2, 3]]


@pytest.mark.filterwarnings("ignore::headrace.ReplayWarning")
@pytest.mark.parametrize("kind", ["a list", "two fields", "lists of lists"])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_state_saved_at_any_element_loses_and_repeats_none(maker: str, kind: str) -> None:
    items, all_of_them = with_full(kind, 3), wanted(kind, 3)
    for stop in range(len(items)):
        loader = MAKERS[maker](items).numpy()
        if stop == 0:
            state = loader.state_dict()
            first = []
        else:
            iteration = iter(loader)
            first = list(itertools.islice(iteration, stop))
            state = iteration.state_dict()
        resumed = MAKERS[maker](items).numpy()
        resumed.load_state_dict(state)
        got = [*first, *resumed]
        assert len(got) == len(items) and all(map(equal, got, all_of_them)), (stop, got)


@pytest.mark.parametrize("kind", ["a list", "two fields", "lists of lists"])
@pytest.mark.parametrize("maker", ["from_dataset", "from_generator", "map"])
def test_a_plan_knows_what_was_decided(maker: str, kind: str, tmp_path: Path) -> None:
    items = with_full(kind, 3)
    data = MAKERS[maker](items)
    data.save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json", bind=data.slots)
    assert again.schema == data.schema and all(map(equal, again, wanted(kind, 3)))
    if maker == "from_dataset":  # other data, of which no element decides
        (slot,) = data.slots
        empty = hr.load_plan(tmp_path / "plan.json", bind={slot: Items(with_full(kind, None))})
        assert empty.schema == data.schema and len(list(empty)) == len(items)


def test_processes_follow_the_same_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", IMPORTABLE)
    data = hr.range(4).map(functions.ordinals, python="processes").options(workers=1)
    assert [x["ids"].tolist() for x in data] == [[], [0], [0, 1], [0, 1, 2]]
    assert [x["half"] for x in data] == [0.5, 1, 1.5, 2] and data.schema["half"].dtype == "float64"


@pytest.mark.parametrize("first", [{}, ()])
@pytest.mark.parametrize("maker", MAKERS)
def test_an_element_without_fields_is_no_schema(maker: str, first: Any) -> None:
    later = {"x": 1} if first == {} else (1, 2)
    for items in ([first, later], [first] * 3 + [later]):
        with pytest.raises(ERRORS, match=r"no fields|at least one field|tuple or list of"):
            list(MAKERS[maker](items))
    if maker != "map":
        with pytest.raises(ValueError, match="at least one field"):
            MAKERS[maker]([first, first])
    else:
        assert list(MAKERS[maker]([first] * 3)) == [first] * 3


def test_results_without_fields_are_refused_where_not_all_are_seen() -> None:
    with pytest.raises(ValueError, match="at least one field, got none in the first 100"):
        hr.range(300).map(lambda i: {} if i < 200 else {"x": i}, python=True)
    with pytest.raises(ValueError, match="got none in the first 3"):  # one failed
        hr.range(4).map(lambda i: {} if i != 2 else {}[0], python=True)


@pytest.mark.parametrize("maker", MAKERS)
def test_keys_may_come_in_another_order(maker: str) -> None:
    items = [{"x": 1, "y": {"a": 2, "b": []}}, {"y": {"b": [5], "a": 3}, "x": 4}]
    got = [(int(s["x"]), int(s["y"]["a"]), s["y"]["b"].tolist()) for s in MAKERS[maker](items)]
    assert got == [(1, 2, []), (4, 3, [5])]


@pytest.mark.parametrize("maker", MAKERS)
def test_whole_numbers_become_the_dtype_of_their_field(maker: str) -> None:
    for items, dtype in (
        ([{"x": 1.5}, {"x": 2}], "float64"),
        ([{"x": [1.5]}, {"x": [2, 3]}, {"x": []}], "float64"),
        ([{"x": np.float32(0.5)}, {"x": 2**20}], "float32"),
        ([{"x": np.int16(5)}, {"x": -7}], "int16"),
        ([{"x": np.array([1], np.uint8)}, {"x": [255, 0]}], "uint8"),
    ):
        data = MAKERS[maker](items)
        got = list(data)
        assert [np.asarray(x["x"]).tolist() for x in got] == [
            np.asarray(item["x"]).tolist() for item in items
        ]
        assert data.schema["x"].dtype == dtype
    for items in (
        [{"x": 1.5}, {"x": 2**53 + 1}],
        [{"x": np.float32(0.5)}, {"x": 2**24 + 1}],
        [{"x": np.float16(0.5)}, {"x": 70_000}],
        [{"x": np.int32(1)}, {"x": 2**40}],
        [{"x": np.uint8(1)}, {"x": -1}],
        [{"x": [1.5]}, {"x": [2**62 + 1]}],
    ):
        with pytest.raises(ERRORS, match=r"field 'x': expected \w+, got .*, which it cannot hold exactly"):
            list(MAKERS[maker](items))


@pytest.mark.parametrize("position", [1, 5, 10, 11, 40])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_float_among_whole_numbers_is_seen_or_refused(maker: str, position: int) -> None:
    items: list[Any] = [{"x": i, "l": [i], "s": "a"} for i in range(position)]
    items += [{"x": 2.5, "l": [2.5, 3], "s": "b"}, {"x": 7, "l": [], "s": ""}]
    data = MAKERS[maker](items)
    if maker == "from_list" or position <= AHEAD_OF_WHOLE:
        assert [(x["x"], x["l"].tolist()) for x in data] == [(item["x"], item["l"]) for item in items]
        assert data.schema["x"].dtype == data.schema["l"].dtype == "float64"
    else:
        with pytest.raises(ERRORS, match=r"(expected|was) int64.*float"):
            list(data)


@pytest.mark.parametrize("maker", MAKERS)
def test_an_array_decides_for_whole_numbers_before_it(maker: str) -> None:
    for array in (np.float32(2.5), np.int16(2), np.uint8(7)):
        data = MAKERS[maker]([{"x": 1}, {"x": array}, {"x": 3}])
        assert data.schema["x"].dtype == array.dtype.name
        assert [x["x"] for x in data] == [1, array, 3]


@pytest.mark.parametrize("maker", MAKERS)
def test_whole_numbers_beside_floats_are_never_rounded(maker: str) -> None:
    large = 2**53 + 1
    for items in (
        [{"x": large}, {"x": 1.5}],
        [{"x": 1.5}, {"x": large}],
        [{"x": [1.5, large]}],
        [{"x": [large, 1.5]}, {"x": []}],
        [{"x": np.zeros(0)}, {"x": [large, 2]}],
    ):
        with pytest.raises(ERRORS, match=rf"'x'.*{large}.*str\(x\) to keep all digits, or float\(x\)"):
            list(MAKERS[maker](items))
    assert [x["x"] for x in MAKERS[maker]([{"x": 2**53}, {"x": 1.5}])] == [2.0**53, 1.5]


@pytest.mark.parametrize("maker", ["from_dataset", "from_generator", "map"])
def test_what_fails_in_the_look_ahead_fails_in_the_run(maker: str) -> None:
    def item(i: int) -> Any:
        if i == 2:
            raise ValueError("no such file")
        return {"x": i}

    class Failing(Items):
        def __getitem__(self, index: int) -> Any:
            return item(index)

    data = {
        "from_dataset": lambda: hr.from_dataset(Failing(range(4))),
        "from_generator": lambda: hr.from_generator(lambda: map(item, range(4))),
        "map": lambda: hr.range(4).map(lambda i: item(int(i)), python=True),
    }[maker]()
    with pytest.raises(ERRORS, match="no such file"):
        list(data)
    if maker != "from_generator":
        assert [int(x["x"]) for x in data.on_error("skip")] == [0, 1, 3]


HALF = "r\udce9"  # what os.fsdecode makes of a name in Latin-1


@pytest.mark.parametrize("maker", MAKERS)
def test_half_a_surrogate_pair_is_refused_in_words(maker: str) -> None:
    for items in ([{"x": "a"}, {"x": HALF}], ["a", HALF], [HALF]):
        with pytest.raises(ERRORS, match=r"got 'r\\udce9' with half of a surrogate pair; \.encode"):
            list(MAKERS[maker](items))
    with pytest.raises(ERRORS, match=r"names of fields in whole characters, got 'r\\udce9'"):
        list(MAKERS[maker]([{HALF: 1}, {HALF: 2}]))


def test_half_a_surrogate_pair_in_columns() -> None:
    for column in ([HALF, "a"], np.array([HALF, "a"])):
        with pytest.raises(ValueError, match="half of a surrogate pair"):
            hr.from_arrays({"x": column})
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        hr.from_arrays({HALF: [1]})


def test_frames_do_not_round_whole_numbers() -> None:
    pd = pytest.importorskip("pandas")
    for column in (
        pd.Series([2**53 + 1, 1.5], dtype=object),
        np.array([2**53 + 1, 1.5], object),
        [2**53 + 1, 1.5],
    ):
        with pytest.raises(ValueError, match=r"'x'.*9007199254740993; use str\(x\)"):
            hr.from_arrays({"x": column})
    assert hr.from_arrays({"x": pd.Series([2**53, 1.5], dtype=object)})[0]["x"] == 2.0**53


def test_rows_of_a_ragged_column_follow_it_too() -> None:
    for rows, wanted in (
        ([[], [1, 2]], [np.zeros(0, np.int64), np.array([1, 2])]),
        ([[1], [], [0.5]], [np.array([1.0]), np.zeros(0), np.array([0.5])]),
        ([[], np.ones(2, np.float32), [3]], [np.zeros(0, "f4"), np.ones(2, "f4"), np.array([3], "f4")]),
        ([[], [[1, 2]]], [np.zeros((0, 2), np.int64), np.array([[1, 2]])]),
        ([[], []], [np.zeros(0), np.zeros(0)]),
    ):
        assert all(map(equal, hr.ragged(rows), wanted)), rows
    with pytest.raises(ValueError, match="cannot hold exactly"):
        hr.ragged([[2**53 + 1], [0.5]])


def test_a_list_beyond_int64_is_of_uint64_or_refused() -> None:
    assert hr.from_list([[2**63, 1]])[0].tolist() == [2**63, 1]
    assert hr.from_arrays({"x": [2**64 - 1, 0]})[0]["x"] == 2**64 - 1
    with pytest.raises(ValueError, match="expected whole numbers of int64 or of uint64 in field 'value'"):
        hr.from_list([[2**63, -1]])


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"x": 1, "y": 2}, {"x": 1}], "has the field x, but .* has the fields x, y: 'y' is missing"),
        ([{"x": 1}, {"x": 1, "b": 2}], "has the fields x, b, but .* has the field x: 'b' is new"),
        ([{"m": {"a": 1}}, {"m": {"b": 1}}], "has in 'm' the field b, but .* the field a: 'a' is missing, 'b' is new"),
        ([(1, 2), (1, 2, 3)], "has a tuple or list of 3, but .* has a tuple or list of 2"),
        ([{"x": 1}, {"x": {"a": 1}}], "has in 'x' the field a, but .* has one value"),
        ([{"x": {}}, {"x": {"k": 1}}, {"x": {}}], "'k' is new|at least one field|no fields"),
        ([{"n": 0, "x": []}, {"n": 1, "x": ["a", "b"]}], "expected a list of numbers in field 'x', got a list of str"),
        ([{"n": 0, "x": []}, {"n": 1, "x": {"k": 1}}], "in 'x' .*"),
        ([{"n": 0, "x": []}, {"n": 1, "x": [[1, 2], [3]]}], "in 'x'|in field 'x'"),
    ],
)  # fmt: skip
def test_messages_name_the_key(maker: str, items: list[Any], message: str) -> None:
    with pytest.raises(ERRORS, match=message) as caught:
        list(MAKERS[maker](items))
    assert '"x":' not in str(caught.value)


def test_a_writer_wants_to_know_what_an_empty_list_holds(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="empty list in 'ids', whose dtype is not known"),
        hr.writer(tmp_path / "a.jsonl") as out,
    ):
        out.write({"n": 0, "ids": []})
    with hr.writer(tmp_path / "b.jsonl", {"ids": ("int64", [None])}) as out:
        out.write({"ids": []})
        out.write({"ids": [1, 2]})
    with hr.writer(tmp_path / "c.jsonl") as out:
        out.write({"ids": [1, 2], "x": 0.5})
        out.write({"x": 1, "ids": []})
    for name in "bc":
        assert sorted(len(x["ids"]) for x in hr.read(tmp_path / f"{name}.jsonl")) == [0, 2]


def test_a_state_may_begin_with_an_empty_list() -> None:
    ends = hr.range(3).scan([], lambda seen, x: (np.append(seen, x), len(seen)), python=True)
    assert [int(x) for x in ends] == [0, 1, 2]


class TestTensors:
    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        return pytest.importorskip("torch", reason="PyTorch is not installed")

    @pytest.mark.parametrize("size", [1, 100_000])  # copied or shared
    @pytest.mark.parametrize("maker", MAKERS)
    def test_bfloat16_stays_bfloat16(self, maker: str, size: int, torch: Any) -> None:
        values = torch.arange(size, dtype=torch.float32).to(torch.bfloat16)
        data = MAKERS[maker]([{"x": values, "y": values[0]}] * 3)
        assert str(data.schema["x"].dtype) == "bfloat16" and str(data.schema["y"].dtype) == "bfloat16"
        (batch,) = data.batch(3).torch()
        assert batch["x"].dtype == torch.bfloat16 and torch.equal(batch["x"][1], values)

    def test_columns_may_be_bfloat16(self, torch: Any) -> None:
        values = torch.arange(6).reshape(3, 2).to(torch.bfloat16)
        (batch,) = hr.from_arrays({"x": values}).batch(3).torch()
        assert torch.equal(batch["x"], values)

    @pytest.mark.parametrize("maker", MAKERS)
    def test_a_gradient_is_left_behind(self, maker: str, torch: Any) -> None:
        got = list(MAKERS[maker]([{"x": torch.ones(2, requires_grad=True)}] * 2))
        assert [x["x"].tolist() for x in got] == [[1, 1]] * 2

    @pytest.mark.parametrize("maker", MAKERS)
    def test_tensors_that_numpy_cannot_read_are_named(self, maker: str, torch: Any) -> None:
        for odd in (torch.ones(2).to_sparse(), torch.ones(2).to(torch.float8_e4m3fn)):
            with pytest.raises(TypeError, match="in field 'x'"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                list(MAKERS[maker]([{"x": odd}] * 2))


def test_bfloat16_without_ml_dtypes(tmp_path: Path) -> None:
    """In an interpreter of its own: whether ml_dtypes is there is asked once."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    import subprocess  # noqa: PLC0415

    program = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "import torch, headrace as hr\n"
        "x = torch.arange(40_000, dtype=torch.float32).to(torch.bfloat16)\n"
        "for data in (hr.from_list([{'x': x}, {'x': x}]), hr.from_dataset([{'x': x}, {'x': x[:3]}]),\n"
        "             hr.from_generator(lambda: iter([{'x': x}] * 2)), hr.from_arrays({'x': x.reshape(2, -1)}),\n"
        "             hr.range(2).map(lambda i: {'x': x}, python=True)):\n"
        "    got = next(iter(data.torch()))['x']\n"
        "    assert got.dtype == torch.bfloat16 and torch.equal(got, x[:len(got)]), data\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "HOME": str(tmp_path)})
