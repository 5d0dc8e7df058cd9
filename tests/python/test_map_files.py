"""Large bytes that lie in the mapped file: the same as those that are read, and an error when the file becomes shorter."""

from __future__ import annotations

import faulthandler
import io
import os
import random
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

FIELDS = {"tfrecord": "record", "rec": "record", "tar": "bin", "lmdb": "value", "arrow": "bin", "h5": "bin"}
COUNT = 40


pytestmark = pytest.mark.usefixtures("maps_of_files")


def _records() -> list[bytes]:
    draw = random.Random(1)
    return [draw.randbytes(size) for size in ([100_000, 33_000, 40, 70_001, 0, 32_768, 200_000] * 6)[:COUNT]]


def _written(tmp_path: Path, ending: str) -> hr.Dataset:
    path = tmp_path / f"records.{ending}"
    fields: dict[str, list[Any]] = {"record" if FIELDS[ending] == "record" else "bin": _records()}
    if ending == "lmdb":
        fields = {"key": [b"%04d" % i for i in range(COUNT)], "value": _records()}
    elif ending == "tar":
        fields["__key__"] = [f"{i:04}" for i in range(COUNT)]
    hr.from_arrays(fields).write(path)
    return hr.read_recordio(path, header=False) if ending == "rec" else hr.read(path)


def _is_mapped(tmp_path: Path) -> bool:
    return str(tmp_path) in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("ending", FIELDS)
@pytest.mark.parametrize("threads", [1, 4])
def test_they_are_what_is_read(tmp_path: Path, ending: str, threads: int) -> None:
    ds, field = _written(tmp_path, ending).shuffle(seed=3).repeat(2).batch(7), FIELDS[ending]
    options = {"workers": threads, "io": threads}
    read = [batch[field] for batch in ds.options(map_files=False, **options)]
    assert not _is_mapped(tmp_path)
    seen = [batch[field] for batch in ds.options(**options)]
    assert _is_mapped(tmp_path)
    assert [list(column) for column in seen] == [list(column) for column in read]
    assert [[bytes(v) for v in column.views()] for column in seen] == [list(column) for column in read]
    assert sorted(row for column in read for row in column) == sorted(_records() * 2)
    del seen
    assert not _is_mapped(tmp_path)


def test_only_bytes_that_nobody_works_on(tmp_path: Path) -> None:
    ds = _written(tmp_path, "tfrecord")
    kept: list[Any] = [
        list(ds.map(lambda s: s).batch(7)),
        list(ds.batch(7).map(lambda s: {"x": s.record, "y": s.record})),
        list(ds.batch(7).unbatch().batch(3)),
        [sample["record"] for sample in ds],
        ds[0],
    ]
    mapped = _is_mapped(tmp_path)
    assert kept and not mapped


def test_what_lies_beside_large_bytes_is_a_copy_in_any_format(tmp_path: Path) -> None:
    path = tmp_path / "x.mds"
    rows = {
        "image": [bytes([i]) * 50_000 for i in range(8)],
        "few": [b"few" * i for i in range(8)],
        "text": ["t" * i for i in range(8)],
        "numbers": np.arange(8 * 20_000, dtype=np.int64).reshape(8, -1),
    }
    hr.from_arrays(rows).write(path)
    (batch,) = hr.read(path).batch(8, ragged=True)
    assert _is_mapped(tmp_path)
    for row in batch["numbers"]:
        if row.flags.writeable:
            row[:] = 0
    for shard in path.glob("0*.mds"):
        os.truncate(shard, 100)
    assert list(batch["few"]) == rows["few"] and batch["text"] == rows["text"]
    with pytest.raises(OSError):
        list(batch["image"])


