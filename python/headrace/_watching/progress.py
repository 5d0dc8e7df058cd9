"""Progress lines for long work, drawn by tqdm in a terminal or a notebook."""

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

from .._arguments import flag, names_checked, whole_number
from .._errors import mismatch
from ..loaders.loader import Iteration, Loader

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

Element = TypeVar("Element")

_REDRAW_S = 0.1  # time between updates
_LOOK_BACK_S = 10.0  # window for the current speed: long enough to be stable
_PATIENCE_S = 0.5  # work that ends sooner shows no line


def is_watched(file: IO[str] | None = None) -> bool:
    """Whether to show a progress line: `file`, stderr when not given, is a terminal, or this is a notebook."""
    if file is None and _in_a_notebook():
        return True
    stream = sys.stderr if file is None else file
    return stream is not None and stream.isatty()


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


class Line:
    """A progress line for one piece of work, for one thread; shows nothing if tqdm is not installed."""

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
        self.due = 0.0  # time of the next update, by time.monotonic()
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore] # noqa: PLC0415 -- only if a line is shown
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
        """Whether tqdm is installed."""
        return self._bar is not None

    def draw(self, done: int, more: str = "") -> None:
        """Show the amount done, and `more`, now. Callers check `due` first."""
        if self._bar is None:
            return
        self._bar.set_postfix_str(more, refresh=False)
        self._bar.update(done - self.done)
        self.done = done
        self.due = time.monotonic() + _REDRAW_S

    def close(self) -> None:
        """End the line, or erase it if it does not stay."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class CountsLine:
    """A progress line for work in phases that reports its own progress; created at the first report, erased at the end."""

    def __init__(self, unit: str = ""):
        self._unit = unit
        self._line: Line | None = None
        self._phase = ""
        self._total: int | None = None

    def show(self, phase: str, done: int, total: int | None, more: str = "") -> None:
        """Show the progress of a phase, in the unit, or in bytes if there is none."""
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
            self._line.draw(self._total)  # a notebook marks lines that end early
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
    """Return a progress line for a `with` block, which gives None if it would not be shown."""
    return CountsLine(unit) if is_watched() else nullcontext()


class _OfLoader:
    """Speed of a loader, from its report."""

    unit = "samples"

    def __init__(self, loader: Loader[Any]):
        self._loader = loader
        self._limit = ""

    def counts(self, _done: int) -> tuple[float, float, float]:
        """Return the number of samples so far, the seconds that passed, and the seconds waited."""
        report = self._loader._core.report()
        self._limit = _limit(report)
        return report["samples"], report["wall_s"], report["consumer_wait_s"]

    @property
    def limit(self) -> str:
        """What limits its speed, as a short text."""
        return self._limit


class _OfIterator:
    """Speed of any iterator: the time it took to return its elements."""

    unit = "it"
    limit = ""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.waited = 0.0

    def counts(self, done: int) -> tuple[float, float, float]:
        return done, time.monotonic() - self._began, self.waited


class _Speeds:
    """Speed and waiting time of the last seconds, or of everything."""

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
    """Yields the elements of an iterable and shows a progress line; created by `headrace.progress`."""

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
        """Show values before the speed: `line.set_postfix(loss=loss.item())`."""
        self._more = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in values.items()
        )

    def close(self) -> None:
        """End the current iteration with its line and, if it was started here, its threads."""
        if self._running is not None and (running := self._running()) is not None:
            running.close()

    def __iter__(self) -> Iterator[Element]:
        running = self._elements()
        self._running = weakref.ref(running)  # leaving the loop drops the generator, which ends it
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
            for element in iterator:  # noqa: UP028 -- `yield from` would close the user's own iteration
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
                "progress: tqdm is not installed, so no line is shown; `pip install tqdm`, or set disable=True",
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
    """Iterate, and show a line with the progress, the remaining time, the speed, and what limits it.

        epoch 0:  42%|███▎    | 2104/5004 [04:31<06:14, 1 987 samples/s, waited 3 %, cpu: decode_image]

    The line counts elements, so usually batches. Speed and waiting time are those of the last ten seconds, and at the end those of the
    whole iteration. It starts at the position of a loaded state. tqdm draws the line, in a notebook as a widget; if stderr is not a
    terminal, nothing is shown. For an iterable that is not a loader, it shows elements per second and the waiting time.

    `with hr.progress(...) as line:` also ends line and threads if an exception leaves the loop; `line.set_postfix(loss=0.3)` adds
    values to the line. A loop that is left by `break` ends both by itself.

    Args:
        iterable: A loader, a dataset (its epoch 0), or any iterable.
        desc: Text at the start of the line; "epoch 3" for a loader when not given.
        total: Number of elements, if the iterable does not know its length. Without a length there is no bar.
        file: Where to write the line, if that is a terminal (stderr).
        disable: Show nothing; use `disable=rank != 0` if several processes share a terminal.
        leave: Keep the last line.

    Warns:
        RuntimeWarning: tqdm is not installed, so no line is shown; `pip install headrace[progress]` installs it.

    Example:
        for batch in hr.progress(train.torch()):
            step(batch)
    """
    if not isinstance(iterable, Iterable) and not hasattr(iterable, "__getitem__"):
        raise mismatch(TypeError, "progress", expected="a loader or another iterable", got=f"{iterable!r}")
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
    """Format a size in bytes: "110.3 kB"."""
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
