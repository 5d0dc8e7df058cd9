"""Verbs whose elements depend on those before, or are made of several by what is in them; generators; interleave."""

import json

import numpy as np
import pytest

import headrace as hr


def ints(ds):
    return [int(x) for x in ds]


def sequences(*lengths):
    """Elements {"tokens": 1 … n, "id"} of these lengths."""
    return hr.from_dataset(
        [{"tokens": np.arange(1, n + 1, dtype=np.int32), "id": i} for i, n in enumerate(lengths)]
    )


def resumed_everywhere(ds, workers=3):
    """Whether a run that stops after any element and goes on in a new loader gives what it would have given."""
    whole = [repr(element) for element in ds.numpy()]
    for delivered in range(len(whole) + 1):
        iteration = iter(ds.numpy())
        head = [repr(next(iteration)) for _ in range(delivered)]
        state = json.loads(json.dumps(iteration.state_dict()))
        other = ds.options(workers=workers).numpy()
        other.load_state_dict(state)
        tail = [] if delivered == len(whole) else [repr(element) for element in other]
        if head + tail != whole:
            return False
    return True


def test_padded_batch_fills_rows_up_to_the_largest_or_to_a_shape():
    ds = sequences(3, 1, 2)
    batches = [batch["tokens"].tolist() for batch in ds.padded_batch(2)]
    assert batches == [[[1, 2, 3], [1, 0, 0]], [[1, 2]]]
    wide = ds.padded_batch(2, {"tokens": [4]}, fill={"tokens": -1}, drop_last=True)
    assert len(wide) == 1 and wide.schema["tokens"].shape == (2, 4)
    assert wide[0]["tokens"].tolist() == [[1, 2, 3, -1], [1, -1, -1, -1]]
    assert wide[0]["id"].tolist() == [0, 1]
    ones = hr.range(3).map(lambda x: np.ones((int(x), 2)), python=True)
    assert ones.padded_batch(3, [None, 3], fill=7)[0].shape == (3, 2, 3)
    assert (ones.padded_batch(3, [None, 3], fill=7)[0][:, :, 2] == 7).all()
    assert hr.range(4).padded_batch(2)[1].tolist() == [2, 3]


def test_padded_batch_names_what_does_not_fit():
    ds = sequences(3, 1)
    with pytest.raises(
        ValueError,
        match=r"'tokens': expected rows of at most \(2\), but row 0 \(sample 0 of sequence\) is \(3\)",
    ):
        list(ds.padded_batch(2, {"tokens": [2]}))
    with pytest.raises(ValueError, match="no field 'token'"):
        ds.padded_batch(2, {"token": [2]})
    with pytest.raises(ValueError, match=r"fill 0\.5 does not fit field 'tokens' of int32"):
        ds.padded_batch(2, fill=0.5)
    with pytest.raises(ValueError, match=r"'id' is int64 \(\), which does not fit into \(2\)"):
        ds.padded_batch(2, {"id": [2]})
    with pytest.raises(TypeError, match="fill must be a number"):
        ds.padded_batch(2, fill="0")


def test_padded_batch_keeps_text_as_lists_and_fills_every_dtype():
    ds = hr.from_dataset([{"name": "a", "x": np.zeros(1)}, {"name": "bc", "x": np.zeros(2)}])
    assert ds.padded_batch(2)[0]["name"] == ["a", "bc"]
    fills = {"uint8": 255, "int64": -3, "float16": 0.5, "float32": -1, "float64": 1e300, "bool": True}
    for dtype, fill in fills.items():
        padded = hr.from_dataset([np.zeros(n, dtype) for n in (0, 2)]).padded_batch(2, fill=fill)[0]
        assert padded.dtype == dtype and (padded[0] == fill).all() and (padded[1] == 0).all()


def test_take_while_ends_at_the_first_that_does_not_hold():
    assert ints(hr.range(10).take_while(lambda x: x < 4)) == [0, 1, 2, 3]
    assert ints(hr.range(4).shuffle(seed=1).repeat(2).take_while(lambda x: x < 9)) == ints(
        hr.range(4).shuffle(seed=1).repeat(2)
    )
    assert resumed_everywhere(hr.range(10).take_while(lambda x: x < 4).repeat(2))
    assert ints(hr.range(100_000).repeat().take_while(lambda x: x < 70_000))[-1] == 69_999


