"""The base class of loaders: epochs, states, reports, and threads that only run during an iteration."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import _core
from .._arguments import flag, whole_number
from .._errors import Stopped, mismatch
from .._line import stacklevel
from .._ranks import asked
from .._structure import packer

if TYPE_CHECKING:
    from types import TracebackType
    from typing import NoReturn, Self

    from ..dataset import Dataset

State = dict[str, Any]
Element = TypeVar("Element")

# By number. For metrics, and because threads that call Python functions must end before the interpreter does.
_alive: weakref.WeakValueDictionary[int, Loader[Any]] = weakref.WeakValueDictionary()
_numbers = itertools.count()
# Fingerprints of pipelines whose epoch 0 a loader began without set_epoch(), with rank and world, which fingerprints ignore.
_begun: set[tuple[str, int, int]] = set()


def alive() -> list[Loader[Any]]:
    """Return this process's loaders in order of creation; any thread may call it."""
    held = [ref() for ref in _alive.valuerefs()]  # in one step: other threads may create loaders
    loaders = [loader for loader in held if loader is not None and loader._process == os.getpid()]
    return sorted(loaders, key=lambda loader: loader.number)


@atexit.register
def _stop_all() -> None:
    _core.begin_exit()
    for loader in alive():
        loader.close()
    _core.wait_for_last_loaders()


def merge_states(states: Iterable[State]) -> State:
    """Merge the states of all ranks into one state for any number of ranks.

    Most pipelines do not need this: the state of one rank fits every rank of every world size. But with a `filter`, `unbatch`,
    `flat_map` or `on_error("skip")` after `shard`, the position differs between ranks, and a state only fits its own rank. Gather the
    states of all ranks, taken after the same number of elements, merge them, and load the result on every rank of the new world: the
    remaining samples are divided among the new ranks, each sample once.

    Args:
        states: The results of `state_dict()` on all ranks of one world, in any order.

    Returns:
        A state for `load_state_dict()` of the same pipeline on any rank and world size. It can be saved as JSON.

    Raises:
        TypeError: it is not a list of dicts.
        ValueError: a rank is missing or occurs twice; the states are from different pipelines, epochs or numbers of elements; or the
            pipeline does not support another world size: only `map`, `filter`, `on_error`, `batch` and one `unbatch` of samples may
            come after `shard`.

    Example:
        states = [None] * world
        torch.distributed.all_gather_object(states, loader.state_dict())
        state = hr.merge_states(states)  # later: other_loader.load_state_dict(state)
    """
    if isinstance(states, Mapping):
        hint = "one state needs no merging" if "fingerprint" in states else "pass its values()"
        raise mismatch(
            TypeError, "merge_states", expected="a list of the states of all ranks", got="a dict", hint=hint
        )
    gathered = [plain_state(state) for state in states]
    for rank, state in enumerate(gathered):
        if not isinstance(state, dict):
            raise mismatch(
                TypeError,
                "merge_states",
                expected="a list of the dicts that state_dict() returned",
                got=f"{state!r} at {rank}",
            )
    merged: State = _core.merge_states(gathered)
    return merged


_ALWAYS = ("version", "fingerprint", "epoch", "consumed", "finished")


def fixed_state(state: State) -> State:
    """Return a state with the same keys at every position, and no dicts in it.

    `torch.distributed.checkpoint` reads back only the keys that a fresh loader's state has, those of dicts in it included.
    """
    rest = {name: value for name, value in state.items() if name not in _ALWAYS}
    return {**{name: state.get(name) for name in _ALWAYS}, "rest": json.dumps(rest) if rest else None}


def plain_state(state: Any) -> Any:
    """Return the state that `fixed_state` was made of; any other as it is."""
    if not isinstance(state, dict) or "rest" not in state:
        return state
    known = {name: value for name, value in state.items() if value is not None and name != "rest"}
    return known | json.loads(state["rest"] or "{}")


