"""Make the small files of this folder: python make.py, with pyarrow 26.0.1 and h5py 3.16.0."""

import h5py
import numpy
import pyarrow
import pyarrow.ipc

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

with h5py.File("vlen.h5", "w", libver=("v110", "v110")) as file:
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
    )
    file["elsewhere"] = h5py.ExternalLink("other.h5", "/secret")
