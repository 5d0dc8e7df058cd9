"""Calls beside a running iteration: it goes on, or raises what ended it; it never ends like an exhausted one."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace as hr

# With random access, and as a stream; 13 elements an epoch.
PIPELINES = {
    "indexed": hr.range(52).shuffle(seed=3).batch(4),
    "stream": hr.range(104).shuffle(seed=3).filter(lambda x: x % 2 == 0).batch(4),
}
STEPS = 13
ENDED = "this iteration was ended by"


def lists(batches: Any) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


def epoch_of(ds: hr.Dataset, epoch: int) -> list[list[int]]:
    loader = ds.numpy()
    loader.set_epoch(epoch)
    return lists(loader)


@pytest.fixture(params=PIPELINES)
def ds(request: pytest.FixtureRequest) -> hr.Dataset:
    return PIPELINES[request.param]


@pytest.fixture(params=[0, 2])
def made(request: pytest.FixtureRequest, ds: hr.Dataset) -> Any:
    return ds.options(workers=request.param).numpy().at_its_first_epoch()


# Each call, and what the running iteration does then: None: it goes on; else why it raises.
CALLS: dict[str, tuple[Callable[[Any, Any], object], str | None]] = {
    "same epoch": (lambda loader, it: loader.set_epoch(0), None),
    "sampler": (lambda loader, it: loader.sampler.set_epoch(0), None),
    "next epoch": (lambda loader, it: loader.set_epoch(1), None),
    "another epoch": (lambda loader, it: loader.set_epoch(5), None),
    "sampler's other": (lambda loader, it: loader.sampler.set_epoch(5), None),
    "state": (lambda loader, it: (loader.state_dict(), it.state_dict()), None),
    "report": (lambda loader, it: (loader.report(), str(loader.report())), None),
    "explain": (lambda loader, it: loader.explain(measure=True), None),
    "names": (lambda loader, it: (repr(loader), loader.epoch, iter(it)), None),
    "dataset": (lambda loader, it: next(iter(loader.dataset)), None),
    "another loader": (lambda loader, it: lists(loader.dataset.numpy().at_its_first_epoch()), None),
    "bad epoch": (lambda loader, it: _fails(lambda: loader.set_epoch(-1)), None),
    "bad state": (lambda loader, it: _fails(lambda: loader.load_state_dict({"version": 1})), None),
    "no state": (lambda loader, it: _fails(lambda: loader.load_state_dict(None)), None),
    "load": (lambda loader, it: loader.load_state_dict(loader.state_dict()), "load_state_dict"),
    "close": (lambda loader, it: loader.close(), "close"),
    "leave with": (lambda loader, it: loader.__exit__(None, None, None), "close"),
    "close the iteration": (lambda loader, it: it.close(), "close"),
    "iter": (lambda loader, it: iter(loader), "another iter"),
    "replay": (lambda loader, it: next(loader.replayed(2)), "another iter"),
}


def _fails(call: Callable[[], object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        call()


@pytest.mark.parametrize("given", [0, 1, 5, STEPS])
@pytest.mark.parametrize("name", CALLS)
def test_a_running_iteration_goes_on_or_says_what_ended_it(
    made: Any, ds: hr.Dataset, name: str, given: int
) -> None:
    call, why = CALLS[name]
    iteration = iter(made)
    got = [next(iteration).tolist() for _ in range(given)]
    state = iteration.state_dict()
    kept = call(made, iteration)
    assert iteration.state_dict() == state
    if why is None:
        assert made.epoch == 0
        assert got + lists(iteration) == epoch_of(ds, 0)
        following = 5 if "other" in name and name != "another loader" else 1
        assert made.epoch == following
        assert lists(made) == epoch_of(ds, following)
    else:
        for _ in range(2):
            with pytest.raises(RuntimeError, match=f"{ENDED} {why}"):
                next(iteration)
        other = ds.numpy()
        other.load_state_dict(state)
        rest = epoch_of(ds, 0)[given:]
        assert lists(other) == (rest or ([] if "filter" in repr(ds) else epoch_of(ds, 1)))
    del kept


@pytest.mark.parametrize("name", CALLS)
def test_an_exhausted_iteration_stays_exhausted(made: Any, ds: hr.Dataset, name: str) -> None:
    iteration = iter(made)
    lists(iteration)
    state = iteration.state_dict()
    CALLS[name][0](made, iteration)
    assert lists(iteration) == [] and iteration.state_dict() == state


@pytest.mark.parametrize("name", CALLS)
def test_a_call_before_the_first_iteration(made: Any, ds: hr.Dataset, name: str) -> None:
    if "iteration" in name:
        return
    kept = CALLS[name][0](made, iter([]) if name == "names" else made)
    first = {"another epoch": 5, "sampler's other": 5, "next epoch": 1}.get(name, 0)
    assert lists(made) == epoch_of(ds, first)
    del kept


@pytest.mark.parametrize("epoch", [0, 1, 2, 5])
@pytest.mark.parametrize("given", [0, 4, STEPS])
def test_an_epoch_after_a_loaded_state(ds: hr.Dataset, given: int, epoch: int) -> None:
    """The state's own epoch keeps its position; the newer call wins otherwise."""
    first = ds.numpy()
    first.set_epoch(1)
    iteration = iter(first)
    for _ in range(given):
        next(iteration)
    if given == STEPS:
        assert next(iteration, None) is None
    state = iteration.state_dict()
    loader = ds.numpy()
    loader.load_state_dict(state)
    loader.set_epoch(epoch)
    if epoch == 1 and given < STEPS:
        assert loader.state_dict() == state
        assert lists(loader) == epoch_of(ds, 1)[given:]
    else:
        assert lists(loader) == epoch_of(ds, epoch)
    # and a state that is loaded after that replaces it
    loader.set_epoch(epoch)
    loader.load_state_dict(state)
    assert lists(loader) == (epoch_of(ds, 1)[given:] or epoch_of(ds, 2))


