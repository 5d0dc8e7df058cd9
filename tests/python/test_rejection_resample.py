"""rejection_resample: the shares of the classes, how many stay, and that a run goes on where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

CHI_SQUARE = {2: 13.8, 4: 18.5}  # by degrees of freedom: one run in a thousand is beyond it
COUNT = 20_000
INITIAL, TARGET = [0.7, 0.2, 0.1], [0.2, 0.3, 0.5]


def data(initial: list[float] = INITIAL, count: int = COUNT) -> hr.Dataset:
    labels = np.random.default_rng(0).choice(len(initial), size=count, p=initial)
    return hr.from_arrays({"x": np.arange(count), "label": labels})


def label(s: Any) -> Any:
    return s["label"]


def classes(ds: hr.Dataset) -> list[int]:
    return [int(c) for c, _ in ds]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("initial", [INITIAL, None], ids=["given", "estimated"])
@pytest.mark.parametrize(
    ("comes", "wanted"),
    [(INITIAL, TARGET), ([0.1, 0.1, 0.6, 0.1, 0.1], [1, 1, 1, 2, 2]), ([0.5, 0.3, 0.2], [1, 2, 0])],
)
def test_classes_come_in_the_shares_that_are_wanted(
    seed: int, initial: list[float] | None, comes: list[float], wanted: list[float]
) -> None:
    ds = data(comes).rejection_resample(label, wanted, None if initial is None else comes, seed=seed)
    counts = np.bincount(classes(ds), minlength=len(wanted)).astype(float)
    shares = np.array(wanted) / np.sum(wanted)
    expected = counts.sum() * shares
    # While the shares are estimated, the first some hundred elements are drawn by wrong ones.
    slack = 1.0 if initial else 1.5
    there = expected > 0
    assert counts[~there].sum() == 0
    assert (((counts - expected)[there] ** 2) / expected[there]).sum() < slack * CHI_SQUARE[
        len(wanted) // 5 * 2 + 2
    ]
    # Of all elements 1 / max(t / p) stay, within four standard deviations.
    rate = 1 / (shares / comes).max()
    assert abs(counts.sum() - COUNT * rate) < 4 * np.sqrt(COUNT * rate) + (
        0 if initial else 0.02 * COUNT * rate
    )


def test_what_stays_are_pairs_in_their_order_and_each_once() -> None:
    source = data(count=200)
    pairs = list(source.rejection_resample(label, TARGET, INITIAL))
    numbers = [int(s["x"]) for _, s in pairs]
    assert numbers == sorted(set(numbers)) and 20 < len(numbers) < 80
    assert all(int(c) == int(s["label"]) == int(source[int(s["x"])]["label"]) for c, s in pairs)


def test_another_seed_or_epoch_draws_anew() -> None:
    def numbers(draws: int, epoch: int, **options: Any) -> list[int]:
        loader = (
            data(count=300).rejection_resample(label, TARGET, INITIAL, seed=draws).options(**options).numpy()
        )
        loader.set_epoch(epoch)
        return [int(s["x"]) for _, s in loader]

    first = numbers(0, 0)
    assert first == numbers(0, 0, workers=1)
    assert first not in (numbers(1, 0), numbers(0, 1), numbers(0, 0, seed=1))


@pytest.mark.parametrize("initial", [INITIAL, None], ids=["given", "estimated"])
def test_a_run_goes_on_from_any_stop(initial: list[float] | None) -> None:
    ds = data(count=400).shuffle(seed=1).rejection_resample(label, TARGET, initial).batch(3)
    whole = [batch[1]["x"].tolist() for batch in ds.numpy()]
    assert len(whole) > 15
    for stop in (0, 1, 7, len(whole) - 1):
        run = iter(ds.numpy())
        part = [next(run)[1]["x"].tolist() for _ in range(stop)]
        state = run.state_dict()
        other = ds.options(workers=1).numpy()
        other.load_state_dict(state)
        assert part + [batch[1]["x"].tolist() for batch in other] == whole


def test_ranks_that_deal_its_inputs_draw_what_one_draws() -> None:
    def numbers(ds: hr.Dataset) -> list[int]:
        return [int(s["x"]) for _, s in ds.rejection_resample(label, TARGET, INITIAL)]

    whole = numbers(data(count=300))
    ranks = [numbers(data(count=300).shard(rank, 3, steps=12)) for rank in range(3)]
    assert ranks == [[x for x in whole if x % 3 == rank][:12] for rank in range(3)]


@pytest.mark.parametrize("initial", [INITIAL, None], ids=["given", "estimated"])
def test_it_is_part_of_a_plan(tmp_path: Path, initial: list[float] | None) -> None:
    labels = np.random.default_rng(0).choice(3, size=200, p=INITIAL)
    np.savetxt(tmp_path / "x.csv", labels, fmt="%d", header="label", comments="")
    ds = hr.read(tmp_path / "x.csv", format="csv").rejection_resample(label, TARGET, initial)
    ds.save_plan(tmp_path / "plan.json")
    assert classes(hr.load_plan(tmp_path / "plan.json")) == classes(ds) != []


def test_a_class_function_may_be_python() -> None:
    ds = data(count=300).rejection_resample(lambda s: int(s["label"]), TARGET, INITIAL, python=True)
    assert all(int(c) == int(s["label"]) for c, s in ds) and 30 < len(classes(ds)) < 100
    with_rng = data(count=50).rejection_resample(lambda s, rng: rng.integers(3), [1, 1, 1], [1, 1, 1])
    assert len(classes(with_rng)) == 50


def test_mistakes_are_told() -> None:
    with pytest.raises(ValueError, match=r"initial must have as many classes as target, 3, got 2"):
        data().rejection_resample(label, TARGET, [0.5, 0.5])
    with pytest.raises(ValueError, match=r"initial must have a share above 0 for class 2"):
        data().rejection_resample(label, TARGET, [0.5, 0.5, 0])
    with pytest.raises(ValueError, match=r"target: shares must be at least 0"):
        data().rejection_resample(label, [-1, 1, 1])
    with pytest.raises(ValueError, match=r"expected a class \(one integer\)"):
        data().rejection_resample(lambda s: s["label"] / 2, TARGET, INITIAL)
    with pytest.raises(ValueError, match=r"expected a class from 0 to 1, got 2"):
        list(data().rejection_resample(label, [1, 1]))
    with pytest.raises(TypeError, match="expected a function, got 3"):
        data().rejection_resample(3, TARGET)  # type: ignore[arg-type]
