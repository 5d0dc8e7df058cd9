"""What people try first, and what they should be told."""

from typing import Any

import pytest

import headrace as hr
from headrace import ops


def test_a_field_set_as_an_attribute_is_set() -> None:
    def bump(s: Any) -> Any:
        s.x = s.x + 1
        return s

    data = hr.from_arrays({"x": [1, 2, 3]})
    assert [int(e["x"]) for e in data.map(bump).numpy()] == [2, 3, 4]
    assert [int(e["x"]) for e in data.map(bump, python=True).numpy()] == [2, 3, 4]


def test_an_operator_on_the_whole_sample_says_so() -> None:
    with pytest.raises(TypeError, match="wants a field, got the whole sample"):
        hr.from_arrays({"x": [1, 2, 3]}).map(lambda s: ops.cast(s, dtype="f32"))


def test_an_iteration_that_another_one_ended_raises() -> None:
    loader = hr.range(100).batch(5).numpy()
    with pytest.raises(RuntimeError, match="ended by another"):
        for _ in loader:
            next(iter(loader))


@pytest.mark.parametrize("option", ["workers", "io", "ready", "memory_budget"])
@pytest.mark.parametrize("value", [0, -1, "4"])
def test_options_are_checked_where_they_are_given(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"options: {option} wants a whole number"):
        hr.range(10).options(**{option: value})


def test_unknown_rewrites_are_refused() -> None:
    with pytest.raises(ValueError, match="no rewrite 'fuse_map'"):
        hr.range(10).options(rewrites={"fuse_map": False}).numpy()


@pytest.mark.parametrize("wrong", [{"consumed": 10**9}, {"epoch": -4}, {"consumed": -1}])
def test_impossible_states_are_refused(wrong: dict[str, int]) -> None:
    loader = hr.range(10).batch(3).numpy()
    with pytest.raises(ValueError, match="state: "):
        loader.load_state_dict({**loader.state_dict(), **wrong})
