"""Folders that TensorFlow Datasets and Hugging Face's datasets prepare, written here as they lay them out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

from .test_tfrecord import framed


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def piece(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features: dict[str, Any]) -> bytes:
    """Serialise a tf.train.Example: bytes, floats or whole numbers by what the values are."""
    entries = b""
    for name, given in features.items():
        values = list(given) if isinstance(given, (list, np.ndarray)) else [given]
        if values and isinstance(values[0], (bytes, str)):
            one = piece(1, b"".join(piece(1, v.encode() if isinstance(v, str) else v) for v in values))
        elif values and isinstance(values[0], (float, np.floating)):
            one = piece(2, piece(1, np.float32(values).tobytes()))
        else:
            one = piece(3, piece(1, b"".join(varint(int(v)) for v in values)))
        entries += piece(1, piece(1, name.encode()) + piece(2, one))
    return piece(1, entries)


def tensor(dtype: str, *dims: int) -> dict[str, Any]:
    shape = {"dimensions": [str(dim) for dim in dims]} if dims else {}
    return {"tensor": {"dtype": dtype, "encoding": "none", "shape": shape}}


def sequence(feature: dict[str, Any]) -> dict[str, Any]:
    return {"sequence": {"feature": feature, "length": "-1"}}


def features_of(features: dict[str, Any]) -> dict[str, Any]:
    return {"featuresDict": {"features": features}}


FEATURES = {
    "image": {"image": {"dtype": "uint8", "shape": {"dimensions": ["-1", "-1", "3"]}}},
    "label": {"classLabel": {"numClasses": "2"}},
    "text": {"text": {}},
    "vec": tensor("float32", 3),
    "dyn": tensor("int16", -1, 2),
    "objects": sequence(
        features_of(
            {
                "bbox": {"boundingBox": {"dtype": "float32", "shape": {"dimensions": ["4"]}}},
                "label": {"classLabel": {"numClasses": "3"}},
                "flag": tensor("bool"),
            }
        )
    ),
    "meta": features_of({"id": tensor("uint64"), "name": {"text": {}}}),
    "texts": sequence({"text": {}}),
    "lists": sequence(sequence(tensor("int64"))),
    "two": tensor("int64", -1, -1),
}


def sample(i: int) -> dict[str, Any]:
    n = i % 3
    return {
        "image": b"image %d" % i,
        "label": i % 2,
        "text": f"téxt {i}",
        "vec": np.float32([i, i / 2, -i]),
        "dyn": list(range(2 * n)),
        "objects/bbox": [0.25] * (4 * n),
        "objects/label": [k % 3 for k in range(n)],
        "objects/flag": [k % 2 for k in range(n)],
        "meta/id": i - 1,
        "meta/name": f"n{i}",
        "texts": ["x" * (k + 1) for k in range(n)],
        "lists/ragged_flat_values": list(range(n)),
        "lists/ragged_row_lengths_0": [0, n],
    }


def prepare(folder: Path, splits: dict[str, list[int]], suffix: str = "tfrecord", **more: Any) -> Path:
    """Write a data set of TensorFlow Datasets: splits with so many samples a shard."""
    folder.mkdir(parents=True)
    info: dict[str, Any] = {"name": "toy", "fileFormat": suffix, "splits": [], "version": folder.name} | more
    first = 0
    for split, shards in splits.items():
        info["splits"].append(
            {"name": split, "shardLengths": [str(n) for n in shards], "numBytes": "1",
             "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"}
        )  # fmt: skip
        for i, count in enumerate(shards):
            records = [example(sample(first + k)) for k in range(count)]
            (folder / f"toy-{split}.{suffix}-{i:05}-of-{len(shards):05}").write_bytes(framed(*records))
            first += count
    (folder / "dataset_info.json").write_text(json.dumps(info))
    (folder / "features.json").write_text(json.dumps(features_of(FEATURES)))
    (folder / "label.labels.txt").write_text("cat\ndog\n")
    (folder / "objects-label.labels.txt").write_text("a\nb\nc\n")
    return folder


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return prepare(tmp_path / "toy/1.0.0", {"train": [7, 0, 8, 8], "test": [4]})


def texts(data: hr.Dataset) -> list[int]:
    """Return which samples they are."""
    return [int(s["text"].split()[1]) for s in data]


def test_features_are_fields(toy: Path) -> None:
    data = hr.read(toy, split="train")
    assert len(data) == 23 and texts(data) == list(range(23))
    assert data.metadata["classes"] == ["cat", "dog"]
    assert data.metadata["class_names"] == {"label": ["cat", "dog"], "objects/label": ["a", "b", "c"]}
    assert data.metadata["splits"] == {"train": 23, "test": 4} and data.metadata["left_out_features"] == [
        "two"
    ]
    got = data[5]
    assert got["image"] == b"image 5" and got["label"] == 1 and got["text"] == "téxt 5"
    assert got["vec"].dtype == np.float32 and got["vec"].tolist() == [5, 2.5, -5]
    assert got["dyn"].dtype == np.int16 and got["dyn"].tolist() == [[0, 1], [2, 3]]
    assert got["objects/bbox"].shape == (2, 4) and got["objects/label"].tolist() == [0, 1]
    assert got["objects/flag"].dtype == bool and got["objects/flag"].tolist() == [False, True]
    assert got["meta/id"] == 4 and data[0]["meta/id"] == 2**64 - 1 and got["meta/name"] == "n5"
    assert got["texts"]["values"] == "xxx" and got["texts"]["lengths"].tolist() == [1, 2]
    assert got["lists"]["values"].tolist() == [0, 1] and got["lists"]["lengths"].tolist() == [0, 2]
    assert data[0]["objects/bbox"].shape == (0, 4) and data[0]["dyn"].shape == (0, 2)
    batch = next(iter(hr.read_tfds(toy, split="train", fields=["objects", "label"]).ragged_batch(4)))
    assert batch["objects/bbox"].row_splits.tolist() == [0, 0, 1, 3, 3] and list(batch["label"]) == [
        0,
        1,
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("split", "wanted"),
    [
        ("train[:10%]", range(2)),
        ("train[10%:]", range(2, 23)),
        ("train[:50%]", range(12)),  # 11.5
        ("train[90%:]+test", range(21, 27)),
        ("test+train[:3]", [23, 24, 25, 26, 0, 1, 2]),
        ("train[5:9]+train[8:10]", [5, 6, 7, 8, 8, 9]),
        ("train[20:]+train[:2]+train[7:9]", [20, 21, 22, 0, 1, 7, 8]),
        ("train[-3:]", range(20, 23)),
        ("train[:-20]", range(3)),
        ("train[2shard:3shard]", range(7, 15)),
        ("train[3shard]", range(15, 23)),
        ("train[-1shard:]", range(15, 23)),
        ("train[-1shard]", range(15, 23)),
        ("train[-3shard:-1shard]", range(7, 15)),
        ("train[:0shard]", range(23)),
        ("train[0shard]", range(7)),
        ("train[:-4shard]", []),
        ("train[9shard:]", []),
        ("train[:9shard]", range(23)),
        ("train[:1_0]", range(10)),
        ("train[10%:50]", range(2, 12)),
        ("train[.5%:5.5%]", range(1)),
        ("train[-23:]", range(23)),
        ("train[0:0]", []),
        ("train[:-0]", []),
        ("train[-0:]", range(23)),
        ("train[-50%:-25%]", range(11, 17)),  # 11.5 and 5.75 from the end
        ("test+all", [23, 24, 25, 26, *range(27)]),
        ("train[22%:22.5%]", []),
        ("all", range(27)),
    ],
)
def test_splits_are_those_of_tfds(toy: Path, split: str, wanted: Any) -> None:
    if not len(wanted):
        with pytest.raises(ValueError, match="at least one sample"):
            hr.read(toy, split=split)
        return
    data = hr.read(toy.parent, split=split)
    assert texts(data) == list(wanted)
    assert [data[i]["label"] for i in range(len(data))] == [i % 2 for i in wanted]
    assert sorted(texts(data.shuffle(seed=3))) == sorted(wanted)


def test_only_the_shards_of_a_slice_are_opened(toy: Path) -> None:
    for path in toy.glob("toy-train.tfrecord-0000[23]-of-*"):
        path.unlink()
    assert texts(hr.read(toy, split="train[:7]")) == list(range(7))
    with pytest.raises(FileNotFoundError, match=r"toy-train\.tfrecord-00002-of-00004"):
        hr.read(toy, split="train[:8]")


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (None, "contains the splits 'train', 'test'; set split="),
        ("dev", "has no split 'dev'; there are 'train', 'test'"),
        ("train[:24]", "expected a slice of 23 samples, got one from 0 to 24"),
        ("train[", "split: expected a name with an optional slice"),
        ("train[5]", "split: expected a name with an optional slice"),
        ("train[1.5:]", "split: expected a name with an optional slice"),
        ("train[a:b]", "split: expected a name with an optional slice"),
        ("train[10%:5]+", "split: expected a name"),
        ("train[:]", "split: expected a name"),
        ("train[]", "split: expected a name"),
        ("train[1:2:3]", "split: expected a name"),
        ("train[1__0:]", "split: expected a name"),
        ("train[10.0:]", "split: expected a name"),
        ("train[:101%]", "split: expected a name"),
        ("train[:%]", "split: expected a name"),
        ("train[5%:1shard]", "split: expected a name"),
        ("train[:10%](closest)", "split: expected a name"),
        (" train", "split: expected a name"),
        ("all[:5]", "has no split 'all'"),
        ("train[-24:]", "expected a slice of 23 samples, got one from -24 to 23"),
        ("train[9:5]", "expected a slice that ends after its start, got one from 9 to 5"),
    ],
)
def test_splits_that_are_none_are_named(toy: Path, split: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("[", r"\[").replace("(", r"\(")):
        hr.read_tfds(toy, split=split)


def test_damage_of_tfds_is_named(toy: Path) -> None:
    shard = toy / "toy-test.tfrecord-00000-of-00001"
    good = [example(sample(i)) for i in range(4)]
    shard.write_bytes(framed(*good[:3]))
    with pytest.raises(
        hr.CorruptSample,
        match=r"toy-test.tfrecord-00000-of-00001': expected 4 samples in these files as in dataset_info\.json, got 3",
    ):
        hr.read(toy, split="test")
    changes: list[tuple[str, Any, str]] = [
        ("label", None, "expected feature 'label'"),
        ("vec", [1.0, 2.0], r"feature 'vec': expected values for shape \(3\), got 2"),
        ("dyn", [1, 2, 3], r"feature 'dyn': expected values for shape \(\?, 2\), got 3"),
        ("dyn", [1, 2**15], "feature 'dyn': expected int16, got 32768"),
        ("label", 1.5, "feature 'label': expected int64, got floats"),
        ("text", b"\xff", "field 'text': expected UTF-8"),
        ("texts", ["é".encode()[:1], "é".encode()[1:]], "field 'texts', string 0: expected UTF-8"),
        ("image", [b"a", b"b"], "feature 'image': expected one value of bytes"),
        ("lists/ragged_row_lengths_0", [1, 2], "feature 'lists': expected lengths"),
    ]
    for name, value, message in changes:
        features = sample(5) | {name: value}
        if value is None:
            del features[name]
        shard.write_bytes(framed(*good[:3], example(features)))
        data = hr.read(toy, split="test")
        with pytest.raises(hr.CorruptSample, match=message):
            data[3]
        assert len(list(data.on_error("skip"))) == 3
    shard.write_bytes(framed(*good))
    info = json.loads((toy / "dataset_info.json").read_text())
    for change, error, message in [
        ({"fileFormat": "riegeli"}, NotImplementedError, "got 'riegeli'"),
        ({"splits": []}, hr.CorruptSample, "expected a list 'splits'"),
        ({"splits": [{"name": "test", "shardLengths": ["-4"]}]}, hr.CorruptSample, "expected numbers of samples"),
        ({"splits": [{"name": "test", "shardLengths": ["4"], "filepathTemplate": "../{SPLIT}"}]},
         hr.CorruptSample, "expected files in its folder"),
    ]:  # fmt: skip
        (toy / "dataset_info.json").write_text(json.dumps(info | change))
        with pytest.raises(error, match=message):
            hr.read_tfds(toy, split="test")


def test_a_plan_opens_the_same_split(toy: Path, tmp_path: Path) -> None:
    hr.read(toy, split="train[5:8]", fields=["text", "label"]).batch(2).save_plan(tmp_path / "plan.json")
    batches = list(hr.load_plan(tmp_path / "plan.json"))
    assert [list(batch["text"]) for batch in batches] == [["téxt 5", "téxt 6"], ["téxt 7"]]


# ---- Hugging Face


def value(dtype: str) -> dict[str, str]:
    return {"dtype": dtype, "_type": "Value"}


HF_FEATURES = {
    "pixels": value("binary"),
    "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
    "text": value("string"),
    "ids": {"feature": value("int32"), "_type": "List"},
    "boxes": {"feature": {"feature": value("float32"), "length": 4, "_type": "List"}, "_type": "Sequence"},
    "texts": {"feature": {"feature": value("string"), "_type": "List"}, "_type": "List"},
    "words": {"feature": value("string"), "_type": "List"},
}


def save(folder: Path, first: int, count: int, shards: int = 2) -> None:
    """Write what Dataset.save_to_disk() writes, without columns of types that our writer has not."""
    folder.mkdir(parents=True)
    rows = [
        {"pixels": b"p%d" % i, "label": i % 2, "text": f"t{i}", "ids": np.arange(i % 3, dtype=np.int32),
         "boxes": np.full((i % 2, 4), i, np.float32),
         "words": {"values": "äb" * (i % 3), "lengths": np.array([2, 1] * (i % 3), np.int64)}}
        for i in range(first, first + count)
    ]  # fmt: skip
    names = []
    for k in range(shards):
        part = rows[k * count // shards : (k + 1) * count // shards]
        name = f"data-{k:05}-of-{shards:05}.arrow"
        hr.from_list(part).write(folder / "made.arrows")
        (folder / "made.arrows").rename(folder / name)
        for left in folder.glob("made*"):
            left.unlink()
        names.append({"filename": name})
    (folder / "state.json").write_text(json.dumps({"_data_files": names, "_split": folder.name}))
    info = {"features": HF_FEATURES, "splits": {folder.name: {"name": folder.name, "num_examples": 10**6}}}
    (folder / "dataset_info.json").write_text(json.dumps(info))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save(tmp_path / "set/train", 0, 11)
    save(tmp_path / "set/test", 11, 4, 1)
    (tmp_path / "set/dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    return tmp_path / "set"


def test_splits_whose_features_number_other_classes_are_said(saved: Path) -> None:
    info = json.loads((saved / "test/dataset_info.json").read_text())
    info["features"]["label"]["names"] = ["dog", "cat"]
    (saved / "test/dataset_info.json").write_text(json.dumps(info))
    for split in ("train", "test"):
        with pytest.warns(UserWarning, match="labels mean different things in the splits: class 0 is"):
            hr.read(saved, split=split)


def test_saved_folders_are_read_by_split(saved: Path) -> None:
    train = hr.read(saved, split="train")
    assert len(train) == 11 and [s["text"] for s in train] == [f"t{i}" for i in range(11)]
    assert list(train.schema) == ["pixels", "label", "text", "ids", "boxes", "words"]
    assert train[5]["words"]["values"] == "äbäb" and train[5]["words"]["lengths"].tolist() == [2, 1, 2, 1]
    assert train.metadata["classes"] == ["cat", "dog"] and train.metadata["left_out_columns"] == ["texts"]
    assert train[5]["pixels"] == b"p5" and train[5]["label"] == 1 and train[5]["ids"].tolist() == [0, 1]
    assert train[5]["boxes"].tolist() == [[5, 5, 5, 5]] and train[4]["boxes"].shape == (0, 4)
    assert [s["text"] for s in hr.read(saved / "test")] == ["t11", "t12", "t13", "t14"]
    for split, wanted in [
        ("train[:10%]", [0]),
        ("train[-2:]+train[:2]", [9, 10, 0, 1]),
        ("test[50%:]", [13, 14]),
        ("test[2:99]", [13, 14]),  # cut off at the end, as the library does
        ("test[-99:1]", [11]),
        ("test[:]", [11, 12, 13, 14]),
        ("test[:5_0%](closest)", [11, 12]),
    ]:
        assert [s["text"] for s in hr.read(saved, split=split)] == [f"t{i}" for i in wanted]
    assert [s["text"] for s in hr.read(saved / "test", split="[1:3]")] == ["t12", "t13"]
    few = hr.read_huggingface(saved, split="test", columns=["text", "label"])
    assert few[0] == {"text": "t11", "label": 1} and sorted(s["text"] for s in few.shuffle(seed=1)) == [
        "t11", "t12", "t13", "t14"
    ]  # fmt: skip


def test_lists_of_texts_are_one_text_and_lengths(tmp_path: Path) -> None:
    data = Path(__file__).parent.parent / "sources/data/texts.arrow"
    (tmp_path / "x.arrow").write_bytes(data.read_bytes())
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "x.arrow"}]}))
    texts = {"feature": value("string"), "_type": "List"}
    features = {
        "captions": texts,
        "fixed": texts | {"length": 2},
        "pairs": {"feature": {"a": value("string"), "b": value("int32")}, "length": 2, "_type": "Sequence"},
        "deep": {"feature": {"a": {"b": value("string")}}, "_type": "Sequence"},
        "lists": {
            "feature": {"feature": {"a": value("string")}, "length": 2, "_type": "Sequence"},
            "_type": "Sequence",
        },
    }
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": features}))
    ds = hr.read_huggingface(tmp_path, columns=["captions"])
    assert ds[0]["captions"]["values"] == "a caton a mät" and ds[0]["captions"]["lengths"].tolist() == [5, 9]
    for name in ("fixed", "pairs/a", "deep", "lists"):
        with pytest.raises(NotImplementedError, match="cannot read column"):
            hr.read_huggingface(tmp_path, columns=[name])


def test_folders_of_the_cache_are_read(saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    for i in range(2):
        (saved / f"train/data-{i:05}-of-00002.arrow").rename(folder / f"toy-train-{i:05}-of-00002.arrow")
    (saved / "test/data-00000-of-00001.arrow").rename(folder / "toy-test.arrow")
    info = {"features": HF_FEATURES, "splits": {"train": {"num_examples": 11}, "test": {"num_examples": 4}}}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    assert [s["text"] for s in hr.read(folder, split="train")] == [f"t{i}" for i in range(11)]
    assert len(hr.read(folder, split="test[1:]")) == 3
    info["splits"]["test"]["num_examples"] = 5  # type: ignore[index]
    (folder / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(hr.CorruptSample, match=r"expected 5 samples as in dataset_info\.json, got 4"):
        hr.read(folder, split="test")


def test_what_a_saved_folder_lacks_is_named(saved: Path) -> None:
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({}, ValueError, "contains the splits 'train', 'test'; set split="),
        ({"split": "dev"}, ValueError, "has no split 'dev'; there are 'train', 'test'"),
        ({"split": "train+test"}, ValueError, "expected parts of one split"),
        ({"split": "train[:1.5%]"}, ValueError, "split: expected a name with an optional slice"),
        ({"split": "train[1shard:]"}, ValueError, "split: expected a name with an optional slice"),
        ({"split": "train[:10](closest)"}, ValueError, "split: expected a name with an optional slice"),
        ({"split": "train[:10%](up)"}, ValueError, "split: expected a name with an optional slice"),
        ({"split": "train[:5%](pct1_dropremainder)"}, ValueError, "needs at least 100 samples, got 11"),
        ({"split": "train[:5%](pct1_dropremainder)+train[:5%]"}, ValueError, "rounded in the same way"),
        ({"split": "train[7:3]"}, ValueError, "ends after its start, got one from 7 to 3"),
        ({"split": "train", "columns": ["texts"]}, NotImplementedError, "cannot read column 'texts'"),
        (
            {"split": "train", "columns": ["x"]},
            ValueError,
            r"expected names of columns \(pixels, label, .*\), got 'x'",
        ),
    ]
    for options, error, message in refused:
        with pytest.raises(error, match=message):
            hr.read_huggingface(saved, **options)
    state = saved / "test/state.json"
    whole = json.loads(state.read_text())
    for change, error, message in [
        ({"_indices_data_files": [{"filename": "i"}]}, NotImplementedError, "flatten_indices"),
        (
            {"_data_files": [{"filename": "../x.arrow"}]},
            hr.CorruptSample,
            "expected names of files in its folder",
        ),
        ({"_data_files": []}, hr.CorruptSample, "expected a list '_data_files'"),
        ({"_data_files": [{"filename": "gone.arrow"}]}, FileNotFoundError, "gone.arrow"),
    ]:
        state.write_text(json.dumps(whole | change))
        with pytest.raises(error, match=message):
            hr.read(saved, split="test")
    state.write_text("[" * 1000)
    with pytest.raises((ValueError, hr.CorruptSample), match=r"state\.json"):
        hr.read(saved, split="test")
