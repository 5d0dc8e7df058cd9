"""JSON lines beside what Python's json reads of the same files; and tables of text as they are written."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

DATA = os.environ.get("HEADRACE_DATA", "")
needs_data = pytest.mark.skipif(not DATA, reason="HEADRACE_DATA does not say where the real files are")


def flat(value: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Call members of objects by their path."""
    out: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict) and inner:
            out |= flat(inner, f"{before}{name}/")
        else:
            out[before + name] = inner
    return out


def is_same(wanted: Any, got: Any) -> bool:
    """Compare a value of json's with a field: what is no text, number or array of numbers is its JSON."""
    if isinstance(wanted, str):
        return bool(got == wanted)
    if isinstance(wanted, dict):
        return all(is_same(wanted[name], got[name]) for name in ("values", "lengths"))
    if isinstance(got, dict):  # a list of texts
        encoded = [text.encode() for text in wanted]
        is_whole = got["values"].encode() == b"".join(encoded)
        return is_whole and got["lengths"].tolist() == [len(text) for text in encoded]
    if isinstance(got, str):
        return bool(json.loads(got) == wanted)
    array = np.asarray(wanted, got.dtype)
    if array.size == 0:  # json knows no inner dimensions of a list without items
        return got.size == 0 and len(array) == len(got)
    return bool(np.array_equal(array, got, equal_nan=got.dtype.kind == "f"))


def check(path: Path, ds: hr.Dataset) -> int:
    """Compare every line with json's; return their number."""
    whole = path.read_bytes()
    lines = (gzip.decompress(whole) if path.suffix == ".gz" else whole).split(b"\n")
    wanted = [flat(json.loads(line)) for line in lines if line.strip()]
    assert len(ds) == len(wanted)
    for line, sample in zip(wanted, ds, strict=True):
        assert all(is_same(value, sample[name]) for name, value in line.items()), (line, sample)
    return len(wanted)


def drawn(draw: random.Random, kind: int) -> Any:
    letters = 'ab"\\/\n\t\0é€😀\x7f\u2028'
    if kind == 0:
        return draw.choice([0, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63)])
    if kind == 1:
        return draw.choice([0.0, -0.0, 0.1, 1e300, 5e-324, 2.5, 3, math.inf, math.nan])
    if kind == 2:
        return draw.random() < 0.5
    if kind == 3:
        return "".join(draw.choice(letters) for _ in range(draw.randrange(12)))
    if kind == 4:
        return [draw.randrange(-9, 9) for _ in range(draw.randrange(4))]
    if kind == 5:
        return [[draw.random() for _ in range(3)] for _ in range(draw.randrange(3))]
    if kind == 6:
        return [drawn(draw, 3) for _ in range(draw.randrange(3))]
    if kind == 7:
        return [{"k": drawn(draw, 3), "v": [1, None]}]
    return {"n": drawn(draw, 0), "t": drawn(draw, 3), "in": {"v": drawn(draw, 4)}}


@pytest.mark.parametrize("seed", range(30))
def test_what_python_writes_as_json_comes_back(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    names = [f"f{i}" + draw.choice(["", "é", '"']) for i in range(draw.randrange(1, 8))]
    kinds = {name: draw.randrange(9) for name in names}
    path = tmp_path / "x.jsonl"
    with path.open("w", encoding="utf-8", newline="") as file:
        for _ in range(draw.randrange(2, 40)):
            row = {name: drawn(draw, kind) for name, kind in draw.sample(sorted(kinds.items()), len(kinds))}
            text = json.dumps(
                row, ensure_ascii=draw.random() < 0.5, separators=draw.choice([(",", ":"), (" , ", " : ")])
            )
            file.write(text + draw.choice(["\n", "\r\n", "\n\n", " \n"]))
    ds = hr.read_jsonl(path)
    count = check(path, ds)
    indices = [int(i) for i in hr.range(count).shuffle(seed=1)]
    for wanted, got in zip((ds[i] for i in indices), ds.shuffle(seed=1), strict=True):
        assert all(is_same(wanted[name], got[name]) for name in wanted)
    packed = tmp_path / "y.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    check(packed, hr.read(packed))


def test_lists_of_texts_are_those_that_json_reads(tmp_path: Path) -> None:
    """Escaped or not, in batches, in gzip and written again; where one is something else, all are their JSON."""
    draw = random.Random(3)
    rows = [
        {"n": i, "x": ["t"] * (i == 0) + drawn(draw, 6), "in": {"y": drawn(draw, 6) + [""]}}
        for i in range(500)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows)), "utf-8"
    )
    ds = hr.read(path)
    assert list(ds.schema) == ["n", "x", "in/y"] and ds.schema["x"]["lengths"].dtype == "int64"
    assert check(path, ds) == 500
    for i, sample in zip(hr.range(500).shuffle(seed=2), ds.shuffle(seed=2), strict=True):
        assert is_same(rows[int(i)]["x"], sample["x"])
    batched = [
        pair
        for b in ds.batch(64, ragged=True)
        for pair in zip(b["x"]["values"], b["x"]["lengths"], strict=True)
    ]
    for row, (whole, lengths) in zip(rows, batched, strict=True):
        assert is_same(row["x"], {"values": str(whole), "lengths": lengths})
    ds.write(tmp_path / "b.jsonl.gz", verify=True)
    text = gzip.decompress((tmp_path / "b.jsonl.gz").read_bytes()).decode()
    wanted = [flat(row) for row in rows]
    assert [json.loads(line) for line in text.split("\n")[:-1]] == wanted
    path.write_text(path.read_text("utf-8") + '{"n": 1, "x": [1], "in": {"y": []}}\n', "utf-8")
    changed = hr.read(path)
    assert changed.schema["x"].dtype == "str" and check(path, changed) == 501


