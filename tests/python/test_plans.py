import hashlib
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import headrace as hr
from headrace import ops

from .pictures import picture


def digest(dataset, epochs: int = 3) -> str:
    """SHA-256 of the leaves of the first epochs."""
    sha = hashlib.sha256()
    loader = dataset.numpy()
    for _ in range(epochs):
        for element in loader:
            for leaf in element.values() if isinstance(element, dict) else [element]:
                sha.update(str(leaf.shape).encode() + leaf.dtype.str.encode() + leaf.tobytes())
    return sha.hexdigest()


def generated():
    return hr.from_arrays({"image": np.stack([picture(i) for i in range(10)]), "label": np.arange(10)})


def augmented(dataset):
    def augment(s):
        image = ops.random_flip(ops.random_crop(s.image, size=(16, 20)), p=0.5)
        return {"image": ops.add(image, value=3), "label": s.label}

    return dataset.shuffle(seed=5).map(augment).batch(4).options(seed=11)


GOLDEN = "4c041e556d88f1383d6865b184517872c665f50b0b383a85849338283ee76284"


def test_the_golden_hash_holds_however_it_runs():
    ds = augmented(generated())
    assert digest(ds) == GOLDEN
    for options in ({"workers": 1}, {"workers": 4, "ready": 8}, {"rewrites": False}, {"ready": 1}):
        assert digest(ds.options(**options)) == GOLDEN, options


def test_the_golden_hash_holds_in_a_new_process():
    code = "from python import test_plans as t; print(t.digest(t.augmented(t.generated())))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=__file__.rsplit("/", 2)[0],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == GOLDEN


def test_a_plan_goes_to_json_and_back_with_the_same_hash(photos, tmp_path):
    ds = hr.read(photos).shuffle(seed=2).map(
        lambda s: {"image": ops.random_crop(ops.decode_image(s.image), size=16), "label": s.label}
    ).batch(5).options(seed=4)  # fmt: skip
    ds.save_plan(tmp_path / "plan.json")
    again = hr.load_plan(tmp_path / "plan.json")
    assert again.plan() == ds.plan() == (tmp_path / "plan.json").read_text()
    assert again.fingerprint() == ds.fingerprint()
    assert digest(again) == digest(ds)
    assert json.loads(ds.plan())["headrace"] == 1 and '"match": "fast"' in ds.plan()
    state = ds.numpy().state_dict()
    again.numpy().load_state_dict(state)


def test_functions_and_arrays_are_slots_that_want_to_be_bound(tmp_path):
    def double(s):
        return s["x"] * 2

    data = {"x": np.arange(5)}
    ds = hr.from_arrays(data).map(double, python=True)
    ds.save_plan(tmp_path / "plan.json")
    with pytest.raises(ValueError, match="slot 'arrays' is not bound"):
        hr.load_plan(tmp_path / "plan.json")
    with pytest.raises(ValueError, match="slot 'map_0' is not bound"):
        hr.load_plan(tmp_path / "plan.json", bind={"arrays": data})
    again = hr.load_plan(tmp_path / "plan.json", bind={"arrays": data, "map_0": double})
    assert [int(x) for x in again] == [0, 2, 4, 6, 8] and again.plan() == ds.plan()


def plain(ds):
    return [int(x) for x in ds]


def test_branches_that_bind_different_things_under_one_name_can_be_saved(tmp_path):
    ds = hr.range(3)
    up = ds.map(lambda x: x + 1, python=True)
    one = np.arange(5)
    for both, names in (
        (up.concatenate(ds.map(lambda x: x + 2, python=True)), ["map_0", "map_0#2"]),
        (up.concatenate(up), ["map_0"]),
        (ds.sort_by([3, 1, 2]).concatenate(ds.sort_by([1, 2, 0]).sort_by([2, 1, 0])), ["keys", "keys#2", "keys#3"]),
        (hr.from_arrays(one).concatenate(hr.from_arrays(one + 5)).concatenate(hr.from_arrays(one)), ["arrays", "arrays#2"]),
        (hr.choose([ds.sample([1.0, 0, 1]), ds.sample([0, 1.0, 0])], [0, 1, 0]), ["weights", "weights#2", "choices"]),
    ):  # fmt: skip
        both.save_plan(tmp_path / "plan.json")
        assert sorted(both.slots) == sorted(names)
        again = hr.load_plan(tmp_path / "plan.json", bind=both.slots)
        assert plain(again) == plain(both) and again.fingerprint() == both.fingerprint()
        assert again.plan() == both.plan() and again.slots.keys() == both.slots.keys()
        longer = again.concatenate(hr.range(3).map(lambda x: x + 3, python=True))  # clashes once more
        longer.save_plan(tmp_path / "longer.json")
        assert plain(hr.load_plan(tmp_path / "longer.json", bind=longer.slots)) == plain(longer)


