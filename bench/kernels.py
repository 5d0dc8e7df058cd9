"""Kernels on arrays in memory compared with Pillow, OpenCV and NumPy, one thread each, as ratios of CPU time in one run.

    python bench/kernels.py [--rounds N] [--only WORD] [--json]

A ratio above 1 means that the peer needs more time; the lower and upper quartiles of the rounds follow the median.
Peers that are not installed are left out: pillow (or pillow-simd), opencv-python-headless. A peer is only compared
where it computes the same: Pillow always widens its filter when it shrinks an image, OpenCV only does in its area
mode. The cost of a call on one pixel, from Python, is subtracted from each time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from headrace import ops

SHAPES = [
    ((280, 300), (224, 224)),
    ((375, 500), (224, 224)),
    ((1080, 1920), (360, 640)),
    ((3000, 4000), (1500, 2000)),
    ((224, 224), (448, 448)),
]
# Our names, and those of Pillow and OpenCV.
KINDS: list[tuple[str, bool, str | None, str | None]] = [
    ("bilinear", True, "BILINEAR", None),
    ("bicubic", True, "BICUBIC", None),
    ("lanczos", True, "LANCZOS", None),
    ("box", True, "BOX", "INTER_AREA"),
    ("bilinear", False, None, "INTER_LINEAR"),
    ("bicubic", False, None, "INTER_CUBIC"),
    ("lanczos", False, None, "INTER_LANCZOS4"),
    ("nearest", True, "NEAREST", "INTER_NEAREST"),
]


def load(name: str) -> Any:
    """Import a peer, or return None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


PILLOW, OPENCV = load("PIL.Image"), load("cv2")


def seconds_of(call: Callable[[], object], repeats: int) -> float:
    """CPU time of one call."""
    begin = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - begin) / repeats


Calls = dict[str, Callable[[], object]]


def compare(calls: Calls, of_one_pixel: Calls, rounds: int) -> dict[str, Any]:
    """Alternate between them; the ratio to ours is the median over the rounds."""
    repeats = {name: max(1, int(0.01 / max(seconds_of(call, 3), 1e-7))) for name, call in calls.items()}
    overhead = {name: min(seconds_of(call, 200) for _ in range(5)) for name, call in of_one_pixel.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(max(1e-9, seconds_of(call, repeats[name]) - overhead[name]))
    ratios = {
        name: statistics.quantiles(
            [theirs / ours for theirs, ours in zip(times[name], times["headrace"], strict=True)]
        )
        for name in calls
        if name != "headrace"
    }
    return {"us": min(times["headrace"]) * 1e6, "ratios": ratios}


def resizes(image: Any, size: tuple[int, int], kind: tuple[str, bool, str | None, str | None]) -> Calls:
    """Return the libraries that can do it, by name."""
    interpolation, antialias, pillow_name, opencv_name = kind
    calls: Calls = {
        "headrace": lambda: ops.resize(image, size=size, interpolation=interpolation, antialias=antialias)
    }
    has_mode = image.dtype == np.uint8 or image.shape[2] == 1
    if PILLOW and pillow_name and has_mode:
        theirs = PILLOW.fromarray(image[..., 0] if image.shape[2] == 1 else image)
        resample = getattr(PILLOW, "Resampling", PILLOW)
        calls["pillow"] = lambda: theirs.resize(size[::-1], getattr(resample, pillow_name))
    # OpenCV's area mode means something else when it enlarges.
    if OPENCV and opencv_name and not (opencv_name == "INTER_AREA" and size[0] > image.shape[0]):
        flag = getattr(OPENCV, opencv_name)
        calls["opencv"] = lambda: OPENCV.resize(image, size[::-1], interpolation=flag)
    return calls


def normalizes(image: Any, layout: str) -> Calls:
    """Return the libraries that can normalise to float32, by name: OpenCV only without a standard deviation per channel."""
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    scale = 1 / 255 if image.dtype == np.uint8 else 1.0
    means, stds = np.float32(mean), np.float32(std)

    def by_numpy() -> object:
        pixels = (image * np.float32(scale) - means) / stds
        return np.ascontiguousarray(pixels.transpose(2, 0, 1)) if layout == "CHW" else pixels

    calls: Calls = {
        "headrace": lambda: ops.normalize(image, mean=mean, std=std, layout=layout),
        "numpy": by_numpy,
    }
    if OPENCV and layout == "CHW":
        theirs = tuple(number / scale for number in mean)
        calls["opencv"] = lambda: OPENCV.dnn.blobFromImage(image, scale, mean=theirs)
    return calls


def cases(random: Any) -> Iterator[tuple[str, Calls, Calls]]:
    """Return each measurement by name, with its calls, and those on one pixel."""
    for kind in KINDS:
        for before, after in SHAPES:
            for dtype, channels in ((np.uint8, 3), (np.uint8, 1), (np.float32, 3), (np.float32, 1)):
                image = random.integers(0, 256, (*before, channels)).astype(dtype)
                name = f"{kind[0]}{'' if kind[1] else ' without antialias'}, {before[0]}x{before[1]} to {after[0]}x{after[1]}, "
                calls = resizes(image, after, kind)
                pixel = resizes(image[:1, :1].copy(), (1, 1), kind)
                yield name + f"{np.dtype(dtype).name} x {channels}", calls, pixel
    for height, width in ((224, 224), (1080, 1920)):
        for dtype in (np.uint8, np.float32):
            for layout in ("HWC", "CHW"):
                image = random.integers(0, 256, (height, width, 3)).astype(dtype)
                name = f"normalize, {height}x{width}, {np.dtype(dtype).name} to f32 {layout}"
                yield name, normalizes(image, layout), normalizes(image[:1, :1].copy(), layout)


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if OPENCV:
        OPENCV.setNumThreads(1)
    results: dict[str, Any] = {}
    for name, calls, pixel in cases(np.random.default_rng(1)):
        if options.only not in name or len(calls) == 1:
            continue
        result = compare(calls, pixel, options.rounds)
        results[name] = result
        ratios = "  ".join(
            f"{peer} {median:5.2f}x [{low:.2f}, {high:.2f}]"
            for peer, (low, median, high) in result["ratios"].items()
        )
        if not options.json:
            print(f"{name:66} {result['us']:9.1f} us   {ratios}", flush=True)
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
