"""Dataset: a pipeline as an immutable value. Every verb returns a new one; nothing runs until it is iterated over."""

from __future__ import annotations

import contextlib
import json
import operator
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import numpy as np

from . import _core
from ._arguments import flag, names_checked, text, verb_meant, whole_number
from ._carrying import CarryingVerbs
from ._errors import mismatch
from ._function import code_version
from ._gathering import GatheringVerbs
from ._line import stacklevel, users_line, warn_of
from ._mapping import Where
from ._options import merged_options
from ._ranks import DeviceMesh, asked, of_mesh
from ._slots import BESIDE, Bound, input_at, names_of, slots_in, with_names
from ._splitting import SplittingVerbs
from ._structure import packer
from ._trace import numpy_dtype, plain
from ._write import wanted, write

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .loaders.numpy import NumpyLoader
    from .loaders.torch import TorchLoader
    from .loaders.torch_dataset import TorchDataset

Policy = Literal["raise", "skip", "replace"]
_FIRST_ASKED = 4096  # positions that a DataLoader asked for first: one that comes again begins a second epoch


@dataclass(frozen=True)
class FieldSpec:
    """Dtype and shape of a field of an element.

    Attributes:
        dtype: A `numpy.dtype`, or a name if NumPy has none: "bytes", "str", and "bfloat16" unless ml_dtypes is installed. Can be given
            as anything that NumPy accepts as a dtype, a dtype of torch or TensorFlow, or a name.
        shape: The dimensions; None for one that differs between samples.

    Example:
        >>> FieldSpec("float32", (224, 224, 3)).dtype
        dtype('float32')
    """

    dtype: np.dtype[Any] | str
    shape: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if isinstance(self.shape, str) or not isinstance(self.shape, Iterable):
            raise mismatch(
                TypeError,
                "FieldSpec",
                expected="a sequence of integers or None",
                got=f"{self.shape!r}",
                option="shape",
            )
        shape = tuple(self.shape)
        if not all(dim is None or isinstance(dim, (int, np.integer)) for dim in shape):
            raise mismatch(
                TypeError,
                "FieldSpec",
                expected="a sequence of integers or None",
                got=f"{self.shape!r}",
                option="shape",
            )
        object.__setattr__(self, "shape", shape)
        name = _core.dtype_name(str(plain(self.dtype)))
        known = None if name in {"bytes", "str"} else numpy_dtype(name)
        object.__setattr__(self, "dtype", known if known is not None and known.name == name else name)


class _Sources(type):
    """Hints for `Dataset.from_tensor_slices` and the like: in Headrace, functions that create datasets are in the module."""

    if not TYPE_CHECKING:  # else type checkers would accept any name

        def __getattr__(cls, name: str) -> NoReturn:
            import headrace  # noqa: PLC0415 -- it imports this module

            is_elsewhere = name in headrace.__all__
            meant = f"; use headrace.{name}" if is_elsewhere else verb_meant(name, _verbs())
            raise AttributeError(f"Dataset has no attribute {name!r}{meant}", name=name, obj=None)


