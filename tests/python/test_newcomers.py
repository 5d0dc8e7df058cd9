"""What people try first, and what they should be told."""

import functools
import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops


def test_a_field_set_as_an_attribute_is_set() -> None:
    def bump(s: Any) -> Any:
        s.x = s.x + 1
        return s

    data = hr.from_arrays({"x": [1, 2, 3]})
    assert [int(e["x"]) for e in data.map(bump).numpy()] == [2, 3, 4]
    assert [int(e["x"]) for e in data.map(bump, python=True).numpy()] == [2, 3, 4]


def test_an_operator_on_the_whole_sample_says_so() -> None:
    with pytest.raises(TypeError, match="expected a field, got the whole sample"):
        hr.from_arrays({"x": [1, 2, 3]}).map(lambda s: ops.cast(s, dtype="f32"))


def test_an_iteration_that_another_one_ended_raises() -> None:
    loader = hr.range(100).batch(5).numpy()
    with pytest.raises(RuntimeError, match="ended by another"):
        for _ in loader:
            next(iter(loader))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (option, value)
        for option in ("workers", "io", "ready")
        for value in (0, -1, "4", True, 1.5)
        if (option, value) != ("workers", 0)  # which is a number of workers
    ],
)
def test_options_are_checked_where_they_are_given(option: str, value: Any) -> None:
    error = ValueError if type(value) is int else TypeError
    with pytest.raises(error, match=f"options: {option} must be (an integer|at least).*got {value!r}"):
        hr.range(10).options(**{option: value})


def test_unknown_rewrites_are_refused_at_the_call() -> None:
    with pytest.raises(ValueError, match=r"no rewrite 'fuse_map'; the rewrites are .*fuse_maps"):
        hr.range(10).options(rewrites={"fuse_map": False})
    with pytest.raises(ValueError, match="no rewrite 'fuse_map'"):
        hr.range(10).options(rewrites={"fuse_map": True})


@pytest.mark.parametrize("wrong", [{"consumed": 10**9}, {"epoch": -4}, {"consumed": -1}])
def test_impossible_states_are_refused(wrong: dict[str, int]) -> None:
    loader = hr.range(10).batch(3).numpy()
    with pytest.raises(ValueError, match="state: "):
        loader.load_state_dict({**loader.state_dict(), **wrong})


