"""decode_image against Pillow 13: every real file of the formats that go through a library, and files made here.

Where we answer otherwise, the file stands in a table with the reason.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

import headrace as hr
from headrace import ops

REFUSALS = (
    hr.CorruptSample,
    NotImplementedError,
    MemoryError,
)  # damaged, of a kind that is not read, too large


def picture(height: int, width: int, channels: int, seed: int = 1) -> Any:
    """Make a smooth picture with edges and a little noise; alpha takes a few values only."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [np.sin(x / (7 + c)) * 60 + np.cos(y / (5 + c)) * 60 + 128 for c in range(channels)]
    out = np.stack(planes, axis=-1) + random.normal(0, 6, (height, width, channels))
    out[height // 3 :, : width // 2] += 40
    if channels in (2, 4):
        out[..., -1] = np.where(x % 5 == 0, 0, np.where(y % 3 == 0, 128, 255))
    return out.clip(0, 255).astype(np.uint8)


def image(mode: str, height: int, width: int) -> Image.Image:
    """Make a picture in a mode of Pillow."""
    if mode == "P":
        return Image.fromarray(picture(height, width, 3)).quantize(200)
    if mode == "1":
        return Image.fromarray(picture(height, width, 1)[..., 0]).convert("1")
    if mode == "CMYK":
        return Image.fromarray(picture(height, width, 3)).convert("CMYK")
    channels = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}[mode]
    pixels = picture(height, width, channels)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels, mode)


# Formats whose every pixel comes from integers that the standard fixes.
SAVES: list[tuple[str, str, dict[str, Any]]] = [
    *[
        ("WEBP", mode, options)
        for mode in ("RGB", "RGBA")
        for options in ({"quality": 60}, {"lossless": True})
    ],
    ("WEBP", "RGBA", {"quality": 80, "exact": True}),
    *[("GIF", mode, options) for mode in ("L", "P", "1") for options in ({}, {"interlace": True})],
    ("GIF", "P", {"transparency": 3}),
    *[("BMP", mode, {}) for mode in ("1", "L", "P", "RGB", "RGBA")],
    *[
        ("TIFF", mode, {"compression": compression})
        for mode in ("1", "L", "P", "LA", "RGB", "RGBA", "CMYK")
        for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits")
    ],
    ("TIFF", "1", {"compression": "group4"}),
    ("TIFF", "RGB", {"compression": "jpeg"}),
    ("TIFF", "L", {"compression": "jpeg"}),
    ("TIFF", "RGB", {"compression": "tiff_lzw", "tiffinfo": {317: 2}}),  # horizontal differences
    *[("JPEG2000", mode, {}) for mode in ("L", "LA", "RGB", "RGBA")],
    ("JPEG2000", "RGB", {"no_jp2": True, "tile_size": (32, 32)}),
]


@pytest.mark.parametrize(("format_name", "mode", "options"), SAVES, ids=str)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (37, 53), (130, 7)])
def test_what_pillow_writes_is_read_as_pillow_reads_it(
    format_name: str, mode: str, options: dict[str, Any], height: int, width: int
) -> None:
    """RGB and grey, byte for byte."""
    out = io.BytesIO()
    image(mode, height, width).save(out, format_name, **options)
    with Image.open(io.BytesIO(out.getvalue())) as reread:
        rgb = reread.convert("RGB")
    assert np.array_equal(ops.decode_image(out.getvalue()), np.asarray(rgb))
    gray = ops.decode_image(out.getvalue(), color="gray")
    assert np.array_equal(gray[..., 0], np.asarray(rgb.convert("L")))


