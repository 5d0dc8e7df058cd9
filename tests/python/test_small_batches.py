"""Small batches that are made many at a time: nobody sees that they are. Without rewrites each is made alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr

SIZE = 211
UNEVEN = hr.from_list([np.arange(1 + i * 7 % 5) + i for i in range(SIZE)])
TABLE = hr.from_arrays({"x": np.arange(SIZE * 3.0).reshape(SIZE, 3), "name": [str(i) for i in range(SIZE)]})
NUMBERS = hr.from_arrays(np.arange(SIZE))

PIPELINES: dict[str, Callable[[], hr.Dataset]] = {
    "batch": lambda: hr.range(SIZE).batch(4),
    "drop_last": lambda: hr.range(SIZE).batch(4, drop_last=True),
    "texts beside numbers": lambda: TABLE.batch(3),
    "ids": lambda: NUMBERS.batch(3).with_ids(),
    "shuffled": lambda: NUMBERS.shuffle(seed=3).repeat(3).batch(5),
    "batches shuffled": lambda: NUMBERS.batch(5).shuffle(seed=3).repeat(2),
    "sharded": lambda: NUMBERS.shuffle(seed=3).shard(1, 3).batch(4),
    "padded with others": lambda: NUMBERS.batch(4).shard(2, 3, even="pad").with_validity(),
    "zipped": lambda: NUMBERS.zip(TABLE).batch(4),
    "zipped columns": lambda: NUMBERS.zip(hr.range(SIZE)).batch(4),
    "batches zipped": lambda: NUMBERS.batch(4).zip(hr.range(SIZE).batch(5)),
    "concatenated": lambda: NUMBERS.batch(4).concatenate(hr.range(50, 99).batch(7)),
    "mixed": lambda: hr.mix([NUMBERS, hr.range(SIZE)], weights=[0.3, 0.7]).batch(6),
    "windows": lambda: NUMBERS.window(5, shift=2, stride=3),
    "ragged": lambda: UNEVEN.batch(4, ragged=True),
    "ragged numbers": lambda: NUMBERS.batch(4, ragged=True),
    "padded to a shape": lambda: UNEVEN.padded_batch(4, [7], fill=-1),
    "padded to the longest": lambda: UNEVEN.padded_batch(4),
    "mapped": lambda: NUMBERS.batch(4).map(lambda x: x * 2),
    "kept": lambda: NUMBERS.batch(4).cache().repeat(2),
    "unbatched": lambda: NUMBERS.batch(4).unbatch(),
    "unbatched, filtered": lambda: NUMBERS.batch(4).unbatch().filter(lambda x: x > 9),
    "unbatched, mapped": lambda: NUMBERS.batch(4).unbatch().map(lambda x: x + 1).batch(3),
    "ragged, unbatched": lambda: UNEVEN.batch(4, ragged=True).unbatch(),
    "rebatched": lambda: NUMBERS.batch(4).rebatch(6),
    "filtered": lambda: NUMBERS.batch(4).filter(lambda x: int(x.sum()) % 3 != 0, python=True),
    "in a window": lambda: NUMBERS.batch(4).shuffle(seed=1, window=10),
    "sharded behind a border": lambda: (
        NUMBERS.batch(4).unbatch().filter(lambda x: x % 3 > 0, python=True).shard(1, 2, steps=60)
    ),
}


def told(element: Any) -> Any:
    if isinstance(element, dict):
        return {name: told(value) for name, value in element.items()}
    if isinstance(element, (tuple, list, hr.RaggedColumn)):
        return [told(value) for value in element]
    return element.tolist() if isinstance(element, (np.ndarray, np.generic)) else element


def elements_and_states(data: hr.Dataset) -> tuple[list[Any], list[Any]]:
    iteration = iter(data.numpy())
    elements, states = [], [iteration.state_dict()]
    for element in iteration:
        elements.append(told(element))
        states.append(iteration.state_dict())
    return elements, states


@pytest.mark.parametrize("name", PIPELINES)
def test_elements_and_states_are_those_of_batches_made_alone(name: str) -> None:
    data = PIPELINES[name]()
    elements, states = elements_and_states(data.options(workers=2))
    alone, alone_states = elements_and_states(data.options(workers=1, rewrites=False))
    assert elements == alone and len(elements) > 10
    assert states == alone_states


@pytest.mark.parametrize("name", PIPELINES)
def test_each_goes_on_where_the_other_stopped(name: str) -> None:
    data = PIPELINES[name]()
    together, alone = data.options(workers=2), data.options(workers=1, rewrites=False)
    elements, states = elements_and_states(together)
    for at in (1, 7, len(elements) // 2, len(elements) - 1):
        for other in (together, alone):
            loader = other.numpy()
            loader.load_state_dict(states[at])
            assert [told(element) for element in loader] == elements[at:]


def test_each_has_memory_of_its_own() -> None:
    first, *rest = list(hr.range(100).batch(4))
    first[:] = -1
    assert first.flags.writeable and all(row.flags.writeable for row in rest)
    assert np.concatenate(rest).tolist() == list(range(4, 100))


@pytest.mark.parametrize("batch", [lambda d: d.batch(4), lambda d: d.padded_batch(4, [3])])
def test_one_that_fails_comes_after_those_before_it(batch: Callable[[hr.Dataset], hr.Dataset]) -> None:
    data = batch(hr.from_list([np.zeros(3 + (i == 150)) for i in range(SIZE)]))
    elements, error = [], ""
    with pytest.raises(ValueError, match="expected rows of") as raised:
        for element in data.options(workers=2):
            elements.append(told(element))
    error = str(raised.value)
    assert len(elements) == 37
    with pytest.raises(ValueError, match="expected rows of") as raised:
        list(data.options(workers=1, rewrites=False))
    assert error == str(raised.value)
    assert "row 2 (sample 150 of " in error


@pytest.mark.parametrize("name", ["batch", "ragged", "padded to a shape", "rebatched", "unbatched, filtered"])
@pytest.mark.parametrize("budget", [1 << 12, 1 << 14, 1 << 17])
def test_a_small_budget_is_enough(name: str, budget: int) -> None:
    data = PIPELINES[name]()
    assert [told(one) for one in data.options(memory_budget=budget)] == [told(one) for one in data]
