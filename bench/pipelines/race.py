"""Run contenders in alternation and compare them in pairs.

Every contender is one long-lived process (or several that run at once). A round gives each the same segment of work,
one after the other, so that a machine that slows down slows all of them. The result is the median over rounds of the
ratio within a round, with a 95 % bootstrap interval. Absolute times are for orientation only.
"""

import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """What to start: a module of `contenders`, its arguments, and the Python that can import it."""

    name: str
    module: str
    arguments: tuple[str, ...]
    python: str = sys.executable
    processes: int = 1  # this many at once, which share a segment and are otherwise independent
    environment: tuple[tuple[str, str], ...] = ()  # in addition to that of this process


@dataclass
class Times:
    """Seconds per unit (an image, an element), one figure for each round."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


class Ratio(NamedTuple):
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:5.2f} [{self.low:.2f}, {self.high:.2f}]"


class Process:
    def __init__(self, entry: Entry) -> None:
        self.complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 (open as long as the process)
        self.process = subprocess.Popen(
            [entry.python, "-m", f"contenders.{entry.module}", *entry.arguments],
            cwd=HERE,
            env={**os.environ, **dict(entry.environment)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.complaints,
            text=True,
        )

    def start(self, batches: int) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            print(batches, file=self.process.stdin, flush=True)

    def finish(self) -> dict[str, float]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.complaints.seek(0)
            raise RuntimeError((self.complaints.read().strip().splitlines() or ["it ended"])[-1])
        answer: dict[str, float] = json.loads(line)
        return answer

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.complaints.close()


class Contender:
    def __init__(self, entry: Entry) -> None:
        self.name = entry.name
        self.processes = [Process(entry) for _ in range(entry.processes)]

    def run(self, batches: int) -> tuple[float, float]:
        """Take this many batches; return CPU and wall seconds per unit. Rates of concurrent processes are summed."""
        for process in self.processes:
            process.start(batches // len(self.processes))
        answers = [process.finish() for process in self.processes]
        units = sum(a["units"] for a in answers)
        return sum(a["cpu"] for a in answers) / units, 1 / sum(a["units"] / a["wall"] for a in answers)

    def close(self) -> None:
        for process in self.processes:
            process.close()


def race(
    entries: list[Entry],
    rounds: int,
    batches: int,
    after_round: Callable[[dict[str, Times]], None] = lambda _: None,
) -> dict[str, Times]:
    """Times by name, of those that start; the others are named on stderr, with the reason.

    `after_round` gets what there is after each round, so that a run that is stopped leaves something.
    """
    contenders = []
    for entry in entries:
        contender = Contender(entry)
        try:
            contender.run(batches)  # warm up: imports, page cache, first batches
            contenders.append(contender)
        except RuntimeError as error:
            print(f"  {entry.name}: left out ({error})", file=sys.stderr)
            contender.close()
    times = {c.name: Times() for c in contenders}
    for _ in range(rounds):
        for contender in contenders:
            cpu, wall = contender.run(batches)
            times[contender.name].cpu.append(cpu)
            times[contender.name].wall.append(wall)
        after_round(times)
    for contender in contenders:
        contender.close()
    return times


def ratio(theirs: list[float], ours: list[float]) -> Ratio:
    """The ratio of theirs to ours, with a 95 % bootstrap interval of the median over rounds."""
    pairs = [a / b for a, b in zip(theirs, ours, strict=True)]
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(pairs, k=len(pairs))) for _ in range(2000))
    return Ratio(statistics.median(pairs), medians[50], medians[1949])


def table(times: dict[str, Times], ours: str, scale: float, unit: str) -> str:
    """One line per contender; ratios above 1 mean that `ours` is cheaper."""
    lines = []
    for name, t in times.items():
        cpu, wall = statistics.median(t.cpu) * scale, statistics.median(t.wall) * scale
        line = f"  {name:34s} CPU {cpu:8.4f}  wall {wall:8.4f} {unit}"
        if name != ours:
            line += (
                f"   CPU ratio {ratio(t.cpu, times[ours].cpu)}  wall ratio {ratio(t.wall, times[ours].wall)}"
            )
        lines.append(line)
    return "\n".join(lines)
