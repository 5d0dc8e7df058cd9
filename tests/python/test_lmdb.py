"""Real LMDB files: of Caffe's layout, of BasicSR and mmocr, read with the truth that the library told."""

import hashlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
pytestmark = pytest.mark.skipif(not (DATA / "lmdb").is_dir(), reason="HEADRACE_DATA has no lmdb")


def _truth():
    if not (DATA / "truth.jsonl").is_file():
        return []
    with (DATA / "truth.jsonl").open() as lines:
        return [row for row in map(json.loads, lines) if row.get("kind") == "lmdb"]


@pytest.mark.parametrize("row", _truth(), ids=lambda row: row["path"])
def test_keys_and_values_are_those_of_the_truth(row):
    for path in (DATA / row["path"], (DATA / row["path"]).parent):
        ds = hr.read(path)
        assert len(ds) == row["records"]
        pairs = [bytes(sample["key"]) + bytes(sample["value"]) for sample in ds]
        assert hashlib.sha1(b"".join(pairs)).hexdigest() == row["kv_sha1"]
        last = ds[len(ds) - 1]
        assert bytes(last["key"]) + bytes(last["value"]) == pairs[-1]


def test_both_forms_of_caffe_are_the_same_photographs():
    encoded = hr.read_lmdb(DATA / "official_writers/caffe_encoded_lmdb", values="datum")
    raw = hr.read_lmdb(DATA / "official_writers/caffe_raw_lmdb", values="datum")
    assert (
        raw.schema["image"] == hr.FieldSpec("u8", (None, None, 3))
        and encoded.schema["image"].dtype == "bytes"
    )
    assert [int(s["label"]) for s in encoded] == [int(s["label"]) for s in raw]
    for one, other in zip(encoded, raw, strict=True):
        image = Image.open(io.BytesIO(bytes(one["image"]))).convert("RGB")
        height, width, _ = other["image"].shape
        small = np.asarray(image.resize((width, height), Image.Resampling.BILINEAR), np.float32)
        right, wrong = (
            np.abs(small - x.astype(np.float32)).mean() for x in (other["image"], other["image"][..., ::-1])
        )
        assert right < 12 and right <= wrong  # another resize made the raw ones
    (batch,) = encoded.map(lambda s: ops.resize(ops.decode_image(s.image), size=(8, 8))).batch(len(encoded))
    assert batch.shape == (len(encoded), 8, 8, 3)


def test_encoded_and_raw_are_not_mixed():
    both = [DATA / f"official_writers/caffe_{form}_lmdb/data.mdb" for form in ("encoded", "raw")]
    ds = hr.read_lmdb(both, values="datum")
    with pytest.raises(
        hr.CorruptSample,
        match=r"expected an encoded image as in the first value.*caffe_raw_lmdb/data.mdb, record 0 in page",
    ):
        ds[20]
    with pytest.raises(hr.CorruptSample, match="expected values that are a Datum"):
        hr.read_lmdb(DATA / "lmdb/XPixelGroup__BasicSR/tests/data/lq.lmdb", values="datum")
