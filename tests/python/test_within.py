"""What a function of a pipeline, or a signal handler, may do with the loader that calls it."""

from __future__ import annotations

import collections
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr


def _while_it_works(within: Callable[[Any], object], workers: int) -> tuple[list[int], Any]:
    """Return what comes when something is done in the middle of a batch, and the loader."""
    at_work: list[Any] = []

    def calls(x: int) -> int:
        if x == 33 and at_work:
            within(at_work.pop())
        return x

    loader = hr.range(64).map(calls, python=True).batch(8).options(workers=workers, ready=1).numpy()
    at_work.append(loader)
    return [int(batch[0]) for batch in loader], loader


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_function_may_close_its_loader(workers: int) -> None:
    got, loader = _while_it_works(lambda loader: loader.close(), workers)
    assert got == [0, 8, 16, 24][: len(got)]
    loader.load_state_dict(loader.state_dict())
    assert got + [int(batch[0]) for batch in loader] == list(range(0, 64, 8))

    got, loader = _while_it_works(lambda loader: loader.set_epoch(5), workers)
    assert len(got) <= 4 and loader.epoch == 5
    assert len(list(loader)) == 8

    state = loader.state_dict()
    got, loader = _while_it_works(lambda loader: loader.load_state_dict({**state, "epoch": 2}), workers)
    assert len(got) <= 4 and loader.epoch in {2, 3}

    got, loader = _while_it_works(lambda loader: (loader.report(), loader.state_dict()), workers)
    assert len(got) == 8


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("again", [iter, lambda loader: next(loader._current())])
def test_a_function_cannot_iterate_over_its_loader(again: Callable[[Any], object], workers: int) -> None:
    with pytest.raises(hr.HeadraceError, match="may close its loader, but not begin or go on with"):
        _while_it_works(again, workers)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_what_fails_in_a_function_that_closes_is_heard(workers: int) -> None:
    def within(loader: Any) -> None:
        loader.close()
        raise LookupError("thirty-three")

    with pytest.raises(hr.HeadraceError, match="thirty-three"):
        _while_it_works(within, workers)


@pytest.mark.alone
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("leave", [False, True])
def test_a_signal_handler_may_close_it(leave: bool, workers: int) -> None:
    handled = []

    def slow(x: int) -> int:
        time.sleep(0.002)
        return x

    def handler(*_: object) -> None:
        handled.append(True)
        loader.close()
        if leave:
            raise SystemExit(3)

    loader = hr.range(100_000).map(slow, python=True).batch(500).options(workers=workers).numpy()
    before = signal.signal(signal.SIGTERM, handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    begin = time.monotonic()
    try:
        if leave:
            with pytest.raises(SystemExit):
                list(loader)
        else:
            assert len(list(loader)) < 100
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)
    assert handled and time.monotonic() - begin < 5


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_function_may_hold_the_last_reference(workers: int) -> None:
    seen: list[Any] = []
    known: list[weakref.ref[Any]] = []

    def drops(x: int) -> int:
        if x == 33 and (loader := known[0]()):
            loader.close()
            time.sleep(0.05)
            seen.append(loader.epoch)
            del loader
        return x

    def train() -> int:
        loader = hr.range(400).map(drops, python=True).batch(4).options(workers=workers, ready=16).numpy()
        known.append(weakref.ref(loader))
        return len(list(loader))

    assert train() <= 9
    while not seen or known[0]() is not None:
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("inner", [0, 1])
def test_a_function_of_a_loader_within_may_close_the_one_around(inner: int, workers: int) -> None:
    around: list[Any] = []

    def closes(y: int) -> int:
        if y == 3 and around:
            around.pop().close()
        return y

    def iterates(x: int) -> int:
        if x != 33:
            return x
        data = hr.range(8).map(closes, python=True).batch(2)
        return len(list(data.options(workers=inner).numpy().at_its_first_epoch()))

    loader = hr.range(64).map(iterates, python=True).batch(8).options(workers=workers, ready=1).numpy()
    around.append(loader)
    assert len(list(loader)) <= 4
    assert len(list(loader)) == 8


@pytest.mark.parametrize("workers", [0, 1])
def test_who_begins_waits_for_a_function_that_wants_to(workers: int) -> None:
    entered, said = threading.Event(), []
    at_work: list[Any] = []

    def begins(x: int) -> int:
        if x == 33 and at_work:
            entered.set()
            time.sleep(0.1)  # the other one comes
            try:
                iter(at_work.pop())
            except ValueError as error:
                said.append(str(error))
        return x

    loader = hr.range(64).map(begins, python=True).batch(8).options(workers=workers, ready=1).numpy()
    at_work.append(loader)
    consumer = threading.Thread(target=lambda: _ends(iter(loader)))
    consumer.start()
    entered.wait()
    assert [int(batch[0]) for batch in loader] == list(range(0, 64, 8))
    consumer.join()
    assert len(said) == 1 and "may close its loader" in said[0]


