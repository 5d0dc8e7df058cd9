"""Items of sequences and map-style datasets: many of them are asked for at a time, and each is as if it were alone."""

import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import headrace as hr

SIZE = 600
TABLE = np.arange(SIZE * 4, dtype=np.float32).reshape(SIZE, 4)


class Items:
    """Gives `make(i)`; those of `broken` raise."""

    def __init__(self, make: Any, size: int = SIZE, broken: tuple[int, ...] = ()):
        self.make, self.size, self.broken = make, size, broken
        self.asked: list[int] = []
        self.threads: set[int] = set()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> Any:
        self.asked.append(i)
        self.threads.add(threading.get_ident())
        if i in self.broken and len(self.asked) > 1:
            raise KeyError(f"item {i}")
        return self.make(i)


MAKES = {
    "a number": lambda i: i,
    "a dict": lambda i: {"x": i, "y": i / 2, "even": i % 2 == 0},
    "a dict in another order": lambda i: {"x": i, "y": i / 2} if i % 3 else {"y": i / 2, "x": i},
    "a tuple": lambda i: (i, float(i)),
    "a nest": lambda i: {"a": (i, {"b": i + 1}), "c": np.int16(i)},
    "texts": lambda i: {"s": f"text {i}", "b": b"%d" % i, "empty": b""},
    "views": lambda i: {"row": TABLE[i], "x": i},
    "arrays of any length": lambda i: np.full(i % 5, i),
    "columns of an array": lambda i: {"row": np.asfortranarray(TABLE[i].reshape(2, 2)).T[::-1]},
    "lists of numbers": lambda i: {"row": [i, i + 1]},
    "big arrays": lambda i: {"image": np.full((100, 60), i, np.int64), "x": i},
    "some big ones": lambda i: {"row": np.full(9000 if i % 7 == 0 else 2, i), "x": i},
}


def same(got: Any, want: Any) -> None:
    if isinstance(want, dict):
        assert list(got) == list(want) or sorted(got) == sorted(want)
        for key in want:
            same(got[key], want[key])
    elif isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
    else:
        assert np.array_equal(np.asarray(got), np.asarray(want)), (got, want)


@pytest.mark.parametrize("name", MAKES)
@pytest.mark.parametrize("workers", [1, 3])
def test_each_item_comes_as_it_is_in_its_place(name: str, workers: int) -> None:
    make = MAKES[name]
    ds = hr.from_dataset(Items(make)).options(workers=workers)
    for i, got in enumerate(
        ds.batch(64).unbatch() if name not in {"arrays of any length", "some big ones"} else ds
    ):
        same(got, make(i))
    same(ds[7], make(7))
    order = [
        int(np.ravel(x)[0]) for x in hr.from_dataset(Items(lambda i: i)).shuffle(seed=3).batch(50).unbatch()
    ]
    assert sorted(order) == list(range(SIZE)) != order


def test_arrays_that_an_item_shares_are_copied_when_they_are_small() -> None:
    small, large = np.zeros(4), np.zeros(4000)
    ds = hr.from_dataset([(small, large)] * 3)
    got_small, got_large = ds[1]
    assert not np.shares_memory(got_small, small)
    assert np.shares_memory(got_large, large) and not got_large.flags.writeable


