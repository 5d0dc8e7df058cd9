"""parse_example, parse_sequence_example and decode_raw against tf.io, on records made here and on real files.

TensorFlow may live in another environment: HEADRACE_TENSORFLOW_PYTHON names its interpreter.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

HERE = Path(__file__).parent
DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
PYTHON = os.environ.get("HEADRACE_TENSORFLOW_PYTHON") or (
    sys.executable if importlib.util.find_spec("tensorflow") else ""
)
pytestmark = pytest.mark.skipif(not PYTHON, reason="no TensorFlow, and HEADRACE_TENSORFLOW_PYTHON names none")


def answers(jobs: list[dict[str, Any]]) -> list[Any]:
    done = subprocess.run(
        [PYTHON, HERE / "tensorflow_says.py"],
        input=json.dumps(jobs),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def texts(records: list[bytes]) -> list[str]:
    return [base64.b64encode(record).decode() for record in records]


# The wire format, by hand, so that every spelling of a message can be made.
def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def values_of(dtype: str, values: list[Any], packed: bool) -> bytes:
    if dtype == "bytes":
        return b"".join(field(1, value) for value in values)
    ones = [np.float32(v).tobytes() if dtype == "f32" else varint(v) for v in values]
    if packed:
        return field(1, b"".join(ones)) if values else b""
    return b"".join(bytes([0x0D if dtype == "f32" else 0x08]) + one for one in ones)


KIND = {"bytes": 1, "f32": 2, "i64": 3}


def feature(dtype: str, values: list[Any], packed: bool = True) -> bytes:
    return field(KIND[dtype], values_of(dtype, values, packed))


def entry(name: str, payload: bytes) -> bytes:
    return field(1, field(1, name.encode()) + field(2, payload))


def some(draw: random.Random, dtype: str, count: int) -> list[Any]:
    if dtype == "bytes":
        return [draw.randbytes(draw.randrange(5)) for _ in range(count)]
    if dtype == "f32":
        return [draw.choice([0.0, -1.5, 3e38, 1e-40, float("inf"), draw.random()]) for _ in range(count)]
    return [draw.choice([0, -1, 127, 128, 2**63 - 1, -(2**63), 2**53 + 1]) for _ in range(count)]


SPECS = {
    f"{dtype}_{kind}": {"kind": kind, "dtype": dtype, "shape": shape, "allow_missing": True}
    for dtype in KIND
    for kind, shape in {"fixed_len": [2], "var_len": [], "fixed_len_sequence": [2]}.items()
}


def with_defaults(draw: random.Random) -> dict[str, Any]:
    specs = json.loads(json.dumps(SPECS))
    for spec in specs.values():
        if spec["kind"] == "fixed_len" and draw.random() < 0.6:
            spec["default_value"] = {"bytes": ["", "ab"], "f32": [0.5, -2.0], "i64": [2**53 + 1, -1]}[
                spec["dtype"]
            ]
    return specs  # type: ignore[no-any-return]


def random_example(draw: random.Random) -> bytes:
    entries = []
    for name, spec in SPECS.items():
        if draw.random() < 0.15:
            continue
        if draw.random() < 0.05:
            entries.append(entry(name, b""))
            continue
        count = draw.choice([0, 1, 2, 4, 6]) if spec["kind"] == "var_len" else draw.choice([2] * 12 + [4, 1])
        dtype = spec["dtype"] if draw.random() < 0.97 else draw.choice(list(KIND))
        entries.append(entry(name, feature(dtype, some(draw, dtype, count), draw.random() < 0.5)))
    draw.shuffle(entries)
    return field(1, b"".join(entries))


def of_spec(spec: dict[str, Any]) -> Any:
    if spec["kind"] == "var_len":
        return hr.VarLenFeature(spec["dtype"])
    if spec["kind"] == "fixed_len":
        return hr.FixedLenFeature(spec["shape"], spec["dtype"], spec.get("default_value"))
    return hr.FixedLenSequenceFeature(spec["shape"], spec["dtype"], spec["allow_missing"])


def features(specs: dict[str, Any]) -> dict[str, Any]:
    return {name: of_spec(spec) for name, spec in specs.items()}


def split(whole: bytes, lengths: Any) -> list[str]:
    ends = np.cumsum(np.ravel(lengths)).tolist()
    assert (ends[-1] if ends else 0) == len(whole)
    return texts([whole[begin:end] for begin, end in zip([0, *ends], ends, strict=False)])


def check(got: Any, wanted: dict[str, Any]) -> None:
    """One feature's tensor, or {"values", "lengths"}, against what TensorFlow told."""
    if isinstance(got, bytes):
        assert (texts([got]), []) == (wanted["values"], wanted["shape"])
    elif isinstance(got, dict) and isinstance(got["values"], bytes):
        assert split(got["values"], got["lengths"]) == wanted["values"]
        assert list(got["lengths"].shape) == wanted["shape"]
    elif isinstance(got, dict):
        np.testing.assert_array_equal(got["lengths"], wanted["lengths"])
        np.testing.assert_array_equal(got["values"], np.array(wanted["values"], got["values"].dtype))
    else:
        assert list(got.shape) == wanted["shape"]
        np.testing.assert_array_equal(got.ravel(), np.array(wanted["values"], got.dtype))