RANGE = hr.range(10)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RANGE.batch("4"), "batch: size must be an integer, got '4'"),
        (lambda: RANGE.batch(2.0), "batch: size must be an integer, got 2.0"),
        (lambda: RANGE.batch(4, drop_last="yes"), "batch: drop_last must be True or False, got 'yes'"),
        (lambda: RANGE.shuffle(seed=None), "shuffle: seed must be an integer, got None"),
        (lambda: RANGE.shuffle(seed=True), "shuffle: seed must be an integer, got True"),
        (lambda: RANGE.shuffle(window="9"), "shuffle: window must be an integer, got '9'"),
        (lambda: RANGE.take("3"), "take: count must be an integer, got '3'"),
        (lambda: RANGE.skip(0.5), "skip: count must be an integer, got 0.5"),
        (lambda: RANGE.repeat("2"), "repeat: times must be an integer, got '2'"),
        (lambda: RANGE.shard("0", 2), "shard: rank must be an integer, got '0'"),
        (lambda: RANGE.prefetch("x"), "prefetch: count must be an integer, got 'x'"),
        (lambda: RANGE.at_epoch("1"), "at_epoch: epoch must be an integer, got '1'"),
        (lambda: RANGE.numpy().set_epoch(None), "set_epoch: epoch must be an integer, got None"),
        (lambda: RANGE.numpy().load_state_dict(None), "load_state_dict: expected the dict that state_dict() returned, got None"),
        (lambda: RANGE.options(rewrites=[1]), "options: rewrites must be a bool, or a dict of name to bool, got [1]"),
        (lambda: RANGE.options(rewrites={"fuse_maps": 1}), "options: rewrites['fuse_maps'] must be True or False, got 1"),
        (lambda: RANGE.options(deterministic=0), "options: deterministic must be True or False, got 0"),
        (lambda: RANGE.with_ids(3), "with_ids: field must be a str, got 3"),
        (lambda: RANGE.with_validity(3), "with_validity: field must be a str, got 3"),
        (lambda: RANGE.on_error(3), "on_error: policy must be a str, got 3"),
        (lambda: RANGE.shard(0, 2, even=True), "shard: even must be a str, got True"),
        (lambda: hr.range(2.5), "range: stop must be an integer, got 2.5"),
        (lambda: hr.from_arrays([1], slot=3), "from_arrays: slot must be a str, got 3"),
        (lambda: hr.from_dataset([1], slot=3), "from_dataset: slot must be a str, got 3"),
        (lambda: RANGE.concatenate([1]), "concatenate: expected a Dataset, got [1]"),
        (lambda: RANGE.map(3), "map: expected a function, got 3"),
        (lambda: RANGE["image"], "a dataset is indexed by positions and slices, got 'image'; map(lambda s: s.name) selects a field"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_told_in_the_users_words(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == words


def test_numbers_of_numpy_are_numbers() -> None:
    ds = (
        hr.range(10)
        .shuffle(seed=np.int64(3))
        .take(np.uint8(6))
        .batch(np.int32(2))
        .options(workers=np.int64(1))
    )
    assert len(list(ds)) == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RANGE.take(-1), "take: count must be at least 0, got -1"),
        (lambda: RANGE.skip(-1), "skip: count must be at least 0, got -1"),
        (lambda: RANGE.repeat(-2), "repeat: times must be at least 1, got -2"),
        (lambda: RANGE.repeat(0), "repeat: times must be at least 1, got 0"),
        (lambda: RANGE.batch(0), "batch: size must be at least 1, got 0"),
        (lambda: RANGE.batch(-1), "batch: size must be at least 1, got -1"),
        (lambda: RANGE.shuffle(seed=-1), "shuffle: seed must be at least 0, got -1"),
        (lambda: RANGE.shuffle(window=-1), "shuffle: window must be at least 0, got -1"),
        (lambda: RANGE.shard(-1, 2), "shard: rank must be at least 0, got -1"),
        (lambda: RANGE.take(2**64), f"take: count must be less than 2**64, got {2**64}"),
        (lambda: hr.range(2**63), f"range: stop must be less than 2**63, got {2**63}"),
    ],
)
def test_a_number_out_of_range_is_a_value_error(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_shuffle_takes_no_buffer_size() -> None:
    with pytest.raises(
        TypeError,
        match=r"shuffle: pass seed, window, blocks, reshuffle_each_epoch by name, .*there is no buffer size: the shuffle is global",
    ):
        RANGE.shuffle(1000)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("map", "map: the function returned nothing; return a field or a dict"),
        ("filter", "filter: the function returned nothing; return True or False"),
    ],
)
@pytest.mark.parametrize("python", [False, True])
@pytest.mark.filterwarnings("error")
def test_a_function_that_returns_nothing(verb: str, words: str, python: bool) -> None:
    with pytest.raises(TypeError, match=rf"{words} \({verb} at test_newcomers\.py:\d+\)$"):
        getattr(RANGE, verb)(lambda s: None, python=python)


