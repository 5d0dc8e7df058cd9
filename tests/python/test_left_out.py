"""What a reader leaves out is said once by a warning, and by `explain`, `inspect` and `verify`."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr


def as_typed(text: str) -> str:
    """Return a note as the command line spells it."""
    text = re.sub(r"(\w+)=(\[[^]]*\])", r"--option \1='\2'", text)
    return text.replace("header=False", "--option header=false")


def said(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import headrace_cli; headrace_cli.main()", *words],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr  # some of the images are none
    return done.stdout


def tar(path: Path, *members: tuple[str, bytes] | tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as out:
        for one in members:
            if isinstance(one, tarfile.TarInfo):
                out.addfile(one)
                continue
            info = tarfile.TarInfo(one[0])
            info.size = len(one[1])
            out.addfile(info, io.BytesIO(one[1]))
    return path


def link(name: str, to: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def hard_links(folder: Path) -> tuple[Path, dict[str, Any], str]:
    path = tar(folder / "a.tar", ("a.jpg", b"1"), link("b.jpg", "a.jpg", tarfile.LNKTYPE), ("c.jpg", b"3"))
    return path, {}, "the member 'b.jpg' is a link and is left out"


def symbolic_links(folder: Path) -> tuple[Path, dict[str, Any], str]:
    links = [link(f"{name}.jpg", "a.jpg", tarfile.SYMTYPE) for name in "bc"]
    path = tar(folder / "a.tar", ("a.jpg", b"1"), *links)
    return path, {}, "2 members (the first is 'b.jpg') are links and are left out"


def links_to_folders(folder: Path) -> tuple[Path, dict[str, Any], str]:
    path = tar(
        folder / "a.tar", ("a/1.jpg", b"1"), link("b", "/not/mounted", tarfile.SYMTYPE), ("c/1.jpg", b"3")
    )
    return path, {}, "the member 'b' is a link and is left out"


def without_suffix(folder: Path) -> tuple[Path, dict[str, Any], str]:
    path = tar(folder / "a.tar", ("README", b"x"), ("a.jpg", b"1"), ("d/b", b"2"), ("c.jpg", b"3"))
    return path, {}, "the member 'd/b' is left out for want of a suffix"


def first_lacks(folder: Path) -> tuple[Path, dict[str, Any], str]:
    path = tar(
        folder / "a.tar",
        ("a.jpg", b"1"),
        ("b.jpg", b"2"),
        ("b.JSON", b"{}"),
        ("c.jpg", b"3"),
        ("c.json", b"{}"),
    )
    return (
        path,
        {},
        """members that the first sample lacks are left out: 'json'; fields=["jpg", "json"] reads them""",
    )


def second_tar_has_more(folder: Path) -> tuple[Path, dict[str, Any], str]:
    (folder / "tars").mkdir()
    tar(folder / "tars/a.tar", ("a.jpg", b"1"))
    tar(folder / "tars/b.tar", ("b.jpg", b"1"), ("b.cls", b"2"))
    return folder / "tars", {}, "members that the first sample lacks are left out: 'cls'"


def other_kinds(folder: Path) -> tuple[Path, dict[str, Any], str]:
    (folder / "d").mkdir()
    (folder / "d/a.csv").write_text("a\n1\n")
    (folder / "d/b.csv").write_text("a\n1\n")
    (folder / "d/c.jsonl").write_text('{"a": 1}\n')
    (folder / "d/README.md").write_text("x")
    return folder / "d", {}, "files of other kinds than .csv in the folder are left out: .jsonl (1)"


def other_images(folder: Path) -> tuple[Path, dict[str, Any], str]:
    for name in ("cat", "dog"):
        (folder / "p" / name).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(folder / "p" / name / "a.png")
    (folder / "p/cat/b.heic").write_bytes(b"x")
    (folder / "p/cat/notes.txt").write_bytes(b"x")
    return folder / "p", {}, "images in formats that are not supported are left out: .heic (1)"


def number_header(folder: Path) -> tuple[Path, dict[str, Any], str]:
    (folder / "a.csv").write_text("5.1,3.5,0\n4.9,3.0,1\n")
    return folder / "a.csv", {}, "the names of the columns are numbers (5.1, 3.5, 0): header=False reads"


def voc(folder: Path, names: str = "abc", boxed: str = "a") -> Path:
    for name in names:
        for part in ("Data/train/cat", "Annotations/train/cat"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 6)).save(folder / f"Data/train/cat/{name}.JPEG", "jpeg")
    for name in boxed:
        (folder / f"Annotations/train/cat/{name}.xml").write_text(
            "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax>"
            "</bndbox></object></annotation>"
        )
    return folder


def images_without_xml(folder: Path) -> tuple[Path, dict[str, Any], str]:
    return (
        voc(folder / "v", "abc", "ab"),
        {"format": "voc_xml"},
        "images without an XML file of the same name are left out: 1",
    )


def coco_file(
    folder: Path, annotations: list[dict[str, Any]], categories: list[dict[str, Any]] | None = None
) -> Path:
    (folder / "images").mkdir(parents=True)
    images = [{"id": i, "file_name": f"{i}.png", "height": 6, "width": 8} for i in range(2)]
    for image in images:
        Image.new("RGB", (8, 6)).save(folder / "images" / str(image["file_name"]))
    filled = [{"id": i, "category_id": 1, "bbox": [0, 0, 2, 2], "area": 4, "iscrowd": 0} | one
              for i, one in enumerate(annotations)]  # fmt: skip
    path = folder / "person_keypoints_x.json"
    kinds = categories or [{"id": 1, "name": "person"}]
    path.write_text(json.dumps({"images": images, "annotations": filled, "categories": kinds}))
    return path


def other_members(folder: Path) -> tuple[Path, dict[str, Any], str]:
    path = coco_file(folder / "c", [{"image_id": 0, "score": 0.5, "attributes": {"occluded": True}}])
    return path, {}, "members of annotations that are not read: 'attributes', 'score'"


def without_image(folder: Path) -> tuple[Path, dict[str, Any], str]:
    path = coco_file(folder / "c", [{"image_id": 0}, {"image_id": 7}])
    return path, {}, "annotations whose image_id is not that of an image in the file are left out: 1"


ALL = [hard_links, symbolic_links, links_to_folders, without_suffix, first_lacks, second_tar_has_more, other_kinds, other_images, number_header,
       images_without_xml, other_members, without_image]  # fmt: skip


@pytest.mark.parametrize("make", ALL)
def test_what_is_left_out_is_said(
    make: Callable[[Path], tuple[Path, dict[str, Any], str]], tmp_path: Path
) -> None:
    path, options, text = make(tmp_path)
    with pytest.warns(UserWarning) as caught:
        ds = hr.read(path, **options)
    assert [text in str(one.message) for one in caught] == [True]
    assert text in ds.explain()
    given = [word for key, value in options.items() for word in (f"--{key}", value)]
    text = as_typed(text)
    assert text in said("inspect", str(path), *given)
    is_by_ending = make in (other_kinds, other_images)  # verify lists all files that are left out
    assert ("left out because of their names" if is_by_ending else text) in said("verify", str(path), *given)
    if is_by_ending:
        return
    assert any(text in note for note in json.loads(said("verify", str(path), "--json", *given))["notes"])


@pytest.mark.parametrize("make", ALL)
def test_again_from_the_index(
    make: Callable[[Path], tuple[Path, dict[str, Any], str]], tmp_path: Path
) -> None:
    path, options, text = make(tmp_path)
    for _ in range(2):
        with pytest.warns(UserWarning):
            hr.read(path, **options)
    said(
        "index", str(path), *[w for k, v in options.items() for w in (f"--{k}", v)]
    ) if path.suffix == ".tar" else None
    with pytest.warns(UserWarning) as caught:
        hr.read(path, **options)
    assert any(text in str(one.message) for one in caught)


def test_the_option_that_is_named_keeps_it_and_silences_the_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path, _, _ = first_lacks(tmp_path)
        ds = hr.read(path, fields=["jpg", "json"], missing="empty")
        assert [s["json"] for s in ds] == ["", "{}", "{}"]
        path, _, _ = other_kinds(tmp_path)
        assert len(hr.read(str(path) + "/*.csv")) == 2
        path, options, _ = images_without_xml(tmp_path)
        assert [len(hr.read(path, missing=m, **options)) for m in ("drop", "empty", "whole")] == [2, 3, 3]


def test_files_that_are_named_twice_are_said(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("x\n1\n")
    a, b = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    with pytest.warns(UserWarning, match="files that are named more than once are read once: 2"):
        assert len(hr.read([a, a, a, b])) == 2


def test_a_header_that_counts_its_columns_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("0,1,2\n4.9,3.0,1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(hr.read(tmp_path / "a.csv").schema) == ["0", "1", "2"]


def test_images_without_xml_are_empty_or_whole(tmp_path: Path) -> None:
    root = voc(tmp_path)
    empty = hr.read_voc_xml(root, missing="empty")
    assert [s["boxes"].shape for s in empty] == [(1, 4), (0, 4), (0, 4)]
    whole = hr.read_voc_xml(root, missing="whole", folder_label=True)
    assert whole[0]["boxes"].tolist() == [[0, 0, 4, 4]]
    assert whole[1]["boxes"].tolist() == [[0, 0, 8, 6]]
    assert [s["labels"].tolist() for s in whole] == [[0]] * 3
    assert [int(s["label"]) for s in whole] == [0] * 3
    assert whole.metadata["classes"] == ["cat"]
    flat = tmp_path / "flat"
    flat.mkdir()
    for name in "ab":
        Image.new("RGB", (8, 6)).save(flat / f"{name}.jpg")
    (flat / "a.xml").write_bytes((root / "Annotations/train/cat/a.xml").read_bytes())
    with pytest.raises(
        ValueError, match=r'missing="whole": expected images in folders .* or set missing="empty"'
    ):
        hr.read_voc_xml(flat, missing="whole")
    with pytest.raises(ValueError, match='missing must be "drop", "empty" or "whole", got'):
        hr.read_voc_xml(root, missing="keep")


def test_any_list_is_a_split_of_voc(tmp_path: Path) -> None:
    """ILSVRC's lists have folders and numbers."""
    root = voc(tmp_path, "abcd", "abc")
    lists = root / "ImageSets/CLS-LOC"
    lists.mkdir(parents=True)
    (lists / "train_loc.txt").write_text("cat/b 1\ncat/c 2\n")
    (lists / "train_cls.txt").write_text("cat/a 1\ncat/d 2\ndog/a 3\n")
    ds = hr.read_voc_xml(root, split="CLS-LOC/train_loc")
    assert len(ds) == 2
    assert len(hr.read_voc_xml(root, split="ImageSets/CLS-LOC/train_loc.txt")) == 2
    assert len(hr.read_voc_xml(root, split=str(lists / "train_loc.txt"))) == 2
    with pytest.warns(
        UserWarning, match=r"names of the split without an image that has an XML file are left out: 2"
    ):
        assert len(hr.read_voc_xml(root, split="CLS-LOC/train_cls")) == 1
    with pytest.warns(UserWarning, match=r"names of the split without an image are left out: 1"):
        assert len(hr.read_voc_xml(root, split="CLS-LOC/train_cls", missing="empty")) == 2
    with pytest.raises(ValueError, match=r"there are 'CLS-LOC/train_cls', 'CLS-LOC/train_loc'"):
        hr.read_voc_xml(root, split="train")


