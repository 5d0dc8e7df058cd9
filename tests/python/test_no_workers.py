"""options(workers=0): no thread reads or computes, and what comes out is the same."""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops


def _flat(element: Any) -> Any:
    if isinstance(element, dict):
        return {name: _flat(value) for name, value in element.items()}
    if isinstance(element, tuple):
        return [_flat(value) for value in element]
    if isinstance(element, np.ndarray):
        return (element.dtype.str, element.shape, element.tobytes())
    return list(element) if isinstance(element, (hr.BytesColumn, hr.RaggedColumn)) else element


def _all(data: hr.Dataset, **options: Any) -> list[Any]:
    return [_flat(element) for element in data.options(**options).numpy()]


def _threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def _records(tmp_path: Path) -> hr.Dataset:
    hr.from_arrays({"record": [b"%d" % i * (i % 40) for i in range(3000)]}).write(tmp_path / "x.tfrecord")
    return hr.read(tmp_path / "x.tfrecord")


def _crops(folder: Path) -> hr.Dataset:
    def crop(s: Any) -> dict[str, Any]:
        return {"image": ops.random_resized_crop(ops.decode_image(s.image), size=24), "label": s.label}

    return hr.read(folder).shuffle(seed=4).map(crop)


PIPELINES: dict[str, Callable[[Path, Path], hr.Dataset]] = {
    "crops": lambda photos, _: _crops(photos).batch(7),
    "records": lambda _, t: _records(t).shuffle(seed=3).batch(64),
    "records, skipped": lambda _, t: _records(t).on_error("skip").batch(64),
    "window": lambda _, t: (
        _records(t).filter(lambda s: len(s.record) > 20, python=True).shuffle(seed=2, window=100).batch(9)
    ),
    "python": lambda *_: hr.range(500).map(lambda x: x * 2 + 1, python=True).batch(16),
    "unbatch": lambda *_: hr.range(300).batch(10).unbatch().filter(lambda x: x % 3 == 0).batch(4),
    "zip": lambda *_: hr.zip(hr.range(100), hr.range(100).map(lambda x: -x)).batch(8),
    "mix": lambda *_: hr.mix([hr.range(50), hr.range(1000, 1100)], weights=[1, 2], seed=5).batch(8),
    "repeat, shard": lambda *_: hr.range(97).shuffle(seed=1).repeat(3).shard(1, 2).batch(5),
    "generator": lambda *_: hr.from_generator(lambda: iter(range(200))).batch(6),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_it_is_the_same_stream_and_goes_on_anywhere(name: str, photos: Path, tmp_path: Path) -> None:
    data = PIPELINES[name](photos, tmp_path)
    expected = _all(data, workers=2, seed=9)
    assert expected and _all(data, workers=0, seed=9) == expected
    for stop in (1, len(expected) // 2):
        first = data.options(workers=stop % 2 * 3, seed=9).numpy()
        iteration = iter(first)
        seen = [_flat(next(iteration)) for _ in range(stop)]
        second = data.options(workers=0 if stop % 2 else 2, seed=9).numpy()
        second.load_state_dict(iteration.state_dict())
        assert seen + [_flat(element) for element in second] == expected


@pytest.mark.parametrize("shrink", [0.5, 0.25, 0.1])
def test_it_finds_room_where_threads_do(shrink: float, photos: Path, tmp_path: Path) -> None:
    wide = {"x": np.arange(40_000, dtype=np.float32).reshape(100, 400)}
    hr.from_arrays(wide).write(tmp_path / "wide.parquet")
    wide_rows = hr.read(tmp_path / "wide.parquet")
    for data in (
        _crops(photos).batch(4),
        _records(tmp_path).shuffle(seed=3).batch(500),
        wide_rows.shuffle(seed=1).batch(32),
        wide_rows.map(lambda s: {"x": s.x * 2}).filter(lambda s: s.x[0] > 5, python=True).batch(16),
    ):
        expected = _all(data, workers=2)
        loader = data.options(workers=1, io=1, ready=1).numpy()
        list(loader)
        budget = int(loader.report()["memory"]["peak"] * shrink)
        try:
            held = _all(data, workers=1, io=1, ready=1, memory_budget=budget)
        except MemoryError:
            with pytest.raises(MemoryError, match="budget"):
                _all(data, workers=0, memory_budget=budget)
        else:
            assert held == expected
            assert _all(data, workers=0, memory_budget=budget) == expected


@pytest.mark.alone
def test_no_thread_is_begun_and_functions_run_in_the_callers() -> None:
    seen = set()

    def where(x: int) -> int:
        seen.add(threading.get_ident())
        return x

    before = _threads()
    during = set()
    for _ in hr.range(400).map(where, python=True).batch(16).options(workers=0).numpy():
        during.add(_threads())
    assert during == {before}
    assert seen == {threading.get_ident()}


@pytest.mark.parametrize("workers", [0, 2])
def test_another_thread_may_close_it(workers: int) -> None:
    def slow(x: int) -> int:
        time.sleep(0.001)
        return x

    loader = hr.range(100_000).map(slow, python=True).batch(100).options(workers=workers).numpy()
    timer = threading.Timer(0.3, loader.close)
    timer.start()
    try:
        seen = len(list(loader))
    except RuntimeError as error:
        assert "this iteration was ended by close()" in str(error)
    else:
        assert seen < 1000
    timer.join()
    assert [int(batch[0]) for batch in itertools.islice(loader, 2)] == [0, 100]


def test_an_error_is_that_of_the_function_and_the_next_epoch_goes_on() -> None:
    broken = [True]

    def fails(x: int) -> int:
        if x == 33 and broken[0]:
            raise LookupError("thirty-three")
        return x

    loader = hr.range(64).map(fails, python=True).batch(8).options(workers=0).numpy()
    with pytest.raises(hr.HeadraceError, match="thirty-three") as caught:
        list(loader)
    assert isinstance(caught.value.__cause__, LookupError)
    broken[0] = False
    assert [list(batch) for batch in loader][-1] == list(range(56, 64))


def test_threads_that_share_an_iterator_get_each_element_once() -> None:
    iteration = iter(hr.range(2000).map(lambda x: x + 1, python=True).batch(5).options(workers=0).numpy())
    taken: list[int] = []

    def take() -> None:
        for batch in iteration:
            taken.extend(batch.tolist())

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 2001))


