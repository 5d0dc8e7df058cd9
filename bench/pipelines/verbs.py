"""The cost of each verb per element for small integers, compared with tf.data, Grain, torch and bare Python.

    python bench/pipelines/verbs.py [--verbs map filter] [--rounds 7] [--tensorflow PYTHON] [--torch PYTHON]

PYTHON is an interpreter that has tensorflow-cpu and grain, or torch. A verb that a peer lacks is left empty. One worker; CPU time of the
process, median over rounds; the ratio is that of the best peer.
"""

import argparse
import contextlib
import io
import statistics
import sys

from contenders import headrace_verbs, python_verbs
from race import Entry, race, ratio

PEERS = {
    "tf.data": "tfdata_verbs",
    "Grain": "grain_verbs",
    "torch": "torch_verbs",
    "bare Python": "python_verbs",
}


def entries(verb: str, pythons: dict[str, str]) -> list[Entry]:
    return [
        Entry(name, module, (verb,), pythons.get(name, sys.executable))
        for name, module in {"Headrace": "headrace_verbs", **PEERS}.items()
        if name != "bare Python" or verb in python_verbs.VERBS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    everything = [*headrace_verbs.VERBS, *headrace_verbs.BATCHES]
    parser.add_argument("--verbs", nargs="*", default=everything)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batches", type=int, default=1000)  # many times what any contender makes ahead
    parser.add_argument("--tensorflow", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--torch", default=sys.executable, metavar="PYTHON")
    given = parser.parse_args()
    small = headrace_verbs.BATCHES
    pythons = {"tf.data": given.tensorflow, "Grain": given.tensorflow, "torch": given.torch}
    print("| CPU ns an element | Headrace | " + " | ".join(PEERS) + " | best peer / Headrace |")
    print("|---|" + "---:|" * (len(PEERS) + 2))
    for verb in given.verbs:
        with contextlib.redirect_stderr(io.StringIO()):  # it names the peers that lack this verb
            times = race(entries(verb, pythons), given.rounds, given.batches * (4 if verb in small else 1))
        medians = {name: statistics.median(one.cpu) * 1e9 for name, one in times.items()}
        peers = {name: value for name, value in medians.items() if name not in ("Headrace", "bare Python")}
        best = min(peers, key=lambda name: peers[name], default=None)
        told = ratio(times[best].cpu, times["Headrace"].cpu) if best else ""
        cells = [f"{medians[name]:,.0f}" if name in medians else "" for name in ("Headrace", *PEERS)]
        print(f"| {verb} | " + " | ".join(cells) + f" | {told} |", flush=True)


if __name__ == "__main__":
    main()
