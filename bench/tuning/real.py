"""Tuned runs of real work on this machine, compared with every point of a grid of settings, and with tf.data's AUTOTUNE.

    python bench/tuning/real.py IMAGES [--tensorflow-python PATH] [--seconds S] [--only NAME] [--json]

IMAGES is a folder of JPEG files. Five things are shown: the share of the best point of the grid that a tuned run reaches after ten
seconds; the rate of tf.data with AUTOTUNE for the same work; how long a consumer waits that asks for 70 % of the loader's rate,
and its CPU time relative to the minimum; which limit is named; and the gain from two cores that a run on one core predicts, compared
with the real one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headrace as hr
from headrace import ops

WARM, GRID_WARM = 10.0, 0.7  # seconds before anything is counted


def decode(images: str) -> hr.Dataset:
    def augment(sample: Any) -> Any:
        image = ops.decode_image(sample.image)
        image = ops.random_flip(ops.random_resized_crop(image, size=224))
        return {"image": ops.normalize(image, mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW")}

    return hr.read(images).shuffle(seed=1).repeat().map(augment).batch(32)


def tiny(_: str) -> hr.Dataset:
    return hr.range(10**12).map(lambda x: x + 1).batch(1024)


def in_python(x: Any) -> Any:
    total = 0
    for i in range(1000):
        total += i
    return x


def waits(x: Any) -> Any:
    time.sleep(0.004)
    return x


def python_map(_: str) -> hr.Dataset:
    return hr.range(10**12).map(in_python, python=True).batch(32)


def function_that_waits(_: str) -> hr.Dataset:
    return hr.range(10**12).map(waits, python=True).batch(32)


PIPELINES: dict[str, tuple[Callable[[str], hr.Dataset], str, dict[str, list[int]]]] = {
    "decode": (decode, "cpu", {"workers": [1, 2, 4], "ready": [2, 3, 6]}),
    "tiny elements": (tiny, "cpu", {"workers": [1, 2, 4], "ready": [2, 3, 6, 24]}),
    "Python map": (python_map, "python", {"workers": [1, 2, 4], "ready": [2, 3, 6]}),
    "functions that wait": (
        function_that_waits,
        "functions that wait",
        {"workers": [2, 8, 16, 32], "ready": [3, 6, 12]},
    ),
}


def rate_of(
    dataset: hr.Dataset, warm: float, seconds: float, step: float = 0.0
) -> tuple[float, dict[str, Any]]:
    """Samples per second after `warm` seconds, and the report with the CPU time of the process per sample since then."""
    loader = dataset.numpy().at_its_first_epoch()
    begin, counted, since, cpu = time.perf_counter(), 0, 0.0, 0.0
    with loader:
        for _ in loader:
            now = time.perf_counter()
            if step:
                time.sleep(step)
            if now - begin < warm:
                continue
            cpu = cpu or time.process_time()
            since, counted = since or now, counted + 1
            if now - since > seconds:
                break
        elapsed, cpu = time.perf_counter() - since, time.process_time() - cpu
        report = loader.report().dict()
    size = loader.batch_size or 1
    report["process_cpu_s_a_sample"] = cpu / (counted * size)
    return (counted - (0 if step else 1)) * size / elapsed, report


def compare(name: str, images: str, seconds: float) -> dict[str, Any]:
    """All points of the grid, then a tuned run between two runs with the best of them."""
    make, truth, axes = PIPELINES[name]
    best, best_settings = 0.0, {}
    for point in itertools.product(*axes.values()):
        settings = dict(zip(axes, point, strict=True))
        there, _ = rate_of(make(images).options(tuning="locked", settings=settings), GRID_WARM, seconds / 4)
        if there > best:
            best, best_settings = there, settings
    locked = make(images).options(tuning="locked", settings=best_settings)
    before, _ = rate_of(locked, GRID_WARM, seconds)
    rate, report = rate_of(make(images), WARM, seconds)
    after, _ = rate_of(locked, GRID_WARM, seconds)
    best = (before + after) / 2
    return {
        "pipeline": name, "tuned_samples_per_s": rate, "best_samples_per_s": best, "share": rate / best,
        "settings": report["settings"], "best_settings": best_settings, "limited_by": report["limited_by"], "true_limit": truth,
        "decisions": len(report["decisions"]),
    }  # fmt: skip


def at_70_percent(images: str, seconds: float) -> dict[str, Any]:
    """A consumer that sleeps, so that it asks for 70 % of the loader's rate."""
    capacity, _ = rate_of(decode(images), WARM / 2, seconds)
    _, alone = rate_of(decode(images).options(workers=1, io=1), 0.5, seconds)
    _, report = rate_of(decode(images), WARM, 2 * seconds, step=32 / (0.7 * capacity))
    history = [one for one in report["history"] if one["at_s"] > WARM]
    waited = sum(one["wait"] * one["seconds"] for one in history) / sum(one["seconds"] for one in history)
    return {
        "capacity_samples_per_s": capacity, "wait_share": waited, "cpu_beside_least": report["process_cpu_s_a_sample"] / alone["process_cpu_s_a_sample"],
        "settings": report["settings"],
    }  # fmt: skip


