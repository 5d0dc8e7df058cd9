"""Dataset: a pipeline as an immutable value. Every verb answers a new one; nothing runs until something iterates."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from . import _core
from ._arguments import flag, names_checked, text, verb_meant, whole_number
from ._carrying import CarryingVerbs
from ._function import code_version
from ._gathering import GatheringVerbs
from ._line import users_line
from ._mapping import Where
from ._options import merged_options
from ._ranks import from_environment
from ._slots import Bound, names_of, with_names
from ._structure import packer
from ._write import wanted, write

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .loaders.numpy import NumpyLoader
    from .loaders.torch import TorchLoader

Policy = Literal["raise", "skip", "replace"]


@dataclass(frozen=True)
class FieldSpec:
    """What a field looks like: `dtype` is "u8", "f32", "bytes" …; None in `shape` differs from sample to sample."""

    dtype: str
    shape: tuple[int | None, ...]


class _Sources(type):
    """Says what was meant by `Dataset.from_tensor_slices` and its like: here what makes datasets stands in the module."""

    if not TYPE_CHECKING:  # with it every name would have a type

        def __getattr__(cls, name: str) -> NoReturn:
            import headrace  # noqa: PLC0415 -- it imports this module

            is_elsewhere = name in headrace.__all__
            meant = f"; here it is headrace.{name}" if is_elsewhere else verb_meant(name, _verbs())
            raise AttributeError(f"Dataset has no attribute {name!r}{meant}", name=name, obj=None)


class Dataset(CarryingVerbs, GatheringVerbs, metaclass=_Sources):
    """A pipeline from data to elements, made by `headrace.read` and its like, and by the verbs below."""

    def __init__(
        self,
        node: _core.Node,
        options: Mapping[str, Any] | None = None,
        bound: Bound | None = None,
    ):
        self._node = node
        self._options = dict(options or {})
        self._bound = list(bound or [])
        self._elements: tuple[int, _core.Elements] | None = None  # of this process
        self._pack = packer(node.schema[2])

    def _then(self, node: _core.Node, *bound: tuple[str, Any], others: Sequence[Dataset] = ()) -> Dataset:
        below = [*self._bound, *(pair for other in others for pair in other._bound)]
        return Dataset(node, self._options, [*below, *bound])

    if not TYPE_CHECKING:  # with it every name would have a type

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

        The function gets the element (fields as items and attributes) and returns the new one: a dict, tuple, dataclass
        or a single value. It is called twice with symbols, and becomes a graph of native operators. If it needs real data or draws
        random numbers, it runs as Python on every element instead, and one warning says why: it then gets NumPy arrays that are
        its own, scalars, bytes and str, and returns such. With a parameter `rng` it gets a `numpy.random.Generator` that is
        the same for the same sample and epoch.

        Args:
            function: From element to element. Or a C function of ctypes, numba or cffi, or what `headrace.c_function` made of one: its
                arguments are the element's fields in their order, and no Python runs.
            python: Run it as Python without trying to trace it: `True` or `"threads"` in the threads of this process, where
                one of them at a time holds the GIL; `"processes"` in other processes, one a worker, begun when they are
                first needed: what keeps the GIL for long then uses all cores. The function must be known by name in a
                module, or cloudpickle be installed; in a script, what begins the loader stands under
                `if __name__ == "__main__":`. Elements travel through shared memory.
            num_parallel: Calls of a function that runs as Python, at most so many at once (at least 1): for what bears no more, such as
                a service or a library that is not thread-safe. Not given: as many as there are workers. Native operators need no bound.
            pure: A function that runs as Python answers the same whenever it is called for a sample, and nothing else depends on its
                being called: so `options(cache="auto")` may keep what it made. Native operators and C functions say so themselves.
        """
        return self._mapped("map", function, python, num_parallel, pure=flag("map", "pure", pure))

    @names_checked
    def filter(
        self, function: Callable[..., Any], *, python: Where = False, num_parallel: int | None = None
    ) -> Dataset:
        """Keep the elements for which a function answers true (a bool scalar); traced like `map`.

        The length is not known afterwards, and random access ends.
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
        """Make several elements of each: `map`, whose result has rows, then `unbatch`."""
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
        node = _core.map(self._node, made, at) if verb == "map" else _core.filter(self._node, made, at)
        return self._then(node, *bound)

    def unbatch(self) -> Dataset:
        """Make an element of every row; fields without rows are repeated for each."""
        return self._then(_core.unbatch(self._node, users_line()))

    @names_checked
    def batch(self, size: int, *, drop_last: bool = False, ragged: bool = False) -> Dataset:
        """Stack `size` elements along a new first dimension.

        Args:
            size: Rows of a batch, at least 1.
            drop_last: Leave out a last batch that is not full.
            ragged: Allow rows of different shapes; each field is then a `RaggedColumn`: a sequence of arrays, with all of them in its
                `values` and `row_splits`. Functions get a list of arrays. Fields of str always are lists, of bytes a `BytesColumn`.
        """
        rows = whole_number("batch", "size", size, least=1)
        drop_last, ragged = flag("batch", "drop_last", drop_last), flag("batch", "ragged", ragged)
        return self._then(_core.batch(self._node, rows, drop_last, ragged, users_line()))

    @names_checked
    def ragged_batch(self, size: int, *, drop_last: bool = False) -> Dataset:
        """`batch` of rows that may have different shapes: `ragged=True`."""
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
        """Stack `size` elements, then those `shift` elements further on, and so on: windows may share elements, or leave some out.

        Element k has rows k · shift, k · shift + stride, …. The last windows have fewer rows, as a last batch has.

        Args:
            size: Rows of a window, at least 1.
            shift: Elements from the first row of a window to that of the next; `size` when not given.
            stride: Elements from row to row.
            drop_last: Leave out windows that are not full.
            ragged: Allow rows of different shapes, as in `batch`.
        """
        rows, apart = whole_number("window", "size", size), whole_number("window", "stride", stride)
        further = rows if shift is None else whole_number("window", "shift", shift)
        drop_last, ragged = flag("window", "drop_last", drop_last), flag("window", "ragged", ragged)
        return self._then(_core.window(self._node, rows, further, apart, drop_last, ragged, users_line()))

    @names_checked
    def rebatch(self, size: int, *, drop_last: bool = False, ragged: bool = False) -> Dataset:
        """Make batches of another size of the rows of batches: `unbatch` and `batch`, with what `batch` takes."""
        return self.unbatch().batch(size, drop_last=drop_last, ragged=ragged)

    @names_checked
    def with_ids(self, field: str = "id") -> Dataset:
        """Add a field that holds the sample's id, i64: the ordinal of its read << 48 | its index there.

        The id is that of the sample in the data: what `unbatch` and `flat_map` make of one sample has one id, and a sample that
        `shard` repeats has it twice.
        """
        name = text("with_ids", "field", field)
        return self._then(_core.with_engine_field(self._node, "id", name, users_line()))

    @names_checked
    def with_validity(self, field: str = "valid") -> Dataset:
        """Add a bool field that is False for the samples that `shard(even="pad")` adds."""
        name = text("with_validity", "field", field)
        return self._then(_core.with_engine_field(self._node, "valid", name, users_line()))

    @names_checked
    def on_error(self, policy: Policy) -> Dataset:
        """Say what happens when a sample fails in anything above this verb.

        Args:
            policy: "raise" (default) stops; "skip" leaves the sample out, so the length is not known; "replace" takes the next
                good sample in order in its place. The report counts both.

        What a generator itself raises, or gives in another form, ends the run in any case: nothing comes after it.

        A Python function that raises makes its sample fail, and a bug in it does so on every sample: "skip" then delivers next to
        nothing without a word. Try a new function under "raise", and look at `report()["skipped"]` or `["replaced"]`.
        """
        return self._then(_core.on_error(self._node, text("on_error", "policy", policy), users_line()))

    # ---- verbs on the order

    @names_checked
    def shuffle(self, *, seed: int = 0, window: int = 0, blocks: int = 0) -> Dataset:
        """Take the elements in another order every epoch.

        Args:
            seed: Names the orders; the same seed gives the same ones.
            window: 0 permutes all elements, in no memory; else draw from a window of so many, for streams.
            blocks: 0 permutes all elements; else the blocks of the data change places, then the elements of every so many blocks that
                come one after the other. A block is what is unpacked as one: a row group of Parquet, a record batch of Arrow, a
                compressed chunk of HDF5 or Zarr; where samples can be read alone, a file. Each is then opened once an epoch, if twice
                so many fit half of the memory budget; the report says when they do not. The order depends on how the data lie.

        Raises:
            TypeError: a number without a name, as tf.data's buffer size: there is no buffer.
            ValueError: window and blocks; blocks after what moves or joins samples, or takes random access away.
        """
        named, of = whole_number("shuffle", "seed", seed), whole_number("shuffle", "window", window)
        mixed = whole_number("shuffle", "blocks", blocks)
        return self._then(_core.shuffle(self._node, named, of, mixed, users_line()))

    @names_checked
    def shard(
        self,
        rank: int | None = None,
        world: int | None = None,
        *,
        even: Literal["wrap", "drop", "pad"] = "wrap",
        steps: int | None = None,
    ) -> Dataset:
        """Deal the elements to `world` processes: this one takes rank, rank + world, ….

        Args:
            rank: This process, from 0; with `world` left out, both come from the environment: torchrun, Slurm, Open MPI,
                MPICH and PMI, PALS, Horovod; 0 of 1 without any.
            world: How many processes there are.
            even: When the number does not divide: "wrap" repeats the epoch's first elements, "drop" leaves the last out, "pad" wraps too
                and marks them (see `with_validity`).
            steps: Elements an epoch of this rank, wanted when the length cannot be known. A rank whose elements end sooner begins
                them again; with `batch` after the shard, the last batch before that is short, unless `drop_last` leaves it out.
        """
        if (rank is None) != (world is None):
            raise ValueError(
                f"shard: wants both rank and world or neither, got rank {rank} and world {world}"
            )
        if rank is None or world is None:
            rank, world = from_environment()
        rank, world = whole_number("shard", "rank", rank), whole_number("shard", "world", world)
        steps = None if steps is None else whole_number("shard", "steps", steps)
        how = text("shard", "even", even)
        return self._then(_core.shard(self._node, rank, world, how, steps, users_line()))

    @names_checked
    def repeat(self, times: int | None = None) -> Dataset:
        """Go through the elements `times` times, or for ever; each pass is an epoch of what stands above."""
        passes = 0 if times is None else whole_number("repeat", "times", times, least=1)
        return self._then(_core.repeat(self._node, passes, users_line()))

    @names_checked
    def take(self, count: int) -> Dataset:
        """Keep the first `count` elements of the order, over all ranks."""
        return self._then(_core.take(self._node, whole_number("take", "count", count), users_line()))

    @names_checked
    def skip(self, count: int) -> Dataset:
        """Leave out the first `count` elements of the order, over all ranks."""
        return self._then(_core.skip(self._node, whole_number("skip", "count", count), users_line()))

    def concatenate(self, other: Dataset) -> Dataset:
        """Append another dataset of the same fields."""
        if not isinstance(other, Dataset):
            raise TypeError(f"concatenate: wants a Dataset, got {other!r}")
        return self._then(_core.concatenate([self._node, other._node], users_line()), others=[other])

    @names_checked
    def interleave(
        self,
        function: Callable[[Any], Dataset],
        *,
        cycle_length: int | None = None,
        block_length: int = 1,
    ) -> Dataset:
        """Make a dataset of every element, and let them take turns: see `headrace.interleave`.

        The function is called here and now, once for each element of epoch 0, so their number must be exact: file names, shards.

        Args:
            function: From element to Dataset.
            cycle_length: Datasets that take turns at the same time; all of them when not given.
            block_length: Elements of a turn.
        """
        len(self)  # a TypeError that says why, when it is not known
        return interleave(
            [function(element) for element in self], cycle_length=cycle_length, block_length=block_length
        )

    @names_checked
    def cache(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        max_memory: int | None = None,
        version: str | None = None,
    ) -> Dataset:
        """Make each sample once and keep it: in memory, or in files that later runs and other processes use too.

        What stands before it draws as in epoch 0, whatever epoch makes an element first, and is not run again; the order,
        and what stands after it, are new in every epoch. Elements are kept by their sample, so `shuffle`, `shard`, `take` and the like
        may stand before or after it. Put it after what is expensive, and before what draws. After `batch`, `window` or `zip`
        it keeps what they joined in epoch 0: the same samples stand in each batch in every epoch. NumPy arrays that a cache in memory
        gives are its own, and read-only: copy what you write into.

        Args:
            path: A folder for files, made where there is none. Elements of another pipeline, other data or another seed lie
                beside these and are not mixed up with them. Data are known by where their files lie, and by the sizes and times of
                these. Several processes may use it at once. A run that is killed
                leaves what it kept, but for a megabyte. Nothing is ever deleted: that is yours to do, at any time, and costs
                only that elements are made again. On a full disk, no more is kept, and a warning says so. Without it, memory of this process, for
                as long as the dataset lives.
            max_memory: Bytes that the elements in memory may take; half of what this process may use when not given.
            version: For files: what else decides the elements, such as items of a Python sequence or state of objects that
                functions use. Without it, Python functions are known by their code, and by the numbers, texts, arrays and
                functions that it can see; what cannot be told raises.

        Raises:
            ValueError: Random access is gone before it, or it wants a version.
            MemoryError: While running: more than `max_memory`.
        """
        where = "" if path is None else str(Path(path).absolute())
        limit = 0 if max_memory is None else whole_number("cache", "max_memory", max_memory, 1)
        if where:
            said = code_version(self.slots) if version is None else text("cache", "version", version)
        else:
            said = ""
        return self._then(_core.cache(self._node, where, limit, said, users_line()))

    def zip(self, *others: Dataset) -> Dataset:
        """Put the elements of others beside these, as tuples; `headrace.zip` nests them otherwise."""
        from .joins import zip as zip_  # noqa: PLC0415 -- joins know datasets

        return zip_(self, *others)

    @names_checked
    def enumerate(self, start: int = 0) -> Dataset:
        """Make tuples of the position in the order and the element.

        Positions are those of the epoch over all ranks, so `shard` stands after it. `with_ids` says which sample it is instead.

        Args:
            start: The position of the first element, i64.
        """
        first = whole_number("enumerate", "start", start, -(2**63), 2**63)
        if self._node.sharded:
            raise ValueError(
                "enumerate: numbers the elements of all ranks, so that a state goes on with any number of them; put shard after it"
            )
        counter = _core.read(_core.counter_source(first, 1), users_line())
        return self._then(_core.zip([counter, self._node], "[0,1]", 1, users_line()))

    @names_checked
    def sample(
        self,
        weights: ArrayLike | str,
        *,
        num: int | None = None,
        replacement: bool = True,
        seed: int = 0,
    ) -> Dataset:
        """Draw elements with chances in proportion to their weights, anew every epoch.

        With replacement any draw is known without those before it, in O(1), from tables of 16 bytes an element; the same sample drawn
        twice is augmented twice. Without, the order of an epoch is made when it begins, and holds no element twice.

        Args:
            weights: One number of at least 0 for each element of the order above, or the name of a field, which is read at once.
            num: Elements of an epoch; as many as there are when not given.
            replacement: Whether an element may come again.
            seed: Names the draws.

        Raises:
            ValueError: there are not as many weights as elements, a shuffle stands above, or without replacement `num` is more
                than have a weight above 0.
        """
        from .joins import beside  # noqa: PLC0415 -- joins know datasets

        numbers, bound = beside(self, "sample", "weights", weights)
        count = None if num is None else whole_number("sample", "num", num)
        named, again = whole_number("sample", "seed", seed), flag("sample", "replacement", replacement)
        return self._then(_core.sample(self._node, numbers, named, again, count, users_line()), bound)

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
        """Leave out elements at random so that those that stay have classes in the shares that are wanted.

        With p the shares of the classes in what comes and t those that are wanted, an element of class i stays with the probability
        (t[i] / p[i]) / max(t / p): 1 / max(t / p) of all stay, and none comes twice. What is drawn for a sample depends on the sample, the
        epoch and the seeds.

        Args:
            class_function: From element to its class, an integer scalar from 0 on; traced like `map`.
            target_dist: The share of each class that is wanted, at least 0; any sum.
            initial_dist: The share of each class in this dataset; any sum. When not given it is estimated on the way: from how often each
                class came since the epoch began, this element included, and 10 of each before the first. A saved iteration holds the counts.
            seed: Names the draws, beside `options(seed=)`; 0 to 2**31 - 1.
            python: Run the class function as Python without trying to trace it.

        Returns:
            A dataset of pairs, (class, element).

        Raises:
            ValueError: the shares are not as many, or not above 0 where they must be.
        """
        from ._resampling import resampled  # noqa: PLC0415 -- it uses operators, which know the traces of verbs

        return resampled(self, class_function, target_dist, initial_dist, seed, python)

    @names_checked
    def sort_by(self, key: ArrayLike | str, *, descending: bool = False) -> Dataset:
        """Order the elements by a key; those of equal keys stay in their order.

        Args:
            key: One number or text for each element of the order above, or the name of a field, which is read at once.
            descending: The largest first.

        Raises:
            ValueError: there are not as many keys as elements, or a shuffle stands above, whose order changes every epoch.
        """
        from .joins import beside  # noqa: PLC0415 -- joins know datasets

        numbers, bound = beside(self, "sort_by", "keys", key)
        node = _core.sort_by(self._node, numbers, flag("sort_by", "descending", descending), users_line())
        return self._then(node, bound)

    def apply(self, function: Callable[[Dataset], Dataset]) -> Dataset:
        """Return what a function makes of this dataset: several verbs under one name."""
        made = function(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"apply: wants a function that returns a Dataset, got {made!r}")
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
        cache: Literal["auto"] | None = None,
        trace: str | os.PathLike[str] | None = None,
        tuning: Literal["auto", "locked"] | None = None,
        settings: Mapping[str, int] | None = None,
    ) -> Dataset:
        """Set how a run goes; what is left out stays as it was.

        Three numbers decide how fast a run goes, and nothing of what it gives: `workers`, `io` and `ready`. A run turns them itself
        while it goes on, until the consumer does not wait, and gives back what is not needed; its report says what it did and why
        (docs/tuning.md). A number that is given here is not turned.

        Args:
            seed: Of the operators' randomness (0).
            workers: Threads that compute (tuned, from as many as this process may use cores on). 0: no thread reads or computes, what an
                element takes is done in the thread that asks for it; neither `io` nor `ready` matters then (docs/tuning.md).
            io: Reads in flight (tuned).
            ready: Elements, so mostly batches, under way or ready (tuned; `prefetch` says how many there are at least).
            memory_budget: Bytes the run may hold, or a text as "512MB" (a quarter of what the process may use).
            deterministic: False gives batches in the order in which they get ready (True).
            rewrites: {"fuse_maps": False} switches one off, False all of them. Results are the same.
            checkpoints: Remember where rows of JPEG files begin, which spares decode_image(match="fast") work from
                the second epoch on; kept in the user's cache folder (True). Results are the same.
            map_files: Let a batch's large `bytes` that go through no operator lie in the files themselves, mapped, where
                they are in memory and on a local file system; no copy is made (True). Results are the same.
            cache: "auto" keeps elements where that pays, in a part of the memory budget or in the user's cache folder: after what is
                expensive, before the first operator that draws (off). Results are the same; `explain()` says what was chosen. A loader looks
                at some samples for that when it is made, which takes about half a second.
            trace: File for a Chrome/Perfetto trace of the first iteration.
            tuning: "locked" keeps all three numbers as they are from the beginning ("auto").
            settings: Where the three numbers begin, as the report of an earlier run has them in its "settings":
                {"workers": 2, "io": 16, "ready": 4}. With tuning="locked" they stay so.

        Raises:
            TypeError: of a value that is of another type.
            ValueError: of a number below 1 (of `workers` below 0), or a name that is none; a `cache` of another text.
        """
        given = {
            "seed": seed, "workers": workers, "io": io, "ready": ready, "memory_budget": memory_budget, "deterministic": deterministic,
            "rewrites": rewrites, "checkpoints": checkpoints, "map_files": map_files, "cache": cache, "trace": trace,
            "tuning": tuning, "settings": settings,
        }  # fmt: skip
        return Dataset(self._node, merged_options(self._options, given), self._bound)

    @names_checked
    def prefetch(self, count: int) -> Dataset:
        """Have at least `count` elements under way or ready; the memory budget wins over it."""
        least = whole_number("prefetch", "count", count)
        merged = {**self._options, "prefetch": max(least, 1, self._options.get("prefetch", 0))}
        return Dataset(self._node, merged, self._bound)

    # ---- looking at it

    @property
    def schema(self) -> Any:
        """A FieldSpec for each field, nested as the elements are."""
        _, specs, structure = self._node.schema
        return packer(structure)([FieldSpec(dtype, tuple(shape)) for dtype, shape in specs])

    @property
    def metadata(self) -> dict[str, Any]:
        """What the format says of the data as a whole, of the first read: {"classes": ["cat", "dog"]}."""
        found: dict[str, Any] = self._node.metadata()[0]
        return found

    def __len__(self) -> int:
        size = self._node.size
        if size is None:
            raise TypeError(f"this dataset has no exact length: {self._why_no_length()}")
        return size

    def _why_no_length(self) -> str:
        if self._node.endless:
            return "it never ends"
        node = self._node
        while below := [one for one in node.inputs if one.size is None and not one.endless]:
            node = below[0]
        verb = node.describe()["verb"]
        if verb == "from_generator":
            return "how many a generator gives is not known before it has given them"
        return f"how many {verb} leaves is not known before the run"

    def __getitem__(self, position: int | slice) -> Any:
        """Compute one element of epoch 0, here and now; of a slice a list of them. `skip` and `take` make datasets instead."""
        return self._item(position, 0)

    def __getitems__(self, positions: Sequence[int]) -> list[Any]:
        """Compute several: PyTorch's DataLoader asks so."""
        return [self._item(position, 0) for position in positions]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over epoch 0 as NumPy arrays; a loader, `numpy()` or `torch()`, knows epochs and states."""
        return iter(self.numpy().at_its_first_epoch())

    @names_checked
    def at_epoch(self, epoch: int) -> EpochView:
        """Show the elements of another epoch as a sequence."""
        return EpochView(self, epoch)

    def _item(self, position: int | slice, epoch: int) -> Any:
        if isinstance(position, slice):
            return [self._item(index, epoch) for index in range(*position.indices(len(self)))]
        size = self._node.size
        try:
            index = operator.index(position)
        except TypeError:
            raise TypeError(
                f"a dataset has positions and slices, got {position!r}; map(lambda s: s.name) chooses a field"
            ) from None
        if size is not None and not -size <= index < size:
            raise IndexError(
                f"wants -{size} <= position < {size}, got {index}" if size else "this dataset has no elements"
            )
        if size is None and index < 0:
            raise IndexError(f"a dataset without an exact length has no position {index}")
        return self._pack(
            self._random_access().at(index + size if index < 0 and size is not None else index, epoch)
        )

    def _random_access(self) -> _core.Elements:
        if self._elements is None or self._elements[0] != os.getpid():  # a forked child makes its own
            made = _core.Elements(
                self._node, self._options.get("seed", 0), self._options.get("memory_budget", 0)
            )
            self._elements = os.getpid(), made
        return self._elements[1]

    @names_checked
    def explain(self, *, measure: bool = False) -> str:
        """Show the plan as written and as it runs, what each rewrite changed, and what is worth a warning.

        Each verb comes with the elements it gives: their fields, number and bytes. An estimate says what a run would hold in memory,
        beside its budget. Operators stand with the parameters that are not their defaults.

        Args:
            measure: Make a few elements (16, or 2 where they are batches) of epoch 0 where sizes do not follow from shapes, and say
                their mean. It runs what the pipeline runs, Python functions too, but fills no cache.
        """
        plan = _core.Loader(self._node, {**self._run_options(), "trace": "", "only_explained": True})
        return plan.explain(flag("explain", "measure", measure))

    def _run_options(self) -> dict[str, Any]:
        """The options as a loader takes them: with what files are to know functions by, if elements may be kept in files."""
        if self._options.get("cache") != "auto":
            return self._options
        try:
            return {**self._options, "cache_version": code_version(self.slots)}
        except ValueError:  # nobody can tell: then they are kept in memory alone
            return self._options

    def __repr__(self) -> str:
        size = (
            "endless" if self._node.endless else self._node.size if self._node.size is not None else "unknown"
        )
        names, specs, structure = self._node.schema
        kind = ", tuples of " if structure.startswith("[") else ": "
        fields = ", ".join(
            f"{name}: {dtype} ({', '.join('?' if d is None else str(d) for d in shape)})"
            for name, (dtype, shape) in zip(names, specs, strict=True)
        )
        return f"<Dataset of length {size}{kind}{fields}\n{self._node.tree().rstrip()}>"

    # ---- running

    @names_checked
    def numpy(self) -> NumpyLoader:
        """Return what iterates over the elements as NumPy arrays, epoch after epoch."""
        from .loaders.numpy import NumpyLoader  # noqa: PLC0415 -- loaders know datasets

        return NumpyLoader(self)

    @names_checked
    def torch(self, device: Any = None, *, pin_memory: bool | None = None) -> TorchLoader:
        """Return what iterates over the elements as PyTorch tensors, epoch after epoch.

        Args:
            device: Where the tensors go; the CPU when not given. To a CUDA device they are copied one element ahead.
            pin_memory: Copy through page-locked memory; when not given, if the device is CUDA.

        Raises:
            ModuleNotFoundError: PyTorch is not installed.
            RuntimeError: CUDA is wanted, and PyTorch finds none.
        """
        try:
            from .loaders.torch import TorchLoader  # noqa: PLC0415 -- imports torch
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise ModuleNotFoundError(
                "torch: PyTorch is not installed; `pip install torch`, or iterate over numpy()", name="torch"
            ) from None

        return TorchLoader(self, device=device, pin_memory=pin_memory)

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
        """Write the samples of epoch 0, in their order, to a data set that appears whole or not at all.

        A call that was stopped or killed goes on from its last finished shard when it is made again. What was written, and how, stands in
        headrace.json in the folder, or in out.tfrecord.headrace.json beside a single file.

        Args:
            path: A file, or the folder of the shards; its ending names the format.
            format: The name of the format, when the ending is not its.
            shard_size: Bytes of samples after which a new file is begun, as 150_000_000 or "150MB".
            shards: So many files of equal numbers of samples. One file when neither is given.
            overwrite: Replace a data set that Headrace wrote. Anything else at the path is refused.
            drop_broken: Leave out samples that fail, and list them in quarantine.json beside the data.
            check_images: Decode each image, so that those which do not decode fail; bytes are written as they are.
            verify: Read everything back and compare each sample's hash before the data set appears.
            options: Of the format; `formats()` lists them.
            progress: Called some twenty times a second with {"phase", "samples", "bytes", "total"}; False stops. When not given, a
                line shows the same where stderr is a terminal or this is a notebook, and tqdm is installed; `progress=False`: none.

        Returns:
            {"format", "samples", "bytes" (of files), "shards", "reused_shards" (of an earlier call), "broken"}.

        Raises:
            ValueError: no format goes by this ending, it cannot hold such samples, or something is at the path.
            OSError: the disk is full, or the folder cannot be written to.
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
        """Return the pipeline as JSON, the same from C++ and Python."""
        made, names = self._node.plan(self._options.get("seed", 0)), names_of(self._bound)
        return with_names(made, names) if any("#" in name for name in names) else made

    @property
    def slots(self) -> dict[str, Any]:
        """What a saved plan does not hold, and `load_plan(bind=…)` wants: functions, arrays, generators, by their names in it."""
        return {name: thing for name, (_, thing) in zip(names_of(self._bound), self._bound, strict=True)}

    def save_plan(self, path: str | os.PathLike[str]) -> None:
        """Write the pipeline as JSON. Python functions and arrays are named `slots` in it: see `load_plan`."""
        Path(path).write_text(self.plan(), encoding="utf-8")

    def fingerprint(self) -> str:
        """Return what a state must agree with: 16 digits of the plan, 16 of the data."""
        return self._node.fingerprint(self._options.get("seed", 0))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_plan, (self.plan(), self.slots, self._options)


