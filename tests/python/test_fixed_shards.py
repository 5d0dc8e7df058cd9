"""shard(fixed=True): a rank has the same elements in every epoch, compared with plain lists."""

import itertools
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from tests.model.order import permutation
from tests.model.random import word_of

WORLDS = (1, 2, 3, 5)
EVENS = ("wrap", "drop", "pad")
SIZES = (0, 1, 2, 4, 5, 7, 23)
Part = list[tuple[int, bool]]  # elements, and whether they are no repetition


def part(size: int, rank: int, world: int, even: str, contiguous: bool) -> Part:
    """The definition of the docs: dealt one by one or in runs; the ranks that lack one get the first elements again."""
    hands: list[list[int]] = [[] for _ in range(world)]
    for i in range(size):
        hands[i % world].append(i)
    if contiguous:
        runs, begin = [], 0
        for hand in hands:
            runs.append(list(range(begin, begin + len(hand))))
            begin += len(hand)
        hands = runs
    if even == "drop":
        each = size // world
        return [
            (i, True) for i in (range(rank * each, (rank + 1) * each) if contiguous else hands[rank][:each])
        ]
    most = max(map(len, hands))
    again = itertools.cycle(range(size))
    missing = {r: next(again) for r in range(world) if len(hands[r]) < most}
    return [(i, True) for i in hands[rank]] + ([(missing[rank], False)] if rank in missing else [])


def seed_of(seed: int, rank: int) -> int:
    return word_of(seed, (rank, 0xFA27, 0, 0)) if rank else seed


def permuted(elements: list[Any], seed: int, epoch: int, rank: int) -> list[Any]:
    order = permutation(seed_of(seed, rank), epoch, len(elements)) if elements else ()
    return [elements[order(i)] for i in range(len(elements))] if elements else []


def values(elements: Any) -> list[Any]:
    return [np.asarray(x).tolist() for x in elements]


def batched(elements: list[int], size: int) -> list[list[int]]:
    return [elements[i : i + size] for i in range(0, len(elements), size)]


def choices() -> list[Any]:
    return [(w, e, c) for w in WORLDS for e in EVENS for c in (False, True)]


@pytest.mark.parametrize(("world", "even", "contiguous"), choices())
def test_a_part_is_that_of_the_definition(world: int, even: Any, contiguous: bool) -> None:
    for size, rank in itertools.product(SIZES, range(world)):
        ds = hr.range(size).shard(rank, world, even=even, fixed=True, contiguous=contiguous)
        want = part(size, rank, world, even, contiguous)
        assert len(ds) == len(want)
        assert values(ds[i] for i in range(len(ds))) == [i for i, _ in want]
        loader = ds.with_validity("own").numpy()
        for _ in range(2):
            got = [(int(x), bool(own)) for x, own in loader]
            assert got == [(i, own or even != "pad") for i, own in want]


@pytest.mark.parametrize(("world", "even", "contiguous"), choices())
def test_a_shuffle_behind_it_permutes_the_part(world: int, even: Any, contiguous: bool) -> None:
    for rank in range(world):
        own = [i for i, _ in part(23, rank, world, even, contiguous)]
        ds = hr.range(23).shard(rank, world, even=even, fixed=True, contiguous=contiguous).shuffle(seed=7)
        loader = ds.batch(3).numpy()
        for epoch in range(3):
            want = permuted(own, 7, epoch, rank)
            assert values(loader) == batched(want, 3)
            assert values(ds.at_epoch(epoch)) == want


def test_padding_is_marked_in_batches() -> None:
    mine = hr.range(7).shard(1, 3, even="pad", fixed=True)  # 1, 4, and 0 again
    for ds in (mine.batch(1).with_validity(), mine.with_validity().batch(1).map(lambda s: (s[0], s[1][0]))):
        assert [(values(x), bool(own)) for x, own in ds.numpy()] == [([1], True), ([4], True), ([0], False)]
    assert [bool(own) for _, own in mine.batch(2).with_validity()] == [True, False]
    assert [bool(own) for _, own in mine.batch(3).with_validity()] == [True]


