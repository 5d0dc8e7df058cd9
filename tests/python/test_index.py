"""Entropy points of JPEG files: found on the way, ahead, stale or not at all, the batches are the same."""

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

from .pictures import picture

FILES = 1300  # of which a loader remembers the points of those that are baseline, since they are a thousand
KINDS: list[dict[str, Any]] = [
    {"quality": 90},
    {"quality": 60, "subsampling": 0},
    {"quality": 75, "subsampling": 1},
    {"quality": 80, "restart_marker_blocks": 3},
    {"quality": 80, "progressive": True},
]


def write(folder: Path, first: int = 0) -> None:
    """Write files of a few pictures, made different by a comment."""
    folder.mkdir(exist_ok=True)
    for i in range(FILES):
        if i < len(KINDS) * 4:
            buffer = io.BytesIO()
            Image.fromarray(picture(first + i, 40 + i % 9, 70 - i % 7)).save(
                buffer, "JPEG", **KINDS[i % len(KINDS)]
            )
            data = buffer.getvalue()
        else:
            data = (folder / f"{i % (len(KINDS) * 4)}.jpg").read_bytes()
        comment = f"{first + i:010}".encode()
        (folder / f"{i}.jpg").write_bytes(data[:2] + b"\xff\xfe\x00\x0c" + comment + data[2:])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tiny") / "images"
    write(out)
    return out


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def sidecars(cache: Path) -> list[Path]:
    return sorted((cache / "headrace").glob("*.hri"), key=lambda path: -path.stat().st_size)


def train(sample: Any) -> Any:
    image = ops.random_resized_crop(ops.decode_image(sample.image, match="fast"), size=24)
    return {
        "x": ops.normalize(ops.random_flip(image), mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD),
        "id": sample.id,
    }


def epochs(folder: Path, count: int = 3, **options: Any) -> list[str]:
    """Return a hash of each epoch's batches."""
    data = hr.read(folder, format="images").with_ids().shuffle(seed=5).map(train).batch(32)
    loader = data.options(**{"seed": 7, "workers": 2, **options}).numpy().at_its_first_epoch()
    out = []
    for _ in range(count):
        digest = hashlib.sha256()
        for batch in loader:
            digest.update(batch["x"].tobytes() + batch["id"].tobytes())
        out.append(digest.hexdigest())
    return out


def test_epochs_are_the_same_with_points_and_without(folder: Path, cache: Path):
    plain = epochs(folder, checkpoints=False)
    assert len(set(plain)) == 3
    cold = epochs(folder)
    kept = sidecars(cache)[0].stat().st_size
    warm = epochs(folder)
    assert (cold, warm) == (plain, plain)
    for step in (0, 8, 1, 3, 8192):
        made = hr.index(hr.read(folder, format="images"), step=step)
        assert (made["samples"], made["files"], made["failed"]) == (FILES, FILES * 4 // 5, 0)
        assert Path(made["path"]).stat().st_size == made["bytes"]
        if step == 1:
            assert made["bytes"] > 2 * kept
        assert epochs(folder) == plain, step


def test_a_report_says_how_many_images_were_decoded_with_points(folder: Path, cache: Path):
    data = hr.read(folder, format="images").with_ids().map(train).options(workers=2).numpy()
    ours, with_points = "headrace (baseline JPEG)", "headrace (baseline JPEG, entropy points)"
    plain = FILES * 4 // 5

    def decoders(loader: Any) -> dict[str, int]:
        assert len(list(loader)) == FILES
        (row,) = [row for row in loader.report()["operators"] if "decoders" in row]
        return row["decoders"]

    first = decoders(data)
    assert first[ours] + first.get(with_points, 0) == plain
    hr.index(hr.read(folder, format="images"))
    indexed = hr.read(folder, format="images").with_ids().map(train).options(workers=2).numpy()
    assert decoders(indexed) == {with_points: plain, "libjpeg-turbo": FILES - plain}


def test_files_that_changed_under_an_index(folder: Path, cache: Path, tmp_path: Path):
    data = tmp_path / "images"
    write(data)
    hr.index(hr.read(data, format="images"), step=8)
    write(data, first=FILES)
    assert epochs(data) == epochs(data, checkpoints=False)
    assert epochs(data, count=1) != epochs(folder, count=1)


def test_a_damaged_index_is_none(folder: Path, cache: Path):
    plain = epochs(folder, count=1, checkpoints=False)
    made = hr.index(hr.read(folder, format="images"))
    whole = Path(made["path"]).read_bytes()
    rng = np.random.default_rng(3)
    for size in (0, 100, len(whole) // 2, len(whole)):
        damaged = np.frombuffer(whole[:size], np.uint8).copy()
        damaged[rng.integers(0, max(size, 1), size // 50)] ^= 64
        Path(made["path"]).write_bytes(damaged.tobytes())
        assert epochs(folder, count=1) == plain


def test_what_index_wants(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match=r"expected a field of encoded images, got \{value: int64"):
        hr.index(hr.range(3))
    with pytest.raises(ValueError, match="step must be from 0 to 8192, got 8193"):
        hr.index(folder, step=8193)
    with pytest.raises(TypeError, match="step must be an integer"):
        hr.index(folder, step=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="known length"):
        hr.index(hr.read(folder).repeat())
    cache.write_text("no folder")
    with pytest.raises(OSError, match="expected a folder that only this user may write to"):
        hr.index(folder)


def test_files_that_cannot_be_read_are_counted(cache: Path, tmp_path: Path):
    data = tmp_path / "few"
    data.mkdir()
    for i in range(4):
        Image.fromarray(picture(i, 20, 30)).save(data / f"{i}.jpg")
    (data / "4.jpg").write_bytes(b"no image")
    images = hr.read(data, format="images")
    (data / "2.jpg").unlink()
    made = hr.index(images)
    assert (made["samples"], made["files"], made["failed"]) == (4, 3, 1)


INTERRUPTED = """
import os, signal, sys, threading, time
import headrace as hr
data = hr.read(sys.argv[1], format="images")
for _ in range(6):
    data = data.concatenate(data)
begin = []
def interrupt():
    time.sleep(0.15)
    begin.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    hr.index(data, workers=1)
except KeyboardInterrupt:
    print(time.perf_counter() - begin[0])
"""


def test_ctrl_c_ends_it_and_keeps_what_was_found(folder: Path, cache: Path):
    took = []
    for _ in range(6):
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, str(folder)], check=True, capture_output=True, text=True
        )
        took.append(json.loads(done.stdout))
        if took[-1] < 0.1:
            break
    assert min(took) < 0.1, took
    assert sidecars(cache)


def test_every_field_of_bytes_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Text beside images is no image, and no number of them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    files = []
    for i in range(6):
        out = io.BytesIO()
        Image.fromarray(picture(i, 40, 50)).save(out, "JPEG")
        files.append(out.getvalue())
    made = hr.index(hr.from_arrays({"note": [b"{text}"] * 6, "image": files, "more": [b"z"] * 6}))
    assert made["files"] == 6 and made["samples"] == 6
    assert made["bytes"] > 0 and Path(made["path"]).is_file()
