"""What cannot be examined is not absent: an error or a named warning, never a shorter data set in silence.

A small library is preloaded that makes the system answer one look-up (open, stat, readdir) with an error; every
look-up of every registered format is tried. As root, permissions would refuse nothing.
"""

from __future__ import annotations

import errno
import gzip
import itertools
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
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

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
ERRORS = ("EACCES", "EIO", "ESTALE", "EMFILE", "ENOMEM")


def image(path: Path, number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), (number * 20 % 256, number, 3)).save(path)


def shards(kind: str, **options: Any) -> Callable[[Path], dict[str, Any]]:
    """Write a folder of two shards."""

    def make(folder: Path) -> dict[str, Any]:
        rows = [{"n": i, "s": f"row {i}"} for i in range(4)]
        if kind == "npy":
            rows = [{"n": i} for i in range(4)]
        if kind == "recordio":
            rows = [{"image": b"\xff\xd8\xff" + bytes([i]), "label": i} for i in range(4)]
        if kind in ("tfrecord", "lmdb"):
            rows = [{"record": bytes([65 + i] * 9)} for i in range(4)]
        hr.from_list(rows).write(folder / "set", format=kind, shards=2, options=options)
        return {"path": folder / "set"}

    return make


def pattern(ending: str) -> Callable[[Path], dict[str, Any]]:
    def make(folder: Path) -> dict[str, Any]:
        for name in ("a", "b/c"):
            (folder / name).mkdir(parents=True)
            hr.from_list([{"s": name}]).write(folder / name / f"x{ending}")
        return {"path": folder / "**" / f"*{ending}", "watched": folder}

    return make


def zarrs(folder: Path) -> dict[str, Any]:
    for name in ("a.zarr", "b.zarr"):
        hr.from_list([{"x": i + 1, "y": i + 2.0} for i in range(6)]).write(
            folder / name, options={"rows_per_chunk": 2}
        )
    return {"path": folder}


def zarr(folder: Path) -> dict[str, Any]:
    zarrs(folder)
    return {"path": folder / "a.zarr"}


def zarr2(folder: Path) -> dict[str, Any]:
    for name in ("x", "y"):
        (folder / name).mkdir()
        about = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": None, "fill_value": 0,
                 "order": "C", "filters": None}  # fmt: skip
        (folder / name / ".zarray").write_text(json.dumps(about))
        for chunk in range(2):
            (folder / name / str(chunk)).write_bytes(struct.pack("<2i", chunk + 5, chunk + 6))
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    return {"path": folder}


def classes(folder: Path) -> dict[str, Any]:
    for number, name in enumerate(("cat/a", "dog/a", "dog/deep/b", "owl/a", "owl/b")):
        image(folder / f"{name}.png", number)
    return {"path": folder}


def flat(folder: Path) -> dict[str, Any]:
    return {**classes(folder), "format": "images", "key": True}


def splits(folder: Path) -> dict[str, Any]:
    for number, name in enumerate(("train/cat/a", "train/dog/b", "test/cat/a", "test/dog/b")):
        image(folder / f"{name}.png", number)
    return {"path": folder, "split": "all"}


def hive(folder: Path) -> dict[str, Any]:
    for year in (2001, 2002):
        (folder / f"year={year}").mkdir()
        hr.from_list([{"n": year}]).write(folder / f"year={year}" / "x.parquet")
    return {"path": folder}


def zipped(make: Callable[[Path], dict[str, Any]]) -> Callable[[Path], dict[str, Any]]:
    def made(folder: Path) -> dict[str, Any]:
        inner = folder / "inner"
        inner.mkdir()
        out = make(inner)
        root = Path(out.pop("path"))
        with zipfile.ZipFile(folder / "x.zip", "w") as file:
            for one in sorted(root.rglob("*")):
                file.write(one, one.relative_to(root))
        shutil.rmtree(inner)
        return {"path": folder / "x.zip", **out}

    return made


