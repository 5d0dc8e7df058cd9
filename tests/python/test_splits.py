"""Splits of a data set side by side: never read as one without being asked for, chosen by name in every format.

The layouts are those of data sets as they are downloaded, or as the usual tools write them, in small.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import struct
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr

TRAIN, TEST = 5, 2  # samples


def data_of(ending: str, count: int, folder: Path) -> Path:
    """Write a data set of that many samples in the format of an ending; return its path."""
    path = folder / f"data{ending}"
    columns = {
        ".txt": {"text": [f"line {i}" for i in range(count)]},
        ".npy": {"array": np.zeros((count, 2), "f4")},
    }
    images = {"image": [b"x" * (i + 1) for i in range(count)], "label": np.arange(count)}
    numbers = {"a": np.arange(count), "b": np.arange(count) * 0.5}
    if ending == ".txt":
        path.write_text("".join(f"line {i}\n" for i in range(count)))
    elif ending == ".tsv":
        path.write_text("a\tb\n" + "".join(f"{i}\t{i / 2}\n" for i in range(count)))
    elif ending == ".npz":
        np.savez(path, **numbers)
    else:
        takes_numbers = ending in (".csv", ".jsonl", ".parquet", ".arrow", ".h5", ".zarr")
        hr.from_arrays(columns.get(ending, numbers if takes_numbers else images)).write(path)
    for beside in folder.glob("*.headrace.json"):
        beside.unlink()
    return path


FILES = [
    ".csv",
    ".tsv",
    ".txt",
    ".jsonl",
    ".npy",
    ".npz",
    ".parquet",
    ".arrow",
    ".h5",
    ".tar",
    ".tfrecord",
    ".rec",
]
FOLDERS = [".zarr", ".lmdb", ".mds"]
NAMED = {".txt": {"format": "text"}}  # what is not recognised by its content


def layouts(ending: str) -> dict[str, list[str]]:
    """Return names of a train and a test split, with TRAIN or TEST samples a name."""
    return {
        "names": [f"train{ending}", f"test{ending}"],
        "numbers": [f"train_0{ending}", f"train_1{ending}", f"val_0{ending}"],
        "of": [
            f"d-train-00000-of-00002{ending}",
            f"d-train-00001-of-00002{ending}",
            f"d-dev-00000-of-00001{ending}",
        ],
        "affixes": [f"imagenet-train-000000{ending}", f"imagenet-validation-000000{ending}"],
        "capitals": [f"Train{ending}", f"TEST{ending}"],
        "folders": [f"train/0{ending}", f"test/0{ending}"],
        "sets": [f"training_set/part{ending}", f"testing_set/part{ending}"],
        "below": [f"data/train{ending}", f"data/eval{ending}"],
    }


def laid_out(names: list[str], folder: Path, ending: str, made: Path) -> tuple[int, int]:
    """Copy data to these names; return the samples that the training and the other split should have."""
    counts = {True: 0, False: 0}
    for name in names:
        is_train = "train" in name.lower()
        count = TRAIN if is_train else TEST
        source = made / str(count) / f"data{ending}"
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
        counts[is_train] += count
    (folder / "README.md").write_text("# about")
    return counts[True], counts[False]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write data sets of TRAIN and of TEST samples in every format."""
    folder = tmp_path_factory.mktemp("made")
    for count in (TRAIN, TEST):
        (folder / str(count)).mkdir()
        for ending in FILES + FOLDERS:
            data_of(ending, count, folder / str(count))
    return folder


@pytest.mark.parametrize("layout", list(layouts("")))
@pytest.mark.parametrize("ending", FILES + FOLDERS)
def test_every_format_in_every_layout(ending: str, layout: str, tmp_path: Path, made: Path) -> None:
    """Without split= they are refused, and each is read by its name; all of them are all samples."""
    if ending == ".mds" and layout in ("numbers", "of"):
        pytest.skip("a split of MDS is one folder, with the shards in it")
    options = NAMED.get(ending, {})
    train, test = laid_out(layouts(ending)[layout], tmp_path, ending, made)
    names = hr.list_splits(tmp_path)
    assert len(names) == 2, names
    with pytest.raises(ValueError, match="contains the splits") as refused:
        hr.read(tmp_path, **options)
    assert all(json.dumps(name) in str(refused.value) for name in names) and "split=" in str(refused.value)
    by_kind = {"train" in name.lower(): name for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(hr.read(tmp_path, split=by_kind[True], **options)) == train
        assert len(hr.read(tmp_path, split="train", **options)) == train
        assert len(hr.read(tmp_path, split=by_kind[False], **options)) == test
        both = hr.read(tmp_path, split=[by_kind[False], by_kind[True]], **options)
        assert len(both) == len(hr.read(tmp_path, split="all", **options)) == train + test
    first = hr.read(tmp_path, split=by_kind[False], **options)
    assert str(both[test - 1]) == str(first[test - 1])
    with pytest.raises(ValueError, match=r"there is no (split )?.other."):
        hr.read(tmp_path, split="other", **options)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".txt"])
