"""A line that says how far long work has come, drawn by tqdm where somebody looks: in a terminal or a notebook."""

from __future__ import annotations

import operator
import sys
import time
import warnings
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from ._arguments import flag, names_checked, whole_number
from .loaders.loader import Iteration, Loader

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

Element = TypeVar("Element")

_REDRAW_S = 0.1  # what a reader can follow
_LOOK_BACK_S = 10.0  # what "now" means for speeds: long enough to be calm
_PATIENCE_S = 0.5  # of who called something that may be over by then


def is_watched(file: IO[str] | None = None) -> bool:
    """Whether somebody sees a line that is written over: `file`, stderr when not given, is a terminal, or this is a notebook."""
    if file is None and _in_a_notebook():
        return True
    stream = sys.stderr if file is None else file
    return stream is not None and stream.isatty()


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


class Line:
    """One line about one piece of work, for one thread; it shows nothing where tqdm is missing."""

    def __init__(
        self,
        *,
        doing: str = "",
        total: int | None = None,
        initial: int = 0,
        file: IO[str] | None = None,
        patience: float = 0.0,
        stays: bool = True,
        in_bytes: bool = False,
    ):
        self._bar = None
        self.done = initial
        self.due = 0.0  # when it is drawn again, by time.monotonic()
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore] # noqa: PLC0415 -- where it is shown only
        except ModuleNotFoundError as error:
            if error.name not in {"tqdm", "tqdm.auto"}:
                raise
            return
        known = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
        unknown = ("{desc}: " if doing else "") + "{n_fmt} [{elapsed}{postfix}]"
        self._bar = tqdm(
            desc=doing or None,
            total=total,
            initial=initial,
            file=file,
            delay=patience,
            leave=stays,
            mininterval=0,
            miniters=1,
            dynamic_ncols=True,
            unit_scale=in_bytes,
            bar_format=known if total is not None else unknown,
        )

    @property
    def is_shown(self) -> bool:
        """Whether tqdm is there to draw it."""
        return self._bar is not None

    def draw(self, done: int, more: str = "") -> None:
        """Say that so much is done, and `more`; now. Others look at `due` first."""
        if self._bar is None:
            return
        self._bar.set_postfix_str(more, refresh=False)
        self._bar.update(done - self.done)
        self.done = done
        self.due = time.monotonic() + _REDRAW_S

    def close(self) -> None:
        """Let the line end, or go if it does not stay."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class CountsLine:
    """A line about work that says itself how far it is, in phases; made when it says so first. It goes when the work ends."""

    def __init__(self, unit: str = ""):
        self._unit = unit
        self._line: Line | None = None
        self._phase = ""
        self._total: int | None = None

    def show(self, phase: str, done: int, total: int | None, more: str = "") -> None:
        """Say that so much of a phase is done: of samples, or of bytes where there is no unit."""
        if self._line is None or phase != self._phase:
            self._end_phase()
            self._phase, self._total, self._from, self._began = phase, total, done, time.monotonic()
            self._line = Line(
                doing=phase,
                total=total,
                initial=done,
                patience=_PATIENCE_S,
                stays=False,
                in_bytes=not self._unit,
            )
        if (now := time.monotonic()) < self._line.due:
            return
        rate = (done - self._from) / max(now - self._began, 1e-9)
        speed = f"{_number(rate)} {self._unit}/s" if self._unit else f"{size_text(rate)}/s"
        self._line.draw(done, ", ".join(part for part in (speed, more) if part))

    def _end_phase(self) -> None:
        if self._line is not None and self._total is not None:
            self._line.draw(self._total)  # a notebook marks lines that end before
        self._close()

    def _close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._end_phase()
        self._close()


def line_where_watched(unit: str = "") -> CountsLine | nullcontext[None]:
    """Return a line about long work for a `with` block, whose name is None where nobody would see it."""
    return CountsLine(unit) if is_watched() else nullcontext()


class _OfLoader:
    """What a loader's report says of its speed."""

    unit = "samples"

    def __init__(self, loader: Loader[Any]):
        self._loader = loader
        self._limit = ""

    def counts(self, _done: int) -> tuple[float, float, float]:
        """Return how many samples came so far, and the seconds that passed and were waited for them."""
        report = self._loader._core.report()
        self._limit = _limit(report)
        return report["samples"], report["wall_s"], report["consumer_wait_s"]

    @property
    def limit(self) -> str:
        """What keeps it from being faster, in a few words."""
        return self._limit


class _OfIterator:
    """What can be measured of any iterator: how long it took to give its elements."""

    unit = "it"
    limit = ""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.waited = 0.0

    def counts(self, done: int) -> tuple[float, float, float]:
        return done, time.monotonic() - self._began, self.waited


class _Speeds:
    """Speed and wait of the last seconds, or of the whole."""

    def __init__(self, of: _OfLoader | _OfIterator):
        self._of = of
        self._first = of.counts(0)
        self._seen = deque([self._first])

    def text(self, done: int, *, of_all: bool = False) -> str:
        now = self._of.counts(done)
        self._seen.append(now)
        while len(self._seen) > 2 and now[1] - self._seen[1][1] > _LOOK_BACK_S:
            self._seen.popleft()
        count, wall, waited = (
            b - a for a, b in zip(self._first if of_all else self._seen[0], now, strict=True)
        )
        if wall <= 0:
            return ""
        said = [f"{_number(count / wall)} {self._of.unit}/s", f"waited {100 * min(1.0, waited / wall):.0f} %"]
        return ", ".join(said + [self._of.limit] * bool(self._of.limit))


