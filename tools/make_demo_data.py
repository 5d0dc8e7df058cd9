"""Write the demo's data set: generated photographs in class folders, with a list, a label map and boxes.

    python tools/make_demo_data.py [--out demo-data] [--count 3000] [--seed 0]

The layout and the names are those of ImageNet (ILSVRC), so that what reads one reads the other:

    train/<class>/<class>_<number>.JPEG        the images, 10 classes
    Annotations/<class>/<class>_<number>.xml   one box for each object
    train_cls.txt                              lines "<class>/<class>_<number> <line number>"
    train_map.json                             {"train/<class>/<name>.JPEG": label}

The pixels have the statistics that matter to a data loader: a 1/f spectrum as in photographs, sizes around
500 x 375, mostly 40 to 160 kB, 4:2:0 and 4:4:4, some grey. A class is a palette and a shape, so that a small
model can learn it. The same arguments give the same bytes with the same versions of NumPy and Pillow.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Floats = NDArray[np.float32]
Box = tuple[int, int, int, int]  # left, top, right, bottom, in pixels


@dataclass(frozen=True)
class Class:
    """What the images of one class have in common."""

    wnid: str
    shape: str
    low: tuple[int, int, int]  # the background runs from `low` to `high`
    high: tuple[int, int, int]
    ink: tuple[int, int, int]  # the colour of the objects


CLASSES = (
    Class("n01440764", "ellipse", (20, 40, 90), (120, 180, 220), (240, 200, 60)),
    Class("n01514668", "triangle", (30, 60, 20), (150, 190, 110), (220, 60, 40)),
    Class("n01616318", "star", (60, 70, 100), (210, 215, 225), (50, 35, 25)),
    Class("n02085620", "rectangle", (90, 60, 30), (220, 190, 150), (40, 90, 160)),
    Class("n02123045", "ring", (40, 40, 40), (170, 170, 165), (230, 130, 30)),
    Class("n02690373", "cross", (90, 130, 190), (230, 238, 250), (130, 130, 140)),
    Class("n02981792", "diamond", (10, 60, 80), (60, 170, 180), (250, 250, 240)),
    Class("n03417042", "stripes", (70, 70, 60), (190, 190, 170), (40, 150, 60)),
    Class("n07747607", "disc", (40, 80, 20), (130, 170, 60), (250, 140, 10)),
    Class("n09193705", "peak", (60, 50, 90), (230, 190, 170), (110, 100, 130)),
)

BANK_SIZE, NUM_TEXTURES = 1024, 12
SHAPES = (
    [(375, 500)] * 5
    + [(500, 375)] * 2
    + [(333, 500)] * 2
    + [(500, 333), (400, 300), (480, 640), (256, 341), (500, 500)]
)
MARKER = ".demo-data"  # says that the folder is ours, and what it holds once it is complete

OBJECT = """\
\t<object>
\t\t<name>{}</name>
\t\t<pose>Unspecified</pose>
\t\t<truncated>0</truncated>
\t\t<difficult>0</difficult>
\t\t<bndbox>
\t\t\t<xmin>{}</xmin>
\t\t\t<ymin>{}</ymin>
\t\t\t<xmax>{}</xmax>
\t\t\t<ymax>{}</ymax>
\t\t</bndbox>
\t</object>
"""
ANNOTATION = """\
<annotation>
\t<folder>{}</folder>
\t<filename>{}</filename>
\t<source>
\t\t<database>demo</database>
\t</source>
\t<size>
\t\t<width>{}</width>
\t\t<height>{}</height>
\t\t<depth>{}</depth>
\t</size>
\t<segmented>0</segmented>
{}</annotation>
"""


@cache
def texture_bank() -> Floats:
    """Make periodic 1/f noise fields, with zero mean and unit deviation; the same ones in every process."""
    rng = np.random.default_rng(20120)
    frequency = np.hypot(np.fft.fftfreq(BANK_SIZE)[:, None], np.fft.rfftfreq(BANK_SIZE)[None, :])
    frequency[0, 0] = 1
    fields = []
    for index in range(NUM_TEXTURES):
        slope = 0.9 + 0.5 * index / NUM_TEXTURES  # photographs lie around 1
        phase = np.exp(2j * np.pi * rng.random(frequency.shape))
        field = np.fft.irfft2(phase * frequency**-slope, s=(BANK_SIZE, BANK_SIZE))
        fields.append((field - field.mean()) / field.std())
    return np.stack(fields).astype(np.float32)


def texture(rng: np.random.Generator, height: int, width: int) -> Floats:
    """Cut a window out of a random field of the bank, turned and mirrored at random."""
    field: Floats = texture_bank()[rng.integers(NUM_TEXTURES)]
    if rng.random() < 0.5:
        field = field.T
    if rng.random() < 0.5:
        field = field[:, ::-1]
    top, left = rng.integers(BANK_SIZE - height), rng.integers(BANK_SIZE - width)
    return field[top : top + height, left : left + width]


def outline(shape: str, box: Box) -> list[list[tuple[float, float]]]:
    """Name the corners of a shape that fills a box, as polygons."""
    left, top, right, bottom = box

    def at(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(left + x * (right - left), top + y * (bottom - top)) for x, y in points]

    def circle(radius: float, corners: int = 40) -> list[tuple[float, float]]:
        angles = (2 * np.pi * k / corners for k in range(corners))
        return [(0.5 + radius * float(np.cos(a)), 0.5 + radius * float(np.sin(a))) for a in angles]

    if shape == "star":
        spikes = zip(circle(0.5, 5), circle(0.22, 10)[1::2], strict=True)
        return [at([point for pair in spikes for point in pair])]
    if shape == "stripes":
        return [at([(0, y), (1, y), (1, y + 0.15), (0, y + 0.15)]) for y in (0.0, 0.28, 0.56, 0.85)]
    if shape == "ring":
        return [at([*circle(0.5), (1.0, 0.5), (0.8, 0.5), *reversed(circle(0.3))])]
    polygons: dict[str, list[tuple[float, float]]] = {
        "triangle": [(0.5, 0.0), (1, 1), (0, 1)],
        "rectangle": [(0, 0), (1, 0), (1, 1), (0, 1)],
        "cross": [(int(c[0]) / 3, int(c[1]) / 3) for c in "10 20 21 31 32 22 23 13 12 02 01 11".split()],
        "diamond": [(0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5)],
        "peak": [(0, 1), (0.3, 0.35), (0.42, 0.5), (0.62, 0), (1, 1)],
    }
    return [at(polygons.get(shape, circle(0.5)))]


def place_objects(rng: np.random.Generator, kind: Class, height: int, width: int) -> list[Box]:
    """Choose where the objects stand: one most of the time, up to four."""
    boxes: list[Box] = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 4]))):
        scale = float(rng.uniform(0.3, 0.75) if not boxes else rng.uniform(0.12, 0.3))
        aspect = float(rng.uniform(0.75, 1.33)) if kind.shape != "disc" else 1.0
        object_width = max(24, int(min(height, width) * scale))
        object_height = min(height - 2, max(24, int(object_width * aspect)))
        left = int(rng.integers(1, width - object_width))
        top = int(rng.integers(1, height - object_height + 1))
        boxes.append((left, top, left + object_width - 1, top + object_height - 1))
    return boxes


def mix(base: Floats, colour: NDArray[np.float32], weight: Floats) -> Floats:
    """Blend an image towards a colour, pixel by pixel."""
    return base + (colour - base) * weight[..., None]


def paint(rng: np.random.Generator, kind: Class) -> tuple[NDArray[np.uint8], list[Box]]:
    """Paint one image of a class: a textured background in its palette, objects in its ink, light, grain."""
    height, width = SHAPES[rng.integers(len(SHAPES))]
    height += int(rng.integers(-12, 13))
    width += int(rng.integers(-12, 13))
    shift = rng.normal(0, 12, 3)
    low, high, ink = (np.asarray(c + shift, np.float32) for c in (kind.low, kind.high, kind.ink))

    tone = np.clip(0.5 + 0.28 * texture(rng, height, width), 0, 1)
    pixels = mix(np.broadcast_to(low, (height, width, 3)).astype(np.float32), high, tone)

    boxes = place_objects(rng, kind, height, width)
    mask = Image.new("L", (width, height))
    draw = ImageDraw.Draw(mask)
    for box in boxes:
        for polygon in outline(kind.shape, box):
            draw.polygon(polygon, fill=255)
    inside = np.asarray(mask, np.float32) / 255
    shading = 1 + 0.2 * texture(rng, height, width)
    painted = pixels * (1 - inside[..., None]) + ink * (inside * shading)[..., None]

    # One field of detail for all channels: as in photographs, colour is smoother than brightness.
    detail = float(rng.uniform(6, 22)) * texture(rng, height, width)
    light = np.linspace(float(rng.uniform(-35, 0)), float(rng.uniform(0, 35)), width, dtype=np.float32)
    grain = rng.standard_normal((height, width), np.float32) * float(rng.uniform(2.0, 6.0))
    lit = painted + (detail + light + grain)[..., None]
    return np.clip(lit, 0, 255).astype(np.uint8), boxes


def annotation(kind: Class, name: str, size: tuple[int, int], channels: int, boxes: list[Box]) -> str:
    """Write the boxes as ILSVRC and PASCAL VOC do; coordinates count from 1."""
    objects = "".join(OBJECT.format(kind.wnid, *(side + 1 for side in box)) for box in boxes)
    return ANNOTATION.format(kind.wnid, name, *size, channels, objects)


def image_name(index: int) -> tuple[int, str]:
    """Return the label and the name of image `index`; neighbours belong to different classes."""
    label = index % len(CLASSES)
    return label, f"{CLASSES[label].wnid}/{CLASSES[label].wnid}_{index // len(CLASSES)}"


def write_images(root: Path, indices: range, seed: int) -> None:
    """Write some of the images, each from its own random stream, so that who writes which changes nothing."""
    for index in indices:
        label, name = image_name(index)
        rng = np.random.default_rng((seed, index))
        pixels, boxes = paint(rng, CLASSES[label])
        image = Image.fromarray(pixels)
        options: dict[str, Any] = {"quality": int(rng.choice([85, 90, 92, 95])), "subsampling": "4:2:0"}
        if rng.random() < 0.25:
            options["subsampling"] = "4:4:4"
        if rng.random() < 0.03:
            image, options = image.convert("L"), {"quality": options["quality"]}
        image.save(root / "train" / f"{name}.JPEG", **options)
        text = annotation(CLASSES[label], name.split("/")[1], image.size, len(image.getbands()), boxes)
        (root / "Annotations" / f"{name}.xml").write_text(text, encoding="utf-8")


def write_lists(root: Path, count: int) -> None:
    """Write the list of the training set and the map of its labels."""
    names = sorted((name, label) for label, name in map(image_name, range(count)))
    lines = (f"{name} {number}\n" for number, (name, _) in enumerate(names, start=1))
    (root / "train_cls.txt").write_text("".join(lines), encoding="utf-8")
    labels = {f"train/{name}.JPEG": label for name, label in names}
    (root / "train_map.json").write_text(json.dumps(labels, indent=0) + "\n", encoding="utf-8")


def write_data_set(root: Path, count: int, seed: int) -> None:
    """Write everything, with all cores; the marker says so at the end."""
    root.mkdir(parents=True, exist_ok=True)
    (root / MARKER).write_text("incomplete\n", encoding="utf-8")
    for kind in CLASSES:
        for folder in ("train", "Annotations"):
            (root / folder / kind.wnid).mkdir(parents=True, exist_ok=True)
    num_workers = len(os.sched_getaffinity(0))
    chunk = max(1, -(-count // (num_workers * 16)))
    chunks = [range(start, min(start + chunk, count)) for start in range(0, count, chunk)]
    with ProcessPoolExecutor(num_workers) as pool:
        running = [pool.submit(write_images, root, indices, seed) for indices in chunks]
        for done, (future, indices) in enumerate(zip(running, chunks, strict=True), start=1):
            future.result()
            if sys.stderr.isatty():
                print(
                    f"\r{indices.stop} of {count} images",
                    end="\n" if done == len(chunks) else "",
                    file=sys.stderr,
                )
    write_lists(root, count)
    (root / MARKER).write_text(marker(count, seed), encoding="utf-8")


def marker(count: int, seed: int) -> str:
    """Name what a complete folder holds."""
    return f"demo data 1: count {count}, seed {seed}\n"


def main() -> int:
    """Write the data set unless it is there."""
    parser = argparse.ArgumentParser(
        description="Write a small generated data set in the layout of ImageNet."
    )
    parser.add_argument(
        "--out", type=Path, default=Path("demo-data"), help="folder to write (default: demo-data)"
    )
    parser.add_argument("--count", type=int, default=3000, help="number of images (default: 3000)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    root: Path = arguments.out
    stamp = root / MARKER
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == marker(arguments.count, arguments.seed):
        print(f"{root}: the data set is there ({arguments.count} images)")
        return 0
    if stamp.is_file():
        for old in ("train", "Annotations"):
            shutil.rmtree(root / old, ignore_errors=True)
    elif root.exists() and not (root.is_dir() and not any(root.iterdir())):
        print(f"{root} holds something else; name another folder with --out", file=sys.stderr)
        return 1
    write_data_set(root, arguments.count, arguments.seed)
    num_bytes = sum(path.stat().st_size for path in (root / "train").rglob("*.JPEG"))
    print(f"{root}: {arguments.count} images in {len(CLASSES)} classes, {num_bytes / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
