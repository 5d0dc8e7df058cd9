"""select, random_split, k_fold and shuffle(reshuffle_each_epoch=False): the same elements in every epoch, on every rank."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

FIELDS = {"stratify_by": "label", "group_by": "patient"}
WAYS: list[dict[str, Any]] = [
    {},
    {"stratify_by": "label"},
    {"group_by": "patient"},
    FIELDS,
]


def patients(count: int = 300, seed: int = 0) -> hr.Dataset:
    """Rows of patients with 1 to 5 rows each, and labels of which the last is rare."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(count), rng.integers(1, 6, count))[:count]
    label = np.minimum(rng.geometric(0.4, count) - 1, 5)
    names = np.array([f"patient {i}" for i in patient])
    return hr.from_arrays({"x": np.arange(count), "label": label, "patient": names})


def xs(ds: hr.Dataset) -> list[int]:
    return [int(s["x"]) for s in ds]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("lengths", [[0.9, 0.1], [0.5, 0.3, 0.2], [1.0], [0.0, 1.0], [200, 60, 40]])
def test_parts_are_disjoint_and_complete(how: dict[str, Any], lengths: list[float]) -> None:
    ds = patients()
    parts = ds.random_split(lengths, seed=3, **how)
    assert len(parts) == len(lengths)
    assert sorted(x for part in parts for x in xs(part)) == list(range(300))
    assert [xs(part) for part in ds.random_split(lengths, seed=3, **how)] == [xs(part) for part in parts]
    if len(set(lengths)) > 1 and 1.0 not in lengths:
        assert [xs(part) for part in ds.random_split(lengths, seed=4, **how)] != [xs(part) for part in parts]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("k", [2, 5, 10])
def test_folds_are_disjoint_and_complete(how: dict[str, Any], k: int) -> None:
    ds = patients()
    folds = ds.k_fold(k, seed=1, **how)
    assert sorted(x for _, val in folds for x in xs(val)) == list(range(300))
    for train, val in folds:
        assert sorted(xs(train) + xs(val)) == list(range(300)) and len(train) + len(val) == 300


@pytest.mark.parametrize("seed", range(20))
def test_of_each_class_a_part_has_its_fraction_rounded(seed: int) -> None:
    ds = patients(seed=seed)
    labels = np.array([int(s["label"]) for s in ds])
    for lengths in ([0.9, 0.1], [0.5, 0.3, 0.2]):
        for length, part in zip(
            lengths, ds.random_split(lengths, seed=seed, stratify_by="label"), strict=True
        ):
            counts = np.bincount(labels[xs(part)], minlength=6)
            assert np.abs(counts - length * np.bincount(labels, minlength=6)).max() < 1
    for _, val in ds.k_fold(7, seed=seed, stratify_by="label"):
        assert np.abs(np.bincount(labels[xs(val)], minlength=6) - np.bincount(labels) / 7).max() < 1 + 1 / 7


@pytest.mark.parametrize("how", [WAYS[2], WAYS[3]])
def test_no_group_is_divided(how: dict[str, Any]) -> None:
    ds = patients()
    names = [s["patient"] for s in ds]
    for parts in (ds.random_split([0.8, 0.2], **how), *ds.k_fold(5, **how)):
        first, second = ({names[x] for x in xs(part)} for part in parts)
        assert not first & second
    parts = ds.random_split([0.8, 0.2], **how)
    assert abs(len(parts[0]) - 240) <= 10
    assert all(abs(len(val) - 60) <= 10 for _, val in ds.k_fold(5, **how))


@pytest.mark.parametrize("how", [{}, FIELDS])
def test_the_same_in_every_epoch_and_on_every_rank(how: dict[str, Any]) -> None:
    train, val = patients().random_split([0.8, 0.2], seed=5, **how)
    loader = val.map(lambda s: {"x": s["x"]}).numpy()
    assert [[int(b["x"]) for b in loader] for _ in range(3)] == [xs(val)] * 3
    shuffled = train.shuffle(seed=9)
    seen = [
        sorted(x for rank in range(3) for x in xs(shuffled.shard(rank, 3, even="drop"))) for _ in range(2)
    ]
    assert all(set(one) <= set(xs(train)) for one in seen)
    assert not set(xs(train.options(seed=7))) & set(xs(val.options(seed=8)))


def test_a_split_resumes_and_travels() -> None:
    train, _ = patients().random_split([0.8, 0.2], seed=5, **FIELDS)
    batches = train.map(lambda s: {"x": s["x"]}).shuffle(seed=2).batch(16)
    loader = batches.numpy()
    iterator = iter(loader)
    first = [next(iterator)["x"].tolist() for _ in range(4)]
    again = batches.numpy()
    again.load_state_dict(loader.state_dict())
    whole = [b["x"].tolist() for b in batches.numpy()]
    assert first + [b["x"].tolist() for b in again] == whole
    assert xs(pickle.loads(pickle.dumps(train))) == xs(train)