def _ends(iteration: Any) -> None:
    try:
        for _ in iteration:
            pass
    except RuntimeError as error:  # HeadraceError, too
        assert "ended by another" in str(error) or "stopped" in str(error)


@pytest.mark.parametrize("workers", [0, 2])
def test_all_that_share_an_iterator_come_to_its_end(workers: int) -> None:
    for _ in range(20):
        at_work: list[Any] = []

        def closes(x: int, at_work: list[Any] = at_work) -> int:
            if x == 33 and at_work:
                at_work.pop().close()
            return x

        loader = hr.range(640).map(closes, python=True).batch(8).options(workers=workers, ready=4).numpy()
        at_work.append(loader)
        iteration = iter(loader.at_its_first_epoch())
        raised: list[BaseException] = []

        def take(iteration: Any = iteration, raised: list[BaseException] = raised) -> None:
            try:
                list(iteration)
            except BaseException as error:  # noqa: BLE001 - whatever it is
                raised.append(error)

        threads = [threading.Thread(target=take) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert raised == []


def test_a_state_is_of_what_comes_next_and_not_of_what_was() -> None:
    loader = hr.range(64).batch(8).numpy()
    iteration = iter(loader)
    next(iteration)
    loader.set_epoch(5)
    assert loader.state_dict()["epoch"] == 5
    assert iteration.state_dict()["epoch"] == 0
    loader.load_state_dict(iteration.state_dict())
    assert loader.state_dict() == iteration.state_dict()


class _Interrupted(BaseException):
    pass


def _interrupts(how: str, loader: Any, states: list[Any]) -> Callable[..., None]:
    def handler(*_: object) -> None:
        if how == "saves":
            states.append(loader.state_dict())
        if how == "closes":
            loader.close()
        else:
            raise _Interrupted

    return handler


@pytest.mark.alone
@pytest.mark.parametrize("workers", [None, 0, 2])
@pytest.mark.parametrize("how", ["raises", "saves", "closes"])
@pytest.mark.parametrize("filtered", [False, True])
def test_what_a_signal_kept_from_the_loop_comes_again(filtered: bool, how: str, workers: int | None) -> None:
    data = hr.range(400_000).batch(100)
    if filtered:
        data = hr.range(800_000).filter(lambda x: x % 2 == 0).batch(100)
    data = data.options(workers=workers)
    expected = [int(batch[0]) for batch in data]
    interrupted = 0
    before = signal.getsignal(signal.SIGALRM)
    try:
        for trial in range(12):
            loader = data.numpy().at_its_first_epoch()
            got: list[Any] = []
            states: list[Any] = []
            iteration = iter(loader)
            signal.signal(signal.SIGALRM, _interrupts(how, loader, states))
            signal.setitimer(signal.ITIMER_REAL, 0.002 + trial * 3e-4)
            try:  # between next() and append() nothing is done in which a handler could run
                collections.deque(map(got.append, iteration), maxlen=0)
            except _Interrupted:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            interrupted += len(got) < len(expected)
            state = states[0] if states else loader.state_dict()
            again = data.numpy()
            again.load_state_dict(state)
            rest = [int(batch[0]) for batch in again] if len(got) < len(expected) else []
            assert [int(batch[0]) for batch in got] + rest == expected
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 0


@pytest.mark.parametrize("how", ["epoch", "state"])
@pytest.mark.parametrize("workers", [None, 0, 2])
def test_a_handler_may_say_what_comes_next(workers: int | None, how: str) -> None:
    def slow(x: int) -> int:
        time.sleep(0.005)
        return x

    data = hr.range(100).map(slow, python=True).batch(10).options(workers=workers)
    loader = data.numpy()
    state = {**loader.state_dict(), "consumed": 30}

    def handler(*_: object) -> None:
        loader.set_epoch(7) if how == "epoch" else loader.load_state_dict(state)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.12)
        got = [int(batch[0]) for batch in loader]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert got == list(range(0, 10 * len(got), 10)) and len(got) < 10
    assert loader.epoch == (7 if how == "epoch" else 0)
    assert [int(batch[0]) for batch in loader] == list(range(0 if how == "epoch" else 30, 100, 10))
