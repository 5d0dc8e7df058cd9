"""decode_image(color="index") against Pillow: the numbers that palettes and grey files store."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops


def classes(height: int, width: int, count: int) -> Any:
    """Make a mask of `count` classes, u8 (height, width)."""
    y, x = np.mgrid[0:height, 0:width]
    return ((x // 3 + y * 2) % count).astype(np.uint8)


def written(mask: Any, mode: str, format_name: str, **options: Any) -> bytes:
    """Write a mask as a file whose colours are not the numbers."""
    image = Image.fromarray(mask, "L")
    if mode == "P":
        image = Image.fromarray(mask, "P")
        image.putpalette([(7 * i + 3) % 256 for i in range(768)])
    out = io.BytesIO()
    image.save(out, format_name, **options)
    return out.getvalue()


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (5, 7), (40, 61)])
def test_a_palette_png_gives_its_numbers(bits: int, height: int, width: int) -> None:
    mask = classes(height, width, min(1 << bits, 21))
    data = written(mask, "P", "PNG", bits=bits)
    assert data[24] == bits
    with Image.open(io.BytesIO(data)) as reread:
        assert np.array_equal(np.asarray(reread), mask)
    decoded = ops.decode_image(data, color="index")
    assert decoded.shape == (height, width, 1)
    assert np.array_equal(decoded[..., 0], mask)


def chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_grey_of_few_bits_is_not_scaled(bits: int) -> None:
    """Pillow scales these, so the file is written by hand: rows without a filter, two of them."""
    mask = classes(2, 11, min(1 << bits, 200))
    packed = [
        np.packbits(np.unpackbits(row[:, None], axis=1)[:, 8 - bits :].reshape(-1)).tobytes() for row in mask
    ]
    header = (11).to_bytes(4, "big") + (2).to_bytes(4, "big") + bytes([bits, 0, 0, 0, 0])
    pixels = zlib.compress(b"".join(b"\0" + row for row in packed))
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    assert np.array_equal(ops.decode_image(data, color="index")[..., 0], mask)


@pytest.mark.parametrize(
    ("mode", "format_name", "options"),
    [("P", "GIF", {}), ("P", "BMP", {}), ("P", "TIFF", {"compression": "tiff_lzw"}), ("P", "TIFF", {})]
    + [("L", name, {}) for name in ("PNG", "BMP", "TIFF")],
    ids=str,
)
def test_other_formats_give_what_pillow_reads(mode: str, format_name: str, options: dict[str, Any]) -> None:
    data = written(classes(37, 53, 200), mode, format_name, **options)
    with Image.open(io.BytesIO(data)) as reread:
        assert reread.mode == mode
        expected = np.asarray(reread)
    assert np.array_equal(ops.decode_image(data, color="index")[..., 0], expected)


def test_grey_of_a_format_that_may_change_values_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match="a grey PNG, TIFF or PNM, got JPEG of grey"):
        ops.decode_image(written(classes(37, 53, 200), "L", "JPEG"), color="index")


def test_a_file_of_colours_is_an_error_that_names_it(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save(tmp_path / "colours.png")

    def mask(sample):
        return ops.decode_image(sample.image, color="index")

    with pytest.raises(NotImplementedError, match=r"got PNG of RGB with 8 bits.*colours\.png"):
        next(iter(hr.read(tmp_path).map(mask).numpy()))
    with pytest.raises(ValueError, match="index"):
        ops.decode_image(b"", color="indices")  # type: ignore[arg-type]


def test_an_image_and_its_mask_are_cropped_alike() -> None:
    """A mask that says where each pixel of the image was: red is the column, and so is the class."""
    mask = np.tile(np.arange(100, dtype=np.uint8), (80, 1))
    out = io.BytesIO()
    Image.fromarray(np.stack([mask, mask * 0, mask * 0], axis=-1)).save(out, "PNG")
    files = {"image": [out.getvalue()], "mask": [written(mask, "P", "PNG")]}

    def both(sample):
        image, classes = ops.decode_image(sample.image), ops.decode_image(sample.mask, color="index")
        image, classes = ops.random_crop([image, classes], size=32)
        image, classes = ops.random_flip([image, classes])
        return {"image": image, "mask": classes}

    got = next(iter(hr.from_arrays(files).map(both).numpy()))
    assert got["mask"].shape == (32, 32, 1)
    assert np.array_equal(got["image"][..., 0], got["mask"][..., 0])
