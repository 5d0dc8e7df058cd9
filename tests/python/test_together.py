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