def test_lists_of_no_texts_come_back_by_what_was_written_of_them(tmp_path: Path) -> None:
    """Nothing in the lines tells them from lists of numbers."""
    fields: dict[str, Any] = {"x/values": ("str", [None]), "x/lengths": ("i64", [None])}
    with hr.writer(tmp_path / "a.jsonl", fields) as w:
        for _ in range(3):
            w.write({"x/values": "", "x/lengths": np.zeros(0, np.int64)})
    assert (tmp_path / "a.jsonl").read_text() == '{"x":[]}\n' * 3
    back = hr.read(tmp_path / "a.jsonl")  # as the manifest says
    assert [(s["x"]["values"], s["x"]["lengths"].tolist()) for s in back] == [("", [])] * 3
    (tmp_path / "a.jsonl.headrace.json").unlink()
    assert hr.read(tmp_path / "a.jsonl")[0] == {"x": "[]"}
    back = hr.read_jsonl(tmp_path / "a.jsonl", dtypes={"x/values": "str", "x/lengths": "i64"})
    assert [(s["x"]["values"], s["x"]["lengths"].tolist()) for s in back] == [("", [])] * 3
    message = r"sample 0 .*field 'x': expected lengths that add up to the 3 bytes"
    with pytest.raises(ValueError, match=message), hr.writer(tmp_path / "b.jsonl", fields) as w:
        w.write({"x/values": "aä", "x/lengths": np.array([1, 1])})


def test_null_and_missing_keys_have_defaults_or_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1.5, "t": "x", "v": [1, 2]}\n\n{"a": null}\n')
    ds = hr.read_jsonl(path)
    wanted = r"column 'a' is null in this line; expected float64 \(\); set a value.*a\.jsonl, line 3 at byte"
    with pytest.raises(hr.CorruptSample, match=wanted):
        list(ds)
    with pytest.raises(
        hr.CorruptSample, match="column 't' is missing in this line; expected str; set a value"
    ):
        list(hr.read_jsonl(path, columns=["t"]))
    assert len(list(ds.on_error("skip"))) == 1
    given = {"a": math.nan, "t": "", "v": [0, 0]}
    last = hr.read_jsonl(path, defaults=given)[1]
    assert math.isnan(last["a"]) and last["t"] == "" and last["v"].tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"columns: expected names of columns \(a, t, v\), got 'b'"):
        hr.read_jsonl(path, columns=["b"])
    floats = hr.read_jsonl(path, columns=["v"], dtypes={"v": np.float32})
    assert floats[0]["v"].dtype == np.float32


def test_batches_of_lists_are_padded(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"v": list(range(i))}) + "\n" for i in range(4)))
    batch = next(iter(hr.read_jsonl(path).padded_batch(4)))
    assert batch["v"].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]


@needs_data
def test_real_files_are_what_json_reads() -> None:
    folder = Path(DATA) / "text"
    questions = folder / "openai__grade-school-math/grade_school_math/data/test_socratic.jsonl"
    ds = hr.read(questions)
    assert check(questions, ds) == 1319 and list(ds.schema) == ["question", "answer"]


@needs_data
def test_hostile_files_are_errors_in_bounded_time() -> None:
    corpus = sorted((Path(DATA) / "text/dvyukov__go-fuzz-corpus/json/corpus").iterdir())
    assert corpus
    for path in corpus:
        begin = time.process_time()
        try:
            ds = hr.read_jsonl(path)
        except (ValueError, hr.CorruptSample) as error:
            assert path.name in str(error)
            continue
        for i in range(len(ds)):
            try:
                ds[i]
            except hr.CorruptSample as error:
                assert path.name in str(error)
        assert time.process_time() - begin < 5


