"""Arrow files without pyarrow: small ones beside the C++ tests, and the number of rows of real ones."""

import json
import os
import shutil
import warnings
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import headrace as hr
from headrace import readers

SMALL = Path(__file__).parents[1] / "sources" / "data"
DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")


def test_a_field_for_each_column():
    ds = hr.read(SMALL / "table_plain.arrow")
    assert list(ds.schema) == ["image/bytes", "image/path", "class", "score", "boxes", "synset"]
    assert ds.schema["boxes"] == hr.FieldSpec("i32", (None,))
    one = ds[7]
    assert (one["synset"], one["image/path"], int(one["class"])) == ("n1", "7.jpg", 7 * 6007)
    assert one["boxes"].tolist() == [7, 8, 9] and one["score"] == np.float32(7 / 8 - 1)
    assert ds.metadata == {"files": 1, "batches": 3}


def test_files_of_every_layout_hold_the_same():
    names = ["table_plain.arrow", "table_lz4.arrow", "table_zstd.arrow", "rows.arrow"]
    plain, *others = [list(hr.read(SMALL / name)) for name in names]
    for other in others:
        for a, b in zip(plain, other, strict=True):
            assert all(np.array_equal(a[name], b[name]) for name in a)


def test_several_files_are_one_source(tmp_path):
    for i, name in enumerate(["table_plain.arrow", "rows.arrow", "table_zstd.arrow"]):
        shutil.copy(SMALL / name, tmp_path / f"part-{i}.arrow")
    one = [int(x["class"]) for x in hr.read(SMALL / "rows.arrow")]
    for path in (tmp_path, tmp_path / "part-?.arrow", sorted(tmp_path.iterdir())):
        ds = readers.read_arrow(path, columns=["class"])
        assert [int(x["class"]) for x in ds] == 3 * one
    assert sorted(int(x["class"]) for x in ds.shuffle(seed=1)) == sorted(3 * one)
    shutil.copy(SMALL / "nulls.arrows", tmp_path / "part-3.arrow")
    with pytest.raises(
        ValueError, match=r"part-3.arrow.*expected column 'image/bytes: bytes' as in .*part-0.arrow"
    ):
        hr.read(tmp_path)


def test_columns_are_chosen_by_name():
    path = SMALL / "table_plain.arrow"
    assert list(hr.read(path, columns=["score", "image"]).schema) == ["score", "image/bytes", "image/path"]
    with pytest.raises(
        ValueError, match=r"expected names of columns \(image/bytes, image/path, .*\), got 'nowhere'"
    ):
        hr.read(path, columns=["nowhere"])
    with pytest.raises(ValueError, match="expected each column once, got 'score' twice"):
        hr.read(path, columns=["score", "score"])


def test_nulls_are_refused_by_name_or_read_as_zeros():
    ds = hr.read(SMALL / "nulls.arrows")
    assert int(hr.read(SMALL / "nulls.arrows", columns=["whole"])[1]["whole"]) == 8
    with pytest.raises(
        hr.CorruptSample, match=r"expected a value in column 'n', got null.*row 1 of record batch 0"
    ):
        ds[1]
    with pytest.raises(hr.CorruptSample, match="column 'list', got null"):
        ds[0]
    rows = list(hr.read(SMALL / "nulls.arrows", nulls="zero"))
    assert [int(x["n"]) for x in rows] == [1, 0, 3, 0]
    assert [x["text"] for x in rows] == ["a", "bc", "", ""]
    assert [x["list"].tolist() for x in rows] == [[1.0, 0.0], [], [], [2.0]]
    assert [x["flags"].tolist() for x in rows] == [[True, False], [False, True], [False, False], [True, True]]
    assert [x["kind"] for x in rows] == ["x", "", "y", "x"]
    with pytest.raises(
        ValueError,
        match='nulls: expected "error", "zero", "nan" or "mask", or a dict of these by column, got "none"',
    ):
        hr.read(SMALL / "nulls.arrows", nulls="none")


@pytest.mark.parametrize("name", ["nulls.arrows", "nulls.parquet"])
def test_nulls_of_some_columns_are_zeros(name):
    ds = hr.read(SMALL / name, nulls=MappingProxyType({"n": "zero", "text": "zero", "list": "error"}))
    some = list(ds.map(lambda s: {"n": s.n, "text": s.text}))
    assert [(int(s["n"]), s["text"]) for s in some] == [(1, "a"), (0, "bc"), (3, ""), (0, "")]
    with pytest.raises(hr.CorruptSample, match="in column 'list', got null"):
        ds[0]
    assert (
        ds.fingerprint()
        != hr.read(SMALL / name).fingerprint()
        != hr.read(SMALL / name, nulls={"n": "zero"}).fingerprint()
    )
    assert hr.read(SMALL / name, nulls={"n": "error"}).fingerprint() == hr.read(SMALL / name).fingerprint()
    assert hr.read(SMALL / name, nulls="zero").fingerprint() != hr.read(SMALL / name).fingerprint()
    for wrong in ({"n": "none"}, {"n": None}, 7):
        with pytest.raises(
            ValueError,
            match='nulls: expected "error", "zero", "nan" or "mask", or a dict of these by column, got',
        ):
            hr.read(SMALL / name, nulls=wrong)
    with pytest.raises(
        ValueError, match=r"nulls: expected names of columns \(n, text, list, flags, kind, whole\), got 'x'"
    ):
        hr.read(SMALL / name, nulls={"n": "zero", "x": "zero"})
    with pytest.raises(ValueError, match=r"\(whole\), got 'n'"):
        hr.read(SMALL / name, nulls={"n": "zero"}, columns=["whole"])


