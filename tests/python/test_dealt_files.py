"""Files that are shuffled or dealt before an interleave: each epoch's order, whole files, equal steps, states."""

import pickle

import numpy as np
import pytest

import headrace as hr

SIZES = [4, 2, 3, 5, 1, 2, 6]
FILES = list(range(len(SIZES)))


def reader(number):
    return hr.from_arrays(np.arange(SIZES[int(number)]) + 100 * int(number))


def epochs(dataset, count=3):
    loader = dataset.numpy()
    return [[int(x) for x in loader] for _ in range(count)]


def files_of(samples):
    return list(dict.fromkeys(x // 100 for x in samples))


def ranks(world, files=None, **how):
    files = hr.range(len(SIZES)).shuffle(seed=3) if files is None else files
    return [files.shard(rank, world, **how).interleave(reader, cycle_length=2) for rank in range(world)]


def test_every_epoch_has_an_order_of_files_of_its_own():
    names = hr.range(len(SIZES)).shuffle(seed=3)
    dataset = names.interleave(reader, cycle_length=1)
    got = epochs(dataset)
    assert [files_of(e) for e in got] == [[int(x) for x in names.at_epoch(e)] for e in range(3)]
    assert got[0] != got[1] != got[2]
    assert len(dataset) == sum(SIZES)
    assert [int(x) for x in dataset.at_epoch(2)] == got[2]


@pytest.mark.parametrize("world", [2, 3, 5])
@pytest.mark.parametrize("even", ["wrap", "drop", "pad"])
@pytest.mark.parametrize("moving", [True, False])
def test_no_file_is_on_two_ranks_and_steps_are_equal(world, even, moving):
    files = hr.range(len(SIZES))
    got = [epochs(ds) for ds in ranks(world, files.shuffle(seed=3) if moving else files, even=even)]
    dealt = set()
    for epoch in range(3):
        each = [rank[epoch] for rank in got]
        assert len(set(map(len, each))) == 1
        own = [set(map(int, files_of(samples))) for samples in each]
        assert sum(map(len, own)) == len(set().union(*own))
        assert even == "drop" or sorted(set().union(*own)) == FILES
        dealt.add(str(own))
    assert len(dealt) == (3 if moving else 1)


def test_padding_marks_what_a_rank_has_again():
    for dataset in ranks(3, even="pad"):
        for epoch in range(2):
            loader = dataset.with_validity().numpy()
            loader.set_epoch(epoch)
            samples = [(int(x), bool(valid)) for x, valid in loader]
            first = [x for x, valid in samples if valid]
            assert len(first) == len(set(first))
            assert all(x in first for x, _ in samples)


def test_lengths_are_those_of_an_epoch():
    dataset = ranks(2)[1].batch(2)
    loader = dataset.numpy()
    got = [len(list(loader)) for _ in range(3)]
    with pytest.raises(TypeError, match=r"other files in each epoch.*len\(ds.at_epoch\(0\)\)"):
        len(dataset)
    assert [len(dataset.at_epoch(e)) for e in range(3)] == got
    loader = dataset.numpy()
    for length in got:
        assert len(loader) == length
        assert len(list(loader)) == length
    twice = ranks(2)[1].repeat(2)
    assert [len(twice.at_epoch(e)) for e in range(2)] == [len(e) for e in epochs(twice, 2)]


def test_a_data_loader_has_no_length_that_changes():
    pytest.importorskip("torch")
    loader = ranks(2)[1].batch(2).torch()
    with pytest.raises(TypeError, match="other files in each epoch"):
        len(loader)
    assert len(list(loader)) == len(loader.pipeline.at_epoch(0))


def test_a_fixed_order_has_a_length_and_random_access():
    for dataset in ranks(3, hr.range(len(SIZES))):
        got = epochs(dataset, 2)
        assert got[0] == got[1] == [int(dataset[i]) for i in range(len(dataset))]
        shuffled = epochs(dataset.shuffle(seed=1), 2)
        assert sorted(shuffled[0]) == sorted(got[0]) and shuffled[0] != shuffled[1]


def test_a_state_is_of_its_rank_and_the_end_of_an_epoch_of_all():
    first, second = ranks(2)
    third = ranks(3)[0]
    for delivered in range(len(first.at_epoch(0))):
        iteration = iter(first.numpy())
        head = [int(next(iteration)) for _ in range(delivered)]
        state = iteration.state_dict()
        loader = first.numpy()
        loader.load_state_dict(state)
        assert head + [int(x) for x in loader] == epochs(first, 1)[0]
        if delivered:
            for other in second, third:
                with pytest.raises(ValueError, match=r"cannot be merged.*interleave"):
                    other.numpy().load_state_dict(state)
            with pytest.raises(ValueError, match="interleave"):
                hr.merge_states([state, state])
    loader = first.numpy()
    assert list(loader)
    other = third.numpy()
    other.load_state_dict(loader.state_dict())
    assert [int(x) for x in other] == epochs(third, 2)[1]


def test_saved_plans_and_pickles_ask_for_their_ranks(tmp_path, monkeypatch):
    dataset = (
        hr.range(len(SIZES)).shuffle(seed=3).shard().interleave(lambda i: hr.range(10 * i, 10 * i + SIZES[i]))
    )
    dataset.save_plan(tmp_path / "plan.json")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    want = epochs(
        hr.range(len(SIZES))
        .shuffle(seed=3)
        .shard(1, 2)
        .interleave(lambda i: hr.range(10 * i, 10 * i + SIZES[i]))
    )
    for same in (dataset, hr.load_plan(tmp_path / "plan.json"), pickle.loads(pickle.dumps(dataset))):
        assert epochs(same) == want


def test_weights_of_files_travel_with_a_plan(tmp_path):
    dataset = (
        hr.range(len(SIZES)).sample([1.0, 0, 2, 3, 0.5, 1, 1], seed=5).interleave(reader, cycle_length=2)
    )
    dataset.save_plan(tmp_path / "plan.json")
    assert epochs(hr.load_plan(tmp_path / "plan.json", bind=dataset.slots)) == epochs(dataset)
    assert epochs(pickle.loads(pickle.dumps(dataset))) == epochs(dataset)


def test_maps_and_lists_before_the_order_are_read_once():
    calls = []

    def opened(name):
        calls.append(int(name))
        return reader(name)

    names = hr.range(50).select([5, 2, 0]).shuffle(seed=1).map(lambda x: x + 1).shard(0, 2)
    samples = epochs(names.interleave(opened, cycle_length=1), 6)
    assert calls == [6, 3, 1]
    assert {number for e in samples for number in files_of(e)} == {1, 3, 6}


def test_two_lists_are_shuffled_one_after_the_other():
    first, second = hr.range(3).shuffle(seed=1), hr.range(3, 7).shuffle(seed=2)
    dataset = first.concatenate(second).interleave(reader, cycle_length=1)
    for epoch, samples in enumerate(epochs(dataset)):
        assert files_of(samples) == [int(x) for ds in (first, second) for x in ds.at_epoch(epoch)]


def test_streams_are_dealt_and_need_steps_to_be_even():
    def odd(number):
        return reader(number).filter(lambda x: x % 2 == 1)

    files = hr.range(len(SIZES)).shuffle(seed=3)
    whole = sorted(x for i in FILES for x in (100 * i + k for k in range(SIZES[i])) if x % 2)
    got = epochs(files.interleave(odd, cycle_length=2))
    assert [sorted(e) for e in got] == [whole] * 3
    assert got[0] != got[1]
    with pytest.raises(ValueError, match="steps="):
        files.shard(0, 2).interleave(odd).numpy()
    parts = [epochs(files.shard(rank, 2, steps=9).interleave(odd)) for rank in range(2)]
    for epoch in range(3):
        assert all(len(rank[epoch]) == 9 for rank in parts)
        own = [set(files_of(rank[epoch])) for rank in parts]
        assert not own[0] & own[1]


def test_generators_are_dealt_and_resume():
    def counted(number):
        return hr.from_generator(lambda: iter(range(100 * int(number), 100 * int(number) + 4)))

    dataset = hr.range(4).shard(1, 2, steps=7).interleave(counted, cycle_length=2).take(20)
    whole = [int(x) for x in dataset]
    assert whole == [100, 300, 101, 301, 102, 302, 103]
    iteration = iter(dataset.numpy())
    head = [int(next(iteration)) for _ in range(3)]
    loader = dataset.numpy()
    with pytest.warns(hr.ReplayWarning):
        loader.load_state_dict(iteration.state_dict())
        assert head + [int(x) for x in loader] == whole


def test_a_filter_behind_takes_each_sample_once():
    files = hr.range(len(SIZES)).shuffle(seed=3)
    for rank in range(2):
        dataset = files.shard(rank, 2).interleave(reader)
        with pytest.raises(ValueError, match="steps="):
            dataset.filter(lambda x: x % 2 == 0).numpy()


def test_what_cannot_be_dealt_is_refused_by_name():
    files = hr.range(len(SIZES))
    for shuffled in (files, files.shuffle(seed=1)):
        for even in ("wrap", "drop"):
            with pytest.raises(
                ValueError, match=r"files for each of 9 ranks.*none for rank 7.*shard after interleave"
            ):
                shuffled.shard(0, 9, even=even).interleave(reader)
    empty = files.shuffle(seed=1).shard(0, 7).interleave(lambda i: hr.range(int(i)).map(lambda x: x))
    with pytest.raises(ValueError, match=r"samples for each of 7 ranks"):
        list(empty)
    with pytest.raises(ValueError, match=r"'batch'.*before"):
        files.shuffle(seed=1).batch(2).interleave(reader)
    with pytest.raises(ValueError, match="'zip'"):
        files.shuffle(seed=1).enumerate().interleave(lambda pair: reader(pair[1]))
    with pytest.raises(ValueError, match="window"):
        files.shuffle(seed=1, window=3).interleave(reader)
    with pytest.raises(ValueError, match="window="):
        ranks(2)[0].shuffle(seed=1)
    with pytest.raises(ValueError, match="more than once"):
        files.shuffle(seed=1).repeat(2).interleave(lambda i: reader(i).filter(lambda x: x > 0))


def test_a_file_that_comes_twice_is_another_pass():
    files = hr.range(3).shuffle(seed=1).repeat(2)
    got = [int(x) for x in files.interleave(lambda i: reader(i).shuffle(seed=4), cycle_length=1)]
    half = len(got) // 2
    assert (
        sorted(got[:half])
        == sorted(got[half:])
        == sorted(x for i in range(3) for x in range(100 * i, 100 * i + SIZES[i]))
    )


def test_explain_says_what_is_dealt():
    text = ranks(2)[0].batch(4).explain()
    assert "deals whole files to 2 ranks, others each epoch" in text
    assert "put shard after interleave" in text
    cached = hr.range(7).shuffle(seed=1).shard(0, 2).interleave(lambda i: reader(i).cache())
    assert "shard gives this rank other samples each epoch" in cached.explain()