VALUES: dict[str, list[Any]] = {
    "bool": [True, False, True],
    "u8": [np.uint8(v) for v in (0, 1, 255)],
    "i64": [np.int64(v) for v in (-(2**63), 0, 2**63 - 1)],
    "u64": [np.uint64(v) for v in (0, 1, 2**64 - 1)],
    "f16": [np.float16(v) for v in (0.1, -2, 65504)],
    "f32": [np.float32(v) for v in (0.1, -0.0, 3e38)],
    "f64": [np.float64(v) for v in (0.1, 5e-324, 1e300)],
    "str": ["", 'a,"b"\r\n\t\\', "é😀\0"],
}
LISTS: dict[str, tuple[list[int | None], list[Any]]] = {
    "f32": ([None, 2], [np.ones((n, 2), np.float32) / 3 for n in (1, 0, 2)]),
    "u8": ([2, 3], [np.arange(6, dtype=np.uint8).reshape(2, 3) + i for i in range(3)]),
    "i64": ([None], [np.arange(n) for n in (0, 2, 3)]),
    "bool": ([2], [np.array([True, False])] * 3),
}


def equal(wanted: Any, got: Any) -> None:
    if isinstance(wanted, str):
        assert got == wanted
    else:
        wanted = np.asarray(wanted)
        assert (got.dtype, got.shape, got.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "ndjson"])
def test_what_is_written_comes_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    fields: dict[str, Any] = {f"{dtype}, 'x'": (dtype, [None] if dtype == "str" else []) for dtype in VALUES}
    columns = [list(VALUES.values())[i] for i in range(len(VALUES))]
    if not ending.startswith(("csv", "tsv")):
        fields |= {f"lists of {dtype}": (dtype, shape) for dtype, (shape, _) in LISTS.items()}
        columns += [values for _, values in LISTS.values()]
    with hr.writer(path, fields) as w:
        for row in zip(*columns, strict=True):
            w.write(dict(zip(fields, row, strict=True)))
    dtypes = {name: spec[0] for name, spec in fields.items()}
    reader = hr.read_jsonl if "json" in ending else hr.read_csv
    ds = reader(path, dtypes=dtypes)
    for row, sample in zip(zip(*columns, strict=True), ds, strict=True):
        for name, value in zip(fields, row, strict=True):
            equal(value, sample[name])
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == ending.endswith(".gz")


def test_what_a_format_of_text_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    for ending, name in (("csv", "CSV"), ("jsonl", "JSON")):
        with pytest.raises(
            ValueError, match=f"{ending}: field 'x': {name} cannot hold bytes; leave the field out"
        ):
            hr.from_arrays({"x": [b"a"]}).write(tmp_path / f"a.{ending}")
    with pytest.raises(ValueError, match=r"csv: field 'x': .* got shape \(2\); jsonl can hold lists"):
        hr.from_arrays({"x": np.zeros((3, 2))}).write(tmp_path / "a.csv")
    numbers = hr.from_arrays({"x": np.array([1.0, math.nan])})
    with pytest.raises(
        ValueError, match=r"sample 1 .*: field 'x': JSON can hold only finite numbers, got nan"
    ):
        numbers.write(tmp_path / "a.jsonl")
    numbers.write(tmp_path / "a.csv", verify=True)
    assert (tmp_path / "a.csv").read_text() == "x\n1.0\nnan\n"
    assert not list(tmp_path.glob("*.jsonl"))


def test_others_read_what_is_written(tmp_path: Path) -> None:
    ds = hr.from_list([{"id": i, "name": f"n{i}", "v": np.arange(3) * i} for i in range(5)])
    ds.write(tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert lines == [{"id": i, "name": f"n{i}", "v": [0, i, 2 * i]} for i in range(5)]
    back = hr.read(tmp_path / "a.jsonl")
    assert [s["v"].tolist() for s in back] == [line["v"] for line in lines]
    ds.write(tmp_path / "shards", format="jsonl", shards=2, verify=True)
    assert len(hr.read(tmp_path / "shards")) == 5


@needs_data
def test_lines_that_are_no_objects_are_named() -> None:
    cellphones = Path(DATA) / "text/simdjson__simdjson/jsonexamples/amazon_cellphones.ndjson"
    wanted = r"amazon_cellphones\.ndjson': expected a JSON object, got '\[' at byte 0 of the line \(line 1\)"
    with pytest.raises(hr.CorruptSample, match=wanted):
        hr.read_jsonl(cellphones)
