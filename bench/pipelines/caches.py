"""The choice, the prediction and the gain of options(cache="auto"): alternating epochs with and without it.

    python bench/pipelines/caches.py LIST [--rounds N]

LIST names JPEG files, one per line, with a label. Prints how many times as fast an epoch is, from the second on.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from typing import Any

import numpy as np

import headrace as hr
from headrace import ops


def prepared(sample: Any) -> Any:
    return {
        "image": ops.resize(ops.decode_image(sample.image, match="exact"), size=256),
        "label": sample.label,
    }


def augmented(sample: Any) -> Any:
    return normalized(ops.random_crop(sample.image, size=224), sample.label)


def at_once(sample: Any) -> Any:
    return normalized(ops.random_resized_crop(ops.decode_image(sample.image), size=224), sample.label)


def normalized(image: Any, label: Any) -> Any:
    image = ops.normalize(ops.random_flip(image), mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW")
    return {"image": image, "label": label}


def noisy(sample: Any, rng: np.random.Generator) -> Any:
    noise = rng.integers(0, 2, sample["image"].shape)
    return {"image": (sample["image"] + noise).astype(np.uint8), "label": sample["label"]}


def main() -> None:
    """Run everything and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("list")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # two loaders of one pipeline are intended here
    data = hr.read_file_list(arguments.list).shuffle(seed=1)
    pipelines = {
        "exact decode, resize; random crop, flip, normalize": data.map(prepared).map(augmented),
        "the same with a NumPy function before the crop": data.map(prepared).map(noisy, python=True).map(augmented),
        "fast decode, random_resized_crop, flip, normalize": data.map(at_once),
    }  # fmt: skip
    for name, pipeline in pipelines.items():
        loaders = [pipeline.batch(32).numpy(), pipeline.batch(32).options(cache="auto").numpy()]
        seconds: list[list[float]] = [[], []]
        for number in range(arguments.rounds + 1):
            for loader, times in zip(loaders, seconds, strict=True):
                begin = time.perf_counter()
                for _ in loader:
                    pass
                if number:  # the first epoch fills the cache
                    times.append(time.perf_counter() - begin)
        gains = sorted(without / cached for without, cached in zip(*seconds, strict=True))
        said = next(line for line in loaders[1].explain().splitlines() if line.startswith("cache:"))
        print(
            f"{name}: {statistics.median(gains):.2f} times as fast ({gains[0]:.2f} to {gains[-1]:.2f}); {said}"
        )


if __name__ == "__main__":
    main()