def test_compressed(ending: str, tmp_path: Path, made: Path) -> None:
    """An ending of a compression behind that of the format changes nothing."""
    for name, count in (("train", TRAIN), ("test", TEST)):
        packed = gzip.compress((made / str(count) / f"data{ending}").read_bytes())
        (tmp_path / f"{name}{ending}.gz").write_bytes(packed)
    options = NAMED.get(ending, {})
    with pytest.raises(ValueError, match='"test", "train"'):
        hr.read(tmp_path, **options)
    assert len(hr.read(tmp_path, split="train", **options)) == TRAIN


@pytest.mark.parametrize("split", ["train", ["train", "test"], "all"])
@pytest.mark.parametrize("ending", [".csv", ".zarr", ".jpg"])
def test_plans_open_the_same(ending: str, split: str | list[str], tmp_path: Path, made: Path) -> None:
    """A plan names the folder and the splits."""
    folder = tmp_path / "d"
    if ending == ".jpg":
        pictures(folder, {"train/cat": 3, "train/dog": 1, "test/cat": 1, "test/dog": 1})
    else:
        laid_out([f"train{ending}", f"test{ending}"], folder, ending, made)
    data = hr.read(folder, split=split)
    data.save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json")
    assert str(list(again)) == str(list(data))
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert json.dumps(split) in json.dumps(plan)


@pytest.mark.parametrize("ending", FILES)
def test_what_the_user_names_is_not_refused(ending: str, tmp_path: Path, made: Path) -> None:
    """Lists and patterns say what is read."""
    laid_out([f"train{ending}", f"test{ending}"], tmp_path, ending, made)
    options = NAMED.get(ending, {})
    assert len(hr.read([tmp_path / f"train{ending}", tmp_path / f"test{ending}"], **options)) == TRAIN + TEST
    assert len(hr.read(tmp_path / f"*{ending}", **options)) == TRAIN + TEST
    with pytest.raises(ValueError, match="split= chooses among files and folders in a folder"):
        hr.read(tmp_path / f"*{ending}", split="train", **options)


@pytest.mark.parametrize(
    "names",
    [
        ["en", "de"],
        ["dev-board", "prod-board"],
        ["dev-board", "test-bench"],
        ["train"],
        ["contest", "latest"],
    ],
)
@pytest.mark.parametrize("ending", FILES)
def test_other_names_are_one_data_set(ending: str, names: list[str], tmp_path: Path, made: Path) -> None:
    """Words in names that are no splits, or a single one, are read as before, without a word."""
    for name in names:
        shutil.copy(made / str(TEST) / f"data{ending}", tmp_path / f"{name}{ending}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(hr.read(tmp_path, **NAMED.get(ending, {}))) == TEST * len(names)


def test_doubtful_names_are_said(tmp_path: Path, made: Path) -> None:
    """Beside files of other names, splits may mean something else."""
    laid_out(["train.csv", "test.csv", "more.csv"], tmp_path, ".csv", made)
    with pytest.warns(
        UserWarning, match='contains "test", "train" beside \'more.csv\', and all are read as one'
    ):
        assert len(hr.read(tmp_path)) == TRAIN + 2 * TEST
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(hr.read(tmp_path, split="all")) == TRAIN + 2 * TEST
        assert len(hr.read(tmp_path, split="test")) == TEST


# ---- layouts as they are downloaded


def jpeg() -> bytes:
    """Return a small picture."""
    out = io.BytesIO()
    Image.new("RGB", (2, 2)).save(out, "JPEG")
    return out.getvalue()


JPEG = jpeg()
IDX_IMAGES, IDX_LABELS = bytes([0, 0, 8, 3]), bytes([0, 0, 8, 1])


def pictures(root: Path, counts: dict[str, int], ending: str = ".jpg") -> None:
    """Write as many pictures into each folder."""
    for folder, count in counts.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            (root / folder / f"{i}{ending}").write_bytes(JPEG)


def text(*lines: str) -> bytes:
    """Return lines of text."""
    return "".join(line + "\n" for line in lines).encode()


def idx_images(count: int) -> bytes:
    """Return images of 2 x 2."""
    return IDX_IMAGES + struct.pack(">III", count, 2, 2) + bytes(4 * count)


def idx_labels(count: int) -> bytes:
    """Return labels."""
    return IDX_LABELS + struct.pack(">I", count) + bytes(count)


def mnist(
    folder: str, ending: str = "", images: str = "-images-idx3-ubyte", labels: str = "-labels-idx1-ubyte"
) -> dict[str, bytes]:
    """Return MNIST's four files."""
    pack: Callable[[bytes], bytes] = gzip.compress if ending == ".gz" else bytes
    out = {}
    for split, count in (("train", 3), ("t10k", 2)):
        out[f"{folder}{split}{images}{ending}"] = pack(idx_images(count))
        out[f"{folder}{split}{labels}{ending}"] = pack(idx_labels(count))
    return out


def coco(split: str, count: int) -> bytes:
    """Return annotations of as many images, each with a box."""
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 2, "height": 2} for i in range(count)]
    boxes = [
        {"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0}
        for i in range(count)
    ]
    return json.dumps(
        {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]}
    ).encode()


