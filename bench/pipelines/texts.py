"""CPU time per row of JSON lines and CSV, compared with json.loads, Python's csv, pyarrow and pandas in one run.

    python bench/pipelines/texts.py [FOLDER] --peers PYTHON [--kind texts] [--rounds 7] [--json]

Rows of two strings of some 300 characters ("texts"), and of six numbers, a short string and, in JSON, a list of eight numbers ("numbers"). The files are
made in FOLDER if they are missing; the index of a file is made before. PYTHON is an interpreter with pyarrow and pandas. Figures are
medians of alternating rounds.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from race import Entry, race, ratio

BATCH, ROWS = 256, 25_600
KINDS = ("texts", "numbers")
ENDINGS = ("jsonl", "csv")


def row(kind: str, i: int, draw: random.Random) -> dict[str, Any]:
    """Return a row of a table; the same for the same i."""
    if kind == "texts":
        words = ["eggs", "per day", 'said "no"', "half\nof", "16 - 3 = 13", "naïve", "market", "dollars,"]
        return {name: " ".join(draw.choices(words, k=40)) for name in ("question", "answer")}
    numbers = {name: draw.random() * 100 for name in ("x", "y", "z")}
    counts = {"id": i, "count": draw.randrange(10**6), "label": draw.randrange(10)}
    return counts | numbers | {"name": f"item {i}"}


def make(path: Path, kind: str) -> None:
    """Write a file with Python's own writers."""
    draw = random.Random(1)
    rows = [row(kind, i, draw) for i in range(ROWS)]
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        else:
            for one in rows:
                extra = {"v": draw.choices(range(1000), k=8)} if kind == "numbers" else {}
                file.write(json.dumps(one | extra) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(tempfile.gettempdir()) / "headrace-texts"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    found = []
    if not arguments.json:
        print(
            "CPU of a row, us; for the others, how many times that of headrace in order, with a 95 % interval\n"
        )
        print("| file | bytes a row | headrace | at random | json.loads, csv | pyarrow | pandas |")
        print("|---|---|---|---|---|---|---|")
    for kind in arguments.kind or KINDS:
        for ending in ENDINGS:
            path = arguments.folder / f"{kind}.{ending}"
            if not path.exists():
                make(path, kind)

            def entry(reader: str, file: str = str(path)) -> Entry:
                ours = reader.startswith("headrace")
                return Entry(
                    reader, "texts", (reader, file, str(BATCH)), sys.executable if ours else arguments.peers
                )

            names = ("headrace", "headrace-random", "python", "pyarrow", "pandas")
            times = race([entry(name) for name in names], arguments.rounds, ROWS // BATCH)
            cpu = {name: statistics.median(t.cpu) * 1e6 for name, t in times.items()}
            found.append({"file": path.name, "cpu_us": cpu})
            if arguments.json:
                continue
            others = [
                str(ratio(times[name].cpu, times["headrace"].cpu)) if name in times else "-"
                for name in names[1:]
            ]
            size = path.stat().st_size // ROWS
            print(f"| {path.name} | {size} | {cpu['headrace']:.2f} us | {' | '.join(others)} |", flush=True)
    if arguments.json:
        print(json.dumps({"rows": ROWS, "batch": BATCH, "rounds": arguments.rounds, "files": found}))


if __name__ == "__main__":
    main()
