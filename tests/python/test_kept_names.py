"""Plans, states, manifests and fingerprints keep the short names of dtypes: what was saved by 0.1 is still valid."""

import json

import numpy as np

import headrace as hr
from headrace import ops

ARRAYS = {"x": np.arange(6, dtype=np.float32).reshape(3, 2), "n": np.arange(3, dtype=np.uint8)}


def arrays() -> hr.Dataset:
    given = hr.from_arrays({**ARRAYS, "t": ["a", "bc", "d"]})

    def cast(s):
        return {"x": ops.cast(s.x, dtype="bfloat16"), "n": ops.cast(s.n, dtype=np.int32), "t": s.t}

    return given.map(cast).shuffle(seed=3).batch(2)


def numbers() -> hr.Dataset:
    return hr.range(100).map(lambda x: ops.cast(x, dtype="float64")).filter(lambda x: x < 50).batch(8)


def test_fingerprints_are_those_of_0_1_and_states_have_names() -> None:
    assert arrays().fingerprint() == "d8addaff03925702-8c7d984c564454f2"
    assert numbers().fingerprint() == "888ae79d8403f356-96d8a54526f5a34a"
    loader = iter(numbers().numpy())
    next(loader)
    assert json.dumps(loader.state_dict()) == (
        '{"version": 2, "fingerprint": "888ae79d8403f356-96d8a54526f5a34a", "epoch": 0, "delivered": 1, '
        '"streams": {"verb": "position", "version": 1, "position": 8}, '
        '"check": "993b92c417f7f2b7"}'
    )


def test_plans_have_short_names_and_take_both(tmp_path) -> None:
    plan = json.loads(arrays().plan())["plan"]
    mapped = plan["input"]["input"]
    assert [step["params"] for step in mapped["program"]["steps"]] == [{"dtype": "bf16"}, {"dtype": "i32"}]
    assert mapped["input"]["source"]["specs"] == [["f32", [2]], ["u8", []], ["str", [None]]]
    text = numbers().plan()
    (tmp_path / "plan.json").write_text(text.replace('"f64"', '"float64"'))
    again = hr.load_plan(tmp_path / "plan.json")
    assert again.plan() == text and again.fingerprint() == numbers().fingerprint()


def test_manifests_have_short_names(tmp_path) -> None:
    hr.from_arrays(ARRAYS).write(tmp_path / "out.arrow")
    manifest = json.loads((tmp_path / "out.arrow.headrace.json").read_text())
    assert [field["dtype"] for field in manifest["schema"]["fields"]] == ["f32", "u8"]


def test_people_see_numpys_names() -> None:
    assert arrays().schema["n"].dtype == np.int32 and isinstance(arrays().schema["n"].dtype, np.dtype)
    shown = repr(arrays()) + arrays().explain()
    assert "float32 (2)" in shown and "int32" in shown and 'dtype="bfloat16"' in shown
    assert not [name for name in (" f32", " i32", '"f32"', '"bf16"', '"i32"') if name in shown]