def test_rows_of_a_file_that_was_cut_make_no_array(tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord"
    hr.from_arrays({"record": [bytes([i]) * 100_000 for i in range(4)]}).write(path)
    (batch,) = hr.read(path).batch(4)
    assert _is_mapped(tmp_path)
    assert batch["record"].values.size == 400_000
    os.truncate(path, 150_000)
    with pytest.raises(OSError, match="became shorter"):
        _ = batch["record"].values
    assert batch["record"].row_splits[-1] == 400_000


def test_what_is_not_large_bytes_is_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    arrays = [np.arange(10_000 + i, dtype=np.float32) for i in range(8)]
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i, array in enumerate(arrays):
            npy = io.BytesIO()
            np.save(npy, array)
            members = {"bin": b"x" * 50_000, "few": b"few", "txt": b"t" * 40_000, "npy": npy.getvalue()}
            for suffix, data in members.items():
                info = tarfile.TarInfo(f"{i:04}.{suffix}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    (batch,) = hr.read(path).batch(8, ragged=True)
    assert _is_mapped(tmp_path)
    assert batch["txt"] == ["t" * 40_000] * 8 and list(batch["few"]) == [b"few"] * 8
    assert batch["__key__"] == [f"{i:04}" for i in range(8)]
    for row, array in zip(batch["npy"], arrays, strict=True):
        np.testing.assert_array_equal(row, array)
        if row.flags.writeable:
            row[:] = 0
    del batch["bin"]
    assert not _is_mapped(tmp_path)
    (batch,) = hr.read(path, fields=["npy"]).batch(8, ragged=True)
    np.testing.assert_array_equal(batch["npy"][3] if isinstance(batch, dict) else batch[3], arrays[3])


def test_memory_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "large.tfrecord"
    hr.from_arrays({"record": [bytes([i]) * (1 << 20) for i in range(200)]}).write(path)

    def resident() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssFile")) >> 10

    few = {
        "workers": 1,
        "io": 1,
        "ready": 2,
        "memory_budget": "512MB",
    }  # an eighth of it is what stays mapped
    before, most, kept = resident(), 0, []
    for epoch in hr.read(path).repeat(4).batch(8).options(**few):
        most = max(most, resident())
        kept = [*kept[-20:], epoch["record"][:1]]
        assert _is_mapped(tmp_path)
    assert most - before < 150  # of 800 MB that were seen
    held = [batch["record"].views()[0] for batch in hr.read(path).batch(8).options(**few)]
    assert resident() - before < 230  # views of one row in eight keep all maps, but not their pages
    assert [view[0] for view in held] == list(range(0, 200, 8))


@pytest.mark.parametrize("files", [1, 4])
@pytest.mark.parametrize("ending", ["tfrecord", "rec", "tar"])
@pytest.mark.parametrize("workers", [0, 1])
def test_what_stays_in_maps_is_charged_once(tmp_path: Path, workers: int, ending: str, files: int) -> None:
    size, batch = 60_000, 64
    for file in range(files):
        fields: dict[str, list[Any]] = {
            "record": [bytes([file, i]) * (size // 2) for i in range(256 // files)]
        }
        if ending == "tar":
            fields = {"__key__": [f"{i:04}" for i in range(256 // files)], "bin": fields["record"]}
        hr.from_arrays(fields).write(tmp_path / f"{file}.{ending}")
    paths = [tmp_path / f"{file}.{ending}" for file in range(files)]
    ds = hr.read_recordio(paths, header=False) if ending == "rec" else hr.read(paths)
    few = {"workers": workers, "io": 1, "ready": 1, "memory_budget": "64MB"}
    loader = ds.shuffle(seed=1).batch(batch).options(**few).numpy()
    assert sum(len(element[FIELDS[ending]]) for element in loader) == 256
    at_once = 1 if workers == 0 else 3
    assert loader.report()["memory"]["peak"] < 1.3 * at_once * batch * size


def test_what_stays_in_maps_takes_no_other_memory(tmp_path: Path) -> None:
    hr.from_arrays({"record": [bytes([i]) * (4 << 20) for i in range(12)]}).write(tmp_path / "x.tfrecord")
    loader = hr.read(tmp_path / "x.tfrecord").batch(4).options(workers=0).numpy()
    assert len(list(loader)) == 3
    assert loader.report()["memory"]["peak"] < 1.2 * 4 * (4 << 20)


@pytest.mark.parametrize("threads", [1, 4])
def test_small_records_are_copied_out_of_it(tmp_path: Path, threads: int) -> None:
    draw = random.Random(2)
    records = [draw.randbytes(draw.choice([0, 1, 100, 5_000, 9_000])) for _ in range(3_000)]
    path = tmp_path / "small.tfrecord"
    hr.from_arrays({"record": records}).write(path)
    shuffled = hr.read(path).shuffle(seed=3).repeat(2)
    options = {"workers": threads, "io": threads}
    read = [list(batch["record"]) for batch in shuffled.batch(70).options(map_files=False, **options)]
    loader = iter(shuffled.batch(70).options(**options))
    first = next(loader)
    assert _is_mapped(tmp_path)
    assert [list(batch["record"]) for batch in (first, *loader)] == read
    assert sorted(row for rows in read for row in rows) == sorted(records * 2)
    # A program may look at them, too: they are copies.
    lengths = list(shuffled.map(lambda s: len(s.record)).batch(70).options(**options))
    np.testing.assert_array_equal(np.concatenate(lengths), [len(row) for rows in read for row in rows])


def test_small_records_take_the_memory_that_is_left(tmp_path: Path) -> None:
    path = tmp_path / "small.tfrecord"
    hr.from_arrays({"record": [bytes([i % 256]) * 4_000 for i in range(30_000)]}).write(path)

    def resident() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssFile")) >> 10

    before, most, sums = resident(), 0, 0
    for batch in hr.read(path).shuffle(seed=1).batch(100).options(memory_budget="256MB", workers=1, io=1):
        most = max(most, resident())
        assert _is_mapped(tmp_path)
        sums += sum(row[0] for row in batch["record"])
    assert sums == sum(i % 256 for i in range(30_000))
    assert most - before < 60  # an eighth of the budget, and what else came, of a file of 120 MB


CUT_SMALL = """
import os, sys
import headrace as hr
path = sys.argv[1]
field = sys.argv[2]
loader = iter(hr.read(path).shuffle(seed=1).repeat(2).batch(50).options(workers=1, io=1, ready=1))
right = lambda batch: all(len(set(row)) == 1 and len(row) == 100 for row in batch[field])
for _ in range(60):  # more than an epoch: all is in memory
    assert right(next(loader))
assert path in open("/proc/self/maps").read()
os.truncate(path, 100_000)
try:
    for batch in loader:
        assert right(batch)
    print("no error")
except hr.CorruptSample as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "field", "wanted"), [("small.tfrecord", "record", 116), ("small.lmdb", "value", 4096)]
)
def test_small_records_of_a_file_that_is_cut_are_an_error(
    tmp_path: Path, name: str, field: str, wanted: int
) -> None:
    path = tmp_path / name
    hr.from_arrays({"record": [bytes([i % 256]) * 100 for i in range(2_500)]}).write(path)
    file = path / "data.mdb" if path.is_dir() else path
    done = subprocess.run(
        [sys.executable, "-c", CUT_SMALL, file, field],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"expected {wanted} bytes at" in done.stdout and "sample " in done.stdout


CUT = """
import os, sys
import headrace as hr
path, cut = sys.argv[1], int(sys.argv[2])
loader = iter(hr.read(path).batch(4).options(workers=1, io=1, ready=1))
batch = next(loader)
assert path in open("/proc/self/maps").read()
first = batch["record"][0]
os.truncate(path, cut)
try:
    for more in loader:
        try:
            list(more["record"])
        except OSError:  # it was ready before the cut
            pass
    print("no error")
except hr.CorruptSample as error:
    print("reading:", error)
for look in (lambda: batch["record"][3], lambda: batch["record"].views()):
    try:
        look()
        print("no error")
    except OSError as error:
        print("looking:", error)
if cut:
    assert batch["record"][0] == first
"""


@pytest.mark.parametrize("cut", [0, 150_000])
def test_a_file_that_is_cut_is_an_error_and_not_the_end(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "records.tfrecord"
    hr.from_arrays({"record": [bytes([i]) * 100_000 for i in range(100)]}).write(path)
    done = subprocess.run(
        [sys.executable, "-c", CUT, path, str(cut)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    reading, *looking = done.stdout.splitlines()
    assert "reading: tfrecord: expected 100016 bytes at" in reading and "sample " in reading
    assert len(looking) == 2
    for line in looking:
        assert f"of '{path}', but it became shorter" in line


def test_with_a_handler_of_the_users_files_are_read(tmp_path: Path) -> None:
    faulthandler.enable(file=sys.__stderr__)
    batches = [batch["record"] for batch in _written(tmp_path, "tfrecord").batch(7)]
    mapped = _is_mapped(tmp_path)
    faulthandler.disable()
    assert not mapped
    assert [row for column in batches for row in column] == _records()
