"""The line about long work: what it says, where it is drawn, and that it takes nothing with it when it goes."""

import contextlib
import gc
import io
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from headrace._watching import progress as _progress

import headrace as hr
from headrace import ops

pytest.importorskip("tqdm")


class Screen(io.StringIO):
    """A terminal that keeps what was drawn."""

    def isatty(self):
        return True

    def lines(self):
        return [line for line in self.getvalue().replace("\r", "\n").split("\n") if line.strip()]


def numbers(count=100, batch=10):
    return hr.range(count).map(lambda s: {"x": s * 2}).batch(batch)


def num_threads_of_process():
    return len(list(Path("/proc/self/task").iterdir()))


def test_elements_are_those_of_the_loader_and_the_last_line_says_all():
    screen = Screen()
    seen = [batch["x"].tolist() for batch in hr.progress(numbers().numpy(), file=screen)]
    assert seen == [batch["x"].tolist() for batch in numbers().numpy().at_its_first_epoch()]
    last = screen.lines()[-1]
    assert last.startswith("epoch 0: 100%|") and "| 10/10 [" in last
    assert "samples/s" in last and "waited" in last


def test_speeds_are_of_the_last_ten_seconds_and_at_the_end_of_all(monkeypatch):
    monkeypatch.setattr(_progress, "time", clock := Clock())
    speeds = _progress._Speeds(given := _progress._OfIterator())
    done = 0
    for per_second, waited in [(4, 0.5)] * 20 + [(2000, 0.0)] * 20:
        clock.now, done, given.waited = clock.now + 1, done + per_second, given.waited + waited
        said = speeds.text(done)
    assert said == "2 000 it/s, waited 0 %"
    assert speeds.text(done, of_all=True) == "1 002 it/s, waited 25 %"


def test_speed_counts_samples_not_batches():
    loader = numbers().numpy()
    of = _progress._OfLoader(loader)
    list(loader)
    samples, wall, waited = of.counts(3)
    assert samples == 100 and wall > 0 and 0 <= waited <= wall


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"limited_by": "unknown", "operators": []}, ""),
        ({"operators": []}, ""),
        ({"limited_by": "store latency", "operators": []}, "limit: store latency"),
        ({"limited_by": "cpu", "operators": []}, "limit: cpu"),
        (
            {"limited_by": "cpu", "operators": [{"name": "a", "cpu_s": 1.0}, {"name": "b", "cpu_s": 2.0}]},
            "limit: cpu (b)",
        ),
        ({"limited_by": "cpu", "operators": [], "io": {"cpu_s": 1.0}}, "limit: cpu (reading)"),
        (
            {"limited_by": "cpu", "operators": [{"name": "a", "cpu_s": 2.0}], "io": {"cpu_s": 1.0}},
            "limit: cpu (a)",
        ),
    ],
)
def test_the_limit_is_named_in_a_few_words(report, said):
    assert _progress._limit(report) == said


def test_each_iteration_of_one_line_is_the_next_epoch():
    screen = Screen()
    line = hr.progress(numbers().numpy(), file=screen)
    first = [batch["x"].sum() for batch in line]
    second = [batch["x"].sum() for batch in line]
    assert first == second
    drawn = screen.getvalue()
    assert "epoch 0: 100%" in drawn and "epoch 1: 100%" in drawn
    assert len(line) == 10


def test_it_goes_on_where_a_state_stands():
    loader = numbers().numpy()
    for step, _ in enumerate(loader):
        if step == 3:
            state = loader.state_dict()
            break
    again = numbers().numpy()
    again.load_state_dict(state)
    screen = Screen()
    rest = list(hr.progress(again, file=screen))
    assert len(rest) == 6
    assert "| 4/10 [" in screen.lines()[0] and "| 10/10 [" in screen.lines()[-1]


def test_a_loop_that_is_left_closes_the_line_and_ends_the_threads():
    before = num_threads_of_process()
    screen = Screen()
    loader = hr.range(10**6).map(lambda s: {"x": s + 1}).batch(10).numpy()
    for step, _ in enumerate(hr.progress(loader, file=screen)):
        if step == 2:
            break
    gc.collect()
    assert screen.getvalue().endswith("\n")
    assert "| 2/100000 [" in screen.lines()[-1]  # the third was not done with
    assert num_threads_of_process() <= before + 1  # tqdm's own
    assert loader.state_dict()["consumed"] == 30


