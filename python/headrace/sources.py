"""Where datasets begin: files, ranges, arrays, Python sequences, and saved plans."""

from __future__ import annotations

import builtins
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from . import _core
from ._arguments import text, whole_number
from ._carrying import of_pair
from ._errors import os_error
from ._function import Leaves, bind_function, is_function_leaf, spec_of, to_leaf
from ._generator import Filled, Pass, filled, name_of, opener
from ._line import stacklevel, users_line
from ._progress import line_where_watched
from ._ragged import Ragged, ragged
from ._slots import BESIDE, bound_in, slots_in
from ._structure import flatten, packer
from ._trace import plain
from .dataset import Dataset, FieldSpec
from .joins import numbers_source


class MapStyle(Protocol):
    """What has a length and items by position: a list, a map-style dataset of PyTorch."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> Dataset:
    """Read the data at a path, whatever its format.

    Several files that are one data set are one source: a pattern (`"train-?????-of-01024"`, `"{000..127}.tar"`), a list of paths or
    patterns, or the folder of the shards. Samples come in the order of the files, a pattern's sorted by name. `*`, `?` and `[a-c]` match
    within a name, `**` any folders, braces are written out first; a path that exists is taken as it is, whatever characters it holds.
    A file that is named twice is read once; `concatenate()` or `repeat()` give it more weight. A zip or a squashfs image is the folder
    inside, and paths lead through it (`"photos.zip/train/*.jpg"`).

    Where data that Headrace wrote, or files that say how many they are, lack shards or samples, a warning says which.

    Args:
        path: A file, a folder, a pattern of files, or a list of files and patterns.
        format: The name of a format, see `formats()`; recognised by content when not given.
        options: Of the format; `formats()` lists them.

    Raises:
        FileNotFoundError: there is nothing at the path, or a pattern matches no file.
        ValueError: the format is not recognised, or has no such option, or reads one file and was given several.
    """
    wanted = {key: plain(value) for key, value in options.items()}
    try:
        with line_where_watched() as line:
            show = None if line is None else lambda done, total: line.show("indexing", done, total)
            source = _core.open_source(_places(path), format or "", wanted, show)
    except FileNotFoundError as error:
        home = isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith("~")
        hint = "; ~ is the shell's: give Path(path).expanduser()" if home else ""
        raise os_error(f"{error}{hint}", error.errno, error.filename) from None
    _warn_of(source.notes)
    return Dataset(_core.read(source, users_line()))


def _warn_of(notes: Sequence[str]) -> None:
    for note in notes:  # names of files and columns may be of any bytes
        text = note.encode("utf-8", "backslashreplace").decode()
        warnings.warn(text, UserWarning, stacklevel=stacklevel())


def _places(path: object) -> str | list[str]:
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    if isinstance(path, Sequence) and all(isinstance(one, (str, os.PathLike)) for one in path):
        return [os.fspath(one) for one in path]
    raise TypeError(f"read: wants a path or a list of paths, got {path!r}; concatenate() joins datasets")


def range(start: int, stop: int | None = None, step: int = 1) -> Dataset:  # noqa: A001
    """Make a dataset of integers, as Python's `range` does: i64 scalars."""
    first, last = (0, start) if stop is None else (start, stop)
    named = {"start": first, "stop": last, "step": step}
    numbers = [whole_number("range", name, value, -(2**63), 2**63) for name, value in named.items()]
    return Dataset(_core.read(_core.range_source(*numbers), users_line()))


def counter(start: int = 0, step: int = 1) -> Dataset:
    """Make an endless dataset of integers: start, start + step, … as i64 scalars."""
    first = whole_number("counter", "start", start, -(2**63), 2**63)
    return Dataset(
        _core.read(
            _core.counter_source(first, whole_number("counter", "step", step, -(2**63), 2**63)), users_line()
        )
    )