def lists(kind: str) -> Callable[[Path], dict[str, Any]]:
    def make(folder: Path) -> dict[str, Any]:
        names = ["x/a.png", "x/b.png"]
        for i, name in enumerate(names):
            image(folder / name, i)
        if kind == "file_list":
            (folder / "list.txt").write_text("".join(f"{name} {i}\n" for i, name in enumerate(names)))
            return {"path": folder / "list.txt", "format": kind}
        if kind == "json_map":
            (folder / "map.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
            return {"path": folder / "map.json", "format": kind}
        if kind == "captions":
            (folder / "captions.txt").write_text("image,caption\nx/a.png,one\nx/b.png,two\n")
            return {"path": folder / "captions.txt", "format": kind, "each": "image"}
        images = [{"id": i, "file_name": Path(n).name, "height": 4, "width": 4} for i, n in enumerate(names)]
        said = [
            {"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 2, 2], "area": 4, "iscrowd": 0}
            for i in range(2)
        ]
        data = {"images": images, "annotations": said, "categories": [{"id": 1, "name": "cat"}]}
        (folder / "instances.json").write_text(json.dumps(data))
        return {"path": folder / "instances.json", "images": str(folder / "x")}

    return make


def voc(folder: Path) -> dict[str, Any]:
    for i, name in enumerate(("a", "b")):
        image(folder / f"JPEGImages/{name}.png", i)
        (folder / "Annotations").mkdir(exist_ok=True)
        (folder / f"Annotations/{name}.xml").write_text(
            "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax>"
            "</bndbox></object></annotation>"
        )
    return {"path": folder}


def imagenet(folder: Path) -> dict[str, Any]:
    for i in range(1, 3):
        image(folder / f"val/ILSVRC2012_val_{i:08}.JPEG", i)
    lines = [f"ILSVRC2012_val_{i:08},n0000000{i} 1 2 3 4" for i in range(1, 3)]
    (folder / "LOC_val_solution.csv").write_text("\n".join(["ImageId,PredictionString", *lines]) + "\n")
    return {"path": folder / "LOC_val_solution.csv", "root": str(folder / "val")}


def cifar(folder: Path) -> dict[str, Any]:
    for name in ("data_batch_1.bin", "data_batch_2.bin"):
        (folder / name).write_bytes(b"".join(bytes([i]) + bytes([i]) * 3072 for i in range(2)))
    return {"path": folder, "format": "cifar"}


def idx(folder: Path) -> dict[str, Any]:
    (folder / "train-images-idx3-ubyte").write_bytes(
        bytes([0, 0, 8, 3]) + struct.pack(">III", 2, 2, 2) + bytes(range(8))
    )
    (folder / "train-labels-idx1-ubyte").write_bytes(
        bytes([0, 0, 8, 1]) + struct.pack(">I", 2) + bytes([7, 8])
    )
    return {"path": folder / "train-images-idx3-ubyte"}


def tfds(folder: Path) -> dict[str, Any]:
    info = {"name": "toy", "fileFormat": "tfrecord", "version": "1.0.0",
            "splits": [{"name": "train", "shardLengths": ["1", "1"], "numBytes": "1"}]}  # fmt: skip
    for i in range(2):
        record = example({"text": f"text {i}".encode(), "texts": ["x"]})
        (folder / f"toy-train.tfrecord-0000{i}-of-00002").write_bytes(framed(record))
    (folder / "dataset_info.json").write_text(json.dumps(info))
    (folder / "features.json").write_text(
        json.dumps(features_of({k: FEATURES[k] for k in ("text", "texts")}))
    )
    return {"path": folder, "split": "train"}


def huggingface(folder: Path) -> dict[str, Any]:
    save(folder / "train", 0, 4, shards=2)
    return {"path": folder / "train", "columns": ["text", "label"]}


def litdata(folder: Path) -> dict[str, Any]:
    leaf: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
    tree = {"type": "builtins.dict", "context": '["s"]', "children_spec": [leaf]}
    names = ("chunk-0-0.bin", "chunk-0-1.bin")
    for name in names:
        samples = [struct.pack("<I", len(one)) + one for one in (b"fine", name.encode())]
        ends = itertools.accumulate(map(len, samples), initial=4 * (len(samples) + 2))
        head = struct.pack("<I", len(samples)) + b"".join(struct.pack("<I", end) for end in ends)
        (folder / name).write_bytes(head + b"".join(samples))
    config = {"compression": None, "data_format": ["str"], "data_spec": json.dumps([1, tree]), "encryption": None,
              "item_loader": "PyTreeLoader"}  # fmt: skip
    chunks = [{"chunk_bytes": 1, "chunk_size": 2, "dim": None, "filename": name} for name in names]
    (folder / "index.json").write_text(json.dumps({"chunks": chunks, "config": config}))
    return {"path": folder}


def beton(folder: Path) -> dict[str, Any]:
    write_beton(folder / "a.beton", (b"fine", b"good"))
    return {"path": folder / "a.beton", "format": "beton"}


def npz(folder: Path) -> dict[str, Any]:
    np.savez(folder / "a.npz", x=np.arange(3), y=np.arange(3.0))
    return {"path": folder / "a.npz"}


def fixed(folder: Path) -> dict[str, Any]:
    for name in ("a.bin", "b.bin"):
        (folder / name).write_bytes(bytes(range(12)))
    return {"path": folder / "*.bin", "watched": folder, "format": "fixed", "record_bytes": 4}


def text(folder: Path) -> dict[str, Any]:
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"three\n"))
    return {"path": [str(folder / "a.txt"), str(folder / "b.txt.gz")], "watched": folder, "format": "text"}