@pytest.mark.parametrize(
    ("format_name", "mode", "options"),
    [
        ("AVIF", "RGB", {"quality": 100, "subsampling": "4:4:4"}),
        ("AVIF", "RGB", {"quality": 60}),
        ("AVIF", "RGBA", {"quality": 80}),
        ("JPEG2000", "RGB", {"irreversible": True, "quality_layers": [20]}),
    ],
    ids=str,
)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (37, 53), (130, 7)])
def test_formats_that_compute_in_floats_differ_by_rounding(
    format_name: str, mode: str, options: dict[str, Any], height: int, width: int
) -> None:
    """Pillow holds another version of the library."""
    out = io.BytesIO()
    image(mode, height, width).save(out, format_name, **options)
    with Image.open(io.BytesIO(out.getvalue())) as reread:
        expected = np.asarray(reread.convert("RGB")).astype(int)
    assert np.abs(ops.decode_image(out.getvalue()) - expected).max() <= 1


@pytest.mark.parametrize(("name", "channels"), [("gray", 1), ("rgb", 3), ("rgba", 4)])
def test_lossless_jpeg_xl_is_what_went_in(name: str, channels: int) -> None:
    """Pillow has no JPEG XL: written by imagecodecs (libjxl 0.11) from this formula."""
    data = (Path(__file__).parents[2] / "fuzz/corpus/decode_image" / f"{name}.jxl").read_bytes()
    y, x, c = np.mgrid[0:11, 0:13, 0:channels]
    expected = ((x * 9 + y * 14 + c * 40 + (x * y) // 3) % 256).astype(np.uint8)
    assert np.array_equal(ops.decode_image(data, color="unchanged"), expected)
    rgb = np.asarray(Image.fromarray(expected[..., 0] if channels == 1 else expected).convert("RGB"))
    assert np.array_equal(ops.decode_image(data), rgb)


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "CMYK"])
def test_unchanged_gives_the_channels_of_the_file(mode: str) -> None:
    """TIFF has them all."""
    out, written = io.BytesIO(), image(mode, 20, 30)
    written.save(out, "TIFF")
    expected = np.asarray(written)
    assert np.array_equal(ops.decode_image(out.getvalue(), color="unchanged"), expected.reshape(20, 30, -1))


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_unchanged_gives_the_channels_of_an_avif(mode: str) -> None:
    out = io.BytesIO()
    made = image(mode, 16, 24)
    made.save(out, "AVIF", quality=100, **({"subsampling": "4:0:0"} if mode == "L" else {}))
    got = ops.decode_image(out.getvalue(), color="unchanged")
    assert got.shape == (16, 24, len(made.getbands()))
    rgb = ops.decode_image(out.getvalue())[..., : got.shape[2]]
    assert np.array_equal(got[..., :3], rgb[..., :3])


def test_transparency_of_a_palette_is_alpha() -> None:
    """GIF marks one index as transparent."""
    out = io.BytesIO()
    image("P", 20, 30).save(out, "GIF", transparency=3)
    with Image.open(out) as reread:
        expected = np.asarray(reread.convert("RGBA"))
    assert (expected[..., 3] == 0).any()
    assert np.array_equal(ops.decode_image(out.getvalue(), color="unchanged"), expected)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format_name", ["WEBP", "TIFF", "AVIF"])
def test_orientation_is_found(format_name: str, orientation: int) -> None:
    """In the EXIF chunk of a WebP, among the tags of a TIFF, in the turn and the mirror of an AVIF."""
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = orientation
    pixels = picture(20, 30, 3)
    Image.fromarray(pixels).save(out, format_name, exif=exif, lossless=True, quality=100, subsampling="4:4:4")
    stored = Image.fromarray(ops.decode_image(out.getvalue()))
    stored.getexif()[0x0112] = orientation
    expected = np.asarray(ImageOps.exif_transpose(stored))
    assert np.array_equal(ops.decode_image(out.getvalue(), exif_orientation=True), expected)
    assert format_name == "AVIF" or np.array_equal(stored, pixels)