class Dataset(CarryingVerbs, GatheringVerbs, SplittingVerbs, metaclass=_Sources):
    """A pipeline from data to elements, created by `headrace.read` and similar functions, and by the verbs below.

    Example:
        train = hr.read("imagenet/train").shuffle(seed=17).map(augment).batch(256)
    """

    def __init__(
        self,
        node: _core.Node,
        options: Mapping[str, Any] | None = None,
        bound: Bound | None = None,
    ):
        self._made = node
        self._asks_ranks = node.asks_ranks
        self._made_for: tuple[int, int] | None = None  # the ranks, where it asks for them
        self._options = dict(options or {})
        self._bound = list(bound or [])
        self._fields_read: dict[str, np.ndarray[Any, Any]] = {}  # by verbs that need a value of each element
        self._elements: tuple[int, _core.Node, _core.Elements] | None = None  # of this process and node
        self._pack = packer(node.schema[2])
        self._knows_frozen = False  # whether a DataLoader that has epoch 0 again and again was warned of
        self._first_asked: set[int] = set()

    @property
    def _node(self) -> _core.Node:
        """The plan, for the ranks of this process: they may differ since it was made, after a fork or in torch.distributed."""
        if self._asks_ranks:
            found, _ = asked()
            if found[:2] != self._made_for:
                self._made = self._made.with_ranks(found.rank, found.world)
                self._made_for = found.rank, found.world
        return self._made

    def _then(self, node: _core.Node, *bound: tuple[str, Any], others: Sequence[Dataset] = ()) -> Dataset:
        below = [*self._bound, *(pair for other in others for pair in other._bound)]
        return Dataset(node, self._options, [*below, *bound])

    if not TYPE_CHECKING:  # else type checkers would accept any name

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"a dataset has no verb {name!r}{verb_meant(name, _verbs())}", name=name, obj=None
            )

    # ---- verbs on samples

    @names_checked
    def map(
        self,
        function: Callable[..., Any],
        *,
        python: Where = False,
        num_parallel: int | None = None,
        pure: bool = False,
    ) -> Dataset:
        """Apply a function to every element.

        The function gets the element (fields as items and attributes) and returns the new element: a dict, tuple, dataclass or a
        single value. It is called twice with symbols to trace it into a graph of native operators. If it needs real data or draws
        random numbers, it runs as Python for every element instead, and a warning gives the reason. It then gets NumPy arrays that it
        may modify, scalars, bytes and str, and returns the same types. With a parameter `rng` it gets a `numpy.random.Generator`
        that is the same for the same sample and epoch.

        Args:
            function: From element to element. Or a C function of ctypes, numba or cffi, or a result of `headrace.c_function`: its
                arguments are the element's fields in order, and no Python runs.
            python: Run it as Python without tracing. `True` or `"threads"`: in the worker threads of this process, one at a time
                holding the GIL. `"processes"`: in other processes, one per worker, started when first needed, so that functions that
                hold the GIL use all cores. Such a function must be importable by name from a module, unless cloudpickle is
                installed; in a script, the code that starts the loader must be under `if __name__ == "__main__":`. Elements are
                passed through shared memory.
            num_parallel: Maximum number of concurrent calls of a function that runs as Python (at least 1), for services or libraries
                that are not thread-safe. As many as there are workers when not given. Not for native operators.
            pure: Promise that a function that runs as Python always returns the same result for a sample and has no side effects, so
                that `options(cache="auto")` may cache its results. Not needed for native operators and C functions.

        Warns:
            PythonFunctionWarning: the function cannot be traced and runs as Python.

        Example:
            ds.map(lambda s: {"image": ops.decode_image(s.image), "label": s.label})
        """
        return self._mapped("map", function, python, num_parallel, pure=flag("map", "pure", pure))

    @names_checked
    def filter(
        self, function: Callable[..., Any], *, python: Where = False, num_parallel: int | None = None
    ) -> Dataset:
        """Keep the elements for which a function returns True.

        The result has no known length and no random access.

        Args:
            function: From element to a bool scalar; traced like `map`.
            python: As in `map`.
            num_parallel: As in `map`.

        Example:
            ds.filter(lambda s: s.label < 10)
        """
        return self._mapped("filter", function, python, num_parallel)

    @names_checked
    def flat_map(
        self,
        function: Callable[..., Any],
        *,
        python: Where = False,
        num_parallel: int | None = None,
        pure: bool = False,
    ) -> Dataset:
        """Map each element to several: `map` with a function that returns rows, then `unbatch`.

        Args:
            function: From element to an array of rows, or to fields with the same number of rows.
            python: As in `map`.
            num_parallel: As in `map`.
            pure: As in `map`.

        Example:
            hr.from_arrays(np.arange(6).reshape(2, 3)).flat_map(lambda row: row * 10)  # 0, 10, 20, 30, 40, 50
        """
        return self.map(function, python=python, num_parallel=num_parallel, pure=pure).unbatch()

    def _mapped(
        self,
        verb: str,
        function: Callable[..., Any],
        python: Where,
        num_parallel: int | None,
        *,
        pure: bool = False,
    ) -> Dataset:
        made, bound, at = self._program(verb, function, python, num_parallel, pure)
        return self._then(_core.verb(verb, [self._node], {}, at, made), *bound)

    def _with_verb(self, verb: str, **members: Any) -> Dataset:
        """Return the dataset with a verb of a plan over it, which has these members."""
        return self._then(_core.verb(verb, [self._node], members, users_line()))

    def unbatch(self) -> Dataset:
        """Split elements into their rows along the first dimension; fields without rows are repeated for each row."""
        return self._with_verb("unbatch")

    @names_checked
    def batch(self, size: int, *, drop_last: bool = False, ragged: bool = False) -> Dataset:
        """Stack `size` elements along a new first dimension.

        Fields of str become lists, fields of bytes a `BytesColumn`.

        Args:
            size: Rows per batch, at least 1.
            drop_last: Drop a last batch that is not full.
            ragged: Allow rows of different shapes; each field is then a `RaggedColumn`: a sequence of arrays, with all of them in its
                `values` and `row_splits`. Functions get a list of arrays.

        Raises:
            ValueError: in a run: rows differ in shape, and ragged is False.

        Example:
            (batch,) = hr.range(3).batch(3)  # array([0, 1, 2])
        """
        rows = whole_number("batch", "size", size, least=1)
        drop_last, ragged = flag("batch", "drop_last", drop_last), flag("batch", "ragged", ragged)
        return self._with_verb("batch", size=rows, drop_last=drop_last, ragged=ragged)

    @names_checked
    def ragged_batch(self, size: int, *, drop_last: bool = False) -> Dataset:
        """Stack `size` elements that may differ in shape: `batch(size, ragged=True)`.

        Args:
            size: Rows per batch, at least 1.
            drop_last: Drop a last batch that is not full.
        """
        return self.batch(size, drop_last=drop_last, ragged=True)

    @names_checked
    def window(
        self,
        size: int,
        *,
        shift: int | None = None,
        stride: int = 1,
        drop_last: bool = False,
        ragged: bool = False,
    ) -> Dataset:
        """Stack windows of `size` elements, each starting `shift` elements after the previous; windows may overlap or have gaps.

        Window k has the rows k · shift, k · shift + stride, …. The last windows may have fewer rows, like a last batch.

        Args:
            size: Rows per window, at least 1.
            shift: Elements from the first row of a window to the first row of the next; `size` when not given.
            stride: Elements from row to row.
            drop_last: Drop windows that are not full.
            ragged: Allow rows of different shapes, as in `batch`.

        Example:
            hr.range(5).window(3, shift=1, drop_last=True)  # [0 1 2], [1 2 3], [2 3 4]
        """
        rows, apart = whole_number("window", "size", size), whole_number("window", "stride", stride)
        further = rows if shift is None else whole_number("window", "shift", shift)
        drop_last, ragged = flag("window", "drop_last", drop_last), flag("window", "ragged", ragged)
        return self._with_verb(
            "window", size=rows, shift=further, stride=apart, drop_last=drop_last, ragged=ragged
        )

    @names_checked
    def rebatch(self, size: int, *, drop_last: bool = False, ragged: bool = False) -> Dataset:
        """Change the batch size: `unbatch`, then `batch` with the same arguments.

        Args:
            size: Rows per batch, at least 1.
            drop_last: Drop a last batch that is not full.
            ragged: Allow rows of different shapes, as in `batch`.
        """
        return self.unbatch().batch(size, drop_last=drop_last, ragged=ragged)

    @names_checked
    def with_ids(self, field: str = "id") -> Dataset:
        """Add an int64 scalar field with the sample's id: (ordinal of its read << 48) | (its index there).

        It identifies the sample in the data: elements made from one sample by `unbatch` or `flat_map` have the same id, and a sample
        that `shard` repeats has the same id twice.

        Args:
            field: Name of the new field.
        """
        name = text("with_ids", "field", field)
        return self._then(_core.with_engine_field(self._node, "id", name, users_line()))

    @names_checked
    def with_validity(self, field: str = "valid") -> Dataset:
        """Add a bool scalar field that is False for samples added by `shard(even="pad")`, else True.

        It may stand anywhere, before or after the shard. After `batch`, `window` or `pack`, it is False for elements that have
        only such samples.

        Args:
            field: Name of the new field.
        """
        name = text("with_validity", "field", field)
        return self._then(_core.with_engine_field(self._node, "valid", name, users_line()))

    @names_checked
    def on_error(self, policy: Policy) -> Dataset:
        """Set what happens when a sample fails in the data or a verb before this one.

        If a generator raises, or yields a sample of another structure, the run ends in any case. If a Python function raises, its
        sample fails; a bug in it may make every sample fail, and "skip" then yields almost nothing without an error. Test a new
        function with "raise", and check `report()["skipped"]` or `["replaced"]`.

        Args:
            policy: "raise" (the default) stops the run; "skip" drops the sample, so the length is not known; "replace" uses the next
                good sample in order instead. The report counts both.

        Example:
            ds.map(decode).on_error("replace").batch(256)
        """
        return self._with_verb("on_error", policy=text("on_error", "policy", policy))

    # ---- verbs on the order

    @names_checked
    def shuffle(
        self, *, seed: int = 0, window: int = 0, blocks: int = 0, reshuffle_each_epoch: bool = True
    ) -> Dataset:
        """Shuffle the elements, in a different order every epoch.

        Args:
            seed: Determines the orders.
            window: 0: permute all elements, without using memory. Else, for streams: draw from a window of this many elements.
            blocks: 0: permute all elements. Else: permute the blocks of the data, then the elements within each group of this many
                consecutive blocks. A block is what is decompressed as a whole: a row group of Parquet, a record batch of Arrow, a
                compressed chunk of HDF5 or Zarr; if samples can be read individually, a file. Each block is then opened once per
                epoch, if twice this many blocks fit in half of the memory budget; the report states if they do not. The order depends
                on the layout of the data.
            reshuffle_each_epoch: Whether every epoch has an order of its own; False: every epoch and every pass of `repeat` has that of
                epoch 0.

        Raises:
            TypeError: a positional number, such as tf.data's buffer size, which Headrace does not have.
            ValueError: both window and blocks are given; or blocks after a verb that reorders or joins samples, or has no random
                access.

        Example:
            ds.shuffle(seed=17)
        """
        named, of = whole_number("shuffle", "seed", seed), whole_number("shuffle", "window", window)
        mixed = whole_number("shuffle", "blocks", blocks)
        again = flag("shuffle", "reshuffle_each_epoch", reshuffle_each_epoch)
        return self._with_verb("shuffle", seed=named, window=of, blocks=mixed, reshuffle_each_epoch=again)

    @names_checked
    def shard(
        self,
        rank: int | None = None,
        world: int | None = None,
        *,
        even: Literal["wrap", "drop", "pad"] = "wrap",
        steps: int | None = None,
        replicate: int = 1,
        mesh: DeviceMesh | None = None,
        dims: str | Iterable[str] | None = None,
        fixed: bool = False,
        contiguous: bool = False,
    ) -> Dataset:
        """Divide the elements among `world` processes: this one gets rank, rank + world, ….

        It divides the order of each epoch, shuffled or not, wherever it stands. With `fixed` it divides the order before it, once: a
        rank has the same elements in every epoch, and verbs after it see nothing else.

        Args:
            rank: This process, from 0. If rank and world are not given, both are those of `headrace.ranks()`: of torch.distributed if it
                is initialised, else of the launcher, else 0 of 1. They are asked anew in every process that loads or unpickles the
                dataset, and whenever it is run.
            world: The number of processes.
            even: What to do if the number of elements is not divisible by world: "wrap" repeats the first elements of the epoch,
                "drop" drops the last ones, "pad" also wraps and marks the repeated elements (see `with_validity`).
            steps: Elements per epoch on this rank; required if the length is not known. A rank that has fewer elements repeats them;
                with `batch` after shard, the last batch before the repetition is short, unless `drop_last` drops it.
            replicate: So many consecutive ranks get the same elements, as the ranks of tensor and pipeline parallelism need: this one
                gets the part rank // replicate of world // replicate.
            mesh: A DeviceMesh of PyTorch, instead of rank and world: ranks get different elements along its data-parallel dimensions,
                and the same ones along the others.
            dims: The names of the data-parallel dimensions; those named "dp", "dp_replicate", "dp_shard", "data", "fsdp", "replicate"
                or "shard" when not given.
            fixed: Give this rank the same elements in every epoch, so that a `cache` after it keeps them and no others. A `shuffle`
                after it permutes them, on each rank in another order; a state fits only this rank of this world.
            contiguous: With `fixed`, one run of elements, as they are stored, instead of rank, rank + world, ….

        Raises:
            ValueError: with `fixed`, there is a shuffle or sample that changes every epoch before it, or no random access; or contiguous
                is given without `fixed`; or only one of rank and world is given, rank is not below world, replicate does not divide world, launchers
                disagree, RANK is set without WORLD_SIZE, or no dimension of the mesh has such a name.

        Warns:
            UserWarning: rank and world are not given, this is one process, and the environment looks as if several were meant.

        Example:
            ds.shuffle(seed=17).shard(rank, world).batch(256)
            ds.shard(fixed=True).map(decode).cache().shuffle(seed=17).batch(256)  # decodes each sample once
        """
        if (rank is None) != (world is None):
            raise mismatch(
                ValueError,
                "shard",
                expected="both rank and world or neither",
                got=f"rank {rank} and world {world}",
            )
        if mesh is not None:
            if rank is not None or replicate != 1:
                raise mismatch(
                    ValueError, "shard", expected="mesh= alone", got="also rank and world, or replicate="
                )
            rank, world = of_mesh(mesh, dims)
        elif dims is not None:
            raise mismatch(ValueError, "shard", expected="mesh= beside dims=", got="none")
        shared = whole_number("shard", "replicate", replicate, 1, 2**32)
        steps = None if steps is None else whole_number("shard", "steps", steps)
        how = text("shard", "even", even)
        part = {
            "fixed": flag("shard", "fixed", fixed),
            "contiguous": flag("shard", "contiguous", contiguous),
        }
        if rank is None or world is None:
            found, warning = asked()
            warn_of([warning] if warning else [])
            if found.world > 1:  # else it shares with nobody
                _core.with_replicas(found.rank, found.world, shared)
            of = {"ranks": "environment", "replicate": shared}
            return self._with_verb("shard", **of, even=how, steps=steps, **part)
        rank = whole_number("shard", "rank", rank, 0, 2**32)
        world = whole_number("shard", "world", world, 0, 2**32)
        if shared != 1:
            rank, world = _core.with_replicas(rank, world, shared)
        return self._with_verb("shard", rank=rank, world=world, even=how, steps=steps, **part)

    @names_checked
    def repeat(self, times: int | None = None) -> Dataset:
        """Repeat the elements; each pass is a new epoch of the verbs before it.

        Args:
            times: Number of passes, at least 1; infinite when not given.
        """
        passes = 0 if times is None else whole_number("repeat", "times", times, least=1)
        return self._with_verb("repeat", times=passes)

    @names_checked
    def take(self, count: int) -> Dataset:
        """Keep the first `count` elements, counted over all ranks.

        Args:
            count: Number of elements.
        """
        return self._with_verb("take", count=whole_number("take", "count", count))

    @names_checked
    def skip(self, count: int) -> Dataset:
        """Drop the first `count` elements, counted over all ranks.

        Args:
            count: Number of elements.
        """
        return self._with_verb("skip", count=whole_number("skip", "count", count))

    @names_checked
    def concatenate(self, other: Dataset, *, align_labels: bool = False) -> Dataset:
        """Append another dataset with the same fields.

        Args:
            other: The dataset.
            align_labels: Whether labels are mapped by name to one list of classes, see `headrace.concatenate`.

        Raises:
            ValueError: fields, their units or their classes differ.
        """
        if not isinstance(other, Dataset):
            raise mismatch(TypeError, "concatenate", expected="a Dataset", got=f"{other!r}")
        nodes = nodes_to_join([self, other], align_labels)
        return self._then(warned(_core.verb("concatenate", nodes, {}, users_line())), others=[other])

    @names_checked
    def interleave(
        self,
        function: Callable[[Any], Dataset],
        *,
        cycle_length: int | None = None,
        block_length: int = 1,
        align_labels: bool = False,
    ) -> Dataset:
        """Make a dataset from every element, and interleave them: see `headrace.interleave`.

        The function is called immediately, once for each element that may come in any epoch, on any rank, so the length must be known:
        file names. A `shuffle` of the names gives another order of datasets in every epoch.

        A `shard` of the names deals whole datasets. None is dealt twice: some ranks have one more, and `even` of the shard evens out
        elements after the interleave. With "wrap" and "pad" every rank has as many as the one with most, and repeats its own; with
        "drop" as many as the one with fewest. If a dataset has no random access, its elements are not counted, and `shard` needs
        `steps`. With a shuffle before the shard, there is no random access, and the length may differ between epochs; a `shard`
        after the interleave keeps both.

        Args:
            function: From element to Dataset.
            cycle_length: Number of datasets that are interleaved at the same time; all of them when not given.
            block_length: Consecutive elements from each dataset.
            align_labels: Whether labels are mapped by name to one list of classes, see `headrace.concatenate`.

        Raises:
            TypeError: the number of elements is not known.
            ValueError: there are fewer elements than ranks, or a verb between a shuffle or shard and the interleave joins elements.

        Example:
            hr.list_files("logs/*.txt").interleave(hr.read_text, cycle_length=4)
            hr.list_files("train/*.tar").shuffle(seed=17).shard().interleave(hr.read, cycle_length=8).batch(256)
        """
        len(self)  # raises a TypeError with the reason if the length is not known
        apart = self._node.order_of_files()
        parts = [self] if apart is None else [self._then(part) for part in apart[1]]
        return _interleaved(
            [function(element) for part in parts for element in part],
            cycle_length,
            block_length,
            align_labels,
            None if apart is None else Dataset(apart[0], bound=self._numbers_outside(apart[2])),
        )

    def _numbers_outside(self, places: Sequence[Sequence[int]]) -> Bound:
        """Return what verbs of the plan bind as numbers, such as weights, except in these parts of it."""
        tree = json.loads(self.plan())["plan"]
        parts = [input_at(tree, place) for place in places]
        inside = {id(holder) for part in parts for _, _, holder in slots_in(part)}
        slots = zip(slots_in(tree), self._bound, strict=True)
        return [pair for (_, kind, at), pair in slots if kind in BESIDE.values() and id(at) not in inside]

    @names_checked
    def cache(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        max_memory: int | None = None,
        version: str | None = None,
    ) -> Dataset:
        """Compute each sample once and cache it, in memory or in files that later runs and other processes can use.

        Verbs before it run as in epoch 0, whichever epoch computes an element first, and do not run again; the order, and verbs after
        it, differ in every epoch. Elements are cached by sample, so `shuffle`, `shard`, `take` and similar verbs may come before or after
        it. Put it after expensive verbs and before random ones. After `batch`, `window` or `zip` it caches what these joined in
        epoch 0, so every epoch has the same batches. NumPy arrays from a cache in memory share its memory and are read-only: copy
        them to modify them.

        Args:
            path: A folder for files, created if needed. Elements of another pipeline, other data or another seed are stored separately
                in it. Data is identified by the paths, sizes and modification times of its files. Several processes may use the
                folder at the same time. If a run is killed, what it cached remains, except for the last megabyte. Files are never
                deleted automatically; you can delete them at any time, and their elements are computed again. On a full disk,
                caching stops with a warning. Without a path, elements are kept in memory as long as the dataset exists.
            max_memory: Maximum bytes of elements in memory; half of what this process may use when not given.
            version: For files: identifies whatever else determines the elements, such as the items of a Python sequence or the state of
                objects that functions use. Without it, Python functions are identified by their code and by the numbers, strings,
                arrays and functions that they use; anything else raises an error.

        Raises:
            ValueError: a verb before it has no random access, or a version is required.
            MemoryError: in a run: the elements take more than `max_memory`.

        Example:
            ds.map(decode).cache().map(augment)
        """
        where = "" if path is None else str(Path(path).absolute())
        limit = 0 if max_memory is None else whole_number("cache", "max_memory", max_memory, 1)
        if where:
            said = code_version(self.slots) if version is None else text("cache", "version", version)
        else:
            said = ""
        return self._with_verb("cache", path=where, max_memory=limit, version=said)

    def zip(self, *others: Dataset) -> Dataset:
        """Combine the elements with those of other datasets, as tuples; `headrace.zip` supports other nestings."""
        from .joins import zip as zip_  # noqa: PLC0415 -- joins imports this module

        return zip_(self, *others)

    @names_checked
    def enumerate(self, start: int = 0) -> Dataset:
        """Make tuples (position, element), with the position in the epoch as an int64 scalar.

        Positions are counted over all ranks, so put `shard` after it. `with_ids` identifies the sample instead.

        Args:
            start: The position of the first element.

        Raises:
            ValueError: there is a shard before it.
        """
        first = whole_number("enumerate", "start", start, -(2**63), 2**63)
        if self._node.sharded:
            raise ValueError(
                "enumerate: positions are counted over all ranks, so that a state can be resumed with any number of ranks; put shard after it"
            )
        counter = _core.read(_core.counter_source(first, 1), users_line())
        pairs = {"structure": "[0,1]", "ids": 1}
        return self._then(_core.verb("zip", [counter, self._node], pairs, users_line()))

    @names_checked
    def sample(
        self,
        weights: ArrayLike | str,
        *,
        num: int | None = None,
        replacement: bool = True,
        seed: int = 0,
    ) -> Dataset:
        """Draw elements with probabilities proportional to their weights, differently every epoch.

        With replacement, any draw takes O(1), from tables of 16 bytes per element; a sample that is drawn twice is augmented
        differently each time. Without replacement, the order of an epoch is computed when it begins, and has no element twice.

        Args:
            weights: One number of at least 0 for each element, or the name of a field, which is read immediately.
            num: Elements per epoch; the number of elements when not given.
            replacement: Whether an element may be drawn more than once.
            seed: Determines the draws.

        Raises:
            ValueError: the number of weights differs from the number of elements, there is a shuffle before it, or, without
                replacement, `num` is more than the number of elements with a weight above 0.

        Example:
            ds.sample(weights, num=10_000, seed=17)
        """
        from .joins import beside  # noqa: PLC0415 -- joins imports this module

        numbers, bound = beside(self, "sample", "weights", weights)
        count = None if num is None else whole_number("sample", "num", num)
        named, again = whole_number("sample", "seed", seed), flag("sample", "replacement", replacement)
        members = {"seed": named, "replacement": again, "num": count}
        return self._then(_core.verb("sample", [self._node, numbers], members, users_line()), bound)

    @names_checked
    def rejection_resample(
        self,
        class_function: Callable[..., Any],
        target_dist: ArrayLike,
        initial_dist: ArrayLike | None = None,
        *,
        seed: int = 0,
        python: Where = False,
    ) -> Dataset:
        """Drop elements at random so that the classes of the rest have a given distribution.

        If p is the distribution of the classes in this dataset and t the target, an element of class i is kept with probability
        (t[i] / p[i]) / max(t / p), so 1 / max(t / p) of all elements are kept; none is repeated. The draw for a sample depends on the
        sample, the epoch and the seeds.

        Args:
            class_function: From element to its class, an integer scalar from 0; traced like `map`.
            target_dist: The target share of each class, at least 0; need not be normalised.
            initial_dist: The share of each class in this dataset; need not be normalised. When not given, it is estimated from the counts
                of the classes since the epoch began, including the current element, starting with a count of 10 for each class. A saved
                iteration contains the counts.
            seed: Determines the draws, together with `options(seed=)`; 0 to 2**31 - 1.
            python: Run the class function as Python without trying to trace it.

        Returns:
            A dataset of pairs (class, element).

        Raises:
            ValueError: the distributions differ in length, or a share is not above 0 where it must be.

        Example:
            ds.rejection_resample(lambda s: s.label, [0.5, 0.5]).map(lambda pair: pair[1])
        """
        from ._resampling import resampled  # noqa: PLC0415 -- avoids an import cycle

        return resampled(self, class_function, target_dist, initial_dist, seed, python)

    @names_checked
    def sort_by(self, key: ArrayLike | str, *, descending: bool = False) -> Dataset:
        """Sort the elements by a key; the sort is stable.

        Args:
            key: One number or str for each element, or the name of a field, which is read immediately.
            descending: Sort from the largest to the smallest key.

        Raises:
            ValueError: the number of keys differs from the number of elements, or there is a shuffle before it, whose order changes
                every epoch.

        Example:
            ds.sort_by("length", descending=True)
        """
        from .joins import beside  # noqa: PLC0415 -- joins imports this module

        numbers, bound = beside(self, "sort_by", "keys", key)
        members = {"descending": flag("sort_by", "descending", descending)}
        return self._then(_core.verb("sort_by", [self._node, numbers], members, users_line()), bound)

    def apply(self, function: Callable[[Dataset], Dataset]) -> Dataset:
        """Return `function(self)`: applies several verbs as one function."""
        made = function(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"apply: the function must return a Dataset, got {made!r}")
        return made

    # ---- options

    @names_checked
    def options(
        self,
        *,
        seed: int | None = None,
        workers: int | None = None,
        io: int | None = None,
        ready: int | None = None,
        memory_budget: int | str | None = None,
        deterministic: bool | None = None,
        rewrites: Mapping[str, bool] | bool | None = None,
        checkpoints: bool | None = None,
        map_files: bool | None = None,
        retries: int | None = None,
        cache: Literal["auto"] | None = None,
        trace: str | os.PathLike[str] | None = None,
        tuning: Literal["auto", "locked"] | None = None,
        settings: Mapping[str, int] | None = None,
    ) -> Dataset:
        """Set options of a run; options that are not given are unchanged.

        Three settings determine the speed of a run, but not its results: `workers`, `io` and `ready`. A run tunes them until the
        consumer does not wait, and releases what is not needed; its report lists the decisions with reasons (docs/tuning.md). A
        setting that is given here is not tuned.

        Args:
            seed: Seed for the randomness of operators (0).
            workers: Worker threads (tuned, starting with the number of cores this process may use). 0: no threads; each element is read
                and computed in the thread that asks for it, and `io` and `ready` have no effect (docs/tuning.md).
            io: Concurrent reads (tuned).
            ready: Elements, so usually batches, in progress or ready (tuned; `prefetch` sets a minimum).
            memory_budget: Bytes that the run may hold, or a string such as "512MB" (a quarter of what the process may use).
            deterministic: False returns batches in the order in which they become ready (True).
            rewrites: {"fuse_maps": False} switches off one rewrite, False all of them. Results are the same.
            checkpoints: Store the entropy points of JPEG files in the user's cache folder, which speeds up
                decode_image(match="fast") from the second epoch on (True). Results are the same.
            map_files: Memory-map large `bytes` of a batch that pass through no operator instead of copying them, if the file is on a
                local file system and in the page cache (True). Results are the same.
            retries: How often a read is tried again that the system refused for now, as network file systems do: EIO, ESTALE, EAGAIN,
                ETIMEDOUT (3). The waits before grow: 20 ms, 80 ms, 320 ms ... 5 s. `report()["io"]["retried"]` counts them; a read
                that fails to the end is an OSError.
            cache: "auto" caches elements where that pays off, in a part of the memory budget or in the user's cache folder: after
                expensive operators and before the first random one (off). Results are the same; `explain()` shows the choice. The
                loader examines some samples for it when it is created, which takes about half a second.
            trace: File for a Chrome/Perfetto trace of the first iteration.
            tuning: "locked" keeps the initial values of all three settings ("auto").
            settings: Initial values of the three settings, as in "settings" of an earlier run's report:
                {"workers": 2, "io": 16, "ready": 4}. With tuning="locked" they are kept.

        Raises:
            TypeError: a value has the wrong type.
            ValueError: a number is below 1 (`workers`: below 0), or a value or a rewrite is unknown.

        Example:
            ds.options(workers=8, memory_budget="2GB")
        """
        given = {
            "seed": seed, "workers": workers, "io": io, "ready": ready, "memory_budget": memory_budget, "deterministic": deterministic,
            "rewrites": rewrites, "checkpoints": checkpoints, "map_files": map_files, "retries": retries, "cache": cache,
            "trace": trace, "tuning": tuning, "settings": settings,
        }  # fmt: skip
        return Dataset(self._node, merged_options(self._options, given), self._bound)

    @names_checked
    def prefetch(self, count: int) -> Dataset:
        """Keep at least `count` elements in progress or ready, if the memory budget allows.

        Args:
            count: Number of elements.
        """
        least = whole_number("prefetch", "count", count)
        merged = {**self._options, "prefetch": max(least, 1, self._options.get("prefetch", 0))}
        return Dataset(self._node, merged, self._bound)

    # ---- looking at it

    @property
    def schema(self) -> Any:
        """A FieldSpec for each field, with the nesting of the elements."""
        _, specs, structure = self._node.schema
        return packer(structure)([FieldSpec(dtype, tuple(shape)) for dtype, shape in specs])

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the data, such as {"classes": ["cat", "dog"]}; of datasets that are joined, what holds for all of them."""
        found: Any = self._node.metadata()
        return cast(dict[str, Any], found)

    def __len__(self) -> int:
        size = self._node.size
        if size is None:
            raise TypeError(f"this dataset has no exact length: {self._why_no_length()}")
        return size

    def count(self) -> int:
        """Return the number of elements of epoch 0: at once where it is known, otherwise by a pass over the data.

        The pass computes no more than the number depends on: fields that no filter, `flat_map` or `unbatch` looks at are neither read nor
        decoded, unless there is an `on_error`. Its result is kept in the user's cache folder for the same plan over the same files, unless
        the plan has an `on_error`, Python or C functions, generators or arrays of the program. Other epochs may have another number, where
        a shuffle stands before a `take`, or a filter is random.

        Raises:
            ValueError: the dataset never ends.

        Example:
            boxes = ds.flat_map(lambda s: s["boxes"])
            boxes = boxes.assert_cardinality(boxes.count())  # len(boxes) is exact, and shard() needs no steps=
        """
        return _core.count(self._node, self._run_options())

    def assert_cardinality(self, count: int) -> Dataset:
        """Return the same elements, with a length that you know: an epoch of another number of elements is an error.

        It gives a dataset after `filter`, `flat_map`, `unbatch` or `from_generator` an exact `len`, so that `shard` evens out ranks without
        `steps=`: then every rank computes all elements before it and takes its own. A verb behind it that ends earlier, such as `take` or
        `zip`, does not see that there are more. `tf.data` has the same verb.

        Args:
            count: Number of elements of an epoch, over all ranks.

        Raises:
            ValueError: the length is known to be another one, or there is a `shard` before it. At the end of an epoch: it had fewer
                elements; at the first one too many: it has more.

        Example:
            ds.filter(is_large).assert_cardinality(71_342)
        """
        return self._with_verb("assert_cardinality", count=whole_number("assert_cardinality", "count", count))

    def _why_no_length(self) -> str:
        if self._node.endless:
            return "it never ends"
        node = self._node
        while below := [one for one in node.inputs if one.size is None and not one.endless]:
            node = below[0]
        verb = node.describe()["verb"]
        if self._node.size_in_epoch(0) is not None:
            return f"{verb} has other files in each epoch, and so another number of samples; len(ds.at_epoch(0)) is that of epoch 0"
        if verb == "from_generator":
            return "the number of samples of a generator is not known in advance"
        return f"the number of elements after {verb} is only known after a run; count() counts them, and assert_cardinality(n) says it"

    def __getitem__(self, position: int | slice) -> Any:
        """Compute one element of epoch 0 immediately; a slice gives a list. `skip` and `take` give datasets instead."""
        return self._item(position, 0)

    def __getitems__(self, positions: Sequence[int]) -> list[Any]:
        """Compute several elements; called by PyTorch's DataLoader."""
        if not self._knows_frozen and self._node.varies_by_epoch and self._is_frozen(positions):
            self._knows_frozen = True
            warnings.warn(
                "DataLoader(ds) has the elements of epoch 0 in every epoch, and this plan varies by epoch: use "
                "DataLoader(ds.torch_dataset(), …), or ds.torch() in place of the DataLoader",
                RuntimeWarning,
                stacklevel=stacklevel(),
            )
        return [self._item(position, 0) for position in positions]

    def _is_frozen(self, positions: Sequence[int]) -> bool:
        """Whether a DataLoader begins a second epoch, or may do so without this process knowing of it."""
        data = sys.modules.get("torch.utils.data")
        if data is not None and (worker := data.get_worker_info()) is not None:
            return bool(worker.id == 0)
        asked_for = {int(position) for position in positions}
        comes_again = not self._first_asked.isdisjoint(asked_for)
        if len(self._first_asked) < _FIRST_ASKED:
            self._first_asked |= asked_for
        return comes_again

    def __iter__(self) -> Iterator[Any]:
        """Iterate over epoch 0 as NumPy arrays; use a loader, `numpy()` or `torch()`, for several epochs and states."""
        loader = self.numpy().at_its_first_epoch()
        loader._knows_ranks = True  # a look at all elements
        return iter(loader)

    @names_checked
    def at_epoch(self, epoch: int) -> EpochView:
        """Return the elements of another epoch as a sequence.

        Args:
            epoch: The epoch, from 0.
        """
        return EpochView(self, epoch)

    def _item(self, position: int | slice, epoch: int) -> Any:
        if isinstance(position, slice):
            return [self._item(index, epoch) for index in range(*position.indices(len(self)))]
        node = self._node
        size = node.size
        try:
            index = operator.index(position)
        except TypeError:
            raise TypeError(
                f"a dataset is indexed by positions and slices, got {position!r}; map(lambda s: s.name) selects a field"
            ) from None
        if size is not None and not -size <= index < size:
            raise IndexError(
                f"expected -{size} <= position < {size}, got {index}"
                if size
                else "this dataset has no elements"
            )
        if size is None and index < 0:
            raise IndexError(f"a dataset without a known length has no position {index}")
        return self._pack(
            self._random_access(node).at(index + size if index < 0 and size is not None else index, epoch)
        )

    def _random_access(self, node: _core.Node) -> _core.Elements:
        process = os.getpid()  # a forked child creates its own
        if self._elements is None or self._elements[0] != process or self._elements[1] is not node:
            made = _core.Elements(node, self._options.get("seed", 0), self._options.get("memory_budget", 0))
            self._elements = process, node, made
        return self._elements[2]

    @names_checked
    def explain(self, *, measure: bool = False) -> str:
        """Describe the plan as written and as it runs, what each rewrite changed, and warnings.

        For each verb, it shows the fields, number and size of its elements, and for operators the parameters that differ from their
        defaults. It also estimates the memory of a run, compared with the budget.

        Args:
            measure: If sizes do not follow from shapes, compute a few elements of epoch 0 (16, or 2 batches) and show their mean
                size. This runs the pipeline, including Python functions, but fills no cache.

        Returns:
            Human-readable text.
        """
        plan = _core.Loader(self._node, {**self._run_options(), "trace": "", "only_explained": True})
        return plan.explain(flag("explain", "measure", measure))

    def _run_options(self) -> dict[str, Any]:
        """The options for a loader, with the version of functions if elements may be cached in files."""
        if self._options.get("cache") != "auto":
            return self._options
        try:
            return {**self._options, "cache_version": code_version(self.slots)}
        except ValueError:  # functions cannot be identified: elements are only cached in memory
            return self._options

    def __repr__(self) -> str:
        size = (
            "endless" if self._node.endless else self._node.size if self._node.size is not None else "unknown"
        )
        names, specs, structure = self._node.schema
        kind = ", tuples of " if structure.startswith("[") else ": "
        fields = ", ".join(
            f"{_core.printable(name)}: {dtype} ({', '.join('?' if d is None else str(d) for d in shape)})"
            for name, (dtype, shape) in zip(names, specs, strict=True)
        )
        return f"<Dataset of length {size}{kind}{fields}\n{self._node.tree().rstrip()}>"

    # ---- running

    @names_checked
    def numpy(self) -> NumpyLoader:
        """Return a loader that iterates over the elements as NumPy arrays, one epoch per iteration.

        Example:
            loader = ds.numpy()
            for epoch in range(10):
                for batch in loader:
                    step(batch["image"])
        """
        from .loaders.numpy import NumpyLoader  # noqa: PLC0415 -- avoids an import cycle

        return NumpyLoader(self)

    @names_checked
    def torch(self, device: Any = None, *, pin_memory: bool | None = None) -> TorchLoader:
        """Return a loader that iterates over the elements as PyTorch tensors, one epoch per iteration.

        Args:
            device: The device of the tensors; the CPU when not given. Elements are copied to a CUDA device one element ahead.
            pin_memory: Copy through page-locked memory; when not given, only for a CUDA device.

        Raises:
            ModuleNotFoundError: PyTorch is not installed.
            RuntimeError: CUDA is required, but PyTorch finds no CUDA device.

        Example:
            for batch in ds.torch(device="cuda"):
                step(batch["image"])
        """
        with _pytorch_for("torch", "iterate over numpy()"):
            from .loaders.torch import TorchLoader  # noqa: PLC0415 -- imports torch

        return TorchLoader(self, device=device, pin_memory=pin_memory)

    @names_checked
    def torch_dataset(self) -> TorchDataset:
        """Return the elements by position, as tensors, for PyTorch's own DataLoader and for trainers that make one.

        `torch()` is faster: it makes whole batches in threads. Use this where a trainer takes a dataset only, such as
        `Trainer(train_dataset=)`, or needs a sampler or a collate function of its own. Unlike the dataset itself, which has epoch 0
        there, it has the epoch of `set_epoch()`, in workers too, or counts epochs.

        Raises:
            ModuleNotFoundError: PyTorch is not installed.
            ValueError: there is no random access or no length.

        Example:
            loader = DataLoader(ds.torch_dataset(), batch_size=32, shuffle=True, num_workers=4)
        """
        with _pytorch_for("torch_dataset", "index the dataset, as in ds[i]"):
            from .loaders.torch_dataset import TorchDataset  # noqa: PLC0415 -- imports torch

        return TorchDataset(self)

    # ---- writing

    @names_checked
    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        shard_size: int | str | None = None,
        shards: int | None = None,
        overwrite: bool = False,
        drop_broken: bool = False,
        check_images: bool = False,
        verify: bool = False,
        options: Mapping[str, Any] | None = None,
        progress: Callable[[dict[str, Any]], Any] | bool | None = None,
    ) -> dict[str, Any]:
        """Write the samples of epoch 0, in order, to a data set that appears only when it is complete.

        If a call is interrupted, the same call resumes after the last finished shard. A manifest is written to headrace.json in the
        folder, or to out.tfrecord.headrace.json next to a single file.

        Args:
            path: A file, or a folder for shards; its extension determines the format.
            format: The name of the format, if the extension does not determine it.
            shard_size: Start a new file after this many bytes of samples: 150_000_000 or "150MB".
            shards: Number of files, with equal numbers of samples. One file if neither is given.
            overwrite: Replace a data set that Headrace wrote. Anything else at the path is an error.
            drop_broken: Drop samples that fail, and list them in quarantine.json next to the data.
            check_images: Decode each image, so that images that cannot be decoded fail; their bytes are written unchanged.
            verify: Read everything back and compare the hash of each sample before the data set appears.
            options: Options of the format; `formats()` lists them.
            progress: Called about twenty times per second with {"phase", "samples", "bytes", "total"}; returning False stops writing.
                When not given, a progress line is shown if stderr is a terminal or this is a notebook, and tqdm is installed;
                `progress=False` shows none.

        Returns:
            {"format", "samples", "bytes" (of all files), "shards", "reused_shards" (of an interrupted call), "broken"}.

        Raises:
            ValueError: the extension is not that of a format, the format cannot store such samples, or the path exists.
            OSError: the disk is full, or the folder is not writable.

        Example:
            ds.write("train", format="webdataset", shard_size="150MB")
        """
        given = wanted(
            "write", format=format, shard_size=shard_size, shards=shards, overwrite=overwrite, options=options
        )
        for name, value in {
            "drop_broken": drop_broken, "check_images": check_images, "verify": verify,
        }.items():  # fmt: skip
            given[name] = flag("write", name, value)
        return write(self._node, self._options, path, progress, given)

    # ---- plans

    def plan(self) -> str:
        """Return the pipeline as JSON; C++ and Python give the same."""
        made, names = self._node.plan(self._options.get("seed", 0)), names_of(self._bound)
        return with_names(made, names) if any("#" in name for name in names) else made

    @property
    def slots(self) -> dict[str, Any]:
        """The functions, arrays and generators that a saved plan does not contain, by name, as for `load_plan(bind=…)`."""
        return {name: thing for name, (_, thing) in zip(names_of(self._bound), self._bound, strict=True)}

    def save_plan(self, path: str | os.PathLike[str]) -> None:
        """Write the pipeline as JSON. Python functions and arrays are only referenced, as `slots`: see `load_plan`.

        Args:
            path: The JSON file.
        """
        Path(path).write_text(self.plan(), encoding="utf-8")

    def fingerprint(self) -> str:
        """Return the fingerprint that a state must match: 16 digits for the plan, 16 for the data."""
        return self._node.fingerprint(self._options.get("seed", 0))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_plan, (self.plan(), self.slots, self._options)


