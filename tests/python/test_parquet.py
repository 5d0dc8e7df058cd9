"""Parquet files without pyarrow: small ones beside the C++ tests, what is written, and the number of rows of real ones."""

import json
import os
import resource
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headrace as hr
from headrace import ops, readers

SMALL = Path(__file__).parents[1] / "sources" / "data"
DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
REFUSALS = (hr.CorruptSample, NotImplementedError, ValueError, MemoryError)
TABLES = ["table_plain.parquet", "table_v2.parquet", "table_snappy.parquet"]


def test_a_field_for_each_column_and_an_image_is_its_bytes():
    ds = hr.read(SMALL / "table_plain.parquet")
    assert list(ds.schema) == ["image", "image/path", "class", "score", "boxes", "synset"]
    assert ds.schema["boxes"] == hr.FieldSpec("i32", (None,)) and ds.schema["image"].dtype == "bytes"
    one = ds[7]
    assert (one["synset"], one["image/path"], int(one["class"])) == ("n1", "7.jpg", 7 * 6007)
    assert one["boxes"].tolist() == [7, 8, 9] and one["score"] == np.float32(7 / 8 - 1)
    assert ds.metadata == {"files": 1, "row_groups": 3}


def test_pages_of_every_kind_and_arrow_hold_the_same():
    arrow = list(readers.read_arrow(SMALL / "table_plain.arrow"))
    for name in TABLES:
        for a, b in zip(arrow, hr.read(SMALL / name), strict=True):
            assert a["image/bytes"] == b["image"]
            assert all(np.array_equal(a[field], b[field]) for field in b if field != "image")


def test_several_files_are_one_source(tmp_path):
    for i, name in enumerate(TABLES):
        shutil.copy(SMALL / name, tmp_path / f"part-{i}.parquet")
    one = [int(x["class"]) for x in hr.read(SMALL / TABLES[0])]
    for path in (tmp_path, tmp_path / "part-?.parquet", sorted(tmp_path.iterdir())):
        ds = readers.read_parquet(path, columns=["class"])
        assert [int(x["class"]) for x in ds] == 3 * one
    assert sorted(int(x["class"]) for x in ds.shuffle(seed=1)) == sorted(3 * one)
    assert len(readers.read_parquet(tmp_path, where=[("synset", "==", "n1")])) == 12
    shutil.copy(SMALL / "nulls.parquet", tmp_path / "part-3.parquet")
    with pytest.raises(ValueError, match=r"part-3.parquet.*expected column 'image: bytes' as in .*part-0"):
        hr.read(tmp_path)


def test_columns_are_chosen_by_name():
    path = SMALL / TABLES[0]
    assert list(hr.read(path, columns=["score", "image"]).schema) == ["score", "image", "image/path"]
    with pytest.raises(
        ValueError, match=r"expected names of columns \(image, image/path, .*\), got 'nowhere'"
    ):
        hr.read(path, columns=["nowhere"])
    with pytest.raises(ValueError, match="expected each column once, got 'score' twice"):
        hr.read(path, columns=["score", "score"])


def test_nulls_are_refused_by_name_or_read_as_zeros():
    ds = hr.read(SMALL / "nulls.parquet")
    assert int(hr.read(SMALL / "nulls.parquet", columns=["whole"])[1]["whole"]) == 8
    with pytest.raises(
        hr.CorruptSample, match=r"expected a value in column 'n', got null.*row 1 of row group 0"
    ):
        ds[1]
    with pytest.raises(hr.CorruptSample, match="column 'list', got null"):
        ds[0]
    rows = list(hr.read(SMALL / "nulls.parquet", nulls="zero"))
    assert [int(x["n"]) for x in rows] == [1, 0, 3, 0]
    assert [x["text"] for x in rows] == ["a", "bc", "", ""]
    assert [x["list"].tolist() for x in rows] == [[1.0, 0.0], [], [], [2.0]]
    assert [x["flags"].tolist() for x in rows] == [[True, False], [False, True], [False, False], [True, True]]
    assert [x["kind"] for x in rows] == ["x", "", "y", "x"]


