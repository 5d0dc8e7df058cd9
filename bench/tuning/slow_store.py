"""Default options over a store that takes long to read, compared with the best fixed `io=`.

    python bench/tuning/slow_store.py IMAGES [--ms 20 50] [--only NAME…] [--seconds S] [--rounds N] [--json]

IMAGES is a folder of JPEG files, of which a class folder, tar shards and Parquet files are made. A library loaded before others
(slow_reads.c) makes each read take 20 or 50 ms longer. The machine is quiet, or other processes compute on each of its cores. The best
`io=` is the fastest of a grid, each with the elements in progress that are tuned and with many. Then rounds of a run with it, and one with
defaults: samples per second between 3 s after the start of the iteration and the end, as a median of ratios within a round. Pixels are not
decoded, so that cores are not the limit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from headrace import ops

WARM = 3.0  # seconds until the rate is counted
GRID: list[dict[str, Any]] = [{"io": 64}, {"io": 256}, {"io": 256, "ready": 64}]
MOST_BYTES = 30_000  # of an image, whose pixels are not needed
GROUP = 10  # rows of a group of Parquet
KINDS = ("image folder", "tar shards", "parquet")


def make_data(images: Path, to: Path, count: int) -> None:
    """Write `count` samples in each form; IMAGES are used again if there are fewer."""
    files = sorted(images.rglob("*.[jJ][pP]*[gG]"))
    folder = to / "image folder"
    for i in range(count):
        place = folder / f"class{i % 10}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i:05}.jpg").write_bytes(files[i % len(files)].read_bytes()[:MOST_BYTES])
    data = hr.read(folder)
    data.write(to / "tar shards", format="webdataset", shards=8)
    data.write(to / "parquet", format="parquet", shards=8, options={"rows_per_group": GROUP})


def pipeline(kind: str, data: Path) -> hr.Dataset:
    source = hr.read(data / kind)
    # Row groups are read whole: in order, as they would stay in memory otherwise.
    samples = source if kind == "parquet" else source.shuffle(seed=17)
    image = "jpg" if kind == "tar shards" else "image"
    return samples.map(lambda s: {"bytes": ops.length(s[image])}).repeat().batch(64)


def run_here(kind: str, data: Path, options: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The rate from WARM seconds after the start on, and what the report says then."""
    loader = pipeline(kind, data).options(**options).numpy()
    begin, since, counted = time.perf_counter(), 0.0, 0
    now = begin
    for _ in loader:
        now = time.perf_counter()
        if since:
            counted += 64
        elif now - begin >= WARM:
            since = now
        if now - begin > WARM + seconds and since and counted:
            break
    report = loader.report().dict()
    loader.close()
    return {
        "samples_per_s": counted / (now - since), "settings": report["settings"], "limited_by": report["limited_by"],
        "decisions": report["decisions"],
    }  # fmt: skip


def run(
    shim: Path, kind: str, data: Path, ms: float, options: dict[str, Any], seconds: float
) -> dict[str, Any]:
    command = [sys.executable, __file__, "--here", kind, str(data), json.dumps(options), str(seconds)]
    slow = {**os.environ, "LD_PRELOAD": str(shim), "SLOW_READ_MS": str(ms)}
    out: dict[str, Any] = json.loads(
        subprocess.run(command, env=slow, check=True, capture_output=True).stdout
    )
    return out


@contextlib.contextmanager
def other_programs(busy: bool) -> Iterator[None]:
    count = len(os.sched_getaffinity(0)) if busy else 0
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def compare(
    shim: Path, kind: str, data: Path, ms: float, busy: bool, seconds: float, rounds: int
) -> dict[str, Any]:
    with other_programs(busy):
        grid = [
            (run(shim, kind, data, ms, options, seconds / 2)["samples_per_s"], options) for options in GRID
        ]
        best = max(grid, key=lambda one: one[0])[1]
        pairs = [
            (run(shim, kind, data, ms, best, seconds), run(shim, kind, data, ms, {}, seconds))
            for _ in range(rounds)
        ]
    fixed, tuned = zip(*pairs, strict=True)
    return {
        "store": kind, "ms": ms, "busy": busy, "best_options": best,
        "best_samples_per_s": statistics.median(one["samples_per_s"] for one in fixed),
        "default_samples_per_s": statistics.median(one["samples_per_s"] for one in tuned),
        "share": statistics.median(b["samples_per_s"] / a["samples_per_s"] for a, b in pairs),
        "settings": tuned[-1]["settings"], "limited_by": tuned[-1]["limited_by"],
        "decisions": tuned[-1]["decisions"],
    }  # fmt: skip


def main() -> None:
    if sys.argv[1:2] == ["--here"]:
        which, place, options, length = sys.argv[2:]
        print(json.dumps(run_here(which, Path(place), json.loads(options), float(length))))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path, help="a folder of JPEG files")
    parser.add_argument("--ms", type=float, nargs="+", default=[20, 50], help="milliseconds a read")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, help="which stores")
    parser.add_argument("--machine", nargs="+", choices=["quiet", "busy"], default=["quiet", "busy"])
    parser.add_argument("--samples", type=int, default=2000, help="how many samples to write")
    parser.add_argument(
        "--seconds", type=float, default=4, help="of a run that are counted, after the first 3"
    )
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs")
    parser.add_argument("--json", action="store_true", help="print JSON, with the decisions of the last run")
    given = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        data, shim = Path(folder), Path(folder) / "slow_reads.so"
        source = Path(__file__).with_name("slow_reads.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
        make_data(given.images, data, given.samples)
        print(
            f"load before: {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores", file=sys.stderr
        )
        if not given.json:
            print(
                f"{'store':14}{'ms':>4} {'machine':8}{'best/s':>9}{'default/s':>10}{'share':>7}  best options, settings of the default, limit named"
            )
        for kind in given.only:
            for ms in given.ms:
                for machine in given.machine:
                    one = compare(shim, kind, data, ms, machine == "busy", given.seconds, given.rounds)
                    results.append(one)
                    if given.json:
                        continue
                    settings = "/".join(str(one["settings"][name]) for name in ("workers", "io", "ready"))
                    print(
                        f"{kind:14}{ms:4.0f} {machine:8}{one['best_samples_per_s']:9.0f}{one['default_samples_per_s']:10.0f}"
                        f"{one['share']:7.2f}  {one['best_options']}, {settings}, {one['limited_by']}",
                        flush=True,
                    )
    if given.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