def test_the_state_is_of_the_running_iteration_until_it_is_done(made: Any, ds: hr.Dataset) -> None:
    iteration = iter(made)
    got = [next(iteration).tolist()]
    made.set_epoch(5)
    for batch in iteration:
        state = made.state_dict()
        assert state == iteration.state_dict() or len(got) == STEPS - 1
        got.append(batch.tolist())
    assert got == epoch_of(ds, 0)
    assert iteration.state_dict()["finished"] and iteration.state_dict()["epoch"] == 0
    state = made.state_dict()
    assert state["epoch"] == 5 and made.epoch == 5
    other = ds.numpy()
    other.load_state_dict(state)
    assert lists(other) == lists(made) == epoch_of(ds, 5)
    assert made.epoch == 6


@pytest.mark.parametrize("dropped", [False, True])
def test_an_epoch_that_is_named_again_and_left_begins_again(made: Any, ds: hr.Dataset, dropped: bool) -> None:
    """As with a sampler of PyTorch, and whether or not somebody still holds the iteration."""
    iteration: Any = iter(made)
    next(iteration)
    if dropped:
        iteration = None
    made.set_epoch(0)
    assert lists(made) == epoch_of(ds, 0)
    assert lists(made) == epoch_of(ds, 1)
    del iteration


def test_of_two_epochs_the_last_counts(made: Any, ds: hr.Dataset) -> None:
    iteration = iter(made)
    made.set_epoch(5)
    made.set_epoch(0)
    assert lists(iteration) == epoch_of(ds, 0)
    iteration = iter(made)
    assert made.epoch == 1
    made.set_epoch(3)
    made.set_epoch(7)
    next(iteration)
    assert lists(made) == epoch_of(ds, 7)


class _Fit:
    """The order in which Lightning 2.6 calls a loader, in training and in validation."""

    def __init__(self, train: Any, val: Any, steps: int = STEPS):
        self.train, self.val, self.steps = train, val, steps
        self.trained: list[list[list[int]]] = []
        self.validated: list[list[list[int]]] = []
        self.held: Any = None  # the iteration of the last validation, which is not run to its StopIteration

    def validate(self, epoch: int, most: int) -> None:
        self.val.sampler.set_epoch(epoch)
        self.held = iter(self.val)
        self.validated.append([next(self.held).tolist() for _ in range(most)])

    def run(self, epochs: int, first: int = 0, state: Any = None) -> None:
        iter(self.val)  # it looks whether it can
        self.validate(first, 2)  # sanity check
        iter(self.train)
        if state is not None:
            self.train.load_state_dict(state)
        iteration = iter(self.train)
        for epoch in range(first, epochs):
            self.train.sampler.set_epoch(epoch)
            if epoch > first:
                iteration = iter(self.train)
            left = self.steps - (4 if state is not None and epoch == first else 0)
            self.trained.append([next(iteration).tolist() for _ in range(left)])
            self.validate(epoch, STEPS)


