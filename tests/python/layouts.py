"""Layouts of data sets as they are downloaded, or written by the usual tools, in small: what lies where, and what that means."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

import headrace as hr


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


def lvis(count: int) -> bytes:
    """Return LVIS's annotations: an image is named by an address alone."""
    out = json.loads(coco("", count))
    for image in out["images"]:
        image["coco_url"] = (
            f"http://images.cocodataset.org/{'train' if count > 1 else 'val'}2017/{image.pop('file_name')}"
        )
    return json.dumps(out).encode()


def tar(members: dict[str, bytes]) -> bytes:
    """Return a tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def stored_files(ending: str, count: int) -> dict[str, bytes]:
    """Return the files of a data set of a field, written by Headrace."""
    numbers = {"a": np.arange(count)}
    pictures = {"image": [b"x"] * count, "label": np.arange(count)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"d{ending}"
        hr.from_arrays(pictures if ending in (".rec", ".lmdb", ".tar") else numbers).write(path)
        if path.is_file():
            return {"": path.read_bytes()}
        return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def stored(ending: str, count: int) -> bytes:
    """Return its only file."""
    files = stored_files(ending, count)
    return files[""] if "" in files else files["data.mdb"]


def stored_mds(split: str, count: int) -> dict[str, bytes]:
    """Return a folder of MDS."""
    return {f"{split}/{name}": content for name, content in stored_files(".mds", count).items()}


def hugging_face(root: str, splits: dict[str, int]) -> dict[str, bytes]:
    """Return what DatasetDict.save_to_disk() writes."""
    out = {f"{root}dataset_dict.json": json.dumps({"splits": list(splits)}).encode()}
    for split, count in splits.items():
        state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": split}
        out[f"{root}{split}/state.json"] = json.dumps(state).encode()
        out[f"{root}{split}/dataset_info.json"] = b'{"features": {"a": {"dtype": "int64", "_type": "Value"}}}'
        out[f"{root}{split}/data-00000-of-00001.arrow"] = stored(".arrows", count)
    return out


def tfds(root: str, splits: dict[str, int]) -> dict[str, bytes]:
    """Return what tfds prepares."""
    name = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
    info = [
        {"name": s, "shardLengths": [str(n)], "numBytes": "1", "filepathTemplate": name}
        for s, n in splits.items()
    ]
    feature = {"pythonClassName": "x.Tensor", "tensor": {"shape": {}, "dtype": "int64", "encoding": "none"}}
    features = {"pythonClassName": "x.FeaturesDict", "featuresDict": {"features": {"a": feature}}}
    out = {
        f"{root}dataset_info.json": json.dumps(
            {"name": "toy", "fileFormat": "tfrecord", "splits": info, "version": "1.0.0"}
        ).encode(),
        f"{root}features.json": json.dumps(features).encode(),
    }
    return out | {f"{root}toy-{s}.tfrecord-00000-of-00001": stored(".tfrecord", n) for s, n in splits.items()}


def flat(counts: dict[str, int], **beside: bytes) -> dict[str, bytes]:
    """Return pictures in folders, and files beside them."""
    out = {f"{folder}/{i}.jpg": JPEG for folder, count in counts.items() for i in range(count)}
    return out | {name.replace("__", "."): content for name, content in beside.items()}


def written(files: dict[str, bytes], root: Path) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


RECORD = bytes([7]) + bytes(3072)
CSV3, CSV1 = text("a,b", "1,2", "3,4", "5,6"), text("a,b", "7,8")
JSON3, JSON1 = b'{"a": 1}\n' * 3, b'{"a": 2}\n'
# What is in the folder -> the splits, and the fields and samples of each.
SPLITS: dict[str, tuple[dict[str, bytes], dict[str, tuple[str, int]]]] = {
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
    # ---- Kaggle
    "digit-recognizer": ({"train.csv": CSV3, "test.csv": CSV1, "sample_submission.csv": CSV1}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "house prices": ({"train.csv": CSV3, "test.csv": CSV1, "data_description.txt": b"x", "sample_submission.csv": CSV1}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "jigsaw": ({"train.csv": CSV3, "test.csv": CSV1, "test_labels.csv": CSV1, "sample_submission.csv": CSV1}, {"test": ("a b", 1), "test_labels": ("a b", 1), "train": ("a b", 3)}),
    "fashion-mnist of Kaggle": ({"fashion-mnist_train.csv": CSV3, "fashion-mnist_test.csv": CSV1}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "sign language MNIST": ({"sign_mnist_train/sign_mnist_train.csv": CSV3, "sign_mnist_test/sign_mnist_test.csv": CSV1}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "cassava": (
        flat({"train_images": 3, "test_images": 1}) | {"train.csv": CSV3, "sample_submission.csv": CSV1, "label_num_to_disease_map.json": b"{}", "train_tfrecords/ld_train00-1338.tfrec": b"x", "test_tfrecords/ld_test00-1.tfrec": b"x"},
        {"test": ("image", 1), "train": ("image", 3)},
    ),
    "Stanford cars of Kaggle": (flat({"cars_train/cars_train": 3, "cars_test/cars_test": 2}) | {"cars_annos.mat": b"x"}, {"test": ("image", 2), "train": ("image", 3)}),
    "ASL alphabet": (flat({"asl_alphabet_train/asl_alphabet_train/A": 2, "asl_alphabet_train/asl_alphabet_train/B": 1, "asl_alphabet_test/asl_alphabet_test": 1}), {"test": ("image", 1), "train": ("image label", 3)}),
    "brain tumors": (flat({"Training/glioma": 2, "Training/notumor": 1, "Testing/glioma": 1, "Testing/notumor": 1}), {"Testing": ("image label", 2), "Training": ("image label", 3)}),
    "plant diseases": (flat({"New Plant Diseases Dataset(Augmented)/New Plant Diseases Dataset(Augmented)/train/rust": 2, "New Plant Diseases Dataset(Augmented)/New Plant Diseases Dataset(Augmented)/valid/rust": 1}), {"train": ("image label", 2), "valid": ("image label", 1)}),
    "fruits": (flat({"fruits-360/Training/Apple": 2, "fruits-360/Training/Pear": 1, "fruits-360/Test/Apple": 1, "fruits-360/Test/Pear": 1, "fruits-360/test-multiple_fruits": 1}), {"Test": ("image label", 2), "Training": ("image label", 3), "test-multiple_fruits": ("image", 1)}),
    "emotions": (flat({"images/train/happy": 2, "images/train/sad": 1, "images/validation/happy": 1, "images/validation/sad": 1}), {"train": ("image label", 3), "validation": ("image label", 2)}),
    # ---- images
    "Imagenette": (flat({"imagenette2/train/n01": 2, "imagenette2/train/n02": 1, "imagenette2/val/n01": 1, "imagenette2/val/n02": 1}) | {"imagenette2/noisy_imagenette.csv": CSV3}, {"train": ("image label", 3), "val": ("image label", 2)}),
    "ImageNet, the folder above train": (flat({"CLS-LOC/train/n01": 2, "CLS-LOC/train/n02": 1, "CLS-LOC/val": 2, "CLS-LOC/test": 1}), {"test": ("image", 1), "train": ("image label", 3), "val": ("image", 2)}),
    "Places365": (flat({"places365_standard/train/airfield": 2, "places365_standard/train/alley": 1, "places365_standard/val/airfield": 1, "places365_standard/val/alley": 1}) | {"places365_standard/train.txt": b"x\n", "places365_standard/val.txt": b"x\n"}, {"train": ("image label", 3), "val": ("image label", 2)}),
    "iNaturalist 2021": (flat({"train_mini/0001_Ant": 2, "train_mini/0002_Bee": 1, "val/0001_Ant": 1, "val/0002_Bee": 1}), {"train": ("image label", 3), "val": ("image label", 2)}),
    "SVHN": (flat({"train": 3, "test": 2, "extra": 1}) | {"train/digitStruct.mat": b"x", "test/digitStruct.mat": b"x"}, {"extra": ("image", 1), "test": ("image", 2), "train": ("image", 3)}),
    "GTSRB of torchvision": (flat({"GTSRB/Training/00000": 2, "GTSRB/Training/00001": 1, "GTSRB/Final_Test/Images": 1}), {"Test": ("image", 1), "Training": ("image label", 3)}),
    "MNIST as pictures": (flat({"training/0": 2, "training/1": 1, "testing/0": 1, "testing/1": 1}), {"testing": ("image label", 2), "training": ("image label", 3)}),
    "flat, split by name": ({f"train_{i}.jpg": JPEG for i in range(3)} | {f"val_{i}.jpg": JPEG for i in range(2)}, {"train": ("image", 3), "val": ("image", 2)}),
    "one folder, split by name": ({f"images/{split}-{i:05}.jpg": JPEG for split, n in (("train", 3), ("test", 2)) for i in range(n)} | {"about.txt": b"x"}, {"test": ("image", 2), "train": ("image", 3)}),
    "pix2pix": (flat({"facades/train": 3, "facades/val": 1, "facades/test": 2}), {"test": ("image", 2), "train": ("image", 3), "val": ("image", 1)}),
    "DIV2K": (flat({"DIV2K_train_HR": 3, "DIV2K_valid_HR": 1}), {"train": ("image", 3), "valid": ("image", 1)}),
    "CamVid": (flat({"train": 3, "trainannot": 3, "val": 1, "valannot": 1}) | {"train.txt": b"x", "val.txt": b"x"}, {"train": ("image", 3), "trainannot": ("image", 3), "val": ("image", 1), "valannot": ("image", 1)}),
    "BSDS500": (flat({"BSDS500/data/images/train": 3, "BSDS500/data/images/val": 1}) | {"BSDS500/data/groundTruth/train/0.mat": b"x", "BSDS500/data/groundTruth/val/0.mat": b"x"}, {"train": ("image", 3), "val": ("image", 1)}),
    "KITTI": (flat({"training/image_2": 3, "testing/image_2": 2}) | {"training/label_2/0.txt": b"x", "training/calib/0.txt": b"x"}, {"testing": ("image label", 2), "training": ("image label", 3)}),
    "WIDER FACE": (flat({"WIDER_train/images/0--Parade": 2, "WIDER_val/images/0--Parade": 1}) | {"wider_face_split/wider_face_train_bbx_gt.txt": b"x", "wider_face_split/wider_face_val_bbx_gt.txt": b"x"}, {"train": ("image", 2), "val": ("image", 1)}),
    "VisDrone": (flat({"VisDrone2019-DET-train/images": 3, "VisDrone2019-DET-val/images": 1}) | {"VisDrone2019-DET-train/annotations/0.txt": b"x", "VisDrone2019-DET-val/annotations/0.txt": b"x"}, {"train": ("image", 3), "val": ("image", 1)}),
    "LVIS": (
        {"lvis_v1_train.json": lvis(3), "lvis_v1_val.json": lvis(1)} | flat({"train2017": 3, "val2017": 1}),
        {"train": ("image boxes", 3), "val": ("image boxes", 1)},
    ),
    "LVIS beside COCO": (
        {"annotations/lvis_v1_train.json": lvis(3), "annotations/lvis_v1_val.json": lvis(1)} | flat({"train2017": 3, "val2017": 1}),
        {"train": ("image boxes", 3), "val": ("image boxes", 1)},
    ),
    "COCO of mmdet's users": ({"annotations/train.json": coco("train", 3), "annotations/val.json": coco("val", 1)} | flat({"train": 3, "val": 1}), {"train": ("image boxes", 3), "val": ("image boxes", 1)}),
    "COCO, small": ({"coco/annotations/instances_train.json": coco("train", 3), "coco/annotations/instances_val.json": coco("val", 1)} | flat({"coco/train": 3, "coco/val": 1}), {"train": ("image boxes", 3), "val": ("image boxes", 1)}),
    "COCO 2014 and 2017": (flat({"train2014": 3, "train2017": 2, "val2014": 1, "val2017": 1}), {"train2014": ("image", 3), "train2017": ("image", 2), "val2014": ("image", 1), "val2017": ("image", 1)}),
    "YOLO of Roboflow": (flat({"train/images": 3, "valid/images": 1}) | {"train/labels/0.txt": b"0 0 0 1 1\n", "valid/labels/0.txt": b"0 0 0 1 1\n", "data.yaml": b"x", "README.roboflow.txt": b"x"}, {"train": ("image", 3), "valid": ("image", 1)}),
    "classes of Roboflow": (flat({"train/cat": 2, "train/dog": 1, "valid/cat": 1, "valid/dog": 1, "test/cat": 1, "test/dog": 1}) | {"README.dataset.txt": b"x"}, {"test": ("image label", 2), "train": ("image label", 3), "valid": ("image label", 2)}),
    "CSV of Roboflow": (flat({"train": 3, "valid": 1}) | {"train/_annotations.csv": CSV3, "valid/_annotations.csv": CSV1}, {"train": ("image", 3), "valid": ("image", 1)}),
    "VOC of Roboflow": (flat({"train": 2, "valid": 1}) | {"train/0.xml": voc_xml("0"), "train/1.xml": voc_xml("1"), "valid/0.xml": voc_xml("0")}, {"train": ("image boxes labels", 2), "valid": ("image boxes labels", 1)}),
    "ImageFolder of the Hub": (flat({"train": 3, "test": 1}) | {"train/metadata.csv": text("file_name,text", "0.jpg,a"), "test/metadata.csv": text("file_name,text", "0.jpg,a")}, {"test": ("image", 1), "train": ("image", 3)}),
    "KMNIST": (mnist("KMNIST/raw/", ".gz"), {"t10k": ("image label", 2), "train": ("image label", 3)}),
    "EMNIST": ({f"emnist-letters-{split}-{what}": data(n) for split, n in (("train", 3), ("test", 2)) for what, data in (("images-idx3-ubyte", idx_images), ("labels-idx1-ubyte", idx_labels))}, {"test": ("image label", 2), "train": ("image label", 3)}),
    "CIFAR-10 of torchvision's parent": ({f"data/cifar-10-batches-bin/data_batch_{i}.bin": RECORD for i in range(1, 6)} | {"data/cifar-10-batches-bin/test_batch.bin": RECORD}, {"test": ("image label", 1), "train": ("image label", 5)}),
    # ---- tables, records
    "two formats": ({"train.csv": text("a", "1", "2", "3"), "test.parquet": stored(".parquet", 1)}, {"test": ("a", 1), "train": ("a", 3)}),
    "Hub clone of Parquet": ({"README.md": b"x", "data/train-00000-of-00002.parquet": stored(".parquet", 2), "data/train-00001-of-00002.parquet": stored(".parquet", 1), "data/test-00000-of-00001.parquet": stored(".parquet", 1)}, {"test": ("a", 1), "train": ("a", 3)}),
    "Hub's converted Parquet": ({"default/train/0000.parquet": stored(".parquet", 3), "default/validation/0000.parquet": stored(".parquet", 1)}, {"train": ("a", 3), "validation": ("a", 1)}),
    "Hub clone of shards": ({"README.md": b"x", "train-00000.tar": stored(".tar", 2), "train-00001.tar": stored(".tar", 1), "validation-00000.tar": stored(".tar", 1)}, {"train": ("cls", 3), "validation": ("cls", 1)}),
    "Hub clone in gzip": ({"train.jsonl.gz": gzip.compress(JSON3), "test.jsonl.gz": gzip.compress(JSON1), "dataset_infos.json": b"{}"}, {"test": ("a", 1), "train": ("a", 3)}),
    "Hub clone with a script": ({"README.md": b"x", "mine.py": b"x", "train.csv": CSV3, "test.csv": CSV1}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "JSON lines called .json": ({"train.json": JSON3, "dev.json": JSON1 * 2}, {"dev": ("a", 2), "train": ("a", 3)}),
    "packed twice, of splits": ({"train.jsonl": JSON3, "train.jsonl.gz": gzip.compress(JSON3), "test.jsonl": JSON1}, {"test": ("a", 1), "train": ("a", 3)}),
    "two names of one kind": ({"val.jsonl": JSON3, "dev.jsonl": JSON1}, {"dev": ("a", 1), "val": ("a", 3)}),
    "train and trainval": ({"train.jsonl": JSON3, "trainval.jsonl": JSON1}, {"train": ("a", 3), "trainval": ("a", 1)}),
    "train and training": ({"train/0.jsonl": JSON3, "training/0.jsonl": JSON1}, {"train": ("a", 3), "training": ("a", 1)}),
    "joined words": ({"mytrain.csv": CSV3, "mytest.csv": CSV1}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "a file and a folder": ({"train.csv": CSV3, "test/0.csv": CSV1}, {"test": ("a b", 1), "train": ("a b", 3)}),
    "tables beside videos": ({"train.csv": CSV3, "val.csv": CSV1, "videos/0.mp4": b"x"}, {"train": ("a b", 3), "val": ("a b", 1)}),
    "FLORES": ({"dev.jsonl": JSON3, "devtest.jsonl": JSON1}, {"dev": ("a", 3), "devtest": ("a", 1)}),
    "ImageNet-100 of Kaggle": (flat({"train.X1/n01": 2, "train.X2/n02": 1, "val.X/n01": 1, "val.X/n02": 1}) | {"Labels.json": b"{}"}, {"train": ("image label", 3), "val": ("image label", 2)}),
    "STL-10 as pictures": (flat({"train": 3, "unlabeled": 2}), {"train": ("image", 3), "unlabeled": ("image", 2)}),
    "class and split in a name": ({f"{c}_{split}_{i}.jpg": JPEG for c in ("cat", "dog") for split, n in (("train", 2), ("test", 1)) for i in range(n)}, {"test": ("image", 2), "train": ("image", 4)}),
    "NSL-KDD": ({"KDDTrain+.csv": CSV3, "KDDTest+.csv": CSV1}, {"Test": ("a b", 1), "Train": ("a b", 3)}),
    "text": ({"train.txt": b"a\nb\nc\n", "valid.txt": b"a\n", "README": b"x"}, {"train": ("line", 3), "valid": ("line", 1)}),
    "TFRecord of Roboflow": ({"train/cats.tfrecord": stored(".tfrecord", 3), "valid/cats.tfrecord": stored(".tfrecord", 1), "train/cats_label_map.pbtxt": b"x"}, {"train": ("record", 3), "valid": ("record", 1)}),
    "ImageNet in TFRecord": ({"train-00000-of-00002": stored(".tfrecord", 2), "train-00001-of-00002": stored(".tfrecord", 1), "validation-00000-of-00001": stored(".tfrecord", 1)}, {"train": ("record", 3), "validation": ("record", 1)}),
    "MXNet": ({"train.rec": stored(".rec", 3), "val.rec": stored(".rec", 1), "train.lst": b"x", "val.lst": b"x"}, {"train": ("image label", 3), "val": ("image label", 1)}),
    "LSUN": ({f"bedroom_{split}_lmdb/data.mdb": stored(".lmdb", n) for split, n in (("train", 3), ("val", 1))}, {"train": ("key value", 3), "val": ("key value", 1)}),
    "MDS": (stored_mds("train", 3) | stored_mds("val", 1), {"train": ("a", 3), "val": ("a", 1)}),
    "Ray, split as a partition": ({"split=train/0_0.parquet": stored(".parquet", 3), "split=val/0_0.parquet": stored(".parquet", 1)}, {"train": ("a", 3), "val": ("a", 1)}),
    "HDF5": ({"train.h5": stored(".h5", 3), "test.h5": stored(".h5", 1)}, {"test": ("a", 1), "train": ("a", 3)}),
    "DatasetDict": (hugging_face("", {"train": 3, "validation": 1}), {"train": ("a", 3), "validation": ("a", 1)}),
    "tfds": (tfds("", {"train": 3, "test": 1}), {"test": ("a", 1), "train": ("a", 3)}),
    "PatchCamelyon": ({f"camelyonpatch_level_2_split_{split}_{what}.h5": stored(".h5", n) for split, n in (("train", 3), ("test", 1)) for what in "xy"},
        {"camelyonpatch_level_2_split_test_x": ("a", 1), "camelyonpatch_level_2_split_test_y": ("a", 1), "camelyonpatch_level_2_split_train_x": ("a", 3), "camelyonpatch_level_2_split_train_y": ("a", 3)}),
    "LAION-style shards of splits": ({f"{split}/{i:05}.tar": stored(".tar", n) for split, n in (("train", 2), ("val", 1)) for i in range(2)}, {"train": ("cls", 4), "val": ("cls", 2)}),
    "Open Images": (flat({"train": 3, "validation": 1, "test": 1}) | {"class-descriptions.csv": CSV1, "train-annotations-bbox.csv": CSV3}, {"test": ("image", 1), "train": ("image", 3), "validation": ("image", 1)}),
}  # fmt: skip

# One data set each: what is in the folder -> the fields and samples, and a part of what is warned of.
ONE: dict[str, tuple[dict[str, bytes], tuple[str, int], str]] = {
    "class folders": (flat({"cats": 2, "dogs": 1}), ("image label", 3), ""),
    "flower_photos": (flat({"daisy": 2, "tulips": 1}, LICENSE__txt=b"x"), ("image label", 3), ""),
    "PetImages of Kaggle": (flat({"PetImages/Cat": 2, "PetImages/Dog": 1}), ("image label", 3), "all images are in the folder 'PetImages'"),
    "EuroSAT": (flat({"2750/Forest": 2, "2750/River": 1}), ("image label", 3), "open .*2750"),
    "Caltech 101": (flat({"101_ObjectCategories/ant": 2, "101_ObjectCategories/bass": 1}), ("image label", 3), "101_ObjectCategories"),
    "CUB-200": (
        flat({"CUB_200_2011/images/001.Auk": 2, "CUB_200_2011/images/002.Crow": 1}) | {"CUB_200_2011/train_test_split.txt": b"1 0\n", "CUB_200_2011/images.txt": b"x", "CUB_200_2011/classes.txt": b"x", "attributes.txt": b"x"},
        ("image label", 3), "all images are in the folder 'CUB_200_2011'",
    ),
    "CUB-200, its own folder": (
        flat({"images/001.Auk": 2, "images/002.Crow": 1}) | {"train_test_split.txt": b"1 0\n", "images.txt": b"x", "parts/parts.txt": b"x"},
        ("image label", 3), "parts",
    ),
    "DTD": (flat({"dtd/images/banded": 2, "dtd/images/dotted": 1}) | {"dtd/labels/train1.txt": b"x", "dtd/labels/test1.txt": b"x", "dtd/imdb/imdb.mat": b"x"}, ("image label", 3), "all images are in the folder 'dtd'"),
    "Food-101": (flat({"images/pie": 2, "images/soup": 1}) | {"meta/train.json": b"{}", "meta/test.json": b"{}", "meta/train.txt": b"x", "meta/test.txt": b"x"}, ("image label", 3), "all images are in the folder 'images'"),
    "Flowers-102": (flat({"jpg": 3}) | {"imagelabels.mat": b"x", "setid.mat": b"x"}, ("image label", 3), "all images are in the folder 'jpg'"),
    "CelebA": (flat({"img_align_celeba": 3}) | {"list_attr_celeba.csv": CSV3, "list_eval_partition.csv": CSV3}, ("image label", 3), "all images are in the folder"),
    "LFW": (flat({"lfw/Ann_Lee": 2, "lfw/Bo_Day": 1}), ("image label", 3), "all images are in the folder 'lfw'"),
    "UTKFace": ({f"{age}_0_0_2017.jpg": JPEG for age in (1, 20, 33)}, ("image", 3), ""),
    "CIFAR-100's classes": (flat({"bus": 1, "train": 1, "tram": 1}), ("image label", 3), "the folder 'train' is read as a class"),
    "a class of .heic": (flat({"a": 1, "c": 1}) | {"b/0.heic": b"x"}, ("image label", 2), "1 of 3 class folders has no images that can be read and keeps its label: 'b'"),
    "a class of documents": (flat({"a": 1, "c": 1}) | {"b/0.pdf": b"x"}, ("image label", 2), "keeps its label: 'b'"),
    "annotations beside classes": (flat({"cats": 2, "dogs": 1}) | {"annotations/0.txt": b"x"}, ("image label", 3), ""),
    "ImageFolder of the Hub, one split": ({f"{i}.jpg": JPEG for i in range(3)} | {"metadata.jsonl": b'{"file_name": "0.jpg", "text": "a"}\n'}, ("image", 3), "the fields in 'metadata.jsonl' are not read"),
    "img2dataset": ({"00000.tar": stored(".tar", 2), "00001.tar": stored(".tar", 1), "00000.parquet": stored(".parquet", 2), "00000_stats.json": b"{}"}, ("cls", 3), "files of other kinds than .tar"),
    "CC12M": ({f"cc12m-train-{i:04}.tar": stored(".tar", 1) for i in range(3)}, ("cls", 3), ""),
    "a tar of both splits": ({"d.tar": tar({"train/0.cls": b"0", "train/1.cls": b"1", "val/0.cls": b"0"})}, ("cls", 3), "of several splits, \"train\", \"val\""),
    "a flat tar of both splits": ({"d.tar": tar({"train_0.cls": b"0", "train_1.cls": b"1", "val_0.cls": b"0"})}, ("cls", 3), "of several splits"),
    "a tar of classes": ({"d.tar": tar({"cat/0.cls": b"0", "dog/1.cls": b"1", "train/0.cls": b"0"})}, ("cls", 3), ""),
    "two tars joined by cat": ({"d.tar": tar({"0.cls": b"0"}) * 2}, ("cls", 1), "behind the end of a tar another one follows"),
    "two tars in gzip joined by cat": ({"d.tar.gz": gzip.compress(tar({"0.cls": b"0"})) * 2}, ("cls", 1), "behind the end of a tar another one follows"),
    "packed twice": ({"train.jsonl": JSON3, "train.jsonl.gz": gzip.compress(JSON3)}, ("a", 3), "without their compression, too, are left out: 1"),
    "hive": ({"year=2023/0.jsonl": JSON3, "year=2024/0.jsonl": JSON1, "_SUCCESS": b""}, ("a year", 4), ""),
    "hive, packed twice": ({"year=2023/0.jsonl": JSON3, "year=2023/0.jsonl.gz": gzip.compress(JSON3)}, ("a year", 3), "are left out: 1, the first is 'year=2023/0.jsonl.gz'"),
    "hive of Delta": ({"day=1/0.parquet": stored(".parquet", 2), "day=2/0.parquet": stored(".parquet", 1), "_delta_log/00000.json": b"{}"}, ("a day", 3), ""),
    "Spark": ({"part-00000.jsonl": JSON3, "part-00001.jsonl": JSON1, "_SUCCESS": b"", ".part-00000.jsonl.crc": b"x"}, ("a", 4), ""),
    "tables and a script": ({"README.md": b"x", "load.py": b"x", "a.csv": CSV3}, ("a b", 3), ""),
    "languages": ({"en.jsonl": JSON3, "de.jsonl": JSON1}, ("a", 4), ""),
    "boards": ({"dev-board.csv": CSV3, "test-bench.csv": CSV1}, ("a b", 4), ""),
    "words that end alike": ({"contest.csv": CSV3, "latest.csv": CSV1}, ("a b", 4), ""),
    "years": ({"train2017.csv": CSV3, "train2018.csv": CSV1}, ("a b", 4), ""),
    "VOC of labelImg": ({"a.jpg": JPEG, "a.xml": voc_xml("a"), "b.jpg": JPEG, "b.xml": voc_xml("b")}, ("image boxes labels", 2), ""),
    "Flickr30k of Kaggle": ({"flickr30k_images/0.jpg": JPEG, "flickr30k_images/results.csv": text("image_name| comment_number| comment", "0.jpg| 0| A cat .")}, ("image", 1), "open .*flickr30k_images"),
    "Flickr8k of Kaggle": ({"Images/0.jpg": JPEG, "captions.txt": text("image,caption", "0.jpg,A cat .")}, ("image", 1), ""),
}  # fmt: skip

# Refused with what to do, whatever the options: what is in the folder -> a part of the message.
REFUSED: dict[str, tuple[dict[str, bytes], str]] = {
    "images and masks": (flat({"images/train": 3, "images/val": 1, "masks/train": 3, "masks/val": 1}), r"several data sets; open one of them: 'images', 'masks', with split=, such as \"val\"; zip\(\)"),
    "ADE20K": (flat({"ADE/images/training": 3, "ADE/images/validation": 1, "ADE/annotations/training": 3, "ADE/annotations/validation": 1}), "'ADE/annotations', 'ADE/images', with split="),
    "Cityscapes with masks": (flat({"leftImg8bit/train/ulm": 1, "leftImg8bit/val/jena": 1, "gtFine/train/ulm": 1, "gtFine/val/jena": 1}), "'gtFine', 'leftImg8bit', with split="),
    "MMLU": ({f"{subject}/{split}-00000-of-00001.parquet": b"PAR1" for subject in ("algebra", "anatomy") for split in ("dev", "val", "test")}, "'algebra', 'anatomy', with split="),
    "XNLI": ({f"{language}/{split}.jsonl": JSON1 for language in ("en", "fr") for split in ("train", "test")}, "'en', 'fr', with split="),
    "VOC2007 and VOC2012": (voc("VOCdevkit/VOC2007/") | voc("VOCdevkit/VOC2012/"), "open one of them: 'VOCdevkit/VOC2007', 'VOCdevkit/VOC2012'"),
    "MNIST and FashionMNIST": (mnist("MNIST/raw/") | mnist("FashionMNIST/raw/"), "several data sets; open one of them: 'FashionMNIST/raw', 'MNIST/raw'"),
}  # fmt: skip
