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
    return _until_ended(loader), loader


def _until_ended(batches: Any) -> list[int]:
    """Return what comes until the end, or until a call that says that it ended the iteration."""
    got: list[int] = []
    try:
        for batch in batches:
            got.append(int(batch[0]))
    except RuntimeError as error:
        if "this iteration was ended by" not in str(error):
            raise
    return got


def _with_one_within(within: Callable[[Any], object], inner: int, workers: int) -> Any:
    """Return a loader in whose functions another one iterates, where something is done with the first, once."""
    around: list[Any] = []

    def calls(y: int) -> int:
        if y == 3 and around:
            within(around.pop())
        return y

    def iterates(x: int) -> int:
        if x != 33:
            return x
        data = hr.range(8).map(calls, python=True).batch(2)
        return len(list(data.options(workers=inner).numpy().at_its_first_epoch()))

    loader = hr.range(64).map(iterates, python=True).batch(8).options(workers=workers, ready=1).numpy()
    around.append(loader)
    return loader


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_function_may_close_its_loader(workers: int) -> None:
    got, loader = _while_it_works(lambda loader: loader.close(), workers)
    assert got == [0, 8, 16, 24][: len(got)]
    loader.load_state_dict(loader.state_dict())
    assert got + [int(batch[0]) for batch in loader] == list(range(0, 64, 8))

    got, loader = _while_it_works(lambda loader: loader.set_epoch(5), workers)
    assert len(got) == 8 and loader.epoch == 5
    assert len(list(loader)) == 8

    state = loader.state_dict()
    got, loader = _while_it_works(lambda loader: loader.load_state_dict({**state, "epoch": 2}), workers)
    assert len(got) <= 4 and loader.epoch in {2, 3}

    got, loader = _while_it_works(lambda loader: (loader.report(), loader.state_dict()), workers)
    assert len(got) == 8


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("again", [iter, lambda loader: next(loader._current())])
def test_a_function_cannot_iterate_over_its_loader(again: Callable[[Any], object], workers: int) -> None:
    with pytest.raises(hr.HeadraceError, match="may close the pipeline's loader, but not begin or continue"):
        _while_it_works(again, workers)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_what_fails_in_a_function_that_closes_is_heard(workers: int) -> None:
    def within(loader: Any) -> None:
        loader.close()
        raise LookupError("thirty-three")

    with pytest.raises(hr.HeadraceError, match="thirty-three"):
        _while_it_works(within, workers)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize(
    "ends",
    [
        lambda loader: loader.close(),
        lambda loader: (loader.close(), loader.set_epoch(3)),
        lambda loader: loader.load_state_dict(loader.state_dict()),
    ],
)
def test_it_is_heard_however_late_it_fails_or_is_asked_for(
    ends: Callable[[Any], object], workers: int
) -> None:
    at_work: list[Any] = []

    def fails(x: int) -> int:
        if x == 33 and at_work:
            ends(at_work.pop())
            time.sleep(0.1)  # longer than the consumer waits between two looks
            raise LookupError("thirty-three")
        return x

    for step in (0, 0.03):  # of the training, in which the function closes the loader
        loader = hr.range(64).map(fails, python=True).batch(8).options(workers=workers, ready=8).numpy()
        at_work.append(loader)
        with pytest.raises(hr.HeadraceError, match="thirty-three"):
            for _ in loader.at_its_first_epoch():
                time.sleep(step)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("inner", [0, 1])
def test_what_fails_in_a_loader_within_that_closes_the_one_around_is_heard(inner: int, workers: int) -> None:
    def closes(around: Any) -> None:
        around.close()
        raise LookupError("inner three")

    loader = _with_one_within(closes, inner, workers)
    with pytest.raises(hr.HeadraceError, match="inner three"):
        list(loader)


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
            with pytest.raises(RuntimeError, match=r"ended by close\(\) of its loader"):
                list(loader)
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)
    assert handled and time.monotonic() - begin < 5


def _last_reference_in_a_function(workers: int) -> tuple[weakref.ref[Any], threading.Event]:
    """Return a loader that a function of its own has dropped as the last, and what lets that function come to its end."""
    kept: list[Any] = []
    has_begun, has_closed, is_outside, may_end = (threading.Event() for _ in range(4))
    dropped: list[bool] = []

    def drops(x: int) -> int:
        if x == 33 and kept:
            loader = kept.pop()
            has_begun.wait()
            loader.close()
            has_closed.set()
            is_outside.wait()
            del loader
            dropped.append(known() is None)
            may_end.wait()
        return x

    def train() -> weakref.ref[Any]:
        loader = hr.range(400).map(drops, python=True).batch(4).options(workers=workers, ready=16).numpy()
        kept.append(loader)
        iteration = iter(loader)
        has_begun.set()
        if workers == 0:  # the function runs where the iteration is asked
            threading.Thread(target=_ends, args=(iteration,), daemon=True).start()
        has_closed.wait()
        return weakref.ref(loader)

    known = train()
    is_outside.set()
    while not dropped:
        time.sleep(0.001)
    assert dropped == [True] or workers == 0  # there whoever iterates has it, too
    return known, may_end


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_function_may_hold_the_last_reference(workers: int) -> None:
    known, may_end = _last_reference_in_a_function(workers)
    may_end.set()
    while known() is not None:
        time.sleep(0.001)


