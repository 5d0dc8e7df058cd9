"""Resize arrays in memory: ours beside Pillow and OpenCV, one thread each, as ratios of CPU time in one run.

    python bench/kernels.py [--rounds N] [--json]

A ratio above 1 means that the peer needs more time. Peers that are not installed are left out: pillow (or
pillow-simd), opencv-python-headless. A peer stands beside us only where it computes the same: Pillow always widens its
filter when it shrinks an image, OpenCV never does but for its area mode. Our times include the call from Python.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import ops

SHAPES = [
    ((280, 300), (224, 224)),
    ((375, 500), (256, 341)),
    ((1080, 1920), (540, 960)),
    ((64, 64), (224, 224)),
]
# What we are asked for, and what Pillow and OpenCV call it.
KINDS: list[tuple[str, bool, str | None, str | None]] = [
    ("bilinear", True, "BILINEAR", None),
    ("bicubic", True, "BICUBIC", None),
    ("lanczos", True, "LANCZOS", None),
    ("box", True, "BOX", "INTER_AREA"),
    ("bilinear", False, None, "INTER_LINEAR"),
    ("bicubic", False, None, "INTER_CUBIC"),
    ("nearest", True, "NEAREST", "INTER_NEAREST"),
]


def load(name: str) -> Any:
    """Import a peer, or answer None."""
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


def compare(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, Any]:
    """Take turns; the ratio to us is the median over the rounds."""
    repeats = {name: max(1, int(0.01 / max(seconds_of(call, 3), 1e-7))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds_of(call, repeats[name]))
    ratios = {
        name: statistics.median(
            theirs / ours for theirs, ours in zip(times[name], times["headrace"], strict=True)
        )
        for name in calls
        if name != "headrace"
    }
    return {"us": min(times["headrace"]) * 1e6, "ratios": ratios}


def calls_for(
    image: Any, size: tuple[int, int], kind: tuple[str, bool, str | None, str | None]
) -> dict[str, Any]:
    """Answer who can do it, by name."""
    interpolation, antialias, pillow_name, opencv_name = kind
    calls: dict[str, Callable[[], object]] = {
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


def main() -> None:
    """Print a line for each kind, shape and type of numbers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if OPENCV:
        OPENCV.setNumThreads(1)
    random = np.random.default_rng(1)
    results: dict[str, Any] = {}
    for kind in KINDS:
        for before, after in SHAPES:
            for dtype, channels in ((np.uint8, 3), (np.uint8, 1), (np.float32, 3), (np.float32, 1)):
                image = random.integers(0, 256, (*before, channels)).astype(dtype)
                name = f"{kind[0]}{'' if kind[1] else ' without antialias'}, {before[0]}x{before[1]} to {after[0]}x{after[1]}, "
                name += f"{np.dtype(dtype).name} x {channels}"
                result = compare(calls_for(image, after, kind), options.rounds)
                results[name] = result
                ratios = "  ".join(f"{peer} {ratio:5.2f}x" for peer, ratio in result["ratios"].items())
                if not options.json:
                    print(f"{name:66} {result['us']:9.1f} us   {ratios}", flush=True)
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
