"""States of all ranks merged into one: any world continues from it as the model does, and no sample is lost or repeated."""

import itertools
import json
import os
import random

import pytest

from . import adapter
from .chains import insert_shard, random_chain, with_shard
from .loader import Loader, merge_states
from .nodes import (
    Batch,
    Filter,
    Map,
    ModelError,
    OnError,
    Read,
    Repeat,
    Shard,
    Shuffle,
    Unbatch,
    is_border,
    length,
    plan,
    spine,
    to_json,
)
from .running import fresh, has_batches_of_batches

hr = pytest.importorskip("headrace", reason="the package is not built: pip install .")

NIGHTLY = bool(os.environ.get("HEADRACE_NIGHTLY"))
WORLDS = range(1, 9 if NIGHTLY else 5)
CHAINS = range(2000 if NIGHTLY else 100)
STEPS = 120 if NIGHTLY else 30  # enough for every sample of the pipelines below, on one rank

DEALT = Shard(Shuffle(Read(61 if NIGHTLY else 15), 6))  # every rank of every world has some elements
PIPELINES = {
    "filter": Filter(DEALT, 3, 1),
    "children": Unbatch(DEALT, 4),
    "children of what a filter lets through": Unbatch(Filter(Map(DEALT), 3, 1), 4),
    "some children": Filter(Map(Unbatch(Shard(Shuffle(Read(61 if NIGHTLY else 17), 6)), 4)), 7, 2),
    "batches of what a filter lets through": Batch(Filter(DEALT, 3, 1), 2),
    "batches of children": Batch(Unbatch(DEALT, 4), 3),
    "good samples": Batch(OnError(DEALT, "skip", frozenset({3, 4, 11, 22})), 2),
    "passes of the order": Filter(Shard(Repeat(Shuffle(Read(9), 2), 2)), 4, 3),
    "outputs of a filter": Shard(Filter(Shuffle(Read(23), 1), 3, 2)),
    "batches of outputs of a window": Batch(Shard(Shuffle(Filter(Read(23), 3, 1), 5, window=4)), 2),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_merged_states_lose_and_repeat_nothing(name):
    node = PIPELINES[name]
    whole = fresh(Loader(with_shard(node, 0, 1)).epoch(0))
    old_worlds, new_worlds = ({size: World(node, size) for size in WORLDS} for _ in range(2))
    for old, new in itertools.product(WORLDS, WORLDS):
        for delivered in range(0, whole.total() // old, 1 if NIGHTLY else 3):
            heads, tails = compare(old_worlds[old], delivered, new_worlds[new])
            assert fresh(heads) + fresh(tails) == whole, (old, delivered, new)


def test_merged_states_merge_again():
    node = PIPELINES["batches of children"]
    whole = fresh(Loader(with_shard(node, 0, 1)).epoch(0))
    for worlds in [(3, 2, 4), (1, 4, 1), (4, 3, 2), (2, 2, 2), (4, 1, 3, 2)]:
        rng = random.Random(worlds[0])
        state = want = None
        delivered = []
        for world in worlds:
            run = World(node, world)
            delivered += run.go_on(want, state, rng.randint(1, 2))
            want, state = run.merged_in_the_model(), run.merged()
        delivered += World(node, 3).go_on(want, state, None)
        assert fresh(delivered) == whole, worlds


def dealt(rank: int, world: int, **options):
    return (
        hr.range(20).shard(rank, world, steps=9).filter(lambda x: hr.ops.less(x, value=19)).options(**options)
    )


def states(world: int, dataset=dealt, elements: int = 2) -> list[dict]:
    out = []
    for rank in range(world):
        iteration = iter(dataset(rank, world).numpy().at_its_first_epoch())
        take(iteration, elements)
        out.append(iteration.state_dict())
    return out


def test_a_lone_state_on_another_world_is_refused_and_names_the_remedy():
    with pytest.raises(ValueError, match=r"rank 1 of 2, but this is rank 0 of 3; merge_states\(\) merges"):
        dealt(0, 3).numpy().load_state_dict(states(2)[1])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (list, "got none"),
        (lambda: states(3)[:2], "all ranks of one world, each once; got 2 states"),
        (lambda: states(2)[:1] * 2, "rank 0 of 2 twice"),
        (lambda: states(2)[:1] + states(2, elements=3)[1:], "after the same number of elements"),
        (lambda: states(2)[:1] + states(2, lambda r, w: dealt(r, w, seed=1))[1:], "states of one pipeline"),
        (lambda: states(2, lambda r, w: dealt(r, w).take(8)), "only maps, .* not 'take'"),
        (lambda: states(2, lambda r, w: dealt(r, w).repeat(2)), "passes of a repeat"),
        (lambda: states(2, lambda r, w: dealt(r, w, deterministic=False)), "come in no fixed order"),
    ],
)
def test_what_cannot_be_merged_is_refused(make, why):
    with pytest.raises(ValueError, match=f"merge_states: .*{why}"):
        hr.merge_states(make())


