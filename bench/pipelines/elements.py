"""What a loader costs an element: range -> x + 1 -> shuffle -> batch(256), beside tf.data and torch.

    python bench/pipelines/elements.py [--rounds 15] [--peers PYTHON]

The peers, tensorflow-cpu and torch, are imported by PYTHON, which may be that of another virtual environment; one that
does not import is left out and said so.
"""

import argparse
import sys

from race import Entry, race, table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    arguments = parser.parse_args()
    peers = arguments.peers
    times = race(
        [
            Entry("headrace", "headrace_elements", ()),
            Entry("headrace, not hoisted", "headrace_elements", ("plain",)),
            Entry("tf.data, batched first", "tfdata_elements", (), peers),
            Entry("tf.data, mapped first", "tfdata_elements", ("plain",), peers),
            Entry("torch DataLoader in process", "torch_elements", (), peers),
        ],
        arguments.rounds,
        batches=400,
    )
    print(f"elements, 1 worker, {arguments.rounds} rounds:")
    print(table(times, "headrace", 1e6, "us an element"))


if __name__ == "__main__":
    main()
