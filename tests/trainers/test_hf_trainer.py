"""Hugging Face's Trainer with a loader of ours, with a map-style dataset of ours, and with PyTorch's."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

import headrace as hr

from .common import ROWS, SAMPLES, Plain, epoch_of, on_ranks, ours, plan

STEPS = -(-SAMPLES // ROWS)


class Noting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.steps: list[list[int]] = []
        self.pixels: list[float] = []

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        if self.training:
            self.steps.append(labels.tolist())
            self.pixels += x[:, 0].tolist()
        out = self.layer(x)[:, 0]
        return {"loss": (out - labels).square().mean(), "logits": out}


class OurLoaders(Trainer):
    def get_train_dataloader(self) -> Any:
        return ours()

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        return ours(shuffled=False)


class Prepared(Trainer):
    """As the Trainer makes its own loaders; in several processes, each then gets its part."""

    def get_train_dataloader(self) -> Any:
        return self.accelerator.prepare(ours())

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        return self.accelerator.prepare(ours(shuffled=False))


KINDS = [OurLoaders, Prepared]


def arguments(folder: Path, **options: Any) -> TrainingArguments:
    options = {"num_train_epochs": 3, "save_strategy": "no", **options}
    return TrainingArguments(
        folder, use_cpu=True, per_device_train_batch_size=ROWS, per_device_eval_batch_size=ROWS, report_to=[],
        disable_tqdm=True, learning_rate=1e-4, seed=1, **options,
    )  # fmt: skip


def trained(
    kind: type[Trainer], folder: Path, data: Any = None, resume: Any = None, **options: Any
) -> tuple[Noting, Any]:
    model = Noting()
    trainer = kind(model, arguments(folder, **options), train_dataset=data, eval_dataset=data)
    result = trainer.train(resume_from_checkpoint=resume)
    return model, (trainer, result)


@pytest.mark.parametrize("kind", KINDS)
def test_training_takes_the_same_steps(tmp_path: Path, kind: type[Trainer]) -> None:
    want, (their_trainer, theirs) = trained(Trainer, tmp_path, Plain())
    got, (trainer, mine) = trained(kind, tmp_path)
    assert [len(step) for step in got.steps] == [len(step) for step in want.steps]
    assert mine.global_step == theirs.global_step == 3 * STEPS
    assert trainer.num_examples(ours()) == SAMPLES
    assert trainer.state.epoch == their_trainer.state.epoch
    assert got.steps == [step for epoch in range(3) for step in epoch_of(plan().batch(ROWS), epoch)]


def test_evaluation_is_the_same(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Noting()
    want = Trainer(model, arguments(tmp_path), eval_dataset=Plain()).evaluate()
    got = Prepared(model, arguments(tmp_path)).evaluate()
    assert got["eval_loss"] == pytest.approx(want["eval_loss"])
    rate = got["eval_samples_per_second"] * got["eval_runtime"]
    assert rate == pytest.approx(SAMPLES, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [2, STEPS, STEPS + 3])
def test_resume_from_a_checkpoint_is_exact(tmp_path: Path, step: int, kind: type[Trainer]) -> None:
    kept = {"save_strategy": "steps", "save_steps": step, "save_total_limit": None}
    whole, _ = trained(kind, tmp_path, **kept)
    resumed, _ = trained(kind, tmp_path, resume=str(tmp_path / f"checkpoint-{step}"), **kept)
    assert resumed.steps == whole.steps[step:]


def drawn() -> hr.Dataset:
    """A plan whose samples differ from epoch to epoch."""

    def moved(s: Any, rng: np.random.Generator) -> Any:
        return {"x": s["x"] + np.float32(rng.random()), "labels": s["labels"]}

    return plan(shuffled=False).map(moved, python=True)


def moved_by(model: Noting) -> list[dict[int, float]]:
    """By how much each sample was moved, in each epoch."""
    numbers = [i for step in model.steps for i in step]
    epochs = [range(at, at + SAMPLES) for at in range(0, len(numbers), SAMPLES)]
    return [{numbers[i]: round(model.pixels[i] - numbers[i], 5) for i in epoch} for epoch in epochs]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_map_style_dataset_is_drawn_anew_each_epoch(tmp_path: Path, workers: int) -> None:
    model, _ = trained(Trainer, tmp_path, drawn().torch_dataset(), dataloader_num_workers=workers)
    got = moved_by(model)
    assert len(got) == 3
    for epoch, moved in enumerate(got):
        want = {int(s["labels"]): round(float(s["x"][0] - s["labels"]), 5) for s in drawn().at_epoch(epoch)}
        assert {i: pytest.approx(by, abs=1e-4) for i, by in moved.items()} == want


def test_a_dataset_itself_is_warned_of(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match=r"epoch 0 in every epoch.*torch_dataset\(\)"):
        model, _ = trained(Trainer, tmp_path, drawn())
    first, second, _ = moved_by(model)
    assert first == second
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        trained(Trainer, tmp_path, plan(shuffled=False))


class SetsEpoch(TrainerCallback):
    """After a resume in mid-epoch, accelerate names the epoch to the sampler only."""

    def __init__(self, data: Any):
        self.data = data

    def on_epoch_begin(self, _: Any, state: Any, control: Any, **__: Any) -> None:
        self.data.set_epoch(int(state.epoch))


def test_a_map_style_dataset_resumes(tmp_path: Path) -> None:
    kept, step = {"save_strategy": "steps", "save_steps": STEPS + 2}, STEPS + 2
    whole, _ = trained(Trainer, tmp_path, drawn().torch_dataset(), **kept)
    model, data = Noting(), drawn().torch_dataset()
    trainer = Trainer(model, arguments(tmp_path, **kept), train_dataset=data, callbacks=[SetsEpoch(data)])
    trainer.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{step}"))
    assert model.steps == whole.steps[step:]
    assert model.pixels == pytest.approx(whole.pixels[SAMPLES + 2 * ROWS :])


def test_two_processes(tmp_path: Path) -> None:
    ranks = on_ranks("ranks_of_hf.py", tmp_path)
    half = len(ranks[0]["theirs"]) // 2
    for rank, result in enumerate(ranks):
        for name in ("ours", "map"):
            assert [len(step) for step in result[name]] == [len(step) for step in result["theirs"]]
        assert result["ours loss"] == pytest.approx(result["theirs loss"])
        want = [step for e in range(2) for step in epoch_of(plan().shard(rank, 2).batch(ROWS), e)]
        assert result["sharded"] == want
        assert len(result["map warned"]) <= 1
    for epoch in (slice(0, half), slice(half, None)):
        seen = {i for result in ranks for step in result["ours"][epoch] for i in step}
        assert seen == set(range(SAMPLES))