def test_hostile_plans_are_errors(tmp_path):
    path = tmp_path / "plan.json"
    for text in ("", "[]", "{}", '{"headrace": 1}', '{"headrace": 9, "plan": {}}', '{"headrace": 1, "seed": 0, "plan": {"verb": "explode"}}',
                 '{"headrace": 1, "seed": 0, "plan": {"verb": "batch", "size": -1, "input": {"verb": "read", "source": {"format": "range"}}}}',
                 "[" * 5000):  # fmt: skip
        path.write_text(text)
        with pytest.raises(ValueError):
            hr.load_plan(path)


def refusal(call) -> str:
    with pytest.raises(ValueError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("source", [hr.from_arrays, hr.from_dataset])
def test_columns_are_bound_by_name(tmp_path, source):
    def rows(data):
        if source is hr.from_arrays:
            return data
        keys = list(data) if isinstance(data, dict) else None
        columns = list(data.values()) if keys else data
        return [dict(zip(keys, row, strict=True)) if keys else row for row in zip(*columns, strict=True)]

    a, b = np.arange(4) * 0.5, np.arange(4)
    ds = source(rows({"qty": b, "price": a}), slot="t")
    ds.save_plan(tmp_path / "plan.json")
    load = lambda data: hr.load_plan(tmp_path / "plan.json", bind={"t": rows(data)})  # noqa: E731
    for data in ({"qty": b, "price": a}, {"price": a, "qty": b}):
        again = load(data)
        assert again.plan() == ds.plan() and [dict(x) for x in again] == [dict(x) for x in ds]
        assert again.fingerprint() == ds.fingerprint()
    assert len(load({"price": a[:2], "qty": b[:2]})) == 2
    wanted = "'t': expected qty: int64 (), price: float64 () per row, got "
    for data, got in (
        ({"qty": a, "price": b}, "qty: float64 (), price: int64 ()"),
        ({"qty": b, "cost": a}, "qty: int64 (), cost: float64 ()"),
        ((b, a), "0: int64 (), 1: float64 ()"),
        ({"qty": b.astype(np.int32), "price": a}, "qty: int32 (), price: float64 ()"),
        ({"qty": b.reshape(4, 1), "price": a}, "qty: int64 ("),
        ({"qty": b}, "qty: int64 ()"),
    ):
        assert wanted + got in refusal(lambda data=data: load(data))
    said = refusal(lambda: hr.load_plan(tmp_path / "plan.json", bind={"s": 1}))
    assert said == "plan: bind= has 's', but the plan has no such slot; its slots are 't'"


def test_plans_that_say_nothing_of_their_slots_are_bound_as_ever(tmp_path):
    old = '{"headrace":1,"seed":0,"plan":{"verb":"read","source":{"format":"arrays","slot":"arrays"}}}'
    (tmp_path / "plan.json").write_text(old)
    assert plain(hr.load_plan(tmp_path / "plan.json", bind={"arrays": [1, 2]})) == [1, 2]
    assert "'arrays' is not bound; pass bind=" in refusal(lambda: hr.load_plan(tmp_path / "plan.json"))


def test_what_verbs_take_can_be_bound_to_them(tmp_path):
    path = tmp_path / "plan.json"
    hr.range(4).sort_by([3, 1, 2, 0]).save_plan(path)
    big = 2**60 + np.array([3, 1, 2, 0])
    days = np.array(["2024-01-04", "2024-01-02", "2024-01-03", "2024-01-01"], "datetime64[D]")
    for keys in ([3, 1, 2, 0], np.array([3, 1, 2, 0], np.int8), np.array([3, 1, 2, 0], ">f2"), big, big.astype("u8"),
                 ["d", "b", "c", "a"], [b"d", b"b", b"c", b"a"], np.array(["d", "b", "c", "a"]), days):  # fmt: skip
        assert (
            plain(hr.load_plan(path, bind={"keys": keys})) == plain(hr.range(4).sort_by(keys)) == [3, 1, 2, 0]
        )
    assert "expected keys in memory, one number each" in refusal(
        lambda: hr.load_plan(path, bind={"keys": np.eye(4)})
    )
    hr.range(3).sample([1.0, 0, 2]).save_plan(path)
    ints = hr.range(3).sample([1, 0, 2])
    for weights in ([1, 0, 2], np.array([1, 0, 2], np.float32), np.array([2**60, 0, 2**61])):
        again = hr.load_plan(path, bind={"weights": weights})
        assert plain(again) == plain(ints) == plain(hr.range(3).sample(weights))
    hr.choose([hr.range(3), hr.range(10, 13)], [0, 1, 1]).save_plan(path)
    assert plain(hr.load_plan(path, bind={"choices": np.array([1, 0, 1], np.int32)})) == [10, 0, 11]
    assert "one integer each" in refusal(lambda: hr.load_plan(path, bind={"choices": [0.5, 1.0]}))


READ = {"verb": "read", "source": {"format": "range", "start": 0, "stop": 4, "step": 1}}


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"verb": "batch", "size": 2, "drop_lst": True, "input": READ},
         "plan: batch has no member 'drop_lst'; its members are: size, drop_last, ragged, padding"),
        ({"verb": "batch", "input": READ}, "plan: batch: 'size' is missing"),
        ({"verb": "batch", "size": "2", "input": READ}, "plan: batch: size must be a whole number of at least 0, got \"2\""),
        ({"verb": "take", "count": -1, "input": READ}, "plan: take: count must be a whole number of at least 0, got -1"),
        ({"verb": "unbatch", "size": 1, "input": READ}, "plan: unbatch has no member 'size'"),
        ({"verb": "map", "program": {"inputs": [0], "steps": [{"op": "cast", "in": [0], "parameters": {}}], "outputs": [1],
                                     "names": ["value"], "structure": "0"}, "input": READ},
         "plan: the step cast has no member 'parameters'; its members are: op, in, params, bound"),
    ],
)  # fmt: skip
def test_slips_in_plans_are_named(tmp_path, plan, said):
    (tmp_path / "plan.json").write_text(json.dumps({"headrace": 1, "seed": 0, "plan": plan}))
    assert said in refusal(lambda: hr.load_plan(tmp_path / "plan.json"))


