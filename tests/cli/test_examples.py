"""The examples say the same in Python and as a saved plan, and keep what they promise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("headrace")
pytest.importorskip("xxhash")
Image = pytest.importorskip("PIL.Image")

from .test_command_line import ROOT, executable, hash_of, headrace  # noqa: E402


@pytest.fixture
def photos(tmp_path):
    for i in range(10):
        folder = tmp_path / "photos" / ("cat", "dog")[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (300 + i, 280), (25 * i, 90, 255 - 25 * i)).save(folder / f"{i}.jpg")
    return tmp_path / "photos"


def example(name, photos):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, photos],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(executable() is None, reason="the command line is not built")
def test_one_pipeline_gives_one_hash(photos, tmp_path):
    plan = json.loads(Path(ROOT / "examples" / "imagenet.json").read_text())
    plan["plan"]["input"]["input"]["input"]["source"]["path"] = str(photos)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    assert example("imagenet.py", photos).strip() == hash_of(headrace("run", path))


def test_inference_sees_each_sample_exactly_once(photos):
    assert "each of the 10 samples exactly once" in example("inference.py", photos)


def test_a_folder_becomes_one_hdf5_file(photos, tmp_path):
    path = tmp_path / "images.h5"
    command = [sys.executable, ROOT / "examples" / "imagenet_hdf5.py", photos, path]
    first, again = (
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        for _ in range(2)
    )
    assert first.startswith("10 images; (224, 224, 3) uint8; labels [0, 1]\n") and again == first
    assert path.read_bytes().startswith(b"\x89HDF")
