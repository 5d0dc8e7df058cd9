"""Strings are UTF-8: every format that has fields of strings refuses others, when it reads, verifies and writes."""

from __future__ import annotations

import itertools
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import _core

from .test_prepared import FEATURES, example, features_of, save
from .test_tfrecord import framed
from .written import write_beton

GOOD, BAD = "tea\u00e9 QQ", b"tea\xe9\xe9 QQ"  # the same number of bytes
LATIN = BAD.decode("latin-1")
assert len(GOOD.encode()) == len(BAD)


def spoiled(path: Path) -> Path:
    """Put the bytes that are not UTF-8 in the place of the string."""
    files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
    times = 0
    for file in files:
        data = file.read_bytes()
        times += data.count(GOOD.encode())
        file.write_bytes(data.replace(GOOD.encode(), BAD))
    assert times >= 1
    return path


def written(ending: str, **options: Any) -> Callable[[Path], tuple[Path, dict[str, Any]]]:
    def make(folder: Path) -> tuple[Path, dict[str, Any]]:
        path = folder / f"a{ending}"
        hr.from_list([{"s": "fine", "n": 0}, {"s": GOOD, "n": 1}]).write(path, options=options)
        for manifest in folder.glob("*.json"):
            manifest.unlink()
        return spoiled(path), {}

    return make


def lists(ending: str, **options: Any) -> Callable[[Path], tuple[Path, dict[str, Any]]]:
    def make(folder: Path) -> tuple[Path, dict[str, Any]]:
        path = folder / f"a{ending}"
        rows = [{"s": hr_list(["fine", ""])}, {"s": hr_list(["ü", GOOD])}]
        hr.from_list(rows).write(path, options=options)
        return spoiled(path), {}

    return make


def hr_list(strings: list[str]) -> dict[str, Any]:
    """Make a list of strings as samples have it."""
    return {
        "values": "".join(strings),
        "lengths": np.array([len(one.encode()) for one in strings], np.int64),
    }


def text(folder: Path) -> tuple[Path, dict[str, Any]]:
    (folder / "a.txt").write_bytes(b"fine\n" + BAD + b"\n")
    return folder / "a.txt", {"format": "text"}


def captions(each: str) -> Callable[[Path], tuple[Path, dict[str, Any]]]:
    def make(folder: Path) -> tuple[Path, dict[str, Any]]:
        for name in ("a.jpg", "b.jpg"):
            Image.new("RGB", (4, 4)).save(folder / name)
        (folder / "captions.txt").write_bytes(b"image,caption\na.jpg,fine\nb.jpg," + BAD + b"\n")
        return folder / "captions.txt", {"each": each}

    return make


def coco(each: str) -> Callable[[Path], tuple[Path, dict[str, Any]]]:
    def make(folder: Path) -> tuple[Path, dict[str, Any]]:
        for name in ("a.jpg", "b.jpg"):
            Image.new("RGB", (4, 4)).save(folder / name)
        images = [
            {"id": i, "file_name": name, "height": 4, "width": 4} for i, name in enumerate(("a.jpg", "b.jpg"))
        ]
        said = [{"id": i, "image_id": i, "caption": one} for i, one in enumerate(("fine", "XX"))]
        data = json.dumps({"images": images, "annotations": said}).encode()
        (folder / "captions.json").write_bytes(data.replace(b"XX", BAD))
        return folder / "captions.json", {"images": str(folder), "each": each}

    return make


def named_images(kind: str) -> Callable[[Path], tuple[Path, dict[str, Any]]]:
    def make(folder: Path) -> tuple[Path, dict[str, Any]]:
        root = folder / "root"
        for name in (b"a", BAD):
            file = root / "x" / os.fsdecode(name + b".png")
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (4, 4)).save(folder / "one.png")
            (folder / "one.png").rename(file)
        if kind != "file_list":
            return root, {"format": kind, "key": True}
        (root / "list.txt").write_bytes(b"x/a.png 0\nx/" + BAD + b".png 1\n")
        return root / "list.txt", {"format": kind, "key": True}

    return make


def voc(folder: Path) -> tuple[Path, dict[str, Any]]:
    for name, pose in (("a", b"Left"), ("b", BAD)):
        Image.new("RGB", (8, 8)).save(folder / f"{name}.jpg")
        (folder / f"{name}.xml").write_bytes(
            b"<annotation><object><name>cat</name><pose>"
            + pose
            + b"</pose><bndbox><xmin>1</xmin><ymin>1</ymin>"
            b"<xmax>4</xmax><ymax>4</ymax></bndbox></object></annotation>"
        )
    return folder, {"format": "voc_xml", "pose": True}


