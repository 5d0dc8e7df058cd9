"""States as JSON: the position of each verb by its name, states of earlier versions, states that were changed."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

KEPT = Path(__file__).with_name(
    "states_of_version_1.json"
)  # written by the last version that wrote lists of numbers


def even(x):
    return x % 2 == 0


def texts():
    return hr.from_arrays({"n": np.arange(40), "ids": hr.ragged([np.arange(i % 5 + 1) for i in range(40)])})


PIPELINES = {
    "filter": lambda: hr.range(60).filter(even),
    "filter_batch": lambda: hr.range(60).filter(even).batch(4),
    "unbatch": lambda: hr.range(60).batch(7).unbatch().batch(4),
    "window_shuffle": lambda: hr.range(60).filter(even).shuffle(window=5, seed=3).batch(2),
    "take_skip": lambda: hr.range(60).filter(even).skip(3).take(20).batch(3),
    "repeat": lambda: hr.range(20).filter(even).repeat(3).batch(4),
    "concatenate": lambda: hr.range(20).filter(even).concatenate(hr.range(30).filter(even)).batch(3),
    "interleave": lambda: hr.interleave([hr.range(20).filter(even), hr.range(30), hr.range(9)], cycle_length=2, block_length=2),
    "zip": lambda: hr.zip(hr.range(40).filter(even), hr.range(40)),
    "mix": lambda: hr.mix([hr.range(20).filter(even), hr.range(30)], weights=[1, 2], seed=5, stop="all_exhausted"),
    "mix_cycle": lambda: hr.mix([hr.range(10).filter(even), hr.range(30)], weights=[1, 2], seed=5, stop="cycle"),
    "choose": lambda: hr.choose([hr.range(20).filter(even), hr.range(30)], [0, 1, 1] * 8, stop="all_exhausted"),
    "window": lambda: hr.range(60).filter(even).window(4, shift=2, drop_last=True),
    "bucket": lambda: texts().bucket_by_length("ids", boundaries=[2, 4], batch_sizes=[3, 4, 5]),
    "group": lambda: hr.range(50).group_by_window(lambda x: x % 3, 4),
    "pack": lambda: texts().pack(8, fields=["ids"], bins=3),
    "pack_split": lambda: texts().pack(8, fields=["ids"], strategy="concat_and_split"),
    "scan": lambda: hr.range(30).scan(0, lambda total, x: (total + x, total + x)).batch(2),
    "take_while": lambda: hr.range(40).take_while(lambda x: x < 25).batch(2),
    "unique": lambda: hr.range(40).map(lambda x: x % 23).unique().batch(2),
    "generator": lambda: hr.from_generator(lambda: ({"x": i} for i in range(30))).batch(2),
    "round": lambda: hr.range(60).shuffle(window=7, seed=1).shard(1, 3).batch(2),
    "steps": lambda: hr.range(60).shuffle(seed=1).filter(even).shard(1, 3, steps=14).shuffle(window=3, seed=2),
    "assigned": lambda: hr.range(60).shuffle(seed=1).filter(even).shard(1, 3, steps=14),
    "skip_errors": lambda: hr.range(60).map(lambda x: x).on_error("skip").batch(4),
    "indexed": lambda: hr.range(60).shuffle(seed=4).batch(4),
    "nested": lambda: hr.mix([hr.range(40).filter(even).shuffle(window=4, seed=1), hr.range(9).repeat(3).filter(even)], weights=[2, 1])
    .skip(1)
    .window(3, shift=1, drop_last=True)
    .batch(2),
}  # fmt: skip
AFTER = (1, 3, 5)


def bytes_of(element):
    if isinstance(element, dict):
        return b"".join(name.encode() + bytes_of(value) for name, value in element.items())
    if isinstance(element, (tuple, list)):
        return b"".join(bytes_of(value) for value in element)
    values = getattr(element, "values", None)
    if values is not None and not callable(values):
        return bytes_of(values) + bytes_of(element.row_splits)
    return np.asarray(element).tobytes() + str(np.shape(element)).encode()


def digest(elements):
    total = hashlib.sha256()
    for element in elements:
        total.update(bytes_of(element))
    return total.hexdigest()[:16]


def unsummed(state):
    """The state without the sum of its members: what is left is refused by the checks of each member."""
    return {name: value for name, value in state.items() if name != "check"}


def state_after(dataset, count):
    run = iter(dataset.numpy())
    for _ in range(count):
        next(run)
    return run.state_dict(), digest(run)


def rest_from(dataset, state):
    loader = dataset.numpy()
    loader.load_state_dict(state)
    return digest(loader)


def kept():
    return [pytest.param(name, state, rest, id=f"{name}-{i}") for name, all_ in json.loads(KEPT.read_text()).items() for i, (state, rest) in enumerate(all_)]  # fmt: skip


@pytest.mark.parametrize(("name", "state", "rest"), kept())
def test_states_of_version_1_are_read(name, state, rest):
    assert rest_from(PIPELINES[name](), state) == rest


@pytest.mark.parametrize("name", PIPELINES)
def test_states_name_every_number(name):
    for count in AFTER:
        state, rest = state_after(PIPELINES[name](), count)
        assert "cursor" not in state
        text = json.dumps(state)
        assert rest_from(PIPELINES[name](), json.loads(text)) == rest
        assert name != "indexed" or (len(text) < 200 and "streams" not in state)


def changed(value, path=()):
    """The value with each member removed, or replaced by one of another type; and where that is."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}, (*path, key)
            for inner, where in changed(value[key], (*path, key)):
                yield {**value, key: inner}, where
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for inner, where in changed(item, (*path, i)):
                yield [*value[:i], inner, *value[i + 1 :]], where
    wrong = {int: "a", bool: 3, str: 3, list: 3, dict: 3}[type(value)]
    yield wrong, path


