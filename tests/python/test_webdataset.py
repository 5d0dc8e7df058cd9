"""WebDataset's tars beside Python's tarfile, as WebDataset's own rules group them."""

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
WRITTEN = sorted((DATA / "official_writers" / "webdataset").glob("*.tar"))
FOUND = sorted(
    path
    for kind in ("tar", "tar.gz", "tgz")
    for place in ("shards", "text")
    for path in (DATA / place).glob(f"**/*.{kind}")
)
KEY = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")  # as WebDataset has it


def grouped(path):
    """The samples of a tar as WebDataset gives them, read by tarfile."""
    samples = []
    with tarfile.open(path) as tar:
        for member in tar:
            match = KEY.match(member.name)
            if not member.isreg() or not match or re.match("__[^/]*__($|/)", member.name):
                continue
            key, suffix = match[1], match[2].lower()
            if not samples or samples[-1]["__key__"] != key:
                samples.append({"__key__": key})
            assert suffix not in samples[-1]
            samples[-1][suffix] = tar.extractfile(member).read()
    return samples


def as_dicts(ds):
    return [{name: str(value) if name == "__key__" else value for name, value in s.items()} for s in ds]


def write(path, members, format=tarfile.PAX_FORMAT):
    with tarfile.open(path, "w", format=format) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1234567890.25
            tar.addfile(info, io.BytesIO(data))
    return path


def members_of(count, first=0, size=100):
    for i in np.arange(first, first + count):
        yield f"train/{i:06}.JPG", bytes([i % 256]) * size
        yield f"train/{i:06}.cls", str(i).encode()


@pytest.mark.skipif(not FOUND, reason="HEADRACE_DATA has no tars")
@pytest.mark.parametrize("path", WRITTEN + FOUND, ids=lambda path: path.name)
def test_real_files_give_what_tarfile_gives(path):
    wanted = grouped(path)
    if not wanted:  # names without a dot
        with pytest.raises(ValueError, match="expected samples, members with names like"):
            hr.read(path)
        return
    ds = hr.read(path, decode=False)
    assert len(ds) == len(wanted)
    assert as_dicts(ds[i] for i in np.arange(len(ds))) == wanted


@pytest.mark.skipif(not WRITTEN, reason="HEADRACE_DATA has no written tars")
def test_written_files_are_the_truth():
    lines = [json.loads(line) for line in (DATA / "truth.jsonl").read_text().splitlines()]
    truth = {row["path"]: row for row in lines}
    for path in WRITTEN:
        row = truth[str(path.relative_to(DATA))]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == row["sha256"]
        samples = as_dicts(hr.read(path, decode=False))
        assert sum(len(sample) - 1 for sample in samples) == row["files"]
    whole = hr.read(WRITTEN[0].parent / "imagenet-{000000..000002}.tar")
    assert len(whole) == len(hr.read(WRITTEN[0].parent)) == sum(len(hr.read(path)) for path in WRITTEN)
    assert list(whole.schema) == ["__key__", "cls", "jpg", "json"]
    images = whole.map(lambda s: hr.ops.decode_image(s["jpg"]))
    assert all(image.ndim == 3 and image.shape[2] == 3 for image in images)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_dialect_of_tarfile(tmp_path, format):
    names = ["a.txt", "d.e/b.seg.PNG", f"{'d' * 120}/c.txt", f"{'d' * 150}/{'e' * 90}.txt", "ä/ö.txt"]
    if format != tarfile.USTAR_FORMAT:
        names += [f"{'n' * 3000}.txt", f"d/{'n' * 101}.txt"]
    path = write(tmp_path / "x.tar", [(name, name.encode()) for name in names], format)
    assert as_dicts(hr.read(path, missing="empty", decode=False, fields=["__key__", "txt", "seg.png"])) == [
        {"txt": b"", "seg.png": b"", **sample} for sample in grouped(path)
    ]


