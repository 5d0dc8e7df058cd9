"""A training that is killed at any moment goes on to the same elements, with another number of workers each time.

HEADRACE_NIGHTLY=1 takes a thousand pipelines.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from .compare import numbered
from .generate import pipeline
from .told import told
from .training import EPOCH, made

PIPELINES = 1000 if os.environ.get("HEADRACE_NIGHTLY") else 120
SEED = 4
LONGEST = 0.1 if os.environ.get("HEADRACE_NIGHTLY") else 0.03  # seconds until a kill


def whole(expression: str) -> list[str] | None:
    """The elements of the epoch, or None where the pipeline or one of them is an error."""
    try:
        loader = made(expression).numpy()
        loader.set_epoch(EPOCH)
        return [json.dumps(told(element)) for element in loader]
    except Exception:  # noqa: BLE001 -- errors are test_streams' subject
        return None


def test_a_training_that_is_killed_goes_on_to_the_same_elements(tmp_path: Path) -> None:
    expressions = [pipeline(numbered(SEED, index)).ours for index in range(PIPELINES)]
    wanted = {text: elements for text in expressions if (elements := whole(text))}
    (tmp_path / "pipelines.json").write_text(json.dumps(list(wanted)))
    state = tmp_path / "state.json"
    state.write_text('{"pipeline": 0, "bytes": 0}')
    draw = random.Random(SEED)
    midway = 0
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.oracle.pipelines.training", tmp_path],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdin and starter.stdout
        ended = -1
        while ended != 0:
            print(draw.choice((1, 2, 4)), file=starter.stdin, flush=True)
            process = int(starter.stdout.readline())
            time.sleep(draw.random() * LONGEST)
            with contextlib.suppress(ProcessLookupError):  # it had come to its end
                os.kill(process, signal.SIGKILL)
            ended = int(starter.stdout.readline())
            assert ended in (0, signal.SIGKILL), "it failed by itself"
            midway += ended != 0 and json.loads(state.read_text())["bytes"] > 0
        starter.stdin.close()
    assert midway >= 5, f"{midway} kills while elements came: too few to show anything"
    for n, (expression, elements) in enumerate(wanted.items()):
        assert (tmp_path / f"{n}.jsonl").read_text().splitlines() == elements, expression
