"""Colour spaces, channel meanings and subsamplings of every image codec beside a second reader.

Files are made here: by Pillow, imagecodecs and opj_compress, with boxes, tags and markers set by hand where no writer sets them. The
second readers are Pillow, imagecodecs (its own openjpeg, libjxl, libavif and libtiff) and opj_decompress.
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms

import headrace as hr
from headrace import ops

imagecodecs = pytest.importorskip("imagecodecs", reason="make oracle installs it")

HEIGHT, WIDTH = 18, 26


def picture(channels: int, dtype: Any = np.uint8, seed: int = 1) -> Any:
    """Make smooth colours with edges; alpha takes a few values only."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [(x * (9 - 2 * c) + y * (3 + 4 * c) + 40 * c) % 256 for c in range(channels)]
    out = np.stack(planes, axis=-1) + random.integers(0, 4, (HEIGHT, WIDTH, channels))
    if channels in (2, 4):
        out[..., -1] = np.where(x % 5 == 0, 0, np.where(y % 3 == 0, 128, 255))
    most = np.iinfo(dtype).max
    return (out.clip(0, 255).astype(np.int64) * most // 255).astype(dtype)


def flat(pixels: Any) -> Any:
    return pixels[..., 0] if pixels.shape[-1] == 1 else pixels


def with_alpha_dropped(pixels: Any) -> Any:
    """Grey or RGB with or without alpha, as RGB."""
    colours = pixels[..., :3] if pixels.shape[-1] >= 3 else np.repeat(pixels[..., :1], 3, axis=-1)
    return np.ascontiguousarray(colours)


def far(a: Any, b: Any) -> int:
    assert a.shape == b.shape
    return int(np.abs(a.astype(np.int64) - b.astype(np.int64)).max())


def by_pillow(data: bytes, mode: str = "RGB") -> Any:
    with Image.open(io.BytesIO(data)) as opened:
        return np.asarray(opened.convert(mode))


def profile_of(space: str) -> bytes:
    """Answer the start of an ICC profile of a space, as far as anyone looks at it here."""
    return struct.pack(">I4sI4s4s4s", 128, b"none", 0x04000000, b"mntr", space.encode(), b"XYZ ") + bytes(104)


# ---- JPEG 2000


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind) + content


def code_stream(pixels: Any) -> bytes:
    """Lossless, without a colour transform."""
    return bytes(
        imagecodecs.jpeg2k_encode(flat(pixels), level=0, codecformat="j2k", mct=False, reversible=True)
    )


def enumerated(space: int) -> bytes:
    return box(b"colr", struct.pack(">BBBI", 1, 0, 0, space))


def by_profile(space: str) -> bytes:
    return box(b"colr", b"\2\0\0" + profile_of(space))


def channels(*entries: tuple[int, int, int]) -> bytes:
    """Make the box of (component, kind, colour)."""
    return box(b"cdef", struct.pack(">H", len(entries)) + b"".join(struct.pack(">HHH", *e) for e in entries))


def jp2(stream: bytes, *boxes: bytes, size: tuple[int, int] = (HEIGHT, WIDTH)) -> bytes:
    """A container around a code stream."""
    components, bits = struct.unpack(">H", stream[40:42])[0], stream[42]
    header = box(b"ihdr", struct.pack(">IIHBBBB", *size, components, bits, 7, 0, 0)) + b"".join(boxes)
    signature = b"\0\0\0\x0cjP  \r\n\x87\n"
    return signature + box(b"ftyp", b"jp2 \0\0\0\0jp2 ") + box(b"jp2h", header) + box(b"jp2c", stream)


def to_ycc(rgb: Any) -> Any:
    return np.asarray(Image.fromarray(rgb).convert("YCbCr"))