def test_members_of_other_kinds_are_passed_over(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.GNU_FORMAT) as tar:
        for name, kind in [("d.x", tarfile.DIRTYPE), ("a.lnk", tarfile.SYMTYPE), ("a.hrd", tarfile.LNKTYPE)]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "n" * 200
            tar.addfile(info)
        for name in ["a.txt", "README", "__notes__/a.jpg", "a.cls", ".hidden.cls"]:
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"7"))
    (sample,) = hr.read(tmp_path / "x.tar")
    assert sample == {"__key__": "a", "txt": "7", "cls": 7}


def test_shuffled_sharded_and_resumed_every_sample_comes_once(tmp_path):
    for shard in np.arange(4):
        write(tmp_path / f"{shard:06}.tar", members_of(50, 50 * shard, size=10 + 3000 * (shard % 2)))
    ds = hr.read(tmp_path / "{000000..000003}.tar", fields=["cls", "jpg"])
    assert len(ds) == 200
    order = [int(s["cls"]) for s in ds.shuffle(seed=7)]
    assert sorted(order) == list(np.arange(200)) and order != sorted(order)
    parts = [[int(s["cls"]) for s in ds.shard(rank=r, world=3).shuffle(seed=7)] for r in (0, 1, 2)]
    assert {x for part in parts for x in part} == set(np.arange(200))
    batches = ds.shuffle(seed=7).batch(16)
    loader = batches.numpy()
    iterator = iter(loader)
    seen = [next(iterator)["cls"].tolist() for _ in np.arange(5)]
    state = loader.state_dict()
    again = batches.numpy()
    again.load_state_dict(state)
    rest = [batch["cls"].tolist() for batch in again]
    assert [x for batch in seen + rest for x in batch] == order
    assert all(set(s["jpg"]) == {int(s["cls"]) % 256} for s in ds)


def test_pickles_are_refused_by_name(tmp_path):
    path = write(tmp_path / "x.tar", [("a.jpg", b"J"), ("a.meta.pkl", b"P")])
    with pytest.raises(ValueError, match=r"the field 'meta\.pkl' can only be decoded by unpickling"):
        hr.read(path)
    assert hr.read(path, fields=["jpg"])[0] == {"jpg": b"J"}
    assert hr.read_webdataset(path, fields=["meta.pkl"], decode=False)[0] == {"meta.pkl": b"P"}


def test_a_sample_that_lacks_a_field_is_skipped_or_told(tmp_path):
    path = write(
        tmp_path / "x.tar",
        [("a.jpg", b"1"), ("a.txt", b"x"), ("b.jpg", b"2"), ("c.jpg", b"3"), ("c.txt", b"y")],
    )
    with pytest.raises(
        hr.CorruptSample, match=r"the sample 'b' has no 'txt', it has 'jpg'.*x.tar, record 1 at byte"
    ):
        list(hr.read(path))
    assert [s["jpg"] for s in hr.read(path).on_error("skip")] == [b"1", b"3"]
    assert [s["txt"] for s in hr.read_webdataset(path, missing="empty")] == ["x", "", "y"]


def test_a_cut_tar_is_an_error(tmp_path):
    whole = write(tmp_path / "x.tar", members_of(20), tarfile.USTAR_FORMAT).read_bytes()
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole[: whole.index(b"train/000010")])
    with pytest.raises(
        hr.CorruptSample, match="expected two blocks of zeros at the end, got none: the tar was truncated"
    ):
        list(hr.read(cut))
    # The last sample may have had more members.
    assert [int(s["cls"]) for s in hr.read(cut).on_error("skip")] == list(np.arange(9))
    assert hr.read(cut).metadata["damaged"][0]["index"] == 9
    assert [int(s["cls"]) for s in hr.read(cut, unfinished=True)] == list(np.arange(10))
    cut.write_bytes(whole[:4700])
    with pytest.raises(
        hr.CorruptSample, match=r"expected a member of 100 bytes, but only 92.*cut.tar, record 2"
    ):
        list(hr.read(cut))
    assert len(hr.read(cut, unfinished=True)) == 2