@pytest.mark.alone
def test_ctrl_c_ends_it() -> None:
    def slow(x: int) -> int:
        time.sleep(0.02)
        return x

    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(hr.range(10_000).map(slow, python=True).batch(1000).options(workers=0).numpy())
    assert time.monotonic() - begin < 5
    timer.join()


def test_a_forked_child_reads_by_itself(tmp_path: Path) -> None:
    data = _records(tmp_path).batch(100).options(workers=0)
    expected = _all(data)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if _all(data) == expected else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_the_report_and_explain_say_who_works(tmp_path: Path) -> None:
    loader = (
        hr.range(5000).map(lambda x: x + 1, python=True).batch(8).options(workers=0, io=9, ready=4).numpy()
    )
    list(loader)
    report = loader.report()
    assert report["limited_by"] == "caller" and "workers=0" in report["limit"]
    assert report["workers"] == report["settings"]["workers"] == 0 and report["what_if"] == []
    assert report["consumer_wait_s"] > 0.5 * report["wall_s"]
    assert "workers 0: the caller's thread does all" in loader.explain()
    assert all(moment["workers"] == 0 for moment in report["history"])
    assert len(report["sample_cost"]["slowest"]) > 0


def test_settings_of_such_a_run_are_such_a_run(tmp_path: Path) -> None:
    data = hr.range(50).batch(8)
    found = data.prefetch(4).options(workers=0).numpy()
    list(found)
    settings = found.report()["settings"]
    assert settings == {"workers": 0, "io": 1, "ready": 1}
    for tuning in ("auto", "locked"):
        again = data.options(settings=settings, tuning=tuning).numpy()
        assert len(list(again)) == 7
        assert again.report()["settings"] == settings
    others = data.options(settings=settings, workers=1).numpy()
    list(others)
    assert others.report()["settings"]["workers"] == 1


def test_a_trace_says_what_there_was(tmp_path: Path) -> None:
    data = hr.range(20_000).map(lambda x: x + 1, python=True).batch(50)
    list(data.options(workers=0, trace=str(tmp_path / "trace.json")).numpy())
    events = json.loads((tmp_path / "trace.json").read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    counters = {event["name"]: event["args"] for event in events if event.get("ph") == "C"}
    assert {"ready", "memory in use", "setting: workers"} <= set(counters)
    assert set(counters["setting: workers"].values()) == {0}


def test_slow_records_that_only_pass_have_names(tmp_path: Path) -> None:
    data = _records(tmp_path).batch(1000)
    for workers in (0, 1):
        loader = data.options(workers=workers).numpy()
        list(loader)
        names = [slow["sample"] for slow in loader.report()["sample_cost"]["slowest"]]
        assert names and all("x.tfrecord, record " in name for name in names)


def test_fewer_than_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"options: workers must be at least 0, got -1"):
        hr.range(3).options(workers=-1)