def test_conditions_decide_what_rows_there_are(tmp_path):
    with hr.writer(tmp_path / "a.parquet", options={"rows_per_group": 10}) as w:
        for i in range(100):
            w.write({"i": i, "half": i / 2, "name": f"n{i % 7}"})
    path = tmp_path / "a.parquet"

    def rows(*where):
        ds = readers.read_parquet(path, where=where)
        got = [int(s["i"]) for s in ds]
        assert len(ds) == len(got) and sorted(int(s["i"]) for s in ds.shuffle(seed=3)) == got
        return got

    assert rows(("i", "<", 10)) == list(range(10))
    assert rows(("i", ">=", 85), ("name", "==", "n1")) == [85, 92, 99]
    assert rows(("half", ">", 47.9)) == [96, 97, 98, 99]
    assert rows(("name", "in", ["n0", "n6"]), ("i", "<", 14)) == [0, 6, 7, 13]
    assert rows(("i", "!=", 5)) == [i for i in range(100) if i != 5]
    assert rows(("i", "<", 0)) == []
    ds = readers.read_parquet(path, columns=["name"], where=[("i", "==", 3)])
    assert [s["name"] for s in ds] == ["n3"] and list(ds.schema) == ["name"]
    with pytest.raises(ValueError, match=r"where: expected conditions \(column, operator, value\)"):
        readers.read_parquet(path, where=[("i", "<")])


def test_a_plan_keeps_its_condition(tmp_path):
    ds = readers.read_parquet(SMALL / TABLES[0], columns=["class"], where=[("score", ">=", 0.0)])
    ds.save_plan(tmp_path / "plan.json")
    assert [int(s["class"]) for s in hr.load_plan(tmp_path / "plan.json")] == [int(s["class"]) for s in ds]


def test_a_row_group_is_read_once(tmp_path):
    image = np.random.default_rng(1).bytes(30_000)
    with hr.writer(tmp_path / "a.parquet", options={"rows_per_group": 20}) as w:
        for i in range(400):
            w.write({"image": image[i:], "label": i})
    size = (tmp_path / "a.parquet").stat().st_size
    ds = hr.read(tmp_path / "a.parquet")
    for one in (ds, ds.shuffle(seed=1, window=60)):
        loader = one.options(workers=4).numpy()
        assert sorted(int(s["label"]) for s in loader) == list(range(400))
        assert loader.report()["io"]["bytes"] < 1.02 * size


@pytest.mark.parametrize("adds", [False, True])
def test_shuffled_rows_do_not_keep_their_groups(tmp_path, adds):
    values = [bytes([i % 251]) * 100 for i in range(20_000)]
    hr.from_arrays({"text": values, "n": np.arange(20_000)}).write(
        tmp_path / "a.parquet", options={"rows_per_group": 400}
    )
    ds = hr.read(tmp_path / "a.parquet").shuffle(seed=1)
    if adds:
        ds = ds.map(lambda s: {"text": s["text"], "n": s["n"] + 0})
    loader = ds.batch(64).options(workers=1, io=1, ready=1).numpy()
    kept = [batch for batch, _ in zip(loader, range(50), strict=False)]
    kept_bytes = loader.report()["memory"]["with_the_consumer"]  # of 50 groups of 40 kB, were they all kept
    assert kept_bytes < 50 * (64 * 100 + 3 * 4096)  # pieces of memory that copies lie in
    assert all(
        text == values[int(n)] for batch in kept for text, n in zip(batch["text"], batch["n"], strict=True)
    )


def test_photographs_come_out_of_their_table(tmp_path):
    pixels = np.zeros((9, 7, 3), np.uint8) + np.arange(7, dtype=np.uint8)[None, :, None] * 30
    Image.fromarray(pixels).save(tmp_path / "x.png")
    with hr.writer(tmp_path / "a.parquet") as w:
        w.write({"image": (tmp_path / "x.png").read_bytes(), "label": 3})
    ds = hr.read(tmp_path / "a.parquet").map(lambda s: {"image": ops.decode_image(s.image), "label": s.label})
    assert np.array_equal(ds[0]["image"], pixels) and int(ds[0]["label"]) == 3


