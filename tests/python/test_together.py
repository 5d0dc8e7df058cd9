"""Small samples that are made together: nobody sees that they are."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr
from headrace import ops

TABLE = {"x": np.arange(9000.0).reshape(3000, 3), "key": np.arange(3000) % 7}


@pytest.mark.parametrize("rewrites", [True, False])
def test_elements_are_their_receivers_alone(rewrites: bool) -> None:
    for data in (
        hr.from_arrays(TABLE),
        hr.from_arrays(TABLE).filter(lambda s: s.key != 3),
        hr.from_arrays(TABLE).shuffle(seed=1, window=10),
    ):
        for element in data.options(rewrites=rewrites).take(2000):
            assert element["x"].flags.writeable


@pytest.mark.parametrize("rewrites", [True, False])
def test_any_byte_but_zero_is_true(rewrites: bool) -> None:
    odd = (np.arange(1, 3001) % 4).astype("u1").view(bool)
    data = hr.from_arrays({"f": odd, "i": np.arange(3000)}).options(rewrites=rewrites)
    assert len(list(data.filter(lambda s: s.f))) == 2250
    assert len(list(data.take_while(lambda s: s.f))) == 3


def test_fields_of_one_shape_are_compared_and_added_side_by_side() -> None:
    data = hr.from_arrays({"a": np.arange(3000), "b": np.arange(3000)[::-1].copy()})
    kept = data.filter(lambda s: s.a > s.b).map(lambda s: s.a + s.b)
    assert [int(x) for x in kept] == [2999] * 1500
    mixed = hr.from_arrays({"a": np.ones((4, 3)), "b": np.arange(4.0)}).map(lambda s: s.a + s.b)
    for rewrites in (True, False):  # a scalar beside a vector: not over columns
        rows = [x.tolist() for x in mixed.options(rewrites=rewrites)]
        assert rows == [[1 + i] * 3 for i in range(4)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("budget", [1 << 20, 3 << 19, 2 << 20])
def test_small_batches_in_a_small_budget_come_to_an_end(budget: int, workers: int) -> None:
    rows = {"a": np.arange(2000), "b": np.zeros((2000, 3000), "f4")}
    data = hr.from_arrays(rows).batch(3).unbatch().batch(4).options(memory_budget=budget, workers=workers)
    assert [int(batch["a"][0]) for batch in data] == list(range(0, 2000, 4))


def test_groups_that_seldom_fill_hold_their_own_samples_alone() -> None:
    rare = np.where(np.arange(200_000) % 1000 == 0, 7, 1)
    data = hr.from_arrays({"x": np.zeros((200_000, 14)), "k": rare}).filter(lambda s: s.k >= 0)
    buckets = data.bucket_by_length(lambda s: s.k, boundaries=[5], batch_sizes=[64, 1000])
    assert sum(len(batch["k"]) for batch in buckets.options(memory_budget=16 << 20)) == 200_000


def test_what_is_unbatched_twice_draws_as_alone() -> None:
    rows = np.random.default_rng(1).integers(0, 255, (40, 3, 4, 4, 1)).astype("u1")
    data = hr.from_arrays({"x": rows}).unbatch().batch(9).unbatch()
    cropped = data.map(lambda s: ops.random_crop(s.x, size=1))
    both = [[int(x[0, 0, 0]) for x in cropped.options(rewrites=on)] for on in (True, False)]
    assert both[0] == both[1]


def refuse_seven(x: int) -> int:
    if x == 1007:
        raise ValueError("no")
    return x


FAILING = {
    "in Python": lambda data: data.map(refuse_seven, python=True),
    "native": lambda _: hr.from_list([np.zeros(2 + (i == 1007)) for i in range(3000)]).map(
        lambda x: ops.reshape(x, shape=(1, 2))
    ),
    "behind others": lambda data: data.filter(lambda x: x != 3).map(refuse_seven, python=True),
    "within a row": lambda data: data.batch(19).unbatch().map(refuse_seven, python=True),
    "within a group": lambda data: (
        data.filter(lambda x: x >= 0).batch(19).unbatch().map(refuse_seven, python=True)
    ),
    "in a window": lambda data: data.map(refuse_seven, python=True).window(10).flat_map(lambda x: x),
}


@pytest.mark.parametrize("rewrites", [True, False])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", FAILING)
def test_what_comes_before_a_failure_is_given(kind: str, workers: int, rewrites: bool) -> None:
    data = FAILING[kind](hr.range(3000)).options(workers=workers, rewrites=rewrites)
    before = 1006 if kind == "behind others" else 1007
    if kind == "in a window":
        before = 1000
    assert len(list(data.take(before))) == before
    loader = data.numpy()
    elements = iter(loader)
    for _ in range(before):
        state = elements.state_dict()
        next(elements)
    with pytest.raises((hr.HeadraceError, ValueError)):
        next(elements)
    for going_on, left in ((state, 1), (elements.state_dict(), 0)):
        loader.load_state_dict(going_on)
        elements = iter(loader)
        for _ in range(left):
            next(elements)
        with pytest.raises((hr.HeadraceError, ValueError)):
            next(elements)


@pytest.mark.parametrize("rewrites", [True, False])
@pytest.mark.parametrize("dtype", ["u1", "i4", "i8", "f8"])
def test_unique_is_that_of_python(dtype: str, rewrites: bool) -> None:
    numbers = np.random.default_rng(3).integers(0, 200, 5000).astype(dtype)
    numbers[::7] = 0
    first = list(dict.fromkeys(numbers.tolist()))
    data = hr.from_arrays({"n": numbers, "i": np.arange(5000)}).options(rewrites=rewrites)
    assert [x["n"] for x in data.unique(lambda s: s.n)] == first
    assert [x["n"] for x in data.filter(lambda s: s.i >= 0).unique(lambda s: s.n)] == first
    wide = data.map(lambda s: (s.n, s.i >= 0)).unique()  # more than eight bytes for some
    assert [x[0] for x in wide] == first


@pytest.mark.parametrize("rewrites", [True, False])
@pytest.mark.parametrize("workers", [1, 3])
def test_functions_are_called_once_for_each_sample(workers: int, rewrites: bool) -> None:
    calls: list[int] = []

    def is_kept(x: int) -> bool:
        calls.append(int(x))
        if x in (701, 1500):
            raise ValueError("no")
        return x % 3 != 0

    def noted(x: int) -> tuple[int, float]:
        if x == 1001:
            raise KeyError("neither")
        return x, float(x) / 2

    data = hr.range(2000).filter(is_kept, python="threads").options(workers=workers, rewrites=rewrites)
    calls.clear()  # that of the first sample, to see what comes back
    with pytest.raises(hr.HeadraceError, match=r"ValueError: no: sample 701 .*test_together.py"):
        list(data)
    assert len(calls) == len(set(calls)), "none again to find which one fails"

    loader = data.map(noted, python="threads").on_error("skip").numpy()
    calls.clear()
    assert [(int(x), y) for x, y in loader] == [
        (x, x / 2) for x in range(2000) if x % 3 and x not in (701, 1001)
    ]
    assert loader.report()["skipped"] == 3
    assert sorted(calls) == list(range(2000))


@pytest.mark.parametrize("rewrites", [True, False])
def test_functions_draw_side_by_side_as_alone(rewrites: bool) -> None:
    def moved(x: int, rng: np.random.Generator) -> tuple[int, float]:
        return x, rng.random()

    data = hr.range(300).map(moved, python="threads").options(rewrites=rewrites)
    alone = [data[i][1] for i in range(300)]
    assert [y for _, y in data] == alone
    assert [y for _, y in data.filter(lambda s: s[0] >= 0, python="threads")] == alone
    again = data.batch(7).unbatch().map(moved_again, python="threads")
    with_text = data.batch(7).unbatch().map(with_name, python="threads")
    assert [y for _, y in again] == [y for _, y in with_text]


def moved_again(s: tuple[int, float], rng: np.random.Generator) -> tuple[int, float]:
    return s[0], s[1] + rng.random()


def with_name(s: tuple[int, float], rng: np.random.Generator) -> tuple[str, float]:
    return str(s[0]), moved_again(s, rng)[1]