PERSON = [
    {"id": 1, "name": "person", "keypoints": ["nose", "tail"], "skeleton": [[1, 2]]},
    {"id": 2, "name": "car"},
]


def test_keypoints_of_coco_are_read(tmp_path: Path) -> None:
    path = coco_file(
        tmp_path,
        [
            {"image_id": 0, "keypoints": [1, 2, 2, 0, 0, 0], "num_keypoints": 1},
            {"image_id": 0, "category_id": 2},
            {"image_id": 0, "keypoints": [1.5, 2, 1, 3, 4, 2]},
        ],
        PERSON,
    )
    ds = hr.read(path)
    first, second = ds
    assert first["keypoints"].dtype == np.float32
    assert first["keypoints"].tolist() == [[[1, 2, 2], [0, 0, 0]], [[0, 0, 0]] * 2, [[1.5, 2, 1], [3, 4, 2]]]
    assert first["num_keypoints"].tolist() == [1, 0, 2]
    assert second["keypoints"].shape == (0, 2, 3)
    assert ds.metadata["keypoints"] == ["nose", "tail"]
    assert ds.metadata["skeleton"] == [[1, 2]]


@pytest.mark.parametrize(
    ("keypoints", "message"),
    [
        ([1, 2, 3, 4], "expected keypoints as numbers x, y, visibility"),
        (["a", 2, 3], "expected keypoints as numbers x, y, visibility"),
        ([1, 2, 3], "expected 2 keypoints, as its category names, got 1"),
    ],
)
def test_keypoints_that_do_not_fit_cost_their_image(
    tmp_path: Path, keypoints: list[Any], message: str
) -> None:
    path = coco_file(
        tmp_path, [{"image_id": 0, "keypoints": keypoints}, {"image_id": 1, "keypoints": [1] * 6}], PERSON
    )
    ds = hr.read(path)
    with pytest.raises(hr.CorruptSample, match=f"annotation 0 of image 0: {message}"):
        ds[0]
    assert ds[1]["keypoints"].tolist() == [[[1, 1, 1]] * 2]