def test_an_empty_dataset_has_no_elements() -> None:
    for empty in (hr.range(0), RANGE.take(0)):
        with pytest.raises(IndexError, match="this dataset has no elements"):
            empty[0]


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (
            (x for x in range(3)),
            r"length and items by position, got generator; convert it with list\(\.\.\.\)",
        ),
        ({1, 2}, r"length and items by position, got set; convert it with list\(\.\.\.\)"),
        (3, "length and items by position, got int$"),
        ({"x": [1]}, r"got a dict; from_arrays\(\) takes a dict of columns"),
    ],
)
def test_from_dataset_wants_items_by_position(items: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        hr.from_dataset(items)


def test_a_list_of_columns_makes_tuples_and_says_so() -> None:
    columns = hr.from_arrays([[1, 2], [3, 4]])
    assert [tuple(map(int, element)) for element in columns] == [(1, 3), (2, 4)]
    assert repr(columns).startswith("<Dataset of length 2, tuples of 0: int64 (), 1: int64 ()")
    assert repr(hr.from_arrays(np.array([[1, 2], [3, 4]]))).startswith(
        "<Dataset of length 2: value: int64 (2)"
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RANGE.batch(batch_size=4), "batch: unexpected argument 'batch_size'; use batch(size)"),
        (lambda: RANGE.batch(4, drop_remainder=True), "unexpected argument 'drop_remainder'; use batch(drop_last=…)"),
        (lambda: RANGE.options(num_workers=4), "options: unexpected argument 'num_workers'; use options(workers=…)"),
        (lambda: RANGE.numpy(num_workers=4), "numpy: unexpected argument 'num_workers'; use options(workers=…)"),
        (lambda: RANGE.torch(batch_size=4), "torch: unexpected argument 'batch_size'; use batch(size)"),
        (lambda: RANGE.shuffle(buffer_size=9), "shuffle: unexpected argument 'buffer_size'; use shuffle(window=…)"),
        (lambda: RANGE.shard(num_shards=2, index=0), "shard: unexpected argument 'num_shards'; use shard(world=…)"),
        (lambda: RANGE.options(worker=4), "options: unexpected argument 'worker'; did you mean 'workers'?"),
        (lambda: RANGE.batch(4, True), "batch: pass drop_last, ragged by name, as in drop_last=True"),
        (lambda: ops.resize(np.zeros((4, 4), np.uint8), 8), "by name, as in size=8"),
        (lambda: ops.resize(b"", width=8), "resize: unexpected argument 'width'; it takes image, size"),
        (lambda: ops.resize(b"", sizes=8), "resize: unexpected argument 'sizes'; did you mean 'size'?"),
        (lambda: hr.read({"a"}), "read: expected a path or a list of paths, got {'a'}; concatenate() joins datasets"),
        (lambda: RANGE.take(n=4), "take: unexpected argument 'n'; it takes count"),
    ],
)  # fmt: skip
def test_the_names_of_other_libraries_lead_to_ours(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        call()


def test_a_slice_is_a_list_of_elements() -> None:
    ds = hr.range(10).map(lambda x: x * 10)
    assert [int(x) for x in ds[2:5]] == [20, 30, 40]
    assert [int(x) for x in ds[-2:]] == [80, 90]
    assert [int(x) for x in ds[8:99]] == [80, 90]
    assert [int(x) for x in ds[::-4]] == [90, 50, 10]
    shuffled = ds.shuffle(seed=3)
    assert shuffled.at_epoch(1)[:] == [shuffled.at_epoch(1)[i] for i in range(10)]
    with pytest.raises(TypeError, match="no exact length"):
        ds.repeat()[:3]


def test_bytes_that_nobody_decoded(photos: Path) -> None:
    words = "got bytes; if they are an encoded image, decode it first with decode_image"
    for op in (
        lambda x: ops.resize(x, size=8),
        ops.random_flip,
        lambda x: ops.center_crop(x, size=8),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            hr.read(photos).map(lambda s, op=op: op(s.image))
        assert re.search(r"decode_image \(map at test_newcomers\.py:\d+\)$", str(caught.value))
    with pytest.raises(ValueError, match=words):
        ops.resize((photos / "cat" / "0.jpg").read_bytes(), size=8)
    with pytest.raises(ValueError) as caught:
        hr.from_arrays(np.zeros((2, 4))).map(lambda x: ops.resize(x, size=8))
    assert "decode_image" not in str(caught.value)


def test_operators_of_one_sample_after_batch(photos: Path) -> None:
    words = r"these are the rows of a batch: map before batch, or after unbatch \(map at test_newcomers\.py:\d+\)$"
    with pytest.raises(
        ValueError, match=f"decode_image: expected the bytes of an image file, got bytes; {words}"
    ):
        hr.read(photos).batch(2).map(lambda s: ops.decode_image(s.image))
    pixels = hr.read(photos).map(lambda s: ops.decode_image(s.image))
    for batches in (
        pixels.batch(2, ragged=True),
        pixels.map(lambda x: ops.resize(x, size=(8, 8))).batch(2),
    ):
        for op in (ops.normalize, ops.random_flip, lambda x: ops.resize(x, size=4)):
            with pytest.raises(ValueError, match=words):
                batches.map(op)
    with pytest.raises(ValueError) as caught:  # five dimensions are no batch of images either
        hr.from_arrays(np.zeros((2, 2, 2, 8, 8, 3), np.uint8)).map(ops.normalize)
    assert "batch" not in str(caught.value)


def test_wrong_parameters_name_the_line(photos: Path) -> None:
    with pytest.raises(
        ValueError, match=r"^resize: size must be .*, got -3 \(map at test_newcomers\.py:\d+\)$"
    ):
        hr.read(photos).map(lambda s: ops.resize(ops.decode_image(s.image), size=-3))


def test_explain_shows_how_a_shard_comes_out_even_and_what_the_engine_adds() -> None:
    even = hr.range(10).shard(0, 4, even="pad").with_validity().with_ids("number").explain()
    assert "shard  rank 0 of 4, even=pad\n" in even
    assert 'map  with_validity("valid")\n' in even and 'map  with_ids("number")\n' in even
    steps = hr.range(10).filter(lambda x: x > 2).shard(1, 2, steps=3).explain()
    assert "shard  rank 1 of 2, even=wrap, steps=3\n" in steps


@pytest.mark.filterwarnings("error")
def test_ranks_in_one_process_are_no_second_loaders() -> None:
    ds = hr.range(40).shuffle(seed=171)  # a pipeline that no other test has
    for rank in range(2):
        next(iter(ds.shard(rank, 2).batch(4).numpy()))
    next(iter(ds.shard(0, 4).batch(4).numpy()))
    with pytest.warns(UserWarning, match="in the same order as the first"):
        next(iter(ds.shard(1, 2).batch(4).numpy()))


def test_a_relative_path_that_is_not_there_says_where_it_was_looked_for() -> None:
    with pytest.raises(FileNotFoundError, match=re.escape(f"(the current directory is '{Path.cwd()}')")):
        hr.read("nowhere/train")
    with pytest.raises(FileNotFoundError) as caught:
        hr.read("/nowhere/train")
    assert "current directory" not in str(caught.value)


def test_a_plan_is_no_state_and_a_state_no_plan(tmp_path: Path) -> None:
    plan, state = tmp_path / "plan.json", tmp_path / "state.json"
    RANGE.save_plan(plan)
    state.write_text(json.dumps(RANGE.numpy().state_dict()))
    with pytest.raises(ValueError, match=r"state: expected the output of state_dict\(\), got a plan"):
        RANGE.numpy().load_state_dict(json.loads(plan.read_text()))
    with pytest.raises(
        ValueError, match=r"plan: expected the output of save_plan\(\), got the state of an iteration"
    ):
        hr.load_plan(state)
    with pytest.raises(ValueError, match="without 'version' and 'fingerprint'"):
        RANGE.numpy().load_state_dict({})
    with pytest.raises(ValueError, match="got JSON without 'headrace'"):
        hr.load_plan(_written(tmp_path / "other.json", "{}"))
    for text in ("hello", "", "{"):
        with pytest.raises(
            ValueError,
            match=r"plan: expected the output of save_plan\(\), got invalid JSON: json: syntax error at byte",
        ):
            hr.load_plan(_written(tmp_path / "other.json", text))
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    with pytest.raises(ValueError, match=r"got '.*photo.jpg', which is not text; use read\(\) for data"):
        hr.load_plan(tmp_path / "photo.jpg")


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_classes_that_are_not_there(photos: Path) -> None:
    with pytest.raises(
        ValueError, match="classes: expected folders with images, got 'catt'; folders not listed are 'cat'"
    ):
        hr.read_image_folder(photos, classes=["catt", "dog"])
    assert len(hr.read_image_folder(photos, classes=["dog"])) == 6
    assert int(hr.read_image_folder(photos, classes=["ant", "cat", "dog"])[0]["label"]) == 1


def notes(ds: hr.Dataset) -> list[str]:
    return [line for line in ds.explain().splitlines() if line.startswith("note: ")]


def test_explain_notes_what_may_not_be_meant() -> None:
    seed, batches, border = "shuffle has seed 0", "shuffle is after batch", "shard is after a filter"
    even = hr.range(100).filter(lambda x: x < 50)

    def found(ds: hr.Dataset) -> list[str]:
        return [line.split(":")[1].strip() for line in notes(ds)]

    assert notes(hr.range(100).shuffle(seed=7).shard(0, 2).batch(4)) == []
    assert notes(hr.range(100).shard(0, 2).shuffle(seed=7).batch(4)) == []  # shard rises above the shuffle
    assert [line[: len(seed)] for line in found(hr.range(100).shuffle().batch(4))] == [seed]
    assert [line[: len(batches)] for line in found(hr.range(100).batch(4).shuffle(seed=7))] == [batches]
    assert [line[: len(border)] for line in found(even.shard(0, 2, steps=5))] == [border]
    both = found(hr.range(100).shuffle().batch(4).map(lambda x: x + 1).shuffle())
    assert len(both) == 2 and both[0].startswith(seed) and both[1].startswith(batches)
    unbatched = hr.range(100).batch(4).unbatch().shuffle(seed=7, window=9)
    assert notes(unbatched) == []


def test_a_class_of_which_no_file_is_taken_is_noted(photos: Path, tmp_path: Path) -> None:
    root = tmp_path / "animals"
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
        (root / name / "1.jpg").write_bytes(next(photos.rglob("*.jpg")).read_bytes())
    assert notes(hr.read(root)) == []
    (root / "newt").mkdir()
    (root / "newt" / "1.heic").touch()
    ds = hr.read(root)
    assert ds.metadata["left_out"] == {"files": 1, "endings": {".heic": 1}}
    assert ds.metadata["classes"] == ["cat", "dog", "newt"]
    [empty, kinds] = notes(ds)
    assert "1 of 3 class folders has no images that can be read and keeps its label: 'newt'" in empty
    assert ".heic (1)" in kinds


def test_a_loader_says_what_it_is() -> None:
    batches = RANGE.batch(3)
    loader = batches.numpy()
    assert repr(loader) == f"<NumpyLoader at epoch 0 of\n{batches!r}>"
    loader.set_epoch(4)
    assert "NumpyLoader at epoch 4 of" in repr(loader)


def test_a_function_that_draws_is_told_of_rng() -> None:
    with pytest.warns(
        hr.PythonFunctionWarning, match="with a parameter rng it gets a numpy.random.Generator"
    ):
        RANGE.map(lambda x: x + np.random.rand())  # noqa: NPY002


def test_what_is_made_of_one_sample_has_its_id() -> None:
    rows = hr.range(3).map(lambda x: {"x": np.full(2, int(x))}, python=True).unbatch().with_ids()
    assert [(int(row["x"]), int(row["id"])) for row in rows] == [
        (0, 0),
        (0, 0),
        (1, 1),
        (1, 1),
        (2, 2),
        (2, 2),
    ]


def test_a_rank_that_begins_again_ends_its_batch() -> None:
    part = hr.range(10).shard(0, 2, steps=4).filter(lambda x: x < 6).batch(2)
    assert [[int(x) for x in batch] for batch in part] == [[0, 2], [4], [0, 2], [4]]


def test_shard_before_shuffle_deals_the_shuffled_order() -> None:
    before = [int(x) for x in hr.range(10).shard(1, 2).shuffle(seed=7)]
    after = [int(x) for x in hr.range(10).shuffle(seed=7).shard(1, 2)]
    assert before == after


def test_pytorch_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "headrace.loaders.torch", raising=False)
    with pytest.raises(ModuleNotFoundError, match="PyTorch is not installed"):
        RANGE.torch()


def test_paths_that_only_a_shell_understands() -> None:
    with pytest.raises(FileNotFoundError, match="~ is not expanded"):
        hr.read("~/photos")
    with pytest.raises(FileNotFoundError, match=r"matches no file; there is no folder '/nowhere/'"):
        hr.read("/nowhere/*.jpg")


PAIRS = hr.from_arrays({"image": np.zeros((4, 2, 2, 3), np.uint8), "label": np.arange(4)})


def none_at_2(s: Any) -> Any:
    return {"box": {"name": None if int(s.label) == 2 else 1}}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PAIRS.map(lambda s: {"image": s.image, "label": None}), "got None in field 'label'"),
        (lambda: PAIRS.map(lambda s: {"a": {"b": [s.label, None]}}, python=True), "got None in field 'a/b/1'"),
        (lambda: PAIRS.map(none_at_2, python=True)[2], "got None in field 'box/name'"),
        (lambda: hr.from_dataset([{"a": None}]), "got None in field 'a'"),
        (lambda: hr.from_dataset([{"a": 1}, {"a": None}])[1], "got None in field 'a'"),
        (lambda: hr.from_arrays({"a": None}), "got None in field 'a'"),
        (lambda: hr.from_arrays({"a": [1, None]}), "got None in field 'a/1'"),
        (lambda: hr.from_arrays({"a": np.array([[1, None]])}), "got ndarray that contains None in field 'a'"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::headrace.PythonFunctionWarning")
def test_none_is_named_by_its_field(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((TypeError, hr.HeadraceError), match=re.escape(words)):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PAIRS.map(lambda s: s.imgae), "no field 'imgae'; it has image, label; did you mean 'image'?"),
        (lambda: PAIRS.map(lambda s: s["labell"]), "no field 'labell'; it has image, label; did you mean 'label'?"),
        (lambda: PAIRS.bacth, "a dataset has no verb 'bacth'; did you mean 'batch'?"),
        (lambda: PAIRS._bacth, "a dataset has no verb '_bacth'"),
        (lambda: PAIRS.map(lambda s: s[0]), "the sample is a dict with the fields image, label; expected one of these names, got 0"),
        (lambda: hr.from_tensor_slices, "no attribute 'from_tensor_slices'; use headrace.from_arrays(data)"),
        (lambda: hr.Dataset.from_tensor_slices, "no attribute 'from_tensor_slices'; use headrace.from_arrays(data)"),
        (lambda: hr.Dataset.range, "no attribute 'range'; use headrace.range"),
        (lambda: hr.Dataset.bacth, "no attribute 'bacth'; did you mean 'batch'?"),
        (lambda: hr.AUTOTUNE, "no attribute 'AUTOTUNE'; not needed: threads and concurrent reads are tuned"),
        (lambda: hr.sample_from_datasets, "use headrace.mix(datasets, weights=…)"),
        (lambda: hr.choose_from_datasets, "use headrace.choose(datasets, choice)"),
        (lambda: RANGE.cardinality, "no verb 'cardinality'; use len(dataset)"),
        (lambda: RANGE.element_spec, "no verb 'element_spec'; use schema"),
        (lambda: RANGE.as_numpy_iterator, "no verb 'as_numpy_iterator'; use numpy()"),
        (lambda: ops.decode_imge, "no operator 'decode_imge'; did you mean 'decode_image'?"),
        (lambda: ops.zzz, "there is no operator 'zzz'"),
        (lambda: hr.form_arrays, "no attribute 'form_arrays'; did you mean 'from_arrays'?"),
        (lambda: ops.cast(np.zeros(3), dtype="flaot32"), "cast: dtype must be one of bool uint8 uint16"),
    ],
)  # fmt: skip
def test_what_was_meant(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((AttributeError, KeyError, ValueError), match=re.escape(words)):
        call()


TOKENS = hr.from_arrays({"id": np.arange(3), "tok": hr.ragged([np.arange(n) for n in (1, 2, 3)])})
TUPLES = hr.from_arrays((np.array([2, 1, 3]), np.arange(3)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TUPLES.map(lambda a, b: a), r"map: .*is called with one argument, the element, a tuple: missing .*'b'; write lambda s: f\(\*s\)$"),
        (lambda: TUPLES.filter(lambda a, b: a, python=True), r"filter: .*'b'; write lambda s: f\(\*s\)$"),
        (lambda: TOKENS.map(lambda id, tok: tok), r"map: .*the element, a dict: .*'tok'; write lambda s: f\(\*\*s\)$"),
        (lambda: RANGE.map(lambda a, b: a), "map: .*is called with one argument, the element: missing .*'b'$"),
        (lambda: RANGE.map(lambda: 1), "map: .*is called with one argument, the element: too many positional arguments$"),
        (lambda: RANGE.reduce(0, 3), "reduce: expected a function, got 3"),
        (lambda: RANGE.reduce(0, lambda s: s), "reduce: .*is called with 2 arguments, the state and the element: too many positional arguments$"),
        (lambda: RANGE.scan(0, lambda s, e, x: (s, e)), "scan: .*is called with 2 arguments, the state and the element: missing .*'x'$"),
    ],
)  # fmt: skip
def test_a_function_gets_one_argument(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call()


def test_a_wrapper_may_take_one_argument_for_a_function_of_two() -> None:
    def add(a: Any, b: Any) -> Any:
        return a + b

    @functools.wraps(add)
    def starred(pair: Any) -> Any:
        return add(*pair)

    assert list(TUPLES.map(starred)) == [2, 2, 5]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TOKENS.sort_by("tok"), "sort_by: expected one number or str per element, got field 'tok' of int64 (?)"),
        (lambda: TOKENS.sample("tok"), "sample: expected one number or str per element, got field 'tok' of int64 (?)"),
        (lambda: TOKENS.map(lambda s: {"a": {"b": s.id}}).sort_by("a"), "sort_by: expected one number or str per element, got field 'a' of several"),
        (lambda: TOKENS.sort_by("idd"), "sort_by: no field 'idd'; there are id, tok; did you mean 'id'?"),
        (lambda: RANGE.sort_by("id"), "sort_by: no field 'id'; there are value"),
    ],
)  # fmt: skip
def test_a_key_is_one_number_or_text(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((KeyError, ValueError), match=re.escape(words)):
        call()


def test_a_key_is_named_by_its_path() -> None:
    assert [int(first) for first, _ in TUPLES.sort_by("0")] == [1, 2, 3]
    nested = TUPLES.map(lambda s: {"a": {"b": s[0]}})
    assert [int(element["a"]["b"]) for element in nested.sort_by("a/b", descending=True)] == [3, 2, 1]
    assert [int(element) for element in hr.range(3).sort_by("value", descending=True)] == [2, 1, 0]


def test_reduce_is_named_in_what_it_says() -> None:
    with pytest.warns(hr.PythonFunctionWarning, match=r"^reduce at test_newcomers.py:\d+: "):
        assert RANGE.reduce(0, lambda state, x: state + int(x)) == sum(range(len(RANGE)))

    def breaks(state: Any, x: Any) -> Any:
        return state if x != 3 else 1 // int(x - 3)

    with pytest.raises(hr.HeadraceError, match=r"sample 3 \(reduce at test_newcomers.py:\d+\)"):
        RANGE.reduce(0, breaks, python=True)


@pytest.mark.parametrize("sizes", [[2], (2, 3, 4)])
def test_batch_sizes_are_as_many_as_buckets(sizes: Any) -> None:
    words = (
        f"expected a batch size for each of the 2 buckets, or one number for all, got a list of {len(sizes)}"
    )
    with pytest.raises(ValueError, match=words):
        TOKENS.bucket_by_length("tok", boundaries=[10], batch_sizes=sizes)


MASKED = np.ma.MaskedArray([1, 2, 3], [0, 1, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: hr.from_arrays({"a": MASKED}),
        lambda: hr.from_arrays({"a": np.ma.MaskedArray(["x", "y"], [0, 1])}),
        lambda: hr.from_list([{"a": MASKED}]),
        lambda: RANGE.map(lambda x: {"a": MASKED}, python=True),
    ],
)
def test_masked_arrays_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match=r"got a masked array in field 'a'; use .filled"):
        call()


