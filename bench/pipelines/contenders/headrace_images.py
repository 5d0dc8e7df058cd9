"""Headrace: folder -> decode -> random_resized_crop -> flip -> normalize -> batch; match="exact"."""

import sys
from collections.abc import Iterator
from typing import Any

import headrace as hr
from headrace import ops

from .segment import BATCH, MEAN, SIDE, STD, serve

data, workers = sys.argv[1], int(sys.argv[2])


def augment(sample: Any) -> Any:
    image = ops.decode_image(sample.image, match="exact")
    image = ops.random_resized_crop(image, size=SIDE)
    image = ops.random_flip(image)
    return {"image": ops.normalize(image, mean=MEAN, std=STD, layout="CHW")}


def batches() -> Iterator[Any]:
    read = hr.read(data).shuffle(seed=1).map(augment).repeat().batch(BATCH)
    yield from read.options(workers=workers).numpy()


serve(batches(), BATCH)
