"""options(cache="auto"): elements are kept where that pays, and nothing else changes."""

import collections
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

from .pictures import picture

pytestmark = pytest.mark.alone  # what is kept follows from what steps are measured to take

SLEEP = 0.003  # of a function that is worth keeping; what the engine adds to it is some microseconds


class Slow:
    """A function that takes its time, always answers the same, and knows how often it ran: where no cache of its results looks."""

    def __init__(self, seconds=SLEEP, size=8):
        self.seconds, self.size = seconds, size
        self.calls = 0

    @property
    def calls(self):
        return sys.calls_of_slow

    @calls.setter
    def calls(self, count):
        sys.calls_of_slow = count

    def __call__(self, x):
        sys.calls_of_slow += 1
        time.sleep(self.seconds)
        return np.full(self.size, x, np.int64)


def noisy(x, rng):
    return x + rng.integers(0, 1000, x.shape)


def plain(element):
    """An element as text that says all of it."""
    if isinstance(element, dict):
        return str({name: plain(part) for name, part in element.items()})
    if isinstance(element, (tuple, list, hr.RaggedColumn)) or type(element).__name__ == "Ragged":
        return str([plain(part) for part in element])
    array = np.asarray(element)
    return str((array.dtype, array.shape, array.tolist()))


def epochs(ds, count=3):
    loader = ds.numpy()
    return [[plain(element) for element in loader] for _ in range(count)]


def kept(loader):
    """How many elements the caches of a loader hold."""
    return [one["elements"] for one in loader.report()["caches"]]


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache folder of its own, which holds nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "headrace" / "elements"