def test_keys_of_unique_are_their_bits() -> None:
    found = list(hr.from_arrays(np.array([0.0, -0.0, 0.0, np.nan, np.nan])).unique())
    assert str(found) == "[np.float64(0.0), np.float64(-0.0), np.float64(nan)]"


@pytest.mark.parametrize("text", ['{"a.jpg": 3,\n "b.jpg": 4}\n', '["a.jpg", "b.jpg"]'])
def test_json_is_no_list_of_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "labels.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"expected one line per image, got JSON; read_json_map\(\) reads"):
        hr.read_file_list(path)


def test_a_module_shows_what_it_is_for() -> None:
    assert dir(ops) == sorted(ops.__all__)
    assert dir(hr) == sorted(hr.__all__)
    assert not hasattr(PAIRS, "shape")


def test_states_that_are_no_list_of_all_ranks() -> None:
    def state(rank: int) -> Any:
        iteration = iter(hr.range(100).shard(rank, 4, steps=9).filter(lambda x: x >= 0).numpy())
        next(iteration)
        return iteration.state_dict()

    states = [state(rank) for rank in range(4)]
    with pytest.raises(ValueError, match="each once; got 2 states, none of rank 0, 2 of 4"):
        hr.merge_states([states[3], states[1]])
    with pytest.raises(ValueError, match="one of rank 1 of 4 twice"):
        hr.merge_states([states[1], states[1], states[2], states[3]])
    with pytest.raises(
        TypeError, match="expected a list of the states of all ranks, got a dict; one state needs no"
    ):
        hr.merge_states(states[0])
    with pytest.raises(TypeError, match=re.escape("got a dict; pass its values()")):
        hr.merge_states(dict(enumerate(states)))
    with pytest.raises(TypeError, match=re.escape("the dicts that state_dict() returned, got None at 0")):
        hr.merge_states([None] * 4)


