"""What pycocotools makes of COCO's JSON: paths in, annotations and masks of each image out, as JSON; in an interpreter that has pycocotools.

    python tests/oracle/cocotools_says.py < paths.json > answers.json

Run by test_coco.py; nothing here knows of Headrace.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
from typing import Any

import numpy as np
from pycocotools import mask as masks
from pycocotools.coco import COCO


def of_annotation(coco: COCO, annotation: dict[str, Any]) -> dict[str, Any]:
    out = {
        key: annotation.get(key)
        for key in ("id", "bbox", "area", "category_id", "caption", "keypoints", "num_keypoints")
        if key in annotation
    }
    out["iscrowd"] = annotation.get("iscrowd", 0)
    if annotation.get("segmentation"):
        runs = coco.annToRLE(annotation)
        pixels = masks.decode(runs)
        out["mask"] = hashlib.sha1(np.ascontiguousarray(pixels).tobytes()).hexdigest()
        out["pixels"] = int(pixels.sum())
        out["runs"] = {"size": runs["size"], "counts": runs["counts"].decode()} if isinstance(runs["counts"], bytes) else runs  # fmt: skip
    return out


def answer(path: str) -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO(path)
    return {
        str(image): [of_annotation(coco, one) for one in coco.loadAnns(coco.getAnnIds(imgIds=[image]))]
        for image in coco.getImgIds()
    }


if __name__ == "__main__":
    json.dump([answer(path) for path in json.load(sys.stdin)], sys.stdout)
