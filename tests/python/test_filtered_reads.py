"""Small samples that are read, filtered and gathered: nobody sees that they travel side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops

from . import test_skipped_reads
from .test_skipped_reads import COUNT, DAMAGED, check_alone_and_side_by_side


def numbers(folder: Path, damaged: list[int]) -> hr.Dataset:
    lines = [f"{'x' if i in damaged else i},{i / 8}" for i in range(COUNT)]
    (folder / "n.csv").write_text("\n".join(["n,f", *lines]))
    return hr.read_csv(folder / "n.csv", dtypes={"n": "i64"})


def vectors(folder: Path, damaged: list[int]) -> hr.Dataset:
    """Without damage, whoever asks."""
    arrays = {"n": np.arange(COUNT), "v": np.arange(4.0 * COUNT, dtype=np.float32).reshape(COUNT, 4)}
    hr.from_arrays(arrays).write(folder / "v.arrow", overwrite=True)
    return hr.read(folder / "v.arrow")


# Those of numbers go together, others each alone.
DATA = {**test_skipped_reads.DATA, "numbers": numbers, "vectors": vectors}

CASES: dict[str, Callable[[Any], Any]] = {
    "records": lambda s: ops.length(s.record) > 50,
    "lost records": lambda s: ops.length(s.record) % 4 != 1,
    "rows": lambda s: s.n % 3 != 0,
    "numbers": lambda s: s.n % 3 != 0,
    "vectors": lambda s: s.n % 3 != 0,
}
SLOW: dict[str, Callable[[Any], Any]] = {
    "records": lambda s: s["record"][5] % 2 == 0,
    "lost records": lambda s: s["record"][4] > 50,
    "rows": lambda s: s["t"].endswith("3") or s["n"] % 2 == 0,
    "numbers": lambda s: s["f"] % 2 < 1,
    "vectors": lambda s: bool(s["v"][1] % 3 < 2),
}
LONGER: dict[str, Callable[[Any], Any]] = {
    "records": lambda s: {"record": s.record, "size": ops.length(s.record) * 2},
    "lost records": lambda s: {"size": ops.length(s.record), "record": s.record},
    "rows": lambda s: {"n": s.n, "half": s.f / 2, "t": s.t},
    "numbers": lambda s: {"n": s.n, "half": s.f / 2},
    "vectors": lambda s: {"n": s.n + 0, "v": s.v * 2},
}


def fails_for_some(s: Any) -> bool:
    number = int(s["record"][:6]) if "record" in s else int(s["n"])
    if number % 311 == 7:
        raise ValueError(f"not {number}")
    return number % 5 > 0


PIPELINES: dict[str, Callable[[hr.Dataset, str], hr.Dataset]] = {
    "filter": lambda ds, data: ds.filter(CASES[data]).on_error("skip").batch(32),
    "filter in Python": lambda ds, data: ds.filter(SLOW[data], python=True).on_error("skip").batch(32),
    "both": lambda ds, data: (
        ds.shuffle(seed=3).on_error("skip").filter(CASES[data]).filter(SLOW[data], python=True).batch(20)
    ),
    "map, filter": lambda ds, data: ds.map(LONGER[data]).filter(CASES[data]).on_error("skip").batch(32),
    "filter, map": lambda ds, data: ds.filter(CASES[data]).map(LONGER[data]).on_error("skip").batch(9),
    "skip, filter": lambda ds, data: ds.on_error("skip").filter(CASES[data]).batch(32),
    "sharded": lambda ds, data: (
        ds.shard(1, 2, steps=20).filter(CASES[data]).on_error("skip").batch(30).repeat(2)
    ),
    "joined": lambda ds, data: (
        ds.take(500).concatenate(ds.skip(690)).filter(CASES[data]).on_error("skip").batch(50)
    ),
    "ragged": lambda ds, data: (
        ds.filter(CASES[data]).map(LONGER[data]).on_error("skip").batch(40, ragged=True)
    ),
    "taken": lambda ds, data: ds.filter(CASES[data]).on_error("skip").take(700).batch(50),
    "in a window": lambda ds, data: (
        ds.filter(CASES[data]).on_error("skip").shuffle(seed=2, window=50).batch(50)
    ),
    "function fails": lambda ds, data: ds.filter(fails_for_some, python=True).on_error("skip").batch(32),
}


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("damaged", [[], DAMAGED], ids=["sound", "damaged"])
def test_elements_states_and_counts_are_those_of_samples_that_go_alone(
    tmp_path: Path, data: str, pipeline: str, damaged: list[int]
) -> None:
    ds = PIPELINES[pipeline](DATA[data](tmp_path, damaged), data)
    check_alone_and_side_by_side(
        ds, states_differ=pipeline == "in a window", counts_differ=pipeline in ("taken", "sharded")
    )


@pytest.mark.parametrize("budget", [200_000, 400_000, 1 << 22])
@pytest.mark.parametrize("data", DATA)
def test_any_memory_that_samples_alone_find_room_in_will_do(tmp_path: Path, budget: int, data: str) -> None:
    ds = DATA[data](tmp_path, DAMAGED).filter(CASES[data]).on_error("skip").batch(16)
    counts = [
        sum(
            len(next(iter(batch.values())))
            for batch in ds.options(memory_budget=size, workers=2, io=2).numpy()
        )
        for size in (budget, 1 << 28)
    ]
    assert counts[0] == counts[1] > 500


@pytest.mark.parametrize("data", DATA)
def test_a_function_that_fails_is_named_with_its_sample_and_not_called_again(
    tmp_path: Path, data: str
) -> None:
    calls: list[int] = []

    def fails_at(s: Any) -> bool:
        number = int(s["record"][:6]) if "record" in s else int(s["n"])
        calls.append(number)
        if number == 1500:
            raise ValueError("here it is")
        return True

    loader = DATA[data](tmp_path, []).filter(fails_at, python=True).batch(10).options(workers=1).numpy()
    calls.clear()  # one told what it gives
    count = 0
    with pytest.raises(hr.HeadraceError, match="here it is") as told_of:
        for _ in loader:
            count += 1
    assert count == 150
    assert any(name in str(told_of.value) for name in ("1500", "line 1502"))
    assert calls.count(1500) == 1 and max(np.bincount(calls)) == 1
    assert sorted(calls)[:1501] == list(range(1501))


def test_numbers_are_read_together(tmp_path: Path) -> None:
    loader = numbers(tmp_path, []).filter(lambda s: s.n % 3 != 0).batch(32).numpy()
    reads = [0]
    for _ in range(4):  # how many is settled by what they take
        assert sum(len(batch["n"]) for batch in loader) == COUNT * 2 // 3
        reads.append(loader.report()["io"]["reads"])
    assert min(np.diff(reads)) < COUNT / 30


@pytest.fixture(params=["maps_of_files", "no_maps_of_files"])
def way_of_reading(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(request.param)


@pytest.mark.usefixtures("way_of_reading")
@pytest.mark.parametrize("budget", [1 << 20, 2 << 20, 4 << 20])
@pytest.mark.parametrize("kind", ["filter", "filter in Python", "skip"])
def test_wide_rows_find_room_wherever_they_do_alone(tmp_path: Path, budget: int, kind: str) -> None:
    """Shuffled, each of a batch lies in another group, of 128 kB or more, which it must not keep until the batch is made."""
    wide = {"n": np.arange(3000), "v": np.zeros((3000, 1000), np.float32)}
    hr.from_arrays(wide).write(tmp_path / "w.arrow")
    ds = hr.read(tmp_path / "w.arrow").shuffle(seed=1).on_error("skip")
    if kind != "skip":
        ds = ds.filter(lambda s: s["n"] % 2 == 0, python=kind == "filter in Python")

    def count(**options: bool) -> int:
        loader = ds.batch(16).options(memory_budget=budget, workers=4, **options).numpy()
        return sum(len(batch["n"]) for batch in loader.at_its_first_epoch())

    alone = [count(rewrites=False) for _ in range(3)]
    assert [count() for _ in range(3)] == alone == [3000 if kind == "skip" else 1500] * 3