def from_ycc(ycc: Any, most: int = 255) -> Any:
    """ISO 15444-1, annex M: BT.601 of the full range."""
    y, cb, cr = (ycc[..., c].astype(float) - ((most + 1) / 2 if c else 0) for c in range(3))
    rgb = np.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], axis=-1)
    return np.floor(rgb.clip(0, most) + 0.5).clip(0, most)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_jpeg_2000_of_plain_colours(count: int, dtype: Any) -> None:
    """Grey and RGB, with and without alpha: bare, named, by a profile, with the channels defined."""
    pixels = picture(count, dtype)
    stream = code_stream(pixels)
    gray = count <= 2
    alpha = [(count - 1, 1, 0)] if count in (2, 4) else []
    defined = channels(*[(c, 0, c + 1) for c in range(1 if gray else 3)], *alpha)
    files = {
        "bare": stream,
        "named": jp2(stream, enumerated(17 if gray else 16)),
        "profile": jp2(stream, by_profile("GRAY" if gray else "RGB ")),
        "defined": jp2(stream, enumerated(17 if gray else 16), defined),
        "no colour box": jp2(stream),
        "a later colour box": jp2(stream, enumerated(17 if gray else 16), enumerated(14)),
    }
    for name, data in files.items():
        got = ops.decode_image(data, color="unchanged", dtype=np.dtype(dtype).name)
        assert np.array_equal(got, pixels), name
        if dtype == np.uint8:
            assert np.array_equal(ops.decode_image(data), with_alpha_dropped(pixels)), name


def test_jpeg_2000_with_alpha_first() -> None:
    pixels = picture(4)
    data = jp2(
        code_stream(pixels[..., [3, 0, 1, 2]]),
        enumerated(16),
        channels((0, 1, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3)),
    )
    assert np.array_equal(ops.decode_image(data, color="unchanged"), pixels)
    assert np.array_equal(ops.decode_image(data), pixels[..., :3])


@pytest.mark.parametrize("alpha", [False, True])
def test_jpeg_2000_in_sycc_is_converted(alpha: bool) -> None:
    pixels = picture(4 if alpha else 3)
    ycc = pixels.copy()
    ycc[..., :3] = to_ycc(np.ascontiguousarray(pixels[..., :3]))
    data = jp2(code_stream(ycc), enumerated(18))
    got = ops.decode_image(data)
    assert far(got, from_ycc(ycc)) == 0
    assert far(got, pixels[..., :3]) <= 3, "the colours that went in, but for their rounding"
    if alpha:
        assert np.array_equal(ops.decode_image(data, color="unchanged")[..., 3], pixels[..., 3])
    else:
        assert far(got, by_pillow(data)) <= 1


def test_jpeg_2000_in_sycc_of_16_bits_is_converted() -> None:
    ycc = picture(3, np.uint16)
    ycc[..., 1:] = ycc[..., 1:] // 4 + 24576  # within what RGB can show
    data = jp2(code_stream(ycc), enumerated(18))
    assert far(ops.decode_image(data, dtype="uint16"), from_ycc(ycc, 65535)) <= 1


@pytest.mark.parametrize("colour", [enumerated(12), by_profile("CMYK")], ids=["named", "profile"])
def test_jpeg_2000_in_cmyk_is_converted(colour: bytes) -> None:
    pixels = picture(4)
    data = jp2(code_stream(pixels), colour)
    expected = np.asarray(Image.fromarray(pixels, "CMYK").convert("RGB"))
    assert np.array_equal(ops.decode_image(data), expected)
    assert np.array_equal(ops.decode_image(data, color="unchanged"), pixels)
    if colour == enumerated(12):
        assert far(expected, by_pillow(data)) <= 1


REFUSED_SPACES = {
    0: "bi-level", 1: "YCbCr of BT.709", 3: "YCbCr of BT.601", 9: "PhotoYCC", 11: "CMY", 13: "YCCK", 14: "CIELab",
    19: "CIEJab", 20: "e-sRGB", 21: "ROMM-RGB", 22: "YPbPr", 24: "e-sYCC", 77: "the unknown colour space 77",
}  # fmt: skip


@pytest.mark.parametrize("space", REFUSED_SPACES)
def test_jpeg_2000_in_other_spaces_is_refused_by_name(space: int) -> None:
    data = jp2(code_stream(picture(3)), enumerated(space))
    with pytest.raises(NotImplementedError, match=f"grey, RGB, sYCC or CMYK, got .*{REFUSED_SPACES[space]}"):
        ops.decode_image(data)


@pytest.mark.parametrize(
    ("boxes", "count", "words"),
    [
        ([by_profile("Lab ")], 3, "a colour profile of 'Lab '"),
        ([box(b"colr", b"\4\0\0" + bytes(16))], 3, "a colour space that only its maker knows"),
        ([enumerated(12)], 3, "CMYK in 3 components"),
        ([enumerated(17)], 3, "grey in 3 components"),
        ([enumerated(16), channels((0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 2, 0))], 4, "multiplied by alpha"),
        ([enumerated(16), channels((0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 65535, 65535))], 4, "kind 65535"),
        ([enumerated(16), box(b"pclr", bytes(8))], 3, "palette"),
    ],
)
def test_jpeg_2000_of_other_meanings_is_refused(boxes: list[bytes], count: int, words: str) -> None:
    with pytest.raises(NotImplementedError, match=words):
        ops.decode_image(jp2(code_stream(picture(count)), *boxes))