def test_the_first_frame_of_an_animation_lies_on_its_canvas() -> None:
    """As Pillow shows it."""
    frames = [Image.fromarray(picture(24, 36, 4, seed)) for seed in range(3)]
    for format_name in ("WEBP", "GIF"):
        out = io.BytesIO()
        frames[0].save(out, format_name, save_all=True, append_images=frames[1:], duration=50)
        with Image.open(out) as reread:
            expected = np.asarray(reread.convert("RGB"))
        assert np.array_equal(ops.decode_image(out.getvalue()), expected), format_name


@pytest.mark.parametrize(
    ("format_name", "mode"), [("WEBP", "RGB"), ("GIF", "P"), ("BMP", "P"), ("TIFF", "RGB")]
)
def test_a_cut_off_file_is_refused(format_name: str, mode: str) -> None:
    """Every prefix but the last bytes: an error that says so, and never a crash."""
    out = io.BytesIO()
    image(mode, 16, 16).save(out, format_name)
    whole = out.getvalue()
    decoded = ops.decode_image(whole)
    for size in range(1, len(whole)):
        try:
            part = ops.decode_image(whole[:size])
        except REFUSALS:
            continue
        assert len(whole) - size <= 16, f"{size} of {len(whole)} bytes"
        assert np.array_equal(part, decoded)


@pytest.mark.parametrize(
    ("format_name", "mode"), [("WEBP", "RGBA"), ("GIF", "P"), ("BMP", "P"), ("TIFF", "RGB")]
)
def test_damaged_bytes_end_in_pixels_or_an_error(format_name: str, mode: str) -> None:
    """One byte after the other is replaced."""
    out = io.BytesIO()
    image(mode, 9, 11).save(out, format_name)
    whole = bytearray(out.getvalue())
    for at in range(min(len(whole), 600)):
        for value in (0, 1, 0x7F, 0xFF):
            damaged = bytearray(whole)
            damaged[at] = value
            with contextlib.suppress(*REFUSALS):
                assert ops.decode_image(bytes(damaged), max_pixels=1 << 20).dtype == np.uint8


