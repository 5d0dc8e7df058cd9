"""Lines of text, CSV and records of one length, beside what Python reads of the same files."""

from __future__ import annotations

import csv
import gzip
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import ops


def cell(draw: random.Random, end: str) -> str:
    # Python puts no quotes around a \r where lines end with \n.
    letters = 'ab ,"\n\té€;' + end
    return "".join(draw.choice(letters) for _ in range(draw.randrange(6)))


def rows_of(ds: hr.Dataset) -> list[list[Any]]:
    return [list(sample.values()) for sample in ds]


@pytest.mark.parametrize("seed", range(20))
def test_what_python_writes_as_csv_comes_back(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    width = draw.randrange(1, 5)
    delimiter, end = draw.choice(",;\t"), draw.choice(["\n", "\r\n"])
    rows = [[cell(draw, end) for _ in range(width)] for _ in range(draw.randrange(1, 30))]
    path = tmp_path / "x.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)
    names = [f"c{i}" for i in range(width)]
    ds = hr.read_csv(path, header=False, names=names, delimiter=delimiter, dtypes=dict.fromkeys(names, str))
    assert len(ds) == len(rows) and rows_of(ds) == rows
    assert rows_of(ds.shuffle(seed=1)) == [rows[i] for i in map(int, hr.range(len(rows)).shuffle(seed=1))]
    (tmp_path / "y.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    packed = hr.read(tmp_path / "y.csv.gz", format="csv", header=False, delimiter=delimiter, names=names)
    assert len(packed) == len(rows)


@pytest.mark.parametrize("seed", range(6))
def test_batches_are_the_rows_that_python_reads(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    letters = ["ab ,", 'ab ,"\n', 'naïve ,"ÿ\x80', '"€漢字', "😀\0,x"]
    end = draw.choice(["\n", "\r\n"])

    def number() -> str:
        exact = draw.choice(
            [draw.random() * 10 ** draw.randrange(-30, 30), draw.getrandbits(64) / 2 ** draw.randrange(64)]
        )
        return draw.choice(
            [repr(exact), f"{exact:.3f}", f" {exact:e}", f"-{exact:.25g}", str(draw.randrange(10**9))]
        )

    rows = [
        [
            "".join(draw.choices(draw.choice(letters), k=draw.choice([0, 3, 70, 300]))),
            number(),
            str(i),
            number(),
        ]
        for i in range(700)
    ]
    path = tmp_path / "x.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(
            file, lineterminator=end, quoting=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        ).writerows(rows)
    ds = hr.read_csv(path, header=False, names=["text", "x", "i", "y"], dtypes={"x": "f64", "y": "f64"})
    for order in (range(700), list(map(int, hr.range(700).shuffle(seed=1)))):
        given = ds if isinstance(order, range) else ds.shuffle(seed=1)
        for n, batch in enumerate(given.batch(256).numpy()):
            wanted = [rows[i] for i in order[256 * n : 256 * n + 256]]
            assert batch["text"] == [row[0] for row in wanted]
            assert batch["i"].tolist() == [int(row[2]) for row in wanted]
            for name, at in (("x", 1), ("y", 3)):
                assert batch[name].tobytes() == np.array([float(row[at]) for row in wanted]).tobytes()


def test_columns_have_the_dtypes_that_hold_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,price,name\n1,0.1,x\n2,1e3,\n")
    (tmp_path / "b.csv").write_text("id,price,name\n3,7,z\n")
    ds = hr.read(tmp_path)
    assert ds.schema == hr.read_csv(tmp_path / "?.csv").schema
    assert rows_of(ds) == [[1, 0.1, "x"], [2, 1000.0, ""], [3, 7.0, "z"]]
    some = hr.read_csv(tmp_path, columns=["name", "price"], dtypes={"price": np.float32, "name": bytes})
    assert rows_of(some)[0] == [b"x", np.float32(0.1)] and some[0]["price"].dtype == np.float32
    assert next(iter(ds.batch(3)))["id"].tolist() == [1, 2, 3]
    with pytest.raises(
        ValueError, match=r"columns: expected names of columns \(id, price, name\), got 'title'"
    ):
        hr.read_csv(tmp_path, columns=["title"])


def test_errors_of_a_table_name_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"two\nlines"\n,x\n3,y\n')
    ds = hr.read_csv(path)
    with pytest.raises(
        hr.CorruptSample, match=r"column 'id' is empty in this row; expected int64.*a\.csv, line 4 at byte"
    ):
        list(ds)
    assert [int(s["id"]) for s in ds.on_error("skip")] == [1, 3]
    assert [int(s["id"]) for s in hr.read_csv(path, defaults={"id": -1})] == [1, -1, 3]


@pytest.mark.parametrize("seed", range(10))
def test_lines_are_those_that_python_reads(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choice(["a", "é", "", "\n", "\r\n", " b"]) for _ in range(draw.randrange(200)))
    (tmp_path / "x.txt").write_bytes(text.encode())
    with (tmp_path / "x.txt").open(newline="", encoding="utf-8") as file:
        lines = [line.removesuffix("\n").removesuffix("\r") for line in file]
    ds = hr.read_text(tmp_path / "x.txt")
    assert len(ds) == len(lines) and [s["line"] for s in ds] == lines
    raw = hr.read_text(tmp_path / "x.txt", encoding="bytes", header=1)
    assert [s["line"] for s in raw] == [line.encode() for line in lines[1:]]


def test_a_run_over_lines_resumes(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("".join(f"{i}\n" for i in range(100)))
    ds = hr.read_text(tmp_path / "x.txt").map(lambda s: s["line"]).shuffle(seed=3).batch(7)
    whole = list(ds.numpy())
    run = iter(ds.numpy())
    part = [next(run) for _ in range(4)]
    other = ds.numpy()
    other.load_state_dict(run.state_dict())
    assert len(whole) == 15 and part + list(other) == whole


def test_records_of_one_length_are_images_of_cifar(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (20, 3, 32, 32), np.uint8)
    labels = np.arange(20, dtype=np.uint8)
    rows = np.concatenate([labels[:, None], images.reshape(20, -1)], axis=1)
    for i in range(2):
        (tmp_path / f"data_batch_{i}.bin").write_bytes(rows[10 * i : 10 * i + 10].tobytes())

    def decode(s: Any) -> Any:
        row = ops.decode_raw(s["record"], dtype="u8", shape=3073)
        return {"image": row[1:].reshape(3, 32, 32), "label": row[0]}

    ds = hr.read_fixed(tmp_path / "data_batch_?.bin", record_bytes=3073).map(decode, python=True)
    assert len(ds) == 20 and np.array_equal(ds[13]["image"], images[13]) and int(ds[13]["label"]) == 13
    with pytest.raises(hr.CorruptSample, match="expected whole records of 3072 bytes"):
        hr.read_fixed(tmp_path / "data_batch_?.bin", record_bytes=3072)


def test_one_bad_row_of_many_makes_no_column_text_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = ["id,price", *(f"{i},{i}.25" for i in range(1000))]
    rows[501] = "500,n/a"
    path.write_text("\n".join(rows))
    told = (
        rf"column 'price' is read as strings because of 'n/a' \({path}, line 502\); the other 999 are numbers"
    )
    with pytest.warns(UserWarning, match=told) as warned:
        ds = hr.read(path)
    assert warned[0].filename == __file__
    assert ds.schema["price"].dtype == "str"
    assert "note: column 'price' is read as strings" in ds.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hr.read(path, dtypes={"price": "str"}).schema["price"].dtype == "str"
        typed = hr.read_csv(path, dtypes={"price": "f64"})
    with pytest.raises(
        hr.CorruptSample,
        match=rf"column 'price': expected float64, got 'n/a': sample 500 of {path}, line 502",
    ):
        list(typed)
    assert [int(sample["id"]) for sample in typed.on_error("skip")] == [i for i in range(1000) if i != 500]


def test_options_formats_and_columns_that_were_meant_are_named(tmp_path: Path) -> None:
    names, nearly = [f"column{i}" for i in range(30)], {"columns"[:5] + "s": ["column7"]}
    (tmp_path / "x.csv").write_text(",".join(names) + "\n" + ",".join(map(str, range(30))) + "\n")
    hr.read(tmp_path / "x.csv").write(tmp_path / "x.jsonl")
    hr.read(tmp_path / "x.csv").write(tmp_path / "x.parquet")
    hr.read(tmp_path / "x.csv").write(tmp_path / "x.arrow")
    for path in [tmp_path / name for name in ("x.csv", "x.jsonl", "x.parquet", "x.arrow")]:
        with pytest.raises(ValueError, match=r"got 'colunm7', did you mean 'column7'\?") as told:
            hr.read(path, columns=["colunm7"])
        assert "column9, …)" in str(told.value) and "column10" not in str(told.value), path
        with pytest.raises(
            ValueError, match=r"has no option 'colum[s]', did you mean 'columns'\? \(it has columns"
        ):
            hr.read(path, **nearly)
    with pytest.raises(ValueError, match=r"no format named 'parqet', did you mean 'parquet'\? \(there are"):
        hr.read(tmp_path / "x.csv", format="parqet")
    with pytest.raises(
        TypeError, match=r"read_csv: has no option 'colum[s]', did you mean 'columns'\? \(it has"
    ):
        hr.read_csv(tmp_path / "x.csv", **nearly)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"text must be UTF-8; dtypes=.* reads a column as raw bytes"):
        hr.read_jsonl(tmp_path / "x.csv", encoding="latin-1")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="text must be UTF-8; dtypes="):
        hr.read(tmp_path / "x.csv", format="jsonl", encoding="latin-1")
