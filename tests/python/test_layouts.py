"""What `read`, `read(split=)`, `list_splits` and `inspect` answer for data sets as they are downloaded (layouts.py)."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

from .layouts import ONE, REFUSED, SPLITS, written

CLI = next(Path(__file__).parents[2].glob("build/release/cli/headrace"), None)


def inspected(root: Path, *options: str) -> dict[str, object]:
    """Return what `headrace inspect` prints; an error is an object, too."""
    if CLI is None:
        pytest.skip("wants the command line")
    done = subprocess.run(
        [CLI, "inspect", "--json", *options, root], capture_output=True, text=True, check=False
    )
    answer: dict[str, object] = json.loads(done.stdout or done.stderr)
    return answer


def test_there_are_enough() -> None:
    """The table only grows."""
    assert len(SPLITS) + len(ONE) + len(REFUSED) >= 150


@pytest.mark.parametrize("name", list(SPLITS))
def test_splits(name: str, tmp_path: Path) -> None:
    """Each opens by its name, with the fields that belong to it; all of them at once are refused."""
    files, expected = SPLITS[name]
    root = written(files, tmp_path)
    if not files:
        for split, count in (("train", 3), ("test", 1)):
            np.save(root / f"x_{split}.npy", np.zeros((count, 2), "f4"))
            np.save(root / f"y_{split}.npy", np.arange(count))
    assert sorted(hr.list_splits(root)) == sorted(expected)
    if len(expected) > 1:
        with pytest.raises(ValueError, match="contains the splits") as refused:
            hr.read(root)
        assert all(split in str(refused.value) for split in expected)
        is_text = any(fields == "line" for fields, _ in expected.values())
        answer = inspected(root, *(["--format", "text"] if is_text else []))
        assert sorted(answer["splits"]) == sorted(expected)  # type: ignore[call-overload]
    for split, (fields, count) in expected.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"format": "text"} if fields == "line" else {}
            data = hr.read(root, split=split, **options)
        assert len(data) == count, split
        assert set(fields.split()) <= set(data.schema), (split, data.schema)
        assert len(list(data)) == count


@pytest.mark.parametrize("name", list(ONE))
def test_one_data_set(name: str, tmp_path: Path) -> None:
    """What is read, and what is said of it; nothing else is."""
    files, (fields, count), note = ONE[name]
    root = written(files, tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = hr.read(root)
    said = " / ".join(str(warning.message) for warning in caught)
    assert len(data) == count and set(fields.split()) <= set(data.schema), data.schema
    assert len(list(data)) == count
    answer = inspected(root)
    assert answer["samples"] == count and set(fields.split()) <= set(answer["fields"])  # type: ignore[call-overload]
    if note:
        with pytest.warns(UserWarning, match=note):
            hr.read(root)
    else:
        assert not said
    assert len(hr.list_splits(root)) < 2 or name in ("boards", "years")


@pytest.mark.parametrize("name", list(REFUSED))
def test_refused(name: str, tmp_path: Path) -> None:
    """Reading one of them would be a guess: the message says which there are."""
    files, message = REFUSED[name]
    root = written(files, tmp_path)
    for options in ({}, {"split": "train"}):
        with pytest.raises(ValueError, match=message):
            hr.read(root, **options)
    with pytest.raises(ValueError, match=message):
        hr.list_splits(root)
    assert "error" in inspected(root)
