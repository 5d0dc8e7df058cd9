"""What a run turns by itself, what it says about that, and how to hold it; on threads of this machine."""

import json
import time

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.alone


def waits(x):
    time.sleep(0.003)
    return x * 2


def counts(x):  # under Python's lock all the time
    total = 0
    for i in range(4000):
        total += i
    return x


def run_for(loader, seconds, step=0.0):
    """Iterate for some time; `step`: what the consumer does with an element."""
    end = time.perf_counter() + seconds
    for _ in loader:
        if step:
            time.sleep(step)
        if time.perf_counter() > end:
            break
    report = loader.report().dict()
    loader.close()
    return report


def test_functions_that_wait_get_more_threads_than_cores_and_the_same_elements_in_order():
    ds = hr.range(16000).shuffle(seed=1).map(waits, python=True).batch(8)
    wanted = [b.tolist() for b in hr.range(16000).shuffle(seed=1).map(lambda x: x * 2).batch(8).numpy()]
    loader = ds.numpy()
    assert [b.tolist() for b in loader] == wanted
    report = loader.report()
    grown = [d for d in report["decisions"] if d["knob"] == "workers" and d["to"] > d["from"]]
    assert grown, report["decisions"]
    assert report["settings"]["workers"] > grown[0]["from"]
    for one in report["decisions"]:
        assert one["at_s"] > 0 and one["why"] and one["predicted_samples_per_s"] > 0
    assert report["limited_by"] in {"functions that wait", "python"}


def test_locked_settings_stay_as_a_run_found_them():
    ds = hr.range(10**9).map(waits, python=True).batch(8)
    found = run_for(ds.numpy(), 1.5)["settings"]
    report = run_for(ds.options(tuning="locked", settings=found).numpy(), 0.7)
    assert report["settings"] == found
    assert report["decisions"] == []


@pytest.mark.alone(ci=True)
def test_a_number_that_is_given_is_not_turned():
    report = run_for(hr.range(10**9).map(waits, python=True).batch(8).options(workers=3).numpy(), 1.2)
    assert report["settings"]["workers"] == 3
    assert all(one["knob"] != "workers" for one in report["decisions"])


@pytest.mark.alone(ci=True)
def test_prefetch_is_the_least_of_ready():
    given = hr.range(10**9).map(lambda x: x + 1).batch(8).options(ready=2).prefetch(11).numpy()
    assert run_for(given, 0.1)["settings"]["ready"] == 11
    report = run_for(hr.range(10**9).map(lambda x: x + 1).batch(8).prefetch(11).numpy(), 0.7)
    assert report["settings"]["ready"] >= 11


@pytest.mark.alone(ci=True)
@pytest.mark.parametrize(
    ("ds", "step", "limit"),
    [
        (hr.range(10**9).map(counts, python=True).batch(8), 0.0, "python"),
        (hr.range(10**9).map(lambda x: x + 1).batch(8), 0.02, "consumer"),
    ],
    ids=["python", "consumer"],
)
def test_the_limit_is_named(ds, step, limit):
    report = run_for(ds.numpy(), 1.5, step)
    assert report["limited_by"] in {limit, "cores"}, report["limit"]  # "cores": this machine is busy


def test_a_consumer_that_takes_its_time_is_given_fewer_workers():
    ds = hr.range(10**9).map(waits, python=True).batch(4).options(tuning="auto", settings={"workers": 16})
    report = run_for(ds.numpy(), 3.0, step=0.03)
    assert report["settings"]["workers"] < 16
    assert report["limited_by"] == "consumer"
    late = [one for one in report["history"] if one["at_s"] > 1.5]
    assert sum(one["wait"] * one["seconds"] for one in late) <= 0.1 * sum(one["seconds"] for one in late)


