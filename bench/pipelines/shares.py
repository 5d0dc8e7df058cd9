"""The CPU time of headrace's ResNet-50 pipelines by step, measured with `perf`.

    python bench/pipelines/shares.py [FOLDER] [--work train eval] [--match fast] [--checkpoints] [--batches 64]

Samples one worker (all threads of the process, including Python's) while it makes batches, without start and first epoch. A
sample counts for the innermost step on its stack, so that memchr called by the decoder is decoding and a page fault in a
pread is reading. Everything else is the engine: order, executor, memory, Python. Needs `perf`.
"""

import argparse
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from contenders.segment import default_data
from race import Entry, Process

# The first pattern that matches a frame, from the innermost frame outwards.
STEPS = {
    "inverse DCT": r"headrace::kernels::.*idct",
    "normalise and lay out": r"headrace::kernels::.*(affine|Normaliz|apply|inverse)",
    "resize and colour": r"headrace::kernels::|headrace::jpeg::resample_planes|headrace::.*Resampler",
    "entropy decoding": r"headrace::jpeg::(.*::)?(EntropyReader|decode_blocks|decode_symbol)",
    "JPEG, the rest": r"headrace::jpeg::|headrace::\w*(jpeg|image_header)|\(.*libjpeg|headrace::decode_resampled",
    "reading files": r"headrace::(read_exactly|Fetcher|FileStore|LocalStore)",
}
ENGINE = "engine"
# In a stripped module, static functions have no name.
UNKNOWN = "unknown (no symbols)"


def stacks(recorded: str) -> Iterator[list[str]]:
    """The frames of each sample, innermost first."""
    script = ["perf", "script", "--no-inline", "-F", "ip,sym,dso", "-i", recorded]
    text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    for block in text.split("\n\n"):
        frames = [line.strip() for line in block.splitlines() if line.strip()]
        if frames:
            yield frames


def step(frames: list[str]) -> str:
    for frame in frames:
        for name, pattern in STEPS.items():
            if re.search(pattern, frame):
                return name
    if all("[unknown]" in frame for frame in frames if "[kernel" not in frame) and "_core" in " ".join(
        frames
    ):
        return UNKNOWN
    return ENGINE


def short(frame: str) -> str:
    """The function's name, without address, arguments, SIMD target and library."""
    name = frame.split(" ", 1)[-1].rsplit(" (", 1)[0].replace("(anonymous namespace)::", "")
    return re.sub(r"N_\w+::|\(.*|<.*", "", name)


def function(frames: list[str]) -> str:
    """The code that ran, and its caller if it is not headrace's."""
    ours = next((short(frame) for frame in frames if "headrace::" in frame), "")
    leaf = short(frames[0])
    return leaf if leaf == ours or not ours else f"{ours} ({leaf})"


def record(entry: Entry, batches: int, out: str) -> None:
    process = Process(entry)
    process.start(batches)  # warm up
    process.finish()
    perf = subprocess.Popen(
        ["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "--call-graph", "dwarf,8192"]
        + ["-p", str(process.process.pid), "-o", out]
    )
    time.sleep(1)  # until perf has started
    process.start(batches)
    process.finish()
    perf.send_signal(signal.SIGINT)
    perf.wait()
    process.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="?", default=default_data())
    parser.add_argument("--work", nargs="+", choices=["train", "eval", "decode"], default=["train", "eval"])
    parser.add_argument("--match", choices=["fast", "exact"], default="fast")
    parser.add_argument(
        "--checkpoints", action="store_true", help="use the entropy points that the warm-up finds"
    )
    parser.add_argument("--batches", type=int, default=64)
    parser.add_argument(
        "--functions",
        type=int,
        default=0,
        metavar="N",
        help="also list the N most expensive functions of each step",
    )
    arguments = parser.parse_args()
    for work in arguments.work:
        options = (str(Path(arguments.data).resolve()), "1", work, arguments.match)
        options += ("checkpoints",) if arguments.checkpoints else ()
        with tempfile.TemporaryDirectory() as scratch:
            out = str(Path(scratch) / "perf.data")
            cache = (("XDG_CACHE_HOME", scratch),)
            record(Entry(work, "headrace_images", options, environment=cache), arguments.batches, out)
            seen = list(stacks(out))
        print(f"{work}, {arguments.match}: {len(seen)} samples")
        by_step: dict[str, Counter[str]] = {}
        for frames in seen:
            by_step.setdefault(step(frames), Counter())[function(frames)] += 1
        for name, functions in sorted(by_step.items(), key=lambda item: -item[1].total()):
            print(f"  {100 * functions.total() / len(seen):5.1f} %  {name}")
            for label, count in functions.most_common(arguments.functions):
                print(f"         {100 * count / len(seen):5.1f} %  {label}")


if __name__ == "__main__":
    main()