class Report(Mapping[str, Any]):
    """Statistics of a run: samples per second, CPU time of each operator, waiting time of the consumer, memory.

    A mapping from names to numbers, strings and lists. `str()` gives a human-readable text, a notebook shows a summary, and `html()`
    writes a page with charts.
    """

    def __init__(
        self,
        values: dict[str, Any],
        text: str,
        title: str = "Headrace",
        timeline: _core.Timeline | None = None,
    ):
        self.numbers = values
        self.text = text
        self.title = title
        self._timeline = timeline

    def __reduce__(self) -> tuple[type[Report], tuple[dict[str, Any], str, str]]:
        return Report, (self.numbers, self.text, self.title)

    def dict(self) -> dict[str, Any]:
        """Return the numbers as a dict: times in seconds, sizes in bytes, counts."""
        return self.numbers

    def json(self, indent: int | None = None) -> str:
        """Return the numbers as JSON.

        Args:
            indent: Spaces per level; one line when not given.
        """
        return json.dumps(self.numbers, indent=indent)

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as an HTML page: rates over time, a timeline of threads, costs of samples, operators and memory.

        The page is one self-contained file. The timeline shows some hundred milliseconds near the end of the last iteration; an
        unpickled copy of a report has no timeline.

        Args:
            path: The file; an existing file is replaced.

        Raises:
            OSError: the file cannot be written.

        Example:
            loader.report().html("report.html")
        """
        page = _core.report_page(self.numbers, self._timeline, self.title)
        Path(path).write_text(page, encoding="utf-8")

    def _repr_html_(self) -> str:
        return _core.report_card(self.numbers)

    def __getitem__(self, name: str) -> Any:
        return self.numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


class Sampler:
    """A sampler for PyTorch's trainers, which set its epoch."""

    def __init__(self, loader: Loader[Any]):
        self._loader = weakref.ref(loader)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration; see `Loader.set_epoch`."""
        if (loader := self._loader()) is not None:  # not its truth, which is its length
            loader.set_epoch(epoch)


class Loader(Generic[Element]):
    """Iterates over a dataset; each `iter()` starts the next epoch.

    An iteration of which no element was taken does not count: the next begins where it began. There is one at a time; starting
    another ends it, as `close()` and `load_state_dict()` do. An iteration that was ended before its end raises a RuntimeError that
    says by what, never StopIteration. Threads only run during an iteration; they end with it, when it is deleted, at `close()`, and
    with the process. Several threads may share an iterator: each element goes to one of them, and all reach the end. Everything
    else is for one thread at a time.

    Attributes:
        dataset: The dataset; of a `TorchLoader`, its samples.
        pipeline: The dataset that it runs.
        name: The name in metrics, such as "train"; None when not set.
        batch_size: Rows per batch of the last `batch` or `padded_batch`; None without one.
        drop_last: Whether that drops a last batch that is not full.
    """

    def __init__(self, dataset: Dataset):
        self.dataset: Any = dataset
        self.pipeline = dataset
        self.sampler: Any = Sampler(self)
        self._node = dataset._node
        self._core = _core.Loader(self._node, dataset._run_options())
        self.name: str | None = None
        self.number = next(_numbers)  # among the loaders of this process
        self.rank_and_world = _rank_and_world(self._node)
        self._process = os.getpid()
        self._pack = packer(self._node.schema[2])
        self._iteration: weakref.ref[Iteration[Element]] | None = None
        self._last_begun = 0  # the number of the last iteration
        self._left_at: list[State] | None = None  # position of the last iteration, if only that knows it
        self._next_epoch: int | None = None  # set during the last iteration
        self._beginning = threading.RLock()  # held while an iteration starts: the one it ends is then known
        described = _nearest_batch(self._node)
        self.batch_size: int | None = described.get("size")
        self.drop_last = bool(described.get("drop_last", False))
        self._knows_epoch = not self._node.varies_by_epoch  # or set explicitly: no reason to warn
        self._is_at_state = False  # the next iteration may continue within an epoch
        self._knows_order = False  # whether warnings about a slow order were given
        self._knows_ranks = False  # whether it was looked for a shard
        _alive[self.number] = self

    def at_its_first_epoch(self) -> Self:
        """Return itself, without the warning about iterating over epoch 0 again."""
        self._knows_epoch = True
        return self

    def _follow_ranks(self) -> None:
        """Run for the ranks that this process has now: a trainer may have given it others since the loader was made."""
        node = self.pipeline._node
        if node is self._node or self._process != os.getpid():
            return
        self._end("new ranks of its process; iterate over the loader again")
        made = _core.Loader(node, self.pipeline._run_options())
        if self._is_at_state:
            made.load(self._core.save())
        else:
            made.set_epoch(self._core.epoch)
        self._core, self._node, self.rank_and_world = made, node, _rank_and_world(node)

    def _warn_at_the_end(self) -> None:
        report = self._core.report()
        for cache in report["caches"]:
            if "trouble" in cache:
                warnings.warn(f"cache: {cache['trouble']}", RuntimeWarning, stacklevel=stacklevel())
        if report["skipped"] > 0 and report["elements"] == 0:
            warnings.warn(
                f'on_error("skip") skipped {report["skipped"]} samples, and there was no element; use on_error("raise") to '
                "see the first error",
                RuntimeWarning,
                stacklevel=stacklevel(),
            )

    def _warn_of_the_same_epoch(self) -> None:
        begins = (self._core.fingerprint, *self.rank_and_world)
        if not self._knows_epoch and begins in _begun:
            warnings.warn(
                "a second loader of the same pipeline starts with epoch 0, in the same order as the first: keep one loader and "
                "iterate over it again, or call set_epoch()",
                stacklevel=stacklevel(),
            )
        elif not self._knows_epoch:
            _begun.add(begins)
        self._knows_epoch = True

    def _warn_of_the_order(self) -> None:
        if not self._knows_order:
            for text in self._core.warnings:
                warnings.warn(text, RuntimeWarning, stacklevel=stacklevel())
        self._knows_order = True

    def _warn_of_ranks_without_a_shard(self) -> None:
        if self._knows_ranks:
            return
        self._knows_ranks = True
        try:
            found, _ = asked()
        except ValueError:  # launchers disagree, which matters only to who asks for a rank
            return
        if found.world > 1 and not self._node.sharded:
            warnings.warn(
                f"this is rank {found.rank} of {found.world} (by {found.launcher}), and nothing in the plan shards: every rank gets all "
                "samples. Write ds.shard() before batch(), or ds.shard(0, 1) if each is to get them all",
                RuntimeWarning,
                stacklevel=stacklevel(),
            )

    def _converter(self) -> Callable[[list[Any]], Element]:
        """Return a function that converts a list of leaves from the engine to an element."""
        return self._pack

    def __iter__(self) -> Iteration[Element]:
        self._core.check_outside()  # before the lock: its owner may wait for the function that calls this
        with self._beginning:
            if (last := self._current()) is not None:
                last._end("another iter() of its loader; use a second loader for concurrent iterations")
            if self._next_epoch is not None:
                self._core.set_epoch(self._next_epoch)
                self._next_epoch = None
            self._follow_ranks()
            self._is_at_state = False
            self._warn_of_the_same_epoch()
            self._warn_of_the_order()
            self._warn_of_ranks_without_a_shard()
            self._last_begun = self._core.begin()
            self._left_at = None
            iteration = self._make_iteration()
            self._iteration = weakref.ref(iteration)
            return iteration

    def _make_iteration(self) -> Iteration[Element]:
        return Iteration(self)

    def _current(self) -> Iteration[Element] | None:
        return self._iteration() if self._iteration is not None else None

    def _running(self) -> Iteration[Element] | None:
        current = self._current()
        return None if current is None or current._is_over() else current

    def __len__(self) -> int:
        """Return the elements of the epoch that is running, or else of the next one."""
        known = self.pipeline._node.size is not None
        return len(self.pipeline if known else self.pipeline.at_epoch(self.epoch))

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError(
            "a loader replaces DataLoader and is not a dataset for it: iterate over it, as in `for batch in loader`; for elements by "
            "position, index its dataset, as in `ds[i]`"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a loader cannot be pickled or copied: like DataLoader, it runs in the process that created it. Iterate over it here; "
            "to use it in another process, pickle its dataset and call .torch() or .numpy() there"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{self._target()} at epoch {self.epoch} of\n{self.pipeline!r}>"

    def _target(self) -> str:
        return ""

    @property
    def epoch(self) -> int:
        """The epoch of the running iteration; between iterations, that of the next one."""
        following = self._core.epoch  # an error in a forked child
        if (running := self._running()) is not None:
            return running._epoch
        return following if self._next_epoch is None else self._next_epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next iteration.

        A running iteration goes on. If it is given its own epoch and reaches its end, the next epoch follows as without the call; if
        it is left before its end, its epoch begins again. After `load_state_dict()`, the epoch of the state keeps the position in
        it, and another epoch replaces the state.

        Args:
            epoch: The epoch, from 0.
        """
        number = whole_number("set_epoch", "epoch", epoch)
        self._knows_epoch = True
        if (running := self._running()) is not None:
            epoch = self.epoch
            follows = number == epoch + 1 or (number == epoch and running._has_ended())
            self._next_epoch = None if follows else number
            return
        # The state of an iteration is not that of the next one.
        self._iteration = self._left_at = self._next_epoch = None
        self._core.set_epoch(number)

    def state_dict(self) -> State:
        """Return the position of the iteration as a dict that can be saved as JSON.

        Elements handed out count, elements read ahead do not. Of a running iteration it is the position, whatever `set_epoch()` has
        said about the next one; once that iteration is finished, it is the beginning of the next.
        """
        if (current := self._current()) is not None:
            state = current.state_dict()
        else:
            state = self._core.save() if self._left_at is None else dict(self._left_at[0])
        if self._next_epoch not in {None, state.get("epoch")} and state.get("finished"):
            return self._core.beginning_of(self._next_epoch)
        return state

    def load_state_dict(self, state: State) -> None:
        """Let the next iteration continue from a state, with any number of workers.

        It ends a running iteration, whose next element is then a RuntimeError, and replaces what `set_epoch()` has said. A state that
        does not fit changes nothing.

        Args:
            state: The result of `state_dict()`.

        Raises:
            TypeError: it is not a dict.
            ValueError: the state is of another pipeline or the data has changed; the message says what differs.
        """
        state = plain_state(state)
        if not isinstance(state, dict):
            raise mismatch(
                TypeError, "load_state_dict", expected="the dict that state_dict() returned", got=f"{state!r}"
            )
        self._follow_ranks()  # first: the state may be of the rank that this process has now
        self._core.check_state(state)
        self._end(
            "load_state_dict() of its loader; iterate over the loader again to continue from that state"
        )
        self._core.load(state)
        self._is_at_state = True
        # The state of an iteration is not that of the next one.
        self._iteration = self._left_at = self._next_epoch = None
        self._knows_epoch = True

    def report(self) -> Report:
        """Return the statistics so far, over all iterations."""
        return Report(
            self._core.report(), self._core.report_text(), _title(self.pipeline._node), self._core.timeline()
        )

    def replayed(self, elements: int = 8) -> Iterator[Element]:
        """Repeat the first few elements for the length of an epoch, to measure training with an infinitely fast loader.

        The elements are computed first; after that nothing is read or computed, so the speed of training is its maximum.
        `report()["consumer_samples_per_s"]` is an estimate of that without such a run. State and epoch do not change.

        Args:
            elements: Number of different elements, at least 1. All are held in memory and returned again as the same objects, so
                in-place changes persist.

        Example:
            for batch in loader.replayed():
                train_step(batch)
        """
        count = whole_number("replayed", "elements", elements, least=1)
        state = self.state_dict()
        first = list(itertools.islice(self, count))
        self.load_state_dict(state)
        size = self.pipeline._node.size
        return itertools.islice(itertools.cycle(first), size)

    def explain(self, *, measure: bool = False) -> str:
        """Show the plan as written and as it runs; see `Dataset.explain`."""
        return self._core.explain(flag("explain", "measure", measure))

    def close(self) -> None:
        """End the running iteration and all threads: its next element is a RuntimeError. The loader can be iterated over again."""
        self._end("close() of its loader; iterate over the loader again")

    def _end(self, by: str) -> None:
        if (current := self._current()) is not None:
            current._end(by)
        self._core.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Iteration(Iterator[Element]):
    """A running epoch. Deleting it ends its threads."""

    def __init__(self, loader: Loader[Element]):
        self._state: State | None = None  # once it is closed
        self._loader: Loader[Element] | None = loader
        self._next: Callable[[int], list[Any] | None] = loader._core.next
        self._number = loader._last_begun
        self._epoch = loader._core.epoch
        self._convert = loader._converter()
        self._ended_by: str | None = None  # what ended it before its end
        # The thread in __next__. States saved by a signal handler there do not count the element that is on its way.
        self._inside: int | None = None
        self._taken_back_from: int | None = None  # the thread that will not receive such an element

    def __iter__(self) -> Iteration[Element]:
        return self

    def __next__(self) -> Element:
        if (loader := self._loader) is None:
            self._raise_if_ended()
            raise StopIteration
        here, before = threading.get_ident(), self._inside
        if here == before:
            loader._core.check_outside()
            raise RuntimeError(
                "this thread is in next() of this iteration: a signal handler may save its state or close it, but not continue it"
            )
        self._inside = here
        try:
            leaves = self._next(self._number)
            if leaves is not None:
                element = self._convert(leaves)
        except Stopped:
            self._raise_if_ended()  # while this thread waited, or by a function of the pipeline
            self._end(None)
            raise
        except BaseException as error:
            if loader._core.is_within:  # refused to a function of the pipeline; the iteration continues
                self._inside = before
            else:
                described = f"{type(error).__name__}: {error}".removesuffix(": ")
                self._end(f"what its next() raised, {described}; iterate over the loader again")
            raise
        if leaves is not None:
            # No calls from here on, so no signal handler runs: the element has arrived.
            self._inside = None
            if self._taken_back_from != here:
                return element
        self._raise_if_ended()
        if self._loader is not None:  # else another thread reached the end before
            loader._warn_at_the_end()
            if loader._next_epoch == self._epoch:
                loader._next_epoch = None
        self._end(None)
        raise StopIteration

    def _is_inside(self) -> bool:
        return self._inside == threading.get_ident()

    def _has_ended(self) -> bool:
        return self._state is not None

    def _is_over(self) -> bool:
        return self._has_ended()

    def _raise_if_ended(self) -> None:
        # No stop() here: the iteration that ended this one may have begun.
        _core.give_way_to_exit()  # which may have closed it
        if self._ended_by is not None:
            if self._state is not None and self._loader is not None and not self._loader._core.is_within:
                self._loader = None  # a function of the pipeline closed it, and has returned
            raise RuntimeError(f"this iteration was ended by {self._ended_by}") from None

    def state_dict(self) -> State:
        """Return the position of this iteration; see `Loader.state_dict`."""
        if self._state is not None or self._loader is None:
            return dict(self._state or {})
        return self._saved(self._loader)

    def _saved(self, loader: Loader[Element]) -> State:
        state: State = loader._core.save(self._is_inside())
        return state

    def close(self) -> None:
        """End this iteration and its threads: its next element is a RuntimeError. Its state is kept."""
        self._end("close(); iterate over the loader again")

    def _end(self, by: str | None) -> None:
        loader = self._loader
        if loader is None or loader._process != os.getpid():  # a forked child has neither threads nor state
            return
        if self._state is None and self._ended_by is None:
            self._ended_by = by  # before threads that wait are stopped: they say it
        if loader._core.stop(self._number, self._is_inside()):  # the state is final from now on
            self._taken_back_from = self._inside
        state = self._saved(loader)
        if self._loader is None:  # closed by another thread; a new iteration may have started since
            return
        if self._state is None:
            self._state = state
        if not loader._core.is_within:  # a function that closes it may still fail: next() reports that
            self._loader = None

    def __del__(self) -> None:
        loader = getattr(self, "_loader", None)
        if loader is not None and self._state is None:  # not closed yet
            loader._core.stop(self._number)


def _rank_and_world(node: _core.Node) -> tuple[int, int]:
    described = node.describe()
    if described["verb"] == "shard":
        return described["rank"], described["world"]
    return next((_rank_and_world(below) for below in node.inputs if below.sharded), (0, 1))


def _title(node: _core.Node) -> str:
    """Return a one-line name of a pipeline: its verbs, along the first inputs."""
    verb: str = node.describe()["verb"]
    return f"{_title(node.inputs[0])} → {verb}" if node.inputs else verb


def _nearest_batch(node: _core.Node) -> dict[str, Any]:
    while True:
        described = node.describe()
        if described["verb"] in {"batch", "padded_batch"} or not node.inputs:
            return described
        node = node.inputs[0]
