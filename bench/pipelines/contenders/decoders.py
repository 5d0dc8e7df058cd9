"""Whole pictures to RGB in one thread, no loader: read the file, decode. Its last argument is the library.

turbojpeg: the system's libjpeg-turbo, with its default (accurate) DCT and upsampling. simplejpeg, opencv: the one that they
bundle.
"""

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from .segment import BATCH, files, serve, task

data, _, _, (library,) = task()

if library == "turbojpeg":
    import turbojpeg

    decode = partial(turbojpeg.TurboJPEG().decode, pixel_format=turbojpeg.TJPF_RGB)
elif library == "simplejpeg":
    import simplejpeg

    decode = partial(simplejpeg.decode_jpeg, colorspace="RGB")
else:
    import cv2
    import numpy as np

    cv2.setNumThreads(0)
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION

    def decode(raw: bytes) -> Any:
        return cv2.imdecode(np.frombuffer(raw, np.uint8), flags)


def pictures() -> Iterator[Any]:
    paths = cycle(files(data))
    while True:
        yield [decode(Path(next(paths)).read_bytes()) for _ in range(BATCH)]


serve(pictures(), BATCH)
