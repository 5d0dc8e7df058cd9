import copy
import gc
import json
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import headrace as hr


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def lists(batches) -> list:
    return [batch.tolist() for batch in batches]


@pytest.fixture
def ds():
    return hr.range(100).shuffle(seed=3).map(lambda x: x + 1).batch(8)


def test_each_iter_is_the_next_epoch(ds):
    loader = ds.numpy()
    epochs = [lists(loader) for _ in range(3)]
    assert len(loader) == len(epochs[0]) == 13
    assert epochs[0] != epochs[1] != epochs[2]
    loader.set_epoch(1)
    assert lists(loader) == epochs[1]
    loader.sampler.set_epoch(0)
    assert lists(loader) == epochs[0]
    assert loader.batch_size == 8 and loader.drop_last is False and loader.dataset is ds


def test_a_second_loader_of_the_same_order_warns():
    def make(seed):
        return hr.range(1000, 1013).shuffle(seed=seed)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(make(77)), list(make(77))  # a dataset iterates over epoch 0 on purpose
        list(make(77).numpy()), list(make(78).numpy())
        told = make(77).numpy()
        told.set_epoch(1)
        list(told)
        list(hr.range(5).numpy()), list(hr.range(5).numpy())  # every epoch is the same
    with pytest.warns(UserWarning, match="keep one loader"):
        list(make(77).numpy())


def test_a_state_continues_with_the_next_batch_wherever_it_was_taken(ds):
    loader = ds.numpy()
    epochs = [lists(loader), lists(loader)]
    for stop in range(14):
        loader = ds.numpy()
        iteration = iter(loader)
        for _ in range(min(stop, 13)):
            next(iteration)
        state = json.loads(json.dumps(iteration.state_dict()))
        other = ds.options(workers=stop % 4 + 1, ready=stop % 5 + 1).numpy()
        other.load_state_dict(state)
        assert lists(other) == (epochs[0][stop:] or epochs[1]), stop


def test_after_break_the_state_is_in_the_middle_of_the_epoch(ds):
    loader = ds.numpy()
    want = lists(ds.numpy())
    for i, _ in enumerate(loader):
        if i == 4:
            break
    other = ds.numpy()
    other.load_state_dict(loader.state_dict())
    assert lists(other) == want[5:]


def test_an_iteration_keeps_its_state_after_another_began(ds):
    loader = ds.numpy()
    first = iter(loader)
    next(first)
    state = first.state_dict()
    second = iter(loader)
    next(second)
    assert first.state_dict() == state != second.state_dict()
    with pytest.raises(RuntimeError, match="ended by another"):
        next(first)


def test_a_state_is_small_and_says_what_does_not_fit(ds, photos):
    state = ds.numpy().state_dict()
    assert len(json.dumps(state)) < 120
    with pytest.raises(ValueError, match="another plan"):
        hr.range(100).shuffle(seed=4).map(lambda x: x + 1).batch(8).numpy().load_state_dict(state)
    with pytest.raises(ValueError, match="the data changed"):
        hr.range(101).shuffle(seed=3).map(lambda x: x + 1).batch(8).numpy().load_state_dict(state)
    with pytest.raises(ValueError, match="version"):
        ds.numpy().load_state_dict({})


def test_a_state_of_a_stream_continues_exactly():
    ds = (
        hr.range(60)
        .filter(lambda x: x > 5)
        .flat_map(lambda x: np.arange(int(x) % 4), python=True)
        .shuffle(seed=1, window=5)
        .batch(3)
    )
    want = lists(ds.numpy())
    for stop in range(0, len(want), 5):
        iteration = iter(ds.numpy())
        head = [next(iteration).tolist() for _ in range(stop)]
        other = ds.options(workers=1).numpy()
        other.load_state_dict(json.loads(json.dumps(iteration.state_dict())))
        assert head + lists(other) == want, stop


STATE_SCRIPT = """
    import json, sys
    import headrace as hr
    ds = hr.range(50).shuffle(seed=3).batch(4).options(workers=int(sys.argv[1]))
    loader = ds.numpy()
    if len(sys.argv) > 2:
        loader.load_state_dict(json.loads(sys.argv[2]))
    it, seen = iter(loader), []
    for batch in it:
        seen.append(batch.tolist())
        if len(seen) == 5:
            break
    print(json.dumps([seen, it.state_dict()]))
"""


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_a_state_continues_in_another_process():
    first, state = json.loads(run(STATE_SCRIPT, "1"))
    second, _ = json.loads(run(STATE_SCRIPT, "3", json.dumps(state)))
    assert first + second == lists(hr.range(50).shuffle(seed=3).batch(4))[:10]


