"""Compare random pipelines with tf.data.

python -m tests.oracle.pipelines --seed 1 --count 20000     every pipeline from --index on
python -m tests.oracle.pipelines --seed 1 --index 17 --show  its text for both
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from .compare import TensorFlow, check, numbered
from .generate import pipeline


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        default=os.environ.get("HEADRACE_TENSORFLOW_PYTHON") or sys.executable,
        help="interpreter with TensorFlow",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the pipelines")
    parser.add_argument("--index", type=int, default=0, help="the first pipeline")
    parser.add_argument("--count", type=int, default=1, help="how many pipelines")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many")
    parser.add_argument("--differences", type=int, default=20, help="stop after so many")
    parser.add_argument("--show", action="store_true", help="print the pipelines")
    given = parser.parse_args()

    begin, done, found = time.monotonic(), 0, 0
    with TensorFlow(given.python) as tensorflow:
        for index in range(given.index, given.index + given.count):
            if time.monotonic() - begin > given.minutes * 60 or found >= given.differences:
                break
            if given.show:
                made = pipeline(numbered(given.seed, index))
                print(f"# {index}\n{made.ours}\n{made.theirs}\n", flush=True)
            wrong = check(tensorflow, given.seed, index)
            done += 1
            if wrong:
                found += 1
                print(f"==== seed {given.seed} index {index}: {wrong.text()}", flush=True)
    seconds = time.monotonic() - begin
    print(f"{done} pipelines, seed {given.seed}, {found} differences, {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