def voc_xml(name: str) -> bytes:
    """Return an annotation of one object."""
    return (
        f"<annotation><filename>{name}.jpg</filename><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin>"
        "<xmax>2</xmax><ymax>2</ymax></bndbox></object></annotation>"
    ).encode()


def voc(root: str) -> dict[str, bytes]:
    """Return three annotated pictures and their lists."""
    out = {
        f"{root}ImageSets/Main/train.txt": text("0", "1"),
        f"{root}ImageSets/Main/val.txt": text("2"),
        f"{root}ImageSets/Main/trainval.txt": text("0", "1", "2"),
        f"{root}ImageSets/Main/cat_train.txt": text("0 1", "1 -1"),
    }
    for name in "012":
        out |= {f"{root}JPEGImages/{name}.jpg": JPEG, f"{root}Annotations/{name}.xml": voc_xml(name)}
    return out  # fmt: skip


def ilsvrc(root: str) -> dict[str, bytes]:
    """Return ImageNet's challenge as Kaggle has it."""
    out = {
        f"{root}ILSVRC/ImageSets/CLS-LOC/train_cls.txt": text("n01/n01_0 1", "n02/n02_0 2"),
        f"{root}ILSVRC/ImageSets/CLS-LOC/val.txt": text("v_0 1"),
        f"{root}LOC_synset_mapping.txt": text("n01 tench", "n02 goldfish"),
        f"{root}LOC_val_solution.csv": text("ImageId,PredictionString", "v_0,n01 1 1 2 2"),
        f"{root}LOC_train_solution.csv": text("ImageId,PredictionString", "n01_0,n01 1 1 2 2"),
        f"{root}LOC_sample_submission.csv": text("ImageId,PredictionString"),
    }
    for wnid in ("n01", "n02"):
        out[f"{root}ILSVRC/Data/CLS-LOC/train/{wnid}/{wnid}_0.JPEG"] = JPEG
        out[f"{root}ILSVRC/Annotations/CLS-LOC/train/{wnid}/{wnid}_0.xml"] = voc_xml(f"{wnid}_0")
    out[f"{root}ILSVRC/Data/CLS-LOC/val/v_0.JPEG"] = JPEG
    out[f"{root}ILSVRC/Annotations/CLS-LOC/val/v_0.xml"] = voc_xml("v_0")
    out[f"{root}ILSVRC/Data/CLS-LOC/test/t_0.JPEG"] = JPEG
    return out  # fmt: skip


def flat(counts: dict[str, int], **beside: bytes) -> dict[str, bytes]:
    """Return pictures in folders, and files beside them."""
    out = {f"{folder}/{i}.jpg": JPEG for folder, count in counts.items() for i in range(count)}
    return out | {name.replace("__", "."): content for name, content in beside.items()}


