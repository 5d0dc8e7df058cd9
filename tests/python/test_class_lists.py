"""Class lists that differ: data sets that are joined, and files of one data set."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops

JOINS: dict[str, Any] = {
    "verb": lambda a, b, **align: a.concatenate(b, **align),
    "concatenate": lambda a, b, **align: hr.concatenate([a, b], **align),
    "mix": lambda a, b, **align: hr.mix([a, b], stop="all_exhausted", **align),
    "choose": lambda a, b, **align: hr.choose([a, b], [0, 1, 0, 1, 1], **align),
    "interleave": lambda a, b, **align: hr.interleave([a, b], **align),
}


def folder(path: Path, *classes: str) -> Any:
    for name in classes:
        (path / name).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(path / name / "1.jpg")
    return hr.read(path)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Any, Any]:
    return folder(tmp_path / "a", "cat", "dog"), folder(tmp_path / "b", "ant", "cat", "dog")


def names(data: Any) -> list[str]:
    return [data.metadata["classes"][int(sample["label"])] for sample in data]


@pytest.mark.parametrize("join", JOINS)
def test_labels_of_other_classes_are_not_joined(pair: tuple[Any, Any], join: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"field 'label' has different classes: 0 is 'cat' in one dataset .*align_labels=True",
    ):
        JOINS[join](*pair)


@pytest.mark.parametrize("join", JOINS)
def test_labels_are_mapped_by_name_where_asked(pair: tuple[Any, Any], join: str) -> None:
    data = JOINS[join](*pair, align_labels=True)
    assert data.metadata["classes"] == ["cat", "dog", "ant"]
    assert sorted(names(data)) == ["ant", "cat", "cat", "dog", "dog"]


def test_a_dataset_that_agrees_is_not_changed(pair: tuple[Any, Any]) -> None:
    a, b = pair
    assert hr.concatenate([a, a], align_labels=True).plan() == hr.concatenate([a, a]).plan()
    assert hr.concatenate([a, a]).metadata == a.metadata == {"classes": ["cat", "dog"]}
    assert b.metadata["classes"] == ["ant", "cat", "dog"]


def test_three_datasets_and_verbs_between(pair: tuple[Any, Any], tmp_path: Path) -> None:
    third = (
        folder(tmp_path / "c", "eel", "dog")
        .shuffle(seed=1)
        .map(lambda s: {"image": s.image, "label": s.label})
    )
    data = hr.mix([pair[1], pair[0], third], stop="all_exhausted", align_labels=True)
    assert data.metadata["classes"] == ["ant", "cat", "dog", "eel"]
    assert sorted(names(data)) == ["ant", "cat", "cat", "dog", "dog", "dog", "eel"]
    batches = [batch["label"].tolist() for batch in data.map(lambda s: {"label": s.label}).batch(3).numpy()]
    assert sorted(label for batch in batches for label in batch) == [0, 1, 1, 2, 2, 2, 3]


def test_of_lists_that_continue_each_other_the_longest_holds(tmp_path: Path) -> None:
    a, b = folder(tmp_path / "a", "cat"), folder(tmp_path / "b", "cat", "dog")
    for data in (a.concatenate(b), b.concatenate(a)):
        assert data.metadata["classes"] == ["cat", "dog"]
        assert sorted(names(data)) == ["cat", "cat", "dog"]


def test_a_dataset_without_classes_is_warned_of(pair: tuple[Any, Any]) -> None:
    plain = hr.from_arrays({"image": [b"x"], "label": np.array([5])})
    with pytest.warns(
        UserWarning, match="field 'label' has 2 classes .*'cat', 'dog'.* no list of classes in another"
    ):
        data = pair[0].concatenate(plain)
    assert "classes" not in data.metadata
    assert "no list of classes" in data.explain()
    with pytest.raises(ValueError, match="has a list of classes in some datasets, but not in dataset 1"):
        pair[0].concatenate(plain, align_labels=True)


def test_a_label_that_is_mapped_or_left_out_says_nothing(pair: tuple[Any, Any]) -> None:
    a, b = (data.map(lambda s: {"image": s.image}) for data in pair)
    assert len(a.concatenate(b)) == 5
    a, b = (data.map(lambda s: {"label": own_number(s.label)}) for data in pair)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = a.concatenate(b)
    assert "classes" not in data.metadata


def own_number(label: Any) -> Any:
    """Return a number that only the user knows the meaning of."""
    return np.int64(label * 2)


# What an operator needs to take class numbers.
PARAMS: dict[str, dict[str, Any]] = {
    "cast": {"dtype": "int32"},
    "one_hot": {"depth": 3},
    "relabel": {"numbers": [2, 1, 0]},
    "reshape": {"shape": [1]},
    "accept_class": {"target": [0.5, 0.5], "initial": [0.5, 0.5]},
}
NOT_OF_CLASSES = {"length", "constant"}


def labels_of(data: Any, operator: dict[str, Any]) -> Any:
    """Return the data with its labels as this operator makes them; None where it does not take them."""
    params = {
        one["name"]: 3 for one in operator["params"] if one["required"] and one["name"] == "value"
    } | PARAMS.get(operator["name"], {})
    function = getattr(ops, operator["name"], None)
    if function is None or operator["name"] in NOT_OF_CLASSES:
        return None
    try:
        return data.map(lambda s: {"y": function(*[s.label] * len(operator["inputs"]), **params)})
    except (TypeError, ValueError):
        return None


def test_no_operator_hides_that_classes_differ(pair: tuple[Any, Any]) -> None:
    said = {}
    for operator in hr.operators():
        made = [labels_of(data, operator) for data in pair]
        if None in made:
            continue
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                made[0].concatenate(made[1])
            said[operator["name"]] = " ".join(str(one.message) for one in caught)
        except ValueError as error:
            said[operator["name"]] = str(error)
        assert "class" in said[operator["name"]], operator["name"]
    assert {"add", "cast", "equal", "one_hot", "relabel", "reshape", "subtract_from"} <= said.keys()
    for name in ("cast", "reshape"):
        assert "has different classes" in said[name]
    assert "is one-hot codes of 2 classes" in said["one_hot"]


def test_labels_that_were_cast_are_mapped_by_name(pair: tuple[Any, Any]) -> None:
    a, b = (data.map(lambda s: {"y": ops.cast(s.label, dtype="int32")}) for data in pair)
    data = a.concatenate(b, align_labels=True)
    assert [int(sample["y"]) for sample in data] == [0, 1, 2, 0, 1]


def test_zip_has_the_classes_of_each_field(pair: tuple[Any, Any]) -> None:
    data = hr.zip({"x": pair[0], "y": pair[1]})
    assert data.metadata["classes_of"] == {"x/label": ["cat", "dog"], "y/label": ["ant", "cat", "dog"]}
    assert "classes" not in data.metadata
    assert hr.zip(pair[0], pair[0]).metadata["classes"] == ["cat", "dog"]


def test_relabel_by_hand_is_known_to_metadata(pair: tuple[Any, Any], tmp_path: Path) -> None:
    data = pair[1].map(
        lambda s: {"label": ops.relabel(s.label, numbers=[2, 0, 1], classes=["cat", "dog", "ant"])}
    )
    assert data.metadata["classes"] == ["cat", "dog", "ant"]
    assert names(data) == ["ant", "cat", "dog"]
    data.save_plan(tmp_path / "plan.json")
    assert hr.load_plan(tmp_path / "plan.json").metadata["classes"] == ["cat", "dog", "ant"]


def test_units_of_joined_datasets(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for unit in ("us", "ns"):
        parquet.write_table(pa.table({"t": pa.array([7], pa.timestamp(unit))}), tmp_path / f"{unit}.parquet")
    parquet.write_table(pa.table({"t": pa.array([7], pa.int64())}), tmp_path / "plain.parquet")
    us, ns, plain = (hr.read(tmp_path / f"{name}.parquet") for name in ("us", "ns", "plain"))
    for join in JOINS.values():
        with pytest.raises(
            ValueError,
            match=r"'t' is timestamp\[us\] in one dataset, timestamp\[ns\] in another; map the first one first: 1000 times",
        ):
            join(us, ns)
    data = us.map(lambda s: {"t": s.t * 1000}).concatenate(ns)
    assert [int(sample["t"]) for sample in data] == [7000, 7]
    with pytest.warns(
        UserWarning, match=r"'t' is timestamp\[us\] in one dataset, and a plain number in another"
    ):
        data = us.concatenate(plain)
    assert "types" not in data.metadata
    assert us.concatenate(us).metadata["types"] == {"t": "timestamp[us]"}


def hub_file(path: Path, classes: list[str], labels: list[int], kind: str, field: str = "label") -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    features = {field: {"_type": "ClassLabel", "names": classes}}
    table = pa.table({field: pa.array(labels, pa.int64())}).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )
    if kind == "parquet":
        parquet.write_table(table, path)
        return
    with (
        pa.OSFile(str(path), "wb") as file,
        (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(file, table.schema) as out,
    ):
        out.write_table(table)


@pytest.mark.parametrize("field", ["label", "mood"])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
def test_files_of_the_hub_whose_class_labels_differ(tmp_path: Path, kind: str, field: str) -> None:
    hub_file(tmp_path / f"0.{kind}", ["cat", "dog"], [0, 1], kind, field)
    hub_file(tmp_path / f"1.{kind}", ["ant", "dog", "cat"], [0, 1, 2, -1], kind, field)
    with pytest.raises(
        ValueError, match=rf"1\.{kind}': expected that class 0 is 'cat' as in .*0\.{kind}.*align_labels=True"
    ):
        hr.read(tmp_path)
    data = hr.read(tmp_path, align_labels=True)
    assert data.metadata["classes"] == ["cat", "dog", "ant"]
    assert [int(sample[field]) for sample in data] == [0, 1, 2, 1, 0, -1]
    assert [int(x) for batch in data.map(lambda s: s[field]).batch(4).numpy() for x in batch] == [
        0,
        1,
        2,
        1,
        0,
        -1,
    ]


@pytest.mark.parametrize("ending", ["arrow", "parquet", "h5", "zarr"])
def test_files_that_were_written_with_other_classes(tmp_path: Path, ending: str) -> None:
    for i, classes in enumerate((["a", "b"], ["b", "a"])):
        data = folder(tmp_path / f"in{i}", *classes)
        assert data.metadata["classes"] == ["a", "b"]
        other = data.map(lambda s: {"label": ops.relabel(s.label, numbers=[1, 0], classes=["b", "a"])})
        (other if i else data.map(lambda s: {"label": s.label})).write(str(tmp_path / f"{i}.{ending}"))
    paths = [str(tmp_path / f"{i}.{ending}") for i in range(2)]
    read: Any = tmp_path / "all" if ending == "zarr" else paths
    if ending == "zarr":
        (tmp_path / "all").mkdir()
        for i, path in enumerate(paths):
            Path(path).rename(tmp_path / "all" / f"{i}.zarr")
    with pytest.raises(ValueError, match="expected that class 0 is 'a'"):
        hr.read(read)
    data = hr.read(read, align_labels=True)
    assert data.metadata["classes"] == ["a", "b"]
    assert [int(sample["label"]) for sample in data] == [0, 1, 0, 1]


@pytest.mark.filterwarnings("ignore")
def test_a_dataset_without_classes_hides_no_difference(pair: tuple[Any, Any]) -> None:
    """Between two that differ, and in joins of joins."""
    first, second = pair
    plain = first.map(lambda s: {"image": s["image"], "label": np.int64(0)}, python=True)
    with pytest.raises(ValueError, match="has different classes"):
        first.concatenate(plain).concatenate(second)
    with pytest.raises(ValueError, match="has different classes"):
        first.concatenate(plain).shuffle(seed=1).concatenate(plain.concatenate(second))
    doubled = first
    for _ in range(30):
        doubled = doubled.concatenate(doubled)
    assert len(doubled) == len(first) * 2**30
