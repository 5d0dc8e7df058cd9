"""ds.torch() is a DataLoader: what others read of it, and what they build around it."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from headrace.loaders.prepared import real_rows  # noqa: E402
from torch.utils.data import (  # noqa: E402
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    default_collate,
)

import headrace as hr  # noqa: E402
from headrace import ops  # noqa: E402

N = 21


def arrays(n: int = N) -> hr.Dataset:
    return hr.from_arrays({"x": np.arange(2 * n, dtype=np.float32).reshape(n, 2), "y": np.arange(n)})


def ys(loader: Any) -> list[list[int]]:
    return [batch["y"].tolist() for batch in loader]


def epoch_of(ds: hr.Dataset, epoch: int) -> list[list[int]]:
    loader = ds.numpy()
    loader.set_epoch(epoch)
    return ys(loader)


PLANS = {
    "batch": arrays().shuffle(seed=1).batch(4),
    "drop_last": arrays().shuffle(seed=1).batch(4, drop_last=True),
    "map after batch": arrays().shuffle(seed=1).batch(4).map(lambda b: {"x": b.x * 2, "y": b.y}),
    "sharded": arrays().shuffle(seed=1).shard(1, 2).batch(4),
    "repeated": arrays().shuffle(seed=1).repeat(2).batch(4),
    "one sample": arrays(1).batch(4),
}
STREAMS = {
    "filter": arrays().shuffle(seed=1).filter(lambda s: s.y != 3).batch(4),
    "batches in another order": arrays(24).batch(4).shuffle(seed=1),
    "batches dealt": arrays().batch(4).shard(0, 2),
}


def around(loader: Any) -> DataLoader:
    """What accelerate builds."""
    if isinstance(loader.dataset, IterableDataset):
        return DataLoader(
            loader.dataset, loader.batch_size, drop_last=loader.drop_last, collate_fn=loader.collate_fn
        )
    return DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, collate_fn=loader.collate_fn)


@pytest.fixture(params=[*PLANS, *STREAMS])
def ds(request: pytest.FixtureRequest) -> hr.Dataset:
    return {**PLANS, **STREAMS}[request.param]


def test_it_has_all_that_a_dataloader_has(ds: hr.Dataset) -> None:
    loader = ds.torch()
    assert isinstance(loader, DataLoader)
    plain = DataLoader(list(range(5)), batch_size=2)
    for name in vars(plain).keys() | set(inspect.signature(DataLoader).parameters) - {"shuffle"}:
        assert name.startswith("_") or hasattr(loader, name), name
    for name in (
        "num_workers", "prefetch_factor", "persistent_workers", "timeout", "worker_init_fn", "generator", "pin_memory",
        "pin_memory_device", "multiprocessing_context", "in_order",
    ):  # fmt: skip
        assert getattr(loader, name) == getattr(plain, name), name
    assert isinstance(loader.sampler, Sampler) and isinstance(loader.batch_sampler, BatchSampler)
    assert loader.batch_size == 4 and loader.pipeline is ds
    with pytest.raises(ValueError, match="should not be set after"):
        loader.batch_size = 8


@pytest.mark.parametrize("name", PLANS)
def test_its_dataset_counts_samples(name: str) -> None:
    loader = PLANS[name].torch()
    whole = [y for step in epoch_of(PLANS[name], 0) for y in step]
    assert len(loader.dataset) == len(whole) == len(loader.sampler)
    assert len(loader) == len(loader.batch_sampler) == len(epoch_of(PLANS[name], 0))
    assert [int(loader.dataset[i]["y"]) for i in range(len(whole))] == whole
    assert int(loader.dataset[-1]["y"]) == whole[-1]
    with pytest.raises(IndexError):
        loader.dataset[len(whole)]


def test_a_loader_around_it_has_its_batches_from_the_engine(ds: hr.Dataset) -> None:
    loader = ds.torch()
    other = around(loader)
    assert [ys(other) for _ in range(3)] == [epoch_of(ds, epoch) for epoch in range(3)]
    assert loader.report()["elements"] >= len(epoch_of(ds, 2))
    loader.sampler.set_epoch(1)
    assert ys(other) == epoch_of(ds, 1)
    loader.set_epoch(4)
    assert ys(other) == ys(loader) == epoch_of(ds, 4)
    assert ys(loader) == epoch_of(ds, 5)
    del loader  # as accelerate does
    other.sampler if isinstance(other.dataset, IterableDataset) else other.batch_sampler.set_epoch(2)
    assert ys(other) in (epoch_of(ds, 2), epoch_of(ds, 5))


class Dealt(BatchSampler):
    """Every `world`-th batch, filled up with the first samples: as accelerate deals them."""

    def __init__(self, inner: Any, rank: int, world: int):
        self.inner, self.rank, self.world = inner, rank, world

    def __iter__(self) -> Any:
        first, last = [], None
        for at, batch in enumerate(self.inner):
            first += batch if len(first) < 8 else []
            last = batch
            if at % self.world == self.rank:
                yield batch + first[: 4 - len(batch)]
        assert last is not None

    def __len__(self) -> int:
        return len(self.inner) // self.world


@pytest.mark.parametrize("name", ["batch", "map after batch", "repeated"])
@pytest.mark.parametrize("world", [2, 3])
def test_batches_that_are_dealt_come_from_the_engine(name: str, world: int) -> None:
    ds = PLANS[name]
    for rank in range(world):
        loader = ds.torch()
        dealt = Dealt(loader.batch_sampler, rank, world)
        other = DataLoader(loader.dataset, batch_sampler=dealt, collate_fn=loader.collate_fn)
        for epoch in range(2):
            whole = epoch_of(ds, epoch)
            want = whole[rank::world]
            if len(want[-1]) < 4:
                want[-1] = want[-1] + (whole[0] + whole[1])[: 4 - len(want[-1])]
            assert ys(other) == want
        assert loader.report()["elements"] >= len(want) - 2


def test_any_sampler_gets_what_it_asks_for() -> None:
    loader = arrays().batch(4).torch()
    for given, sampler in (
        (loader.dataset, RandomSampler(range(N), generator=torch.Generator().manual_seed(1))),
        (Subset(loader.dataset, [5, 3, 8, 20, 0]), SequentialSampler(range(5))),
    ):
        want = [int(given[i]["y"]) for i in sampler]
        if isinstance(sampler, RandomSampler):
            sampler.generator.manual_seed(1)
            want = list(sampler)
            sampler.generator.manual_seed(1)
        other = DataLoader(given, 4, sampler=sampler, collate_fn=loader.collate_fn)
        assert [y for step in ys(other) for y in step] == want
    shuffled = PLANS["batch"].torch()
    shuffled.set_epoch(3)
    other = DataLoader(shuffled.dataset, 5)
    for epoch in (3, 4, 5):  # counted by positions that come again
        whole = [y for step in epoch_of(PLANS["batch"], epoch) for y in step]
        assert [y for step in ys(other) for y in step] == whole
    batches = list(DataLoader(loader.dataset, 5))
    assert torch.equal(batches[0]["x"], torch.arange(10.0).reshape(5, 2))
    assert default_collate([loader.dataset[1], loader.dataset[2]])["y"].tolist() == [1, 2]


def test_a_sampler_of_ranks_becomes_a_shard() -> None:
    """As Lightning puts it into a loader."""
    for name in ("batch", "map after batch"):
        loader = PLANS[name].torch()
        for rank in range(2):
            sampler = DistributedSampler(loader.dataset, 2, rank, shuffle=True)
            other = type(loader)(
                loader.dataset, sampler=sampler, batch_size=4, batch_sampler=None, shuffle=False
            )
            below = arrays().shuffle(seed=1).shard(rank, 2).batch(4)
            assert ys(other) == epoch_of(below, 0) and isinstance(other.sampler, DistributedSampler)
            assert other.dataset is not loader.dataset and len(other.dataset) == 11
    sequential = type(loader)(loader.dataset, sampler=SequentialSampler(loader.dataset))
    assert type(sequential) is type(loader)
    foreign = type(loader)(loader.dataset, sampler=RandomSampler(loader.dataset))
    assert type(foreign) is DataLoader and sorted(y for step in ys(foreign) for y in step) == list(range(N))


def test_elements_without_batches_are_samples() -> None:
    ds = arrays().shuffle(seed=1)
    loader = ds.torch()
    assert loader.batch_size is None and loader.batch_sampler is None and len(loader.dataset) == N
    other = DataLoader(loader.dataset, batch_size=None, sampler=loader.sampler, collate_fn=loader.collate_fn)
    for epoch in range(2):
        assert [int(s["y"]) for s in other] == [int(s["y"]) for s in ds.at_epoch(epoch)]
    assert loader.report()["elements"] > 0


def test_random_draws_are_those_of_the_sample() -> None:
    ds = arrays().map(lambda s, rng: {"y": s["x"] + np.float32(rng.random())}, python=True)
    loader = ds.batch(4).torch()
    for epoch in range(2):
        whole = torch.cat([batch["y"] for batch in loader])
        assert torch.equal(torch.stack([loader.dataset[i]["y"] for i in range(N)]), whole)


def test_batches_that_are_not_alike_are_dealt_out_again() -> None:
    ds = arrays().batch(4).shuffle(seed=1)
    other = around(ds.torch())
    for epoch in range(2):
        got = ys(other)
        assert [y for step in got for y in step] == [y for step in epoch_of(ds, epoch) for y in step]
        assert [len(step) for step in got] == [4, 4, 4, 4, 4, 1]


def test_ragged_rows_stay_ragged() -> None:
    rows = [np.arange(n, dtype=np.float32) for n in (1, 0, 3, 2, 5)]
    loader = hr.from_list(rows).batch(2, ragged=True).torch()
    other = DataLoader(loader.dataset, 3, collate_fn=loader.collate_fn)
    (first, second) = other
    assert [row.tolist() for row in [*first, *second]] == [row.tolist() for row in rows]
    assert first.row_splits.tolist() == [0, 1, 1, 4] and first.values.tolist() == [0, 0, 1, 2]
    padded = hr.from_list(rows).padded_batch(2).torch()
    assert [batch.shape for batch in around(padded)] == [(2, 1), (2, 3), (1, 5)]
    with pytest.raises(ValueError, match="rows of several batches"):
        list(DataLoader(padded.dataset, 3, collate_fn=padded.collate_fn))


def test_fields_without_rows_are_refused_in_single_rows_only() -> None:
    ds = arrays().batch(4).map(lambda b: {"y": b.y, "one": ops.cast(b.y[0], dtype="f32")}, python=True)
    loader = ds.torch()
    assert ys(around(loader)) == epoch_of(ds, 0)
    with pytest.raises(ValueError, match="do not all have a row per sample"):
        loader.dataset[0]


def test_workers_are_refused_with_the_way_out() -> None:
    loader = arrays().batch(4).torch()
    for context in ("fork", "spawn"):
        other = DataLoader(loader.dataset, 4, num_workers=1, multiprocessing_context=context)
        with pytest.raises(TypeError, match=r"ds\.torch_dataset\(\)"):
            list(other)
    with pytest.raises(TypeError, match=r"ds\.torch_dataset"):
        pickle.dumps(loader.dataset)


def test_threads_of_a_loader_around_it_end_with_its_pass() -> None:
    loader = PLANS["batch"].torch()
    ys(around(loader))
    assert loader.dataset._turn is None


def test_a_loader_goes_when_it_is_deleted() -> None:
    for ds in (PLANS["batch"], PLANS["sharded"], STREAMS["filter"]):
        loader = ds.torch()
        next(iter(loader))
        sampler, gone = loader.sampler, weakref.ref(loader)
        del loader
        assert gone() is None
        sampler.set_epoch(1)


def test_a_jumping_sampler_does_not_restart_the_engine_each_time() -> None:
    loader = arrays(400).batch(4).torch()
    order = np.random.default_rng(1).permutation(100)
    batches = [list(range(4 * b, 4 * b + 4)) for b in order]
    other = DataLoader(loader.dataset, batch_sampler=batches, collate_fn=loader.collate_fn)
    assert ys(other) == batches
    assert loader.dataset._restarts > 3 and loader.dataset._turn is None


def test_states_have_the_same_keys_and_load_everywhere() -> None:
    for ds in (
        PLANS["batch"],
        STREAMS["filter"],
        arrays().shard(0, 2, steps=8).filter(lambda s: s.y != 3).batch(4),
    ):
        loader, keys = ds.torch(), set()
        states = [loader.state_dict()]
        for batch in loader:
            states.append(loader.state_dict())
        states.append(loader.state_dict())
        keys = {frozenset(state) for state in states}
        assert len(keys) == 1 and not any(
            isinstance(value, (dict, list)) for state in states for value in state.values()
        )
        whole = epoch_of(ds, 0)
        for given, state in enumerate(states[:-2]):
            other = ds.numpy()
            other.load_state_dict(state)
            assert ys(other) == whole[given:] or given == len(whole)
            torches = ds.torch()
            torches.load_state_dict(other.state_dict())
            assert torches.epoch == 1
    ranks = [arrays().shard(rank, 2, steps=8).filter(lambda s: s.y != 3).batch(2) for rank in range(2)]
    loaders = [ds.torch() for ds in ranks]
    for loader in loaders:
        loader.iteration = iter(loader)
        next(loader.iteration)
    merged = hr.merge_states([loader.state_dict() for loader in loaders])
    ranks[0].numpy().load_state_dict(merged)


@pytest.mark.parametrize("world", [1, 2, 3, 4])
@pytest.mark.parametrize("even", ["pad", "wrap", "drop"])
@pytest.mark.parametrize("drop_last", [False, True])
def test_what_accelerate_cuts_off_is_padding(world: int, even: str, drop_last: bool) -> None:
    """The last batches of all ranks, one after the other, up to that row, have each sample once."""
    known = 0
    for n in range(1, 30):
        ranks = [
            arrays(n).shard(rank, world, even=even).batch(3, drop_last=drop_last) for rank in range(world)
        ]
        steps = [epoch_of(ds, 0) for ds in ranks]
        if not steps[0]:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cut = real_rows(ranks[0]._node)
        last = [y for rank in steps for y in rank[-1]]
        before = [y for rank in steps for step in rank[:-1] for y in step]
        if cut == -1:
            assert world > 2 and len(set(before + last)) < len(before + last)
            continue
        known += 1
        got = before + (last[:cut] if cut else last)
        assert len(got) == len(set(got))
        assert len(got) == n or even == "drop" or drop_last
    assert known > 8
    with pytest.warns(RuntimeWarning, match="Leave shard\\(\\) out"):
        real_rows(arrays(13).shard(0, 4).batch(4)._node)


def test_a_world_without_a_shard_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("LOCAL_WORLD_SIZE", "2"), ("GROUP_RANK", "0")):
        monkeypatch.setenv(name, value)
    for make in (lambda ds: ds.torch(), lambda ds: ds.numpy()):
        loader = make(arrays().batch(4)).at_its_first_epoch()
        with pytest.warns(
            RuntimeWarning, match=r"rank 1 of 2 \(by torchrun\), and nothing in the plan shards"
        ):
            list(loader)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            list(loader)
            for sharded in (arrays().shard(), arrays().shard(0, 1), arrays().shard(fixed=True)):
                list(make(sharded.batch(4)))
            list(arrays().batch(4))


def test_without_a_loader_pytorch_is_not_imported() -> None:
    code = "import sys, headrace as hr; list(hr.range(4).numpy()); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
