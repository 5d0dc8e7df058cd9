"""Readers by name: `headrace.read(path, format=...)` with the options of one format spelled out.

An option that is not given has the format's own default; `headrace.formats()` says what that is.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Literal, TypeVar, cast

from . import _core
from ._trace import DTypeLike
from .dataset import Dataset
from .sources import read

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]
Nulls = Literal["error", "zero", "nan"]
Compression = Literal["none", "gzip", "zlib", "zstd"]


_Reader = TypeVar("_Reader", bound=Callable[..., Dataset])


def _with_options_named(reader: _Reader) -> _Reader:
    """Name the options that there are, and the one that was meant, to who gives another."""
    known = list(inspect.signature(reader).parameters)

    @functools.wraps(reader)
    def checked(*args: Any, **options: Any) -> Dataset:
        for name in options:
            if name not in known:
                raise TypeError(f"{reader.__name__}: {_core.no_option(name, known[1:])}")
        return reader(*args, **options)

    return cast(_Reader, checked)


def _read(path: Paths, format: str, **options: Any) -> Dataset:  # noqa: A002
    return read(path, format=format, **{name: value for name, value in options.items() if value is not None})


@_with_options_named
def read_image_folder(path: Path, *, classes: Sequence[str] | None = None, key: bool = False) -> Dataset:
    """Read a folder of folders of images: fields `image` (encoded, bytes) and `label` (i64, by sorted folder name).

    Files that do not end like an image are left out, and a folder of only such files is no class; `metadata["left_out"]` counts them.

    Args:
        path: The folder above the classes.
        classes: Folder names in the order of their labels; all, sorted, when not given.
        key: Add the field `__key__` (str), the file's name below the folder without its ending: "cat/17". WebDataset keeps it.
    """
    return _read(path, "image_folder", classes=classes, key=key or None)


@_with_options_named
def read_images(path: Path, *, key: bool = False) -> Dataset:
    """Read a folder of images: field `image` (encoded, bytes). `metadata["left_out"]` counts what does not end like an image.

    Args:
        path: The folder.
        key: Add the field `__key__` (str), the file's name below the folder without its ending. WebDataset keeps it.
    """
    return _read(path, "images", key=key or None)


@_with_options_named
def read_file_list(
    path: Path,
    *,
    root: str | None = None,
    numbers: Literal["auto", "label", "index"] | None = None,
    extension: str | None = None,
    key: bool = False,
) -> Dataset:
    """Read a text file with a line "path" or "path label" for each image.

    Args:
        path: The list.
        root: Folder the paths are relative to; the list's own when not given.
        numbers: What the number of a line is; an index is ignored and labels come from the paths' folders.
        extension: Ending of files that the list names without one.
        key: Add the field `__key__` (str), the name as the list has it, without its ending.
    """
    return _read(path, "file_list", root=root, numbers=numbers, extension=extension, key=key or None)


@_with_options_named
def read_json_map(path: Path, *, root: str | None = None, key: bool = False) -> Dataset:
    """Read a JSON object from image path to label.

    Args:
        path: The JSON file.
        root: Folder the paths are relative to; the map's own when not given.
        key: Add the field `__key__` (str), the path as the map has it, without its ending.
    """
    return _read(path, "json_map", root=root, key=key or None)


@_with_options_named
def read_tfrecord(path: Paths, *, verify: bool | None = None) -> Dataset:
    """Read TFRecord files, plain, gzip, zlib or zstd: field `record` (bytes), one a record.

    `ops.example_feature` takes the features out of records that are a tf.train.Example.

    Args:
        path: A file, a folder of shards, a pattern such as "train-?????-of-01024", or a list of files and patterns.
        verify: Check each record's checksum; lengths are checked always.
    """
    return _read(path, "tfrecord", verify=verify)


@_with_options_named
def read_text(
    path: Paths,
    *,
    encoding: Literal["utf-8", "bytes"] | None = None,
    header: int | None = None,
    compression: Compression | None = None,
) -> Dataset:
    """Read the lines of text files: field `line`, str or bytes, without its end (a new line, or a carriage return and one).

    Args:
        path: A file, a pattern, a folder of files, or a list of files and patterns.
        encoding: "utf-8" (the default) makes lines str, and a line that is not UTF-8 is an error; "bytes" takes any.
        header: Lines at the head of each file that are left out; 0 when not given.
        compression: Of whole files; gzip or zstd where a file begins so, when not given.

    Raises:
        CorruptSample: A line is not UTF-8. Names file, line and byte.
    """
    return _read(path, "text", encoding=encoding, header=header, compression=compression)


@_with_options_named
def read_csv(
    path: Paths,
    *,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    dtypes: Mapping[str, DTypeLike] | None = None,
    defaults: Mapping[str, int | float | str] | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    compression: Compression | None = None,
) -> Dataset:
    """Read tables in CSV files (RFC 4180): a scalar field for each column, a sample for each row.

    Fields in quotes may hold delimiters, line ends and, doubled, quotes. Empty lines are no rows.

    Args:
        path: A file, a pattern, a folder of files, or a list of files and patterns. All have the same columns.
        columns: These columns, in this order; all when not given.
        header: Whether the first row of each file names the columns; True when not given.
        names: Names of all columns instead of the header's; `column_0`, `column_1`, … where there is neither.
        dtypes: By column. Others are i64, or f64, where every field of every file is such a number, else str: a warning names
            columns that few fields make text. With a dtype here such a field is an error of its row, for `on_error`.
        defaults: What stands for an empty field, by column. Else it is empty text, and an error for a number.
        delimiter: Between fields; a tab in files that end in .tsv, else a comma, when not given.
        quote: Around fields; `"` when not given, and "" for files that have none.
        compression: Of whole files; gzip or zstd where a file begins so, when not given.

    Raises:
        CorruptSample: A row has too few or too many fields, or one is no number of its dtype. Names file, line and column.
        ValueError: A column is not there, or a file's columns are not those of the others.
    """
    return _read(
        path,
        "csv",
        columns=columns,
        header=header,
        names=names,
        dtypes=dtypes,
        defaults=_spelled(defaults),
        delimiter=delimiter,
        quote=quote,
        compression=compression,
    )


@_with_options_named
def read_jsonl(
    path: Paths,
    *,
    columns: Sequence[str] | None = None,
    dtypes: Mapping[str, DTypeLike] | None = None,
    defaults: Mapping[str, Any] | None = None,
    compression: Compression | None = None,
) -> Dataset:
    """Read JSON lines (NDJSON): an object a line is a sample, its keys are the fields. Lines of blanks are none.

    Numbers are i64 or f64, lists of numbers arrays of such a shape as holds all of them (`(3)`, `(?)`, `(?, 4)`), `true` and `false` bool,
    texts str, lists of texts `{"values": str, "lengths": i64 (n)}`, all of them one after the other and how many bytes each has. A member
    of an object in an object is called `"image/width"`. All else is its JSON, as a str: lists of objects, keys whose values are of several
    kinds, whole numbers beyond 64 bits.

    Args:
        path: A file, a pattern, a folder of files, or a list of files and patterns.
        columns: These fields, in this order; all when not given. The name of an object stands for all that it has.
        dtypes: By column, of an array's items too. Others are what holds every value of every file. "str" of what is no text is its JSON.
        defaults: What stands for null, and for a key that a line lacks, by column: a number, a text, a list. Else it is an error of the line.
        compression: Of whole files; gzip or zstd where a file begins so, when not given.

    Raises:
        CorruptSample: A line is no JSON object, or a value is missing or not of its dtype. Names file, line and column.
        ValueError: A column is not there.
    """
    return _read(
        path, "jsonl", columns=columns, dtypes=dtypes, defaults=_spelled(defaults), compression=compression
    )


def _spelled(defaults: Mapping[str, Any] | None) -> Any:
    """Write NaN and infinity as a file does: options are JSON, which has neither."""
    if not isinstance(defaults, Mapping):
        return defaults
    return {
        column: str(value) if isinstance(value, float) and not isfinite(value) else value
        for column, value in defaults.items()
    }


@_with_options_named
def read_fixed(
    path: Paths,
    *,
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    compression: Compression | None = None,
) -> Dataset:
    """Read files of records of one length: field `record` (bytes). `ops.decode_raw` makes numbers of them.

    Args:
        path: A file, a pattern, a folder of files, or a list of files and patterns.
        record_bytes: Of each record.
        header_bytes: At the head of each file, left out; 0 when not given.
        footer_bytes: At the end of each file, left out; 0 when not given.
        compression: Of whole files; "none" when not given.

    Raises:
        CorruptSample: A file is no whole number of records.
    """
    return _read(
        path,
        "fixed",
        record_bytes=record_bytes,
        header_bytes=header_bytes,
        footer_bytes=footer_bytes,
        compression=compression,
    )


@_with_options_named
def read_npy(path: Paths) -> Dataset:
    """Read NumPy's .npy files: field `array`, one sample for each slice along the first axis.

    Dtype and shape are the array's: bool, integers, f16, f32 or f64, in either byte order, in C or Fortran order. Arrays in Fortran's order
    above 64 MiB are slow to shuffle.

    Args:
        path: A file, a pattern, a folder of files, or a list of files and patterns. All have rows of one dtype and shape.

    Raises:
        NotImplementedError: An array of complex numbers, records, texts, dates or pickled objects; the error says what to save instead.
        ValueError: A single number, or files that do not agree.
        CorruptSample: The header is damaged, or the numbers are not all that follows it.
    """
    return _read(path, "npy")


@_with_options_named
def read_npz(path: Paths, *, fields: Sequence[str] | None = None) -> Dataset:
    """Read NumPy's .npz files: a field for each array, one sample for each slice along their first axes.

    Arrays are as `read_npy` has them. Compressed ones are unpacked when the file is opened and kept in memory, at most 2 GiB of them.

    Args:
        path: A file, a pattern, a folder of files, or a list of files and patterns. All have the same arrays.
        fields: These arrays, in this order; all but single numbers when not given.

    Raises:
        NotImplementedError: A chosen array that `read_npy` would refuse, or that is packed by another method than deflate.
        ValueError: Arrays have different numbers of rows, or one that is named is not there.
        MemoryError: More than 2 GiB would be unpacked.
        CorruptSample: The zip, a checksum or an array is damaged.
    """
    return _read(path, "npz", fields=fields)


@_with_options_named
def read_idx(path: Path, *, labels: Path | None = None) -> Dataset:
    """Read IDX files, MNIST's: one sample for each slice along the first axis; plain or gzip.

    With `labels`, fields `image` and `label`; else `array`. Dtypes are those of the file: MNIST has images of u8 (28, 28) and labels of u8.

    Args:
        path: The file.
        labels: A file with as many labels.

    Raises:
        MemoryError: More than 2 GiB in gzip, which is unpacked and kept in memory.
        CorruptSample: A file has not the size that its dimensions say, or there are not as many labels.
    """
    return _read(path, "idx", labels=None if labels is None else os.fspath(labels))


@_with_options_named
def read_cifar(path: Paths, *, classes: Literal[10, 100] | None = None) -> Dataset:
    """Read the binary files of CIFAR-10 and CIFAR-100: fields `image`, u8 (32, 32, 3), and `label`, i64.

    CIFAR-100 has `coarse_label`, i64, too.

    Args:
        path: A file, a pattern such as "data_batch_*.bin", a folder of files, or a list of files and patterns.
        classes: 10 or 100; as the sizes of the files say when not given.

    Raises:
        CorruptSample: A file is no whole number of records.
        ValueError: Files of training and of test are given together.
    """
    return _read(path, "cifar", classes=classes)


@_with_options_named
def read_lmdb(path: Paths, *, values: Literal["bytes", "datum", "tensor_protos"] | None = None) -> Dataset:
    """Read LMDB databases, in the order of their keys: fields `key` and `value` (bytes).

    With `values="datum"`, Caffe's: `image` and `label` (i64). The image is encoded (bytes), or u8 (height, width, 3) in RGB from raw planes
    in BGR, or u8 (height, width, 1), as the first value has it. With `values="tensor_protos"`, Caffe2's: `image`, `label`
    and, where there is one, `box`, as they are stored. No lock file is made or looked at.

    Args:
        path: The folder of a database, its data file, a pattern of these files, or a list.
        values: What values are; "bytes" when not given.

    Raises:
        CorruptSample: The tree is damaged. Names file, page and byte.
        NotImplementedError: Several values a key, or named databases.
    """
    return _read(path, "lmdb", values=values)


@_with_options_named
def read_recordio(path: Paths, *, header: bool | None = None, label_width: int | None = None) -> Dataset:
    """Read RecordIO files (.rec) of MXNet, dmlc or SageMaker.

    With MXNet's header: fields `image` (encoded, bytes), `label` (f32, a scalar or (n)) and `id` (i64). Without: `record` (bytes).
    An `.idx` beside a file is used when it is that of the file.

    Args:
        path: A file, a pattern, a folder of shards, or a list of files and patterns.
        header: Whether records begin with MXNet's IRHeader; as the first record looks when not given.
        label_width: Labels of each record, 0 for any number; when not given one, or any number where the first record has several.

    Raises:
        CorruptSample: The parts of a file do not follow each other. Names file, record and byte.
    """
    return _read(path, "recordio", header=header, label_width=label_width)


@_with_options_named
def read_arrow(
    path: Paths,
    *,
    columns: Sequence[str] | None = None,
    nulls: Nulls | Mapping[str, Nulls] | None = None,
) -> Dataset:
    """Read tables in Arrow IPC files or streams (also Feather V2): a field for each column, a sample for each row.

    Numbers are scalars, fixed-size lists of them arrays, other lists of them arrays whose length differs, text `str` and binary
    `bytes`; members of structs are named by their path, `image/bytes`. A list of texts is `{"values": str, "lengths": i64 (n)}`, all of
    them one after the other and the length of each in bytes. Dates and times are i64 as they are stored.

    Args:
        path: A file, a pattern, a folder of shards, or a list of files and patterns. All have the same columns.
        columns: These columns, in this order; a struct's name stands for its members. All that are served when not given;
            `metadata["left_out_columns"]` lists others.
        nulls: "error" (the default) refuses a sample with a null; "zero" reads zeros, or nothing where the length is free; "nan"
            reads NaN for floats and is "error" for others. For some columns alone: `{"caption": "zero", "price": "nan"}`.

    Raises:
        NotImplementedError: A chosen column has a type that is not read (maps, unions, decimals, lists of lists), or a file is Feather V1.
        ValueError: A column is not there, or a file's columns are not those of the first.
    """
    return _read(path, "arrow", columns=columns, nulls=nulls)


@_with_options_named
def read_parquet(
    path: Paths,
    *,
    columns: Sequence[str] | None = None,
    where: Sequence[tuple[str, str, Any]] | None = None,
    nulls: Nulls | Mapping[str, Nulls] | None = None,
) -> Dataset:
    """Read tables in Parquet files: a field for each column, a sample for each row.

    Numbers are scalars, lists of them arrays whose length differs, text `str` and binary `bytes`; members of structs are named by their
    path, `hw/height`. A struct of `bytes` and `path`, as Hugging Face keeps images, is the field of its name with the bytes, and `image/path`.
    Dates and times are i64 as they are stored, decimals f64.

    Args:
        path: A file, a pattern, a folder of shards, or a list of files and patterns. All have the same columns.
        columns: These columns, in this order; a struct's name stands for its members. All that are served when not given;
            `metadata["left_out_columns"]` lists others.
        where: Only rows for which all of these hold, each (column, operator, value): `[("label", "<", 10)]`. Operators are ==, !=, <, <=, >, >=
            and in; a null holds for none. Those columns are read once, where statistics do not tell; the length is exact.
        nulls: "error" (the default) refuses a sample with a null; "zero" reads zeros, or nothing where the length is free; "nan"
            reads NaN for floats and is "error" for others. For some columns alone: `{"caption": "zero", "price": "nan"}`.

    Raises:
        NotImplementedError: A chosen column has a type that is not read (maps, lists of structs or of lists), or is encrypted.
        ValueError: A column is not there, or a file's columns are not those of the first.
    """
    conditions = [list(condition) for condition in where] if where is not None else None
    return _read(path, "parquet", columns=columns, where=conditions, nulls=nulls)


@_with_options_named
def read_hdf5(
    path: Paths,
    *,
    group: str | None = None,
    fields: Sequence[str] | None = None,
) -> Dataset:
    """Read the datasets of one group in HDF5 files: a field for each, a sample for each row of their first dimension.

    Numbers are scalars, further dimensions arrays, runs of free length arrays whose length differs; such runs of uint8 are `bytes`, and text
    is `str`. Members of compounds are fields of their own, `obs/day`; enums are their integers. Single values, which have no rows, are left
    out.

    Args:
        path: A file, a pattern, a folder of files, or a list of files and patterns. All have the same fields.
        group: The group, `"train"`, say; when not given the root, or the only group that has datasets.
        fields: These datasets, in this order, below the group; all of the group when not given.

    Raises:
        NotImplementedError: A chosen dataset has a type or a filter that is not read, or lies in another file.
        ValueError: There are several groups or datasets of several lengths to choose from, or what is named is not there.
        CorruptSample: Structures of the file are damaged.
    """
    return _read(path, "hdf5", group=group, fields=fields)


@_with_options_named
def read_voc_xml(
    path: Path,
    *,
    images: str | None = None,
    annotations: str | None = None,
    classes: Sequence[str] | None = None,
    first: int | None = None,
    difficult: bool | None = None,
    truncated: bool | None = None,
    pose: bool | None = None,
    split: str | None = None,
    masks: bool | None = None,
) -> Dataset:
    """Read images with PASCAL VOC or ImageNet boxes, an XML file each: `image` (bytes), `boxes` f32 (n, 4) and `labels` i64 (n).

    Boxes are x_min, y_min, x_max, y_max from 0, the maxima not included; `metadata["classes"]` names the labels.

    Args:
        path: A folder.
        images: Folder of the images below the path; the path itself when not given.
        annotations: Folder of the XML files, likewise.
        classes: Class names in the order of their labels; all, sorted, when not given, which reads every XML file once.
        first: Number of the first pixel in the files: 1 as VOC says, or 0.
        difficult: Also give the field `difficult`, bool (n).
        truncated: Also give the field `truncated`, bool (n).
        pose: Also give the field `pose`, `{"values": str, "lengths": i64 (n)}`, the texts one after the other.
        split: "train" for the images that ImageSets/Main/train.txt lists, with masks those of ImageSets/Segmentation; "Layout/train" for
            another list. Lines that end in -1 do not count. All images when not given.
        masks: Also give `class_mask` and `object_mask`, the PNG files of SegmentationClass and SegmentationObject (bytes):
            `ops.decode_image(s.class_mask, color="index")`. Images without them are left out and counted.
    """
    return _read(
        path,
        "voc_xml",
        images=images,
        annotations=annotations,
        classes=classes,
        first=first,
        difficult=difficult,
        truncated=truncated,
        pose=pose,
        split=split,
        masks=masks,
    )


@_with_options_named
def read_webdataset(
    path: Paths,
    *,
    fields: Sequence[str] | None = None,
    missing: Literal["error", "empty"] | None = None,
    decode: bool | None = None,
    unfinished: bool | None = None,
) -> Dataset:
    """Read WebDataset's tars: members that share a name up to its first dot are one sample, in any order and at random.

    Fields are named like the members' suffixes, in lower case: `jpg`, `cls`, `seg.png`; `__key__` (str) is the name in front of them.
    `cls`, `cls2`, `id`, `index` and `inx` are i64 scalars, everything else is bytes as they are. Nothing is ever unpickled.

    Args:
        path: A tar, plain or in gzip, a pattern (`"train-{000000..000999}.tar"`), a list of these, or the folder of the tars.
        fields: Suffixes to give, and `"__key__"`; the key and the suffixes of the first sample when not given.
        missing: What a sample without one of the fields is: an error, or empty bytes.
        decode: False gives bytes for the numbers, too, and for pickles.
        unfinished: Take the whole members of tars that were cut or not closed; their last sample may lack fields.

    Raises:
        FileNotFoundError: there is nothing at the path, or a pattern matches no file.
        ValueError: a field would have to be unpickled.
        CorruptSample: a tar is cut, or a header of it is damaged.
    """
    return _read(path, "webdataset", fields=fields, missing=missing, decode=decode, unfinished=unfinished)


@_with_options_named
def read_mds(path: Path, *, split: str | None = None, verify: bool | None = None) -> Dataset:
    """Read a folder of MosaicML Streaming (MDS): `index.json` and the shards it lists, plain, zstd or gz. A field for each column.

    `int`, sizes and numbers keep their dtype; `str_int` is i64, `str_float` f64, `json` and `str_decimal` str; `jpeg` and `png` are bytes
    for `ops.decode_image`; `pil` is u8 (h, w, c); `ndarray` an array whose rank and dtype are those of the first sample where the index
    does not say. `jpeg_array` and lists of images are `{"values": bytes, "lengths": i64 (n)}`.

    Args:
        path: The folder, or its `index.json`.
        split: The folder below the path that holds `index.json`: "train".
        verify: Compare each shard with its hash (xxh32, xxh64, xxh128, xxh3_64) when it is opened first; False when not given.

    Raises:
        CorruptSample: The index, the offsets or the sizes of a sample do not fit their file. Names file, record and byte.
        NotImplementedError: A column is `pkl`, which would have to be unpickled, or a shard is packed by br, bz2 or snappy.
    """
    return _read(path, "mds", split=split, verify=verify)


@_with_options_named
def read_beton(path: Path, *, images: Literal["auto", "encoded"] | None = None) -> Dataset:
    """Read one of FFCV's .beton files: a field for each of its fields, numbers as f64 and i64, JSON as str, arrays as they are.

    Images stored as JPEG are bytes for `ops.decode_image`; where all are stored as pixels they are u8 (h, w, 3).

    Args:
        path: The file.
        images: "auto", or "encoded": bytes always. Pixels are then BMP files, which `ops.decode_image` gives back as they were; so they
            are, too, where a field has both ("proportion"). "auto" when not given.

    Raises:
        CorruptSample: A field lies outside the file, or an image has no allocation. Names file and sample.
        NotImplementedError: The file has fields of torch tensors, or of the user's own class.
    """
    return _read(path, "beton", images=images)


@_with_options_named
def read_array_record(path: Paths, *, verify: bool | None = None) -> Dataset:
    """Read ArrayRecord files of any group size, plain, zstd, brotli or snappy: field `record` (bytes), as `read_tfrecord` gives it.

    Args:
        path: A file, a pattern, a folder of shards, or a list of files and patterns.
        verify: Compare the data of each chunk with their hash; headers always are. True when not given.

    Raises:
        CorruptSample: A chunk or the footer is damaged, or the file was not closed. Names file, record and byte.
        NotImplementedError: The file was written with `transpose:true`.
    """
    return _read(path, "array_record", verify=verify)


@_with_options_named
def read_litdata(path: Path) -> Dataset:
    """Read a folder of LitData: `index.json` and the chunks it lists, plain, zstd or framed; a field for each leaf of a sample.

    Dicts, tuples and lists nest as they were. `jpeg` and `file` leaves are bytes, `pil` u8 (h, w, c), tensors and arrays have the dtype and
    rank of the first sample.

    Args:
        path: The folder, or its `index.json`.

    Raises:
        CorruptSample: The index, the offsets or the sizes of a sample do not fit their file. Names file, record and byte.
        NotImplementedError: Chunks are encrypted or of tokens, or have leaves that would have to be unpickled.
    """
    return _read(path, "litdata")


@_with_options_named
def read_zarr(
    path: Path,
    *,
    group: str | None = None,
    fields: Sequence[str] | None = None,
) -> Dataset:
    """Read the arrays of one group of a Zarr store, version 2 or 3: a field for each, a sample for each slice along their first axis.

    A store that is one array has the field `array`. Numbers are scalars, further axes arrays, texts along one axis `str` and bytes `bytes`.
    Chunks that are not there are the fill value; those in shards are read alone. Single values, which have no rows, are left out.

    Args:
        path: The folder of a store, or of a group or an array in it.
        group: The group, `"train"`, say; when not given the root, or the only group that has arrays.
        fields: These arrays, in this order, below the group; all of the group when not given.

    Raises:
        NotImplementedError: A chosen array has a type or a codec that is not read, or the store is one of N5.
        ValueError: There are several groups or arrays of several lengths to choose from, or what is named is not there.
        CorruptSample: Metadata, an index or a chunk are damaged.
    """
    return _read(path, "zarr", group=group, fields=fields)


@_with_options_named
def read_coco(
    path: Path,
    *,
    images: str | None = None,
    boxes: Literal["xyxy", "xywh"] | None = None,
    labels: Literal["index", "category_id"] | None = None,
    masks: bool | Literal["map"] | None = None,
    each: Literal["image", "caption"] | None = None,
    empty: Literal["keep", "drop"] | None = None,
    segments: str | None = None,
) -> Dataset:
    """Read COCO's JSON of instances, stuff, captions or panoptic segments, and the images it names.

    Fields are `image` (encoded, bytes) and `image_id` (i64), and what the file has of `boxes` f32 (n, 4), `labels` i64 (n), `area` f32 (n)
    and `iscrowd` bool (n); `captions`, `{"values": str, "lengths": i64 (n)}`; of panoptic sets `segment_ids` i64 (n) and `segments`,
    their PNG (bytes). `metadata["classes"]` names the labels. The JSON is gone through once and what is found in it is kept.

    Args:
        path: The JSON file.
        images: Folder the file names are relative to; when not given that beside the JSON: `val2017/` or `images/val2017/` of
            `annotations/instances_val2017.json`, `images/`, `data/`, or the JSON's own.
        boxes: "xyxy" (the default) gives x_min, y_min, x_max, y_max, the maxima not included; "xywh" what the file has.
        labels: "index" (the default) gives places among the categories, which are sorted by their ids; "category_id" these ids.
        masks: True adds `masks`, u8 (n, h, w), 1 inside, as pycocotools decodes polygons and runs; "map" one plane for all of them, i32
            (h, w): 0, or 1 + the place of the object, later ones over earlier ones. It follows its image through crops and resizes.
        each: "image" (the default), or "caption": a sample for each, with `caption` (str).
        empty: "drop" leaves out images without annotations; "keep" when not given.
        segments: Folder of the PNG files of panoptic segments; when not given that beside the JSON with its name.

    Raises:
        CorruptSample: The file is no JSON, or what is said of an image is not right. Names file, image and annotation.
        ValueError: Masks or captions are asked for and there are none.
        MemoryError: The masks of an image have more than 2 GiB, or than 256 MiB and a thousand times the bytes of the image.
    """
    return _read(
        path,
        "coco",
        images=images,
        boxes=boxes,
        labels=labels,
        masks=masks,
        each=each,
        empty=empty,
        segments=segments,
    )


@_with_options_named
def read_captions(
    path: Path,
    *,
    images: str | None = None,
    split: str | None = None,
    each: Literal["image", "caption"] | None = None,
) -> Dataset:
    """Read captions as Flickr8k and Flickr30k list them, and their images: `image` (bytes) and `captions`.

    `captions` is `{"values": str, "lengths": i64 (n)}`, the texts one after the other, lengths in bytes of UTF-8.

    Args:
        path: Lines of `x.jpg#0`, a tab and a caption; or a table with a first line `image_name| comment_number| comment` or `image,caption`.
        images: Folder of the images; when not given one beside the list that is called as in the archives, else the list's own.
        split: A file of image names, one a line, relative to the list's folder.
        each: "image" (the default), or "caption": a sample for each, with `caption` (str).

    Raises:
        CorruptSample: A line has another form. Names file and line.
        ValueError: The split lists no image that has a caption.
    """
    return _read(path, "captions", images=images, split=split, each=each)


@_with_options_named
def read_tfds(path: Path, *, split: str | None = None, fields: Sequence[str] | None = None) -> Dataset:
    """Read a data set that TensorFlow Datasets prepared, without it: `~/tensorflow_datasets/mnist/3.0.1`.

    Images are bytes for `ops.decode_image`, texts str, class labels i64, tensors of their dtype; a feature of a dict or of a sequence is called
    by its path, `"objects/bbox"`, and sequences have a free first dimension. Lists of texts, of images and of lists are `{"values",
    "lengths"}`. `metadata["class_names"]` names labels. Shards are TFRecord, ArrayRecord or Parquet files; only those that the split touches are
    looked at.

    Args:
        path: The folder with `dataset_info.json` and `features.json`, or one above with one such folder in it.
        split: "train", a part of it, or a sum: "train[:10%]", "train[80%:]+test", "train[100:-50]", "train[2shard:]"; "all". Percent are
            rounded to the closest sample. The only split when not given.
        fields: These features, in this order; the name of a dict stands for all below it. All that can be read when not given;
            `metadata["left_out_features"]` lists others.

    Raises:
        CorruptSample: The files have other numbers of samples than `dataset_info.json` says, or a record lacks a feature.
        NotImplementedError: The shards are of another format.
        ValueError: There are several splits to choose from, or none of that name.
    """
    return _read(path, "tfds", split=split, fields=fields)


@_with_options_named
def read_huggingface(
    path: Path,
    *,
    split: str | None = None,
    columns: Sequence[str] | None = None,
    nulls: Nulls | Mapping[str, Nulls] | None = None,
) -> Dataset:
    """Read a folder of Hugging Face's datasets, without it: what `save_to_disk()` wrote, or `load_dataset()` keeps in its cache.

    Columns are fields as `read_arrow` has them; an `Image` or `Audio` is its bytes, and `metadata["class_names"]` names the labels of a
    `ClassLabel`. Files that the Hub has as Parquet are read by a pattern, `read("data/train-*.parquet")`.

    Args:
        path: The folder with `state.json`, with `dataset_dict.json`, or with `dataset_info.json` and Arrow files.
        split: "train", or a part: "train[:10%]", "train[100:-50]", "train[:10%]+train[90%:]"; "[:10%]" of a folder with one split.
        columns: These columns, in this order; a struct's name stands for its members. All that can be read when not given;
            `metadata["left_out_columns"]` lists others: lists of structs, of lists …
        nulls: "error" (the default) refuses a sample with a null; "zero" reads zeros, or nothing where the length is free; "nan"
            reads NaN for floats and is "error" for others. For some columns alone: `{"caption": "zero", "price": "nan"}`.

    Raises:
        ValueError: There are several splits to choose from, or none of that name.
        NotImplementedError: The rows are a choice among those of the files; or a column that is named cannot be read.
    """
    return _read(path, "huggingface", split=split, columns=columns, nulls=nulls)