def nodes_to_join(datasets: Sequence[Dataset], align_labels: bool) -> list[_core.Node]:
    """Return the nodes of datasets that are joined, with one list of classes if that is asked for."""
    nodes = [dataset._node for dataset in datasets]
    return _core.align_labels(nodes, users_line()) if align_labels else nodes


def warned(node: _core.Node) -> _core.Node:
    """Return a node that joins datasets, after a warning if nothing says whether their numbers mean the same."""
    warn_of(node.meaning_notes)
    return node


@names_checked
def interleave(
    datasets: Sequence[Dataset],
    *,
    cycle_length: int | None = None,
    block_length: int = 1,
    align_labels: bool = False,
) -> Dataset:
    """Interleave datasets with the same fields, in the order of tf.data's `interleave`.

    The first `cycle_length` datasets yield `block_length` elements each, round-robin. A dataset that has ended is skipped, and from
    the next round on the next dataset of the list takes its place. If all datasets have random access, so does the result, and
    `options(deterministic=False)` yields the first element that is ready; else the order is kept.

    Args:
        datasets: At least one dataset.
        cycle_length: Number of datasets that are interleaved at the same time; all of them when not given.
        block_length: Consecutive elements from each dataset.
        align_labels: Whether labels are mapped by name to one list of classes, see `headrace.concatenate`.

    Raises:
        ValueError: fields, their units or their classes differ.

    Example:
        hr.interleave([a, b], block_length=2)
    """
    return _interleaved(datasets, cycle_length, block_length, align_labels)