def test_a_field_that_is_not_there() -> None:
    words = "the sample has no field 'img'; it has x"
    with pytest.raises(AttributeError, match=words):
        hr.from_arrays({"x": [1]}).map(lambda s: s.img)
    with pytest.raises(KeyError, match=words):
        hr.from_arrays({"x": [1]}).map(lambda s: s["img"])


def test_boxes_are_not_flipped_as_images():
    data = hr.from_arrays(
        {"image": np.zeros((2, 8, 9, 3), np.uint8), "boxes": np.zeros((2, 5, 4), np.float32)}
    )
    flipped = data.map(lambda s: tuple(ops.random_flip([s.image, s.boxes], p=1.0)))
    with pytest.raises(ValueError, match="random_flip: expected inputs of one height and width"):
        flipped[0]


@pytest.mark.parametrize("operator", [ops.random_flip, lambda i: ops.random_crop(i, size=4)])
def test_planes_are_not_taken_for_rows(operator):
    data = hr.from_arrays({"image": np.zeros((2, 3, 32, 48), np.float32)})
    with pytest.raises(ValueError, match=r"looks like \(C, H, W\); crop and flip before normalize"):
        data.map(lambda s: {"image": operator(s.image)})


def test_engine_fields_overwrite_none():
    with pytest.raises(ValueError, match="already has a field 'id'"):
        hr.from_arrays({"id": [7, 8]}).with_ids()
    with pytest.raises(AttributeError, match=r"no field 'id'.*with_ids\(\) adds it"):
        hr.from_arrays({"x": [7, 8]}).map(lambda s: {"id": s.id})


