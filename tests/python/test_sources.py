import ast
import builtins
import inspect

import numpy as np
import pytest

import headrace as hr
from headrace import readers


def test_range_is_pythons_range():
    assert [int(x) for x in hr.range(3, 20, 5)] == list(range(3, 20, 5))
    assert [int(x) for x in hr.range(4)] == [0, 1, 2, 3]
    assert len(hr.range(10, 0, -3)) == 4


def test_arrays_of_any_nesting_come_back_as_they_were_nested():
    data = {"x": np.arange(6.0).reshape(3, 2), "more": ([1, 2, 3], [b"a", b"", b"ccc"]), "t": ["ä", "b", "c"]}
    ds = hr.from_arrays(data)
    assert len(ds) == 3
    one = ds[2]
    assert one["x"].tolist() == [4, 5]
    assert one["more"] == (3, b"ccc")
    assert ds[0]["t"] == "ä"
    (batch,) = ds.batch(3)
    assert batch["more"][0].tolist() == [1, 2, 3] and batch["more"][1] == [b"a", b"", b"ccc"]
    assert batch["x"].tolist() == data["x"].tolist()


@pytest.mark.parametrize(
    "dtype", ["bool", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", ">i4", ">f8"]
)
def test_dtypes_go_there_and_back(dtype):
    data = np.array([[0, 1], [2, 3], [1, 0]]).astype(dtype)
    (batch,) = hr.from_arrays(data).batch(3)
    assert batch.tolist() == data.tolist() and batch.dtype == data.dtype.newbyteorder("=")


def test_arrays_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="columns of the same length, got 'a' with 2 rows and 'b' with 3"):
        hr.from_arrays({"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(TypeError, match="complex"):
        hr.from_arrays(np.zeros(3, complex))


def test_arrays_handed_out_are_the_consumers_own_and_shared_ones_are_read_only():
    data = np.arange(6).reshape(3, 2)
    (batch,) = hr.from_arrays(data).batch(3)
    assert batch.flags.writeable and not np.shares_memory(batch, data)
    large = np.arange(6000).reshape(3, 2000)
    items = hr.from_dataset([large, large])
    assert not items[1].flags.writeable and np.shares_memory(items[1], large)


class Squares:
    def __len__(self):
        return 5

    def __getitem__(self, i):
        if i == 3:
            raise KeyError("no three")
        return {"n": i, "square": np.full((i + 1,), i * i)}


def test_a_python_sequence_is_a_dataset():
    ds = hr.from_dataset(Squares())
    assert ds.schema["square"] == hr.FieldSpec("i64", (None,))
    assert ds[2]["square"].tolist() == [4, 4, 4]
    assert [int(x["n"]) for x in ds.take(3).numpy()] == [0, 1, 2]
    with pytest.raises(hr.HeadraceError, match=r"KeyError: 'no three'.*sample 3") as caught:
        ds[3]
    assert isinstance(caught.value.__cause__, KeyError)
    assert [int(x["n"]) for x in ds.on_error("skip")] == [0, 1, 2, 4]
    assert [int(x["n"]) for x in ds.on_error("replace")] == [0, 1, 2, 4, 4]


def test_a_list_is_a_dataset():
    assert [str(x) for x in hr.from_dataset(["a", "b"])] == ["a", "b"]
    with pytest.raises(ValueError, match="at least one item"):
        hr.from_dataset([])


def test_read_recognises_a_folder_of_classes(photos):
    ds = hr.read(photos)
    assert len(ds) == 12
    assert [int(s["label"]) for s in ds] == [0] * 6 + [1] * 6
    assert ds[0]["image"][:2] == b"\xff\xd8"
    assert ds.metadata["classes"] == ["cat", "dog"]
    assert len(hr.read_image_folder(photos)) == len(hr.read(photos, format="image_folder")) == 12


def test_read_names_what_it_does_not_know(photos, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        hr.read(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no format named 'tar'"):
        hr.read(photos, format="tar")
    with pytest.raises(ValueError, match="no option 'colour'"):
        hr.read(photos, colour="red")


def test_every_format_with_a_path_has_a_documented_reader():
    for row in hr.formats():
        if row["made"]:
            continue
        reader = getattr(readers, f"read_{row['name']}")
        assert getattr(hr, reader.__name__) is reader and reader.__name__ in hr.__all__
        options = {option["name"]: option for option in [*row["options"], *row["split"], *row["common"]]}
        _, *arguments = inspect.signature(reader).parameters.values()
        assert [argument.name for argument in arguments] == list(options)
        for argument in arguments:
            assert argument.kind is argument.KEYWORD_ONLY
            assert (argument.default is argument.empty) == options[argument.name]["required"]
        assert row["fields"] and (row["path"] or row["takes_files"]), reader.__name__
        for error, _ in row["raises"]:
            assert hasattr(hr, error) or hasattr(builtins, error)
        calls = [node for node in ast.walk(ast.parse(row["example"])) if isinstance(node, ast.Call)]
        (call,) = (node for node in calls if ast.unparse(node.func) == f"hr.{reader.__name__}")
        assert {word.arg for word in call.keywords} <= options.keys()


def test_readers_take_paths_and_numbers_that_json_lacks(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,\n,2.5\n")
    ds = hr.read_csv(tmp_path / "x.csv", defaults={"a": 7, "b": float("nan")})
    assert [int(s["a"]) for s in ds] == [1, 7] and np.isnan(ds[0]["b"])
    (tmp_path / "list.txt").write_text("x.png 3\n")
    listed = hr.read_file_list(tmp_path / "list.txt", root=tmp_path, key=False)
    assert list(listed.schema) == ["image", "label"] and '"key"' not in listed.plan()


def test_columns_of_a_data_frame_are_fields():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "x": [1, 2, 3],
            "y": np.float32([0.5, 1.5, 2.5]),
            "even": [False, True, False],
            "name": ["a", "bc", ""],
            "object": np.array(["a", "b", "c"], object),
            "nullable": pandas.array([4, 5, 6], dtype="Int64"),
            "kind": pandas.Categorical(["u", "v", "u"]),
        },
        index=[7, 8, 9],
    )
    ds = hr.from_arrays(frame)
    assert {name: ds.schema[name].dtype for name in ("x", "y", "even", "name")} == {
        "x": "int64",
        "y": "float32",
        "even": "bool",
        "name": "str",
    }
    assert dict(ds[1]) == {
        "x": 2,
        "y": 1.5,
        "even": True,
        "name": "bc",
        "object": "b",
        "nullable": 5,
        "kind": "v",
    }
    (batch,) = hr.from_arrays({"frame": frame[["x", "y"]], "z": frame["x"]}).batch(3)
    assert batch["frame"]["x"].tolist() == batch["z"].tolist() == [1, 2, 3]
    assert [int(x) for x in hr.from_arrays(frame["x"][::2])] == [1, 3]
    empty = frame[frame["x"] > 5]
    assert len(hr.from_arrays(empty[["x"]])) == 0


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (lambda pd: pd.Series(["a", 1], dtype=object), r"column 'odd': expected .*got int \(1\).*astype"),
        (lambda pd: pd.Series([[1], [2, 3]]), r"column 'odd': expected .*got list \(\[1\]\)"),
    ],
)
def test_a_column_that_can_be_no_field_is_named_with_a_way_out(column, words):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=words):
        hr.from_arrays(pandas.DataFrame({"x": [1, 2], "odd": column(pandas)}))


def test_a_data_frame_with_a_column_twice_is_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="got 'x' twice"):
        hr.from_arrays(pandas.DataFrame([[1, 2]], columns=["x", "x"]))
