"""TFRecord files as a user reads them: one, a pattern, a list, a folder of shards."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

import headrace as hr

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")


def masked_crc32c(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15 | crc << 17) & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def framed(*records: bytes) -> bytes:
    out = b""
    for record in records:
        length = len(record).to_bytes(8, "little")
        out += length + masked_crc32c(length) + record + masked_crc32c(record)
    return out


def records_of(dataset: hr.Dataset) -> list[bytes]:
    return [bytes(sample["record"]) for sample in dataset]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train-0-of-2").write_bytes(framed(b"a", b"bb"))
    (tmp_path / "train-1-of-2").write_bytes(framed(b"ccc"))
    (tmp_path / "notes.txt").write_text("left out")
    return tmp_path


def test_several_files_are_one_dataset(folder: Path) -> None:
    whole = [b"a", b"bb", b"ccc"]
    assert records_of(hr.read(folder)) == whole
    assert records_of(hr.read(folder / "train-?-of-2")) == whole
    assert records_of(hr.read(f"{folder}/train-{{0..1}}-of-2")) == whole
    assert records_of(hr.read([folder / "train-1-of-2", folder / "train-0-of-2"])) == [b"ccc", b"a", b"bb"]
    assert hr.read(folder).metadata["left_out"] == {"files": 1, "endings": {".txt": 1}}


def test_the_pattern_is_in_the_plan(folder: Path, tmp_path: Path) -> None:
    hr.read(folder / "train-*").shuffle(seed=3).save_plan(tmp_path / "plan.json")
    assert "train-*" in (tmp_path / "plan.json").read_text()
    again = hr.load_plan(tmp_path / "plan.json")
    assert sorted(records_of(again)) == [b"a", b"bb", b"ccc"]


def test_what_is_missing_is_said(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expands to 3 names, but 1 of them match no file"):
        hr.read(f"{folder}/train-{{0..2}}-of-2")
    with pytest.raises(FileNotFoundError, match=r"has 3 files: 'notes.txt'"):
        hr.read(folder / "test-*")
    with pytest.raises(ValueError, match="empty list"):
        hr.read([])
    with pytest.raises(TypeError, match="a path or a list of paths"):
        hr.read(3)  # type: ignore[arg-type]


def test_a_damaged_record_costs_itself_only(folder: Path) -> None:
    path = folder / "train-0-of-2"
    path.write_bytes(path.read_bytes()[:-5] + b"XX" + path.read_bytes()[-3:])
    told = r"^tfrecord: the record's data does not match its checksum: sample 1 of .*train-0-of-2, record 1 at byte 17"
    with pytest.raises(hr.CorruptSample, match=told):
        records_of(hr.read(folder))
    assert records_of(hr.read(folder).on_error("skip")) == [b"a", b"ccc"]


def truths() -> list[dict[str, object]]:
    if not (DATA / "truth.jsonl").is_file():
        return []
    lines = (json.loads(line) for line in (DATA / "truth.jsonl").read_text().splitlines())
    return [line for line in lines if line.get("kind") == "tfrecord"]


@pytest.mark.skipif(not truths(), reason="HEADRACE_DATA has no truth.jsonl")
@pytest.mark.parametrize("truth", truths(), ids=lambda truth: truth["path"])
def test_real_files_hold_what_other_readers_say(truth: dict[str, object]) -> None:
    records = records_of(hr.read(DATA / str(truth["path"])))
    assert len(records) == truth["records"]
    assert hashlib.sha1(b"".join(records)).hexdigest() == truth["records_sha1"]


def test_features_of_an_example_train_a_model(folder: Path) -> None:
    """Label 7 and two floats, as TensorFlow serialises them."""
    label, floats = (
        b"\n\x05label\x12\x05\x1a\x03\n\x01\x07",
        b"\n\x01x\x12\x0c\x12\n\n\x08\x00\x00\x80?\x00\x00\x00@",
    )
    features = b"".join(b"\n" + bytes([len(entry)]) + entry for entry in (label, floats))
    (folder / "train-0-of-2").write_bytes(framed(*[b"\n" + bytes([len(features)]) + features] * 3))

    def parse(sample: Any) -> dict[str, Any]:
        take = hr.ops.example_feature
        return {
            "label": take(sample["record"], key="label", dtype="i64"),
            "x": take(sample["record"], key="x", dtype="f32", shape=2),
        }

    batch = next(iter(hr.read(folder / "train-0-of-2").map(parse).batch(3)))
    assert batch["label"].tolist() == [7, 7, 7]
    assert batch["x"].tolist() == [[1.0, 2.0]] * 3


def test_an_empty_shard_and_files_beside_the_data_are_no_hindrance(folder: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    (new / "a.tfrecord").touch()
    (new / "b.tfrecord").write_bytes((folder / "train-0-of-2").read_bytes())
    for name in ("labels.lst", "b.tfrecord.md5", "label_map.pbtxt", "data.yaml"):
        (new / name).write_text("x")
    assert len(hr.read(new)) == len(hr.read([new / "a.tfrecord", new / "b.tfrecord"])) == 2
