"""Writing data sets: all samples of a dataset, or one sample at a time."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import _core
from ._arguments import byte_size, flag, names_checked, text, whole_number
from ._errors import with_message
from ._making.element import Form, as_mapping, form_of, is_function_leaf, spec_of
from ._structure import flatten, joined_path
from ._trace import plain
from ._watching.progress import line_where_watched, size_text

if TYPE_CHECKING:
    from .dataset import FieldSpec

Place = str | os.PathLike[str]


def wanted(
    verb: str,
    *,
    format: str | None,  # noqa: A002
    shard_size: int | str | None,
    shards: int | None,
    overwrite: bool,
    options: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the engine's options for a data set to be written."""
    size = 0 if shard_size is None else byte_size(verb, "shard_size", shard_size)
    return {
        "format": "" if format is None else text(verb, "format", format),
        "options": {key: plain(value) for key, value in (options or {}).items()},
        "shard_size": size,
        "shards": 0 if shards is None else whole_number(verb, "shards", shards, least=1),
        "overwrite": flag(verb, "overwrite", overwrite),
    }


def write(
    node: _core.Node,
    loading: Mapping[str, Any],
    path: Place,
    progress: Callable[[dict[str, Any]], Any] | bool | None,
    given: dict[str, Any],
) -> dict[str, Any]:
    """Write the samples of a plan; see `Dataset.write`."""
    if callable(progress) or (progress is not None and not flag("write", "progress", progress)):
        report = _core.write(node, os.fspath(path), given, dict(loading), progress or None)
    else:
        with line_where_watched("samples") as line:

            def show(at: dict[str, Any]) -> None:
                assert line is not None
                line.show(
                    f"{at['phase']} {Path(path).name}", at["samples"], at["total"], size_text(at["bytes"])
                )

            report = _core.write(
                node, os.fspath(path), given, dict(loading), show if line is not None else None
            )
    metadata: Any = node.metadata()
    types = metadata.get("types", {})
    if lost := ", ".join(f"{name!r} is {kind}" for name, kind in types.items() if name in node.schema[0]):
        warnings.warn(
            f"write: times and units are written as plain numbers: {lost}; files do not say what they count",
            RuntimeWarning,
            stacklevel=4,
        )
    for one in report.pop("warnings"):
        warnings.warn(one, RuntimeWarning, stacklevel=4)  # above this function, Dataset.write and its wrapper
    return report


