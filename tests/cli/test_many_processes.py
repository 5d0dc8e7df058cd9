"""A job that starts on many nodes at once: every process opens the same data, and none of it was indexed before."""

import json
import os
import subprocess
import tarfile

from .test_command_line import executable, pytestmark  # noqa: F401  the same condition

PROCESSES = 64
MEMBERS = 5_000
BYTES = 20_000


def test_64_processes_may_open_unindexed_data_at_once(tmp_path):
    shard = tmp_path / "x.tar"
    with shard.open("wb") as file:
        for i in range(MEMBERS):
            member = tarfile.TarInfo(f"{i:06d}.bin")
            member.size = BYTES
            file.write(member.tobuf())
            file.seek(-(-BYTES // 512) * 512, os.SEEK_CUR)  # holes: 100 MB that take no room
        file.write(bytes(1024))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    running = [
        subprocess.Popen(
            [executable(), "inspect", shard, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(PROCESSES)
    ]
    told = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES, told
    assert {json.loads(out)["samples"] for out, _ in told} == {MEMBERS}
    kept = list((tmp_path / "cache" / "headrace").glob("*.hri"))
    assert len(kept) == 1, kept
    assert not list((tmp_path / "cache" / "headrace").glob("*.hri.*[0-9]")), "no unfinished one is left"