RECORD = bytes([7]) + bytes(3072)
CSV3, CSV1 = text("a,b", "1,2", "3,4", "5,6"), text("a,b", "7,8")
JSON3, JSON1 = b'{"a": 1}\n' * 3, b'{"a": 2}\n'
# What is in the folder -> the splits, and the fields and samples of each.
DOWNLOADED: dict[str, tuple[dict[str, bytes], dict[str, tuple[str, int]]]] = {
    "MNIST": (mnist(""), {"t10k": ("image label", 2), "train": ("image label", 3)}),
    "MNIST in gzip": (mnist("", ".gz"), {"t10k": ("image label", 2), "train": ("image label", 3)}),
    "MNIST of torchvision, both": (mnist("MNIST/raw/") | mnist("MNIST/raw/", ".gz"), {"t10k": ("image label", 2), "train": ("image label", 3)}),
    "MNIST of Kaggle": (mnist("", "", "-images.idx3-ubyte", "-labels.idx1-ubyte"), {"t10k": ("image label", 2), "train": ("image label", 3)}),
    "FashionMNIST of torchvision": (mnist("FashionMNIST/raw/", ".gz"), {"t10k": ("image label", 2), "train": ("image label", 3)}),
    "CIFAR-10": (
        {f"cifar-10-batches-bin/data_batch_{i}.bin": RECORD * 2 for i in range(1, 6)}
        | {"cifar-10-batches-bin/test_batch.bin": RECORD, "cifar-10-batches-bin/batches.meta.txt": b"x\n", "cifar-10-batches-bin/readme.html": b"x"},
        {"test": ("image label", 1), "train": ("image label", 10)},
    ),
    "CIFAR-100": (
        {"train.bin": (b"\1" + RECORD) * 3, "test.bin": b"\1" + RECORD, "fine_label_names.txt": b"x\n", "coarse_label_names.txt": b"x\n"},
        {"test": ("image label coarse_label", 1), "train": ("image label coarse_label", 3)},
    ),
    "COCO": (
        {"annotations/instances_train2017.json": coco("train2017", 3), "annotations/instances_val2017.json": coco("val2017", 1),
         "annotations/captions_val2017.json": coco("val2017", 1)} | flat({"train2017": 3, "val2017": 1}),
        {"train2017": ("image", 3), "val2017": ("image", 1)},
    ),
    "COCO's images alone": (flat({"train2017": 3, "val2017": 1, "test2017": 2}), {"test2017": ("image", 2), "train2017": ("image", 3), "val2017": ("image", 1)}),
    "COCO of Roboflow": (
        {f"{split}/_annotations.coco.json": coco(split, count) for split, count in (("train", 3), ("valid", 1), ("test", 2))}
        | flat({"train": 3, "valid": 1, "test": 2}) | {"README.roboflow.txt": b"x"},
        {"test": ("image", 2), "train": ("image", 3), "valid": ("image", 1)},
    ),
    "VOC": (voc(""), {"train": ("image boxes labels", 2), "trainval": ("image boxes labels", 3), "val": ("image boxes labels", 1)}),
    "VOC in VOCdevkit": (voc("VOCdevkit/VOC2012/"), {"train": ("image boxes labels", 2), "trainval": ("image boxes labels", 3), "val": ("image boxes labels", 1)}),
    "ILSVRC": (ilsvrc(""), {"test": ("image", 1), "train": ("image label", 2), "val": ("image label", 1)}),
    "ILSVRC's parent": (ilsvrc("imagenet/"), {"test": ("image", 1), "train": ("image label", 2), "val": ("image label", 1)}),
    "ImageNet with val in folders": (flat({"train/n01": 2, "train/n02": 1, "val/n01": 1, "val/n02": 1}), {"train": ("image label", 3), "val": ("image label", 2)}),
    "ImageNet with val flat": (flat({"train/n01": 2, "train/n02": 1, "val": 2}), {"train": ("image label", 3), "val": ("image", 2)}),
    "Tiny ImageNet": (
        flat({"train/n01/images": 2, "train/n02/images": 1, "val/images": 2, "test/images": 1}) | {"wnids.txt": b"n01\n", "words.txt": b"n01\tx\n", "val/val_annotations.txt": b"x\n"},
        {"test": ("image label", 1), "train": ("image label", 3), "val": ("image label", 2)},
    ),
    "chest_xray of Kaggle": (
        flat({"chest_xray/train/NORMAL": 2, "chest_xray/train/PNEUMONIA": 1, "chest_xray/val/NORMAL": 1, "chest_xray/test/NORMAL": 2, "__MACOSX/chest_xray/test/NORMAL": 1}),
        {"test": ("image label", 2), "train": ("image label", 3), "val": ("image label", 1)},
    ),
    "Intel's scenes of Kaggle": (
        flat({"seg_train/seg_train/sea": 2, "seg_train/seg_train/street": 1, "seg_test/seg_test/sea": 1, "seg_test/seg_test/street": 1, "seg_pred/seg_pred": 2}),
        {"pred": ("image", 2), "test": ("image label", 2), "train": ("image label", 3)},
    ),
    "cats and dogs of Kaggle": (flat({"training_set/training_set/cats": 2, "training_set/training_set/dogs": 1, "test_set/test_set/cats": 1, "test_set/test_set/dogs": 1}), {"test": ("image label", 2), "training": ("image label", 3)}),
    "dogs vs. cats of Kaggle": (flat({"train": 3, "test1": 2}, sampleSubmission__csv=b"id,label\n"), {"test1": ("image", 2), "train": ("image", 3)}),
    "dog breeds of Kaggle": (flat({"train": 3, "test": 2}, labels__csv=b"id,breed\n0,pug\n", sample_submission__csv=b"id\n"), {"test": ("image", 2), "train": ("image", 3)}),
    "pictures and tables of Kaggle": (flat({"train": 3, "test": 2}, train__csv=b"id,y\n0,1\n", test__csv=b"id\n0\n"), {"test": ("image", 2), "train": ("image", 3)}),
    "titanic of Kaggle": ({"train.csv": CSV3, "test.csv": CSV1, "gender_submission.csv": CSV1}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "CycleGAN": (flat({"trainA": 2, "trainB": 1, "testA": 1, "testB": 1}), {"testA": ("image", 1), "testB": ("image", 1), "trainA": ("image", 2), "trainB": ("image", 1)}),
    "YOLO": (flat({"images/train": 3, "images/val": 1}) | {"labels/train/0.txt": b"0 0 0 1 1\n", "labels/val/0.txt": b"0 0 0 1 1\n", "data.yaml": b"x"}, {"train": ("image", 3), "val": ("image", 1)}),
    "Cityscapes": (flat({"leftImg8bit/train/aachen": 2, "leftImg8bit/train/ulm": 1, "leftImg8bit/val/bonn": 1, "leftImg8bit/val/jena": 1, "leftImg8bit/train_extra/wien": 1, "leftImg8bit/train_extra/bern": 1}), {"train": ("image label", 3), "train_extra": ("image label", 2), "val": ("image label", 2)}),
    "GTSRB": (flat({"Train/0": 2, "Train/1": 1, "Test": 2, "Meta": 1}, Train__csv=b"a\n1\n", Test__csv=b"a\n1\n", Meta__csv=b"a\n1\n"), {"Test": ("image", 2), "Train": ("image label", 3)}),
    "Market-1501": (flat({"bounding_box_train": 3, "bounding_box_test": 2, "query": 1}), {"query": ("image", 1), "test": ("image", 2), "train": ("image", 3)}),
    "Hub clone": ({"README.md": b"x", "data/train-00000-of-00001.jsonl": JSON3, "data/test-00000-of-00001.jsonl": JSON1}, {"test": ("a", 1), "train": ("a", 3)}),
    "Hub clone with .gitattributes": ({".gitattributes": b"x", "README.md": b"x", "train.jsonl": JSON3, "validation.jsonl": JSON1, "test.jsonl": JSON1}, {"test": ("a", 1), "train": ("a", 3), "validation": ("a", 1)}),
    "Hub clone, config default": ({"README.md": b"x", "default/train/0000.jsonl": JSON3, "default/test/0000.jsonl": JSON1}, {"test": ("a", 1), "train": ("a", 3)}),
    "IMDB of the Hub": ({"plain_text/train-00000-of-00001.jsonl": JSON3, "plain_text/test-00000-of-00001.jsonl": JSON1, "plain_text/unsupervised-00000-of-00001.jsonl": JSON1}, {"test": ("a", 1), "train": ("a", 3), "unsupervised": ("a", 1)}),
    "MNLI of GLUE": ({"train.jsonl": JSON3, "dev_matched.jsonl": JSON1, "dev_mismatched.jsonl": JSON1, "test_matched.jsonl": JSON1, "test_mismatched.jsonl": JSON1}, {"dev_matched": ("a", 1), "dev_mismatched": ("a", 1), "test_matched": ("a", 1), "test_mismatched": ("a", 1), "train": ("a", 3)}),
    "WikiText": ({"wikitext-2/wiki.train.tokens.txt": b"a\nb\nc\n", "wikitext-2/wiki.valid.tokens.txt": b"a\n", "wikitext-2/wiki.test.tokens.txt": b"a\n"}, {"test": ("line", 1), "train": ("line", 3), "valid": ("line", 1)}),
    "PTB": ({"ptb.train.txt": b"a\nb\nc\n", "ptb.valid.txt": b"a\n", "ptb.test.txt": b"a\n"}, {"test": ("line", 1), "train": ("line", 3), "valid": ("line", 1)}),
    "AG news": ({"train.csv": CSV3, "test.csv": CSV1, "classes.txt": b"x\n", "readme.txt": b"x"}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "SNLI": ({"snli_1.0_train.jsonl": JSON3, "snli_1.0_dev.jsonl": JSON1, "snli_1.0_test.jsonl": JSON1, "README.txt": b"x"}, {"dev": ("a", 1), "test": ("a", 1), "train": ("a", 3)}),
    "SQuAD as lines": ({"train-v2.0.jsonl": JSON3, "dev-v2.0.jsonl": JSON1}, {"dev": ("a", 1), "train": ("a", 3)}),
    "UCI HAR": ({"train/X_train.csv": CSV3, "test/X_test.csv": CSV1, "features.txt": b"x\n"}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "numpy with labels": (
        {}, {"test": ("x y", 1), "train": ("x y", 3)},
    ),
    "Spark, split as a partition": ({"split=train/part-0.jsonl": JSON3, "split=test/part-0.jsonl": JSON1, "_SUCCESS": b""}, {"test": ("a", 1), "train": ("a", 3)}),
    "only one": ({"README.md": b"x", "data/train-00000-of-00001.jsonl": JSON3}, {"train": ("a", 3)}),
}  # fmt: skip


def written(files: dict[str, bytes], root: Path) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


@pytest.fixture(params=list(DOWNLOADED))
def downloaded(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Path, dict[str, tuple[str, int]]]]:
    """Write a layout; return its folder and what is expected of it."""
    files, expected = DOWNLOADED[request.param]
    if not files:
        for name, count in (("train", 3), ("test", 1)):
            np.save(tmp_path / f"x_{name}.npy", np.zeros((count, 2), "f4"))
            np.save(tmp_path / f"y_{name}.npy", np.arange(count))
    yield written(files, tmp_path), expected


def test_as_they_are_downloaded(downloaded: tuple[Path, dict[str, tuple[str, int]]]) -> None:
    """Each split opens by its name, with the fields that belong to it."""
    root, expected = downloaded
    assert sorted(hr.list_splits(root)) == sorted(expected)
    if len(expected) > 1:
        with pytest.raises(ValueError, match="contains the splits") as refused:
            hr.read(root)
        assert all(json.dumps(name) in str(refused.value) for name in expected)
    for name, (fields, count) in expected.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"format": "text"} if fields == "line" else {}
            data = hr.read(root, split=name, **options)
        assert len(data) == count, name
        assert set(fields.split()) <= set(data.schema), (name, data.schema)
        assert len(list(data)) == count


def test_labels_lie_beside_images_of_mnist(tmp_path: Path) -> None:
    """They are found by their name; False leaves them out, and another number is an error."""
    written(
        mnist("") | {"a-images-idx3-ubyte": idx_images(2), "a-labels-idx1-ubyte": idx_labels(3)}, tmp_path
    )
    assert list(hr.read(tmp_path / "train-images-idx3-ubyte").schema) == ["image", "label"]
    assert list(hr.read_idx(tmp_path / "t10k-images-idx3-ubyte").schema) == ["image", "label"]
    assert list(hr.read_idx(tmp_path / "train-images-idx3-ubyte", labels=False).schema) == ["array"]
    assert list(hr.read(tmp_path / "train-labels-idx1-ubyte").schema) == ["array"]
    with pytest.raises(hr.CorruptSample, match=r"expected 2 rows as in .*, got 3"):
        hr.read(tmp_path / "a-images-idx3-ubyte")


def test_several_data_sets_are_not_guessed(tmp_path: Path) -> None:
    """Of two folders with splits, one has to be opened."""
    written(
        {"en/train.jsonl": JSON3, "en/test.jsonl": JSON1, "de/train.jsonl": JSON3, "de/test.jsonl": JSON1},
        tmp_path,
    )
    for options in ({}, {"split": "train"}):
        with pytest.raises(
            ValueError, match="contains the splits of several data sets; open one of them: 'de', 'en'"
        ):
            hr.read(tmp_path, **options)
    assert len(hr.read(tmp_path / "en", split="train")) == 3


def test_labels_of_imagenet_are_those_of_training(tmp_path: Path) -> None:
    """Validation images lie in one folder; Kaggle lists their classes."""
    files = ilsvrc("") | {
        "LOC_val_solution.csv": text(
            "ImageId,PredictionString", "v_0,n02 1 1 2 2 n02 1 1 2 2", "v_1,n03 1 1 2 2"
        )
    }
    written(files | {"ILSVRC/Data/CLS-LOC/val/v_1.JPEG": JPEG}, tmp_path)
    with pytest.warns(UserWarning, match="1 of 2 images are left out: their classes are not among the 2"):
        val = hr.read(tmp_path, split="val")
    assert [s["label"] for s in val] == [1] and val.metadata["classes"] == ["n01", "n02"]
    assert hr.read(tmp_path, split=["train", "val"]).metadata["classes"] == ["n01", "n02"]
    alone = hr.read(tmp_path / "LOC_val_solution.csv")
    assert [s["label"] for s in alone] == [0, 1] and alone.metadata["classes"] == ["n02", "n03"]


# ---- class folders


def test_classes_named_like_splits(tmp_path: Path) -> None:
    """CIFAR-100 has a class "train": it is read as one, with a word; so are two beside other classes."""
    pictures(tmp_path, {"bus": 1, "train": 1, "tram": 1})
    with pytest.warns(UserWarning, match="the folder 'train' is read as a class"):
        assert hr.read(tmp_path).metadata["classes"] == ["bus", "train", "tram"]
    pictures(tmp_path, {"test": 1})
    with pytest.warns(UserWarning, match="beside 'bus', and all are read as one"):
        assert len(hr.read(tmp_path)) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(hr.read_image_folder(tmp_path)) == 4


def test_one_class_is_said(tmp_path: Path) -> None:
    """All labels would be 0."""
    pictures(tmp_path, {"photos": 2})
    with pytest.warns(UserWarning, match="all images are in the folder 'photos', so that every label is 0"):
        hr.read(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.read_image_folder(tmp_path)


def test_an_empty_class_keeps_its_number(tmp_path: Path) -> None:
    """The labels of the classes behind it stay what they are in the other splits."""
    pictures(tmp_path, {"a": 1, "b": 0, "c": 1})
    with pytest.warns(UserWarning, match="1 of 3 class folders has no images and keep.* 'b'"):
        data = hr.read(tmp_path)
    assert data.metadata["classes"] == ["a", "b", "c"] and [s["label"] for s in data] == [0, 2]


def test_labels_mean_the_same_in_all_splits(tmp_path: Path) -> None:
    """A split that lacks a class does not shift the numbers of those behind it."""
    pictures(tmp_path, {"train/cat": 1, "train/dog": 1, "train/eel": 1, "val/cat": 1, "val/eel": 1})
    val = hr.read(tmp_path, split="val")
    assert val.metadata["classes"] == ["cat", "dog", "eel"] and [s["label"] for s in val] == [0, 2]
    assert [s["label"] for s in hr.read(tmp_path, split="all")] == [0, 1, 2, 0, 2]


def test_hidden_files_are_no_images(tmp_path: Path) -> None:
    """A class folder with only ".gitkeep" in it is empty."""
    pictures(tmp_path, {"a": 1, "b": 0, "c": 1})
    (tmp_path / "b/.gitkeep").touch()
    with pytest.warns(UserWarning, match="1 of 3 class folders has no images and keeps its label: 'b'"):
        assert [s["label"] for s in hr.read(tmp_path)] == [0, 2]


def test_an_image_beside_the_classes_is_said(tmp_path: Path) -> None:
    """It would take the labels of all others."""
    pictures(tmp_path, {"a": 1, "b": 2})
    (tmp_path / "logo.jpg").write_bytes(JPEG)
    with pytest.warns(UserWarning, match="1 of 4 images lie beside the folders"):
        assert list(hr.read(tmp_path).schema) == ["image"]


@pytest.mark.parametrize(
    "split", ["train[:50%]", "train[0]", "!train", "train-50", "train2017", "trainval", "", 3, {}, [1]]
)
def test_words_that_say_more_are_refused(split: object, tmp_path: Path) -> None:
    """Only a plain word stands for another of its kind."""
    written({"train.jsonl": JSON3, "test.jsonl": JSON1}, tmp_path)
    with pytest.raises(ValueError, match="split"):
        hr.read(tmp_path, split=split)


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["train.csv", "train_small.csv", "test.csv"], ["test", "train", "train_small"]),
        (["train.en.txt", "train.de.txt", "test.en.txt", "test.de.txt"], ["test.de", "test.en", "train.de", "train.en"]),
        (["train_images/1.jpg", "train_masks/1.png", "val_images/2.jpg", "val_masks/2.png"], ["train_images", "train_masks", "val_images", "val_masks"]),
        (["KDDTrain+.csv", "KDDTest+.csv"], ["Test", "Train"]),
        (["env=dev/0.jsonl", "env=test/0.jsonl"], []),
        (["training/1.jpg", "training/2.jpg", "testing/1.jpg"], ["testing", "training"]),
    ],
)  # fmt: skip
def test_names_of_splits(files: list[str], names: list[str], tmp_path: Path) -> None:
    """Other words make other splits of the same kind; a word of a partition's value is none."""
    written(dict.fromkeys(files, JSON1), tmp_path)
    assert hr.list_splits(tmp_path) == names


