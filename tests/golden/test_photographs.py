"""The main job on real photographs: one hash, however it runs, and from wherever it goes on.

Needs HEADRACE_DATA/imagenet1k (260 ImageNet photographs). tests/python/test_plans.py does the same on generated images.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import ops

DATA = Path(os.environ.get("HEADRACE_DATA", "/nowhere")) / "imagenet1k"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA has no imagenet1k")
EPOCHS = 3
# Made with 1 worker on AVX-512; the same on AVX2, SSE4 and scalar targets by the kernels' own goldens.
GOLDEN = {
    "exact": "c8657b0afd72bf021a56c371df1f5707d00df23e88bf1e419defc845ecef58b0",
    "fast": "9cea59bbd8ab83a2a1360dbf9dd4a076575d0b99ee170f183f4f9b13616b8992",
}


def augment(sample: Any, match: str) -> Any:
    image = ops.decode_image(sample.image, match=match)
    image = ops.random_resized_crop(image, size=96)
    image = ops.random_flip(image)
    return {"image": ops.normalize(image, mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW")}


def pipeline(match: str, **options: Any) -> hr.Dataset:
    data = hr.read(str(DATA), format="images")
    return data.shuffle(seed=17).map(lambda s: augment(s, match)).batch(3).options(seed=5, **options)


def digest(batch: Any) -> str:
    return hashlib.sha256(batch["image"].tobytes()).hexdigest()


def epochs(match: str, **options: Any) -> list[str]:
    loader = pipeline(match, **options).numpy()
    loader.set_epoch(0)
    return [digest(batch) for _ in range(EPOCHS) for batch in loader]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's cache stays as it is; each test finds checkpoints in its first epoch and uses them later."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return epochs("exact", workers=1)


def golden_of(digests: list[str]) -> str:
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def test_three_epochs_have_the_golden_hash(expected: list[str]) -> None:
    assert golden_of(expected) == GOLDEN["exact"]


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 1, "checkpoints": False},
        {"workers": 1, "rewrites": False},
        {"workers": 2},
        {"workers": 2, "rewrites": False, "checkpoints": False},
        {"workers": 4, "ready": 1},
    ],
)
def test_three_fast_epochs_have_theirs(options: dict[str, Any]) -> None:
    assert golden_of(epochs("fast", **options)) == GOLDEN["fast"]


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 2},
        {"workers": 4, "ready": 1},
        {"workers": 8, "ready": 7},
        {"workers": 2, "io": 1, "ready": 2},
        {"workers": 2, "rewrites": False},
        {"workers": 2, "memory_budget": 40_000_000},
    ],
)
def test_workers_slots_budget_and_rewrites_change_nothing(
    expected: list[str], options: dict[str, Any]
) -> None:
    assert epochs("exact", **options) == expected


def test_the_next_batch_after_every_position_is_the_next_batch(expected: list[str]) -> None:
    loader = pipeline("exact", workers=2).numpy()
    loader.set_epoch(0)
    states = []
    for _ in range(EPOCHS):
        iteration = iter(loader)
        for _ in range(len(loader)):
            states.append(json.dumps(iteration.state_dict()))
            next(iteration)
    assert len(states) == len(expected) > 200
    for position, state in enumerate(states):
        other = pipeline("exact", workers=1 + position % 3, ready=1 + position % 2).numpy()
        other.load_state_dict(json.loads(state))
        assert digest(next(iter(other))) == expected[position], (position, state)