def test_damaged_fax_codes_are_an_error() -> None:
    """libtiff complains of them and goes on."""
    out = io.BytesIO()
    made = Image.fromarray((picture(64, 64, 1) > 127).reshape(64, 64))
    made.save(out, "TIFF", compression="group4")
    whole = out.getvalue()
    assert np.array_equal(ops.decode_image(whole, color="gray")[..., 0], np.asarray(made.convert("L")))
    with Image.open(io.BytesIO(whole)) as opened:
        begin, size = opened.tag_v2[273][0], opened.tag_v2[279][0]
    damaged = bytearray(whole)
    damaged[begin + size // 2 : begin + size // 2 + 4] = bytes(4)  # so many zeros are no code
    with pytest.raises(hr.CorruptSample, match="damaged TIFF: "):
        ops.decode_image(bytes(damaged))


# ---- real files

# Why we refuse what Pillow reads. Only the end of a path is given.
STRICTER = {
    "99b5e9ae915d7bc61ba274129693571664e7b689-1": "its last block of pixels is cut off",
    "issue_2811.gif": "its last block of pixels is cut off",
    "testfax3_bug54_1dnoEOL.tif": "fewer rows than it says",
    "testfax3_bug_513.tiff": "libtiff 4.5 calls its only row an overflow",
    "crash-74d2a78403a5a59db1fb0a2b8735ac068a75f6e3.tif": "fax codes that are none, of which libtiff complains and goes on",
    "lab-green.tif": "CIELAB",
    "tiff_strip_cmyk_16l_jpeg.tif": "16 bits",
    "colors-animated-8bpc-audio.avif": "libavif 0.11 wants every track to be one of pictures",
    "draw_points_idat_progressive_metasize0.avif": "libavif 0.11 does not know boxes that reach to the end",
    "sofa_grid1x5_420_reversed_dimg_order.avif": "libavif 0.11 takes the tiles of a grid in the order of the file",
}
# Why we read what Pillow refuses.
LAXER = {
    "rgb32bf.bmp": "masks that Pillow does not list",
    "rgb16-231.bmp": "masks that Pillow does not list",
    "pal4rlecut.bmp": "ends its bitmap early, which means colour 0 for the rest",
    "pal8rlecut.bmp": "ends its bitmap early, which means colour 0 for the rest",
    "pal8oversizepal.bmp": "a palette of more than 256 colours",
    "invalid-palette-ref.tiff": "tags that Pillow stumbles over",
    "tiff_overflow_rows_per_strip.tif": "tags that Pillow stumbles over",
    "webp_lossless_rgba_alpha_fully_opaque.tif": "compression that Pillow's libtiff lacks",
    "alpha_noispe.avif": "alpha without a size of its own",
    "clap_irot_imir_non_essential.avif": "properties that should be marked essential",
    "pyramid_pymd.avif": "an unknown way to group images",
    "seine_sdr_gainmap_gammazero.avif": "gain maps, of which libavif 0.11 knows nothing",
    "supported_gainmap_writer_version_with_extra_bytes.avif": "gain maps, of which libavif 0.11 knows nothing",
}
FOLDERS = {
    "webp": 109,
    "gif": 65,
    "bmp": 50,
    "tiff": 54,
    "avif_jxl_jp2": 30,
    "pnm": 6,
}  # how many have the same pixels, at least


EXPLAINED = {"same", "close", "both refuse", "stricter", "laxer", "different"}


def pillow(data: bytes) -> tuple[str, Any]:
    """Answer the mode and the RGB pixels, or the error in place of them."""
    try:
        with Image.open(io.BytesIO(data)) as opened:
            opened.load()
            return opened.mode, np.asarray(opened.convert("RGB"))
    except Exception as error:  # noqa: BLE001 - Pillow raises all kinds for damaged files
        return "", error


def decoded(data: bytes, **options: Any) -> Any:
    """Decode; what has more than 8 bits a sample to the high ones, as Pillow does."""
    try:
        return ops.decode_image(data, **options)
    except NotImplementedError as error:
        if 'dtype="uint8"' not in str(error):
            raise
        return ops.decode_image(data, dtype="uint8", **options)


def verdict(path: Path) -> str:
    """Compare one file; "" when nothing explains a difference."""
    data = path.read_bytes()
    mode, expected = pillow(data)
    try:
        got = decoded(data, exif_orientation="/tiff/" in str(path))
    except REFUSALS as error:
        if isinstance(expected, Exception):
            return "both refuse"
        deep = mode.startswith("I") or mode == "F"
        known = any(path.name.endswith(name) for name in STRICTER)
        return "stricter" if deep or known else f"{error}"
    if isinstance(expected, Exception):
        frame_outside = "tile cannot extend outside image" in str(expected)  # a frame of no pixels
        known = frame_outside or path.name in LAXER or path.suffix == ".jxl"  # Pillow has no JPEG XL
        return "laxer" if known else f"Pillow refuses: {expected}"
    if np.array_equal(got, expected):
        return "same"
    if mode.startswith("I"):  # 16 bits in one channel, of which we keep the high ones
        return "different"
    close = got.shape == expected.shape and np.abs(got.astype(int) - expected).max() <= 2
    return "close" if path.suffix == ".avif" and close else "other pixels"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_real_file_equals_pillow_or_stands_in_a_table(folder: str) -> None:
    """Needs $HEADRACE_DATA."""
    root = os.environ.get("HEADRACE_DATA", "")
    if not root:
        pytest.skip("set HEADRACE_DATA to the folder of real files")
    files = [path for path in sorted((Path(root) / "images" / folder).rglob("*")) if path.is_file()]
    verdicts = {str(path): verdict(path) for path in files}
    odd = {name: text for name, text in verdicts.items() if text not in EXPLAINED}
    assert odd == {}
    assert Counter(verdicts.values())["same"] >= FOLDERS[folder]