def test_verbs_behind_it_see_only_the_part() -> None:
    mine = hr.range(20).shard(1, 3, fixed=True)
    own = [1, 4, 7, 10, 13, 16, 19]
    assert values(mine.take(3)) == own[:3] and values(mine.skip(5)) == own[5:]
    assert values(mine.skip(1).take(4).repeat(2)) == own[1:5] * 2
    assert values(mine.select([6, 0, 0])) == [19, 1, 1]
    assert values(mine.batch(2).take(2)) == [[1, 4], [7, 10]]
    assert values(mine.window(3, shift=2)) == [[1, 4, 7], [7, 10, 13], [13, 16, 19], [19]]
    assert sorted(values(mine.sample(np.arange(1.0, 8.0), replacement=False))) == own
    assert sorted(values(mine.shuffle(window=3))) == own
    assert values(hr.range(20).map(lambda x: x + 100).shard(1, 3, fixed=True)) == [i + 100 for i in own]


def test_verbs_before_it_make_its_order() -> None:
    kept = hr.range(11).shuffle(seed=2, reshuffle_each_epoch=False)
    order = values(kept)
    for rank in range(3):
        mine = kept.shard(rank, 3, fixed=True, even="drop")
        assert values(mine) == order[rank:9:3]
        assert values(mine.at_epoch(5)) == order[rank:9:3]
        assert (
            values(hr.range(11).batch(2).shard(rank, 3, fixed=True)) == batched(list(range(11)), 2)[rank::3]
        )
        assert values(hr.range(11).select([10, 3, 5]).shard(rank, 3, fixed=True)) == [[10, 3, 5][rank]]
    train, _ = hr.range(40).random_split([0.5, 0.5], seed=1)
    parts = [values(train.shard(rank, 2, fixed=True)) for rank in range(2)]
    assert sorted(parts[0] + parts[1]) == sorted(values(train))


def test_all_ranks_together_see_all_in_different_orders() -> None:
    for contiguous in (False, True):
        parts = [
            hr.range(600).shard(rank, 3, fixed=True, contiguous=contiguous).shuffle(seed=1)
            for rank in range(3)
        ]
        for epoch in range(3):
            seen = [values(p.at_epoch(epoch)) for p in parts]
            assert sorted(itertools.chain(*seen)) == list(range(600))
            places = [[part_of.index(i) for i in sorted(part_of)] for part_of in seen]
            assert places[0] != places[1] != places[2]


