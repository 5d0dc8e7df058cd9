"""Images of more than 8 bits a sample in pipelines: refused, kept or narrowed, but never cut unseen."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

DEPTH = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
BOTH_WAYS = (
    'got PNG with 16 bits a sample: dtype="uint16" keeps its numbers, dtype="uint8" the high 8 bits of each'
)


def png(pixels: Any) -> bytes:
    """Write grey as Pillow does; of 16 bits in RGB by hand, which Pillow cannot."""
    if pixels.ndim == 2:
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "PNG")
        return out.getvalue()

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content).to_bytes(4, "big")
        return len(content).to_bytes(4, "big") + kind + content + checksum

    height, width = pixels.shape[:2]
    head = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def folder(path: Path, **files: bytes) -> Path:
    path.mkdir()
    for name, data in files.items():
        (path / name.replace("_", ".")).write_bytes(data)
    return path


def decoded(**options: Any) -> Any:
    return lambda sample: ops.decode_image(sample.image, color="unchanged", **options)


def test_a_depth_map_is_refused_kept_or_narrowed(tmp_path: Path) -> None:
    data = hr.read_images(folder(tmp_path / "depth", a_png=png(DEPTH)))
    with pytest.raises(NotImplementedError, match=BOTH_WAYS):
        data.map(decoded())[0]
    kept = data.map(decoded(dtype="uint16"))
    assert kept.schema.dtype == np.uint16
    assert np.array_equal(kept[0][..., 0], DEPTH)
    assert np.array_equal(data.map(decoded(dtype="uint8"))[0][..., 0], DEPTH >> 8)
    assert 'dtype="uint16"' in kept.explain()


def test_the_default_is_refused_however_an_image_is_resampled(tmp_path: Path) -> None:
    """The chain that match="fast" makes one step, and a crop that needs a part of the image."""
    data = hr.read_images(folder(tmp_path / "depth", a_png=png(DEPTH)))
    for match in ("fast", "exact"):

        def small(sample: Any, match: Any = match) -> Any:
            return ops.random_resized_crop(ops.decode_image(sample.image, match=match), size=4)

        with pytest.raises(NotImplementedError, match=BOTH_WAYS):
            next(iter(data.map(small).batch(1).numpy()))


def test_consent_narrows_before_it_resamples(tmp_path: Path) -> None:
    data = hr.read_images(folder(tmp_path / "depth", a_png=png(DEPTH)))
    got = data.map(lambda s: ops.resize(ops.decode_image(s.image, color="gray", dtype="uint8"), size=(4, 4)))[
        0
    ]
    expected = ops.resize((DEPTH >> 8).astype(np.uint8)[..., None], size=(4, 4))
    assert got.dtype == np.uint8 and np.array_equal(got, expected)


def test_unchanged_is_what_the_first_image_has_and_the_plan_says_it(tmp_path: Path) -> None:
    for name, pixels, short in [
        ("wide", DEPTH, "u16"),
        ("narrow", (DEPTH // 1000).astype(np.uint8), None),
    ]:
        data = hr.read_images(folder(tmp_path / name, a_png=png(pixels), b_png=png(pixels.T)))
        same = data.map(decoded(dtype="unchanged"))
        assert same.schema.dtype == pixels.dtype
        assert np.array_equal(same[1][..., 0], pixels.T)
        (step,) = json.loads(same.plan())["plan"]["program"]["steps"]
        assert step["params"].get("dtype") == short
        same.save_plan(tmp_path / f"{name}.json")
        assert np.array_equal(hr.load_plan(tmp_path / f"{name}.json")[0][..., 0], pixels)


def test_an_image_of_another_dtype_than_the_first_is_an_error(tmp_path: Path) -> None:
    wide, narrow = png(DEPTH), png((DEPTH // 1000).astype(np.uint8))
    first_wide = hr.read_images(folder(tmp_path / "a", a_png=wide, b_png=narrow)).map(
        decoded(dtype="unchanged")
    )
    assert first_wide[0].dtype == np.uint16
    with pytest.raises(
        NotImplementedError, match=r"more than 8 bits a sample, got PNG with 8 bits a sample.*b\.png"
    ):
        first_wide[1]
    first_narrow = hr.read_images(folder(tmp_path / "b", a_png=narrow, b_png=wide)).map(
        decoded(dtype="unchanged")
    )
    assert first_narrow[0].dtype == np.uint8
    with pytest.raises(NotImplementedError, match=f"{BOTH_WAYS}.*b.png"):
        first_narrow[1]


def test_damaged_first_images_do_not_decide(tmp_path: Path) -> None:
    data = hr.read_images(folder(tmp_path / "a", a_png=b"nothing", b_png=png(DEPTH)))
    assert np.array_equal(data.map(decoded(dtype="unchanged"))[1][..., 0], DEPTH)


def test_unchanged_of_a_computed_field_runs_as_python() -> None:
    """Nobody knows its first value before it runs."""
    images = hr.from_arrays({"image": [png(DEPTH)]})

    def chosen(sample: Any) -> Any:
        return ops.decode_image(
            ops.encode_image(ops.decode_image(sample.image, dtype="uint16"), format="png"), dtype="unchanged"
        )

    with pytest.warns(hr.PythonFunctionWarning, match='dtype="unchanged"'):
        got = images.map(chosen)[0]
    assert got.dtype == np.uint16 and np.array_equal(got[..., 1], DEPTH)


def test_instance_ids_above_255() -> None:
    """Cityscapes numbers instances 26000 and up; files of fewer numbers have 8 bits."""
    ids = (np.arange(64).reshape(8, 8) * 7 + 26000).astype(np.uint16)
    few = (ids - 26000).clip(0, 255).astype(np.uint8)
    data = hr.from_arrays({"mask": [png(ids), png(few)]}).map(
        lambda s: ops.decode_image(s.mask, color="index", dtype="uint16")
    )
    assert np.array_equal(data[0][..., 0], ids) and np.array_equal(data[1][..., 0], few)
    assert data[1].dtype == np.uint16


def test_a_photograph_and_its_depth_are_cropped_alike() -> None:
    """The depth says where each pixel of the photograph was."""
    column = np.tile(np.arange(100), (80, 1))
    photo = np.stack([column, column * 0, column * 0], axis=-1).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(photo).save(out, "PNG")
    files = {"image": [out.getvalue()] * 16, "depth": [png((column * 600).astype(np.uint16))] * 16}

    def both(sample: Any) -> Any:
        image = ops.decode_image(sample.image)
        depth = ops.decode_image(sample.depth, color="gray", dtype="uint16")
        image, depth = ops.random_crop([image, depth], size=48)
        image, depth = ops.random_flip([image, depth])
        image, depth = ops.resize([image, depth], size=24, interpolation="nearest")
        return {
            "image": ops.normalize(image, scale=1),
            "depth": ops.normalize(depth, scale=1 / 256),
            "ids": ops.cast(depth, dtype="float32"),
        }

    batch = next(iter(hr.from_arrays(files).map(both).batch(16).numpy()))
    assert batch["depth"].dtype == np.float32 and batch["depth"].shape == (16, 24, 24, 1)
    assert np.array_equal(batch["image"][..., 0] * 600 / 256, batch["depth"][..., 0])
    assert np.array_equal(batch["ids"], batch["depth"] * 256)
    assert len({row.tobytes() for row in batch["depth"]}) > 4


def test_a_number_of_sixteen_bits_is_normalized_by_a_scale_that_is_given() -> None:
    pixels = DEPTH[..., None]
    with pytest.raises(ValueError, match="expected scale= for a uint16 image, got None: scale=1/65535"):
        ops.normalize(pixels)
    got = ops.normalize(pixels, scale=1 / 65535, mean=0.25, std=0.5, layout="CHW")
    expected = (DEPTH.astype(np.float64) / 65535 - 0.25) / 0.5
    assert np.abs(got[0] - expected).max() < 1e-6
    images = hr.from_arrays({"image": pixels[None]})
    cut = images.map(lambda s: ops.crop_mirror_normalize(s.image, crop=4, scale=1))[0]
    assert np.array_equal(cut[0], DEPTH[2:6, 2:6].astype(np.float32))


def test_boxes_are_cut_out_of_sixteen_bits() -> None:
    got = ops.crop_boxes(DEPTH[..., None], np.array([[2, 1, 6, 5]]), size=4)
    assert got.dtype == np.uint16 and np.array_equal(got[0, ..., 0], DEPTH[1:5, 2:6])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_sixteen_bits_are_turned_upright(orientation: int) -> None:
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = orientation
    pixels = DEPTH[:5]
    Image.fromarray(pixels).save(out, "TIFF", exif=exif)
    turned = {
        1: pixels, 2: pixels[:, ::-1], 3: pixels[::-1, ::-1], 4: pixels[::-1],
        5: pixels.T, 6: pixels[::-1].T, 7: pixels[::-1, ::-1].T, 8: pixels[:, ::-1].T,
    }[orientation]  # fmt: skip
    got = ops.decode_image(out.getvalue(), color="unchanged", exif_orientation=True, dtype="uint16")
    assert np.array_equal(got[..., 0], turned)


def test_colours_of_sixteen_bits() -> None:
    pixels = np.stack([DEPTH, DEPTH[::-1], DEPTH.T], axis=-1)
    data = png(pixels)
    assert np.array_equal(ops.decode_image(data, dtype="uint16"), pixels)
    assert np.array_equal(ops.decode_image(data, dtype="uint8"), pixels >> 8)
    with Image.open(io.BytesIO(data)) as opened:  # which keeps the high 8 bits, too
        assert np.array_equal(ops.decode_image(data, dtype="uint8"), np.asarray(opened.convert("RGB")))


def test_integers_of_32_bits_and_signed_ones_are_refused_by_name() -> None:
    for mode in (np.int32,):
        out = io.BytesIO()
        Image.fromarray(DEPTH.astype(mode)).save(out, "TIFF")
        for dtype in (None, "uint16", "unchanged"):
            with pytest.raises(NotImplementedError, match="got 1 of 32"):
                ops.decode_image(out.getvalue(), dtype=dtype)


def test_a_folder_of_pnm_and_pfm_is_a_folder_of_images(tmp_path: Path) -> None:
    """GTSRB holds .ppm, ORL .pgm, Middlebury and SceneFlow .pfm."""
    for label in ("00000", "00001"):
        (tmp_path / "signs" / label).mkdir(parents=True)
        for kind, mode in (("ppm", "RGB"), ("pgm", "L"), ("pbm", "1"), ("pnm", "RGB")):
            made = Image.fromarray((DEPTH // 256).astype(np.uint8)).convert(mode)
            made.save(tmp_path / "signs" / label / f"x.{kind}", "PPM")
    data = hr.read(tmp_path / "signs")
    assert len(data) == 8 and data.metadata["classes"] == ["00000", "00001"]
    for i, mode in enumerate(("1", "L", "RGB", "RGB")):  # by ending
        with Image.open(io.BytesIO(data[i]["image"])) as opened:
            assert opened.mode == mode
            assert np.array_equal(ops.decode_image(data[i]["image"]), np.asarray(opened.convert("RGB")))
    disparity = DEPTH.astype(np.float32) / 7
    (tmp_path / "disparity").mkdir()
    Image.fromarray(disparity).save(tmp_path / "disparity/0.pfm", "PPM")
    got = hr.read(tmp_path / "disparity").map(
        lambda s: ops.decode_image(s.image, color="gray", dtype="unchanged")
    )
    assert got.schema.dtype == np.float32 and np.array_equal(got[0][..., 0], disparity)


def test_inspect_says_how_many_bits(tmp_path: Path) -> None:
    path = folder(tmp_path / "depth", a_png=png(DEPTH))
    done = subprocess.run(
        [sys.executable, "-c", "import headrace_cli; headrace_cli.main()", "inspect", str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "PNG grey of 16 bits" in done.stdout


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(
        ValueError, match=r'dtype must be "uint8", "uint16", "float32", "unchanged" or None, got "int16"'
    ):
        ops.decode_image(png(DEPTH), dtype="int16")
    with pytest.raises(ValueError, match="scale_in_dct needs pixels of uint8"):
        ops.decode_image(png(DEPTH), dtype="uint16", scale_in_dct=True)
    with pytest.raises(ValueError, match=r'got uint16 .*; format="png" keeps 16 bits'):
        ops.encode_image(DEPTH[..., None])