def test_with_ends_line_and_threads_under_an_exception():
    screen = Screen()
    loader = hr.range(10**6).batch(10).numpy()
    with pytest.raises(ZeroDivisionError), hr.progress(loader, file=screen, desc="train") as line:
        for _ in line:
            line.set_postfix(loss=0.25, step=3)
            raise ZeroDivisionError
    assert screen.getvalue().endswith("\n")
    assert "train:" in screen.lines()[-1] and "loss 0.25, step 3, " in screen.lines()[-1]
    assert loader._current() is None


def test_an_iteration_of_the_user_stays_his_own():
    loader = numbers().numpy()
    mine = iter(loader)
    next(mine)
    screen = Screen()
    for _ in hr.progress(mine, file=screen):
        break
    assert "| 1/10 [" in screen.lines()[0]
    assert len(list(mine)) == 8


def test_an_error_of_the_data_closes_the_line():
    screen = Screen()
    broken = hr.from_list([b"no picture"] * 4).map(ops.decode_image).batch(2)
    with pytest.raises(hr.CorruptSample):
        list(hr.progress(broken.numpy(), file=screen))
    assert screen.getvalue().endswith("\n")


def test_what_is_no_loader_has_a_line_too():
    screen = Screen()
    assert list(hr.progress((i for i in range(5)), total=5, desc="mine", file=screen)) == [0, 1, 2, 3, 4]
    assert "mine: 100%" in screen.lines()[-1] and "it/s, waited" in screen.lines()[-1]
    screen = Screen()
    assert sum(hr.progress((i for i in range(5)), file=screen, desc="mine")) == 10
    assert screen.lines()[-1].startswith("mine: 5 [")  # no bar without a length
    screen = Screen()
    assert len(list(hr.progress(numbers(), file=screen))) == 10  # a dataset: its epoch 0
    assert "| 10/10 [" in screen.lines()[-1]


def test_lengths_that_are_not_known_show_no_bar():
    screen = Screen()
    kept = hr.range(100).filter(lambda x: x % 2 == 0).batch(10)
    assert len(list(hr.progress(kept.numpy(), file=screen))) == 5
    assert screen.lines()[-1].startswith("epoch 0: 5 [")
    screen = Screen()
    for step, _ in enumerate(hr.progress(hr.range(4).repeat().batch(2).numpy(), file=screen)):
        if step == 9:
            break
    assert screen.lines()[-1].startswith("epoch 0: 9 [")


def test_nothing_is_shown_where_nobody_looks(capsys):
    assert len(list(hr.progress(numbers().numpy()))) == 10  # stderr of a test is no terminal
    plain, screen = io.StringIO(), Screen()
    assert len(list(hr.progress(numbers().numpy(), file=plain))) == 10
    assert len(list(hr.progress(numbers().numpy(), file=screen, disable=True))) == 10
    assert plain.getvalue() == screen.getvalue() == "" == capsys.readouterr().err


def test_a_notebook_is_watched(monkeypatch):
    assert not _progress.is_watched()
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert _progress.is_watched()
    shell.config.clear()  # IPython in a terminal: that decides
    assert not _progress.is_watched()
    monkeypatch.setattr(sys, "stderr", None)
    assert not _progress.is_watched()


def test_without_tqdm_elements_come_with_one_warning(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.warns(RuntimeWarning, match="tqdm is not installed") as warned:
        assert len(list(hr.progress(numbers().numpy(), file=Screen()))) == 10
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(hr.progress(numbers().numpy()))) == 10


def test_what_is_wrong_is_said_at_once():
    with pytest.raises(TypeError, match="progress: expected a loader or another iterable, got 3"):
        hr.progress(3)
    with pytest.raises(TypeError, match="did you mean 'desc'"):
        hr.progress([], dsc="x")
    with pytest.raises(ValueError, match="total"):
        hr.progress([], total=-1)


# ---- where an iteration stands


