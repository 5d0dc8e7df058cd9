"""What opening a list of shards asks of the file system, counted by strace, and how much of them it reads."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from io import BytesIO
from pathlib import Path
from typing import Literal

import pytest

import headrace as hr

STRACE = shutil.which("strace")
needs_strace = pytest.mark.skipif(
    STRACE is None and not os.environ.get("CI"), reason="wants strace; in CI it has to be there"
)

MOST_CALLS = 10
# What a metadata server answers. Reads, and what is done with an open file but fstat, are none of its business.
METADATA = re.compile(
    r"^(?:\d+ +)?(open|openat|openat2|stat|lstat|fstat|newfstatat|statx|access|faccessat2?|readlink|readlinkat|getdents64"
    r"|statfs|fstatfs|mkdir|unlink|rename)\("
)

READ = """
import os
import headrace as hr
os.path.exists("/begin-of-the-read")
"""


def write_tar(path: Path, number: int, members: int = 4, size: int = 700) -> None:
    """Write a small shard, whose members have the shard's number in them."""
    with tarfile.open(path, "w") as file:
        for i in range(members):
            info = tarfile.TarInfo(f"{number:06d}_{i:04d}.bin")
            data = f"{number}-{i}-".encode().ljust(size, b".")
            info.size = len(data)
            file.addfile(info, BytesIO(data))


def shards(folder: Path, count: int, **kwargs: int) -> str:
    """Write numbered shards, and return their pattern."""
    folder.mkdir(parents=True)
    for i in range(count):
        write_tar(folder / f"{i:06d}.tar", i, **kwargs)
    time.sleep(
        0.1
    )  # until names written before are told from names written afterwards, by the clock of the disk
    return str(folder / f"{{{0:06d}..{count - 1:06d}}}.tar")


def environment(tmp_path: Path) -> dict[str, str]:
    """Give the processes of a test their own cache folder."""
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}


def run(code: str, env: dict[str, str]) -> str:
    """Run Python code in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def first_batch(paths: object) -> str:
    """Code that opens paths and takes a batch, between two marks in the trace."""
    return (
        f"{READ}batch = next(iter(hr.read({paths!r}).batch(8).numpy()))\n"
        "os.path.exists('/end-of-the-read')\nprint(len(batch['bin']))\nos._exit(0)"
    )


def calls(code: str, env: dict[str, str], log: Path, below: list[Path]) -> list[str]:
    """Return the metadata calls between the marks that name something below these folders."""
    assert STRACE is not None, "strace is not installed: tools/install_system_packages.sh --dev"
    done = subprocess.run(
        [STRACE, "-f", "-y", "-s", "4096", "-o", str(log), sys.executable, "-c", code],
        check=False,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in log.read_text(errors="replace").splitlines() if "execve(" not in line]
    begin = next(i for i, line in enumerate(lines) if "/begin-of-the-read" in line)
    end = next(i for i, line in enumerate(lines) if "/end-of-the-read" in line)
    places = [str(folder) for folder in below]
    return [
        line
        for line in lines[begin + 1 : end]
        if METADATA.match(line) and any(place in line for place in places)
    ]


def check(asked: list[str]) -> None:
    """Check what was asked: each shard is opened once, and little else but the sizes of those that are open."""
    text = "\n".join(asked)
    assert asked
    opened = [line.split('"')[1] for line in asked if "openat(" in line and '.tar"' in line]
    assert 1 <= len(opened) == len(set(opened)) <= 30, text
    # A shard on a disk of this machine is mapped, and its size compared each time: that asks no server.
    of_open = [line for line in asked if re.search(r"(fstat|newfstatat|fstatfs)\(\d+<[^>]*\.tar>", line)]
    others = [line for line in asked if line not in of_open and not ("openat(" in line and '.tar"' in line)]
    assert len(others) <= MOST_CALLS, text


@needs_strace
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("count", [1, 14, 1024])
def test_a_warm_start_asks_ten_things_however_many_shards_there_are(
    count: int, beside: bool, tmp_path: Path
) -> None:
    pattern = shards(tmp_path / "data", count)
    env = environment(tmp_path)
    if beside:
        run(f"import headrace as hr; hr.index({pattern!r}, beside=True, progress=False)", env)
        assert list((tmp_path / "data" / ".headrace").glob("*.hri"))
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    else:
        run(first_batch(pattern), env)
    asked = calls(first_batch(pattern), env, tmp_path / "log", [tmp_path / "data", tmp_path / "cache"])
    check(asked)


@needs_strace
@pytest.mark.parametrize("how", ["folder", "glob", "list"])
def test_folders_globs_and_lists_ask_no_more(how: str, tmp_path: Path) -> None:
    shards(tmp_path / "data", 64)
    data = tmp_path / "data"
    paths: object = {
        "folder": str(data),
        "glob": str(data / "*.tar"),
        "list": [str(data / f"{i:06d}.tar") for i in range(64)],
    }[how]
    env = environment(tmp_path)
    run(first_batch(paths), env)
    check(calls(first_batch(paths), env, tmp_path / "log", [data, tmp_path / "cache"]))


BYTES_READ = """
import json, os
import headrace as hr
def taken():
    with open("/proc/self/io") as file:
        return {line.split(":")[0]: int(line.split()[1]) for line in file}
