"""What ResNet-50 eats: photographs to normalised f32 crops in batches of 64, beside the loaders people use.

    python bench/pipelines/rn50.py [FOLDER] [--peers PYTHON] [--only train eval decode workers] [--no-checkpoints]
                                   [--rounds 15] [--json]

FOLDER holds JPEGs (default: imagenet1k of $HEADRACE_DATA). Figures are CPU time (user + system, of the process and its
workers) an image, of one worker with a warm page cache, from full buffers to full buffers; ratios are taken round by
round in one run (race.py). The peers are imported by PYTHON, which may be that of another virtual environment; one that
does not import is left out and said so. The fastest peer is the cheapest of tf.data, DALI and FFCV. Headrace runs without
entropy checkpoints; rows with those of `headrace index`, and with those that a run finds on its way, stand beside it, unless
--no-checkpoints leaves them out. `fastest_peer` of --json says which one it was, by the medians.

    train    decode -> random_resized_crop 224 -> random_flip -> normalize -> batch of 64, CHW
    eval     decode -> resize 256 -> center_crop 224 -> normalize -> batch of 64, CHW
    decode   whole pictures to RGB, beside libjpeg-turbo
    workers  training with 2 workers beside two processes of 1 worker each, at the same time
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from contenders.segment import default_data, files
from corpus import describe
from race import Entry, Ratio, Times, race, ratio, table

FAST, EXACT = "headrace, fast", "headrace, exact"
FOUND = "headrace, fast, checkpoints found"
ROWS, EIGHTS = "headrace, fast, checkpoint per row", "headrace, fast, one per 8 MCUs"
TWO_WORKERS, TWO_PROCESSES = "headrace, 2 workers", "headrace, 2 processes"
FASTEST_OF = ("tf.data", "DALI", "FFCV")
LIBJPEG_TURBO = ("PyTurboJPEG", "simplejpeg", "OpenCV")
INDEXES: dict[str, tuple[str, ...]] = {ROWS: (), EIGHTS: ("--step", "8")}  # options of `headrace index`


@dataclass
class Bench:
    data: str
    peers: str  # the Python that imports them
    scratch: Path
    caches: dict[str, str]  # folders with checkpoints of `data`, by the name of the row that uses them
    rounds: int
    batches: int

    def headrace(self, name: str, work: str, match: str, workers: int = 1, processes: int = 1) -> Entry:
        arguments = (self.data, str(workers), work, match)
        return Entry(name, "headrace_images", arguments, processes=processes)

    def with_checkpoints(self, name: str, work: str) -> Entry:
        arguments = (self.data, "1", work, "fast", "checkpoints")
        return Entry(name, "headrace_images", arguments, environment=cache(self.caches[name]))

    def loaders(self, work: str) -> list[Entry]:
        def peer(name: str, module: str, *rest: str) -> Entry:
            return Entry(name, module, (self.data, "1", work, *rest), self.peers)

        return [
            self.headrace(FAST, work, "fast"),
            self.headrace(EXACT, work, "exact"),
            *(self.with_checkpoints(name, work) for name in self.caches),
            peer("tf.data", "tfdata_images"),
            peer("DALI", "dali_images"),
            peer("FFCV", "ffcv_images", str(self.scratch)),
            peer("torch DataLoader + OpenCV", "torch_images", "opencv"),
            peer("torch DataLoader + Pillow", "torch_images", "pillow"),
            peer("SPDL", "spdl_images"),
        ]

    def entries(self, kind: str) -> list[Entry]:
        if kind == "decode":
            arguments = (self.data, "1", kind)
            return [
                self.headrace(FAST, kind, "fast"),
                self.headrace(EXACT, kind, "exact"),
                Entry("PyTurboJPEG", "decoders", (*arguments, "turbojpeg"), self.peers),
                Entry("simplejpeg", "decoders", (*arguments, "simplejpeg"), self.peers),
                Entry("OpenCV", "decoders", (*arguments, "opencv"), self.peers),
            ]
        if kind == "workers":
            return [
                self.headrace(TWO_WORKERS, "train", "fast", workers=2),
                self.headrace(TWO_PROCESSES, "train", "fast", processes=2),
            ]
        return self.loaders(kind)

    def run(self, kind: str) -> tuple[dict[str, Times], dict[str, Ratio]]:
        times = race(self.entries(kind), self.rounds, self.batches)
        return times, ratios(kind, times)


def cheapest(times: dict[str, Times], names: tuple[str, ...]) -> Times | None:
    there = [times[name] for name in names if name in times]
    return min(there, key=lambda t: statistics.median(t.cpu), default=None)


def ratios(kind: str, times: dict[str, Times]) -> dict[str, Ratio]:
    """What the run is for, under the names that --json prints."""
    if kind == "workers":
        ours, theirs = times[TWO_WORKERS], times[TWO_PROCESSES]
        return {
            "two_workers_vs_two_processes": ratio(theirs.wall, ours.wall),
            "two_workers_vs_two_processes_cpu": ratio(theirs.cpu, ours.cpu),
        }
    wanted = {
        "train": {
            "train_vs_fastest_peer": FAST,
            "train_found_checkpoints_vs_fastest_peer": FOUND,
            "train_row_checkpoints_vs_fastest_peer": ROWS,
            "train_checkpoints_vs_fastest_peer": EIGHTS,
            "exact_vs_fastest_peer": EXACT,
        },
        "eval": {
            "eval_vs_fastest_peer": FAST,
            "eval_found_checkpoints_vs_fastest_peer": FOUND,
            "eval_row_checkpoints_vs_fastest_peer": ROWS,
            "eval_exact_vs_fastest_peer": EXACT,
        },
        "decode": {"decode_fast_vs_libjpeg_turbo": FAST, "decode_exact_vs_libjpeg_turbo": EXACT},
    }[kind]
    peer = cheapest(times, LIBJPEG_TURBO if kind == "decode" else FASTEST_OF)
    if peer is None:
        return {}
    return {key: ratio(peer.cpu, times[name].cpu) for key, name in wanted.items() if name in times}


def cache(folder: str) -> tuple[tuple[str, str], ...]:
    """The environment in which headrace keeps its indexes there."""
    return (("XDG_CACHE_HOME", folder),)


def make_indexes(data: str, scratch: Path) -> dict[str, str]:
    """A cache folder for each row with checkpoints, filled by the command line where a row wants it."""
    caches = {FOUND: str(scratch / "found")}
    headrace = [sys.executable, "-c", "from headrace_cli import main; main()"]
    told = subprocess.run([*headrace, "--help"], capture_output=True, check=True, text=True).stdout
    if not any(line.split()[:1] == ["index"] for line in told.splitlines()):
        print("  checkpoints made ahead: left out (this headrace has no `index` command)", file=sys.stderr)
        return caches
    for name, options in INDEXES.items():
        caches[name] = str(scratch / f"index{len(caches)}")
        environment = {**os.environ, **dict(cache(caches[name]))}
        subprocess.run([*headrace, "index", data, *options], check=True, stdout=sys.stderr, env=environment)
    return caches


def machine() -> str:
    named = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{os.cpu_count()} x {named[0].split(':')[1].strip() if named else 'CPU'}, load {load}"


def main() -> None:
    kinds = ["train", "eval", "decode", "workers"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="?", default=default_data())
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--only", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--checkpoints", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batches", type=int, default=8, help="a segment")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    data = str(Path(arguments.data).resolve())
    if not files(data):
        parser.error(f"wants a folder of JPEGs, as FOLDER or as imagenet1k in $HEADRACE_DATA, not {data}")
    told = sys.stderr if arguments.json else sys.stdout

    corpus, result = describe(files(data)), {}
    print("corpus: " + ", ".join(f"{name} {count}" for name, count in corpus.items()), file=told)
    with tempfile.TemporaryDirectory() as scratch:
        caches = make_indexes(data, Path(scratch)) if arguments.checkpoints else {}
        bench = Bench(data, arguments.peers, Path(scratch), caches, arguments.rounds, arguments.batches)
        seen: dict[str, dict[str, Times]] = {}
        for kind in arguments.only:
            print(f"{kind} ({arguments.rounds} rounds; {machine()}):", file=told, flush=True)
            times, got = bench.run(kind)
            seen[kind] = times
            result.update(got)
            print(table(times, TWO_WORKERS if kind == "workers" else FAST, 1e3, "ms an image"), file=told)
            for key, value in got.items():
                print(f"  {key:42s} {value}", file=told, flush=True)
    if arguments.json:
        milliseconds = {
            kind: {name: round(statistics.median(t.cpu) * 1e3, 4) for name, t in times.items()}
            for kind, times in seen.items()
        }
        fastest = {
            kind: min(
                (name for name in times if name in FASTEST_OF), key=lambda name: times[name], default=None
            )
            for kind, times in milliseconds.items()
        }
        keys = {key: round(value.median, 3) for key, value in result.items()}
        intervals = {key: [round(value.low, 3), round(value.high, 3)] for key, value in result.items()}
        print(
            json.dumps(
                {
                    **keys,
                    "intervals": intervals,
                    "fastest_peer": fastest,
                    "cpu_ms": milliseconds,
                    "corpus": corpus,
                },
                indent=1,
            )
        )


if __name__ == "__main__":
    main()