def test_states_of_two_ranks_continue_on_three():
    def ranks(world):
        return [hr.range(30).shuffle(seed=2).shard(rank, world).batch(2) for rank in range(world)]

    seen, state = [], None
    for ds in ranks(2):
        iteration = iter(ds.numpy())
        for _ in range(3):
            seen += next(iteration).tolist()
        state = iteration.state_dict()
    for ds in ranks(3):
        loader = ds.numpy()
        loader.load_state_dict(state)
        seen += [x for batch in lists(loader) for x in batch]
    assert sorted(seen) == list(range(30))


def test_dropping_the_iterator_ends_all_threads(ds):
    before = threads()
    iteration = iter(ds.numpy())
    next(iteration)
    assert threads() > before
    del iteration
    gc.collect()
    assert threads() == before
    for _ in ds.numpy():
        break
    gc.collect()
    assert threads() == before
    with ds.numpy() as loader:
        iteration = iter(loader)
        next(iteration)
    assert threads() == before
    with pytest.raises(RuntimeError, match=r"this iteration was ended by close\(\) of its loader"):
        next(iteration)


def test_an_error_ends_all_threads():
    def broken(x):
        raise ValueError("no")

    before = threads()
    ds = hr.from_dataset([1, 2, 3]).map(lambda x: x if x < 3 else broken(x), python=True)
    with pytest.raises(hr.HeadraceError):
        list(ds)
    assert threads() == before


def test_batches_share_the_engines_memory():
    ds = hr.from_arrays(np.arange(1 << 16, dtype=np.uint8).reshape(16, -1)).batch(4)
    loader = ds.numpy()
    batches = list(loader)
    assert all(not b.flags.owndata and b.flags.writeable and b.flags.aligned for b in batches)
    addresses = {b.__array_interface__["data"][0] for b in batches}
    assert len(addresses) == 4  # each batch has memory of its own for as long as it is held
    shared = np.from_dlpack(batches[0])
    assert np.shares_memory(shared, batches[0])
    memory = loader.report()["memory"]
    assert (
        memory["with_the_consumer"] == 1 << 16 and memory["allocations"] == 4
    )  # one block a batch, and no copy of it
    want = np.arange(1 << 16, dtype=np.uint8).reshape(16, -1)
    del loader, ds
    gc.collect()
    assert (np.concatenate(batches) == want).all()


@pytest.mark.alone
def test_ctrl_c_is_seen_while_waiting_and_leaves_no_thread():
    script = """
        import os, signal, sys, threading, time
        import headrace as hr
        before = len(os.listdir("/proc/self/task"))
        gate = threading.Event()
        built = []
        def wait(x):
            if built:
                gate.wait(0.02)
                while not gate.is_set():
                    gate.wait(0.01)
            return x
        ds = hr.range(4).map(wait, python=True)
        built.append(True)
        at = []
        def interrupt():
            time.sleep(0.3)
            at.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            gate.set()
        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            list(ds.numpy())
        except KeyboardInterrupt:
            took = time.monotonic() - at[0]
            thread.join()  # its own last steps may still be to come
            while len(os.listdir("/proc/self/task")) > before and time.monotonic() - at[0] < 2:
                time.sleep(0.001)
            print(took < 0.2, len(os.listdir("/proc/self/task")) - before)
    """
    assert run(script).split() == ["True", "0"]


def test_the_process_ends_while_an_iteration_is_under_way():
    run(
        """
        import headrace as hr
        loader = hr.range(10**9).map(lambda x: int(x), python=True).batch(10).numpy()
        it = iter(loader)
        next(it)
        """
    )