before = taken()
data = hr.read(PATTERN)
after = taken()
print(json.dumps({"size": len(data), "bytes": after["rchar"] - before["rchar"], "calls": after["syscr"] - before["syscr"]}))
"""


def opened(pattern: str, env: dict[str, str]) -> dict[str, int]:
    """Open shards in a process of its own; what it has read."""
    out: dict[str, int] = json.loads(run(BYTES_READ.replace("PATTERN", repr(pattern)), env))
    return out


def test_small_tars_are_walked_once(tmp_path: Path) -> None:
    pattern = shards(tmp_path / "data", 200, members=50)
    env = environment(tmp_path)
    cold, warm = opened(pattern, env), opened(pattern, env)
    assert cold["size"] == warm["size"] == 200 * 50
    assert cold["calls"] > 1000
    assert warm["bytes"] < 1 << 20, warm
    assert warm["calls"] < 50, warm
    kept = list((tmp_path / "cache" / "headrace").glob("*.hri"))
    assert len(kept) == 1, kept


def test_processes_that_start_at_once_walk_each_shard_once(tmp_path: Path) -> None:
    count, processes = 40, 16
    pattern = shards(tmp_path / "data", count, members=100)
    alone = opened(pattern, {**environment(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "other")})
    env = environment(tmp_path)
    code = BYTES_READ.replace("PATTERN", repr(pattern))
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    all_ = [json.loads(process.communicate(timeout=300)[0]) for process in running]
    assert {one["size"] for one in all_} == {count * 100}
    walked = [one for one in all_ if one["calls"] > alone["calls"] // 2]
    assert len(walked) == 1, all_


def change(path: Path, how: str) -> None:
    """Change a shard in place, so that its folder says nothing."""
    before = path.stat()
    if how == "touch":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
        return
    with path.open("r+b") as file:
        if how == "size":
            file.seek(0, os.SEEK_END)
            file.write(bytes(10240))
        else:
            file.seek(512)
            file.write(b"changed")
    if how == "back":  # as rsync and touch -r do
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def every(pattern: str) -> list[bytes]:
    """All samples of shards."""
    return [bytes(batch["bin"][0]) for batch in hr.read(pattern).batch(1).numpy()]


@pytest.mark.parametrize("how", ["size", "touch", "content", "back"])
@pytest.mark.parametrize("which", [0, 7])
def test_a_shard_that_changed_is_never_read_as_it_was(
    how: str, which: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pattern = shards(tmp_path / "data", 20)
    shard = tmp_path / "data" / f"{which:06d}.tar"
    for i in range(20):  # one that is not the last to be written, which is looked at
        os.utime(tmp_path / "data" / f"{i:06d}.tar", ns=(10**18 + i, 10**18 + i))
    time.sleep(0.1)
    before = every(pattern)
    assert every(pattern) == before
    change(shard, how)
    if which == 0:  # the first is looked at when the data are opened
        after = every(pattern)
    else:
        with pytest.raises(OSError, match=rf"{shard.name}.*changed since its index was made"):
            every(pattern)
        after = every(pattern)  # the index is dropped
    assert len(after) == len(before)
    assert (after == before) == (how in ("touch", "size"))


def test_what_a_link_leads_to_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shards(tmp_path / "real", 6, members=5)
    (tmp_path / "links").mkdir()
    for i in range(6):
        os.utime(tmp_path / "real" / f"{i:06d}.tar", ns=(10**18 + i, 10**18 + i))
        (tmp_path / "links" / f"{i:06d}.tar").symlink_to(tmp_path / "real" / f"{i:06d}.tar")
    time.sleep(0.1)
    for _ in range(2):
        assert len(list(hr.read(tmp_path / "links").on_error("skip"))) == 30
    (tmp_path / "real" / "000003.tar").unlink()
    with pytest.raises(OSError, match=r"000003\.tar"):
        hr.read(tmp_path / "links")


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_on_error_leaves_out_nothing_of_a_shard_that_changed(
    policy: Literal["skip", "replace"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pattern = shards(tmp_path / "data", 6, members=5)
    for i in range(6):
        os.utime(tmp_path / "data" / f"{i:06d}.tar", ns=(10**18 + i, 10**18 + i))
    time.sleep(0.1)
    assert len(every(pattern)) == 30
    change(tmp_path / "data" / "000003.tar", "content")
    data = hr.read(pattern).on_error(policy)
    with pytest.raises(
        OSError, match=r"000003\.tar.*changed since its index was made: .* UTC.*call hr\.read again"
    ) as raised:
        list(data)
    assert raised.value.errno == errno.ESTALE
    with pytest.raises(OSError, match="changed since"):  # the data set stays one of other files
        list(data)
    assert len(list(hr.read(pattern).on_error(policy))) == 30


def test_one_that_was_replaced_or_removed_or_added_is_seen_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shards(tmp_path / "data", 20)
    pattern = str(tmp_path / "data" / "*.tar")
    before = every(pattern)
    assert every(pattern) == before
    write_tar(tmp_path / "new", 99, members=6)
    (tmp_path / "new").rename(tmp_path / "data" / "000007.tar")
    assert len(every(pattern)) == len(before) + 2
    (tmp_path / "data" / "000003.tar").unlink()
    assert len(every(pattern)) == len(before) - 2
    with pytest.raises(OSError, match="000003"):
        hr.read(str(tmp_path / "data" / "{000000..000019}.tar"))
    write_tar(tmp_path / "data" / "000020.tar", 20)
    assert len(every(pattern)) == len(before) + 2


def test_a_folder_that_cannot_be_written_to_has_its_index_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pattern = shards(tmp_path / "data", 8)
    (tmp_path / "data").chmod(0o555)
    try:
        before = every(pattern)
        assert every(pattern) == before
    finally:
        (tmp_path / "data").chmod(0o755)
    assert len(list((tmp_path / "cache" / "headrace").glob("*.hri"))) == 1


def test_lists_in_one_folder_share_an_index(tmp_path: Path) -> None:
    shards(tmp_path / "data", 20, members=50)
    env = environment(tmp_path)
    opened(str(tmp_path / "data" / "{000000..000009}.tar"), env)
    opened(str(tmp_path / "data" / "{000010..000019}.tar"), env)
    whole = opened(str(tmp_path / "data"), env)
    assert whole["calls"] < 100, whole
    assert len(list((tmp_path / "cache" / "headrace").glob("*.hri"))) == 1


def test_files_of_several_folders_are_one_list(tmp_path: Path) -> None:
    shards(tmp_path / "a", 5, members=50)
    shards(tmp_path / "b" / "c", 5, members=50)
    paths = [str(p) for p in sorted(tmp_path.glob("**/*.tar"))]
    env = environment(tmp_path)
    code = BYTES_READ.replace("PATTERN", repr(paths))
    cold, warm = json.loads(run(code, env)), json.loads(run(code, env))
    assert cold["size"] == warm["size"] == 500
    assert warm["calls"] < 50 < cold["calls"]
    assert len(list((tmp_path / "cache" / "headrace").glob("*.hri"))) == 1


def test_a_damaged_index_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pattern = shards(tmp_path / "data", 8)
    before = every(pattern)
    (kept,) = (tmp_path / "cache" / "headrace").glob("*.hri")
    whole = kept.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        kept.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        assert every(pattern) == before
    kept.write_bytes(whole[: len(whole) // 2])
    assert every(pattern) == before
