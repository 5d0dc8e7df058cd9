"""SPDL: FFmpeg decodes and filters (crop, scale, hflip) in threads; a uint8 batch, normalised in one NumPy pass, NHWC."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import spdl.io
from spdl.pipeline import PipelineBuilder

from .boxes import center_box, random_box
from .segment import BATCH, MEAN, SIDE, STD, files, serve, task

data, workers, work, _ = task()
paths = files(data)
mean, inverse = np.array(MEAN, np.float32) * 255, 1 / (np.array(STD, np.float32) * 255)


def source() -> Iterator[str]:
    while True:
        yield from random.sample(paths, len(paths)) if work == "train" else paths


def make(path: str) -> Any:
    packets = spdl.io.demux_image(path)
    width, height = packets.codec.width, packets.codec.height
    x, y, w, h = random_box(width, height) if work == "train" else center_box(width, height)
    steps = f"crop={w}:{h}:{x}:{y}:exact=1,scale={SIDE}:{SIDE}:flags=bilinear"
    if work == "train" and random.random() < 0.5:
        steps += ",hflip"
    return spdl.io.decode_packets(packets, filter_desc=steps + ",format=pix_fmts=rgb24")


def collate(frames: Any) -> Any:
    return (spdl.io.to_numpy(spdl.io.convert_frames(frames)) - mean) * inverse


builder = PipelineBuilder().add_source(source()).pipe(make, concurrency=workers)
pipeline = builder.aggregate(BATCH, drop_last=True).pipe(collate).add_sink(2).build(num_threads=workers)
with pipeline.auto_stop():
    serve(iter(pipeline), BATCH)
