"""Does it matter to a network whether it sees "fast" or "exact" pixels? Train on one, evaluate on the other.

    python bench/experiments/drift.py [--seeds 6] [--epochs 8] [--train 600] [--test 1000]

Needs torch and headrace. A small network learns the ten classes of tools/make_demo_data.py (with other pictures for the
test) from 64-pixel crops, once on each mode for each seed; a seed fixes weights, order and crops, so that the two nets of a
seed differ only in the pixels. Each is then evaluated on both modes: resize 72, center_crop 64. Prints top-1 of the four
combinations, the change between modes for one net, and how many predictions change; drift.md has the figures.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import headrace as hr
from headrace import ops

MAKE_DATA = Path(__file__).parents[2] / "tools" / "make_demo_data.py"
MODES = ("exact", "fast")
SIDE, SHORTER, BATCH = 64, 72, 50


def finish(image: Any, sample: Any) -> dict[str, Any]:
    mean, std = hr.IMAGENET_MEAN, hr.IMAGENET_STD
    return {"image": ops.normalize(image, mean=mean, std=std, layout="CHW"), "label": sample.label}


def training(match: Any) -> Callable[[Any], Any]:
    def augment(sample: Any) -> Any:
        image = ops.decode_image(sample.image, match=match)
        return finish(ops.random_flip(ops.random_resized_crop(image, size=SIDE)), sample)

    return augment


def evaluation(match: Any) -> Callable[[Any], Any]:
    def cut(sample: Any) -> Any:
        image = ops.decode_image(sample.image, match=match)
        return finish(ops.center_crop(ops.resize(image, size=SHORTER), size=SIDE), sample)

    return cut


def network() -> nn.Module:
    layers: list[nn.Module] = []
    channels = [3, 16, 32, 64, 64]
    for before, after in itertools.pairwise(channels):
        layers += [
            nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels[-1], 10))


def train(data: str, match: str, seed: int, epochs: int) -> nn.Module:
    torch.manual_seed(seed)
    net = network()
    pipeline = hr.read(data).shuffle(seed=seed).map(training(match)).repeat(epochs)
    batches = pipeline.batch(BATCH, drop_last=True).options(seed=seed)
    steps = len(batches)
    descent = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(descent, 6e-3, total_steps=steps)
    for batch in batches.torch():
        loss = nn.functional.cross_entropy(net(batch["image"]), batch["label"].long())
        descent.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        descent.step()
        schedule.step()
    return net.eval()


def predict(net: nn.Module, data: str, match: str) -> tuple[Tensor, Tensor]:
    """The predictions of the net, and the true labels."""
    said, true = [], []
    with torch.no_grad():
        for batch in hr.read(data).map(evaluation(match)).batch(BATCH).torch():
            said.append(net(batch["image"]).argmax(1))
            true.append(batch["label"].long().clone())
    return torch.cat(said), torch.cat(true)


def spread(values: list[float]) -> str:
    return f"{statistics.mean(values):6.2f} ± {statistics.stdev(values):.2f}"


def make_data(folder: Path, count: int, seed: int) -> str:
    command = [sys.executable, str(MAKE_DATA), "--out", str(folder), "--count", str(count)]
    subprocess.run([*command, "--seed", str(seed)], check=True, stdout=subprocess.DEVNULL)
    return str(folder / "train")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("seeds", 6), ("epochs", 8), ("train", 600), ("test", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    top1: dict[tuple[str, str], list[float]] = {(a, b): [] for a in MODES for b in MODES}
    moved: dict[str, list[float]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        seen = make_data(Path(folder) / "seen", arguments.train, seed=0)
        unseen = make_data(Path(folder) / "unseen", arguments.test, seed=1)
        for seed in range(arguments.seeds):
            for trained in MODES:
                net = train(seen, trained, seed, arguments.epochs)
                said = {mode: predict(net, unseen, mode) for mode in MODES}
                for mode, (guess, true) in said.items():
                    top1[trained, mode].append((guess == true).double().mean().item() * 100)
                changed = (said["fast"][0] != said["exact"][0]).double().mean().item()
                moved[trained].append(changed * 100)
            print(
                f"seed {seed}: " + ", ".join(f"{a} -> {b} {v[-1]:.1f}" for (a, b), v in top1.items()),
                flush=True,
            )
    print("top-1 in %, mean ± standard deviation over seeds")
    for (trained, mode), values in top1.items():
        print(f"  trained on {trained:5s}  evaluated on {mode:5s}  {spread(values)}")
    for trained in MODES:
        pairs = zip(top1[trained, "fast"], top1[trained, "exact"], strict=True)
        print(f"  trained on {trained:5s}  fast minus exact  {spread([a - b for a, b in pairs])}")
        print(f"  trained on {trained:5s}  other predictions {spread(moved[trained])}")


if __name__ == "__main__":
    main()