@pytest.fixture
def no_disk(tmp_path, monkeypatch):
    """A cache folder that cannot be made."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))


def test_a_slow_function_runs_once_for_a_sample_and_what_draws_after_it_draws_anew():
    slow = Slow()
    ds = (
        hr.range(40)
        .shuffle(seed=1)
        .map(slow, python=True, pure=True)
        .map(noisy, python=True)
        .batch(8)
        .options(seed=3)
    )
    wanted = epochs(ds)
    loader = ds.options(cache="auto", workers=2).numpy()
    slow.calls = 0
    assert [[plain(b) for b in loader] for _ in range(3)] == wanted
    assert slow.calls == 40
    (cache,) = loader.report()["caches"]
    assert (cache["elements"], cache["hits"]) == (40, 80)
    assert len({tuple(epoch) for epoch in wanted}) == 3


def test_explain_says_where_and_why_not_elsewhere():
    ds = hr.range(40).map(Slow(), python=True, pure=True).map(noisy, python=True).batch(8)
    text = ds.options(cache="auto").explain()
    (chosen,) = (line for line in text.splitlines() if line.startswith("cache: "))
    assert chosen.startswith("cache: after python_function (map at test_auto_cache.py:")
    assert "in memory" in chosen and chosen.endswith("from the second epoch on")
    assert ": it draws new random numbers in every epoch" in text
    assert "cache: " not in ds.explain()


# A chain that is worth keeping, and what may stand around it.
def worth(ds, slow):
    return ds.map(slow, python=True, pure=True)


PIPELINES = {
    "elements": lambda slow: worth(hr.range(24), slow),
    "shuffled": lambda slow: worth(hr.range(24).shuffle(seed=2), slow).map(noisy, python=True),
    "shuffled after": lambda slow: worth(hr.range(24), slow).shuffle(seed=2).map(noisy, python=True).batch(5),
    "a part of it": lambda slow: worth(hr.range(24).skip(3), slow).take(9).repeat(2).batch(4),
    "for ever": lambda slow: worth(hr.range(6), slow).repeat().map(noisy, python=True).batch(4).take(7),
    "fused": lambda slow: worth(hr.range(24), slow).map(lambda x: {"a": x * 2, "b": x}).map(lambda s: s.a + s.b),
    "for each value after": lambda slow: worth(hr.range(24), slow).map(lambda x: x * 2).batch(6),
    "batched": lambda slow: worth(hr.range(24), slow).batch(6).map(lambda x: x + 1),
    "ragged": lambda slow: worth(hr.range(24), slow).map(lambda x: x[: int(x[0]) % 7], python=True, pure=True).batch(4, ragged=True),
    "text": lambda slow: worth(hr.range(24), slow).map(lambda x: {"t": str(x[0]), "x": x}, python=True).batch(4),
    "ids": lambda slow: worth(hr.range(24), slow).map(lambda x: {"x": x}).with_ids().batch(4),
    "concatenated": lambda slow: worth(hr.range(9).concatenate(hr.range(50, 60)), slow).map(noisy, python=True).batch(4),
    "each branch": lambda slow: worth(hr.range(9), slow).concatenate(worth(hr.range(50, 60), slow)).shuffle(seed=3),
    "mixed": lambda slow: hr.mix([worth(hr.range(9), slow), hr.range(100, 130).map(lambda x: x + np.zeros(8, int), python=True)], weights=[1, 2]),
    "zipped": lambda slow: hr.zip(worth(hr.range(20), slow), hr.range(100, 120).shuffle(seed=1)).batch(4),
    "filtered": lambda slow: worth(hr.range(24), slow).map(noisy, python=True).filter(lambda x: x[0] > 300, python=True).batch(4),
    "windowed": lambda slow: worth(hr.range(20), slow).window(5, shift=2),
    "a window shuffle": lambda slow: worth(hr.range(20), slow).shuffle(seed=1, window=6).map(noisy, python=True),
    "sampled": lambda slow: worth(hr.range(20), slow).sample([1.0] * 20, num=30, seed=1).map(noisy, python=True),
    "unordered": lambda slow: worth(hr.range(20), slow).batch(1).options(deterministic=False, workers=1, io=1, ready=1),
    "padded to ranks": lambda slow: worth(hr.range(10), slow).map(lambda x: {"x": x}).with_validity().shard(1, 3, even="pad").batch(2),
    "below another cache": lambda slow: worth(hr.range(20), slow).batch(4).cache().map(lambda x: x + 1),
}  # fmt: skip


@pytest.mark.alone(ci=True)
@pytest.mark.parametrize("name", PIPELINES)
def test_elements_are_those_of_a_run_without_it(name, no_disk):
    slow = Slow(0.001)
    ds = PIPELINES[name](slow).options(seed=5)
    wanted = epochs(ds)
    slow.calls = 0
    for workers in (1, 3):
        for rewrites in (True, False):
            loader = ds.options(cache="auto", workers=workers, rewrites=rewrites).numpy()
            assert [[plain(e) for e in loader] for _ in range(3)] == wanted, (workers, rewrites)
            caches = kept(loader)
            assert caches, "there is one"
            assert sum(caches) > 0 or name == "below another cache"


@pytest.mark.parametrize("name", PIPELINES)
def test_a_run_goes_on_with_it_or_without_it(name, no_disk):
    ds = PIPELINES[name](Slow(0.001)).options(seed=5)
    wanted = epochs(ds, 2)[1]
    assert ds.fingerprint() == ds.options(cache="auto").fingerprint()
    for stop in sorted({1, len(wanted) // 2, len(wanted) - 1}):
        for first, then in (({"cache": "auto"}, {}), ({}, {"cache": "auto"})):
            loader = ds.options(**first).numpy()
            loader.set_epoch(1)
            it = iter(loader)
            head = [plain(next(it)) for _ in range(stop)]
            state = it.state_dict()
            other = ds.options(workers=1 + stop % 3, **then).numpy()
            other.load_state_dict(state)
            rest = [plain(e) for e in other] if other.epoch == 1 else []
            assert head + rest == wanted, (stop, first)


# ---- images


def augment(match):
    def function(s):
        image = ops.resize(ops.decode_image(s.image, match=match), size=[40, 48])
        image = ops.random_flip(ops.random_crop(image, size=24))
        return {
            "image": ops.normalize(image, mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW"),
            "label": s.label,
        }

    return function


def slowly(s):
    time.sleep(SLEEP)
    return {"image": s.image, "label": s.label}


@pytest.mark.parametrize("match", ["exact", "fast"])
@pytest.mark.parametrize("rewrites", [True, False])
def test_images_are_those_of_a_run_without_it(photos, match, rewrites):
    ds = hr.read(photos).shuffle(seed=1).map(slowly, python=True, pure=True).map(augment(match)).batch(4)
    ds = ds.options(seed=4, rewrites=rewrites)
    loader = ds.options(cache="auto").numpy()
    for _ in range(3):
        assert epochs(ds, 3) == [[plain(b) for b in loader] for _ in range(3)]
        loader = ds.options(cache="auto", workers=1).numpy()
    assert kept(loader) == [0]  # not run yet


@pytest.mark.alone(ci=True)
def test_an_image_that_is_damaged_where_nobody_looks_is_no_error(photos):
    path = photos / "cat" / "big.jpg"
    Image.fromarray(picture(1, 400, 300)).save(path, quality=90, restart_marker_blocks=4)
    data = bytearray(path.read_bytes())
    at = len(data) * 9 // 10
    data[at : at + 8] = b"\xff\xda" * 4
    path.write_bytes(data)

    def top(s):
        return {"image": ops.center_crop(ops.decode_image(s.image, match="exact"), size=16), "name": s.label}

    def corner(s, rng):
        return {"image": s.image[:8, :8] + rng.integers(2), "name": s.name}

    ds = (
        hr.read(photos)
        .map(slowly, python=True, pure=True)
        .map(top)
        .map(corner, python=True)
        .on_error("replace")
        .batch(4)
    )
    wanted = epochs(ds)
    assert epochs(ds.options(cache="auto")) == wanted


# ---- what must not be kept


@pytest.mark.alone(ci=True)
def test_what_answers_otherwise_each_time_is_not_kept():
    calls = []

    def counts(x):
        time.sleep(SLEEP)
        calls.append(x)
        return x * 0 + len(calls)

    def draws(x):
        time.sleep(SLEEP)
        return x + np.random.default_rng().integers(1 << 30)

    def draws_inside(x):
        time.sleep(SLEEP)
        return ops.random_flip(np.arange(600, dtype=np.uint8).reshape(1, 200, 3) + np.uint8(x))

    for function in (counts, draws, draws_inside):
        ds = hr.range(30).map(function, python=True, pure=True).options(cache="auto")
        loader = ds.numpy()
        list(loader)
        assert kept(loader) == []
        assert "two calls for one sample gave different results" in loader.explain()


@pytest.mark.alone(ci=True)
def test_what_a_function_makes_is_kept_only_where_the_user_says_that_it_may_be():
    def rarely_draws(x):  # no look at some samples finds that out
        time.sleep(SLEEP)
        return x if x != 7 else x + np.random.default_rng().integers(1, 1 << 30)

    ds = hr.range(30).map(Slow(), python=True, pure=True).map(lambda x: x[0], python=True, pure=True)
    loader = ds.map(rarely_draws, python=True).options(cache="auto").numpy()
    assert [list(loader)[7] for _ in range(3)] != [7] * 3
    assert len({int(list(loader)[7]) for _ in range(4)}) > 1
    assert kept(loader) == [30]
    assert "pass map(pure=True) if it always gives the same result" in loader.explain()


@pytest.mark.alone(ci=True)
def test_pure_says_nothing_of_bytes_and_a_function_with_rng_is_none():
    def twice(x):
        return x * 2 if np.asarray(x).sum() >= 0 else x

    ds = hr.range(9)
    assert ds.map(twice, python=True).fingerprint() == ds.map(twice, python=True, pure=True).fingerprint()
    with pytest.raises(ValueError, match="map: a function with a parameter rng is not pure"):
        ds.map(noisy, pure=True)
    with pytest.raises(TypeError, match="map: pure must be"):
        ds.map(twice, pure="yes")


@pytest.mark.alone(ci=True)
def test_items_of_a_users_sequence_are_not_kept():
    class Draws:
        def __len__(self):
            return 20

        def __getitem__(self, i):
            time.sleep(SLEEP)
            return np.random.default_rng().integers(1 << 30)

    loader = hr.from_dataset(Draws()).map(lambda x: x + 1).options(cache="auto").numpy()
    assert [int(x) for x in loader] != [int(x) for x in loader]
    assert kept(loader) == [] and "cache: none" in loader.explain()


def test_a_cheap_pipeline_gets_none():
    for ds in (
        hr.range(1000).map(lambda x: x * 2 + 1).batch(32),
        hr.from_arrays({"x": np.zeros((100, 64, 64, 3), np.uint8)})
        .map(lambda s: ops.random_crop(s.x, size=32))
        .batch(8),
        hr.range(1000).shuffle(seed=1).batch(10),
    ):
        loader = ds.options(cache="auto").numpy()
        list(loader)
        assert kept(loader) == [], loader.explain()


# ---- room


@pytest.mark.alone(ci=True)
def test_what_has_no_room_in_memory_is_kept_in_files_that_the_next_run_finds(own_cache):
    slow = Slow(seconds=0.1, size=20_000)
    ds = worth_a_file(64, slow)
    wanted = epochs(worth_a_file(64, Slow(seconds=0, size=20_000)))
    tight = ds.options(cache="auto", memory_budget=12 << 20)
    loader = tight.numpy()
    assert "on disk" in next(line for line in loader.explain().splitlines() if line.startswith("cache: "))
    slow.calls = 0
    assert [[plain(b) for b in loader] for _ in range(3)] == wanted
    assert slow.calls == 64 and kept(loader) == [64]
    del loader
    again = tight.numpy()
    slow.calls = 0
    assert [[plain(b) for b in again] for _ in range(3)] == wanted
    assert slow.calls == 0
    assert {path.suffix for path in own_cache.iterdir()} == {".data", ".index", ".lock", ".choice"}


def test_files_are_used_where_batches_need_all_the_memory(own_cache):
    slow = Slow(seconds=0.1, size=20_000)
    ds = worth(hr.range(64), slow).map(wide, python=True).batch(4)
    loader = ds.options(cache="auto", memory_budget=24 << 20).numpy()
    assert "on disk" in next(line for line in loader.explain().splitlines() if line.startswith("cache: "))
    slow.calls = 0
    assert sum(1 for _ in range(3) for _ in loader) == 48
    assert slow.calls == 64
    assert loader.report()["memory"]["peak"] <= 24 << 20


def wide(x, rng):
    """One MB, another one in each epoch."""
    return np.full(125_000, rng.integers(1 << 60))


def test_a_part_of_the_elements_is_kept_the_same_in_every_epoch(no_disk):
    slow = Slow(size=20_000)
    ds = hr.range(64).shuffle(seed=2).map(slow, python=True, pure=True).map(noisy, python=True).batch(2)
    wanted = epochs(ds)
    for _ in range(3):  # a look ahead in a bad moment finds it not worth its memory
        loader = ds.options(cache="auto", memory_budget=12 << 20).numpy()
        explained = loader.explain()
        assert " % of 10.3 MB" in explained
        counts = []
        for epoch in range(3):
            slow.calls = 0
            assert [plain(b) for b in loader] == wanted[epoch]
            counts.append(slow.calls)
        if kept(loader):
            break
    assert kept(loader), explained
    (elements,) = kept(loader)
    assert 20 < elements < 50
    assert counts == [64, 64 - elements, 64 - elements]
    assert loader.report()["memory"]["peak"] <= 12 << 20


def test_room_for_nothing_is_said(no_disk):
    ds = hr.range(64).map(Slow(seconds=0.02, size=200_000), python=True, pure=True).map(noisy, python=True)
    text = ds.options(cache="auto", memory_budget=8 << 20).explain()
    assert "cache: none" in text
    assert "needs 102 MB, but there is room for" in text and "not on disk: " in text


@pytest.mark.alone(ci=True)
def test_a_cache_stays_within_the_memory_budget():
    slow = Slow(0.001, size=10_000)
    loader = (
        hr.range(200)
        .map(slow, python=True, pure=True)
        .batch(4)
        .options(cache="auto", memory_budget=40 << 20)
        .numpy()
    )
    for _ in range(2):
        list(loader)
    memory = loader.report()["memory"]
    assert kept(loader) == [200]
    assert 16_000_000 < memory["in_use"] <= memory["peak"] <= 40 << 20


@pytest.mark.alone(ci=True)
def test_functions_that_nobody_can_tell_apart_are_not_kept_in_files(own_cache):
    stream = iter([1])

    def uses_a_stream(x):
        time.sleep(SLEEP)
        return np.full(20_000, x) if stream else x

    ds = hr.range(64).map(uses_a_stream, python=True, pure=True).options(cache="auto", memory_budget=12 << 20)
    text = ds.explain()
    assert "on disk" not in next(line for line in text.splitlines() if line.startswith("cache: ")), text
    assert not own_cache.exists() or not list(own_cache.glob("*.data"))


# ---- processes


FILL = """
    import os, sys, time, numpy as np, headrace as hr
    seed, stop = int(sys.argv[1]), int(sys.argv[2])
    def slow(x):
        time.sleep(0.01)
        with open(os.environ["LOG"], "a") as file:
            file.write(f"{int(x)}\\n")
        return np.full(20_000, x)
    def noisy(x, rng):
        return int(x[0]) * 1000 + rng.integers(100)
    ds = hr.range(200).shuffle(seed=seed).map(slow, python=True, pure=True).map(noisy, python=True)
    loader = ds.options(cache="auto", memory_budget=12 << 20, workers=2).numpy()
    assert "on disk" in next(line for line in loader.explain().splitlines() if line.startswith("cache: "))
    open(os.environ["LOG"], "w").close()
    print("ready", flush=True)
    sys.stdin.readline()
    for n, x in enumerate(loader):
        if n == stop:
            os.kill(os.getpid(), 9)
        print(int(x), flush=True)
