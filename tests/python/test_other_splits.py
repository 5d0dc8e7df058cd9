"""Splits that are read one by one: their numbers mean the same, or it is said."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr

VOC = "<annotation><object><name>{}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object></annotation>"


def notes(path: Path, **options: Any) -> tuple[Any, str]:
    """Return the data, and all warnings of reading them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = hr.read(path, **options)
    return data, " ".join(str(one.message) for one in caught)


def image(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4)).save(path)


def voc(root: Path) -> None:
    for split, classes in (("train", ["cat", "dog"]), ("val", ["dog"])):
        for name in classes:
            image(root / split / f"{name}.jpg")
            (root / split / f"{name}.xml").write_text(VOC.format(name))


def coco(root: Path, *, same_ids: bool = True) -> None:
    for split, classes in (("train2017", ["ant", "dog", "eel"]), ("val2017", ["ant", "eel"])):
        image(root / split / "1.jpg")
        ids = [1, 5, 9] if same_ids else [1, 2, 3]
        categories = [
            {"id": i if not same_ids else {"ant": 1, "dog": 5, "eel": 9}[name], "name": name}
            for i, name in zip(ids, classes, strict=False)
        ]
        annotations = [
            {
                "id": 1,
                "image_id": 1,
                "bbox": [0, 0, 1, 1],
                "area": 1,
                "iscrowd": 0,
                "category_id": categories[-1]["id"],
            }
        ]
        images = [{"id": 1, "file_name": "1.jpg", "height": 4, "width": 4}]
        (root / "annotations").mkdir(exist_ok=True)
        (root / f"annotations/instances_{split}.json").write_text(
            json.dumps({"images": images, "annotations": annotations, "categories": categories})
        )


def names(data: Any) -> list[str]:
    return [data.metadata["classes"][label] for sample in data for label in sample["labels"]]


@pytest.mark.parametrize("same_ids", [True, False])
def test_splits_of_coco_have_one_list_of_classes(tmp_path: Path, same_ids: bool) -> None:
    coco(tmp_path, same_ids=same_ids)
    for split in ("train", "val", "all", ["val", "train"], "val2017"):
        data, said = notes(tmp_path, split=split)
        assert data.metadata["classes"] == ["ant", "dog", "eel"] and not said
        assert set(names(data)) == {"eel"}
        data.save_plan(tmp_path / "plan.json")
        assert names(hr.load_plan(tmp_path / "plan.json")) == names(data)


def test_labels_that_are_ids_are_said_to_differ(tmp_path: Path) -> None:
    coco(tmp_path, same_ids=False)
    _, said = notes(tmp_path, split="val", labels="category_id")
    assert "category ids mean different things in the splits: 2 is 'eel' in split \"val\"" in said
    coco(tmp_path, same_ids=True)
    assert not notes(tmp_path, split="val", labels="category_id")[1]


def test_classes_of_the_training_set_number_another_one(tmp_path: Path) -> None:
    coco(tmp_path)
    train = hr.read(tmp_path, split="train")
    val = hr.read_coco(
        tmp_path / "annotations/instances_val2017.json",
        classes=train.metadata["classes"],
        images=tmp_path / "val2017",
    )
    assert names(val) == ["eel"] and val.metadata["classes"] == train.metadata["classes"]
    assert len(train.concatenate(val)) == 2


def test_splits_of_voc_have_one_list_of_classes(tmp_path: Path) -> None:
    voc(tmp_path)
    for split, wanted in (("train", ["cat", "dog"]), ("val", ["dog"]), ("all", ["cat", "dog", "dog"])):
        data, said = notes(tmp_path, split=split)
        assert data.metadata["classes"] == ["cat", "dog"] and not said
        assert names(data) == wanted


def rows(ending: str, values: list[Any]) -> str:
    if ending == ".csv":
        return "id,x\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))
    return "".join(json.dumps({"id": i, "x": value}) + "\n" for i, value in enumerate(values))


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@pytest.mark.parametrize("layout", ["{}{}", "{0}/part{1}"])
@pytest.mark.parametrize(
    ("train", "test", "dtype"),
    [([1.5, 2], [1, 2], "float64"), ([1, 2], ["n", "o"], "str"), ([1], [2.5], "float64")],
)
def test_dtypes_inferred_from_strings_are_said_to_differ(
    tmp_path: Path, ending: str, layout: str, train: list[Any], test: list[Any], dtype: str
) -> None:
    for split, values in (("train", train), ("test", test)):
        path = tmp_path / layout.format(split, ending)
        path.parent.mkdir(exist_ok=True)
        path.write_text(rows(ending, values))
    for split in ("train", "test"):
        _, said = notes(tmp_path, split=split)
        assert f'dtypes={{"x":"{dtype}"}} reads all splits alike' in said and "'id'" not in said
        if ending == ".csv" or dtype != "str":
            data, said = notes(tmp_path, split=split, dtypes={"x": dtype})
            assert not said and data.schema["x"].dtype == dtype


