"""Zarr without zarr-python: real stores against each other, and stores of our own."""

import json
import os
import random
import shutil
import signal
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
STORES = DATA / "zarr"
REFUSALS = (hr.CorruptSample, NotImplementedError, ValueError, MemoryError)
needs_data = pytest.mark.skipif(not STORES.is_dir(), reason="HEADRACE_DATA is not set")


def rows_of(path, **options):
    """Read all rows of a store's only field."""
    ds = hr.read_zarr(path, **options)
    (field,) = ds.schema
    return [ds[i][field] for i in range(len(ds))]


@needs_data
def test_both_versions_of_zarr_python_give_the_same_images():
    written = DATA / "official_writers" / "zarr"
    old, new = rows_of(written / "v2_blosc.zarr"), rows_of(written / "v3_sharded_zstd.zarr")
    assert (len(old), len(new)) == (20, 16) and old[0].shape == (48, 48, 3)
    assert all(np.array_equal(a, b) for a, b in zip(old, new, strict=False))
    labels = hr.read(written / "v3_sharded_zstd.zarr").metadata["attributes"]["labels"]
    assert len(labels) == 16 and labels[:3] == [26, 66, 107]


@needs_data
def test_every_store_of_many_implementations_is_read_or_refused():
    """Those of zarrs hold the numbers 0 to 99, less the chunks that are not in this set."""
    read = refused = 0
    wanted = np.arange(100, dtype=np.float32).reshape(10, 10)
    folders = {p.parent for name in (".zarray", "zarr.json") for p in STORES.rglob(name)}
    for folder in sorted(folders):
        try:
            rows = rows_of(folder)
        except REFUSALS as error:
            assert "zarr" in str(error)
            refused += 1
            continue
        read += 1
        if folder.name.startswith("array_") and "zarrs" in str(folder) and "write_read" not in str(folder):
            got = np.array(rows)
            assert np.array_equal(got[got != 0], wanted[got != 0]), folder
    assert read > 50 and refused > 5


@needs_data
def test_zarrita_wrote_the_same_arrays_in_both_versions():
    fixtures = STORES / "manzt__zarrita.js" / "fixtures"
    same = 0
    for old in sorted((fixtures / "v2" / "data.zarr").iterdir()):
        new = fixtures / "v3" / "data.zarr" / old.name
        if not (old / ".zarray").exists() or not (new / "zarr.json").exists():
            continue
        assert np.array_equal(rows_of(old), rows_of(new)), old.name
        same += 1
    assert same >= 3


@needs_data
def test_the_image_of_zarr_implementations_and_n5():
    examples = STORES / "zarr-developers__zarr_implementations" / "examples"
    for store in sorted(examples.iterdir()):
        if store.suffix == ".n5":
            with pytest.raises(NotImplementedError, match="N5"):
                hr.read(store)
            continue
        images = [np.array(rows_of(store, fields=[field])) for field in hr.read(store).schema]
        assert all(image.shape == (512, 512, 3) and np.array_equal(image, images[0]) for image in images)


@needs_data
def test_zip_stores():
    """Where zips are folders."""
    fixtures = STORES / "manzt__zarrita.js" / "fixtures"
    seen = 0
    for path in sorted(fixtures.rglob("*.zip")):
        try:
            rows = rows_of(path, fields=["3d.chunked.i2"])
        except ValueError as error:
            if "of a store, got a file" in str(error):
                pytest.skip("zip files are no folders in this version")
            raise
        assert np.array_equal(rows, np.arange(27).reshape(3, 3, 3)), path
        seen += 1
    assert seen > 0


@pytest.mark.parametrize("compression", ["none", "zstd", "gzip"])
def test_what_we_wrote_comes_back_shuffled_sharded_and_joined(tmp_path, compression):
    images = np.arange(40 * 60, dtype=np.uint16).reshape(40, 10, 6)
    ds = hr.from_arrays({"image": images, "label": np.arange(40), "score": np.arange(40) / 8})
    ds.write(tmp_path / "one.zarr", options={"compression": compression, "rows_per_chunk": 7})
    ds.write(tmp_path / "all", format="zarr", shards=3, options={"compression": compression}, verify=True)
    for path in (tmp_path / "one.zarr", tmp_path / "all"):
        back = hr.read(path)
        assert len(back) == 40 and list(back.schema) == ["image", "label", "score"]
        order = [int(s["label"]) for s in back.shuffle(seed=3)]
        assert sorted(order) == list(range(40)) and order == [int(s["label"]) for s in ds.shuffle(seed=3)]
        for sample in back:
            assert np.array_equal(sample["image"], images[int(sample["label"])])
        for batch in back.shuffle(seed=1).batch(8):
            assert np.array_equal(np.asarray(batch["image"]), images[np.asarray(batch["label"])])


