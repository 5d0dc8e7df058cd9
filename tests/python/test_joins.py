"""zip, mix, choose, window, enumerate, sample, sort_by, and the sources beside them. Orders are those of tests/model."""

import itertools
import json
import pickle
from collections import Counter

import numpy as np
import pytest

import headrace as hr
from headrace import ops


def ints(ds):
    return [int(x) for x in ds]


def stream(ds):
    """The same elements without random access."""
    return ds.filter(lambda x: x >= 0)


# ---- zip


def test_zip_nests_and_ends_with_the_shortest():
    a, b = hr.range(5), hr.range(100, 110)
    assert [(int(x), int(y)) for x, y in hr.zip(a, b)] == [(i, 100 + i) for i in range(5)]
    assert len(a.zip(b)) == 5 and int(a.zip(b)[4][1]) == 104
    nested = hr.zip({"x": a, "y": (b, a)})
    assert nested.schema["y"][0].dtype == "int64"
    assert {k: np.shape(v) for k, v in nested.batch(2)[0].items()} == {"x": (2,), "y": (2, 2)}
    named = hr.from_arrays({"u": np.arange(3.0), "v": np.arange(3)})
    assert set(hr.zip({"x": a, "n": named})[2]["n"]) == {"u", "v"}
    assert nested.map(lambda s: s.x + s.y[0])[3] == 106


def test_zip_is_each_datasets_own_order():
    a, b = hr.range(50).shuffle(seed=1), hr.range(50).shuffle(seed=2).repeat(2).skip(7)
    loader = hr.zip(a, b).numpy()
    for epoch in range(3):
        pairs = [(int(x), int(y)) for x, y in loader]
        assert pairs == list(zip(ints(a.at_epoch(epoch)), ints(b.at_epoch(epoch)), strict=False))


def test_zip_of_streams_is_a_stream():
    zipped = hr.zip(stream(hr.range(7)).shuffle(seed=1, window=3), hr.range(5))
    assert [int(y) for _, y in zipped] == list(range(5))
    with pytest.raises(TypeError, match="no exact length"):
        len(zipped)


def test_zip_of_files_reads_all_of_them(tmp_path):
    for name in ("a", "b"):
        data = hr.range(200).map(lambda x: {"x": x})
        data.write(tmp_path / f"{name}.tfrecord")
    a, b = (hr.read(tmp_path / f"{name}.tfrecord") for name in ("a", "b"))
    pairs = hr.zip(a.shuffle(seed=1), b.shuffle(seed=1))
    assert all(bytes(x["record"]) == bytes(y["record"]) if "record" in x else x == y for x, y in pairs)
    assert len(pairs) == 200
    assert len(list(pairs.batch(7))) == len(pairs.batch(7)) == 29


def test_samples_of_a_zip_are_those_of_its_first_dataset():
    zipped = hr.zip({"x": hr.range(10).skip(3), "y": hr.range(7)})
    assert [int(s["id"]) & 0xFFFF for s in zipped.with_ids()] == [3, 4, 5, 6, 7, 8, 9]
    assert [int(s[2]) & 0xFFFF for s in hr.range(10).skip(3).enumerate().with_ids()] == list(range(3, 10))


def test_what_zip_refuses():
    with pytest.raises(ValueError, match="shard is inside one branch; put it after zip"):
        hr.zip(hr.range(4).shard(0, 2), hr.range(4))
    with pytest.raises(TypeError, match="expected datasets, got 3 at '1'"):
        hr.zip(hr.range(3), 3)
    with pytest.raises(ValueError, match="at least one"):
        hr.zip()


def test_errors_in_a_branch_are_answered_there_or_after_zip():
    def fail(x):
        if int(x) in (2, 3):
            raise ValueError("a bad one")
        return x

    bad = hr.range(6).map(fail, python=True)
    assert [int(x) for x, _ in hr.zip(bad.on_error("replace"), hr.range(6))] == [0, 1, 4, 4, 4, 5]
    assert [(int(x), int(y)) for x, y in hr.zip(bad, hr.range(6)).on_error("replace")][2] == (4, 4)
    assert [int(x) for x, _ in hr.zip(bad, hr.range(6)).on_error("skip")] == [0, 1, 4, 5]
    with pytest.raises(hr.HeadraceError, match=r"a bad one.*element 2 of zip"):
        list(hr.zip(bad, hr.range(6)))


