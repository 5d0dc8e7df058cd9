"""Runs pipelines of the model, for its tests."""

import random
from collections import Counter

from .chains import random_chain
from .loader import Loader
from .nodes import GATHERING, ModelError, inputs


def flat(elements) -> list:
    """Samples of batches, of batches of batches."""
    return [s for e in elements for s in (flat(e) if isinstance(e, tuple) else [e])]


def indices(elements) -> list[int]:
    return [s.id.index for s in flat(elements)]


def run(node, epoch: int = 0) -> list:
    return Loader(node).epoch(epoch)


def chains(count: int, **options):
    """Seeded chains, each with its generator; without those that raise by themselves (only bad samples)."""
    for seed in range(count):
        rng = random.Random(seed)
        chain = random_chain(rng, **options)
        try:
            run(chain)
        except ModelError:
            continue
        yield rng, chain


def after(node, delivered: int, epoch: int = 0):
    """The first elements of a fresh loader, and the state after them."""
    loader = Loader(node)
    loader.set_epoch(epoch)
    iteration = iter(loader)
    return [next(iteration) for _ in range(delivered)], iteration.state_dict()


def resumed(node, state) -> list:
    loader = Loader(node)
    loader.load_state_dict(state)
    return list(loader)


def nodes(node):
    """All nodes of a tree."""
    yield node
    for below in inputs(node):
        yield from nodes(below)


def fresh(elements) -> Counter:
    return Counter(s.id for s in flat(elements) if s.id.occurrence == 0)


def after_state(node, state, delivered):
    loader = Loader(node)
    loader.load_state_dict(state)
    iteration = iter(loader)
    return [next(iteration) for _ in range(delivered)], iteration.state_dict()


def has_batches_of_batches(node, inside: bool = False) -> bool:
    """Such batches are ragged in general, and not compared."""
    if isinstance(node, GATHERING) and inside:
        return True
    inside = inside or isinstance(node, GATHERING)
    return any(has_batches_of_batches(below, inside) for below in inputs(node))
