"""parse_example and its kin as a user writes them: traced, batched, saved as a plan, at once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops

from .test_tfrecord import framed


def field(number: int, payload: bytes) -> bytes:
    return bytes([number << 3 | 2, len(payload)]) + payload


def entry(name: bytes, kind: int, values: bytes) -> bytes:
    return field(1, field(1, name) + field(2, field(kind, values)))


def digit(label: int, tags: int) -> bytes:
    """Four pixels as raw bytes, a label, and some tags."""
    pixels = bytes([label, label + 1, label + 2, label + 3])
    return field(
        1,
        entry(b"image_raw", 1, field(1, pixels))
        + entry(b"label", 3, field(1, bytes([label])))
        + entry(b"tags", 3, field(1, bytes(range(tags))))
        + entry(b"names", 1, field(1, b"ab") + field(1, b"c")),
    )


FEATURES = {
    "image_raw": hr.FixedLenFeature((), "bytes"),
    "label": hr.FixedLenFeature((), np.int64),
    "weight": hr.FixedLenFeature([], "f32", default_value=1),
    "tags": hr.VarLenFeature("int64"),
    "names": hr.VarLenFeature(bytes),
}


def parse(sample: Any) -> dict[str, Any]:
    example = ops.parse_example(sample.record, features=FEATURES)
    return {
        "image": ops.decode_raw(example.image_raw, dtype="u8", shape=(2, 2)),
        "label": ops.one_hot(example.label, depth=10),
        "weight": example["weight"],
        "names": example.names,
        "tags": example.tags,
    }


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    (tmp_path / "digits.tfrecord").write_bytes(framed(*[digit(label, label % 3) for label in range(8)]))
    return tmp_path / "digits.tfrecord"


def test_a_traced_map_parses_whole_examples(digits: Path) -> None:
    data = hr.read(digits).map(parse)
    sample = data[4]
    assert sample["image"].tolist() == [[4, 5], [6, 7]]
    assert sample["label"].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert sample["weight"] == 1
    assert sample["tags"].tolist() == [0]
    assert (sample["names"]["values"], sample["names"]["lengths"].tolist()) == (b"abc", [2, 1])
    batch = next(iter(data.batch(4, ragged=True)))
    assert np.stack(batch["image"]).shape == (4, 2, 2)
    assert [len(tags) for tags in batch["tags"]] == [0, 1, 2, 0]


def test_what_it_gives_is_a_sample_too(digits: Path) -> None:
    data = hr.read(digits).map(
        lambda s: ops.parse_example(s.record, features={"label": hr.FixedLenFeature((), "i64")})
    )
    assert [int(s["label"]) for s in data] == list(range(8))


def test_the_features_are_in_the_plan(digits: Path, tmp_path: Path) -> None:
    hr.read(digits).map(parse).save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json")
    for one, other in zip(hr.read(digits).map(parse), again, strict=True):
        assert one["image"].tolist() == other["image"].tolist()
        assert one["names"]["values"] == other["names"]["values"]


def test_it_computes_at_once_too() -> None:
    got = ops.parse_example(digit(3, 2), features=FEATURES)
    assert got.image_raw == b"\3\4\5\6"
    assert got.tags.tolist() == [0, 1]
    steps = field(2, field(1, field(1, b"x") + field(2, field(1, field(3, field(1, b"\7"))) * 3)))
    context, sequence = ops.parse_sequence_example(
        steps, sequence_features={"x": hr.FixedLenSequenceFeature((), "i64")}
    )
    assert (context, sequence["x"].tolist()) == ({}, [7, 7, 7])


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(hr.CorruptSample, match="the example has no feature 'no'"):
        ops.parse_example(digit(3, 2), features={"no": hr.FixedLenFeature((), "f32")})
    with pytest.raises(ValueError, match="features: 'x': dtype must be bytes, int64 or float32"):
        ops.parse_example(digit(3, 2), features={"x": hr.FixedLenFeature((), "f64")})
    with pytest.raises(ValueError, match="UTF-8"):
        ops.parse_example(b"", features={"x": hr.FixedLenFeature((), "bytes", b"\xff")})
    with pytest.raises(TypeError, match="pass features by name"):
        ops.parse_example(b"", {})  # type: ignore[misc]
