"""`headrace convert` compared with `cp -r` of the same bytes, each followed by a sync: seconds, and the rate relative to cp's.

python bench/experiments/convert.py IMAGES WORK [--gigabytes 1] [--rounds 3]

IMAGES is a folder of JPEG files, WORK an empty folder on the disk to measure. The rounds alternate, and the output
is deleted and synced before the next round; the median counts. The source is in the page cache.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADRACE = str(ROOT / "build" / "release" / "cli" / "headrace")
PAUSE = 1  # second, for the disk to become idle


def repeated(images: Path, target: Path, size: float) -> int:
    """Copy the images into class folders, as many times as needed; return the bytes."""
    files = sorted(images.rglob("*.[jJ][pP]*[gG]"))
    done = 0
    for copy in range(10**6):
        for file in files:
            folder = target / file.name.split("_")[0]
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / f"{copy:03}{file.suffix}")
            done += file.stat().st_size
        if done >= size:
            return done
    return done


def seconds_of(command: list[str], work: Path) -> float:
    """Time the command and the following sync, starting with an idle disk."""
    for path in work.glob("out*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    os.sync()
    time.sleep(PAUSE)
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["sync", "-f", str(work)], check=True)
    return time.perf_counter() - begin


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    source, out = arguments.work / "source", str(arguments.work / "out")
    size = repeated(arguments.images, source, arguments.gigabytes * 1e9) if not source.exists() else 0
    size = size or sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    convert = [HEADRACE, "convert", str(source)]
    commands = {
        "cp -r": ["cp", "-r", str(source), out],
        "tfrecord": [*convert, out + ".tfrecord"],
        "tfrecord, 150 MB": [*convert, out, "--format", "tfrecord", "--shard-size", "150MB"],
        "webdataset": [*convert, out + ".tar"],
        "arrow": [*convert, out + ".arrow"],
        "recordio": [*convert, out + ".rec"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            seconds[name].append(seconds_of(command, arguments.work))
    base = statistics.median(seconds["cp -r"])
    for name, all_of in seconds.items():
        median = statistics.median(all_of)
        print(f"{name:18} {median:6.2f} s  {size / median / 1e6:6.0f} MB/s  {base / median:5.2f} of cp")


if __name__ == "__main__":
    main()
