"""Real RecordIO files: written by mxnet, dmlc and SageMaker, read with the truth that another parser told."""

import hashlib
import json
import os
import struct
from pathlib import Path

import pytest

import headrace as hr
from headrace import ops

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
pytestmark = pytest.mark.skipif(not (DATA / "recordio").is_dir(), reason="HEADRACE_DATA has no recordio")
MAGIC = struct.pack("<I", 0xCED7230A)


def _truth():
    if not (DATA / "truth.jsonl").is_file():
        return []
    with (DATA / "truth.jsonl").open() as lines:
        return [row for row in map(json.loads, lines) if row.get("kind") == "recordio"]


@pytest.mark.parametrize("row", _truth(), ids=lambda row: row["path"])
def test_the_records_are_those_of_the_truth(row):
    ds = hr.read(DATA / row["path"], header=False)
    assert len(ds) == row["records"]
    records = [bytes(sample["record"]) for sample in ds]
    assert hashlib.sha1(b"".join(records)).hexdigest() == row["records_sha1"]
    assert bytes(ds[len(ds) - 1]["record"]) == records[-1]


def test_payloads_that_hold_the_magic_word():
    records = [
        bytes(x["record"])
        for x in hr.read_recordio(DATA / "official_writers/recordio_mxnet/magic_inside.rec")
    ]
    whole = [MAGIC, MAGIC * 2, b"abcd" + MAGIC + b"efgh", b"abc" + MAGIC + b"d"]
    assert records == [*whole, MAGIC * 5 + b"x", b"", b"x", b"abcd" + MAGIC]


def test_images_and_labels_are_those_of_the_list():
    folder = DATA / "official_writers/recordio_mxnet"
    ds = hr.read(folder / "cls.rec")
    assert [(f.dtype, f.shape) for f in ds.schema.values()] == [
        ("bytes", (None,)),
        ("float32", ()),
        ("int64", ()),
    ]
    rows = [line.split("\t") for line in (folder / "cls.lst").read_text().splitlines()]
    assert len(ds) == len(rows)
    for sample, row in zip(ds, rows, strict=True):
        assert (int(sample["id"]), float(sample["label"])) == (int(row[0]), float(row[1]))
        assert bytes(sample["image"])[:2] == b"\xff\xd8"
    small = ds.map(lambda s: ops.resize(ops.decode_image(s.image), size=(8, 8)))
    (batch,) = small.batch(len(rows))
    assert batch.shape == (len(rows), 8, 8, 3)


@pytest.mark.parametrize(
    "path",
    ["official_writers/recordio_mxnet/multilabel.rec", "recordio/enkhtogtokh__transfer_learning/train.rec"],
)
def test_many_labels(path):
    ds = hr.read(DATA / path)
    bytes_of = hr.read(DATA / path, header=False)
    for sample, record in zip(ds, bytes_of, strict=True):
        flag, _, number, _ = struct.unpack_from("<IfQQ", record["record"])
        assert sample["label"].tolist() == list(struct.unpack_from(f"<{flag}f", record["record"], 24))
        assert int(sample["id"]) == number
        assert bytes(sample["image"]) == bytes(record["record"])[24 + 4 * flag :]