def ours(job: dict[str, Any], record: bytes) -> list[dict[str, Any]] | None:
    """[context, sequence] or [features]; None where it is refused."""
    try:
        if job["op"] == "parse_example":
            return [hr.ops.parse_example(record, features=features(job["features"]))]
        sequence, context = features(job["sequence"]), features(job["context"])
        return list(
            hr.ops.parse_sequence_example(record, context_features=context, sequence_features=sequence)
        )
    except hr.CorruptSample:
        return None


def compare(job: dict[str, Any], told: list[Any]) -> int:
    """Check every record; how many both of us could read."""
    good = 0
    for record, wanted in zip(map(base64.b64decode, job["records"]), told, strict=True):
        got = ours(job, record)
        if got is None or "error" in wanted:
            assert (got is None) == ("error" in wanted), (record, wanted, got)
            continue
        good += 1
        for one, told_one in zip(got, [wanted] if isinstance(wanted, dict) else wanted, strict=True):
            assert set(one) == set(told_one)
            for name, value in one.items():
                check(value, told_one[name])
    return good


def test_examples_are_what_tf_io_makes_of_them() -> None:
    draw = random.Random(5)
    jobs = []
    for _ in range(8):
        records = texts([random_example(draw) for _ in range(60)])
        jobs.append({"op": "parse_example", "features": with_defaults(draw), "records": records})
    good = sum(compare(job, told) for job, told in zip(jobs, answers(jobs), strict=True))
    assert 40 < good < 450  # some of each


STEPS = {
    "frames": {"kind": "fixed_len_sequence", "dtype": "bytes", "shape": [], "allow_missing": True},
    "boxes": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": [2], "allow_missing": False},
    "words": {"kind": "var_len", "dtype": "i64"},
    "scores": {"kind": "var_len", "dtype": "f32"},
}


def random_sequence(draw: random.Random) -> bytes:
    lists = []
    for name, spec in STEPS.items():
        if draw.random() < 0.07:
            continue
        fixed = 1 if name == "frames" else 2
        steps = b""
        for _ in range(draw.randrange(4)):
            count = draw.randrange(4) if spec["kind"] == "var_len" else fixed + (draw.random() < 0.02)
            dtype = str(spec["dtype"])
            steps += field(1, feature(dtype, some(draw, dtype, count), draw.random() < 0.5))
        lists.append(entry(name, steps))
    return random_example(draw) + field(2, b"".join(lists))


def test_sequence_examples_are_what_tf_io_makes_of_them() -> None:
    draw = random.Random(7)
    context = {name: spec for name, spec in SPECS.items() if spec["kind"] == "var_len"}
    records = texts([random_sequence(draw) for _ in range(250)])
    job = {"op": "parse_sequence_example", "context": context, "sequence": STEPS, "records": records}
    assert 60 < compare(job, answers([job])[0]) < 245


def pieces(draw: random.Random) -> bytes:
    """An Example whose messages come in several pieces at every level."""
    example = b""
    for _ in range(draw.randrange(1, 3)):
        entries = b""
        for _ in range(draw.randrange(4)):
            name = draw.choice(["a", "b"])
            parts = field(1, name.encode())
            for _ in range(draw.randrange(1, 3)):
                dtypes = draw.choices(list(KIND), k=draw.randrange(3))
                parts += field(2, b"".join(feature(d, some(draw, d, 2), draw.random() < 0.5) for d in dtypes))
            entries += field(1, parts)
        example += field(1, entries)
    return example


def test_pieces_are_merged_as_protocol_buffers_do() -> None:
    draw = random.Random(11)
    records = [pieces(draw) for _ in range(300)]
    told = answers([{"op": "protobuf", "records": texts(records)}])[0]
    for record, wanted in zip(records, told, strict=True):
        for name, (dtype, values) in wanted.items():
            if dtype is None:
                continue
            got = hr.ops.parse_example(record, features={name: hr.VarLenFeature(dtype)})[name]
            check(got, {"values": values, "shape": [len(values)]})


def test_raw_numbers_are_what_tf_io_makes_of_them() -> None:
    record = random.Random(3).randbytes(240)
    names = ["uint8", "uint16", "int8", "int16", "int32", "int64", "float32", "float64", "float16", "bool"]
    jobs = [
        {"op": "decode_raw", "dtype": name, "little_endian": little, "records": texts([record])}
        for name in names
        for little in (True, False)
    ]
    for job, told in zip(jobs, answers(jobs), strict=True):
        if "error" in told[0]:
            continue
        got = hr.ops.decode_raw(record, dtype=job["dtype"], little_endian=job["little_endian"])
        check(got, told[0])


def real_files() -> list[dict[str, Any]]:
    if not (DATA / "truth.jsonl").is_file():
        return []
    lines = map(json.loads, (DATA / "truth.jsonl").read_text().splitlines())
    return [line for line in lines if line.get("kind") == "tfrecord" and line["status"] == "ok"]


@pytest.mark.skipif(not real_files(), reason="HEADRACE_DATA has no truth.jsonl")
def test_real_files_are_what_tf_io_makes_of_them() -> None:
    kinds = {"none": "", "gzip": "GZIP", "zlib": "ZLIB"}
    files = [line for line in real_files() if "elwc" not in line["path"]]  # those are another message
    jobs = [
        {"op": "file", "path": str(DATA / f["path"]), "compression": kinds[f["compression"]], "take": 12}
        for f in files
    ]
    read = 0
    for file, job in zip(files, answers(jobs), strict=True):
        if not job["answers"]:
            continue
        records = [bytes(s["record"]) for s in hr.read(DATA / file["path"]).take(12)]
        assert texts(records) == job["records"], file["path"]
        read += compare(job, job["answers"])
    assert read > 50
