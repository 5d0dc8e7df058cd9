"""What is written, against those who read it elsewhere: pyarrow, py-lmdb, and MXNet's records taken apart by the book."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

ROWS = 53
NUMBERS = ("bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "f32", "f64")
NUMPY = {"u": "uint", "i": "int", "f": "float"}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype of ours."""
    return np.dtype("bool" if name == "bool" else NUMPY[name[0]] + name[1:])


def images(count: int = ROWS) -> list[bytes]:
    """Make payloads of many lengths, none empty, some with RecordIO's magic word at places where it cuts."""
    random = np.random.default_rng(7)
    magic = struct.pack("<I", 0xCED7230A)
    plain = [random.bytes(int(n)) for n in random.integers(1, 9000, count)]
    return [
        data + magic * (i % 3) + data[: 4 * (i % 5)] if i % 4 == 0 else data for i, data in enumerate(plain)
    ]


# ---- Arrow


def table() -> list[dict[str, Any]]:
    """Make samples with a number, an array and a run of each dtype, boxes and texts."""
    random = np.random.default_rng(5)
    rows = []
    for i in range(ROWS):
        row: dict[str, Any] = {"image": random.bytes(i * 7 % 40), "text": "ä" * (i % 4) + "b"}
        for name in NUMBERS:
            dtype = numpy_dtype(name)
            for field, shape in {"": (), "array ": (2, 3), "run ": (i % 5,), "boxes ": (i % 3, 4)}.items():
                row[field + name] = random.integers(0, 100, shape).astype(dtype)
        rows.append(row)
    return rows