# ---- mix and choose


def test_a_mix_keeps_to_its_weights_everywhere():
    parts = [hr.range(k * 10_000, k * 10_000 + 3000) for k in range(3)]
    mixed = hr.mix(parts, weights=[6, 3, 1], seed=4)
    given = Counter()
    for p, value in enumerate(ints(mixed), 1):
        source, index = divmod(value, 10_000)
        assert index == given[source]
        given[source] += 1
        assert all(abs(given[k] - p * w) < 1 for k, w in enumerate((0.6, 0.3, 0.1)))
    assert given[0] == 3000 and len(mixed) == p


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("stop", ["first_exhausted", "all_exhausted", "cycle"])
def test_a_mix_of_streams_is_that_of_indexed_data(stop, seed):
    parts = [hr.range(37), hr.range(10_000, 10_012), hr.range(20_000, 20_050)]
    given = {"weights": [(0, [3, 1, 2]), (20, [1, 1, 5])], "stop": stop, "seed": seed}
    mixed = hr.mix(parts, **given)
    assert ints(mixed) == ints(hr.mix([stream(p) for p in parts], **given)) == [int(x) for x in mixed[:]]
    if stop == "all_exhausted":
        assert sorted(ints(mixed)) == sorted(x for p in parts for x in ints(p))
    if stop == "cycle":
        assert set(ints(mixed)) == {x for p in parts for x in ints(p)}