CHAINS: dict[str, Any] = {
    "samples": lambda d: d,
    "shuffled": lambda d: d.shuffle(seed=3),
    "batches": lambda d: d.cache().shuffle(seed=3).batch(3),
    "shuffled batches": lambda d: d.batch(3, drop_last=True).shuffle(seed=3),
    "passes": lambda d: d.shuffle(seed=3).repeat(2).batch(4),
    "batches in passes": lambda d: d.shuffle(seed=3).batch(4).repeat(2),
    "windows": lambda d: d.window(3, shift=1).skip(1),
    "a window shuffle": lambda d: d.shuffle(seed=3, window=4).batch(2),
    "a scan": lambda d: d.shuffle(seed=3).scan(np.int64(0), lambda total, x: (total + x, total + x)),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize(("rank", "world"), [(0, 1), (1, 2), (2, 3), (4, 5)])
def test_it_resumes_everywhere(name: str, rank: int, world: int) -> None:
    for even, contiguous in (("wrap", False), ("drop", True), ("pad", True)):
        mine = hr.range(17).shard(rank, world, even=even, fixed=True, contiguous=contiguous)  # type: ignore[arg-type]
        ds = CHAINS[name](mine)
        loader = ds.numpy()
        epochs = [values(loader) for _ in range(2)]
        for epoch, at in itertools.product(range(2), range(len(epochs[0]) + 1)):
            one = ds.numpy()
            one.set_epoch(epoch)
            assert values(itertools.islice(iter(one), at)) == epochs[epoch][:at]
            other = ds.numpy()
            other.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
            if at < len(epochs[epoch]):
                assert values(other) == epochs[epoch][at:]


def test_with_a_filter_steps_even_out() -> None:
    with pytest.raises(ValueError, match="steps="):
        list(hr.range(10).shard(0, 2, fixed=True).filter(lambda x: x > 3).numpy())
    ds = hr.range(10).shard(0, 2, fixed=True, steps=5).filter(lambda x: x > 3)
    loader = ds.numpy()
    for _ in range(2):
        assert values(loader) == [4, 6, 8, 4, 6]
    iteration = iter(loader)
    taken = values(itertools.islice(iteration, 2))
    state = loader.state_dict()
    again = ds.numpy()
    again.load_state_dict(state)
    assert taken + values(again) == [4, 6, 8, 4, 6]
    other = hr.range(10).shard(1, 2, fixed=True, steps=5).filter(lambda x: x > 3).numpy()
    with pytest.raises(ValueError, match="belongs to rank 0 of 2, but this is rank 1 of 2"):
        other.load_state_dict(state)


@pytest.mark.parametrize("world", WORLDS)
def test_a_cache_behind_it_keeps_the_part_and_no_more(world: int) -> None:
    size = 40
    for rank in range(world):
        made: Counter[int] = Counter()

        def count(x: Any, made: Counter[int] = made) -> Any:
            made[int(x)] += 1
            return x

        ds = hr.range(size).shard(rank, world, fixed=True).map(count, python=True).cache()
        loader = ds.shuffle(seed=3).batch(4).options(workers=2).numpy()
        made.clear()  # what tracing called
        epochs = [list(itertools.chain(*values(loader))) for _ in range(3)]
        own = sorted(i for i, _ in part(size, rank, world, "wrap", False))
        assert [sorted(e) for e in epochs] == [own] * 3 and (world == 5 or epochs[0] != epochs[1])
        assert made == Counter(set(own)), "each sample is read once"
        assert loader.report()["caches"][0]["elements"] == len(set(own))


def test_states_belong_to_a_rank() -> None:
    def made(rank: int, world: int) -> Any:
        return hr.range(12).shard(rank, world, fixed=True).shuffle(seed=1).batch(2).numpy()

    def state_of(rank: int, world: int, taken: int = 1) -> Any:
        loader = made(rank, world)
        list(itertools.islice(iter(loader), taken))
        return loader.state_dict()

    state = state_of(0, 2)
    assert (state["rank"], state["world"]) == (0, 2)
    for rank, world in ((1, 2), (0, 3), (0, 1)):
        message = f"belongs to rank 0 of 2, but this is rank {rank} of {world}.*fixed=True.*own part"
        with pytest.raises(ValueError, match=message):
            made(rank, world).load_state_dict(state)
    with pytest.raises(ValueError, match="belongs to rank 0 of 1, but this is rank 0 of 2"):
        made(0, 2).load_state_dict(state_of(0, 1))
    with pytest.raises(ValueError, match=r"merge_states: .*fixed=True.*own part"):
        hr.merge_states([state_of(0, 2), state_of(1, 2)])
    # The beginning and the end of an epoch are the same for all.
    made(1, 3).load_state_dict(made(0, 2).state_dict())
    made(1, 3).load_state_dict(state_of(0, 2, taken=3))
    # A shard that moves is another plan.
    moving = hr.range(12).shard(0, 2).shuffle(seed=1).batch(2).numpy()
    with pytest.raises(ValueError, match="another plan"):
        moving.load_state_dict(state)


def test_fingerprints_know_the_kind_of_part_and_not_the_rank() -> None:
    def fingerprint(rank: int, world: int, **how: Any) -> str:
        return hr.range(8).shard(rank, world, **how).fingerprint()

    kinds: list[dict[str, Any]] = [{}, {"fixed": True}, {"fixed": True, "contiguous": True}]
    assert len({fingerprint(0, 2, **how) for how in kinds}) == 3
    for how in kinds:
        assert fingerprint(0, 2, **how) == fingerprint(2, 3, **how)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: hr.range(8).shuffle(seed=1).shard(0, 2, fixed=True),
            "shard: expected the same order in every epoch before shard\\(fixed=True\\), got a shuffle or sample.*put the shuffle after",
        ),
        (
            lambda: hr.range(8).shuffle(seed=1).batch(2).shard(0, 2, fixed=True),
            "the same order in every epoch",
        ),
        (lambda: hr.range(8).shuffle(seed=1).shard(0, 1, fixed=True), "the same order in every epoch"),
        (lambda: hr.range(8).sample(np.ones(8)).shard(0, 2, fixed=True), "the same order in every epoch"),
        (
            lambda: hr.range(8).filter(lambda x: x > 2).map(lambda x: x).shard(0, 2, fixed=True),
            "expected random access and a known length before shard\\(fixed=True\\), got 'filter' before it; put",
        ),
        (lambda: hr.range(8).shuffle(window=2).shard(0, 2, fixed=True), "got 'shuffle' before it"),
        (lambda: hr.range(8).repeat().shard(0, 2, fixed=True), "got 'repeat' before it"),
        (lambda: hr.range(8).shard(0, 2, contiguous=True), "expected fixed=True beside contiguous=True"),
        (lambda: hr.range(8).shard(contiguous=True), "expected fixed=True beside contiguous=True"),
        (lambda: hr.range(8).shard(0, 2, fixed=True).shard(0, 2), "already sharded"),
        (lambda: hr.range(8).shard(0, 2, fixed=True).shard(0, 2, fixed=True), "already sharded"),
        (lambda: hr.range(8).shard(0, 2).shard(0, 2, fixed=True), "already sharded"),
        (lambda: hr.range(8).shard(0, 2, fixed=True).concatenate(hr.range(2)), "put it after concatenate"),
        (lambda: list(hr.range(8).shard(0, 2, fixed=True, steps=3).numpy()), "length is known"),
        (
            lambda: hr.range(8).shard(0, 2, fixed=True).shuffle(blocks=2),
            "expected samples in the order of the data before blocks=.*contiguous=True",
        ),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_flags_are_bools() -> None:
    with pytest.raises(TypeError, match="fixed"):
        hr.range(8).shard(0, 2, fixed="yes")  # type: ignore[arg-type]