@pytest.mark.alone(ci=True)
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tuning": "yes"}, ValueError, "must be 'auto' or 'locked', got 'yes'"),
        ({"tuning": True}, TypeError, "must be 'auto' or 'locked', got True"),
        ({"settings": {"threads": 3}}, ValueError, "threads"),
        ({"settings": {"io": 0}}, ValueError, "io"),
        ({"settings": {"workers": -1}}, ValueError, "workers"),
        ({"settings": 3}, TypeError, "settings"),
    ],
)
def test_what_cannot_be_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        hr.range(3).options(**options)


@pytest.mark.alone(ci=True)
def test_settings_are_json_and_come_from_a_report():
    loader = hr.range(100).batch(4).numpy()
    list(loader)
    settings = json.loads(loader.report().json())["settings"]
    assert set(settings) == {"workers", "io", "ready"}
    assert list(hr.range(100).options(tuning="locked", settings=settings).numpy()) == list(range(100))


@pytest.mark.alone(ci=True)
def test_a_report_is_a_mapping():
    loader = hr.range(100).batch(4).numpy()
    list(loader)
    report = loader.report()
    assert dict(report) == report.dict()
    assert "limit" in report
    assert report.get("nothing") is None
    assert len(report) == len(list(report)) > 10


@pytest.mark.alone(ci=True)
def test_a_budget_is_bytes_or_a_text():
    data = hr.range(10)
    assert data.options(memory_budget="64MB").numpy().report()["memory"]["budget"] == 64_000_000
    with pytest.raises(
        TypeError, match="memory_budget must be a number of bytes, or a string such as '512MB', got 1"
    ):
        data.options(memory_budget=1e9)
    for wrong in (True, 1.5):
        with pytest.raises(TypeError, match=f"memory_budget must be a number of bytes.*got {wrong!r}"):
            data.options(memory_budget=wrong)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"memory_budget must be at least 1, got {wrong}"):
            data.options(memory_budget=wrong)
    with pytest.raises(ValueError, match="64 parsecs"):
        data.options(memory_budget="64 parsecs")
    with pytest.raises(TypeError, match="trace must be the path of a file, got True"):
        data.options(trace=True)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_both_sides_of_a_zip_are_timed(order):
    def light(x):
        return x + 1

    def heavy(x):
        return sum(range(300)) + x

    sides = [hr.range(3000).map(f, python=True) for f in (light, heavy)]
    loader = hr.zip(sides[order[0]], sides[order[1]]).batch(8).numpy()
    list(loader)
    operators = [one for one in json.loads(loader.report().json())["operators"] if one["calls"]]
    assert len(operators) == 2
    assert all(one["cpu_s"] > 0 for one in operators), operators


# ---- replayed()


@pytest.mark.alone(ci=True)
def test_replayed_gives_the_first_elements_over_and_over_and_changes_nothing():
    calls = []

    def counted(x):
        calls.append(x)
        return x * 3

    loader = hr.range(20).shuffle(seed=1).map(counted, python=True).batch(2).numpy()
    epochs = [[b.tolist() for b in loader.__class__(loader.dataset)] for _ in range(1)]
    replayed = loader.replayed(3)
    made = len(calls)
    assert [b.tolist() for b in replayed] == (epochs[0][:3] * 4)[:10]
    assert len(calls) == made, "nothing is computed any more"
    assert loader.epoch == 0
    assert [b.tolist() for b in loader] == epochs[0]


@pytest.mark.alone(ci=True)
def test_replayed_in_the_middle_of_an_epoch_goes_on_there():
    loader = hr.range(12).batch(2).numpy()
    it = iter(loader)
    next(it), next(it)
    assert [b.tolist() for b in loader.replayed(1)] == [[0, 1]] * 6
    assert [b.tolist() for b in loader] == [[4, 5], [6, 7], [8, 9], [10, 11]]
    with pytest.raises(ValueError, match="replayed: elements"):
        loader.replayed(0)


@pytest.mark.alone(ci=True)
def test_replayed_of_an_endless_dataset_never_ends():
    replayed = hr.range(4).repeat().batch(2).numpy().replayed(2)
    assert np.concatenate([next(replayed) for _ in range(5)]).tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
