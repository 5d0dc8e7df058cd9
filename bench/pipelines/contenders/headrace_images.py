"""Headrace: folder -> decode -> random_resized_crop -> flip -> normalize -> batch, and the same for eval and decode.

Its last arguments are the mode of decode_image, fast or exact, and `checkpoints` if entropy points may be used.
"""

from collections.abc import Iterator
from typing import Any

import headrace as hr
from headrace import ops

from .segment import BATCH, MEAN, SHORTER, SIDE, STD, serve, task

data, workers, work, (match, *checkpoints) = task()


def train(sample: Any) -> Any:
    image = ops.decode_image(sample.image, match=match)
    image = ops.random_resized_crop(image, size=SIDE)
    image = ops.random_flip(image)
    return {"image": ops.normalize(image, mean=MEAN, std=STD, layout="CHW")}


def evaluate(sample: Any) -> Any:
    image = ops.decode_image(sample.image, match=match)
    image = ops.center_crop(ops.resize(image, size=SHORTER), size=SIDE)
    return {"image": ops.normalize(image, mean=MEAN, std=STD, layout="CHW")}


def batches() -> Iterator[Any]:
    read = hr.read(data)
    if work == "train":
        read = read.shuffle(seed=1).map(train).repeat().batch(BATCH)
    else:
        read = read.map(evaluate).repeat().batch(BATCH)
    yield from read.options(workers=workers, checkpoints=bool(checkpoints)).numpy()


def pictures() -> Iterator[Any]:
    """Whole pictures have many sizes: groups of 64 instead of batches."""
    read = hr.read(data).map(lambda sample: {"image": ops.decode_image(sample.image, match=match)}).repeat()
    stream = iter(read.options(workers=workers, checkpoints=bool(checkpoints)).numpy())
    while True:
        yield [next(stream) for _ in range(BATCH)]


serve(pictures() if work == "decode" else batches(), BATCH)
