"""Fixed parts of ranks in random pipelines: the package against the model, epochs and resume."""

import json
import random
from dataclasses import replace

import pytest

from . import adapter
from .chains import random_chain
from .loader import Loader
from .nodes import ENDLESS, ModelError, Node, Part, is_indexed, length, plan, spine, to_json, varies
from .resuming import check_resume
from .running import has_batches_of_batches, nodes

hr = pytest.importorskip("headrace", reason="the package is not built: pip install .")
if not hasattr(hr, "range"):
    pytest.skip("the package is not built: pip install .", allow_module_level=True)


def with_part(rng: random.Random, root: Node) -> Node:
    """The chain with a part at a random permitted place."""
    places = [n for n in spine(root) if is_indexed(n) and length(n) not in (None, ENDLESS) and not varies(n)]
    if not places:
        pytest.skip("no place")
    world = rng.randint(1, 4)
    part = Part(
        rng.choice(places),
        rng.randrange(world),
        world,
        rng.choice(["wrap", "drop", "pad"]),
        rng.random() < 0.5,
    )
    out: Node = part
    path = spine(root)
    for above in reversed(path[: path.index(part.input)]):
        out = replace(above, input=out)
    return out


def make(seed: int):
    rng = random.Random(seed)
    chain = random_chain(rng)
    if has_batches_of_batches(chain):
        pytest.skip("batches of batches")
    chain = with_part(rng, chain)
    if any(getattr(n, "blocks", 0) for n in nodes(chain)):
        pytest.skip("blocks=, which needs the order of the data")
    try:
        if length(plan(chain)) is None:
            pytest.skip("needs steps=")
        return rng, chain, [[adapter.expected(e) for e in Loader(chain).epoch(epoch)] for epoch in range(3)]
    except ModelError as error:
        pytest.skip(f"the model raises: {error}")


def build(chain):
    try:
        return adapter.build(hr, chain)
    except ValueError as error:
        if "a bad sample" not in str(error):
            raise
        pytest.skip("no good sample")


@pytest.mark.parametrize("seed", range(300))
def test_parts_equal_the_model(seed):
    rng, chain, want = make(seed)
    text = json.dumps(to_json(chain))
    dataset = build(chain)
    loader = adapter.loader(dataset)
    assert [[adapter.seen(e) for e in loader] for _ in range(3)] == want, text
    if is_indexed(plan(chain)):
        assert [adapter.seen(adapter.item(dataset, i)) for i in range(len(want[0]))] == want[0], text
    check_resume(rng, dataset, want, text)
