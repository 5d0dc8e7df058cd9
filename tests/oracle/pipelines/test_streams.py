"""A pipeline is one stream: whatever workers, rewrites and elements in progress, and wherever it is resumed
(under the same rewrites: the cursor of a stream is that of the stages that run).

The pipelines are those of the oracle, so every verb and dtype is among them; HEADRACE_NIGHTLY=1 takes a thousand.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import warnings
from typing import Any

import pytest

from .compare import NAMES, numbered
from .generate import pipeline
from .kinds import Pipeline
from .told import told

PIPELINES = 1000 if os.environ.get("HEADRACE_NIGHTLY") else 200
SEED = 2
STOPS = 5


def dataset_of(made: Pipeline) -> Any:
    """The dataset, or the class of the error that its making raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(made.ours, dict(NAMES))
    except Exception as error:  # noqa: BLE001 -- its class is the answer
        return type(error)


def stream(iteration: Any) -> tuple[list[Any], type | None]:
    """What comes, and the class of the error that ends it."""
    elements = []
    try:
        for element in iteration:
            elements.append(told(element))
    except Exception as error:  # noqa: BLE001 -- its class is the answer
        return elements, type(error)
    return elements, None


def resumed(parts: list[tuple[Any, int | None]], epoch: int) -> tuple[list[Any], int]:
    """All elements, so many from each of these datasets, which go on from the state of the one before, and the bytes of the largest state."""
    elements: list[Any] = []
    state, largest = "", 0
    for dataset, count in parts:
        loader = dataset.numpy()
        loader.load_state_dict(json.loads(state)) if state else loader.set_epoch(epoch)
        iteration = iter(loader)
        elements += [told(element) for element in itertools.islice(iteration, count)]
        state = json.dumps(iteration.state_dict())
        largest = max(largest, len(state))
    return elements, largest


def variants(dataset: Any, rewrites: bool) -> list[Any]:
    return [
        dataset.options(workers=workers, ready=ready, rewrites=rewrites)
        for workers, ready in ((0, 1), (1, 1), (2, 2), (4, 7))
    ]


@pytest.mark.parametrize("index", range(PIPELINES))
def test_a_pipeline_is_one_stream(index: int) -> None:
    made = pipeline(numbered(SEED, index))
    dataset = dataset_of(made)
    if isinstance(dataset, type):
        pytest.skip(f"it cannot be made: {dataset.__name__}")
    wanted, error = stream(dataset)
    for one in (*variants(dataset, rewrites=True), *variants(dataset, rewrites=False)):
        assert stream(one) == (wanted, error), made.ours
    if error is not None:
        return
    draw = random.Random(index)
    loader = dataset.numpy()
    loader.set_epoch(3)
    wanted, _ = stream(loader)
    for _ in range(STOPS if wanted else 0):
        stop, more = draw.randrange(len(wanted)), draw.randrange(len(wanted))
        different = variants(dataset, rewrites=draw.random() < 0.5)
        counts = (stop, min(more, len(wanted) - stop - 1), None)  # twice: what a resumed run says counts, too
        got, size = resumed([(draw.choice(different), count) for count in counts], epoch=3)
        assert got == wanted, (counts, made.ours)
        assert not made.indexed or size < 1024, (size, made.ours)