def test_unique_keeps_the_first_of_each_key():
    ds = hr.from_arrays({"a": [1, 2, 1, 1, 2], "b": ["x", "x", "x", "y", "x"]})
    assert [int(s["a"]) for s in ds.unique("a")] == [1, 2]
    assert [(int(s["a"]), s["b"]) for s in ds.unique(["a", "b"])] == [(1, "x"), (2, "x"), (1, "y")]
    assert len(list(ds.unique())) == 3 and len(list(ds.repeat(3).unique("b"))) == 2
    assert [int(s["a"]) for s in ds.unique(lambda s: s["a"] > 1)] == [1, 2]
    assert resumed_everywhere(ds.repeat(2).unique("a"))
    with pytest.raises(KeyError, match="no field 'c'"):
        ds.unique("c")


def test_scan_carries_a_state():
    sums = hr.range(5).scan(0, lambda state, x: (state + x, {"sum": state + x, "x": x}))
    assert [(int(s["sum"]), int(s["x"])) for s in sums] == [(0, 0), (1, 1), (3, 2), (6, 3), (10, 4)]
    assert len(sums) == 5 and len(sums.shuffle(seed=1, window=2)) == 5
    state = {"last": "", "n": np.zeros(2, np.int32)}
    words = hr.from_arrays(["a", "b", "c"]).scan(
        state, lambda s, w: ({"last": w, "n": s["n"] + 1}, s["last"] + w), python=True
    )
    assert list(words) == ["a", "ab", "bc"] == list(words.numpy())
    assert resumed_everywhere(words.repeat(2)) and resumed_everywhere(sums.repeat(2).batch(3))


def test_scan_says_what_a_state_must_be():
    with pytest.raises(
        ValueError, match=r"the state begins as int64 \(\), but the function returns float32 \(\)"
    ):
        hr.range(3).scan(0, lambda s, x: (hr.ops.cast(x, dtype="f32"), x))
    with pytest.raises(
        ValueError, match=r"reduce: the state begins as float64 \(\), but the function returns int64 \(\)"
    ):
        hr.range(3).reduce(0.0, lambda s, x: x)
    with pytest.raises(
        ValueError, match=r"reduce: the state 'b' begins as int64 \(\), but the function returns float64 \(\)"
    ):
        hr.range(3).reduce({"a": 0, "b": 0}, lambda s, x: {"a": s["a"], "b": s["b"] * 0.5})
    with pytest.raises(TypeError, match=r"return \(state, element\)"):
        hr.range(3).scan(0, lambda s, x: x)
    with pytest.raises(TypeError, match="the state that the function returns has"):
        hr.range(3).scan({"a": 0}, lambda s, x: (x, x))


def test_scan_gives_what_came_before_a_failure():
    def step(state, x):
        if x == 300:
            raise ValueError("three hundred")
        return state + x, state + x

    got = []
    with pytest.raises(Exception, match="three hundred"):
        for element in hr.range(1000).scan(0, step, python=True):
            got.append(int(element))
    assert len(got) == 300
    skipped = ints(hr.range(305).scan(0, step, python=True).on_error("skip"))
    assert len(skipped) == 304 and skipped[-1] == sum(range(305)) - 300


def test_reduce_answers_the_last_state():
    assert hr.range(10).reduce(0, lambda s, x: s + x) == 45
    assert hr.range(0).reduce(7, lambda s, x: s + x) == 7
    both = hr.range(4).reduce(
        {"n": 0, "sum": 0.0}, lambda s, x: {"n": s["n"] + 1, "sum": s["sum"] + x}, python=True
    )
    assert both == {"n": 4, "sum": 6.0}


