"""Image files from 1 KB to 60 MB, of every kind that takes memory in its own way; made by arithmetic, in seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

LARGE_SIDE = 4472  # squared, times three channels: 60 MB of pixels


def noise(height: int, width: int, seed: int) -> np.ndarray:
    """Pixels that no encoder makes small, u8 (height, width, 3)."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def smooth(height: int, width: int, seed: int) -> np.ndarray:
    """Pixels that compress as a photograph does, u8 (height, width, 3)."""
    y, x = np.ogrid[0:height, 0:width]
    grey = ((x * (seed % 5 + 1) + y * 3) // 16 % 200 + (x * y) % 7).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def write_small(folder: Path, count: int) -> None:
    """Write `count` files of 1 KB to about 1 MB: JPEG baseline and progressive, PNG."""
    folder.mkdir(parents=True)
    for i in range(count):
        side = 24 + 61 * (i % 13)
        pixels = noise(side, side + i % 7, i) if i % 4 == 3 else smooth(side, side + i % 7, i)
        image = Image.fromarray(pixels)
        if i % 3 == 2:
            image.save(folder / f"{i}.png", compress_level=1)
        else:
            image.save(folder / f"{i}.jpg", quality=85, progressive=i % 3 == 1)


def write_large(folder: Path, *, full: bool) -> None:
    """Write files of up to 60 MB, and files whose pixels take 60 MB; all kinds when `full`, else some."""
    folder.mkdir(parents=True)
    side = LARGE_SIDE
    random, plain = Image.fromarray(noise(side, side, 1)), Image.fromarray(smooth(side, side, 2))
    random.save(folder / "file_of_60_mb.png", compress_level=0)
    plain.save(folder / "pixels_of_60_mb.jpg", quality=80)
    plain.save(folder / "pixels_of_60_mb_progressive.jpg", quality=80, progressive=True)
    plain.save(folder / "pixels_of_60_mb.png", compress_level=1)
    for i in range(8):
        image = Image.fromarray(smooth(1800 + 200 * i, 2400, i))
        image.save(folder / f"camera_{i}.jpg", quality=90, progressive=i % 2 == 1)
    if not full:
        return
    random.save(folder / "file_of_60_mb.jpg", quality=98)
    plain.save(folder / "unsampled_progressive.jpg", quality=80, subsampling=0, progressive=True)
    plain.convert("L").save(folder / "grey_progressive.jpg", quality=80, progressive=True)
    inks = plain.resize((2600, 2600)).convert("CMYK")
    inks.save(folder / "cmyk_progressive.jpg", quality=80, progressive=True)
    random.convert("L").save(folder / "grey.png", compress_level=0)
    write_others(folder)


def write_others(folder: Path) -> None:
    """Write images of the formats that other libraries decode, 27 MB of pixels each (JPEG 2000 and AVIF: 3 MB)."""
    image = Image.fromarray(smooth(3000, 3000, 3))
    image.save(folder / "lossy.webp", quality=70, method=0)
    image.save(folder / "lossless.webp", lossless=True, quality=0, method=0)
    image.save(folder / "rows.tif", compression="tiff_deflate")
    image.save(folder / "plain.tif")
    image.save(folder / "plain.bmp")
    image.convert("P").save(folder / "palette.gif")
    small = image.crop((0, 0, 1000, 1000))
    small.save(folder / "tiles.jp2", tile_size=(256, 256))
    small.save(folder / "plain.avif", speed=10)
