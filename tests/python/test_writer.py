"""hr.writer: several threads, forked children, and what a failed close leaves."""

import os
import signal
import threading
import time
from pathlib import Path

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
            os._exit(0 if "of the process that made it" in str(error) else 2)
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
        with pytest.raises(ValueError, match="is there already"):
            writer.close()
    with pytest.raises(ValueError, match="the writer is closed"):
        writer.write({"record": b"x"})
    path.unlink()
    with hr.writer(path) as again:
        again.write({"record": b"y"})
    assert records(path) == [b"y"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.tfrecord", "out.tfrecord.headrace.json"]