@pytest.mark.parametrize(
    "boxes",
    [
        [box(b"colr", b"")],
        [box(b"colr", b"\1\0\0\0")],
        [box(b"colr", b"\2\0\0short")],
        [box(b"cdef", b"\xff\xff")],
        [channels((9, 0, 1), (1, 0, 2), (2, 0, 3))],
        [channels((0, 0, 1), (1, 0, 1), (2, 0, 3))],
        [channels((0, 0, 1))],
    ],
)
def test_a_damaged_container_is_an_error(boxes: list[bytes]) -> None:
    with pytest.raises(hr.CorruptSample, match="damaged JPEG 2000"):
        ops.decode_image(jp2(code_stream(picture(3)), *boxes))


def coarse(stream: bytes, step: int) -> bytes:
    """Say that all components have every `step`-th sample of a grid so much larger: a change of the header only."""
    out = bytearray(stream)
    for at in (8, 12, 24, 28):  # the grid, and the size of a tile
        struct.pack_into(">I", out, at, struct.unpack_from(">I", out, at)[0] * step)
    for c in range(struct.unpack_from(">H", out, 40)[0]):
        out[43 + 3 * c] = out[44 + 3 * c] = step
    return bytes(out)


opj = pytest.mark.skipif(not shutil.which("opj_decompress"), reason="tools/install_system_packages.sh --dev")


def by_opj(data: bytes, folder: Path, count: int = 3) -> Any:
    source = folder / ("in.jp2" if data[:4] == b"\0\0\0\x0c" else "in.j2k")
    out = folder / ("out.ppm" if count == 3 else "out.pgm")
    source.write_bytes(data)
    subprocess.run(["opj_decompress", "-i", source, "-o", out], check=True, capture_output=True)
    with Image.open(out) as opened:
        return np.asarray(opened.convert("RGB"))


@opj
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_jpeg_2000_channels_in_any_order(order: tuple[int, ...], tmp_path: Path) -> None:
    """As opj_decompress arranges them; Pillow leaves them as they are stored."""
    pixels = picture(3)
    data = jp2(
        code_stream(pixels[..., list(order)]),
        enumerated(16),
        channels(*[(i, 0, order[i] + 1) for i in range(3)]),
    )
    assert np.array_equal(ops.decode_image(data), pixels)
    assert np.array_equal(by_opj(data, tmp_path), pixels)


@opj
@pytest.mark.parametrize("step", [2, 3, 17])
@pytest.mark.parametrize("count", [1, 3])
def test_components_on_one_coarse_grid_are_what_they_are(count: int, step: int, tmp_path: Path) -> None:
    """RGB stays RGB, at the components' own size, as opj_decompress writes it."""
    pixels = picture(count)
    stream = coarse(code_stream(pixels), step)
    space = enumerated(16 if count == 3 else 17)
    for data in (stream, jp2(stream, space, size=(HEIGHT * step, WIDTH * step))):
        got = ops.decode_image(data)
        assert np.array_equal(got, with_alpha_dropped(pixels))
        assert np.array_equal(got, by_opj(data, tmp_path, count))


