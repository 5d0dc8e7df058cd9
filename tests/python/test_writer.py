"""hr.writer: several threads, forked children, and what a failed close leaves."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr


def records(path: Path) -> list[bytes]:
    return [bytes(sample["record"]) for sample in hr.read(path)]


def test_threads_write_to_one_writer(tmp_path: Path) -> None:
    with hr.writer(tmp_path / "out.tfrecord", shard_size=20_000) as writer:

        def write(thread: int) -> None:
            for i in range(2000):
                writer.write({"record": b"%d-%d" % (thread, i)})

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(records(tmp_path / "out.tfrecord")) == sorted(
        b"%d-%d" % (thread, i) for thread in range(4) for i in range(2000)
    )


def exit_code(pid: int) -> int:
    """Wait for a child that may hang."""
    for _ in range(200):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork() beside threads, which this is about
def test_a_forked_child_leaves_the_writer_to_its_parent(tmp_path: Path) -> None:
    writer = hr.writer(tmp_path / "out.tfrecord", schema={"record": ("bytes", [None])})
    writer.write({"record": b"x" * 300_000})
    child = os.fork()
    if child == 0:
        try:
            writer.write({"record": b"y"})
        except RuntimeError as error:
            del writer
            os._exit(0 if "cannot be used in a forked process" in str(error) else 2)
        os._exit(1)
    assert exit_code(child) == 0
    writer.write({"record": b"x"})
    assert writer.close()["samples"] == 2


def test_a_failed_close_is_over(tmp_path: Path) -> None:
    path = tmp_path / "out.tfrecord"
    writer = hr.writer(path)
    writer.write({"record": b"x"})
    path.write_bytes(b"of somebody else")
    for _ in range(2):
        with pytest.raises(ValueError, match="exists already"):
            writer.close()
    with pytest.raises(ValueError, match="the writer is closed"):
        writer.write({"record": b"x"})
    path.unlink()
    with hr.writer(path) as again:
        again.write({"record": b"y"})
    assert records(path) == [b"y"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.tfrecord", "out.tfrecord.headrace.json"]


def test_the_fields_of_a_dict_may_come_in_any_order(tmp_path: Path) -> None:
    with hr.writer(tmp_path / "x.arrow") as w:
        w.write({"a": 1, "b": b"one"})
        w.write({"b": b"two", "a": 2})
    assert [(int(s["a"]), s["b"]) for s in hr.read(tmp_path / "x.arrow").numpy()] == [
        (1, b"one"),
        (2, b"two"),
    ]


@pytest.mark.parametrize("name", ["x.arrow", "x.parquet", "x.jsonl", "x.mds"])
def test_lists_of_texts_are_one_field(tmp_path: Path, name: str) -> None:
    """Of str as of bytes, in dicts in dicts and in any order of keys; of none too, once it is known of what."""
    rows: list[Any] = [{"a": ["x", "ä", ""], "in": {"b": ["y"]}}, {"a": [], "in": {"b": ["ü", "z"]}}]
    rows += [{"in": {"b": []}, "a": ["😀"]}]
    with hr.writer(tmp_path / name) as w:
        for row in rows:
            w.write(row)
    for row, sample in zip(rows, hr.read(tmp_path / name), strict=True):
        flat = {key: sample[key] for key in sample if not isinstance(sample[key], dict)}
        flat |= {f"{k}/{n}": v for k in sample if isinstance(sample[k], dict) for n, v in sample[k].items()}
        if isinstance(flat.get("in/b"), dict):
            flat |= {f"in/b/{n}": v for n, v in flat.pop("in/b").items()}
        for path, texts in (("a", row["a"]), ("in/b", row["in"]["b"])):
            assert flat[f"{path}/values"] == "".join(texts)
            assert flat[f"{path}/lengths"].tolist() == [len(text.encode()) for text in texts]


def test_lists_of_bytes_and_what_is_no_list_of_texts(tmp_path: Path) -> None:
    texts = {"values": ("bytes", [None]), "lengths": ("i64", [None])}
    with hr.writer(tmp_path / "a.arrow", {"x": texts}) as w:
        w.write({"x": []})
        w.write({"x": [b"\xff", b"ab"]})
    assert [(s["x"]["values"], s["x"]["lengths"].tolist()) for s in hr.read(tmp_path / "a.arrow")] == [
        (b"", []),
        (b"\xffab", [1, 2]),
    ]
    with hr.writer(tmp_path / "b.arrow") as w:
        w.write({"x": ["a", b"b"], "y": ("c", "d")})
    assert hr.read(tmp_path / "b.arrow")[0] == {"x/0": "a", "x/1": b"b", "y/0": "c", "y/1": "d"}
    with hr.writer(tmp_path / "d.arrow") as w:
        w.write(["a", "b"])
    assert hr.read(tmp_path / "d.arrow")[0] == {"0": "a", "1": "b"}
    w = hr.writer(tmp_path / "c.arrow")
    with pytest.raises(ValueError, match="surrogate"):
        w.write({"x": ["\ud800"]})
    w.discard()


def test_what_a_format_cannot_hold_is_told_with_the_first_sample(tmp_path: Path) -> None:
    w = hr.writer(tmp_path / "x.lmdb")
    with pytest.raises(ValueError, match="lmdb: expected one bytes field"):
        w.write({"image": b"jpeg", "x": 0.5})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("schema", "sample", "match"),
    [
        (
            {"x": ("u8", [None, None]), "x/shape": ("i64", [2])},
            None,
            "two features would be named 'x/shape'",
        ),
        (
            {"x": ("f64", [])},
            {"x": 0.1},
            "'x': expected numbers that float32 holds exactly, got 0.1; allow rounding with round=True",
        ),
        ({"x": ("u64", [])}, {"x": np.uint64(2**63)}, "'x': expected integers below 2"),
    ],
)
def test_no_tfrecord_is_written_that_reads_as_another(
    tmp_path: Path, schema: Any, sample: Any, match: str
) -> None:
    sample = sample or {"x": np.zeros((2, 3), np.uint8), "x/shape": np.zeros(2, np.int64)}
    with pytest.raises(ValueError, match=match), hr.writer(tmp_path / "x.tfrecord", schema) as w:
        w.write(sample)
    assert list(tmp_path.iterdir()) == []


def test_shards_keep_the_ending_of_the_target(tmp_path: Path) -> None:
    hr.range(10).write(tmp_path / "n.tfrecord.gz", shards=2)
    names = sorted(path.name for path in (tmp_path / "n.tfrecord.gz").iterdir())
    assert names == ["headrace.json", "n-00000-of-00002.tfrecord.gz", "n-00001-of-00002.tfrecord.gz"]
    assert len(hr.read(tmp_path / "n.tfrecord.gz")) == 10


@pytest.mark.parametrize("target", ["n.rec", "n.tfrecord/"])
def test_verify_looks_at_what_was_written(tmp_path: Path, target: str) -> None:
    shards = {"shards": 3} if target.endswith("/") else {}
    data = hr.from_arrays(
        {"payload": [bytes([i]) * 100 for i in range(30)], "label": np.arange(30.0, dtype="f4")}
    )
    for _ in range(2):  # the second time beside the files of the first
        report = data.write(f"{tmp_path}/{target}", verify=True, overwrite=True, **shards)
        assert report["samples"] == 30


def test_functions_that_may_have_changed_are_not_gone_on_with(tmp_path: Path) -> None:
    def stopped_at(progress: dict[str, Any]) -> bool:
        return progress["samples"] < 1500

    def data(add: int) -> hr.Dataset:
        return hr.range(2000).map(lambda s: {"x": s + add}, python=True)

    target = tmp_path / "n.arrow"
    with pytest.raises(Exception, match="stopped"):
        data(0).write(target, shard_size=4096, progress=stopped_at)
    assert data(1).write(target, shard_size=4096)["reused_shards"] == 0
    assert [int(s["x"]) for s in hr.read(target).numpy()] == list(range(1, 2001))
