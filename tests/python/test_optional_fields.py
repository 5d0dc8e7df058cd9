"""Fields that some samples lack: defaults= of from_list and from_generator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

ROWS: list[dict[str, Any]] = [
    {"a": 1},
    {"a": 2, "b": 3.5, "text": "x", "many": np.arange(2)},
    {"a": 3, "b": None, "text": None},
    {"a": 4, "text": "y"},
]
DEFAULTS = {"b": -1.0, "text": "", "many": np.zeros(2, np.int64)}
WANTED = [
    (1, -1.0, "", [0, 0]), (2, 3.5, "x", [0, 1]), (3, -1.0, "", [0, 0]), (4, -1.0, "y", [0, 0]),
]  # fmt: skip


class Counted:
    """Says where it stands."""

    def __init__(self) -> None:
        self.at = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while self.at < len(ROWS):
            self.at += 1
            yield ROWS[self.at - 1]

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


SOURCES = {
    "list": lambda: hr.from_list(ROWS, defaults=DEFAULTS),
    "generator": lambda: hr.from_generator(lambda: iter(ROWS), defaults=DEFAULTS),
    "generator that resumes": lambda: hr.from_generator(Counted, defaults=DEFAULTS),
}


def plain(elements: Any) -> list[Any]:
    return [(int(x["a"]), float(x["b"]), x["text"], x["many"].tolist()) for x in elements]


@pytest.mark.parametrize("source", SOURCES)
def test_what_a_sample_lacks_is_the_default(source: str, tmp_path: Path) -> None:
    data = SOURCES[source]()
    assert plain(data) == WANTED
    assert plain(data.filter(lambda s: s.b < 0).batch(2).unbatch()) == [WANTED[0], *WANTED[2:]]
    assert plain(data.map(dict, python=True)) == WANTED
    data.save_plan(tmp_path / "plan.json")
    assert plain(hr.load_plan(tmp_path / "plan.json", bind=data.slots)) == WANTED


@pytest.mark.filterwarnings("ignore::headrace.ReplayWarning")
@pytest.mark.parametrize("source", SOURCES)
def test_a_run_goes_on_among_them(source: str) -> None:
    for stop in range(5):
        elements = iter(SOURCES[source]().numpy())
        before = [next(elements) for _ in range(stop)]
        loader = SOURCES[source]().numpy()
        loader.load_state_dict(elements.state_dict())
        assert stop == len(WANTED) or plain([*before, *loader]) == WANTED


def test_defaults_are_for_samples_with_names() -> None:
    with pytest.raises(TypeError, match=r"from_list: defaults= needs samples that are dicts, got int"):
        hr.from_list([1, 2], defaults={"b": 0})
    with pytest.raises(ValueError, match=r"from_list: element 1 has the fields a, b, but .*: 'b' is new"):
        hr.from_list([{"a": 1}, {"a": 1, "b": 2}])


def test_columns_of_objects_are_what_they_hold() -> None:
    for values in ([1, 2], [1.5, 2], [True, False], ["a", "b"]):
        data = hr.from_arrays({"a": np.array(values, dtype=object)})
        assert [x["a"] for x in data] == values
    for mixed, what in (([1.5, None], "contains None"), ([1, "a"], "expected arrays of numbers")):
        with pytest.raises(TypeError, match=what):
            hr.from_arrays({"a": np.array(mixed, dtype=object)})


def test_a_function_that_returns_a_dataset_is_refused() -> None:
    with pytest.raises(TypeError, match="the function returned a Dataset; flat_map needs an array of rows"):
        hr.range(3).flat_map(lambda x: hr.range(2), python=True)
