"""shard(even="pad") marks what it adds: the package against the model, over random pipelines with any borders.

with_validity() stands at the sources and at the end, so that a mark has to travel both ways through every verb.
HEADRACE_NIGHTLY=1 takes 1,000 pipelines.
"""

import json
import os
import random

import pytest

from . import adapter
from .chains import insert_shard, random_chain, with_shard
from .loader import Loader
from .nodes import ModelError, length, plan, to_json
from .running import flat, has_batches_of_batches

hr = pytest.importorskip("headrace", reason="the package is not built: pip install .")

CHAINS = range(1000 if os.environ.get("HEADRACE_NIGHTLY") else 80)


def make(seed: int):
    """The generator, and the pipeline of each rank of a world."""
    rng = random.Random(seed)
    chain = random_chain(rng)
    if has_batches_of_batches(chain):
        pytest.skip("batches of batches")
    chain = insert_shard(rng, chain, "pad")
    try:
        exact = length(plan(with_shard(chain, 0, 2, 1))) is not None
    except ModelError:  # steps= are not for a known length
        exact = True
    world = rng.randint(2, 8 if exact else 3)  # each rank must have something to take again
    steps = None if exact else rng.randint(1, 9)
    return rng, [with_shard(chain, rank, world, steps) for rank in range(world)]


def loader(node):
    try:
        return adapter.loader(adapter.build(hr, node, marks=True).with_validity("marked"))
    except ValueError as error:
        if "expected keys for" in str(error) or "expected indices from" in str(error):
            pytest.skip("sort_by or select of a rank's own elements, which are others in another world")
        if "a bad sample" not in str(error):
            raise
        pytest.skip("no good sample")


def seen(element):
    """With the marks of its samples, and its own."""
    return adapter.seen(element, ("valid",)), bool(element["marked"])


def expected(element):
    """A batch is more than padding if one of its rows is."""
    return adapter.expected_with_marks(element), any(s.valid for s in flat([element]))


@pytest.mark.parametrize("seed", CHAINS)
def test_padding_is_marked_behind_every_border(seed):
    rng, ranks = make(seed)
    text = json.dumps(to_json(ranks[0]))
    try:
        want = [[expected(e) for e in Loader(node).epoch(1)] for node in ranks]
    except ModelError as error:
        pytest.skip(f"the model raises: {error}")
    for node, elements in zip(ranks, want, strict=True):
        whole = loader(node)
        whole.set_epoch(1)
        iteration = iter(whole)
        delivered = rng.randint(0, len(elements))
        head = [seen(next(iteration)) for _ in range(delivered)]
        state = json.loads(json.dumps(iteration.state_dict()))
        assert head + [seen(e) for e in iteration] == elements, text
        if delivered < len(elements):
            resumed = loader(node)
            resumed.load_state_dict(state)
            assert [seen(e) for e in resumed] == elements[delivered:], (delivered, text)


@pytest.mark.parametrize("seed", CHAINS)
def test_padding_is_marked_after_a_change_of_world(seed):
    rng = random.Random(seed)
    chain = random_chain(rng, borders=False)
    if has_batches_of_batches(chain):
        pytest.skip("batches of batches")
    chain = insert_shard(rng, chain, "pad")
    old, new = rng.randint(1, 8), rng.randint(1, 8)
    try:
        steps = len(Loader(with_shard(chain, 0, old)).epoch(0))
        delivered = rng.randint(0, max(0, steps - 1))
        model = iter(Loader(with_shard(chain, 0, old)))
        for _ in range(min(delivered, steps)):
            next(model)
        want = [rest(Loader(with_shard(chain, rank, new)), model.state_dict()) for rank in range(new)]
    except ModelError as error:
        pytest.skip(f"the model raises: {error}")
    iteration = iter(loader(with_shard(chain, 0, old)))
    for _ in range(min(delivered, steps)):
        next(iteration)
    for rank in range(new):
        resumed = loader(with_shard(chain, rank, new))
        resumed.load_state_dict(iteration.state_dict())
        assert [seen(e) for e in resumed] == [expected(e) for e in want[rank]], (
            old,
            new,
            delivered,
            rank,
            json.dumps(to_json(chain)),
        )


def rest(model, state) -> list:
    model.load_state_dict(state)
    return list(model)


NUMBERS = hr.range(13).map(lambda x: {"id": x})
PIPELINES = {
    "global shuffle": lambda ds, deal: deal(ds.shuffle(seed=1)),
    "window before": lambda ds, deal: deal(ds.shuffle(window=4)),
    "window after": lambda ds, deal: deal(ds).shuffle(window=4),
    "scan before": lambda ds, deal: deal(ds.scan(0, lambda state, s: (state + 1, s), python=True)),
    "scan after": lambda ds, deal: deal(ds).scan(0, lambda state, s: (state + 1, s), python=True),
}


@pytest.mark.parametrize("world", [2, 5, 8])
@pytest.mark.parametrize("name", PIPELINES)
def test_every_sample_counts_once(name, world):
    def rank(r):
        return PIPELINES[name](NUMBERS, lambda ds: ds.shard(r, world, even="pad")).with_validity()

    counted = [int(s["id"]) for r in range(world) for s in rank(r) if s["valid"]]
    assert sorted(counted) == list(range(13))


def test_steps_that_repeat_a_ranks_own_elements_are_marked():
    def rank(r):
        kept = NUMBERS.filter(lambda s: s["id"] % 3 != 0)
        return kept.shard(r, 4, even="pad", steps=4).with_validity()

    counted = [int(s["id"]) for r in range(4) for s in rank(r) if s["valid"]]
    assert sorted(counted) == [1, 2, 4, 5, 7, 8, 10, 11]
    wrapped = [
        bool(s["valid"])
        for s in NUMBERS.filter(lambda s: s["id"] % 3 != 0).shard(0, 4, steps=4).with_validity()
    ]
    assert wrapped == [True] * 4, 'even="wrap" marks nothing'


def test_a_mark_that_would_be_lost_is_refused():
    padded = NUMBERS.shard(0, 2, even="pad")
    with pytest.raises(ValueError, match=r"put with_validity\(\) after cache"):
        next(iter(padded.with_validity().cache().numpy()))
    with pytest.raises(ValueError, match=r"put with_validity\(\) before the batch"):
        next(iter(NUMBERS.shard(0, 2, even="pad", steps=7).batch(2).unbatch().with_validity().numpy()))
    assert [bool(s["valid"]) for s in padded.cache().with_validity()] == [True] * 7
    assert [bool(s["valid"]) for s in NUMBERS.shard(1, 2, even="pad").cache().with_validity()] == [
        True
    ] * 6 + [False]
    assert [bool(s["valid"]) for s in NUMBERS.batch(2).unbatch().with_validity()] == [True] * 13
