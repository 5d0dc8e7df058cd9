"""What `headrace inspect` finds in tf.train.Examples, and that the call it prints can be pasted."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import headrace as hr

from .pictures import picture
from .test_tfrecord import framed


def field(number: int, payload: bytes) -> bytes:
    length = len(payload)
    varint = b""
    while length >= 0x80:
        varint += bytes([length & 0x7F | 0x80])
        length >>= 7
    return bytes([number << 3 | 2]) + varint + bytes([length]) + payload


def entry(name: str, kind: int, values: bytes) -> bytes:
    return field(1, field(1, name.encode()) + field(2, field(kind, values)))


def jpeg(i: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture(i, 24, 32)).save(out, "JPEG")
    return out.getvalue()


def example(i: int, *, image: bytes | None = None) -> bytes:
    entries = entry("image/encoded", 1, field(1, image or jpeg(i)))
    entries += entry("tags", 3, field(1, bytes(range(i))))
    entries += entry("box", 2, field(1, bytes(16)))
    if i % 2:
        entries += entry("label", 3, field(1, bytes([i])))
    return field(1, entries)


def headrace(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "import headrace_cli; headrace_cli.main()", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    (tmp_path / "a.tfrecord").write_bytes(framed(*[example(i) for i in range(1, 6)]))
    return tmp_path / "a.tfrecord"


def test_features_their_shapes_and_where_they_are_missing(records: Path) -> None:
    lines = [line.split() for line in headrace("inspect", records).stdout.splitlines()]
    assert ["features", "box", "float32", "(4)"] in lines
    assert ["image/encoded", "bytes", "()", "an", "encoded", "image"] in lines
    assert ["label", "int64", "()", "missing", "in", "2"] in lines
    assert ["tags", "int64", "(?)", "1", "to", "5", "values"] in lines
    assert ["images", "5", "JPEG", "colour"] in lines


def test_the_call_can_be_pasted(records: Path) -> None:
    told = json.loads(headrace("inspect", records, "--json").stdout)["examples"]
    assert (told["field"], told["operator"], told["missing"]) == ("record", "parse_example", {"label": 2})
    assert told["params"]["features"]["label"] == {
        "kind": "fixed_len",
        "dtype": "int64",
        "shape": [],
        "default_value": 0,
    }

    def parse(s: Any) -> Any:
        return eval(told["python"], {"hr": hr, "s": s})

    data = hr.read(records).map(parse)
    assert [int(s["label"]) for s in data] == [1, 0, 3, 0, 5]
    assert [len(s["tags"]) for s in data] == [1, 2, 3, 4, 5]
    assert data[0]["image/encoded"] == jpeg(1)


def test_images_in_examples_are_verified(records: Path) -> None:
    records.write_bytes(framed(example(1), example(2, image=jpeg(2)[:-40]), example(3)))
    done = headrace("verify", records)
    assert done.returncode == 1
    assert "1 of 3 samples broken" in done.stdout
    assert "record 1" in done.stdout


def test_sequences_have_steps(tmp_path: Path) -> None:
    steps = field(1, field(3, field(1, b"\7"))) * 3
    record = field(1, entry("id", 3, field(1, b"\1"))) + field(
        2, field(1, field(1, b"words") + field(2, steps))
    )
    (tmp_path / "s.tfrecord").write_bytes(framed(record, record))
    told = json.loads(headrace("inspect", tmp_path / "s.tfrecord", "--json").stdout)["examples"]
    context, sequence = eval(told["python"], {"hr": hr, "s": hr.read(tmp_path / "s.tfrecord")[0]})
    assert (int(context["id"]), sequence["words"].tolist()) == (1, [7, 7, 7])


def test_lists_of_examples_are_named_and_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "elwc.tfrecord"
    query = field(1, entry("query", 1, field(1, b"q")))
    lists = field(1, example(1)) + field(1, example(2)) + field(2, query)
    path.write_bytes(framed(lists, field(1, field(1, entry("only", 3, field(1, b"\1"))))))
    told = headrace("inspect", path).stdout
    assert "record       bytes   an ExampleListWithContext\n" in told
    assert "no operator parses an ExampleListWithContext" in told
    assert "features" not in told and "hr.ops" not in told and "18446744073709551615" not in told
    told = json.loads(headrace("inspect", path, "--json").stdout)
    assert "examples" not in told
    assert told["example_lists"] == {"field": "record", "operator": None}


def test_sequences_are_called_so(tmp_path: Path) -> None:
    steps = field(1, field(3, field(1, b"\7")))
    record = field(1, entry("id", 3, field(1, b"\1")))
    record += field(2, field(1, field(1, b"words") + field(2, steps)))
    (tmp_path / "s.tfrecord").write_bytes(framed(record))
    assert "   a tf.train.SequenceExample\n" in headrace("inspect", tmp_path / "s.tfrecord").stdout
    (tmp_path / "e.tfrecord").write_bytes(framed(example(1)))
    assert "   a tf.train.Example\n" in headrace("inspect", tmp_path / "e.tfrecord").stdout


def test_records_of_anything_else_are_none(tmp_path: Path) -> None:
    (tmp_path / "x.tfrecord").write_bytes(framed(b"", b"hello", os.urandom(50)))
    assert "examples" not in json.loads(headrace("inspect", tmp_path / "x.tfrecord", "--json").stdout)