def test_a_rank_without_elements_cannot_take_steps():
    dataset = hr.range(3).filter(lambda x: hr.ops.less(x, value=0)).shard(0, 2, steps=4)
    with pytest.raises(ValueError, match="no elements to take steps="):
        list(dataset.numpy())


@pytest.mark.parametrize("seed", CHAINS)
def test_merged_states_of_random_chains_equal_the_model(seed):
    rng = random.Random(seed)
    chain = insert_shard(rng, random_chain(rng))
    if has_batches_of_batches(chain):
        pytest.skip("batches of batches")
    if length(plan(chain)) is not None and not any(is_border(n) for n in spine(chain)):
        pytest.skip("one state fits every world: test_elastic.py")
    for old, new in [(rng.choice(WORLDS), rng.choice(WORLDS)) for _ in range(4)]:
        try:
            compare(World(chain, old), rng.randint(1, 8), World(chain, new))
        except ModelError as error:
            assert "no elements to wrap over" in str(error) or "is bad" in str(error), error
        except ValueError as error:  # while a run fails with HeadraceError
            assert str(error) == "a bad sample", error
            pytest.skip("a Python function that fails on every sample: nothing says what it returns")


def compare(before: "World", delivered: int, after: "World") -> tuple[list, list]:
    """The model's elements before and after a change of world; the package's are the same, or both raise."""
    heads = before.go_on(None, None, delivered)
    if any(
        "finished" in state for state in before.states
    ):  # the epoch is over, which the model detects later
        return heads, []
    try:
        want = before.merged_in_the_model()
    except ModelError:
        with pytest.raises(ValueError, match="merge_states"):
            before.merged()
        return heads, []
    return heads, after.go_on(want, before.merged(), None)


class World:
    """All ranks of a pipeline, of the model and of the package."""

    def __init__(self, node, size: int):
        steps = STEPS if length(plan(node)) is None else None
        self.ranks = [with_shard(node, rank, size, steps) for rank in range(size)]
        self.models = [Loader(rank) for rank in self.ranks]
        self.loaders = [adapter.loader(adapter.build(hr, rank).options(workers=1)) for rank in self.ranks]

    def go_on(self, want, state, elements: int | None) -> list:
        """The model's next elements, of all ranks, from a merged state; checks the package's."""
        delivered = []
        self.states, self.model_states = [], []
        for model, loader in zip(self.models, self.loaders):
            if state is not None:
                model.load_state_dict(want)
                loader.load_state_dict(json.loads(json.dumps(state)))
            else:
                model.set_epoch(0)
                loader.set_epoch(0)
            iterations = iter(model), iter(loader)
            mine = take(iterations[0], elements)
            assert [adapter.seen(e) for e in take(iterations[1], elements)] == [
                adapter.expected(e) for e in mine
            ], json.dumps(to_json(self.ranks[0]))
            delivered += mine
            self.model_states.append(iterations[0].state_dict())
            self.states.append(iterations[1].state_dict())
        return delivered

    def merged_in_the_model(self):
        return merge_states(self.ranks[0], self.model_states)

    def merged(self):
        return hr.merge_states(reversed(self.states))


def take(iteration, elements: int | None) -> list:
    return list(iteration) if elements is None else [e for _, e in zip(range(elements), iteration)]