def test_bucket_by_length_batches_like_lengths():
    ds = sequences(3, 1, 5, 2, 7, 1, 4)
    sized = ds.bucket_by_length("tokens", boundaries=[3, 5], batch_sizes=[2, 2, 2])
    assert [b["id"].tolist() for b in sized] == [[1, 3], [2, 4], [0, 6], [5]]
    assert [b["tokens"].shape for b in sized] == [(2, 2), (2, 7), (2, 4), (1, 1)]
    assert [b["id"].tolist() for b in ds.bucket_by_length("tokens", token_budget=8)] == [
        [0, 1],
        [2],
        [3],
        [4],
        [5, 6],
    ]
    whole = ds.bucket_by_length(
        "tokens", boundaries=[3, 5, 8], batch_sizes=2, pad_to_boundary=True, drop_last=True
    )
    assert [b["tokens"].shape for b in whole] == [(2, 2), (2, 7), (2, 4)]
    ragged = ds.bucket_by_length(
        lambda s: hr.ops.length(s["tokens"]), boundaries=[4], batch_sizes=3, ragged=True
    )
    assert [[len(t) for t in b["tokens"]] for b in ragged] == [[3, 1, 2], [5, 7, 4], [1]]
    with pytest.raises(ValueError, match="lengths must be below the last boundary, 5, got 5"):
        list(ds.bucket_by_length("tokens", boundaries=[5], batch_sizes=2, pad_to_boundary=True))
    with pytest.raises(ValueError, match="a batch size for each of the 3 buckets"):
        ds.bucket_by_length("tokens", boundaries=[3, 5], batch_sizes=[1, 2])
    with pytest.raises(ValueError, match="batch sizes or a token budget"):
        ds.bucket_by_length("tokens", boundaries=[3, 5])


def test_bucket_by_length_resumes_from_what_it_holds():
    ds = sequences(*np.random.default_rng(0).integers(0, 9, 40).tolist()).shuffle(seed=5)
    buckets = ds.bucket_by_length("tokens", boundaries=[3, 6], batch_sizes=[4, 3, 2])
    assert resumed_everywhere(buckets) and resumed_everywhere(ds.bucket_by_length("tokens", token_budget=20))
    iteration = iter(buckets.numpy())
    next(iteration)
    assert len(json.dumps(iteration.state_dict())) < 1024


def test_group_by_window_batches_equal_keys():
    ds = hr.range(9)
    groups = ds.group_by_window(lambda x: x % 2, 2, python=True)
    assert [b.tolist() for b in groups] == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    assert [b.tolist() for b in ds.group_by_window(lambda x: x % 2, 2, python=True, drop_last=True)] == [
        [0, 2], [1, 3], [4, 6], [5, 7],
    ]  # fmt: skip
    assert resumed_everywhere(groups.repeat(2))
    with pytest.raises(ValueError, match="must be one integer scalar"):
        ds.group_by_window(lambda x: hr.ops.cast(x, dtype="f32"), 2)


def packed_by_hand(lengths, length, bins, best, most):
    """Rows of sequence numbers: all open rows are handed out when a sequence fits into none."""
    rows, open_rows = [], []
    for i, n in enumerate(lengths):
        while True:
            fitting = [r for r in open_rows if sum(lengths[j] for j in r) + n <= length and len(r) < most]
            if fitting:
                used = [sum(lengths[j] for j in r) for r in fitting]
                fitting[used.index(max(used)) if best else 0].append(i)
            elif len(open_rows) < bins:
                open_rows.append([i])
            else:
                rows, open_rows = rows + open_rows, []
                continue
            break
    return rows + open_rows


@pytest.mark.parametrize("seed", range(20))
def test_pack_fills_rows_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    length, bins, most = int(rng.integers(5, 20)), int(rng.integers(1, 5)), int(rng.integers(1, 6))
    lengths = rng.integers(1, length + 1, rng.integers(0, 40)).tolist()
    data = sequences(*lengths) if lengths else sequences(1).take(0)
    for strategy in ("first_fit", "best_fit"):
        ds = data.pack({"tokens": length}, strategy=strategy, bins=bins, max_sequences=most, fill=-1)
        want = packed_by_hand(lengths, length, bins, strategy == "best_fit", most)
        got = list(ds.numpy())
        assert len(got) == len(want)
        for row, sequences_of_row in zip(got, want, strict=True):
            values = np.concatenate([np.arange(1, lengths[i] + 1) for i in sequences_of_row])
            segments = np.concatenate([np.full(lengths[i], k + 1) for k, i in enumerate(sequences_of_row)])
            used = len(values)
            assert row["tokens"].tolist() == values.tolist() + [-1] * (length - used)
            assert row["tokens_segment_ids"].tolist() == segments.tolist() + [0] * (length - used)
            assert row["tokens_positions"].tolist() == (values - 1).tolist() + [0] * (length - used)
    split = data.pack({"tokens": length}, strategy="concat_and_split")
    stream = [int(x) for r in split for x in r["tokens"][r["tokens_segment_ids"] > 0]]
    assert stream == [x for n in lengths for x in range(1, n + 1)]
    rows = list(split.numpy())
    assert all((r["tokens_segment_ids"] > 0).all() for r in rows[:-1]) and len(rows) == -(
        -sum(lengths) // length
    )
    if seed < 4:
        assert resumed_everywhere(ds) and resumed_everywhere(split)