@pytest.mark.parametrize(
    "wants",
    [{"names": ["x"]}, {"names": ["x"], "specs": []}, {"names": [1], "specs": [["f32", []]]},
     {"names": ["x"], "specs": [["f32", [-1]]], "structure": "0"}, {"names": ["x"], "specs": [["f32", [1] * 9]], "structure": "0"},
     {"names": ["x"], "specs": [["f32", []]], "structure": "{}"}, {"names": ["x"], "specs": [["f32", []]], "structure": "[0,0]"},
     {"names": ["x", "x"], "specs": [["f32", []], ["f32", []]], "structure": "[0,1]"}, {"names": ["x"], "specs": [["f99", []]]}],
)  # fmt: skip
def test_what_no_slot_can_want_is_refused(tmp_path, wants):
    source = {"format": "arrays", "slot": "a", **wants}
    (tmp_path / "plan.json").write_text(
        json.dumps({"headrace": 1, "seed": 0, "plan": {"verb": "read", "source": source}})
    )
    said = refusal(lambda: hr.load_plan(tmp_path / "plan.json", bind={"a": {"x": np.zeros(3, np.float32)}}))
    assert "slot 'a'" not in said


def plus_one(x):
    return x + 1


def test_a_dataset_can_be_pickled():
    ds = (
        hr.from_arrays(np.arange(6))
        .map(plus_one, python=True)
        .shuffle(seed=1)
        .batch(4)
        .options(workers=1, rewrites=False)
    )
    again = pickle.loads(pickle.dumps(ds))
    assert digest(again) == digest(ds) and again._options == ds._options


def test_the_package_says_what_there_is():
    assert {"image_folder", "range", "arrays"} <= {row["name"] for row in hr.formats()}
    assert {"decode_image", "random_crop"} <= {row["name"] for row in hr.operators()}
    assert set(ops.__all__) == {row["name"] for row in hr.operators()}
    assert hr.IMAGENET_MEAN == (0.485, 0.456, 0.406) and isinstance(hr.__version__, str)


def test_importing_takes_numpy_and_nothing_large():
    code = "import sys, headrace; print([m for m in ('torch', 'PIL', 'pandas', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


WRONG = {
    "a whole number of at least 0": ["a", -1, 1.5, True, [1]],
    "a whole number from 0 to 2^32 - 1": ["a", -1, 1.5, 2**32],
    "a whole number": ["a", 1.5, True],
    "true or false": ["a", 1, "true"],
    "a string": [1, ["a"]],
}
RIGHT = {"a string": "", "true or false": False, "a program": {"inputs": [0], "steps": [], "outputs": [0], "names": ["value"], "structure": "0"},
         "a source": READ["source"]}  # fmt: skip


def right_value(kind):
    """A value of this type of member."""
    if kind.startswith('"'):
        return kind.split('"')[1]
    return [] if kind.startswith("a list") else RIGHT.get(kind, 1)


def wrong_values():
    """A value that does not fit, for each member of each verb whose values are numbers, flags, strings or words."""
    return [
        pytest.param(verb, member["name"], value, id=f"{verb['name']}-{member['name']}-{value!r}")
        for verb in hr._core.verb_table()
        for member in verb["members"]
        for value in (
            ["none of them", 1] if member["type"].startswith('"') else WRONG.get(member["type"], [])
        )
    ]


@pytest.mark.parametrize(("verb", "name", "value"), wrong_values())
def test_a_value_that_does_not_fit_is_refused_by_verb_and_member(tmp_path, verb, name, value):
    plan = {"verb": verb["name"], "inputs": [READ]}
    plan |= {m["name"]: right_value(m["type"]) for m in verb["members"] if m["required"]}
    plan[name] = value
    (tmp_path / "plan.json").write_text(json.dumps({"headrace": 1, "seed": 0, "plan": plan}))
    assert refusal(lambda: hr.load_plan(tmp_path / "plan.json")).startswith(
        f"plan: {verb['name']}: {name} must be "
    )


def test_every_verb_of_a_plan_is_described():
    table = hr._core.verb_table()
    assert len(table) == 31
    for verb in table:
        assert verb["doc"].endswith(".")
        assert all(member["doc"].endswith(".") and member["type"] for member in verb["members"])