def schema_of_table() -> dict[str, tuple[str, list[int | None]]]:
    """Return its schema."""
    out: dict[str, tuple[str, list[int | None]]] = {"image": ("bytes", [None]), "text": ("str", [None])}
    for name in NUMBERS:
        out |= {name: (name, []), f"array {name}": (name, [2, 3]), f"run {name}": (name, [None]),
                f"boxes {name}": (name, [None, 4])}  # fmt: skip
    return out


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.arrow", {}),
        ("a.feather", {"rows_per_batch": 1}),
        ("a.arrow", {"compression": "lz4", "rows_per_batch": 9}),
        ("a.arrow", {"compression": "zstd", "large_offsets": True}),
        ("a.arrows", {}),
        ("a.arrows", {"compression": "lz4"}),
    ],
)
def test_pyarrow_reads_the_same_table(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    """Every column by pyarrow, which checks all of the file too."""
    pa = pytest.importorskip("pyarrow")
    ipc = pytest.importorskip("pyarrow.ipc")
    rows = table()
    with hr.writer(tmp_path / name, schema_of_table(), options=options) as w:
        for row in rows:
            w.write(row)
    opened = ipc.open_stream if name.endswith(".arrows") else ipc.open_file
    with (tmp_path / name).open("rb") as file:
        read = opened(file).read_all()
    read.validate(full=True)
    assert read.num_rows == ROWS
    assert read.schema.field("image").type == (
        pa.large_binary() if options.get("large_offsets") else pa.binary()
    )
    assert read.schema.field("run u8").type.value_type == pa.uint8()
    for row, got in zip(rows, read.to_pylist(), strict=True):
        assert list(row) == list(got)
        for field, value in row.items():
            assert got[field] == (value if isinstance(value, (bytes, str)) else value.tolist()), field
    if options.get("rows_per_batch") == 1:
        assert read.column("image").num_chunks == ROWS


def test_feather_and_metadata_of_arrow(tmp_path: Path) -> None:
    """Feather V2 is the same file, and what was said of the data is JSON in the schema."""
    feather = pytest.importorskip("pyarrow.feather")
    for label in ("cat", "dog"):
        (tmp_path / "folder" / label).mkdir(parents=True)
        (tmp_path / "folder" / label / "1.jpg").write_bytes(label.encode())
    hr.read(tmp_path / "folder").write(tmp_path / "a.feather")
    read = feather.read_table(tmp_path / "a.feather")
    assert read.column("image").to_pylist() == [b"cat", b"dog"]
    assert b'"classes":["cat","dog"]' in read.schema.metadata[b"headrace"]
    assert hr.read(tmp_path / "a.feather").metadata["classes"] == ["cat", "dog"]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_tensors_of_arrow_go_both_ways(tmp_path: Path, dtype: str) -> None:
    """Arrays of one shape as pyarrow's tensors, and its tensors as arrays."""
    pa = pytest.importorskip("pyarrow")
    ipc = pytest.importorskip("pyarrow.ipc")
    arrays = np.arange(3 * 24).reshape(3, 2, 3, 4).astype(numpy_dtype(dtype))
    with hr.writer(tmp_path / "a.arrow", {"x": (dtype, [2, 3, 4])}, options={"tensors": True}) as w:
        for array in arrays:
            w.write({"x": array})
    with ipc.open_file(tmp_path / "a.arrow") as file:
        column = file.read_all().column("x").combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0)
    assert isinstance(column, pa.FixedShapeTensorArray) and column.type.shape == [2, 3, 4]
    if dtype == "bool":
        assert column.storage.to_pylist() == arrays.reshape(3, 24).tolist()
        return
    assert np.array_equal(column.to_numpy_ndarray(), arrays)
    turned = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(column.storage.type.value_type, [2, 3, 4], permutation=[2, 0, 1]),
        column.storage,
    )
    table = pa.table({"x": pa.FixedShapeTensorArray.from_numpy_ndarray(arrays), "turned": turned})
    with ipc.new_file(tmp_path / "b.arrow", table.schema) as file:
        file.write_table(table)
    back = hr.read(tmp_path / "b.arrow")
    assert back.schema == {"x": hr.FieldSpec(dtype, (2, 3, 4)), "turned": hr.FieldSpec(dtype, (24,))}
    assert all(np.array_equal(s["x"], array) for s, array in zip(back, arrays, strict=True))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.arrow", {}),
        ("a.arrow", {"rows_per_batch": 7, "compression": "lz4", "large_offsets": True}),
        ("a.arrows", {"compression": "zstd"}),
        ("a.parquet", {}),
        ("a.parquet", {"rows_per_group": 7, "compression": "zstd"}),
    ],
)
def test_pyarrow_reads_lists_of_texts(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    """Of none, of empty ones, of bytes, in a struct; and it is the same field when we read it again."""
    pa = pytest.importorskip("pyarrow")
    texts = [["ä" * (j % 3) + str(i) for j in range(i % 4)] + [""] * (i % 3) for i in range(ROWS)]
    data = [[b"\xff\0" * (j % 3) for j in range(i * 7 % 5)] for i in range(ROWS)]

    def of(items: list[Any], joined: Any) -> dict[str, Any]:
        lengths = [len(item.encode() if isinstance(item, str) else item) for item in items]
        return {"values": joined.join(items), "lengths": np.array(lengths, np.int64)}

    samples = [
        {"captions": of(one, ""), "n": i, "meta": {"tags": of(two, b""), "m": i}}
        for i, (one, two) in enumerate(zip(texts, data, strict=True))
    ]
    path = tmp_path / name
    hr.from_list(samples).write(path, options=options, verify=True)
    if name.endswith(".parquet"):
        read = pytest.importorskip("pyarrow.parquet").read_table(path)
        assert read.column("meta").to_pylist() == [{"tags": two, "m": i} for i, two in enumerate(data)]
    else:
        ipc = pytest.importorskip("pyarrow.ipc")
        with path.open("rb") as file:
            read = (ipc.open_stream if name.endswith(".arrows") else ipc.open_file)(file).read_all()
        large = bool(options.get("large_offsets"))
        wanted = pa.large_list(pa.large_string()) if large else pa.list_(pa.string())
        assert read.schema.field("captions").type == wanted
        assert read.column("meta/tags").to_pylist() == data
    read.validate(full=True)
    assert read.column("captions").to_pylist() == texts and read.column("n").to_pylist() == list(range(ROWS))
    assert list(read.schema.names)[:2] == ["captions", "n"]
    back = hr.read(path)
    assert list(back.schema)[:2] == ["captions", "n"]
    for sample, got in zip(samples, back, strict=True):
        tags = got["meta"]["tags"] if "meta" in got else got["meta/tags"]
        for one, other in ((sample["captions"], got["captions"]), (sample["meta"]["tags"], tags)):
            assert one["values"] == other["values"] and np.array_equal(one["lengths"], other["lengths"])
    assert hr.read(path, columns=["captions"]).schema["captions"]["values"].dtype == "str"


@pytest.mark.parametrize("name", ["a.arrow", "a.parquet"])
def test_lengths_that_do_not_add_up_name_sample_and_field(tmp_path: Path, name: str) -> None:
    """Nothing is left of it; lengths that count characters and not bytes are such."""

    def samples(*fields: tuple[str, list[int]]) -> hr.Dataset:
        return hr.from_list([{"x": {"values": text, "lengths": np.array(sizes)}} for text, sizes in fields])

    with pytest.raises(ValueError, match=r"sample 1 .*'x': expected lengths that add up to the 3 bytes"):
        samples(("a", [1]), ("aä", [1, 1])).write(tmp_path / name)
    assert not (tmp_path / name).exists()
    with pytest.raises(
        hr.CorruptSample, match=r"sample 0: .*string 0: expected UTF-8, .*lengths count bytes"
    ):
        samples(("aä", [2, 1]), ("a", [1])).write(tmp_path / name)


# ---- LMDB


def fields_of(message: bytes) -> dict[int, Any]:
    """Take a protobuf message apart: numbers and bytes by their field's number."""
    at, out = 0, {}

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        value: Any = varint()
        if tag & 7 == 2:
            value, at = message[at : at + value], at + value
        out[tag >> 3] = value
    return out


def test_py_lmdb_reads_the_same_values_and_can_go_on(tmp_path: Path) -> None:
    """Keys and values by a cursor and by key; then it adds one, so the tree is one it can change."""
    lmdb = pytest.importorskip("lmdb")
    values = images()
    with hr.writer(tmp_path / "a.lmdb") as w:
        for value in values:
            w.write({"value": value})
    assert not (tmp_path / "a.lmdb" / "lock.mdb").exists()
    with lmdb.open(str(tmp_path / "a.lmdb"), map_size=1 << 26) as database:
        with database.begin() as transaction:
            pairs = list(transaction.cursor())
            assert pairs == [(b"%010d" % i, value) for i, value in enumerate(values)]
            assert transaction.get(b"0000000007") == values[7]
        with database.begin(write=True) as transaction:
            assert transaction.put(b"0000000007x", b"one more")
        assert database.stat()["entries"] == ROWS + 1
    assert [bytes(s["value"]) for s in hr.read(tmp_path / "a.lmdb")][8] == b"one more"


def test_py_lmdb_reads_datums_of_files(tmp_path: Path) -> None:
    """Caffe's message by hand: encoded images, and planes in BGR."""
    lmdb = pytest.importorskip("lmdb")
    pixels = np.random.default_rng(1).integers(0, 256, (4, 5, 3)).astype(np.uint8)
    for name, image in {"encoded.mdb": b"a jpeg", "raw.mdb": pixels}.items():
        with hr.writer(tmp_path / name) as w:
            for label in (0, 1, -1, 2**31 - 1):
                w.write({"image": image, "label": label})
        with (
            lmdb.open(str(tmp_path / name), readonly=True, lock=False, subdir=False) as database,
            database.begin() as t,
        ):
            datums = [fields_of(value) for _, value in t.cursor()]
        assert [d[5] for d in datums] == [0, 1, 2**64 - 1, 2**31 - 1]
        if name == "encoded.mdb":
            assert all(d[4] == b"a jpeg" and d[7] == 1 for d in datums)
        else:
            assert [datums[0][i] for i in (1, 2, 3)] == [3, 4, 5]
            planes = np.frombuffer(datums[0][4], np.uint8).reshape(3, 4, 5)
            assert np.array_equal(planes[::-1].transpose(1, 2, 0), pixels)
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.endswith(".json")) == [
        "encoded.mdb", "raw.mdb",
    ]  # fmt: skip


