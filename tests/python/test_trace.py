"""options(trace=…): the file that Perfetto opens, and what it shows of slow samples."""

import itertools
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

EVENTS = {"M", "X", "C", "i", "s", "f"}


def events(path: Path) -> list[dict]:
    """Of a trace, checked to be what the Trace Event Format wants of each kind."""
    found = json.loads(path.read_text())["traceEvents"]
    for event in found:
        assert event["ph"] in EVENTS and event["pid"] == 1 and isinstance(event["name"], str), event
        if event["ph"] != "M":
            assert event["ts"] >= 0, event
        if event["ph"] == "X":
            assert event["dur"] >= 0 and isinstance(event["tid"], int), event
        if event["ph"] in "sf":
            assert isinstance(event["id"], int) and event["cat"], event
    return found


def tracks(found: list[dict]) -> dict[str, list[dict]]:
    """The slices of each track by its name, in the order of time."""
    names = {e["tid"]: e["args"]["name"] for e in found if e["name"] == "thread_name"}
    by_name: dict[str, list[dict]] = defaultdict(list)
    for event in sorted((e for e in found if e["ph"] == "X"), key=lambda e: e["ts"]):
        by_name[names[event["tid"]]].append(event)
    return by_name


def test_every_thread_has_a_track_whose_slices_do_not_overlap(tmp_path: Path, photos: Path) -> None:
    ds = (
        hr.read(photos)
        .map(lambda s: {"image": hr.ops.resize(hr.ops.decode_image(s.image), size=(16, 16))})
        .batch(4)
    )
    path = tmp_path / "trace.json"
    batches = []
    for batch in ds.options(trace=path, workers=2, io=2).numpy():
        batches.append(batch)
        time.sleep(0.005)  # steps of microseconds are one slice, and no arrow leads there
    found = events(path)
    by_name = tracks(found)
    assert {name.split()[0] for name in by_name} == {"worker", "io", "consumer"}
    for slices in by_name.values():
        for one, after in itertools.pairwise(slices):
            assert one["ts"] + one["dur"] <= after["ts"] + 0.002, (one, after)
    worked = [e for name, slices in by_name.items() if name.startswith("worker") for e in slices]
    assert sum(e["args"].get("rows", 0) for e in worked) == 12 == sum(len(b["image"]) for b in batches)
    named = [e["args"]["sample"] for e in worked if "sample" in e["args"]]
    assert named and all(str(photos) in name for name in named)
    assert sum(e["args"].get("bytes", 0) for e in found if e["name"] == "read") > 0
    assert {e["name"] for e in found if e["ph"] == "C"} >= {"ready", "memory in use", "setting: workers"}
    # An arrow leads from the work on each batch to the step that was given it.
    assert len([e for e in found if e["ph"] == "s"]) == len([e for e in found if e["ph"] == "f"]) > 0


def test_a_run_that_ends_early_or_fails_has_its_trace(tmp_path: Path) -> None:
    def fails(x: int) -> int:
        if x == 50:
            raise RuntimeError("no")
        return x

    loader = iter(hr.range(100).batch(10).options(trace=tmp_path / "early.json").numpy())
    next(loader)
    loader.close()
    assert tracks(events(tmp_path / "early.json"))["consumer"]
    with pytest.raises(RuntimeError, match="no"):
        list(hr.range(100).map(fails, python=True).options(trace=tmp_path / "failed.json").numpy())
    assert tracks(events(tmp_path / "failed.json"))["consumer"]


def test_where_the_file_cannot_be_is_said_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="trace: cannot create"):
        hr.range(10).options(trace=tmp_path / "none" / "trace.json").numpy()


SLOW, STEP = 0.2, 0.004  # seconds: of a slow sample, and of the consumer with each


def one_in_a_hundred_is_slow(x: np.int64) -> np.int64:
    time.sleep(SLOW if x % 100 == 50 else 0.001)
    return x


def stalls(path: Path, ready: int, ordered: bool) -> list[float]:
    """How much of each slow sample's time the consumer waited, by the trace."""
    ds = hr.range(300).map(one_in_a_hundred_is_slow, python=True).batch(1)
    loader = ds.options(trace=path, deterministic=ordered, workers=4, ready=ready, tuning="locked").numpy()
    for _ in loader:
        time.sleep(STEP)
    by_name = tracks(events(path))
    work = [e for name, slices in by_name.items() if name.startswith("worker") for e in slices]
    slow = [e for e in work if e["dur"] > SLOW * 0.9e6]
    assert len(slow) == 3, "each slow sample is to be seen"
    waits = [e for e in by_name["consumer"] if e["name"] == "wait"]

    def together(one: dict, other: dict) -> float:
        end = min(one["ts"] + one["dur"], other["ts"] + other["dur"])
        return max(0.0, end - max(one["ts"], other["ts"]))

    return [sum(together(e, wait) for wait in waits) / e["dur"] for e in slow]


@pytest.mark.alone(ci=True)
def test_slow_samples_stall_what_the_ring_does_not_hold_and_nothing_when_unordered(tmp_path: Path) -> None:
    # A ring of 8 lasts for 32 ms of the 200, one of 80 for 320; unordered, others overtake the slow one.
    short = stalls(tmp_path / "short.json", ready=8, ordered=True)
    long = stalls(tmp_path / "long.json", ready=80, ordered=True)
    unordered = stalls(tmp_path / "unordered.json", ready=8, ordered=False)
    assert min(short) > 0.5, short
    assert max(long) < 0.3, long
    assert max(unordered) < 0.3, unordered
