"""Readers by name: `headrace.read(path, format=...)` with the options of one format spelled out.

An option that is not given has the format's own default; `headrace.formats()` says what that is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from .dataset import Dataset
from .sources import read

Path = str | os.PathLike[str]


def _read(path: Path | Sequence[Path], format: str, **options: Any) -> Dataset:  # noqa: A002
    return read(path, format=format, **{name: value for name, value in options.items() if value is not None})


def read_image_folder(path: Path, *, classes: Sequence[str] | None = None) -> Dataset:
    """Read a folder of folders of images: fields `image` (encoded, bytes) and `label` (i64, by sorted folder name).

    Files that do not end like an image are left out, and a folder of only such files is no class; `metadata["left_out"]` counts them.

    Args:
        path: The folder above the classes.
        classes: Folder names in the order of their labels; all, sorted, when not given.
    """
    return _read(path, "image_folder", classes=classes)


def read_images(path: Path) -> Dataset:
    """Read a folder of images: field `image` (encoded, bytes). `metadata["left_out"]` counts what does not end like an image."""
    return _read(path, "images")


def read_file_list(
    path: Path,
    *,
    root: str | None = None,
    numbers: Literal["auto", "label", "index"] | None = None,
    extension: str | None = None,
) -> Dataset:
    """Read a text file with a line "path" or "path label" for each image.

    Args:
        path: The list.
        root: Folder the paths are relative to; the list's own when not given.
        numbers: What the number of a line is; an index is ignored and labels come from the paths' folders.
        extension: Ending of files that the list names without one.
    """
    return _read(path, "file_list", root=root, numbers=numbers, extension=extension)


def read_json_map(path: Path, *, root: str | None = None) -> Dataset:
    """Read a JSON object from image path to label.

    Args:
        path: The JSON file.
        root: Folder the paths are relative to; the map's own when not given.
    """
    return _read(path, "json_map", root=root)


def read_arrow(
    path: Path | Sequence[Path],
    *,
    columns: Sequence[str] | None = None,
    nulls: Literal["error", "zero"] | None = None,
) -> Dataset:
    """Read tables in Arrow IPC files or streams (also Feather V2): a field for each column, a sample for each row.

    Numbers are scalars, fixed-size lists of them arrays, other lists of them arrays whose length differs, text `str` and binary
    `bytes`; members of structs are named by their path, `image/bytes`. Dates and times are i64 as they are stored.

    Args:
        path: A file, a pattern, a folder of shards, or a list of these. All have the same columns.
        columns: These columns, in this order; a struct's name stands for its members. All when not given.
        nulls: "error" (the default) refuses a sample with a null; "zero" reads zeros, or nothing where the length is free.

    Raises:
        NotImplementedError: A chosen column has a type that is not read (maps, unions, decimals, lists of lists), or a file is Feather V1.
        ValueError: A column is not there, or a file's columns are not those of the first.
    """
    return _read(path, "arrow", columns=columns, nulls=nulls)


def read_voc_xml(
    path: Path,
    *,
    images: str | None = None,
    annotations: str | None = None,
    classes: Sequence[str] | None = None,
    first: int | None = None,
    difficult: bool | None = None,
) -> Dataset:
    """Read images with PASCAL VOC or ImageNet boxes, an XML file each.

    Args:
        path: A folder.
        images: Folder of the images below the path; the path itself when not given.
        annotations: Folder of the XML files, likewise.
        classes: Class names in the order of their labels; all, sorted, when not given, which reads every XML file once.
        first: Number of the first pixel in the files: 1 as VOC says, or 0.
        difficult: Also give the field `difficult`.
    """
    return _read(
        path,
        "voc_xml",
        images=images,
        annotations=annotations,
        classes=classes,
        first=first,
        difficult=difficult,
    )
