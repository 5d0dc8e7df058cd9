"""Images of more than 8 bits a sample against OpenCV, Pillow and imagecodecs: every codec, every depth it can hold, every dtype."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

imagecodecs = pytest.importorskip("imagecodecs")
cv2 = pytest.importorskip("cv2")

HEIGHT, WIDTH = 23, 37


def numbers(bits: int, channels: int) -> Any:
    """Make samples that use all of their bits, in no regular order."""
    y, x, c = np.mgrid[0:HEIGHT, 0:WIDTH, 0:channels]
    made = (y * 7919 + x * 104729 + c * 1299709 + y * x * 31) % (1 << bits)
    made[0, 0], made[-1, -1] = 0, (1 << bits) - 1
    return made.astype(np.uint8 if bits == 8 else np.uint16)


def plane(pixels: Any) -> Any:
    return pixels[..., 0] if pixels.shape[2] == 1 else pixels


def by_pillow(kind: str, **options: Any) -> Callable[[Any, int], bytes]:
    def encode(pixels: Any, _bits: int) -> bytes:
        out = io.BytesIO()
        Image.fromarray(plane(pixels)).save(out, kind, **options)
        return out.getvalue()

    return encode


def by_opencv(ending: str, *options: int) -> Callable[[Any, int], bytes]:
    """Write by OpenCV, whose channels are in the order BGR and BGRA."""

    def encode(pixels: Any, _bits: int) -> bytes:
        order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[pixels.shape[2]]
        ok, data = cv2.imencode(ending, np.ascontiguousarray(pixels[..., order]), list(options))
        assert ok
        return bytes(data)

    return encode


def jpeg2000(pixels: Any, bits: int) -> bytes:
    return bytes(imagecodecs.jpeg2k_encode(plane(pixels), bitspersample=bits, reversible=True))


def jpegxl(pixels: Any, bits: int) -> bytes:
    return bytes(imagecodecs.jpegxl_encode(plane(pixels), bitspersample=bits, lossless=True))


def avif(pixels: Any, bits: int) -> bytes:
    return bytes(imagecodecs.avif_encode(pixels, bitspersample=bits, level=100))


def pnm(plain: bool) -> Callable[[Any, int], bytes]:
    def encode(pixels: Any, bits: int) -> bytes:
        kind = {1: 2, 3: 3}[pixels.shape[2]] + (0 if plain else 3)
        head = f"P{kind}\n{WIDTH} {HEIGHT}\n{(1 << bits) - 1}\n".encode()
        if plain:
            return head + " ".join(map(str, pixels.ravel())).encode()
        return head + pixels.astype(">u2" if bits > 8 else np.uint8).tobytes()

    return encode


class Written(NamedTuple):
    """How files of a codec are written, with which depths and channels; lossy ones are compared with themselves."""

    codec: str
    encode: Callable[[Any, int], bytes]
    bits: tuple[int, ...]
    channels: tuple[int, ...] = (1, 3)
    lossless: bool = True
    indexed: bool = False


WRITTEN = {
    "png by OpenCV": Written("PNG", by_opencv(".png"), (8, 16), (1, 3, 4), indexed=True),
    "png by imagecodecs": Written(
        "PNG",
        lambda pixels, _: bytes(imagecodecs.png_encode(plane(pixels))),
        (8, 16),
        (1, 2, 3, 4),
        indexed=True,
    ),
    "tiff by Pillow": Written("TIFF", by_pillow("TIFF"), (8, 16), (1,), indexed=True),
    "tiff by OpenCV": Written("TIFF", by_opencv(".tiff"), (8, 16), (1, 3, 4), indexed=True),
    "jpeg 2000": Written("JPEG 2000", jpeg2000, (8, 10, 12, 16)),
    "jpeg xl": Written("JPEG XL", jpegxl, (8, 10, 12, 16)),
    "avif": Written("AVIF", avif, (8, 10, 12), (3,)),
    "pnm": Written("PNM", pnm(plain=False), (8, 10, 12, 16), indexed=True),
    "plain pnm": Written("PNM", pnm(plain=True), (8, 10, 12, 16), indexed=True),
    "jpeg": Written("JPEG", by_pillow("JPEG"), (8,), lossless=False),
    "webp": Written("WebP", by_pillow("WEBP", lossless=True), (8,), (3,)),
    "gif": Written("GIF", by_pillow("GIF"), (8,), (1,), lossless=False),
    "bmp": Written("BMP", by_pillow("BMP"), (8,), indexed=True),
}
CASES = [
    pytest.param(one, bits, channels, id=f"{name}, {bits} bits, {channels} channels")
    for name, one in WRITTEN.items()
    for bits in one.bits
    for channels in one.channels
]


def decode(data: bytes, **options: Any) -> Any:
    return ops.decode_image(data, color="unchanged", **options)


def codecs() -> set[str]:
    """Return the names of all codecs of this build, which the refusal of another format lists."""
    with pytest.raises(NotImplementedError) as caught:
        ops.decode_image(b"\0\0\0\x18ftypheic" + bytes(12))
    listed = re.search(r"supports \((.*)\)", str(caught.value))
    assert listed
    return set(listed[1].split(", "))


def test_every_codec_is_in_the_table() -> None:
    assert codecs() == {one.codec for one in WRITTEN.values()}


@pytest.mark.parametrize(("written", "bits", "channels"), CASES)
def test_every_depth_of_every_codec(written: Written, bits: int, channels: int) -> None:
    """None and "uint8", "uint16", "float32", "unchanged"."""
    pixels = numbers(bits, channels)
    data = written.encode(pixels, bits)
    with pytest.raises(NotImplementedError, match="expected an image of"):
        decode(data, dtype="float32")
    if bits == 8:
        got = decode(data)
        assert got.dtype == np.uint8 and got.shape[:2] == (HEIGHT, WIDTH)
        assert not written.lossless or np.array_equal(got, pixels)
        for dtype in ("uint8", "unchanged"):
            same = decode(data, dtype=dtype)
            assert same.dtype == np.uint8 and np.array_equal(same, got)
        with pytest.raises(
            NotImplementedError, match=r'more than 8 bits a sample, got .* with 8 bits.*dtype="uint8"'
        ):
            decode(data, dtype="uint16")
        if written.indexed and channels == 1:
            index = ops.decode_image(data, color="index", dtype="uint16")
            assert index.dtype == np.uint16 and np.array_equal(index, pixels)
        return
    with pytest.raises(
        NotImplementedError, match=f'with {bits} bits a sample: dtype="uint16".*dtype="uint8"'
    ):
        decode(data)
    for dtype in ("uint16", "unchanged", np.uint16):
        got = decode(data, dtype=dtype)
        assert got.dtype == np.uint16 and got.shape == pixels.shape
        assert np.array_equal(got, pixels), dtype
    assert np.array_equal(decode(data, dtype="uint8"), (pixels >> (bits - 8)).astype(np.uint8))
    rgb = ops.decode_image(data, dtype="uint16")
    assert np.array_equal(rgb, pixels[..., :3] if channels >= 3 else np.repeat(pixels[..., :1], 3, axis=2))
    gray = ops.decode_image(data, color="gray", dtype="uint16")[..., 0]
    if channels < 3:
        assert np.array_equal(gray, pixels[..., 0])
    else:
        wide = pixels.astype(np.int64)
        luma = (wide[..., 0] * 19595 + wide[..., 1] * 38470 + wide[..., 2] * 7471 + 0x8000) >> 16
        assert np.array_equal(gray, luma)
    if written.indexed and channels == 1:
        assert np.array_equal(ops.decode_image(data, color="index", dtype="uint16"), pixels)
        with pytest.raises(NotImplementedError, match='dtype="uint16" keeps its numbers'):
            ops.decode_image(data, color="index", dtype="uint8")


@pytest.mark.parametrize(
    "name", ["png by imagecodecs", "tiff by Pillow", "tiff by OpenCV", "pnm", "jpeg 2000"]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_sixteen_bits_are_those_that_opencv_reads(name: str, channels: int) -> None:
    written = WRITTEN[name]
    if channels not in written.channels:
        return
    data = written.encode(numbers(16, channels), 16)
    read = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    assert read.dtype == np.uint16
    expected = read[..., None] if channels == 1 else read[..., ::-1]
    assert np.array_equal(decode(data, dtype="uint16"), expected)


def floats(channels: int) -> Any:
    y, x, c = np.mgrid[0:HEIGHT, 0:WIDTH, 0:channels]
    return ((y * 0.37 - x * 1.7 + c) * np.where(x % 5 == 0, 1e4, 1e-3)).astype(np.float32)


def pfm(little: bool) -> Callable[[Any, int], bytes]:
    def encode(pixels: Any, _bits: int) -> bytes:
        head = f"P{'F' if pixels.shape[2] == 3 else 'f'}\n{WIDTH} {HEIGHT}\n{-1.0 if little else 1.0}\n"
        return head.encode() + pixels[::-1].astype("<f4" if little else ">f4").tobytes()

    return encode


FLOATS: dict[str, tuple[Callable[[Any, int], bytes], tuple[int, ...]]] = {
    "pfm": (pfm(little=True), (1, 3)),
    "big-endian pfm": (pfm(little=False), (1, 3)),
    "pfm by OpenCV": (by_opencv(".pfm"), (1, 3)),
    "tiff by Pillow": (by_pillow("TIFF"), (1,)),
    "tiff by OpenCV": (by_opencv(".tiff"), (1, 3)),
    "jpeg xl": (lambda pixels, _: bytes(imagecodecs.jpegxl_encode(plane(pixels), lossless=True)), (1, 3)),
}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("channels", [1, 3])
def test_floats_come_as_they_are(name: str, channels: int) -> None:
    encode, possible = FLOATS[name]
    if channels not in possible:
        return
    pixels = floats(channels)
    data = encode(pixels, 32)
    for dtype in ("float32", "unchanged"):
        got = decode(data, dtype=dtype)
        assert got.dtype == np.float32 and np.array_equal(got, pixels)
    for refused in (None, "uint8", "uint16"):
        with pytest.raises(NotImplementedError, match='of floats: dtype="float32" keeps its numbers'):
            decode(data, dtype=refused)
    rgb = ops.decode_image(data, dtype="float32")
    assert np.array_equal(rgb, pixels if channels == 3 else np.repeat(pixels, 3, axis=2))


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize(
    ("kind", "compression"),
    [("grey", 1), ("grey", 5), ("rgb", 1), ("rgb", 8), ("planar", 1), ("inverted", 1)],
)
def test_tiffs_made_by_hand(little: bool, kind: str, compression: int) -> None:
    """Both byte orders, separate planes, white as 0; those that are compressed by imagecodecs."""
    channels = 1 if kind in ("grey", "inverted") else 3
    pixels = numbers(16, channels)
    order = "<" if little else ">"
    stored = np.moveaxis(pixels, 2, 0) if kind == "planar" else pixels
    raw = np.ascontiguousarray(stored).astype(order + "u2").tobytes()
    planes = channels if kind == "planar" else 1
    strips = [raw[i * len(raw) // planes : (i + 1) * len(raw) // planes] for i in range(planes)]
    if compression == 5:
        strips = [bytes(imagecodecs.lzw_encode(strip)) for strip in strips]
    if compression == 8:
        strips = [bytes(imagecodecs.zlib_encode(strip)) for strip in strips]
    photometric = {"grey": 1, "inverted": 0}.get(kind, 2)
    tags: list[tuple[int, list[int]]] = [
        (256, [WIDTH]),
        (257, [HEIGHT]),
        (258, [16] * channels),
        (259, [compression]),
        (262, [photometric]),
        (273, [0] * planes),
        (277, [channels]),
        (278, [HEIGHT]),
        (279, [len(strip) for strip in strips]),
        (284, [2 if kind == "planar" else 1]),
    ]
    extra_at = 8 + 2 + 12 * len(tags) + 4
    data_at = extra_at + sum(4 * len(values) for _, values in tags if len(values) > 1)
    tags[5] = (273, [data_at + sum(map(len, strips[:i])) for i in range(planes)])
    entries, extra = b"", b""
    for tag, values in tags:
        packed = struct.pack(f"{order}{len(values)}I", *values)
        if len(values) == 1:
            entries += struct.pack(f"{order}HHI", tag, 4, 1) + packed
        else:
            entries += struct.pack(f"{order}HHII", tag, 4, len(values), extra_at + len(extra))
            extra += packed
    head = (b"II*\0" if little else b"MM\0*") + struct.pack(f"{order}I", 8)
    data = head + struct.pack(f"{order}H", len(tags)) + entries + bytes(4) + extra + b"".join(strips)
    expected = 65535 - pixels if kind == "inverted" else pixels
    assert np.array_equal(decode(data, dtype="uint16"), expected)


@pytest.mark.parametrize(
    ("before", "after"),
    [((23, 37), (46, 74)), ((23, 37), (50, 41)), ((64, 48), (65, 100)), ((5, 7), (5, 20))],
)
@pytest.mark.parametrize("channels", [1, 3])
def test_resize_of_sixteen_bits_equals_opencv_within_one(
    before: tuple[int, int], after: tuple[int, int], channels: int
) -> None:
    """Enlarged, and with the filter of both, which does not widen, reduced."""
    pixels = np.random.default_rng(3).integers(0, 65536, (*before, channels), np.uint16)
    for small, large in ((pixels, after), (pixels, (max(1, before[0] // 3), max(1, before[1] // 2)))):
        expected = cv2.resize(small, large[::-1], interpolation=cv2.INTER_LINEAR).reshape(*large, channels)
        got = ops.resize(small, size=large, antialias=False)
        assert got.dtype == np.uint16
        assert np.abs(got.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_the_mean_of_an_area_equals_opencv_within_one(factor: int) -> None:
    pixels = np.random.default_rng(4).integers(0, 65536, (24, 36, 3), np.uint16)
    size = (24 // factor, 36 // factor)
    expected = cv2.resize(pixels, size[::-1], interpolation=cv2.INTER_AREA)
    got = ops.resize(pixels, size=size, interpolation="box")
    assert np.abs(got.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("kind", ["bilinear", "bicubic", "lanczos", "box"])
def test_resize_of_sixteen_bits_equals_pillows_floats(kind: Any) -> None:
    """Which Pillow sums in double; rounded and clamped."""
    pixels = np.random.default_rng(5).integers(0, 65536, (31, 44), np.uint16)
    wide = Image.fromarray(pixels.astype(np.float32))
    for size in ((12, 20), (60, 99)):
        made = np.asarray(wide.resize(size[::-1], Image.Resampling[kind.upper()]))
        expected = np.floor(made.clip(0, 65535) + 0.5)
        assert np.abs(ops.resize(pixels, size=size, interpolation=kind) - expected).max() <= 1


def test_a_png_of_sixteen_bits_is_written_as_opencv_reads_it() -> None:
    for channels in (1, 3, 4):
        pixels = numbers(16, channels)
        data = ops.encode_image(pixels, format="png")
        assert np.array_equal(decode(data, dtype="unchanged"), pixels)
        read = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
        order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]
        assert np.array_equal(read.reshape(pixels.shape)[..., order], pixels)


def test_damage_of_wide_files_is_an_error() -> None:
    for name in ("png by OpenCV", "tiff by OpenCV", "jpeg 2000", "jpeg xl", "avif", "pnm", "plain pnm"):
        written = WRITTEN[name]
        bits = written.bits[-1]
        data = written.encode(numbers(bits, 3), bits)
        with pytest.raises((hr.CorruptSample, NotImplementedError)):
            decode(data[: len(data) * 2 // 3], dtype="uint16")
