"""ops.resize against Pillow 13: bytes exactly, floats (its mode F, which sums in double) within rounding."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from PIL import Image

from headrace import ops

Kind = Literal["bilinear", "bicubic", "nearest", "lanczos", "box"]
KINDS: dict[Kind, Image.Resampling] = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "nearest": Image.Resampling.NEAREST,
    "lanczos": Image.Resampling.LANCZOS,
    "box": Image.Resampling.BOX,
}
SHAPES = [
    ((280, 300), (224, 224)),
    ((375, 500), (256, 341)),
    ((64, 48), (224, 200)),
    ((31, 200), (31, 17)),
    ((200, 31), (90, 31)),
    ((500, 100), (60, 90)),
    ((1, 1), (4, 3)),
    ((97, 3), (5, 3)),
    ((33, 18), (1, 1)),
]


def noise(height: int, width: int, channels: int) -> Any:
    """Make bytes without any order."""
    return np.random.default_rng(7).integers(0, 256, (height, width, channels), np.uint8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("before", "after"), SHAPES)
@pytest.mark.parametrize("channels", [1, 3])
def test_bytes_equal_pillow(
    kind: Kind, before: tuple[int, int], after: tuple[int, int], channels: int
) -> None:
    """Grey and RGB."""
    pixels = noise(*before, channels)
    image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
    expected = np.asarray(image.resize(after[::-1], KINDS[kind])).reshape(*after, channels)
    assert np.array_equal(ops.resize(pixels, size=after, interpolation=kind), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("before", "after"), SHAPES)
def test_floats_equal_pillow_within_rounding(
    kind: Kind, before: tuple[int, int], after: tuple[int, int]
) -> None:
    """Channel by channel, for Pillow's mode F has one."""
    pixels = (noise(*before, 3).astype(np.float32) - 100) / 50
    planes = [Image.fromarray(np.ascontiguousarray(pixels[..., c])) for c in range(3)]
    expected = np.stack([np.asarray(plane.resize(after[::-1], KINDS[kind])) for plane in planes], axis=-1)
    got = ops.resize(pixels, size=after, interpolation=kind)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=0, atol=3e-6 * float(np.abs(pixels).max()))