def random(seed: int = 0, shape: Sequence[int] = (), size: int | None = None) -> Dataset:
    """Make a dataset of random numbers from 0 to 2**32 - 1, as i64, the same every epoch.

    Element i depends on the seed and i only.

    Args:
        seed: Names the numbers.
        shape: Of an element; a scalar when not given.
        size: How many elements; without end when not given.
    """
    dims = [whole_number("random", "shape", dim, 0, 2**63) for dim in shape]
    count = None if size is None else whole_number("random", "size", size)
    source = _core.random_source(whole_number("random", "seed", seed), dims, count)
    return Dataset(_core.read(source, users_line()))


def list_files(pattern: str | os.PathLike[str]) -> Dataset:
    """Make a dataset of the files that a pattern names, as str, sorted; `shuffle()` changes their order.

    Args:
        pattern: As `read` takes it: `*`, `?` and `[a-c]` match within a name, `**` any number of folders as in Python's
            `glob(recursive=True)`, braces are written out first. What begins with a dot is not matched.

    Raises:
        FileNotFoundError: no file matches.
    """
    return from_arrays(_core.list_files(os.fspath(pattern)), slot="files")


def from_list(
    items: Sequence[Any], *, defaults: Mapping[str, Any] | None = None, slot: str = "list"
) -> Dataset:
    """Make a dataset of a list of elements: dicts, tuples or single values that are all alike.

    The list is taken as it is now. Arrays of one dtype and rank become columns, as in `from_arrays`, and no Python runs for an
    element; else it is read as by `from_dataset`.

    Args:
        items: At least one element.
        defaults: {field: value} of optional fields: what a dict has that lacks them, or holds None.
        slot: The name under which a saved plan wants the data bound: columns, as for `from_arrays`, if it became such; `ragged` ones
            for arrays that differ in shape.

    Raises:
        TypeError: it is no list.
        ValueError: it is empty, or elements nest in different ways.
    """
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
        raise TypeError(f"from_list: wants a list of elements, got {type(items).__name__}")
    if len(items) == 0:
        raise ValueError("from_list: wants at least one element, to know what an element is")
    if defaults:
        items = [filled("from_list", item, defaults) for item in items]
    columns = _plain_columns(items)
    if columns is not None:
        return from_arrays(columns, slot=slot)
    names, _, structure = flatten(items[0], is_function_leaf)
    rows = []
    for number, item in enumerate(items):
        _, leaves, nest = flatten(item, is_function_leaf)
        if nest != structure:
            raise ValueError(
                f"from_list: element {number} has the structure {nest}, and element 0 {structure}"
            )
        rows.append([to_leaf(leaf, name) for name, leaf in zip(names, leaves, strict=True)])
    stacked = [_stacked(list(column)) for column in zip(*rows, strict=True)]
    if any(column is None for column in stacked):
        return from_dataset(list(items), slot=slot)
    return from_arrays(packer(structure)(stacked), slot=slot)


def _plain_columns(items: Sequence[Any]) -> Any:
    """Return Python's own values, or flat dicts of such, as columns: what most lists are, without a look at each nest. None: it is something else."""
    first = items[0]
    if type(first) is not dict:
        return _plain_column(items)
    keys = list(first)
    if not keys or any(type(item) is not dict or list(item) != keys for item in items):
        return None
    columns = {key: _plain_column([item[key] for item in items]) for key in keys}
    has_all = all(isinstance(key, str) and columns[key] is not None for key in keys)
    return columns if has_all else None


def _plain_column(values: Sequence[Any]) -> Any:
    kind = type(values[0])
    if kind not in {bool, int, float, str, bytes} or any(type(value) is not kind for value in values):
        return None
    if kind in {str, bytes}:
        return list(values)
    array = np.array(values)
    return array if array.dtype == np.asarray(values[0]).dtype else None


def _stacked(leaves: list[Any]) -> Any:
    """Return leaves as one column, or None when their dtypes or ranks differ."""
    if all(isinstance(leaf, bytes) for leaf in leaves) or all(isinstance(leaf, str) for leaf in leaves):
        return leaves
    arrays = [np.asarray(leaf) for leaf in leaves]
    first = arrays[0]
    if first.dtype.kind in "SUO" or any((a.dtype, a.ndim) != (first.dtype, first.ndim) for a in arrays):
        return None
    return np.stack(arrays) if all(a.shape == first.shape for a in arrays) else ragged(arrays)


