"""Random reads of small files in a folder, zips and squashfs images: Headrace, Python's zipfile and open(), squashfuse and a loop mount.

    python bench/pipelines/archives.py [FOLDER] [--files 100000] [--order random] [--json]

100,000 files of 2 to 14 KB (8 on average) in 100 folders, half of their bytes noise, page cache, one thread that reads. They are made in FOLDER
if they are missing (0.9 GB, and as much again for each archive). mksquashfs makes the images; squashfuse, if FUSE is available, and the kernel,
if mounting is permitted (root), show them as folders; what is missing is left out, and reported. Reads/s are of wall time, ratios within a round.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from race import Entry, Times, race, ratio

PER_FOLDER = 1000
MOUNTS = {"squashfuse": ["squashfuse"], "a loop mount": ["mount", "-t", "squashfs", "-o", "loop,ro"]}


def make_files(folder: Path, count: int) -> None:
    """Write the files, in a folder that gets its name only when it is complete."""
    if folder.exists():
        return
    draw = np.random.default_rng(1)
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for i in range(count):
        if i % PER_FOLDER == 0:
            (partial / f"{i // PER_FOLDER:04}").mkdir(parents=True)
        half = int(draw.integers(1 << 10, 7 << 10))
        data = draw.bytes(half) + bytes([i % 256]) * half
        (partial / f"{i // PER_FOLDER:04}" / f"{i:06}.jpg").write_bytes(data)
    partial.rename(folder)


def make_zip(folder: Path, path: Path, compression: int) -> None:
    if path.exists():
        return
    with zipfile.ZipFile(path.with_suffix(".partial"), "w", compression) as out:
        for file in sorted(folder.rglob("*.jpg")):
            out.write(file, file.relative_to(folder))
    path.with_suffix(".partial").rename(path)


def make_image(folder: Path, path: Path, *options: str) -> bool:
    """Make a squashfs image; false if there is no mksquashfs."""
    if not path.exists():
        if not shutil.which("mksquashfs"):
            return False
        partial = path.with_suffix(".partial")
        command = ["mksquashfs", folder, partial, *options, "-noappend", "-quiet", "-no-progress"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        partial.rename(path)
    return True


@contextlib.contextmanager
def mounted(image: Path, *command: str) -> Iterator[Path | str]:
    """Return where the image is mounted, or why it is not."""
    if not shutil.which(command[0]):
        yield f"{command[0]} is not installed"
        return
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run([*command, image, place], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            yield (
                f"{command[0]} cannot mount: " + (done.stderr.strip().splitlines() or ["no reason given"])[0]
            )
            return
        try:
            yield Path(place)
        finally:
            fuse = shutil.which("fusermount3") or shutil.which("fusermount")
            by_fuse = command[0] != "mount" and fuse is not None
            subprocess.run([fuse, "-u", place] if by_fuse else ["umount", place], check=False)


def opened_in(path: Path) -> float:
    """Seconds until a new process has opened the archive."""
    code = f"import headrace as hr, time; t = time.perf_counter(); hr.read({str(path)!r}, format='images'); print(time.perf_counter() - t)"
    return float(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )


def row(name: str, times: dict[str, Times]) -> str:
    ours, base = times[name], times["folder: headrace"]
    reads = 1 / statistics.median(ours.wall)
    against = ratio(base.wall, ours.wall)
    return f"| {name} | {reads:,.0f} | {statistics.median(ours.cpu) * 1e6:.1f} | {against} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(tempfile.gettempdir()) / "headrace-archives"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--reads", type=int, default=25_600, help="per round")
    parser.add_argument("--order", choices=("sequential", "random"), default="random")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / f"files-{arguments.files}"
    make_files(files, arguments.files)
    stored, deflated = folder / f"stored-{arguments.files}.zip", folder / f"deflated-{arguments.files}.zip"
    make_zip(files, stored, zipfile.ZIP_STORED)
    make_zip(files, deflated, zipfile.ZIP_DEFLATED)
    kinds = {p: ("-comp", p) for p in ("gzip", "lz4", "zstd")}
    kinds["zstd, no fragments"] = ("-comp", "zstd", "-no-fragments")
    images = {}
    for kind, options in kinds.items():
        path = folder / f"{kind.replace(', ', '-').replace(' ', '-')}-{arguments.files}.sqsh"
        if make_image(files, path, *options):
            images[kind] = path

    def entry(name: str, reader: str, path: Path) -> Entry:
        return Entry(name, "archived", (reader, str(path), arguments.order, str(arguments.batch)))

    entries = [
        entry("folder: headrace", "headrace", files),
        entry("folder: open() of Python", "folder", files),
    ]
    for name, path in (("stored zip", stored), ("deflated zip", deflated)):
        entries += [
            entry(f"{name}: headrace", "headrace", path),
            entry(f"{name}: zipfile of Python", "zipfile", path),
        ]
    notes = [] if images else ["mksquashfs is not installed: no squashfs images"]
    with contextlib.ExitStack() as stack:
        for packing, path in images.items():
            entries.append(entry(f"squashfs, {packing}: headrace", "headrace", path))
            for who, command in MOUNTS.items():
                place = stack.enter_context(mounted(path, *command))
                if isinstance(place, Path):
                    entries.append(entry(f"squashfs, {packing}: {who} and open() of Python", "folder", place))
                elif place not in notes:
                    notes.append(place)
        begin = time.perf_counter()
        times = race(entries, arguments.rounds, arguments.reads // arguments.batch)
        took = time.perf_counter() - begin
    opening = {path.name: opened_in(path) for path in (stored, *images.values())}
    if arguments.json:
        reads = {name: 1 / statistics.median(t.wall) for name, t in times.items()}
        print(
            json.dumps(
                {"order": arguments.order, "reads": reads, "open_s": opening, "notes": notes, "s": took}
            )
        )
        return
    print("| | reads/s | CPU, us | times as fast as the folder |\n|---|---:|---:|---:|")
    for name in times:
        print(row(name, times))
    print("\nopened in: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in opening.items()))
    for note in notes:
        print(note)


if __name__ == "__main__":
    main()
