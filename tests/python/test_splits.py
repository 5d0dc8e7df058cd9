"""Splits of a data set side by side: never read as one without being asked for, chosen by name in every format.

The layouts are those of data sets as they are downloaded, or as the usual tools write them, in small.
"""

from __future__ import annotations

import gzip
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

from .layouts import JPEG, JSON1, JSON3, idx_images, idx_labels, ilsvrc, mnist, pictures, text, voc, written

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


# ---- several data sets, labels


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


def test_images_of_mnist_without_labels_are_said(tmp_path: Path) -> None:
    """The field is called otherwise then; labels=False is the consent."""
    files = {name: content for name, content in mnist("").items() if "images" in name}
    path = written(files, tmp_path) / "train-images-idx3-ubyte"
    for data in (lambda: hr.read(path), lambda: hr.read_idx(path), lambda: hr.read(tmp_path, split="train")):
        with pytest.warns(
            UserWarning, match="expected the labels in '.*train-labels-idx1-ubyte', which is not"
        ):
            assert list(data().schema) == ["array"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(hr.read_idx(path, labels=False).schema) == ["array"]


@pytest.mark.parametrize("word", ["validation", "dev", "Val"])
def test_words_of_formats_that_know_their_splits(word: str, tmp_path: Path) -> None:
    """A plain word stands for its kind there, too; no split is named twice under two words."""
    written(voc(""), tmp_path)
    assert len(hr.read(tmp_path, split=word)) == 1
    assert len(hr.read(tmp_path, split=["training", word])) == 3
    with pytest.raises(ValueError, match=f'split: "{word}" is given twice'):
        hr.read(tmp_path, split=["val", word])
    with pytest.raises(ValueError, match="has no split 'test'"):
        hr.read(tmp_path, split="test")


def test_splits_of_several_formats(tmp_path: Path, made: Path) -> None:
    """Each is opened in its own; all of them are joined if their fields are the same."""
    for ending in (".csv", ".parquet"):
        shutil.copy(
            made / str(TRAIN) / f"data{ending}",
            tmp_path / f"{'train' if ending == '.csv' else 'val'}{ending}",
        )
    with pytest.raises(ValueError, match='contains the splits "train", "val"'):
        hr.read(tmp_path)
    both = hr.read(tmp_path, split="all")
    assert len(both) == 2 * TRAIN
    assert [s["a"] for s in both] == [s["a"] for s in hr.read(tmp_path, split=["val", "train"])]


def test_overlaps_are_said(tmp_path: Path) -> None:
    """trainval is train and val once more."""
    written({"train.jsonl": JSON3, "trainval.jsonl": JSON3 + JSON1, "val.jsonl": JSON1}, tmp_path)
    with pytest.warns(UserWarning, match='"trainval" usually has the samples of "train" and "val" once more'):
        assert len(hr.read(tmp_path, split="all")) == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(hr.read(tmp_path, split=["train", "val"])) == 4


def test_copies_are_left_out(tmp_path: Path) -> None:
    """gzip -k leaves both; who names them gets both."""
    written(
        {"a.jsonl": JSON3, "a.jsonl.gz": gzip.compress(JSON3), "b.jsonl.gz": gzip.compress(JSON1)}, tmp_path
    )
    with pytest.warns(UserWarning, match="are left out: 1, the first is 'a.jsonl.gz'"):
        assert len(hr.read(tmp_path)) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(hr.read(tmp_path / "*")) == 7
        assert len(hr.read([tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"])) == 6


def test_images_split_by_name(tmp_path: Path) -> None:
    """In one folder; beside others they may mean something else."""
    written({f"{split}_{i}.jpg": JPEG + bytes(i) for split in ("train", "val") for i in range(2)}, tmp_path)
    val = hr.read(tmp_path, split="val")
    assert [len(s["image"]) - len(JPEG) for s in val] == [0, 1]
    val.save_plan(tmp_path / "plan.json")
    assert len(hr.load_plan(tmp_path / "plan.json")) == 2
    both = hr.read(tmp_path, split=["val", "train"])
    assert [len(s["image"]) - len(JPEG) for s in both] == [0, 1, 0, 1]
    assert len(hr.read(tmp_path, format="images")) == 4
    (tmp_path / "logo.jpg").write_bytes(JPEG)
    with pytest.warns(UserWarning, match='contains "train", "val" beside \'logo.jpg\''):
        assert len(hr.read(tmp_path)) == 5


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["images/train/0.jpg", "images/val/0.jpg", "labels/train/0.txt", "labels/val/0.txt"], "text files in 'labels/train' are not read"),
        (["train/images/0.jpg", "val/images/0.jpg", "train/labels/0.txt"], "text files in 'train/labels' are not read"),
        (["train/0.jpg", "val/0.jpg", "train.csv"], "'train.csv' beside the images of \"train\" is not read"),
        (["train/0.jpg", "val/0.jpg", "train/metadata.csv"], "the fields in 'metadata.csv' are not read"),
    ],
)  # fmt: skip
def test_what_belongs_to_a_split_and_is_not_read(files: list[str], message: str, tmp_path: Path) -> None:
    """Boxes and fields beside the images are said."""
    written(dict.fromkeys(files, JPEG), tmp_path)
    with pytest.warns(UserWarning, match=message):
        assert len(hr.read(tmp_path, split="train")) == 1


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


@pytest.mark.parametrize(
    "folders", [["train", "train_blurred"], ["train_0", "train_1"], ["trainA", "trainB"]]
)
def test_folders_of_one_split_are_no_classes(folders: list[str], tmp_path: Path) -> None:
    """Labels 0 and 1 would mean nothing."""
    pictures(tmp_path, dict.fromkeys(folders, 1))
    with pytest.warns(UserWarning, match="are read as one data set|is read as a class"):
        hr.read(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.read_image_folder(tmp_path)


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
    with pytest.warns(
        UserWarning, match="1 of 3 class folders has no images that can be read and keep.* 'b'"
    ):
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
    with pytest.warns(UserWarning, match="has no images that can be read and keeps its label: 'b'"):
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
    for key, lines in (("a", "x,y\n1,2\n"), ("b", "x,y\n0.5,2\n3,4\n")):
        (tmp_path / "csv" / f"key={key}").mkdir(parents=True)
        (tmp_path / "csv" / f"key={key}" / "0.csv").write_text(lines)
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


@pytest.mark.parametrize(
    "names", [("imgs", "masks"), ("src", "tgt"), ("voices", "masks"), ("img_a", "seg", "mask")]
)
def test_arrays_of_one_shape_that_may_belong_together(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Masks are never more rows of images, whatever the images are called."""
    for i, name in enumerate(names):
        np.save(tmp_path / f"{name}.npy", np.full((5, 2), i))
    if names[0] in ("imgs", "src"):
        assert [s[names[1]].tolist() for s in hr.read(tmp_path)] == [[1, 1]] * 5
    else:
        with pytest.raises(ValueError, match=r"hr\.zip.*makes them fields|one file for each field"):
            hr.read(tmp_path)


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
