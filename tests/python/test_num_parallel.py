"""map(num_parallel=): a bound on the calls of a Python function that are under way at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import headrace as hr


class Crowd:
    """A function that knows how many calls of it there were at once, at most."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = 0

    def __call__(self, x: int) -> int:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.003)  # without the GIL
        with self.lock:
            self.now -= 1
        return x + 1


@pytest.mark.parametrize(("num_parallel", "most"), [(1, 1), (2, 2), (None, 4)])
def test_so_many_calls_at_once_and_no_more(num_parallel: int | None, most: int) -> None:
    crowd = Crowd()
    data = hr.range(80).map(crowd, python="threads", num_parallel=num_parallel).batch(4).options(workers=4)
    assert [x for batch in data for x in batch] == list(range(1, 81))
    assert crowd.most == most if num_parallel else crowd.most > 1


def test_filters_and_flat_maps_have_it_too() -> None:
    crowd = Crowd()
    kept = hr.range(20).filter(lambda x: bool(crowd(x) % 2), python="threads", num_parallel=1)
    rows = kept.flat_map(lambda x: np.array([crowd(x), x]), python="threads", num_parallel=1)
    assert list(rows.options(workers=4))[:4] == [1, 0, 3, 2]
    assert crowd.most <= 2  # one of each


def test_it_is_kept_in_a_plan_and_changes_no_element(tmp_path: Path) -> None:
    data = hr.range(30).map(np.negative, python="processes", num_parallel=1)
    text = data.plan()
    assert '"num_parallel": 1' in text
    data.save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json", bind=data.slots)
    assert list(again.options(workers=2)) == list(data) == [-x for x in range(30)]
    assert again.plan() == text
    (tmp_path / "hostile.json").write_text(text.replace('"num_parallel": 1', '"num_parallel": -3'))
    with pytest.raises(ValueError, match="num_parallel must be 1 to 65536, got -3"):
        hr.load_plan(tmp_path / "hostile.json", bind=data.slots)


def test_a_state_goes_on_with_another_bound_and_elsewhere() -> None:
    loader = hr.range(30).map(np.negative, python="processes", num_parallel=1).numpy()
    elements = iter(loader)
    first = [next(elements) for _ in range(11)]
    other = hr.range(30).map(np.negative, python="threads").numpy()
    other.load_state_dict(elements.state_dict())
    assert first + list(other) == [-x for x in range(30)]


def one_more(x: int) -> int:
    return int(x) + 1


def test_what_it_cannot_bound_is_said() -> None:
    with pytest.raises(ValueError, match=r"map: num_parallel limits .* native operators"):
        hr.range(3).map(lambda x: x + 1, num_parallel=2)
    with pytest.raises(ValueError, match="num_parallel must be"):
        hr.range(3).map(one_more, python="threads", num_parallel=0)
    with pytest.raises(TypeError, match=r"num_parallel"):
        hr.range(3).map(one_more, python="threads", num_parallel=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"map\(num_parallel=…\)"):
        hr.range(3).map(one_more, num_parallel_calls=2)  # type: ignore[call-arg]