def tfds(folder: Path) -> tuple[Path, dict[str, Any]]:
    folder = folder / "toy/1.0.0"
    folder.mkdir(parents=True)
    info = {"name": "toy", "fileFormat": "tfrecord", "version": "1.0.0",
            "splits": [{"name": "train", "shardLengths": ["2"], "numBytes": "1"}]}  # fmt: skip
    records = [example({"text": one, "texts": ["x"]}) for one in (b"fine", BAD)]
    (folder / "toy-train.tfrecord-00000-of-00001").write_bytes(framed(*records))
    (folder / "dataset_info.json").write_text(json.dumps(info))
    (folder / "features.json").write_text(
        json.dumps(features_of({k: FEATURES[k] for k in ("text", "texts")}))
    )
    return folder, {}


def huggingface(folder: Path) -> tuple[Path, dict[str, Any]]:
    save(folder / "train", 0, 2, shards=1)
    file = next((folder / "train").glob("*.arrow"))
    data = file.read_bytes()
    assert data.count(b"t0t1") == 1
    file.write_bytes(data.replace(b"t0t1", b"t0\xe9\xe9"))
    return folder / "train", {"columns": ["text", "label"]}


def litdata(folder: Path) -> tuple[Path, dict[str, Any]]:
    leaf = {"type": None, "context": None, "children_spec": []}
    tree = {"type": "builtins.dict", "context": '["s"]', "children_spec": [leaf]}
    samples = [struct.pack("<I", len(one)) + one for one in (b"fine", BAD)]
    ends = itertools.accumulate(map(len, samples), initial=4 * (len(samples) + 2))
    chunk = (
        struct.pack("<I", len(samples)) + b"".join(struct.pack("<I", end) for end in ends) + b"".join(samples)
    )
    (folder / "chunk-0-0.bin").write_bytes(chunk)
    config = {"compression": None, "data_format": ["str"], "data_spec": json.dumps([1, tree]), "encryption": None,
              "item_loader": "PyTreeLoader"}  # fmt: skip
    chunks = [{"chunk_bytes": 1, "chunk_size": 2, "dim": None, "filename": "chunk-0-0.bin"}]
    (folder / "index.json").write_text(json.dumps({"chunks": chunks, "config": config}))
    return folder, {}


def beton(folder: Path) -> tuple[Path, dict[str, Any]]:
    write_beton(folder / "a.beton", (b"fine", BAD))
    return folder / "a.beton", {"format": "beton"}


# Each makes two samples, of which the second has a string that is not UTF-8.
MADE: dict[str, list[Callable[[Path], tuple[Path, dict[str, Any]]]]] = {
    "arrow": [written(".arrow"), written(".arrows"), written(".arrow", large_offsets=True), lists(".arrow")],
    "beton": [beton],
    "captions": [captions("image"), captions("caption")],
    "coco": [coco("image"), coco("caption")],
    "csv": [written(".csv"), written(".tsv")],
    "file_list": [named_images("file_list")],
    "hdf5": [written(".h5")],
    "huggingface": [huggingface],
    "image_folder": [named_images("image_folder")],
    "images": [named_images("images")],
    "jsonl": [written(".jsonl"), lists(".jsonl")],
    "litdata": [litdata],
    "mds": [written(".mds")],
    "parquet": [written(".parquet"), lists(".parquet")],
    "text": [text],
    "tfds": [tfds],
    "voc_xml": [voc],
    "webdataset": [written(".tar")],
    "zarr": [written(".zarr", compression="none")],
}
# Formats without fields of strings, and JSON as a whole, which is UTF-8 or is refused.
NONE = {
    "array_record",
    "cifar",
    "fixed",
    "idx",
    "imagenet_solution",
    "json_map",
    "lmdb",
    "npy",
    "npz",
    "recordio",
    "tfrecord",
}
CASES = [
    pytest.param(name, make, id=f"{name}{i}") for name, all_ in MADE.items() for i, make in enumerate(all_)
]
BY_ENCODING = {
    name for name, info in ((one["name"], one) for one in _core.format_table())
    if any(option["name"] == "encoding" for option in info["options"])
}  # fmt: skip


