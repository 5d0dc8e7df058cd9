"""Arrow files and streams against pyarrow: tables of every type made here, and every real file, hostile ones included."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
ipc = pytest.importorskip("pyarrow.ipc")

REFUSALS = (hr.CorruptSample, NotImplementedError, ValueError, MemoryError)
DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
ROWS = 53


def table(rows: int = ROWS) -> Any:
    """Make a table with a column of every type that is read, without nulls."""
    random = np.random.default_rng(3)
    texts = ["".join(chr(97 + i % 26) for i in range(n)) + "ä" for n in random.integers(0, 40, rows)]
    lists = [list(map(int, random.integers(-9, 9, n))) for n in random.integers(0, 7, rows)]
    boxes = [random.random((n, 4)).astype(np.float32).tolist() for n in random.integers(0, 4, rows)]
    return pa.table({
        **{str(t): pa.array(random.integers(0, 100, rows), t) for t in (
            pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int8(), pa.int16(), pa.int32(), pa.int64())},
        "f16": pa.array(random.random(rows).astype(np.float16)),
        "f32": pa.array(random.random(rows).astype(np.float32)),
        "f64": pa.array(random.random(rows)),
        "bool": pa.array(random.random(rows) < 0.5),
        "text": pa.array(texts),
        "large_text": pa.array(texts, pa.large_string()),
        "binary": pa.array([t.encode() * 3 for t in texts]),
        "large_binary": pa.array([t.encode() for t in texts], pa.large_binary()),
        "fixed": pa.array([bytes([i % 256, 1, 2]) for i in range(rows)], pa.binary(3)),
        "pair": pa.array(random.integers(0, 9, (rows, 2)).tolist(), pa.list_(pa.int16(), 2)),
        "matrix": pa.array(random.random((rows, 2, 3)).tolist(), pa.list_(pa.list_(pa.float64(), 3), 2)),
        "flags": pa.array([[i % 2 == 0, i % 3 == 0, i % 5 == 0] for i in range(rows)], pa.list_(pa.bool_(), 3)),
        "list": pa.array(lists, pa.list_(pa.int32())),
        "large_list": pa.array(lists, pa.large_list(pa.int64())),
        "bits": pa.array([[x > 0 for x in one] for one in lists], pa.list_(pa.bool_())),
        "boxes": pa.array(boxes, pa.list_(pa.list_(pa.float32(), 4))),
        "texts": pa.array([texts[i : i + i % 4] for i in range(rows)]),
        "large_texts": pa.array([[t.encode() for t in texts[: i % 3]] for i in range(rows)], pa.large_list(pa.large_binary())),
        "within": pa.array([{"texts": texts[: i % 2]} for i in range(rows)]),
        "image": pa.array([{"bytes": t.encode(), "path": t, "size": {"h": i, "w": 2 * i}} for i, t in enumerate(texts)]),
        "category": pa.array([f"n{i % 7}" for i in range(rows)]).dictionary_encode(),
        "level": pa.array([i % 5 * 1.5 for i in range(rows)]).dictionary_encode(),
        "view": pa.array(texts, pa.string_view()),
        "bytes_view": pa.array([t.encode() * 3 for t in texts], pa.binary_view()),
        "day": pa.array(range(rows), pa.date32()),
        "ms": pa.array([86_400_000 * i for i in range(rows)], pa.date64()),
        "when": pa.array(range(rows), pa.timestamp("us")),
        "time": pa.array(range(rows), pa.time32("s")),
        "lasts": pa.array(range(rows), pa.duration("ns")),
    })  # fmt: skip


INTEGER_OF = {"date32[day]": pa.int32(), "time32[s]": pa.int32(), "time32[ms]": pa.int32()}


def plain(array: Any) -> Any:
    """Take dates and times as the integers they are stored as, dictionaries as their values, structs as their leaves."""
    if pa.types.is_dictionary(array.type):
        return plain(array.dictionary_decode())
    if pa.types.is_temporal(array.type) and not pa.types.is_interval(array.type):
        return array.view(INTEGER_OF.get(str(array.type), pa.int64()))
    return array


def leaves(name: str, array: Any) -> dict[str, list[Any]]:
    """Name the columns below a column as the reader does; a null struct is a null in each."""
    if pa.types.is_struct(array.type):
        out: dict[str, list[Any]] = {}
        for i in range(array.type.num_fields):
            child = array.type.field(i).name
            below = pc.struct_field(array, [i])
            out |= leaves(f"{name}/{child}", below)
        return out
    if is_list_of_texts(array.type):
        lists = array.to_pylist()
        whole = [x if x is None or None in x else joined(x, array.type.value_type) for x in lists]
        lengths = [x if x is None or None in x else [len(encoded(text)) for text in x] for x in lists]
        return {f"{name}/values": whole, f"{name}/lengths": lengths}
    return {name: plain(array).to_pylist()}


def is_list_of_texts(one: Any) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return (pa.types.is_list(one) or pa.types.is_large_list(one)) and any(
        is_kind(one.value_type) for is_kind in kinds
    )


def encoded(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else text  # type: ignore[no-any-return]


def joined(texts: list[Any], one: Any) -> Any:
    is_text = pa.types.is_string(one) or pa.types.is_large_string(one)
    return "".join(texts) if is_text else b"".join(texts)


def field_of(sample: dict[str, Any], name: str) -> Any:
    """A leaf by its name; those of a list of texts lie in a dict."""
    if name in sample:
        return sample[name]
    around, _, member = name.rpartition("/")
    return sample[around][member]


def rows_of(batches: list[Any]) -> dict[str, list[Any]]:
    """All rows of some record batches, by leaf column."""
    out: dict[str, list[Any]] = {}
    for batch in batches:
        for i, name in enumerate(batch.schema.names):
            try:
                found = leaves(name, batch.column(i))
            except (KeyError, NotImplementedError, ValueError, pa.ArrowException):
                continue  # of a type that pyarrow cannot show either
            for leaf, values in found.items():
                out.setdefault(leaf, []).extend(values)
    return out


def same(got: Any, wanted: Any) -> bool:
    """Compare a field with what pyarrow says; a NaN equals a NaN."""
    if isinstance(wanted, bytes):
        return (got.tobytes() if isinstance(got, np.ndarray) else bytes(got)) == wanted
    if isinstance(wanted, str):
        return str(got) == wanted
    return bool(
        np.array_equal(np.asarray(got), np.asarray(wanted), equal_nan=np.asarray(got).dtype.kind == "f")
    ) or (isinstance(wanted, list) and not wanted and np.asarray(got).size == 0)


def write(path: Path, data: Any, codec: str | None, rows: int) -> None:
    """Write a file, or a stream where the name ends so."""
    new = ipc.new_stream if path.suffix == ".arrows" else ipc.new_file
    with new(path, data.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(data, max_chunksize=rows)


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("ending", ["arrow", "arrows"])
@pytest.mark.parametrize("rows", [1, 7, ROWS])
def test_every_type_reads_as_pyarrow_wrote_it(tmp_path: Path, codec: str | None, ending: str, rows: int):
    path, data = tmp_path / f"x.{ending}", table()
    write(path, data, codec, rows)
    wanted = rows_of(data.to_batches())
    ds = hr.read(path)
    fields = {f"{name}/{x}" if isinstance(spec, dict) else name for name, spec in ds.schema.items()
              for x in (spec if isinstance(spec, dict) else [""])}  # fmt: skip
    assert len(ds) == ROWS and fields == set(wanted)
    for name, values in wanted.items():
        alone = hr.read(path, columns=[name])
        for i, value in enumerate(values):
            assert same(field_of(ds[i], name), value), (name, i)
            assert same(field_of(alone[i], name), value), (name, i)


def spoiled(lists: Any) -> Any:
    """Lists whose null texts have bytes."""
    offsets = pa.array([0, 2, 3, 5], pa.int32()).buffers()[1]
    valid = pa.py_buffer(bytes([0b101]))
    texts = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"abcde"), valid)
    return pa.ListArray.from_arrays(lists, texts)


@pytest.mark.parametrize("codec", [None, "zstd"])
@pytest.mark.parametrize("rows", [1, 4, 9])
def test_lists_of_texts_with_nulls(tmp_path: Path, codec: str | None, rows: int):
    lists = [["a", None, "ää"], [], None, ["b"], [None], ["", "c"], [], ["d"] * 9, [None, None]]
    data = pa.table({"x": pa.array(lists, pa.list_(pa.string()))})
    write(tmp_path / "x.arrow", data, codec, rows)
    strict, ds = hr.read(tmp_path / "x.arrow"), hr.read(tmp_path / "x.arrow", nulls="zero")
    for i, one in enumerate(lists):
        texts = [text or "" for text in one or []]
        for columns in (["x"], ["x/values"], ["x/lengths"]):
            alone = hr.read(tmp_path / "x.arrow", columns=columns)
            if one is None or None in one:
                with pytest.raises(
                    hr.CorruptSample, match=r"expected (a value|strings without nulls) in column 'x/"
                ):
                    alone[i]
            else:
                alone[i]
        assert same(ds[i]["x"]["values"], "".join(texts)), i
        assert ds[i]["x"]["lengths"].tolist() == [len(text.encode()) for text in texts], i
    assert strict[3]["x"]["values"] == "b"
    (batch,) = ds.batch(9, ragged=True)
    assert [x.tolist() for x in batch["x"]["lengths"]] == [
        [1, 0, 4],
        [],
        [],
        [1],
        [0],
        [0, 1],
        [],
        [1] * 9,
        [0, 0],
    ]
    write(tmp_path / "y.arrow", pa.table({"x": spoiled(pa.array([0, 1, 3], pa.int32()))}), None, 9)
    with_bytes = hr.read(tmp_path / "y.arrow", nulls="zero")
    assert [(x["x"]["values"], x["x"]["lengths"].tolist()) for x in with_bytes] == [
        ("ab", [2]),
        ("de", [0, 2]),
    ]
    assert hr.read(tmp_path / "y.arrow")[0]["x"]["values"] == "ab"
    with pytest.raises(hr.CorruptSample, match="expected strings without nulls in column 'x/values'"):
        hr.read(tmp_path / "y.arrow")[1]


def some_views() -> Any:
    """Short and long ones, empty ones and nulls, of three buffers, in an order of their own, some of the same bytes."""
    random = np.random.default_rng(5)
    buffers = [bytes(random.integers(97, 123, size).astype(np.uint8)) for size in (3000, 50, 700)]
    views, texts, valid = b"", [], 0
    for i in range(200):
        of = int(random.integers(3))
        begin = int(random.integers(len(buffers[of]) - 30))
        text = buffers[of][begin : begin + i % 30]
        tail = struct.pack("<4sii", text[:4], of, begin) if len(text) > 12 else text.ljust(12, b"\0")
        views += struct.pack("<i", len(text)) + tail
        valid |= (i % 7 != 3) << i
        texts.append(None if i % 7 == 3 else text.decode())
    all_buffers = [pa.py_buffer(one) for one in (valid.to_bytes(25, "little"), views, *buffers)]
    made = pa.Array.from_buffers(pa.string_view(), 200, all_buffers)
    made.validate(full=True)
    return made, texts


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("rows", [1, 60, 200])
@pytest.mark.parametrize("maps", [True, False])
def test_views_of_texts(tmp_path: Path, codec: str | None, rows: int, maps: bool):
    views, texts = some_views()
    data = pa.table(
        {"i": list(range(200)), "view": views, "struct": pa.array([{"x": i} for i in range(200)])}
    )
    write(tmp_path / "x.arrow", data, codec, rows)
    strict, ds = hr.read(tmp_path / "x.arrow"), hr.read(tmp_path / "x.arrow", nulls="zero")
    wanted = [text or "" for text in texts]
    assert ds.schema["view"] == hr.FieldSpec("str", (None,))
    for i, text in enumerate(texts):
        assert ds[i]["view"] == wanted[i] and ds[i]["struct/x"] == i
        if text is None:
            with pytest.raises(hr.CorruptSample, match="expected a value in column 'view', got null"):
                strict[i]
    for one in (ds.shuffle(seed=4), ds):
        got = [
            (int(i), str(text))
            for batch in one.batch(16).options(map_files=maps).numpy()
            for i, text in zip(batch["i"], batch["view"], strict=True)
        ]
        assert sorted(got) == list(enumerate(wanted))
    alone = hr.read(tmp_path / "x.arrow", columns=["view"], nulls="zero")
    assert [sample["view"] for sample in alone.options(map_files=maps).numpy()] == wanted


def test_views_in_dictionaries_and_lists(tmp_path: Path):
    names = pa.array(["a" * 40, "b", "c" * 13], pa.string_view())
    places = pa.array([2, 0, 1, 0], pa.int8())
    data = pa.table({
        "named": pa.DictionaryArray.from_arrays(places, names),
        "lists": pa.ListArray.from_arrays(pa.array([0, 1, 1, 2, 3], pa.int32()), names),
    })  # fmt: skip
    write(tmp_path / "x.arrow", data, None, 4)
    with pytest.warns(UserWarning, match="column 'lists' is left out"):
        ds = hr.read(tmp_path / "x.arrow")
    assert [sample["named"] for sample in ds] == ["c" * 13, "a" * 40, "b", "a" * 40]


def test_views_that_lead_elsewhere_are_errors_of_their_rows(tmp_path: Path):
    texts = [chr(97 + i) * 20 for i in range(8)]
    write(tmp_path / "x.arrow", pa.table({"view": pa.array(texts, pa.string_view())}), None, 8)
    good = (tmp_path / "x.arrow").read_bytes()
    at = good.index(b"\x14\0\0\0cccc")  # the third view: length, prefix, buffer, offset
    for place, value in [(0, -1), (0, 1 << 20), (8, 1), (8, -1), (12, 1 << 20), (12, -5)]:
        bad = bytearray(good)
        bad[at + place : at + place + 4] = value.to_bytes(4, "little", signed=True)
        (tmp_path / "x.arrow").write_bytes(bad)
        ds = hr.read(tmp_path / "x.arrow")
        for maps in (True, False):
            left = [sample["view"] for sample in ds.on_error("skip").options(map_files=maps).numpy()]
            assert left == texts[:2] + texts[3:], (place, value)
        with pytest.raises(hr.CorruptSample, match="sample 2 of"):
            ds[2]


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_files_of_polars(tmp_path: Path, compression: Any):
    """Polars writes a file's schema without its length, so that only the footer has it."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "n": range(ROWS),
            "x": [i / 3 for i in range(ROWS)],
            "s": [f"text {i}" * (i % 4) for i in range(ROWS)],
        },
        schema_overrides={"n": pl.Int16},
    ).with_columns(
        c=pl.col("s").cast(pl.Categorical), l=pl.int_ranges(0, pl.col("n") % 5), t=pl.struct(a="n", b="s")
    )
    frame.write_ipc(tmp_path / "x.arrow", compression=compression)
    rows = [{**row, "t/a": row["t"]["a"], "t/b": row["t"]["b"]} for row in frame.iter_rows(named=True)]
    for row in rows:
        del row["t"]
    assert [{**x, "l": x["l"].tolist()} for x in hr.read(tmp_path / "x.arrow")] == rows
    assert hr.read(tmp_path / "x.arrow", format="arrow").schema["n"].dtype == "int16"


