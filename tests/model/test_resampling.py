"""rejection_resample of the package against the model: over random orders, exactly the same elements are kept."""

import random

import pytest

from . import adapter
from .chains import random_chain
from .loader import Loader
from .nodes import Batch, Choose, Map, ModelError, Sample, Select, SortBy, Zip, inputs, is_batched
from .resampling import resampled

hr = pytest.importorskip("headrace", reason="the package is not built: pip install .")
if not hasattr(hr, "range"):
    pytest.skip("the package is not built: pip install .", allow_module_level=True)

CLASSES = 13  # a chain's numbers are below
ORDINALS = {"given": 0, "estimated": 2}  # after one_hot and add_fields, which are counted


def holds(node, kinds) -> bool:
    return isinstance(node, kinds) or any(holds(i, kinds) for i in inputs(node))


def chain_of_numbers(rng):
    """A random order of single numbers, without operators. Choices, weights and keys are reads of their own in the package."""
    while True:
        chain = random_chain(rng, borders=False, errors=False)
        if is_batched(chain) or holds(chain, (Map, Zip, Batch, Choose, Sample, Select, SortBy)):
            continue
        try:
            return chain, [list(Loader(chain).epoch(epoch)) for epoch in range(2)]
        except ModelError:
            continue


@pytest.mark.parametrize("shares", ORDINALS)
@pytest.mark.parametrize("seed", range(100))
def test_the_elements_that_stay_are_the_models(seed, shares):
    rng = random.Random(seed)
    chain, epochs = chain_of_numbers(rng)
    target = [rng.choice([0, 1, 2.5]) for _ in range(CLASSES - 1)] + [1]
    initial = [rng.choice([1, 3, 0.25]) for _ in range(CLASSES)] if shares == "given" else None
    draws, plan_seed = rng.choice([0, 1, 2**31 - 1]), rng.randrange(100)
    want = [
        list(
            resampled(
                ((e.key, e.value[0]) for e in epoch),
                int,
                target,
                initial,
                draws,
                plan_seed,
                ORDINALS[shares],
            )
        )
        for epoch in epochs
    ]
    ds = adapter.build(hr, chain, hr.range).rejection_resample(lambda x: x, target, initial, seed=draws)
    loader = ds.options(seed=plan_seed).numpy()
    got = [[(int(of), int(x)) for of, x in loader] for _ in range(2)]
    assert got == want
