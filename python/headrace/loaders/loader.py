"""What all loaders share: epochs, states, reports, and threads that end when nobody iterates."""

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
from .._errors import HeadraceError
from .._structure import packer

if TYPE_CHECKING:
    from types import TracebackType
    from typing import NoReturn, Self

    from ..dataset import Dataset

State = dict[str, Any]
Element = TypeVar("Element")

# By their numbers: threads that call Python functions must be gone before the interpreter is, and metrics are of all loaders.
_alive: weakref.WeakValueDictionary[int, Loader[Any]] = weakref.WeakValueDictionary()
_numbers = itertools.count()
# Fingerprints of the pipelines whose epoch 0 some loader began without being told to, with rank and world, which they leave out.
_begun: set[tuple[str, int, int]] = set()


def alive() -> list[Loader[Any]]:
    """Return this process's loaders in the order in which they were made; any thread may ask."""
    held = [ref() for ref in _alive.valuerefs()]  # in one step: others may make loaders meanwhile
    loaders = [loader for loader in held if loader is not None and loader._process == os.getpid()]
    return sorted(loaders, key=lambda loader: loader.number)


@atexit.register
def _stop_all() -> None:
    for loader in alive():
        loader.close()
    _core.wait_for_last_loaders()


def merge_states(states: Iterable[State]) -> State:
    """Make one state for any number of ranks from the states of all ranks.

    Most pipelines need none of this: one rank's state fits every rank of every world. But with a `filter`, `unbatch`, `flat_map` or
    `on_error("skip")` after `shard`, each rank stands somewhere else, and a state loads on its own rank only. Gather the states of all
    ranks, taken after the same number of elements, merge them, and load the result on every rank of the new world: what no rank was
    given yet is dealt among the new ones, each sample once.

    Args:
        states: What `state_dict()` gave on each rank of one world; in any order.

    Returns:
        A state for `load_state_dict()` of the same pipeline on any rank and world. It can be saved as JSON.

    Raises:
        TypeError: it is no list of dicts.
        ValueError: a rank is missing or there twice; the states are of several pipelines, epochs or numbers of elements; or the
            pipeline cannot be taken to another world: only `map`, `filter`, `on_error`, `batch` and one `unbatch` of samples may stand
            after `shard`. The message says which.

    Example:
        states = [None] * world
        torch.distributed.all_gather_object(states, loader.state_dict())
        state = hr.merge_states(states)  # later: other_loader.load_state_dict(state)
    """
    if isinstance(states, Mapping):
        hint = "one state needs no merging" if "fingerprint" in states else "give its values()"
        raise TypeError(f"merge_states: wants a list of the states of all ranks, got a dict; {hint}")
    gathered = list(states)
    for rank, state in enumerate(gathered):
        if not isinstance(state, dict):
            raise TypeError(
                f"merge_states: wants a list of the dicts that state_dict() gave, got {state!r} at {rank}"
            )
    merged: State = _core.merge_states(gathered)
    return merged