@pytest.mark.parametrize("name", ["typed.arrow", "typed.parquet"])
@pytest.mark.parametrize("order", [{}, {"seed": 3}])
def test_nulls_of_floats_are_nan_and_those_of_others_errors(name, order):
    floats = ["x", "y", "pair", "list", "kind", "ts"]
    ds = hr.read(SMALL / name, nulls="nan", columns=floats)
    rows = list(ds)
    nan = float("nan")
    np.testing.assert_equal([float(s["x"]) for s in rows], [1.5, nan, -2.0, nan])
    np.testing.assert_equal([float(s["y"]) for s in rows], [nan, 2.0, 3.0, nan])
    np.testing.assert_equal(
        [s["pair"].tolist() for s in rows], [[1.0, nan], [nan, nan], [3.0, 4.0], [5.0, 6.0]]
    )
    np.testing.assert_equal([s["list"].tolist() for s in rows], [[1.0, nan], [], [2.0], [3.0]])
    np.testing.assert_equal([float(s["kind"]) for s in rows], [0.5, nan, 0.5, 0.25])
    if order:  # rows by themselves
        ds = ds.shuffle(**order)
    (batch,) = ds.batch(4, ragged=True)
    at = [int(time) - 1 for time in batch["ts"]]
    np.testing.assert_equal([float(x) for x in batch["x"]], [float(rows[i]["x"]) for i in at])
    np.testing.assert_equal([pair.tolist() for pair in batch["pair"]], [rows[i]["pair"].tolist() for i in at])
    with pytest.raises(hr.CorruptSample, match="expected a value in column 'n', got null; nulls=\"zero\""):
        hr.read(SMALL / name, nulls="nan", columns=["x", "n"])[3]
    with pytest.raises(hr.CorruptSample, match=r"in column 'x', got null; nulls=.* and nulls=.nan. as NaN"):
        hr.read(SMALL / name, columns=["x"])[1]
    some = hr.read(SMALL / name, nulls={"x": "nan", "n": "zero"}, columns=["x", "n"])
    np.testing.assert_equal(
        [(float(s["x"]), int(s["n"])) for s in some], [(1.5, 1), (nan, 2), (-2.0, 3), (nan, 0)]
    )
    prints = [{"x": "nan"}, {"x": "zero"}, {"x": "nan", "n": "zero"}, {"n": "zero"}, "nan", "zero", "error"]
    assert len({hr.read(SMALL / name, nulls=nulls).fingerprint() for nulls in prints}) == len(prints)


@pytest.mark.parametrize("name", ["typed.arrow", "typed.parquet"])
def test_what_numbers_mean_is_in_the_metadata(name, tmp_path):
    types = {
        "ts": "timestamp[us, tz=UTC]",
        "local": "timestamp[ms]",
        "d": "date32[day]",
        "t": "time64[ns]",
        "took": "duration[s]",
        "times": "time32[ms]",
    }
    if name.endswith("parquet"):
        types["price"] = "decimal128(10, 2)"
    assert hr.read(SMALL / name).metadata["types"] == types
    assert hr.read(SMALL / name, columns=["n", "d"]).metadata["types"] == {"d": "date32[day]"}
    assert "types" not in hr.read(SMALL / name, columns=["n"]).metadata
    # What is written has plain numbers, in any format.
    hr.read(SMALL / name, nulls="zero").write(tmp_path / "out.arrow")
    assert "types" not in hr.read(tmp_path / "out.arrow").metadata


def test_columns_that_are_left_out_are_warned_of(tmp_path):
    note = "columns 'm', 'lists' are left out: their types are not supported; list the columns you need in columns="
    with pytest.warns(UserWarning, match=note) as told:
        ds = hr.read(SMALL / "maps.arrow")
    assert [Path(one.filename).name for one in told] == ["test_arrow.py"]
    assert note in ds.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.read(SMALL / "maps.arrow", columns=["x"])
        list(ds)
        ds.write(tmp_path / "copy.arrow")
        assert "left_out_columns" not in hr.read(tmp_path / "copy.arrow").metadata


def test_a_list_that_is_null_is_no_nan():
    for name in ("nulls.arrows", "nulls.parquet"):
        ds = hr.read(SMALL / name, nulls="nan", columns=["list"])
        np.testing.assert_equal(ds[0]["list"].tolist(), [1.0, float("nan")])
        for one in (ds, ds.shuffle(seed=1).batch(4, ragged=True)):
            with pytest.raises(
                hr.CorruptSample, match="expected a value in column 'list', got null; nulls=\"zero\""
            ):
                list(one)