def test_blocks_of_a_contiguous_part(tmp_path: Path) -> None:
    hr.range(60).map(lambda x: {"x": x}).write(tmp_path / "data", format="parquet")
    data = hr.read(tmp_path / "data")
    seen = []
    for rank in range(3):
        mine = data.shard(rank, 3, fixed=True, contiguous=True).shuffle(seed=1, blocks=2)
        seen += [[int(s["x"]) for s in mine.at_epoch(epoch)] for epoch in range(2)]
    assert [sorted(s) for s in seen] == [list(range(r * 20, r * 20 + 20)) for r in (0, 0, 1, 1, 2, 2)]


def test_plans_and_pickles_keep_it(tmp_path: Path) -> None:
    ds = hr.range(11).shard(1, 3, even="pad", fixed=True, contiguous=True).shuffle(seed=5).batch(2)
    ds.save_plan(tmp_path / "plan.json")
    plan = hr.load_plan(tmp_path / "plan.json")
    assert values(plan) == values(ds) == values(pickle.loads(pickle.dumps(ds)))
    assert plan.fingerprint() == ds.fingerprint()
    text = (tmp_path / "plan.json").read_text()
    assert '"fixed": true' in text.replace('":true', '": true') and "contiguous" in text
    hr.range(11).shard(1, 3).save_plan(tmp_path / "moving.json")
    assert '"fixed"' not in (tmp_path / "moving.json").read_text()
    assert "fixed=True, contiguous=True" in ds.explain()