def from_one_core_to_two(images: str, seconds: float) -> dict[str, Any]:
    """The gain from two cores predicted on one core, and the real gain; the consumer works on the same cores."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(allowed)[:1]))
    one, report = rate_of(decode(images), WARM / 2, seconds)
    os.sched_setaffinity(0, set(sorted(allowed)[:2]))
    two, _ = rate_of(decode(images), WARM / 2, seconds)
    os.sched_setaffinity(0, allowed)
    predicted = next((what["speedup"] for what in report["what_if"] if what["change"] == "with 2 cores"), 0.0)
    return {"limited_by": report["limited_by"], "predicted": predicted, "obtained": two / one}


TENSORFLOW = """
import sys, time, glob
import tensorflow as tf
name, images, warm, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
A = tf.data.AUTOTUNE
if name == "decode":
    def f(path):
        raw = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(tf.image.extract_jpeg_shape(raw), tf.zeros([1, 0, 4]),
            area_range=(0.08, 1.0), aspect_ratio_range=(0.75, 1.333), max_attempts=10, use_image_if_no_bounding_boxes=True)
        y, x, _ = tf.unstack(begin); h, w, _ = tf.unstack(size)
        image = tf.image.decode_and_crop_jpeg(raw, tf.stack([y, x, h, w]), channels=3)
        image = tf.image.random_flip_left_right(tf.image.resize(image, [224, 224]))
        return tf.transpose((image / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225], [2, 0, 1])
    ds = tf.data.Dataset.from_tensor_slices(sorted(glob.glob(images + "/**/*.JPEG", recursive=True))).shuffle(1000).repeat()
    ds, size = ds.map(f, A), 32
elif name == "tiny elements":
    ds, size = tf.data.Dataset.range(10**12).map(lambda x: x + 1, A), 1024
elif name == "Python map":
    def g(x):
        t = 0
        for i in range(1000): t += i
        return x
    ds, size = tf.data.Dataset.range(10**12).map(lambda x: tf.numpy_function(g, [x], tf.int64), A), 32
else:
    def h(x):
        time.sleep(0.004)
        return x
    ds, size = tf.data.Dataset.range(10**12).map(lambda x: tf.numpy_function(h, [x], tf.int64), A), 32
begin, n, since = time.perf_counter(), 0, 0.0
for _ in ds.batch(size).prefetch(A).as_numpy_iterator():
    now = time.perf_counter()
    if now - begin < warm: continue
    since = since or now
    n += 1
    if now - since > seconds: break
print((n - 1) * size / (time.perf_counter() - since))
"""


def of_tensorflow(python: str, name: str, images: str, seconds: float) -> float:
    """The rate of tf.data with AUTOTUNE."""
    done = subprocess.run(
        [python, "-c", TENSORFLOW, name, images, str(WARM), str(seconds)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return float(done.stdout)


def main() -> None:
    """Run everything and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path)
    parser.add_argument("--tensorflow-python")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--only", choices=list(PIPELINES))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    images = str(arguments.images)
    rows = []
    for name in [arguments.only] if arguments.only else PIPELINES:
        row = compare(name, images, arguments.seconds)
        if arguments.tensorflow_python:
            row["tensorflow_samples_per_s"] = of_tensorflow(
                arguments.tensorflow_python, name, images, arguments.seconds
            )
        rows.append(row)
        if not arguments.json:
            print(
                f"{name:20} {row['tuned_samples_per_s']:12.0f}/s  {row['share']:5.2f} of the best ({row['best_settings']}), "
                f"settings {row['settings']}, limit {row['limited_by']} (true: {row['true_limit']})"
                + (
                    f", tf.data {row['tensorflow_samples_per_s']:.0f}/s"
                    if "tensorflow_samples_per_s" in row
                    else ""
                ),
                flush=True,
            )
    result: dict[str, Any] = {"pipelines": rows}
    if not arguments.only:
        result["at_70_percent"] = at_70_percent(images, arguments.seconds)
        result["from_one_core_to_two"] = from_one_core_to_two(images, arguments.seconds)
        if not arguments.json:
            seventy = result["at_70_percent"]
            print(
                f"a consumer at 70 %: waits {100 * seventy['wait_share']:.2f} % of the time, CPU per sample "
                f"{seventy['cpu_beside_least']:.2f} of the minimum, settings {seventy['settings']}"
            )
            cores = result["from_one_core_to_two"]
            print(
                f"decode on one core (limit {cores['limited_by']}): predicted for two {cores['predicted']:.2f}x, obtained "
                f"{cores['obtained']:.2f}x"
            )
    if arguments.json:
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