@names_checked
def interleave(
    datasets: Sequence[Dataset], *, cycle_length: int | None = None, block_length: int = 1
) -> Dataset:
    """Let datasets of the same fields take turns, in the order of tf.data's `interleave`.

    The first `cycle_length` of them give `block_length` elements each, round after round. One that has ended loses its turn, and
    from the next round on the next of the list stands in its place. With random access in all of them the result has it, too, and
    `options(deterministic=False)` gives what is ready first; without it they keep their turns.

    Args:
        datasets: At least one.
        cycle_length: Datasets that take turns at the same time; all of them when not given.
        block_length: Elements of a turn.
    """
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"interleave: wants Datasets, got {dataset!r}")
    if not datasets:
        raise ValueError("interleave: wants at least one dataset")
    cycle = (
        len(datasets)
        if cycle_length is None
        else whole_number("interleave", "cycle_length", cycle_length, least=1)
    )
    block = whole_number("interleave", "block_length", block_length, least=1)
    node = _core.interleave([dataset._node for dataset in datasets], cycle, block, users_line())
    return datasets[0]._then(node, others=datasets[1:])


class EpochView(Sequence[Any]):
    """The elements of one epoch by position."""

    def __init__(self, dataset: Dataset, epoch: int):
        self.dataset = dataset
        self.epoch = whole_number("at_epoch", "epoch", epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, position: Any) -> Any:
        return self.dataset._item(position, self.epoch)


def _verbs() -> list[str]:
    return [name for name in dir(Dataset) if not name.startswith("_")]


def _from_plan(plan: str, bind: Mapping[str, Any], options: Mapping[str, Any]) -> Dataset:
    from .sources import open_plan  # noqa: PLC0415 -- sources know datasets

    return open_plan(plan, bind, options)