def from_arrays(data: Any, *, slot: str = "arrays") -> Dataset:
    """Make a dataset of what is in memory: element i is row i of every array.

    A list or tuple of columns makes tuples: `[[1, 2], [3, 4]]` is two columns, so its elements are (1, 3) and (2, 4).
    For the rows of one array give `np.array([[1, 2], [3, 4]])`.

    Args:
        data: An array, or dicts, tuples and lists of arrays of one length. A list of bytes, str or numbers is a column too, and
            `ragged` makes one of arrays that differ in shape. Arrays are shared, not copied, when they lie in C order. A `DataFrame`
            is a dict of its columns, of numbers, bool or str; its index is left out.
        slot: The name under which a saved plan wants the data bound.

    Raises:
        TypeError: a column holds what no field can: dates, None, other objects.
        ValueError: columns differ in length.
    """
    source = _array_source(data, text("from_arrays", "slot", slot))
    return Dataset(_core.read(source, users_line()), bound=[(slot, data)])


def from_dataset(items: MapStyle, *, slot: str = "sequence") -> Dataset:
    """Make a dataset of anything with a length and items: a list, a map-style dataset of PyTorch.

    Items are asked for by several threads, one at a time (under Python's lock; quick small ones many in a row), and look like item 0:
    its structure and dtypes; the sizes of dimensions may differ. Arrays of up to 16 kB are copied, larger ones shared: an item's array is
    not to be written into again.

    Args:
        items: What has `__len__` and `__getitem__`.
        slot: The name under which a saved plan wants it bound.

    Raises:
        TypeError: it has no length or no items by position, as a generator, a set, an `IterableDataset`.
    """
    source = _sequence_source(items, text("from_dataset", "slot", slot))
    return Dataset(_core.read(source, users_line()), bound=[(slot, items)])


def from_generator(
    make: Any,
    *,
    signature: Any = None,
    defaults: Mapping[str, Any] | None = None,
    slot: str = "generator",
) -> Dataset:
    """Make a dataset of any iterable; it has no length and no items by position, and `skip` reads what it skips.

    If the iterator, or what it iterates over, has `state_dict()` (of what JSON holds) and `load_state_dict()`, a resumed run goes on
    where the saved one was. Else it passes over the samples that were handed out, with a `ReplayWarning`. One thread at a time
    takes samples, under Python's lock; what follows runs in parallel. Without `shard` after it every rank sees all samples.

    Args:
        make: A function that gives an iterable for each epoch (it gets the epoch's number if it has a parameter `epoch`), so a
            generator function; or an iterable that can be gone through again and again.
        signature: What a sample looks like: `FieldSpec`s nested as it, as another dataset's `schema`. When not given, like the
            first sample, which is made for that; the sizes of dimensions may differ.
        defaults: {field: value} of optional fields: what a sample, then a dict, has that lacks them, or holds None.
        slot: The name under which a saved plan wants it bound.

    Raises:
        TypeError: it cannot be iterated over, or only once, as a generator that has begun.
        ValueError: it gives no first sample, and no signature is given.
    """
    slot = text("from_generator", "slot", slot)
    if defaults:
        make = Filled(make, defaults)
    names, specs, structure = _signature(make, signature)
    generator = _generator(make, slot, names, specs, structure)
    return Dataset(_core.from_generator(generator, users_line()), bound=[(slot, make)])


def _signature(make: Any, signature: Any) -> tuple[list[str], list[Any], str]:
    if signature is not None:
        names, leaves, structure = flatten(signature, lambda node: isinstance(node, FieldSpec))
        for name, leaf in zip(names, leaves, strict=True):
            if not isinstance(leaf, FieldSpec):
                raise TypeError(f"from_generator: signature wants FieldSpecs, got {leaf!r} for {name!r}")
        return names, [(leaf.dtype, leaf.shape) for leaf in leaves], structure
    for first in opener(make)(0):
        whole = filled("from_generator", first, make.defaults) if isinstance(make, Filled) else first
        names, leaves, structure = flatten(whole, is_function_leaf)
        specs = [spec_of(to_leaf(leaf, name)) for name, leaf in zip(names, leaves, strict=True)]
        return names, specs, structure
    raise ValueError("from_generator: wants a first sample, to know what a sample is; or give signature=")


