"""The contract of states: a resumed run continues as if it had not stopped, and another world loses and repeats nothing."""

import random
from collections import Counter

import pytest

from .chains import insert_shard, random_chain, with_shard
from .deal import world_bound
from .loader import Loader, merge_states
from .nodes import (
    ENDLESS,
    Batch,
    Filter,
    ModelError,
    Read,
    Repeat,
    Shard,
    Shuffle,
    Skip,
    Take,
    Unbatch,
    Window,
    find_shard,
    length,
    plan,
)
from .running import after, after_state, chains, fresh, nodes, resumed, run


def test_resume_at_every_position_equals_the_uninterrupted_run():
    for rng, chain in chains(400):
        sharded = insert_shard(rng, chain)
        world = rng.randint(1, 4)
        unknown = length(plan(sharded)) is None
        node = with_shard(sharded, rng.randrange(world), world, 5 if unknown and world > 1 else None)
        try:
            whole, following = run(node, 1), run(node, 2)
        except ModelError as error:
            assert "no elements to wrap over" in str(error)
            continue
        for delivered in range(len(whole) + 1):
            head, state = after(node, delivered, epoch=1)
            assert head == whole[:delivered]
            left = whole[delivered:]
            assert resumed(node, state) in ([left] if left else [[], following]), (node, delivered)


def resume_chain(rng):
    """Sharded sample verbs, perhaps batched."""
    chain = insert_shard(rng, random_chain(rng, borders=False, verbs=rng.randint(0, 3)))
    return Batch(chain, rng.randint(1, 3)) if rng.random() < 0.5 else chain


def test_elastic_resume_loses_and_repeats_nothing():
    node = Batch(Shuffle(Shard(Read(13)), 3), 2)
    for old in range(1, 9):
        ranks = [run(with_shard(node, r, old)) for r in range(old)]
        for delivered in range(len(ranks[0]) + 1):
            states = [after(with_shard(node, r, old), delivered)[1] for r in range(old)]
            assert all(s == states[0] for s in states)
            head = fresh(e for r in ranks for e in r[:delivered])
            for new in range(1, 9):
                tails = [resumed(with_shard(node, r, new), states[0]) for r in range(new)]
                assert len({len(t) for t in tails}) == 1
                if states[0]["epoch"] == 0:
                    together = head + fresh(e for t in tails for e in t)
                    assert together == Counter(s.id for s in run(Read(13)))


def test_elastic_resume_of_random_chains():
    for seed in range(150):
        rng = random.Random(seed)
        node = resume_chain(rng)
        try:
            whole = fresh(run(node))
        except ModelError:
            continue
        if any(isinstance(n, Window) or isinstance(n, Batch) and n.drop_last for n in nodes(node)):
            continue
        old, new = rng.randint(1, 5), rng.randint(1, 5)
        steps = len(run(with_shard(node, 0, old)))
        for delivered in range(steps):
            parts = [after(with_shard(node, r, old), delivered) for r in range(old)]
            head, state = [e for p in parts for e in p[0]], parts[0][1]
            if "world" in state and new != old:
                with pytest.raises(ModelError):
                    resumed(with_shard(node, 0, new), state)
                continue
            if world_bound(plan(node)):  # another world has another epoch
                continue
            tails = [resumed(with_shard(node, r, new), state) for r in range(new)]
            assert len({len(t) for t in tails}) == 1
            if delivered < steps:
                assert fresh(head) + fresh(e for t in tails for e in t) == whole, (node, old, new, delivered)


def test_a_repeat_above_batches_deals_each_pass_afresh():
    node = Repeat(Batch(Shard(Shuffle(Read(7), 1)), 2), 3)
    for old in range(1, 5):
        steps = len(run(with_shard(node, 0, old)))
        for delivered in range(steps):
            parts = [after(with_shard(node, r, old), delivered) for r in range(old)]
            for new in range(1, 5):
                tails = [resumed(with_shard(node, r, new), parts[0][1]) for r in range(new)]
                assert len({len(t) for t in tails}) == 1
                together = fresh(e for p in parts for e in p[0]) + fresh(e for t in tails for e in t)
                assert together == fresh(run(node))


@pytest.mark.parametrize("verb", [lambda n: Take(n, 2), lambda n: Skip(n, 1), lambda n: Shuffle(n, 3)])
def test_verbs_that_count_a_ranks_batches_hold_the_world(verb):
    node = verb(Batch(Shard(Read(24)), 2))
    state = after(with_shard(node, 0, 2), 1)[1]
    assert state["world"] == 2
    with pytest.raises(ModelError):
        resumed(with_shard(node, 0, 3), state)


def test_outputs_of_a_border_resume_on_any_world():
    node = Batch(Shard(Shuffle(Filter(Read(40), 3, 1), 5, window=4)), 2)
    want = fresh(run(node))
    for old in range(1, 5):
        steps = want.total() // (old * 2)
        for delivered in range(steps):
            parts = [after(with_shard(node, r, old, steps), delivered) for r in range(old)]
            assert all(p[1] == parts[0][1] for p in parts)
            for new in range(1, 5):
                state = parts[0][1] | {"fingerprint": mark(node, 14)}
                tails = [resumed(with_shard(node, r, new, 14), state) for r in range(new)]
                assert fresh(e for p in parts for e in p[0]) + fresh(e for t in tails for e in t) == want


def mark(node, steps) -> str:
    return Loader(with_shard(node, 0, 1, steps)).upcoming["fingerprint"]


def test_dealt_inputs_of_a_border_resume_on_another_world_through_merged_states():
    node = Unbatch(Filter(Shuffle(Shard(Read(30)), 6), 3, 1), 4)
    want = fresh(run(node))
    for old in range(1, 5):
        for delivered in range(9):
            parts = [after(with_shard(node, r, old, 40), delivered) for r in range(old)]
            state = merge_states(with_shard(node, 0, old, 40), [p[1] for p in parts])
            head = fresh(e for p in parts for e in p[0])
            for new in range(1, 5):
                more = [after_state(with_shard(node, r, new, 40), state, 3) for r in range(new)]
                again = merge_states(with_shard(node, 0, new, 40), [m[1] for m in more])
                tails = [resumed(with_shard(node, r, 2, 40), again) for r in range(2)]
                middle = fresh(e for m in more for e in m[0])
                assert head + middle + fresh(e for t in tails for e in t) == want, (old, delivered, new)
                if new != old and delivered:
                    with pytest.raises(ModelError):
                        resumed(with_shard(node, 0, new, 40), parts[0][1])


def test_the_state_of_indexed_data_is_an_epoch_and_a_number():
    state = after(Batch(Shard(Shuffle(Read(20), 1), 1, 2), 3), 2)[1]
    assert {k: v for k, v in state.items() if k != "fingerprint"} == {"epoch": 0, "consumed": 12}
    assert find_shard(plan(Read(3))).world == 1 and length(Repeat(Read(1))) == ENDLESS