class Report(Mapping[str, Any]):
    """What a run did: images a second, CPU of each operator, how long the consumer waited, memory.

    A mapping of names to numbers, texts and lists. A notebook shows some of it; `html()` writes all of it as a page with pictures.
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
        """Return the numbers; seconds, bytes and counts."""
        return self.numbers

    def json(self, indent: int | None = None) -> str:
        """Return the numbers as JSON."""
        return json.dumps(self.numbers, indent=indent)

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as a page: rates over time, who did what when, costs of samples, operators and memory.

        The page is one file that needs no network. "Who did what" shows some hundred milliseconds near the end of the last
        iteration; a copy of the report that went through pickle lacks that part.

        Args:
            path: Of the file, which is replaced when it is there.

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
    """Stands where PyTorch's trainers look for a sampler, to tell it the epoch."""

    def __init__(self, loader: Loader[Any]):
        self._loader = weakref.ref(loader)

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch of the next iteration."""
        if loader := self._loader():
            loader.set_epoch(epoch)


class Loader(Generic[Element]):
    """Iterates over a dataset: each `iter()` is its next epoch.

    One iteration at a time; beginning another ends it. Threads run only while an iteration is under way; they end with it, when it is
    dropped, at `close()`, and with the process. Threads may share an iterator: each element goes to one of them, and all come to its
    end. All else is for one thread at a time.

    Attributes:
        name: What metrics call it, "train" for instance; none when not given.
    """

    def __init__(self, dataset: Dataset):
        self.dataset = dataset
        self.sampler = Sampler(self)
        self._core = _core.Loader(dataset._node, dataset._run_options())
        self.name: str | None = None
        self.number = next(_numbers)  # among the loaders of this process
        self.rank_and_world = _rank_and_world(dataset._node)
        self._process = os.getpid()
        self._pack = packer(dataset._node.schema[2])
        self._iteration: weakref.ref[Iteration[Element]] | None = None
        self._last_begun = 0  # the number of the last iteration
        self._left_at: list[State] | None = None  # where the last one stands, if it knows that alone
        self._beginning = threading.RLock()  # of an iteration: one that another ends is known by then
        described = _nearest_batch(dataset._node)
        self.batch_size: int | None = described.get("size")
        self.drop_last = bool(described.get("drop_last", False))
        self._knows_epoch = not dataset._node.varies_by_epoch  # or was told: no reason to warn
        self._knows_order = False  # whether it was said that it is slow
        _alive[self.number] = self

    def at_its_first_epoch(self) -> Self:
        """Return itself, to iterate over epoch 0 on purpose."""
        self._knows_epoch = True
        return self

    def _warn_at_the_end(self) -> None:
        report = self._core.report()
        for cache in report["caches"]:
            if "trouble" in cache:
                warnings.warn(f"cache: {cache['trouble']}", RuntimeWarning, stacklevel=3)
        if report["skipped"] > 0 and report["elements"] == 0:
            warnings.warn(
                f'on_error("skip") left out {report["skipped"]} samples, and no element came; under on_error("raise") the '
                "first of them says why",
                RuntimeWarning,
                stacklevel=3,
            )

    def _warn_of_the_same_epoch(self) -> None:
        begins = (self._core.fingerprint, *self.rank_and_world)
        if not self._knows_epoch and begins in _begun:
            warnings.warn(
                "a second loader of the same pipeline begins with epoch 0, in the order of the first: keep one loader and "
                "iterate over it again, or call set_epoch()",
                stacklevel=3,
            )
        elif not self._knows_epoch:
            _begun.add(begins)
        self._knows_epoch = True

    def _warn_of_the_order(self) -> None:
        if not self._knows_order:
            for text in self._core.warnings:
                warnings.warn(text, RuntimeWarning, stacklevel=3)
        self._knows_order = True

    def _converter(self) -> Callable[[list[Any]], Element]:
        """Return what makes an element of a list of leaves as the engine hands them over."""
        return self._pack

    def __iter__(self) -> Iteration[Element]:
        self._core.check_outside()  # whoever holds the lock may wait for the function that asks
        with self._beginning:
            if (last := self._current()) is not None:
                last._ended_by_another = last._state is None
                last.close()
            self._warn_of_the_same_epoch()
            self._warn_of_the_order()
            self._last_begun = self._core.begin()
            self._left_at = None
            iteration = self._make_iteration()
            self._iteration = weakref.ref(iteration)
            return iteration

    def _make_iteration(self) -> Iteration[Element]:
        return Iteration(self)

    def _current(self) -> Iteration[Element] | None:
        return self._iteration() if self._iteration is not None else None

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError(
            "a loader is what DataLoader is, and not a dataset for it: iterate over it, as in `for batch in loader`; elements by "
            "position are its dataset's, as in `ds[i]`"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a loader cannot be pickled or copied: it is what DataLoader is, and runs in the process that made it. Iterate over it here; "
            "what to send elsewhere is its dataset, which can be pickled, and there .torch() or .numpy() makes a loader of it"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{self._target()} at epoch {self.epoch} of\n{self.dataset!r}>"

    def _target(self) -> str:
        return ""

    @property
    def epoch(self) -> int:
        """The epoch of the iteration under way, or of the next one."""
        return self._core.epoch

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch of the next iteration; ends the one under way."""
        number = whole_number("set_epoch", "epoch", epoch)
        self.close()
        self._iteration = self._left_at = None  # its state is not that of what comes next
        self._knows_epoch = True
        self._core.set_epoch(number)

    def state_dict(self) -> State:
        """Return where the iteration stands, as JSON can hold it: elements handed out count, those read ahead do not."""
        if (current := self._current()) is not None:
            return current.state_dict()
        return self._core.save() if self._left_at is None else dict(self._left_at[0])

    def load_state_dict(self, state: State) -> None:
        """Let the next iteration continue where the state says; with any number of workers.

        Raises:
            TypeError: it is no dict.
            ValueError: the state is of another pipeline or of changed data; the message says what differs.
        """
        if not isinstance(state, dict):
            raise TypeError(f"load_state_dict: wants the dict that state_dict() gave, got {state!r}")
        self.close()
        self._core.load(state)
        self._iteration = self._left_at = None  # its state is not that of what comes next
        self._knows_epoch = True

    def report(self) -> Report:
        """Return what was counted so far, over all iterations."""
        return Report(
            self._core.report(), self._core.report_text(), _title(self.dataset._node), self._core.timeline()
        )

    def replayed(self, elements: int = 8) -> Iterator[Element]:
        """Give the first few elements over and over, as many as an epoch has: what would an infinitely fast loader bring?

        They are made first, and then nothing is read or computed any more: what a training does with them is what it could
        do at most. `report()["consumer_samples_per_s"]` is an estimate of that without such a run. State and epoch stay as
        they are.

        Args:
            elements: So many different ones, at least 1. All are in memory at once, the consumer's, and come again as the same
                objects: what changes one in place changes it for good.

        Example:
            for batch in loader.replayed():
                train_step(batch)
        """
        count = whole_number("replayed", "elements", elements, least=1)
        state = self.state_dict()
        first = list(itertools.islice(self, count))
        self.load_state_dict(state)
        size = self.dataset._node.size
        return itertools.islice(itertools.cycle(first), size)

    def explain(self, *, measure: bool = False) -> str:
        """Show the plan as written and as it runs; see `Dataset.explain`."""
        return self._core.explain(flag("explain", "measure", measure))

    def close(self) -> None:
        """End the iteration under way and all threads. The loader can iterate again."""
        if (current := self._current()) is not None:
            current.close()
        self._core.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Iteration(Iterator[Element]):
    """One epoch under way. Dropping it ends its threads."""

    def __init__(self, loader: Loader[Element]):
        self._state: State | None = None  # of an iteration that was closed
        self._loader: Loader[Element] | None = loader
        self._next: Callable[[int], list[Any] | None] = loader._core.next
        self._number = loader._last_begun
        self._convert = loader._converter()
        self._ended_by_another = False
        # The thread that is in __next__. What a signal handler raises or saves there is without the element that is on its way.
        self._inside: int | None = None
        self._taken_back_from: int | None = None  # the thread that such an element will not reach

    def __iter__(self) -> Iteration[Element]:
        return self

    def __next__(self) -> Element:
        if (loader := self._loader) is None:
            self._say_that_it_is_over()
        here, before = threading.get_ident(), self._inside
        if here == before:
            loader._core.check_outside()
            raise RuntimeError(
                "this thread is in next() of this iteration: a signal handler may save its state or close it, but not go on with it"
            )
        self._inside = here
        try:
            leaves = self._next(self._number)
            if leaves is not None:
                element = self._convert(leaves)
        except HeadraceError:
            if self._ended_by_another:  # while this thread waited
                self._say_that_it_is_over()
            self.close()
            raise
        except BaseException:
            if loader._core.is_within:  # a function of the pipeline is refused, and the iteration goes on
                self._inside = before
            else:
                self.close()
            raise
        if leaves is not None:
            # From here on there is no call, so no signal handler runs: the element has arrived.
            self._inside = None
            if self._taken_back_from != here:
                return element
        if self._ended_by_another:
            self._say_that_it_is_over()
        if self._loader is not None:  # else another thread was told before
            loader._warn_at_the_end()
        self.close()
        raise StopIteration

    def _is_inside(self) -> bool:
        return self._inside == threading.get_ident()

    def _say_that_it_is_over(self) -> NoReturn:
        if self._ended_by_another:
            raise RuntimeError(
                "this iteration was ended by another iter() of its loader; make a second loader for that"
            ) from None
        raise StopIteration

    def state_dict(self) -> State:
        """Return where this iteration stands; see `Loader.state_dict`."""
        if self._state is not None or self._loader is None:
            return dict(self._state or {})
        return self._saved(self._loader)

    def _saved(self, loader: Loader[Element]) -> State:
        state: State = loader._core.save(self._is_inside())
        return state

    def close(self) -> None:
        """End this iteration and its threads; its state stays."""
        loader = self._loader
        if loader is None or loader._process != os.getpid():  # a forked child has neither threads nor state
            return
        if loader._core.stop(self._number, self._is_inside()):  # from now on the state is its last
            self._taken_back_from = self._inside
        state = self._saved(loader)
        if self._loader is None:  # another thread did the same, and something may have begun since
            return
        if self._state is None:
            self._state = state
        if not loader._core.is_within:  # a function that closes it may still fail: next() hears that
            self._loader = None

    def __del__(self) -> None:
        loader = getattr(self, "_loader", None)
        if loader is not None and self._state is None:  # else it was closed
            loader._core.stop(self._number)


def _rank_and_world(node: _core.Node) -> tuple[int, int]:
    described = node.describe()
    if described["verb"] == "shard":
        return described["rank"], described["world"]
    return next((_rank_and_world(below) for below in node.inputs if below.sharded), (0, 1))


def _title(node: _core.Node) -> str:
    """Name a pipeline in a line: its verbs, along the first input of each."""
    verb: str = node.describe()["verb"]
    return f"{_title(node.inputs[0])} → {verb}" if node.inputs else verb


def _nearest_batch(node: _core.Node) -> dict[str, Any]:
    while True:
        described = node.describe()
        if described["verb"] in {"batch", "padded_batch"} or not node.inputs:
            return described
        node = node.inputs[0]
