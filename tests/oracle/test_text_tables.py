"""JSON lines and CSV beside pyarrow and pandas: real files and made ones, both ways."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pa_json = pytest.importorskip("pyarrow.json")
pa_csv = pytest.importorskip("pyarrow.csv")

DATA = os.environ.get("HEADRACE_DATA", "")


def flattened(table: Any) -> dict[str, list[Any]]:
    """Columns of a table, members of structs by their path."""
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return {name.replace(".", "/"): table[name].to_pylist() for name in table.column_names}


def as_python(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def rows(draw: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": i,
            "x": draw.choice([0.1, 2.5e-7, 1e22, -3.0]),
            "ok": draw.random() < 0.5,
            "t": draw.choice(["", 'say "hi"', "é😀\n", "a,b", "\\"]),
            "v": [draw.randrange(-99, 99) for _ in range(draw.randrange(4))],
            "m": [[draw.random(), 1.5], [2.0, draw.random()]],
            "in": {"a": draw.randrange(9), "t": "x" * draw.randrange(9)},
        }
        for i in range(count)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_json_lines_are_what_pyarrow_and_pandas_read(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    path = tmp_path / "a.jsonl"
    given = rows(draw, 50)
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=seed % 2 == 0) + "\n" for row in given), encoding="utf-8"
    )
    ds = hr.read_jsonl(path)
    wanted = flattened(pa_json.read_json(path))
    assert set(ds.schema) == set(wanted)
    samples = list(ds)
    for name, column in wanted.items():
        assert [as_python(s[name]) for s in samples] == column
    frame = pd.read_json(path, lines=True, precise_float=True)
    for name in ("id", "x", "ok", "t"):
        assert [as_python(s[name]) for s in samples] == frame[name].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_csv_is_what_pyarrow_and_pandas_read(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    scalars = [{name: row[name] for name in ("id", "x", "t")} for row in rows(draw, 50)]
    path = tmp_path / "a.csv"
    pd.DataFrame(scalars).to_csv(path, index=False)
    samples = list(hr.read_csv(path))
    frame = pd.read_csv(path, keep_default_na=False)
    table = pa_csv.read_csv(path, parse_options=pa_csv.ParseOptions(newlines_in_values=True))
    for name in ("id", "x", "t"):
        got = [as_python(s[name]) for s in samples]
        assert got == frame[name].tolist() == table[name].to_pylist()


def test_they_read_what_is_written(tmp_path: Path) -> None:
    given = rows(random.Random(9), 30)
    dtypes = {"v": np.int64, "m": np.float64}
    arrays = {name: [np.asarray(row[name], dtype) for row in given] for name, dtype in dtypes.items()}
    plain = [{name: row[name] for name in ("id", "x", "ok", "t")} for row in given]
    ds = hr.from_list(
        [row | {name: column[i] for name, column in arrays.items()} for i, row in enumerate(plain)]
    )
    ds.write(tmp_path / "a.jsonl")
    table = pa_json.read_json(tmp_path / "a.jsonl")
    for name in ("id", "x", "ok", "t", "v", "m"):
        assert table[name].to_pylist() == [row[name] for row in given]
    ds.map(lambda s: {name: s[name] for name in ("id", "x", "ok", "t")}).write(tmp_path / "a.csv.gz")
    frame = pd.read_csv(tmp_path / "a.csv.gz", keep_default_na=False)
    for name in ("id", "x", "ok", "t"):
        assert frame[name].tolist() == [row[name] for row in given]


@pytest.mark.parametrize("frame", [0, 1000])
def test_zstd_of_others_is_read(tmp_path: Path, frame: int) -> None:
    text = b"".join(json.dumps({"n": i, "t": "x" * (i % 50)}).encode() + b"\n" for i in range(5000))
    pieces = [text[i : i + frame] for i in range(0, len(text), frame)] if frame else [text]
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"".join(bytes(pa.compress(piece, "zstd", asbytes=True)) for piece in pieces))
    ds = hr.read(path)
    assert len(ds) == 5000 and int(ds.shuffle(seed=1)[17]["n"]) == int(hr.range(5000).shuffle(seed=1)[17])
    if not frame:
        (tmp_path / "a.txt.zst").write_bytes(path.read_bytes())
        assert len(hr.read_text(tmp_path / "a.txt.zst")) == 5000


@pytest.mark.skipif(not DATA, reason="HEADRACE_DATA does not say where the real files are")
def test_real_questions_are_what_pyarrow_reads() -> None:
    path = Path(DATA) / "text/openai__grade-school-math/grade_school_math/data/test_socratic.jsonl"
    table = pa_json.read_json(path)
    ds = hr.read_jsonl(path)
    assert [s["answer"] for s in ds] == table["answer"].to_pylist()
    assert [s["question"] for s in ds] == table["question"].to_pylist()
