"""The input pipeline of ResNet-50: photographs to normalised float32 crops in batches of 64, compared with other loaders.

    python bench/pipelines/rn50.py [FOLDER] [--peers PYTHON ...] [--only train eval decode workers] [--no-checkpoints]
                                   [--rounds 15] [--json]

FOLDER holds JPEGs (default: imagenet1k of $HEADRACE_DATA). Figures are CPU time (user + system, of the process and its
workers) per image, of one worker with a warm page cache, from full buffers to full buffers; ratios are computed round by
round in one run (race.py). Each peer is run by the first PYTHON that can import it, as not all of them install into one virtual
environment; a peer that no PYTHON can import is left out and reported. The fastest peer is the cheapest of all. Headrace runs without
entropy points; further rows use those of `headrace index` and those that a run finds itself, unless
--no-checkpoints leaves them out. `fastest_peer` of --json names the fastest peer, by the medians.

    train    decode -> random_resized_crop 224 -> random_flip -> normalize -> batch of 64, CHW
    eval     decode -> resize 256 -> center_crop 224 -> normalize -> batch of 64, CHW
    decode   whole pictures to RGB, compared with libjpeg-turbo
    workers  training with 2 workers, compared with two concurrent processes of 1 worker each
"""

import argparse
import functools
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
FASTEST_OF = (
    "tf.data",
    "DALI",
    "FFCV",
    "thread pool + OpenCV",
    "torch DataLoader + OpenCV",
    "torch DataLoader + Pillow",
    "SPDL",
)
LIBJPEG_TURBO = ("PyTurboJPEG", "simplejpeg", "OpenCV")
INDEXES: dict[str, tuple[str, ...]] = {ROWS: (), EIGHTS: ("--step", "8")}  # options of `headrace index`


@dataclass
class Bench:
    data: str
    peers: tuple[str, ...]  # the Pythons that import them
    scratch: Path
    caches: dict[str, str]  # folders with entropy points of `data`, by the name of the row that uses them
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
            return Entry(name, module, (self.data, "1", work, *rest), python_with(module, self.peers))

        return [
            self.headrace(FAST, work, "fast"),
            self.headrace(EXACT, work, "exact"),
            *(self.with_checkpoints(name, work) for name in self.caches),
            peer("tf.data", "tfdata_images"),
            peer("DALI", "dali_images"),
            peer("FFCV", "ffcv_images", str(self.scratch)),
            peer("thread pool + OpenCV", "thread_pool"),
            peer("torch DataLoader + OpenCV", "torch_images", "opencv"),
            peer("torch DataLoader + Pillow", "torch_images", "pillow"),
            peer("SPDL", "spdl_images"),
        ]

    def entries(self, kind: str) -> list[Entry]:
        if kind == "decode":

            def decoder(name: str, library: str, module: str) -> Entry:
                return Entry(
                    name, "decoders", (self.data, "1", kind, library), python_with(module, self.peers)
                )

            return [
                self.headrace(FAST, kind, "fast"),
                self.headrace(EXACT, kind, "exact"),
                decoder("PyTurboJPEG", "turbojpeg", "turbojpeg"),
                decoder("simplejpeg", "simplejpeg", "simplejpeg"),
                decoder("OpenCV", "opencv", "thread_pool"),
            ]
        if kind == "workers":
            return [
                self.headrace(TWO_WORKERS, "train", "fast", workers=2),
                self.headrace(TWO_PROCESSES, "train", "fast", processes=2),
            ]
        return self.loaders(kind)

    def run(self, kind: str) -> tuple[dict[str, Times], dict[str, Ratio]]:
        def after_round(times: dict[str, Times]) -> None:
            last = ", ".join(f"{name} {t.cpu[-1] * 1e3:.2f}" for name, t in times.items())
            print(f"  round {len(next(iter(times.values())).cpu)}, ms: {last}", file=sys.stderr, flush=True)

        times = race(self.entries(kind), self.rounds, self.batches, after_round)
        return times, ratios(kind, times)


# The modules that a contender imports and that may be missing.
IMPORTS = {
    "tfdata_images": "tensorflow",
    "dali_images": "nvidia.dali",
    "ffcv_images": "ffcv",
    "thread_pool": "cv2",
    "torch_images": "torch, cv2, PIL",
    "spdl_images": "spdl.io",
    "turbojpeg": "turbojpeg",
    "simplejpeg": "simplejpeg",
}


@functools.cache
def python_with(module: str, pythons: tuple[str, ...]) -> str:
    """Find the first Python that can import what a contender needs; if there is none, the last, whose error names what is missing."""
    for python in pythons:
        if (
            subprocess.run(
                [python, "-c", f"import {IMPORTS[module]}"], capture_output=True, check=False
            ).returncode
            == 0
        ):
            return python
    return pythons[-1]


def cheapest(times: dict[str, Times], names: tuple[str, ...]) -> Times | None:
    there = [times[name] for name in names if name in times]
    return min(there, key=lambda t: statistics.median(t.cpu), default=None)


def ratios(kind: str, times: dict[str, Times]) -> dict[str, Ratio]:
    """The headline figures, under the names that --json prints."""
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
    """The environment in which headrace stores its indexes in this folder."""
    return (("XDG_CACHE_HOME", folder),)


def make_indexes(data: str, scratch: Path) -> dict[str, str]:
    """A cache folder for each row with entropy points, filled by the command line if the row needs it."""
    caches = {FOUND: str(scratch / "found")}
    headrace = [sys.executable, "-c", "from headrace_cli import main; main()"]
    told = subprocess.run([*headrace, "--help"], capture_output=True, check=True, text=True).stdout
    if not any(line.split()[:1] == ["index"] for line in told.splitlines()):
        print(
            "  entropy points made in advance: left out (this headrace has no `index` command)",
            file=sys.stderr,
        )
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
    parser.add_argument("--peers", nargs="+", default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--only", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--checkpoints", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batches", type=int, default=8, help="per segment")
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
        bench = Bench(
            data, tuple(arguments.peers), Path(scratch), caches, arguments.rounds, arguments.batches
        )
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