def test_every_format_is_here() -> None:
    registered = {info["name"] for info in _core.format_table() if not info["made"]}
    assert registered == set(MADE) | NONE


def values_of(sample: Any) -> list[Any]:
    if isinstance(sample, dict):
        return [leaf for one in sample.values() for leaf in values_of(one)]
    return [sample]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "made"
    folder.mkdir()
    yield folder


@pytest.mark.parametrize(("name", "make"), CASES)
def test_a_string_that_is_not_utf8_is_an_error_of_its_sample(
    name: str, make: Callable[[Path], tuple[Path, dict[str, Any]]], made: Path
) -> None:
    path, options = make(made)
    ds = hr.read(path, **options)
    assert len(ds) == 2
    ds[0]
    with pytest.raises(hr.CorruptSample, match="UTF-8"):
        ds[1]
    with pytest.raises(hr.CorruptSample, match="UTF-8"):
        list(ds)
    with pytest.raises(hr.CorruptSample, match="UTF-8"):
        list(ds.batch(2))
    assert len(list(ds.on_error("skip"))) == 1
    for workers in (0, 2):
        assert len(list(ds.on_error("skip").options(workers=workers).numpy())) == 1
    if name in BY_ENCODING:
        with pytest.raises(hr.CorruptSample, match=r'encoding="latin-1"'):
            ds[1]


@pytest.mark.parametrize(("name", "make"), CASES)
def test_nothing_is_written_of_it(
    name: str, make: Callable[[Path], tuple[Path, dict[str, Any]]], made: Path, tmp_path: Path
) -> None:
    path, options = make(made)
    with pytest.raises(hr.CorruptSample, match="UTF-8"):
        hr.read(path, **options).write(tmp_path / "out.arrow")
    assert not (tmp_path / "out.arrow").exists()