def test_an_on_error_in_the_wrong_place_is_noted():
    data = hr.from_arrays({"x": [1, 2]})
    assert "on_error is before a map" in data.on_error("skip").map(lambda s: {"x": s.x + 1}).explain()
    assert "on_error is before" not in data.map(lambda s: {"x": s.x + 1}).on_error("skip").explain()


def test_len_names_the_verb_after_which_it_is_not_known():
    numbers = hr.range(5)
    for dataset, said in (
        (numbers.filter(lambda x: x > 1).map(lambda x: x + 1), "the number of elements after filter"),
        (numbers.zip(numbers.take_while(lambda x: x < 3)), "the number of elements after take_while"),
        (hr.from_generator(lambda: iter([1])), "the number of samples of a generator"),
        (numbers.on_error("skip"), "the number of elements after on_error"),
        (numbers.repeat(), "it never ends"),
    ):
        with pytest.raises(TypeError, match=f"no exact length: {said}"):
            len(dataset)


def test_datasets_stand_in_a_list():
    for join in (hr.mix, hr.choose, hr.interleave):
        with pytest.raises(
            TypeError,
            match=rf"{join.__name__}: expected the datasets in a list, as in {join.__name__}\(\[a, b\]\)",
        ):
            join(hr.range(3), hr.range(4))