def _interleaved(
    datasets: Sequence[Dataset],
    cycle_length: int | None,
    block_length: int,
    align_labels: bool,
    order: Dataset | None = None,
) -> Dataset:
    """Return them interleaved; `order` has the numbers of the datasets in each epoch."""
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise mismatch(TypeError, "interleave", expected="Datasets", got=f"{dataset!r}")
    if not datasets:
        raise ValueError("interleave: expected at least one dataset")
    cycle = (
        len(datasets)
        if cycle_length is None
        else whole_number("interleave", "cycle_length", cycle_length, least=1)
    )
    block = whole_number("interleave", "block_length", block_length, least=1)
    nodes, members = nodes_to_join(datasets, align_labels), {"cycle": cycle, "block": block}
    others = list(datasets[1:])
    if order is not None:
        nodes, members, others = [*nodes, order._made], {**members, "ordered": True}, [*others, order]
    node = warned(_core.verb("interleave", nodes, members, users_line()))
    return datasets[0]._then(node, others=others)


class EpochView(Sequence[Any]):
    """The elements of one epoch, by position; created by `Dataset.at_epoch`."""

    def __init__(self, dataset: Dataset, epoch: int):
        self.dataset = dataset
        self.epoch = whole_number("at_epoch", "epoch", epoch)

    def __len__(self) -> int:
        size = self.dataset._node.size_in_epoch(self.epoch)
        return len(self.dataset) if size is None else size

    def __getitem__(self, position: Any) -> Any:
        return self.dataset._item(position, self.epoch)


@contextlib.contextmanager
def _pytorch_for(verb: str, instead: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            f"{verb}: PyTorch is not installed; `pip install torch`, or {instead}", name="torch"
        ) from None


def _verbs() -> list[str]:
    return [name for name in dir(Dataset) if not name.startswith("_")]


def _from_plan(plan: str, bind: Mapping[str, Any], options: Mapping[str, Any]) -> Dataset:
    from .sources import open_plan  # noqa: PLC0415 -- avoids an import cycle

    return open_plan(plan, bind, options)