# ---- RecordIO


def records_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield where each record begins, and it: dmlc's recordio.h."""
    at = 0
    while at < len(data):
        begin, record = at, b""
        while True:
            magic, word = struct.unpack_from("<II", data, at)
            assert magic == 0xCED7230A
            kind, length = word >> 29, word & (1 << 29) - 1
            assert (kind in (0, 1)) == (at == begin)
            record += data[at + 8 : at + 8 + length]
            at += 8 + (length + 3) // 4 * 4
            if kind in (0, 3):
                break
            record += struct.pack("<I", magic)
        yield begin, record


@pytest.mark.parametrize("width", [0, 1, 4])
def test_mxnet_layout(tmp_path: Path, width: int) -> None:
    """Header, labels and image of each record, found by the .idx; `width` 0 is a label in the header."""
    payloads = images()
    with hr.writer(tmp_path / "a.rec") as w:
        for i, image in enumerate(payloads):
            w.write({"image": image, "label": i if width == 0 else np.arange(width, dtype=np.float32) + i})
    data = (tmp_path / "a.rec").read_bytes()
    index = [tuple(map(int, line.split("\t"))) for line in (tmp_path / "a.idx").read_text().splitlines()]
    records = list(records_of(data))
    assert index == [(i, begin) for i, (begin, _) in enumerate(records)]
    for i, (_, record) in enumerate(records):
        flag, label, number, second = struct.unpack_from("<IfQQ", record)
        assert (flag, number, second) == (width, i, 0)
        labels = struct.unpack_from(f"<{width}f", record, 24)
        assert labels == tuple(float(i + k) for k in range(width)) and (width > 0 or label == i)
        assert record[24 + 4 * width :] == payloads[i]