def truths():
    if not DATA.is_dir():
        return
    for line in (DATA / "truth.jsonl").read_text().splitlines():
        truth = json.loads(line)
        if truth.get("kind") == "parquet":
            yield truth


# Files that pyarrow reads, and why they are refused here.
STRICTER = {"datapage_v1-corrupt-checksum.parquet": "expected a page with checksum"}


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
@pytest.mark.alone
def test_real_files_have_the_rows_their_truth_says_and_bad_ones_are_refused_soon():
    read = by_column = refused = 0
    for truth in truths():
        path = DATA / truth["path"]
        begin = time.monotonic()
        error = None
        try:
            ds = hr.read(path, format="parquet", nulls="zero")
            rows = sum(1 for _ in ds)
        except REFUSALS as e:
            error = e
        assert time.monotonic() - begin < (5 if error is None else 0.5), path
        if truth["status"] != "ok":
            assert error is not None and path.name in str(error), path
            refused += 1
        elif error is None:
            assert rows == len(ds) == truth["rows"], path
            read += 1
        elif path.name in STRICTER:
            assert STRICTER[path.name] in str(error)
        else:
            assert "cannot read column '" in str(error) or "expected UTF-8" in str(error), (path, error)
            by_column += 1
    assert (read, by_column, refused) == (191, 5, 27)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 << 20


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
@pytest.mark.alone
def test_what_fuzzers_found_is_refused_or_read_soon():
    paths = [
        p for p in (DATA / "arrow/apache__arrow-testing/data/parquet/fuzzing").iterdir() if p.suffix != ".md"
    ]
    assert len(paths) > 50
    for path in paths:
        begin = time.monotonic()
        try:
            ds = hr.read(path, format="parquet", nulls="zero")
            for i in range(min(len(ds), 1000)):
                try:
                    ds[i]
                except REFUSALS as error:
                    assert path.name in str(error)
        except REFUSALS as error:
            assert path.name in str(error)
        assert time.monotonic() - begin < 2, path


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
def test_images_of_hugging_face_are_those_of_the_arrow_file():
    folder = DATA / "official_writers/parquet_arrow"
    arrow = list(hr.read(folder / "hf_image.arrow"))
    for name in ("hf_image.parquet", "hf_image_zstd.parquet"):
        rows = list(hr.read(folder / name))
        assert [r["image"] for r in rows] == [a["image/bytes"] for a in arrow]
        assert [r["image/path"] for r in rows] == [a["image/path"] for a in arrow]
        assert [int(r["label"]) for r in rows] == [int(a["label"]) for a in arrow]
        sizes = hr.read(folder / name).map(
            lambda s: {"pixels": ops.decode_image(s.image), "hw": s.hw, "synset": s.synset}
        )
        assert all(list(s["pixels"].shape[:2]) == s["hw"].tolist() for s in sizes)


def test_conditions_are_exact_beyond_what_i64_and_f64_hold(tmp_path):
    values = [0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1]
    for rows in (1, 100):  # by statistics and by rows
        path = tmp_path / f"{rows}.parquet"
        with hr.writer(path, options={"rows_per_group": rows}) as w:
            for value in values:
                w.write({"u": np.uint64(value)})

        def kept(op, value, path=path):
            return [int(s["u"]) for s in readers.read_parquet(path, where=[("u", op, value)])]

        for value in (*values, -1, -(2**63), 2.5, float(2**53), 9.3e18, 1e30, -1e30, float(2**63)):
            assert kept("<", value) == [x for x in values if x < value], value
            assert kept(">=", value) == [x for x in values if x >= value], value
            assert kept("==", value) == [x for x in values if x == value], value
            assert kept("!=", value) == [x for x in values if x != value], value
        assert kept("in", [2**63 + 5, 2**64 - 1, -1]) == [2**63 + 5, 2**64 - 1]
        ds = readers.read_parquet(path, where=[("u", ">", 2**63)])
        ds.save_plan(tmp_path / "plan.json")
        assert [int(s["u"]) for s in hr.load_plan(tmp_path / "plan.json")] == values[-2:]
        with pytest.raises(ValueError, match="fits in 64 bits"):
            kept("<", 2**64)
