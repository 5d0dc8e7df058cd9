"""Small samples that are read, filtered and gathered: nobody sees that they travel side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops

from .test_skipped_reads import DAMAGED, DATA, all_of, told

CASES: dict[str, Callable[[Any], Any]] = {
    "records": lambda s: ops.length(s.record) > 50,
    "lost records": lambda s: ops.length(s.record) % 4 != 1,
    "rows": lambda s: s.n % 3 != 0,
}
SLOW: dict[str, Callable[[Any], Any]] = {
    "records": lambda s: s["record"][5] % 2 == 0,
    "lost records": lambda s: s["record"][4] > 50,
    "rows": lambda s: s["t"].endswith("3") or s["n"] % 2 == 0,
}
LONGER: dict[str, Callable[[Any], Any]] = {
    "records": lambda s: {"record": s.record, "size": ops.length(s.record) * 2},
    "lost records": lambda s: {"size": ops.length(s.record), "record": s.record},
    "rows": lambda s: {"n": s.n, "half": s.f / 2, "t": s.t},
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
    "ragged": lambda ds, data: ds.filter(CASES[data]).on_error("skip").batch(40, ragged=True),
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
    elements, states, skipped = all_of(ds.options(workers=1, rewrites=False))
    assert len(elements) > 10
    for workers, io in ((1, 1), (3, 3)):
        for _ in range(2):  # how many travel together is settled while they do
            side_by_side = all_of(ds.options(workers=workers, io=io))
            assert side_by_side[0] == elements
            if workers == 1 or pipeline != "in a window":
                assert side_by_side[1] == states
            if pipeline not in ("taken", "sharded"):  # what is read ahead counts
                assert side_by_side[2] == skipped
    loader = ds.options(workers=2).numpy()
    for k in (1, len(elements) // 2, len(elements) - 1):
        loader.load_state_dict(states[k])
        assert [told(element) for element in loader] == elements[k:]


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
    assert "1500" in str(told_of.value) or "line 1502" in str(told_of.value)
    assert calls.count(1500) == 1 and max(np.bincount(calls)) == 1
    assert sorted(calls)[:1501] == list(range(1501))
