import json

import numpy as np
import pytest

import headrace as hr


def ints(ds):
    return [int(x) for x in ds]


def test_verbs_mean_what_they_say():
    ds = hr.range(10)
    assert ints(ds.take(3)) == [0, 1, 2]
    assert ints(ds.skip(8)) == [8, 9]
    assert ints(ds.take(2).repeat(2)) == [0, 1, 0, 1]
    assert ints(ds.take(1).concatenate(ds.skip(9))) == [0, 9]
    assert [b.tolist() for b in ds.batch(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [b.tolist() for b in ds.batch(4, drop_last=True)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert ints(ds.filter(lambda x: x > 7)) == [8, 9]
    assert sorted(ints(ds.shuffle(seed=3))) == list(range(10)) != ints(ds.shuffle(seed=3))
    assert sorted(ints(ds.shuffle(seed=3, window=4))) == list(range(10))
    assert ints(ds.batch(4).unbatch()) == list(range(10))


def test_a_dataset_is_a_value():
    ds = hr.range(10)
    ds.take(3)
    ds.options(seed=5)
    assert len(ds) == 10 and len(ds.take(3)) == 3


def test_len_is_exact_or_a_type_error():
    ds = hr.range(10)
    assert len(ds.batch(3)) == 4
    assert len(ds.shard(1, 4)) == 3
    for endless_or_unknown in (ds.repeat(), ds.filter(lambda x: x > 3), ds.on_error("skip")):
        with pytest.raises(TypeError, match="no exact length"):
            len(endless_or_unknown)


def test_items_by_position():
    ds = hr.range(10).shuffle(seed=1)
    order = ints(ds)
    assert [int(ds[i]) for i in range(10)] == order
    assert int(ds[-1]) == order[-1] and int(ds[np.int64(2)]) == order[2]
    assert [int(x) for x in ds.__getitems__([3, 1])] == [order[3], order[1]]
    for wrong in (10, -11):
        with pytest.raises(IndexError):
            ds[wrong]
    with pytest.raises(ValueError, match="no random access"):
        hr.range(10).filter(lambda x: x > 3)[0]


def test_at_epoch_shows_the_order_of_that_epoch():
    ds = hr.range(10).shuffle(seed=1)
    loader = ds.numpy()
    epochs = [ints(loader) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    assert [[int(x) for x in ds.at_epoch(e)] for e in range(3)] == epochs
    assert len(ds.at_epoch(2)) == 10 and int(ds.at_epoch(2)[-1]) == epochs[2][-1]


def test_ids_and_validity_are_fields_on_request():
    ds = hr.from_arrays({"x": np.arange(5)}).shard(1, 2, even="pad").with_ids().with_validity()
    assert [(int(s["id"]), bool(s["valid"])) for s in ds] == [(1, True), (3, True), (0, False)]
    assert hr.range(3).with_ids("n")[2] == (2, 2)


def test_wrong_arguments_say_what_was_wanted():
    ds = hr.range(10)
    for wrong, message in [
        (lambda: ds.batch(0), "batch: size must be at least 1, got 0"),
        (lambda: ds.shard(2, 2), "0 <= rank < world, got rank 2 of 2"),
        (lambda: ds.shard(1), "both rank and world"),
        (lambda: ds.shard(0, 2, even="odd"), '"wrap", "drop" or "pad", got "odd"'),
        (lambda: ds.on_error("ignore"), '"raise", "skip" or "replace", got "ignore"'),
        (lambda: ds.repeat(0), "at least 1"),
        (lambda: ds.filter(lambda x: x + 1), "must return one bool"),
        (lambda: ds.filter(lambda x: x > 3).shuffle(seed=1), "window="),
        (lambda: ds.concatenate(hr.from_arrays({"a": [1]})), "the same fields"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()


@pytest.mark.parametrize(
    ("verb", "arguments"), [("batch", [2]), ("padded_batch", [2]), ("window", [2]), ("cache", [])]
)
def test_elements_without_a_field_cannot_be_put_together(verb, arguments):
    nothing = hr.range(6).map(lambda x: {})
    assert list(nothing) == [{}] * 6
    with pytest.raises(ValueError, match=f"{verb}: expected elements with at least one field, got none"):
        getattr(nothing, verb)(*arguments)
    with_another = hr.zip({"nothing": nothing, "x": hr.range(6)}).batch(4)
    assert [sorted(batch) for batch in with_another.numpy()] == [["nothing", "x"]] * 2


def test_shard_reads_the_environment(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert ints(hr.range(6).shard()) == [1, 4]


def test_options_change_nothing_but_how_it_runs():
    ds = hr.range(100).shuffle(seed=2).map(lambda x: x * 2).map(lambda x: x + 1).batch(7)
    want = [b.tolist() for b in ds]
    for options in (
        {"workers": 1}, {"workers": 5, "ready": 1}, {"rewrites": False}, {"rewrites": {"fuse_maps": False}},
        {"memory_budget": 1 << 20}, {"io": 1},
    ):  # fmt: skip
        assert [b.tolist() for b in ds.options(**options)] == want, options
    unordered = ds.options(deterministic=False)
    assert sorted(map(sorted, (b.tolist() for b in unordered))) == sorted(map(sorted, want))
    assert [b.tolist() for b in ds.prefetch(9)] == want


def test_explain_and_repr_show_the_plan_with_the_users_lines():
    ds = hr.range(10).map(lambda x: x + 1).map(lambda x: x * 2).batch(2)
    assert "test_verbs.py:" in repr(ds) and "length 5" in repr(ds)
    assert "after fuse_maps" in ds.explain()
    assert "after fuse_maps" not in ds.options(rewrites={"fuse_maps": False}).explain()


def test_a_batch_beyond_the_budget_says_both_figures():
    ds = hr.from_arrays(np.zeros((8, 1 << 20), np.uint8)).batch(8).options(memory_budget=1 << 20)
    with pytest.raises(MemoryError, match="1048576"):
        list(ds)


def test_a_trace_is_written(tmp_path):
    list(hr.range(100).batch(10).options(trace=tmp_path / "trace.json").numpy())
    assert json.loads((tmp_path / "trace.json").read_text())


def test_steps_of_a_known_length_are_refused() -> None:
    part = hr.range(20).shard(0, 2, steps=3)
    for known in (
        part,
        part.map(lambda x: x + 1),
        part.batch(2),
        hr.range(20).shuffle(seed=1).batch(2).shard(0, 2, steps=3),
    ):
        with pytest.raises(ValueError, match=r"steps= is only for lengths that are unknown"):
            list(known)
    assert len(list(part.filter(lambda x: x < 11))) == 3
