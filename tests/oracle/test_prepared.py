"""Data sets that TensorFlow Datasets and Hugging Face's datasets prepare, and every slice of them, beside what these libraries read.

HEADRACE_TENSORFLOW_PYTHON names an interpreter that has them, too: `make oracle` makes one.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

HERE = Path(__file__).parent
PYTHON = os.environ.get("HEADRACE_TENSORFLOW_PYTHON", "")


def answers(library: str, module: str, folder: Path) -> dict[str, Any]:
    if (
        not PYTHON
        or subprocess.run([PYTHON, "-c", f"import {module}"], check=False, capture_output=True).returncode
    ):
        pytest.skip(f"HEADRACE_TENSORFLOW_PYTHON names no interpreter with {module}")
    done = subprocess.run(
        [PYTHON, HERE / "prepared_says.py", library, folder],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def flat(sample: dict[str, Any], before: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in sample.items():
        out |= flat(value, f"{before}{name}/") if isinstance(value, dict) else {before + name: value}
    return out


def rows(field: Any) -> Any:
    """Spell a field as the libraries do: bytes in hexadecimal, values and lengths as lists."""
    if isinstance(field, dict):
        values, out = field["values"], []
        values = values.encode() if isinstance(values, str) else values
        for length in field["lengths"].tolist():
            out.append(values[:length].hex() if isinstance(values, bytes) else values[:length].tolist())
            values = values[length:]
        return out
    if isinstance(field, str):
        return field
    return field.hex() if isinstance(field, bytes) else np.asarray(field).tolist()


def check(data: hr.Dataset, wanted: list[Any], left_out: set[str], texts_are_bytes: bool) -> None:
    assert len(data) == len(wanted)
    for got, sample in zip(data, wanted, strict=True):
        fields = flat(sample)
        assert set(got) == set(fields) - left_out
        for name, value in got.items():
            spelled = value.encode().hex() if texts_are_bytes and isinstance(value, str) else rows(value)
            said = fields[name]
            if isinstance(value, dict) and not texts_are_bytes:
                said = [text.encode().hex() for text in said]
            assert spelled == said, name


def check_meanings(
    folder: Path, meanings: dict[str, Any], wholes: dict[str, list[Any]], field: str, joins: bool
) -> None:
    """Compare each split with the rows that a library means by it; what it refuses is refused."""
    read = 0
    for split, wanted in meanings.items():
        units = {unit for unit in ("%", "shard") if unit in split}
        try:
            got = [sample[field] for sample in hr.read(folder, split=split)]
        except ValueError:
            # An empty one of tfds is an error there, too, when it is read.
            is_backwards = any(begin > end for _, begin, end in wanted or [])
            is_of_two = not joins and len({name for name, _, _ in wanted or []}) > 1
            assert not wanted or is_backwards or is_of_two or len(units) > 1, split
            continue
        if wanted is None and split == "all":  # all splits as one, as of every format
            continue
        assert wanted is not None, split
        assert got == [x for name, begin, end in wanted for x in wholes[name][begin:end]], split
        read += 1
    assert read > 100


def test_tfds_is_read_as_it_reads_itself(tmp_path: Path) -> None:
    said = answers("tfds", "tensorflow_datasets, tensorflow", tmp_path)
    folder = tmp_path / "tfrecord/toy"
    wholes = {
        name: [s["meta/id"] for s in hr.read(folder, split=name, fields=["meta/id"])]
        for name in ("train", "test")
    }
    check_meanings(folder, said.pop("meanings"), wholes, "meta/id", joins=True)
    for key, wanted in said.items():
        file_format, split = key.split(" ", 1)
        data = hr.read(tmp_path / file_format / "toy", split=split)
        if file_format == "array_record":
            assert [s["text"].encode().hex() for s in data] == wanted
            continue
        assert data.metadata["classes"] == ["cat", "dog"] and "left_out_features" not in data.metadata
        check(data, wanted, set(), texts_are_bytes=True)


def test_huggingface_is_read_as_it_reads_itself(tmp_path: Path) -> None:
    said = answers("huggingface", "datasets", tmp_path)
    wholes = {"train": list(range(43)), "test": list(range(43, 50)), "many": list(range(50, 300))}
    check_meanings(tmp_path / "dict", said.pop("meanings"), wholes, "meta/id", joins=False)
    for key, wanted in said.items():
        folder, split = key.split(" ", 1)
        data = hr.read(tmp_path / folder, **({"split": split} if split else {}))
        assert "left_out_columns" not in data.metadata
        check(data, wanted, set(), texts_are_bytes=False)
