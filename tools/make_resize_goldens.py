"""Print the table of headrace/kernels/resize_test.cc: hashes of what Pillow makes of generated images.

Run it with a Pillow of version 13 or newer (older ones take the two passes of a resize in another order):

    python tools/make_resize_goldens.py
"""

from __future__ import annotations

import numpy as np
import PIL
from PIL import Image

FILTERS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "nearest": Image.Resampling.NEAREST,
    "lanczos": Image.Resampling.LANCZOS,
    "box": Image.Resampling.BOX,
}

# (height, width) of the input, then of the output.
SHAPES = [
    ((280, 300), (224, 224)),
    ((300, 280), (224, 224)),
    ((375, 500), (256, 341)),
    ((500, 100), (60, 90)),
    ((64, 64), (224, 224)),
    ((28, 28), (32, 32)),
    ((7, 5), (3, 11)),
    ((1, 1), (4, 3)),
    ((97, 3), (5, 3)),
    ((33, 200), (33, 17)),
]


def generated(height: int, width: int, channels: int) -> np.ndarray:
    """Noise of a linear congruential generator, row by row, channels last."""
    values = np.empty(height * width * channels, np.uint8)
    state = 12345
    for i in range(values.size):
        state = (state * 1664525 + 1013904223) % 2**32
        values[i] = state >> 24
    return values.reshape(height, width, channels)


def fnv1a(data: bytes) -> int:
    """The 64-bit hash of Fowler, Noll and Vo."""
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return digest


def resized(image: np.ndarray, size: tuple[int, int], resample: Image.Resampling) -> np.ndarray:
    """Each channel alone: Pillow multiplies some modes with alpha first."""
    planes = [Image.fromarray(np.ascontiguousarray(image[..., c])) for c in range(image.shape[2])]
    return np.stack([np.asarray(p.resize(size[::-1], resample)) for p in planes], axis=-1)


def main() -> None:
    """Print one line of the table per shape and filter."""
    assert int(PIL.__version__.split(".")[0]) >= 13, f"wants Pillow 13 or newer, got {PIL.__version__}"
    channels = 2
    for before, after in SHAPES:
        for name, resample in FILTERS.items():
            channels = channels % 4 + 1
            digest = fnv1a(resized(generated(*before, channels), after, resample).tobytes())
            numbers = ", ".join(str(n) for n in (*before, *after, channels))
            print(f"    {{{{{numbers}, Interpolation::{name}, true}}, 0x{digest:016x}}},")


if __name__ == "__main__":
    main()