def test_images_and_their_names_of_free_length(tmp_path):
    draw = random.Random(3)
    samples = [
        {"jpeg": draw.randbytes(draw.randrange(40_000)), "__key__": f"ä/{i}", "label": i} for i in range(30)
    ]
    schema = {"jpeg": ("bytes", [None]), "__key__": ("str", [None]), "label": ("i64", [])}
    with hr.writer(tmp_path / "x.zarr", schema) as out:
        for sample in samples:
            out.write(sample)
    back = hr.read(tmp_path / "x.zarr")
    for i in (29, 0, 17):
        assert dict(back[i]) == samples[i]
    assert [bytes(b) for batch in back.batch(7) for b in batch["jpeg"]] == [s["jpeg"] for s in samples]


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    wanted = r"'boxes': zarr arrays need a fixed shape, got float32 \(\?, 4\)"
    with (
        pytest.raises(ValueError, match=wanted),
        hr.writer(tmp_path / "x.zarr", {"boxes": ("f32", [None, 4])}) as out,
    ):
        out.write({"boxes": np.zeros((2, 4), np.float32)})
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_is_killed_leaves_the_old_store_or_the_new_one(tmp_path):
    path = tmp_path / "x.zarr"
    images = np.arange(50 * 6000, dtype=np.int32).reshape(50, 6000)

    def write(generation):
        ds = hr.from_arrays({"image": images + generation, "n": np.full(50, generation)})
        ds.write(path, overwrite=True, options={"rows_per_chunk": 1})

    write(0)
    draw = random.Random(1)
    for _ in range(8):
        child = os.fork()
        if child == 0:
            for generation in range(1, 1000):
                write(generation)
            os._exit(0)
        time.sleep(draw.random() * 0.2)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ds = hr.read(path)
        generation = int(ds[0]["n"])
        assert all(np.array_equal(s["image"], images[i] + generation) for i, s in enumerate(ds))


def test_a_chunk_that_is_damaged_is_an_error_of_its_rows(tmp_path):
    path = tmp_path / "x.zarr"
    hr.from_arrays({"x": np.arange(400, dtype=np.int64).reshape(20, 20)}).write(
        path, options={"rows_per_chunk": 4}
    )
    (shard,) = (path / "x" / "c").rglob("0/0")
    data = bytearray(shard.read_bytes())
    data[3] ^= 255  # in the first chunk
    shard.write_bytes(data)
    ds = hr.read(path)
    with pytest.raises(hr.CorruptSample, match=r"chunk c/0/0 of 'x'.*row 3 of /x"):
        ds[3]
    assert np.array_equal(ds[4]["x"], np.arange(80, 100))
    shard.unlink()
    assert np.array_equal(hr.read(path)[9]["x"], np.zeros(20))


def test_a_store_of_single_files_with_slashes_and_dots(tmp_path):
    data = np.arange(5 * 6, dtype=">i4").reshape(5, 6)
    meta = {
        "zarr_format": 2,
        "shape": [5, 6],
        "chunks": [2, 4],
        "dtype": ">i4",
        "compressor": None,
        "filters": None,
        "fill_value": -7,
        "order": "C",
    }
    for separator in ("/", "."):
        path = tmp_path / f"{ord(separator)}.zarr"
        path.mkdir()
        (path / ".zarray").write_text(json.dumps(meta | {"dimension_separator": separator}))
        for i, j in np.ndindex(3, 2):
            if (i, j) == (1, 1):
                continue
            chunk = np.zeros((2, 4), ">i4")
            part = data[2 * i : 2 * i + 2, 4 * j : 4 * j + 4]
            chunk[: part.shape[0], : part.shape[1]] = part
            file = path / f"{i}{separator}{j}"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(chunk.tobytes())
        wanted = data.astype("=i4")
        wanted[2:4, 4:] = -7
        assert np.array_equal(rows_of(path), wanted)


def test_a_zip_of_ours(tmp_path):
    """Where zips are folders."""
    hr.from_arrays({"x": np.arange(6)}).write(tmp_path / "x.zarr")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        for file in sorted((tmp_path / "x.zarr").rglob("*")):
            if file.is_file() and file.name != "headrace.json":
                out.write(file, file.relative_to(tmp_path / "x.zarr"))
    shutil.rmtree(tmp_path / "x.zarr")
    try:
        assert rows_of(tmp_path / "x.zip") == list(range(6))
    except ValueError as error:
        if "of a store, got a file" in str(error):
            pytest.skip("zip files are no folders in this version")
        raise
