"""ds.torch_dataset(): epochs that reach PyTorch's DataLoader and its workers."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.utils.data import ConcatDataset, DataLoader, Subset  # noqa: E402

import headrace as hr  # noqa: E402

IMPORTABLE = str(Path(__file__).parent / "importable")
sys.path.insert(0, IMPORTABLE)  # processes that are spawned have the path of this one
from functions_of_processes import moved  # noqa: E402

N = 12


def drawn(n: int = N) -> hr.Dataset:
    return hr.from_arrays({"y": np.arange(n)}).map(moved, python=True)


def draws(loader: Any) -> dict[int, float]:
    return {int(y): float(by) for batch in loader for y, by in zip(batch["y"], batch["by"], strict=True)}


def draws_of(epoch: int) -> dict[int, float]:
    return {int(s["y"]): float(s["by"]) for s in drawn().at_epoch(epoch)}


OPTIONS = [
    {"num_workers": 0},
    {"num_workers": 2},
    {"num_workers": 1, "multiprocessing_context": "spawn"},
    {"num_workers": 2, "persistent_workers": True},
    {"num_workers": 3, "in_order": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_set_epoch_reaches_workers(options: dict[str, Any]) -> None:
    data = drawn().torch_dataset()
    loader = DataLoader(data, 4, shuffle=True, **options)
    for epoch in (3, 1):
        data.set_epoch(epoch)
        assert draws(loader) == draws_of(epoch) and data.epoch == epoch


@pytest.mark.parametrize("options", [one for one in OPTIONS if "persistent_workers" not in one], ids=str)
def test_epochs_are_counted(options: dict[str, Any]) -> None:
    data = drawn().torch_dataset()
    loader = DataLoader(data, 4, shuffle=True, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "This DataLoader will create 3 worker processes")
        assert [draws(loader) for _ in range(3)] == [draws_of(epoch) for epoch in range(3)]
    assert data.epoch == 2


def test_a_loader_that_is_left_early_begins_the_next_epoch() -> None:
    data = drawn().torch_dataset()
    loader = DataLoader(data, 4)
    next(iter(loader))
    assert draws(loader) == draws_of(1)
    workers = DataLoader(drawn().torch_dataset(), 4, num_workers=2)
    next(iter(workers))
    assert draws(workers) == draws_of(1)


def test_two_loaders_and_parts_of_it() -> None:
    data = drawn().torch_dataset()
    low, high = Subset(data, range(6)), Subset(data, range(6, 12))
    loaders = [DataLoader(part, 3) for part in (low, high)]
    for epoch in range(3):
        got = draws(loaders[0]) | draws(loaders[1])
        assert got == draws_of(epoch)


def said_by(code: str) -> str:
    """What a script and its workers write to stderr."""
    before = f"""import sys; sys.path.insert(0, {IMPORTABLE!r})
import numpy as np, headrace as hr
from torch.utils.data import DataLoader
from functions_of_processes import moved
ds = hr.from_arrays({{"y": np.arange({N})}}).map(moved, python=True)
"""
    return subprocess.run(
        [sys.executable, "-c", before + code], check=True, capture_output=True, text=True
    ).stderr


def test_where_nobody_can_tell_it_warns() -> None:
    loader = DataLoader(drawn().torch_dataset(), 4, num_workers=1, persistent_workers=True)
    assert draws(loader) == draws(loader) == draws_of(0)
    del loader
    persistent = (
        "loader = DataLoader(ds.torch_dataset(), 4, num_workers=1, persistent_workers=True); list(loader); "
    )
    said = said_by(persistent + "list(loader); list(loader)")
    assert said.count("nothing tells this dataset of the next") == 1
    assert not said_by(persistent)
    joined = DataLoader(ConcatDataset([drawn().torch_dataset()] * 1), 4)
    assert draws(joined) == draws_of(0)
    with pytest.warns(RuntimeWarning, match="call its set_epoch"):
        draws(joined)


def test_a_plan_that_does_not_vary_never_warns() -> None:
    ds = hr.from_arrays({"y": np.arange(N), "by": np.zeros(N)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (ds, ds.torch_dataset(), ConcatDataset([ds.torch_dataset()])):
            loader = DataLoader(data, 4)
            assert draws(loader) == draws(loader)


def test_the_dataset_itself_warns_of_its_one_epoch() -> None:
    loader = DataLoader(drawn(), 4)
    first = draws(loader)
    with pytest.warns(RuntimeWarning, match=r"elements of epoch 0 in every epoch.*ds\.torch_dataset\(\)"):
        assert draws(loader) == first
    assert said_by("list(DataLoader(ds, 4, num_workers=2))").count("in every epoch") == 1


def test_elements_are_tensors() -> None:
    data = hr.from_arrays(
        {"x": np.arange(6, dtype=np.float32).reshape(3, 2), "name": ["a", "b", "c"]}
    ).torch_dataset()
    assert len(data) == 3 and torch.equal(data[-1]["x"], torch.tensor([4.0, 5.0])) and data[0]["name"] == "a"
    with pytest.raises(IndexError):
        data[3]
    (batch,) = DataLoader(data, 3)
    assert batch["x"].shape == (3, 2) and batch["name"] == ["a", "b", "c"]


def test_copies_and_pickles_keep_the_epoch() -> None:
    data = drawn().torch_dataset()
    data.set_epoch(2)
    for other in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert other.epoch == 2 and draws(DataLoader(other, 4)) == draws_of(2)
    fresh = drawn().torch_dataset()
    fresh.load_state_dict(data.state_dict())
    assert fresh.epoch == 2


def test_what_has_no_random_access_is_refused() -> None:
    for ds in (hr.range(9).filter(lambda x: x > 3), hr.range(9).repeat()):
        with pytest.raises(ValueError, match=r"random access and a length.*torch\(\)"):
            ds.torch_dataset()
    with pytest.raises(ValueError, match="set_epoch"):
        drawn().torch_dataset().set_epoch(-1)
