"""Lightning's Trainer with a loader of ours as with PyTorch's, and a resume in mid-epoch, which only ours has."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from .common import ROWS, SAMPLES, epoch_of, ids, on_ranks, ours, plan, shape_of, theirs

STEPS = -(-SAMPLES // ROWS)


class Noting(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.trained: list[tuple[int, list[int]]] = []
        self.validated: list[tuple[int, list[int]]] = []
        self.predicted: list[list[int]] = []

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        self.trained.append((self.current_epoch, ids(batch)))
        return self.layer(batch["x"]).square().mean()

    def validation_step(self, batch: Any, _: int) -> None:
        if not self.trainer.sanity_checking:
            self.validated.append((self.current_epoch, ids(batch)))
        self.log("loss", self.layer(batch["x"]).mean(), batch_size=len(batch["x"]))

    test_step = validation_step

    def predict_step(self, batch: Any, _: int) -> torch.Tensor:
        self.predicted.append(ids(batch))
        return self.layer(batch["x"])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=1e-4)


def trainer(folder: Path, **options: Any) -> L.Trainer:
    options = {"max_epochs": 3, "enable_checkpointing": False, **options}
    return L.Trainer(
        accelerator="cpu", devices=1, default_root_dir=folder, logger=False, enable_progress_bar=False,
        enable_model_summary=False, **options,
    )  # fmt: skip


def fitted(folder: Path, train: Any, val: Any, **options: Any) -> Noting:
    module = Noting()
    trainer(folder, **options).fit(module, train, val)
    return module


@pytest.mark.parametrize(
    "options", [{}, {"limit_train_batches": 2}, {"overfit_batches": 2}, {"max_steps": 8}], ids=str
)
def test_fit_and_validate_as_with_pytorchs(tmp_path: Path, options: dict[str, Any]) -> None:
    want = fitted(tmp_path, theirs(), theirs(shuffled=False), **options)
    got = fitted(tmp_path, ours(), ours(shuffled=False), **options)
    for mine, other in ((got.trained, want.trained), (got.validated, want.validated)):
        assert [epoch for epoch, _ in mine] == [epoch for epoch, _ in other]
        assert shape_of([step for _, step in mine]) == shape_of([step for _, step in other])
    assert got.validated == want.validated or "overfit_batches" in options
    if not options:
        for epoch in range(3):
            assert [step for e, step in got.trained if e == epoch] == epoch_of(plan().batch(ROWS), epoch)


def test_loaders_of_hooks_and_data_modules(tmp_path: Path) -> None:
    class Data(L.LightningDataModule):
        def train_dataloader(self) -> Any:
            return ours()

        def val_dataloader(self) -> Any:
            return [ours(shuffled=False), ours(8, shuffled=False)]

    class Module(Noting):
        def validation_step(self, batch: Any, number: int, dataloader_idx: int = 0) -> None:
            super().validation_step(batch, number)

    module = Module()
    trainer(tmp_path, max_epochs=2).fit(module, datamodule=Data())
    assert [step for _, step in module.trained] == epoch_of(plan().batch(ROWS), 0) + epoch_of(
        plan().batch(ROWS), 1
    )
    assert len(module.validated) == 2 * (STEPS + 2)


def test_test_and_predict(tmp_path: Path) -> None:
    module = Noting()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Lightning couldn't infer the indices")
        trainer(tmp_path).test(module, ours(shuffled=False), verbose=False)
        predictions = trainer(tmp_path).predict(module, ours(shuffled=False))
    assert (
        [step for _, step in module.validated]
        == module.predicted
        == epoch_of(plan(shuffled=False).batch(ROWS), 0)
    )
    assert sum(len(part) for part in predictions) == SAMPLES


@pytest.mark.parametrize("step", [1, STEPS - 1, STEPS, STEPS + 2, 2 * STEPS])
def test_resume_in_mid_epoch_is_exact(tmp_path: Path, step: int) -> None:
    keeps = ModelCheckpoint(tmp_path, "{step}", every_n_train_steps=1, save_top_k=-1)
    first = Noting()
    trainer(tmp_path, enable_checkpointing=True, callbacks=[keeps]).fit(first, ours(), ours(shuffled=False))
    resumed = Noting()
    trainer(tmp_path).fit(resumed, ours(), ours(shuffled=False), ckpt_path=tmp_path / f"step={step}.ckpt")
    assert resumed.trained == first.trained[step:]
    assert first.trained[step:][0][0] == step // STEPS


def test_with_pytorchs_loader_a_resume_is_not_exact(tmp_path: Path) -> None:
    keeps = ModelCheckpoint(tmp_path, "{step}", every_n_train_steps=1, save_top_k=-1)
    first, resumed = Noting(), Noting()
    trainer(tmp_path, enable_checkpointing=True, callbacks=[keeps]).fit(first, theirs())
    trainer(tmp_path).fit(resumed, theirs(), ckpt_path=tmp_path / "step=2.ckpt")
    rest = [ids for epoch, ids in resumed.trained if epoch == 0]
    assert rest != [ids for epoch, ids in first.trained[2:] if epoch == 0]


def test_fabric(tmp_path: Path) -> None:
    fabric = L.Fabric(accelerator="cpu", devices=1)
    loader = fabric.setup_dataloaders(ours())
    for epoch in range(2):
        assert [ids(batch) for batch in loader] == epoch_of(plan().batch(ROWS), epoch)


def test_two_processes(tmp_path: Path) -> None:
    """Lightning puts a DistributedSampler into our loader, and leaves that of a plan that shards."""
    ranks = on_ranks("ranks_of_lightning.py", tmp_path)
    for rank, result in enumerate(ranks):
        assert result["ours False"][1] == result["theirs False"][1]
        for mine, other in zip(result["ours True"], result["theirs True"], strict=True):
            assert [epoch for epoch, _ in mine] == [epoch for epoch, _ in other]
            assert shape_of([step for _, step in mine]) == shape_of([step for _, step in other])
        want = [[e, step] for e in range(2) for step in epoch_of(plan().shard(rank, 2).batch(ROWS), e)]
        plain = epoch_of(plan(shuffled=False).shard(rank, 2).batch(ROWS), 0)
        assert [step for _, step in result["ours False"][0]] == 2 * plain  # theirs is shuffled by Lightning
        assert result["ours True"][0] == result["sharded"] == want
        assert result["resumed"] == want[4:]