def written(path: Path, classes: list[str]) -> None:
    """Write a data set with these classes."""
    folder = path.with_suffix("")
    for name in classes:
        image(folder / name / "1.jpg")
    with_image = path.suffix == ".rec"  # has one field of bytes
    hr.read(folder).map(
        lambda s: {"image": s.image, "label": s.label} if with_image else {"label": s.label}
    ).write(path)


# Formats whose files do not say what their labels are, but their manifests do.
BY_MANIFEST = [".tar", ".tfrecord", ".rec", ".csv", ".jsonl"]
BY_THEMSELVES = [".parquet", ".arrow", ".h5", ".zarr"]


@pytest.mark.parametrize("ending", BY_MANIFEST + BY_THEMSELVES[:-1])
def test_files_with_other_classes_are_not_joined(tmp_path: Path, ending: str) -> None:
    written(tmp_path / f"a{ending}", ["cat", "dog"])
    written(tmp_path / f"b{ending}", ["ant", "cat"])
    files = [tmp_path / f"a{ending}", tmp_path / f"b{ending}"]
    with pytest.raises(ValueError, match=r"'cat', 'dog'.*'ant', 'cat'.*align_labels=True"):
        hr.read(files)
    assert [len(hr.read(file)) for file in files] == [2, 2]
    if ending in BY_THEMSELVES:
        assert len(hr.read(files, align_labels=True)) == 4


@pytest.mark.parametrize("ending", BY_MANIFEST + BY_THEMSELVES)
def test_splits_that_were_written_with_other_classes(tmp_path: Path, ending: str) -> None:
    for split, classes in (("train", ["cat", "dog"]), ("val", ["ant", "cat"])):
        written(tmp_path / "made" / f"{split}{ending}", classes)
    root = tmp_path / "data"
    root.mkdir()
    for path in (tmp_path / "made").iterdir():
        if path.name not in ("train", "val"):
            path.rename(root / path.name)
    assert hr.list_splits(root) == ["train", "val"]
    data, said = notes(root, split="val")
    assert data.metadata["classes"] == ["ant", "cat"]
    assert "labels mean different things in the splits: class 0 is 'ant' in split \"val\"" in said


def test_splits_with_other_units_are_said(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for split, unit in (("train", "us"), ("test", "ms")):
        pq.write_table(pa.table({"t": pa.array([1], pa.timestamp(unit))}), tmp_path / f"{split}.parquet")
    _, said = notes(tmp_path, split="test")
    assert 'field \'t\' is timestamp[ms] in split "test", and timestamp[us] in split "train"' in said


def test_a_split_with_several_endings_is_not_half_read(tmp_path: Path) -> None:
    for split in ("train", "val"):
        for ending in ("en", "de"):
            (tmp_path / f"{split}.{ending}").write_text("a line\n")
    with pytest.raises(
        ValueError, match=r"split \"train\" has files with different endings: .*train.de.*train.en"
    ):
        hr.read_text(tmp_path, split="train")
    for path in tmp_path.glob("*.de"):
        path.unlink()
    assert len(hr.read_text(tmp_path, split="train")) == 1


def test_a_folder_of_several_endings_is_not_half_read_without_a_word(tmp_path: Path) -> None:
    for ending in ("en", "de"):
        (tmp_path / f"a.{ending}").write_text("a line\n")
    with pytest.warns(
        UserWarning, match=r"files of other kinds than .de in the folder are left out: .en \(1\)"
    ):
        assert len(hr.read_text(tmp_path)) == 1


def hive(root: Path, key: str, values: list[str]) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for value in values:
        (root / f"{key}={value}").mkdir(parents=True)
        pq.write_table(pa.table({"x": pa.array([1, 2])}), root / f"{key}={value}/part-0.parquet")


def test_the_split_column_is_read_for_several_splits(tmp_path: Path) -> None:
    hive(tmp_path, "split", ["test", "train", "val"])
    data = hr.read(tmp_path, split=["train", "test"])
    assert sorted(str(sample["split"]) for sample in data) == ["test", "test", "train", "train"]
    assert len(hr.read(tmp_path, split="all")) == 6


def test_a_pattern_says_that_partition_columns_are_not_read(tmp_path: Path) -> None:
    hive(tmp_path, "year", ["2023", "2024"])
    assert notes(tmp_path)[1] == ""
    data, said = notes(tmp_path / "*/*.parquet")  # type: ignore[arg-type]
    assert list(data.schema) == ["x"] and "values of 'year', which is not read" in said


def test_an_option_that_is_nearly_split_is_named(tmp_path: Path) -> None:
    for split in ("train", "val"):
        (tmp_path / f"{split}.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match="no format has an option 'splits', did you mean 'split'"):
        hr.read(tmp_path, splits="train")


def test_keys_are_written_once(tmp_path: Path) -> None:
    def write(keys: list[str]) -> None:
        hr.from_arrays({"__key__": keys, "cls": np.arange(len(keys))}).write(
            tmp_path / "x.tar", overwrite=True
        )

    write(["train/a", "val/a", "train/b"])
    with pytest.raises(ValueError, match="expected another key for each sample, got 'a' again"):
        write(["a", "b", "a"])