def test_pack_takes_fields_of_their_own_lengths():
    data = hr.from_dataset([{"x": np.ones(n), "y": np.ones(3 - n), "z": 1} for n in (1, 2, 1, 2)])
    assert len(list(data.pack({"x": 3, "y": 2}))) == 4  # two would want 3 places in y
    rows = list(data.pack({"x": 4, "y": 3}, bins=1))
    assert [(r["x_segment_ids"].tolist(), r["y_segment_ids"].tolist()) for r in rows] == [
        ([1, 2, 2, 0], [1, 1, 2]), ([1, 2, 2, 0], [1, 1, 2]),
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"fields must be numeric and one-dimensional.*'z': int64 \(\)"):
        data.pack(3)
    with pytest.raises(ValueError, match="expected sequences of at most 1, got 2 in sample 1"):
        list(data.pack({"x": 1}))
    with pytest.raises(ValueError, match="expects fields of equal length, got 1 and 2 in sample 0"):
        list(data.pack({"x": 4, "y": 4}, strategy="concat_and_split"))


# ---- sources and joins


def test_interleave_takes_turns():
    parts = [hr.range(100 * i, 100 * i + n) for i, n in enumerate([3, 1, 4, 2, 5])]
    two = hr.interleave(parts, cycle_length=2)
    assert ints(two) == [0, 100, 1, 2, 200, 201, 300, 202, 301, 203, 400, 401, 402, 403, 404]  # tf.data's
    assert [int(two[i]) for i in range(len(two))] == ints(two)
    blocks = hr.interleave(parts, cycle_length=2, block_length=2)
    assert ints(blocks) == [0, 1, 100, 2, 200, 201, 300, 301, 202, 203, 400, 401, 402, 403, 404]
    streams = hr.interleave([p.filter(lambda x: x >= 0) for p in parts], cycle_length=2, block_length=2)
    assert ints(streams) == ints(blocks) and resumed_everywhere(streams)
    assert ints(hr.range(3).interleave(lambda i: hr.range(int(i) * 10, int(i) * 10 + 2))) == [
        0,
        10,
        20,
        1,
        11,
        21,
    ]
    assert ints(hr.interleave([hr.range(2).repeat(), hr.range(7, 8)]).take(5)) == [0, 7, 1, 0, 1]
    with pytest.raises(TypeError, match="no exact length"):
        hr.range(3).filter(lambda x: x > 1).interleave(lambda i: hr.range(2))
    with pytest.raises(ValueError, match="shard is inside one branch"):
        hr.interleave([hr.range(2), hr.range(2).shard(0, 2)])


class Counter:
    """An iterable whose iterators can say where they stand, or not."""

    def __init__(self, size, tells):
        self.size, self.tells, self.made = size, tells, 0

    def __iter__(self):
        return Telling(self) if self.tells else Counting(self)


class Counting:
    def __init__(self, counter):
        self.counter, self.at = counter, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == self.counter.size:
            raise StopIteration
        self.at, self.counter.made = self.at + 1, self.counter.made + 1
        return {"x": self.at - 1, "name": "abc"[self.at % 3]}


class Telling(Counting):
    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@pytest.mark.filterwarnings("ignore::headrace.ReplayWarning")
@pytest.mark.parametrize("tells", [False, True])
def test_generators_are_streams_that_resume(tells):
    ds = hr.from_generator(Counter(150, tells))
    assert [int(s["x"]) for s in ds] == list(range(150))
    assert ds.schema["name"].dtype == "str" and ds.schema["x"].shape == ()
    assert [len(list(epoch)) for epoch in [ds.numpy(), ds.batch(7).numpy()]] == [150, 22]
    assert resumed_everywhere(hr.from_generator(Counter(9, tells)).map(lambda s: s["x"]).repeat(2).batch(2))
    with pytest.raises(TypeError, match="no exact length"):
        len(ds)
    with pytest.raises(ValueError, match="no random access"):
        ds[0]


