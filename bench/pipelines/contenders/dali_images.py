"""DALI without a GPU: file reader -> decode of the crop only -> resize -> crop_mirror_normalize, CHW.

Its fastest path: the decoder gets the crop and uses the fast DCT, and the resize does not antialias. Eval also crops first.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from .segment import BATCH, CENTER, MEAN, SIDE, STD, files, serve, task

data, workers, work, _ = task()
DECODE = {"device": "cpu", "output_type": types.RGB, "use_fast_idct": True}


@pipeline_def(batch_size=BATCH, num_threads=workers, device_id=None, prefetch_queue_depth=2, seed=1)
def pipeline() -> Any:
    raw, _ = fn.readers.file(
        files=files(data), random_shuffle=work == "train", initial_fill=1024, name="read"
    )
    if work == "train":
        area, aspect = (0.08, 1.0), (3 / 4, 4 / 3)
        image = fn.decoders.image_random_crop(
            raw, random_area=area, random_aspect_ratio=aspect, num_attempts=10, **DECODE
        )
        mirror = fn.random.coin_flip()
    else:
        shape = fn.cast(fn.peek_image_shape(raw)[:2], dtype=types.FLOAT)
        side = fn.reductions.min(shape) * CENTER
        start = fn.cast((shape - side) / 2, dtype=types.INT32)
        size = fn.cast(fn.stack(side, side), dtype=types.INT32)
        image = fn.decoders.image_slice(raw, start=start, shape=size, axes=[0, 1], **DECODE)
        mirror = 0
    image = fn.resize(image, size=(SIDE, SIDE), interp_type=types.INTERP_LINEAR, antialias=False)
    mean, std = [m * 255 for m in MEAN], [s * 255 for s in STD]
    return fn.crop_mirror_normalize(
        image, mirror=mirror, mean=mean, std=std, dtype=types.FLOAT, output_layout="CHW"
    )


def batches() -> Iterator[Any]:
    pipe = pipeline()
    pipe.build()
    while True:
        yield np.from_dlpack(
            pipe.run()[0].as_tensor()
        )  # a view until the next run: as_array() would copy 38 MB


serve(batches(), BATCH)
