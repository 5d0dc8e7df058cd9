"""Memory stays within the budget, whatever the images are, and does not grow from epoch to epoch.

The quick forms run with the other tests; HEADRACE_NIGHTLY=1 (`make nightly`) runs the full ones.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

import pytest
from PIL import Image

import headrace as hr
from headrace import ops

from .mixed_images import smooth, write_large, write_small

pytestmark = pytest.mark.alone

FULL = os.environ.get("HEADRACE_NIGHTLY") == "1"
MB = 1_000_000
SLACK = 150 * MB  # beside 1.1 × budget: what is not per sample


def used_bytes(process: int) -> int:
    """Anonymous and shared memory that is resident."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    values = {
        name: text.split()[0] for name, _, text in (line.partition(":") for line in lines) if text.split()
    }
    return 1024 * (int(values["RssAnon"]) + int(values["RssShmem"]))


class Run:
    """A fresh process that runs epochs, and a thread that looks at its memory every millisecond."""

    def __init__(self, folder: Path, budget: int, workers: int):
        script = Path(__file__).with_name("resnet_epochs.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(folder), str(budget), str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.said() == "ready"
        self.imported = used_bytes(self.process.pid)
        self.peak = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def epoch(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.said()

    def grown(self) -> int:
        return used_bytes(self.process.pid) - self.imported

    def _watch(self) -> None:
        while self.process.poll() is None:
            try:
                self.peak = max(self.peak, self.grown())
            except (OSError, KeyError, ValueError):  # it has ended
                return
            time.sleep(0.001)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    write_small(folder / "small", 60)
    write_large(folder / "large", full=FULL)
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    write_small(folder / "small", 60)
    return folder


@pytest.mark.parametrize("workers", [1, 2, 8] if FULL else [8])
@pytest.mark.parametrize("budget", [300 * MB, 600 * MB] if FULL else [300 * MB])
def test_mixed_images_stay_within_the_budget(mixed: Path, budget: int, workers: int):
    with Run(mixed, budget, workers) as run:
        for _ in range(4 if FULL else 1):
            assert run.epoch() == "epoch"
        assert run.peak > budget // 4, "this set must press against the budget, or the test shows nothing"
        assert run.peak <= 1.1 * budget + SLACK, f"grew by {run.peak / MB:.0f} MB"


@pytest.mark.alone(ci=True)
def test_memory_does_not_grow_over_50_epochs(small: Path):
    noise = 4 * MB  # the interpreter's own; blocks that two threads ask for at once
    epochs, settled = (50, 10) if FULL else (16, 6)
    with Run(small, 100 * MB, 2) as run:
        after = []
        for _ in range(epochs):
            assert run.epoch() == "epoch"
            after.append(run.grown())
        assert max(after[settled:]) <= max(after[:settled]) + noise, [f"{n / MB:.1f}" for n in after]


@pytest.mark.parametrize(
    ("name", "budget", "wanted"),
    [
        ("pixels_of_60_mb.png", 40 * MB, "needs 59996352 bytes"),
        ("pixels_of_60_mb_progressive.jpg", 80 * MB, "bytes for coefficients of a progressive JPEG"),
        ("file_of_60_mb.png", 50 * MB, "sample: needs 600"),
    ],
)
def test_a_sample_over_the_budget_is_a_clear_error(
    mixed: Path, tmp_path: Path, name: str, budget: int, wanted: str
):
    (tmp_path / name).symlink_to(mixed / "large" / name)
    with Run(tmp_path, budget, 2) as run:
        said = run.epoch()
        assert said.startswith("MemoryError: ")
        assert wanted in said
        assert f"the memory budget is {budget}" in said
        assert name in said
        assert run.peak <= 1.1 * budget + SLACK


@pytest.mark.parametrize(
    ("name", "options", "wanted"),
    [
        ("lossless.webp", {"lossless": True, "method": 0}, "5128000 bytes for a WebP decoder"),
        ("tiles.tif", {"compression": "tiff_lzw"}, None),  # rows, which are ours
        ("one_tile.jp2", {}, "for a JPEG 2000 decoder"),
        ("plain.avif", {"speed": 10}, "for an AVIF decoder"),
    ],
)
def test_what_a_library_takes_is_within_the_budget(
    tmp_path: Path, name: str, options: dict[str, object], wanted: str | None
):
    """A budget with room for the pixels of an image of one megapixel, and not for what libraries take beside them."""
    Image.fromarray(smooth(1000, 1000, 1)).save(tmp_path / name, **options)

    def pixels(sample):
        return ops.decode_image(sample.image)

    def decoded(budget: int) -> int:
        return next(iter(hr.read(tmp_path).map(pixels).options(memory_budget=budget, workers=1).numpy())).size

    assert decoded(60 * MB) == 3_000_000
    if wanted is None:
        assert decoded(7 * MB) == 3_000_000
        return
    with pytest.raises(MemoryError, match=wanted):
        decoded(7 * MB)