def test_a_tar_in_gzip_is_read(tmp_path):
    plain = write(tmp_path / "x.tar", members_of(20))
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(plain.read_bytes()))
    assert as_dicts(hr.read(tmp_path / "x.tar.gz")) == as_dicts(hr.read(plain))


def test_a_damaged_shard_does_not_cost_the_others(tmp_path):
    for shard in np.arange(3):
        write(tmp_path / f"{shard}.tar", members_of(10, 10 * shard), tarfile.USTAR_FORMAT)
    whole = (tmp_path / "1.tar").read_bytes()
    (tmp_path / "1.tar").write_bytes(whole[:4700])
    ds = hr.read(tmp_path)
    assert len(ds) == 10 + 3 + 10
    good = [*np.arange(12), *np.arange(20, 30)]
    assert [int(s["cls"]) for s in ds.on_error("skip")] == good
    assert sorted(int(s["cls"]) for s in ds.shuffle(seed=1).on_error("skip")) == good
    (damage,) = ds.metadata["damaged"]
    assert (damage["index"], Path(damage["path"]).name) == (12, "1.tar")
    with pytest.raises(
        hr.CorruptSample, match=r"expected a member of 100 bytes.*1.tar, record 2 at byte 4096"
    ):
        ds[12]


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


ARRAYS = [
    np.arange(6, dtype="<i2").reshape(2, 3),
    np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4)),
    np.arange(5, dtype=">f8"),
    np.float16(3.5),
    np.array([True, False]),
    np.zeros((0, 3), np.uint64),
    np.asfortranarray(np.arange(6, dtype=">u4").reshape(3, 2)),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype.str}{array.shape}")
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_arrays_are_what_numpy_saved(tmp_path, array, packed):
    path = write(tmp_path / "x.tar", [("a.depth.npy", npy(array)), ("a.txt", "ä".encode())])
    if packed:
        path.with_suffix(".tar.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = path.with_suffix(".tar.gz")
    (sample,) = hr.read(path)
    assert sample["txt"] == "ä"
    got = sample["depth.npy"]
    assert (got.dtype, got.shape) == (array.dtype.newbyteorder("="), array.shape)
    np.testing.assert_array_equal(got, array)
    assert hr.read(path, decode=False)[0]["depth.npy"] == npy(array)


@pytest.mark.parametrize("array", [np.array([{}], object), np.array(["text"]), np.zeros(1, "i4,f4")])
def test_arrays_of_no_numbers_are_refused(tmp_path, array):
    with pytest.raises(ValueError, match="expected an array of numbers in 'npy' of the first sample"):
        hr.read(write(tmp_path / "x.tar", [("a.npy", npy(array))]))


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
def test_real_arrays_are_what_numpy_reads(tmp_path):
    paths = sorted((DATA / "npy").glob("**/*.npy"))
    assert paths
    for i, path in enumerate(paths):
        array = np.load(path)
        if array.dtype.kind not in "biuf":
            continue
        tar = write(tmp_path / f"{i}.tar", [("a.npy", path.read_bytes())])
        np.testing.assert_array_equal(hr.read(tar)[0]["npy"], array)


def test_the_index_of_dali_is_used_where_it_agrees(tmp_path):
    path = write(tmp_path / "x.tar", members_of(50))
    with tarfile.open(path) as tar:
        lines = [f"v1.2 {len(tar.getmembers()) // 2}"]
        for first, second in zip(tar.getmembers()[::2], tar.getmembers()[1::2], strict=True):
            parts = [f"{m.name.split('.')[1]} {m.offset_data} {m.size} {m.name}" for m in (first, second)]
            lines.append(" ".join(parts))
    walked = as_dicts(hr.read(path))
    (tmp_path / "x.idx").write_text("\n".join(lines) + "\n")
    assert as_dicts(hr.read(path)) == walked
    (tmp_path / "x.idx").write_text("\n".join(lines[:20]) + "\n")
    assert as_dicts(hr.read(path)) == walked
