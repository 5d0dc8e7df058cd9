"""HDF5 without h5py: what an independent reader said of real files, and files of our own."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
REFUSALS = (hr.CorruptSample, NotImplementedError, ValueError)


def truths():
    """Give the lines of truth.jsonl about HDF5 files."""
    lines = map(json.loads, (DATA / "truth.jsonl").read_text().splitlines())
    return [line for line in lines if line.get("kind") == "hdf5"]


def check_dataset(path, name, dtype, shape):
    """Open one dataset alone and read its first and last row."""
    group, _, field = name.rpartition("/")
    ds = hr.read_hdf5(path, group=group or None, fields=[field])
    assert len(ds) == shape[0], name
    rows = [ds[i] for i in {0, len(ds) - 1} if len(ds)]
    is_compound = "names" in dtype or dtype.startswith("[")
    if is_compound or dtype.lstrip("<>=").startswith("c"):
        return  # members are fields of their own
    spec = ds.schema[field]
    if dtype == "object":
        assert spec.dtype in ("str", "bytes") and spec.shape == (None,), name
    elif "S" in dtype:
        assert str(spec.dtype) in ("str", "uint8"), name
    else:
        assert spec.shape == tuple(shape[1:]), name
        for row in rows:
            assert np.asarray(row[field]).dtype == np.dtype(dtype).newbyteorder("="), name


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
def test_real_files_hold_what_the_truth_says():
    seen = refused = 0
    for truth in truths():
        path = DATA / truth["path"]
        if truth["status"] != "ok":
            with pytest.raises(REFUSALS):
                hr.read_hdf5(path)
            refused += 1
            continue
        for name, (dtype, shape, _) in truth["datasets"].items():
            if not shape:  # a single value is no sample
                continue
            check_dataset(path, name, dtype, shape)
            seen += 1
    assert seen > 40 and refused >= 5


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_what_we_wrote_comes_back_shuffled_sharded_and_joined(tmp_path, compression):
    images = np.arange(40 * 6, dtype=np.uint8).reshape(40, 2, 3)
    ds = hr.from_arrays({"image": images, "label": np.arange(40), "score": np.arange(40) / 8})
    ds.write(tmp_path / "all", format="hdf5", shards=3, options={"compression": compression})
    back = hr.read(tmp_path / "all")
    assert len(back) == 40 and list(back.schema) == ["image", "label", "score"]
    order = [int(s["label"]) for s in back.shuffle(seed=3)]
    assert sorted(order) == list(range(40)) and order == [int(s["label"]) for s in ds.shuffle(seed=3)]
    for sample in back:
        assert np.array_equal(sample["image"], images[int(sample["label"])])
    assert [int(x) for s in back.shard(1, 4).batch(5) for x in s["label"]] == list(range(1, 40, 4))


def test_many_threads_read_at_once(tmp_path):
    blobs = [bytes([i % 251]) * (i * 53 % 9000) for i in range(300)]
    path = tmp_path / "x.h5"
    hr.from_arrays({"x": np.arange(300)}).map(
        lambda s: {"x": s["x"], "y": blobs[int(s["x"])]}, python=True
    ).write(path)
    ds = hr.read(path)
    assert ds.schema["y"].dtype == "bytes"
    with ThreadPoolExecutor(8) as threads:
        for i, sample in zip(range(300), threads.map(lambda i: ds[i], range(300)), strict=True):
            assert sample["y"] == blobs[i] and sample["x"] == i


def test_a_file_without_its_end_is_told_with_the_root(tmp_path):
    path = tmp_path / "x.h5"
    hr.from_arrays({"x": np.arange(1000)}).write(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1000] + bytes(1000))
    with pytest.raises(hr.CorruptSample, match="'/': expected an object header, got version 0") as raised:
        hr.read(path)
    assert "fields=" not in str(raised.value)