@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("workers", [1, 4])
def test_an_item_that_raises_is_named_and_costs_no_other(batch: int, workers: int) -> None:
    broken = (3, 64, 65, 599)
    ds = hr.from_dataset(Items(lambda i: {"x": i}, broken=broken))
    got = ds.options(workers=workers).batch(batch).numpy()
    with pytest.raises(
        hr.HeadraceError, match=r"sequence: KeyError: 'item 3': sample 3 of sequence"
    ) as caught:
        list(got)
    assert isinstance(caught.value.__cause__, KeyError)
    skipped = ds.on_error("skip").batch(batch).options(workers=workers).numpy()
    assert [int(x) for b in skipped for x in b["x"]] == [i for i in range(SIZE) if i not in broken]
    assert skipped.report()["skipped"] == 4
    replaced = ds.on_error("replace").batch(batch).options(workers=workers).numpy()
    assert [int(x) for b in replaced for x in b["x"]] == [
        {3: 4, 64: 66, 65: 66, 599: 0}.get(i, i) for i in range(SIZE)
    ]


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (
            {"x": 1.5},
            r"field 'x': expected int64 as in item 0, got 1\.5; make all of them floats.*sample 70 of",
        ),
        (
            {"x": np.zeros(2, np.int64)},
            r"field 'x': expected int64 \(\) as in item 0, got int64 \(2\): sample 70 of",
        ),
        (
            {"z": 1},
            r"item 70 has the field z, but item 0 has the field x: 'x' is missing, 'z' is new.*sample 70 of",
        ),
        ({"x": None}, r"got None in field 'x'.*sample 70 of"),
        (
            {"x": 1 << 63},
            r"field 'x': expected int64, got 9223372036854775808, which it cannot hold exactly.*sample 70 of",
        ),
    ],
)
def test_an_item_unlike_item_0_is_named(odd: Any, words: str) -> None:
    ds = hr.from_dataset(Items(lambda i: odd if i == 70 else {"x": i}))
    with pytest.raises((ValueError, TypeError, hr.HeadraceError), match=words):
        list(ds.batch(100))
    assert sum(len(b["x"]) for b in ds.on_error("skip").batch(100)) == SIZE - 1


def test_a_state_goes_on_with_the_next_batch() -> None:
    ds = hr.from_dataset(Items(lambda i: {"x": i})).shuffle(seed=5).batch(32)
    whole = [b["x"].tolist() for b in ds.numpy()]
    for stop in (1, 7, 18):
        iteration = iter(ds.numpy())
        assert [next(iteration)["x"].tolist() for _ in range(stop)] == whole[:stop]
        loader = ds.options(workers=3).numpy()
        loader.load_state_dict(iteration.state_dict())
        assert [b["x"].tolist() for b in loader] == whole[stop:]


def test_no_item_is_asked_for_twice() -> None:
    items = Items(lambda i: {"x": i, "image": np.zeros((40, 40, 3), np.uint8)}, size=5000)
    ds = hr.from_dataset(items)
    del items.asked[:]
    assert sum(len(b["x"]) for b in ds.map(lambda s: {"x": s.x + 1}).batch(64).numpy()) == 5000
    assert sorted(items.asked) == list(range(5000))


def test_a_budget_that_holds_few_items_suffices() -> None:
    items = Items(lambda i: np.full(20_000, i, np.float64), size=40)  # 160 kB each
    small = Items(lambda i: np.full(1000, i, np.float64), size=400)
    for one in (items, small):
        ds = hr.from_dataset(one).map(lambda x: x[:3], python=True).options(memory_budget=1 << 20, workers=2)
        assert [x.tolist() for x in ds.batch(8).unbatch()] == [[i] * 3 for i in range(one.size)]


@pytest.mark.alone
def test_items_that_wait_do_so_together() -> None:
    def waits(i: int) -> Any:
        time.sleep(0.002)
        return {"x": i}

    items = Items(waits)
    loader = hr.from_dataset(items).batch(100).options(io=8).numpy()
    list(loader)
    began = time.perf_counter()
    assert [x for b in loader for x in b["x"].tolist()] == list(range(SIZE))
    assert time.perf_counter() - began < 0.5 * SIZE * 0.002
    assert len(items.threads) > 4


@pytest.mark.alone
def test_the_report_counts_items_and_names_the_lock() -> None:
    loader = hr.from_dataset(Items(lambda i: {"x": i}, size=200_000)).batch(100).numpy()
    for _ in range(3):
        list(loader)
    report = loader.report()
    assert report["io"]["reads"] == 600_000
    assert report["limited_by"] in {"python", "consumer", "cpu", "cores"}  # these are of other programs
    more_cores = [what for what in report["what_if"] if re.match(r"with \d+ cores:", what["text"])]
    assert not more_cores or more_cores[0]["then"] == "python", report
    line = next(line for line in str(report).splitlines() if line.strip().startswith("reading"))
    calls, _, us = line.split()[1:4]
    assert int(calls) == 600_000 and float(us) < 20
