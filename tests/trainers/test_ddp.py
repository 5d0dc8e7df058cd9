"""PyTorch's own training loops: DDP under torchrun, torch.distributed.checkpoint, torch.compile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.stateful import Stateful

from .common import ROWS, epoch_of, ids, on_ranks, ours, plan, shape_of, theirs


def test_two_processes(tmp_path: Path) -> None:
    for rank, result in enumerate(on_ranks("ranks_of_ddp.py", tmp_path)):
        assert result["ours False"] == result["theirs False"]
        assert shape_of(result["ours True"]) == shape_of(result["theirs True"])
        want = [step for e in range(2) for step in epoch_of(plan().shard(rank, 2).batch(ROWS), e)]
        assert result["ours True"] == result["late"] == want
        for given in (2, 3, 4, 6):
            epoch, rest = result[f"resumed {given}"]
            assert rest == want[given:] and epoch == given // 3


def _streamed() -> Any:
    return plan().shard(0, 1, steps=18).filter(lambda s: s.labels >= 5).batch(ROWS)


@pytest.mark.parametrize("made", [lambda: plan().batch(ROWS), _streamed], ids=["indexed", "stream"])
@pytest.mark.parametrize("given", [0, 1, 3, 5, 6])
def test_torchs_checkpoints_hold_a_loader(tmp_path: Path, made: Any, given: int) -> None:
    loader = made().torch()
    assert isinstance(loader, Stateful)
    steps = []
    for batch in loader:
        steps.append(ids(batch))
        if len(steps) == given:
            break
    if given == 0:
        loader = made().torch()
    dcp.save({"loader": loader}, checkpoint_id=tmp_path)
    other = made().torch()
    dcp.load({"loader": other}, checkpoint_id=tmp_path)
    numpy = made().numpy()
    numpy.load_state_dict(loader.state_dict())
    rest = [ids(batch) for batch in numpy]
    assert [ids(batch) for batch in other] == rest
    whole = epoch_of(made(), 0)
    assert rest == whole[given:] or given >= len(whole)


def test_a_compiled_step() -> None:
    model = torch.nn.Linear(2, 1)

    @torch.compile(backend="aot_eager")
    def step(x: torch.Tensor) -> torch.Tensor:
        return model(x).square().mean()

    losses = [[float(step(batch["x"])) for batch in make(shuffled=False)] for make in (ours, theirs)]
    assert losses[0] == losses[1]