@pytest.mark.alone
def test_a_fork_while_a_function_drops_its_loader_does_not_wait_for_it() -> None:
    _, may_end = _last_reference_in_a_function(1)
    try:
        child = os.fork()
        if child == 0:
            hr._core.wait_for_last_loaders()
            os._exit(0)
        end = time.monotonic() + 20
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                pytest.fail("the child waits for a thread that it does not have")
            time.sleep(0.01)
    finally:
        may_end.set()


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("inner", [0, 1])
def test_a_function_of_a_loader_within_may_close_the_one_around(inner: int, workers: int) -> None:
    loader = _with_one_within(lambda around: around.close(), inner, workers)
    assert len(_until_ended(loader)) <= 4
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
    assert len(said) == 1 and "may close the pipeline's loader" in said[0]


def _ends(iteration: Any) -> None:
    try:
        for _ in iteration:
            pass
    except RuntimeError as error:  # HeadraceError, too
        assert "this iteration was ended by" in str(error) or "stopped" in str(error)


@pytest.mark.parametrize("workers", [0, 2])
def test_all_that_share_an_iterator_hear_that_it_was_closed(workers: int) -> None:
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
            except BaseException as said:  # noqa: BLE001 - whatever it is
                raised.append(said)

        threads = [threading.Thread(target=take) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(raised) == 3
        assert all(str(error).startswith("this iteration was ended by close()") for error in raised)


def test_a_state_is_of_what_comes_next_and_not_of_what_was() -> None:
    loader = hr.range(64).batch(8).numpy()
    iteration = iter(loader)
    next(iteration)
    loader.set_epoch(5)
    assert loader.state_dict() == iteration.state_dict()  # it goes on
    loader.close()
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
        if how.startswith("closes"):
            loader.close()
        if how != "closes":
            raise _Interrupted

    return handler


@pytest.mark.alone(ci=True)
@pytest.mark.parametrize("workers", [None, 0, 2])
@pytest.mark.parametrize("how", ["raises", "saves", "closes", "closes and raises"])
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
            except (_Interrupted, RuntimeError):  # ended by close()
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
        got = _until_ended(loader)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert got == list(range(0, 10 * len(got), 10)) and (len(got) < 10) == (how == "state")
    assert loader.epoch == (7 if how == "epoch" else 0)
    assert [int(batch[0]) for batch in loader] == list(range(0 if how == "epoch" else 30, 100, 10))


def _is_interrupted_on_the_way(iteration: Any, before: Callable[[], object]) -> None:
    """Let a signal come when this thread's next element has left the engine and not reached the loop."""
    converts = iteration._convert

    def convert(leaves: list[Any]) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return converts(leaves)
        iteration._convert = converts
        before()
        os.kill(os.getpid(), signal.SIGALRM)
        time.sleep(0.001)
        return converts(leaves)

    iteration._convert = convert


def _raises(*_: object) -> None:
    raise _Interrupted


@pytest.fixture
def alarms() -> Any:
    before = signal.signal(signal.SIGALRM, _raises)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.alone
@pytest.mark.usefixtures("alarms")
@pytest.mark.parametrize("workers", [0, 1])
def test_a_second_signal_while_the_first_ends_the_run(workers: int) -> None:
    def slow(x: int) -> int:
        if x >= 60:
            time.sleep(0.3)
        return x

    states = []
    data = hr.range(400).map(slow, python=True).batch(10).options(workers=workers, ready=4)

    def saves(*_: object) -> None:
        states.append(loader.state_dict())
        raise SystemExit(3)

    signals = signal.signal(signal.SIGTERM, saves)
    try:
        loader = data.numpy()
        iteration = iter(loader)
        got = [int(next(iteration)[0]) for _ in range(4)]
        second = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
        _is_interrupted_on_the_way(iteration, second.start)
        with pytest.raises((_Interrupted, SystemExit)):
            got.append(int(next(iteration)[0]))
            time.sleep(1)
        second.join()
        time.sleep(0.01)
    except SystemExit:
        pass
    finally:
        signal.signal(signal.SIGTERM, signals)
    assert got == [0, 10, 20, 30]
    assert loader.state_dict()["consumed"] == 40
    assert all(state["consumed"] == 40 for state in states)


@pytest.mark.usefixtures("alarms")
@pytest.mark.parametrize("workers", [0, 1])
def test_what_is_taken_back_from_a_thread_is_not_from_another(workers: int) -> None:
    iteration = iter(hr.range(100).batch(10).options(workers=workers).numpy())
    has_one, may_go_on = threading.Event(), threading.Event()
    got: list[int] = []
    converts = iteration._convert

    def waits(leaves: list[Any]) -> Any:
        has_one.set()
        may_go_on.wait()
        return converts(leaves)

    iteration._convert = waits
    other = threading.Thread(target=lambda: got.append(int(next(iteration)[0])))
    other.start()
    has_one.wait()
    iteration._convert = converts
    _is_interrupted_on_the_way(iteration, lambda: None)
    with pytest.raises(_Interrupted):
        next(iteration)
    may_go_on.set()
    other.join()
    assert got == [0] and iteration.state_dict()["consumed"] == 10


@pytest.mark.parametrize("workers", [0, 1])
def test_a_handler_cannot_go_on_with_an_iteration_that_it_came_into(workers: int) -> None:
    loader = hr.range(100).batch(10).options(workers=workers).numpy()
    iteration = iter(loader)
    got = [int(next(iteration)[0])]
    _is_interrupted_on_the_way(iteration, lambda: None)
    before = signal.signal(signal.SIGALRM, lambda *_: next(iteration))
    try:
        with pytest.raises(RuntimeError, match="may save its state or close it, but not continue it"):
            next(iteration)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert loader.state_dict()["consumed"] == 10 * len(got)
