"""Sources of datasets: files, ranges, arrays, Python sequences, and saved plans."""

from __future__ import annotations

import builtins
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from . import _core
from ._arguments import text, whole_number
from ._carrying import of_pair
from ._errors import mismatch, with_message
from ._function import bind_function
from ._line import users_line, warn_of
from ._making.element import (
    Form,
    Leaves,
    check_not_rounded,
    form_of,
    form_of_all,
    is_function_leaf,
    to_leaf,
    with_fields,
)
from ._making.epoch_order import epoch_order, length_of
from ._making.frames import columns_of, without_nulls
from ._making.generator import Filled, Pass, filled, form_of_samples, name_of, opener
from ._ragged import Ragged, ragged
from ._ranks import asked
from ._slots import BESIDE, bound_in, slots_in
from ._structure import flatten, packer
from ._trace import plain
from ._watching.progress import line_where_watched
from .dataset import Dataset, FieldSpec
from .joins import numbers_source

Nulls = Literal["error", "zero", "nan", "mask"]


class MapStyle(Protocol):
    """Anything with a length and items by position, such as a list or a map-style dataset of PyTorch."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> Dataset:
    """Read the data at a path, in any supported format.

    Several files of one data set are one source: pass a pattern (`"train-?????-of-01024"`, `"{000..127}.tar"`), a list of paths or
    patterns, or the folder of the shards. Samples come in the order of the files; the files of a pattern are sorted by name. `*`, `?`
    and `[a-c]` match within a name, `**` matches any folders, and braces are expanded first; an existing path is used literally. A
    file that is given twice is read once; use `concatenate()` or `repeat()` to give it more weight. A zip or squashfs image is read
    like the folder in it, and paths may continue into it (`"photos.zip/train/*.jpg"`).

    A folder that holds several splits side by side ("train.csv" and "test.csv", or the folders "train" and "val") is not read as one
    data set unless asked to: `split="train"`, a list of names, or `"all"` chooses; `list_splits()` returns the names. They are found by
    the names that data sets use, in files and folders of every format, also in a folder below, and as MNIST, CIFAR, COCO, VOC and
    ImageNet are downloaded. A name stands for another of its kind ("val" for "validation") if there is only one such split.

    Args:
        path: A file, a folder, a glob pattern, or a list of files and patterns.
        format: The name of a format, see `formats()`; detected from the content when not given.
        options: `split`, `skip_unreadable`, and the options of the format; `formats()` lists them.

    Raises:
        FileNotFoundError: there is nothing at the path, or a pattern matches no file.
        ValueError: the format is not recognised, has no such option, or reads one file and got several; or the folder holds several
            splits and `split` does not choose.

    Warns:
        UserWarning: shards or samples are missing, according to a manifest or the numbers in file names; or another problem with the
            data.

    Example:
        hr.read("imagenet/train")
        hr.read("chest_xray", split="train")
        hr.read("train-{000..127}.tar", fields=["jpg", "cls"])
    """
    wanted = {key: plain(value) for key, value in options.items()}
    try:
        with line_where_watched() as line:
            show = None if line is None else lambda done, total: line.show("indexing", done, total)
            source = _core.open_source(_places(path), format or "", wanted, show)
    except FileNotFoundError as error:
        home = isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith("~")
        hint = "; ~ is not expanded: use Path(path).expanduser()" if home else ""
        raise with_message(error, f"{error}{hint}") from None
    warn_of(source.notes)
    return Dataset(_core.read(source, users_line()))


def _places(path: object) -> str | list[str]:
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    if isinstance(path, Sequence) and all(isinstance(one, (str, os.PathLike)) for one in path):
        return [os.fspath(one) for one in path]
    raise mismatch(
        TypeError,
        "read",
        expected="a path or a list of paths",
        got=f"{path!r}",
        hint="concatenate() joins datasets",
    )


def range(start: int, stop: int | None = None, step: int = 1) -> Dataset:  # noqa: A001
    """Make a dataset of integers like Python's `range`, as int64 scalars.

    Args:
        start: The first integer; 0 if only one argument is given, which is then `stop`.
        stop: The end, not included.
        step: The difference between consecutive integers.

    Example:
        list(hr.range(2, 8, 2))  # 2, 4, 6
    """
    first, last = (0, start) if stop is None else (start, stop)
    named = {"start": first, "stop": last, "step": step}
    numbers = [whole_number("range", name, value, -(2**63), 2**63) for name, value in named.items()]
    return Dataset(_core.read(_core.range_source(*numbers), users_line()))


def counter(start: int = 0, step: int = 1) -> Dataset:
    """Make an infinite dataset of integers: start, start + step, … as int64 scalars.

    Args:
        start: The first integer.
        step: The difference between consecutive integers.

    Example:
        list(hr.counter(5, step=-1).take(3))  # 5, 4, 3
    """
    first = whole_number("counter", "start", start, -(2**63), 2**63)
    return Dataset(
        _core.read(
            _core.counter_source(first, whole_number("counter", "step", step, -(2**63), 2**63)), users_line()
        )
    )


def random(seed: int = 0, shape: Sequence[int] = (), size: int | None = None) -> Dataset:
    """Make a dataset of random integers from 0 to 2**32 - 1, as int64, the same every epoch.

    Element i only depends on the seed and i.

    Args:
        seed: Determines the numbers.
        shape: Shape of an element; a scalar when not given.
        size: Number of elements; infinite when not given.

    Example:
        hr.random(seed=17, shape=(3,), size=100)
    """
    dims = [whole_number("random", "shape", dim, 0, 2**63) for dim in shape]
    count = None if size is None else whole_number("random", "size", size)
    source = _core.random_source(whole_number("random", "seed", seed), dims, count)
    return Dataset(_core.read(source, users_line()))


def list_splits(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    skip_unreadable: bool = False,
) -> list[str]:
    """List the splits at a path: the names that the option `split` of `read()` takes.

    Only names and indexes are looked at, no data.

    Args:
        path: A folder, or an archive.
        format: The name of a format, see `formats()`; detected from the content when not given.
        skip_unreadable: Leave out what cannot be examined, as for `read()`.

    Returns:
        The names, sorted, or in the order of the data set's index; empty if the path holds no splits.

    Raises:
        FileNotFoundError: there is nothing at the path.
        ValueError: the folder holds several data sets, each with splits.

    Example:
        hr.list_splits("chest_xray")  # ["test", "train", "val"]
    """
    return _core.list_splits(os.fspath(path), format or "", skip_unreadable)


def list_files(pattern: str | os.PathLike[str], *, skip_unreadable: bool = False) -> Dataset:
    """Make a dataset of the paths that match a pattern, as str, sorted; use `shuffle()` for another order.

    Args:
        pattern: As for `read`: `*`, `?` and `[a-c]` match within a name, `**` matches any number of folders as in Python's
            `glob(recursive=True)`, and braces are expanded first. Names that begin with a dot are not matched.
        skip_unreadable: Leave out what cannot be examined, with a warning, as for `read()`.

    Raises:
        FileNotFoundError: no file matches.
        OSError: a folder or a link cannot be examined.
        ValueError: a name is not UTF-8.

    Example:
        hr.list_files("shards/*.tar")
    """
    paths, left_out = _core.list_files(os.fspath(pattern), skip_unreadable)
    warn_of([left_out] if left_out else [])
    for path in paths:
        if any("\ud800" <= c <= "\udfff" for c in path):
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            raise mismatch(
                ValueError,
                "list_files",
                expected="names in UTF-8",
                got=f"'{shown}'",
                hint="rename it (convmv -f latin1 -t utf8), or pass the files to hr.read, which opens them whatever they are called",
            )
    return from_arrays(paths, slot="files")


def from_list(
    items: Sequence[Any], *, defaults: Mapping[str, Any] | None = None, slot: str = "list"
) -> Dataset:
    """Make a dataset from a list of elements: dicts, tuples or single values of the same structure.

    Later changes of the list have no effect. If the values of each field have one dtype and rank, they become columns as in
    `from_arrays`, and no Python runs per element; else the list is read as by `from_dataset`. All elements are known, so a field of
    whole numbers and floats is float64 wherever the first float is.

    Args:
        items: At least one element.
        defaults: {field: value} for optional fields: used if a dict lacks the field, or its value is None.
        slot: The name for binding the data to a saved plan: as columns like in `from_arrays`, if it became columns, with `ragged` for
            arrays that differ in shape.

    Raises:
        TypeError: it is not a list.
        ValueError: it is empty, or elements differ in structure.

    Example:
        hr.from_list([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
    """
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
        raise mismatch(TypeError, "from_list", expected="a list of elements", got=f"{type(items).__name__}")
    if len(items) == 0:
        raise ValueError("from_list: expected at least one element, to infer the fields")
    if defaults:
        items = [filled("from_list", item, defaults) for item in items]
    columns = _plain_columns(items)
    if columns is not None:
        return from_arrays(columns, slot=slot)
    try:
        form = form_of_all(items, "element")
        rows = [form.leaves(item, f"element {number}") for number, item in enumerate(items)]
    except (ValueError, TypeError) as error:
        raise (ValueError if isinstance(error, ValueError) else TypeError)(f"from_list: {error}") from None
    with_fields("from_list", form)
    stacked = [_stacked(list(column)) for column in zip(*rows, strict=True)]
    if any(column is None for column in stacked):
        return _of_items(list(items), slot, form)
    return from_arrays(packer(form.structure)(stacked), slot=slot)


def _plain_columns(items: Sequence[Any]) -> Any:
    """Return columns for the common cases of plain Python values, or flat dicts of them; None for anything else."""
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
    """Return leaves as one column, or None if their dtypes or ranks differ."""
    if all(isinstance(leaf, bytes) for leaf in leaves) or all(isinstance(leaf, str) for leaf in leaves):
        return leaves
    if not all(isinstance(leaf, np.ndarray) for leaf in leaves):
        return None
    arrays: list[np.ndarray[Any, Any]] = leaves
    first = arrays[0]
    if first.dtype.kind in "SUO" or any((a.dtype, a.ndim) != (first.dtype, first.ndim) for a in arrays):
        return None
    return np.stack(arrays) if all(a.shape == first.shape for a in arrays) else ragged(arrays)


def from_arrays(data: Any, *, nulls: Nulls | Mapping[str, Nulls] = "error", slot: str = "arrays") -> Dataset:
    """Make a dataset from arrays in memory: element i consists of row i of every array.

    A list or tuple of columns gives tuples: `[[1, 2], [3, 4]]` has two columns, so its elements are (1, 3) and (2, 4). For the rows of
    one array, pass `np.array([[1, 2], [3, 4]])`.

    Args:
        data: An array, or nested dicts, tuples and lists of arrays of the same length. A list of bytes, str or numbers is also a
            column, and `ragged` makes a column of arrays that differ in shape. C-contiguous arrays are shared, not copied. A
            `DataFrame` of pandas or polars, and a `Table` of pyarrow, is a dict of its columns (numbers, bool, str, bytes or times),
            without an index. Times and durations are whole numbers, whose unit `metadata["types"]` has, as of Parquet; NaT is a null.
        nulls: What the nulls of pandas, polars and pyarrow, and NaT, are read as, for all columns or {column: …}, as of files: "error" refuses
            them; "zero" reads zeros, False or empty strings; "nan" reads NaN for floats and is "error" for others; "mask" reads zeros
            and adds a field of bool, `<field>_valid`, for each column that can have nulls. NaN is a number, not a null, in columns of
            NumPy's floats.
        slot: The name for binding the data to a saved plan.

    Raises:
        TypeError: a column has values that are not supported: dates, lists, other objects.
        ValueError: columns differ in length, or one has nulls.

    Example:
        hr.from_arrays({"image": np.zeros((10, 32, 32, 3), np.uint8), "label": np.arange(10)})
    """
    columns, types = without_nulls(data, plain(nulls), _is_column, _of_series)
    source = _array_source(columns, text("from_arrays", "slot", slot), types)
    return Dataset(_core.read(source, users_line()), bound=[(slot, columns)])


def from_dataset(items: MapStyle, *, slot: str = "sequence") -> Dataset:
    """Make a dataset from anything with a length and items by position: a list, a map-style dataset of PyTorch.

    Several threads read items, one at a time (holding the GIL; many in a row if they are small and fast). All items have the
    structure and dtypes of item 0; the sizes of dimensions may differ. What an empty list of item 0 holds is decided by the next items,
    100 at most. Arrays of up to 16 kB are copied, larger ones are shared and must not be modified after they are returned.

    Args:
        items: An object with `__len__` and `__getitem__`.
        slot: The name for binding it to a saved plan.

    Raises:
        TypeError: it has no length or no items by position, like a generator, a set or an `IterableDataset`.
        ValueError: it is empty.

    Example:
        hr.from_dataset(torchvision.datasets.MNIST("data")).shuffle().batch(64)
    """
    return _of_items(items, text("from_dataset", "slot", slot))


def _of_items(items: MapStyle, slot: str, form: Form | None = None) -> Dataset:
    source = _sequence_source(items, slot, form=form)
    return Dataset(_core.read(source, users_line()), bound=[(slot, items)])


def from_generator(
    make: Any,
    *,
    signature: Any = None,
    defaults: Mapping[str, Any] | None = None,
    slot: str = "generator",
) -> Dataset:
    """Make a dataset from any iterable. It has no length and no random access, and `skip` generates the samples that it skips.

    If the iterator or the iterable has `state_dict()` (JSON compatible) and `load_state_dict()`, a resumed run continues from the saved
    state. Else it generates the samples again that were already handed out, with a `ReplayWarning`. One thread at a time takes samples,
    holding the GIL; later verbs run in parallel. Without `shard` after it, every rank gets all samples.

    Args:
        make: A function that returns an iterable for each epoch, such as a generator function (called with the number of the epoch
            if it has a parameter `epoch`); or an iterable that can be iterated over several times.
        signature: The fields of a sample: nested `FieldSpec`s, like the `schema` of a dataset. When not given, inferred from the first
            sample, which is generated for that; the sizes of dimensions may differ. If it has an empty list, up to 100 samples are
            generated to find the list's dtype.
        defaults: {field: value} for optional fields of samples that are dicts: used if the field is missing or None.
        slot: The name for binding it to a saved plan.

    Raises:
        TypeError: it cannot be iterated over, or only once, like a generator object.
        ValueError: it yields no sample, and no signature is given.

    Example:
        def lines():
            with open("log.txt") as file:
                yield from file

        hr.from_generator(lines).map(parse)
    """
    slot = text("from_generator", "slot", slot)
    if defaults:
        make = Filled(make, defaults)
    form = with_fields("from_generator", _signature(make, signature))
    generator = _generator(make, slot, form)
    return Dataset(_core.from_generator(generator, users_line()), bound=[(slot, make)])


def _signature(make: Any, signature: Any) -> Form:
    if signature is None:
        return form_of_samples(make)
    names, leaves, structure = flatten(signature, lambda node: isinstance(node, FieldSpec))
    for name, leaf in zip(names, leaves, strict=True):
        if not isinstance(leaf, FieldSpec):
            raise TypeError(
                f"from_generator: signature must consist of FieldSpecs, got {leaf!r} for {name!r}"
            )
    return Form(names, [(str(leaf.dtype), leaf.shape) for leaf in leaves], structure, "the signature")


def _generator(make: Any, slot: str, form: Form) -> _core.Generator:
    start = opener(make)
    name = name_of(make)
    defaults = make.defaults if isinstance(make, Filled) else {}
    return _core.generator(
        form.names,
        list(form.given_specs),
        form.structure,
        slot,
        name,
        lambda epoch: Pass(start(epoch), form, name, defaults),
    )


def load_plan(path: str | os.PathLike[str], *, bind: Mapping[str, Any] | None = None) -> Dataset:
    """Load a pipeline that was saved by `Dataset.save_plan`, or from C++.

    Args:
        path: The JSON file.
        bind: What the plan cannot contain, by slot name: functions, arrays, sequences. Nothing is imported by name. Columns are
            matched by name, in any order; dtypes and shapes of rows must be those of the saved plan, but the number of rows may
            differ. Keys, weights and choices may be anything that their verbs accept. Also other paths for its reads, as `read` takes
            them: "read_0" is the first of the plan, "read_1" the second.

    Raises:
        ValueError: it is not a plan, a slot is not bound or expects other data, or the plan has no such slot or read.

    Example:
        hr.load_plan("train.json", bind={"map_0": augment, "read_0": "/scratch/imagenet/train"})
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise mismatch(
            ValueError,
            "plan",
            expected="the output of save_plan()",
            got=f"{os.fspath(path)!r}, which is not text",
            hint="use read() for data",
        ) from None
    data = open_plan(text, bind or {}, {})
    warning = asked()[1] if data._asks_ranks else ""
    warn_of([*data._node.data_notes, *([warning] if warning else [])])
    return data


def open_plan(text: str, bind: Mapping[str, Any], options: Mapping[str, Any]) -> Dataset:
    """Load a plan from its text."""
    try:
        plan = _core.parse_json(text)
    except ValueError as error:
        raise mismatch(
            ValueError, "plan", expected="the output of save_plan()", got=f"invalid JSON: {error}"
        ) from None
    tree = plan.get("plan") if isinstance(plan, dict) else None
    places = list(slots_in(tree))
    slots = [slot for slot, _, _ in places]
    reads = {name: paths for name, paths in _core.plan_reads(text) if name not in slots}
    _check_names(bind, slots, reads)
    sources, generators, orders = {}, {}, {}
    for slot, kind, described in places:
        if slot not in bind:
            continue
        if kind == "generator" and {"names", "specs", "structure"} <= described.keys():
            form = Form(described["names"], described["specs"], described["structure"], "the plan")
            generators[slot] = _generator(bind[slot], slot, form)
        elif kind == "order" and isinstance(described.get("size"), int):
            orders[slot] = epoch_order(
                bind[slot], length_of(bind[slot], described["size"], 0), slot, described.get("seed", 0)
            )
        elif kind in BESIDE.values():
            sources[slot] = numbers_source(kind, bind[slot], slot)
        elif kind == "source":
            if described.get("format") == "sequence":
                sources[slot] = _sequence_source(bind[slot], slot, described)
            else:
                columns, types = without_nulls(bind[slot], "error", _is_column, _of_series)
                sources[slot] = _array_source(columns, slot, types)

    def function(slot: str, params: dict[str, Any]) -> Any:
        if slot not in bind:
            raise ValueError(
                f'plan: the {"C" if "calls" in params else "Python"} function in slot {slot!r} is not bound; pass bind={{"{slot}": f}}'
            )
        is_step = slot.rpartition("_")[0] == "scan"
        return bind_function(of_pair(bind[slot]) if is_step else bind[slot], slot, params)

    paths = {name: _paths_of(name, bind[name]) for name in reads if name in bind}
    node, seed = _core.load_plan(text, sources, generators, orders, function, paths, lambda: asked()[0][:2])
    return Dataset(node, {**({"seed": seed} if seed else {}), **options}, bound_in(tree, bind))


def _check_names(bind: Mapping[str, Any], slots: Sequence[str], reads: Mapping[str, Sequence[str]]) -> None:
    for name in bind:
        if name not in slots and name not in reads:
            known = ", ".join(repr(slot) for slot in dict.fromkeys(slots)) or "none"
            if reads:
                known += "; its reads are " + ", ".join(
                    f"{one!r} ({of[0]!r})" for one, of in reads.items() if of
                )
            raise ValueError(
                f"plan: bind= has {name!r}, but the plan has no such slot; its slots are {known}"
            )


def _paths_of(name: str, given: object) -> list[str]:
    """Return the paths that are bound to a read."""
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    if isinstance(given, Sequence) and given and all(isinstance(one, (str, os.PathLike)) for one in given):
        return [os.fspath(one) for one in given]
    raise mismatch(
        TypeError, "plan", expected="a path or a list of paths", got=f"{given!r}", option=f"bind[{name!r}]"
    )


def formats() -> list[dict[str, Any]]:
    """List the formats.

    Returns:
        Dicts with "name", "doc", "options" (a list of dicts with "name", "type", "doc" and "fallback") and others.
    """
    return _core.format_table()


def operators() -> list[dict[str, Any]]:
    """List the operators.

    Returns:
        Dicts with "name", "doc", "inputs", "params" and others.
    """
    return _core.op_table()


def _array_source(data: Any, slot: str, types: Mapping[str, str]) -> _core.Source:
    names, columns, structure = flatten(data, _is_column, lambda node, _: columns_of(node))
    leaves = [_column(column, name) for name, column in zip(names, columns, strict=True)]
    return _core.array_source(names, structure, leaves, slot, dict(types))


def _is_column(node: object) -> bool:
    return isinstance(node, list) and (
        not node or all(isinstance(row, (bytes, str)) for row in node) or is_function_leaf(node)
    )


def _of_series(column: Any, name: str) -> Any:
    """Return a column of a data frame as an array or a list that can become a field."""
    array = np.asarray(column.to_numpy())
    if array.dtype.kind != "O":
        return array
    values = array.tolist()
    wanted = (bytes, str) if any(isinstance(value, (bytes, str)) for value in values) else (bool, int, float)
    if odd := [value for value in values if not isinstance(value, wanted)]:
        raise TypeError(
            f"from_arrays: column {name!r}: expected numbers, bool, bytes or str in every row, got {type(odd[0]).__name__} ({odd[0]!r}); fill "
            "missing values with .fillna(...), convert the column with .astype(...), or drop it with .drop(columns=...)"
        )
    if wanted == (bytes, str):
        return values
    numbers = np.asarray(values)
    check_not_rounded(values, numbers, name)
    return numbers


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
    if isinstance(column, list) or hasattr(column, "detach"):  # a list of numbers, a tensor
        return to_leaf(column, name)
    if hasattr(column, "to_numpy") and hasattr(column, "dtype"):
        column = _of_series(column, name)
    array = np.asanyarray(column)
    if array.dtype.kind in "SUOT" and array.ndim == 1 and not isinstance(array, np.ma.MaskedArray):
        values = array.tolist()
        if all(isinstance(value, (bytes, str)) for value in values):
            return values
        array = np.asarray(values)  # numbers in an object array, as in pandas
        check_not_rounded(values, array, name)
    return to_leaf(array if column is not None else None, name)


def _sequence_source(
    items: MapStyle, slot: str, wanted: Mapping[str, Any] | None = None, form: Form | None = None
) -> _core.Source:
    """Return items as a source, with the field order of a plan if `wanted` describes the same fields."""
    if isinstance(items, Mapping):
        raise mismatch(
            TypeError,
            "from_dataset",
            expected="items by position",
            got="a dict",
            hint="from_arrays() takes a dict of columns",
        )
    if not hasattr(items, "__len__") or not hasattr(items, "__getitem__"):
        hint = "; convert it with list(...) if it fits in memory" if hasattr(items, "__iter__") else ""
        raise mismatch(
            TypeError,
            "from_dataset",
            expected="an object with a length and items by position",
            got=f"{type(items).__name__}{hint}",
        )
    size = len(items)
    if size == 0:
        raise ValueError("from_dataset: expected at least one item, to infer the fields")
    if form is None:
        planned = (
            dict(zip(wanted.get("names", ()), wanted.get("specs", ()), strict=False)) if wanted else None
        )
        seen = (items[at] for at in builtins.range(size))
        form = with_fields("from_dataset", form_of(seen, "item 0", planned))
    if wanted is not None and sorted(wanted.get("names", ())) == sorted(form.names):
        form = form.in_order(wanted["names"], wanted["structure"])

    def convert(item: Any, index: int) -> Leaves:
        return form.leaves(item, f"item {index}")

    return _core.sequence_source(form.names, form.specs, form.structure, size, slot, items, convert)
