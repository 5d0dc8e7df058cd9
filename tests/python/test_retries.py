"""Reads that fail for now are tried again, as often as options(retries=) says; threads that cannot be started are named."""

import errno
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")

READ = """
import sys
import headrace as hr
loader = hr.read(sys.argv[1]).batch(4).options(workers=1, io=1, map_files=False, **eval(sys.argv[2])).numpy()
import os
os.environ["FAILING_PATH"] = sys.argv[3]
try:
    rows = [x for batch in loader for x in batch["x"].tolist()]
    print(rows == list(range(40)), loader.report()["io"].get("retried"), "retr" in str(loader.report()))
except OSError as error:
    print(error.errno, error)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("failing") / "failing_calls.so"
    source = Path(__file__).with_name("failing_calls.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", source, "-o", out, "-ldl"], check=True)
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "x.arrow"
    hr.from_arrays({"x": np.arange(40)}).write(path, progress=False)
    return path


def run(library: Path, data: Path, error: int, reads: int, options: str = "{}", opening: bool = False) -> str:
    """`opening`: the reads of hr.read() fail, else those of the run."""
    environment = {"LD_PRELOAD": str(library), "FAILING_ERROR": str(error), "FAILING_READS": str(reads)}
    if opening:
        environment["FAILING_PATH"] = "x.arrow"
    environment["PATH"] = "/usr/bin:/bin"
    # What an index in the cache says is not read again by hr.read().
    environment["XDG_CACHE_HOME"] = str(data.parent / ("no cache" if opening else "cache"))
    command = [sys.executable, "-c", READ, str(data), options, "x.arrow"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.strip()


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.EAGAIN, errno.ETIMEDOUT])
def test_reads_that_fail_for_now_are_tried_again(library: Path, data: Path, error: int):
    assert run(library, data, error, 2) == "True 2 True"


def test_those_of_opening_too(library: Path, data: Path):
    assert run(library, data, errno.EIO, 2, opening=True) == "True None False"


def test_a_read_that_keeps_failing_is_an_error(library: Path, data: Path):
    said = run(library, data, errno.EIO, 10**9)
    assert said.startswith(f"{errno.EIO} ") and "x.arrow" in said and "sample 0" in said


def test_their_number_is_an_option(library: Path, data: Path):
    assert run(library, data, errno.EIO, 1, "{'retries': 0}").startswith(f"{errno.EIO} ")
    assert run(library, data, errno.EIO, 4, "{'retries': 4}") == "True 4 True"


def test_other_errors_are_not_tried_again(library: Path, data: Path):
    assert run(library, data, errno.EACCES, 1).startswith(f"{errno.EACCES} ")


def test_the_option_is_checked():
    ds = hr.range(3)
    with pytest.raises(ValueError, match="options: retries must be at least 0, got -1"):
        ds.options(retries=-1)
    with pytest.raises(TypeError, match="options: retries must be an integer, got '3'"):
        ds.options(retries="3")


NO_THREADS = """
import os, sys
import headrace as hr
ds = hr.read(sys.argv[1]).batch(4)
os.environ["FAILING_THREADS"] = "1"
try:
    next(iter(ds.numpy()))
except OSError as error:
    print(error)
print(len(list(ds.options(workers=0).numpy())), len(hr.read(sys.argv[1])))
"""


def test_no_thread_can_be_started(library: Path, data: Path):
    environment = {
        "LD_PRELOAD": str(library),
        "PATH": "/usr/bin:/bin",
        "XDG_CACHE_HOME": str(data.parent / "cache"),
    }
    command = [sys.executable, "-c", NO_THREADS, str(data)]
    said = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True
    ).stdout.splitlines()
    assert "cannot start a thread: Resource temporarily unavailable" in said[0]
    assert "options(workers=0) reads and computes without threads" in said[0]
    assert said[1] == "10 40"
