"""Show Headrace at work on the data that make_demo_data.py wrote: what `make demo` runs.

python tools/demo.py [demo-data]

Inspects the data, draws a contact sheet, runs one epoch of the training pipeline of ResNet-50 with its report, and takes ten
steps of training with a model small enough for NumPy. The loss must fall.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import headrace as hr
from headrace import ops

NUM_STEPS, BATCH, NUM_CLASSES = 10, 128, 10
GRID = 8  # the model sees the mean colour of GRID x GRID fields
LEARNING_RATE = 0.05


def augment(sample: Any) -> dict[str, Any]:
    """Prepare an image as the training of ResNet-50 does; traced once into native operators."""
    image = ops.random_resized_crop(ops.decode_image(sample.image), size=224)
    image = ops.normalize(ops.random_flip(image), mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW")
    return {"image": image, "label": sample.label}


def training_pipeline(data: Path) -> hr.Dataset:
    """Chain the verbs: read, shuffle, augment, batch."""
    return hr.read(data / "train").shuffle(seed=17).map(augment).batch(BATCH)


def say(title: str) -> None:
    """Print a heading, at once even into a pipe."""
    print(f"\n== {title}", flush=True)


def command_line(*arguments: str) -> None:
    """Run the `headrace` that belongs to this Python."""
    executable = Path(sys.executable).with_name("headrace")
    print(f"$ headrace {' '.join(arguments)}", flush=True)
    subprocess.run([executable, *arguments], check=True)


def show_progress(done: int, total: int) -> None:
    """Write a bar over the line before, on a terminal."""
    if sys.stderr.isatty():
        filled = 40 * done // total
        end = "\r\033[K" if done == total else ""
        print(
            f"\r|{'█' * filled}{' ' * (40 - filled)}| {done} of {total} batches{end}", end="", file=sys.stderr
        )


def run_epoch(data: Path) -> None:
    """Load every sample once and throw it away: the speed of loading alone."""
    loader = training_pipeline(data).numpy()
    for done, _ in enumerate(loader, start=1):
        show_progress(done, len(loader))
    print(loader.report())


def features(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Average the colours of GRID x GRID fields of each image, and add a constant."""
    rows, channels, height, width = images.shape
    fields = images.reshape(rows, channels, GRID, height // GRID, GRID, width // GRID).mean(axis=(3, 5))
    return np.hstack([fields.reshape(rows, -1), np.ones((rows, 1), np.float32)])


def train_step(weights: NDArray[np.float32], images: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    """Take one step of softmax regression in place; return the loss before it."""
    x = features(images)
    scores = x @ weights
    scores -= scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    p /= p.sum(axis=1, keepdims=True)
    each = np.arange(len(labels))
    loss = -np.log(p[each, labels]).mean()
    p[each, labels] -= 1
    weights -= LEARNING_RATE * (x.T @ p) / len(labels)
    return float(loss)


def train(data: Path) -> None:
    """Take NUM_STEPS steps and see that the loss falls."""
    weights = np.zeros((3 * GRID * GRID + 1, NUM_CLASSES), np.float32)
    loader = training_pipeline(data).take(NUM_STEPS).numpy()
    losses = [train_step(weights, batch["image"], batch["label"]) for batch in loader]
    print("loss " + " ".join(f"{loss:.3f}" for loss in losses))
    if not losses[-1] < losses[0]:
        sys.exit("demo: the loss did not fall")


def main() -> None:
    """Run all parts."""
    begin = time.perf_counter()
    data = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-data")
    say("what is in the data?")
    command_line("inspect", str(data / "train"))
    say("what would a model see?")
    command_line("view", str(data / "train"), "--out", str(data / "sheet.png"))
    say("one epoch of the training pipeline of ResNet-50")
    run_epoch(data)
    say(f"{NUM_STEPS} steps of training, softmax regression on the colours of {GRID} x {GRID} fields")
    train(data)
    print(f"\nAll of this took {time.perf_counter() - begin:.0f} s.")


if __name__ == "__main__":
    main()