def _generator(make: Any, slot: str, names: list[str], specs: list[Any], structure: str) -> _core.Generator:
    start = opener(make)
    name = name_of(make)
    defaults = make.defaults if isinstance(make, Filled) else {}
    return _core.generator(
        names, specs, structure, slot, name, lambda epoch: Pass(start(epoch), structure, name, defaults)
    )


def load_plan(path: str | os.PathLike[str], *, bind: Mapping[str, Any] | None = None) -> Dataset:
    """Open what `Dataset.save_plan` wrote, in Python or in C++.

    Args:
        path: The JSON file.
        bind: What the plan cannot hold, by slot name: functions, arrays, sequences. Nothing is imported by name.
            Columns are known by their names, in any order; dtypes and the shapes of rows are those that the plan was written
            with, and the number of rows may be another. Keys, weights and choices may be whatever their verbs take.

    Raises:
        ValueError: it is no plan, a slot is not bound or wants other data, or the plan has no such slot; the message names it.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(
            f"plan: wants what save_plan() wrote, got {os.fspath(path)!r}, which is no text; read() opens data"
        ) from None
    data = open_plan(text, bind or {}, {})
    _warn_of(data._node.data_notes)
    return data


def open_plan(text: str, bind: Mapping[str, Any], options: Mapping[str, Any]) -> Dataset:
    """Open a plan from its text."""
    try:
        plan = _core.parse_json(text)
    except ValueError as error:
        raise ValueError(f"plan: wants what save_plan() wrote, got no JSON ({error})") from None
    tree = plan.get("plan") if isinstance(plan, dict) else None
    places = list(slots_in(tree))
    _check_names(bind, [slot for slot, _, _ in places])
    sources, generators = {}, {}
    for slot, kind, described in places:
        if slot not in bind:
            continue
        if kind == "generator" and {"names", "specs", "structure"} <= described.keys():
            signature = described["names"], described["specs"], described["structure"]
            generators[slot] = _generator(bind[slot], slot, *signature)
        elif kind in BESIDE.values():
            sources[slot] = numbers_source(kind, bind[slot], slot)
        elif kind == "source":
            if described.get("format") == "sequence":
                sources[slot] = _sequence_source(bind[slot], slot, described)
            else:
                sources[slot] = _array_source(bind[slot], slot)

    def function(slot: str, params: dict[str, Any]) -> Any:
        if slot not in bind:
            raise ValueError(
                f'plan: the {"C" if "calls" in params else "Python"} function in slot {slot!r} is not bound; give it with bind={{"{slot}": f}}'
            )
        is_step = slot.rpartition("_")[0] == "scan"
        return bind_function(of_pair(bind[slot]) if is_step else bind[slot], slot, params)

    node, seed = _core.load_plan(text, sources, generators, function)
    return Dataset(node, {**({"seed": seed} if seed else {}), **options}, bound_in(tree, bind))


def _check_names(bind: Mapping[str, Any], slots: Sequence[str]) -> None:
    for name in bind:
        if name not in slots:
            wanted = ", ".join(repr(slot) for slot in dict.fromkeys(slots)) or "nothing"
            raise ValueError(f"plan: has no slot {name!r} for what bind= gives; it wants {wanted}")


def formats() -> list[dict[str, Any]]:
    """List the formats with name, doc and options, as dicts."""
    return _core.format_table()


def operators() -> list[dict[str, Any]]:
    """List the operators with name, doc, inputs and params, as dicts."""
    return _core.op_table()


def _array_source(data: Any, slot: str) -> _core.Source:
    names, columns, structure = flatten(data, _is_column, lambda node, _: _columns_of(node))
    leaves = [_column(column, name) for name, column in zip(names, columns, strict=True)]
    return _core.array_source(names, structure, leaves, slot)


def _is_column(node: object) -> bool:
    return isinstance(node, list) and (
        not node or all(isinstance(row, (bytes, str)) for row in node) or is_function_leaf(node)
    )


def _columns_of(node: Any) -> Any:
    """Return a data frame as a dict of its columns, and anything else as it is."""
    if isinstance(node, Mapping) or not all(
        hasattr(node, word) for word in ("columns", "dtypes", "to_numpy")
    ):
        return node
    columns = list(node.columns)
    if again := [name for name in columns if columns.count(name) > 1]:
        raise ValueError(f"from_arrays: wants columns of different names, got {again[0]!r} twice")
    return {name: node[name] for name in columns}


def _of_series(column: Any, name: str) -> Any:
    """Return a column of a data frame as what a field can be made of."""
    array = np.asarray(column.to_numpy())
    if {getattr(column.dtype, "kind", "O"), array.dtype.kind} & {"m", "M"}:
        raise TypeError(
            f'from_arrays: column {name!r} holds {column.dtype}, which no field can; .astype("int64") makes numbers of it'
        )
    if array.dtype.kind != "O":
        return array
    values = array.tolist()
    wanted = (bytes, str) if any(isinstance(value, (bytes, str)) for value in values) else (bool, int, float)
    if odd := [value for value in values if not isinstance(value, wanted)]:
        raise TypeError(
            f"from_arrays: column {name!r} wants numbers, bool, bytes or str in every row, got {type(odd[0]).__name__} ({odd[0]!r}); fill what is "
            "missing with .fillna(...), make something else of it with .astype(...), or leave the column out with .drop(columns=...)"
        )
    return values if wanted == (bytes, str) else np.asarray(values)


def _column(column: Any, name: str) -> Any:
    if isinstance(column, Ragged):
        return column.flat, column.shapes
    if isinstance(column, _core.BytesColumn):
        return list(column)
    if isinstance(column, _core.RaggedColumn):
        column = ragged(column)
        return column.flat, column.shapes
    if isinstance(column, list) and column and isinstance(column[0], (bytes, str)):
        return column
    if hasattr(column, "to_numpy") and hasattr(column, "dtype"):
        column = _of_series(column, name)
    array = np.asanyarray(column)
    if array.dtype.kind in "SUO" and array.ndim == 1 and not isinstance(array, np.ma.MaskedArray):
        values = array.tolist()
        if all(isinstance(value, (bytes, str)) for value in values):
            return values
        array = np.asarray(values)  # numbers in an array of objects, as pandas has them
    return to_leaf(array if column is not None else None, name)


def _sequence_source(items: MapStyle, slot: str, wanted: Mapping[str, Any] | None = None) -> _core.Source:
    """Return items as a source; their fields in the order of a plan's, if it wants those."""
    if isinstance(items, Mapping):
        raise TypeError(
            "from_dataset: wants items by position, got a dict; from_arrays() takes a dict of columns"
        )
    if not hasattr(items, "__len__") or not hasattr(items, "__getitem__"):
        hint = "; list(...) of it is one, where it fits into memory" if hasattr(items, "__iter__") else ""
        raise TypeError(
            f"from_dataset: wants what has a length and items by position, got {type(items).__name__}{hint}"
        )
    size = len(items)
    if size == 0:
        raise ValueError("from_dataset: wants at least one item, to know what an item is")
    names, first, structure = flatten(items[0], is_function_leaf)
    order: Sequence[int] = builtins.range(len(names))
    nested = structure
    if wanted is not None and sorted(wanted.get("names", ())) == sorted(names):
        order, nested = [names.index(name) for name in wanted["names"]], wanted["structure"]

    def convert(item: Any, index: int) -> Leaves:
        names, leaves, nest = flatten(item, is_function_leaf)
        if nest != structure:
            raise ValueError(f"item {index} has the structure {nest}, and item 0 {structure}")
        return [to_leaf(leaves[at], names[at]) for at in order]

    specs = [spec_of(to_leaf(first[at], names[at])) for at in order]
    return _core.sequence_source([names[at] for at in order], specs, nested, size, slot, items, convert)