def test_several_downloaded_data_sets(tmp_path: Path) -> None:
    """Of two, none is dropped."""
    written(mnist("MNIST/raw/") | mnist("FashionMNIST/raw/"), tmp_path)
    for options in ({}, {"split": "train"}):
        with pytest.raises(
            ValueError, match="splits of several data sets; open one of them: 'FashionMNIST/raw', 'MNIST/raw'"
        ):
            hr.read(tmp_path, **options)


# ---- partitions


def test_partitions_are_fields(tmp_path: Path) -> None:
    """Folders of Hive, Spark and pyarrow: whole numbers are int64, others strings."""
    for year, label, count in ((2023, "cat", 2), (2024, "cat", 1), (2024, "New%20York", 3)):
        folder = tmp_path / f"year={year}" / f"label={label}"
        folder.mkdir(parents=True)
        hr.from_arrays({"a": np.arange(count)}).write(folder / "part-0.parquet")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    for data in (hr.read(tmp_path), hr.read_parquet(tmp_path)):
        assert [(s["a"].item(), s["year"].item(), s["label"]) for s in data] == [
            (0, 2023, "cat"), (1, 2023, "cat"), (0, 2024, "New York"), (1, 2024, "New York"), (2, 2024, "New York"), (0, 2024, "cat"),
        ]  # fmt: skip
        batch = next(iter(data.batch(6)))
        assert batch["year"].tolist() == [2023, 2023, 2024, 2024, 2024, 2024] and batch["a"].tolist() == [
            0,
            1,
            0,
            1,
            2,
            0,
        ]
    assert list(hr.read(tmp_path, columns=["a", "label"]).schema) == ["a", "label"]
    hr.read(tmp_path).save_plan(tmp_path / "plan.json")
    assert len(hr.load_plan(tmp_path / "plan.json")) == 6