class Writer:
    """Writes samples to a data set that appears, complete, at the end of its `with` block; created by `headrace.writer`."""

    def __init__(
        self,
        path: Place,
        schema: Mapping[str, FieldSpec | tuple[str, Sequence[int | None]]] | None,
        given: dict[str, Any],
    ):
        self._path = os.fspath(path)
        self._given = given
        self._writer: _core.Writer | None = None
        self._opening = threading.Lock()  # the first sample, of any thread, opens the writer
        self._form: Form | None = None
        self._texts: dict[str, type] = {}  # str or bytes, by the path of a list of strings
        self._over = False
        self._report: dict[str, Any] | None = None
        self._failure: Exception | None = None
        self._is_inferred = schema is None
        if schema is not None:
            names, leaves, structure = flatten(dict(schema), _is_spec)
            self._open(Form(names, [_spec(leaf) for leaf in leaves], structure, "the schema"))

    def write(self, sample: Any) -> None:
        """Write a sample: a dict, tuple, dataclass or single value of arrays, numbers, bytes and str, like the first sample.

        A list of str, or of bytes, becomes the field `{"values": str, "lengths": int64 (n,)}`: the concatenated strings, and the
        length of each in bytes. `[]` is accepted if the first sample had a list there, or the schema has both fields.

        Any thread may call it, in any order, but not a forked child. The sample is copied, then encoded and written in the background,
        so an error may be that of an earlier sample.

        Args:
            sample: The sample.

        Raises:
            ValueError: its fields differ from the schema, or the format cannot store them.
            OSError: the disk is full, or the folder is not writable.
        """
        if self._over:
            raise ValueError("write: the writer is closed")
        sample = self._joined(sample, "")
        with self._opening:
            if self._form is None:
                form = form_of(iter([sample]), "the first one")
                if form.open:
                    raise ValueError(
                        f"write: the first sample has an empty list in {form.open[0]!r}, whose dtype is not known; pass schema=, or "
                        "np.zeros(0, dtype)"
                    )
                self._open(form)
        assert self._form is not None
        leaves = self._form.leaves(sample, "write: the sample")
        assert self._writer is not None
        try:
            self._writer.add(leaves)
        except ValueError as error:
            hint = self._schema_hint(leaves)
            raise with_message(error, f"{error}{hint}") if hint else error from None

    def close(self) -> dict[str, Any]:
        """Finish the data set, as the end of the `with` block does. Closing again returns or raises the same.

        Returns:
            {"format", "samples", "bytes" (of all files), "shards", "reused_shards"}.

        Raises:
            ValueError: nothing was written, and no schema was given.
        """
        if self._report is None:
            if self._failure is not None:
                raise self._failure
            if self._over:
                raise ValueError("write: the writer was discarded")
            if self._writer is None:
                raise ValueError(
                    "write: expected at least one sample, or a schema; nothing was written, so the fields are not known"
                )
            self._over = True
            try:
                self._report = self._writer.finish()
            except Exception as error:
                self._failure = error
                raise
        return self._report

    def discard(self) -> None:
        """Give up: no data set appears, and no files are left. An exception in the `with` block does the same."""
        if self._writer is not None and not self._over:
            self._writer.discard()
        self._over = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.discard()
        elif not self._over:
            self.close()

    def _schema_hint(self, leaves: list[Any]) -> str:
        """Return a hint with a schema that fixes the shapes of this sample's arrays, if they were inferred."""
        if not self._is_inferred or not any(len(leaf.shape) > 1 for leaf in leaves if hasattr(leaf, "shape")):
            return ""
        specs = (spec_of(leaf) for leaf in leaves)
        fields = ", ".join(
            f'"{name}": ("{spec[0]}", {list(leaf.shape) if hasattr(leaf, "shape") else list(spec[1])})'
            for name, spec, leaf in zip(self._form.names if self._form else (), specs, leaves, strict=True)
        )
        return (
            f"; schema={{{fields}}} fixes the shapes of this sample's arrays; use None for a free dimension"
        )

    def _joined(self, node: Any, path: str) -> Any:
        """Return the sample with lists of strings as their concatenation and the length of each in bytes."""
        node = as_mapping(node)
        if isinstance(node, Mapping):
            return {key: self._joined(below, joined_path(path, str(key))) for key, below in node.items()}
        if not isinstance(node, (list, tuple)) or (node and is_function_leaf(node)):
            return node
        # A sample that is a list is a list of fields.
        kind: Any = self._texts.get(path) if not node else type(node[0])
        if not isinstance(node, list) or not path or kind not in (str, bytes):
            items = [self._joined(below, joined_path(path, str(at))) for at, below in enumerate(node)]
            return items if isinstance(node, list) else tuple(items)
        if not all(type(text) is kind for text in node):
            return node
        encoded = [text.encode("utf-8", "surrogatepass") for text in node] if kind is str else node
        return {"values": kind().join(node), "lengths": np.array([len(text) for text in encoded], np.int64)}

    def _open(self, form: Form) -> None:
        kinds = {"str": str, "bytes": bytes}
        for name, following, (dtype, _) in zip(form.names, form.names[1:], form.given_specs, strict=False):
            path = name.removesuffix("/values")
            if dtype in kinds and (name, following) == (f"{path}/values", f"{path}/lengths"):
                self._texts[path] = kinds[dtype]
        self._writer = _core.Writer(
            self._path, form.names, list(form.given_specs), form.structure, self._given
        )
        self._form = form


@names_checked
def writer(
    path: Place,
    schema: Mapping[str, FieldSpec | tuple[str, Sequence[int | None]]] | None = None,
    *,
    format: str | None = None,  # noqa: A002
    shard_size: int | str | None = None,
    overwrite: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Writer:
    """Write a data set one sample at a time.

    The complete data set appears under its name when the `with` block ends; if an exception leaves the block, nothing appears.
    `Dataset.write` writes all samples of a dataset, and can resume an interrupted run.

    Args:
        path: A file, or a folder for shards; its extension determines the format.
        schema: The fields of the samples: `{"image": ("bytes", [None]), "label": ("int64", [])}`; FieldSpecs are accepted too. When not
            given, the dtypes and ranks of the first sample, with any size in each dimension.
        format: The name of the format, if the extension does not determine it.
        shard_size: Start a new file after this many bytes of samples: 150_000_000 or "150MB"; one file when not given.
        overwrite: Replace a data set that Headrace wrote. Anything else at the path is an error.
        options: Options of the format; `formats()` lists them.

    Raises:
        ValueError: the extension is not that of a format, the format has no such option, or the path exists.

    Example:
        with hr.writer("out.tfrecord") as w:
            w.write({"image": jpeg, "label": 3})
    """
    given = wanted(
        "writer", format=format, shard_size=shard_size, shards=None, overwrite=overwrite, options=options
    )
    return Writer(path, schema, given)


def _is_spec(node: object) -> bool:
    return not isinstance(node, Mapping)


def _spec(given: Any) -> tuple[str, list[int | None]]:
    is_pair = isinstance(given, (tuple, list)) and len(given) == 2
    if not is_pair and not (hasattr(given, "dtype") and hasattr(given, "shape")):
        raise ValueError(
            f'writer: schema needs (dtype, shape) for each field, as in ("float32", [2, 3]), got {given!r}'
        )
    dtype, shape = given if is_pair else (given.dtype, given.shape)
    return str(plain(dtype)), list(shape)