MADE: dict[str, list[Callable[[Path], dict[str, Any]]]] = {
    "arrow": [shards("arrow"), pattern(".arrow")],
    "beton": [beton],
    "captions": [lists("captions")],
    "cifar": [cifar],
    "coco": [lists("coco")],
    "csv": [shards("csv"), pattern(".csv")],
    "file_list": [lists("file_list")],
    "fixed": [fixed],
    "hdf5": [shards("hdf5")],
    "huggingface": [huggingface],
    "idx": [idx],
    "image_folder": [classes, splits, zipped(classes)],
    "imagenet_solution": [imagenet],
    "images": [flat],
    "json_map": [lists("json_map")],
    "jsonl": [shards("jsonl")],
    "litdata": [litdata],
    "lmdb": [shards("lmdb")],
    "mds": [shards("mds")],
    "npy": [shards("npy")],
    "npz": [npz],
    "parquet": [shards("parquet"), hive, zipped(shards("parquet"))],
    "recordio": [shards("recordio")],
    "text": [text],
    "tfds": [tfds],
    "tfrecord": [shards("tfrecord"), pattern(".tfrecord")],
    "voc_xml": [voc],
    "webdataset": [shards("webdataset"), pattern(".tar")],
    "zarr": [zarr, zarrs, zarr2, zipped(zarrs)],
}  # fmt: skip
AS_OTHERS = {"array_record"}  # its files are found, opened and indexed by the code of tfrecord
CASES = [pytest.param(make, id=f"{name}{i}") for name, all_ in MADE.items() for i, make in enumerate(all_)]

# Reads each case with each fault and prints the faults after which the data were others without a word.
RUN = """
import ctypes, errno, json, os, pickle, sys, warnings
import headrace as hr
faults = ctypes.CDLL(None)
faults.fault_victim.restype = ctypes.c_char_p
given = pickle.loads(bytes.fromhex(sys.argv[1]))
root, path, options = str(given["root"]), given["path"], given["options"]

def arm(n=0, number=0, always=False, at=root):
    faults.fault_arm(os.fsencode(at), n, number, int(always))

def plain(value):
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value

def read():
    data = hr.read(path, **options).options(workers=0)
    return repr([plain(sample) for sample in data]), repr(data.metadata.get("classes"))

def outcome(clean, victim):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            got = read()
        except (Exception) as error:
            return "error", str(error)
    if got == clean:
        return "same", ""
    words = " ".join(str(one.message) for one in told)
    name = os.path.basename(victim() if callable(victim) else victim)
    return ("warned" if name and name in words else "SILENT"), words

warnings.simplefilter("ignore")
clean = read()
arm()
assert read() == clean
count = faults.fault_count()
arm(at="")
assert count > 0
seen, wrong = {}, []
for name in given["errors"]:
    number = getattr(__import__("errno"), name)
    for always in (False, True) if name in ("EACCES", "EIO") else (False,):
        for n in range(1, count + 1):
            arm(n, number, always)
            kind, words = outcome(clean, lambda: faults.fault_victim().decode())
            victim, hits = faults.fault_victim().decode(), faults.fault_hits()
            arm(at="")
            seen[kind] = seen.get(kind, 0) + 1
            if kind == "SILENT" or (kind == "error" and os.strerror(number) not in words):
                wrong.append([name, always, n, victim, kind, words])
# Each name in turn is a link that leads nowhere.
for folder, folders, files in os.walk(root):
    for one in [*folders, *files]:
        at = os.path.join(folder, one)
        os.rename(at, root + ".aside")
        os.symlink("/nowhere/at/all", at)
        kind, words = outcome(clean, at)
        os.unlink(at)
        os.rename(root + ".aside", at)
        seen["link " + kind] = seen.get("link " + kind, 0) + 1
        if kind == "SILENT":
            wrong.append(["link", at, kind, words])
print(json.dumps({"seen": seen, "wrong": wrong, "count": count}))
"""


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("faults") / "libfaults.so"
    source = Path(__file__).with_name("lookup_faults.c")
    subprocess.run(
        [str(COMPILER), "-shared", "-fPIC", "-Wall", "-Werror", str(source), "-o", str(library)], check=True
    )
    return library


