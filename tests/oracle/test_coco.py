"""COCO's JSON beside pycocotools: boxes, areas, categories and masks, of files made here and of real ones.

HEADRACE_TENSORFLOW_PYTHON names an interpreter that has pycocotools, too: `make oracle` makes one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

HERE = Path(__file__).parent
DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
PYTHON = os.environ.get("HEADRACE_TENSORFLOW_PYTHON") or (
    sys.executable if importlib.util.find_spec("pycocotools") else ""
)


def has_tools() -> bool:
    done = PYTHON and subprocess.run([PYTHON, "-c", "import pycocotools"], check=False, capture_output=True)
    return bool(done) and done.returncode == 0


pytestmark = pytest.mark.skipif(not has_tools(), reason="HEADRACE_TENSORFLOW_PYTHON has no pycocotools")


def answers(paths: list[Path]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [PYTHON, HERE / "cocotools_says.py"],
        input=json.dumps([str(path) for path in paths]),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def compare(path: Path, wanted: dict[str, Any], **options: Any) -> int:
    """Compare every image of a file; return the number of masks."""
    data = hr.read_coco(path, boxes="xywh", labels="category_id", masks=True, **options)
    corners = hr.read_coco(path, **options)
    assert len(data) == len(wanted)
    seen = 0
    for sample, other in zip(data, corners, strict=True):
        annotations = wanted[str(int(sample["image_id"]))]
        assert (
            sample["boxes"].tolist() == np.float32([a["bbox"] for a in annotations]).reshape(-1, 4).tolist()
        )
        box = np.float64([a["bbox"] for a in annotations]).reshape(-1, 4)
        assert np.array_equal(
            other["boxes"], np.hstack([box[:, :2], box[:, :2] + box[:, 2:]]).astype(np.float32)
        )
        assert sample["labels"].tolist() == [a["category_id"] for a in annotations]
        assert [data.metadata["category_ids"][i] for i in other["labels"]] == sample["labels"].tolist()
        assert sample["area"].tolist() == np.float32([a["area"] for a in annotations]).tolist()
        assert sample["iscrowd"].tolist() == [bool(a["iscrowd"]) for a in annotations]
        assert len(sample["masks"]) == len(annotations)
        for mask, annotation in zip(sample["masks"], annotations, strict=True):
            if "mask" not in annotation:
                assert not mask.any()
                continue
            assert hashlib.sha1(mask.tobytes()).hexdigest() == annotation["mask"], annotation["id"]
            seen += 1
    return seen


def test_keypoints_are_those_of_pycocotools(tmp_path: Path) -> None:
    draw = random.Random(7)
    images = [{"id": 10 - i, "file_name": f"{i}.jpg", "height": 50, "width": 60} for i in range(4)]
    annotations = []
    for i in range(25):
        points = [
            value
            for _ in range(17)
            for value in (
                draw.randint(0, 59),
                draw.choice([draw.randint(0, 49), draw.random() * 49]),
                draw.randint(0, 2),
            )
        ]
        count = sum(v > 0 for v in points[2::3])
        annotations.append(
            {"id": i, "image_id": 10 - i % 3, "category_id": 1, "bbox": [0, 0, 5, 5], "area": 25, "iscrowd": 0,
             "keypoints": points, "num_keypoints": count}
        )  # fmt: skip
    names = [f"k{i}" for i in range(17)]
    kinds = [{"id": 1, "name": "person", "keypoints": names, "skeleton": [[16, 14], [14, 12]]}]
    path = tmp_path / "person_keypoints.json"
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": kinds}))
    (tmp_path / "images").mkdir()
    for image in images:
        (tmp_path / "images" / str(image["file_name"])).write_bytes(b"x")
    (wanted,) = answers([path])
    data = hr.read_coco(path)
    assert data.metadata["keypoints"] == names
    for sample in data:
        of_image = wanted[str(int(sample["image_id"]))]
        assert sample["num_keypoints"].tolist() == [one["num_keypoints"] for one in of_image]
        points = np.float32([one["keypoints"] for one in of_image]).reshape(-1, 17, 3)
        assert np.array_equal(sample["keypoints"], points)


def coordinate(draw: random.Random, size: int) -> float:
    kind = draw.randrange(8)
    if kind == 0:
        return float(draw.randrange(-2, size + 3))
    if kind == 1:
        return draw.randrange(-10, 10 * size + 20) / 10
    if kind == 2:
        return draw.uniform(-3 * size, 4 * size)
    return round(draw.uniform(-1, size + 1), draw.randrange(0, 4))


def polygon(draw: random.Random, height: int, width: int) -> list[float]:
    count = draw.choice([3, 3, 4, 5, 8, 20, 60])
    points = [(coordinate(draw, width), coordinate(draw, height)) for _ in range(count)]
    if draw.random() < 0.3:  # points that are there twice, and a last one that is the first
        points.insert(draw.randrange(count), draw.choice(points))
        points.append(points[0])
    flat = [value for point in points for value in point]
    return flat + [1.5] if draw.random() < 0.1 else flat


def runs(draw: random.Random, height: int, width: int) -> dict[str, Any]:
    counts, left = [], height * width
    while left:
        counts.append(min(left, draw.choice([0, 1, 2, 7, draw.randrange(1, height * width + 1)])))
        left -= counts[-1]
    return {"size": [height, width], "counts": counts}


def made(draw: random.Random, folder: Path) -> Path:
    """Make a file of images with polygons, boxes and runs, and the images."""
    images, annotations = [], []
    for i in range(12):
        height, width = draw.randrange(1, 60), draw.randrange(1, 60)
        images.append({"id": i * 7 + 1, "height": height, "width": width, "file_name": f"{i}.jpg"})
        (folder / f"{i}.jpg").write_bytes(b"image")
        for _ in range(draw.randrange(8)):
            segmentation: Any = [polygon(draw, height, width) for _ in range(draw.randrange(1, 4))]
            crowd = draw.random() < 0.3
            if crowd:
                segmentation = runs(draw, height, width)
            elif draw.random() < 0.1:  # a line, behind what is none
                segmentation.append([coordinate(draw, width), coordinate(draw, height), 5.5, 7.25])
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": i * 7 + 1,
                    "category_id": draw.choice([2, 5, 90]),
                    "bbox": [round(draw.uniform(0, 50), 2) for _ in range(4)],
                    "area": draw.uniform(0, 3000),
                    "iscrowd": int(crowd),
                    "segmentation": segmentation,
                }
            )
    draw.shuffle(annotations)
    categories = [{"id": i, "name": f"n{i}"} for i in (90, 2, 5)]
    path = folder / "instances.json"
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    return path


@pytest.mark.parametrize("seed", range(8))
def test_masks_are_those_of_pycocotools(tmp_path: Path, seed: int) -> None:
    path = made(random.Random(seed), tmp_path)
    wanted = answers([path])[0]
    assert compare(path, wanted) > 10
    # The same masks as texts of runs.
    whole = json.loads(path.read_text())
    texts = {a["id"]: a["runs"] for some in wanted.values() for a in some if "runs" in a}
    for annotation in whole["annotations"]:
        annotation["segmentation"] = texts[annotation["id"]]
    packed = tmp_path / "packed.json"
    packed.write_text(json.dumps(whole))
    assert compare(packed, answers([packed])[0]) > 10


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA does not say where the real files are")
def test_real_files_are_as_pycocotools_reads_them() -> None:
    dali = DATA / "annotations/NVIDIA__DALI_extra/db"
    assets = DATA / "annotations/openvinotoolkit__datumaro/tests/assets/coco_dataset"
    paths = [
        dali / "coco_pixelwise/instances.json",
        assets / "coco/annotations/instances_val.json",
        assets / "coco/annotations/stuff_train.json",
        assets / "coco_instances/annotations/instances_val.json",
        assets / "mmdet_coco/annotations/instances_val.json",
        assets / "coco_person_keypoints/annotations/person_keypoints_val.json",
    ]
    masks = [compare(path, wanted) for path, wanted in zip(paths, answers(paths), strict=True)]
    assert masks[0] == 12 and all(masks)