def test_partitions_agree_as_files_of_a_list_do(tmp_path: Path) -> None:
    """One rule: whole numbers and fractions of text tables are float64; the wider dtype; other fields are refused."""
    for key, text in (("a", "x,y\n1,2\n"), ("b", "x,y\n0.5,2\n3,4\n")):
        (tmp_path / "csv" / f"key={key}").mkdir(parents=True)
        (tmp_path / "csv" / f"key={key}" / "0.csv").write_text(text)
        (tmp_path / "npz" / f"key={key}").mkdir(parents=True)
    data = hr.read(tmp_path / "csv")
    assert [(s["x"].item(), s["y"].item(), s["key"]) for s in data] == [
        (1.0, 2, "a"),
        (0.5, 2, "b"),
        (3.0, 4, "b"),
    ]
    assert data.schema["x"].dtype == "float64" and data.metadata["partitions"] == ["key"]
    for key, dtype in (("a", np.int16), ("b", np.int64)):
        hr.from_arrays({"x": np.arange(3, dtype=dtype)}).write(tmp_path / "p" / f"key={key}" / "0.parquet")
    data = hr.read(tmp_path / "p")
    assert [(s["x"].item(), s["key"]) for s in data] == [(i, key) for key in "ab" for i in range(3)]
    assert data.schema["x"].dtype == "int64"
    assert [s["key"] for s in data.shuffle(seed=1)] == [
        data[int(i)]["key"] for i in hr.range(6).shuffle(seed=1)
    ]
    assert [k for batch in data.map(lambda s: {"key": s.key}).batch(4) for k in batch["key"]] == ["a"] * 3 + [
        "b"
    ] * 3
    hr.from_arrays({"x": np.arange(2.0)}).write(tmp_path / "p" / "key=c" / "0.parquet")
    with pytest.raises(ValueError, match=r"key=c.*expected column 'x: int64 \(\)'.*got 'x: float64 \(\)'"):
        hr.read(tmp_path / "p")


