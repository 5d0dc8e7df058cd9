"""PASCAL VOC's annotations beside what xml.etree reads of them: boxes, flags, poses, splits and masks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="HEADRACE_DATA does not say where the real files are"
)
OBJECT = """<object><name>{name}</name><pose>{pose}</pose><truncated>{truncated}</truncated><difficult>{difficult}</difficult>
<bndbox><xmin>{box[0]}</xmin><ymin>{box[1]}</ymin><xmax>{box[2]}</xmax><ymax>{box[3]}</ymax></bndbox></object>"""


def objects_of(path: Path) -> list[dict[str, Any]]:
    """Return what xml.etree sees of a file."""
    out = []
    for one in ElementTree.parse(path).getroot().findall("object"):
        sides = [float(one.findtext(f"bndbox/{side}", "")) for side in ("xmin", "ymin", "xmax", "ymax")]
        out.append(
            {
                "name": (one.findtext("name") or "").strip(),
                "box": [max(sides[0] - 1, 0), max(sides[1] - 1, 0), sides[2], sides[3]],
                "difficult": (one.findtext("difficult") or "").strip() == "1",
                "truncated": (one.findtext("truncated") or "").strip() == "1",
                "pose": (one.findtext("pose") or "").strip(),
            }
        )
    return out


def check(data: hr.Dataset, pictures: list[Path], xmls: dict[str, Path]) -> int:
    """Compare all samples of a data set; return the number of objects."""
    seen, classes = 0, data.metadata["classes"]
    for sample, picture in zip(data, pictures, strict=True):
        assert sample["image"] == picture.read_bytes()
        wanted = objects_of(xmls[picture.stem])
        assert sample["boxes"].tolist() == np.float32([o["box"] for o in wanted]).reshape(-1, 4).tolist()
        assert [classes[label] for label in sample["labels"]] == [o["name"] for o in wanted]
        for flag in ("difficult", "truncated"):
            assert sample[flag].tolist() == [o[flag] for o in wanted]
        assert sample["pose"]["values"] == "".join(o["pose"] for o in wanted)
        assert sample["pose"]["lengths"].tolist() == [len(o["pose"]) for o in wanted]
        seen += len(wanted)
    return seen


@needs_data
@pytest.mark.parametrize("folder", ["Shenggan__BCCD_Dataset/BCCD", "datitran__raccoon_dataset"])
def test_real_files_are_what_they_say(folder: str) -> None:
    root = DATA / "annotations" / folder
    xmls = {path.stem: path for path in root.rglob("*.xml")}
    pictures = sorted(p for p in root.rglob("*") if p.suffix in (".jpg", ".png") and p.stem in xmls)
    data = hr.read_voc_xml(root, difficult=True, truncated=True, pose=True)
    assert check(data, pictures, xmls) > 30


@needs_data
def test_splits_list_images() -> None:
    root = DATA / "annotations/Shenggan__BCCD_Dataset/BCCD"
    names = {
        name: (root / f"ImageSets/Main/{name}.txt").read_text().split() for name in ("train", "val", "test")
    }
    there = {p.stem: p.read_bytes() for p in (root / "JPEGImages").iterdir()}
    annotated = {p.stem for p in (root / "Annotations").iterdir()}
    for name, listed in names.items():
        data = hr.read(root, split=name)
        wanted = [there[stem] for stem in sorted(listed) if stem in there and stem in annotated]
        assert [s["image"] for s in data] == wanted and wanted
        assert data.metadata["classes"] == hr.read(root, split="all").metadata["classes"]
        assert data.metadata.get("missing_of_split", 0) == len(listed) - len(wanted)
    assert len(hr.read(root, split="dev")) == len(hr.read(root, split="val"))  # another word for it
    with pytest.raises(ValueError, match=r"has no split 'extra'.*there are .*'Main/train'"):
        hr.read(root, split="extra")


@pytest.fixture
def voc(tmp_path: Path) -> Path:
    """Write two images with masks and one without, and their lists."""
    for folder in (
        "Annotations",
        "JPEGImages",
        "SegmentationClass",
        "SegmentationObject",
        "ImageSets/Main",
        "ImageSets/Segmentation",
    ):
        (tmp_path / folder).mkdir(parents=True)
    for i, name in enumerate(["a", "b", "c"]):
        Image.new("RGB", (6, 4), (i, 0, 0)).save(tmp_path / f"JPEGImages/{name}.jpg")
        one = OBJECT.format(name="cat", pose="Left", truncated=1, difficult=0, box=[1, 1, 3, 4])
        two = OBJECT.format(name="dog", pose="", truncated=0, difficult=i % 2, box=[4, 2, 6, 4])
        (tmp_path / f"Annotations/{name}.xml").write_text(f"<annotation>{one}{two if i else ''}</annotation>")
        if name == "c":
            continue
        for kind, values in (("Class", [0, 8, 12, 255]), ("Object", [0, 1, 2, 255])):
            mask = Image.fromarray(np.resize(np.array(values, np.uint8), (4, 6)), "P")
            mask.putpalette(bytes(range(256)) * 3)
            mask.save(tmp_path / f"Segmentation{kind}/{name}.png")
    (tmp_path / "ImageSets/Main/train.txt").write_text("a\nc\n")
    (tmp_path / "ImageSets/Main/cat_train.txt").write_text("a  1\nb -1\nc  0\n")
    (tmp_path / "ImageSets/Segmentation/train.txt").write_text("b\n")
    return tmp_path


def test_masks_lie_beside_their_images(voc: Path) -> None:
    with pytest.warns(UserWarning, match="images without masks .* are left out: 1; masks=False reads them"):
        data = hr.read_voc_xml(voc, masks=True)
    assert len(data) == 2 and data.metadata["images_without_masks"] == 1
    masks = data.map(lambda s: {"of": ops.decode_image(s.object_mask, color="index")})
    assert masks[0]["of"][..., 0].tolist() == np.resize([0, 1, 2, 255], (4, 6)).tolist()
    assert data[0]["class_mask"] == (voc / "SegmentationClass/a.png").read_bytes()
    assert len(hr.read_voc_xml(voc, masks=True, split="train")) == 1
    with pytest.warns(UserWarning, match="images without masks .* are left out: 1"):
        data = hr.read_voc_xml(voc, masks=True, split="Main/train")
    assert len(data) == 1 and data.metadata["images_without_masks"] == 1
    assert hr.read_voc_xml(voc, split="train").metadata["masks_left_out"] == 2  # of a
    assert len(hr.read(voc, split="train")) == 2 and len(hr.read(voc, split="Main/cat_train")) == 2


def test_objects_are_ragged_fields(voc: Path) -> None:
    data = hr.read_voc_xml(voc, difficult=True, truncated=True)
    data = data.map(lambda s: {k: s[k] for k in ("boxes", "labels", "difficult", "truncated")})
    padded = next(iter(data.padded_batch(3, fill={"labels": -1})))
    assert padded["boxes"].shape == (3, 2, 4) and padded["labels"].tolist() == [[0, -1], [0, 1], [0, 1]]
    ragged = next(iter(data.ragged_batch(3)))
    assert ragged["boxes"].values.tolist() == [
        [0, 0, 3, 4],
        [0, 0, 3, 4],
        [3, 1, 6, 4],
        [0, 0, 3, 4],
        [3, 1, 6, 4],
    ]
    assert ragged["difficult"].values.tolist() == [False, False, True, False, False]
    assert ragged["truncated"].row_splits.tolist() == [0, 1, 3, 5]


def test_each_pose_is_utf_8(voc: Path) -> None:
    one = OBJECT.format(name="cat", pose="\u00e9", truncated=0, difficult=0, box=[1, 1, 3, 4]).encode()
    first, second = one.replace(b"\xc3\xa9", b"\xc3"), one.replace(b"\xc3\xa9", b"\xa9")
    (voc / "Annotations/a.xml").write_bytes(b"<annotation>" + one + b"</annotation>")
    assert hr.read_voc_xml(voc, pose=True)[0]["pose"]["values"] == "\u00e9"
    (voc / "Annotations/a.xml").write_bytes(b"<annotation>" + first + second + b"</annotation>")
    with pytest.raises(hr.CorruptSample, match="expected a <pose> in UTF-8"):
        hr.read_voc_xml(voc, pose=True)[0]
