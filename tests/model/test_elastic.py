"""Every change of world size, at every break point: the package continues as the model does, and no sample is lost.

Each pipeline runs on all worlds of 1..8; the state after every step is loaded on all ranks of all worlds of 1..8.
HEADRACE_NIGHTLY=1 takes random pipelines too.
"""

import itertools
import os
import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple

import pytest

from . import adapter
from .chains import insert_shard, random_chain, with_shard
from .loader import Loader
from .nodes import (
    ENDLESS,
    Batch,
    Concatenate,
    Node,
    Read,
    Repeat,
    Shard,
    Shuffle,
    Skip,
    Take,
    length,
    plan,
    with_inputs,
)
from .running import fresh, nodes

hr = pytest.importorskip("headrace", reason="the package is not built: pip install .")

WORLDS = range(1, 9)
ENOUGH = 7  # elements of an endless epoch


class Pipeline(NamedTuple):
    node: Callable[[str], Node]  # for each value of shard's even=
    passes: int = 1
    leaves: int = 0  # samples that a rank may leave in a pass: drop_last
    dealt: int = 1  # samples that the shard assigns at once


PIPELINES = {
    "samples": Pipeline(lambda even: Shard(Shuffle(Read(13), 3), even=even)),
    "fewer samples than ranks": Pipeline(lambda even: Shard(Shuffle(Read(5), 3), even=even)),
    "batches": Pipeline(lambda even: Batch(Shuffle(Shard(Read(29), even=even), 3), 2)),
    "full batches": Pipeline(
        lambda even: Batch(Shard(Shuffle(Read(29), 5), even=even), 3, drop_last=True), leaves=2
    ),
    "whole batches dealt": Pipeline(lambda even: Shard(Batch(Shuffle(Read(29), 3), 3), even=even), dealt=3),
    "full batches dealt": Pipeline(
        lambda even: Shard(Batch(Shuffle(Read(29), 3), 2, drop_last=True), even=even), leaves=1, dealt=2
    ),
    "batches over passes": Pipeline(
        lambda even: Batch(Repeat(Shard(Shuffle(Read(7), 1), even=even), 3), 2), passes=3
    ),
    "passes of batches": Pipeline(
        lambda even: Repeat(Batch(Shard(Shuffle(Read(9), 1), even=even), 2), 3), passes=3
    ),
    "passes of full batches": Pipeline(
        lambda even: Repeat(Batch(Shard(Shuffle(Read(17), 1), even=even), 2, drop_last=True), 2),
        passes=2,
        leaves=1,
    ),
    "passes of batches dealt": Pipeline(
        lambda even: Shard(Repeat(Batch(Shuffle(Read(9), 1), 2), 2), even=even), passes=2, dealt=2
    ),
    "a part of the order": Pipeline(
        lambda even: Batch(Take(Skip(Shuffle(Shard(Read(30), even=even), 8), 3), 19), 2)
    ),
    "concatenated": Pipeline(
        lambda even: Batch(Shard(Shuffle(Concatenate(Read(6), Shuffle(Read(11), 2)), 4), even=even), 2)
    ),
    "for ever": Pipeline(lambda even: Batch(Repeat(Shard(Shuffle(Read(5), 1), even=even)), 2)),
    "passes for ever": Pipeline(lambda even: Repeat(Batch(Shard(Shuffle(Read(9), 1), even=even), 2))),
}


@pytest.mark.parametrize("even", ["wrap", "drop", "pad"])
@pytest.mark.parametrize("name", PIPELINES)
def test_every_world_goes_on_from_every_break_of_every_world(name, even):
    pipeline = PIPELINES[name]
    node = pipeline.node(even)
    lost = pipeline.leaves + pipeline.dealt * (even == "drop")
    check(node, most_lost=lambda old, new: pipeline.passes * lost * max(old, new))