"""


def fill(log, seed, stop=-1):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FILL), str(seed), str(stop)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "LOG": str(log)}
    )


def went_on(process):
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()


def test_processes_fill_one_cache_and_make_each_element_about_once(own_cache, tmp_path):
    logs = [tmp_path / f"log{i}" for i in range(4)]
    running = [fill(log, seed) for seed, log in enumerate(logs)]
    for process in running:
        went_on(process)
    outputs = [process.communicate()[0].split() for process in running]
    for seed, output in enumerate(outputs):
        assert sorted(int(x) // 1000 for x in output) == list(range(200)), seed
    made = collections.Counter(line for log in logs for line in log.read_text().split())
    assert len(made) == 200
    assert sum(made.values()) < 320, made.most_common(3)  # 800 without
    assert sum(path.stat().st_size for path in own_cache.glob("*.data")) < 200 * 160_400  # none twice
    assert len(list(own_cache.glob("*.choice"))) == 1


def test_a_run_that_is_killed_while_it_fills_goes_on_with_what_it_kept(own_cache, tmp_path):
    log = tmp_path / "log"
    process = fill(log, 3, stop=150)
    went_on(process)
    first = process.communicate()[0].split()
    assert process.returncode == -signal.SIGKILL and len(first) == 150
    process = fill(log, 3)
    went_on(process)
    whole = process.communicate()[0].split()
    assert process.returncode == 0
    assert whole[:150] == first and sorted(int(x) // 1000 for x in whole) == list(range(200))
    assert len(log.read_text().split()) < 100  # of 200


def worth_a_file(count, slow=None):
    """160 kB an element, and so slow that files are worth it on a busy machine, too."""
    slow = slow or Slow(seconds=0.1, size=20_000)
    return worth(hr.range(count), slow).map(noisy, python=True).batch(2)


def test_files_that_are_damaged_cost_their_elements(own_cache):
    slow = Slow(seconds=0.1, size=20_000)
    ds = worth_a_file(64, slow)
    wanted = epochs(worth_a_file(64, Slow(seconds=0, size=20_000)))
    tight = ds.options(cache="auto", memory_budget=12 << 20)
    assert epochs(tight) == wanted
    draw = random.Random(1)
    for path in own_cache.glob("*.data"):
        data = bytearray(path.read_bytes())
        for _ in range(5):
            data[draw.randrange(len(data))] ^= 1
        path.write_bytes(data)
    loader = tight.numpy()
    slow.calls = 0
    assert [[plain(b) for b in loader] for _ in range(3)] == wanted
    assert 1 <= slow.calls <= 5


def test_what_is_kept_makes_room_for_a_sample_that_needs_it(own_cache):
    def late_and_large(x):  # behind a batch: no cache after it
        return np.zeros(7_000_000 if x[0] == 1501 else 100, np.int64)

    slow = Slow(seconds=0.001, size=2000)
    ds = worth(hr.range(2000), slow).map(lambda x, rng: (rng.integers(2), x)[1], python=True)
    ds = ds.map(late_and_large, python=True).batch(4, ragged=True)
    loader = ds.options(cache="auto", memory_budget=80 << 20, workers=4).numpy()
    assert len(list(loader)) == 500
    assert "in memory" in loader.explain() and "dropped during the run" in loader.explain()
    assert len(list(loader)) == 500


def test_a_report_says_what_room_for_more_would_bring(no_disk):
    ds = worth_a_file(4000)
    report = ds.options(cache="auto", memory_budget=12 << 20).numpy().report()
    what = next(one for one in report["what_if"] if one["change"].startswith("with a cache after"))
    assert what["speedup"] > 1.5 and what["needs_bytes"] >= 4000 * 160_000 and "641 MB" in what["text"]
    roomy = ds.take(50).options(cache="auto", memory_budget=2 << 30).numpy().report()
    assert not any(one["change"].startswith("with a cache") for one in roomy["what_if"])


def test_explain_keeps_nothing_and_decides_for_nobody(own_cache):
    ds = worth_a_file(64)
    assert "on disk" in ds.options(cache="auto", memory_budget=12 << 20).explain()
    assert not list(own_cache.glob("*.choice")) and not list(own_cache.glob("*.data"))


@pytest.mark.alone(ci=True)
def test_another_word_is_an_error():
    with pytest.raises(ValueError, match="options: cache must be 'auto', got 'always'"):
        hr.range(3).options(cache="always")
