"""A profiler that speaks NVTX sees what each thread does, in ranges that begin and end in order."""

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")

RUN = """
import sys
import headrace as hr
from headrace import ops
data = hr.read(sys.argv[1]).map(lambda s: {"x": ops.resize(ops.decode_image(s.image), size=[8, 8])})
loader = data.batch(4).options(workers=2, io=2, map_files=False).numpy()
for epoch in range(2):
    for step, batch in enumerate(loader):
        if epoch == 1:
            break  # ranges end also when the run is stopped
loader.close()
print(sum(batch["x"].sum() for batch in loader))
"""


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    library = tmp_path_factory.mktemp("nvtx") / "libtool.so"
    source = Path(__file__).with_name("nvtx_tool.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-Wall", "-Werror", source, "-o", library], check=True)
    return library


def run(photos, **environment):
    done = subprocess.run(
        [sys.executable, "-c", RUN, photos],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def events(log):
    """Each thread's events, in their order."""
    out = defaultdict(list)
    for line in log.read_text().splitlines():
        thread, *event = line.split("\t")
        out[thread].append(tuple(event))
    return out


def test_each_thread_has_its_ranges_and_each_range_ends(tool, photos, tmp_path):
    log = tmp_path / "log"
    assert run(photos, NVTX_INJECTION64_PATH=tool, NVTX_TOOL_LOG=log) == run(photos)
    threads = events(log)
    made = [event for all_of in threads.values() for event in all_of if event[0] in {"create", "register"}]
    assert made[0][:2] == ("create", "headrace")
    assert {name for _, _, name, _ in made[1:]} == {"read", "samples", "finish", "next"}
    names = defaultdict(set)
    for thread, all_of in threads.items():
        ranges = [event for event in all_of if event[0] in {"push", "pop"}]
        assert {event[1] for event in ranges} <= {"headrace"}
        depth = 0
        for event, _, name, _ in ranges:
            depth += 1 if event == "push" else -1
            assert depth in {0, 1}  # one thing at a time
            if event == "push":
                names[thread].add(name)
        assert depth == 0
    assert sorted({frozenset(found) for found in names.values() if "samples" not in found}, key=sorted) == [
        {"next"},
        {"read"},
    ]
    workers = set().union(*(found for found in names.values() if "samples" in found))
    assert workers <= {"samples", "finish"}
    consumers = [thread for thread, found in names.items() if found == {"next"}]
    assert len(consumers) == 1


def test_payloads_are_the_numbers_of_tickets(tool, photos, tmp_path):
    log = tmp_path / "log"
    run(photos, NVTX_INJECTION64_PATH=tool, NVTX_TOOL_LOG=log)
    tickets = {
        int(payload)
        for all_of in events(log).values()
        for event, _, name, payload in all_of
        if event == "push" and name == "samples"
    }
    assert {0, 1, 2} <= tickets  # three batches in the first epoch


@pytest.mark.parametrize("wants", ["refuse", "nothing"])
def test_a_tool_that_wants_no_ranges_gets_none(tool, photos, tmp_path, wants):
    log = tmp_path / "log"
    said = run(photos, NVTX_INJECTION64_PATH=tool, NVTX_TOOL_LOG=log, NVTX_TOOL_WANTS=wants)
    assert said == run(photos) and events(log) == {}


def test_a_tool_that_knows_no_registered_names_gets_text(tool, photos, tmp_path):
    log = tmp_path / "log"
    run(photos, NVTX_INJECTION64_PATH=tool, NVTX_TOOL_LOG=log, NVTX_TOOL_WANTS="text")
    pushed = {event[2] for all_of in events(log).values() for event in all_of if event[0] == "push"}
    assert {"read", "samples", "next"} <= pushed


def test_a_path_to_no_tool_changes_nothing(photos, tmp_path):
    (tmp_path / "empty.so").touch()
    for path in (tmp_path / "missing.so", tmp_path / "empty.so", ""):
        assert run(photos, NVTX_INJECTION64_PATH=path) == run(photos)