def test_a_column_that_is_a_folder_too(tmp_path: Path) -> None:
    for key in ("a", "b"):
        (tmp_path / f"x={key}").mkdir()
        (tmp_path / f"x={key}" / "0.csv").write_text("x\n1\n")
    with pytest.raises(ValueError, match="'x' is both a column of the file and a folder"):
        hr.read(tmp_path)


def test_splits_that_are_folders_agree_as_files_do(tmp_path: Path) -> None:
    for split, dtype in (("train", np.int16), ("val", np.int32)):
        hr.from_arrays({"x": np.arange(3, dtype=dtype)}).write(tmp_path / split / "0.parquet")
    data = hr.read(tmp_path, split="all")
    assert data.schema["x"].dtype == "int32" and [int(s["x"]) for s in data] == [0, 1, 2] * 2
    assert next(iter(data.batch(6)))["x"].tolist() == [0, 1, 2] * 2
    hr.from_arrays({"x": np.arange(3.0)}).write(tmp_path / "test" / "0.parquet")
    with pytest.raises(
        ValueError, match=r'expected field .x: int32 .*split \\?"train.*got .x: float64|expected field'
    ):
        hr.read(tmp_path, split="all")


def test_partitions_without_a_value(tmp_path: Path) -> None:
    """Null is not the string that Hive writes for it."""
    for value in ("x", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"key={value}").mkdir()
        (tmp_path / f"key={value}" / "0.jsonl").write_bytes(JSON1)
    with pytest.raises(ValueError, match="has no value for 'key'"):
        hr.read(tmp_path)


# ---- arrays


def test_inputs_and_outputs_are_fields(tmp_path: Path) -> None:
    """x and y of one shape are not twice as many rows."""
    np.save(tmp_path / "x_train.npy", np.arange(10).reshape(5, 2))
    np.save(tmp_path / "y_train.npy", np.arange(10).reshape(5, 2) * 2)
    for data in (hr.read(tmp_path), hr.read(tmp_path / "*.npy")):
        assert len(data) == 5 and [s["y"].tolist() for s in data] == [(s["x"] * 2).tolist() for s in data]
    np.save(tmp_path / "x_test.npy", np.arange(4).reshape(2, 2))
    np.save(tmp_path / "y_test.npy", np.arange(4).reshape(2, 2))
    assert len(hr.read(tmp_path, split="test")) == 2
    with pytest.raises(ValueError, match="of which several hold 'x'"):
        hr.read(tmp_path / "*.npy")
