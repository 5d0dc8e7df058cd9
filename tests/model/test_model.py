"""Tests of the model: the contracts of order, sharding, epochs and errors, over tables and seeded random chains."""

from collections import Counter
from dataclasses import replace

import pytest

from .chains import insert_shard, with_shard
from .indexed import at
from .loader import Loader
from .nodes import (
    GATHERING,
    Batch,
    Concatenate,
    Filter,
    Map,
    ModelError,
    OnError,
    Read,
    Repeat,
    Sample,
    Select,
    Shard,
    Shuffle,
    Skip,
    Take,
    Unbatch,
    Window,
    is_indexed,
    length,
    number,
    plan,
)
from .order import Permutation
from .random import Key, SampleId, philox
from .running import after, chains, flat, indices, nodes, resumed, run

# Printed by a C++ program linked with headrace/core/random/key.cc and permutation.cc.
KEY_VECTORS = [  # seed, ordinal, id; words 0 1 4 7 1000; below(0, 10), below(2, 2^32 - 1); uniform64(1)
    (
        0,
        0,
        SampleId(),
        (168535653, 918974172, 1525117073, 1588841375, 840984005),
        0,
        2554341339,
        0.21035147216048289,
    ),
    (
        17,
        3,
        SampleId(81274, 2, 1),
        (652107780, 1586810653, 2003533770, 3323979414, 2993475942),
        1,
        1790247718,
        0.71229420053233028,
    ),
    (
        2**64 - 1,
        7,
        SampleId(1 << 40, 5 << 32, 2, 1, 3),
        (1222761, 1118629670, 1475208474, 3931150539, 3816955248),
        0,
        3593017328,
        0.70414116299631169,
    ),
]
PERMUTATION_VECTORS = [  # seed, epoch, n, positions, values
    (17, 3, 1, range(1), [0]),
    (17, 3, 2, range(2), [1, 0]),
    (17, 3, 3, range(3), [2, 0, 1]),
    (17, 3, 10, range(10), [7, 0, 4, 6, 2, 5, 9, 3, 8, 1]),
    (17, 3, 17, range(17), [7, 3, 12, 1, 15, 13, 6, 0, 4, 5, 8, 14, 11, 9, 16, 10, 2]),
    (0xDEADBEEFCAFE, (7 << 32) + 1, 1281167, (0, 1, 640583, 1281166), [754559, 321490, 36685, 1045968]),
    (
        0xDEADBEEFCAFE,
        (7 << 32) + 1,
        (1 << 40) + 12345,
        (0, 1, ((1 << 40) + 12345) // 2, (1 << 40) + 12344),
        [901705946786, 289598118516, 248784083771, 894472843659],
    ),
    (
        0xDEADBEEFCAFE,
        (7 << 32) + 1,
        1 << 62,
        (0, 1, 1 << 61, (1 << 62) - 1),
        [2004710973247980644, 1722234355440526254, 45509608800693865, 4169535160347964672],
    ),
]


# ---- randomness and order ------------------------------------------------------------------------------------------


def test_philox_equals_the_library():
    assert philox((5, 6), (1, 2, 3, 4)) == (3234347452, 2291959749, 1637377849, 759571408)


@pytest.mark.parametrize("seed, ordinal, id, words, small, large, uniform", KEY_VECTORS)
def test_keys_equal_the_library(seed, ordinal, id, words, small, large, uniform):
    key = Key(seed, ordinal, id)
    assert tuple(key.bits(d) for d in (0, 1, 4, 7, 1000)) == words
    assert (key.below(0, 10), key.below(2, 2**32 - 1), key.uniform64(1)) == (small, large, uniform)


@pytest.mark.parametrize("seed, epoch, n, positions, values", PERMUTATION_VECTORS)
def test_permutations_equal_the_library(seed, epoch, n, positions, values):
    assert [Permutation(seed, epoch, n)(x) for x in positions] == values


def test_a_permutation_reaches_every_element_once():
    for n in range(1, 300):
        assert sorted(map(Permutation(7, n, n), range(n))) == list(range(n))


# ---- verbs ---------------------------------------------------------------------------------------------------------


def test_verbs_on_a_table():
    ten = Read(10)
    table = [
        (Take(Skip(ten, 2), 3), [2, 3, 4]),
        (Skip(Take(ten, 3), 2), [2]),
        (Concatenate(Take(ten, 2), Skip(ten, 8)), [0, 1, 8, 9]),
        (Repeat(Take(ten, 2), 3), [0, 1, 0, 1, 0, 1]),
        (Take(Repeat(Read(3)), 7), [0, 1, 2, 0, 1, 2, 0]),
        (Shuffle(ten, 5), [Permutation(5, 0, 10)(x) for x in range(10)]),
        (Filter(ten, 3, 0), [1, 2, 4, 5, 7, 8]),
        (Unbatch(Read(5), 3), [1, 2, 2, 4]),
        (OnError(Read(5), "replace", frozenset({1, 2, 4})), [0, 3, 3, 3, 0]),
        (OnError(Read(5), "skip", frozenset({1, 2, 4})), [0, 3]),
        (Shuffle(Read(6), 1, window=1), [0, 1, 2, 3, 4, 5]),
    ]
    for node, expected in table:
        assert indices(run(node)) == expected, node


def test_batches_have_the_size_asked_for_and_a_short_last_one():
    assert [len(b) for b in run(Batch(Read(10), 4))] == [4, 4, 2]
    assert [len(b) for b in run(Batch(Read(10), 4, drop_last=True))] == [4, 4]


def test_repeat_equals_that_many_epochs_shuffles_and_draws_included():
    for rng, chain in chains(300):
        times = rng.randint(1, 3)
        epochs = [e for k in range(times) for e in run(chain, 2 * times + k)]
        assert run(Repeat(chain, times), 2) == epochs, chain


def test_endless_repeat_counts_epochs_from_two_to_the_32():
    assert [at(Repeat(Read(3)), p, 5).id.epoch for p in (0, 3, 7)] == [5 << 32, (5 << 32) + 1, (5 << 32) + 2]


def test_take_skip_and_concatenate_obey_their_algebra():
    for rng, chain in chains(300):
        n, m = rng.randint(0, 9), rng.randint(0, 9)
        whole = run(chain)
        assert run(Take(chain, n)) == whole[:n] and run(Skip(chain, n)) == whole[n:]
        assert run(Take(Take(chain, n), m)) == whole[: min(n, m)]
        assert run(Skip(Skip(chain, n), m)) == whole[n + m :]
        assert indices(run(Concatenate(Take(Read(7), n), Skip(Read(7), n)))) == list(range(7))
        assert indices(run(Concatenate(chain, chain))) == indices(whole) * 2


def test_an_exact_length_is_the_number_of_elements():
    for _, chain in chains(300):
        assert length(chain) in (None, len(run(chain)))


def test_ordinals_go_depth_first_and_shared_reads_count_twice():
    shared = Map(Read(2))
    elements = run(Map(Concatenate(shared, shared)))
    assert [e.id.read for e in elements] == [0, 0, 1, 1]
    tree = number(Map(Concatenate(shared, shared)))
    assert (tree.input.input.ordinal, tree.input.other.ordinal, tree.ordinal) == (0, 1, 2)
    assert elements[0].value[1] != elements[2].value[1]


def test_window_shuffles_keep_every_element():
    for rng, chain in chains(200):
        window = Shuffle(chain, rng.randint(0, 9), rng.randint(1, 20))
        assert Counter(run(window)) == Counter(run(chain))


# ---- shard ---------------------------------------------------------------------------------------------------------


def indexed_chains(count: int):
    for rng, chain in chains(count, borders=False):
        yield rng, chain, insert_shard(rng, chain)


def test_every_sample_is_read_exactly_once_and_steps_are_equal():
    for rng, chain, sharded in indexed_chains(150):
        if any(isinstance(n, GATHERING) for n in nodes(sharded)):
            continue
        for world in range(1, 9):
            for even in ("wrap", "pad", "drop"):
                ranks = [run(replace_even(with_shard(sharded, r, world), even)) for r in range(world)]
                assert len({len(r) for r in ranks}) == 1
                together = [e for step in zip(*ranks) for e in step]
                whole = run(chain)
                kept = whole if even != "drop" else whole[: len(whole) // world * world]
                assert together[: len(kept)] == kept
                for extra, g in zip(together[len(kept) :], range(len(kept), 10**9)):
                    again = whole[(g - len(whole)) % len(whole)].id
                    assert extra.id == replace(again, occurrence=again.occurrence + 1)
                    assert extra.valid == (even == "wrap")


def replace_even(node, even):
    return (
        replace(node, even=even)
        if isinstance(node, Shard)
        else replace(node, input=replace_even(node.input, even))
    )


def test_a_shard_means_the_same_anywhere_in_its_segment():
    read = Read(11)
    places = [
        Take(Shuffle(Skip(Shard(read, 1, 3), 2), 4), 7),
        Take(Shuffle(Shard(Skip(read, 2), 1, 3), 4), 7),
        Take(Shard(Shuffle(Skip(read, 2), 4), 1, 3), 7),
        Shard(Take(Shuffle(Skip(read, 2), 4), 7), 1, 3),
    ]
    assert len({tuple(indices(run(p))) for p in places}) == 1
    assert len({tuple(indices(run(Batch(p, 2)))) for p in places}) == 1


def test_batches_below_a_shard_are_dealt_whole():
    assert [indices([b]) for b in run(Shard(Batch(Read(10), 3), 1, 2))] == [[3, 4, 5], [9]]
    assert [indices([b]) for b in run(Batch(Shard(Read(10), 1, 2), 3))] == [[1, 3, 5], [7, 9]]


def test_shards_with_batches_have_equal_steps_and_lose_nothing():
    for rng, chain, sharded in indexed_chains(200):
        for world in (2, 3, 5):
            ranks = [run(with_shard(sharded, r, world)) for r in range(world)]
            assert len({len(r) for r in ranks}) == 1
            if not any(
                isinstance(n, (Take, Skip, Window, Sample, Select)) or isinstance(n, Batch) and n.drop_last
                for n in nodes(chain)
            ):
                first = [s for s in flat(e for r in ranks for e in r) if s.id.occurrence == 0]
                assert Counter(s.id for s in first) == Counter(s.id for s in flat(run(chain)))


def test_a_border_above_the_shard_deals_inputs_and_below_it_outputs():
    assert indices(run(Filter(Shard(Read(10), 1, 2, steps=3), 3, 0))) == [1, 5, 7]
    assert indices(run(Shard(Filter(Read(10), 3, 0), 1, 2, steps=3))) == [2, 5, 8]
    assert indices(run(Filter(Shard(Read(10), 0, 2, steps=4), 3, 0))) == [2, 4, 8, 2]
    assert [e.id.occurrence for e in run(Filter(Shard(Read(10), 0, 2, steps=4), 3, 0))] == [0, 0, 0, 1]


def test_steps_are_equal_behind_borders():
    for rng, chain in chains(300):
        sharded = insert_shard(rng, chain, rng.choice(["wrap", "drop", "pad"]))
        root = plan(with_shard(sharded, 0, 1))
        if is_indexed(root):
            continue
        for world in (1, 2, 3):
            ranks = []
            for rank in range(world):
                node = with_shard(sharded, rank, world, 6 if length(root) is None else None)
                try:
                    ranks.append(len(run(node)))
                except ModelError as error:
                    assert "no elements to wrap over" in str(error)
                    break
            assert len(set(ranks)) <= 1, sharded


# ---- errors, epochs, refusals --------------------------------------------------------------------------------------


def test_a_replacement_carries_its_own_id_and_draws_with_the_slots_key():
    element = run(OnError(Map(Read(4)), "replace", frozenset({1})))[1]
    assert (element.id.index, element.value) == (2, (2, Key(0, 0, SampleId(1)).bits(0)))


def test_replacement_looks_along_the_global_order_not_the_ranks():
    node = OnError(Read(8), "replace", frozenset({3}))
    assert indices(run(Shard(node, 1, 2))) == [1, 4, 5, 7]


def test_a_hundred_failures_in_a_row_raise():
    assert indices(run(Take(OnError(Read(200), "replace", frozenset(range(99))), 1))) == [99]
    with pytest.raises(ModelError, match="100 failures"):
        run(Take(OnError(Read(200), "replace", frozenset(range(100))), 1))


def test_on_error_above_a_batch_covers_its_samples():
    assert [len(b) for b in run(OnError(Batch(Read(6), 2), "skip", frozenset({1, 2})))] == [2, 2]


def test_each_iteration_is_the_next_epoch():
    loader = Loader(Map(Read(1)))
    epochs = [next(iter(loader)).id.epoch for _ in range(2)]
    loader.set_epoch(7)
    epochs += [next(iter(loader)).id.epoch for _ in range(2)]
    assert epochs == [0, 1, 7, 8]


def test_a_loaded_state_goes_on_there_and_a_finished_one_with_the_next_epoch():
    node = Read(3)
    loader = Loader(node)
    loader.load_state_dict(after(node, 2, epoch=4)[1])
    assert [(e.id.index, e.id.epoch) for e in loader] == [(2, 4)]
    assert [e.id.epoch for e in loader] == [5, 5, 5]
    assert [e.id.epoch for e in resumed(node, after(node, 3, epoch=4)[1])] == [5, 5, 5]


@pytest.mark.parametrize("node, words", [
    (Concatenate(Shard(Read(2), 0, 2), Read(2)), "in one branch"),
    (Shard(Batch(Shard(Read(9), 0, 3), 2), 0, 3), "sharded already"),
    (Shuffle(Filter(Read(4), 2, 0), 1), "window="),
    (Shuffle(Repeat(Read(4)), 1), "window="),
    (OnError(Filter(Read(4), 2, 0), "replace", frozenset()), "random access"),
    (Shard(Filter(Read(4), 2, 0), 0, 2), "steps="),
    (Shard(Read(4), 0, 2, steps=3), "take"),
])  # fmt: skip
def test_what_has_no_meaning_is_refused(node, words):
    with pytest.raises(ModelError, match=words):
        Loader(node)


def test_a_rank_without_outputs_says_so():
    with pytest.raises(ModelError, match="no elements to wrap over"):
        run(Filter(Shard(Read(4), 0, 2, steps=3), 2, 0))