@opj
@pytest.mark.parametrize("sizes", ["1x1:2x2:2x2", "1x1:2x1:2x1", "1x1:1x1:1x1"])
@pytest.mark.parametrize("origin", [0, 1])
def test_ycbcr_of_every_subsampling(sizes: str, origin: int, tmp_path: Path) -> None:
    """opj_compress keeps raw components as they are; the second reader is opj_decompress."""
    ycc = to_ycc(picture(3))
    steps = [tuple(map(int, size.split("x"))) for size in sizes.split(":")]
    raw = b"".join(np.ascontiguousarray(ycc[::dy, ::dx, c]).tobytes() for c, (dx, dy) in enumerate(steps))
    (tmp_path / "in.raw").write_bytes(raw)
    out = tmp_path / "made.j2k"
    command = ["opj_compress", "-i", tmp_path / "in.raw", "-o", out, "-mct", "0", "-n", "1"]
    command += [
        "-F",
        f"{WIDTH},{HEIGHT},3,8,u@{sizes}",
        *(["-d", f"{origin * 2},{origin * 2}"] if origin else []),
    ]
    subprocess.run(command, check=True, capture_output=True)
    subsampled = sizes != "1x1:1x1:1x1"
    stream = out.read_bytes()
    boxed = jp2(stream, enumerated(18))
    expected = by_opj(boxed, tmp_path)
    wide = [np.repeat(np.repeat(ycc[::dy, ::dx, c], dy, 0), dx, 1) for c, (dx, dy) in enumerate(steps)]
    assert far(ops.decode_image(boxed), from_ycc(np.stack(wide, axis=-1)[:HEIGHT, :WIDTH])) == 0
    assert far(ops.decode_image(boxed), expected) <= 1
    if subsampled:
        assert np.array_equal(ops.decode_image(stream), ops.decode_image(boxed)), "without a word it is YCbCr"
        assert far(by_opj(stream, tmp_path), expected) == 0
    else:
        assert np.array_equal(ops.decode_image(stream), ycc), "without a word it is RGB"
        assert np.array_equal(by_opj(stream, tmp_path), ycc)


@opj
@pytest.mark.parametrize(
    ("sizes", "count"), [("2x2:1x1:1x1", 3), ("1x1:2x2:1x1", 3), ("1x1:2x2:2x2:2x2", 4), ("1x1:2x2", 2)]
)
def test_components_of_unlike_sizes_are_refused(sizes: str, count: int, tmp_path: Path) -> None:
    """No reader makes one picture of them."""
    steps = [tuple(map(int, size.split("x"))) for size in sizes.split(":")]
    pixels = picture(count)
    raw = b"".join(np.ascontiguousarray(pixels[::dy, ::dx, c]).tobytes() for c, (dx, dy) in enumerate(steps))
    (tmp_path / "in.raw").write_bytes(raw)
    out = tmp_path / "made.j2k"
    command = ["opj_compress", "-i", tmp_path / "in.raw", "-o", out, "-mct", "0", "-n", "1"]
    subprocess.run([*command, "-F", f"{WIDTH},{HEIGHT},{count},8,u@{sizes}"], check=True, capture_output=True)
    with pytest.raises(NotImplementedError, match="components have one size, or YCbCr with smaller chroma"):
        ops.decode_image(out.read_bytes())


def test_tiles_have_the_same_channels() -> None:
    """Channels are put in order tile by tile."""
    pixels = picture(3)
    out = io.BytesIO()
    turned = Image.fromarray(np.ascontiguousarray(pixels[..., ::-1]))
    turned.save(out, "JPEG2000", no_jp2=True, mct=0, tile_size=(16, 16))
    stream = out.getvalue()
    data = jp2(stream, enumerated(16), channels((0, 0, 3), (1, 0, 2), (2, 0, 1)))
    assert np.array_equal(ops.decode_image(data), pixels)


# ---- JPEG XL


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_lossless_jpeg_xl(count: int, dtype: Any) -> None:
    pixels = picture(count, dtype)
    data = imagecodecs.jpegxl_encode(flat(pixels), lossless=True)
    second = np.asarray(imagecodecs.jpegxl_decode(data)).reshape(pixels.shape)
    got = ops.decode_image(bytes(data), color="unchanged", dtype=np.dtype(dtype).name)
    assert np.array_equal(got, second)
    assert np.array_equal(got, pixels)


@pytest.mark.parametrize("count", [1, 3])
def test_lossy_jpeg_xl(count: int) -> None:
    """In XYB within; the colours come back in the space that the file names."""
    data = imagecodecs.jpegxl_encode(flat(picture(count)), distance=1.0)
    second = np.asarray(imagecodecs.jpegxl_decode(data)).reshape(HEIGHT, WIDTH, count)
    assert far(ops.decode_image(bytes(data), color="unchanged"), second) <= 1


def unchanged(data: bytes) -> Any:
    """Decode to the file's own channels and dtype."""
    for dtype in ("uint8", "uint16", "float32"):
        try:
            return ops.decode_image(data, color="unchanged", **({} if dtype == "uint8" else {"dtype": dtype}))
        except NotImplementedError as error:
            if "dtype=" not in str(error):
                raise
    raise AssertionError("one of them holds every image")


