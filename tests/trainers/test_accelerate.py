"""accelerate's prepare() in one and two processes, its skip_first_batches() and its checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator, skip_first_batches
from accelerate.state import AcceleratorState, GradientState, PartialState
from accelerate.utils import DataLoaderConfiguration

from .common import ROWS, SAMPLES, epoch_of, ids, on_ranks, ours, plan, theirs


@pytest.fixture
def accelerator() -> Any:
    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()
    return Accelerator(cpu=True)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return on_ranks("ranks_of_accelerate.py", tmp_path_factory.mktemp("ranks"))


def test_one_process(accelerator: Accelerator) -> None:
    mine, other = accelerator.prepare(ours(), theirs())
    assert len(mine) == len(other) and len(mine.dataset) == len(other.dataset)
    assert mine.total_batch_size == other.total_batch_size
    for epoch in range(3):
        ends = []
        got = []
        for batch in mine:
            got.append(ids(batch))
            ends.append(accelerator.gradient_state.end_of_dataloader)
        assert got == epoch_of(plan().batch(ROWS), epoch)
        assert ends == [False] * (len(got) - 1) + [True]
    assert mine.dataset.report()["elements"] == len(mine)  # of the last epoch's loader, made in advance


@pytest.mark.parametrize("samples", [SAMPLES, 16, 17, 3])
@pytest.mark.parametrize("shuffled", [True, False])
def test_two_processes_divide_batches_as_pytorchs(ranks: list[Any], samples: int, shuffled: bool) -> None:
    name = f"{samples} {shuffled}"
    for epoch in range(2):
        mine, other = ([rank[f"{who} {name}"][epoch] for rank in ranks] for who in ("ours", "theirs"))
        for got, want in zip(mine, other, strict=True):
            assert [len(step) for step in got["steps"]] == [len(step) for step in want["steps"]]
            assert got["ends"] == want["ends"]
            assert shuffled or got == want
        gathered = [i for step in mine[0]["gathered"] for i in step]
        whole = [i for step in epoch_of(plan(samples, shuffled=shuffled).batch(ROWS), epoch) for i in step]
        assert sorted(gathered) == list(range(samples))
        assert gathered == whole
    assert (
        all(rank[f"made {name}"] > 0 for rank in ranks) or samples < ROWS
    )  # one batch, which accelerate fills up


@pytest.mark.parametrize("samples", [SAMPLES, 16, 17, 3])
@pytest.mark.parametrize("even", ["pad", "wrap", "drop"])
def test_a_plan_that_shards_is_left_alone(ranks: list[Any], samples: int, even: str) -> None:
    for epoch in range(2):
        for rank, result in enumerate(ranks):
            want = epoch_of(plan(samples).shard(rank, 2, even=even).batch(ROWS), epoch)
            assert result[f"{even} {samples}"][epoch]["steps"] == want
            assert result[f"{even} {samples}"][epoch]["ends"] == [False] * (len(want) - 1) + [True] * bool(
                want
            )
        gathered = [i for step in ranks[0][f"{even} {samples}"][epoch]["gathered"] for i in step]
        assert len(gathered) == len(set(gathered)) == (samples // 2 * 2 if even == "drop" else samples)


@pytest.mark.parametrize("how", ["split", "dispatch"])
def test_other_ways_to_divide(ranks: list[Any], how: str) -> None:
    for epoch in range(2):
        gathered = [i for step in ranks[0][how][epoch]["gathered"] for i in step]
        assert sorted(gathered) == list(range(SAMPLES))


def test_a_world_without_a_shard_is_warned_of(ranks: list[Any]) -> None:
    for rank, result in enumerate(ranks):
        (said,) = [text for text in result["warned"] if "nothing in the plan shards" in text]
        assert f"rank {rank} of 2" in said


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("skipped", [0, 1, 5])
def test_first_batches_are_skipped(accelerator: Accelerator, prepared: bool, skipped: int) -> None:
    loader = ours()
    loader.set_epoch(2)
    if prepared:
        loader = accelerator.prepare(loader)
        loader.set_epoch(2)
    rest = skip_first_batches(loader, skipped)
    assert [ids(batch) for batch in rest] == epoch_of(plan().batch(ROWS), 2)[skipped:]
    assert loader.dataset.report()["elements"] == 6 - skipped


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("given", [0, 2, 6])
def test_a_checkpoint_holds_the_position(
    accelerator: Accelerator, tmp_path: Path, sharded: bool, given: int
) -> None:
    def made() -> tuple[Accelerator, Any]:
        config = DataLoaderConfiguration(use_stateful_dataloader=True)
        accelerator = Accelerator(cpu=True, dataloader_config=config)
        ds = plan().shard(0, 1) if sharded else plan()
        return accelerator, accelerator.prepare(ds.batch(ROWS).torch())

    first, loader = made()
    whole = []
    for epoch in range(2):
        for step, batch in enumerate(loader):
            if epoch == 1 and step == given:
                first.save_state(tmp_path / "state")
            whole.append(ids(batch))
    if given == 6:
        first.save_state(tmp_path / "state")
    second, other = made()
    second.load_state(tmp_path / "state")
    got = [ids(batch) for batch in other]
    assert got == (whole[6 + given + 1 :] if given < 5 else epoch_of(plan().batch(ROWS), 2))


def test_batches_go_to_the_device(accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    meta = torch.device("meta")
    monkeypatch.setitem(PartialState._shared_state, "device", meta)
    monkeypatch.setitem(AcceleratorState._shared_state, "device", meta)
    for loader in (ours(), plan().shard(0, 1).batch(ROWS).torch()):
        assert {batch["x"].device for batch in accelerator.prepare(loader)} == {meta}


def test_gradients_are_accumulated_to_the_end(accelerator: Accelerator) -> None:
    accelerator.gradient_accumulation_steps = 4
    for loader in (ours(), plan().shard(0, 1).batch(ROWS).torch(), theirs()):
        model = torch.nn.Linear(2, 1)
        model, prepared = accelerator.prepare(model, loader)
        synced = []
        for _ in prepared:
            with accelerator.accumulate(model):
                synced.append(accelerator.sync_gradients)
        assert synced == [False] * 3 + [True, False, True]


def test_a_loader_without_random_access(accelerator: Accelerator) -> None:
    def big(s: Any) -> Any:
        return s.labels >= 5

    loader = plan().filter(big).batch(ROWS).torch()
    prepared = accelerator.prepare(loader)
    for epoch in range(2):
        want = epoch_of(plan().filter(big).batch(ROWS), epoch)
        assert [ids(batch) for batch in prepared] == want
        assert [ids(batch) for batch in skip_first_batches(loader, 2)]
        loader.set_epoch(epoch + 1)