@pytest.mark.parametrize("steps", [STEPS, 5])
def test_the_order_of_calls_of_lightning(ds: hr.Dataset, steps: int) -> None:
    fit = _Fit(ds.numpy().at_its_first_epoch(), ds.numpy().at_its_first_epoch(), steps)
    fit.run(3)
    assert fit.trained == [epoch_of(ds, epoch)[:steps] for epoch in range(3)]
    assert fit.validated == [epoch_of(ds, 0)[:2], *(epoch_of(ds, epoch) for epoch in range(3))]


def test_lightning_resumes_within_an_epoch(ds: hr.Dataset) -> None:
    loader = ds.numpy()
    loader.set_epoch(1)
    iteration = iter(loader)
    for _ in range(4):
        next(iteration)
    fit = _Fit(ds.numpy().at_its_first_epoch(), ds.numpy().at_its_first_epoch())
    fit.run(3, first=1, state=loader.state_dict())
    assert fit.trained == [epoch_of(ds, 1)[4:], epoch_of(ds, 2)]


@pytest.mark.parametrize("how", ["iter", "held", "close", "state"])
def test_an_iteration_of_which_nothing_was_taken_does_not_count(made: Any, ds: hr.Dataset, how: str) -> None:
    first = iter(made)
    next(first), next(first)
    state = first.state_dict()
    made.load_state_dict(state)
    kept = iter(made)
    if how == "iter":
        del kept
    elif how == "close":
        made.close()
    elif how == "state":
        made.load_state_dict(made.state_dict())
    assert made.epoch == 0
    assert made.state_dict() == state or how == "held"
    assert lists(made) == epoch_of(ds, 0)[2:]
    assert lists(made) == epoch_of(ds, 1)


def test_an_epoch_without_elements_counts() -> None:
    for empty in (hr.range(9).filter(lambda x: x < 0), hr.range(9).take(0)):
        loader = empty.numpy().at_its_first_epoch()
        assert list(loader) == [] and loader.epoch == 1


@pytest.mark.parametrize("name", ["load", "close", "close the iteration", "iter"])
def test_a_thread_that_waits_is_told(name: str) -> None:
    entered, may_go_on = threading.Event(), threading.Event()

    def waits(x: int) -> int:
        if x == 3:
            entered.set()
            may_go_on.wait(0.2)
        return x

    loader = hr.range(10).map(waits, python=True).options(workers=1, ready=1).numpy()
    iteration = iter(loader)
    said: list[str] = []

    def consume() -> None:
        try:
            list(iteration)
        except RuntimeError as error:
            said.append(str(error))

    thread = threading.Thread(target=consume)
    thread.start()
    entered.wait()
    call, why = CALLS[name]
    kept = call(loader, iteration)
    thread.join()
    assert len(said) == 1 and said[0].startswith(f"{ENDED} {why}")
    del kept


def test_after_an_error_it_does_not_seem_exhausted() -> None:
    def fails(x: int) -> int:
        if x == 3:
            raise LookupError("three")
        return x

    iteration = iter(hr.range(10).map(fails, python=True).numpy())
    got = [int(next(iteration)) for _ in range(3)]
    with pytest.raises(hr.HeadraceError, match="three"):
        next(iteration)
    with pytest.raises(RuntimeError, match=rf"{ENDED} what its next\(\) raised, HeadraceError: .*three"):
        next(iteration)
    assert got == [0, 1, 2]


def test_a_state_of_another_rank_ends_nothing() -> None:
    ranks = [hr.range(100).shard(rank, 2, steps=8).filter(lambda x: x % 3 > 0).batch(4) for rank in (0, 1)]
    others = iter(ranks[1].numpy().at_its_first_epoch())
    next(others)
    loader = ranks[0].numpy().at_its_first_epoch()
    iteration = iter(loader)
    got = [next(iteration).tolist()]
    with pytest.raises(ValueError, match="rank 1"):
        loader.load_state_dict(others.state_dict())
    assert got + lists(iteration) == lists(ranks[0])


def _in_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 -- whatever it is
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("name", ["another epoch", "close", "close the iteration"])
def test_what_a_forked_child_calls_leaves_the_parents_iteration(ds: hr.Dataset, name: str) -> None:
    loader = ds.numpy().at_its_first_epoch()
    iteration: Iterator[Any] = iter(loader)
    got = [next(iteration).tolist()]

    def work() -> None:
        with contextlib.suppress(hr.HeadraceError):
            CALLS[name][0](loader, iteration)
        with pytest.raises(hr.HeadraceError, match="belongs to process"):
            next(iteration)

    assert _in_child(work) == 0
    assert got + lists(iteration) == epoch_of(ds, 0)