def test_a_generator_that_tells_where_it_stands_is_not_read_again():
    counter = Counter(1000, tells=True)
    iteration = iter(hr.from_generator(counter).numpy())
    for _ in range(900):
        next(iteration)
    state = iteration.state_dict()
    other = hr.from_generator(Counter(1000, tells=True))
    again = other.slots["generator"]
    again.made = 0
    loader = other.numpy()
    loader.load_state_dict(state)
    assert [int(s["x"]) for s in loader] == list(range(900, 1000))
    assert again.made <= 164  # a block of 64 at most before them


def test_a_generator_that_cannot_tell_is_read_again_with_a_warning():
    ds = hr.from_generator(Counter(20, tells=False))
    iteration = iter(ds.numpy())
    for _ in range(5):
        next(iteration)
    loader = ds.numpy()
    loader.load_state_dict(iteration.state_dict())
    with pytest.warns(hr.ReplayWarning, match="generates 5 samples again"):
        assert [int(s["x"]) for s in loader] == list(range(5, 20))


def test_generator_functions_begin_anew_every_epoch():
    def words(epoch):
        yield from (f"{epoch}-{i}" for i in range(2))

    loader = hr.from_generator(words).numpy()
    assert [list(loader) for _ in range(2)] == [["0-0", "0-1"], ["1-0", "1-1"]]
    spec = hr.FieldSpec("i64", ())
    assert ints(hr.from_generator(lambda: iter([]), signature=spec)) == []


@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_a_generator_may_write_into_its_arrays_again(size):
    def counts():
        array = np.zeros(size, np.int64)
        for i in range(200):
            array += 1
            yield {"same": array, "view": array[:1], "new": np.full(size, i)}

    elements = list(hr.from_generator(counts))
    assert [int(e["same"][0]) for e in elements] == list(range(1, 201))
    assert [int(e["same"][-1]) for e in elements] == list(range(1, 201))
    assert [int(e["view"][0]) for e in elements] == list(range(1, 201))
    assert [int(e["new"][-1]) for e in elements] == list(range(200))


@pytest.mark.parametrize(
    "sample",
    [
        {"a": 1, "b": {"c": b"bytes", "d": ("str", 2.5)}},
        [np.float32(3), np.arange(6).reshape(2, 3)[:, ::2], True],
        {"numbers": [1, 2, 3], "empty": np.zeros((0, 2), np.int16)},
        (np.str_("text"), np.int8(-1), np.arange(3, dtype=">i4")),
    ],
)
def test_generators_give_what_a_list_gives(sample):
    (element,) = hr.from_generator([sample])
    (expected,) = hr.from_dataset([sample])
    assert repr(element) == repr(expected)
    assert hr.from_generator([sample]).schema == hr.from_dataset([sample]).schema


def test_a_generators_samples_nest_as_the_first():
    reordered = hr.from_generator([{"a": 1, "b": 2}, {"b": 4, "a": 3}])
    assert [(int(s["a"]), int(s["b"])) for s in reordered] == [(1, 2), (3, 4)]
    with pytest.raises(
        hr.HeadraceError,
        match=r"a sample has a tuple or list of 3, but the first one has a tuple or list of 2: sample 1",
    ):
        list(hr.from_generator([(1, 2), (1, 2, 3)]))
    with pytest.raises(
        hr.HeadraceError, match=r"expected arrays of numbers or bool, bytes or str, got None in field 'b'"
    ):
        list(hr.from_generator([{"a": 1, "b": 2}, {"a": 1, "b": None}]))


def test_a_generator_is_checked():
    with pytest.raises(TypeError, match="pass the function that creates it"):
        hr.from_generator(i for i in range(3))
    with pytest.raises(TypeError, match="expected a function or an iterable"):
        hr.from_generator(3)
    with pytest.raises(ValueError, match="expected at least one sample"):
        hr.from_generator(list)
    assert [float(x) for x in hr.from_generator([1, 2.5])] == [1.0, 2.5]
    with pytest.raises(
        hr.HeadraceError,
        match=r"expected int64 as in the first one, got 2.5; make all of them floats.*: sample 20",
    ):
        list(hr.from_generator([*range(20), 2.5]))  # beyond the elements that decide

    def breaks():
        yield 1
        raise KeyError("lost")

    got = []
    with pytest.raises(hr.HeadraceError, match=r"KeyError: 'lost': sample 1 \(from_generator at test_reg"):
        for x in hr.from_generator(breaks):
            got.append(int(x))
    assert got == [1]


