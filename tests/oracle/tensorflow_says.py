"""What TensorFlow makes of serialised Examples: JSON in, JSON out, in an interpreter that has TensorFlow.

    python tests/oracle/tensorflow_says.py < jobs.json > answers.json

Run by test_tensorflow.py; nothing here knows of Headrace.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

KINDS = {"bytes_list": "bytes", "float_list": "f32", "int64_list": "i64"}
DTYPES = {"bytes": tf.string, "f32": tf.float32, "i64": tf.int64}


def told(value: Any) -> Any:
    """A tensor as JSON: {"shape", "values"}, or {"values", "lengths"} of a sparse one of steps."""
    if isinstance(value, tf.SparseTensor):
        if value.shape.rank == 1:
            return told(value.values)
        steps = int(value.dense_shape[0])
        lengths = np.bincount(value.indices.numpy()[:, 0], minlength=steps) if steps else np.zeros(0, int)
        return {"values": told(value.values)["values"], "lengths": lengths.tolist()}
    array = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    if value.dtype == tf.string:
        items = [base64.b64encode(item).decode() for item in np.asarray(array, object).ravel()]
    else:
        items = np.asarray(array).ravel().tolist()
    return {"shape": list(value.shape), "values": items}


def feature(spec: dict[str, Any]) -> Any:
    """One of tf.io's features from {"kind", "dtype", "shape", …}."""
    dtype = DTYPES[spec["dtype"]]
    if spec["kind"] == "var_len":
        return tf.io.VarLenFeature(dtype)
    if spec["kind"] == "fixed_len":
        return tf.io.FixedLenFeature(spec["shape"], dtype, spec.get("default_value"))
    return tf.io.FixedLenSequenceFeature(spec["shape"], dtype, allow_missing=spec["allow_missing"])


def features(specs: dict[str, Any]) -> Any:
    return {name: feature(spec) for name, spec in specs.items()}


def parse(job: dict[str, Any], record: bytes) -> Any:
    """{"name": tensor}, [context, sequence], or the class of the error."""
    try:
        if job["op"] == "decode_raw":
            return told(tf.io.decode_raw(record, job["dtype"], job["little_endian"]))
        if job["op"] == "parse_example":
            out = tf.io.parse_single_example(record, features(job["features"]))
            return {name: told(value) for name, value in out.items()}
        both = tf.io.parse_single_sequence_example(
            record, features(job["context"]), features(job["sequence"])
        )
        return [{name: told(value) for name, value in one.items()} for one in both]
    except (tf.errors.InvalidArgumentError, tf.errors.DataLossError) as error:
        return {"error": type(error).__name__}


def protobuf(record: bytes) -> dict[str, Any]:
    """What protocol buffers themselves read: {"name": [dtype, values]}."""
    out = {}
    for name, one in tf.train.Example.FromString(record).features.feature.items():
        kind = one.WhichOneof("kind")
        values = list(getattr(one, kind).value) if kind else []
        out[name] = [
            KINDS.get(kind),
            [base64.b64encode(v).decode() for v in values] if kind == "bytes_list" else values,
        ]
    return out


def merged(specs: dict[str, Any], name: str, kind: str | None, count: int) -> None:
    """Widen a spec by one more feature that was seen."""
    if kind is None:
        return
    known = specs.setdefault(name, {"kind": "fixed_len", "dtype": KINDS[kind], "shape": [count], "seen": 0})
    known["seen"] += 1
    if known["shape"] != [count]:
        known["kind"] = "var_len"


def length_of(one: Any) -> tuple[str | None, int]:
    kind = one.WhichOneof("kind")
    return kind, len(getattr(one, kind).value) if kind else 0


def real_file(job: dict[str, Any]) -> dict[str, Any]:
    """The first records of a file, a job that fits them, and its answers."""
    data = tf.data.TFRecordDataset(job["path"], compression_type=job["compression"])
    records = [r.numpy() for r in data.take(job["take"])]
    context: dict[str, Any] = {}
    sequence: dict[str, Any] = {}
    try:
        messages = [tf.train.SequenceExample.FromString(record) for record in records]
    except DecodeError:
        messages = []  # records of something else
    for message in messages:
        for name, one in message.context.feature.items():
            merged(context, name, *length_of(one))
        for name, steps in message.feature_lists.feature_list.items():
            kinds = {kind for kind, _ in map(length_of, steps.feature) if kind}
            counts = {count for _, count in map(length_of, steps.feature)}
            if len(kinds) == 1:
                fixed = sequence.get(name, {"counts": set()})["counts"] | counts
                sequence[name] = {"dtype": KINDS[kinds.pop()], "counts": fixed}
    for spec in context.values():
        if spec.pop("seen") < len(records):
            spec["kind"] = "var_len"
        if spec["kind"] == "fixed_len" and spec["shape"] == [1]:
            spec["shape"] = []
    for name, spec in list(sequence.items()):
        counts = spec.pop("counts")
        spec["kind"] = "fixed_len_sequence" if counts == {1} else "var_len"
        spec["shape"], spec["allow_missing"] = [], True
        if spec["dtype"] == "bytes" and spec["kind"] == "var_len":
            del sequence[name]
    told_job = (
        {"op": "parse_sequence_example", "context": context, "sequence": sequence}
        if sequence
        else {"op": "parse_example", "features": context}
    )
    told_job["records"] = [base64.b64encode(record).decode() for record in records]
    told_job["answers"] = [parse(told_job, record) for record in records] if context or sequence else []
    return told_job


def main() -> None:
    answers = []
    for job in json.load(sys.stdin):
        if job["op"] == "file":
            answers.append(real_file(job))
            continue
        records = map(base64.b64decode, job["records"])
        answers.append([protobuf(r) if job["op"] == "protobuf" else parse(job, r) for r in records])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