CHAINS = {
    "batches": lambda rank, world: hr.range(103).shard(rank, world).batch(5),
    "whole batches": lambda rank, world: hr.range(103).shard(rank, world).batch(5, drop_last=True),
    "dealt batches": lambda rank, world: hr.range(103).batch(5).shard(rank, world),
    "samples": lambda rank, world: hr.range(103).shard(rank, world, even="drop"),
    "passes": lambda rank, world: hr.range(23).shard(rank, world).batch(5).repeat(3),
    "rows": lambda rank, world: hr.range(103).repeat(2).shard(rank, world).batch(5),
    "filtered": lambda rank, world: (
        hr.range(103).shard(rank, world).filter(lambda x: x % 3 != 0).batch(5)
        if world == 1
        else hr.range(103).shard(rank, world, steps=9).filter(lambda x: x % 3 != 0).batch(5)
    ),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("world", [1, 3])
def test_positions_count_the_elements_of_an_epoch(chain, world):
    rank = world - 1
    loader = chain(rank, world).numpy().at_its_first_epoch()
    states = []
    for step, _ in enumerate(loader):
        assert loader._core.position == step + 1
        states.append(loader.state_dict())
    for step, state in enumerate(states):
        again = chain(rank, world).numpy()
        again.load_state_dict(state)
        iteration = iter(again)
        assert again._core.position == (0 if state.get("finished") else step + 1)
        del iteration


@pytest.mark.parametrize("name", ["batches", "whole batches", "dealt batches", "samples", "passes", "rows"])
def test_on_another_world_the_line_ends_at_its_length(name):
    loader = CHAINS[name](0, 2).numpy().at_its_first_epoch()
    for _, _ in zip(range(4), loader):
        state = loader.state_dict()
    other = CHAINS[name](2, 3)
    again = other.numpy()
    again.load_state_dict(state)
    begun = iter(again)
    assert again._core.position + len(list(begun)) == len(other)


# ---- long work of the package


class Clock:
    """What time it is, as the test says."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@contextlib.contextmanager
def looking(patience=0.0, clock=time):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_progress, "time", clock)
        patch.setattr(_progress, "_PATIENCE_S", patience)
        patch.setattr(sys, "stderr", made := Screen())
        yield made


def test_writing_shows_a_line_that_goes(tmp_path):
    data = hr.from_arrays({"x": np.arange(500)})
    with looking() as screen:
        made = data.write(tmp_path / "out.tfrecord", verify=True)
    assert made["samples"] == 500
    drawn = screen.getvalue()
    assert "writing out.tfrecord:" in drawn and "verifying out.tfrecord:" in drawn and "/500 [" in drawn
    assert drawn.rsplit("\r", 1)[-1].strip() == ""  # it is gone


def test_counts_of_work_become_speeds():
    clock = Clock()
    with looking(clock=clock) as screen:
        with _progress.line_where_watched("samples") as line:
            for done in (100, 350, 351, 1000):
                line.show("writing", done, 1000, _progress.size_text(done * 1000))
                clock.now += 0.01 if done == 350 else 2.0  # 351 comes too soon to be drawn
        with _progress.line_where_watched() as line:
            line.show("indexing", 0, 5_000_000)
            clock.now += 1.0
            line.show("indexing", 2_500_000, 5_000_000)
            assert "2.50M/5.00M" in screen.lines()[-1]
    drawn = screen.getvalue()
    assert "| 350/1000 [" in drawn and ", 125 samples/s, 350.0 kB]" in drawn
    assert "| 1000/1000 [" in drawn and ", 224 samples/s, 1.0 MB]" in drawn
    assert "| 351/1000 [" not in drawn
    assert "| 2.50M/5.00M [" in drawn and ", 2.5 MB/s]" in drawn
    assert "| 5.00M/5.00M [" in drawn  # it has come to its end


def test_writing_is_quiet_on_request_and_tells_a_function_instead(tmp_path):
    data = hr.from_arrays({"x": np.arange(50)})
    told = []
    with looking() as screen:
        data.write(tmp_path / "a.tfrecord", progress=False)
        data.write(tmp_path / "b.tfrecord", progress=told.append)
    assert screen.getvalue() == "" and told[-1]["samples"] == 50
    with pytest.raises(hr.HeadraceError, match="stopped"):
        data.write(tmp_path / "c.tfrecord", progress=lambda at: False)


def test_indexing_shows_a_line(photos):
    with looking() as screen:
        assert hr.index(photos)["samples"] == 12
    assert "indexing:   0%|" in screen.getvalue() and "/12 [" in screen.getvalue()
    with looking() as screen:
        hr.index(photos, progress=False)
    assert screen.getvalue() == ""


def test_opening_tells_how_many_bytes_are_indexed(monkeypatch, tmp_path):
    hr.from_list([b"x" * 100] * 30_000).map(lambda s: {"record": s}).write(tmp_path / "a.tfrecord")
    told = []
    source = hr._core.open_source(str(tmp_path / "a.tfrecord"), "", {}, lambda *at: told.append(at))
    assert source.size == 30_000
    assert all(done <= total for done, total in told)


def test_what_a_watcher_raises_comes_out(tmp_path, photos):
    def fails(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hr._core.index(hr.read(photos)._node, 0, 1, False, fails)


def test_short_work_shows_nothing(tmp_path):
    with looking(patience=1000.0) as screen:
        hr.from_arrays({"x": np.arange(50)}).write(tmp_path / "a.tfrecord")
    assert screen.getvalue().strip() == ""
