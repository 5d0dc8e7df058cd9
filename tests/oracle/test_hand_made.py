"""Files that Pillow reads but does not write: interlaced masks, runs across rows, channels in another order."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image, features

import headrace as hr
from headrace import ops

RAMP = (np.arange(50 * 70) % 251).astype(np.uint8).reshape(50, 70)


def chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


def interlaced_png(mask: Any, bits: int, color_type: int) -> bytes:
    """Write a mask in the seven passes of Adam7."""
    raw = b""
    for x, y, dx, dy in [
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ]:
        part = mask[y::dy, x::dx]
        if part.size:
            for row in part:
                raw += (
                    b"\0"
                    + np.packbits(np.unpackbits(row[:, None], axis=1)[:, 8 - bits :].reshape(-1)).tobytes()
                )
    height, width = mask.shape
    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, 1)
    palette = bytes((np.arange(3 << bits) % 256).astype(np.uint8))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + (chunk(b"PLTE", palette) if color_type == 3 else b"")
        + chunk(b"IDAT", zlib.compress(raw))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("color_type", [0, 3])
def test_interlaced_masks_keep_their_numbers(bits: int, color_type: int) -> None:
    """Many, one after the other: what an image leaves behind must not show in the next."""
    random = np.random.default_rng(bits)
    masks = [random.integers(0, 1 << bits, random.integers(1, 60, 2)).astype(np.uint8) for _ in range(60)]
    files = [interlaced_png(mask, bits, color_type) for mask in masks]
    read = hr.from_arrays({"m": files}).map(lambda s: {"m": ops.decode_image(s.m, color="index")})
    for got, mask in zip(read.numpy(), masks, strict=True):
        assert np.array_equal(got["m"][..., 0], mask)


def grey_tiff(strip: bytes, *, compression: int = 1, photometric: int = 1, bits: int = 8) -> bytes:
    """Write RAMP's shape as one strip."""
    tags = [
        (256, 70),
        (257, 50),
        (258, bits),
        (259, compression),
        (262, photometric),
        (273, 0),
        (277, 1),
        (278, 50),
    ]
    tags.append((279, len(strip)))
    data_at = 8 + 2 + 12 * len(tags) + 4
    out = b"II*\0" + struct.pack("<IH", 8, len(tags))
    for tag, value in tags:
        out += struct.pack("<HHII", tag, 4, 1, data_at if tag == 273 else value)
    return out + struct.pack("<I", 0) + strip


def test_packbits_may_run_across_rows() -> None:
    pixels = RAMP.tobytes()
    runs = [pixels[i : i + 128] for i in range(0, len(pixels), 128)]
    data = grey_tiff(b"".join(bytes([len(run) - 1]) + run for run in runs), compression=32773)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), RAMP)
    assert np.array_equal(ops.decode_image(data, color="gray")[..., 0], RAMP)


@pytest.mark.parametrize("photometric", [0, 1])
def test_grey_tiffs_give_the_numbers_they_store(photometric: int) -> None:
    data = grey_tiff(RAMP.tobytes(), photometric=photometric)
    assert np.array_equal(ops.decode_image(data, color="index")[..., 0], RAMP)
    few = (RAMP % 16).astype(np.uint8)
    packed = (few[:, 0::2] << 4 | few[:, 1::2]).tobytes()
    data = grey_tiff(packed, photometric=photometric, bits=4)
    assert np.array_equal(ops.decode_image(data, color="index")[..., 0], few)


def test_a_plain_tiff_cut_short_is_an_error_whatever_is_wanted_of_it() -> None:
    data = grey_tiff(RAMP.tobytes())
    top = hr.from_arrays({"image": [data[:-700]]}).map(
        lambda s: {"top": ops.random_crop(ops.decode_image(s.image, match="exact"), size=8)}
    )
    for _ in range(20):
        with pytest.raises(ValueError, match="truncated TIFF"):
            list(top.numpy())
    with pytest.raises(ValueError, match="truncated TIFF"):
        ops.decode_image(data[:-700])


@pytest.mark.skipif(not features.check("jpg_2000"), reason="Pillow without JPEG 2000")
@pytest.mark.parametrize("tile", [None, (32, 32)])
def test_channels_of_a_jpeg_2000_are_in_the_order_its_container_says(tile: Any) -> None:
    y, x = np.mgrid[0:96, 0:96]
    image = np.stack([y * 2, x * 2, y + x], -1).astype(np.uint8)
    out = io.BytesIO()
    options = {"tile_size": tile} if tile else {}
    Image.fromarray(image).save(out, "JPEG2000", mct=0, **options)
    data = out.getvalue()
    at = data.index(b"jp2h") - 4
    (length,) = struct.unpack(">I", data[at : at + 4])
    order = b"".join(struct.pack(">HHH", c, 0, 3 - c) for c in range(3))
    box = struct.pack(">I", 10 + len(order)) + b"cdef" + struct.pack(">H", 3) + order
    data = (
        data[:at]
        + struct.pack(">I", length + len(box))
        + data[at + 4 : at + length]
        + box
        + data[at + length :]
    )
    assert np.array_equal(ops.decode_image(data), image[..., ::-1])


def test_a_gif_may_show_a_small_frame_on_a_large_canvas() -> None:
    out = io.BytesIO()
    Image.new("P", (8, 8)).save(out, "GIF")
    data = bytearray(out.getvalue())
    data[6:10] = struct.pack("<HH", 1920, 1080)
    with Image.open(io.BytesIO(bytes(data))) as image:
        assert image.size == (1920, 1080)
    assert ops.decode_image(bytes(data)).shape[:2] == (1080, 1920)