def test_every_real_jpeg_xl_equals_a_newer_libjxl() -> None:
    """Needs $HEADRACE_DATA; Pillow, beside which test_codecs.py reads all other files, has no JPEG XL."""
    root = os.environ.get("HEADRACE_DATA", "")
    if not root:
        pytest.skip("set HEADRACE_DATA to the folder of real files")
    seen = 0
    for path in sorted((Path(root) / "images").rglob("*.jxl")):
        try:
            second = np.asarray(imagecodecs.jpegxl_decode(path.read_bytes()))
            got = unchanged(path.read_bytes())
        except (NotImplementedError, hr.CorruptSample, RuntimeError):
            continue  # refused by one of them: test_codecs.py
        frame = second[0] if second.ndim == 4 or second.ndim - 1 == got.ndim else second
        assert far(got, frame.reshape(got.shape)) <= 2, path.name
        seen += 1
    assert seen >= 8


# ---- AVIF


@pytest.mark.parametrize(
    ("pixelformat", "matrix"),  # BT.709, BT.601 twice, BT.2020; RGB
    [*itertools.product(["yuv444", "yuv422", "yuv420", "yuv400"], [1, 5, 6, 9]), ("yuv444", 0)],
)
@pytest.mark.parametrize("bits", [8, 10, 12])
@pytest.mark.parametrize("alpha", [False, True])
def test_avif(pixelformat: str, matrix: int, bits: int, alpha: bool) -> None:
    pixels = picture(4 if alpha else 3, np.uint8 if bits == 8 else np.uint16) >> (
        0 if bits == 8 else 16 - bits
    )
    data = bytes(
        imagecodecs.avif_encode(
            pixels, level=90, bitspersample=bits, pixelformat=pixelformat, matrix=matrix, speed=9
        )
    )
    second = np.asarray(imagecodecs.avif_decode(data))
    if second.ndim == 2:
        second = second[..., None]
    got = ops.decode_image(data, dtype="uint8" if bits == 8 else "uint16")
    assert far(got, with_alpha_dropped(second)) <= (1 if bits == 8 else 2)
    if alpha:
        assert np.array_equal(unchanged(data)[..., -1], second[..., -1])


# ---- TIFF


def tiff(
    pixels: Any, photometric: int, *, extra: tuple[int, ...] = (), tags: dict[int, Any] | None = None
) -> bytes:
    """One strip, one plane, little-endian."""
    height, width, count = pixels.shape
    entries: dict[int, tuple[int, list[int]]] = {
        256: (4, [width]),
        257: (4, [height]),
        258: (3, [pixels.dtype.itemsize * 8] * count),
        259: (3, [1]),
        262: (3, [photometric]),
        277: (3, [count]),
        278: (4, [height]),
        279: (4, [pixels.nbytes]),
    }
    if extra:
        entries[338] = (3, list(extra))
    entries |= {tag: (3, value) for tag, value in (tags or {}).items()}
    entries[273] = (4, [8])
    data = (
        b"II*\0"
        + struct.pack("<I", 8 + pixels.nbytes)
        + pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
    )
    directory, behind = struct.pack("<H", len(entries)), b""
    after = len(data) + 2 + 12 * len(entries) + 4
    for tag, (kind, values) in sorted(entries.items()):
        packed = struct.pack(f"<{len(values)}{'H' if kind == 3 else 'I'}", *values)
        if len(packed) > 4:
            where = struct.pack("<I", after + len(behind))
            behind += packed
        else:
            where = packed.ljust(4, b"\0")
        directory += struct.pack("<HHI", tag, kind, len(values)) + where
    return data + directory + bytes(4) + behind


