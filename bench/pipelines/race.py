"""Run contenders side by side and compare them pair by pair.

Every contender is one long-lived process. A round gives each the same segment of work, one after the other, so that a
machine that slows down slows all of them; the figure is the ratio within a round, its median over rounds, and a 95 %
bootstrap interval of that median. Absolute times are printed for orientation only.

    python bench/pipelines/race.py images DATA [--workers 1 2] [--rounds 15]
    python bench/pipelines/race.py elements [--rounds 15]

needs tensorflow-cpu, torch and pillow beside headrace; one that does not import is left out and said so.
"""

import argparse
import contextlib
import json
import random
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RACES = {
    "images": {
        "headrace": ["headrace_images"],
        "tf.data decode_and_crop": ["tfdata_images"],
        "torch DataLoader + Pillow": ["torch_images"],
    },
    "elements": {
        "headrace": ["headrace_elements"],
        "headrace, not hoisted": ["headrace_elements", "plain"],
        "tf.data, batched first": ["tfdata_elements"],
        "tf.data, mapped first": ["tfdata_elements", "plain"],
        "torch DataLoader in process": ["torch_elements"],
    },
}
SEGMENT = {"images": 8, "elements": 400}  # batches a segment


class Contender:
    def __init__(self, name: str, module: str, arguments: list[str]) -> None:
        self.name = name
        command = [sys.executable, "-m", f"contenders.{module}", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, batches: int) -> dict[str, float]:
        assert self.process.stdin and self.process.stdout and self.process.stderr
        with contextlib.suppress(BrokenPipeError):
            print(batches, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.stderr.read().strip().splitlines()[-1])
        answer: dict[str, float] = json.loads(line)
        return answer

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def interval(values: list[float]) -> tuple[float, float]:
    """95 % bootstrap interval of the median."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def race(kind: str, data: str, workers: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    contenders = []
    for name, (module, *extra) in RACES[kind].items():
        contender = Contender(name, module, [data, str(workers), *extra])
        try:
            contender.run(SEGMENT[kind])  # warm up: imports, page cache, first batches
            contenders.append(contender)
        except RuntimeError as error:
            print(f"  {name}: left out ({error})")
            contender.close()
    times: dict[str, dict[str, list[float]]] = {c.name: {"cpu": [], "wall": []} for c in contenders}
    for _ in range(rounds):
        for contender in contenders:
            got = contender.run(SEGMENT[kind])
            for figure in ("cpu", "wall"):
                times[contender.name][figure].append(got[figure] / got["units"])
    for contender in contenders:
        contender.close()
    return times


def report(kind: str, times: dict[str, dict[str, list[float]]]) -> None:
    scale, unit = (1e3, "ms an image") if kind == "images" else (1e6, "us an element")
    ours = times["headrace"]
    for name, figures in times.items():
        cpu, wall = (statistics.median(figures[f]) * scale for f in ("cpu", "wall"))
        line = f"  {name:28s} CPU {cpu:8.4f}  wall {wall:8.4f} {unit}"
        if name != "headrace":
            for figure in ("cpu", "wall"):
                ratios = [theirs / mine for theirs, mine in zip(figures[figure], ours[figure], strict=True)]
                low, high = interval(ratios)
                line += f"   {figure} ratio {statistics.median(ratios):5.2f} [{low:.2f}, {high:.2f}]"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=RACES)
    parser.add_argument("data", nargs="?", default="-", help="folder of JPEGs, for images")
    parser.add_argument("--workers", type=int, nargs="+", default=None)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    data = arguments.data if arguments.data == "-" else str(Path(arguments.data).resolve())
    for workers in arguments.workers or ([1, 2] if arguments.kind == "images" else [1]):
        print(
            f"{arguments.kind}, {workers} worker{'s' if workers > 1 else ''}, {arguments.rounds} rounds:",
            flush=True,
        )
        report(arguments.kind, race(arguments.kind, data, workers, arguments.rounds))


if __name__ == "__main__":
    main()