def test_lists_of_texts_are_read_once_for_both_fields(tmp_path: Path):
    rows = [["ä" * (i % 50)] * (i % 5) for i in range(20_000)]
    write(tmp_path / "x.arrow", pa.table({"x": pa.array(rows), "y": list(range(20_000))}), None, 20_000)
    loader = hr.read(tmp_path / "x.arrow").options(map_files=False).batch(100, ragged=True).numpy()
    whole = sum(int(lengths.sum()) for batch in loader for lengths in batch["x"]["lengths"])
    assert whole == sum(len("".join(row).encode()) for row in rows)
    assert loader.report()["io"]["bytes"] < 1.1 * (tmp_path / "x.arrow").stat().st_size


def test_rows_of_a_large_batch_are_read_in_parts(tmp_path: Path):
    rows = 400
    images = [bytes([i % 251]) * (i * 37 % 5000) for i in range(rows)]
    data = pa.table({
        "image": pa.array([{"bytes": b, "flags": [i % 3 == 0] * (i % 4)} for i, b in enumerate(images)]),
        "bit": pa.array([i % 7 == 0 for i in range(rows)]),
        "maybe": pa.array([None if i % 5 == 0 else i for i in range(rows)], pa.int32()),
        "pair": pa.array([[i, -i] for i in range(rows)], pa.list_(pa.int64(), 2)),
    })  # fmt: skip
    write(tmp_path / "x.arrow", data, None, rows)
    for columns in (None, ["bit", "image/bytes"], ["pair"], ["maybe"]):
        options = {"columns": columns} if columns else {}
        ds = hr.read(tmp_path / "x.arrow", nulls="zero", **options)
        wanted = rows_of(data.to_batches())
        order = np.random.default_rng(1).permutation(rows)
        for i in map(int, order):
            for name, got in ds[i].items():
                value = wanted[name][i]
                assert same(got, 0 if value is None else value), (name, i)
    assert [x["bit"] for x in hr.read(tmp_path / "x.arrow", columns=["bit"])] == [
        i % 7 == 0 for i in range(rows)
    ]


def is_there(value: Any) -> bool:
    """Say whether neither a value nor anything in it is null."""
    return value is not None and (not isinstance(value, list) or all(map(is_there, value)))


def pyarrow_rows(path: Path) -> dict[str, list[Any]] | None:
    """What pyarrow reads after a full validation, None where it refuses."""
    try:
        with pa.memory_map(str(path)) as source:
            if path.read_bytes()[:6] == b"ARROW1":
                reader = ipc.open_file(source)
                batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
            else:
                batches = list(ipc.open_stream(source))
            for batch in batches:
                batch.validate(full=True)
            names = batches[0].schema.names if batches else []
            return rows_of(batches) if len(set(names)) == len(names) else None
    except (pa.ArrowException, OSError, NotImplementedError, UnicodeDecodeError, ValueError, TypeError):
        return None


def real_files() -> list[Path]:
    """Files and streams: apache's own, of several versions and languages, and what their fuzzers found."""
    found = [p for p in (DATA / "arrow").rglob("*") if p.is_file() and "/parquet/" not in str(p)]
    found = [
        p
        for p in found
        if p.suffix in (".arrow_file", ".stream", ".feather")
        or "clusterfuzz" in p.name
        or "/arrow-ipc-" in str(p.parent)
    ]
    return sorted(p for p in found if p.suffix not in (".gz", ".md")) + sorted(
        DATA.glob("official_writers/parquet_arrow/*.arrow*")
    )


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
def test_real_and_hostile_files_give_pyarrows_rows_or_a_reason():
    read = refused = 0
    for path in real_files():
        wanted = pyarrow_rows(path)
        for name in wanted or {None: []}:
            try:
                ds = hr.read(path, format="arrow", **({"columns": [name]} if name is not None else {}))
                rows = [row_or_refusal(ds, i) for i in range(min(len(ds), 2000))]
            except REFUSALS as error:
                assert str(error)
                refused += 1
                continue
            if wanted is None:
                refused += 1
                continue
            read += 1
            assert len(ds) == len(wanted[name]), (path, name)
            for i, row in enumerate(rows):
                value = wanted[name][i]
                if row is None:
                    assert not is_there(value), (path, name, i)
                else:
                    assert same(field_of(row, name), value), (path, name, i, field_of(row, name), value)
    assert read > 400 and refused > 100


def row_or_refusal(ds: hr.Dataset, i: int) -> Any:
    """Read a sample, None where it is refused."""
    try:
        return ds[i]
    except REFUSALS:
        return None
