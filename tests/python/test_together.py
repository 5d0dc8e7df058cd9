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