def test_every_rank_sees_every_source():
    parts = [hr.range(5000), hr.range(10_000, 15_000)]
    for rank in range(4):
        mine = [x // 10_000 for x in ints(hr.mix(parts).shard(rank, 4))]
        assert 0.45 < np.mean(mine) < 0.55


def test_a_cycle_is_epochs():
    few, many = hr.range(4).shuffle(seed=1), hr.range(10_000, 10_030)
    once = [x for x in ints(hr.mix([few, many], stop="cycle")) if x < 10_000]
    assert once == ints(few.repeat().take(len(once))) and len(once) > 20


def test_weights_that_change_on_the_way():
    parts = [hr.range(100), hr.range(10_000, 10_100)]
    mixed = ints(hr.mix(parts, weights=[(0, [1, 0]), (10, [0, 1]), (15, [1, 1])]))
    assert mixed[:15] == [*range(10), *range(10_000, 10_005)]
    assert abs(sum(x < 10_000 for x in mixed[15:35]) - 10) < 1


def test_choose_takes_the_next_of_whom_it_names():
    parts = [hr.range(3), hr.range(10_000, 10_005)]
    choice = [0, 1, 1, 0, 0, 0, 1]
    assert ints(hr.choose(parts, choice)) == [0, 10_000, 10_001, 1, 2]
    assert ints(hr.choose(parts, choice, stop="all_exhausted")) == [0, 10_000, 10_001, 1, 2, 10_002]
    assert ints(hr.choose(parts, choice, stop="cycle")) == [0, 10_000, 10_001, 1, 2, 0, 10_002]
    assert ints(hr.choose(parts, hr.range(2).repeat(2))) == [0, 10_000, 1, 10_001]
    chosen = hr.choose(parts, np.array(choice))
    assert len(chosen) == 5 and int(chosen[3]) == 1
    assert ints(hr.choose([stream(p) for p in parts], choice)) == ints(chosen)


def test_what_mix_and_choose_refuse():
    a, b = hr.range(3), hr.range(5)
    for call, error, message in [
        (lambda: hr.mix([a, b], weights=[1]), ValueError, "a weight for each of the 2 datasets, got 1"),
        (lambda: hr.mix([a, b], weights=[1, -1]), ValueError, "at least 0"),
        (lambda: hr.mix([a, b], weights=[0, 0]), ValueError, "above 0"),
        (lambda: hr.mix([a, b], weights="ab"), TypeError, "list of numbers"),
        (lambda: hr.mix([a, b], weights=[(5, [1, 1])]), ValueError, "begin at position 0"),
        (lambda: hr.mix([a, b], stop="never"), ValueError, '"first_exhausted", "all_exhausted" or "cycle"'),
        (lambda: hr.mix([a, a.take(0)], stop="cycle"), ValueError, "dataset 1 is empty"),
        (lambda: hr.mix([a, b.shard(0, 2)]), ValueError, "put it after mix"),
        (lambda: hr.mix([a, b.batch(2)]), ValueError, "field 'value' is int64"),
        (lambda: hr.mix(a), TypeError, "expected a list of datasets"),
        (lambda: hr.mix([]), ValueError, "at least one"),
        (lambda: hr.choose([a, b], [0, 2]), ValueError, "from 0 to 1, got 2 at position 1"),
        (lambda: hr.choose([a, b], [0.5]), TypeError, "expected integers"),
        (lambda: hr.choose([a, b], hr.range(2).repeat()), TypeError, "infinite"),
        (lambda: hr.choose([a, b.take(0)], [0, 1], stop="cycle"), ValueError, "dataset 1 is empty"),
    ]:
        with pytest.raises(error, match=message):
            call()


# ---- window, rebatch, enumerate


@pytest.mark.parametrize("n", [0, 1, 5, 7])
@pytest.mark.parametrize("drop_last", [False, True])
def test_windows(n, drop_last):
    for size, shift, stride in itertools.product((1, 2, 3), (1, 2, 4), (1, 2)):
        want = []
        for first in range(0, n, shift):
            rows = list(range(first, min(n, first + (size - 1) * stride + 1), stride))
            if not drop_last or len(rows) == size:
                want.append(rows)
        given = {"shift": shift, "stride": stride, "drop_last": drop_last}
        windows = hr.range(n).window(size, **given)
        assert [w.tolist() for w in windows] == want
        assert len(windows) == len(want) and [w.tolist() for w in windows[:]] == want
        assert [w.tolist() for w in stream(hr.range(n)).window(size, **given)] == want


def test_a_window_shifts_by_its_size_and_may_be_ragged():
    words = hr.from_arrays({"word": ["a", "bb", "ccc"]})
    assert [w["word"] for w in words.window(2)] == [["a", "bb"], ["ccc"]]
    rows = hr.range(1, 4).map(lambda x: np.ones(int(x)), python=True)
    with pytest.raises(ValueError, match="expected rows of one shape"):
        list(rows.window(2))
    assert [len(row) for row in rows.window(2, shift=1, ragged=True)[1]] == [2, 3]


def test_rebatch_cuts_batches_anew():
    assert [b.tolist() for b in hr.range(7).batch(3).rebatch(2)] == [[0, 1], [2, 3], [4, 5], [6]]
    assert [b.tolist() for b in hr.range(7).batch(2).rebatch(3, drop_last=True)] == [[0, 1, 2], [3, 4, 5]]


def test_enumerate_counts_positions_and_not_samples():
    shuffled = hr.range(5).shuffle(seed=1)
    assert [(int(i), int(x)) for i, x in shuffled.enumerate(7)] == list(enumerate(ints(shuffled), 7))
    assert [int(i) for i, _ in hr.range(10).enumerate().shard(1, 4)] == [1, 5, 9]
    assert [int(i) for i, _ in stream(hr.range(3)).enumerate(-1)] == [-1, 0, 1]
    with pytest.raises(
        ValueError, match=r"enumerate: positions are counted over all ranks, .*; put shard after it"
    ):
        hr.range(5).shard(0, 2).enumerate()


# ---- sample, sort_by


def test_samples_come_in_proportion_to_their_weights():
    drawn = hr.range(4).sample([1, 0, 2, 5], num=8000, seed=3)
    count = Counter(ints(drawn))
    assert len(drawn) == 8000 and count[1] == 0
    assert all(abs(count[k] / 8000 - w / 8) < 0.02 for k, w in ((0, 1), (2, 2), (3, 5)))
    loader = hr.range(100).sample(np.ones(100), seed=3).numpy()
    assert ints(loader) != ints(loader)


def test_without_replacement_no_element_comes_twice():
    weights = np.r_[0.0, 100.0, np.ones(98)]
    drawn = hr.range(100).sample(weights, replacement=False, seed=1)
    assert len(drawn) == 99 and sorted(ints(drawn)) == list(range(1, 100))
    assert np.mean([ints(drawn.at_epoch(e)).index(1) for e in range(50)]) < 4
    few = hr.range(100).sample(weights, num=10, replacement=False, seed=1)
    assert ints(few) == ints(drawn)[:10]


def test_weights_and_keys_may_be_fields():
    data = hr.from_arrays({"x": np.arange(6), "w": np.array([0, 0, 1, 0, 1, 0.0]), "name": list("fedcba")})
    assert {int(s["x"]) for s in data.sample("w", num=50)} == {2, 4}
    assert [s["name"] for s in data.sort_by("name")] == list("abcdef")
    assert [int(s["x"]) for s in data.sort_by("w", descending=True)] == [2, 4, 0, 1, 3, 5]
    assert [int(s["x"]) for s in data.sort_by([2**63 - 1, 2**63 - 2, 0, 0, 1, 5])] == [2, 3, 4, 5, 1, 0]


def test_what_sample_and_sort_by_refuse():
    ds = hr.range(4)
    for call, error, message in [
        (lambda: ds.sample([1, 2]), ValueError, "weights for 4 elements, got 2"),
        (lambda: ds.sample([1, 2, 3, -1]), ValueError, "at least 0"),
        (lambda: ds.sample([0, 0, 0, 0]), ValueError, "above 0"),
        (
            lambda: ds.sample([1, 0, 0, 0], num=2, replacement=False),
            ValueError,
            "num must be at most 1 without replacement",
        ),
        (lambda: ds.shuffle(seed=1).sample([1, 1, 1, 1]), ValueError, "by position"),
        (lambda: stream(ds).sort_by([1, 1, 1, 1]), ValueError, "random access"),
        (lambda: ds.sort_by([1, 2, 3, float("nan")]), ValueError, "nan at 3"),
        (lambda: ds.sort_by([[1, 2], [3, 4]]), ValueError, "one dimension"),
        (lambda: ds.shard(0, 2).sort_by("value"), ValueError, "put shard after it"),
        (lambda: ds.sample(list("abcd")), TypeError, "numbers"),
    ]:
        with pytest.raises(error, match=message):
            call()


# ---- all of them


def plain(element):
    return [plain(e) for e in element] if isinstance(element, tuple) else np.asarray(element).tolist()


def pipelines():
    parts = [hr.range(30).shuffle(seed=1), hr.range(10_000, 10_020)]
    mixed = hr.mix(parts, weights=[2, 1], seed=3)
    return [
        hr.zip(*parts).batch(3),
        mixed.batch(4),
        hr.mix(parts, weights=[2, 1], stop="cycle").shuffle(seed=2),
        hr.choose(parts, np.arange(25) % 2),
        mixed.window(3, shift=2).shuffle(seed=3),
        mixed.enumerate().shard(0, 1).batch(4),
        hr.range(20).sample(np.arange(20.0), num=50, seed=1).batch(7),
        hr.range(20).sample(np.arange(20.0), replacement=False).batch(7),
        hr.range(20).sort_by(np.arange(20) % 3).repeat(2),
    ]


@pytest.mark.parametrize("number", range(9))
def test_plans_fingerprints_and_states(number, tmp_path):
    ds = pipelines()[number]
    ds.save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json", bind=ds.slots)
    assert again.fingerprint() == ds.fingerprint()
    assert [plain(x) for x in again] == [plain(x) for x in ds]
    other = pipelines()[(number + 1) % 9]
    assert other.fingerprint() != ds.fingerprint()
    iteration = iter(ds.numpy())
    head = [plain(next(iteration)) for _ in range(2)]
    state = json.loads(json.dumps(iteration.state_dict()))
    assert len(json.dumps(state)) < 200
    loader = again.numpy()
    loader.load_state_dict(state)
    assert head + [plain(x) for x in loader] == [plain(x) for x in ds]


def test_other_numbers_are_another_pipeline():
    ds = hr.range(4)
    assert ds.sort_by([1, 2, 3, 4]).fingerprint() != ds.sort_by([1, 2, 4, 3]).fingerprint()
    assert hr.mix([ds, ds], seed=1).fingerprint() != hr.mix([ds, ds], seed=2).fingerprint()


# ---- sources


def test_a_counter_has_no_end():
    counter = hr.counter(5, 2)
    assert ints(counter.take(3)) == [5, 7, 9] and int(counter[10**12]) == 5 + 2 * 10**12
    with pytest.raises(TypeError, match="no exact length"):
        len(counter)


def test_random_numbers_are_the_same_for_the_same_seed():
    numbers = hr.random(7, (2,), size=1000)
    assert len(numbers) == 1000
    values = np.array(list(numbers))
    assert values.min() >= 0 and values.max() < 2**32 and len(np.unique(values)) > 1990
    assert abs(values.mean() / 2**32 - 0.5) < 0.03
    assert np.array_equal(list(hr.random(7, (2,)).take(1000)), values)
    assert not np.array_equal(list(hr.random(8, (2,)).take(1000)), values)


def test_lists_of_elements():
    items = [{"a": 1, "b": ("x", [1.5, 2.5])}, {"a": 2, "b": ("y", [3.5, 4.5])}]
    ds = hr.from_list(items)
    assert ds[1]["a"] == 2 and ds[1]["b"][0] == "y" and ds[1]["b"][1].tolist() == [3.5, 4.5]
    assert [len(x) for x in hr.from_list([np.ones(1), np.ones(3)])] == [1, 3]
    assert ints(hr.from_list([3, 1, 2])) == [3, 1, 2]
    with pytest.raises(ValueError, match="element 1 has the field b, but element 0 has the field a"):
        hr.from_list([{"a": 1}, {"b": 1}])
    with pytest.raises(ValueError, match="at least one"):
        hr.from_list([])
    with pytest.raises(TypeError, match="expected a list"):
        hr.from_list(iter([1]))


UNEVEN = {
    "sequences": [np.arange(n, dtype=np.int32) for n in (3, 0, 5, 1, 2, 2)],
    "images": [np.full((h, w, 3), h * w, np.uint8) for h, w in ((2, 3), (4, 1), (2, 3), (0, 5), (1, 1))],
    "dicts": [{"tokens": np.ones(n, np.float16), "id": n, "word": "a" * n} for n in (2, 1, 3, 4)],
    "tuples": [(np.zeros((n, 2)), [1.5, 2.5], np.arange(n)) for n in (1, 3, 2)],
    "lists": [[1, 2, 3], [4], [5, 6]],
    "not in C order": [np.arange(6).reshape(2, 3).T, np.arange(8).reshape(2, 4)[:, ::2]],
}


@pytest.mark.parametrize("name", UNEVEN)
def test_lists_of_arrays_that_differ_in_shape_are_columns(name, tmp_path):
    items = UNEVEN[name]
    ds, read = hr.from_list(items), hr.from_dataset(items)
    assert '"arrays"' in ds.plan() and '"sequence"' in read.plan()
    assert [repr(e) for e in ds] == [repr(e) for e in read]
    assert repr(ds[-1]) == repr(read[-1])
    order = [
        lambda d: d.shuffle(seed=3),
        lambda d: d.shard(1, 2),
        lambda d: d.batch(2, ragged=True).unbatch(),
    ]
    for verb in order:
        assert [repr(e) for e in verb(ds)] == [repr(e) for e in verb(read)]
    ds.save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json", bind=ds.slots)
    assert again.fingerprint() == ds.fingerprint()
    assert [repr(e) for e in again] == [repr(e) for e in ds]
    assert [repr(e) for e in pickle.loads(pickle.dumps(ds))] == [repr(e) for e in ds]


def test_uneven_columns_are_padded_and_put_together_by_length():
    sequences = [np.arange(1, n + 1) for n in (3, 1, 4, 2)]
    ds, read = hr.from_list(sequences), hr.from_dataset(sequences)
    assert [b.tolist() for b in ds.padded_batch(2)] == [[[1, 2, 3], [1, 0, 0]], [[1, 2, 3, 4], [1, 2, 0, 0]]]
    for d in (ds, read):
        buckets = d.bucket_by_length(ops.length, boundaries=[3], batch_sizes=2)
        assert [b.tolist() for b in buckets] == [[[1, 2, 3, 0], [1, 2, 3, 4]], [[1, 0], [1, 2]]]


def test_a_list_is_taken_as_it_is_now():
    arrays = [np.zeros(2), np.zeros(3)]
    ds = hr.from_list(arrays)
    arrays[0][:] = 1
    assert [x.tolist() for x in ds] == [[0, 0], [0, 0, 0]]


def test_ragged_columns_are_bound_to_plans(tmp_path):
    rows = [np.arange(3), np.arange(1), np.arange(0)]
    column = hr.ragged(rows)
    assert [row.tolist() for row in column] == [[0, 1, 2], [0], []]
    assert len(column) == 3 and column[-2].tolist() == [0] and [r.tolist() for r in column[:1]] == [[0, 1, 2]]
    ds = hr.from_arrays({"tokens": column, "label": np.arange(3)}).map(lambda s: s["tokens"] + s["label"])
    assert [x.tolist() for x in ds] == [[0, 1, 2], [1], []]
    ds.save_plan(tmp_path / "plan.json")
    other = {"tokens": hr.ragged([[7], [8, 9], [10]]), "label": np.zeros(3, np.int64)}
    loaded = hr.load_plan(tmp_path / "plan.json", bind={"arrays": other})
    assert [x.tolist() for x in loaded] == [[7], [8, 9], [10]]
    one_length = hr.from_arrays({"tokens": hr.ragged([[1, 2], [3, 4]])})
    assert one_length.schema["tokens"].shape == (2,)
    for wrong, text in (
        ([], "at least one row"),
        (
            [np.array([1]), [1.5]],
            r"row 1.*: expected int64 as in the first one, got \[1.5\]; make all of them floats",
        ),
        ([[1], [[1]]], r"got int64 \(1, 1\) for row 1"),
        ([1, 2], "at least one dimension, got array"),
        ([[1], "ab"], "at least one dimension, got 'ab' for row 1"),
    ):
        with pytest.raises(ValueError, match=text):
            hr.ragged(wrong)
    with pytest.raises(TypeError, match="field 'row 0'"):
        hr.ragged([[None]])


def test_files_come_sorted(tmp_path):
    for name in ("b.txt", "a.txt", "c.jpg"):
        (tmp_path / name).write_bytes(b"")
    assert list(hr.list_files(tmp_path / "*.txt")) == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/d.txt").write_bytes(b"")
    (tmp_path / "deep/er/ring").symlink_to(tmp_path)  # no walk goes round in it
    found = [str(tmp_path / name) for name in ("a.txt", "b.txt", "deep/er/d.txt")]
    assert list(hr.list_files(tmp_path / "**/*.txt")) == found
    assert list(hr.list_files(tmp_path / "**")) == sorted([*found, str(tmp_path / "c.jpg")])
    with pytest.raises(FileNotFoundError):
        hr.list_files(tmp_path / "*.png")


def test_apply_gives_a_name_to_several_verbs():
    assert ints(hr.range(10).apply(lambda ds: ds.skip(2).take(2))) == [2, 3]
    with pytest.raises(TypeError, match="must return a Dataset, got 3"):
        hr.range(10).apply(lambda ds: 3)


def test_a_zip_keeps_nothing_of_what_a_skip_passed_over():
    skipped = hr.range(3).filter(lambda x: x >= 0).skip(3)
    for ready in (1, 2):
        assert list(skipped.zip(hr.range(5)).options(workers=1, ready=ready)) == []


def test_many_are_concatenated_as_one_after_the_other() -> None:
    parts = [hr.range(n) for n in (3, 0, 2)]
    joined = hr.concatenate(parts)
    assert [int(x) for x in joined] == [0, 1, 2, 0, 1]
    assert len(joined) == 5
    assert joined.fingerprint() == hr.concatenate(iter(parts)).fingerprint()
    assert [int(x) for x in joined.shuffle(seed=1)] == [
        int(x) for x in parts[0].concatenate(parts[1]).concatenate(parts[2]).shuffle(seed=1)
    ]
    with pytest.raises(ValueError, match="concatenate"):
        hr.concatenate([])
    with pytest.raises(TypeError, match="concatenate"):
        hr.concatenate([1])  # type: ignore[list-item]


@pytest.mark.parametrize("workers", [1, 3])
def test_unordered_runs_of_interleaved_streams_resume_without_loss(workers):
    children = [hr.range(n * 10, n * 10 + n + 3).filter(lambda x: x >= 0) for n in range(6)]
    data = hr.interleave(children, cycle_length=3, block_length=2).map(int, python=True)
    data = data.options(deterministic=False, workers=workers)
    wanted = sorted(int(x) for child in children for x in child)
    for stop in range(0, len(wanted), 3):
        elements = iter(data.numpy())
        before = [int(next(elements)) for _ in range(stop)]
        loader = data.numpy()
        loader.load_state_dict(elements.state_dict())
        assert sorted(before + [int(x) for x in loader]) == wanted
