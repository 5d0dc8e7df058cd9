"""The package against the model, over seeded random pipelines: differences are shown with the pipeline's JSON."""

import json
import random

import pytest

from . import adapter
from .chains import insert_shard, random_chain, with_shard
from .loader import Loader
from .nodes import ModelError, is_indexed, length, plan, to_json
from .resuming import check_resume
from .running import has_batches_of_batches

hr = pytest.importorskip("headrace", reason="the package is not built: pip install .")
if not hasattr(hr, "range"):
    pytest.skip("the package is not built: pip install .", allow_module_level=True)

CHAINS = range(300)
STEPS = 5  # for unknown lengths, on several ranks


def model_epochs(node) -> list[list]:
    return [[adapter.expected(e) for e in Loader(node).epoch(epoch)] for epoch in range(3)]


def make(seed: int, sharded: bool = False):
    """The generator, the chain and its three epochs; skips those that the model rejects while running."""
    rng = random.Random(seed)
    chain = random_chain(rng)
    if has_batches_of_batches(chain):
        pytest.skip("batches of batches")
    if sharded:
        chain = insert_shard(rng, chain, rng.choice(["wrap", "drop"]))
        world = rng.randint(1, 4)
        steps = STEPS if world > 1 and length(plan(chain)) is None else None
        chain = with_shard(chain, rng.randrange(world), world, steps)
    try:
        return rng, chain, model_epochs(chain)
    except ModelError as error:
        pytest.skip(f"the model raises: {error}")


def build(chain):
    """The package's dataset; skips pipelines without a good sample on which a Python function could be tried."""
    try:
        return adapter.build(hr, chain)
    except ValueError as error:
        if "a bad sample" not in str(error):
            raise
        pytest.skip("no good sample")


def text(chain) -> str:
    return json.dumps(to_json(chain))


@pytest.mark.parametrize("seed", CHAINS)
def test_epochs_equal_the_model(seed):
    _, chain, want = make(seed)
    loader = adapter.loader(build(chain))
    got = [[adapter.seen(e) for e in loader] for _ in range(3)]
    assert got == want, text(chain)


@pytest.mark.parametrize("seed", CHAINS)
def test_a_ranks_epochs_equal_the_model(seed):
    _, chain, want = make(seed, sharded=True)
    loader = adapter.loader(build(chain))
    got = [[adapter.seen(e) for e in loader] for _ in range(3)]
    assert got == want, text(chain)


@pytest.mark.parametrize("seed", CHAINS)
def test_lengths_and_items_equal_the_model(seed):
    _, chain, want = make(seed, sharded=True)
    dataset = build(chain)
    if length(plan(chain)) is None:
        with pytest.raises(TypeError):
            len(dataset)
        return
    assert len(dataset) == len(want[0]), text(chain)
    if is_indexed(plan(chain)):
        assert [adapter.seen(adapter.item(dataset, i)) for i in range(len(want[0]))] == want[0], text(chain)


@pytest.mark.parametrize("seed", CHAINS)
def test_resume_equals_the_uninterrupted_run(seed):
    rng, chain, want = make(seed, sharded=True)
    check_resume(rng, build(chain), want, text(chain))


@pytest.mark.parametrize("seed", CHAINS)
def test_resume_on_another_world_equals_the_model(seed):
    rng = random.Random(seed)
    chain = random_chain(rng, borders=False)
    if has_batches_of_batches(chain):
        pytest.skip("batches of batches")
    chain = insert_shard(rng, chain)
    old, new = rng.randint(1, 4), rng.randint(1, 4)
    try:
        steps = len(Loader(with_shard(chain, 0, old)).epoch(0))
        delivered = rng.randint(0, max(0, steps - 1))
        state = model_state(with_shard(chain, 0, old), delivered)
        want = [model_rest(with_shard(chain, rank, new), state) for rank in range(new)]
    except ModelError as error:
        pytest.skip(f"the model raises: {error}")
    iteration = iter(adapter.loader(adapter.build(hr, with_shard(chain, 0, old))))
    for _ in range(min(delivered, steps)):
        next(iteration)
    for rank in range(new):
        loader = adapter.loader(adapter.build(hr, with_shard(chain, rank, new)))
        adapter.load(loader, adapter.save(iteration))
        assert [adapter.seen(e) for e in loader] == want[rank], (old, new, delivered, rank, text(chain))


def model_state(node, delivered: int) -> dict:
    iteration = iter(Loader(node))
    for _ in range(delivered):
        next(iteration)
    return iteration.state_dict()


def model_rest(node, state) -> list:
    loader = Loader(node)
    loader.load_state_dict(state)
    return [adapter.expected(e) for e in loader]