def test_every_format_is_here() -> None:
    registered = {info["name"] for info in _core.format_table() if not info["made"]}
    assert registered == set(MADE) | AS_OTHERS


@needs_compiler
@pytest.mark.parametrize("make", CASES)
def test_no_failing_look_up_makes_other_data_in_silence(
    make: Callable[[Path], dict[str, Any]], tmp_path: Path, shim: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    options = make(folder)
    path = options.pop("path")
    root = options.pop("watched", folder)
    given = {
        "path": path if isinstance(path, list) else str(path),
        "root": str(root),
        "options": options,
        "errors": ERRORS,
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, pickle.dumps(given).hex()],
        env={**os.environ, "LD_PRELOAD": str(shim), "HEADRACE_NO_SIDECARS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["seen"].get("error", 0) > 0, found


def three_classes(root: Path) -> Path:
    for number, name in enumerate(("cat", "dog", "owl")):
        image(root / name / "x.png", number)
    return root


def lose(root: Path, name: str) -> None:
    shutil.rmtree(root / name)
    (root / name).symlink_to("/not/mounted")


def test_a_class_folder_that_is_not_mounted_is_an_error(tmp_path: Path) -> None:
    root = three_classes(tmp_path / "d")
    lose(root, "dog")
    with pytest.raises(FileNotFoundError, match=r"dog': a link that leads nowhere.*skip_unreadable=True"):
        hr.read(root)
    for reader in (hr.read_images, hr.read_image_folder):
        with pytest.raises(FileNotFoundError, match="dog"):
            reader(root)


def test_skip_unreadable_keeps_the_labels_and_says_what_is_left_out(tmp_path: Path) -> None:
    root = three_classes(tmp_path / "d")
    lose(root, "dog")
    with pytest.warns(
        UserWarning, match=r"1 name that could not be read is left out: .*dog' \(a link that leads"
    ) as told:
        data = hr.read(root, skip_unreadable=True)
    assert any("keeps its label" in str(one.message) for one in told)
    assert data.metadata["classes"] == ["cat", "dog", "owl"]
    assert [int(sample["label"]) for sample in data] == [0, 2]
    assert data.metadata["unreadable"] == [{"path": f"{root}/dog", "reason": "a link that leads nowhere"}]
    assert "dog" in data.batch(2).explain()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.save_plan(tmp_path / "plan.json")
        again = hr.load_plan(tmp_path / "plan.json")
        named = hr.read_image_folder(root, classes=["cat", "dog", "owl"], skip_unreadable=True)
    assert len(again) == 2
    assert [int(sample["label"]) for sample in named] == [0, 2]
    assert (
        len(hr.read(root / "cat", format="images", skip_unreadable=True)) == 1
    )  # nothing to skip, no warning


def test_a_file_that_leads_nowhere_is_an_error_too(tmp_path: Path) -> None:
    root = three_classes(tmp_path / "d")
    (root / "dog" / "y.png").symlink_to("/not/fetched.png")
    with pytest.raises(FileNotFoundError, match=r"dog/y\.png': a link that leads nowhere"):
        hr.read(root)
    with pytest.warns(UserWarning, match=r"y\.png"):
        assert len(hr.read(root, skip_unreadable=True)) == 3


def test_what_file_systems_put_beside_data_is_passed_over(tmp_path: Path) -> None:
    root = three_classes(tmp_path / "d")
    for name in ("lost+found", "@eaDir", "__MACOSX", ".snapshot", ".Trash-1000", "cat/@eaDir"):
        image(root / name / "x.png", 9)
    (root / "$RECYCLE.BIN").symlink_to("/not/mounted")
    (root / ".hidden").symlink_to("/not/mounted")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = hr.read(root)
    assert data.metadata["classes"] == ["cat", "dog", "owl"] and len(data) == 3
    assert len(hr.read(root / "lost+found", format="images")) == 1  # named by the user
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        for one in sorted(root.rglob("*.png")):
            file.write(one, one.relative_to(root))
    assert len(hr.read(tmp_path / "x.zip")) == 3


def test_links_to_folders_above_are_named_and_not_walked(tmp_path: Path) -> None:
    root = three_classes(tmp_path / "set" / "d")
    image(tmp_path / "set" / "beside" / "x.png", 1)
    (root / "machine").symlink_to("/")
    (root / "up").symlink_to("..")
    (root / "self").symlink_to(".")
    with pytest.warns(UserWarning, match="leads back to a folder it is in, and is not followed"):
        data = hr.read(root)
    assert len(data) == 3 and data.metadata["classes"] == ["cat", "dog", "owl"]
    reasons = {one["path"]: one["reason"] for one in data.metadata["problems"]}
    assert set(reasons) == {"machine", "up", "self"}


def test_a_chunk_that_cannot_be_listed_is_no_fill_value(tmp_path: Path) -> None:
    zarr(tmp_path)
    chunks = tmp_path / "a.zarr" / "x" / "c"
    shutil.rmtree(chunks)
    chunks.symlink_to("/not/mounted")
    with pytest.raises(FileNotFoundError, match="x/c': a link that leads nowhere"):
        hr.read(tmp_path / "a.zarr")
    with pytest.raises(OSError, match="would be read as fill values"):
        hr.read(tmp_path / "a.zarr", skip_unreadable=True)
    with pytest.warns(UserWarning, match="x/c"):
        assert len(hr.read(tmp_path / "a.zarr", fields=["y"], skip_unreadable=True)) == 6


def test_a_listing_that_is_not_whole_is_not_remembered(tmp_path: Path) -> None:
    root = tmp_path / "d"
    image(root / "cat" / "0.png", 0)
    for i in range(1, 20_000):
        os.link(root / "cat" / "0.png", root / "cat" / f"{i}.png")
    (root / "dog").symlink_to("../dogs")
    with pytest.raises(FileNotFoundError, match="dog"):
        hr.read(root)
    with pytest.warns(UserWarning, match="dog"):
        assert hr.read(root, skip_unreadable=True).metadata["classes"] == ["cat", "dog"]
    image(tmp_path / "dogs" / "0.png", 1)
    assert len(hr.read(root)) == 20_001


def command(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import headrace_cli; headrace_cli.main()", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@needs_compiler
def test_the_command_line_fails_too(tmp_path: Path, shim: Path) -> None:
    root = three_classes(tmp_path / "d")
    fault = {"LD_PRELOAD": str(shim), "FAULT_AT": str(root / "dog"), "FAULT_NUMBER": str(errno.EACCES)}
    out = tmp_path / "out.tar"
    for words in (["verify", root], ["inspect", root], ["convert", root, out], ["doctor", root]):
        done = command(*words, **fault)
        assert done.returncode == 1, words
        assert "dog': Permission denied" in done.stderr and "--skip-unreadable" in done.stderr
    assert not out.exists()
    for words in (["verify", root], ["inspect", root], ["convert", root, out]):
        done = command(*words, "--skip-unreadable", **fault)
        assert "dog' (Permission denied)" in done.stdout, done
        assert done.returncode == 0


def test_a_pattern_needs_only_what_it_matches(tmp_path: Path) -> None:
    hr.from_list([{"n": 1}]).write(tmp_path / "a.csv")
    (tmp_path / "latest").symlink_to("/not/mounted")
    assert len(hr.read(tmp_path / "*.csv")) == 1
    (tmp_path / "b.csv").symlink_to("/not/mounted")
    with pytest.raises(FileNotFoundError, match=r"b\.csv': a link that leads nowhere"):
        hr.read(tmp_path / "*.csv")
    with pytest.warns(UserWarning, match=r"b\.csv"):
        assert len(hr.read(tmp_path / "*.csv", skip_unreadable=True)) == 1
    with pytest.raises(FileNotFoundError, match="skip_unreadable=True"):
        hr.list_files(tmp_path / "*.csv")
    with pytest.warns(UserWarning, match=r"b\.csv"):
        assert [str(one) for one in hr.list_files(tmp_path / "*.csv", skip_unreadable=True)] == [
            f"{tmp_path}/a.csv"
        ]
