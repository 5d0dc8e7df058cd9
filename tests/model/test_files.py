"""Order verbs over a dataset of files whose readers are interleaved: the package against the model.

Random programs, three epochs, all ranks of 1, 2, 3 and 5, and resume within an epoch. HEADRACE_NIGHTLY=1 takes more.
"""

import json
import os
import random
from collections import Counter

import pytest

from . import adapter
from .chains import insert_shard
from .files import openings
from .loader import Loader
from .nodes import (
    ENDLESS,
    ModelError,
    Part,
    Read,
    Readers,
    Shard,
    Shuffle,
    is_even_each_epoch,
    is_indexed,
    length,
    plan,
    spine,
    to_json,
)
from .random_files import random_program, with_dealt_files, with_rank
from .resuming import check_resume
from .running import flat, has_batches_of_batches, run

hr = pytest.importorskip("headrace", reason="the package is not built: pip install .")
if not hasattr(hr, "range"):
    pytest.skip("the package is not built: pip install .", allow_module_level=True)

PROGRAMS = range(3000 if os.environ.get("HEADRACE_NIGHTLY") else 150)
WORLDS = (1, 2, 3, 5)
STEPS = 5  # where lengths are not known


def make(seed: int):
    """A program, and its worlds' ranks; every fourth without a shard."""
    rng = random.Random(seed)
    program = random_program(rng)
    if has_batches_of_batches(program):
        pytest.skip("batches of batches")
    world = rng.choice(WORLDS)
    kind = rng.choice(["none", "after", "files", "files", "files", "files"])
    if kind == "none":
        return rng, [program]
    program = insert_shard(rng, program) if kind == "after" else with_dealt_files(rng, program)
    steps = None
    if world > 1:
        try:
            plan(with_rank(program, 0, world, None))
        except ModelError as error:
            if "need steps=" in str(error):
                steps = STEPS
    return rng, [with_rank(program, rank, world, steps) for rank in range(world)]


def epochs_of_model(program) -> list[list]:
    whole = plan(program)
    if length(whole) == ENDLESS or length(whole) is not None and length(whole) > 300:
        pytest.skip("long")
    part = next((n for n in spine(whole) for n in files_of(n) if isinstance(n, Part)), None)
    if part and part.world > 1 and length(whole) is None and not is_even_each_epoch(whole):
        pytest.skip("needs steps=, which parts of the model do not have")
    return [[adapter.expected(e) for e in Loader(program).epoch(epoch)] for epoch in range(3)]


def files_of(node) -> list:
    return spine(node.input) if isinstance(node, Readers) else [node]


@pytest.mark.parametrize("seed", PROGRAMS)
def test_programs_over_files_equal_the_model(seed):
    rng, ranks = make(seed)
    for program in ranks:
        text = json.dumps(to_json(program))
        try:
            want = epochs_of_model(program)
        except ModelError:
            with pytest.raises((ValueError, TypeError)):
                dataset = adapter.build(hr, program)
                loader = adapter.loader(dataset)
                _ = [list(loader) for _ in range(3)]
            continue
        dataset = adapter.build(hr, program)
        loader = adapter.loader(dataset)
        assert [[adapter.seen(e) for e in loader] for _ in range(3)] == want, text
        check_length(program, dataset, want, text)
        check_resume(rng, dataset, want, text)


def check_length(program, dataset, want, text):
    planned = plan(program)
    if length(planned) is None:
        with pytest.raises(TypeError):
            len(dataset)
        return
    assert len(dataset) == len(want[0]), text
    if is_indexed(planned):
        assert [adapter.seen(adapter.item(dataset, i)) for i in range(len(want[0]))] == want[0], text


@pytest.mark.parametrize("even", ["wrap", "drop", "pad"])
@pytest.mark.parametrize("world", WORLDS)
def test_each_file_is_on_one_rank_and_ranks_are_even(even, world):
    files = Shuffle(Read(11), 3)
    readers = tuple(Read(1 + 3 * i % 5) for i in range(11))
    ranks = [Readers(Shard(files, rank, world, even), readers, 3, 2) for rank in range(world)]
    orders = []
    for epoch in range(3):
        opened = [[o.id.index for o in openings(plan(rank), epoch)] for rank in ranks]
        orders.append(opened)
        assert sorted(number for own in opened for number in own) == list(range(11))
        assert max(map(len, opened)) - min(map(len, opened)) <= 1
        elements = [run(rank, epoch) for rank in ranks]
        assert len(set(map(len, elements))) == 1
        first = Counter(e.id for e in flat(e for rank in elements for e in rank) if e.id.occurrence == 0)
        assert set(first.values()) == {1}
        assert even == "drop" or len(first) == sum(reader.size for reader in readers)
        for rank in elements:
            assert all(e.valid == (e.id.occurrence == 0) for e in rank) or even != "pad"
    assert orders[0] != orders[1] != orders[2]