def test_nulls_of_a_name_are_those_of_all_below_it():
    ds = hr.read(SMALL / "texts.arrow", nulls={"captions": "zero"})
    assert [s["c"] for s in ds.map(lambda s: {"c": s.captions["values"]})] == [
        "a caton a mät",
        "",
        "dogx",
        "y" * 9,
    ]


def test_where_of_a_format_that_has_none_is_filter():
    with pytest.raises(
        ValueError,
        match=r"it has columns, nulls, align_labels, encoding, split; to keep samples by a condition, call filter\(\.\.\.\)",
    ):
        hr.read(SMALL / "texts.arrow", where=[("n", ">", 1)])


def _flat(batch):
    """Every value of every row, as bytes."""
    return [
        [np.asarray(v).tobytes() if isinstance(v, np.ndarray) else v for v in batch[name]] for name in batch
    ]


@pytest.mark.parametrize("rows_per_batch", [7, 400])
def test_rows_at_random_are_those_of_batches(tmp_path, rows_per_batch):
    draw, count = np.random.default_rng(1), 1500
    columns = {
        "f": draw.random(count),
        "ok": draw.random(count) < 0.5,
        "box": draw.integers(0, 9, (count, 2, 3), dtype=np.int16),
        "bytes": [draw.bytes(i % 40) for i in range(count)],
        "text": ["ä" * (i % 5) for i in range(count)],
    }
    hr.from_arrays(columns).write(tmp_path / "t.arrow", options={"rows_per_batch": rows_per_batch})
    ds = hr.read(tmp_path / "t.arrow")
    for some in (ds, ds.map(lambda s: {"text": s["text"], "f": s["f"]}), ds.map(lambda s: {**s})):
        for order in (some, some.shuffle(seed=2), some.shuffle(seed=2).take(600).repeat(2)):
            batches = order.batch(64, ragged=True)
            read = [_flat(batch) for batch in batches.options(map_files=False)]
            for workers in (1, 4):
                assert [_flat(batch) for batch in batches.options(workers=workers, io=workers)] == read
    assert [bytes(s["bytes"]) for s in ds] == columns["bytes"]


@pytest.mark.parametrize("name", ["table_plain.arrow", "nulls.arrows", "texts.arrow"])
def test_rows_with_nulls_are_the_same_in_any_order(name):
    for nulls in ("zero", "error"):
        ds = hr.read(SMALL / name, nulls=nulls).shuffle(seed=3).on_error("skip").batch(2, ragged=True)
        read = [_flat(batch) for batch in ds.options(map_files=False)]
        assert [_flat(batch) for batch in ds] == read


def test_feather_v1_is_refused_with_a_way_out(tmp_path):
    (tmp_path / "old.feather").write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    with pytest.raises(NotImplementedError, match=r"got Feather V1; pyarrow\.feather\.write_feather"):
        hr.read(tmp_path / "old.feather")


def test_a_file_cut_short_says_so(tmp_path):
    (tmp_path / "cut.arrow").write_bytes((SMALL / "rows.arrow").read_bytes()[:-1])
    with pytest.raises(hr.CorruptSample, match=r"cut.arrow.*expected ARROW1 at its end"):
        hr.read(tmp_path / "cut.arrow")


@pytest.mark.parametrize("missing", range(1, 8))
def test_a_stream_cut_inside_its_end_says_so(tmp_path, missing):
    (tmp_path / "cut.arrows").write_bytes((SMALL / "nulls.arrows").read_bytes()[:-missing])
    with pytest.raises(
        hr.CorruptSample, match=rf"the end of the stream, but only {8 - missing} bytes are left"
    ):
        hr.read(tmp_path / "cut.arrows")


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
def test_real_files_have_the_rows_their_truth_says():
    read = 0
    for line in (DATA / "truth.jsonl").read_text().splitlines():
        truth = json.loads(line)
        if truth.get("kind") != "arrow" or truth["status"] != "ok" or "rows" not in truth:
            continue
        try:
            ds = hr.read(DATA / truth["path"], format="arrow")
        except (NotImplementedError, ValueError):
            continue  # a type that is not read, two columns of one name
        assert len(ds) == truth["rows"], truth["path"]
        read += 1
    assert read >= 40


@pytest.mark.parametrize("map_files", [True, False])
def test_one_wrong_offset_costs_its_rows_and_little_more(tmp_path, map_files):
    path = tmp_path / "x.arrow"
    count = 40_000
    with hr.writer(path) as writer:
        for _ in range(count):
            writer.write(dict.fromkeys("abcd", ""))
    whole = bytearray(path.read_bytes())
    at = (whole.index(bytes(20_000)) + 10_000) // 4 * 4  # of offsets that are all 0
    whole[at : at + 4] = (5).to_bytes(4, "little")
    path.write_bytes(whole)
    ds = hr.read(path).on_error("skip").batch(256).options(map_files=map_files, memory_budget=1_000_000)
    loader = ds.numpy()
    assert sum(len(batch["a"]) for batch in loader) == count - 2
    report = loader.report()
    assert report["skipped"] == 2 and (map_files or report["io"]["reads"] < 2000)
