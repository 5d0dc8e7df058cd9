"""The scripts of examples/trainers run, and say that a resume was exact."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .common import ROOT

FOLDER = ROOT / "examples" / "trainers"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


@pytest.mark.parametrize(
    ("script", "launcher", "said"),
    [
        ("lightning_fit.py", [], "the same 30 batches: True"),
        ("hf_trainer.py", [], "the same weights at the end: True"),
        ("accelerate_prepare.py", TORCHRUN, "of 203 right"),
        ("ddp.py", TORCHRUN, "resumed at step 13: True"),
    ],
)
def test_an_example_runs(script: str, launcher: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, *launcher, str(FOLDER / script)],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout
