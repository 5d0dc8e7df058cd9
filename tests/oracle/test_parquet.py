"""Parquet files against pyarrow: tables of every type in every encoding, real files, and what is written here."""

from __future__ import annotations

import decimal
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import readers

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
pq = pytest.importorskip("pyarrow.parquet")

DATA = Path(os.environ.get("HEADRACE_DATA") or "/nowhere")
ROWS = 531
REFUSALS = (hr.CorruptSample, NotImplementedError, ValueError, MemoryError)


def with_nulls(values: list[Any], every: int) -> list[Any]:
    """Take one out of so many away; none when it is 0."""
    return [None if every and i % every == 1 else value for i, value in enumerate(values)]


def table(nulls: int = 0) -> Any:
    """Make a table with a column of every type that is read."""
    random = np.random.default_rng(3)
    texts = ["".join(chr(97 + i % 26) for i in range(n)) + "ä" for n in random.integers(0, 40, ROWS)]
    lists = [list(map(int, random.integers(-9, 9, n))) for n in random.integers(0, 7, ROWS)]
    few = [int(x) for x in random.integers(0, 5, ROWS)]

    def array(values: Any, kind: Any) -> Any:
        return pa.array(with_nulls(list(values), nulls), kind)

    return pa.table({
        **{str(t): array(map(int, random.integers(0, 100, ROWS)), t) for t in (
            pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int8(), pa.int16(), pa.int32(), pa.int64())},
        "wide": array((int(x) for x in random.integers(-(2**63), 2**63 - 1, ROWS)), pa.int64()),
        "f16": array((np.float16(x) for x in random.random(ROWS)), pa.float16()),
        "f32": array(map(float, random.random(ROWS).astype(np.float32)), pa.float32()),
        "f64": array(map(float, random.random(ROWS)), pa.float64()),
        "bool": array((bool(x) for x in random.random(ROWS) < 0.5), pa.bool_()),
        "text": array(texts, pa.string()),
        "binary": array((t.encode() * 3 for t in texts), pa.binary()),
        "fixed": array((bytes([i % 256, 1, 2]) for i in range(ROWS)), pa.binary(3)),
        "few": array((f"n{i}" for i in few), pa.string()),
        "category": array((f"n{i}" for i in few), pa.string()).dictionary_encode(),
        "list": array(lists, pa.list_(pa.int32())),
        "list_of_few": array(([i % 3 for i in one] for one in lists), pa.large_list(pa.int64())),
        "tags": array(([f"n{i}ä" * (i % 3) for i in one] for one in lists), pa.list_(pa.string())),
        "blobs": array(([bytes([i % 256]) * 5 * (i % 4) for i in one] for one in lists),
                       pa.large_list(pa.binary())),
        "words": array(([f"n{i % 5}" for i in one] for one in lists), pa.list_(pa.string())),
        "two_texts": array(([f"a{i}", "b" * (i % 9)] for i in range(ROWS)), pa.list_(pa.string(), 2)),
        "holes": array(([None if i % 3 == 0 else f"h{i}" for i in one] if nulls else [] for one in lists),
                       pa.list_(pa.string())),
        "bits": array(([x > 0 for x in one] for one in lists), pa.list_(pa.bool_())),
        "pair": array(random.integers(0, 9, (ROWS, 2)).tolist(), pa.list_(pa.int16(), 2)),
        "matrix": array(random.random((ROWS, 2, 3)).tolist(), pa.list_(pa.list_(pa.float64(), 3), 2)),
        "boxes": array((random.random((len(one), 4)).astype(np.float32).tolist() for one in lists),
                       pa.list_(pa.list_(pa.float32(), 4))),
        "meta": pa.array([{"size": {"h": i, "w": 2 * i}, "name": t} for i, t in enumerate(texts)]),
        "day": array(range(ROWS), pa.date32()),
        "when": array(range(ROWS), pa.timestamp("us")),
        "time": array(range(ROWS), pa.time32("ms")),
        "price": array((decimal.Decimal(i * 37 - 5000) / 100 for i in range(ROWS)), pa.decimal128(9, 2)),
        "large": array((decimal.Decimal(i * 3 ** 40) / 10 ** 9 for i in range(ROWS)), pa.decimal128(38, 9)),
    })  # fmt: skip


def columns_of(read: Any) -> dict[str, Any]:
    """Return the columns, those of structs by their path."""
    out = {}

    def walk(name: str, column: Any) -> None:
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if not pa.types.is_struct(kind):
            out[name] = column
            return
        whole = (
            pa.chunked_array(column).combine_chunks() if isinstance(column, list) else column.combine_chunks()
        )
        for field, member in zip(kind, whole.flatten(), strict=True):
            walk(f"{name}/{field.name}", pa.chunked_array([member]))

    for name, column in zip(read.column_names, read.columns, strict=True):
        walk(name, column)
    return out


def values_of(column: Any) -> list[Any]:
    """Return what a column holds as Python's values: dates and times as their numbers, decimals as floats."""
    kind = column.type
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    values = column.to_pylist()
    return [float(v) if isinstance(v, decimal.Decimal) else v for v in values]


def same(got: Any, wanted: Any) -> bool:
    """Compare a field with what pyarrow says, to which a null is what zeros are read for."""
    if wanted is None:
        return not np.any(np.asarray(got != 0)) if isinstance(got, np.ndarray) else not got
    if isinstance(wanted, bytes) and not isinstance(got, bytes):
        return bool((got.encode() if isinstance(got, str) else np.asarray(got).tobytes()) == wanted)
    if hasattr(wanted, "bytes"):  # a UUID
        return bool(np.asarray(got).tobytes() == wanted.bytes)
    if isinstance(wanted, (str, bytes)):
        return bool(got == wanted)
    if isinstance(wanted, list):
        flat = np.asarray([0 if x is None else x for x in wanted])
        return np.asarray(got).shape[:1] == (len(wanted),) and np.array_equal(
            np.asarray(got), flat.reshape(np.asarray(got).shape), equal_nan=flat.dtype.kind == "f"
        )
    return bool(np.array_equal(got, wanted, equal_nan=isinstance(wanted, float)))


def is_texts(kind: Any) -> bool:
    """Whether these are lists of texts, each of which is two fields."""
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not lists:
        return False
    item = kind.value_type
    item = item.value_type if pa.types.is_dictionary(item) else item
    is_kind = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_one(item) for is_one in is_kind)


def joined(row: Any) -> tuple[bytes, list[int]]:
    """Return the texts of a list one after the other, and how many bytes each has; nulls are nothing."""
    texts = [one.encode() if isinstance(one, str) else one or b"" for one in row or []]
    return b"".join(texts), [len(one) for one in texts]


def told(field: dict[str, Any]) -> tuple[bytes, list[int]]:
    """Return the same of what a sample has."""
    values = field["values"]
    assert field["lengths"].dtype == np.int64
    return values.encode() if isinstance(values, str) else values, field["lengths"].tolist()


def check(path: Path) -> tuple[int, int]:
    """Compare each column of a file; how many were read, and how many refused by their name."""
    read = refused = 0
    for name, column in columns_of(pq.ParquetFile(path).read()).items():
        chosen = name
        try:
            ds = None
            for chosen in (name, name.removesuffix("/bytes")):
                try:
                    ds = readers.read_parquet(path, columns=[chosen], nulls="zero")
                    break
                except ValueError:
                    assert name.endswith("/bytes"), (path, name)
        except NotImplementedError as error:
            assert re.search(r"cannot read column '.*' \(", str(error))
            refused += 1
            continue
        assert ds is not None
        if is_texts(column.type):
            got = [told(sample[name]) for sample in ds]
            assert got == [joined(row) for row in column.to_pylist()], (path, name)
            read += 1
            continue
        key = chosen if chosen in ds.schema else next(iter(ds.schema))
        try:
            wanted = values_of(column)
        except UnicodeDecodeError:
            continue
        got = [sample[key] for sample in ds]
        assert len(got) == len(wanted), (path, name)
        for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
            assert same(a, b), (path, name, i, a, b)
        read += 1
    return read, refused


ENCODED = {"wide": "DELTA_BINARY_PACKED", "int32": "DELTA_BINARY_PACKED", "uint8": "DELTA_BINARY_PACKED",
           "text": "DELTA_BYTE_ARRAY", "binary": "DELTA_LENGTH_BYTE_ARRAY", "f32": "BYTE_STREAM_SPLIT",
           "f64": "BYTE_STREAM_SPLIT", "f16": "BYTE_STREAM_SPLIT", "fixed": "DELTA_BYTE_ARRAY", "bool": "RLE",
           "int64": "BYTE_STREAM_SPLIT", "large": "BYTE_STREAM_SPLIT", "list.list.element": "DELTA_BINARY_PACKED",
           "tags.list.element": "DELTA_BYTE_ARRAY", "blobs.list.element": "DELTA_LENGTH_BYTE_ARRAY"}  # fmt: skip
WRITTEN: list[dict[str, Any]] = [
    {},
    {"compression": "none", "use_dictionary": False},
    {"compression": "gzip", "data_page_version": "2.0"},
    {"compression": "brotli", "write_page_checksum": True},
    {"compression": "lz4", "row_group_size": 100, "write_page_index": True},
    {"compression": "zstd", "use_dictionary": False, "column_encoding": ENCODED},
    {"compression": "none", "use_dictionary": False, "column_encoding": ENCODED, "data_page_version": "2.0"},
    {"data_page_size": 300, "write_batch_size": 10, "write_page_index": True},
    {"data_page_size": 300, "write_batch_size": 10, "use_dictionary": False, "data_page_version": "2.0"},
    {"store_schema": False, "use_deprecated_int96_timestamps": True},
]


@pytest.mark.parametrize("nulls", [0, 3, 100])
@pytest.mark.parametrize("options", WRITTEN, ids=str)
def test_every_type_reads_as_pyarrow_wrote_it(tmp_path: Path, options: dict[str, Any], nulls: int) -> None:
    """In all encodings and codecs, pages of both versions, with nulls and without."""
    path = tmp_path / "a.parquet"
    pq.write_table(table(nulls), path, **options)
    read, refused = check(path)
    assert (read, refused) == ((37, 0) if options.get("store_schema", True) else (35, 2))


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_row_groups_with_an_index_of_pages_are_read_in_parts(tmp_path: Path, compression: str) -> None:
    """Blocks are pages where there are many: at random as in order."""
    random = np.random.default_rng(1)
    images = [random.bytes(int(n)) for n in random.integers(1, 9000, 2000)]
    boxes = [random.random((i % 4, 4)).astype(np.float32).tolist() for i in range(2000)]
    one = pa.table(
        {
            "image": images,
            "label": list(range(2000)),
            "boxes": pa.array(boxes, pa.list_(pa.list_(pa.float32(), 4))),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(one, path, compression=compression, write_page_index=True, data_page_size=100_000,
                   write_batch_size=7, use_dictionary=["label"])  # fmt: skip
    ds = hr.read(path)
    for i in [0, 1999, 1000, 3, *range(0, 2000, 97)]:
        assert (
            ds[i]["image"] == images[i] and int(ds[i]["label"]) == i and ds[i]["boxes"].tolist() == boxes[i]
        )
    loader = ds.shuffle(seed=1).take(50).numpy()
    assert all(images[int(s["label"])] == s["image"] for s in loader)
    assert loader.report()["io"]["bytes"] < 40 * 400_000  # and not the nine megabytes of it for each


@pytest.mark.skipif(not DATA.is_dir(), reason="HEADRACE_DATA is not set")
def test_real_files_hold_what_pyarrow_reads() -> None:
    """Each column by itself; those that are refused are so for their type."""
    read = refused = 0
    for line in (DATA / "truth.jsonl").read_text().splitlines():
        truth = json.loads(line)
        if (
            truth.get("kind") == "parquet"
            and truth["status"] == "ok"
            and "corrupt-checksum" not in truth["path"]
        ):
            some = check(DATA / truth["path"])
            read, refused = read + some[0], refused + some[1]
    assert read > 1110 and refused < 36


CONDITIONS: list[Any] = [
    [("uint8", "<", 10)], [("wide", ">=", 0), ("f64", "<=", 0.5)], [("few", "==", "n3")], [("bool", "==", True)],
    [("few", "in", ["n1", "n2"]), ("int16", "!=", 50)], [("when", ">", 500)], [("text", "<", "b")], [("f32", ">", 2)],
]  # fmt: skip


@pytest.mark.parametrize("conditions", CONDITIONS, ids=str)
@pytest.mark.parametrize("group", [37, 1000])
def test_conditions_keep_the_rows_that_pyarrow_keeps(tmp_path: Path, conditions: Any, group: int) -> None:
    """With nulls, with statistics and where these decide."""
    one = table(7).sort_by("int32")
    path = tmp_path / "a.parquet"
    pq.write_table(one.append_column("row", pa.array(range(ROWS))), path, row_group_size=group)
    numbers = one.set_column(one.schema.get_field_index("when"), "when", one["when"].cast(pa.int64()))
    ops = {
        "<": pc.less,
        "<=": pc.less_equal,
        ">": pc.greater,
        ">=": pc.greater_equal,
        "==": pc.equal,
        "!=": pc.not_equal,
    }
    kept = np.ones(ROWS, bool)
    for name, op, value in conditions:
        if op == "in":
            mask = pc.and_(pc.is_in(numbers[name], pa.array(value)), pc.is_valid(numbers[name]))
        else:
            mask = pc.fill_null(ops[op](numbers[name], value), False)
        kept &= mask.to_numpy()
    ds = readers.read_parquet(path, columns=["row"], where=conditions)
    assert [int(s["row"]) for s in ds] == np.flatnonzero(kept).tolist()


def test_lists_of_other_lengths_are_an_error_of_their_row(tmp_path: Path) -> None:
    """A list that is null within a row is zeros, or an error of that row; so is a wrong length, always."""
    path = tmp_path / "a.parquet"
    fixed, free = pa.list_(pa.list_(pa.int32(), 2), 2), pa.list_(pa.list_(pa.int32(), 2))
    rows = [[[1, 2], [3, 4]], [None, [5, 6]], None, [[7, 8], [9, 9]]]
    pq.write_table(pa.table({"a": pa.array(rows, fixed), "b": pa.array(rows, free)}), path)
    zeros = list(hr.read(path, nulls="zero"))
    assert [s["a"].tolist() for s in zeros] == [rows[0], [[0, 0], [5, 6]], [[0, 0], [0, 0]], rows[3]]
    assert [s["b"].tolist() for s in zeros] == [rows[0], [[0, 0], [5, 6]], [], rows[3]]
    for name in ("a", "b"):
        ds = hr.read(path, columns=[name])
        assert ds[0][name].tolist() == rows[0] and ds[3][name].tolist() == rows[3]
        for row in (1, 2):
            with pytest.raises(hr.CorruptSample, match=f"column '{name}', got null.*row {row} of"):
                ds[row]
    # What Arrow's schema says, and the levels do not hold.
    pq.write_table(pa.table({"b": pa.array([], free)}), path)
    said = pq.read_metadata(path).metadata[b"ARROW:schema"]
    loose = [rows[0], [[1], [2, 3, 4]], [[], [1, 2]], rows[3]]
    one = pa.table({"b": pa.array(loose, pa.list_(pa.list_(pa.int32())))})
    with pq.ParquetWriter(path, one.schema, store_schema=False) as writer:
        writer.write_table(one)
        writer.add_key_value_metadata({"ARROW:schema": said})
    ds = hr.read(path, nulls="zero")
    assert ds.schema["b"].shape == (None, 2)
    assert ds[0]["b"].tolist() == rows[0] and ds[3]["b"].tolist() == rows[3]
    for row in (1, 2):
        with pytest.raises(
            hr.CorruptSample, match=r"expected int32 .* in column 'b', got lists of other lengths"
        ):
            ds[row]


def test_times_that_nanoseconds_do_not_reach_are_an_error_of_their_row(tmp_path: Path) -> None:
    """INT96 has days of 32 bits; they are not wrapped around."""
    path = tmp_path / "a.parquet"
    times = [
        "1969-12-31T23:00",
        "9999-12-31T03:00",
        "1970-01-01T00:00",
        "0001-01-01T00:00",
        "2262-01-01T00:00",
    ]
    column = pa.array(np.array(times, "datetime64[us]"))
    pq.write_table(pa.table({"t": column}), path, use_deprecated_int96_timestamps=True)
    ds = hr.read(path)
    for row in (0, 2, 4):
        assert np.datetime64(int(ds[row]["t"]), "ns") == np.datetime64(times[row])
    for row, word in ((1, "after"), (3, "before")):
        with pytest.raises(hr.CorruptSample, match=f"the years 1677 to 2262 in column 't'.*got one {word}"):
            ds[row]


def test_structs_come_back_as_structs(tmp_path: Path) -> None:
    """Also Hugging Face's, of an image."""
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    nested = pa.struct(
        [("h", pa.int32()), ("in", pa.struct([("w", pa.float32()), ("box", pa.list_(pa.int64(), 2))]))]
    )
    one = pa.table({
        "image": pa.array([{"bytes": b"x" * i, "path": f"{i}.jpg"} for i in range(5)], image),
        "hw": pa.array([{"h": i, "in": {"w": i / 2, "box": [i, i]}} for i in range(5)], nested),
        "label": pa.array(range(5), pa.int64()),
    })  # fmt: skip
    pq.write_table(one, tmp_path / "a.parquet")
    hr.read(tmp_path / "a.parquet").write(tmp_path / "b.parquet")
    back = pq.read_table(tmp_path / "b.parquet")
    assert back.cast(one.schema).equals(one)
    assert [
        (f.name, re.sub(" not null", "", str(f.type)).replace("element", "item")) for f in back.schema
    ] == [(f.name, str(f.type)) for f in one.schema]
    assert back.to_pylist() == one.to_pylist()
    assert hr.read(tmp_path / "b.parquet").schema == hr.read(tmp_path / "a.parquet").schema


def test_lists_of_texts_are_one_text_and_its_lengths(tmp_path: Path) -> None:
    """As those of other formats: chosen by the name of the list or by that of a field, in batches, shuffled."""
    path = tmp_path / "a.parquet"
    rows = [[f"{i}ä" * (j % 3) for j in range(i % 5)] for i in range(400)]
    one = pa.table({
        "x": pa.array(range(400), pa.int64()),
        "captions": pa.array(rows, pa.list_(pa.string())),
        "meta": pa.array([{"tags": [f"t{i}".encode()] * (i % 3)} for i in range(400)],
                         pa.struct([("tags", pa.list_(pa.binary()))])),
    })  # fmt: skip
    pq.write_table(one, path, row_group_size=90, data_page_size=200, write_batch_size=10)
    ds = hr.read(path)
    assert "left_out_columns" not in ds.metadata
    assert ds.schema["captions"]["values"].dtype == "str" and ds.schema["captions"]["lengths"].shape == (
        None,
    )
    assert ds.schema["meta/tags"]["values"].dtype == "bytes"
    for i, sample in enumerate(ds):
        assert told(sample["captions"]) == joined(rows[i])
        assert told(sample["meta/tags"]) == (f"t{i}".encode() * (i % 3), [len(f"t{i}")] * (i % 3))
    for sample in ds.shuffle(seed=3).take(50):
        assert told(sample["captions"]) == joined(rows[int(sample["x"])])
    for chosen in (["captions/lengths"], ["captions/values"], ["captions/lengths", "x", "captions/values"]):
        for i, sample in enumerate(hr.read(path, columns=chosen)):
            assert list(sample) == chosen
            whole, lengths = joined(rows[i])
            assert "captions/values" not in sample or sample["captions/values"].encode() == whole
            assert "captions/lengths" not in sample or sample["captions/lengths"].tolist() == lengths
    batched = []
    for batch in hr.read(path, columns=["captions"]).shuffle(seed=1, blocks=2).batch(64, ragged=True):
        texts, lengths = batch["captions"]["values"], batch["captions"]["lengths"]
        batched += [(str(one).encode(), each.tolist()) for one, each in zip(texts, lengths, strict=True)]
    assert sorted(batched) == sorted(map(joined, rows))
    kept = hr.read(path, where=[("x", ">=", 390)])
    assert [told(sample["captions"]) for sample in kept] == [joined(row) for row in rows[390:]]
    for name in ("captions", "captions/values", "captions/lengths"):
        with pytest.raises(ValueError, match=f"where: expected .*'{name}' has lists of strings"):
            hr.read(path, where=[(name, "==", "x")])


def test_names_of_lists_of_texts_are_any_and_each_once(tmp_path: Path) -> None:
    """Also one that is empty, beside others; a name that another column has makes them fields of their own."""
    path = tmp_path / "a.parquet"
    texts, numbers = pa.array([["a", "bc"], ["d"]], pa.list_(pa.string())), pa.array([[1, 2, 3], [4]])
    pq.write_table(pa.Table.from_arrays([numbers, texts, numbers], ["", "a", "b"]), path)
    assert told(hr.read(path)[0]["a"]) == (b"abc", [1, 2])
    pq.write_table(pa.Table.from_arrays([numbers, texts, numbers], ["a", "", "b"]), path)
    for chosen in (None, ["a", "/lengths", "b"]):
        sample = hr.read(path, columns=chosen)[0]
        lengths = sample["/lengths"] if chosen else sample[""]["lengths"]
        assert lengths.tolist() == [1, 2] and sample["b"].tolist() == [1, 2, 3]
    pq.write_table(pa.Table.from_arrays([texts, numbers], ["a", "a"]), path)
    sample = hr.read(path)[0]
    assert list(sample) == ["a/values", "a/lengths", "a"] and sample["a"].tolist() == [1, 2, 3]
    for names, columns in (
        (["a/values", "a"], [numbers, texts]), (["a", "a/lengths"], [texts, numbers])
    ):  # fmt: skip
        pq.write_table(pa.Table.from_arrays(columns, names), path)
        with pytest.raises(ValueError, match=r"expected each column once, got 'a.*' twice"):
            hr.read(path)


def test_blocks_that_are_pages_have_their_lists_of_texts(tmp_path: Path) -> None:
    """Also where the texts have more than is read together, and in any order."""
    path = tmp_path / "a.parquet"
    rows = [[str(i % 10) * (700 * j) for j in range(1 + i % 4)] for i in range(3000)]
    one = pa.table({"texts": pa.array(rows, pa.list_(pa.string())), "x": list(range(3000))})
    pq.write_table(one, path, compression="none", use_dictionary=False, write_page_index=True,
                   data_page_size=50_000, write_batch_size=9)  # fmt: skip
    ds = hr.read(path)
    for i in [0, 2999, 1500, 7, *range(0, 3000, 211)]:
        assert told(ds[i]["texts"]) == joined(rows[i]) and int(ds[i]["x"]) == i
    loader = ds.numpy()
    assert sum(int(sample["texts"]["lengths"].sum()) for sample in loader) == sum(
        map(len, map("".join, rows))
    )
    assert loader.report()["io"]["bytes"] < 1.2 * path.stat().st_size  # once for both fields


def test_nulls_in_lists_of_texts_are_errors_or_nothing(tmp_path: Path) -> None:
    """A list that is null is an empty one, and a text that is null an empty one, where they are no errors."""
    path = tmp_path / "a.parquet"
    rows = [["a", "bc"], None, ["d", None, "e"], [], ["f"]]
    pq.write_table(pa.table({"a": pa.array(rows, pa.list_(pa.string()))}), path)
    assert [told(sample["a"]) for sample in hr.read(path, nulls="zero")] == [
        (b"abc", [1, 2]), (b"", []), (b"de", [1, 0, 1]), (b"", []), (b"f", [1])
    ]  # fmt: skip
    for member in ("values", "lengths"):
        ds = hr.read(path, columns=[f"a/{member}"])
        for row in (0, 3, 4):
            got = ds[row][f"a/{member}"]
            texts, lengths = joined(rows[row])
            assert got.encode() == texts if member == "values" else got.tolist() == lengths
        for row, what in ((1, "a value"), (2, "strings without nulls")):
            message = f"expected {what} in column 'a/{member}', got null; nulls=\"zero\".*row {row} of"
            with pytest.raises(hr.CorruptSample, match=message):
                ds[row]


def test_columns_that_are_not_served_are_left_out(tmp_path: Path) -> None:
    """And an error when they are asked for by name."""
    path = tmp_path / "a.parquet"
    one = pa.table({
        "x": pa.array([1, 2]),
        "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32())),
        "structs": pa.array([[{"a": 1}], []], pa.list_(pa.struct([("a", pa.int32())]))),
        "texts": pa.array([[["a"]], []], pa.list_(pa.list_(pa.string()))),
        "none": pa.nulls(2),
    })  # fmt: skip
    pq.write_table(one, path)
    ds = hr.read(path)
    assert list(ds.schema) == ["x"] and [int(s["x"]) for s in ds] == [1, 2]
    assert ds.metadata["left_out_columns"] == ["map", "structs", "texts", "none"]
    assert "left_out_columns" not in hr.read(path, columns=["x"]).metadata
    for name, why in (("map", "maps"), ("structs", "lists of structs"), ("texts", "lists of lists of strings"),
                      ("none", "the null type")):  # fmt: skip
        with pytest.raises(NotImplementedError, match=rf"cannot read column '{name}' \({why}\)"):
            hr.read(path, columns=[name])
    pq.write_table(one.select(["map"]), path)
    with pytest.raises(NotImplementedError, match="cannot read column 'map'"):
        hr.read(path)
