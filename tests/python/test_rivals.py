"""Containers of MosaicML Streaming, FFCV, ArrayRecord and LitData, written by their own writers, beside the images they were made of."""

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
WRITTEN, ORIGINALS = DATA / "official_writers", DATA / "imagenet1k"
pytestmark = pytest.mark.skipif(
    not (WRITTEN / "mds_raw").is_dir(), reason="HEADRACE_DATA has no official_writers"
)


def labels():
    """Return the label of each original by its name."""
    lines = (ORIGINALS / "labels.tsv").read_text().splitlines()
    return {name: int(label) for name, label in (line.split("\t") for line in lines)}


def original(name):
    """Return the bytes of an original, which lie somewhere below the folder."""
    (path,) = ORIGINALS.glob(f"**/{name}")
    return path.read_bytes()


def named():
    """Return the samples that MDS names: what all of these files were made of, in this order."""
    return [(s["name"], int(s["label"]), bytes(s["image"])) for s in hr.read(WRITTEN / "mds_raw")]


@pytest.mark.parametrize("folder", ["mds_raw", "mds_zstd", "litdata"])
def test_images_names_and_labels_are_those_of_the_originals(folder):
    ds = hr.read(WRITTEN / folder)
    assert list(ds.schema)[:3] == ["image", "label", "name"] and len(ds) == 20
    truth = labels()
    names = [s["name"] for s in ds]
    assert len(set(names)) == 20 and names == [name for name in truth if name in names]  # in their order
    for sample in ds:
        assert bytes(sample["image"]) == original(sample["name"])
        assert int(sample["label"]) == truth[sample["name"]]
        if "size" in sample:
            width, height = Image.open(io.BytesIO(bytes(sample["image"]))).size
            assert sorted(sample["size"].tolist()) == sorted([width, height])
    shuffled = [s["name"] for s in ds.shuffle(seed=3)]
    assert sorted(shuffled) == sorted(names) and shuffled != names
    (batch,) = ds.map(lambda s: ops.resize(ops.decode_image(s.image), size=(8, 8))).batch(20)
    assert batch.shape == (20, 8, 8, 3)


def test_the_hashes_of_mds_are_compared():
    assert len(hr.read_mds(WRITTEN / "mds_zstd", verify=True)) == 20
    with pytest.raises(ValueError, match="verify needs a hash of xxh32"):
        hr.read_mds(WRITTEN / "mds_raw", verify=True)


@pytest.mark.parametrize("file", ["imagenet_gs1.array_record", "imagenet_gs8_zstd.array_record"])
def test_records_are_those_of_the_originals(file):
    ds = hr.read(WRITTEN / "array_record" / file)
    assert list(ds.schema) == ["record"] and len(ds) == 20
    for sample, (_, _, image) in zip(ds, named(), strict=True):
        assert bytes(sample["record"]) == image
    assert bytes(ds[13]["record"]) == named()[13][2]
    both = hr.read_array_record(WRITTEN / "array_record" / "*.array_record")
    assert [bytes(s["record"]) for s in both] == [image for _, _, image in named()] * 2


def small(image, height, width):
    """Return the original in another size."""
    return np.asarray(
        Image.open(io.BytesIO(image)).convert("RGB").resize((width, height), Image.Resampling.BOX), np.float32
    )


@pytest.mark.parametrize("mode", ["jpg", "raw", "proportion"])
def test_beton_has_the_same_photographs_in_its_sizes(mode):
    ds = hr.read(WRITTEN / "beton" / f"{mode}.beton")
    assert [f.dtype for f in ds.schema.values()] == [("uint8" if mode == "raw" else "bytes"), "int64"]
    decoded = (
        ds if mode == "raw" else ds.map(lambda s: {"image": ops.decode_image(s.image), "label": s.label})
    )
    for sample, (_, label, image) in zip(decoded, named(), strict=True):
        assert int(sample["label"]) == label
        height, width, _ = sample["image"].shape
        wanted = small(image, height, width)
        right, wrong = (
            np.abs(wanted - x.astype(np.float32)).mean()
            for x in (sample["image"], sample["image"][..., ::-1])
        )
        assert right < 12 and right <= wrong  # another resize made it


def test_stored_pixels_are_the_same_as_an_encoded_image():
    path = WRITTEN / "beton" / "raw.beton"
    encoded = hr.read_beton(path, images="encoded")
    assert encoded.schema["image"].dtype == "bytes"
    for pixels, file in zip(hr.read(path), encoded.map(lambda s: ops.decode_image(s.image)), strict=True):
        assert np.array_equal(pixels["image"], file)
    heads = {bytes(s["image"])[:2] for s in hr.read(WRITTEN / "beton" / "proportion.beton")}
    assert heads == {b"BM", b"\xff\xd8"}


def test_what_is_written_as_mds_is_read_back(tmp_path):
    ds = hr.read(WRITTEN / "mds_zstd")
    ds.write(tmp_path / "out.mds")
    index = json.loads((tmp_path / "out.mds" / "index.json").read_text())
    assert index["version"] == 2 and sum(shard["samples"] for shard in index["shards"]) == 20
    assert index["shards"][0]["column_encodings"] == ["bytes", "int", "str", "ndarray:int32:2"]
    ds.write(tmp_path / "small", format="mds", shard_size=100_000)
    assert len(list((tmp_path / "small").glob("*.mds"))) > 3
    for folder in ("out.mds", "small"):
        back = hr.read(tmp_path / folder)
        assert back.schema == ds.schema
        for one, other in zip(back, ds, strict=True):
            assert all(np.array_equal(one[key], other[key]) for key in ds.schema)