def test_ranks_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    ds = hr.range(10).shard(fixed=True).cache().shuffle(seed=4)
    ds.save_plan(tmp_path / "plan.json")
    stored = pickle.dumps(ds)
    for rank, world in ((0, 2), (1, 2), (2, 3), (0, 1)):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(world))
        want = permuted([i for i, _ in part(10, rank, world, "wrap", False)], 4, 0, rank)
        for made in (ds, hr.load_plan(tmp_path / "plan.json"), pickle.loads(stored)):
            assert values(made.numpy()) == want
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "3")
    assert values(hr.range(8).shard(fixed=True, contiguous=True, replicate=2)) == [4, 5, 6, 7]


MOVES = "shard gives this rank other samples each epoch, and the cache keeps all of them"


def told(ds: hr.Dataset) -> bool:
    return MOVES in " ".join(ds.explain().split())


def test_explain_warns_of_a_cache_and_a_shard_that_moves() -> None:
    def moving() -> hr.Dataset:
        return hr.range(20).shard(0, 2)

    assert told(moving().cache().shuffle(seed=1).batch(2))
    assert told(hr.range(20).shuffle(seed=1).shard(0, 2).map(lambda x: x + 1).cache())
    assert told(hr.range(20).cache().shuffle(seed=1).batch(2).shard(0, 2))
    assert told(moving().cache().sample(np.ones(20)))
    for keeps in (
        hr.range(20).shard(0, 2, fixed=True).cache().shuffle(seed=1),
        hr.range(20).shard(0, 1).cache().shuffle(seed=1),
        hr.range(20).cache().shuffle(seed=1),
        moving().shuffle(seed=1),
        moving().cache().batch(2),
        moving().cache().shuffle(seed=1, reshuffle_each_epoch=False),
        moving().cache().batch(2).shuffle(seed=1),
        moving().shuffle(seed=1).batch(2).cache(),
        moving().cache().shuffle(window=4),
    ):
        assert not told(keeps), keeps.explain()


def test_explain_warns_before_there_are_several_ranks() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RANK", "WORLD_SIZE"):
            patch.delenv(name, raising=False)
        assert told(hr.range(20).shard().cache().shuffle(seed=1))
        assert not told(hr.range(20).shard(fixed=True).cache().shuffle(seed=1))


def test_the_estimate_and_the_error_name_the_cause() -> None:
    def kept(**how: Any) -> hr.Dataset:
        wide = hr.range(64).map(lambda x: np.full(1000, x, np.float64), python=True)
        return wide.shard(0, 2, **how).cache(max_memory=400_000).shuffle(seed=1).batch(4)

    lines = [line for line in kept().numpy().explain().splitlines() if "cache, outside the budget" in line]
    assert "64 of" in lines[0] and MOVES in lines[0]
    loader = kept().numpy()
    list(loader)
    with pytest.raises(MemoryError, match=rf"the limit is 400000; {MOVES}; shard\(fixed=True\)"):
        for _ in range(3):
            list(loader)
    held = kept(fixed=True).numpy()
    for _ in range(3):
        assert len(list(held)) == 8
    fixed = [line for line in held.explain().splitlines() if "cache, outside the budget" in line]
    assert "32 of" in fixed[0] and MOVES not in fixed[0]


def test_an_automatic_cache_counts_the_part() -> None:
    ds = hr.range(64).map(lambda x: x + 1).shard(1, 2, fixed=True).shuffle(seed=1)
    loader = ds.options(cache="auto").numpy()
    for epoch in range(2):
        assert values(loader) == permuted(list(range(2, 65, 2)), 1, epoch, 1)


def test_replacements_come_from_the_part() -> None:
    def odd_fails(x: Any) -> Any:
        if int(x) % 4 == 1:
            raise ValueError("bad")
        return x

    ds = hr.range(12).shard(1, 2, fixed=True).map(odd_fails, python=True).on_error("replace")
    assert values(ds.numpy()) == [3, 3, 7, 7, 11, 11]