def test_a_loader_in_a_forked_child_is_a_clear_error(ds):
    loader = ds.numpy()
    iteration = iter(loader)
    next(iteration)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            next(iteration)
            said = "nothing"
        except RuntimeError as error:
            said = str(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert "forked" in os.read(read, 4096).decode()
    next(iteration)


def test_python_runs_while_the_consumer_waits():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    list(hr.range(3).map(lambda x: (stop.wait(0.05), x)[1], python=True))
    stop.set()
    thread.join()
    assert len(ticks) > 10


def test_the_report_counts(ds):
    loader = ds.numpy()
    list(loader)
    report = loader.report()
    assert report["samples"] == 100 and report["elements"] == 13
    assert json.loads(report.json()) == report.dict()
    assert "add" in str(report)


def test_ragged_and_text_batches_are_lists():
    ds = hr.range(4).map(lambda x: {"r": np.arange(int(x)), "t": "x" * int(x)}, python=True)
    (batch,) = ds.batch(4, ragged=True)
    assert [r.tolist() for r in batch["r"]] == [[], [0], [0, 1], [0, 1, 2]] and batch["t"] == [
        "",
        "x",
        "xx",
        "xxx",
    ]
    with pytest.raises(ValueError, match=r"rows of one shape.*ragged=True"):
        list(ds.batch(4))


FORKED = """
import os, sys
import headrace as hr
dataset = hr.range(1000).shuffle(seed=1).batch(10)
loader = dataset.numpy()
iteration = iter(loader)
next(iteration)
dataset[3]
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert sum(1 for _ in iteration) == 99
    sys.exit()
for use in [lambda: next(iteration), loader.report, loader.explain, loader.state_dict, lambda: loader.epoch, lambda: iter(loader)]:
    try:
        use()
    except hr.HeadraceError as error:
        assert "which was forked from it" in str(error), error
    else:
        raise AssertionError("worked in a forked child")
loader.close()
assert len(dataset[3]) == 10
assert sum(1 for _ in dataset.numpy().at_its_first_epoch()) == 100
"""


def test_a_forked_child_is_told_that_a_loader_is_not_its_own_and_makes_another():
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_that_share_an_iterator_all_come_to_its_end():
    def consume(iteration, seen, raised):
        try:
            seen.extend(int(x) for x in iteration)
        except Exception as error:  # noqa: BLE001 -- whatever it is
            raised.append(error)

    for _ in range(20):
        iteration = iter(hr.range(60).map(lambda x: (time.sleep(0.0002), x)[1], python=True).numpy())
        seen, raised = [], []
        consumers = [threading.Thread(target=consume, args=(iteration, seen, raised)) for _ in range(4)]
        for consumer in consumers:
            consumer.start()
        for consumer in consumers:
            consumer.join()
        assert raised == [] and sorted(seen) == list(range(60))


def test_threads_that_share_an_iterator_all_hear_of_a_failure():
    def broken(x):
        time.sleep(0.001)
        if x == 20:
            raise ValueError("no")
        return x

    def consume(iteration, said):
        try:
            for _ in iteration:
                pass
            said.append("")
        except hr.HeadraceError as error:
            said.append(str(error))

    iteration, said = iter(hr.range(60).map(broken, python=True).numpy()), []
    consumers = [threading.Thread(target=consume, args=(iteration, said)) for _ in range(4)]
    for consumer in consumers:
        consumer.start()
    for consumer in consumers:
        consumer.join()
    assert any("ValueError: no" in words for words in said)
    assert all(words == "" or "ValueError: no" in words for words in said), said


def test_of_two_threads_that_begin_an_iteration_the_later_one_goes_on():
    def consume(loader, said, start):
        start.wait()
        try:
            said.append(len(list(loader)))
        except RuntimeError as error:
            said.append(str(error))

    met = 0
    for _ in range(20):
        loader = hr.range(50).map(lambda x: (time.sleep(0.0005), x)[1], python=True).numpy()
        said, start = [], threading.Barrier(2)
        consumers = [threading.Thread(target=consume, args=(loader, said, start)) for _ in range(2)]
        for consumer in consumers:
            consumer.start()
        for consumer in consumers:
            consumer.join()
        assert 50 in said
        others = [words for words in said if words != 50]
        met += len(others)  # none where one thread was done before the other began
        for other in others:
            assert str(other).startswith("this iteration was ended by another iter() of its loader"), said
    assert met > 0


def test_a_loader_says_what_to_send_to_another_process(ds):
    loader = ds.numpy()
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"a loader cannot be pickled or copied.*pickle its dataset"):
            copied(loader)
    assert lists(pickle.loads(pickle.dumps(loader.dataset)).numpy()) == lists(ds.numpy())
    with pytest.raises(TypeError, match="a loader replaces DataLoader"):
        loader[0]
