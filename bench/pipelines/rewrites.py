"""The gain of each change that the engine makes to a plan: the same pipeline with and without it.

    python bench/pipelines/rewrites.py [FOLDER OF JPEG FILES] [--rounds 9]

CPU time without it divided by CPU time with it, one worker, round by round in one process. Changes that cannot be switched off are
compared with a pipeline that gives the same elements and leaves them nothing to do; that of columns with one that delivers all columns.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from contenders.segment import default_data
from race import ratio

import headrace as hr
from headrace import ops

MANY = 10**9


def crop(s: Any) -> Any:
    return ops.random_resized_crop(ops.decode_image(s.image), size=224)


def fast(s: Any) -> Any:
    cropped = ops.random_resized_crop(ops.decode_image(s.image, match="fast"), size=224)
    return ops.normalize(ops.random_flip(cropped), mean=[124, 116, 104], std=[58, 57, 57])


def decoded(s: Any) -> Any:
    return {"image": ops.resize(ops.decode_image(s[0].image), size=(64, 64)), "n": s[1]}


def switched(data: hr.Dataset, rewrite: str) -> tuple[hr.Dataset, hr.Dataset]:
    return data.options(rewrites={rewrite: False}), data


def table(folder: str) -> hr.Dataset:
    """Twenty columns of numbers."""
    columns = np.random.default_rng(1).standard_normal((20, 200_000))
    hr.from_arrays({f"c{i}": column for i, column in enumerate(columns)}).write(
        f"{folder}/table.parquet", options={"compression": "zstd"}
    )
    return hr.read(f"{folder}/table.parquet")


def pairs(folder: str, scratch: str) -> dict[str, tuple[hr.Dataset, hr.Dataset]]:
    """Pipelines without and with, of at least some 50 ms per pass."""
    images = hr.read(folder).shuffle(seed=1)
    numbered = images.zip(hr.range(len(images)))
    rows = hr.from_arrays(np.zeros((4096, 256), "f4"))
    plus = hr.range(MANY).map(lambda x: x + 1)
    pictures = hr.from_arrays(np.zeros((4096, 16, 16, 3), "u1"))
    apart = (
        pictures.map(lambda x: ops.center_crop(x, size=12))
        .map(ops.random_flip)
        .map(lambda x: ops.random_crop(x, size=8))
    )
    sinking = rows.map(lambda x: x * 2).shuffle(seed=1).map(lambda x: x + 1).repeat(8)
    cropped = (
        images.map(lambda s: ops.decode_image(s.image))
        .filter(lambda x: ops.length(x) > 0)
        .map(lambda x: ops.random_resized_crop(x, size=224))
    )
    small = numbered.map(decoded)
    columns = table(scratch)
    return {
        "hoist_over_batch": switched(plus.batch(256).take(2000), "hoist_over_batch"),
        "fuse_maps": switched(apart.batch(256), "fuse_maps"),
        "sink_order_verbs": switched(sinking.batch(256), "sink_order_verbs"),
        "fuse_decode_crop_resize_flip_normalize": switched(
            images.map(fast).batch(8), "fuse_decode_crop_resize_flip_normalize"
        ),
        "only what a crop reads is decoded": (cropped.batch(8), images.map(crop).batch(8)),
        "fields that nobody reads are not made": (
            small.filter(lambda s: ops.length(s.image) > 0).map(lambda s: s.n).batch(8),
            small.map(lambda s: s.n).batch(8),
        ),
        "of 20 columns that one is read that is looked at": (
            columns.batch(4096),
            columns.map(lambda s: {"x": s.c7}).batch(4096),
        ),
        "a filter that keeps a quarter comes first": (
            small.filter(lambda s: (s.n < 65) & (ops.length(s.image) > 0)).batch(8),
            small.filter(lambda s: s.n < 65).batch(8),
        ),
        "skip is arithmetic": (
            hr.range(MANY).filter(lambda x: x >= 0).skip(1_000_000).batch(256).take(1000),
            hr.range(MANY).skip(1_000_000).filter(lambda x: x >= 0).batch(256).take(1000),
        ),
    }


def passes(data: hr.Dataset) -> Iterator[float]:
    """CPU seconds of one epoch after the other, of a warm loader."""
    loader = data.options(workers=1).numpy()
    while True:
        began = time.process_time()
        for _ in loader:
            pass
        yield time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default=None)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # two loaders of one pipeline are intended here
    print("| | without / with |\n|---|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        for name, pair in pairs(arguments.folder or str(default_data()), scratch).items():
            runs = [passes(data) for data in pair]
            for run in runs:
                next(run)
            rounds = [[next(run) for run in runs] for _ in range(arguments.rounds)]
            print(f"| {name} | {ratio([r[0] for r in rounds], [r[1] for r in rounds])} |", flush=True)


if __name__ == "__main__":
    main()
