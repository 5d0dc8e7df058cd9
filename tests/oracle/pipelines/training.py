"""A training that is killed: it takes the elements of many pipelines and, after each, keeps its state as a user would.

    python -m tests.oracle.pipelines.training FOLDER

For each line on stdin, a number of workers, it forks a process that goes on where the last one was killed. FOLDER has `pipelines.json`, a list of
expressions; the process writes what it takes to `<n>.jsonl` and where it stands to `state.json`, which appears whole or not at all.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
from headrace import ops

from .files import file_of
from .told import told

NAMES = {"hr": hr, "ops": ops, "np": np, "nan": np.nan, "inf": np.inf, "file_of": file_of}
EPOCH = 3


def made(expression: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, NAMES).options(**options)


def keep(path: Path, state: Any) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(state))
    new.replace(path)


def train(folder: Path, workers: int) -> None:
    """Go on from the state, to the end of the last pipeline."""
    pipelines = json.loads((folder / "pipelines.json").read_text())
    state = json.loads((folder / "state.json").read_text())
    for n in range(state["pipeline"], len(pipelines)):
        # A cursor of streams is that of the stages that run: the rewrites stay.
        loader = made(pipelines[n], workers=workers, ready=1 + workers % 3, rewrites=n % 2 == 0).numpy()
        if "loader" in state:
            loader.load_state_dict(state["loader"])
        else:
            loader.set_epoch(EPOCH)
        with (folder / f"{n}.jsonl").open("ab") as out:
            out.truncate(state["bytes"])  # what came after the state is taken again
            iteration = iter(loader) if loader.epoch == EPOCH else ()  # it was killed after the last element
            for element in iteration:
                out.write(json.dumps(told(element)).encode() + b"\n")
                out.flush()
                now = {"pipeline": n, "bytes": out.tell(), "loader": iteration.state_dict()}
                keep(folder / "state.json", now)
        state = {"pipeline": n + 1, "bytes": 0}
        keep(folder / "state.json", state)


def main(folder: Path) -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            train(folder, int(line))
            os._exit(0)
        print(child, flush=True)
        print(os.waitpid(child, 0)[1], flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
