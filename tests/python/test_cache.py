"""cache(): each sample is made once, and nothing else changes."""

import functools
import operator
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import types
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace import ops


class Counted:
    """A function that knows how often it ran; its draws show which epoch it drew for."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x, rng):
        self.calls += 1
        return {"x": x, "noise": rng.random(2), "text": "n" * int(x)}


def made(elements):
    return [(int(s["x"]), s["noise"].tobytes(), s["text"]) for s in elements]


@pytest.fixture
def counted():
    return Counted()


@pytest.fixture(params=["memory", "files"])
def where(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "kept"


def cached(counted, where, size=20):
    ds = hr.range(size).map(counted, python=True).cache(where)
    counted.calls = 0  # the one that said what it returns
    return ds


def test_each_sample_is_made_once_in_an_order_that_stays_fresh(counted, where):
    loader = cached(counted, where).shuffle(seed=3).numpy()
    first, second = made(loader), made(loader)
    assert counted.calls == 20
    assert first != second and sorted(first) == sorted(second)


def test_the_report_says_how_much_is_kept(where):
    loader = hr.from_arrays({"x": np.zeros((10, 1000))}).cache(where).numpy()
    assert [(one["elements"], one["bytes"]) for one in loader.report()["caches"]] == [(0, 0)]
    list(loader)
    (one,) = loader.report()["caches"]
    assert one["elements"] == 10 and 80_000 < one["bytes"] < 86_000  # with what stands beside them


def test_what_is_kept_is_what_epoch_0_makes(counted, where):
    plain = made(hr.range(20).map(counted, python=True))
    ds = cached(counted, where)
    assert made(ds.shuffle(seed=1).at_epoch(5)) == [
        plain[x] for x in (int(x) for x in hr.range(20).shuffle(seed=1).at_epoch(5))
    ]
    assert made(ds) == made(ds) == made(ds[i] for i in range(20)) == plain
    assert counted.calls == 20


@pytest.mark.parametrize("workers", [1, 3])
def test_draws_after_it_are_new_in_every_epoch(where, workers):
    images = hr.from_arrays({"image": np.arange(20 * 8 * 8 * 3, dtype=np.uint8).reshape(20, 8, 8, 3)})

    def crop(s):
        return {"image": ops.random_crop(s.image, size=4)}

    plain = images.map(crop).batch(4).options(seed=2).numpy()
    kept = images.cache(where).map(crop).batch(4).options(seed=2, workers=workers).numpy()
    for _ in range(2):
        for a, b in zip(plain, kept, strict=True):
            assert np.array_equal(a["image"], b["image"])


def test_verbs_before_and_after_it_mean_the_same(counted, where):
    def verbs(ds):
        return ds.shuffle(seed=4).take(15).repeat(2)

    plain = made(verbs(hr.range(20).map(counted, python=True)))[:15]
    counted.calls = 0
    kept = made(hr.range(20).shuffle(seed=4).map(counted, python=True).cache(where).take(15).repeat(2))
    assert [x for x, _, _ in kept[:15]] == [x for x, _, _ in plain]
    assert counted.calls < 30
    ranks = [made(cached(counted, where).shard(rank, 2)) for rank in range(2)]
    assert sorted(ranks[0] + ranks[1]) == sorted(made(hr.range(20).map(counted, python=True)))


def test_a_state_is_that_of_the_same_pipeline(counted, where):
    ds = cached(counted, where).shuffle(seed=3).batch(4)
    loader = ds.numpy()
    it = iter(loader)
    head = [next(it) for _ in range(2)]
    state = loader.state_dict()
    rest = [b["x"].tolist() for b in it]
    other = ds.numpy()
    other.load_state_dict(state)
    assert [b["x"].tolist() for b in other] == rest and len(head) + len(rest) == 5


def test_failures_are_not_kept(where):
    good = []

    def fails_at_first(x):
        if x == 3 and not good:
            raise ValueError("not yet")
        return x * 2

    ds = hr.range(6).map(fails_at_first, python=True).cache(where)
    with pytest.raises(hr.HeadraceError, match="not yet"):
        list(ds)
    assert [int(x) for x in ds.on_error("replace")] == [0, 2, 4, 8, 8, 10]
    good.append(True)
    assert [int(x) for x in ds] == [0, 2, 4, 6, 8, 10]


def test_what_stands_in_for_another_is_kept_as_itself(where):
    def fails(x, rng):
        if x % 3 == 0:
            raise ValueError("three")
        return {"x": x, "noise": rng.random(2), "text": ""}

    def kept():
        return hr.range(12).map(fails, python=True).cache(where).on_error("replace")

    alone = {x: (x, noise, text) for x, noise, text in made(kept()[i] for i in range(12) if i % 3)}
    for workers in (1, 3):
        for epoch in range(2):
            assert made(kept().shuffle(seed=5).at_epoch(epoch)) == [
                alone[x] for x, _, _ in made(kept().shuffle(seed=5).at_epoch(epoch))
            ]
            assert set(made(kept().shuffle(seed=5).options(workers=workers))) == set(alone.values())


def test_too_little_memory_is_an_error_with_both_figures():
    ds = hr.range(100).map(lambda x: {"x": x, "y": x + 1}).cache(max_memory=1000)
    with pytest.raises(
        MemoryError, match=r"cache: \d+ elements need at least \d+ bytes, but the limit is 1000"
    ):
        list(ds)


def test_runs_of_other_seeds_have_one_memory():
    made = (
        hr.range(50).map(lambda x, rng: np.full(100, rng.integers(9)), python=True).cache(max_memory=60_000)
    )
    sums = [sum(int(x.sum()) for x in made.options(seed=seed)) for seed in (1, 2, 1, 3)]
    assert sums[0] == sums[2]
    held = made.options(seed=4).numpy()
    assert len(list(held)) == 50
    report = held.report()
    assert report["caches"][0]["elements"] == 50 == report["caches"][0]["misses"]
    with pytest.raises(
        MemoryError, match=r"including \d+ bytes that another run uses now, but the limit is 60000"
    ):
        list(made.options(seed=5))
    assert len(list(held)) == 50
    assert held.report()["caches"][0]["hits"] == 50
    kept = held.report()["caches"][0]["bytes"]
    assert 40_000 < kept < 60_000 and f"cache: 50 elements, {kept / 1000:.1f} kB; 50 hits, 50 misses" in str(
        held.report()
    )
    del held
    assert len(list(made.options(seed=5))) == 50


def test_it_wants_random_access():
    with pytest.raises(ValueError, match="cache: needs random access"):
        hr.range(9).filter(lambda x: x > 3).cache()


# ---- what joins samples before it


JOINS = {
    "batch": lambda ds: ds.batch(4),
    "ragged batch": lambda ds: ds.map(lambda s: {"x": s["x"], "text": s["text"]}).batch(4, ragged=True),
    "batch of a shuffle": lambda ds: ds.shuffle(seed=2).batch(4),
    "batch of batches": lambda ds: ds.batch(2).batch(3, drop_last=True),
    "map of batches": lambda ds: ds.batch(4).map(lambda s: {"x": s["x"] + 1, "noise": s["noise"]}),
    "overlapping windows": lambda ds: ds.window(5, shift=2),
    "zip": lambda ds: ds.zip(hr.range(100, 130).shuffle(seed=1)),
    "enumerate": lambda ds: ds.shuffle(seed=2).enumerate(),
    "batch of a zip": lambda ds: ds.zip(hr.range(100, 130)).batch(3),
    "zip of batches": lambda ds: hr.zip(ds.batch(2), hr.range(100, 130).batch(2)),
    "batches one after the other": lambda ds: ds.batch(4).concatenate(ds.skip(3).batch(4)),
    "rank's own batches": lambda ds: ds.shard(1, 2).batch(4),
}


def plain_text(element):
    """An element as text that says all of it, arrays and lists of rows too."""
    if isinstance(element, dict):
        return {name: plain_text(part) for name, part in element.items()}
    if isinstance(element, (tuple, list, hr.RaggedColumn)) or type(element).__name__ == "Ragged":
        return [plain_text(part) for part in element]
    array = np.asarray(element)
    return str((array.dtype, array.shape, array.tolist()))


@pytest.mark.parametrize("join", JOINS)
def test_elements_of_joined_samples_are_those_of_epoch_0(join, where):
    counted = Counted()
    joined = JOINS[join](hr.range(20).map(counted, python=True))
    wanted = [plain_text(e) for e in joined]
    kept = joined.cache(where)
    counted.calls = 0
    loader = kept.options(workers=3).numpy()
    for _ in range(3):
        assert [plain_text(e) for e in loader] == wanted
    calls = counted.calls
    assert calls > 0
    assert [plain_text(kept[i]) for i in range(len(kept))] == wanted
    assert [plain_text(e) for e in kept.options(rewrites=False)] == wanted
    assert [plain_text(e) for e in kept.repeat(2)] == wanted * 2
    if "rank" not in join:
        ranks = [[plain_text(e) for e in kept.shard(rank, 2, even="drop")] for rank in range(2)]
        assert ranks == [wanted[: len(wanted) // 2 * 2][rank::2] for rank in range(2)]
    shuffled = kept.shuffle(seed=7)
    orders = [[plain_text(e) for e in shuffled.at_epoch(epoch)] for epoch in (0, 5)]
    assert orders[0] != orders[1]
    assert sorted(map(str, orders[1])) == sorted(map(str, wanted))
    assert counted.calls == calls, "each is made once"


@pytest.mark.parametrize("join", JOINS)
def test_a_state_goes_on_over_kept_joined_samples(join, where):
    kept = JOINS[join](hr.range(20).map(Counted(), python=True)).cache(where)
    wanted = [plain_text(e) for e in kept]
    for stop in {0, 1, len(wanted) // 2, len(wanted) - 1}:
        loader = kept.options(workers=1 + stop % 3).numpy()
        loader.set_epoch(2)
        it = iter(loader)
        for _ in range(stop):
            next(it)
        other = kept.numpy()
        other.load_state_dict(it.state_dict())
        if other.epoch == 2:
            assert [plain_text(e) for e in other] == wanted[stop:]


def test_ranks_share_a_folder_and_no_batches_of_their_own(tmp_path):
    def batches(rank, cache):
        ds = hr.range(12).shard(rank, 2).batch(3)
        return [b.tolist() for b in (ds.cache(tmp_path / "kept") if cache else ds)]

    for _ in range(2):
        for rank in range(2):
            assert batches(rank, True) == batches(rank, False)


def test_failures_of_joined_samples_are_not_kept(where):
    good = []

    def fails_at_first(x):
        if x == 3 and not good:
            raise ValueError("not yet")
        return x

    ds = hr.range(6).map(fails_at_first, python=True)
    with pytest.raises(hr.HeadraceError, match="not yet"):
        list(ds.batch(2).cache(where))
    assert [b.tolist() for b in ds.batch(2).cache().on_error("replace")] == [[0, 1], [2, 4], [4, 5]]
    good.append(True)
    assert [b.tolist() for b in ds.batch(2).cache(where)] == [[0, 1], [2, 3], [4, 5]]


def test_a_shuffle_whose_batches_are_kept_is_told():
    text = hr.range(20).shuffle(seed=1).batch(4).cache().explain()
    assert "every epoch has the same samples in each batch" in text
    assert "every epoch" not in hr.range(20).shuffle(seed=1).cache().batch(4).explain()


def test_a_plan_and_two_pipelines_on_one_cache(tmp_path, counted):
    ds = hr.range(10).map(lambda x: {"x": x * 2}).cache(tmp_path / "kept", version="2").batch(2)
    ds.save_plan(tmp_path / "plan.json")
    loaded = hr.load_plan(tmp_path / "plan.json")
    assert loaded.plan() == ds.plan() and [b["x"].tolist() for b in loaded] == [b["x"].tolist() for b in ds]
    kept = cached(counted, None)
    # The same cache under another seed draws otherwise, and is not the first one's.
    assert made(kept.options(seed=1)) != made(kept.options(seed=0))


# ---- in files


def test_another_run_finds_what_the_first_one_kept(tmp_path):
    script = """
        import sys, headrace as hr
        calls = []
        def count(x):
            calls.append(x)
            return {"x": x, "text": str(x)}
        ds = hr.range(int(sys.argv[2])).map(count, python=True).cache(sys.argv[1])
        calls.clear()
        print(sum(int(s["x"]) for s in ds), len(calls))
    """

    def run(size):
        command = [sys.executable, "-c", textwrap.dedent(script), tmp_path / "kept", str(size)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert run(10) == ["45", "10"]
    assert run(10) == ["45", "0"]
    assert run(11) == ["55", "11"], "other data"
    assert run(10) == ["45", "0"]


FACTOR = 1


def test_another_function_is_another_cache(tmp_path):
    def kept(function, **options):
        return [int(x) for x in hr.range(3).map(function, python=True).cache(tmp_path / "kept", **options)]

    def with_closure(k):
        return lambda x: x * k

    def with_default(k):
        def function(x, k=k):
            return x + k

        return function

    class Adds:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            return x + self.k

        def method(self, x):
            return x - self.k

    def by_global(x):
        return x * FACTOR

    global FACTOR  # noqa: PLW0603
    for k in (2, 3):
        FACTOR = k
        assert kept(with_closure(k)) == [0, k, 2 * k]
        assert kept(with_default(k)) == [k, k + 1, k + 2]
        assert kept(Adds(k)) == [k, k + 1, k + 2]
        assert kept(Adds(k).method) == [-k, 1 - k, 2 - k]
        assert kept(functools.partial(operator.add, k)) == [k, k + 1, k + 2]
        assert kept(by_global) == [0, k, 2 * k]
        stream = iter([k])
        with pytest.raises(ValueError, match=r"uses a list_iterator.*set version="):
            kept(lambda x, stream=stream: x)
        assert kept(lambda x, stream=stream, k=k: x * k, version=str(k)) == [0, k, 2 * k]
    names = len(list((tmp_path / "kept").glob("*.data")))
    assert kept(with_closure(2)) == [0, 2, 4] and len(list((tmp_path / "kept").glob("*.data"))) == names


CONF = """
class Cfg:
    k = {k}
    def times(self, x):
        return x * self.k
    @classmethod
    def of(cls, x):
        return x * cls.k
