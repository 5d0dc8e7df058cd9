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
    for text in ("", "[]", "{}", '{"headrace": 1}', '{"headrace": 9, "plan": {}}', '{"headrace": 1, "plan": {"verb": "explode"}}',
                 '{"headrace": 1, "plan": {"verb": "batch", "size": -1, "input": {"verb": "read", "source": {"format": "range"}}}}',
                 "[" * 5000):  # fmt: skip
        path.write_text(text)
        with pytest.raises(ValueError):
            hr.load_plan(path)


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
