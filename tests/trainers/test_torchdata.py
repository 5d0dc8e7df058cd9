"""torchdata's StatefulDataLoader and nodes, and ignite's Engine."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from ignite.engine import Engine, Events, create_supervised_evaluator
from ignite.metrics import Loss
from torchdata.nodes import IterableWrapper, Loader, Mapper
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.stateful import Stateful

from .common import ROWS, SAMPLES, epoch_of, ids, ours, plan, theirs

STEPS = -(-SAMPLES // ROWS)


def around(loader: Any) -> StatefulDataLoader:
    return StatefulDataLoader(
        loader.dataset, batch_sampler=loader.batch_sampler, collate_fn=loader.collate_fn
    )


@pytest.mark.parametrize("given", [0, 1, 4, STEPS])
def test_a_stateful_loader_around_ours(given: int) -> None:
    loader = around(ours())
    assert isinstance(ours(), Stateful)
    for epoch in range(2):
        steps = []
        for batch in loader:
            steps.append(ids(batch))
            if epoch == 1 and len(steps) == given:
                state = loader.state_dict()
        assert steps == epoch_of(plan().batch(ROWS), epoch)
        if epoch == 0 and given == 0:
            state = loader.state_dict()
    resumed = around(ours())
    resumed.load_state_dict(state)
    rest = [ids(batch) for batch in resumed]
    assert rest == (epoch_of(plan().batch(ROWS), 1)[given:])
    assert [ids(batch) for batch in resumed] == epoch_of(plan().batch(ROWS), 2)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("given", [2, 4])
def test_a_stateful_loader_of_a_map_style_dataset(workers: int, given: int) -> None:
    def made() -> StatefulDataLoader:
        return StatefulDataLoader(plan().torch_dataset(), batch_size=ROWS, num_workers=workers)

    loader, steps = made(), []
    for batch in loader:
        steps.append(ids(batch))
        if len(steps) == given:
            state = loader.state_dict()
    assert steps == epoch_of(plan().batch(ROWS), 0)
    resumed = made()
    resumed.load_state_dict(state)
    assert [ids(batch) for batch in resumed] == steps[given:]


@pytest.mark.parametrize("given", [1, STEPS - 1])
def test_nodes(given: int) -> None:
    def made() -> Loader:
        return Loader(Mapper(IterableWrapper(ours()), ids))

    loader, steps = made(), []
    for step in loader:
        steps.append(step)
        if len(steps) == given:
            state = loader.state_dict()
    assert steps == epoch_of(plan().batch(ROWS), 0)
    assert list(loader) == epoch_of(plan().batch(ROWS), 1)
    resumed = made()
    resumed.load_state_dict(state)
    assert list(resumed) == steps[given:]


@pytest.mark.parametrize("length", [None, 4, STEPS + 2])
def test_ignite_takes_the_same_steps(length: int | None) -> None:
    counts = []
    for loader in (ours(), theirs()):
        steps: list[list[int]] = []
        ends: list[int] = []
        engine = Engine(lambda _, batch, steps=steps: steps.append(ids(batch)))
        engine.add_event_handler(Events.EPOCH_COMPLETED, lambda e, ends=ends: ends.append(e.state.iteration))
        engine.run(loader, max_epochs=3, epoch_length=length)
        counts.append(([len(step) for step in steps], ends))
        if loader.__class__.__name__ == "TorchLoader" and length is None:
            assert steps == [step for epoch in range(3) for step in epoch_of(plan().batch(ROWS), epoch)]
    assert counts[0] == counts[1]


def test_ignite_evaluates_the_same() -> None:
    model = torch.nn.Linear(2, 1)

    def prepared(batch: Any, *_: Any, **__: Any) -> Any:
        return batch["x"], batch["labels"].float()[:, None]

    losses = []
    for make in (ours, theirs):
        evaluator = create_supervised_evaluator(
            model, {"loss": Loss(torch.nn.functional.mse_loss)}, prepare_batch=prepared
        )
        losses.append(evaluator.run(make(shuffled=False)).metrics["loss"])
    assert losses[0] == losses[1]