@pytest.mark.parametrize("name", [name for name in PIPELINES if name != "indexed"])
def test_a_changed_state_is_refused_by_the_name_of_its_member(name):
    dataset = PIPELINES[name]()
    state, _ = state_after(dataset, 3)
    if "streams" not in state:
        pytest.skip("the state has no streams")
    for streams, where in changed(state["streams"]):
        with pytest.raises(ValueError, match="state: ") as refusal:
            dataset.numpy().load_state_dict({**state, "streams": streams})
        named = [part for part in where if isinstance(part, str)]
        assert not named or any(part in str(refusal.value) for part in named), (where, str(refusal.value))


def test_newer_states_are_refused_by_name():
    dataset = PIPELINES["take_skip"]()
    state, _ = state_after(dataset, 2)
    with pytest.raises(ValueError, match=r"version, 3, is newer than this version of Headrace reads \(2\)"):
        dataset.numpy().load_state_dict({**state, "version": 3})
    assert state["streams"]["verb"] == "take"
    with pytest.raises(
        ValueError, match=r"take: version 2 of its state is newer than this version of Headrace reads \(1\)"
    ):
        dataset.numpy().load_state_dict({**state, "streams": {**state["streams"], "version": 2}})
    with pytest.raises(ValueError, match=r'input\.verb: expected "skip", as this plan has it, got "shuffle"'):
        below = {**state["streams"]["input"], "verb": "shuffle"}
        dataset.numpy().load_state_dict({**state, "streams": {**state["streams"], "input": below}})


def wrong_numbers(value, path=()):
    """The value with each whole number replaced by one that is not of its epoch; and where that is."""
    if isinstance(value, dict):
        for key in value:
            if key != "version":
                for inner, where in wrong_numbers(value[key], (*path, key)):
                    yield {**value, key: inner}, where
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for inner, where in wrong_numbers(item, (*path, i)):
                yield [*value[:i], inner, *value[i + 1 :]], where
    elif isinstance(value, int) and not isinstance(value, bool):
        for number in (value + 1, value - 1, -(2**63), -1, 2**62, 2**63 - 1):
            if number != value:
                yield number, path


@pytest.mark.parametrize("name", [name for name in PIPELINES if name != "indexed"])
def test_another_number_is_refused(name):
    dataset = PIPELINES[name]()
    state, _ = state_after(dataset, 3)
    for changed_state, where in wrong_numbers(state):
        with pytest.raises(ValueError, match="state: "):
            dataset.numpy().load_state_dict(changed_state)
        try:  # without the sum it is another position, or refused by the name of a member that it does not fit
            dataset.numpy().load_state_dict(unsummed(changed_state))
        except ValueError as refusal:
            assert re.search(r"state: (belongs to rank|[a-z_.\[\]0-9]+: expected )", str(refusal)), (
                where,
                str(refusal),
            )