K = {k}
unused = open(__file__)
"""
READERS = """
import conf_of_cache
import conf_of_cache as conf
from conf_of_cache import Cfg
cfg = Cfg()
def by_import(x):
    import conf_of_cache
    return x * conf_of_cache.K
def by_name(x):
    from conf_of_cache import K
    return x * K
def by_instance(x):
    return x * cfg.k
def helper(x):
    return conf.K * x
class Own(Cfg):
    def __call__(self, x):
        return x * self.k
functions = [lambda x: x * conf.K, lambda x: x * Cfg.k, lambda x: x * conf.Cfg.k, lambda x: Cfg().times(x),
             lambda x: Cfg.of(x), lambda x: [x * conf.Cfg.k for _ in "a"][0], by_import, by_name, by_instance,
             helper, Cfg().times, Own(), lambda x: Own()(x)]
"""


def test_what_a_module_or_a_class_says_is_part_of_the_code(tmp_path):
    script = """
        import sys, headrace as hr
        sys.path.insert(0, sys.argv[1])
        from readers_of_cache import functions
        kept = lambda f: hr.range(3).map(f, python=True).cache(sys.argv[1] + "/kept")
        print([int(list(kept(f))[2]) for f in functions])
    """
    (tmp_path / "readers_of_cache.py").write_text(READERS)

    def run(k):
        (tmp_path / "conf_of_cache.py").write_text(CONF.format(k=k))
        command = [sys.executable, "-B", "-c", textwrap.dedent(script), tmp_path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return set(done.stdout.strip("[]\n").split(", "))

    assert run(2) == {"4"}
    kept = len(list((tmp_path / "kept").glob("*.data")))
    assert run(2) == {"4"} and len(list((tmp_path / "kept").glob("*.data"))) == kept
    assert run(35) == {"70"}


def test_a_module_of_what_cannot_be_told_wants_a_version(tmp_path, monkeypatch):
    module = types.ModuleType("opened_of_cache")
    module.__file__, module.stream = str(tmp_path / "opened_of_cache.py"), iter([1])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(
        ValueError, match=r"through opened_of_cache.stream, uses a list_iterator.*set version="
    ):
        hr.range(3).map(lambda x: (module.stream, x)[1], python=True).cache(tmp_path / "kept")


def test_other_data_of_the_same_names_and_sizes_are_other_data(tmp_path):
    def write(folder, first):
        hr.from_arrays({"x": np.arange(first, first + 4)}).write(
            tmp_path / folder / "data.arrow", overwrite=True
        )

    def kept(folder):
        return [int(s["x"]) for s in hr.read(tmp_path / folder / "data.arrow").cache(tmp_path / "kept")]

    for folder, first in (("a", 0), ("b", 50)):
        (tmp_path / folder).mkdir()
        write(folder, first)
    assert kept("a") == [0, 1, 2, 3] and kept("b") == [50, 51, 52, 53]
    write("a", 70)
    assert kept("a") == [70, 71, 72, 73] and kept("b") == [50, 51, 52, 53]


def test_an_image_that_is_replaced_is_another_one(photos, tmp_path):
    def kept():
        ds = hr.read_images(photos / "cat").map(lambda s: ops.decode_image(s.image))
        return [image.tobytes() for image in ds.cache(tmp_path / "kept")]

    before = kept()
    (photos / "cat" / "0.jpg").write_bytes((photos / "dog" / "0.jpg").read_bytes())
    after = kept()
    assert after[0] != before[0] and after[1:] == before[1:]


def test_items_of_a_sequence_want_a_version(tmp_path):
    with pytest.raises(ValueError, match="cache: cannot tell whether the items of a Python sequence"):
        hr.from_dataset([1, 2]).cache(tmp_path / "kept")
    for version, items in (("a", [1, 2]), ("b", [3, 4])):
        assert [int(x) for x in hr.from_dataset(items).cache(tmp_path / "kept", version=version)] == items


def test_damage_and_a_cut_cost_only_their_elements(counted, tmp_path):
    ds = cached(counted, tmp_path / "kept")
    whole = made(ds)
    (data,) = (tmp_path / "kept").glob("*.data")
    bytes_ = bytearray(data.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    data.write_bytes(bytes_[: len(bytes_) - 100])
    counted.calls = 0
    assert made(ds) == whole and 1 <= counted.calls <= 3
    assert made(ds) == whole and counted.calls <= 3, "they are kept again"
    (tmp_path / "kept" / data.name).write_bytes(b"")
    assert made(ds) == whole


# Forks a process for each line, "path seed", that fills the cache in an order of its own.
FILLERS = """
import os, sys
import headrace as hr
def element(x):
    return {"x": x, "text": str(x) * 300}
