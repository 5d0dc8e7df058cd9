"""A thread pool over OpenCV, without a data loading library: the simplest fast solution.

imread -> slice of the crop -> resize, bilinear and not antialiased -> flip -> normalise by a table -> planes. Every buffer is reused: each
thread has its own pixels, and batches are written into a ring of three.
"""

import itertools
import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import cv2
import numpy as np

from .boxes import center_box, random_box
from .segment import BATCH, MEAN, SIDE, STD, files, serve, task

data, workers, work, _ = task()
cv2.setNumThreads(0)
paths = files(data)
draw_box = random_box if work == "train" else center_box
FLAGS = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
# The float of every value of every channel.
NORMALIZED = (
    (np.arange(256, dtype=np.float32)[None, :, None] / 255 - np.array(MEAN, np.float32))
    / np.array(STD, np.float32)
).astype(np.float32)


class Buffers(threading.local):
    def __init__(self) -> None:
        self.resized = np.empty((SIDE, SIDE, 3), np.uint8)
        self.flipped = np.empty((SIDE, SIDE, 3), np.uint8)
        self.floats = np.empty((SIDE, SIDE, 3), np.float32)


buffers = Buffers()


def make(path: str, out: Any) -> None:
    pixels: Any = cv2.imread(path, FLAGS)
    x, y, w, h = draw_box(pixels.shape[1], pixels.shape[0])
    pixels = cv2.resize(
        pixels[y : y + h, x : x + w], (SIDE, SIDE), buffers.resized, interpolation=cv2.INTER_LINEAR
    )
    if work == "train" and random.random() < 0.5:
        pixels = cv2.flip(pixels, 1, buffers.flipped)
    cv2.split(cv2.LUT(pixels, NORMALIZED, buffers.floats), list(out))


def orders() -> Iterator[str]:
    while True:
        yield from random.sample(paths, len(paths)) if work == "train" else paths


def batches() -> Iterator[Any]:
    ring = [np.empty((BATCH, 3, SIDE, SIDE), np.float32) for _ in range(3)]
    names = orders()
    with ThreadPoolExecutor(workers) as pool:

        def begin(batch: Any) -> list[Future[None]]:
            return [pool.submit(make, next(names), row) for row in batch]

        ahead = [(batch, begin(batch)) for batch in ring[:2]]  # while the consumer has one, two are made
        for free in itertools.cycle([ring[2], *ring[:2]]):
            batch, rows = ahead.pop(0)
            for row in rows:
                row.result()
            yield batch
            ahead.append((free, begin(free)))


serve(batches(), BATCH)