def test_sorted_members_are_the_same_state():
    state, rest = state_after(PIPELINES["nested"](), 3)
    assert len(state["check"]) == 16
    text = json.dumps(state, sort_keys=True)
    assert rest_from(PIPELINES["nested"](), json.loads(text)) == rest
    assert rest_from(PIPELINES["nested"](), unsummed(state)) == rest


def test_numbers_beyond_the_epoch_are_refused_by_name():
    dataset = hr.range(40).filter(even).shuffle(window=8, seed=1)
    state, _ = state_after(dataset, 2)
    streams = {**state["streams"], "emitted": 10**11, "pulled": 10**11 + 6}
    with pytest.raises(
        ValueError, match="state: emitted: expected a whole number from 0 to 40, got 100000000000"
    ):
        dataset.numpy().load_state_dict({**state, "streams": streams})
    unique = PIPELINES["unique"]()
    state, _ = state_after(unique, 2)
    for wrong in (-(2**63), -1, 41):
        with pytest.raises(ValueError, match=rf"pulled: expected a whole number from 0 to 40, got {wrong}"):
            unique.numpy().load_state_dict({**state, "streams": {**state["streams"], "pulled": wrong}})
    left = {k: v for k, v in state["streams"].items() if k != "pulled"}
    with pytest.raises(ValueError, match=r"state: pulled: .*, got nothing: it is missing"):
        unique.numpy().load_state_dict({**state, "streams": left})


DEALT = [
    None, 3, [], {}, {"taken": None}, {"taken": 2**62}, {"taken": 21}, {"taken": -1}, {"taken": 3, "zz": 1},
    {"taken": 3, "before": [[2**62, 2**62]]}, {"taken": 3, "before": [[]]}, {"taken": 3, "before": [[61]]},
    {"taken": 3, "partial": [[3]]}, {"taken": 3, "partial": [[60, 1]]}, {"taken": 3, "partial": [[5, 1], [4, 1]]},
    {"taken": 3, "again": 1}, {"taken": 3, "round": 1, "again": 2}, {"taken": 3, "outputs": -1},
]  # fmt: skip


@pytest.mark.parametrize("dealt", DEALT, ids=json.dumps)
def test_damaged_deals_are_refused(dealt):
    dataset = hr.range(60).shuffle(seed=1).shard(1, 3, steps=14).filter(even)
    state, _ = state_after(dataset, 3)
    assert state["dealt"]["taken"] > 0
    with pytest.raises(ValueError, match="state: dealt"):
        dataset.numpy().load_state_dict(unsummed({**state, "dealt": dealt}))


def test_each_version_has_its_own_members():
    dataset = PIPELINES["filter"]()
    state, _ = state_after(dataset, 2)
    wrong = [{"version": 1}, {"cursor": [0]}, {"zz": 1}, {"delivred": 2}, {"finished": "yes"}, {"consumed": 2},
             {"bound_by": 3}, {"delivered": 61}, {"rank": 3, "world": 2}]  # fmt: skip
    for change in wrong[:-2] + wrong[-1:]:
        name = next(iter(change))
        named = "streams" if name == "version" else name
        with pytest.raises(ValueError, match=f"state: {named}"):
            dataset.numpy().load_state_dict(unsummed({**state, **change}))


def test_what_is_no_json_is_no_state():
    dataset = hr.range(60).filter(even)
    state, _ = state_after(dataset, 2)
    deep = {}
    for _ in range(50_000):
        deep = {"input": deep}
    for wrong in (deep, {1: 2}, {1, 2}, 2**63, 2**70, object()):
        with pytest.raises(ValueError, match="state: streams: expected"):
            dataset.numpy().load_state_dict({**state, "streams": wrong})
    with pytest.raises(ValueError, match="state: expected"):
        hr.merge_states([{1: 2}])


def test_a_long_replay_ends_with_ctrl_c():
    code = """
import os, signal, threading, time
import headrace as hr
dataset = hr.range(100).filter(lambda x: x >= 0).repeat().shuffle(window=8, seed=1)
run = iter(dataset.numpy())
next(run)
state = {k: v for k, v in run.state_dict().items() if k != "check"}
state["streams"].update(emitted=2 * 10**10, pulled=2 * 10**10 + 8, read_from=2 * 10**10 - 90)
loader = dataset.numpy()
loader.load_state_dict(state)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    next(iter(loader))
except KeyboardInterrupt:
    print("ended", time.monotonic() - began < 10)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "ended True\n", done.stderr
