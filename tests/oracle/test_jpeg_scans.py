"""JPEGs of every sampling and coding beside another version of libjpeg-turbo, and progressive ones without their last scans.

Pillow's wheel brings libjpeg-turbo 3; what is linked here is the system's. Where scans are missing, libjpeg invents details, each version
its own (docs/decisions/0041): there the second reader is given the same coefficients as a complete file, by jpegtran.
"""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
from typing import Any

import numpy as np
import pytest
from PIL import Image

from headrace import ops

tools = pytest.mark.skipif(not shutil.which("jpegtran"), reason="tools/install_system_packages.sh --dev")
SAMPLINGS = ["1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "2x4", "4x2", "3x1", "1x3"]
CODINGS = ["-baseline", "-optimize", "-progressive", "-arithmetic", "-restart 1"]


def picture(height: int, width: int) -> Any:
    y, x = np.mgrid[0:height, 0:width]
    planes = [np.sin(x / (5 + c)) * 70 + np.cos(y / (4 + c)) * 50 + 128 for c in range(3)]
    noise = np.random.default_rng(3).normal(0, 8, (height, width, 3))
    return (np.stack(planes, axis=-1) + noise).clip(0, 255).astype(np.uint8)


def run(*command: str, data: bytes) -> bytes:
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


def made(sampling: str, coding: str, gray: bool = False, size: tuple[int, int] = (61, 83)) -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture(*size)).save(out, "PPM")
    how = [*coding.split(), *(["-grayscale"] if gray else [])]
    return run("cjpeg", "-quality", "85", "-sample", sampling, *how, data=out.getvalue())


def rgb(data: bytes) -> Any:
    with Image.open(io.BytesIO(data)) as opened:
        return np.asarray(opened.convert("RGB"))


@tools
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("coding", CODINGS)
def test_every_sampling_and_coding_equals_another_version(sampling: str, coding: str) -> None:
    data = made(sampling, coding)
    assert np.array_equal(ops.decode_image(data), rgb(data))


def scans(data: bytes) -> list[int]:
    """Answer where each scan begins (with its tables), and where the last one ends."""
    out, at, begin = [], 2, 2
    while data[at + 1] != 0xD9:
        marker, size = data[at + 1], struct.unpack(">H", data[at + 2 : at + 4])[0]
        at += 2 + size
        if marker in (0xC2, 0xCA):
            begin = at
        if marker != 0xDA:
            continue
        out.append(begin)
        while not (data[at] == 0xFF and data[at + 1] not in (0, *range(0xD0, 0xD8))):
            at += 1
        begin = at
    return [*out, begin]


@tools
@pytest.mark.parametrize("gray", [False, True])
@pytest.mark.parametrize("sampling", ["1x1", "2x1", "2x2"])
def test_nothing_is_invented_where_scans_are_missing(sampling: str, gray: bool) -> None:
    """Also for a part of the image, and on the fast path."""
    whole = made(sampling, "-progressive", gray)
    ends = scans(whole)
    assert len(ends) > 4
    smoothed = 0
    for end in ends[1:]:
        cut = whole[:end] + b"\xff\xd9"
        complete = run("jpegtran", "-copy", "none", data=cut)
        if b"\xff\xc2" in complete:
            complete = run("jpegtran", "-copy", "none", "-revert", data=cut)
        expected = rgb(complete)
        got = ops.decode_image(cut)
        assert np.array_equal(got, expected), end
        smoothed += not np.array_equal(rgb(cut), expected)
        gray_got = ops.decode_image(cut, color="gray")
        assert np.array_equal(gray_got, ops.decode_image(complete, color="gray"))
    assert smoothed > 0, "libjpeg would have invented some"
    assert np.array_equal(ops.decode_image(whole), rgb(whole))