@pytest.mark.skipif(not os.environ.get("HEADRACE_NIGHTLY"), reason="takes minutes: make nightly")
@pytest.mark.parametrize("seed", range(400))
def test_every_world_goes_on_from_every_break_of_random_pipelines(seed):
    rng = random.Random(seed)
    chain = random_chain(rng, borders=False, errors=False)
    if sum(isinstance(n, Batch) for n in nodes(chain)) > 1:
        pytest.skip("batches of batches")
    chain = insert_shard(rng, chain, rng.choice(["wrap", "drop", "pad"]))
    check(chain, most_lost=None)


def check(node: Node, most_lost: Callable[[int, int], int] | None) -> None:
    loaders = {w: [package_loader(with_shard(node, r, w)) for r in range(w)] for w in WORLDS}
    models = {w: [Loader(with_shard(node, r, w)) for r in range(w)] for w in WORLDS}
    endless = length(plan(node)) == ENDLESS
    enough = ENOUGH if endless else None
    whole = set() if endless else set(fresh(Loader(without_drops(with_shard(node, 0, 1))).epoch(0)))
    for old in WORLDS:
        got = [with_states(loader, enough) for loader in loaders[old]]
        want = [with_states(model, enough) for model in models[old]]
        assert [seen_all(g.elements) for g in got] == [expected_all(w.elements) for w in want], old
        assert all(g.states == got[0].states for g in got), f"ranks of world {old} disagree about the state"
        for step, new in itertools.product(range(len(got[0].states)), WORLDS):
            place = f"{old} -> {new} ranks after {step} steps"
            state, bound = got[0].states[step], want[0].states[step].get("world")
            if bound is not None:  # a verb counts this rank's batches
                with (
                    nullcontext()
                    if bound == new
                    else pytest.raises(ValueError, match="belongs to a world of")
                ):
                    loaders[new][0].load_state_dict(state)
                continue
            tails = [rest(model, want[0].states[step], enough) for model in models[new]]
            assert [seen_all(rest(ld, state, enough)) for ld in loaders[new]] == [
                expected_all(tail) for tail in tails
            ], place
            if models[new][0].run.epoch > 0 or most_lost is None:  # nothing was left
                continue
            assert len({len(tail) for tail in tails}) == 1, f"{place}: ranks take unequal steps"
            delivered = fresh(e for w in want for e in w.elements[:step]) + fresh(e for t in tails for e in t)
            assert set(delivered.values()) <= {1}, f"{place}: repeats"
            assert endless or delivered.keys() <= whole, place
            assert endless or len(whole) - len(delivered) <= most_lost(old, new), f"{place}: loses samples"


class Epoch(NamedTuple):
    elements: list
    states: list  # before each element, and after the last


def with_states(loader, enough: int | None) -> Epoch:
    loader.set_epoch(0)
    iteration = iter(loader)
    out = Epoch([], [iteration.state_dict()])
    for element in itertools.islice(iteration, enough):
        out.elements.append(element)
        out.states.append(iteration.state_dict())
    return out


def rest(loader, state, enough: int | None) -> list:
    loader.load_state_dict(state)
    return list(itertools.islice(loader, enough))


def without_drops(node: Node) -> Node:
    node = replace(node, drop_last=False) if isinstance(node, Batch) else node
    return with_inputs(node, without_drops)


def package_loader(node: Node):
    return adapter.build(hr, node, read=numbers).options(workers=1, io=1).numpy()


def numbers(size: int):
    """A fast pipeline: no Python runs per sample."""
    return hr.range(size).with_validity().map(lambda s: {"index": s[0], "valid": s[1]})


def seen_all(elements) -> list:
    return [seen(e["index"], e["valid"]) for e in elements]


def seen(index, valid):
    return (int(index), bool(valid)) if index.ndim == 0 else list(zip(index.tolist(), valid.tolist()))


def expected_all(elements) -> list:
    return [
        [(s.id.index, s.valid) for s in e] if isinstance(e, tuple) else (e.id.index, e.valid)
        for e in elements
    ]
