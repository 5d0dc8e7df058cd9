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
            assert spelled == fields[name], name


def test_tfds_is_read_as_it_reads_itself(tmp_path: Path) -> None:
    for key, wanted in answers("tfds", "tensorflow_datasets, tensorflow", tmp_path).items():
        file_format, split = key.split(" ", 1)
        data = hr.read(tmp_path / file_format / "toy", split=split)
        if file_format == "array_record":
            assert [s["text"].encode().hex() for s in data] == wanted
            continue
        assert data.metadata["classes"] == ["cat", "dog"] and "left_out_features" not in data.metadata
        check(data, wanted, set(), texts_are_bytes=True)


def test_huggingface_is_read_as_it_reads_itself(tmp_path: Path) -> None:
    for key, wanted in answers("huggingface", "datasets", tmp_path).items():
        folder, split = key.split(" ", 1)
        data = hr.read(tmp_path / folder, **({"split": split} if split else {}))
        assert data.metadata["left_out_columns"] == ["texts"]
        check(data, wanted, {"texts"}, texts_are_bytes=False)
