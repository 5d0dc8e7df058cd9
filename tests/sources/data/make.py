"""Make the small files of this folder: python make.py, with pyarrow 26.0.1, h5py 3.16.0 and mksquashfs 4.5.1."""

import decimal
import subprocess

import h5py
import numpy
import pyarrow
import pyarrow.ipc
import pyarrow.parquet

ROWS = 11
IMAGES = [bytes((7 * row + 3 * i) % 251 for i in range(13 * (row % 5) + row)) for row in range(ROWS)]
CLASSES = [(row * 6007) % 65536 for row in range(ROWS)]
SCORES = [row / 8 - 1 for row in range(ROWS)]
BOXES = [list(range(row, row + row % 4)) for row in range(ROWS)]

TABLE = pyarrow.table(
    {
        "image": pyarrow.array(
            [{"bytes": b, "path": f"{i}.jpg"} for i, b in enumerate(IMAGES)],
            pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())]),
        ),
        "class": pyarrow.array(CLASSES, pyarrow.uint16()),
        "score": pyarrow.array(SCORES, pyarrow.float32()),
        "boxes": pyarrow.array(BOXES, pyarrow.list_(pyarrow.int32())),
        "synset": pyarrow.array([f"n{row % 3}" for row in range(ROWS)]).dictionary_encode(),
    }
)

for codec in (None, "lz4", "zstd"):
    options = pyarrow.ipc.IpcWriteOptions(compression=codec)
    with pyarrow.ipc.new_file(f"table_{codec or 'plain'}.arrow", TABLE.schema, options=options) as writer:
        writer.write_table(TABLE, max_chunksize=4)

# One row a batch, as in courses on large image sets; a stream with nulls; rows whose batch is read in parts.
with pyarrow.ipc.new_file("rows.arrow", TABLE.schema) as writer:
    writer.write_table(TABLE, max_chunksize=1)
NULLS = pyarrow.table(
    {
        "n": pyarrow.array([1, None, 3, None], pyarrow.int32()),
        "text": pyarrow.array(["a", "bc", None, ""]),
        "list": pyarrow.array([[1.0, None], None, [], [2.0]], pyarrow.list_(pyarrow.float64())),
        "flags": pyarrow.array(
            [[True, None], [False, True], None, [True, True]], pyarrow.list_(pyarrow.bool_(), 2)
        ),
        "kind": pyarrow.array(["x", None, "y", "x"]).dictionary_encode(),
        "whole": pyarrow.array([7, 8, 9, 10], pyarrow.int64()),
    }
)
with pyarrow.ipc.new_stream("nulls.arrows", NULLS.schema) as writer:
    writer.write_table(NULLS, max_chunksize=3)

# Floats that are null, and numbers that mean something else than themselves.
TYPED = pyarrow.table(
    {
        "x": pyarrow.array([1.5, None, -2.0, None], pyarrow.float32()),
        "y": pyarrow.array([None, 2.0, 3.0, None], pyarrow.float64()),
        "pair": pyarrow.array(
            [[1.0, None], None, [3.0, 4.0], [5.0, 6.0]], pyarrow.list_(pyarrow.float32(), 2)
        ),
        "list": pyarrow.array([[1.0, None], [], [2.0], [3.0]], pyarrow.list_(pyarrow.float64())),
        "kind": pyarrow.array([0.5, None, 0.5, 0.25], pyarrow.float64()).dictionary_encode(),
        "ts": pyarrow.array([1, 2, 3, 4], pyarrow.timestamp("us", tz="UTC")),
        "local": pyarrow.array([1, 2, 3, 4], pyarrow.timestamp("ms")),
        "d": pyarrow.array([1, 2, 3, 4], pyarrow.date32()),
        "t": pyarrow.array([1, 2, 3, 4], pyarrow.time64("ns")),
        "took": pyarrow.array([1, 2, 3, 4], pyarrow.duration("s")),
        "times": pyarrow.array([[1], [], [2, 3], []], pyarrow.list_(pyarrow.time32("ms"))),
        "price": pyarrow.array([decimal.Decimal(n) / 100 for n in (1, 2, 3, 4)], pyarrow.decimal128(10, 2)),
        "n": pyarrow.array([1, 2, 3, None], pyarrow.int32()),
    }
)
with pyarrow.ipc.new_file("typed.arrow", TYPED.schema) as writer:
    writer.write_table(TYPED, max_chunksize=3)
pyarrow.parquet.write_table(TYPED, "typed.parquet", row_group_size=3)

# Lists of texts, some of them null.
TEXTS = pyarrow.table(
    {
        "captions": pyarrow.array([["a cat", "on a mät"], [], ["", "dog", "x"], ["y"] * 9]),
        "tags": pyarrow.array([[b"1"], None, [None, b"23"], []], pyarrow.large_list(pyarrow.large_binary())),
    }
)
with pyarrow.ipc.new_file("texts.arrow", TEXTS.schema) as writer:
    writer.write_table(TEXTS, max_chunksize=3)

# Beside columns that are not served.
MAPS = pyarrow.table(
    {
        "m": pyarrow.array([[("a", 1)], []], pyarrow.map_(pyarrow.string(), pyarrow.int32())),
        "x": pyarrow.array([1, 2]),
        "lists": pyarrow.array([[[1]], []]),
    }
)
with pyarrow.ipc.new_file("maps.arrow", MAPS.schema) as writer:
    writer.write_table(MAPS)

# Row groups of four rows in pages of both versions; every page begins with its levels.
for name, options in {
    "table_plain.parquet": {"compression": "none", "use_dictionary": False, "write_page_index": True},
    "table_v2.parquet": {"compression": "zstd", "data_page_version": "2.0", "column_encoding": {
        "class": "DELTA_BINARY_PACKED", "score": "BYTE_STREAM_SPLIT", "image.path": "DELTA_BYTE_ARRAY",
        "image.bytes": "DELTA_LENGTH_BYTE_ARRAY", "synset": "PLAIN", "boxes.list.element": "PLAIN"},
        "use_dictionary": False},
    "table_snappy.parquet": {"write_page_checksum": True},
}.items():  # fmt: skip
    pyarrow.parquet.write_table(TABLE, name, row_group_size=4, **options)
pyarrow.parquet.write_table(NULLS, "nulls.parquet", row_group_size=3)

# Groups, headers and chunk indexes of the first version and of later ones.
for name, version in {"vlen.h5": "v110", "vlen_old.h5": "earliest"}.items():
    with h5py.File(name, "w", libver=(version, "v110")) as file:
        images = file.create_dataset("image", (ROWS,), h5py.vlen_dtype(numpy.uint8))
        for row, data in enumerate(IMAGES):
            images[row] = numpy.frombuffer(data, numpy.uint8)
        file["class"] = numpy.array(CLASSES, numpy.uint16)
        file.create_dataset(
            "thumb",
            data=numpy.arange(ROWS * 6, dtype=numpy.float32).reshape(ROWS, 2, 3),
            chunks=(2, 2, 3),
            compression="gzip",
            shuffle=True,
            fletcher32=name == "vlen_old.h5",
        )
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/secret")

# Not padded, so that every byte counts; the same bytes each time.
OPTIONS = "-noappend -nopad -all-root -mkfs-time 0 -all-time 0 -no-xattrs -comp zstd -b 4096 -quiet"
subprocess.run(["mksquashfs", "table_plain.arrow", "arrow.sqsh", *OPTIONS.split()], check=True)
