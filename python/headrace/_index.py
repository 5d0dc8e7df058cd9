"""Entropy points of JPEG files, found ahead."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

from . import _core
from ._arguments import flag, whole_number
from ._progress import line_where_watched
from .dataset import Dataset
from .sources import read


def index(
    data: str | os.PathLike[str] | Dataset,
    *,
    step: int = 0,
    workers: int | None = None,
    beside: bool = False,
    progress: bool = True,
) -> dict[str, Any]:
    """Find ahead where the rows of JPEG files begin, so that `decode_image(match="fast")` reads only what a crop needs.

    Without it loaders find that out on the way, in their first epoch. The index lies in the user's cache folder and knows files by
    their content, so data may be read-only, moved or changed. Of containers (TFRecord, tar and their like) it is also kept where
    each record lies, which is found when they are opened. No result depends on it. Ctrl-C keeps what was found.

    Args:
        data: A path, read as `read` does, or a dataset with fields of encoded images, before they are decoded.
        step: One point before each `step` MCUs (8 to 16 pixels) of a row, up to 8192; 8 makes crops faster and the index larger.
            0: one before each row.
        workers: Threads that compute (as many as this process may use cores).
        beside: Keep it where the data lie, in a folder `.headrace` there, for all who read them.
        progress: Show how far it is, where stderr is a terminal or this is a notebook, and tqdm is installed.

    Returns:
        {"samples": looked at, "files": JPEG files with points, "failed": samples that could not be read, "bytes": of the index,
        "path": where it lies}. Where there are no such files these are of what is kept of records; "" and 0 where that is nothing.

    Raises:
        ValueError: no field is of encoded images, the length is not known, or step is out of range.
        OSError: there is no cache folder ($XDG_CACHE_HOME or $HOME), or it or the folder of the data cannot be written to.
    """
    dataset = data if isinstance(data, Dataset) else read(data)
    every = whole_number("index", "step", step, end=2**63)
    threads = 0 if workers is None else whole_number("index", "workers", workers, least=1)
    total = dataset._node.size
    with line_where_watched("samples") if flag("index", "progress", progress) else nullcontext() as line:
        show = None if line is None else lambda done: line.show("indexing", done, total)
        return _core.index(dataset._node, every, threads, beside, show)