@pytest.mark.parametrize(("name", "make"), CASES)
def test_verify_finds_it(name: str, make: Callable[[Path], tuple[Path, dict[str, Any]]], made: Path) -> None:
    path, options = make(made)
    named = ["--format", options.pop("format")] if "format" in options else []
    given = [word for key, value in options.items() for word in ("--option", f"{key}={json.dumps(value)}")]
    done = subprocess.run(
        [sys.executable, "-c", "import headrace_cli; headrace_cli.main()", "verify", str(path), *named, *given],
        check=False,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert b"UTF-8" in done.stdout
    assert b"1 of 2 samples broken" in done.stdout


@pytest.mark.parametrize(("name", "make"), [case for case in CASES if case.values[0] in BY_ENCODING])
def test_an_encoding_reads_it(
    name: str, make: Callable[[Path], tuple[Path, dict[str, Any]]], made: Path, tmp_path: Path
) -> None:
    path, options = make(made)
    as_bytes = hr.read(path, encoding="bytes", **options)
    as_latin = hr.read(path, encoding="latin-1", **options)
    raw = [leaf for leaf in values_of(as_bytes[1]) if isinstance(leaf, bytes) and b"\xe9\xe9" in leaf]
    converted = [leaf for leaf in values_of(as_latin[1]) if isinstance(leaf, str) and "éé" in leaf]
    assert len(raw) == 1
    assert len(converted) == 1
    assert converted[0] == raw[0].decode("latin-1") or name in ("arrow", "parquet")
    for ds, leaf in ((as_bytes, raw[0]), (as_latin, converted[0])):
        (batch,) = ds.batch(2)
        assert any(leaf in list(column) for column in values_of(batch) if not isinstance(column, np.ndarray))
        ds.save_plan(tmp_path / "plan.json")
        assert leaf in values_of(hr.load_plan(tmp_path / "plan.json")[1])
    as_latin.write(tmp_path / "out.arrow")
    assert converted[0] in values_of(hr.read(tmp_path / "out.arrow")[1])
    with pytest.raises(ValueError, match='encoding must be "utf-8", "latin-1" or "bytes", got'):
        hr.read(path, encoding="koi8-r", **options)


def test_each_string_of_a_list_is_utf8_by_itself(tmp_path: Path) -> None:
    """Two halves of a character are UTF-8 together."""
    path = tmp_path / "a.arrow"
    hr.from_list([{"s": hr_list(["ab", "cd"])}, {"s": hr_list(["é"])}]).write(path)
    path.write_bytes(path.read_bytes().replace(b"abcd", b"a\xc3\xa9d"))
    for manifest in tmp_path.glob("*.json"):
        manifest.unlink()
    with pytest.raises(
        hr.CorruptSample, match=r"field 's', string 0: expected UTF-8, got byte 0xc3 at position 1"
    ):
        hr.read(path)[0]
    assert hr.read(path)[1]["s"]["values"] == "é"
    as_latin = hr.read(path, encoding="latin-1")[0]["s"]
    assert as_latin["values"] == "aÃ©d"
    assert as_latin["lengths"].tolist() == [3, 3]


def test_the_message_names_field_sample_byte_and_cure(tmp_path: Path) -> None:
    path, _ = written(".tar")(tmp_path)
    with pytest.raises(hr.CorruptSample) as caught:
        list(hr.read(path))
    assert "field 's.txt': expected UTF-8, got byte 0xe9 at position 3 of 'tea\\xe9\\xe9 QQ'" in str(
        caught.value
    )
    assert 'encoding="bytes" reads any bytes; encoding="latin-1" converts' in str(caught.value)
    assert "sample" in str(caught.value)


def test_rows_before_a_broken_one_of_a_large_batch_are_right(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    rows = [{"s": f"line {i} ü", "n": i} for i in range(500)]
    rows[321]["s"] = GOOD
    hr.from_list(rows).write(path)
    spoiled(path)
    for manifest in tmp_path.glob("*.json"):
        manifest.unlink()
    ds = hr.read(path).on_error("skip")
    wanted = [row for row in rows if row["n"] != 321]
    assert [{"s": s["s"], "n": int(s["n"])} for s in ds] == wanted
    assert [one for b in ds.batch(64) for one in b["s"]] == [row["s"] for row in wanted]
    shuffled = hr.read(path).shuffle(seed=1).on_error("skip").batch(50)
    assert sorted(one for b in shuffled for one in b["s"]) == sorted(row["s"] for row in wanted)
    with pytest.raises(hr.CorruptSample, match="sample 321"):
        list(hr.read(path).batch(500))


def test_a_header_of_csv_in_latin1(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"tea\xe9,b\nth\xe9,1\n,2\n")
    with pytest.raises(hr.CorruptSample, match="expected a header in UTF-8"):
        hr.read_csv(tmp_path / "a.csv")
    ds = hr.read_csv(tmp_path / "a.csv", encoding="latin-1", defaults={"teaé": "né"})
    assert [dict(s) for s in ds] == [{"teaé": "thé", "b": 1}, {"teaé": "né", "b": 2}]
    assert hr.read_csv(tmp_path / "a.csv", encoding="bytes", names=["a", "b"])[0]["a"] == b"th\xe9"
    with pytest.raises(ValueError, match="expected characters of Latin-1"):
        hr.read_csv(tmp_path / "a.csv", encoding="latin-1", defaults={"teaé": "日"})


def test_names_of_files_that_are_not_utf8_are_refused_by_list_files(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"tea\xe9.txt")).touch()
    with pytest.raises(ValueError, match=r"list_files: expected names in UTF-8, got '.*tea\\xe9\.txt'"):
        hr.list_files(tmp_path / "*.txt")


def test_a_writer_refuses_half_a_surrogate_pair(tmp_path: Path) -> None:
    with pytest.raises((ValueError, hr.CorruptSample)), hr.writer(tmp_path / "a.jsonl") as out:
        out.write({"s": "tea\udce9"})
    assert not (tmp_path / "a.jsonl").exists()


def test_a_character_cut_between_two_strings_of_a_list(tmp_path: Path) -> None:
    """Side by side its halves are a character: each string of a list is checked by itself, also in batches."""
    pa = pytest.importorskip("pyarrow")
    halves = pa.ListArray.from_arrays(
        pa.array([0, 1, 3], pa.int32()), pa.array([b"ok", b"\xc3", b"\xa9"], pa.binary())
    )
    table = pa.table(
        {
            "s": pa.ListArray.from_arrays(
                halves.offsets, pa.Array.from_buffers(pa.string(), 3, halves.values.buffers())
            )
        }
    )
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    ds = hr.read(tmp_path / "x.arrow")
    assert ds[0]["s"]["values"] == "ok"
    for make in (
        lambda: ds[1],
        lambda: list(ds),
        lambda: list(ds.batch(1)),
        lambda: list(ds.ragged_batch(2)),
    ):
        with pytest.raises(hr.CorruptSample, match="UTF-8"):
            make()
