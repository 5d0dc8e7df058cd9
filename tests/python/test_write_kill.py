"""Writers that are killed at any moment leave the old data set or the new one, and nothing in the next one's way.

HEADRACE_NIGHTLY=1 kills 1,000 of each form.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace as hr

KILLS = 1000 if os.environ.get("HEADRACE_NIGHTLY") else 20
LONGEST = 0.15  # seconds until a kill: some data sets are written meanwhile

# Forks a writer for each line, so that starting one takes no time: "path shard_size overwrite first". The writer
# writes the generations first, first + 1, ... each over the last one, or as data sets of their own.
WRITERS = """
import os, sys
import headrace as hr
for line in sys.stdin:
    path, shard_size, overwrite, first = line.split("\\t")
    child = os.fork()
    if child == 0:
        generation = int(first)
        while True:
            target = path if overwrite == "yes" else path.replace("NUMBER", str(generation))
            given = {"shard_size": int(shard_size)} if int(shard_size) else {}
            with hr.writer(target, overwrite=overwrite == "yes", **given) as writer:
                for i in range(4 + generation % 5):
                    writer.write({"record": b"%d " % generation * (i + 1)})
            generation += 1
    print(child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


@pytest.fixture(scope="module")
def writers() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", WRITERS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def write_and_kill(
    writers: subprocess.Popen[str], path: Path, shard_size: int, overwrite: bool, first: int, seconds: float
) -> None:
    assert writers.stdin is not None and writers.stdout is not None
    print(path, shard_size, "yes" if overwrite else "no", first, sep="\t", file=writers.stdin, flush=True)
    child = int(writers.stdout.readline())
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    assert writers.stdout.readline() == "dead\n"


def records(path: Path) -> list[bytes]:
    return [bytes(sample["record" if "record" in sample else "data"]) for sample in hr.read(path)]


def generation_at(path: Path) -> int:
    """Read a data set, which is one generation's, whole."""
    samples = records(path)
    generation = int(samples[0])
    assert samples == [b"%d " % generation * (i + 1) for i in range(4 + generation % 5)]
    return generation


FORMS = [("NUMBER.rec", 0), ("NUMBER.tfrecord", 60)]


@pytest.mark.parametrize(("name", "shard_size"), FORMS, ids=["file", "shards"])
def test_a_killed_writer_leaves_whole_data_sets(
    writers: subprocess.Popen[str], tmp_path: Path, name: str, shard_size: int
) -> None:
    generator = random.Random(1)
    for _ in range(KILLS):
        path = tmp_path / "data" / name
        path.parent.mkdir()
        write_and_kill(writers, path, shard_size, False, 10, generator.uniform(0, LONGEST))
        generation = 10
        while (target := Path(str(path).replace("NUMBER", str(generation)))).exists():
            assert generation_at(target) == generation
            generation += 1
        # What the killed one left, before or after its data set appeared, is in nobody's way.
        left = list(path.parent.glob("*.partial"))
        assert len(left) <= 1
        target = left[0].with_suffix("") if left else target
        with hr.writer(
            target, overwrite=True, **({"shard_size": shard_size} if shard_size else {})
        ) as writer:
            writer.write({"record": b"again"})
        assert records(target) == [b"again"]
        assert not list(path.parent.glob("*.partial"))
        shutil.rmtree(path.parent)


@pytest.mark.parametrize(("name", "shard_size"), FORMS, ids=["file", "shards"])
def test_a_killed_writer_leaves_the_old_data_set_or_the_new_one(
    writers: subprocess.Popen[str], tmp_path: Path, name: str, shard_size: int
) -> None:
    generator = random.Random(2)
    path = tmp_path / name
    last = 10
    for _ in range(KILLS):
        write_and_kill(writers, path, shard_size, True, last + 1, generator.uniform(0, LONGEST))
        if path.exists():
            found = generation_at(path)
            assert found >= last
            last = found
    with hr.writer(path, overwrite=True) as writer:
        writer.write({"record": b"again"})
    assert last > 10
    beside = [".headrace.json", ".idx"] if name.endswith(".rec") else [".headrace.json"]
    assert len(list(tmp_path.iterdir())) == 1 + len(beside)