def test_plans_hold_these_verbs(tmp_path):
    tokens = sequences(3, 1, 4, 2, 2)
    table = {
        "padded": tokens.padded_batch(2, {"tokens": [5]}, fill={"tokens": 9}),
        "while": tokens.take_while(lambda s: s["id"] < 3),
        "unique": tokens.unique(lambda s: hr.ops.length(s["tokens"])),
        "scan": tokens.scan({"n": 0}, lambda s, e: ({"n": s["n"] + e["id"]}, (s["n"], e["tokens"]))),
        "bucket": tokens.bucket_by_length("tokens", boundaries=[3], batch_sizes=[2, 1], fill=4),
        "budget": tokens.bucket_by_length("tokens", token_budget=6, ragged=True),
        "group": tokens.group_by_window("id", 2, ragged=True),
        "pack": tokens.pack({"tokens": 6}, strategy="best_fit", bins=2, fill=3),
        "interleave": hr.interleave([hr.range(3), hr.range(5)], block_length=2),
    }
    for name, ds in table.items():
        path = tmp_path / f"{name}.json"
        ds.save_plan(path)
        loaded = hr.load_plan(path, bind=ds.slots)
        assert loaded.plan() == ds.plan() and loaded.fingerprint() == ds.fingerprint(), name
        assert [repr(e) for e in loaded] == [repr(e) for e in ds], name
        assert name == "interleave" or ds.explain()


def test_plans_bind_generators_and_steps_again(tmp_path):
    def numbers():
        yield from range(4)

    def step(state, x):
        return state + x, state * 10 + x

    ds = hr.from_generator(numbers).scan(0, step, python=True)
    ds.save_plan(tmp_path / "plan.json")
    loaded = hr.load_plan(tmp_path / "plan.json", bind={"generator": numbers, "scan_0": step})
    assert ints(loaded) == ints(ds) == [0, 1, 12, 33]
    with pytest.raises(ValueError, match="the generator in slot 'generator' is not bound"):
        hr.load_plan(tmp_path / "plan.json", bind={"scan_0": step})


def test_ranks_share_what_stands_after_these_verbs():
    tokens = sequences(*range(1, 12))
    packed = tokens.shard(0, 2, steps=3).pack({"tokens": 12}, bins=2)
    assert len(list(packed.numpy())) == 3
    with pytest.raises(ValueError, match="use shard"):
        list(tokens.shard(0, 2).pack({"tokens": 12}).numpy())
    sums = [ints(hr.range(6).shard(rank, 2).scan(0, lambda s, x: (s + x, s + x))) for rank in range(2)]
    assert sums == [[0, 2, 6], [1, 4, 9]]
    whole = ints(hr.range(6).scan(0, lambda s, x: (s + x, s + x)))
    after = [ints(hr.range(6).scan(0, lambda s, x: (s + x, s + x)).shard(rank, 2)) for rank in range(2)]
    assert after == [whole[0::2], whole[1::2]]


def _streams():
    base = hr.range(20).filter(lambda x: x >= 0)
    return {
        "filter": base,
        "take": base.take(9),
        "skip": base.skip(2),
        "repeat": base.repeat(2),
        "window shuffle": base.shuffle(window=4, seed=1),
        "concatenate": base.concatenate(hr.range(3)),
        "scan": hr.range(20).scan(0, lambda total, x: (total + x, total + x)),
        "unique": base.unique(),
        "take_while": base.take_while(lambda x: x < 15),
        "zip": hr.zip(base, base).map(lambda s: s[0] + s[1]),
        "interleave": hr.interleave([base, hr.range(4)]),
        "mix": hr.mix([base, hr.range(30)], weights=[1, 1]),
        "unbatch": hr.range(20).batch(4).unbatch(),
    }


@pytest.mark.parametrize("name", _streams())
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.filterwarnings("ignore:a second loader")
def test_a_state_fits_whatever_rewrites_are_on(name, first):
    ds = _streams()[name].map(lambda x: x + 1).batch(2)
    loader = ds.options(rewrites=first).numpy()
    it = iter(loader)
    next(it)
    state = loader.state_dict()
    rest = [batch.tolist() for batch in it]
    other = ds.options(rewrites=not first).numpy()
    other.load_state_dict(state)
    assert [batch.tolist() for batch in other] == rest