def test_a_misspelt_feature_is_said_with_the_names_there_are(tmp_path):
    path = tmp_path / "data.tfrecord"
    hr.from_list([{"label": 1, "weight": 0.5}] * 3).write(path)
    wrong = {"labels": hr.FixedLenFeature((), "i64")}
    parsed = hr.read(path).map(lambda s: ops.parse_example(s.record, features=wrong))
    said = 'the example has no feature \'labels\'; it has "label", "weight"'
    with pytest.raises(hr.CorruptSample, match=said):
        list(parsed)
    with pytest.warns(
        RuntimeWarning, match=r"skipped 3 samples, and there was no element; use on_error\(\"raise\"\)"
    ):
        assert list(parsed.on_error("skip")) == []


def test_what_a_generator_raises_ends_the_run_and_explain_says_so():
    def broken():
        yield 1
        raise ValueError("no more")

    data = hr.from_generator(broken)
    skipping = data.map(lambda x: x + 1).on_error("skip")
    assert "when the generator itself raises" in skipping.explain()
    assert "when the generator itself raises" not in data.map(lambda x: x + 1).explain()
    with pytest.raises(hr.HeadraceError, match="broken: ValueError: no more"):
        list(skipping)


def test_nan_may_stand_for_an_empty_field(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("a,b\n1,0.5\n2,\n")
    for value in (math.nan, math.inf, -math.inf, 2.5):
        rows = list(hr.read_csv(str(table), defaults={"b": value}))
        np.testing.assert_array_equal([row["b"] for row in rows], [0.5, value])


def test_lists_of_pythons_own_values_are_what_they_are_one_by_one() -> None:
    lists: list[list[Any]] = [
        [1, 2],
        [True, False],
        [0.5, 2.0],
        ["a", "bc"],
        [b"a", b""],
        [2**63, 2**63 + 1],
        [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
        [{"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"c": 3}}],
        [{"a": [1], "b": 0.5}, {"a": [2], "b": 1.5}],
    ]
    for items in lists:
        slow = hr.from_list([Own(item) if isinstance(item, dict) else np.asarray(item) for item in items])
        fast = hr.from_list(items)
        assert str(fast.schema) == str(slow.schema)
        assert [str(x) for x in fast] == [str(x) for x in slow]
    assert [float(x) for x in hr.from_list([1, 2.5])] == [1, 2.5]
    for mixed in ([{"a": 1}, {"b": 1}], [{"a": 1}, {"a": 1, "b": 2}]):
        with pytest.raises((ValueError, hr.HeadraceError)):
            list(hr.from_list(mixed))


class Own(dict[str, Any]):
    """A dict that is none of Python's own."""


def test_rows_of_several_shapes_are_said_to_be_that() -> None:
    data = hr.from_list([np.arange(n) for n in (1, 2, 3)]).batch(3, ragged=True)
    with pytest.raises(
        (ValueError, hr.HeadraceError), match="rows of different shapes; return values and row_splits"
    ):
        list(data.map(lambda b: b, python=True))


@pytest.mark.parametrize("options", [{"workers": 100_000}, {"io": 10**9}])
def test_more_threads_than_anybody_means_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be at most 4096, got 10"):
        hr.range(10).options(**options).numpy()


def test_a_field_that_has_the_name_of_a_method_of_dict_is_taken_as_an_item() -> None:
    ds = hr.from_arrays({"tags": {"values": [1.0, 2.0], "items": [1, 2]}})
    assert [float(s["v"]) for s in ds.map(lambda s: {"v": s.tags["values"] + 1})] == [2, 3]
    told = r"the dict method .values\(\), which hides the field; use \['values'\]"
    with pytest.raises(TypeError, match=told + " in field 'v'"):
        list(ds.map(lambda s: {"v": s.tags.values}))
    with pytest.raises(TypeError, match="cast: expected a field, got " + told):
        ds.map(lambda s: {"v": ops.cast(s.tags.values, dtype="f64")})
