"""A budget of few batches makes a run slower, not a sample decoded or a file read again and again."""

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

SIDE, BATCH, SAMPLES = 96, 16, 320
BATCH_BYTES = 3 * SIDE * SIDE * BATCH * 4


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Large ones: their pixels take several times what they become in a batch."""
    folder = tmp_path_factory.mktemp("pictures") / "one"
    folder.mkdir()
    noise = np.random.default_rng(5).integers(0, 256, (50, 75, 3), np.uint8)
    for i in range(SAMPLES):
        image = Image.fromarray(np.roll(noise, i, 0)).resize((600, 400), Image.Resampling.BICUBIC)
        image.save(folder / f"{i:03}.jpg", quality=90)
    return folder.parent


def small(sample):
    image = ops.random_resized_crop(ops.decode_image(sample.image, match="exact"), size=SIDE)
    return {
        "image": ops.normalize(image, mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW"),
        "label": sample.label,
    }


def test_hardly_anything_is_read_or_decoded_twice(pictures):
    ds = hr.read(pictures).shuffle(seed=2).map(small).repeat(3).batch(BATCH)
    sums, calls = [], []
    for budget in (2 * BATCH_BYTES + 6_000_000, 5 * BATCH_BYTES + 4_000_000, 1_000_000_000):
        loader = ds.options(memory_budget=budget, workers=2, io=8, ready=8).numpy()
        sums.append([float(batch["image"].sum()) for batch in loader])
        report = loader.report()
        decoded = next(one["calls"] for one in report["operators"] if one["name"] == "decode_image")
        calls.append((report["io"]["reads"] / (3 * SAMPLES), decoded / (3 * SAMPLES)))
    assert sums[0] == sums[1] == sums[2]
    assert calls[2] == (1, 1)
    for reads, decodes in calls:
        assert reads < 1.5 and decodes < 1.15, calls


def test_a_block_larger_than_the_budget_is_an_error_with_both_figures_and_made_once(tmp_path):
    path, whole = tmp_path / "large.arrow", {"rows_per_batch": 3_000_000, "compression": "zstd"}
    hr.from_arrays({"x": np.arange(3_000_000) // 1000}).write(path, options=whole)
    ds = hr.read(path).batch(100)
    loader = ds.options(memory_budget=8 << 20, workers=1, io=1).numpy()
    with pytest.raises(MemoryError, match=r"needs \d{8} bytes, but the memory budget is 8388608"):
        next(iter(loader))
    assert loader.report()["io"]["reads"] <= 4
