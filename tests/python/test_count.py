"""count and assert_cardinality: exact lengths where the number of elements depends on the data."""

import base64
import json

import numpy as np
import pytest

import headrace as hr

ROWS = [3, 0, 2, 5, 1, 1, 0, 4]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "headrace" / "counts"


def boxes():
    items = [
        {"boxes": np.arange(4 * n, dtype=np.float32).reshape(n, 4), "number": i} for i, n in enumerate(ROWS)
    ]
    return hr.from_list(items).flat_map(lambda s: {"box": s["boxes"], "number": s["number"]})


def test_a_known_length_is_answered_at_once():
    assert hr.range(10).batch(3).count() == 4
    for endless in (hr.range(3).repeat(), hr.range(3).filter(lambda x: x > 1).repeat()):
        with pytest.raises(ValueError, match="count: expected a dataset that ends"):
            endless.count()


def test_it_counts_what_comes_out():
    assert boxes().count() == sum(ROWS)
    assert hr.range(10).filter(lambda x: x % 3 == 0).count() == 4
    assert hr.range(10).filter(lambda x: x % 3 == 0).batch(3).count() == 2
    assert hr.range(10).take_while(lambda x: x < 7).count() == 7


def test_fields_that_do_not_matter_make_no_difference():
    ds = hr.from_arrays({"x": np.arange(10), "y": np.arange(10.0)})
    made = ds.map(lambda s: {"x": s["x"], "far": s["y"] + 1}).filter(lambda s: s["x"] > 3)
    assert made.count() == 6


def test_images_are_not_decoded(tmp_path):
    (tmp_path / "a").mkdir()
    for i in range(5):
        (tmp_path / "a" / f"{i}.jpg").write_bytes(b"\xff\xd8\xff\xe0 no image")
    ds = hr.read(tmp_path).map(lambda s: {"image": hr.ops.decode_image(s["image"]), "label": s["label"]})
    assert ds.filter(lambda s: s["label"] == 0).count() == 5
    skipped = ds.filter(lambda s: s["label"] == 0).on_error("skip")
    assert skipped.count() == 0  # the number depends on what fails


def test_results_are_kept_for_the_same_plan_and_data(tmp_path, cache_folder):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(10))

    def ds():
        return hr.read(path).filter(lambda s: s["array"] > 3)

    assert ds().count() == 6
    (kept,) = cache_folder.iterdir()
    kept.write_text("5\n")
    assert ds().count() == 5  # from the file
    assert hr.read(path).filter(lambda s: s["array"] > 4).count() == 5
    kept.write_text("damaged")
    assert ds().count() == 6
    np.save(path, np.arange(20))
    assert ds().count() == 16


def test_a_file_of_the_same_size_is_other_data(tmp_path):
    for name, first in (("a", 0), ("b", 5)):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "x.npy", np.arange(first, first + 10))

    def count(name):
        return hr.read(tmp_path / name / "x.npy").filter(lambda s: s["array"] > 3).count()

    assert (count("a"), count("b")) == (6, 10)
    np.save(tmp_path / "a" / "x.npy", np.arange(3, 13))
    assert count("a") == 9


def test_what_replaces_a_broken_sample_counts(tmp_path, cache_folder):
    for name, picture in {"cat": PNG[:20], "dog": PNG}.items():
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(4):
            (tmp_path / "data" / name / f"{i}.png").write_bytes(picture)
    ds = hr.read(tmp_path / "data").map(
        lambda s: {"image": hr.ops.decode_image(s["image"]), "label": s["label"]}
    )
    ds = ds.on_error("replace").filter(lambda s: s["label"] == 0)
    assert ds.count() == len(list(ds)) == 0
    assert not cache_folder.exists() or not list(cache_folder.iterdir())


def test_functions_of_the_program_are_not_kept(cache_folder):
    limits = [5]
    ds = hr.range(10).filter(lambda x: x < limits[0], python=True)
    assert ds.count() == 5
    limits[0] = 7
    assert ds.count() == 7
    assert not cache_folder.exists() or not list(cache_folder.iterdir())


def test_an_asserted_length_is_exact():
    ds = boxes()
    with pytest.raises(TypeError, match=r"count\(\) counts them, and assert_cardinality\(n\) says it"):
        len(ds)
    ds = ds.assert_cardinality(ds.count())
    assert len(ds) == sum(ROWS)
    assert len(ds.batch(5)) == 4
    assert len(list(ds)) == sum(ROWS)


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("even", ["wrap", "drop", "pad"])
def test_ranks_are_even_and_complete_without_steps(world, even):
    whole = [int(s["number"]) for s in boxes()]
    ds = boxes().assert_cardinality(16)
    parts = [[int(s["number"]) for s in ds.shard(r, world, even=even)] for r in range(world)]
    assert {len(part) for part in parts} == {len(ds.shard(0, world, even=even))}
    dealt = [x for row in zip(*parts, strict=True) for x in row]
    assert dealt[:15] == whole[:15]


def test_another_number_is_an_error():
    ds = boxes()
    with pytest.raises(ValueError, match="assert_cardinality: expected 17 elements in epoch 0, got 16"):
        list(ds.assert_cardinality(17))
    with pytest.raises(ValueError, match="assert_cardinality: expected 15 elements in epoch 0, got more"):
        list(ds.assert_cardinality(15))
    with pytest.raises(ValueError, match="assert_cardinality: expected 9 elements, got 10"):
        hr.range(10).assert_cardinality(9)
    with pytest.raises(ValueError, match=r"put assert_cardinality.. before shard"):
        ds.shard(0, 2).assert_cardinality(8)


@pytest.mark.parametrize("taken", [0, 1, 7, 15, 16])
def test_states_continue(taken):
    ds = boxes().assert_cardinality(16).shuffle(window=4, seed=1)
    whole = [int(s["number"]) for s in ds.numpy()]
    loader = ds.numpy()
    it = iter(loader)
    begun = [int(next(it)["number"]) for _ in range(taken)]
    state = json.loads(json.dumps(loader.state_dict()))
    other = ds.numpy()
    other.load_state_dict(state)
    rest = [int(s["number"]) for s in other]
    assert begun + rest == whole or (taken == 16 and begun == whole)


def test_the_error_of_shard_names_the_way():
    with pytest.raises(
        ValueError, match=r"assert_cardinality.n. before shard.*headrace inspect --count PLAN"
    ):
        next(iter(boxes().shard(0, 2).numpy()))


def test_plans_keep_it(tmp_path):
    ds = hr.range(10).filter(lambda x: x > 4).assert_cardinality(5)
    ds.save_plan(tmp_path / "plan.json")
    assert len(hr.load_plan(tmp_path / "plan.json")) == 5