for line in sys.stdin:
    path, seed = line.split()
    child = os.fork()
    if child == 0:
        ds = hr.range(3000).map(element, python=True).cache(path, version="1")
        for _ in ds.shuffle(seed=int(seed)).options(workers=1):
            pass
        os._exit(0)
    print(child, flush=True)
"""


def test_processes_that_are_killed_while_they_fill_it_leave_what_they_kept(tmp_path):
    calls = []

    def element(x):
        calls.append(x)
        return {"x": x, "text": str(x) * 300}

    def anything_kept():
        return any(path.stat().st_size for path in tmp_path.glob("kept/*.index"))

    rounds = 100 if os.environ.get("HEADRACE_NIGHTLY") else 6
    draw = random.Random(3)
    command = [sys.executable, "-W", "ignore", "-c", FILLERS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        for seed in range(10 * rounds):
            if seed >= rounds and anything_kept():
                break
            running = []
            for process in range(3):
                print(tmp_path / "kept", seed + process, file=starter.stdin, flush=True)
                running.append(int(starter.stdout.readline()))
            time.sleep(draw.random() * 0.3)
            for process in running:
                os.kill(process, signal.SIGKILL)  # nobody waits for it: the number stays its own
        starter.stdin.close()
    ds = hr.range(3000).map(element, python=True).cache(tmp_path / "kept", version="1")
    calls.clear()
    assert [(int(s["x"]), s["text"]) for s in ds] == [(x, str(x) * 300) for x in range(3000)]
    assert anything_kept() and len(calls) < 3000
    assert len(calls) == len(set(calls))


@pytest.mark.parametrize("size", [100_000, 1000])
def test_a_killed_run_loses_a_megabyte_at_most(tmp_path, size):
    script = """
        import os, signal, sys, numpy as np, headrace as hr
        calls = []
        def big(x):
            calls.append(x)
            return {"x": x, "rows": np.full(int(sys.argv[3]), x)}
        ds = hr.range(400).map(big, python=True).cache(sys.argv[1], version="1")
        calls.clear()
        for n, s in enumerate(ds.options(workers=1)):
            if n == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
        print(len(calls))
    """

    def run(stop):
        command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
        return subprocess.run(
            [*command, tmp_path / "kept", str(stop), str(size)], check=False, capture_output=True, text=True
        )

    assert run(300).returncode == -signal.SIGKILL
    assert int(run(400).stdout) <= 100 + 1_000_000 // (8 * size)


def test_processes_share_it(tmp_path):
    script = """
        import sys, headrace as hr
        ds = hr.range(200).map(lambda x: {"x": x, "y": x * x}).cache(sys.argv[1]).shuffle(seed=int(sys.argv[2]))
        print(sum(int(s["y"]) for s in ds))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), tmp_path / "kept"]
    running = [subprocess.Popen([*command, str(i)], stdout=subprocess.PIPE, text=True) for i in range(4)]
    assert {p.communicate()[0].strip() for p in running} == {str(sum(x * x for x in range(200)))}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_disk_ends_the_cache_and_not_the_run(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", small], check=False, capture_output=True
    ).returncode:
        pytest.skip("may not mount")
    try:
        ds = hr.from_arrays({"x": np.arange(30 * 500_000, dtype=np.uint8).reshape(30, -1)}).cache(
            small / "kept"
        )
        with pytest.warns(RuntimeWarning, match="No space left on device; no more elements are cached in"):
            assert sum(int(s["x"][0]) for s in ds) == sum(i * 500_000 % 256 for i in range(30))
        del ds
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_the_folder_may_go_away(counted, tmp_path):
    ds = cached(counted, tmp_path / "kept")
    whole = made(ds)
    shutil.rmtree(tmp_path / "kept")
    assert made(ds) == whole and Path(tmp_path / "kept").is_dir()
