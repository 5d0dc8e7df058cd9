"""COCO's annotations as samples and in batches: boxes, labels, masks, captions and panoptic segments."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="HEADRACE_DATA does not say where the real files are"
)
DATUMARO = DATA / "annotations/openvinotoolkit__datumaro/tests/assets/coco_dataset"


def picture(height: int, width: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (1, 2, 3)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    """Write three images with two, no and one object; return the JSON."""
    whole: dict[str, Any] = {"images": [], "annotations": [], "categories": []}
    (tmp_path / "annotations").mkdir()
    (tmp_path / "val2017").mkdir()
    for i, (height, width) in enumerate([(6, 8), (4, 4), (5, 3)]):
        name = f"{i:012}.png"
        (tmp_path / "val2017" / name).write_bytes(picture(height, width))
        whole["images"].append({"id": 100 + i, "file_name": name, "height": height, "width": width})
    for image, category, box in [(102, 44, [0, 0, 2, 3]), (100, 1, [1, 2, 4, 3]), (100, 44, [0, 0, 8, 1.5])]:
        x, y, w, h = box
        whole["annotations"].append(
            {"id": len(whole["annotations"]), "image_id": image, "category_id": category, "bbox": box, "area": w * h,
             "iscrowd": 0, "segmentation": [[x, y, x + w, y, x + w, y + h, x, y + h]]}
        )  # fmt: skip
    whole["categories"] = [{"id": 44, "name": "bottle"}, {"id": 1, "name": "person"}]
    path = tmp_path / "annotations/instances_val2017.json"
    path.write_text(json.dumps(whole))
    return path


def test_a_sample_is_an_image_with_its_objects(coco: Path) -> None:
    data = hr.read(coco)
    assert data.metadata["classes"] == ["person", "bottle"]
    assert len(data) == 3 and len(hr.read(coco, empty="drop")) == 2
    assert data[0]["image_id"] == 100 and data[0]["image"] == picture(6, 8)
    assert data[0]["boxes"].tolist() == [[1, 2, 5, 5], [0, 0, 8, 1.5]]
    assert data[0]["labels"].tolist() == [0, 1] and data[0]["area"].tolist() == [12, 12]
    assert data[1]["boxes"].shape == (0, 4) and data[1]["labels"].shape == (0,)
    masks = hr.read_coco(coco, masks=True)[0]["masks"]
    wanted = np.zeros((2, 6, 8), np.uint8)
    wanted[0, 2:5, 1:5] = wanted[1, :1, :] = 1
    wanted[1, 1, :] = masks[1, 1, :]  # half a pixel
    assert np.array_equal(masks, wanted)


def test_objects_are_ragged_fields(coco: Path) -> None:
    data = hr.read_coco(coco, masks=True).map(
        lambda s: {"boxes": s.boxes, "labels": s.labels, "masks": s.masks}
    )
    ragged = next(iter(data.ragged_batch(3)))
    assert [len(boxes) for boxes in ragged["boxes"]] == [2, 0, 1]
    assert ragged["boxes"].values.shape == (3, 4) and ragged["labels"].row_splits.tolist() == [0, 2, 2, 3]
    assert [mask.shape for mask in ragged["masks"]] == [(2, 6, 8), (0, 4, 4), (1, 5, 3)]
    padded = next(iter(data.padded_batch(3)))
    assert padded["boxes"].shape == (3, 2, 4) and padded["labels"].tolist() == [[0, 1], [0, 0], [1, 0]]
    assert padded["masks"].shape == (3, 2, 6, 8) and not padded["masks"][1].any()
    for i in range(3):
        whole = data[i]["masks"]
        assert np.array_equal(padded["masks"][i, : len(whole), : whole.shape[1], : whole.shape[2]], whole)


def test_a_map_of_masks_follows_its_image(coco: Path) -> None:
    def crop(s: Any) -> dict[str, Any]:
        image, objects = ops.random_flip([ops.decode_image(s.image), s.masks], p=1.0)
        return {"image": image, "objects": objects}

    data = hr.read_coco(coco, masks="map")
    assert data[0]["masks"].dtype == np.int32 and set(np.unique(data[0]["masks"])) == {0, 1, 2}
    assert np.array_equal(data.map(crop)[0]["objects"], data[0]["masks"][:, ::-1])


def test_a_missing_image_is_an_error_of_its_sample(coco: Path) -> None:
    (coco.parent.parent / "val2017/000000000001.png").unlink()
    data = hr.read(coco)
    with pytest.raises(FileNotFoundError, match=r"000000000001.png.*image 101 of .*instances_val2017.json"):
        data[1]
    assert len(list(data.on_error("skip"))) == 2


def test_options_that_make_no_sense_are_refused(coco: Path) -> None:
    for options, message in [
        ({"masks": "planes"}, 'masks: expected a bool or "map"'),
        ({"boxes": "cxcywh"}, 'boxes: expected "xyxy" or "xywh"'),
        ({"each": "caption"}, "expected annotations with captions"),
    ]:
        with pytest.raises(ValueError, match=message):
            hr.read_coco(coco, **options)  # type: ignore[arg-type]


def test_captions_are_texts(tmp_path: Path) -> None:
    images = [{"id": i, "file_name": f"{i}.png"} for i in range(3)]
    texts = [(2, "a dog"), (0, "ein Hündchen"), (2, "the dog"), (2, "")]
    annotations = [{"id": n, "image_id": i, "caption": text} for n, (i, text) in enumerate(texts)]
    (tmp_path / "captions.json").write_text(json.dumps({"images": images, "annotations": annotations}))
    for i in range(3):
        (tmp_path / f"{i}.png").write_bytes(picture(2, 2))
    data = hr.read(tmp_path / "captions.json")
    of_image = data[2]["captions"]
    assert of_image["values"] == "a dogthe dog" and of_image["lengths"].tolist() == [5, 7, 0]
    assert data[0]["captions"]["values"] == "ein Hündchen" and data[1]["captions"]["lengths"].shape == (0,)
    each = hr.read_coco(tmp_path / "captions.json", each="caption")
    assert [(int(s["image_id"]), s["caption"]) for s in each] == [
        (0, "ein Hündchen"), (2, "a dog"), (2, "the dog"), (2, "")
    ]  # fmt: skip
    batch = next(iter(each.map(lambda s: {"caption": s.caption}).batch(4)))
    assert next(iter(batch["caption"])) == "ein Hündchen"


@needs_data
def test_panoptic_segments_are_their_pixels() -> None:
    for name in ("train", "val"):
        path = DATUMARO / f"coco_panoptic/annotations/panoptic_{name}.json"
        segments = json.loads(path.read_text())["annotations"][0]["segments_info"]
        sample = hr.read_coco(path, masks=True, boxes="xywh", labels="category_id")[0]
        rgb = np.asarray(Image.open(io.BytesIO(sample["segments"])).convert("RGB")).astype(np.int64)
        ids = rgb @ np.array([1, 256, 65536])
        assert sample["segment_ids"].tolist() == [s["id"] for s in segments]
        assert sample["boxes"].tolist() == [s["bbox"] for s in segments]
        assert sample["labels"].tolist() == [s["category_id"] for s in segments]
        assert np.array_equal(sample["masks"], np.stack([ids == s["id"] for s in segments]))
        assert sample["masks"].any()
        of_map = hr.read_coco(path, masks="map")[0]["masks"]
        assert all(np.array_equal(of_map == i + 1, mask) for i, mask in enumerate(sample["masks"]))


@needs_data
def test_real_files_are_recognised_and_read() -> None:
    seen = 0
    for path in sorted((DATA / "annotations").rglob("*.json")):
        whole = json.loads(path.read_text())
        if "images" not in whole or not whole["images"]:
            continue
        data = hr.read(path)
        assert len(data) == len(whole["images"])
        for sample, image in zip(data, whole["images"], strict=True):
            of_image = [a for a in whole["annotations"] if a["image_id"] == image["id"]]
            assert sample["image_id"] == image["id"] and len(sample["image"]) > 0
            if "labels" in sample:
                assert len(sample["labels"]) == len(of_image) or "segment_ids" in sample
            if "captions" in sample:
                assert sample["captions"]["values"] == "".join(a["caption"] for a in of_image)
        seen += 1
    assert seen > 25