class Progress(Generic[Element]):
    """Hands on the elements of what it was given, and keeps a line about them; made by `headrace.progress`."""

    def __init__(
        self,
        iterable: Iterable[Element],
        *,
        desc: str | None,
        total: int | None,
        file: IO[str] | None,
        disable: bool,
        leave: bool,
    ):
        self._iterable = iterable
        self._desc = desc
        self._total = total
        self._file = file
        self._is_quiet = disable
        self._leave = leave
        self._more = ""
        self._running: weakref.ref[Generator[Element, None, None]] | None = None

    def set_postfix(self, **values: Any) -> None:
        """Show values in front of the speed: `line.set_postfix(loss=loss.item())`."""
        self._more = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in values.items()
        )

    def close(self) -> None:
        """End the iteration under way, with its line and, if `iter` made it here, its threads."""
        if self._running is not None and (running := self._running()) is not None:
            running.close()

    def __iter__(self) -> Iterator[Element]:
        running = self._elements()
        self._running = weakref.ref(running)  # a loop that is left drops it, and that ends it
        return running

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _elements(self) -> Generator[Element, None, None]:
        iterator = iter(self._iterable)
        loader = iterator._loader if isinstance(iterator, Iteration) else None
        line = None if self._is_quiet or not is_watched(self._file) else self._line(loader)
        if line is None:
            for element in iterator:  # noqa: UP028 -- that would close an iteration of the user's own
                yield element
            return
        try:
            yield from self._watched(iterator, loader, line)
        finally:
            line.close()

    def _line(self, loader: Loader[Any] | None) -> Line | None:
        total, initial, doing = self._total, 0, self._desc
        if loader is not None:
            initial = loader._core.position
            doing = f"epoch {loader.epoch}" if doing is None else doing
        if total is None:
            length = operator.length_hint(self._iterable if loader is None else loader, -1)
            total = length if length >= 0 else None
        line = Line(doing=doing or "", total=total, initial=initial, file=self._file, stays=self._leave)
        if not line.is_shown:
            warnings.warn(
                "progress: tqdm is not installed, so no line is shown; `pip install tqdm`, or disable=True",
                RuntimeWarning,
                stacklevel=3,
            )
            return None
        return line

    def _watched(
        self, iterator: Iterator[Element], loader: Loader[Any] | None, line: Line
    ) -> Generator[Element, None, None]:
        clock = time.monotonic
        of: _OfLoader | _OfIterator = _OfLoader(loader) if loader is not None else _OfIterator()
        speeds, done = _Speeds(of), line.done
        line.draw(done)
        try:
            while True:
                asked = clock()
                try:
                    element = next(iterator)
                except StopIteration:
                    return
                if isinstance(of, _OfIterator):
                    of.waited += clock() - asked
                yield element
                done += 1
                if asked >= line.due:
                    line.draw(done, self._said(speeds.text(done)))
        finally:
            line.draw(done, self._said(speeds.text(done, of_all=True)))

    def _said(self, speeds: str) -> str:
        return ", ".join(part for part in (self._more, speeds) if part)


@names_checked
def progress(
    iterable: Iterable[Element],
    *,
    desc: str | None = None,
    total: int | None = None,
    file: IO[str] | None = None,
    disable: bool = False,
    leave: bool = True,
) -> Progress[Element]:
    """Iterate, and show a line with what is done, the time that is left, the speed, and what limits it.

        for batch in hr.progress(train.torch()):
            step(batch)

        epoch 0:  42%|███▎    | 2104/5004 [04:31<06:14, 1 987 samples/s, waited 3 %, cpu: decode_image]

    The line counts elements, so mostly batches; speed and wait are those of the last ten seconds, and of all of it when it ends. It goes
    on where a loaded state stands. It is drawn by tqdm, in a notebook as its widget, and nowhere else: where stderr is no terminal
    nothing is shown. Of an iterable that is no loader it says how many elements came a second, and how long was waited for them.

    `with hr.progress(...) as line:` ends line and threads also when the loop is left by an exception; `line.set_postfix(loss=0.3)` adds
    to it. A loop that is left by `break` ends both by itself.

    Args:
        iterable: A loader, a dataset (its epoch 0), or anything to iterate over.
        desc: What stands first; "epoch 3" for a loader when not given.
        total: Elements, for what does not know its length. Without one there is no bar.
        file: Where the line is written to if that is a terminal (stderr).
        disable: Show nothing; `disable=rank != 0` where several processes share a terminal.
        leave: Let the last line stand.

    Warns:
        RuntimeWarning: tqdm is not installed; elements come without a line. `pip install headrace[progress]` brings it.
    """
    if not isinstance(iterable, Iterable) and not hasattr(iterable, "__getitem__"):
        raise TypeError(f"progress: wants a loader or something else to iterate over, got {iterable!r}")
    return Progress(
        iterable,
        desc=desc,
        total=None if total is None else whole_number("progress", "total", total),
        file=file,
        disable=flag("progress", "disable", disable),
        leave=flag("progress", "leave", leave),
    )


def _number(rate: float) -> str:
    return f"{rate:,.0f}".replace(",", " ") if rate >= 10 else f"{rate:.2g}"


def size_text(size: float) -> str:
    """Say bytes as people do: "110.3 kB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _limit(report: Mapping[str, Any]) -> str:
    named = report.get("limited_by", "unknown")
    if named == "unknown":
        return ""
    costs = [(one["cpu_s"], one["name"]) for one in report["operators"]]
    if named == "cpu" and (reading := report.get("io", {}).get("cpu_s", 0)) > 0:
        costs.append((reading, "reading"))
    if named not in {"cpu", "python"} or not costs:
        return f"limit: {named}"
    return f"limit: {named} ({max(costs)[1]})"
