"""Finding entropy points of JPEG files in advance."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

from . import _core
from ._arguments import flag, whole_number
from ._watching.progress import line_where_watched
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
    """Find in advance where the rows of JPEG files begin, so that `decode_image(match="fast")` decodes only what a crop needs.

    Without an index, loaders find these entropy points in their first epoch. The index is stored in the user's cache folder and
    identifies images by their content, so data may be read-only, moved or changed. For containers (TFRecord, tar and others), the
    positions of records are stored too, which are otherwise found when the files are opened. Results do not depend on the index.
    After Ctrl-C, what was found so far is kept.

    Args:
        data: A path for `read`, or a dataset with fields of encoded images that are not decoded yet.
        step: One point before each `step` MCUs (8 to 16 pixels) of a row, up to 8192; 8 makes crops faster and the index larger.
            0: one before each row.
        workers: Number of threads (as many as cores this process may use).
        beside: Store it next to the data, in a folder `.headrace`, for all users of the data.
        progress: Show progress if stderr is a terminal or this is a notebook, and tqdm is installed.

    Returns:
        {"samples": number looked at, "files": JPEG files with points, "failed": samples that could not be read, "bytes": size of the
        index, "path": where it is stored}. Without such JPEG files, bytes and path are those of the positions of records, or 0 and ""
        if there are none.

    Raises:
        ValueError: no field has encoded images, the length is not known, or step is out of range.
        OSError: there is no cache folder ($XDG_CACHE_HOME or $HOME), or it or the folder of the data is not writable.

    Example:
        hr.index("imagenet/train", step=8)
    """
    dataset = data if isinstance(data, Dataset) else read(data)
    every = whole_number("index", "step", step, end=2**63)
    threads = 0 if workers is None else whole_number("index", "workers", workers, least=1)
    total = dataset._node.size
    with line_where_watched("samples") if flag("index", "progress", progress) else nullcontext() as line:
        show = None if line is None else lambda done: line.show("indexing", done, total)
        return _core.index(dataset._node, every, threads, beside, show)