@pytest.mark.parametrize(
    ("photometric", "count", "extra", "mode"),
    [
        (0, 1, (), "L"), (1, 1, (), "L"), (1, 2, (0,), "L"), (1, 2, (2,), "LA"), (2, 3, (), "RGB"), (2, 4, (0,), "RGB"),
        (2, 4, (1,), "RGBA"), (2, 4, (2,), "RGBA"), (5, 4, (), "CMYK"),
    ],
)  # fmt: skip
def test_tiff(photometric: int, count: int, extra: tuple[int, ...], mode: str) -> None:
    pixels = picture(count)
    if extra == (1,):  # colours that are multiplied by it
        pixels[..., :3] = (pixels[..., :3].astype(int) * pixels[..., 3:] // 255).astype(np.uint8)
    data = tiff(pixels, photometric, extra=extra)
    assert np.array_equal(ops.decode_image(data), by_pillow(data))
    own = unchanged(data)
    assert own.shape[-1] == len(mode)
    assert np.array_equal(own, by_pillow(data, mode).reshape(own.shape))


@pytest.mark.parametrize(
    ("photometric", "tags", "words"),
    [
        (8, {}, "got CIELab"),
        (9, {}, "got ICCLab"),
        (10, {}, "got ITULab"),
        (32803, {}, "sensor"),
        (32845, {}, "LogLuv"),
        (77, {}, "unknown photometric interpretation 77"),
        (5, {332: [2]}, "inks that are not CMYK"),
    ],
)
def test_tiff_of_other_spaces_is_refused_by_name(photometric: int, tags: dict[int, Any], words: str) -> None:
    pixels = picture(4 if photometric == 5 else 3)
    with pytest.raises((NotImplementedError, hr.CorruptSample), match=words):
        ops.decode_image(tiff(pixels, photometric, tags=tags))


# ---- JPEG


def jpeg(mode: str, **options: Any) -> bytes:
    count = {"L": 1, "RGB": 3, "CMYK": 4}[mode]
    out = io.BytesIO()
    Image.fromarray(flat(picture(count)), mode).save(out, "JPEG", quality=90, **options)
    return out.getvalue()


def with_transform(data: bytes, transform: int | None) -> bytes:
    """Set what Adobe's marker says of the colours, or say nothing at all."""
    segments, at = [data[:2]], 2
    while data[at + 1] != 0xDA:
        size = 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
        if data[at + 1] not in (0xE0, 0xEE):
            segments.append(data[at : at + size])
        at += size
    marker = b"" if transform is None else b"\xff\xee\x00\x0eAdobe\x00\x64\0\0\0\0" + bytes([transform])
    return segments[0] + marker + b"".join(segments[1:]) + data[at:]


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
@pytest.mark.parametrize("transform", [None, 0, 1, 2])
@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg(mode: str, subsampling: str, transform: int | None, progressive: bool) -> None:
    """Grey, YCbCr and RGB, CMYK and YCCK: by Adobe's marker, or by the number of components."""
    data = with_transform(jpeg(mode, subsampling=subsampling, progressive=progressive), transform)
    assert np.array_equal(ops.decode_image(data), by_pillow(data))


def test_jpeg_whose_components_are_named_r_g_b() -> None:
    data = jpeg("RGB", keep_rgb=True, subsampling=0)
    assert b"Adobe" in data or b"\x03R" in data
    assert np.array_equal(ops.decode_image(data), by_pillow(data))


# ---- PNG, WebP, GIF, BMP, PNM: profiles and chunks that change no number


@pytest.mark.parametrize("format_name", ["PNG", "WEBP", "TIFF", "JPEG", "AVIF", "JPEG2000"])
def test_profiles_are_not_applied(format_name: str) -> None:
    """By no codec; the numbers stay those of the file."""
    pixels = Image.fromarray(picture(3))
    plain, tagged = io.BytesIO(), io.BytesIO()
    options: dict[str, Any] = {"lossless": True} if format_name == "WEBP" else {}
    pixels.save(plain, format_name, **options)
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("XYZ")).tobytes()
    pixels.save(tagged, format_name, icc_profile=profile, **options)
    assert np.array_equal(ops.decode_image(tagged.getvalue()), ops.decode_image(plain.getvalue()))


@pytest.mark.parametrize(
    ("format_name", "mode"),
    [
        *itertools.product(["PNG", "WEBP", "GIF"], ["1", "L", "LA", "P", "RGB", "RGBA"]),
        *itertools.product(["BMP"], ["1", "L", "P", "RGB", "RGBA"]),
        *itertools.product(["PPM"], ["1", "L", "RGB"]),
    ],
)
def test_plain_formats(format_name: str, mode: str) -> None:
    colours = Image.fromarray(picture(3))
    made = colours.quantize(32) if mode == "P" else colours.convert(mode)
    out = io.BytesIO()
    made.save(out, format_name, **({"lossless": True} if format_name == "WEBP" else {}))
    data = out.getvalue()
    assert np.array_equal(ops.decode_image(data), by_pillow(data))
    assert np.array_equal(
        ops.decode_image(data, color="gray")[..., 0],
        np.asarray(Image.fromarray(by_pillow(data)).convert("L")),
    )