def test_a_split_is_the_same_in_another_process_and_format(tmp_path: Path) -> None:
    patients().write(tmp_path / "a", format="arrow", progress=False)
    patients().write(tmp_path / "b", format="parquet", shards=3, progress=False)
    code = (
        "import sys, headrace as hr\n"
        "train, val = hr.read(sys.argv[1]).random_split([0.9, 0.1], seed=3, stratify_by='label')\n"
        "print([int(s['x']) for s in val])"
    )
    command = [sys.executable, "-c", code]
    printed = [
        subprocess.run([*command, str(tmp_path / name)], check=True, capture_output=True, text=True).stdout
        for name in "ab"
    ]
    assert (
        printed[0]
        == printed[1]
        == f"{xs(patients().random_split([0.9, 0.1], seed=3, stratify_by='label')[1])}\n"
    )


def test_lengths_as_torch_deals_them() -> None:
    for total in (1, 10, 99, 100, 101):
        for lengths in ([0.29, 0.71], [1 / 3, 1 / 3, 1 / 3], [0.1] * 10, [0.7, 0.2, 0.1]):
            wanted = [int(np.floor(total * length + 1e-6)) for length in lengths]
            for i in range(total - sum(wanted)):
                wanted[i % len(wanted)] += 1
            assert [len(part) for part in hr.range(total).random_split(lengths)] == wanted


def test_plans_of_splits() -> None:
    ds = hr.range(50)
    train, _ = ds.random_split([40, 10], seed=3)
    assert "reshuffle_each_epoch" in train.plan() and not train.slots
    chosen = ds.select([4, 4, 2])
    assert list(chosen.slots) == ["indices"]
    assert [int(x) for x in chosen] == [4, 4, 2]


def test_draws_of_an_element_that_is_selected_twice_differ() -> None:
    ds = hr.from_list([np.zeros((4, 4, 3), np.uint8)] * 3).select([1, 1, 2])

    def noise(_: Any, rng: Any) -> int:
        return int(rng.integers(1 << 30))

    drawn = [int(x) for x in ds.map(noise, python=True)]
    assert len(set(drawn)) == 3
    assert drawn == [int(x) for x in ds.map(noise, python=True)]


@pytest.mark.parametrize("options", [{}, {"window": 5}, {"blocks": 1}])
def test_one_order_for_all_epochs(tmp_path: Path, options: dict[str, int]) -> None:
    patients(40).map(lambda s: {"x": s["x"]}).write(tmp_path / "a", format="arrow", shards=4, progress=False)
    ds = hr.read(tmp_path / "a").shuffle(seed=1, reshuffle_each_epoch=False, **options)
    loader = ds.numpy()
    epochs = [[int(b["x"]) for b in loader] for _ in range(3)]
    assert epochs[0] == epochs[1] == epochs[2] != list(range(40))
    assert [int(s["x"]) for s in ds.repeat(2)] == epochs[0] * 2
    assert epochs[0] == [int(s["x"]) for s in hr.read(tmp_path / "a").shuffle(seed=1, **options)]


@pytest.mark.parametrize("verb", ["take", "skip"])
def test_members_that_move_between_epochs_are_warned_of(verb: str) -> None:
    moving = getattr(hr.range(10).shuffle(seed=1), verb)(4).numpy()
    with pytest.warns(RuntimeWarning, match=f"{verb} is after shuffle.*random_split"):
        list(moving)
    list(getattr(hr.range(10).shuffle(seed=1, reshuffle_each_epoch=False), verb)(4).numpy())
    list(hr.range(10).shuffle(seed=1).repeat().take(4).numpy())
    list(hr.range(10).shuffle(seed=1).take(10).numpy())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda ds: ds.select([300]), ValueError, "select: expected indices from 0 to below 300.*got 300 at position 0"),
        (lambda ds: ds.select([-1]), ValueError, "got -1 at position 0"),
        (lambda ds: ds.select([True]), TypeError, "flatnonzero"),
        (lambda ds: ds.select([0.5]), TypeError, "expected integers, got float64"),
        (lambda ds: ds.select([[1]]), ValueError, r"one dimension, got shape \(1, 1\)"),
        (lambda ds: ds.random_split([0.5, 0.6]), ValueError, "fractions that sum to 1, or numbers .* sum to 300"),
        (lambda ds: ds.random_split([-1, 301]), ValueError, "fractions that sum to 1"),
        (lambda ds: ds.random_split([]), ValueError, "fractions that sum to 1"),
        (lambda ds: ds.shuffle().random_split([1.0]), ValueError, "random_split: parts .* changes every epoch"),
        (lambda ds: ds.filter(lambda s: s["x"] > 3).k_fold(2), ValueError, "k_fold: needs random access"),
        (lambda ds: ds.repeat().k_fold(2), ValueError, "k_fold: needs random access and an exact length"),
        (lambda ds: ds.k_fold(301), ValueError, "at most 300 folds"),
        (lambda ds: ds.k_fold(1), ValueError, "k"),
        (lambda ds: ds.k_fold(3, group_by=np.zeros(300)), ValueError, "one group for each part, got 1 groups"),
        (lambda ds: ds.random_split([1.0], stratify_by="labels"), KeyError, "did you mean 'label'"),
        (lambda ds: ds.random_split([1.0], stratify_by=[1, 2]), ValueError, "stratify_by for 300 elements, got 2"),
        (lambda ds: ds.random_split([1.0], group_by=np.full(300, np.nan)), ValueError, "got nan"),
        (lambda ds: ds.shuffle(reshuffle_each_iteration=False), TypeError, r"shuffle\(reshuffle_each_epoch="),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(patients())
