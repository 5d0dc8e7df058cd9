"""Files that are open are bounded for the process: many loaders over many shards work within any limit of descriptors."""

import contextlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr

WRITTEN = [
    "tfrecord",
    "webdataset",
    "arrow",
    "jsonl",
    "hdf5",
    "parquet",
    "lmdb",
    "recordio",
    "mds",
    "csv",
    "zarr",
]
ROWS = 4  # of a shard


def shards(folder: Path, kind: str, count: int) -> Path:
    """Write `count` shards of ROWS samples each: field x, from 0 on."""
    numbers = hr.from_arrays({"x": np.arange(count * ROWS)})
    if kind in {"lmdb", "recordio"}:
        numbers = hr.from_arrays({"x": [str(i).encode() for i in range(count * ROWS)]})
    numbers.write(folder / kind, format=kind, shards=count, progress=False)
    return folder / kind


def images(folder: Path, count: int) -> Path:
    for i in range(count):
        path = folder / "images" / f"class_{i % 3}" / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((2, 2, 3), i % 256, np.uint8)).save(path)
    return folder / "images"


READ = """
import resource, sys
import headrace as hr
from headrace import ops
limit, loaders, paths = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
for path in paths:
    sets = [hr.read(path) for _ in range(loaders)]
    if "image" in str(sets[0].schema):
        sets = [ds.map(lambda s: {"x": ops.decode_image(s["image"])}) for ds in sets]
    iterators = [iter(ds.shuffle(seed=i).batch(32).numpy()) for i, ds in enumerate(sets)]
    rows = 0
    while iterators:
        batches = [next(iterator, None) for iterator in iterators]
        iterators = [i for i, batch in zip(iterators, batches) if batch is not None]
        rows += sum(len(next(iter(batch.values()))) for batch in batches if batch is not None)
    assert rows == loaders * len(sets[0]), (path, rows)
    print(path, rows)
"""


def read(limit: int, loaders: int, *paths: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", READ, str(limit), str(loaders), *map(str, paths)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_shards_of_every_format_within_32_descriptors(tmp_path: Path):
    paths = [shards(tmp_path, kind, 60) for kind in WRITTEN] + [images(tmp_path, 60)]
    ended = read(32, 1, *paths)
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.splitlines()) == len(paths)


def test_shards_within_64_descriptors(tmp_path: Path):
    ended = read(
        64, 2, *[shards(tmp_path, kind, 200) for kind in ("tfrecord", "webdataset", "arrow", "jsonl")]
    )
    assert ended.returncode == 0, ended.stderr


def test_four_loaders_share_the_descriptors(tmp_path: Path):
    count = int(os.environ.get("HEADRACE_SHARDS", "400"))  # 1500 with a limit of 1024 by hand
    ended = read(256 if count < 1000 else 1024, 4, shards(tmp_path, "tfrecord", count))
    assert ended.returncode == 0, ended.stderr


@pytest.fixture
def few_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda limit: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_same_samples_come_whatever_the_limit(tmp_path: Path, few_descriptors):
    ds = hr.read(shards(tmp_path, "arrow", 100)).shuffle(seed=3).batch(16)
    wanted = [batch["x"].tolist() for batch in ds.numpy()]
    in_use = len(list(Path("/proc/self/fd").iterdir()))
    few_descriptors(in_use + 24)
    assert [batch["x"].tolist() for batch in ds.numpy()] == wanted


def test_running_out_is_said_as_that(tmp_path: Path, few_descriptors):
    loader = hr.read(shards(tmp_path, "arrow", 4)).options(workers=0).numpy()
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
    few_descriptors(max(held) + 1)
    with contextlib.suppress(OSError):
        while True:
            held.append(os.dup(held[0]))
    try:
        with pytest.raises(
            OSError, match=r"Too many open files: this process may have \d+ files .* `ulimit -n 4096`"
        ) as error:
            list(loader)
        assert error.value.errno == 24
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_a_file_that_was_replaced_while_it_was_closed_is_not_read(tmp_path: Path, few_descriptors):
    """Files that stay open go on as they are; those that had to be closed are not taken for others."""
    path = shards(tmp_path, "tfrecord", 60)
    in_use = len(list(Path("/proc/self/fd").iterdir()))
    few_descriptors(in_use + 24)
    loader = hr.read(path).shuffle(seed=1).batch(1).options(workers=0, cache=None).repeat().numpy()
    iterator = iter(loader)
    for _ in range(120):
        next(iterator)
    few_descriptors(in_use + 256)  # the loader may hold all that there are
    for file in path.glob("*.tfrecord"):
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(data)
    few_descriptors(in_use + 24)
    with pytest.raises(OSError, match=r"not the file that was opened before; it was replaced or written to"):
        for _ in range(240):
            next(iterator)
