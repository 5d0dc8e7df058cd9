"""The same data for a loader of ours and for PyTorch's, and a model that notes what it gets."""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import headrace as hr

LIMIT = 600  # seconds that a script of several ranks may take
if "RANK" in os.environ:  # a rank that waits for another says where, before the launcher is killed
    faulthandler.dump_traceback_later(LIMIT - 60, exit=True)
ROOT = Path(__file__).parents[2]
SAMPLES = 21
ROWS = 4


def columns(samples: int = SAMPLES) -> dict[str, np.ndarray]:
    numbers = np.arange(samples)
    return {"x": np.stack([numbers, numbers % 3], axis=1).astype(np.float32), "labels": numbers}


def plan(samples: int = SAMPLES, *, shuffled: bool = True) -> hr.Dataset:
    ds = hr.from_arrays(columns(samples))
    return ds.shuffle(seed=5) if shuffled else ds


def ours(samples: int = SAMPLES, rows: int = ROWS, *, shuffled: bool = True) -> Any:
    return plan(samples, shuffled=shuffled).batch(rows).torch()


class Plain(Dataset):
    """The data as PyTorch's users have it."""

    def __init__(self, samples: int = SAMPLES):
        self.columns = {name: torch.from_numpy(column) for name, column in columns(samples).items()}

    def __len__(self) -> int:
        return len(self.columns["x"])

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        return {name: column[i] for name, column in self.columns.items()}


def theirs(samples: int = SAMPLES, rows: int = ROWS, *, shuffled: bool = True, **options: Any) -> DataLoader:
    return DataLoader(Plain(samples), batch_size=rows, shuffle=shuffled, **options)


def ids(batch: Any) -> list[int]:
    return batch["labels"].tolist()


def epoch_of(ds: hr.Dataset, epoch: int) -> list[list[int]]:
    loader = ds.numpy()
    loader.set_epoch(epoch)
    return [batch["labels"].tolist() for batch in loader]


def shape_of(steps: list[list[int]]) -> list[int]:
    """The sizes of steps: equal for a loader of ours and one of PyTorch's, whose order is another."""
    return [len(step) for step in steps]


def on_ranks(script: str, folder: Path, *arguments: str, world: int = 2) -> list[Any]:
    """Run a script of this folder under torchrun, and return what each rank has written."""
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nnodes=1", f"--nproc-per-node={world}",
        str(Path(__file__).parent / script), str(folder), *arguments,
    ]  # fmt: skip
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_CPU": "true",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(world)]


def write_result(folder: str, result: Any) -> None:
    rank = int(os.environ["RANK"])
    (Path(folder) / f"rank{rank}.json").write_text(json.dumps(result))
